"""Sources planned without a plan log: Spark's own log of the batches has their steps. No Spark here."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from itertools import pairwise
from unittest.mock import create_autospec

import cloudpickle
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.api.errors import IncompatibleCheckpointError, NotSupportedError
from flinkish.runtime.kafka.planner import ConsumerGroup
from flinkish.runtime.sources.planners import NumberPlanner, RatedNumberPlanner
from flinkish.runtime.sources.user_sources import FrameFiles, UserSourcePlanner
from flinkish.spark.queries import GroupOffsets
from flinkish.spark.sources import planned_source
from flinkish.spark.sources.planned_offset import PlannedOffset
from flinkish.spark.sources.planned_source import (
    LogStreamReader,
    OffsetStreamReader,
    planned_stream,
)
from tests.runtime.sources.test_planners import Broker, kafka

KILLS = ("planned", "logged", "ran")
"""The stages of a batch at which its job is killed."""


@dataclass
class Checkpoint:
    """The part of Spark's checkpoint that matters: the offsets of batches, as JSON, and how many
    are committed."""

    offsets: list[str] = field(default_factory=list)
    committed: int = 0


def run(reader, read, checkpoint, batches=100, killed=None):
    """Run some batches as Spark does: what each has read goes to ``read``, by its number."""
    start = json.dumps(reader.initialOffset())
    if checkpoint.offsets:
        logged = [start, *checkpoint.offsets]
        start = logged[-1]
        if checkpoint.committed < len(checkpoint.offsets):
            read[checkpoint.committed] = contents(reader, logged[-2], start)
            checkpoint.committed += 1
    while batches and not PlannedOffset.of(start).ended:
        end = awaited_offset(reader, start)
        # It may ask again
        assert latest(reader, start) == end
        batches -= 1
        if not batches and killed == "planned":
            return
        checkpoint.offsets.append(end)
        if not batches and killed == "logged":
            return
        read[checkpoint.committed] = contents(reader, start, end)
        if not batches and killed == "ran":
            return
        checkpoint.committed += 1
        start = end


def latest(reader, start):
    return json.dumps(reader.latestOffset(json.loads(start), None))


def awaited_offset(reader, start):
    until = time.monotonic() + 10
    while (offset := latest(reader, start)) == start and time.monotonic() < until:
        time.sleep(0.001)
    return offset


def contents(reader, start, end):
    pieces = []
    for partition in reader.partitions(json.loads(start), json.loads(end)):
        for (descriptor,) in reader.read(partition):
            _, *piece = json.loads(descriptor)
            pieces += [piece] if piece else []
    return pieces


class Numbers(fl.Source[int]):
    def __init__(self, end):
        self.end = end

    def read(self, position):
        for number in range(position or 0, self.end):
            yield number, number + 1


@given(
    st.integers(0, 20),
    st.integers(1, 6),
    st.lists(st.tuples(st.integers(1, 4), st.sampled_from(KILLS)), max_size=4),
)
def test_wherever_a_job_is_killed_a_batch_reads_what_it_would_have_read(
    tmp_path_factory, end, size, kills
):
    frames = FrameFiles(str(tmp_path_factory.mktemp("frames")))
    pickled = cloudpickle.dumps(Numbers(end))
    planners = {
        "numbers": (lambda: NumberPlanner(0, end - 1, size, 2), lambda a, b: range(a, b + 1)),
        "users": (
            lambda: UserSourcePlanner("Numbers", pickled, frames, size, 2),
            lambda *piece: frames.read(*piece).records.values,
        ),
    }
    for planner, elements in planners.values():
        checkpoint, read = Checkpoint(), {}
        for batches, killed in kills:
            before = dict(read)
            run(OffsetStreamReader(planner(), "numbers"), read, checkpoint, batches, killed)
            # A batch that was logged reads the same again
            assert {number: read[number] for number in before} == before
        run(OffsetStreamReader(planner(), "numbers"), read, checkpoint)
        found = [
            value for number in sorted(read) for piece in read[number] for value in elements(*piece)
        ]
        assert found == list(range(end))
        assert PlannedOffset.of(checkpoint.offsets[-1]).ended


def test_what_exists_when_spark_says_available_now_is_counted_from_where_the_source_goes_on():
    now = 0.0

    def reader():
        planner = RatedNumberPlanner(0, 99, 10, 1, lambda: now)
        return OffsetStreamReader(planner, "rate")

    first = reader()
    start = first.latestOffset(first.initialOffset(), None)
    now = 1.0
    end = first.latestOffset(start, None)
    assert end["pieces"] == [(1, 10)]
    again = reader()
    again.prepareForTriggerAvailableNow()
    last = again.latestOffset(json.loads(json.dumps(end)), None)
    now = 9.0
    assert last["pieces"] == [(11, 11)]
    assert again.latestOffset(last, None) == last


def test_no_new_step_is_the_offset_that_spark_has():
    """It compares their texts."""
    planner = NumberPlanner(0, 9, 10, 2)
    reader = OffsetStreamReader(planner, "nümbers")
    first = json.dumps(reader.latestOffset(reader.initialOffset(), None))
    assert latest(reader, first) == first
    assert contents(reader, first, first) == []


def test_a_checkpoint_that_was_moved_from_this_machine_is_refused(tmp_path):
    here = LogStreamReader(NumberPlanner(0, 99, 10, 2), str(tmp_path), "numbers")
    start = here.initialOffset()
    end = here.latestOffset(start, None)
    there = OffsetStreamReader(NumberPlanner(0, 99, 10, 2), "numbers")
    for asked in (lambda: there.partitions(start, end), lambda: there.latestOffset(end, None)):
        with pytest.raises(IncompatibleCheckpointError, match="was moved here"):
            asked()
    whole = there.latestOffset(start, None)
    moved = LogStreamReader(NumberPlanner(0, 99, 10, 2), str(tmp_path / "new"), "numbers")
    with pytest.raises(IncompatibleCheckpointError, match="is not there"):
        moved.latestOffset(whole, None)


@pytest.mark.parametrize(
    "offset",
    [
        None,
        "-",
        "3",
        "[1]",
        '{"logOffset":3}',
        '{"source":"a","step":"1"}',
        '{"source":"a","step":1,"pieces":[]}',
    ],
)
def test_other_offsets_are_none_of_a_planned_source(offset):
    assert PlannedOffset.of(offset) is None


def test_before_pyspark_4_2_it_is_refused(monkeypatch):
    monkeypatch.setattr(planned_source, "_TELLS_START", False)
    with pytest.raises(NotSupportedError, match=r"clicks: .* newer pyspark"):
        planned_stream(None, NumberPlanner(0, 9, 10, 2), None, "clicks")


def of_kafka():
    planner = kafka(Broker(), perBatch=6)
    planner.begin(
        {"partitions": [["clicks", number, 0, None] for number in (0, 1)], "discovered": True}
    )
    return OffsetStreamReader(planner, "clicks")


def test_partitions_of_kafka_go_on_in_another_process():
    reader = of_kafka()
    offsets = [json.dumps(reader.initialOffset())]
    while (offset := latest(reader, offsets[-1])) != offsets[-1]:
        offsets.append(offset)
        # Each batch is planned in a separate process
        reader = of_kafka()
    ranges = [range_ for pair in pairwise(offsets) for range_ in contents(reader, *pair)]
    for partition in (0, 1):
        read = [piece for piece in ranges if piece[1] == partition]
        assert [n for piece in read for n in range(piece[2], piece[3])] == list(range(10))
    assert len(offsets) > 3


def test_what_a_group_of_kafka_has_read_is_in_the_offset():
    committed = []
    group = create_autospec(ConsumerGroup, instance=True)
    group.commit.side_effect = committed.append
    reader = of_kafka()
    offset = reader.latestOffset(reader.initialOffset(), None)
    progress = {"sources": [{"endOffset": json.dumps(offset)}, {"endOffset": "null"}]}
    offsets = GroupOffsets({"clicks": (group, "no directory")})
    offsets.batchCommitted({"sources": [{"endOffset": json.dumps(reader.initialOffset())}]})
    for _ in range(2):
        offsets.batchCommitted(progress)
    [step] = committed
    assert step.pieces == json.loads(json.dumps(offset))["pieces"] != []
