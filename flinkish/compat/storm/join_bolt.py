"""``JoinBolt``: joins the tuples of several components within a window."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Self

from flinkish.api.arguments import text
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError
from flinkish.compat.storm.task import OutputCollector, OutputFieldsDeclarer
from flinkish.compat.storm.topology import BaseWindowedBolt
from flinkish.compat.storm.tuples import DEFAULT_STREAM, Fields, Tuple
from flinkish.compat.storm.windows import PolicyWindow


class Selector(Enum):
    """The meaning of the names in a ``JoinBolt`` (Storm: ``JoinBolt.Selector``)."""

    STREAM = "STREAM"
    """The ids of streams."""
    SOURCE = "SOURCE"
    """The ids of the components that emit."""


@dataclass(frozen=True)
class FieldSelector:
    """A field, as ``stream:outer.inner``; without a stream that of the first tuple that has it."""

    stream: str | None
    path: tuple[str, ...]
    outputName: str

    @staticmethod
    def parse(descriptor: str) -> FieldSelector:
        """The selector that ``descriptor`` writes."""
        stream, colon, field = text("JoinBolt: field", descriptor).strip().rpartition(":")
        path = tuple(part.strip() for part in field.split("."))
        if not all(path):
            raise IllegalArgumentError(
                f"JoinBolt: {descriptor!r} names no field. Write a field, outer.inner or stream:field,"
                " with commas between them."
            )
        name = f"{stream.strip()}:{field.strip()}" if stream else field.strip()
        return FieldSelector(stream.strip() or None if colon else None, path, name)

    def read(self, stream: str, tuple_: Tuple) -> Any:
        """The field of a tuple of ``stream``, None if it is not there."""
        if self.stream is not None and self.stream.lower() != stream.lower():
            return None
        if not tuple_.contains(self.path[0]):
            return None
        value = tuple_.getValueByField(self.path[0])
        for part in self.path[1:]:
            if value is None:
                return None
            if not isinstance(value, Mapping):
                raise InvalidProgramError(
                    f"JoinBolt: {'.'.join(self.path)}: {part} is to be read of a"
                    f" {type(value).__name__}. Nested fields are read of dicts."
                )
            value = value.get(part)
        return value


@dataclass(frozen=True)
class _Joined:
    """A stream of the join, and the field of an earlier one that its own is compared with."""

    field: FieldSelector
    prior: FieldSelector
    outer: bool


Record = tuple[tuple[str, Tuple], ...]
"""The tuples that are joined, each after the name of its stream."""


class JoinBolt(BaseWindowedBolt[Tuple, list[Any]]):
    """Joins the tuples of a window, inner or left (Storm: ``JoinBolt``). It is set in a ``TopologyBuilder``.

    ``JoinBolt("users", "id")`` begins with the component ``users``;
    ``JoinBolt(JoinBolt.Selector.STREAM, "users", "id")`` with the stream. A tuple whose key is None joins with
    nothing, and is left out of a left join too, as in Storm.
    """

    Selector = Selector

    def __init__(self, *first: Any) -> None:
        """``(source, field)`` or ``(selector, streamOrSource, field)``."""
        super().__init__()
        if len(first) == 2:
            first = Selector.SOURCE, *first
        if len(first) != 3 or not isinstance(first[0], Selector):
            raise IllegalArgumentError(
                "JoinBolt: pass the first component and its field, or JoinBolt.Selector.STREAM, the first"
                " stream and its field."
            )
        self._selector, self._first, field = first
        text("JoinBolt: stream", self._first)
        self._keys = {self._first: _field_of(self._first, field)}
        self._joins: dict[str, _Joined] = {}
        self._selected: list[FieldSelector] = []
        self._output_stream = DEFAULT_STREAM

    def join(self, newStream: str, field: str, priorStream: str) -> Self:
        """Join with the tuples of ``newStream`` whose ``field`` is that of ``priorStream``, which is part of
        the join already."""
        return self._join(newStream, field, priorStream, outer=False)

    def leftJoin(self, newStream: str, field: str, priorStream: str) -> Self:
        """The same, and keep what has no partner."""
        return self._join(newStream, field, priorStream, outer=True)

    def _join(self, stream: str, field: str, prior: str, outer: bool) -> Self:
        text("JoinBolt.join: newStream", stream)
        text("JoinBolt.join: priorStream", prior)
        if stream in self._keys:
            raise IllegalArgumentError(
                f"JoinBolt: {stream!r} is part of the join already. Join with each stream once."
            )
        if prior not in self._keys:
            raise IllegalArgumentError(
                f"JoinBolt: {prior!r} is not part of the join yet; there are {', '.join(self._keys)}."
                " Join with it first."
            )
        self._keys[stream] = _field_of(stream, field)
        self._joins[stream] = _Joined(self._keys[stream], self._keys[prior], outer)
        return self

    def select(self, commaSeparatedKeys: str) -> Self:
        """The fields of the results: ``"users:id, total, order.item"``. They are also their names."""
        keys = text("JoinBolt.select", commaSeparatedKeys).split(",")
        self._selected = [FieldSelector.parse(key) for key in keys]
        return self

    def withOutputStream(self, streamName: str) -> Self:
        """Emit to that stream instead of the default one."""
        self._output_stream = text("withOutputStream", streamName)
        return self

    def declareOutputFields(self, declarer: OutputFieldsDeclarer) -> None:
        """The selected fields, on the output stream."""
        if not self._selected:
            raise IllegalArgumentError(
                'JoinBolt: no fields are selected. Call select("field, stream:field") on it.'
            )
        fields = Fields(*(selector.outputName for selector in self._selected))
        if self._output_stream == DEFAULT_STREAM:
            declarer.declare(fields)
        else:
            declarer.declareStream(self._output_stream, fields)

    def execute(self, input: PolicyWindow[Tuple], collector: OutputCollector[Any]) -> None:  # noqa: A002
        """Join the tuples of the window."""
        for record in self._joined(input.get()):
            values = [_read(selector, record) for selector in self._selected]
            collector.emit(self._output_stream, values)

    def _joined(self, tuples: Sequence[Tuple]) -> list[Record]:
        by_stream: dict[str, list[Tuple]] = defaultdict(list)
        for each in tuples:
            by_stream[self._stream_of(each)].append(each)
        records: list[Record] = [((self._first, each),) for each in by_stream[self._first]]
        for stream, joined in self._joins.items():
            partners: dict[Any, list[Tuple]] = defaultdict(list)
            for each in by_stream[stream]:
                partners[joined.field.read(stream, each)].append(each)
            records = _matched(records, stream, joined, partners)
        return records

    def _stream_of(self, each: Tuple) -> str:
        by_stream = self._selector is Selector.STREAM
        name = each.getSourceStreamId() if by_stream else each.getSourceComponent()
        if name not in self._keys:
            raise InvalidProgramError(
                f"JoinBolt: a tuple of {name!r} came, which is not part of the join; there are"
                f" {', '.join(self._keys)}. Join with it, or do not let the bolt read it."
            )
        return name


def _matched(
    records: list[Record], stream: str, joined: _Joined, partners: Mapping[Any, list[Tuple]]
) -> list[Record]:
    found: list[Record] = []
    for record in records:
        key = _read(joined.prior, record)
        if key is None:
            continue
        matching = partners.get(key, [])
        found += [(*record, (stream, partner)) for partner in matching]
        if joined.outer and not matching:
            found.append(record)
    return found


def _read(selector: FieldSelector, record: Record) -> Any:
    """The first value that is present."""
    values = (selector.read(stream, each) for stream, each in record)
    return next((value for value in values if value is not None), None)


def _field_of(stream: str, field: str) -> FieldSelector:
    selector = FieldSelector.parse(field)
    if selector.stream is not None:
        raise IllegalArgumentError(
            f"JoinBolt: {field!r} names a stream, but it is a field of {stream!r}. Leave out what is before"
            " the colon."
        )
    return FieldSelector(stream, selector.path, selector.outputName)
