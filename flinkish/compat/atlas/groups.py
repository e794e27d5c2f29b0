"""``$group``: the values that a document contributes to its group, and the document of a group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flinkish.api.errors import shown
from flinkish.compat.atlas.accumulators import Accumulation, compile_accumulator
from flinkish.compat.atlas.bson.values import MISSING, key_of
from flinkish.compat.atlas.expressions.compiler import Place, Variables, compile_expression

Prepared = tuple[Any, Any, tuple[Any, ...]]
"""A hashable key of the group, its ``_id``, and the values for its accumulators."""


class Group:
    """A compiled ``$group``; raises IllegalArgumentError if it is none."""

    def __init__(self, specification: Any, place: Place) -> None:
        if not isinstance(specification, Mapping) or "_id" not in specification:
            raise place.error(
                f"takes a document with _id and accumulators, not {shown(specification)}."
            )
        self._identity = compile_expression(specification["_id"], place.at("_id"))
        self._fields: list[tuple[str, Accumulation]] = []
        for name, field in specification.items():
            if name == "_id":
                continue
            if "." in name or name.startswith("$"):
                raise place.error(f"the field name {name} must have neither dots nor begin with $.")
            self._fields.append((name, compile_accumulator(field, place.at(name))))
        self._accumulators = [field.accumulator for _, field in self._fields]

    def prepared(self, document: Any, variables: Variables) -> Prepared:
        """Return the contribution of a document to its group. Raises DocumentError if it cannot be
        in one."""
        identity = self._identity(document, variables)
        if identity is MISSING:
            identity = None
        values = tuple(field.of(document, variables) for _, field in self._fields)
        return key_of(identity), identity, values

    def create(self, identity: Any) -> list[Any]:
        """The state of a group without documents."""
        return [identity, *(accumulator.create() for accumulator in self._accumulators)]

    def add(self, state: list[Any], values: tuple[Any, ...]) -> None:
        """Fold the values of a document."""
        for position, accumulator in enumerate(self._accumulators):
            state[position + 1] = accumulator.add(state[position + 1], values[position])

    def merge(self, state: list[Any], other: list[Any]) -> None:
        """Fold the documents of another state, which come after."""
        for position, accumulator in enumerate(self._accumulators, 1):
            state[position] = accumulator.merge(state[position], other[position])

    def result(self, state: list[Any]) -> dict[str, Any]:
        """The document of the group."""
        result = {"_id": state[0]}
        for (name, field), inner in zip(self._fields, state[1:]):
            result[name] = field.accumulator.result(inner)
        return result
