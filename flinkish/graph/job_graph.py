"""The graph cut at shuffles: vertices of chained operators, in levels.

A vertex begins at a source or at an operator that needs a separate stage, and contains everything
that follows without a shuffle. All vertices of a level run in the same stage; a vertex reads from
lower levels only, so one pass through the stages finishes a batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from flinkish.api.connectors.source import Source
from flinkish.api.plan.operators import TimestampsAndWatermarksDescription
from flinkish.api.program_classes import ProgramClasses
from flinkish.graph.identities import NodeIdentity
from flinkish.graph.stream_graph import StreamEdge, StreamGraph, StreamNode


@dataclass(eq=False)
class JobEdge:
    """An edge between vertices; ``gate`` is its number among the edges into the target.
    ``strategy``: the uid of the operator whose watermarks on the edge are running maxima of slices,
    which the receiver folds; None if it does not."""

    edge: StreamEdge
    source: JobVertex
    target: JobVertex
    gate: int
    strategy: str | None

    @property
    def folded(self) -> bool:
        """Whether the receiver folds the watermarks."""
        return self.strategy is not None

    @property
    def name(self) -> str:
        """The edge by the uids of its ends."""
        side = f"[{self.edge.sideOutput}]" if self.edge.sideOutput else ""
        return f"{self.source.uid}>{self.edge.sourceUid}{side}>{self.edge.inputIndex}"


@dataclass(eq=False)
class JobVertex:
    """A head and the operators chained to it (Flink: ``JobVertex``). Sinks are vertices too."""

    head: StreamNode
    nodes: list[StreamNode]
    level: int = 0
    inputs: list[JobEdge] = field(default_factory=list)
    outputs: list[JobEdge] = field(default_factory=list)

    @property
    def uid(self) -> str:
        return self.head.uid

    @property
    def source(self) -> Source[Any]:
        assert isinstance(self.head.content, Source)
        return self.head.content

    @property
    def operators(self) -> list[StreamNode]:
        """The nodes that are operators, the head first if it is one."""
        return [node for node in self.nodes if not node.isSource and not node.isSink]

    def contains(self, uid: str) -> bool:
        return any(node.uid == uid for node in self.nodes)

    def upTo(self, uid: str) -> Iterator[StreamNode]:
        """The nodes from the node ``uid`` back to the head."""
        nodes = {node.uid: node for node in self.nodes}
        node = nodes[uid]
        while node is not self.head:
            yield node
            node = next(nodes[e.sourceUid] for e in node.inputs if e.sourceUid in nodes)
        yield node


class JobGraph:
    """The vertices of a job, each after the vertices that it reads from (Flink: ``JobGraph``)."""

    def __init__(self, graph: StreamGraph) -> None:
        self._graph = graph
        self._heads = self._find_heads()
        self.vertices = [self._vertex(node) for node in graph if node.uid in self._heads]
        for vertex in self.vertices:
            self._connect(vertex)
        self.levels = 1 + max((v.level for v in self.vertices if not v.head.isSink), default=0)
        """The number of stages, including that of the sources."""
        for vertex in self.sinks:
            vertex.level = self.levels

    def classes(self) -> ProgramClasses:
        return self._graph.classes()

    @property
    def sources(self) -> list[JobVertex]:
        """The vertices that begin at a source."""
        return [vertex for vertex in self.vertices if vertex.head.isSource]

    @property
    def sinks(self) -> list[JobVertex]:
        return [vertex for vertex in self.vertices if vertex.head.isSink]

    def identities(self) -> dict[str, NodeIdentity]:
        """The identities by which a checkpoint finds sources and the first operators of stages."""
        heads = (vertex.head for vertex in self.vertices)
        return {head.uid: head.identity for head in heads if head.identity is not None}

    def stage(self, level: int) -> list[JobVertex]:
        return [v for v in self.vertices if v.level == level and not v.head.isSink]

    def _find_heads(self) -> set[str]:
        """The nodes that vertices begin with. Before the first shuffle a task knows neither the
        watermark, which is not folded yet, nor the clock. So an operator at that place that may ask
        for them begins a vertex too."""
        heads: set[str] = set()
        untimed: set[str] = set()
        for node in self._graph:
            follows_untimed = any(edge.sourceUid in untimed for edge in node.inputs)
            begins = node.isSource or node.isSink or node.isStateful or self._must_not_fold(node)
            if begins or (follows_untimed and node.seesTime):
                heads.add(node.uid)
                if node.isSource:
                    untimed.add(node.uid)
            elif follows_untimed or _assigns_watermarks(node):
                untimed.add(node.uid)
        return heads

    def _must_not_fold(self, node: StreamNode) -> bool:
        """Whether watermarks that could be folded are combined with others before they reach a
        stage: the lowest of several running maxima cannot be folded."""
        if not _assigns_watermarks(node):
            return False
        following = [edge.targetUid for edge in node.outputs]
        seen: set[str] = set()
        while following:
            target = self._graph.node(following.pop())
            if target.isStateful or target.seesTime or target.isSink or target.uid in seen:
                continue
            seen.add(target.uid)
            if len(target.inputs) > 1:
                return True
            following.extend(edge.targetUid for edge in target.outputs)
        return False

    def _vertex(self, head: StreamNode) -> JobVertex:
        chained = {head.uid}
        for node in self._graph:
            if node.uid not in self._heads and any(e.sourceUid in chained for e in node.inputs):
                chained.add(node.uid)
        return JobVertex(head, [node for node in self._graph if node.uid in chained])

    def _connect(self, vertex: JobVertex) -> None:
        for edge in vertex.head.inputs:
            for source in self.vertices:
                if not source.contains(edge.sourceUid):
                    continue
                # The last watermarks assigned on the way are a running maximum, if not by the head
                on_the_way = (n for n in source.upTo(edge.sourceUid) if n is not source.head)
                folded = next((n.uid for n in on_the_way if _assigns_watermarks(n)), None)
                job_edge = JobEdge(edge, source, vertex, len(vertex.inputs), folded)
                vertex.inputs.append(job_edge)
                source.outputs.append(job_edge)
                vertex.level = max(vertex.level, source.level + 1)


def _assigns_watermarks(node: StreamNode) -> bool:
    return isinstance(node.content, TimestampsAndWatermarksDescription)
