"""The steps of planned sources: orders, restarts, and the log of them. No Spark here."""

from __future__ import annotations

import json
import os
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flinkish.api.connectors.file_source import FileSource
from flinkish.api.connectors.kafka.offsets import OffsetsInitializer
from flinkish.api.connectors.kafka.records import TopicPartition
from flinkish.api.connectors.kafka.source import KafkaSource
from flinkish.api.connectors.schemas import SimpleStringSchema
from flinkish.api.errors import (
    IllegalArgumentError,
    IllegalStateError,
    IncompatibleCheckpointError,
    JobExecutionError,
)
from flinkish.api.execution.read_progress import UNKNOWN_BACKLOG, SourceBacklog
from flinkish.runtime.kafka.planner import KafkaPlanner
from flinkish.runtime.sources.planners import (
    LARGEST_SPLIT,
    SMALLEST_SPLIT,
    FilePlanner,
    FramePlanner,
    NumberPlanner,
    RatedNumberPlanner,
    Step,
)
from flinkish.spark.sources.plan_log import PlanLog
from flinkish.spark.sources.planned_offset import PlannedOffset
from flinkish.spark.sources.planned_source import LogStreamReader, OffsetStreamReader

MEGABYTE = 1 << 20


def write(directory, name, changed, content="x\n"):
    file = directory / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    os.utime(file, (changed, changed))
    return file


def files(path, a_batch=None, *, size=10**9, age=None, monitored=False, splits=True, parallelism=2):
    source = FileSource(
        "text",
        str(path),
        filesPerBatch=a_batch,
        bytesPerBatch=size,
        maxFileAge=age,
        monitored=monitored,
    )
    return FilePlanner(
        source, source.path, lambda name: splits and name.endswith("txt"), parallelism
    )


def names(step):
    return [os.path.basename(path) for _, path, _ in step.pieces]


def steps_of(planner):
    found = []
    while (step := planner.plan()) is not None:
        found.append(step)
    return found


def test_files_come_oldest_first_and_by_path_where_the_time_is_one(tmp_path):
    for name, changed in (("c", 1), ("b", 2), ("a", 2), ("big", 3), ("d", 0)):
        write(tmp_path, name, changed, "x" * (1000 if name == "big" else 1))
    [step] = steps_of(files(tmp_path))
    assert names(step) == ["d", "c", "a", "b", "big"]
    assert step.last
    steps = steps_of(files(tmp_path, 2))
    assert [names(step) for step in steps] == [["d", "c"], ["a", "b"], ["big"]]
    assert [step.last for step in steps] == [False, False, True]


def test_a_step_has_files_up_to_a_size_or_one_that_is_larger(tmp_path):
    for number, size in enumerate([3, 4, 20, 2, 2, 6]):
        write(tmp_path, f"{number}", number, "x" * size)
    steps = steps_of(files(tmp_path, size=10))
    assert [names(step) for step in steps] == [["0", "1"], ["2"], ["3", "4", "5"]]
    steps = steps_of(files(tmp_path, 2, size=10))
    assert [names(step) for step in steps] == [["0", "1"], ["2"], ["3", "4"], ["5"]]
    assert not files(tmp_path, size=36).isOneStep
    assert files(tmp_path, size=37).isOneStep


def test_directories_are_read_to_their_depth_and_hidden_names_are_passed_over(tmp_path):
    for name in ("a", "sub/b", "x=1/c", "_x=1/d", "_hidden", ".draft", "_sub/e", ".sub/f"):
        write(tmp_path, name, 1)
    [step] = steps_of(files(tmp_path))
    assert sorted(names(step)) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*", ["a1", "b1", "c1", "in"]),
        ("a1", ["a1"]),
        ("[ab]1", ["a1", "b1"]),
        ("[^a]1", ["b1", "c1"]),
        ("{a,c}?", ["a1", "c1"]),
        ("{a,{b,c}}1", ["a1", "b1", "c1"]),
        ("s*b", ["in"]),
        ("none*", []),
    ],
)
def test_patterns_are_those_of_spark(tmp_path, pattern, found):
    for name in ("a1", "b1", "c1", "_h", "sub/../sub/in"):
        (tmp_path / "sub").mkdir(exist_ok=True)
        write(tmp_path, name, 1)
    [step] = steps_of(files(tmp_path / pattern))
    assert sorted(names(step)) == found


