"""Settings of the compat modules that cannot be: refused where they are given, by name, with the fix."""

from __future__ import annotations

from typing import Any

import pytest

import flinkish as fl
from flinkish import Duration, IllegalArgumentError, InvalidProgramError
from flinkish.compat import atlas, storm, stream_analytics, streaminsight
from flinkish.compat.atlas import Interval
from flinkish.compat.stream_analytics import EventOrdering, Offset
from flinkish.compat.streaminsight import (
    AdvanceTimeGenerationSettings,
    AdvanceTimeImportSettings,
    AdvanceTimeSettings,
)
from flinkish.testing import StreamTestHarness

MINUTE = Interval(1, "minute")


def stage(**options: Any) -> None:
    options.setdefault("interval", MINUTE)
    kind = atlas.hoppingWindow if "hopSize" in options else atlas.tumblingWindow
    StreamTestHarness(
        lambda stream: (
            kind(
                stream,
                pipeline=lambda windows: windows.apply(lambda window, events: [1]),
                **options,
            ).results
        )
    )


def of_size(size: int) -> Interval:
    return Interval(size, "minute")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"idleTimeOut": MINUTE}, "no option idleTimeOut. Did you mean idleTimeout?"),
        ({"alowedLateness": MINUTE}, "no option alowedLateness. Did you mean allowedLateness?"),
        ({"dlq": True}, "no option dlq. There are boundary, offset, idleTimeout"),
        ({"interval": of_size(0)}, 'interval is Interval(0, "minute"), but must be greater than'),
        ({"interval": of_size(0), "idleTimeout": MINUTE}, 'interval is Interval(0, "minute")'),
        ({"interval": of_size(-5), "idleTimeout": MINUTE}, 'interval is Interval(-5, "minute")'),
        ({"hopSize": of_size(0)}, 'hopSize is Interval(0, "minute")'),
        ({"hopSize": of_size(0), "idleTimeout": MINUTE}, 'hopSize is Interval(0, "minute")'),
        ({"idleTimeout": of_size(0)}, 'idleTimeout is Interval(0, "minute")'),
        ({"allowedLateness": of_size(-1)}, 'Interval(-1, "minute"), but must be 0 or more'),
        ({"boundary": "proc"}, "boundary: 'proc' is none of Boundary.EVENT_TIME"),
    ],
)
def test_options_of_atlas(options: dict[str, Any], message: str) -> None:
    name = "hoppingWindow" if "hopSize" in options else "tumblingWindow"
    with pytest.raises(IllegalArgumentError) as error:
        stage(**options)
    assert str(error.value).startswith(name)
    assert message in str(error.value)


@pytest.mark.parametrize("interval", [None, 5000, Duration.ofSeconds(5)])
def test_a_length_of_atlas_is_an_interval(interval: Any) -> None:
    with pytest.raises(InvalidProgramError, match=r"interval: .* is not an Interval\. Pass one"):
        stage(interval=interval)


@pytest.mark.parametrize("size", ["5", 1.5, True])
def test_an_interval_of_atlas_has_a_whole_size(size: Any) -> None:
    with pytest.raises(IllegalArgumentError, match=r"Interval: size: .* is not a whole number"):
        Interval(size, "minute")


def test_a_unit_of_atlas_is_known() -> None:
    for unit in ("minutes", ["minute"]):
        with pytest.raises(IllegalArgumentError, match=r"Interval: the unit .* is none of ms, sec"):
            Interval(5, unit)  # type: ignore[arg-type]


def test_options_of_atlas_that_are_none_are_left_out() -> None:
    stage(idleTimeout=None, allowedLateness=None, boundary=None, offset=None)
    stage(boundary="processingTime")


@pytest.mark.parametrize("policy", ["drop", "DROP", "adjust", None, True, 1])
def test_the_policy_of_azure_is_known(policy: Any) -> None:
    with pytest.raises(
        IllegalArgumentError, match=r"eventsOutOfOrderPolicy is .*OrderingPolicy.DRO"
    ):
        EventOrdering(eventsOutOfOrderPolicy=policy)


@pytest.mark.parametrize(
    ("policy", "dropped"),
    [
        ("Adjust", 0),
        (fl.OrderingPolicy.ADJUST, 0),
        ("Drop", 1),
        (fl.OrderingPolicy.DROP, 1),
    ],
)
def test_the_policy_of_azure_under_both_names(policy: Any, dropped: int) -> None:
    dead = fl.OutputTag[Any]("dead")
    harness = StreamTestHarness(
        lambda stream: stream_analytics.timestampBy(
            stream,
            lambda event, timestamp: event,
            arrivalTime=lambda event, timestamp: 1000,
            ordering=EventOrdering(eventsOutOfOrderPolicy=policy),
            deadLetters=dead,
        )
    )
    for event in (1000, 500):
        harness.processElement(event)
    assert len(harness.getSideOutput(dead)) == dropped


