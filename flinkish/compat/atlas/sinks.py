"""``$emit`` and ``$merge``: where documents go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from flinkish.api.connectors.file_sink import FileSink
from flinkish.api.connectors.kafka.records import ProducerRecord
from flinkish.api.connectors.kafka.serialization import (
    BuiltSerialization,
    KafkaRecordSerializationSchema,
    KafkaSinkContext,
)
from flinkish.api.connectors.kafka.sink import KafkaSink
from flinkish.api.connectors.row_format import SimpleStringEncoder
from flinkish.api.connectors.schemas import SimpleStringSchema
from flinkish.api.connectors.sink import Sink
from flinkish.api.errors import InvalidProgramError, shown
from flinkish.api.streams.data_stream import DataStream
from flinkish.compat.atlas.bson.values import (
    MISSING,
    Document,
    DocumentError,
    ObjectId,
    is_null,
    key_of,
)
from flinkish.compat.atlas.expressions.compiler import (
    Compiled,
    Place,
    compile_expression,
    constant,
    named_arguments,
)
from flinkish.compat.atlas.extended_json import line
from flinkish.compat.atlas.queries import leaves
from flinkish.compat.atlas.stages import Stages, stage_name

SINKS = ("$emit", "$merge")

Target = (
    Sink[Any]
    | MutableSequence[Document]
    | MutableMapping[str, MutableSequence[Document]]
    | Callable[[Document], object]
)
"""A sink, the rows of a collection, collections by name, or a function that is called with each document."""


@dataclass(frozen=True)
class Destination:
    """A sink stage: the connection that it names, and how documents are written there."""

    name: str
    argument: Mapping[str, Any]
    place: Place
    connection: str
    """The name of the connection; of a collection alone, its own."""
    collection: Any
    """The expression of the collection's name, or None."""

    @staticmethod
    def of(name: str, argument: Any, place: Place) -> Destination:
        """Checked; raises IllegalArgumentError for a stage that is none."""
        if name == "$merge":
            options = ("on", "let", "whenMatched", "whenNotMatched", "parallelism")
            named = named_arguments(argument, place, ("into",), options)
            into = {"coll": named["into"]} if isinstance(named["into"], str) else named["into"]
            if not isinstance(into, Mapping) or "coll" not in into:
                raise place.at("into").error(
                    "is {connectionName, db, coll}, or the name of a collection."
                )
            connection, collection = into.get("connectionName", into["coll"]), into["coll"]
            MergeRule(named, place)
        else:
            known = (
                *("topic", "db", "coll", "timeseries", "path", "bucket", "region", "delimiter"),
                *("config", "schemaRegistry", "stream", "partitionKey"),
            )
            named = named_arguments(argument, place, ("connectionName",), known)
            connection, collection = named["connectionName"], named.get("coll")
        return Destination(name, named, place, str(connection), collection)

    def attach(self, stream: DataStream[Document], target: Target) -> None:
        """Let the documents of ``stream`` be written to ``target``."""
        if isinstance(target, Sink):
            self._attach_sink(stream, target)
        elif isinstance(target, (MutableSequence, MutableMapping)):
            stream.forEachBatch(WriteDocuments(self, target)).name(self.place.path)
        else:
            call = target

            def call_each(documents: list[Document], batch: int) -> None:
                for document in documents:
                    call(document)

            stream.forEachBatch(call_each).name(self.place.path)

    def _attach_sink(self, stream: DataStream[Document], sink: Sink[Any]) -> None:
        if self.name == "$merge":
            raise self.place.error(
                f"the connection {self.connection} is a {type(sink).__name__}, and $merge writes to rows."
                " Write $emit, or give the rows of a collection."
            )
        canonical = self.argument.get("config", {}).get("outputFormat") == "canonicalJson"
        if isinstance(sink, KafkaSink):
            schema = DocumentRecords(self.argument, self.place, sink.serializer, canonical)
            stream.sinkTo(replace(sink, serializer=schema)).name(self.place.path)
        elif (
            isinstance(sink, FileSink)
            and sink.format == "text"
            and (sink.encoder is None or isinstance(sink.encoder, SimpleStringEncoder))
        ):
            lines = stream.map(lambda document: line(document, canonical))
            lines.sinkTo(sink).name(self.place.path)
        else:
            stream.sinkTo(sink).name(self.place.path)


