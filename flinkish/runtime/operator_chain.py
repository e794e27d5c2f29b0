"""Operators wired to one another inside one task, so that elements pass as plain calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from flinkish.api.elements import MIN_TIMESTAMP, WatermarkStatus
from flinkish.api.operators import OperatorDescription
from flinkish.api.partitioning import HashPartitioning, Partitioning
from flinkish.runtime.elements import Records
from flinkish.runtime.keys import KeyColumn
from flinkish.runtime.operators.base import OperatorContext, StreamOperator
from flinkish.runtime.operators.factory import create_operator
from flinkish.runtime.output import Input, Output
from flinkish.runtime.watermark_valve import StatusWatermarkValve, ValveInput


class ChainedEdge(Protocol):
    """An edge as the chain needs it; ``graph.StreamEdge`` is one."""

    @property
    def sourceUid(self) -> str: ...
    @property
    def targetUid(self) -> str: ...
    @property
    def inputIndex(self) -> int: ...
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
    def inputs(self) -> Sequence[ChainedEdge]: ...
    @property
    def outputs(self) -> Sequence[ChainedEdge]: ...


class KeyedInput(Input):
    """Takes the key of every record before it goes on to a keyed operator."""

    def __init__(self, target: Input, partitioning: HashPartitioning, operator: str) -> None:
        self._target = target
        self._keys = KeyColumn(partitioning.keySelector, f"keyBy before {operator}")

    def processRecords(self, records: Records) -> None:
        keys, hashes = self._keys.of(records.values)
        self._target.processRecords(Records(records.values, records.timestamps, keys, hashes))

    def processWatermark(self, timestamp: int) -> None:
        self._target.processWatermark(timestamp)

    def processWatermarkStatus(self, status: WatermarkStatus) -> None:
        self._target.processWatermarkStatus(status)


class InTurn(Input):
    """Hands records to all branches one at a time, so that where branches meet again the records are
    still in order."""

    def __init__(self, branches: Sequence[Input]) -> None:
        self._branches = branches

    def processRecords(self, records: Records) -> None:
        for position in range(len(records)):
            record = records.slice(position, position + 1)
            for branch in self._branches:
                branch.processRecords(record)

    def processWatermark(self, timestamp: int) -> None:
        for branch in self._branches:
            branch.processWatermark(timestamp)

    def processWatermarks(self, timestamps: Sequence[int]) -> None:
        for branch in self._branches:
            branch.processWatermarks(timestamps)

    def processWatermarkStatus(self, status: WatermarkStatus) -> None:
        for branch in self._branches:
            branch.processWatermarkStatus(status)


class OperatorChain:
    """The operators of a task and their outputs, wired up (Flink: ``OperatorChain``).

    ``sources``: uids of what feeds the chain from outside, with the output each writes to.
    ``context`` gives an operator what it runs with; ``exit`` says what reads an edge that leaves
    the chain, None if nothing does.
    """

    def __init__(
        self,
        nodes: Iterable[ChainedNode],
        sources: Mapping[str, tuple[Output, Sequence[ChainedEdge]]],
        context: Callable[[ChainedNode], OperatorContext],
        exit: Callable[[ChainedEdge], Input | None],  # noqa: A002
    ) -> None:
        self._nodes = list(nodes)
        self._fed = {*sources, *(node.uid for node in self._nodes)}
        self._valves: dict[tuple[str, int], StatusWatermarkValve] = {}
        self.operators: dict[str, StreamOperator] = {
            node.uid: create_operator(context(node), node.operator) for node in self._nodes
        }
        outputs = [(self.operators[n.uid].output, n.outputs) for n in self._nodes]
        in_order = any(node.operator.inOrder for node in self._nodes)
        for output, edges in [*sources.values(), *outputs]:
            targets: dict[str | None, list[Input]] = defaultdict(list)
            for edge in edges:
                target = self._input(edge) if edge.targetUid in self.operators else exit(edge)
                if target is not None:
                    targets[edge.sideOutput].append(target)
            for side, branches in targets.items():
                taken = [InTurn(branches)] if in_order and len(branches) > 1 else branches
                for target in taken:
                    output.connect(target, side)

    def open(self) -> None:
        """Open all operators, the last first, so that each finds its readers ready."""
        for operator in reversed(self.operators.values()):
            operator.open()

    def close(self) -> None:
        """Close all operators."""
        for operator in self.operators.values():
            operator.close()

    def advanceProcessingTime(self, now: int) -> None:
        """The clock has been set to ``now`` (ms)."""
        for operator in self.operators.values():
            operator.advanceProcessingTime(now)

    def endSlice(self) -> None:
        """The chain's part of a batch has ended: of a partition, or of a key group."""
        for operator in self.operators.values():
            operator.onPeriodicEmit()

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        """Go on from a snapshot, or begin if it is None. What it does not know begins."""
        operators = {} if snapshot is None else snapshot["operators"]
        valves = {} if snapshot is None else snapshot["valves"]
        for uid, operator in self.operators.items():
            operator.restore(operators.get(uid))
        for key, valve in self._valves.items():
            known, watermark = valves.get(key, ({}, MIN_TIMESTAMP))
            channels = [
                known.get(_channel_name(edge), (MIN_TIMESTAMP, False))
                for edge in self._channels(*key)
            ]
            valve.restore([w for w, _ in channels], [idle for _, idle in channels], watermark)

    def snapshot(self) -> dict[str, Any]:
        """What ``restore`` takes; keyed state and timers are in the state backends."""
        return {
            "operators": {uid: operator.snapshot() for uid, operator in self.operators.items()},
            "valves": {key: self._valve_snapshot(key) for key in self._valves},
        }

    def _valve_snapshot(self, key: tuple[str, int]) -> Any:
        """By name, so that a channel that is gone or new does not take another's watermark."""
        watermarks, idle, watermark = self._valves[key].snapshot()
        names = map(_channel_name, self._channels(*key))
        return dict(zip(names, zip(watermarks, idle))), watermark

    def _input(self, edge: ChainedEdge) -> Input:
        operator = self.operators[edge.targetUid]
        target = operator.inputs[edge.inputIndex]
        channels = self._channels(edge.targetUid, edge.inputIndex)
        if len(channels) > 1:
            key = (edge.targetUid, edge.inputIndex)
            valve = self._valves.get(key)
            if valve is None:
                valve = self._valves[key] = StatusWatermarkValve(len(channels), target)
            target = ValveInput(valve, channels.index(edge), target)
        if isinstance(edge.partitioning, HashPartitioning):
            target = KeyedInput(target, edge.partitioning, operator.name)
        return target

    def _channels(self, uid: str, index: int) -> list[ChainedEdge]:
        """The edges inside the chain into that input."""
        node = next(node for node in self._nodes if node.uid == uid)
        return [e for e in node.inputs if e.inputIndex == index and e.sourceUid in self._fed]


def _channel_name(edge: ChainedEdge) -> tuple[str, str | None]:
    return edge.sourceUid, edge.sideOutput