@pytest.mark.parametrize(
    "settings",
    [
        {"eventsLateArrivalMaxDelayInSeconds": -2},
        {"eventsLateArrivalMaxDelayInSeconds": 1.5},
        {"eventsLateArrivalMaxDelayInSeconds": None},
        {"eventsOutOfOrderMaxDelayInSeconds": -1},
        {"earlyArrivalToleranceInSeconds": -1},
    ],
)
def test_seconds_of_azure(settings: dict[str, Any]) -> None:
    with pytest.raises(IllegalArgumentError, match=f"EventOrdering: {next(iter(settings))}"):
        EventOrdering(**settings)


def test_an_ordering_of_azure_is_one() -> None:
    with pytest.raises(InvalidProgramError, match=r"timestampBy: ordering: .* EventOrdering\("):
        StreamTestHarness(
            lambda s: stream_analytics.timestampBy(s, lambda event, t: event, ordering="Drop")  # type: ignore[arg-type]
        )


@pytest.mark.parametrize(
    ("window", "arguments", "message"),
    [
        ("TumblingWindow", ("s", 0), "TumblingWindow: windowsize: 0 is not"),
        ("TumblingWindow", ("ms", 1.5), "TumblingWindow: windowsize: 1.5"),
        ("TumblingWindow", (["s"], 1), "TumblingWindow: the time unit"),
        ("HoppingWindow", ("s", 10, -5), "HoppingWindow: hopsize: -5"),
        ("HoppingWindow", ("s", 0, 5), "HoppingWindow: windowsize: 0"),
        ("SlidingWindow", ("s", -1), "SlidingWindow: windowsize: -1"),
        ("SessionWindow", ("s", 0, 5), "SessionWindow: timeoutSize: 0"),
        ("SessionWindow", ("s", 10, 0), "SessionWindow: maxDurationSize: 0"),
    ],
)
def test_windows_of_azure(window: str, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(IllegalArgumentError, match=message):
        getattr(stream_analytics, window)(*arguments)


def test_an_offset_of_azure_is_one() -> None:
    with pytest.raises(InvalidProgramError, match=r"TumblingWindow: offset: 'ms' .* an Offset"):
        stream_analytics.TumblingWindow("s", 5, "ms")  # type: ignore[arg-type]
    with pytest.raises(IllegalArgumentError, match=r"Offset: offsetsize: 1.5"):
        stream_analytics.HoppingWindow("s", 5, 1, Offset("ms", 1.5))  # type: ignore[arg-type]


def test_settings_of_storm() -> None:
    bolt = storm.BaseWindowedBolt[Any, Any](lambda window: [1])
    with pytest.raises(IllegalArgumentError, match="withLag is -5 ms, but cannot be negative"):
        bolt.withLag(-5)
    for interval in (0, Duration.ofMillis(-1)):
        with pytest.raises(IllegalArgumentError, match=r"withWatermarkInterval is .* greater than"):
            bolt.withWatermarkInterval(interval)


def test_other_settings_of_streaminsight() -> None:
    generation = AdvanceTimeGenerationSettings(1)
    with pytest.raises(IllegalArgumentError, match="AdvanceTimeGenerationSettings: delay: 'x'"):
        AdvanceTimeGenerationSettings(1, "x")  # type: ignore[arg-type]
    with pytest.raises(InvalidProgramError, match=r"advanceToInfinityOnShutdown: 'no' .* True or"):
        AdvanceTimeGenerationSettings(1, 0, "no")  # type: ignore[arg-type]
    with pytest.raises(InvalidProgramError, match=r"ImportSettings: 5 .* a DataStream\. Pass"):
        AdvanceTimeImportSettings(5)  # type: ignore[arg-type]
    with pytest.raises(
        InvalidProgramError, match="AdvanceTimeSettings: generation: 10 of type int"
    ):
        AdvanceTimeSettings(10)  # type: ignore[arg-type]
    with pytest.raises(
        InvalidProgramError, match=r"AdvanceTimeSettings: import: 'data' .* or None"
    ):
        AdvanceTimeSettings(generation, "data")  # type: ignore[arg-type]
    with pytest.raises(
        InvalidProgramError, match=r"AdvanceTimeSettings: policy: 'Adjust' .*Policy.Ad"
    ):
        AdvanceTimeSettings(generation, None, "Adjust")  # type: ignore[arg-type]


def test_lengths_of_streaminsight() -> None:
    with pytest.raises(IllegalArgumentError, match="HoppingLifetimeWindows: hop is 0 ms"):
        StreamTestHarness(
            lambda s: streaminsight.hoppingWindow(s, 10, 0).apply(lambda window, events: [1])
        )
