"""Window stages of a pipeline: the documents of a window go through an inner pipeline when it closes.

Where the inner pipeline groups first, documents are folded as they come, each group under its own key. Else
the window keeps its documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from flinkish.api.errors import shown
from flinkish.api.functions.window import WindowContext
from flinkish.api.output_tag import OutputTag
from flinkish.api.windowing.windows import TimeWindow
from flinkish.compat.atlas.bson.values import Document, date_of, is_number
from flinkish.compat.atlas.documents import dead_letter
from flinkish.compat.atlas.expressions.compiler import Place, named_arguments
from flinkish.compat.atlas.stages import METADATA, WINDOW_ONLY, Failure, Stages, is_each
from flinkish.compat.atlas.window_stages import MILLISECONDS, Boundary, Interval, WindowSettings

FAILED = OutputTag[Document]("failed documents")
"""Documents that a stage could not take."""


@dataclass(frozen=True)
class WindowPlan:
    """A window stage, as parsed."""

    name: str
    place: Place
    settings: WindowSettings
    hasOffset: bool
    """Whether it says its offset, which may be 0."""
    partitionBy: Any
    stages: Sequence[Any]

    @property
    def path(self) -> str:
        """The place of the inner pipeline."""
        return self.place.at("pipeline").path

    @property
    def prefix(self) -> int:
        """The number of stages that process one document at a time, before the first that does
        not."""
        for position, stage in enumerate(self.stages):
            if not is_each(stage):
                return position
        return len(self.stages)

    @property
    def groupsFirst(self) -> bool:
        """Whether documents can be folded as they come: the first stage that needs a window is ``$group``,
        and nothing up to there asks for the window."""
        return (
            self.prefix < len(self.stages)
            and "$group" in self.stages[self.prefix]
            and self.partitionBy is None
            and self.settings.boundary is Boundary.EVENT_TIME
            and not mentions(
                self.stages[: self.prefix + 1], METADATA, "$meta", "$$ROOT", "$$CURRENT"
            )
        )


_REQUIRED = {
    "$tumblingWindow": ("interval", "pipeline"),
    "$hoppingWindow": ("interval", "hopSize", "pipeline"),
    "$sessionWindow": ("gap", "partitionBy", "pipeline"),
}
_OPTIONAL = ("offset", "idleTimeout", "allowedLateness", "boundary", "partitionBy")

WINDOWS = tuple(_REQUIRED)


def window_plan(name: str, argument: Any, place: Place) -> WindowPlan:
    """The window stage ``name``; raises IllegalArgumentError if its argument is none."""
    named = named_arguments(argument, place, _REQUIRED[name], _OPTIONAL)
    length = "gap" if name == "$sessionWindow" else "interval"
    repeats = "hopSize" if name == "$hoppingWindow" else length
    interval = interval_of(named[length], place.at(length), 1)
    hop = interval_of(named[repeats], place.at(repeats), 1)
    offset = _option(named, "offset", place)
    has_offset = isinstance(named.get("offset"), Mapping)
    timeout = _option(named, "idleTimeout", place)
    if repeats == "gap" and timeout.size:
        raise place.at("idleTimeout").error(
            "is not supported in sessions. Write partitionIdleTimeout in $source, so that an idle partition"
            " does not hold the others back."
        )
    if has_offset:
        _check_offset(offset, hop, repeats, place.at("offset"))
    if not isinstance(named["pipeline"], (list, tuple)):
        raise place.at("pipeline").error("is a list of stages.")
    for position, stage in enumerate(named["pipeline"]):
        inner = next(iter(stage), "") if isinstance(stage, Mapping) else ""
        if inner in ("$source", "$emit", "$merge", *WINDOWS):
            raise (
                place.at("pipeline")
                .at(position)
                .error(f"{inner} belongs into the outer pipeline, not into that of a window.")
            )
    boundary = named.get("boundary", "eventTime")
    if boundary not in [member.value for member in Boundary]:
        raise place.at("boundary").error(
            f"is 'eventTime' or 'processingTime', not {shown(boundary)}."
        )
    lateness = _option(named, "allowedLateness", place)
    for option, delay in (("idleTimeout", timeout), ("allowedLateness", lateness)):
        if boundary == "processingTime" and delay.size:
            raise place.at(option).error(
                "means nothing with boundary: 'processingTime', as such windows close by the clock. Leave it"
                " out, or write boundary: 'eventTime'."
            )
    return WindowPlan(
        name=name,
        place=place,
        settings=WindowSettings(
            size=interval.toMillis(),
            hop=None if repeats == "gap" else hop.toMillis(),
            offset=offset.toMillis(),
            boundary=Boundary(boundary),
            idleTimeout=timeout.toMillis(),
            allowedLateness=lateness.toMillis(),
        ),
        hasOffset=has_offset,
        partitionBy=named.get("partitionBy"),
        stages=list(named["pipeline"]),
    )


def _check_offset(offset: Interval, hop: Interval, repeats: str, place: Place) -> None:
    length = hop.toMillis()
    if repeats == "gap":
        raise place.error("sessions have none, as they begin with a document. Leave it out.")
    if abs(offset.toMillis()) >= length:
        unit = offset.unit if length % Interval(1, offset.unit).toMillis() == 0 else "ms"
        within = offset.toMillis() % length // Interval(1, unit).toMillis()
        raise place.error(
            f"{_written(offset, 'offsetFromUtc')} is beyond the {repeats}, {_written(hop, 'size')}, after which"
            f" windows repeat. Write {_written(Interval(within, unit), 'offsetFromUtc')}."
        )


def _written(interval: Interval, size: str) -> str:
    return f'{{{size}: {interval.size}, unit: "{interval.unit}"}}'


def interval_of(
    value: Any, place: Place, least: int | None, sizes: Sequence[str] = ("size",)
) -> Interval:
    """The length of time that is written at ``place``, of ``least`` units or more."""
    named = named_arguments(value, place, ("unit",), sizes)
    size = next((named[name] for name in sizes if name in named), None)
    if size is None or not is_number(size) or not float(size).is_integer():
        raise place.error(f"lacks size, a whole number: {shown(value)}.")
    if named["unit"] not in tuple(MILLISECONDS):  # which may be a list
        raise place.at("unit").unknown("unit", str(named["unit"]), MILLISECONDS)
    if least is not None and size < least:
        raise place.error(f"is {int(size)} {named['unit']}, but must be {least} or more.")
    return Interval(int(size), named["unit"])


def _option(named: Mapping[str, Any], name: str, place: Place) -> Interval:
    """A length; null is as if left out, which is 0."""
    value = named.get(name)
    if value is None or (is_number(value) and value == 0):
        return Interval(0, "ms")
    if name == "offset":
        return interval_of(value, place.at(name), None, ("size", "offsetFromUtc"))
    return interval_of(value, place.at(name), 0)


def mentions(specification: Any, *names: str) -> bool:
    """Whether a field, operator, path or variable of one of these names is in a specification."""
    if isinstance(specification, Mapping):
        return any(
            mentions(name, *names) or mentions(inner, *names)
            for name, inner in specification.items()
        )
    if isinstance(specification, (list, tuple)):
        return any(mentions(element, *names) for element in specification)
    return isinstance(specification, str) and any(name in specification for name in names)


# ---------------------------------------------------------------------- what runs


@lru_cache(maxsize=64)
def _nearest_date(time: int) -> datetime:
    """The date of a time in ms; a window may end after the last date there is."""
    return date_of(min(max(time, -62_135_596_800_000), 253_402_300_799_999))


@dataclass(frozen=True)
class WindowNote:
    """The metadata that the documents of a window get."""

    source: dict[str, Any]
    notBefore: int | None
    """The start of the processor: windows that begin earlier were never opened."""

    def metadata(self, window: TimeWindow, **partition: Any) -> dict[str, Any]:
        told = {"start": _nearest_date(window.start), "end": _nearest_date(window.end), **partition}
        return {"source": dict(self.source), "window": told}

    def opened(self, window: TimeWindow) -> bool:
        return self.notBefore is None or window.start >= self.notBefore


def groups_of_window(
    note: WindowNote, document_of: Callable[[Any, Any], Document]
) -> Callable[..., Iterator[Document]]:
    """The window function of groups: ``document_of(key, result)`` with the window added."""

    def documents(
        key: Any, context: WindowContext[TimeWindow], results: Iterable[Any]
    ) -> Iterator[Document]:
        window = context.window()
        if note.opened(window):
            for result in results:
                yield {**document_of(key, result), METADATA: note.metadata(window)}

    return documents


def run_in_window(
    stages: Stages,
    note: WindowNote | None,
    context: WindowContext[TimeWindow],
    documents: Iterable[Document],
    **partition: Any,
) -> list[Document]:
    """Run the stages over the documents of a window. ``note``: None if they know their window already."""
    if note is not None:
        if not note.opened(context.window()):
            return []
        metadata = note.metadata(context.window(), **partition)
        documents = [{**document, METADATA: metadata} for document in documents]

    def failed(failure: Failure) -> None:
        context.output(FAILED, dead_letter(failure))

    variables = {"NOW": date_of(context.currentProcessingTime())}
    return stages.run(documents, variables, failed)


def run_in_partition(
    stages: Stages, note: WindowNote, context: WindowContext[TimeWindow], elements: Iterable[Any]
) -> list[Document]:
    """Run the stages over the documents of a window and partition."""
    _, partitions, documents = zip(*elements)
    return run_in_window(stages, note, context, documents, partition=partitions[0])


def needs_window(stages: Sequence[Any]) -> bool:
    """Whether one of the stages needs all documents of a window."""
    return any(isinstance(stage, Mapping) and set(stage) & set(WINDOW_ONLY) for stage in stages)
