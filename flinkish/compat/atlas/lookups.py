"""``$lookup``: a document with the rows of a collection that match it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flinkish.compat.atlas.bson.values import MISSING, Document, DocumentError, is_null, key_of
from flinkish.compat.atlas.expressions.compiler import (
    Place,
    Variables,
    compile_expression,
    named_arguments,
)
from flinkish.compat.atlas.queries import leaves

CompilePipeline = Callable[[Any, frozenset[str]], Callable[..., list[Document]]]
"""Compiles the stages of a pipeline that may use variables."""


def compile_lookup(
    specification: Any,
    place: Place,
    collections: Mapping[str, Sequence[Document]],
    compiled: CompilePipeline,
) -> Callable[[Document, Variables], Document]:
    """The function that gives a document with the rows that match it.

    Raises IllegalArgumentError if ``specification`` is no ``$lookup``.
    """
    options = (
        *("from", "localField", "foreignField", "let", "pipeline"),
        *("ttl", "parallelism", "partitionBy", "cacheConfig"),
    )
    named = named_arguments(specification, place, ("as",), options)
    # It divides the work in Atlas and changes no result
    compile_expression(named.get("partitionBy"), place.at("partitionBy"))
    if ("localField" in named) != ("foreignField" in named):
        raise place.error("localField and foreignField belong together.")
    if "localField" not in named and "pipeline" not in named:
        raise place.error("needs localField and foreignField, or a pipeline.")
    names = named["as"].split(".")
    specified = list(named.get("pipeline", []))
    all_rows = _rows(named.get("from"), specified, place, collections)
    lets = {
        name: compile_expression(inner, place.at("let").at(name))
        for name, inner in named.get("let", {}).items()
    }
    pipeline = compiled(specified, place.variables | frozenset(lets)) if specified else None
    local = named["localField"].split(".") if "localField" in named else None
    index = {} if local is None else _indexed(all_rows, named["foreignField"].split("."))

    def joined(document: Document, variables: Variables) -> Document:
        rows = all_rows
        if local is not None:
            keys = (key for leaf in leaves(document, local) for key in _keys(leaf))
            found = {position for key in keys for position in index.get(key, ())}
            rows = [all_rows[position] for position in sorted(found)]
        if pipeline is not None:
            values = {name: let(document, variables) for name, let in lets.items()}
            rows = pipeline(rows, {**variables, **values}, _raise)
        return _put(document, names, list(rows))

    return joined


def _raise(failure: Any) -> None:
    raise DocumentError(f"{failure.stage}: {failure.reason}")


def _keys(leaf: Any) -> list[Any]:
    """The keys by which a value is found: of itself, and of the elements of an array."""
    keys = [key_of(None if leaf is MISSING else leaf)]
    if isinstance(leaf, (list, tuple)):
        keys += [key_of(element) for element in leaf]
    return keys


def _indexed(rows: Sequence[Document], names: list[str]) -> dict[Any, list[int]]:
    index: dict[Any, list[int]] = {}
    for position, row in enumerate(rows):
        for leaf in leaves(row, names):
            for key in _keys(leaf):
                index.setdefault(key, []).append(position)
    return index


def collection_name(source: Any) -> tuple[str, ...]:
    """The names under which a collection may have been given: of the collection, with its database, and of
    the connection."""
    if isinstance(source, Mapping):
        connection, database, name = (source.get(n) for n in ("connectionName", "db", "coll"))
        names = [name, f"{database}.{name}", f"{connection}.{database}.{name}", connection]
        return tuple(n for n in names if isinstance(n, str))
    return (source,) if isinstance(source, str) else ()


def _rows(
    source: Any,
    pipeline: list[Any],
    place: Place,
    collections: Mapping[str, Sequence[Document]],
) -> list[Document]:
    if is_null(source) and pipeline and "$documents" in pipeline[0]:
        return list(pipeline.pop(0)["$documents"])
    for name in collection_name(source):
        if name in collections:
            return [dict(row) for row in collections[name]]
    name = (*collection_name(source), "")[0]
    raise place.at("from").unknown("collection", name, collections)


def _put(document: Document, names: list[str], value: Any) -> Document:
    result = dict(document)
    if len(names) == 1:
        result[names[0]] = value
    else:
        below = result.get(names[0])
        result[names[0]] = _put(dict(below) if isinstance(below, Mapping) else {}, names[1:], value)
    return result
