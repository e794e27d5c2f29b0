"""Merges what a trigger keeps about windows when those merge."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, reduce
from operator import add
from typing import Any

from flinkish.api.callables import reduce_call
from flinkish.api.errors import InvalidProgramError
from flinkish.api.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from flinkish.runtime.accumulation import merged, reduced
from flinkish.runtime.state.backend import StateTable


def merge_call(descriptor: StateDescriptor[Any]) -> Callable[[Any, Any], Any]:
    """How two entries of the state become one.

    Raises InvalidProgramError for a state that does not merge.
    """
    if descriptor.ttlConfig is not None and descriptor.ttlConfig.isEnabled():
        raise InvalidProgramError(
            f"mergePartitionedState: {descriptor!r} has a time to live, and entries of different age"
            " do not merge. Leave enableTimeToLive out of the descriptor of a trigger's state."
        )
    if isinstance(descriptor, ReducingStateDescriptor):
        return partial(reduced, reduce_call(descriptor.reduceFunction))
    if isinstance(descriptor, AggregatingStateDescriptor):
        return partial(merged, descriptor.aggregateFunction)
    if isinstance(descriptor, ListStateDescriptor):
        return add
    raise InvalidProgramError(
        f"mergePartitionedState: {descriptor!r} does not describe a state that can merge. Use a"
        " ListStateDescriptor, a ReducingStateDescriptor or an AggregatingStateDescriptor."
    )


def merge_namespaces(
    table: StateTable,
    key: Any,
    target: Any,
    sources: Iterable[Any],
    merge: Callable[[Any, Any], Any],
) -> None:
    """Move the entries of ``sources`` into that of ``target`` (Flink: ``mergeNamespaces``)."""
    entries = []
    for source in sources:
        entry = table.get(key, source)
        if entry is not None:
            table.remove(key, source)
            entries.append(entry)
    if entries:
        joined = reduce(merge, entries)
        present = table.get(key, target)
        table.put(key, target, joined if present is None else merge(present, joined))
