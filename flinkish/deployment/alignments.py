"""Finds the sources of a job that are aligned by ``WatermarkStrategy.withWatermarkAlignment``."""

from __future__ import annotations

from collections import defaultdict

from flinkish.api.connectors.source import Source
from flinkish.api.errors import InvalidProgramError
from flinkish.api.plan.operators import TimestampsAndWatermarksDescription
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.graph.job_graph import JobGraph, JobVertex
from flinkish.graph.stream_graph import StreamNode
from flinkish.runtime.metrics_totals import MetricsTotals
from flinkish.runtime.sources.alignment import SourceAlignment


class Alignments:
    """The aligned sources of a job, and their watermarks."""

    def __init__(self, graph: JobGraph) -> None:
        self._nodes = {node.uid: node for vertex in graph.vertices for node in vertex.nodes}
        self._sources: list[tuple[str, str, JobVertex]] = []
        """The uids of each source and of its strategy, and the vertex that contains the strategy."""
        self.ofSource: dict[str, SourceAlignment] = {}
        """The alignment of each source, by its uid."""
        members: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
        for vertex in graph.vertices:
            for node in vertex.operators:
                content = node.content
                if not isinstance(content, TimestampsAndWatermarksDescription):
                    continue
                alignment = content.strategy.alignment
                if alignment is None:
                    continue
                source = self._source_of(node)
                self._sources.append((source, node.uid, vertex))
                members[alignment.watermarkGroup].append(
                    (source, alignment.maxAllowedWatermarkDrift, alignment.updateInterval)
                )
        for group in members.values():
            uids = tuple(uid for uid, *_ in group)
            for uid, drift, interval in group:
                self.ofSource[uid] = SourceAlignment(uid, uids, drift, interval)

    def watermarks(self, metrics: MetricsTotals) -> dict[str, int | None]:
        """The watermark of each aligned source after a batch, by its uid."""
        found: dict[str, int | None] = {}
        for source, strategy, vertex in self._sources:
            watermark = metrics.watermark(strategy)
            found[source] = MAX_TIMESTAMP if _idle(vertex, metrics) else watermark
        return found

    def _source_of(self, node: StreamNode) -> str:
        """The source directly before ``node``, a watermark strategy."""
        if len(node.inputs) == 1:
            before = self._nodes[node.inputs[0].sourceUid]
            if isinstance(before.content, Source):
                return before.uid
        raise InvalidProgramError(
            f"withWatermarkAlignment: {node.name!r} is not right behind one source, so there is none to hold"
            " back. Pass the strategy to fromSource(source, strategy)."
        )


def _idle(vertex: JobVertex, metrics: MetricsTotals) -> bool:
    """Whether the output of ``vertex`` is idle, as its readers see it."""
    for edge in vertex.outputs:
        for read in metrics.inputs.of(edge.target.uid):
            if not read.isSplit and read.name == edge.name:
                return read.idle
    return False
