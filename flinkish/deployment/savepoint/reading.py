"""Helps engines to answer the queries of a ``SavepointReader``."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from flinkish.api.errors import IllegalArgumentError, InvalidProgramError
from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.api.savepoint.queries import StateQuery, WindowStateQuery
from flinkish.api.types.columns import columns_of
from flinkish.api.types.row import row_of
from flinkish.api.types.table_schema import table_schema
from flinkish.api.types.type_info import TypeInformation, Types
from flinkish.deployment.savepoint.metadata import SavepointMetadata
from flinkish.runtime.formats.arrow_types import arrow_schema
from flinkish.runtime.records.columns import ElementColumns
from flinkish.runtime.savepoint.reading import StateReading, state_reading


def reading_of(query: StateQuery, metadata: SavepointMetadata, where: str) -> StateReading:
    """The answer to ``query``. Raises IllegalArgumentError if there is no such operator."""
    names = metadata.names
    if query.uid not in names:
        known = ", ".join(sorted(metadata.fields["operators"])) or "none with state"
        raise IllegalArgumentError(
            f"the savepoint {where} has no operator {query.uid!r}, only {known}. Pass the uid of one of"
            " these."
        )
    if isinstance(query, WindowStateQuery):
        _check_windows(query.uid, metadata)
    identity = metadata.identities.get(query.uid)
    noted = () if identity is None else identity.states
    return state_reading(query, names[query.uid], noted, time.time_ns() // 1_000_000)


def _check_windows(uid: str, metadata: SavepointMetadata) -> None:
    """Raises IllegalArgumentError unless it is a window operator with readable windows."""
    operator = metadata.fields["operators"].get(uid)
    kind = "operator without state" if operator is None else operator["layout"][0]
    if kind != WindowOperatorDescription.kind:
        raise IllegalArgumentError(
            f"readWindowState: {metadata.names[uid]!r} ({uid}) is a {kind}, which keeps no windows of a"
            " WindowAssigner. Read its state with readKeyedState."
        )


def as_rows(query: StateQuery, answers: Iterable[Any]) -> Iterable[Any]:
    """The answer for a program without Spark."""
    if query.columns is None:
        return answers
    names = tuple(name for name, _ in query.columns)
    return (row_of(names, answer) for answer in answers)


@dataclass(frozen=True)
class AnswerColumns:
    """The answer of a query as columns; ``ddl`` are their names and types."""

    ddl: str
    _elements: ElementColumns
    _texts: tuple[int, ...]
    """The columns that hold strings, as no column can hold their type, or it is unknown."""
    _single: bool
    """Whether an answer is a single value and not a tuple of columns."""

    @classmethod
    def of(cls, query: StateQuery, name: str) -> AnswerColumns:
        """The columns of the answer of ``query``; ``name`` is the operator's, for errors."""
        if query.columns is None:
            kind = _held(query.outputType, name)
            given = Types.STRING() if kind is None else kind
            ddl, single = columns_of(given, name), not given.isComposite()
            return cls(ddl, _columns(name, ddl, single), (0,) if kind is None else (), single)
        held = [_held(kind, name) for _, kind in query.columns]
        types = [Types.STRING() if kind is None else kind for kind in held]
        ddl = columns_of(Types.ROW_NAMED([column for column, _ in query.columns], types), name)
        texts = tuple(number for number, kind in enumerate(held) if kind is None)
        return cls(ddl, _columns(name, ddl, False), texts, False)

    def batch(self, answers: Sequence[Any]) -> pa.RecordBatch:
        """Answers as an Arrow batch. Raises UnfitElementError for one of another type."""
        if self._texts and self._single:
            answers = [_text(answer) for answer in answers]
        elif self._texts:
            answers = [
                tuple(_text(v) if n in self._texts else v for n, v in enumerate(answer))
                for answer in answers
            ]
        return self._elements.of(answers).batch


def _columns(name: str, ddl: str, single: bool) -> ElementColumns:
    return ElementColumns(name, arrow_schema(table_schema(ddl)), single)


def _held(kind: TypeInformation[Any] | None, name: str) -> TypeInformation[Any] | None:
    """``kind`` if columns can hold it, else None."""
    try:
        return kind if kind is None or columns_of(kind, name) else None
    except InvalidProgramError:
        return None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
