"""``SavepointMetadata``: a savepoint's description of its job and its own files.

A savepoint is a directory with ``metadata/text``, the metadata as JSON, and ``state/*.parquet``,
the rows (``runtime.savepoint``). Neither contains an absolute path, so the directory may be moved
anywhere.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flinkish.api.errors import (
    CorruptCheckpointError,
    IncompatibleCheckpointError,
    NotSupportedError,
)
from flinkish.graph.identities import Identities, NodeIdentity, of_another_form, that_keep_none
from flinkish.graph.job_graph import JobGraph
from flinkish.graph.job_plan import JobPlan
from flinkish.runtime.operators.timers import EVENT_TIMERS, PROCESSING_TIMERS
from flinkish.runtime.savepoint.saved_state import TIMERS
from flinkish.runtime.task.plan import TaskSettings

FORMAT = 2
"""The version of the format of savepoints."""

METADATA, STATE = "metadata", "state"
"""The parts of a savepoint's directory."""

_AGAIN = "Copy the savepoint again from where it is whole, or begin from another one"


@dataclass(frozen=True)
class StateFile:
    """The number of rows in a file of state, and the sum of their checksums."""

    rows: int
    checksum: int


@dataclass(frozen=True)
class SourcePosition:
    """The position at which a source continues, as JSON; ``offset``: Spark's, if it reads it."""

    type: str
    position: dict[str, Any] | None
    offset: str | None = None


