"""Runs a ``CheckpointedFunction``: its operator state, and the attributes that go with it.

A function object serves many key groups one after the other, and a worker may process a batch of a
key group twice, or never see the key group again. So the function's attributes are kept for each
key group, with the token of the state that they belong to. If the state at the start of a batch has
the same token, the function continues with these attributes. If not, it gets the attributes with
which it was shipped, and is initialised from the state.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from flinkish.api.arguments import instance
from flinkish.api.errors import IllegalArgumentError, IncompatibleCheckpointError, NotSupportedError
from flinkish.api.functions.checkpointed import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    OperatorStateStore,
)
from flinkish.api.functions.functions import RichFunction
from flinkish.api.functions.runtime_context import KeyedStateStore, OpenContext, RuntimeContext
from flinkish.api.functions.state import ListState, ListStateDescriptor
from flinkish.api.pickled_functions import dumps
from flinkish.runtime.closing import close_all
from flinkish.runtime.records.user_code import user_method_of
from flinkish.runtime.state.table_states import refuse_none, without_none

_SPLIT, _UNION = "list", "union list"


class OperatorListState(ListState[Any]):
    """A list of operator state (Flink: ``PartitionableListState``)."""

    __slots__ = ("_name", "values")

    def __init__(self, name: str, values: Iterable[Any] = ()) -> None:
        self._name = name
        self.values = list(values)

    def get(self) -> list[Any]:
        return list(self.values)

    def add(self, value: Any) -> None:
        if value is None:
            refuse_none(self._name)
        self.values.append(value)

    def addAll(self, values: Iterable[Any]) -> None:
        self.values += without_none(self._name, values)

    def update(self, values: Iterable[Any]) -> None:
        self.values = without_none(self._name, values)

    def clear(self) -> None:
        self.values = []


@dataclass
class _OperatorState(OperatorStateStore):
    """The operator state of a function in a key group."""

    operator: str
    single: bool
    """Whether the function runs as one subtask."""
    number: int = 0
    lists: dict[str, tuple[str, OperatorListState]] = field(default_factory=dict)

    def getListState(self, stateDescriptor: ListStateDescriptor[Any]) -> ListState[Any]:
        return self._list("getListState", stateDescriptor, _SPLIT)

    def getUnionListState(self, stateDescriptor: ListStateDescriptor[Any]) -> ListState[Any]:
        if not self.single:
            raise NotSupportedError(
                f"{self.operator}: getUnionListState is not supported in a function on a keyed stream,"
                " whose key groups do not share state. Call setParallelism(1) on the operator,"
                " or use getListState."
            )
        return self._list("getUnionListState", stateDescriptor, _UNION)

    def getRegisteredStateNames(self) -> set[str]:
        return set(self.lists)

    def _list(self, method: str, descriptor: ListStateDescriptor[Any], mode: str) -> ListState[Any]:
        subject = f"{self.operator}: {method}"
        instance(subject, descriptor, ListStateDescriptor, 'Pass ListStateDescriptor("name").')
        if descriptor.ttlConfig is not None:
            raise IllegalArgumentError(
                f"{subject}: operator state has no time to live. Leave enableTimeToLive out, or use"
                " keyed state."
            )
        kept, state = self.lists.setdefault(
            descriptor.name, (mode, OperatorListState(descriptor.name))
        )
        if kept != mode:
            raise IncompatibleCheckpointError(
                f"{subject}: the state {descriptor.name!r} is a {kept}, and cannot become a {mode}."
                " Ask for it as before, or give the new one another name."
            )
        return state


@dataclass
class _Instance:
    """The attributes and the operator state of a function in one key group."""

    attributes: dict[str, Any]
    state: _OperatorState
    token: str = ""
    """The token of the snapshot that matches these attributes."""


@dataclass(frozen=True)
class _InitializationContext(FunctionInitializationContext):
    restored: bool
    state: _OperatorState
    keyed: KeyedStateStore

    def isRestored(self) -> bool:
        return self.restored

    def getOperatorStateStore(self) -> OperatorStateStore:
        return self.state

    def getKeyedStateStore(self) -> KeyedStateStore:
        return self.keyed


@dataclass(frozen=True)
class _SnapshotContext(FunctionSnapshotContext):
    number: int
    timestamp: int

    def getCheckpointId(self) -> int:
        return self.number

    def getCheckpointTimestamp(self) -> int:
        return self.timestamp


@dataclass(eq=False, repr=False)
class CheckpointedFunctionRunner:
    """Initialises a function for each key group; ``_context`` creates its runtime context."""

    _operator: str
    _function: CheckpointedFunction
    _context: Callable[[], RuntimeContext]
    _single: bool

    def __post_init__(self) -> None:
        function = self._function
        state = function.__getstate__() if isinstance(function, RichFunction) else vars(function)
        self._shipped = dumps(state)
        self._instances: dict[int, _Instance] = {}
        self._current: _Instance | None = None

    def initialize(self, keyGroup: int, snapshot: dict[str, Any] | None) -> None:
        """Restore the function for ``keyGroup`` from the state at the start of its batch."""
        kept = self._instances.pop(keyGroup, None)
        if kept is not None and snapshot is not None and kept.token == snapshot["token"]:
            self._install(kept)
            return
        if kept is not None:
            self._close(kept)
        state = _OperatorState(self._operator, self._single)
        if snapshot is not None:
            state.number = snapshot["number"]
            for name, (mode, values) in snapshot["lists"].items():
                state.lists[name] = mode, OperatorListState(name, values)
        self._install(_Instance(pickle.loads(self._shipped), state))
        context = self._context()
        if isinstance(self._function, RichFunction):
            self._function.setRuntimeContext(context)
        with user_method_of(self._operator, "initializeState()"):
            self._function.initializeState(
                _InitializationContext(snapshot is not None, state, context)
            )
        if isinstance(self._function, RichFunction):
            with user_method_of(self._operator, "open()"):
                self._function.open(OpenContext())

    def snapshot(self, keyGroup: int, clock: int) -> dict[str, Any]:
        current = self._current
        assert current is not None, "a snapshot of a function that was not initialised"
        state = current.state
        state.number += 1
        with user_method_of(self._operator, "snapshotState()"):
            self._function.snapshotState(_SnapshotContext(state.number, clock))
        current.token = uuid.uuid4().hex
        self._instances[keyGroup] = current
        return {
            "token": current.token,
            "number": state.number,
            "lists": {name: (mode, kept.get()) for name, (mode, kept) in state.lists.items()},
        }

    def close(self) -> None:
        """Close the function for each key group for which it was opened."""
        current, self._current = self._current, None
        instances = [i for i in self._instances.values() if i is not current]
        self._instances = {}
        close_all([_Closing(self, i) for i in (current, *instances) if i is not None])

    def _install(self, wanted: _Instance) -> None:
        if self._current is not wanted:
            self._function.__dict__ = wanted.attributes
            self._current = wanted

    def _close(self, kept: _Instance) -> None:
        if isinstance(self._function, RichFunction):
            self._function.__dict__ = kept.attributes
            self._current = None
            with user_method_of(self._operator, "close()"):
                self._function.close()


@dataclass(frozen=True)
class _Closing:
    runner: CheckpointedFunctionRunner
    instance: _Instance

    def close(self) -> None:
        self.runner._close(self.instance)


def dealt(states: Sequence[Mapping[str, Any]], parts: int) -> list[dict[str, Any]]:
    """Redistribute a function's snapshots to ``parts`` key groups: each list is split evenly."""
    number = max(state["number"] for state in states)
    lists: list[dict[str, Any]] = [{} for _ in range(parts)]
    names = dict.fromkeys(name for state in states for name in state["lists"])
    for name in names:
        kept = [state["lists"][name] for state in states if name in state["lists"]]
        mode, values = kept[0][0], list(chain.from_iterable(values for _, values in kept))
        for place in range(parts):
            begin, end = (len(values) * at // parts for at in (place, place + 1))
            lists[place][name] = mode, values[begin:end]
    return [{"token": "restored", "number": number, "lists": of_part} for of_part in lists]