def test_an_empty_directory_ends_at_once_and_a_watched_one_waits(tmp_path):
    assert steps_of(files(tmp_path)) == [Step([], True)]
    watched = files(tmp_path, monitored=True)
    assert watched.plan() is None
    write(tmp_path, "a", 1)
    watched._next_look = 0.0
    assert names(watched.plan()) == ["a"]
    assert watched.plan() is None


def test_old_files_are_read_unless_an_age_is_said_and_then_counted_once(tmp_path):
    day = 86_400
    for name, changed in (("new", 30 * day), ("old", 0), ("week", 23 * day), ("other", 1)):
        write(tmp_path, name, changed)
    assert names(steps_of(files(tmp_path))[0]) == ["old", "other", "week", "new"]
    planner = files(tmp_path, age=7 * day * 1000, monitored=True)
    with pytest.warns(RuntimeWarning, match=r"2 files are older than the newest by more than"):
        step = planner.plan()
    assert names(step) == ["week", "new"]
    write(tmp_path, "newest", 31 * day)
    planner._next_look = 0.0
    assert names(planner.plan()) == ["newest"]


def test_a_file_that_comes_later_and_is_older_is_read_when_it_is_there(tmp_path):
    write(tmp_path, "b", 100)
    planner = files(tmp_path, 1, monitored=True)
    assert names(planner.plan()) == ["b"]
    write(tmp_path, "a", 50)
    planner._next_look = 0.0
    assert names(planner.plan()) == ["a"]


def _looks_again(planner):
    planner._next_look = planner._next_growth_look = 0.0
    return planner.plan()


def test_a_file_that_grows_after_it_was_planned_is_warned_of_once(tmp_path, recwarn):
    (tmp_path / "whole").write_text("a\n")
    (tmp_path / "slow").write_text("a")
    planner = files(tmp_path, monitored=True)
    assert len(planner.plan().pieces) == 2
    assert _looks_again(planner) is None
    assert not recwarn
    (tmp_path / "slow").write_text("a\n")
    with pytest.warns(RuntimeWarning, match=r"slow had 1 bytes when it was read, and has 2 now"):
        assert _looks_again(planner) is None
    (tmp_path / "slow").write_text("a\nb\n")
    (tmp_path / "whole").unlink()
    recwarn.clear()
    assert _looks_again(planner) is None
    assert not recwarn


def test_a_watched_file_without_bytes_waits_until_it_has_some(tmp_path, recwarn):
    (tmp_path / "a").write_text("")
    assert names(files(tmp_path).plan()) == ["a"]
    planner = files(tmp_path, monitored=True)
    assert planner.plan() is None
    (tmp_path / "a").write_text("a\n")
    assert names(_looks_again(planner)) == ["a"]
    assert _looks_again(planner) is None
    assert not recwarn


def test_files_that_were_written_long_ago_are_not_looked_at_again(tmp_path, recwarn):
    file = write(tmp_path, "old", 1)
    planner = files(tmp_path, monitored=True)
    assert names(planner.plan()) == ["old"]
    file.write_text("more\n")
    assert _looks_again(planner) is None
    assert not recwarn


@given(
    sizes=st.lists(st.integers(0, 300 * MEGABYTE), min_size=1, max_size=12),
    texts=st.lists(st.booleans(), min_size=12, max_size=12),
    parallelism=st.integers(1, 8),
)
def test_tasks_cover_each_file_once_and_in_order(sizes, texts, parallelism):
    pieces = [
        (i, f"{i:02d}.{'txt' if text else 'gz'}", size)
        for i, (size, text) in enumerate(zip(sizes, texts))
    ]
    tasks = files("nowhere", parallelism=parallelism).tasks(Step(pieces))
    splits = [split for task in tasks for split in task]
    assert splits == sorted(splits, key=lambda split: (split[0], split[1]))
    for _, path, size in pieces:
        ranges = [(start, length) for name, start, length, _ in splits if name == path]
        assert ranges[0][0] == 0
        assert sum(length for _, length in ranges) == size
        assert all(a[0] + a[1] == b[0] for a, b in pairwise(ranges))
        assert len(ranges) == 1 or path.endswith("txt")
    assert all(tasks)
    for task in tasks:
        if all(name.endswith("txt") for name, *_ in task):
            assert sum(length for _, _, length, _ in task) <= LARGEST_SPLIT * 1.3