@dataclass(frozen=True)
class SavepointMetadata:
    """The metadata of a savepoint (Flink: ``SavepointMetadata``)."""

    fields: dict[str, Any]

    @classmethod
    def of(
        cls,
        jobName: str,
        batch: int,
        graph: JobGraph,
        settings: TaskSettings,
        states: Mapping[str, set[tuple[str, str, str]]],
        sources: Mapping[str, SourcePosition],
        files: Mapping[str, StateFile],
        entries: Mapping[str, Mapping[str, int]],
    ) -> SavepointMetadata:
        """The metadata of a job. ``states``: the states that its functions asked for; ``entries``:
        the number of entries of each state; both by operator."""
        nodes = {}
        for uid, identity in graph.identities().items():
            nodes[uid] = identity.asDict()
            nodes[uid]["states"] = sorted(states.get(uid, set()))
        operators = {
            vertex.uid: {
                "name": vertex.head.name,
                "layout": [vertex.head.operator.kind, vertex.head.operator.stateLayout],
                "entries": dict(entries.get(vertex.uid, {})),
            }
            for level in range(1, graph.levels)
            for vertex in graph.stage(level)
        }
        fields = {
            "version": FORMAT,
            "flinkish": flinkish_version(),
            "python": ".".join(map(str, sys.version_info[:3])),
            "job": jobName,
            "batch": batch,
            "parallelism": settings.parallelism,
            "maxParallelism": settings.maxParallelism,
            "keyGroups": settings.keyGroups,
            "operators": operators,
            "names": {node.uid: node.name for vertex in graph.vertices for node in vertex.nodes},
            "nodes": nodes,
            "sources": {
                uid: {"type": p.type, "position": p.position, "offset": p.offset}
                for uid, p in sources.items()
            },
            "files": {name: [file.rows, file.checksum] for name, file in files.items()},
            "plan": json.loads(JobPlan(graph).asJson()),
        }
        return cls(json.loads(json.dumps(fields)))

    @classmethod
    def ofText(cls, text: str | None, where: str) -> SavepointMetadata:
        """Decodes the result of ``asText``, read from the file ``where``. Raises
        CorruptCheckpointError if it is incomplete or was altered, IncompatibleCheckpointError if it
        has another format."""
        if text is None:
            raise CorruptCheckpointError(
                f"there is no savepoint: {where} does not exist. Pass the directory that"
                " stopWithSavepoint(directory) or triggerSavepoint(directory) returned, or where it was"
                " moved to. A checkpoint directory goes into env.enableCheckpointing(directory)."
            )
        try:
            fields = json.loads(text)
            noted = fields.pop("checksum")
            written = fields["version"]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CorruptCheckpointError(
                f"the file {where} of the savepoint is not whole ({error}). {_AGAIN}."
            ) from None
        if written != FORMAT:
            raise IncompatibleCheckpointError(
                f"the savepoint {where} is of format {written}, written by flinkish"
                f" {fields.get('flinkish')}; this flinkish, {flinkish_version()}, reads format {FORMAT}."
                " Use that version."
            )
        if noted != _digest(fields):
            raise CorruptCheckpointError(
                f"the file {where} of the savepoint was altered: its checksum is another. {_AGAIN}."
            )
        return cls(fields)

    def asText(self) -> str:
        return json.dumps({**self.fields, "checksum": _digest(self.fields)}, indent=1)

    @property
    def identities(self) -> Identities:
        return {uid: NodeIdentity.ofDict(node) for uid, node in self.fields["nodes"].items()}

    def identitiesBy(self, uids: Mapping[str, str]) -> Identities:
        """``identities`` by current uids; ``uids`` maps earlier uids of operators to these."""
        return {uids.get(uid, uid): identity for uid, identity in self.identities.items()}

    def hasTimers(self, uids: Mapping[str, str]) -> Callable[[str], bool]:
        """Whether an operator has pending timers, by its current uid."""
        pending = {
            uids.get(uid, uid)
            for uid, operator in self.fields["operators"].items()
            for name, entries in operator["entries"].items()
            if entries and name.removeprefix(f"{TIMERS} ") in (EVENT_TIMERS, PROCESSING_TIMERS)
        }
        return pending.__contains__

    @property
    def keyGroups(self) -> int:
        return int(self.fields["keyGroups"])

    @property
    def nextBatch(self) -> int:
        """The number of the batch after the savepoint's last, for sinks that number batches."""
        return int(self.fields["batch"]) + 1

    @property
    def positions(self) -> dict[str, dict[str, Any]]:
        """The positions at which the sources continue, by uid, as far as they are known."""
        return {
            uid: source["position"]
            for uid, source in self.fields["sources"].items()
            if source["position"] is not None
        }

    @property
    def names(self) -> dict[str, str]:
        return dict(self.fields["names"])

    def checkFiles(self, found: Mapping[str, StateFile], where: str) -> None:
        """Raises CorruptCheckpointError, which names the file, unless the files ``found`` in the
        directory are those that were written."""
        for name, (rows, checksum) in self.fields["files"].items():
            if name not in found:
                raise CorruptCheckpointError(
                    f"the file {name} of the savepoint {where} is missing. {_AGAIN}."
                )
            if found[name] != StateFile(rows, checksum):
                left = found[name].rows
                raise damaged(name, where, f"{rows} rows were written and {left} are whole")
        for name, file in found.items():
            if file.rows and name not in self.fields["files"]:
                raise CorruptCheckpointError(
                    f"the savepoint {where} has a file {name} that does not belong to it. Remove it."
                )


def check_streams(batch: bool) -> None:
    """Raises NotSupportedError if a job that begins from a savepoint runs as a batch."""
    if batch:
        raise NotSupportedError(
            "setSavepoint: a job in BATCH begins with its input, and not with state. Leave setSavepoint out,"
            " or call setRuntimeMode(RuntimeExecutionMode.STREAMING)."
        )


def damaged(name: str, where: str, reason: object) -> CorruptCheckpointError:
    """The error for a file of state that is incomplete or was altered."""
    return CorruptCheckpointError(
        f"the file {name} of the savepoint {where} is truncated or was altered ({reason}). {_AGAIN}."
    )


