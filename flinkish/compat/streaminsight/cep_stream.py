"""``CepStream.create``: streams of events by name, from adapters with individual settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar, Union

from flinkish.api.arguments import instance, member, text
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError, shown
from flinkish.api.functions.adapt import takes
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.compat.streaminsight.advance_time import (
    AdvanceTimeGenerationSettings,
    AdvanceTimePolicy,
    AdvanceTimeSettings,
    advanceTime,
    known_streams,
)
from flinkish.compat.streaminsight.events import EdgeEvent, IntervalEvent, PointEvent, TemporalEvent

C = TypeVar("C")
T = TypeVar("T")


class EventShape(Enum):
    """The shapes of events (StreamInsight: ``EventShape``)."""

    Point = "Point"
    Interval = "Interval"
    Edge = "Edge"


_SHAPES = {
    EventShape.Point: PointEvent,
    EventShape.Interval: IntervalEvent,
    EventShape.Edge: EdgeEvent,
}


@dataclass(frozen=True)
class AdapterAdvanceTimeSettings:
    """How an adapter advances time (StreamInsight: ``AdapterAdvanceTimeSettings``)."""

    generation: AdvanceTimeGenerationSettings
    policy: AdvanceTimePolicy = AdvanceTimePolicy.Drop

    def __post_init__(self) -> None:
        self.settings()

    def settings(self) -> AdvanceTimeSettings:
        """The same as settings of a stream."""
        return AdvanceTimeSettings(self.generation, None, self.policy)


class AdapterFactory(ABC, Generic[C, T]):
    """Creates a stream of events from a configuration (StreamInsight: ``ITypedInputAdapterFactory`` and
    ``ITypedDeclareAdvanceTimeProperties``)."""

    @abstractmethod
    def create(self, configInfo: C, eventShape: EventShape) -> DataStream[TemporalEvent[T]]:
        """The stream of events of that shape."""

    def declareAdvanceTimeProperties(
        self, configInfo: C, eventShape: EventShape
    ) -> AdapterAdvanceTimeSettings | None:
        """How time advances unless the query says otherwise; None: by the stream's own watermarks."""
        return None


AdapterLike = Union[
    AdapterFactory[C, T],
    type[AdapterFactory[C, T]],
    Callable[[C, EventShape], DataStream[TemporalEvent[T]]],
    DataStream[TemporalEvent[T]],
]


class CepStream:
    """Creates the streams of queries (StreamInsight: ``CepStream<T>``)."""

    @staticmethod
    def create(
        streamName: str,
        source: AdapterLike[C, T],
        configInfo: C,
        eventShape: EventShape,
        advanceTimeSettings: AdvanceTimeSettings | None = None,
    ) -> SingleOutputStreamOperator[TemporalEvent[T]]:
        """The events of ``source``: an ``AdapterFactory``, its class, ``f(configInfo, eventShape)``, or a stream,
        with ``configInfo`` None. ``AdvanceTimeImportSettings(streamName)`` imports its time.

        Time advances by ``advanceTimeSettings``, else as the factory declares, else by the watermarks of the
        source.

        Raises InvalidProgramError for another source and, as the job runs, for an event of another shape;
        IllegalArgumentError for a name that the environment has already.

        >>> from flinkish.testing import StreamTestHarness
        >>> settings = AdvanceTimeSettings.strictlyIncreasingStartTime()
        >>> harness = StreamTestHarness(
        ...     lambda events: CepStream.create("data", events, None, EventShape.Point, settings)
        ... )
        >>> harness.processElement(PointEvent(5, "p"))
        >>> harness.getOutput()[-1]
        Watermark(timestamp=5)
        """
        text("CepStream.create: streamName", streamName)
        member("CepStream.create: eventShape", eventShape, EventShape)
        settings = advanceTimeSettings
        if settings is not None:
            fix = "Pass it last, such as AdvanceTimeSettings.increasingStartTime()."
            instance("CepStream.create: settings", settings, AdvanceTimeSettings, fix)
        events, declared = _opened(source, configInfo, eventShape)
        names = known_streams(events.getExecutionEnvironment())
        if streamName in names:
            raise IllegalArgumentError(
                f"CepStream.create: there is a stream {streamName!r} already. Give each its own name."
            )
        shape: type[Any] = _SHAPES[eventShape]

        def checked(event: TemporalEvent[T]) -> TemporalEvent[T]:
            fits: bool = isinstance(event, shape)
            if not fits:
                raise other_shape(event)
            return event

        def other_shape(event: TemporalEvent[T]) -> InvalidProgramError:
            return InvalidProgramError(
                f"CepStream {streamName!r}: {shown(event)} is not a {shape.__name__}. Let the source give"
                f" {shape.__name__}s, or pass the shape that it gives."
            )

        stream = events.map(checked).name(streamName)
        chosen = declared if settings is None else settings
        stream = stream if chosen is None else advanceTime(stream, chosen)
        names[streamName] = stream.getTransformation()
        return stream


def _opened(
    source: Any, configInfo: Any, eventShape: EventShape
) -> tuple[DataStream[Any], AdvanceTimeSettings | None]:
    """The stream of an adapter, and how the adapter advances time."""
    fix = "Pass an AdapterFactory, a function f(configInfo, eventShape), or a stream."
    if isinstance(source, DataStream):
        if configInfo is not None:
            raise IllegalArgumentError(
                f"CepStream.create: a stream takes no configuration, but {shown(configInfo)} is given. Pass None,"
                " or an AdapterFactory that makes the stream of it."
            )
        return source, None
    if isinstance(source, type) and issubclass(source, AdapterFactory):
        source = source()
    if not isinstance(source, AdapterFactory):
        if not callable(source) or not takes(source, 2):
            instance("CepStream.create: source", source, DataStream, fix)
        made = source(configInfo, eventShape)
        return instance("CepStream.create: what the source gave", made, DataStream, fix), None
    made = source.create(configInfo, eventShape)
    instance("CepStream.create: what the factory gave", made, DataStream, fix)
    declared = source.declareAdvanceTimeProperties(configInfo, eventShape)
    if declared is None:
        return made, None
    fix = "Return AdapterAdvanceTimeSettings or None from declareAdvanceTimeProperties."
    instance("CepStream.create", declared, AdapterAdvanceTimeSettings, fix)
    return made, declared.settings()
