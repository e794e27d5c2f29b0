"""Gates bring channels into one order, watermark by watermark."""

from hypothesis import given
from hypothesis import strategies as st

from flinkish.runtime.elements import Records
from flinkish.runtime.frames import encode_frame
from flinkish.runtime.gates import FrameRow, Gate
from flinkish.runtime.input_gates import InputGates
from flinkish.runtime.output import Input
from tests.runtime.test_frames import frame_of


class Recorder(Input):
    def __init__(self):
        self.seen = []

    def processRecords(self, records):
        self.seen.extend(records.values)

    def processWatermark(self, timestamp):
        self.seen.append(f"W{timestamp}")

    def processWatermarkStatus(self, status):
        self.seen.append("idle" if status.isIdle() else "active")


def gate(index=0, sequential=False, folded=False, input_index=0):
    return Gate(1, "target", index, f"gate-{index}", input_index, sequential, folded)


def rows(gate_index, part, *elements):
    stream = [
        ("watermark", int(e[1:]))
        if isinstance(e, str) and e[0] == "W"
        else ("status", e == "idle")
        if e in ("idle", "active")
        else ("record", e, 0)
        for e in elements
    ]
    return [FrameRow(1, "target", 0, gate_index, part, 0, 0, encode_frame(frame_of(stream), "op"))]


def run(gates, *batches):
    recorder = Recorder()
    reader, snapshot = InputGates(gates, (recorder,)), None
    for batch in batches:
        reader.restore(snapshot)
        reader.process([row for part in batch for row in part])
        recorder.seen.append("|")
        snapshot = reader.snapshot()
    return recorder.seen[:-1]


def test_channels_wait_for_one_another_at_each_watermark():
    batch = [rows(0, 0, "a1", "W1", "a2", "W2"), rows(0, 1, "b1", "W1", "b2", "W2")]
    assert run([gate()], batch) == ["a1", "b1", "W1", "a2", "b2", "W2"]


def test_a_channel_with_no_records_keeps_every_watermark():
    batch = [rows(0, 0, "a1", "W1", "a2", "W2"), rows(0, 1, "W1", "W2")]
    assert run([gate()], batch) == ["a1", "W1", "a2", "W2"]


def test_slices_of_a_source_are_one_channel():
    batch = [rows(0, 1, "b1", "W5"), rows(0, 0, "a1")]
    assert run([gate(sequential=True)], batch) == ["a1", "b1", "W5"]


def test_a_folded_watermark_is_the_highest_and_comes_at_the_end_of_the_batch():
    batch = [rows(0, 0, "a1", "W7"), rows(0, 1, "b1", "W3")]
    later = [rows(0, 0, "a2", "W5")]
    assert run([gate(folded=True, sequential=True)], batch, later) == ["a1", "b1", "W7", "|", "a2"]


def test_the_watermark_of_two_gates_is_the_lower_one():
    gates = [gate(0), gate(1)]
    first = [rows(0, 0, "a1", "W5")]
    second = [rows(1, 0, "b1", "W3")]
    assert run(gates, first, second) == ["a1", "|", "b1", "W3"]


def test_an_idle_gate_does_not_hold_the_watermark_back():
    gates = [gate(0), gate(1)]
    assert run(gates, [rows(0, 0, "W5")], [rows(1, 0, "idle")]) == ["|", "W5"]


def test_a_gate_that_a_snapshot_does_not_know_begins():
    recorder = Recorder()
    old = InputGates([gate(0)], (recorder,))
    old.restore(None)
    old.process(rows(0, 0, "W5"))
    new = InputGates([gate(0), gate(1)], (recorder,))
    new.restore(old.snapshot())
    new.process(rows(0, 0, "W9"))
    new.process(rows(1, 0, "W7"))
    assert recorder.seen == ["W5", "W7"]


channels = st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=3)


@given(channels, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_how_rows_arrive(counts, random):
    """Each channel: so many records, then a watermark, and so on; all channels the same marks."""
    steps = max(map(len, counts))
    batch = []
    for part, channel in enumerate(counts):
        padded = channel + [0] * (steps - len(channel))
        elements = []
        for step, count in enumerate(padded):
            elements += [f"r{part}.{step}.{i}" for i in range(count)] + [f"W{step}"]
        batch.append(rows(0, part, *elements))
    expected = run([gate()], batch)
    random.shuffle(batch)
    assert run([gate()], batch) == expected
    watermarks = [e for e in expected if e[0] == "W"]
    assert watermarks == [f"W{step}" for step in range(steps)]
    for element in (e for e in expected if e[0] == "r"):
        step = int(element.split(".")[1])
        assert expected.index(element) < expected.index(f"W{step}")
        if step:
            assert expected.index(element) > expected.index(f"W{step - 1}")


def test_records_of_a_run_come_as_one():
    class Runs(Recorder):
        def processRecords(self, records: Records):
            self.seen.append(len(records))

    recorder = Runs()
    reader = InputGates([gate()], (recorder,))
    reader.restore(None)
    reader.process(rows(0, 0, *range(100)))
    assert recorder.seen == [100]
