"""``OperatorChain``: the operators of a task, connected so that elements pass as plain calls.

Operators that need no shuffle between them are *chained*: they run in the same task, and passing a
run of elements from one to the next takes a function call and no serialization.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Protocol, TypeAlias

from flinkish.api.environment.configuration import DEFAULT_COLUMN_CHECKS
from flinkish.api.plan.operators import OperatorDescription
from flinkish.api.plan.partitioning import HashPartitioning, Partitioning
from flinkish.api.time.elements import MIN_TIMESTAMP, WatermarkStatus
from flinkish.runtime.attribute_changes import AttributeChange
from flinkish.runtime.closing import close_all
from flinkish.runtime.columns.tracing.column_function import ColumnFunction
from flinkish.runtime.columns.tracing.column_runs import ColumnScope, RunReport
from flinkish.runtime.operators.base import OperatorContext, StreamOperator
from flinkish.runtime.operators.output import Input, Output, hand_on
from flinkish.runtime.records.frames import Frame
from flinkish.runtime.records.keys import KEY_RULES, KeyColumn, KeyRules
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.registry import create_operator
from flinkish.runtime.task.valve import StatusWatermarkValve, ValveInput


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
    def earlierStates(self) -> Sequence[tuple[str, str, str]]: ...
    @property
    def inputs(self) -> Sequence[ChainedEdge]: ...
    @property
    def outputs(self) -> Sequence[ChainedEdge]: ...


_JoinedChannels: TypeAlias = tuple[StatusWatermarkValve, list[ChainedEdge]]
"""The valve of an input with several edges, and those edges in the order of its channels."""


class KeyedInput(Input):
    """Computes the key of every record for a keyed operator in the same task."""

    def __init__(
        self,
        target: Input,
        partitioning: HashPartitioning,
        operator: str,
        traces: bool,
        rules: KeyRules,
    ) -> None:
        self._target = target
        selector = partitioning.keySelector
        columns = ColumnFunction(selector) if traces else None
        self.keys = KeyColumn(selector, f"keyBy before {operator}", columns, rules.of(partitioning))

    def processRecords(self, records: Records) -> None:
        self._target.processRecords(self._keyed(records))

    def processFrame(self, frame: Frame) -> None:
        self._target.processFrame(Frame(self._keyed(frame.records), frame.marks))

    def _keyed(self, records: Records) -> Records:
        keys, hashes = self.keys.of(records.values)
        return Records(records.values, records.timestamps, keys, hashes)

    def processWatermark(self, timestamp: int) -> None:
        self._target.processWatermark(timestamp)

    def processWatermarkStatus(self, status: WatermarkStatus) -> None:
        self._target.processWatermarkStatus(status)


class InTurn(Input):
    """Passes records to all branches one by one. If branches of a stream are united again before an
    operator that depends on the order, its records must come in the order of that stream and not
    branch by branch."""

    def __init__(self, branches: Sequence[Input], reuse: bool) -> None:
        self._branches = branches
        self._reuse = reuse

    def processRecords(self, records: Records) -> None:
        if isinstance(records.values, RowColumns):
            # Columns with one row each would take longer
            records = Records(list(records.values), records.timestamps)
        for position in range(len(records)):
            record = records.slice(position, position + 1)
            hand_on(record, self._branches, self._reuse)

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
    """The connected operators of a task (Flink: ``OperatorChain``).

    ``sources``: the uids that feed the chain from outside, with the output and edges of each.
    ``context`` creates the context of an operator. ``exit`` returns the reader of an edge that
    leaves the chain, or None. An input that reads several edges gets a valve, which combines their
    watermarks. ``reusesObjects``: operators pass on objects without copying them.
    ``tracesFunctions``: key selectors are traced. ``columnChecks``: for how many elements of a run
    a traced function is called as a check. ``keyRules``: which keys the job accepts.
    """

    def __init__(
        self,
        nodes: Iterable[ChainedNode],
        sources: Mapping[str, tuple[Output, Sequence[ChainedEdge]]],
        context: Callable[[ChainedNode], OperatorContext],
        exit: Callable[[ChainedEdge], Input | None],  # noqa: A002
        reusesObjects: bool = False,
        tracesFunctions: bool = True,
        columnChecks: int = DEFAULT_COLUMN_CHECKS,
        keyRules: KeyRules = KEY_RULES,
    ) -> None:
        self._nodes = nodes = list(nodes)
        self._scopes = {node.uid: ColumnScope(columnChecks) for node in nodes}
        self.operators: dict[str, StreamOperator] = {}
        for node in nodes:
            with self._scopes[node.uid].entered():
                self.operators[node.uid] = create_operator(context(node), node.operator)
        outputs = [(self.operators[node.uid].output, node.outputs) for node in nodes]
        read = [
            (output, [(edge, self._reader(edge) or exit(edge)) for edge in edges])
            for output, edges in [*sources.values(), *outputs]
        ]
        self._valves = _valves(chain.from_iterable(readers for _, readers in read))
        self._keys: list[KeyColumn] = []
        self._traces_functions, self._key_rules = tracesFunctions, keyRules
        in_order = any(node.operator.inOrder for node in nodes)
        for output, readers in read:
            output.reusesObjects = reusesObjects
            output.cutsFrames = in_order or bool(self._valves)
            targets: dict[str | None, list[Input]] = defaultdict(list)
            for edge, reader in readers:
                if reader is not None:
                    targets[edge.sideOutput].append(self._input(edge, reader))
            for side, branches in targets.items():
                wired = (
                    [InTurn(branches, reusesObjects)]
                    if in_order and len(branches) > 1
                    else branches
                )
                for target in wired:
                    output.connect(target, side)

    def open(self) -> None:
        """Open all operators, the last first, so that an operator may emit when it is opened."""
        for uid, operator in reversed(self.operators.items()):
            with self._scopes[uid].entered():
                operator.open()
        for node in self._nodes:
            self.operators[node.uid].noteAttributes(node.operator)

    def attributeChanges(self) -> list[AttributeChange]:
        """The attributes changed by user functions that no snapshot has."""
        return [c for operator in self.operators.values() for c in operator.attributeChanges()]

    def close(self) -> None:
        """Close all operators, the last first."""
        close_all(reversed(self.operators.values()))

    def advanceProcessingTime(self, now: int) -> None:
        """Fire the processing-time timers of all operators up to ``now`` (ms)."""
        for operator in self.operators.values():
            operator.advanceProcessingTime(now)

    def endSlice(self) -> None:
        """Call the periodic hooks, as the slice of this batch has ended."""
        for operator in self.operators.values():
            operator.onPeriodicEmit()

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        """Continue from a snapshot. Without one, operators start without state, as does an operator
        that is not in the snapshot. An operator of which the snapshot has only the watermark, as
        its kind has changed, starts without state at that watermark."""
        operators = {} if snapshot is None else snapshot["operators"]
        valves = {} if snapshot is None else snapshot["valves"]
        for uid, operator in self.operators.items():
            kept = operators.get(uid)
            with self._scopes[uid].entered():
                operator.restore(None if isinstance(kept, int) else kept)
                if isinstance(kept, int):
                    operator.skipToWatermark(kept)
        for key, (valve, channels) in self._valves.items():
            known, watermark = valves.get(key, ({}, MIN_TIMESTAMP))
            states = [known.get(_channel_name(edge), (MIN_TIMESTAMP, False)) for edge in channels]
            valve.restore([w for w, _ in states], [idle for _, idle in states], watermark)

    def initializeFunctions(self, keyGroup: int) -> None:
        """Give functions the attributes and operator state that were restored for ``keyGroup``."""
        for operator in self.operators.values():
            operator.initializeFunctions(keyGroup)

    def columnRuns(self, uid: str) -> tuple[RunReport, ...]:
        """The runs of the functions of an operator since the last call."""
        return self._scopes[uid].reports()

    def trim(self) -> None:
        """Called between batches: drop caches."""
        for keys in self._keys:
            keys.trim()

    def snapshot(self) -> dict[str, Any]:
        """The snapshot for ``restore``; keyed state and timers are in the state backends."""
        return {
            "operators": {uid: operator.snapshot() for uid, operator in self.operators.items()},
            "valves": {key: _valve_snapshot(*joined) for key, joined in self._valves.items()},
        }

    def _reader(self, edge: ChainedEdge) -> Input | None:
        """The operator's input that reads an edge inside the chain."""
        operator = self.operators.get(edge.targetUid)
        return None if operator is None else operator.inputs[edge.inputIndex]

    def _input(self, edge: ChainedEdge, reader: Input) -> Input:
        """``reader`` with the valve and the key selector that the edge needs in front of it."""
        target = reader
        if _input_key(edge) in self._valves:
            valve, channels = self._valves[_input_key(edge)]
            target = ValveInput(valve, channels.index(edge), reader)
        if isinstance(edge.partitioning, HashPartitioning) and edge.targetUid in self.operators:
            name = self.operators[edge.targetUid].name
            with self._scopes[edge.targetUid].entered():
                target = keyed = KeyedInput(
                    target, edge.partitioning, name, self._traces_functions, self._key_rules
                )
            self._keys.append(keyed.keys)
        return target


