"""Reads a snapshot of the harness, and checks that the job can go on from it, by the rules of a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flinkish.api.errors import IncompatibleCheckpointError, said_by
from flinkish.api.stored_values import unpickled
from flinkish.graph.identities import (
    NodeIdentity,
    begun_anew,
    missing,
    of_another_form,
    that_keep_none,
)
from flinkish.graph.stream_graph import StreamGraph
from flinkish.runtime.operators.timers import EVENT_TIMERS, PROCESSING_TIMERS
from flinkish.runtime.savepoint.redistribution import has_operator_state
from flinkish.runtime.state.page_codec import check_format

_TIMERS = {("timers", EVENT_TIMERS), ("timers", PROCESSING_TIMERS)}


def read(data: bytes) -> dict[str, Any]:
    """The snapshot in ``data``. Raises IncompatibleCheckpointError if it is of another format."""
    snapshot: dict[str, Any] = _unpickled("the snapshot", data)
    check_format(snapshot.get("format", 1), "the snapshot")
    nodes = {uid: NodeIdentity.ofDict(fields) for uid, fields in snapshot["nodes"].items()}
    return {**snapshot, "nodes": nodes}


def with_state(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """``snapshot`` with its state, which is read once the classes of the job are known."""
    names = {uid: f"{node.name!r} ({uid})" for uid, node in snapshot["nodes"].items()}
    state = {
        uid: _part(f"the state of {names.get(uid, uid)}", part)
        for uid, part in snapshot["state"].items()
    }
    return {**snapshot, "state": state, "chain": _part("the snapshot", snapshot["chain"])}


def _part(what: str, part: Any) -> Any:
    # Earlier snapshots were in one piece
    return _unpickled(what, part) if type(part) is bytes else part


def _unpickled(what: str, data: bytes) -> Any:
    """The object in ``data``. Raises IncompatibleCheckpointError if a class in it is gone."""
    try:
        return unpickled(data)
    except IncompatibleCheckpointError as error:
        raise IncompatibleCheckpointError(f"{what}: {error}") from None
    except (ImportError, AttributeError) as error:
        raise IncompatibleCheckpointError(
            f"{what} cannot be read ({said_by(error)}). If a class of a stored value was moved or renamed, keep its old"
            " name importable."
        ) from error


def checked_operators(graph: StreamGraph, snapshot: Mapping[str, Any]) -> dict[str, int]:
    """The watermarks of the operators that are of another kind now, and that nothing else is left of.

    Raises IncompatibleCheckpointError if a node with state is gone, or its state was of another kind.
    """
    earlier, operators = snapshot["nodes"], snapshot["chain"]["operators"]
    held = {
        uid: {name for name, table in tables.items() if len(table)}
        for uid, tables in snapshot["state"].items()
    }
    uids = [node.uid for node in graph]
    stateful = [
        uid for uid in earlier if held.get(uid) or has_operator_state(operators.get(uid, {}))
    ]
    problems = list(missing(earlier, uids))
    problems += that_keep_none(earlier, stateful, graph.identities(), uids)
    changed = of_another_form(
        earlier,
        graph.identities(),
        lambda uid: not _TIMERS.isdisjoint(held.get(uid, ())),
    )
    problems += [problem for uid, problem in changed.items() if uid in stateful]
    if problems:
        raise IncompatibleCheckpointError(
            f"the job cannot go on from the snapshot: {'; '.join(problems)}."
        )
    anew = begun_anew(earlier, graph.identities())
    return {uid: operators[uid]["watermark"] for uid in anew if uid in operators}
