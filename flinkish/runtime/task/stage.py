"""``StageTask``: runs all vertices of a level, as a Spark task does, but without Spark.

The *level* of a vertex is the number of shuffles before it. All vertices of a level run in one
Spark stage (``transformWithState``), one key group after another. Their state in a key group is a
set of pages; the *directory* is the page that lists them, with everything else that the vertices
keep: the watermarks of the gates and the snapshots of the operators. The directory is read first
and written last.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from flinkish.api.errors import CorruptCheckpointError, hide_elements
from flinkish.api.program_classes import use_classes
from flinkish.runtime.attribute_changes import AttributeChange
from flinkish.runtime.closing import close_all
from flinkish.runtime.reports import OperatorReport, encode_reports
from flinkish.runtime.state.page_codec import FORMAT, check_format
from flinkish.runtime.state.page_store import PageStore
from flinkish.runtime.task.gates import FrameRow
from flinkish.runtime.task.plan import Subtask, TaskSettings, VertexPlan
from flinkish.runtime.task.vertex import ONE_SUBTASK, KeyGroupTask

METRICS = "metrics"
"""The target of the rows that carry metrics."""

DIRECTORY = b"directory"
"""The name of the directory page."""


class StageTask:
    """The vertices of one level in one process, called for each key group and batch."""

    def __init__(
        self, plans: Sequence[VertexPlan], settings: TaskSettings, subtask: Subtask = ONE_SUBTASK
    ) -> None:
        self._settings = settings
        self.reusable = True
        """Whether the task may be kept for the next batch: unchanged, with more input."""
        self._tasks = {plan.uid: KeyGroupTask(plan, settings, subtask) for plan in plans}

    def open(self) -> None:
        self._settings_hold()
        for task in self._tasks.values():
            task.open()

    def close(self) -> None:
        close_all(self._tasks.values())

    def profile(self, profiled: bool) -> None:
        """Set whether the stacks of the next key group are sampled."""
        for task in self._tasks.values():
            task.profiled = profiled

    def process(
        self, key_group: int, rows: Iterable[FrameRow], store: PageStore
    ) -> Iterator[FrameRow]:
        """Process all frames that a batch has for a key group, and yield the frames written."""
        # Another job may have used this process since the task was opened
        self._settings_hold()
        by_target: dict[str, list[FrameRow]] = {}
        clock = 0
        for row in rows:
            by_target.setdefault(row.target, []).append(row)
            clock = row.clock
        directory = decode_directory(store.get(DIRECTORY))
        reports: list[OperatorReport] = []
        changes: list[AttributeChange] = []
        ended = True
        for uid, task in self._tasks.items():
            if uid in by_target:
                written, snapshot, reported = task.process(
                    key_group, by_target[uid], store, directory.get(uid)
                )
                if snapshot is None:
                    continue
                directory[uid] = snapshot
                reports.extend(reported)
                yield from written
                changes.extend(task.attributeChanges())
                ended = ended and task.ended
        if directory:
            store.put(DIRECTORY, encode_directory(directory))
        self.reusable = self.reusable and not changes and not ended
        yield metrics_row(self._settings, key_group, clock, reports, changes)

    def _settings_hold(self) -> None:
        hide_elements(self._settings.elementsHiddenInErrors)
        use_classes(self._settings.classes)

    def endBatch(self) -> None:
        """Drop what belongs to the batch, so that the task can be kept for the next."""
        for task in self._tasks.values():
            task.endBatch()


def metrics_row(
    settings: TaskSettings,
    part: int,
    clock: int,
    reports: list[OperatorReport],
    changes: Sequence[AttributeChange] = (),
) -> FrameRow:
    data = encode_reports(reports, changes)
    return FrameRow(settings.sinkLevel, METRICS, slice=part, clock=clock, frame=data)


def encode_directory(directory: dict[str, Any]) -> bytes:
    """The directory of a key group as bytes: the format's version, then a pickle."""
    return bytes((FORMAT,)) + pickle.dumps(directory, protocol=5)


def decode_directory(data: bytes | None) -> dict[str, Any]:
    """The directory that ``encode_directory`` encoded; an empty one if ``data`` is None."""
    if data is None:
        return {}
    # Format 1 was a bare pickle, which begins like every pickle
    version = data[0] if data else 0
    check_format(1 if version == pickle.PROTO[0] else version, "the directory of pages")
    try:
        directory: dict[str, Any] = pickle.loads(memoryview(data)[1:])
    except Exception as error:
        raise CorruptCheckpointError(
            f"the directory of pages of a key group cannot be read ({type(error).__name__}: {error})."
            " The state store was damaged: restore the checkpoint directory from a copy, or begin"
            " anew with another checkpoint directory."
        ) from error
    return directory
