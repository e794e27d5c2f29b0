"""Whether a job may go on from a checkpoint, and what says so if not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from flinkish.api.connectors.file_sink import FileSink
from flinkish.api.errors import IncompatibleCheckpointError, InvalidProgramError
from flinkish.graph.job_graph import JobGraph, JobVertex
from flinkish.runtime.task_plan import TaskSettings
from flinkish.spark.storage import CheckpointStorage, Directory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PLAN = "plan"
_VERSION = 1


class BegunWith(NamedTuple):
    """What stays as it was when a checkpoint was begun; None if it is new."""

    parallelism: int | None = None
    maxParallelism: int | None = None
    keyGroups: int | None = None
    """How many parts keyed state is in."""


def parallelism_of(storage: CheckpointStorage) -> BegunWith:
    """The parallelism and the key groups that a checkpoint was begun with."""
    text = storage.readText(_PLAN)
    if text is None:
        return BegunWith()
    plan = json.loads(text)
    return BegunWith(plan["parallelism"], plan["maxParallelism"], _key_groups(plan))


def _key_groups(plan: dict[str, Any]) -> int:
    """Plans had no number of their own for it before parallelism 1 kept the order."""
    groups: int = plan.get("keyGroups", plan["maxParallelism"])
    return groups


def check_compatible(
    session: SparkSession, storage: CheckpointStorage, graph: JobGraph, settings: TaskSettings
) -> None:
    """Compare a job with the one that ``storage`` is a checkpoint of, and note the new one.

    Raises IncompatibleCheckpointError with everything that differs and loses state.
    """
    plan = _described(graph, settings)
    text = storage.readText(_PLAN)
    _check_file_sinks(session, graph, new=text is None)
    if text is not None:
        problems = list(_problems(json.loads(text), plan))
        if problems:
            raise IncompatibleCheckpointError(
                f"the job cannot go on from the checkpoint {storage.path}: {'; '.join(problems)}."
                " Undo the change, give operators the uid(...) they had, or begin anew with another"
                " checkpoint directory."
            )
    if text is None or json.loads(text) != plan:
        storage.writeText(_PLAN, json.dumps(plan, indent=2))


def _check_file_sinks(session: SparkSession, graph: JobGraph, new: bool) -> None:
    """A file sink owns its directory: what it writes in a batch replaces what is there of it."""
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


def _described(graph: JobGraph, settings: TaskSettings) -> dict[str, Any]:
    return {
        "version": _VERSION,
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
    }


def _state(vertex: JobVertex, settings: TaskSettings) -> str:
    """How a vertex keeps its state: the same words, the same pages in the same place."""
    operator = vertex.head.operator
    layout = f"{type(operator).__name__} {operator.stateLayout}"
    if operator.keyed and vertex.head.parallelism == 1 and settings.keyGroups > 1:
        return f"{layout} of setParallelism(1)"
    return layout


def _problems(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    problems = []
    if old["version"] != new["version"]:
        problems.append(f"it is of format {old['version']}, this flinkish writes {new['version']}")
    for setting in ("maxParallelism", "parallelism"):
        if old[setting] != new[setting]:
            problems.append(
                f"{setting} was {old[setting]} and is {new[setting]}, but it stays what it was: leave"
                f" out env.set{setting[0].upper()}{setting[1:]}(...). How many cores Spark has may"
                " change"
            )
    if [s[0] for s in old["sources"]] != [s[0] for s in new["sources"]]:
        was = ", ".join(f"{name} ({uid})" for uid, name in old["sources"])
        now = ", ".join(f"{name} ({uid})" for uid, name in new["sources"])
        problems.append(f"the sources were {was} and are {now}")
    if old["stages"] != new["stages"]:
        problems.append(
            f"the job had {old['stages'] - 1} stages after shuffles and has {new['stages'] - 1}"
        )
    for uid, operator in old["operators"].items():
        now_there = new["operators"].get(uid)
        if now_there is None:
            problems.append(f"the operator {operator['name']!r} with state ({uid}) is gone")
        elif now_there["state"] != operator["state"]:
            problems.append(
                f"the operator {operator['name']!r} ({uid}) kept its state as"
                f" {operator['state'].strip()} and would keep it as {now_there['state'].strip()}"
            )
        elif now_there["stage"] != operator["stage"]:
            problems.append(
                f"the operator {operator['name']!r} ({uid}) was in stage {operator['stage']} and is"
                f" in stage {now_there['stage']}"
            )
    return problems
