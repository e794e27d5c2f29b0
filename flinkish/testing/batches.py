"""Cuts the elements that come into the harness into batches, as a job reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from flinkish.api.plan.operators import TimestampsAndWatermarksDescription
from flinkish.graph.stream_graph import StreamGraph, StreamNode


class Batches:
    """Says which operators have reached the end of a batch, which has ``size`` elements of each input.

    ``inputs`` are the inputs, by number, that lead to each operator, and ``finished`` those that have ended. An operator
    reaches the end once all of its inputs have, or with the first element of the next batch. ``end`` is called with the
    uids of those operators.
    """

    def __init__(
        self,
        size: int,
        inputs: Mapping[str, frozenset[int]],
        finished: Iterable[int],
        end: Callable[[Iterable[str]], None],
    ) -> None:
        self._size = size
        self._inputs = inputs
        self._all = frozenset[int]().union(*inputs.values())
        self._end = end
        self._finished = set(finished)
        self._begin()

    def _begin(self) -> None:
        self._counts = dict.fromkeys(self._all, 0)
        self._ended: set[str] = set()

    def beforeElement(self, index: int) -> None:
        """Called before an element of the input ``index``."""
        if self._counts.get(index) == self._size:
            self._end_of(self._all)

    def afterElement(self, index: int) -> None:
        """Called after an element of the input ``index``."""
        if index in self._counts:
            self._counts[index] += 1
            self._end_of(self._full())

    def endInput(self, index: int) -> None:
        """Called after the last watermark of the input ``index``, which has no elements in later batches."""
        self._finished.add(index)
        self._ended = {uid for uid in self._ended if index not in self._inputs[uid]}
        self._end_of(self._full())

    def end(self) -> None:
        """End the batch for all operators, even if it has no elements."""
        self._begin()
        self._end(self._inputs)

    def endIfBegun(self) -> None:
        """End the batch if it has elements."""
        if any(self._counts.values()):
            self.end()

    def _full(self) -> set[int]:
        """The inputs that have all of their elements of the batch."""
        return self._finished | {i for i, count in self._counts.items() if count == self._size}

    def _end_of(self, full: Iterable[int]) -> None:
        """End the batch for operators that only the inputs ``full`` lead to."""
        reached = self._all.intersection(full)
        operators = [
            uid
            for uid, inputs in self._inputs.items()
            if inputs <= reached and uid not in self._ended
        ]
        self._ended.update(operators)
        if reached == self._all:
            self._begin()
        self._end(operators)


def inputs_of(graph: StreamGraph, sources: Iterable[str]) -> dict[str, frozenset[int]]:
    """The numbers of the ``sources`` that lead to each operator of a graph, in the order of the graph."""
    found = {uid: frozenset((number,)) for number, uid in enumerate(sources)}
    for node in graph:
        if not node.isSource:
            read = (found[edge.sourceUid] for edge in node.inputs)
            found[node.uid] = frozenset[int]().union(*read)
    return {node.uid: found[node.uid] for node in graph if not node.isSource and not node.isSink}


def ignoring_watermarks(graph: StreamGraph, source: str) -> StreamNode | None:
    """The watermark strategy that ignores the watermarks of ``source`` before any operator depends on them; None if
    there is none."""
    following = [edge.targetUid for edge in graph.node(source).outputs]
    while following:
        node = graph.node(following.pop())
        if node.generatesWatermarks or isinstance(node.content, TimestampsAndWatermarksDescription):
            return node
        if not (node.isStateful or node.seesTime or node.isSink):
            following += [edge.targetUid for edge in node.outputs]
    return None
