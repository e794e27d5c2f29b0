"""Gates bring channels into one order, watermark by watermark."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from flinkish.runtime.operators.output import Input
from flinkish.runtime.records.frames import encode_frame
from flinkish.runtime.records.records import Records
from flinkish.runtime.task.gates import FrameRow, Gate, InputGates
from tests.runtime.records.test_frames import frame_of


class Recorder(Input):
    def __init__(self):
        self.seen = []

    def processRecords(self, records):
        self.seen.extend(records.values)

    def processWatermark(self, timestamp):
        self.seen.append(f"W{timestamp}")

    def processWatermarkStatus(self, status):
        self.seen.append("idle" if status.isIdle() else "active")


def gate(index=0, sequential=False, folded=False, input_index=0, broadcast=False):
    return Gate(1, "target", index, f"gate-{index}", input_index, sequential, folded, broadcast)


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


def test_at_the_beginning_a_broadcast_gate_is_read_first_whichever_it_is():
    for rules, elements in ((0, 1), (1, 0)):
        gates = [gate(rules, True, input_index=0, broadcast=True), gate(elements, True)]
        batch = [rows(elements, 0, "a1"), rows(elements, 1, "a2", "W5"), rows(rules, 0, "r1", "r2")]
        assert run(gates, batch) == ["r1", "r2", "a1", "a2"]


def test_at_the_same_watermark_a_broadcast_gate_is_read_first():
    gates = [gate(0), gate(1, broadcast=True)]
    batch = [rows(0, 0, "a1", "W1", "a2", "W3", "a3"), rows(1, 0, "r1", "W1", "r2", "W2", "r3")]
    later = [rows(0, 0, "a4"), rows(1, 0, "W3", "r4")]
    expected = ["r1", "a1", "W1", "r2", "a2", "W2", "r3", "a3", "|", "W3", "r4", "a4"]
    assert run(gates, batch, later) == expected


marked = st.lists(st.one_of(st.just("record"), st.integers(1, 3)), max_size=8)


@given(st.lists(marked, min_size=1, max_size=3), marked, st.booleans())
def test_what_is_broadcast_comes_before_what_has_its_watermark_or_a_later_one(
    channels, rules, first
):
    """Each record knows the watermark of its channel: it comes before records of a later watermark,
    and at the same one the broadcast records come first."""
    ranks = {}

    def written(gate_index, part, steps):
        watermark, elements = 0, []
        for number, step in enumerate(steps):
            if step == "record":
                name = f"{gate_index}.{part}.{number}"
                ranks[name] = (watermark, gate_index != broadcast)
                elements.append(name)
            else:
                watermark += step
                elements.append(f"W{watermark}")
        return rows(gate_index, part, *elements)

    broadcast, other = (0, 1) if first else (1, 0)
    batch = [written(broadcast, 0, rules)]
    batch += [written(other, part, steps) for part, steps in enumerate(channels)]
    read = run([gate(broadcast, broadcast=True), gate(other)], batch)
    seen = [ranks[record] for record in read if record[0] != "W"]
    assert len(seen) == len(ranks)
    assert seen == sorted(seen)


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


def test_at_the_end_of_the_input_a_folded_watermark_comes_before_the_last_one():
    """A built-in strategy is asked once more when its input ends, as in Flink."""
    end = f"W{2**63 - 1}"
    batch = [
        rows(0, 0, "a", "W3"),
        rows(0, 1, end),
        rows(1, 0, "b", "W5"),
        rows(1, 1, end),
    ]
    gates = [gate(0, sequential=True, folded=True), gate(1, sequential=True, folded=True)]
    assert run(gates, batch) == ["a", "b", "W3", "W5", end]


def test_a_strategy_behind_a_union_has_one_maximum_over_all_its_gates():
    gates = [
        replace(gate(index, sequential=True, folded=True), strategy="after") for index in (0, 1)
    ]
    first = [rows(0, 0, "a", "W5"), rows(1, 0, "b", "W3")]
    assert run(gates, first) == ["a", "b", "W5"]
    second = [rows(0, 0, "c", "W9", f"W{2**63 - 1}")]
    third = [rows(1, 0, "d", "W7")]
    assert run(gates, first, second, third) == [
        *("a", "b", "W5", "|", "c", "W9", "|", "d"),
    ]
    last = [rows(1, 0, f"W{2**63 - 1}")]
    assert run(gates, first, second, third, last)[-1] == f"W{2**63 - 1}"
