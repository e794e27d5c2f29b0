"""Refusals while a job with process functions, two inputs or joins is put together."""

from __future__ import annotations

import pytest

from flinkish import (
    BroadcastProcessFunction,
    CoMapFunction,
    CoProcessFunction,
    Duration,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapStateDescriptor,
    ProcessFunction,
    StreamExecutionEnvironment,
    Types,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError, NotSupportedError
from flinkish.api.eventtime.watermarks import WatermarkAlignmentParams
from flinkish.compat.streaminsight import (
    AdvanceTimeImportSettings,
    AdvanceTimeSettings,
    advanceTime,
)
from flinkish.testing import StreamTestHarness


class Keyed(KeyedProcessFunction):
    def processElement(self, value, ctx, out):
        pass


class Plain(ProcessFunction):
    def processElement(self, value, ctx, out):
        pass


class Co(CoProcessFunction):
    def processElement1(self, value, ctx, out):
        pass

    processElement2 = processElement1


class KeyedCo(KeyedCoProcessFunction):
    def processElement1(self, value, ctx, out):
        pass

    processElement2 = processElement1


class Broadcast(BroadcastProcessFunction):
    def processElement(self, value, ctx, out):
        pass

    processBroadcastElement = processElement


class KeyedBroadcast(KeyedBroadcastProcessFunction):
    def processElement(self, value, ctx, out):
        pass

    processBroadcastElement = processElement


class Label(CoMapFunction):
    def map1(self, value):
        return value

    map2 = map1


RULES = MapStateDescriptor("rules")


@pytest.fixture
def numbers():
    return StreamExecutionEnvironment().fromElements(1, 2, 3)


@pytest.fixture
def keyed(numbers):
    return numbers.keyBy(lambda number: number % 2)


def test_a_keyed_process_function_needs_a_key(numbers):
    with pytest.raises(InvalidProgramError, match="Call keyBy"):
        numbers.process(Keyed())


@pytest.mark.parametrize("function", [Plain, Keyed])
def test_a_class_is_no_function(keyed, function):
    with pytest.raises(InvalidProgramError, match=r"is a class\. Pass an instance"):
        keyed.process(function)


@pytest.mark.parametrize("function", [None, 3, len, lambda value: value])
def test_what_is_no_process_function_is_refused(numbers, keyed, function):
    for stream in (numbers, keyed):
        with pytest.raises(InvalidProgramError, match=r"f\(value, ctx, out\)"):
            stream.process(function)


@pytest.mark.parametrize("method", ["rebalance", "rescale", "shuffle", "forward", "global_"])
def test_a_key_cannot_be_partitioned_away(numbers, keyed, method):
    getattr(numbers, method)()
    with pytest.raises(InvalidProgramError, match="before keyBy"):
        getattr(keyed, method)()


def test_a_broadcast_of_a_keyed_stream_is_refused(keyed):
    with pytest.raises(InvalidProgramError, match="before keyBy"):
        keyed.broadcast(RULES)


def test_broadcast_state_is_a_map(numbers):
    with pytest.raises(InvalidProgramError, match="MapStateDescriptor"):
        numbers.broadcast(ValueStateDescriptor("rule"))


def test_keyed_co_process_needs_two_keyed_streams(numbers, keyed):
    for first, second in [(numbers, numbers), (keyed, numbers), (numbers, keyed)]:
        with pytest.raises(InvalidProgramError, match=r"keyBy\(key1, key2\)"):
            first.connect(second).process(KeyedCo())
    assert keyed.connect(keyed).process(KeyedCo()).getName() == "Co-Keyed-Process"
    assert keyed.connect(keyed).process(Co()).getName() == "Co-Process"
    both = numbers.connect(numbers).keyBy(lambda n: n, lambda n: n)
    assert both.process(KeyedCo()).getName() == "Co-Keyed-Process"


def test_a_function_of_one_stream_does_not_fit_two(numbers):
    with pytest.raises(InvalidProgramError, match="CoProcessFunction"):
        numbers.connect(numbers).process(Plain())
    with pytest.raises(InvalidProgramError, match="CoMapFunction"):
        numbers.connect(numbers).map(lambda number: number)
    assert numbers.connect(numbers).map(Label()).getName() == "Co-Map"


def test_keys_of_different_types_never_meet(numbers):
    one = numbers.keyBy(lambda number: number, Types.LONG())
    two = numbers.keyBy(str, Types.STRING())
    with pytest.raises(InvalidProgramError, match="Long and String"):
        one.connect(two).process(KeyedCo())


def test_the_broadcast_function_fits_the_stream(numbers, keyed):
    rules = numbers.broadcast(RULES)
    with pytest.raises(InvalidProgramError, match="stream is not keyed"):
        numbers.connect(rules).process(KeyedBroadcast())
    with pytest.raises(InvalidProgramError, match="stream is keyed"):
        keyed.connect(rules).process(Broadcast())
    assert keyed.connect(rules).process(KeyedBroadcast()).getName() == "Co-Process-Broadcast-Keyed"
    assert numbers.connect(rules).process(Broadcast()).getName() == "Co-Process-Broadcast"


def timed_by(stream):
    return AdvanceTimeSettings(import_=AdvanceTimeImportSettings(stream))


@pytest.mark.parametrize(
    ("method", "combine"),
    [
        ("connect", lambda one, other: one.connect(other)),
        ("connect", lambda one, other: one.connect(other.broadcast(RULES))),
        ("union", lambda one, other: one.union(one, other)),
        ("intervalJoin", lambda one, other: one.keyBy(str).intervalJoin(other.keyBy(str))),
        ("join", lambda one, other: one.join(other)),
        ("coGroup", lambda one, other: one.coGroup(other)),
        ("advanceTime", lambda one, other: advanceTime(one, timed_by(other))),
    ],
)
def test_streams_of_different_environments_are_not_combined(numbers, method, combine):
    other = StreamExecutionEnvironment().fromElements(1)
    with pytest.raises(InvalidProgramError, match=f"^{method}: .* different environments"):
        combine(numbers, other)


def test_an_interval_join_wants_keyed_streams_and_bounds_in_order(numbers, keyed):
    with pytest.raises(InvalidProgramError, match="keyBy"):
        keyed.intervalJoin(numbers)
    with pytest.raises(IllegalArgumentError, match="above the upper bound"):
        keyed.intervalJoin(keyed).between(5, 3)
    with pytest.raises(NotSupportedError, match="event time"):
        keyed.intervalJoin(keyed).inProcessingTime()
    with pytest.raises(InvalidProgramError, match="OutputTag"):
        keyed.intervalJoin(keyed).between(0, 1).sideOutputLeftLateData("late")
    with pytest.raises(InvalidProgramError, match="ProcessJoinFunction"):
        keyed.intervalJoin(keyed).between(0, 1).process(None)


@pytest.mark.parametrize("fields", [(), (-1,), ("a",)])
def test_project_wants_positions(numbers, fields):
    with pytest.raises(IllegalArgumentError, match="position"):
        numbers.project(*fields)


def test_what_flink_dropped_names_the_alternative(numbers, keyed):
    with pytest.raises(NotSupportedError, match="KeyedProcessFunction"):
        numbers.iterate()
    with pytest.raises(NotSupportedError, match="sink"):
        keyed.asQueryableState("state")


def test_the_alignment_of_sources_is_part_of_a_strategy():
    strategy = WatermarkStrategy[int].forMonotonousTimestamps()
    aligned = strategy.withWatermarkAlignment("group", Duration.ofSeconds(5)).alignment
    assert aligned == WatermarkAlignmentParams(5_000, "group", 1_000)
    for arguments, says in (
        (("", 1), "watermarkGroup: '' will not do"),
        (("g", -1), "maxAllowedWatermarkDrift is -1 ms"),
        (("g", 1, 0), "updateInterval is 0 ms"),
    ):
        with pytest.raises(IllegalArgumentError, match=says):
            strategy.withWatermarkAlignment(*arguments)


def test_two_plain_functions_map_two_streams():
    harness = StreamTestHarness(lambda a, b: a.connect(b).map(lambda n: n + 1, str.upper))
    harness.processElement1(1, 5)
    harness.processElement2("x", 6)
    assert [(r.value, r.timestamp) for r in harness.getOutput()] == [(2, 5), ("X", 6)]


def test_a_function_of_two_that_is_wrong_names_its_line():
    numbers = StreamExecutionEnvironment.getExecutionEnvironment().fromData(1)
    with pytest.raises(
        InvalidProgramError, match=r"map: the lambda in .*test_connecting\.py, line \d+, cannot"
    ):
        numbers.connect(numbers).map(lambda a, b: a, str)
