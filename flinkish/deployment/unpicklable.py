"""Says which part of a job cannot be pickled for the workers: its operator, and its role there."""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NoReturn

from flinkish.api.errors import InvalidProgramError
from flinkish.api.functions.adapt import named
from flinkish.api.pickled_functions import dumps
from flinkish.api.plan.operators import OperatorDescription
from flinkish.api.plan.partitioning import HashPartitioning
from flinkish.graph.stream_graph import StreamNode
from flinkish.runtime.task.plan import VertexPlan

_ROLES = {
    "assigner": "window assigner",
    "trigger": "trigger",
    "evictor": "evictor",
    "strategy": "watermark strategy",
    "keySelector": "key selector",
}
"""The users' names for the parts of a description; any other part is called a function."""


def refuse_unpicklable(
    operators: Sequence[StreamNode], content: object, error: Exception
) -> NoReturn:
    """Raise InvalidProgramError for an ``error`` in pickling ``content`` for the tasks."""
    for operator, role, part in _parts(operators, content):
        failed = _failed(part)
        if failed is not None:
            subject, reason = _innermost(part, failed)
            raise InvalidProgramError(
                f"{operator}: its {role} {_shown(subject)} cannot be pickled for the workers: {reason}. It"
                " probably refers to a lock, a file, a connection or the SparkSession: create that in"
                " open() of a rich function instead, or in the function itself."
            ) from None
    raise InvalidProgramError(f"the job cannot be pickled for the workers: {error}") from error


def _parts(operators: Sequence[StreamNode], content: object) -> Iterator[tuple[str, str, object]]:
    """The operators, with the functions and objects that the user passed to them."""
    for node in operators:
        yield from _of_description(node.name, node.operator)
        for edge in node.inputs:
            if isinstance(edge.partitioning, HashPartitioning):
                yield node.name, _ROLES["keySelector"], edge.partitioning.keySelector
    for plan in _plans(content):
        for exit_ in plan.exits:
            partitioning = exit_.edge.partitioning
            if isinstance(partitioning, HashPartitioning):
                yield (
                    f"keyBy behind {exit_.operator}",
                    _ROLES["keySelector"],
                    partitioning.keySelector,
                )
            if exit_.window is not None:
                yield from _of_description(exit_.window.name, exit_.window)
            if exit_.buckets is not None:
                yield exit_.buckets.sink, "bucket assigner", exit_.buckets.assigner
            if exit_.files is not None and exit_.files.writer is not None:
                yield exit_.files.sink, "encoder", exit_.files.writer.encoder
        if plan.sourceName and isinstance(content, tuple):  # with its decoder
            yield plan.sourceName, "function", [part for part in content if part is not plan]


def _of_description(
    operator: str, description: OperatorDescription
) -> Iterator[tuple[str, str, object]]:
    for name, part in _held(description):
        yield operator, _ROLES.get(name, "function"), part


def _plans(content: object) -> Iterator[VertexPlan]:
    if isinstance(content, VertexPlan):
        yield content
    elif isinstance(content, (tuple, list)):
        for part in content:
            yield from _plans(part)


def _failed(value: object) -> Exception | None:
    try:
        dumps(value)
    except Exception as error:
        return error
    return None


def _innermost(value: object, error: Exception) -> tuple[object, Exception]:
    """The user's object in ``value``, which may be wrapped in an object of flinkish."""
    for _, part in _held(value):
        failed = _failed(part)
        if failed is not None:
            return _innermost(part, failed)
    return value, error


def _held(value: Any) -> list[tuple[str, object]]:
    """The parts of an object of flinkish by name; a user's object has none."""
    if isinstance(value, (tuple, list)):
        return [("", part) for part in value]
    module = getattr(value, "__module__", None) or type(value).__module__
    if not module.startswith("flinkish."):
        return []
    if isinstance(value, types.FunctionType):
        return [("", cell.cell_contents) for cell in value.__closure__ or ()]
    if isinstance(value, types.MethodType):
        return [("", value.__self__)]
    if is_dataclass(value):
        return [(field.name, getattr(value, field.name)) for field in fields(value)]
    return list(getattr(value, "__dict__", {}).items())


def _shown(subject: object) -> str:
    if isinstance(subject, (types.FunctionType, types.MethodType)):
        return named(subject)
    return type(subject).__qualname__
