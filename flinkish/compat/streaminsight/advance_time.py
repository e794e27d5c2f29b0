"""Current-time increments: watermarks generated from events, from time, or from another stream, and the policy for
events that violate them.

A current-time increment (CTI) at c promises that nothing before c will change any more: that is
``Watermark(c - 1)``. Names and rules are StreamInsight's.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from flinkish.api.arguments import instance, milliseconds, positive, positive_length, text
from flinkish.api.environment.environment import StreamExecutionEnvironment
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError
from flinkish.api.output_tag import OutputTag, checked_tag
from flinkish.api.plan.operators import OperatorDescription
from flinkish.api.plan.transformations import (
    OneInputTransformation,
    Transformation,
    TwoInputTransformation,
    unkeyed,
)
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.time.durations import Duration, TimeLike
from flinkish.api.type_variables import T
from flinkish.compat.streaminsight.events import TICK


class AdvanceTimePolicy(Enum):
    """The policy for an event that begins before the last increment."""

    Drop = "Drop"
    """It is dropped."""
    Adjust = "Adjust"
    """If it lasts beyond the increment its start moves there, else it is dropped."""


class AdvanceTimeGenerationSettings:
    """Increments generated from the events of the stream itself.

    ``frequency`` is a number of events, as an int, or a length of time, as a Duration or a
    timedelta: one increment every so many events, or as soon as an event starts so long after the
    one that made the increment before (or after the first event). Events that are dropped count too,
    end edges do not.

    The increment is at the start of the event that makes it, minus ``delay`` (ms if it is an int).
    With a delay of 0 that event itself is not final yet; with -1, a tick, it is. One that is not
    above the last is left out.

    Raises IllegalArgumentError if the frequency is not greater than zero, and InvalidProgramError for
    a flag that is none.
    """

    def __init__(
        self,
        frequency: int | Duration | datetime.timedelta,
        delay: TimeLike = 0,
        advanceToInfinityOnShutdown: bool = True,
    ) -> None:
        subject = "AdvanceTimeGenerationSettings: frequency"
        self.eventCount = positive(subject, frequency) if isinstance(frequency, int) else None
        self.duration = None if isinstance(frequency, int) else positive_length(subject, frequency)
        self.delay = milliseconds("AdvanceTimeGenerationSettings: delay", delay)
        self.advanceToInfinityOnShutdown = instance(
            "AdvanceTimeGenerationSettings: advanceToInfinityOnShutdown",
            advanceToInfinityOnShutdown,
            bool,
            "Pass True or False.",
        )
        """Whether the end of the stream is an increment at infinity, which makes all events final."""


@dataclass(frozen=True)
class AdvanceTimeImportSettings:
    """Increments taken from ``stream``: its watermarks, whatever made them. Its elements are not.

    ``stream`` is the stream itself, or the name that ``CepStream.create`` gave it before.
    """

    stream: DataStream[Any] | str

    def __post_init__(self) -> None:
        if isinstance(self.stream, str):
            text("AdvanceTimeImportSettings", self.stream)
            return
        fix = "Pass the stream itself, whose time this is to be, or the name that CepStream.create gave it."
        instance("AdvanceTimeImportSettings", self.stream, DataStream, fix)


@dataclass(frozen=True)
class AdvanceTimeSettings:
    """How a stream's time advances: by its own events, by another stream, or by both.

    Raises InvalidProgramError if neither is given.
    """

    generation: AdvanceTimeGenerationSettings | None = None
    import_: AdvanceTimeImportSettings | None = None
    policy: AdvanceTimePolicy = AdvanceTimePolicy.Drop

    def __post_init__(self) -> None:
        if self.generation is None and self.import_ is None:
            raise InvalidProgramError(
                "AdvanceTimeSettings: neither generation nor import is given, so time would never"
                " advance. Pass AdvanceTimeGenerationSettings, AdvanceTimeImportSettings or both."
            )
        if self.generation is not None:
            fix = "Pass AdvanceTimeGenerationSettings(10), or None first and then the import."
            instance(
                "AdvanceTimeSettings: generation",
                self.generation,
                AdvanceTimeGenerationSettings,
                fix,
            )
        if self.import_ is not None:
            fix = "Pass AdvanceTimeImportSettings(stream), or None."
            instance("AdvanceTimeSettings: import", self.import_, AdvanceTimeImportSettings, fix)
        fix = "Pass AdvanceTimePolicy.Drop or AdvanceTimePolicy.Adjust."
        instance("AdvanceTimeSettings: policy", self.policy, AdvanceTimePolicy, fix)

    @staticmethod
    def increasingStartTime() -> AdvanceTimeSettings:
        """An increment at the start of each event: the event itself is not final yet."""
        return AdvanceTimeSettings(AdvanceTimeGenerationSettings(1, 0))

    @staticmethod
    def strictlyIncreasingStartTime() -> AdvanceTimeSettings:
        """An increment a tick after the start of each event: each is final at once."""
        return AdvanceTimeSettings(AdvanceTimeGenerationSettings(1, -TICK))


def advanceTime(
    events: DataStream[T],
    settings: AdvanceTimeSettings,
    violations: OutputTag[T] | None = None,
) -> SingleOutputStreamOperator[T]:
    """The same events, with increments as watermarks between them.

    Elements are ``TemporalEvent``s, which get their ``syncTime`` as their timestamp; or any others,
    which are points at the timestamp that they have. Watermarks that come with them end here. What
    is dropped goes to the side output ``violations``, or is counted as late.

    >>> from flinkish.compat.streaminsight.events import PointEvent
    >>> from flinkish.testing import StreamTestHarness
    >>> settings = AdvanceTimeSettings(AdvanceTimeGenerationSettings(2, delay=5))
    >>> harness = StreamTestHarness(lambda events: advanceTime(events, settings))
    >>> for start in (10, 20):
    ...     harness.processElement(PointEvent(start, "payload"))
    >>> harness.getOutput()[-1]
    Watermark(timestamp=14)
    """
    instance("advanceTime", events, DataStream, "Pass the stream of events first.")
    fix = "Pass them second, such as AdvanceTimeSettings.increasingStartTime()."
    instance("advanceTime", settings, AdvanceTimeSettings, fix)
    if violations is not None:
        checked_tag("advanceTime: violations", violations)
    description = AdvanceTimeDescription(
        settings.generation, settings.policy, None if violations is None else violations.getId()
    )
    # Time advances for the whole stream, not for a key.
    source = unkeyed(events.getTransformation())
    if settings.import_ is None:
        transformation: Transformation = OneInputTransformation(description, source)
    else:
        imported = unkeyed(_imported(events, settings.import_.stream))
        transformation = TwoInputTransformation(description, source, imported)
    return SingleOutputStreamOperator(events.getExecutionEnvironment(), transformation)


_STREAMS: WeakKeyDictionary[StreamExecutionEnvironment, dict[str, Transformation]] = (
    WeakKeyDictionary()
)


def known_streams(environment: StreamExecutionEnvironment) -> dict[str, Transformation]:
    """The streams of ``environment`` by the names that ``CepStream.create`` gave them."""
    return _STREAMS.setdefault(environment, {})


def _imported(events: DataStream[Any], stream: DataStream[Any] | str) -> Transformation:
    if isinstance(stream, str):
        known = known_streams(events.getExecutionEnvironment())
        if stream not in known:
            raise IllegalArgumentError(
                f"AdvanceTimeImportSettings: there is no stream {stream!r} yet; there are"
                f" {', '.join(known) or 'none'}. Create it with CepStream.create({stream!r}, ...) before the one"
                " that imports its time."
            )
        return known[stream]
    events._check_environment("advanceTime", stream.getExecutionEnvironment())
    return stream.getTransformation()


@dataclass(frozen=True)
class AdvanceTimeDescription(OperatorDescription):
    """``advanceTime``; the second input, if there is one, is the stream whose time is imported."""

    kind: ClassVar[str] = "AdvanceTime"
    name: ClassVar[str] = "Advance Time"
    lateDataMethod: ClassVar[str] = "advanceTime(events, settings, violations=tag)"

    generation: AdvanceTimeGenerationSettings | None
    policy: AdvanceTimePolicy
    violations: str | None

    @property
    def stateful(self) -> bool:
        """It has state, as it counts over the whole stream."""
        return True

    @property
    def generatesWatermarks(self) -> bool:
        """Imported time is that of the second input."""
        return self.generation is not None
