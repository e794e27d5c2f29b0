"""Distinguishes operators of a job that have the same name."""

from __future__ import annotations

from collections import Counter

from flinkish.graph.job_graph import JobGraph, JobVertex
from flinkish.graph.stream_graph import StreamNode


def operator_names(graph: JobGraph) -> dict[str, str]:
    """The name of each operator by its uid. If several have one name, each is followed, in
    brackets, by the operator that its vertex begins with or reads; names that are still equal, such
    as those of sources, are numbered from the second on."""
    # An operator behind a union is chained into several vertices
    nodes = {node.uid: node.name for vertex in graph.vertices for node in vertex.nodes}
    counts = Counter(nodes.values())
    names: dict[str, str] = {}
    met: Counter[str] = Counter()
    for vertex in sorted(graph.vertices, key=lambda each: each.level):
        for node in vertex.nodes:
            name = node.name
            if node.uid in names:
                continue
            before = _before(vertex, node)
            if counts[name] > 1 and before is not None:
                name = f"{name} ({names.get(before.uid, before.name)})"
            met[name] += 1
            names[node.uid] = name if met[name] == 1 else f"{name}#{met[name]}"
    return names


def _before(vertex: JobVertex, node: StreamNode) -> StreamNode | None:
    if node is not vertex.head:
        return vertex.head
    return vertex.inputs[0].source.head if vertex.inputs else None
