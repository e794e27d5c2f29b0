"""The cost of a frame without elements: one goes from each task of a source to each key group, in every batch.

python -m tests.benchmarks.markers
"""

from __future__ import annotations

import time
from collections.abc import Callable

from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.records.frames import decode_frame
from flinkish.runtime.task.gates import Gate, Slice
from flinkish.runtime.task.writer import KeyedRecordWriter

KEY_GROUPS = 1_000
REPEATS = 20


def microseconds(action: Callable[[], object], count: int) -> float:
    """The least time that ``action`` takes, for each of ``count``, in µs of the processor."""
    least = float("inf")
    for _ in range(REPEATS):
        began = time.process_time()
        action()
        least = min(least, time.process_time() - began)
    return least / count * 1e6


def main() -> None:
    """Print the times."""
    gate = Gate(1, "window", 0, "source", 0, sequential=True, folded=True)
    writer = KeyedRecordWriter(gate, "source", lambda value: value, range(KEY_GROUPS))

    def written() -> list[bytes]:
        writer.begin(Slice(0, 0))
        writer.processWatermark(MAX_TIMESTAMP // 2)
        return [row.frame for row in writer.finish()]

    frames = written()
    assert len(frames) == KEY_GROUPS
    print(f"bytes of a frame: {len(frames[0])}")
    print(f"to write one: {microseconds(written, KEY_GROUPS):.1f} µs")
    read = microseconds(lambda: [decode_frame(frame) for frame in frames], KEY_GROUPS)
    print(f"to read one: {read:.1f} µs")


if __name__ == "__main__":
    main()