def check_begins(
    metadata: SavepointMetadata,
    graph: JobGraph,
    stateful: Mapping[str, str],
    uids: Mapping[str, str],
    allowNonRestoredState: bool,
    where: str,
) -> None:
    """Raises IncompatibleCheckpointError if the job of ``graph`` cannot begin from the savepoint.
    ``stateful``: a description of each operator's state, by uid. ``uids`` maps the uids of
    operators in the savepoint to their current ones, where they differ."""
    problems = list(_changed(metadata, graph, stateful, uids))
    lost = [] if allowNonRestoredState else list(_lost(metadata, graph, stateful))
    if problems or lost:
        advice = []
        if lost:
            advice.append(
                "give operators the uid(...) that they had, call setUidHash(...) with it beside a new"
                " uid(...), or pass allowNonRestoredState=True to drop"
                " what has no operator any more"
            )
        if problems:
            advice.append(
                "undo the change, or give the changed ones a new uid(...), so that they begin anew, with"
                " allowNonRestoredState=True"
            )
        raise IncompatibleCheckpointError(
            f"the job cannot begin from the savepoint {where}: {'; '.join([*lost, *problems])}. To go on,"
            f" {'; or '.join(advice)}."
        )


def _lost(
    metadata: SavepointMetadata, graph: JobGraph, stateful: Mapping[str, str]
) -> Iterator[str]:
    nodes = {node.uid: node for vertex in graph.vertices for node in vertex.nodes}
    names = metadata.names
    for uid, what in stateful.items():
        if uid not in nodes:
            yield f"the operator {names.get(uid, uid)!r} ({uid}) with {what} is gone"
    for uid, source in metadata.fields["sources"].items():
        now = nodes.get(uid)
        if (now and now.isSource) or source["position"] is source["offset"] is None:
            continue
        found = f"the source {names.get(uid, uid)!r} ({uid}) with its position is gone"
        if now is not None:
            # fromSource(source, strategy).uid(...) sets the uid of the strategy
            found += (
                f", as {now.name!r} has that uid now: for a source with a strategy write"
                f" fromSource(source).uid({uid!r}).assignTimestampsAndWatermarks(strategy)"
            )
        yield found


def _changed(
    metadata: SavepointMetadata,
    graph: JobGraph,
    stateful: Mapping[str, str],
    uids: Mapping[str, str],
) -> Iterator[str]:
    for vertex in graph.sources:
        uid, name = vertex.uid, vertex.head.name
        source = metadata.fields["sources"].get(uid)
        if source is None:
            continue
        now = vertex.source.kind
        if source["type"] != now:
            yield f"the source {name!r} ({uid}) was a {source['type']} and is a {now}"
        elif source["offset"] is not None:
            yield (
                f"Spark reads the source {name!r} ({uid}), which was at {source['offset']}, and only"
                " you can tell Spark where to begin: with an option of its reader, such as"
                " startingOffsets"
            )
    kept = {uid: identity for uid, identity in graph.identities().items() if uid in stateful}
    earlier = metadata.identitiesBy(uids)
    keepers = [vertex.uid for vertex in graph.vertices if vertex.head.isStateful]
    every = [node.uid for vertex in graph.vertices for node in vertex.nodes]
    yield from that_keep_none(earlier, stateful, keepers, every)
    yield from of_another_form(earlier, kept, metadata.hasTimers(uids)).values()


def flinkish_version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # jobs need it for savepoints only

    try:
        return version("flinkish")
    except PackageNotFoundError:
        return "that is not installed"


def _digest(fields: Mapping[str, Any]) -> str:
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def entries_by_state(rows: Iterable[tuple[str, str, str, int]]) -> dict[str, dict[str, int]]:
    """The number of entries of each state, by operator, from (operator, table, state, entries)."""
    found: dict[str, dict[str, int]] = {}
    for operator, table, state, entries in rows:
        of_operator = found.setdefault(operator, {})
        name = f"{table} {state}".strip()
        of_operator[name] = of_operator.get(name, 0) + entries
    return found