def test_one_large_file_is_halved_for_two_tasks_and_small_files_share_one():
    planner = files("nowhere")
    halves = planner.tasks(Step([(0, "a.txt", 24 * MEGABYTE)]))
    assert [len(task) for task in halves] == [1, 1]
    lengths = [task[0][2] for task in halves]
    assert abs(lengths[0] - lengths[1]) < MEGABYTE
    assert len(planner.tasks(Step([(i, f"{i}.txt", 10) for i in range(3)]))) == 1
    assert len(planner.tasks(Step([(i, f"{i}.txt", 10) for i in range(2000)]))) == 4
    assert planner.tasks(Step([(0, "a.txt", SMALLEST_SPLIT)])) == [
        [("a.txt", 0, SMALLEST_SPLIT, SMALLEST_SPLIT)]
    ]


# ---- numbers, clocks, collections ------------------------------------------------------------------


@given(
    first=st.integers(-100, 100),
    count=st.integers(0, 100),
    a_batch=st.integers(1, 40),
    restarts=st.sets(st.integers(0, 100)),
)
def test_numbers_come_once_and_in_order_also_over_restarts(first, count, a_batch, restarts):
    def made():
        return NumberPlanner(first, first + count - 1, a_batch, 2)

    planner, steps = made(), []
    while (step := planner.plan()) is not None:
        steps.append(step)
        if len(steps) in restarts:
            state = json.loads(json.dumps(planner.snapshot()))
            planner = made()
            planner.restore(state, [])
    seen = [n for step in steps for [(a, b)] in planner.tasks(step) for n in range(a, b + 1)]
    assert seen == list(range(first, first + count))
    assert [step.last for step in steps] == [False] * (len(steps) - 1) + [True]


def test_numbers_at_a_rate_follow_the_clock_and_stand_while_the_job_does():
    now = 1000.0
    planner = RatedNumberPlanner(0, 2**63 - 2, 10, 2, lambda: now)
    assert planner.plan() == Step([(0, 0)])
    assert planner.plan() is None
    now += 2
    assert planner.plan() == Step([(1, 20)])
    again = RatedNumberPlanner(0, 2**63 - 2, 10, 2, lambda: now)
    again.restore(planner.snapshot(), [])
    now += 500
    assert again.plan() == Step([(21, 21)])
    now += 1
    assert again.plan() == Step([(22, 31)])


def test_numbers_at_a_rate_end_where_a_count_is_said():
    now = 0.0
    planner = RatedNumberPlanner(0, 4, 2, 2, lambda: now)
    found = []
    for _ in range(6):
        found.append(planner.plan())
        now += 1
    assert found == [Step([(0, 0)]), Step([(1, 2)]), Step([(3, 4)], True), None, None, None]


def test_frames_of_a_collection_come_as_the_index_says(tmp_path):
    index = tmp_path / "index"
    steps = [([[0, 5], [5, 2]], 2), ([], 2), ([[7, 1]], 3)]
    lines = (json.dumps({"frames": frames, "elements": read}) for frames, read in steps)
    index.write_text("\n".join(lines))
    planner = FramePlanner(str(index), 2)
    assert steps_of(planner) == [Step([[0, 5], [5, 2]]), Step([]), Step([[7, 1]], True)]
    again = FramePlanner(str(index), 2)
    again.restore([1], [Step([])])
    assert steps_of(again) == [Step([[7, 1]], True)]


# ---- the log, and what Spark is told ---------------------------------------------------------------


def reader(tmp_path, planner):
    return LogStreamReader(planner, str(tmp_path / "log"), "numbers")


def numbers_in(partitions):
    found = []
    for partition in partitions:
        for descriptor in partition.value:
            _, *piece = json.loads(descriptor)
            if piece:
                found += range(piece[0], piece[1] + 1)
    return found


@pytest.mark.parametrize("tells_where", [False, True], ids=["pyspark 4.1", "pyspark 4.2"])
def test_a_step_that_spark_does_not_know_comes_first_and_alone_after_a_crash(tmp_path, tells_where):
    def latest(source, start):
        return source.latestOffset(start, None) if tells_where else source.latestOffset()

    before = reader(tmp_path, NumberPlanner(0, 99, 10, 2))
    start = before.initialOffset()
    first = latest(before, start)
    known = numbers_in(before.partitions(start, first))
    planned = numbers_in(before.partitions(first, latest(before, first)))
    # The process is killed before Spark has logged the second step.
    after = reader(tmp_path, NumberPlanner(0, 99, 10, 2))
    again = latest(after, first)
    assert numbers_in(after.partitions(first, again)) == planned
    third = latest(after, again)
    assert numbers_in(after.partitions(again, third)) == list(range(20, 30))
    assert known + planned == list(range(20))


