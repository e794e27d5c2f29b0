"""The contents of aligned windows, filled a run at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from flinkish.api.callables import reduce_call
from flinkish.api.functions import AggregateFunction
from flinkish.api.window_operators import WindowOperatorDescription
from flinkish.runtime.state.backend import Page


def aligned_contents(description: WindowOperatorDescription) -> AlignedContents:
    """The contents that ``description`` asks for."""
    aggregation = description.aggregation
    if aggregation is None:
        return ListedElements(copies=description.allowedLateness > 0)
    if isinstance(aggregation, AggregateFunction):
        return Accumulators(aggregation)
    return Reductions(reduce_call(aggregation))


class AlignedContents(ABC):
    """How elements go into the pages of a window, and come out of them again.

    As in Flink, None is nothing.
    """

    @abstractmethod
    def addTo(self, page: Page, keyed: Iterable[tuple[Any, Any]]) -> None:
        """Put every (key, value) into ``page``."""

    @abstractmethod
    def addToPages(
        self, pages: Sequence[Page], index: Iterable[int], keyed: Iterable[tuple[Any, Any]]
    ) -> None:
        """Put every (key, value) into the page of its index."""

    @abstractmethod
    def elements(self, contents: Any) -> Sequence[Any] | None:
        """What the window function gets to see of one key's contents, None if nothing."""


class Accumulators(AlignedContents):
    """One accumulator a key."""

    def __init__(self, function: AggregateFunction[Any, Any, Any]) -> None:
        self._create = function.createAccumulator
        self._add = function.add
        self._result = function.getResult

    def addTo(self, page: Page, keyed: Iterable[tuple[Any, Any]]) -> None:
        add, create, get = self._add, self._create, page.get
        for key, value in keyed:
            kept = get(key)
            page[key] = add(value, create() if kept is None else kept)

    def addToPages(
        self, pages: Sequence[Page], index: Iterable[int], keyed: Iterable[tuple[Any, Any]]
    ) -> None:
        add, create = self._add, self._create
        for i, (key, value) in zip(index, keyed):
            page = pages[i]
            kept = page.get(key)
            page[key] = add(value, create() if kept is None else kept)

    def elements(self, contents: Any) -> Sequence[Any] | None:
        result = None if contents is None else self._result(contents)
        return None if result is None else (result,)


class Reductions(AlignedContents):
    """One reduced value a key."""

    def __init__(self, reduce: Callable[[Any, Any], Any]) -> None:
        self._reduce = reduce

    def addTo(self, page: Page, keyed: Iterable[tuple[Any, Any]]) -> None:
        reduce, get = self._reduce, page.get
        for key, value in keyed:
            kept = get(key)
            page[key] = value if kept is None else reduce(kept, value)

    def addToPages(
        self, pages: Sequence[Page], index: Iterable[int], keyed: Iterable[tuple[Any, Any]]
    ) -> None:
        reduce = self._reduce
        for i, (key, value) in zip(index, keyed):
            page = pages[i]
            kept = page.get(key)
            page[key] = value if kept is None else reduce(kept, value)

    def elements(self, contents: Any) -> Sequence[Any] | None:
        return None if contents is None else (contents,)


class ListedElements(AlignedContents):
    """All elements of a key; ``copies``: they are needed again after the window has fired."""

    def __init__(self, copies: bool) -> None:
        self._copies = copies

    def addTo(self, page: Page, keyed: Iterable[tuple[Any, Any]]) -> None:
        get = page.get
        for key, value in keyed:
            kept = get(key)
            if kept is None:
                page[key] = [value]
            else:
                kept.append(value)

    def addToPages(
        self, pages: Sequence[Page], index: Iterable[int], keyed: Iterable[tuple[Any, Any]]
    ) -> None:
        for i, (key, value) in zip(index, keyed):
            page = pages[i]
            kept = page.get(key)
            if kept is None:
                page[key] = [value]
            else:
                kept.append(value)

    def elements(self, contents: Any) -> Sequence[Any] | None:
        listed: list[Any] = contents
        return list(listed) if self._copies else listed
