"""Arguments that would end in an error from the depths are refused where they are passed."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish.api.errors import (
    FlinkishError,
    IllegalArgumentError,
    IllegalStateError,
    InvalidProgramError,
    UnstableKeyError,
)
from flinkish.compat import atlas, streaminsight
from flinkish.compat.storm.policies import (
    Event,
    WatermarkCountEvictionPolicy,
    WatermarkTimeEvictionPolicy,
)
from flinkish.testing import StreamTestHarness

env = fl.StreamExecutionEnvironment()
numbers = env.fromElements(1, 2, 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: env.setParallelism(2**70),
        lambda: numbers.map(str).setParallelism(2**70),
        lambda: numbers.map(str).setMaxParallelism(2**70),
        lambda: numbers.print().setParallelism(2**70),
        lambda: env.setParallelism(2**15 + 1),
        lambda: fl.StreamExecutionEnvironment.setDefaultLocalParallelism(2**70),
    ],
)
def test_no_parallelism_is_above_the_most_key_groups(call):
    with pytest.raises(IllegalArgumentError, match=r"arallelism: \d+ is above 32768"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: env.fromSequence(2**70, 2**71),
        lambda: env.fromSequence(0, 2**63),
        lambda: env.fromSequence(-(2**63) - 1, 0),
    ],
)
def test_a_sequence_is_of_64_bits(call):
    with pytest.raises(IllegalArgumentError, match=r"^fromSequence: (start|end): .* 64 bits"):
        call()


@pytest.mark.parametrize("hint", [[], {}, object(), 5, "str", None, lambda: str, len])
def test_what_is_no_type_is_no_type_hint(hint):
    with pytest.raises(IllegalArgumentError, match="is not a type"):
        fl.TypeInformation.of(hint)
    with pytest.raises(IllegalArgumentError, match="is not a type"):
        numbers.map(str).returns(hint)


def test_an_annotation_that_is_no_type_says_nothing():
    def strange(number: int) -> []:  # type: ignore[valid-type]
        return number

    strange.__annotations__["return"] = []
    assert numbers.map(strange).getType() == fl.Types.PICKLED_BYTE_ARRAY()


@pytest.mark.parametrize("time", [None, "5", 1.5, [], True, 2**63])
@pytest.mark.parametrize(
    "event",
    [
        lambda time: streaminsight.IntervalEvent(time, 5, "payload"),
        lambda time: streaminsight.IntervalEvent(5, time, "payload"),
        lambda time: streaminsight.EdgeEvent.createStart(time, "payload"),
        lambda time: streaminsight.EdgeEvent.createEnd(time, 5, "payload"),
    ],
)
def test_the_times_of_events_are_milliseconds(event, time):
    with pytest.raises(IllegalArgumentError, match=r"Event: (start|end)Time: .* not a time in ms"):
        event(time)


def test_an_edge_has_an_edge_type():
    with pytest.raises(InvalidProgramError, match="EdgeEvent: edgeType"):
        streaminsight.EdgeEvent("Start", 0, "payload")


@pytest.mark.parametrize("size", [0, -1, None, 1.5, "5"])
def test_a_window_has_a_size(size):
    with pytest.raises(IllegalArgumentError, match="getWindowStartWithOffset: windowSize"):
        fl.TimeWindow.getWindowStartWithOffset(0, 0, size)


@pytest.mark.parametrize(
    "policy",
    [WatermarkTimeEvictionPolicy(5), WatermarkCountEvictionPolicy(5)],
)
def test_a_policy_without_a_context_says_what_comes_first(policy):
    with pytest.raises(IllegalStateError, match="Call setContext"):
        policy.evict(Event("value", 5))


@pytest.mark.parametrize("pipeline", [[], [{"$group": {}}], None, lambda: 1])
def test_a_pipeline_of_atlas_is_a_function(pipeline):
    with pytest.raises(InvalidProgramError, match="tumblingWindow: pipeline"):
        atlas.tumblingWindow(numbers, interval=atlas.Interval(5, "second"), pipeline=pipeline)


def test_a_pipeline_of_atlas_returns_results():
    with pytest.raises(InvalidProgramError, match="what the pipeline returns: None"):
        atlas.tumblingWindow(
            numbers,
            interval=atlas.Interval(5, "second"),
            pipeline=lambda windows: None,  # type: ignore[return-value]
        )


class Unhashable:
    def __hash__(self):
        raise ValueError("no hash today")


def deep(levels):
    result = ()
    for _ in range(levels):
        result = (result,)
    return result


@pytest.mark.parametrize(
    ("key", "reason"),
    [(Unhashable(), "ValueError: no hash today"), (deep(2_000), "nested too deep")],
)
def test_a_key_that_cannot_be_hashed_is_named(key, reason):
    harness = StreamTestHarness(lambda s: s.keyBy(lambda value: key).reduce(max))
    with pytest.raises(UnstableKeyError, match=reason):
        harness.processElement(1)


def test_an_error_about_a_key_does_not_fail_by_the_key():
    class Incomparable:
        def __eq__(self, other):
            raise ValueError("no comparison today")

        __hash__ = None

    assert "Incomparable" in str(UnstableKeyError(Incomparable()))


@pytest.mark.parametrize("field", [5, -1, None, 1.5])
def test_a_row_names_the_positions_it_has(field):
    with pytest.raises(FlinkishError, match=r"Row\.getField"):
        fl.Row(a=1).getField(field)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: fl.Types.TUPLE(fl.Types.STRING(), int),
            r"^Types.TUPLE: .* Pass types, as in Types.TUPLE\(Types.STRING\(\),",
        ),
        (lambda: fl.Types.ROW(fl.Types.STRING), r"^Types.ROW: .* Pass types"),  # type: ignore[arg-type]
        (
            lambda: numbers.addSink(fl.DiscardingSink()),
            r"^addSink: DiscardingSink .* sinkTo\(sink\)",
        ),
        (
            lambda: numbers.addSink(fl.FileSink.forText("out")),
            r"^addSink: FileSink .* sinkTo\(sink\)",
        ),
        (lambda: numbers.sinkTo(print), r"^sinkTo: .* addSink\(function\)"),
        (
            lambda: env.addSource(fl.FileSource.forLines("in")),
            r"^addSource: FileSource .* fromSource",
        ),
        (lambda: env.fromSource(lambda ctx: None), r"^fromSource: .* addSource\(function\)"),
    ],
)
def test_what_another_method_takes_names_that_method(call, said):
    with pytest.raises(InvalidProgramError, match=said):
        call()
