"""The stages of a pipeline that look at one document, and those that need all documents of a window."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flinkish.api.errors import InvalidProgramError, shown
from flinkish.api.functions.functions import AggregateFunction
from flinkish.compat.atlas.accumulators import Accumulator, compile_accumulator
from flinkish.compat.atlas.bson.numbers import whole
from flinkish.compat.atlas.bson.values import (
    MISSING,
    Document,
    DocumentError,
    Int64,
    is_null,
    key_of,
    type_name,
)
from flinkish.compat.atlas.expressions.compiler import (
    Compiled,
    Evaluator,
    Place,
    Variables,
    compile_expression,
    named_arguments,
    sort_key,
)
from flinkish.compat.atlas.json_schema import compile_schema
from flinkish.compat.atlas.lookups import compile_lookup
from flinkish.compat.atlas.projections import (
    Projection,
    compile_fields,
    compile_projection,
    compile_unset,
)
from flinkish.compat.atlas.queries import compile_query

METADATA = "_stream_meta"
"""The field with a document's source and window."""


@dataclass(frozen=True)
class Failure:
    """A document that a stage could not take."""

    document: Any
    reason: str
    stage: str
    """The place of the stage in the pipeline."""


Failed = Callable[[Failure], None]
"""Called with each document that a stage cannot take."""

Collections = Mapping[str, Sequence[Document]]
"""The rows that ``$lookup`` may join, by the name of their collection."""


Stage = Callable[[list[Document], Variables, Failed], list[Document]]
"""The documents behind a stage."""

EachFunction = Callable[[Document, Variables], Iterable[Document]]
"""What a stage that looks at one document at a time makes of a document."""


def _each(place: str, function: EachFunction) -> Stage:
    def run(documents: list[Document], variables: Variables, failed: Failed) -> list[Document]:
        results: list[Document] = []
        for document in documents:
            try:
                results.extend(function(document, variables))
            except DocumentError as error:
                failed(Failure(document, str(error), place))
        return results

    return run


@dataclass
class Stages(Compiled):
    """The stages of a list, compiled where they run: what travels is the list.

    ``first``: the position of the first in the pipeline. Raises IllegalArgumentError if a stage is none.
    """

    specification: Sequence[Any]
    path: str
    collections: Collections = field(default_factory=dict)
    first: int = 0
    variables: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        place = Place(self.path, self.variables)
        self.compiled = [
            compile_stage(stage, place.at(self.first + i), self.collections)
            for i, stage in enumerate(self.specification)
        ]

    def run(
        self, documents: Iterable[Document], variables: Variables, failed: Failed
    ) -> list[Document]:
        found = list(documents)
        for stage in self.compiled:
            found = stage(found, variables, failed)
        return found


def stage_name(stage: Any, place: Place) -> str:
    """The name of a stage, such as ``$match``; raises IllegalArgumentError if it is none."""
    if not isinstance(stage, Mapping) or len(stage) != 1:
        raise place.error(
            f"a stage is a document with one name, such as {{$match: ...}}, not {shown(stage)}."
        )
    (name,) = stage
    return str(name)


def compile_stage(stage: Any, place: Place, collections: Collections) -> Stage:
    """The stage at ``place``; raises IllegalArgumentError if it is none."""
    name = stage_name(stage, place)
    where = place.at(name)
    if name in _EACH:
        return _each(where.path, _EACH[name](stage[name], where, collections))
    if name in _ALL:
        return _ALL[name](stage[name], where)
    if name in _REFUSED:
        raise place.error(f"{name} is not supported. {_REFUSED[name]}")
    raise place.unknown("stage", name, (*_EACH, *_ALL, *_OUTSIDE))


def is_each(stage: Any) -> bool:
    """Whether a stage looks at one document at a time."""
    return isinstance(stage, Mapping) and next(iter(stage), "") in _EACH


_OUTSIDE = ("$source", "$tumblingWindow", "$hoppingWindow", "$sessionWindow", "$emit", "$merge")
_REFUSED = {
    "$facet": "A pipeline is linear: build one for each branch, from the same stream.",
    "$out": "Write $merge.",
    "$iceberg": "Write $emit, and give its connection the Iceberg sink of docs/own_sinks.md.",
    "$https": "Call the service from p.results with AsyncDataStream, and begin a second pipeline behind it.",
    "$externalFunction": "Call the function from p.results with map, and begin a second pipeline behind it.",
    "$function": "JavaScript does not run here: call a Python function from p.results with map.",
    "$redact": "Write $match with $expr, and $project.",
    "$setWindowFields": "Write a window stage.",
    "$unionWith": "Join the streams with union before the pipeline.",
    "$graphLookup": "Write $lookup.",
    "$geoNear": "Geospatial queries are not taken.",
    "$search": "Text search is not taken; use $regexMatch.",
    "$changeStream": "Begin with $source.",
}


# ---------------------------------------------------------------------- each document


def carried(document: Document, result: Document) -> Document:
    """``result`` with the metadata of the document that it comes from."""
    if METADATA in document and METADATA not in result:
        result[METADATA] = document[METADATA]
    return result


