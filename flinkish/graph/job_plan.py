"""A job's plan to show: JSON like Flink's, text, and a drawing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from flinkish.api.display.drawing import Arrow, Box, drawing
from flinkish.api.plan.partitioning import Partitioning
from flinkish.graph.job_graph import JobGraph, JobVertex
from flinkish.graph.stream_graph import StreamEdge, StreamNode


class JobPlan:
    """The plan of a job graph. ``explained`` returns lines about the functions of a node."""

    def __init__(
        self,
        graph: JobGraph,
        explained: Callable[[StreamNode], Iterable[str]] = lambda node: (),
    ) -> None:
        self._graph = graph
        self._explained = explained
        self._nodes: dict[str, StreamNode] = {
            node.uid: node for vertex in graph.vertices for node in vertex.nodes
        }

    def asJson(self) -> str:
        """The plan as JSON: ``nodes``, each with its ``predecessors`` and their ship strategies."""
        numbers = {uid: number for number, uid in enumerate(self._nodes, start=1)}
        nodes = [self._json(node, numbers) for node in self._nodes.values()]
        return json.dumps({"nodes": nodes}, indent=2)

    def asText(self) -> str:
        """The plan as text: the stages, the operators of each, and where their output goes."""
        lines: list[str] = []
        for level in range(self._graph.levels):
            lines.append(f"Stage {level}" + (" (sources)" if level == 0 else " (after a shuffle)"))
            for vertex in self._graph.stage(level):
                lines.extend(self._text(vertex))
        lines.append("Sinks")
        lines.extend(f"  {vertex.head.name}  [{vertex.uid}]" for vertex in self._graph.sinks)
        return "\n".join(lines)

    def asSvg(self) -> str:
        """The plan as a drawing: a box for each vertex, with its operators."""
        boxes = [
            Box(vertex.uid, [node.name for node in vertex.nodes], vertex.level)
            for vertex in self._graph.vertices
        ]
        arrows = [
            Arrow(edge.source.uid, vertex.uid, _strategy(edge.edge))
            for vertex in self._graph.vertices
            for edge in vertex.inputs
        ]
        return drawing(boxes, arrows, "The graph of the job")

    def _json(self, node: StreamNode, numbers: dict[str, int]) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "id": numbers[node.uid],
            "type": node.name,
            "pact": _pact(node),
            "contents": node.description or node.name,
            "uid": node.uid,
            "stage": sorted(v.level for v in self._graph.vertices if v.contains(node.uid)),
        }
        if node.parallelism is not None:
            shown["parallelism"] = node.parallelism
        if node.inputs:
            shown["predecessors"] = [
                {
                    "id": numbers[edge.sourceUid],
                    "ship_strategy": _strategy(edge),
                    "side": f"input {edge.inputIndex + 1}",
                    **({"side_output": edge.sideOutput} if edge.sideOutput else {}),
                }
                for edge in node.inputs
            ]
        return shown

    def _text(self, vertex: JobVertex) -> list[str]:
        chain = " -> ".join(node.name for node in vertex.nodes)
        lines = [f"  {chain}  [{vertex.uid}]"]
        for node in vertex.nodes:
            lines.extend(f"    {node.name}: {line}" for line in self._explained(node))
        for job_edge in vertex.outputs:
            edge = job_edge.edge
            side = f" side output {edge.sideOutput!r}" if edge.sideOutput else ""
            lines.append(f"    {_strategy(edge)}{side} to {job_edge.target.head.name}")
        return lines


def _pact(node: StreamNode) -> str:
    if node.isSource:
        return "Data Source"
    return "Data Sink" if node.isSink else "Operator"


def _strategy(edge: StreamEdge) -> str:
    return edge.partitioning.name if edge.partitioning else Partitioning.name
