"""``CheckpointPlan``: what a checkpoint records about its job, to check that a job may continue from it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from flinkish.api.connectors.file_sink import FileSink
from flinkish.api.errors import (
    CorruptCheckpointError,
    IncompatibleCheckpointError,
    InvalidProgramError,
)
from flinkish.deployment.open_transactions import NOTED, TransactionalSink
from flinkish.deployment.savepoint.metadata import SavepointMetadata, flinkish_version
from flinkish.deployment.vertex_plans import is_by_split
from flinkish.graph.identities import Identities, NodeIdentity, missing, of_another_form
from flinkish.graph.job_graph import JobGraph, JobVertex
from flinkish.runtime.records.stable_hashes import VERSION
from flinkish.runtime.state.page_codec import FORMAT
from flinkish.runtime.task.plan import TaskSettings
from flinkish.spark.checkpoint.storage import CheckpointStorage, Directory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_PLAN = "plan"

_QUERY = "query"

_IDENTITY = "identity"
_NEEDED = (
    *("parallelism", "maxParallelism", "keyGroups"),
    *("stages", "sources", "operators", "nodes"),
)
"""The fields that every plan has."""
_BY_SPLIT = " by split"

_ANEW = "restore the checkpoint directory from a copy, or begin anew with another one"


class CheckpointPlan:
    """The plan of a job, as its checkpoint stores it. Raises IncompatibleCheckpointError if it is
    in another format, CorruptCheckpointError if it, or a file of Spark's, cannot be read."""

    def __init__(self, storage: CheckpointStorage) -> None:
        self._storage = storage
        self._begun: dict[str, Any] = {}
        self._fields = _read_plan(storage)
        if self._fields is not None:
            self._begun = self._fields.get("begun", {})
        elif storage.local is not None and storage.holds(f"{_QUERY}/offsets/[0-9]*"):
            raise CorruptCheckpointError(
                f"the checkpoint {storage.path} has been written to, but {_file(storage)} is not there,"
                f" which says what job it is of: {_ANEW}."
            )
        _check_query(storage)

    @property
    def isNew(self) -> bool:
        return self._fields is None

    def noted(self, setting: str) -> int | None:
        """The ``parallelism``, ``maxParallelism`` or number of ``keyGroups`` of the run that began the checkpoint;
        None if it is new."""
        return None if self._fields is None else self._fields[setting]

    @property
    def earlierHashes(self) -> bool:
        """Whether the checkpoint has state stored by version 1 of the hashes."""
        return self._fields is not None and "hashes" not in self._fields

    @cached_property
    def jobIdentity(self) -> str:
        """A string shared by all runs that continue from this checkpoint, and by no others."""
        found = self._storage.readText(_IDENTITY)
        if found is None:
            found = uuid4().hex
            self._storage.writeText(_IDENTITY, found)
        return found

    @property
    def identities(self) -> Identities:
        nodes = self._begun.get("nodes", {}) if self._fields is None else self._fields["nodes"]
        return {uid: NodeIdentity.ofDict(fields) for uid, fields in nodes.items()}

    @property
    def states(self) -> dict[str, set[tuple[str, str, str]]]:
        """The states that functions have asked for, by operator."""
        return {uid: set(identity.states) for uid, identity in self.identities.items()}

    @property
    def positions(self) -> dict[str, dict[str, Any]]:
        """The positions at which the sources began, if the checkpoint began from a savepoint."""
        positions: dict[str, dict[str, Any]] = self._begun.get("positions", {})
        return positions

    @property
    def firstBatch(self) -> int:
        """The number of the first batch for the sinks: 0, or one above a savepoint's last."""
        return int(self._begun.get("firstBatch", 0))

    def beginFrom(self, savepoint: SavepointMetadata) -> None:
        """Begin a new checkpoint from a savepoint; ``goOn`` stores that."""
        self._begun = {
            "firstBatch": savepoint.nextBatch,
            "positions": savepoint.positions,
            "nodes": savepoint.fields["nodes"],
        }

    def keepPlaces(self, graph: JobGraph) -> None:
        """Let operators whose splits were in one key group keep them there, as state in Spark's
        state store cannot move."""
        if self._fields is None or self._fields["keyGroups"] == 1:
            return
        noted = self._fields["operators"]
        for vertex in graph.vertices:
            known = noted.get(vertex.uid)
            if known and is_by_split(vertex) and not known["state"].endswith(_BY_SPLIT):
                vertex.head.parallelism = 1

    def goOn(self, session: SparkSession, graph: JobGraph, settings: TaskSettings) -> None:
        """Compare a job with the one in the checkpoint, and store the new plan. Raises
        IncompatibleCheckpointError with everything that differs and loses state."""
        plan = _described(graph, settings, self.identities)
        if not self.earlierHashes:
            plan["hashes"] = VERSION
        if self._begun:
            plan["begun"] = {name: self._begun[name] for name in ("firstBatch", "positions")}
        _check_file_sinks(session, graph, self.isNew and not self._begun)
        self.check(graph, settings)
        if self._fields != plan:
            self._write(plan)

    def check(self, graph: JobGraph, settings: TaskSettings) -> None:
        """Raises IncompatibleCheckpointError, with everything that differs and loses state, unless the
        checkpoint is new or of that job."""
        if self._fields is None:
            return
        plan = _described(graph, settings, self.identities)
        problems = list(_problems(self._fields, plan, self.identities))
        if problems:
            raise IncompatibleCheckpointError(
                f"the job cannot go on from the checkpoint {self._storage.path}:"
                f" {'; '.join(problems)}. Undo the change, give operators the uid(...) they had, or"
                " begin anew with another checkpoint directory."
            )

    def noteStates(self, states: Mapping[str, set[tuple[str, str, str]]]) -> None:
        """Store, by operator, the states that its functions have asked for and that are not stored yet."""
        if self._fields is None:
            return
        nodes, changed = self._fields["nodes"], False
        for uid, asked in states.items():
            known = {tuple(state) for state in nodes[uid]["states"]} if uid in nodes else asked
            if not asked <= known:
                nodes[uid]["states"] = [list(state) for state in sorted(known | asked)]
                changed = True
        if changed:
            self._write(self._fields)

    def _write(self, plan: dict[str, Any]) -> None:
        text = json.dumps(plan, indent=2)
        self._storage.writeText(_PLAN, text)
        self._fields = json.loads(text)


