"""Operators wired to one another inside one task, so that elements pass as plain calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from flinkish.api.operators import OperatorDescription
from flinkish.api.partitioning import HashPartitioning, Partitioning
from flinkish.runtime.elements import Records
from flinkish.runtime.key_groups import KeyHashes
from flinkish.runtime.operators.base import OperatorContext, StreamOperator
from flinkish.runtime.operators.factory import create_operator
from flinkish.runtime.output import Input, Output


class ChainedEdge(Protocol):
    """An edge as the chain needs it; ``graph.StreamEdge`` is one."""

    @property
    def targetUid(self) -> str: ...
    @property
    def inputIndex(self) -> int: ...
    @property
    def channel(self) -> int: ...
    @property
    def partitioning(self) -> Partitioning | None: ...
    @property
    def sideOutput(self) -> str | None: ...


class ChainedNode(Protocol):
    """A node as the chain needs it; ``graph.StreamNode`` is one."""

    @property
    def uid(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def operator(self) -> OperatorDescription: ...
    @property
    def outputs(self) -> Sequence[ChainedEdge]: ...


class KeyedInput(Input):
    """Takes the key of every record before it goes on to a keyed operator."""

    def __init__(self, target: Input, partitioning: HashPartitioning, operator: StreamOperator):
        self._target = target
        self._select = partitioning.keySelector
        self._operator = operator
        self._hashes = KeyHashes()

    def processRecords(self, records: Records) -> None:
        keys = self._operator.mapped(self._select, records.values)
        hashes = self._hashes.column(keys)
        self._target.processRecords(Records(records.values, records.timestamps, keys, hashes))

    def processWatermark(self, timestamp: int) -> None:
        self._target.processWatermark(timestamp)

    def processWatermarkStatus(self, status: Any) -> None:
        self._target.processWatermarkStatus(status)


class OperatorChain:
    """The operators of a task, and their outputs wired up (Flink: ``OperatorChain``).

    ``makeContext`` gives each operator what it runs with; ``connectEdge`` says what reads an edge
    that leaves the chain.
    """

    def __init__(
        self,
        nodes: Iterable[ChainedNode],
        makeContext: Callable[[ChainedNode], OperatorContext],
        connectEdge: Callable[[OperatorChain, ChainedEdge], Input | None],
    ) -> None:
        self.operators: dict[str, StreamOperator] = {}
        nodes = list(nodes)
        for node in nodes:
            self.operators[node.uid] = create_operator(makeContext(node), node.operator)
        for node in nodes:
            self.wire(self.operators[node.uid].output, node.outputs, connectEdge)

    def wire(
        self,
        output: Output,
        edges: Iterable[ChainedEdge],
        connectEdge: Callable[[OperatorChain, ChainedEdge], Input | None],
    ) -> None:
        """Connect ``output`` to what reads each of ``edges``."""
        for edge in edges:
            target = connectEdge(self, edge)
            if target is not None:
                output.connect(target, edge.sideOutput)

    def open(self) -> None:
        """Open all operators, the last first, so that each finds its readers ready."""
        for operator in reversed(self.operators.values()):
            operator.open()

    def close(self) -> None:
        """Close all operators."""
        for operator in self.operators.values():
            operator.close()
