"""Merges two streams into one of tagged elements, and separates their elements again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from flinkish.api.functions.adapt import results_of
from flinkish.api.functions.functions import Collector, MapFunction
from flinkish.api.functions.join import TaggedUnion


class Tagger(MapFunction[Any, TaggedUnion[Any, Any]]):
    """Tags an element with the number of its stream (Flink: ``Input1Tagger``, ``Input2Tagger``)."""

    def __init__(self, tag: int) -> None:
        self._tag = tag

    @property
    def tag(self) -> int:
        """The number of the stream: 1 or 2."""
        return self._tag

    def map(self, value: Any) -> TaggedUnion[Any, Any]:
        return TaggedUnion(self._tag, value)


class Sides(NamedTuple):
    """The elements of both streams, separate from the start, such as those read from columns."""

    one: list[Any]
    two: list[Any]


def sides(elements: Iterable[TaggedUnion[Any, Any]] | Sides) -> tuple[list[Any], list[Any]]:
    """The elements of the first stream and those of the second."""
    if isinstance(elements, Sides):
        return elements
    one: list[Any] = []
    two: list[Any] = []
    for element in elements:
        if element.tag == 1:
            one.append(element.value)
        else:
            two.append(element.value)
    return one, two


@dataclass(frozen=True)
class JoinCall:
    """The call of a window function that joins: ``pair(first, second)`` returns a result for each pair, or, if it is
    ``flat``, ``pair(first, second, out)`` writes any number."""

    pair: Callable[..., Any]
    flat: bool

    def __call__(
        self, key: Any, window: Any, context: Any, elements: Any, out: Collector[Any]
    ) -> None:
        pair = self.pair
        one, two = sides(elements)
        for first in one:
            for second in two:
                if self.flat:
                    for result in results_of(pair(first, second, out), wrote=True):
                        out.collect(result)
                else:
                    out.collect(pair(first, second))