def _match(argument: Any, place: Place, collections: Collections) -> EachFunction:
    query = compile_query(argument, place)
    return lambda document, variables: (document,) if query(document, variables) else ()


def _project(argument: Any, place: Place, collections: Collections) -> EachFunction:
    projection = compile_projection(argument, place)
    if isinstance(argument.get(METADATA), (bool, int)) and not argument[METADATA]:
        return _projected(projection)
    return lambda document, variables: (carried(document, projection(document, variables)),)


def _projected(projection: Projection) -> EachFunction:
    return lambda document, variables: (projection(document, variables),)


def _replace_root(argument: Any, place: Place, collections: Collections) -> EachFunction:
    named = named_arguments(argument, place, ("newRoot",))
    return _replaced(compile_expression(named["newRoot"], place.at("newRoot")), "$replaceRoot")


def _replaced(root: Evaluator, name: str) -> EachFunction:
    def call(document: Document, variables: Variables) -> Iterable[Document]:
        value = root(document, variables)
        if not isinstance(value, Mapping):
            raise DocumentError(
                f"'newRoot' of {name} must evaluate to an object, but resulting value was of type:"
                f" {type_name(value)}"
            )
        return (carried(document, dict(value)),)

    return call


def _unwind(argument: Any, place: Place, collections: Collections) -> EachFunction:
    named = {"path": argument} if isinstance(argument, str) else argument
    named = named_arguments(
        named, place, ("path",), ("includeArrayIndex", "preserveNullAndEmptyArrays")
    )
    path, index = named["path"], named.get("includeArrayIndex")
    if not isinstance(path, str) or not path.startswith("$") or path.startswith("$$"):
        raise place.at("path").error('is the path of a field with a dollar sign, such as "$items".')
    keeps = bool(named.get("preserveNullAndEmptyArrays", False))
    get = compile_expression(path, place.at("path"))
    names = path[1:].split(".")

    def call(document: Document, variables: Variables) -> Iterable[Document]:
        value = get(document, variables)
        is_array = isinstance(value, (list, tuple))
        if is_array and value:
            return [
                _with(document, names, element, index, Int64(position))
                for position, element in enumerate(value)
            ]
        if (is_array or is_null(value)) and not keeps:
            return ()
        return [_with(document, names, MISSING if is_array else value, index, None)]

    return call


def _with(
    document: Document, names: list[str], value: Any, index: str | None, position: Any
) -> Document:
    result = dict(document)
    inner = result
    for name in names[:-1]:
        below = inner.get(name)
        if not isinstance(below, Mapping):
            break
        inner[name] = dict(below)
        inner = inner[name]
    else:
        if value is MISSING:
            inner.pop(names[-1], None)
        else:
            inner[names[-1]] = value
    if index is not None:
        result[index] = position
    return result


def _validate(argument: Any, place: Place, collections: Collections) -> EachFunction:
    named = named_arguments(argument, place, ("validator",), ("validationAction",))
    action = named.get("validationAction", "discard")
    if action not in ("discard", "dlq", "error"):
        raise place.at("validationAction").error("is 'discard', 'dlq' or 'error'.")
    validator, where = named["validator"], place.at("validator")
    if isinstance(validator, Mapping) and set(validator) == {"$jsonSchema"}:
        violation = compile_schema(validator["$jsonSchema"], where.at("$jsonSchema"))
        reasons: Callable[[Document, Variables], str | None] = lambda d, v: violation(d)  # noqa: E731
    else:
        query = compile_query(validator, where)
        reasons = lambda d, v: None if query(d, v) else "does not fit the validator"  # noqa: E731

    def call(document: Document, variables: Variables) -> Iterable[Document]:
        checked = {name: value for name, value in document.items() if name != METADATA}
        reason = reasons(checked, variables)
        if reason is None:
            return (document,)
        if action == "discard":
            return ()
        message = f"Input document found to be invalid in $validate stage: it {reason}"
        if action == "error":
            raise InvalidProgramError(f"{place.path}: {message}: {shown(document)}")
        raise DocumentError(message)

    return call


def _lookup(argument: Any, place: Place, collections: Collections) -> EachFunction:
    def compiled(specification: Any, variables: frozenset[str]) -> Callable[..., list[Document]]:
        stages = Stages(specification, place.at("pipeline").path, collections, 0, variables)
        return stages.run

    return _projected(compile_lookup(argument, place, collections, compiled))


def _set_metadata(argument: Any, place: Place, collections: Collections) -> EachFunction:
    fields = {}
    for path, inner in argument.items() if isinstance(argument, Mapping) else ():
        root, _, rest = path.partition(".")
        if root != "stream" or not rest:
            raise place.error(f'{path} is no path of metadata, such as "stream.region".')
        fields[f"{METADATA}.{rest}"] = inner
    return _projected(compile_fields(fields, place))