def test_the_log_is_written_before_spark_hears_of_a_step_and_says_the_end(tmp_path):
    source = reader(tmp_path, NumberPlanner(0, 14, 10, 2))
    log = tmp_path / "log"
    assert not PlanLog(log).ended
    source.latestOffset()
    assert PlanLog(log).read(1) == Step([[0, 9]])
    assert not PlanLog(log).ended
    end = source.latestOffset()
    assert PlanLog(log).ended
    assert source.latestOffset() == end
    assert not [name for name in os.listdir(log) if name.startswith(".")]


def test_several_steps_in_one_range_are_ordered_parts(tmp_path):
    source = reader(tmp_path, NumberPlanner(0, 29, 10, 2))
    for _ in range(3):
        end = source.latestOffset()
    partitions = source.partitions(source.initialOffset(), end)
    assert numbers_in(partitions) == list(range(30))
    parts = [json.loads(d)[0] for p in partitions for d in p.value]
    assert parts == sorted(parts)
    assert source.partitions(end, end) == []
    assert list(source.read(partitions[0])) == [(partitions[0].value[0],)]


def test_old_steps_are_folded_and_a_restart_goes_on_from_what_is_left(tmp_path):
    for number in range(30):
        write(tmp_path / "in", f"{number:02d}", number)
    log = PlanLog(tmp_path / "log", retained=3)
    planner = files(tmp_path / "in", 1, monitored=True)
    for _ in range(25):
        log.append(planner.plan())
        if log.isDue:
            log.fold(planner.snapshot())
    kept = os.listdir(tmp_path / "log")
    assert len([name for name in kept if name.endswith(".snapshot")]) == 1
    assert len(kept) <= 10
    again = PlanLog(tmp_path / "log", retained=3)
    planner = files(tmp_path / "in", 1, monitored=True)
    planner.restore(*again.restored())
    assert [names(step) for step in steps_of(planner)] == [[f"{n}"] for n in range(25, 30)]
    assert again.read(25) == log.read(25)
    assert again.latest == 25


@pytest.mark.parametrize("links", [True, False])
def test_of_two_runs_that_plan_one_step_the_second_is_refused(tmp_path, monkeypatch, links):
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    one, other = PlanLog(tmp_path), PlanLog(tmp_path)
    one.append(Step([["first"]]))
    with pytest.raises(IllegalStateError, match="another run of the job has planned the step 1"):
        other.append(Step([["second"]]))
    assert PlanLog(tmp_path).read(1) == Step([["first"]])
    assert len(os.listdir(tmp_path)) == 1


def no_links(source, target):
    raise PermissionError("no links here")


@pytest.mark.parametrize("damage", [b"", b"{", b'{"last": false}\n[1, ', None])
def test_a_broken_or_missing_step_is_named(tmp_path, damage):
    log = PlanLog(tmp_path)
    log.append(Step([[0, 1]]))
    [file] = tmp_path.iterdir()
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage)
    with pytest.raises(IncompatibleCheckpointError, match=rf"{file.name}.*begin anew"):
        log.read(1)


def test_an_offset_of_something_else_is_refused(tmp_path):
    source = reader(tmp_path, NumberPlanner(0, 9, 10, 2))
    for offset in ({"logOffset": 3}, {"source": "other", "step": 1}):
        with pytest.raises(IncompatibleCheckpointError, match="another version of flinkish"):
            source.partitions(offset, source.initialOffset())
    with pytest.raises(IncompatibleCheckpointError, match="is not there"):
        source.latestOffset({"source": "numbers", "step": 7}, None)


def test_all_that_is_there_and_no_more_is_read_when_spark_says_available_now(tmp_path):
    write(tmp_path / "in", "a", 1)
    write(tmp_path / "in", "b", 2)
    source = reader(tmp_path, files(tmp_path / "in", 1, monitored=True))
    source.prepareForTriggerAvailableNow()
    write(tmp_path / "in", "c", 3)
    offsets = [source.initialOffset()]
    while (offset := source.latestOffset(offsets[-1], None)) != offsets[-1]:
        offsets.append(offset)
    assert len(offsets) == 3


