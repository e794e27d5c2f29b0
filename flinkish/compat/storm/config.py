"""Settings of a topology by Storm's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from flinkish.api.arguments import integer, length_from_zero, positive, positive_length, text
from flinkish.api.errors import IllegalArgumentError, NotSupportedError
from flinkish.api.suggestions import suggestion_or_all
from flinkish.compat.storm.topology import BaseWindowedBolt, Duration
from flinkish.compat.storm.windows import Count, Extent

_WINDOW = "topology.bolts.window."


class Config(dict[str, Any]):
    """Settings by name (Storm: ``Config``). Those of windowed bolts hold for each bolt that does not set
    the same itself; others are accepted without effect, but for tick tuples, which are refused.

    >>> config = Config({"topology.bolts.window.length.count": 3})
    >>> config.put(Config.TOPOLOGY_BOLTS_SLIDING_INTERVAL_COUNT, 2)
    >>> config.setNumWorkers(4)
    """

    TOPOLOGY_BOLTS_WINDOW_LENGTH_COUNT: ClassVar = f"{_WINDOW}length.count"
    TOPOLOGY_BOLTS_WINDOW_LENGTH_DURATION_MS: ClassVar = f"{_WINDOW}length.duration.ms"
    TOPOLOGY_BOLTS_SLIDING_INTERVAL_COUNT: ClassVar = f"{_WINDOW}sliding.interval.count"
    TOPOLOGY_BOLTS_SLIDING_INTERVAL_DURATION_MS: ClassVar = f"{_WINDOW}sliding.interval.duration.ms"
    TOPOLOGY_BOLTS_TUPLE_TIMESTAMP_FIELD_NAME: ClassVar = (
        "topology.bolts.tuple.timestamp.field.name"
    )
    TOPOLOGY_BOLTS_TUPLE_TIMESTAMP_MAX_LAG_MS: ClassVar = (
        "topology.bolts.tuple.timestamp.max.lag.ms"
    )
    TOPOLOGY_BOLTS_LATE_TUPLE_STREAM: ClassVar = "topology.bolts.late.tuple.stream"
    TOPOLOGY_BOLTS_WATERMARK_EVENT_INTERVAL_MS: ClassVar = (
        "topology.bolts.watermark.event.interval.ms"
    )
    TOPOLOGY_BOLTS_MESSAGE_ID_FIELD_NAME: ClassVar = "topology.bolts.message.id.field.name"
    TOPOLOGY_TICK_TUPLE_FREQ_SECS: ClassVar = "topology.tick.tuple.freq.secs"
    TOPOLOGY_WORKERS: ClassVar = "topology.workers"
    TOPOLOGY_DEBUG: ClassVar = "topology.debug"
    TOPOLOGY_MESSAGE_TIMEOUT_SECS: ClassVar = "topology.message.timeout.secs"
    TOPOLOGY_MAX_SPOUT_PENDING: ClassVar = "topology.max.spout.pending"
    TOPOLOGY_ACKER_EXECUTORS: ClassVar = "topology.acker.executors"
    TOPOLOGY_MAX_TASK_PARALLELISM: ClassVar = "topology.max.task.parallelism"

    def put(self, name: str, value: object) -> None:
        """Set ``name``."""
        self[text("Config.put: name", name)] = value

    def setNumWorkers(self, workers: int) -> None:
        """Accepted, without effect: Spark has its executors."""
        self[self.TOPOLOGY_WORKERS] = positive("setNumWorkers", workers)

    def setDebug(self, isOn: bool) -> None:
        """Accepted, without effect."""
        self[self.TOPOLOGY_DEBUG] = isOn

    def setMessageTimeoutSecs(self, secs: int) -> None:
        """Accepted, without effect: there are no acks to wait for."""
        self[self.TOPOLOGY_MESSAGE_TIMEOUT_SECS] = positive("setMessageTimeoutSecs", secs)

    def setMaxSpoutPending(self, max: int) -> None:  # noqa: A002 - Storm's name
        """Accepted, without effect: a source limits its batches."""
        self[self.TOPOLOGY_MAX_SPOUT_PENDING] = positive("setMaxSpoutPending", max)

    def setNumAckers(self, numExecutors: int) -> None:
        """Accepted, without effect: there are no acks."""
        self[self.TOPOLOGY_ACKER_EXECUTORS] = integer("setNumAckers", numExecutors)

    def setMaxTaskParallelism(self, max: int) -> None:  # noqa: A002 - Storm's name
        """Accepted, without effect."""
        self[self.TOPOLOGY_MAX_TASK_PARALLELISM] = positive("setMaxTaskParallelism", max)


_LENGTHS = (
    Config.TOPOLOGY_BOLTS_WINDOW_LENGTH_COUNT,
    Config.TOPOLOGY_BOLTS_WINDOW_LENGTH_DURATION_MS,
)
_SLIDES = (
    Config.TOPOLOGY_BOLTS_SLIDING_INTERVAL_COUNT,
    Config.TOPOLOGY_BOLTS_SLIDING_INTERVAL_DURATION_MS,
)
_OF_BOLTS = [name for key, name in vars(Config).items() if key.startswith("TOPOLOGY_BOLTS_")]


@dataclass(frozen=True)
class WindowSettings:
    """The settings of windowed bolts among settings by name; None where a setting is missing."""

    length: Extent | None = None
    slide: Extent | None = None
    timestampField: str | None = None
    lag: Duration | None = None
    interval: Duration | None = None
    lateStream: str | None = None

    @staticmethod
    def of(settings: Mapping[str, Any]) -> WindowSettings:
        """Read the options in ``settings``.

        Raises IllegalArgumentError for a name of bolts that there is not and for a length or a slide that
        is both a count and a duration, NotSupportedError for tick tuples.
        """
        check_names(settings)

        def read(name: str, check: Callable[[str, Any], Any]) -> Any:
            return None if settings.get(name) is None else check(name, settings[name])

        lag = read(Config.TOPOLOGY_BOLTS_TUPLE_TIMESTAMP_MAX_LAG_MS, length_from_zero)
        interval = read(Config.TOPOLOGY_BOLTS_WATERMARK_EVENT_INTERVAL_MS, positive_length)
        return WindowSettings(
            length=_extent(settings, *_LENGTHS),
            slide=_extent(settings, *_SLIDES),
            timestampField=read(Config.TOPOLOGY_BOLTS_TUPLE_TIMESTAMP_FIELD_NAME, text),
            lag=None if lag is None else Duration(lag),
            interval=None if interval is None else Duration(interval),
            lateStream=read(Config.TOPOLOGY_BOLTS_LATE_TUPLE_STREAM, text),
        )

    def complete(self, bolt: BaseWindowedBolt[Any, Any]) -> None:
        """Apply to ``bolt`` the settings that it does not set itself."""
        length = self.length if bolt._length is None else bolt._length
        if length is not None:
            bolt.withWindow(length, self.slide if bolt._slide is None else bolt._slide)
        others: tuple[tuple[Any, Any, Callable[[Any], object]], ...] = (
            (self.timestampField, bolt._timestamp, bolt.withTimestampField),
            (self.lag, bolt._lag, bolt.withLag),
            (self.interval, bolt._interval, bolt.withWatermarkInterval),
            (self.lateStream, bolt._late_tag, bolt.withLateTupleStream),
        )
        for setting, own, apply in others:
            if own is None and setting is not None:
                apply(setting)


def check_names(settings: Mapping[str, Any]) -> None:
    """Raise for a name that would be passed over though it changes results."""
    if settings.get(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS) is not None:
        raise NotSupportedError(
            f"{Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS}: there are no tick tuples. Use a windowed bolt with"
            " withTumblingWindow(Duration.seconds(...)), or a KeyedProcessFunction with timers on the stream"
            " of the bolt before."
        )
    for name in settings:
        if str(name).startswith("topology.bolts.") and name not in _OF_BOLTS:
            fix = suggestion_or_all(name, _OF_BOLTS)
            raise IllegalArgumentError(f"Config: there is no setting {name}.{fix}")


def _extent(settings: Mapping[str, Any], count: str, duration: str) -> Extent | None:
    if settings.get(count) is not None and settings.get(duration) is not None:
        raise IllegalArgumentError(f"Config: both {count} and {duration} are set. Set one of them.")
    if settings.get(count) is not None:
        return Count(positive(count, settings[count]))
    if settings.get(duration) is not None:
        return Duration(positive_length(duration, settings[duration]))
    return None