def _read_plan(storage: CheckpointStorage) -> dict[str, Any] | None:
    text = storage.readText(_PLAN)
    if text is None:
        return None
    try:
        plan: dict[str, Any] = json.loads(text)
        written, by = plan["version"], plan.get("flinkish", "one before 0.1")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _cut_off(_file(storage), error, _ANEW) from None
    if written != FORMAT:
        raise IncompatibleCheckpointError(
            f"the checkpoint {storage.path} is of format {written}, written by flinkish {by}. This"
            f" flinkish, {flinkish_version()}, reads format {FORMAT}: go on with flinkish {by}, or begin anew with"
            " another checkpoint directory."
        )
    absent = [name for name in _NEEDED if name not in plan]
    if absent:
        raise _cut_off(_file(storage), f"it has no {', '.join(absent)}", _ANEW)
    return plan


def _file(storage: CheckpointStorage) -> str:
    return storage.child(f"{_PLAN}/text")


# ---------------------------------------------------------------------- Spark's own files


def _check_query(storage: CheckpointStorage) -> None:
    """Raises CorruptCheckpointError if one of the files that Spark reads first is incomplete.
    Typically the last files are empty after the machine has crashed. File systems other than this
    machine's write a file completely or not at all."""
    if storage.local is None:
        return
    query = storage.local / _QUERY
    metadata = query / "metadata"
    if metadata.exists():
        try:
            json.loads(metadata.read_text("utf-8"))["id"]
        except (ValueError, KeyError, TypeError) as error:
            raise _cut_off(
                metadata,
                error,
                f"remove {metadata.with_name('.metadata.crc')} and write this line to {metadata}, which"
                f' holds no more than an id of the query: {{"id":"{uuid4()}"}}',
            ) from None
    for commit in _last(query / "commits"):
        _check_log(
            commit,
            2,
            f"remove {_with_checksum(commit)}: batch {commit.name} is then run again, and what it wrote"
            " to files is replaced",
        )
    committed = {file.name for file in _last(query / "commits")}
    for offsets in _last(query / "offsets"):
        batch = offsets.name
        files = [offsets, query / "commits" / batch] if batch in committed else [offsets]
        _check_log(
            offsets,
            3,
            f"remove {' and '.join(map(_with_checksum, files))}: batch {batch} is then planned"
            " again, with the input that has not been read by then, and the files that it wrote are replaced",
        )


def _last(log: Path) -> list[Path]:
    """The files of the last two batches in a log, the last first."""
    batches = (file for file in log.glob("[0-9]*") if file.name.isdigit())
    return sorted(batches, key=lambda file: int(file.name), reverse=True)[:2]


def _check_log(file: Path, lines: int, remedy: str) -> None:
    """A file of Spark's logs has a version, then JSON in most lines, and ``-`` for nothing."""
    try:
        found = file.read_text("utf-8").splitlines()
        if len(found) < lines:
            raise ValueError(f"it has {len(found)} lines, at least {lines} are due")
        if not found[0].startswith("v"):
            raise ValueError(f"it begins with {found[0][:20]!r}, not with a version")
        for line in found[1:]:
            if line[:1] in ("{", "[", "\0"):
                json.loads(line)
    except ValueError as error:
        raise _cut_off(file, error, remedy) from None


