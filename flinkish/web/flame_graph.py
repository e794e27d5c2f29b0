"""The documents of a profiled batch: a tree of calls for each vertex, as Flink's flame graph, and the time by user function."""

from __future__ import annotations

from collections import Counter
from typing import Any

from flinkish.api.execution.details import BatchProfile, JobDetails

_OWN = "(flinkish/"


def profile(details: JobDetails) -> dict[str, Any]:
    """``/jobs/:jobid/profile``, which Flink does not have: all vertices of the last profiled batch."""
    found = details.profile
    return {
        "requested": details.profileRequested,
        "batch": None if found is None else found.batch,
        "timestamp": None if found is None else found.timestamp,
        "interval": None if found is None else found.interval,
        "functions": [] if found is None else _functions(found),
        "keys": [] if found is None else [vars(key) for key in found.keys],
        "vertices": []
        if found is None
        else [
            {"id": vertex.id, "name": vertex.name, "data": tree}
            for vertex in details.vertices
            if (tree := _tree(found, vertex.id))["value"]
        ],
    }


def flame_graph(details: JobDetails, uid: str) -> dict[str, Any]:
    """``/jobs/:jobid/vertices/:vertexid/flamegraph``."""
    found = details.profile
    if found is None:
        return {"endTimestamp": 0, "data": None}
    return {"endTimestamp": found.timestamp, "data": _tree(found, uid)}


def _tree(found: BatchProfile, uid: str) -> dict[str, Any]:
    root: dict[str, Any] = {"name": "root", "value": 0, "children": {}}
    for stack in found.stacks:
        if stack.vertex != uid:
            continue
        root["value"] += stack.millis
        node = root
        for call in stack.calls:
            node = node["children"].setdefault(call, {"name": call, "value": 0, "children": {}})
            node["value"] += stack.millis
    return _listed(root)


def _listed(node: dict[str, Any]) -> dict[str, Any]:
    children = sorted(node["children"].values(), key=lambda child: -child["value"])
    return {**node, "children": [_listed(child) for child in children]}


def _functions(found: BatchProfile) -> list[dict[str, Any]]:
    """The functions of users or libraries that flinkish called, with the time of their own calls
    included."""
    millis: Counter[tuple[str, str]] = Counter()
    for stack in found.stacks:
        called = (call for call in stack.calls if _OWN not in call)
        millis[stack.vertex, next(called, "flinkish itself")] += stack.millis
    return [
        {"vertex": vertex, "function": function, "millis": spent}
        for (vertex, function), spent in millis.most_common(50)
    ]