_UPDATES = ("$addFields", "$set", "$project", "$unset", "$replaceRoot", "$replaceWith")
"""The stages of a pipeline that updates a row."""


class MergeRule:
    """``$merge``: the row that a document belongs to, and how the two are combined. ``matched`` and
    ``notMatched`` give the name of it for a document; it is a pipeline where ``matched`` is
    None."""

    def __init__(self, named: Mapping[str, Any], place: Place) -> None:
        on = named.get("on", "_id")
        self.on = [on] if isinstance(on, str) else list(on)
        self.place = place
        matched, notMatched = named.get("whenMatched", "merge"), named.get("whenNotMatched")
        if notMatched is None:
            notMatched = "discard" if matched == "delete" else "insert"
        where = place.at("whenNotMatched")
        self.notMatched = _choice(
            notMatched, where, "is 'insert', 'discard' or 'fail'", ("insert", "discard", "fail")
        )
        where = place.at("whenMatched")
        self.matched: Callable[[Document], str] | None = None
        let = named.get("let", {"new": "$$ROOT"})
        self._let = {k: compile_expression(v, place.at("let").at(k)) for k, v in let.items()}
        self._stages: Stages | None = None
        if not isinstance(matched, (list, tuple)):
            choices = ("replace", "keepExisting", "merge", "fail", "delete")
            said = f"is a pipeline or one of {', '.join(choices)}"
            self.matched = _choice(matched, where, said, choices)
            return
        for position, stage in enumerate(matched):
            name = stage_name(stage, where.at(position))
            if name not in _UPDATES:
                raise where.at(position).error(
                    f"{name} is not allowed in whenMatched, which updates one document. There are"
                    f" {', '.join(_UPDATES)}."
                )
        variables = frozenset({"new", *self._let})
        self._stages = Stages(matched, where.path, variables=variables)

    def key(self, document: Document) -> Any:
        """A hashable key of the fields by which rows are found; raises DocumentError if one is missing."""
        keys = []
        for name in self.on:
            value = next(leaves(document, name.split(".")))
            if value is MISSING or (value is None and name != "_id") or isinstance(value, list):
                raise DocumentError(
                    f"$merge: the field {name} of 'on' is missing, null or an array"
                )
            keys.append(key_of(value))
        return tuple(keys)

    def merged(self, row: Document, document: Document) -> Document | None:
        """The row with the document in it; None: it is deleted."""
        if self._stages is not None:
            variables = {k: part(document, now()) for k, part in self._let.items()}
            found = self._stages.run([row], {**now(), **variables, "new": document}, self._fail)
            return {**found[0], "_id": row["_id"]} if "_id" in row else found[0]
        assert self.matched is not None
        matched = self.matched(document)
        if matched == "merge":
            return {**row, **document}
        if matched == "replace":
            return {**({"_id": row["_id"]} if "_id" in row else {}), **document}
        if matched == "keepExisting":
            return row
        if matched == "delete":
            return None
        raise InvalidProgramError(
            f"{self.place.path}: there is a row already for {shown(document)}."
        )

    def _fail(self, failure: Any) -> None:
        raise InvalidProgramError(f"{failure.stage}: {failure.reason}: {shown(failure.document)}")


def _choice(
    value: Any, place: Place, said: str, choices: Sequence[str]
) -> Callable[[Document], str]:
    """One of ``choices``, or an expression that gives one for a document."""
    if isinstance(value, str) and value in choices:
        return lambda document: value
    if not (isinstance(value, Mapping) or (isinstance(value, str) and value.startswith("$"))):
        raise place.error(f"{said}, or an expression that gives one of them, not {shown(value)}.")
    evaluate = compile_expression(value, place)

    def chosen(document: Document) -> str:
        found = evaluate(document, now())
        if found not in choices:
            raise InvalidProgramError(
                f"{place.path}: the expression gives {shown(found)} for {shown(document)}, which is none of"
                f" {', '.join(choices)}."
            )
        return str(found)

    return chosen