def test_a_source_that_had_ended_reads_what_has_come_since_and_ends_again(tmp_path):
    write(tmp_path, "a", 2)
    steps = steps_of(files(tmp_path))

    def resumed(steps):
        planner = files(tmp_path)
        planner.restore(None, steps)
        return planner

    assert resumed(steps).plan() is None
    write(tmp_path, "b", 1)
    planner = resumed(steps)
    step = planner.plan()
    assert names(step) == ["b"]
    assert step.last
    assert planner.plan() is None


# ---------------------------------------------------------------------- positions of savepoints


def test_numbers_begin_at_a_position():
    planner = NumberPlanner(0, 9, 4, 1)
    planner.plan()
    position = json.loads(json.dumps(planner.position()))
    again = NumberPlanner(0, 9, 100, 1)
    again.begin(position)
    assert again.plan() == Step([(4, 9)], last=True)
    ended = NumberPlanner(0, 9, 4, 1)
    ended.begin(again.position())
    assert ended.plan() == Step([], last=True)


def test_files_begin_at_a_position_wherever_their_directory_is_by_then(tmp_path):
    for name in ("old", "new"):
        (tmp_path / name / "below").mkdir(parents=True)
        for file in ("1", "below/2", "3"):
            (tmp_path / name / file).write_text(file)
    planner = files(tmp_path / "old", 2)
    planned = planner.plan()
    assert planned is not None
    position = planner.position()
    assert str(tmp_path) not in json.dumps(position)
    again = files(tmp_path / "new")
    again.begin(position)
    left = again.plan()
    assert left is not None
    assert len(planned.pieces) == 2
    assert len(left.pieces) == 1
    names = [path.rpartition("/")[2] for _, path, _ in [*planned.pieces, *left.pieces]]
    assert sorted(names) == ["1", "2", "3"]
    ended = files(tmp_path / "new")
    ended.begin(again.position())
    assert ended.plan() == Step([], last=True)


