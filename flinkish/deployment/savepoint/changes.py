"""``SavepointChange``: a ``SavepointWriter``'s changes, checked against its savepoint."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from flinkish.api.connectors.sink import DiscardingSink
from flinkish.api.environment.configuration import ExecutionConfig, RuntimeExecutionMode
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.plan.transformations import SinkTransformation
from flinkish.api.savepoint.bootstrap import StateBootstrapTransformation
from flinkish.api.savepoint.writer import SavepointChanges
from flinkish.deployment.savepoint.metadata import SavepointMetadata, StateFile
from flinkish.deployment.task_settings import runs_as_batch, task_settings
from flinkish.graph.job_graph import JobGraph
from flinkish.graph.stream_graph import StreamGraph
from flinkish.runtime.savepoint.bootstrap import process_function
from flinkish.runtime.savepoint.saved_state import SavedState
from flinkish.runtime.task.plan import TaskSettings

JOB_NAME = "savepoint"


class KeptStates:
    """Selects and renames the rows of an existing savepoint that are kept; it can be pickled for a worker."""

    def __init__(self, changes: SavepointChanges) -> None:
        self._removed = changes.removed
        self._renamed = dict(changes.renamed)

    def kept(self, saved: SavedState) -> SavedState | None:
        """The row for the new savepoint, None if it is dropped."""
        if saved.operator in self._removed:
            return None
        uid = self._renamed.get(saved.operator)
        return saved if uid is None else saved._replace(operator=uid)


class SavepointChange:
    """The job that creates the new state, and the new metadata. ``existing`` is the metadata of the
    savepoint to change. Raises IllegalArgumentError if that savepoint lacks an operator to change,
    or already has one to add."""

    def __init__(
        self, changes: SavepointChanges, existing: SavepointMetadata | None, config: ExecutionConfig
    ) -> None:
        self._changes = changes
        self._existing = existing
        self._config = config
        self._check()
        sinks = [_sink(uid, added) for uid, added in changes.added.items()]
        stream_graph = StreamGraph.of(sinks) if sinks else None
        if stream_graph is not None:
            runs_as_batch(stream_graph, RuntimeExecutionMode.BATCH)
        self.graph = None if stream_graph is None else JobGraph(stream_graph)
        """The job, None if no operator is added."""

    def settings(self, parallelism: int) -> TaskSettings:
        """The settings of the job's tasks: the key groups are those of the existing savepoint."""
        assert self.graph is not None
        config, most, groups = self._config, None, None
        if self._existing is not None:
            most, groups = int(self._existing.fields["maxParallelism"]), self._existing.keyGroups
            config = copy.copy(config)
            config.maxParallelism = None
        settings = task_settings(self.graph, config, parallelism, most, groups, batch=True)
        return replace(settings, bootstraps=frozenset(self._changes.added))

    def metadata(
        self,
        settings: TaskSettings | None,
        states: Mapping[str, set[tuple[str, str, str]]],
        files: Mapping[str, StateFile],
        entries: Mapping[str, Mapping[str, int]],
    ) -> SavepointMetadata:
        """The metadata of the new savepoint; ``states``: what bootstrap functions asked for."""
        fields = {} if self._existing is None else self._renamed(self._existing.fields)
        if self.graph is not None and settings is not None:
            made = SavepointMetadata.of(
                JOB_NAME, -1, self.graph, settings, states, {}, files, entries
            ).fields
            for part in ("operators", "names", "nodes"):
                made[part] = {uid: made[part][uid] for uid in self._changes.added}
            fields = {**made, **fields} | {
                part: {**fields.get(part, {}), **made[part]}
                for part in ("operators", "names", "nodes")
            }
        for uid, operator in fields["operators"].items():
            operator["entries"] = dict(entries.get(uid, {}))
        fields["files"] = {name: [file.rows, file.checksum] for name, file in files.items()}
        return SavepointMetadata(json.loads(json.dumps(fields)))

    def _renamed(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        changed = copy.deepcopy(dict(fields))
        renamed = self._changes.renamed
        for part in ("operators", "names", "nodes", "sources"):
            changed[part] = {
                renamed.get(uid, uid): value
                for uid, value in changed[part].items()
                if uid not in self._changes.removed
            }
        for uid in renamed.values():
            if uid in changed["nodes"]:
                # The user gave the uid, so the uid alone identifies the operator
                changed["nodes"][uid]["group"] = None
        return changed

    def _check(self) -> None:
        changes = self._changes
        there = set() if self._existing is None else set(self._existing.names)
        for uid in (*changes.removed, *changes.renamed):
            if uid not in there:
                known = ", ".join(sorted(there)) or "none"
                raise IllegalArgumentError(
                    f"SavepointWriter: the savepoint has no operator {uid!r} to remove or rename, only {known}."
                )
        left = [changes.renamed.get(uid, uid) for uid in there - changes.removed]
        for uid in (*changes.added, *changes.renamed.values()):
            if [*left, *changes.added].count(uid) > 1:
                raise IllegalArgumentError(
                    f"SavepointWriter: there are two operators {uid!r}. Call removeOperator({uid!r}) first, or"
                    " give the new one another uid."
                )


def _sink(uid: str, added: StateBootstrapTransformation) -> SinkTransformation:
    """The end of a job whose operator ``uid`` creates the state."""
    stream = added.stream
    if added.function is not None:
        stream = stream.process(process_function(added.function))  # type: ignore[arg-type]
    operator = stream.getTransformation().copied()
    operator.uid = uid
    return SinkTransformation("bootstrap", DiscardingSink(), operator)