def _with_checksum(file: Path) -> str:
    return f"{file} (and {file.with_name(f'.{file.name}.crc').name} beside it)"


def _cut_off(file: Path | str, reason: object, remedy: str) -> CorruptCheckpointError:
    return CorruptCheckpointError(
        f"the file {file} of the checkpoint is not whole ({reason}), as it may be after a crash of the"
        f" machine or on a full disk. To go on, {remedy}."
    )


# ---------------------------------------------------------------------- comparing


def _check_file_sinks(session: SparkSession, graph: JobGraph, new: bool) -> None:
    """Check that no two file sinks share a directory and that, if the checkpoint is ``new``, none
    of the directories has output: a batch replaces the files that they have for its number."""
    paths: set[str] = set()
    for vertex in graph.sinks:
        sink = vertex.head.content
        if not isinstance(sink, FileSink):
            continue
        directory = Directory(session, sink.path)
        if directory.path in paths:
            raise InvalidProgramError(
                f"{vertex.head.name}: two FileSinks write to {sink.path}. Give each a directory of"
                " its own, or write the union of the streams to one."
            )
        paths.add(directory.path)
        if new and directory.holds("batch=*"):
            raise InvalidProgramError(
                f"{vertex.head.name}: {sink.path} holds the output of another run, which this one"
                " would replace batch by batch. Use a new directory, remove that one, or go on from"
                " its checkpoint with enableCheckpointing(directory)."
            )


def _described(graph: JobGraph, settings: TaskSettings, earlier: Identities) -> dict[str, Any]:
    nodes = {}
    for uid, identity in graph.identities().items():
        nodes[uid] = identity.asDict()
        nodes[uid]["states"] = earlier[uid].states if uid in earlier else ()
    plan = {
        "version": FORMAT,
        "flinkish": flinkish_version(),
        "maxParallelism": settings.maxParallelism,
        "parallelism": settings.parallelism,
        "keyGroups": settings.keyGroups,
        "stages": graph.levels,
        "sources": [[vertex.uid, vertex.head.name] for vertex in graph.sources],
        "operators": {
            vertex.uid: {
                "name": vertex.head.name,
                "stage": vertex.level,
                "state": _state(vertex, settings),
            }
            for level in range(1, graph.levels)
            for vertex in graph.stage(level)
        },
        "nodes": nodes,
        NOTED: [
            asdict(sink)
            for vertex in graph.sinks
            if (sink := TransactionalSink.of(vertex.head, settings.parallelism))
        ],
    }
    described: dict[str, Any] = json.loads(json.dumps(plan))
    return described


def _state(vertex: JobVertex, settings: TaskSettings) -> str:
    """The state layout of a vertex: if two layouts are equal, so are the places of the pages."""
    operator = vertex.head.operator
    layout = f"{operator.kind} {operator.stateLayout}".strip()
    if operator.keyed and vertex.head.parallelism == 1 and settings.keyGroups > 1:
        return f"{layout} of setParallelism(1)"
    return layout + _BY_SPLIT if is_by_split(vertex) and settings.keyGroups > 1 else layout


def _problems(old: dict[str, Any], new: dict[str, Any], earlier: Identities) -> Iterator[str]:
    for setting in ("maxParallelism", "parallelism"):
        if old[setting] != new[setting]:
            yield (
                f"{setting} was {old[setting]} and is {new[setting]}, but it stays what it was: leave"
                f" out env.set{setting[0].upper()}{setting[1:]}(...). How many cores Spark has may"
                " change"
            )
    if [s[0] for s in old["sources"]] != [s[0] for s in new["sources"]]:
        was = ", ".join(f"{name} ({uid})" for uid, name in old["sources"])
        now = ", ".join(f"{name} ({uid})" for uid, name in new["sources"])
        yield f"the sources were {was} and are {now}"
    if old["stages"] != new["stages"]:
        yield f"the job had {old['stages'] - 1} stages after shuffles and has {new['stages'] - 1}"
    identities = {uid: NodeIdentity.ofDict(node) for uid, node in new["nodes"].items()}
    other = of_another_form(earlier, identities)
    yield from other.values()
    operators = {uid: earlier[uid] for uid in old["operators"] if uid in earlier}
    yield from missing(operators, new["operators"])
    for uid, operator in old["operators"].items():
        now_there = new["operators"].get(uid)
        if now_there is None or uid in other:
            continue
        if now_there["state"] != operator["state"]:
            yield (
                f"the operator {operator['name']!r} ({uid}) kept its state as"
                f" {operator['state']} and would keep it as {now_there['state']}"
            )
        elif now_there["stage"] != operator["stage"]:
            yield (
                f"the operator {operator['name']!r} ({uid}) was in stage {operator['stage']} and is"
                f" in stage {now_there['stage']}"
            )