@pytest.mark.parametrize("path", ["in/*.txt", "in/1.txt"])
def test_patterns_and_single_files_have_positions_too(tmp_path, monkeypatch, path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.txt").write_text("1")
    planner = files(tmp_path / path, monitored=True)
    assert planner.plan() is not None
    assert planner.position()["seen"] == ["1.txt"]
    again = files(tmp_path / path, monitored=True)
    again.begin(planner.position())
    assert again.plan() is None


class Broker:
    """Answers a Kafka planner: two partitions of ten records each, and a third where it is said."""

    servers = "nowhere"

    def __init__(self, partitions: int = 2, topicId: str | None = None) -> None:
        self.keys = [TopicPartition("clicks", number) for number in range(partitions)]
        self.topicId = topicId
        self.end = 10

    def topicIds(self, topics: list[str]) -> dict[str, str | None]:
        return dict.fromkeys(topics, self.topicId)

    def partitions(self, subscription: object) -> list[TopicPartition]:
        return self.keys

    def ends(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, self.end)

    def offsets(self, partitions: list[TopicPartition], initializer: object) -> dict:
        latest = initializer == OffsetsInitializer.latest()
        return dict.fromkeys(partitions, self.end if latest else 0)

    starts = offsets


EARLIEST, LATEST = OffsetsInitializer.earliest(), OffsetsInitializer.latest()


def kafka(broker, perBatch=6, start=LATEST, **properties):
    source = KafkaSource.builder().setBootstrapServers("nowhere").setTopics("clicks")
    source.setStartingOffsets(start).setProperties(properties)
    planner = KafkaPlanner(
        source.setValueOnlyDeserializer(SimpleStringSchema()).build(), perBatch, 1
    )
    planner._broker = broker
    return planner


def test_partitions_of_kafka_begin_at_a_position_and_new_ones_at_their_first_record():
    planner = kafka(Broker())
    planner.restore([(False, True), ["clicks", 0, 4, None], ["clicks", 1, 10, None]], [])
    position = json.loads(json.dumps(planner.position()))
    again = kafka(Broker(3), perBatch=100)
    again.begin(position)
    step = again.plan()
    assert step is not None
    assert sorted(piece[:4] for piece in step.pieces) == [
        ["clicks", 0, 4, 10],
        ["clicks", 1, 10, 10],
        ["clicks", 2, 0, 10],
    ]
    assert again.position()["partitions"] == [["clicks", n, 10, None, None] for n in range(3)]


def soon(planner):
    """The next step of a planner of Kafka, which does not pause between its requests."""
    planner._next_look = 0.0
    return planner.plan()


READS_RECREATED = {"topic.recreated": "earliest"}


@pytest.mark.parametrize("end", [5, 10, 30])
@pytest.mark.parametrize("restored", ["running", "steps", "snapshot", "savepoint"])
def test_a_topic_that_was_created_again_is_refused_or_read_from_its_first_record(end, restored):
    """It may have fewer records than were read, as many (until there is one more) or more."""
    broker = Broker(2, "old")
    for properties in ({}, READS_RECREATED):
        broker.topicId, broker.end = "old", 10
        planner = first = kafka(broker, 100, EARLIEST, **properties)
        step = first.plan()
        if restored != "running":
            planner = kafka(broker, 100, EARLIEST, **properties)
        if restored == "steps":
            planner.restore(None, [step])
        elif restored == "snapshot":
            planner.restore(json.loads(json.dumps(first.snapshot())), [])
        elif restored == "savepoint":
            planner.begin(json.loads(json.dumps(first.position())))
        broker.topicId, broker.end = "new", end
        if end == 10 and restored == "running":
            assert soon(planner) is None
            broker.end = 11
        if not properties:
            with pytest.raises(
                JobExecutionError,
                match=r"'clicks' was deleted and created again: its id was old, and is new.*"
                r'setProperty\("topic.recreated", "earliest"\)',
            ):
                soon(planner)
            continue
        anew = soon(planner) or soon(planner)
        assert sorted(anew.pieces) == [["clicks", n, 0, broker.end, None, "new"] for n in (0, 1)]
        assert soon(planner) is None
    with pytest.raises(IllegalArgumentError, match=r"topic.recreated is 'latest'"):
        kafka(broker, **{"topic.recreated": "latest"})


def test_the_ids_of_a_checkpoint_of_an_earlier_version_are_noted_with_the_next_step():
    broker = Broker(2)
    planner = kafka(broker, 100, EARLIEST)
    planner.restore([(False, True), ["clicks", 0, 4, None], ["clicks", 1, 10, None]], [])
    assert soon(planner).pieces == [["clicks", 0, 4, 10, None, None]]
    broker.topicId, broker.end = "known", 12
    assert {piece[5] for piece in soon(planner).pieces} == {"known"}
    broker.topicId, broker.end = "new", 14
    with pytest.raises(JobExecutionError, match="created again"):
        soon(planner)


def test_a_step_that_was_planned_of_a_topic_that_is_gone_is_not_read():
    broker = Broker(1, "old")
    step = kafka(broker, 100, EARLIEST).plan()
    broker.topicId, broker.end = "new", 30
    # As after a restart: the source is asked for the tasks of the batch that was planned last
    again = kafka(broker, 100, EARLIEST)
    again.restore(None, [step])
    with pytest.raises(JobExecutionError, match="created again"):
        again.tasks(step)
    again = kafka(broker, 100, EARLIEST, **READS_RECREATED)
    again.restore(None, [step])
    assert again.tasks(step) == [[["clicks", 0, 10, 10, None, "old"]]]
    assert again.plan().pieces == [["clicks", 0, 0, 30, None, "new"]]


@given(st.lists(st.tuples(st.sampled_from("srpc"), st.integers(0, 12)), max_size=30))
@example([("s", 1), ("p", 0), ("c", 1)])
def test_every_record_of_every_topic_that_was_seen_is_planned_once(events):
    """Records are sent, topics created again, steps planned and planners started again, in any order.
    A topic that has exactly as many records as were read of the old one is noticed with the next."""
    broker = Broker(1, "0")
    broker.end = 0
    steps: list[Step] = []
    planner = kafka(broker, 5, EARLIEST, **READS_RECREATED)
    all_that_is_there = [("p", 0)] * 80
    for event, number in [*events, *all_that_is_there, ("s", 1), *all_that_is_there]:
        if event == "s":
            broker.end += number
        elif event == "c":
            broker.topicId, broker.end = str(int(broker.topicId) + 1), number
        elif event == "r":
            planner = kafka(broker, 5, EARLIEST, **READS_RECREATED)
            planner.restore(None, steps)
        elif (step := soon(planner)) is not None:
            steps.append(step)
            assert step.pieces[0][5] == broker.topicId
    read: dict[str, int] = {}
    for step in steps:
        [(_, _, start, end, _, topic)] = step.pieces
        assert start == read.get(topic, 0)
        read[topic] = end
    assert read.get(broker.topicId, 0) == broker.end


# ---------------------------------------------------------------------- how much is read, and left


def progress_of(planner):
    read = planner.backlog().progress
    return None if read is None else (read.done, read.total, read.unit, read.before)


def test_a_planner_of_files_knows_how_many_it_has_read_and_what_is_left(tmp_path):
    for number in range(4):
        write(tmp_path, f"{number}.txt", number, "x" * 10)
    planner = files(tmp_path, 1)
    planner.plan()
    assert progress_of(planner) == (1, 4, "files", 0)
    assert planner.backlog().pendingBytes == 30
    write(tmp_path, "4.txt", 9, "x" * 7)
    restarted = files(tmp_path, 1)
    restarted.restore(planner.snapshot(), [])
    restarted.plan()
    assert (progress_of(restarted), restarted.backlog().pendingBytes) == ((2, 5, "files", 0), 27)
    begun = files(tmp_path, 1)
    begun.begin(json.loads(json.dumps(restarted.position())))
    begun.plan()
    assert progress_of(begun) == (3, 5, "files", 2)
    watching = files(tmp_path, 1, monitored=True)
    watching.plan()
    assert (progress_of(watching), watching.backlog().pendingBytes) == (None, 37)


def test_planners_of_numbers_and_frames_count_records(tmp_path):
    planner = NumberPlanner(10, 19, 4, 1)
    planner.plan()
    assert (progress_of(planner), planner.backlog().pendingRecords) == ((4, 10, "records", 0), 6)
    begun = NumberPlanner(10, 19, 4, 1)
    begun.begin(planner.position())
    begun.plan()
    assert progress_of(begun) == (8, 10, "records", 4)
    assert RatedNumberPlanner(0, 2**63 - 2, 10, 2).backlog() == UNKNOWN_BACKLOG

    index = tmp_path / "index"
    index.write_text('{"frames": [[0, 5]], "elements": 40}\n{"frames": [[5, 2]], "elements": 64}\n')
    frames = FramePlanner(str(index), 2)
    frames.plan()
    assert (progress_of(frames), frames.backlog().pendingRecords) == ((40, 64, "records", 0), 24)


def test_a_planner_of_kafka_knows_the_lag_of_its_partitions():
    planner = kafka(Broker(), perBatch=6)
    planner.restore([(False, True), ["clicks", 0, 4, None], ["clicks", 1, 1, 8]], [])
    planner.plan()
    assert planner.backlog().pendingRecords == 8
    while planner.plan() is not None:
        pass
    assert planner.backlog() == SourceBacklog(pendingRecords=0)


@pytest.mark.parametrize("reading", [LogStreamReader, OffsetStreamReader], ids=["log", "offsets"])
def test_what_is_left_is_written_beside_the_step_and_stays_after_a_restart(tmp_path, reading):
    def opened():
        planner = NumberPlanner(0, 24, 10, 2)
        if reading is OffsetStreamReader:
            return OffsetStreamReader(planner, "numbers")
        return reader(tmp_path, planner)

    def told(offset):
        found = PlannedOffset.of(json.dumps(offset))
        if found.whole is not None:
            return found.whole.backlog
        return PlanLog(tmp_path / "log").backlog(found.number)

    before = opened()
    first = before.latestOffset(before.initialOffset())
    second = before.latestOffset(first)
    after = opened()
    third = after.latestOffset(second)
    assert [told(offset).progress.done for offset in (first, second, third)] == [10, 20, 25]
    assert [told(offset).pendingRecords for offset in (first, second, third)] == [15, 5, 0]
    # Equal, or Spark would take it for new input
    assert after.latestOffset(third) == third


def test_a_step_of_an_older_version_has_nothing_left_to_tell(tmp_path):
    (tmp_path / "000000000001.step").write_text('{"last": false}\n[0, 1]\n')
    assert PlanLog(tmp_path).backlog(1) == UNKNOWN_BACKLOG