_EACH: dict[str, Callable[[Any, Place, Collections], EachFunction]] = {
    "$match": _match,
    "$project": _project,
    "$addFields": lambda fields, place, _: _projected(compile_fields(fields, place)),
    "$set": lambda fields, place, _: _projected(compile_fields(fields, place)),
    "$unset": lambda paths, place, _: _projected(compile_unset(paths, place)),
    "$replaceRoot": _replace_root,
    "$replaceWith": lambda root, place, _: _replaced(
        compile_expression(root, place), "$replaceWith"
    ),
    "$unwind": _unwind,
    "$validate": _validate,
    "$lookup": _lookup,
    "$cachedLookup": _lookup,
    "$setStreamMeta": _set_metadata,
}


# ---------------------------------------------------------------------- all documents


@dataclass
class GroupDocuments(Compiled, AggregateFunction[Any, "list[Any]", Document]):
    """A compiled ``$group``, which folds the contributions of documents; raises IllegalArgumentError if it is
    none. A state is empty, or has the ``_id`` and the state of each accumulator."""

    specification: Any
    path: str
    variables: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        specification, place = self.specification, Place(self.path, self.variables)
        if not isinstance(specification, Mapping) or "_id" not in specification:
            raise place.error(
                f"takes a document with _id and accumulators, not {shown(specification)}."
            )
        self._identity = compile_expression(specification["_id"], place.at("_id"))
        self._fields: dict[str, Accumulator] = {}
        for name, accumulator in specification.items():
            if name == "_id":
                continue
            if "." in name or name.startswith("$"):
                raise place.error(f"the field name {name} must have neither dots nor begin with $.")
            self._fields[name] = compile_accumulator(accumulator, place.at(name))
        self._accumulators = list(self._fields.values())

    def prepared(self, document: Any, variables: Variables) -> tuple[Any, Any, tuple[Any, ...]]:
        """The contribution of a document to its group: a hashable key of the group, its ``_id``, and the values
        for its accumulators. Raises DocumentError if it cannot be in one."""
        identity = self._identity(document, variables)
        if identity is MISSING:
            identity = None
        values = tuple(field.of(document, variables) for field in self._accumulators)
        return key_of(identity), identity, values

    def createAccumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        identity, values = value[1], value[2]
        state = accumulator or [identity, *(each.create() for each in self._accumulators)]
        for position, each in enumerate(self._accumulators):
            state[position + 1] = each.add(state[position + 1], values[position])
        return state

    def merge(self, a: list[Any], b: list[Any]) -> list[Any]:
        if not a or not b:
            return a or b
        for position, accumulator in enumerate(self._accumulators, 1):
            a[position] = accumulator.merge(a[position], b[position])
        return a

    def getResult(self, accumulator: list[Any]) -> Document:
        result = {"_id": accumulator[0]}
        for (name, field_of), state in zip(self._fields.items(), accumulator[1:]):
            result[name] = field_of.result(state)
        return result


def _group(argument: Any, place: Place) -> Stage:
    group = GroupDocuments(argument, place.path, place.variables)

    def call(documents: list[Document], variables: Variables, failed: Failed) -> list[Document]:
        states: dict[Any, list[Any]] = {}
        for document in documents:
            try:
                prepared = group.prepared(document, variables)
            except DocumentError as error:
                failed(Failure(document, str(error), place.path))
                continue
            states[prepared[0]] = group.add(prepared, states.get(prepared[0], []))
        return [carried(documents[0], group.getResult(state)) for state in states.values()]

    return call


def _sort(argument: Any, place: Place) -> Stage:
    key = sort_key(argument, place)
    return lambda documents, variables, failed: sorted(documents, key=key)


def _bound(argument: Any, place: Place, lowest: int) -> int:
    try:
        bound = whole(place.path, argument)
    except DocumentError:
        bound = lowest - 1
    if bound < lowest:
        raise place.error(f"is a whole number from {lowest} on, not {shown(argument)}.")
    return bound


def _limit(argument: Any, place: Place) -> Stage:
    most = _bound(argument, place, 1)
    return lambda documents, variables, failed: documents[:most]


def _skip(argument: Any, place: Place) -> Stage:
    skipped = _bound(argument, place, 0)
    return lambda documents, variables, failed: documents[skipped:]


def _count(argument: Any, place: Place) -> Stage:
    if not isinstance(argument, str) or not argument or argument.startswith("$") or "." in argument:
        raise place.error("takes the name of the field for the count, without $ and dots.")
    return lambda documents, variables, failed: (
        [carried(documents[0], {argument: len(documents)})] if documents else []
    )


def _sort_by_count(argument: Any, place: Place) -> Stage:
    group = _group({"_id": argument, "count": {"$sum": 1}}, place)
    sort = _sort({"count": -1}, place)
    return lambda documents, variables, failed: sort(
        group(documents, variables, failed), variables, failed
    )


_ALL: dict[str, Callable[[Any, Place], Stage]] = {
    "$group": _group,
    "$sort": _sort,
    "$limit": _limit,
    "$skip": _skip,
    "$count": _count,
    "$sortByCount": _sort_by_count,
}
"""By name; each needs all documents of a window."""

WINDOW_ONLY = tuple(_ALL)
