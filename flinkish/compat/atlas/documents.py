"""The operator that runs stages which look at one document at a time, from ``$source`` on."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from flinkish.api.plan.operators import OperatorDescription
from flinkish.api.types.fields import named_values
from flinkish.compat.atlas.bson.values import (
    MISSING,
    Bound,
    Document,
    DocumentError,
    ObjectId,
    Timestamp,
    date_of,
    key_of,
    millis,
    type_name,
)
from flinkish.compat.atlas.expressions.compiler import Compiled, Place, compile_expression
from flinkish.compat.atlas.expressions.date_formats import moment
from flinkish.compat.atlas.extended_json import parsed
from flinkish.compat.atlas.stages import METADATA, Failure, GroupDocuments, Stages
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext
from flinkish.runtime.records.copies import copied_values
from flinkish.runtime.records.records import NO_TIMESTAMP, Records, timestamps_of
from flinkish.runtime.registry import register_operator

_LOG = logging.getLogger(__name__)


@dataclass
class Source(Compiled):
    """``$source``: elements become documents, with a timestamp."""

    timeField: Any
    """The expression of the event time; None: the timestamp that the element has, or the clock."""
    tsFieldName: str
    metadata: dict[str, Any]
    path: str

    def __post_init__(self) -> None:
        place = Place(self.path).at("timeField")
        self._time = None if self.timeField is None else compile_expression(self.timeField, place)

    def stamp(self, document: Document, timestamp: int, variables: dict[str, Any]) -> int:
        """Add the metadata and the event time to the document; returns the time in ms.

        Raises DocumentError if it has none.
        """
        if self._time is None:
            if timestamp == NO_TIMESTAMP:
                timestamp = int(time.time() * 1000)
            document[self.tsFieldName] = date_of(timestamp)
        else:
            event_time = _event_time(self._time(document, variables))
            document[self.tsFieldName] = event_time
            timestamp = millis(event_time)
        document[METADATA] = {"source": dict(self.metadata)}
        return timestamp


def as_document(element: Any) -> Document:
    """A copy of a dict, a Row, dataclass or NamedTuple by the names of its fields, or a text of JSON, as a
    document; raises DocumentError if it is none."""
    if isinstance(element, (str, bytes)):
        value = parsed(element)
        if isinstance(value, dict):
            return value
        raise DocumentError(f"Failed to parse input document: it is of type {type_name(value)}")
    if isinstance(element, Mapping):
        return dict(element)
    fields = named_values(element)
    if fields is not None:
        return {name: _plain(inner) for name, inner in fields.items()}
    raise DocumentError(
        f"a {type(element).__name__} is no document: the elements of a source are dicts, Rows with names,"
        " dataclasses, or texts of JSON"
    )


def _plain(value: Any) -> Any:
    if isinstance(value, _SINGLE):
        return value
    fields = named_values(value)
    if fields is not None:
        return {name: _plain(inner) for name, inner in fields.items()}
    return [_plain(element) for element in value] if isinstance(value, (list, tuple)) else value


_SINGLE = (str, int, float, datetime, ObjectId, Timestamp, Bound)
"""Values without fields, some of which are dataclasses."""


def _event_time(value: Any) -> datetime:
    if isinstance(value, (datetime, Timestamp)):
        return moment("timeField", value)
    raise DocumentError(f"timeField must evaluate to a date, but is of type {type_name(value)}")


@dataclass
class Shape(Compiled):
    """The form of documents before a window: a hashable key, its value and the document; or, with ``group``, their
    contribution to their group, and with ``keepsDocument`` the document, in case it is late."""

    key: Any
    group: Any
    path: str
    keepsDocument: bool = True

    def __post_init__(self) -> None:
        place = Place(self.path)
        self._group = None if self.group is None else GroupDocuments(self.group, self.path)
        self._key = compile_expression(self.key, place)

    def element(self, document: Document, variables: dict[str, Any]) -> tuple[Any, ...]:
        """Return the element that represents the document in the window. Raises DocumentError if
        none can."""
        if self._group is not None:
            prepared = self._group.prepared(document, variables)
            return (*prepared, document) if self.keepsDocument else prepared
        key = self._key(document, variables)
        return key_of(None if key is MISSING else key), None if key is MISSING else key, document


@dataclass(frozen=True)
class DocumentsDescription(OperatorDescription):
    """Stages that look at one document at a time."""

    kind: ClassVar[str] = "Documents"

    source: Source | None
    stages: tuple[Stages, ...]
    shape: Shape | None
    deadLetters: str | None
    """The id of the side output for documents that a stage cannot take."""
    notBefore: int | None = None
    """Documents of earlier event times are dead letters: the processor was not started."""
    name: str = field(default="Documents", compare=False)


@dataclass(frozen=True)
class DocumentsByClockDescription(DocumentsDescription):
    """The same, where a stage reads the clock."""

    kind: ClassVar[str] = "DocumentsByClock"
    seesTime: ClassVar[bool] = True


class DocumentsOperator(OneInputOperator):
    """Runs stages over each document; what a stage cannot take goes to a side output."""

    def __init__(self, context: OperatorContext, description: DocumentsDescription) -> None:
        super().__init__(context)
        self._source = description.source
        self._stages = description.stages
        self._shape = description.shape
        self._dead = description.deadLetters
        self._first = description.notBefore
        self._timestamp = NO_TIMESTAMP
        self._dropped = self.metrics.counter("numDocumentsFailed")
        self._sees_time = description.seesTime

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        variables: dict[str, Any] = {}
        if self._sees_time:
            variables["NOW"] = date_of(self.clock.getCurrentProcessingTime())
        values: list[Any] = []
        timestamps: list[int] = []
        for element, timestamp in zip(records.values, records.timestamps.tolist()):
            results = self._results(element, timestamp, variables)
            values += results
            timestamps += [self._timestamp] * len(results)
        self.output.flush()
        # Documents may share parts of one another, and functions of the user change them
        emitted = copied_values(values) if self._shape is None else values
        self.output.emitRecords(Records(emitted, timestamps_of(timestamps)))

    def _results(self, element: Any, timestamp: int, variables: dict[str, Any]) -> list[Any]:
        self._timestamp = timestamp
        document = element
        if self._source is not None:
            try:
                document = as_document(element)
                self._timestamp = self._source.stamp(document, timestamp, variables)
            except DocumentError as error:
                self._fail(Failure(document, str(error), self._source.path))
                return []
            if self._first is not None and self._timestamp < self._first:
                reason = "Input document is of a time before the stream processor's start."
                self._fail(Failure(document, reason, self._source.path))
                return []
        documents: Iterable[Any] = (document,)
        for stages in self._stages:
            documents = stages.run(documents, variables, self._fail)
        if self._shape is None:
            return list(documents)
        shaped: list[Any] = []
        for found in documents:
            try:
                shaped.append(self._shape.element(found, variables))
            except DocumentError as error:
                self._fail(Failure(found, str(error), self._shape.path))
        return shaped

    def _fail(self, failure: Failure) -> None:
        if self._dead is not None:
            self.output.collectSide(self._dead, dead_letter(failure), self._timestamp)
            return
        if not self._dropped.getCount():
            _LOG.warning(
                "%s: a document was dropped at %s: %s. Further ones are only counted, in"
                " numDocumentsFailed; deadLetterQueue=True keeps them.",
                self.name,
                failure.stage,
                failure.reason,
            )
        self._dropped.inc()


def dead_letter(failure: Failure) -> Document:
    """A failure as a document of the dead letter queue."""
    document = failure.document
    letter: Document = {}
    if isinstance(document, dict) and METADATA in document:
        letter[METADATA] = document[METADATA]
        document = {name: value for name, value in document.items() if name != METADATA}
    letter["doc"] = document
    letter["errInfo"] = {"reason": failure.reason}
    letter["operatorName"] = failure.stage.rpartition(".")[2]
    letter["stage"] = failure.stage
    return letter


register_operator(DocumentsDescription, DocumentsOperator)
register_operator(DocumentsByClockDescription, DocumentsOperator)
