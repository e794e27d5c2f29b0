"""``$project``, ``$addFields`` and ``$unset``: which fields a document has, and what is in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flinkish.compat.atlas.bson.values import MISSING, is_number
from flinkish.compat.atlas.expressions.compiler import (
    Place,
    Variables,
    compile_expression,
    split_path,
)

Tree = dict[str, Any]
"""By field: True to keep it, False to leave it out, an evaluator, or a tree of the fields within."""

Projection = Callable[[dict[str, Any], Variables], dict[str, Any]]


def _put(tree: Tree, path: str, leaf: Any, place: Place) -> None:
    *parents, last = split_path(path, place)
    for name in parents:
        tree = tree.setdefault(name, {})
        if not isinstance(tree, dict):
            raise place.error(f"the path {path} collides with another one.")
    if last in tree:
        raise place.error(f"the path {path} collides with another one.")
    tree[last] = leaf


def _is_expression(value: Any) -> bool:
    return isinstance(value, Mapping) and any(name.startswith("$") for name in value)


def _leaves(specification: Any, place: Place, prefix: str = "") -> Iterator[tuple[str, Any, Place]]:
    """The paths of a specification, what is said of each, and where."""
    for name, inner in specification.items():
        path, where = prefix + name, place.at(name)
        if isinstance(inner, Mapping) and inner and not _is_expression(inner):
            yield from _leaves(inner, where, f"{path}.")
        else:
            yield path, inner, where


def _check(specification: Any, place: Place) -> None:
    if not isinstance(specification, Mapping) or not specification:
        raise place.error("takes a document of one or more fields.")


# ---------------------------------------------------------------------- $project


def compile_projection(specification: Any, place: Place) -> Projection:
    _check(specification, place)
    tree: Tree = {}
    flags: set[bool] = set()
    for path, inner, where in _leaves(specification, place):
        is_flag = isinstance(inner, bool) or is_number(inner)
        if path != "_id":
            flags.add(bool(inner) or not is_flag)
        _put(tree, path, bool(inner) if is_flag else compile_expression(inner, where), place)
    if len(flags) > 1:
        raise place.error(
            "either keeps fields or leaves fields out; only _id may be left out beside kept ones."
        )
    excludes = flags == {False} or (not flags and tree.get("_id") is False and len(tree) == 1)
    if excludes:
        return lambda document, variables: _without(document, tree)
    tree.setdefault("_id", True)
    if tree["_id"] is False:
        del tree["_id"]
    return lambda document, variables: _kept(document, tree, document, variables)


def _without(value: Any, tree: Tree) -> Any:
    if isinstance(value, Mapping):
        return {
            name: _without(inner, part) if isinstance(part, dict) else inner
            for name, inner in value.items()
            if (part := tree.get(name)) is not False
        }
    if isinstance(value, (list, tuple)):
        return [_without(element, tree) for element in value]
    return value


def _kept(value: Any, tree: Tree, document: Any, variables: Variables) -> Any:
    if isinstance(value, (list, tuple)):
        found = (_kept(element, tree, document, variables) for element in value)
        return [element for element in found if element is not MISSING]
    result: dict[str, Any] = {}
    if isinstance(value, Mapping):
        for name, inner in value.items():
            part = tree.get(name)
            if part is True:
                result[name] = inner
            elif isinstance(part, dict):
                kept = _kept(inner, part, document, variables)
                if kept is not MISSING:
                    result[name] = kept
    elif not _computes(tree):
        return MISSING
    for name, part in tree.items():
        if callable(part):
            found = part(document, variables)
            if found is not MISSING:
                result[name] = found
        elif isinstance(part, dict) and name not in result and _computes(part):
            result[name] = _kept({}, part, document, variables)
    return result


def _computes(tree: Tree) -> bool:
    return any(
        callable(part) or (isinstance(part, dict) and _computes(part)) for part in tree.values()
    )


# ---------------------------------------------------------------------- $addFields and $unset


def compile_fields(specification: Any, place: Place) -> Projection:
    _check(specification, place)
    tree: Tree = {}
    for path, inner, where in _leaves(specification, place):
        _put(tree, path, compile_expression(inner, where), place)
    if any(isinstance(part, dict) for part in tree.values()):
        return lambda document, variables: _added(document, tree, document, variables)
    parts = list(tree.items())

    def add(document: dict[str, Any], variables: Variables) -> dict[str, Any]:
        result = dict(document)
        for name, part in parts:
            value = part(document, variables)
            if value is MISSING:
                result.pop(name, None)
            else:
                result[name] = value
        return result

    return add


def _added(value: Any, tree: Tree, document: Any, variables: Variables) -> Any:
    if isinstance(value, (list, tuple)):
        return [_added(element, tree, document, variables) for element in value]
    result = dict(value) if isinstance(value, (dict, Mapping)) else {}
    for name, part in tree.items():
        if isinstance(part, dict):
            found = _added(result.get(name, {}), part, document, variables)
        else:
            found = part(document, variables)
        if found is MISSING:
            result.pop(name, None)
        else:
            result[name] = found
    return result


def compile_unset(specification: Any, place: Place) -> Projection:
    paths = [specification] if isinstance(specification, str) else specification
    if not isinstance(paths, (list, tuple)) or not paths:
        raise place.error("takes the path of a field, or a list of paths.")
    tree: Tree = {}
    for path in paths:
        if not isinstance(path, str):
            raise place.error("takes the path of a field, or a list of paths.")
        _put(tree, path, False, place)
    return lambda document, variables: _without(document, tree)
