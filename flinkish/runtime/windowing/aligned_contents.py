"""The contents of aligned windows, filled a run at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from flinkish.api.callables import reduce_call
from flinkish.api.functions import AggregateFunction
from flinkish.api.window_operators import WindowOperatorDescription
from flinkish.runtime.accumulation import check_no_accumulator, check_no_reduction
from flinkish.runtime.element_copies import copied
from flinkish.runtime.state.backend import Page
from flinkish.runtime.windowing.aligned_windows import AlignedWindows


def aligned_contents(description: WindowOperatorDescription) -> AlignedContents:
    """The contents that ``description`` asks for."""
    aggregation = description.aggregation
    if aggregation is None:
        return ListedElements(copies=description.allowedLateness > 0)
    if isinstance(aggregation, AggregateFunction):
        return Accumulators(aggregation)
    return Reductions(
        reduce_call(aggregation), overlap=AlignedWindows.of(description.assigner).overlap
    )


class AlignedContents(ABC):
    """How elements go into the pages of a window, and come out of them again.

    As in Flink, None is nothing.
    """

    @abstractmethod
    def add(self, pages: Iterable[Page], keys: Iterable[Any], values: Iterable[Any]) -> None:
        """Put every value under its key into its page."""

    @abstractmethod
    def addRuns(
        self,
        pages: Iterable[Page],
        keys: Iterable[Any],
        counts: Iterable[int],
        values: Iterator[Any],
    ) -> None:
        """Put the next ``count`` of ``values`` under every key into its page."""

    @abstractmethod
    def elements(self, contents: Any) -> Sequence[Any] | None:
        """What the window function gets to see of one key's contents, None if nothing."""


class Accumulators(AlignedContents):
    """One accumulator a key."""

    def __init__(self, function: AggregateFunction[Any, Any, Any]) -> None:
        self._function = function
        self._create = function.createAccumulator
        self._add = function.add
        self._result = function.getResult

    def add(self, pages: Iterable[Page], keys: Iterable[Any], values: Iterable[Any]) -> None:
        add, create = self._add, self._create
        for page, key, value in zip(pages, keys, values):
            kept = page.get(key)
            kept = add(value, create() if kept is None else kept)
            if kept is None:
                check_no_accumulator(self._function, "add")
            page[key] = kept

    def addRuns(
        self,
        pages: Iterable[Page],
        keys: Iterable[Any],
        counts: Iterable[int],
        values: Iterator[Any],
    ) -> None:
        add, create = self._add, self._create
        for page, key, count in zip(pages, keys, counts):
            kept = page.get(key)
            if kept is None:
                kept = create()
            for value in islice(values, count):
                kept = add(value, kept)
                if kept is None:
                    check_no_accumulator(self._function, "add")
            page[key] = kept

    def elements(self, contents: Any) -> Sequence[Any] | None:
        result = None if contents is None else self._result(contents)
        return None if result is None else (result,)


class Reductions(AlignedContents):
    """One reduced value a key. Where windows overlap, each begins with a copy of the element: the
    function may change it."""

    def __init__(self, reduce: Callable[[Any, Any], Any], overlap: bool) -> None:
        self._reduce = reduce
        self._overlap = overlap

    def add(self, pages: Iterable[Page], keys: Iterable[Any], values: Iterable[Any]) -> None:
        reduce = self._reduce
        for page, key, value in zip(pages, keys, values):
            so_far = page.get(key)
            if so_far is None:
                kept = copied(value) if self._overlap else value
            else:
                kept = reduce(so_far, value)
            page[key] = kept
            if kept is None:
                check_no_reduction(so_far, value)

    def addRuns(
        self,
        pages: Iterable[Page],
        keys: Iterable[Any],
        counts: Iterable[int],
        values: Iterator[Any],
    ) -> None:
        reduce = self._reduce
        for page, key, count in zip(pages, keys, counts):
            kept = page.get(key)
            for value in islice(values, count):
                if kept is None:
                    kept = copied(value) if self._overlap else value
                else:
                    so_far, kept = kept, reduce(kept, value)
                    if kept is None:
                        check_no_reduction(so_far, value)
            page[key] = kept

    def elements(self, contents: Any) -> Sequence[Any] | None:
        return None if contents is None else (contents,)


class ListedElements(AlignedContents):
    """All elements of a key; ``copies``: they are needed again after the window has fired."""

    def __init__(self, copies: bool) -> None:
        self._copies = copies

    def add(self, pages: Iterable[Page], keys: Iterable[Any], values: Iterable[Any]) -> None:
        for page, key, value in zip(pages, keys, values):
            kept = page.get(key)
            if kept is None:
                page[key] = [value]
            else:
                kept.append(value)

    def addRuns(
        self,
        pages: Iterable[Page],
        keys: Iterable[Any],
        counts: Iterable[int],
        values: Iterator[Any],
    ) -> None:
        for page, key, count in zip(pages, keys, counts):
            kept = page.get(key)
            if kept is None:
                kept = page[key] = []
            kept.extend(islice(values, count))

    def elements(self, contents: Any) -> Sequence[Any] | None:
        listed: list[Any] = contents
        return list(listed) if self._copies else listed