def _valves(
    readers: Iterable[tuple[ChainedEdge, Input | None]],
) -> dict[tuple[str, int], _JoinedChannels]:
    """A valve for every input that reads more than one edge."""
    channels: dict[Input, list[ChainedEdge]] = defaultdict(list)
    for edge, reader in readers:
        if reader is not None:
            channels[reader].append(edge)
    return {
        _input_key(edges[0]): (StatusWatermarkValve(len(edges), reader), edges)
        for reader, edges in channels.items()
        if len(edges) > 1
    }


def _valve_snapshot(valve: StatusWatermarkValve, channels: Sequence[ChainedEdge]) -> Any:
    """The snapshot by channel name, which holds after the graph has changed."""
    watermarks, idle, watermark = valve.snapshot()
    return dict(zip(map(_channel_name, channels), zip(watermarks, idle))), watermark


def _input_key(edge: ChainedEdge) -> tuple[str, int]:
    return edge.targetUid, edge.inputIndex


def _channel_name(edge: ChainedEdge) -> tuple[str, str | None]:
    return edge.sourceUid, edge.sideOutput


def lowest_valve(snapshots: Sequence[Any]) -> Any:
    """The snapshot with the lowest watermark among those of several key groups."""
    return min(snapshots, key=lambda snapshot: snapshot[1])
