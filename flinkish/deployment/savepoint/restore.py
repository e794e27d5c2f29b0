"""``Restoration``: distributes the state of a savepoint to the tasks of a new job graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flinkish.deployment.savepoint.metadata import SavepointMetadata, check_begins
from flinkish.deployment.vertex_plans import vertex_plan
from flinkish.graph.identities import begun_anew
from flinkish.graph.job_graph import JobGraph
from flinkish.runtime.savepoint.redistribution import distributed, has_operator_state, redistributed
from flinkish.runtime.savepoint.saved_state import (
    GATES,
    KEYED,
    OPERATOR,
    TASK,
    VALVE,
    SavedState,
    decoded,
    encoded,
)
from flinkish.runtime.task.chain import lowest_valve
from flinkish.runtime.task.gates import InputGates
from flinkish.runtime.task.plan import TaskSettings, key_groups

Part = tuple[str, int, bytes]
"""The uid of a vertex, a key group, and a content for it."""


@dataclass(frozen=True)
class KeyedStates:
    """Distributes parts of keyed state to the key groups of the vertices; it can be pickled for a
    worker. ``uids`` maps the uids of operators in the savepoint to their current ones, where they
    differ."""

    groups: Mapping[str, Sequence[int]]
    keyGroups: int
    uids: Mapping[str, str]

    def parts(self, states: Iterable[SavedState]) -> Iterator[Part]:
        """The parts of ``states``; those of operators that are gone are dropped."""
        for saved in states:
            uid = self.uids.get(saved.operator, saved.operator)
            groups = self.groups.get(uid)
            if groups is not None and saved.table in KEYED:
                for group, content in distributed(saved, groups, self.keyGroups):
                    yield uid, group, content


class Restoration:
    """A savepoint as the beginning of a job. ``others``: its rows that are not keyed state. Raises
    IncompatibleCheckpointError if the job cannot begin from it."""

    def __init__(
        self,
        metadata: SavepointMetadata,
        others: Iterable[SavedState],
        graph: JobGraph,
        settings: TaskSettings,
        allowNonRestoredState: bool,
        where: str,
    ) -> None:
        self._metadata = metadata
        self._settings = settings
        self._may_drop = allowNonRestoredState
        self._plans = [
            vertex_plan(vertex) for level in range(1, graph.levels) for vertex in graph.stage(level)
        ]
        self._uids = {
            node.uidHash: node.uid
            for vertex in graph.vertices
            for node in vertex.nodes
            if node.uidHash is not None
        }
        self._operators: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
        self._valves: dict[tuple[str, int], list[Any]] = defaultdict(list)
        self._gates: dict[str, list[Any]] = defaultdict(list)
        for saved in others:
            self._add(saved)
        check_begins(metadata, graph, self._stateful(), self._uids, allowNonRestoredState, where)
        earlier = metadata.identitiesBy(self._uids)
        self._other = begun_anew(earlier, graph.identities())
        """The operators whose kind has changed, and of which only the watermark was left."""

    @property
    def levels(self) -> dict[str, int]:
        return {plan.uid: plan.level for plan in self._plans}

    @property
    def keyed(self) -> KeyedStates:
        groups = {plan.uid: self._groups_of(plan) for plan in self._plans}
        return KeyedStates(groups, self._settings.keyGroups, self._uids)

    def tasks(self) -> Iterator[Part]:
        """The state that is not keyed, for every key group of each vertex that has some."""
        same = self._metadata.keyGroups == self._settings.keyGroups
        for plan in self._plans:
            groups = self._groups_of(plan)
            operators = {
                node.uid: redistributed(
                    self._operators[node.uid], groups, same, node.name, self._may_drop
                )
                for node in plan.nodes
                if node.uid in self._operators
            }
            gates = InputGates.lowest(self._gates[plan.uid]) if plan.uid in self._gates else None
            inside = {node.uid for node in plan.nodes}
            valves = {
                key: lowest_valve(snapshots)
                for key, snapshots in self._valves.items()
                if key[0] in inside
            }
            if not operators and gates is None:
                continue
            for group in groups:
                of_group = {
                    uid: of_groups[group]["watermark"] if uid in self._other else of_groups[group]
                    for uid, of_groups in operators.items()
                }
                chain = {"operators": of_group, "valves": valves}
                yield plan.uid, group, encoded(plan.uid, TASK, "", (chain, gates))

    def _groups_of(self, plan: Any) -> Sequence[int]:
        return key_groups(plan.uid, plan.single, self._settings)

    def _add(self, saved: SavedState) -> None:
        (snapshot,) = decoded(saved.operator, saved.table, saved.state, saved.content)
        uid = self._uids.get(saved.operator, saved.operator)
        if saved.table == OPERATOR:
            self._operators[uid][saved.keyGroup] = snapshot
        elif saved.table == VALVE:
            self._valves[uid, int(saved.state)].append(snapshot)
        elif saved.table == GATES:
            self._gates[uid].append(snapshot)

    def _stateful(self) -> dict[str, str]:
        """A description of each operator's state."""
        found: dict[str, str] = {}
        for uid, operator in self._metadata.fields["operators"].items():
            keyed = {
                name: entries
                for name, entries in operator["entries"].items()
                if name.partition(" ")[0] in KEYED and entries
            }
            if keyed:
                found[self._uids.get(uid, uid)] = (
                    f"{sum(keyed.values())} entries of keyed state and timers"
                )
        for uid, snapshots in self._operators.items():
            if uid not in found and any(map(has_operator_state, snapshots.values())):
                found[uid] = "operator state"
        return found
