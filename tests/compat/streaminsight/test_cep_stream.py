"""Streams by name, adapters that say how time advances, and time imported by name."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass

import pytest

import flinkish as fl
from flinkish import FlinkishError
from flinkish.compat.streaminsight import (
    AdapterAdvanceTimeSettings,
    AdapterFactory,
    AdvanceTimeGenerationSettings,
    AdvanceTimeImportSettings,
    AdvanceTimePolicy,
    AdvanceTimeSettings,
    CepStream,
    EdgeEvent,
    EventShape,
    IntervalEvent,
    PointEvent,
    TimeSpan,
    join,
    tumblingWindow,
)
from flinkish.compat.streaminsight.advance_time import known_streams
from flinkish.testing import StreamTestHarness
from tests.streams import values

STRICT = AdvanceTimeSettings.strictlyIncreasingStartTime()


@dataclass(frozen=True)
class Config:
    """The configuration of an adapter."""

    source: object
    delay: int
    column: int = 0


class Readings(AdapterFactory):
    """Points from tuples of a time and a payload."""

    def create(self, configInfo, eventShape):
        assert eventShape is EventShape.Point
        return configInfo.source.map(
            lambda reading: PointEvent(reading[0], reading[1:][configInfo.column])
        )

    def declareAdvanceTimeProperties(self, configInfo, eventShape):
        generation = AdvanceTimeGenerationSettings(1, TimeSpan.fromTicks(configInfo.delay))
        return AdapterAdvanceTimeSettings(generation, AdvanceTimePolicy.Adjust)


def watermarks(harness):
    return [w.timestamp for w in harness.getOutput() if isinstance(w, fl.Watermark)]


@pytest.mark.parametrize("factory", [Readings, Readings()])
def test_an_adapter_says_how_time_advances(factory):
    harness = StreamTestHarness(
        lambda source: CepStream.create("data", factory, Config(source, -1), EventShape.Point)
    )
    harness.processElement((5, "a"))
    harness.processElement((4, "too late"))
    assert values(harness) == [PointEvent(5, "a")]
    assert watermarks(harness) == [5]


def test_the_query_has_the_last_word():
    settings = AdvanceTimeSettings(AdvanceTimeGenerationSettings(1, 3))
    harness = StreamTestHarness(
        lambda s: CepStream.create("data", Readings, Config(s, -1), EventShape.Point, settings)
    )
    harness.processElement((5, "a"))
    assert watermarks(harness) == [1]


def test_without_settings_time_is_that_of_the_source():
    harness = StreamTestHarness(lambda s: CepStream.create("data", s, None, EventShape.Interval))
    harness.processElement(IntervalEvent(1, 5, "a"), 1)
    harness.processWatermark(3)
    assert harness.getOutput() == [fl.StreamRecord(IntervalEvent(1, 5, "a"), 1), fl.Watermark(3)]


def owners(readings, owners):
    """The example of StreamInsight's documentation: the lookup stream imports the time of the data."""
    data = CepStream.create("dataStream", readings, None, EventShape.Point, STRICT)
    imported = AdvanceTimeImportSettings("dataStream")
    lookup = CepStream.create(
        "lookupStream",
        lambda config, shape: config.filter(lambda edge: shape is EventShape.Edge),
        owners,
        EventShape.Edge,
        AdvanceTimeSettings(None, imported, AdvanceTimePolicy.Adjust),
    )
    return join(data, lookup, lambda reading, owner: True, lambda reading, owner: (owner, reading))


def test_time_is_imported_by_name():
    harness = StreamTestHarness(owners)
    harness.processElement2(EdgeEvent.createStart(0, "ada"))
    harness.processElement1(PointEvent(5, 1))
    assert [event.payload for event in values(harness)] == [("ada", 1)]
    assert watermarks(harness) == [5]


EVENTS = [PointEvent(time, time) for time in (1, 4, 12, 23)]
WINDOWS = [IntervalEvent(start, start + 10, 1) for start in (-8, 2, 12, 22)]


def windows_of_named(readings):
    data = CepStream.create("data", readings, None, EventShape.Point, STRICT)
    return tumblingWindow(data, 10, 2).apply(lambda window, events: [len(list(events))])


def test_names_do_not_keep_an_environment():
    env = fl.StreamExecutionEnvironment()
    CepStream.create("data", env.fromCollection(EVENTS), None, EventShape.Point, STRICT)
    assert list(known_streams(env)) == ["data"]
    gone = weakref.ref(env)
    del env
    gc.collect()
    assert gone() is None


def wrong_source(config, shape):
    return 5


def twice(stream):
    CepStream.create("data", stream, None, EventShape.Point)
    return CepStream.create("data", stream, None, EventShape.Point)


def imports(name):
    settings = AdvanceTimeSettings(None, AdvanceTimeImportSettings(name))
    return lambda s: CepStream.create("lookup", s, None, EventShape.Edge, settings)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (twice, "there is a stream 'data' already"),
        (imports("data"), "CepStream.create('data', ...) before"),
        (lambda s: CepStream.create("x", s, 5, EventShape.Point), "AdapterFactory that makes"),
        (lambda s: CepStream.create("x", 5, None, EventShape.Point), "Pass an AdapterFactory"),
        (lambda s: CepStream.create("x", wrong_source, 1, EventShape.Point), "AdapterFactory"),
    ],
)
def test_what_is_refused(build, says):
    with pytest.raises(FlinkishError) as caught:
        StreamTestHarness(build)
    assert says in str(caught.value)


def test_an_event_of_another_shape():
    harness = StreamTestHarness(lambda s: CepStream.create("data", s, None, EventShape.Point))
    with pytest.raises(FlinkishError, match="is not a PointEvent"):
        harness.processElement(IntervalEvent(1, 2, "a"), 1)