@dataclass
class WriteDocuments(Compiled):
    """Writes the documents of a batch to rows, which ``$merge`` finds by the fields of ``on``."""

    destination: Destination
    target: Any

    def __post_init__(self) -> None:
        to, name = self.destination, self.destination.collection
        dynamic = isinstance(name, (str, Mapping)) and isinstance(self.target, MutableMapping)
        self._name = compile_expression(name, to.place) if dynamic else constant("")
        self._rule = MergeRule(to.argument, to.place) if to.name == "$merge" else None
        self._indexes: dict[int, dict[Any, int]] = {}

    def __call__(self, documents: list[Document], batch: int) -> None:
        for position, document in enumerate(documents):
            rows = self.target
            if isinstance(rows, MutableMapping):
                rows = rows.setdefault(str(self._name(document, now())), [])
            if self._rule is None:
                rows.append(document)
            else:
                self._merge(rows, document, self._rule, batch, position)

    def _merge(
        self, rows: Any, document: Document, rule: MergeRule, batch: int, position: int
    ) -> None:
        if "_id" not in document:
            # Of the batch, so that a batch that comes again finds its own rows
            document = {"_id": ObjectId(f"{batch & (1 << 64) - 1:016x}{position:08x}"), **document}
        index = self._indexes.get(id(rows))
        if index is None or len(index) != len(rows):
            index = self._indexes[id(rows)] = {rule.key(row): i for i, row in enumerate(rows)}
        key = rule.key(document)
        found = index.get(key)
        if found is None:
            unmatched = rule.notMatched(document)
            if unmatched == "insert":
                index[key] = len(rows)
                rows.append(document)
            elif unmatched == "fail":
                raise InvalidProgramError(
                    f"{rule.place.path}: there is no row for {shown(document)}."
                )
            return
        if rule.on != ["_id"]:
            document = {name: inner for name, inner in document.items() if name != "_id"}
        merged = rule.merged(rows[found], document)
        if merged is None:
            del rows[found]
            del self._indexes[id(rows)]
        else:
            rows[found] = merged


@dataclass
class DocumentRecords(Compiled, KafkaRecordSerializationSchema[Document]):
    """Records of documents: the sink's own schema, with the topic and the key that ``$emit`` says."""

    argument: Mapping[str, Any]
    place: Place
    schema: KafkaRecordSerializationSchema[Any]
    canonical: bool

    def __post_init__(self) -> None:
        topic, key = self.argument.get("topic"), self.argument.get("config", {}).get("key")
        self._topic = None if topic is None else compile_expression(topic, self.place.at("topic"))
        where = self.place.at("config").at("key")
        self._key = None if key is None else compile_expression(key, where)

    def serialize(
        self, element: Document, context: KafkaSinkContext, timestamp: int | None
    ) -> ProducerRecord | None:
        schema = self.schema
        texts = isinstance(schema, BuiltSerialization) and isinstance(
            schema.valueSchema, SimpleStringSchema
        )
        value: Any = line(element, self.canonical) if texts else element
        record = schema.serialize(value, context, timestamp)
        if record is None:
            return None
        if self._topic is not None:
            record = record._replace(topic=str(self._topic(element, now())))
        if self._key is not None:
            record = record._replace(key=_key_bytes(self._key(element, now()), self.canonical))
        return record


def _key_bytes(key: Any, canonical: bool) -> bytes | None:
    if is_null(key) or isinstance(key, bytes):
        return key or None
    return (key if isinstance(key, str) else line(key, canonical)).encode()


def now() -> dict[str, Any]:
    """The variables at a sink: the clock."""
    return {"NOW": datetime.now(UTC)}
