"""The contents of aligned windows kept by key: an accumulator, a reduced value or all elements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice, repeat
from typing import Any

from flinkish.api.functions.adapt import reduce_call
from flinkish.api.functions.functions import AggregateFunction
from flinkish.api.plan.window_operator import WindowOperatorDescription
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.api.windowing.evictors import TimestampedValue
from flinkish.api.windowing.windows import TimeWindow
from flinkish.runtime.columns.panes import AlignedWindows, Positions
from flinkish.runtime.operators.keyed import KeyedOperator
from flinkish.runtime.operators.timers import EVENT_TIMERS
from flinkish.runtime.records.copies import all_immutable, copied, copied_values
from flinkish.runtime.records.keys import KeyHashes, KeyRuns, taken
from flinkish.runtime.records.records import Hashes, Records, Timestamps
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.state.accumulation import check_no_accumulator, check_no_reduction
from flinkish.runtime.state.backend import Block
from flinkish.runtime.windowing.window_contents import TABLE


def aligned_contents(description: WindowOperatorDescription) -> AlignedContents:
    """The contents for the aggregation of ``description``."""
    aggregation = description.aggregation
    if aggregation is None or description.evictor is not None:
        return ListedElements(copies=description.allowedLateness > 0)
    if isinstance(aggregation, AggregateFunction):
        return Accumulators(aggregation)
    return Reductions(reduce_call(aggregation))


class AlignedContents(ABC):
    """How elements are added to the blocks of a window, and read from the blocks when the window
    fires.

    A block maps keys to contents; as in Flink, None means that a key has none.
    """

    @abstractmethod
    def add(self, blocks: Iterable[Block], keys: Iterable[Any], values: Iterable[Any]) -> None:
        """Add each value to the contents of its key in its block."""

    @abstractmethod
    def folded(self, contents: Any, values: Iterable[Any]) -> Any:
        """The contents of a key with ``values`` added; ``contents`` is None if it has none."""

    def addRuns(
        self,
        blocks: Iterable[Block],
        keys: Iterable[Any],
        counts: Iterable[int],
        values: Iterator[Any],
    ) -> None:
        """For each key, add its count of the next ``values`` to its contents in its block."""
        for block, key, count in zip(blocks, keys, counts):
            block[key] = self.folded(block.get(key), islice(values, count))

    @abstractmethod
    def elements(self, contents: Any) -> Sequence[Any] | None:
        """Return the window function's input from one key's ``contents``; None if there is
        nothing."""


class Accumulators(AlignedContents):
    """One accumulator a key."""

    def __init__(self, function: AggregateFunction[Any, Any, Any]) -> None:
        self._function = function
        self._create = function.createAccumulator
        self._add = function.add
        self._result = function.getResult

    def add(self, blocks: Iterable[Block], keys: Iterable[Any], values: Iterable[Any]) -> None:
        add, create = self._add, self._create
        for block, key, value in zip(blocks, keys, values):
            kept = block.get(key)
            kept = add(value, create() if kept is None else kept)
            if kept is None:
                check_no_accumulator(self._function, "add")
            block[key] = kept

    def folded(self, contents: Any, values: Iterable[Any]) -> Any:
        add, kept = self._add, self._create() if contents is None else contents
        for value in values:
            kept = add(value, kept)
            if kept is None:
                check_no_accumulator(self._function, "add")
        return kept

    def elements(self, contents: Any) -> Sequence[Any] | None:
        result = None if contents is None else self._result(contents)
        return None if result is None else (result,)


class Reductions(AlignedContents):
    """One reduced value a key."""

    def __init__(self, reduce: Callable[[Any, Any], Any]) -> None:
        self._reduce = reduce

    def add(self, blocks: Iterable[Block], keys: Iterable[Any], values: Iterable[Any]) -> None:
        reduce = self._reduce
        for block, key, value in zip(blocks, keys, values):
            so_far = block.get(key)
            kept = value if so_far is None else reduce(so_far, value)
            block[key] = kept
            if kept is None:
                check_no_reduction(so_far, value)

    def folded(self, contents: Any, values: Iterable[Any]) -> Any:
        reduce, kept = self._reduce, contents
        for value in values:
            if kept is None:
                kept = value
            else:
                so_far, kept = kept, reduce(kept, value)
                if kept is None:
                    check_no_reduction(so_far, value)
        return kept

    def elements(self, contents: Any) -> Sequence[Any] | None:
        return None if contents is None else (contents,)


class ListedElements(AlignedContents):
    """All elements of a key; ``copies``: the window function gets a copy, as the window may fire
    again."""

    def __init__(self, copies: bool) -> None:
        self._copies = copies

    def add(self, blocks: Iterable[Block], keys: Iterable[Any], values: Iterable[Any]) -> None:
        for block, key, value in zip(blocks, keys, values):
            kept = block.get(key)
            if kept is None:
                block[key] = [value]
            else:
                kept.append(value)

    def folded(self, contents: Any, values: Iterable[Any]) -> Any:
        if contents is None:
            return list(values)
        contents.extend(values)
        return contents

    def elements(self, contents: Any) -> Sequence[Any] | None:
        listed: Sequence[Any] = contents
        return list(listed) if self._copies and type(listed) is list else listed


class WindowsByKey:
    """The contents of aligned windows in state, key by key.

    Each window has separate blocks, read when it fires and removed when it expires.
    """

    def __init__(self, operator: KeyedOperator, description: WindowOperatorDescription) -> None:
        contents = aligned_contents(description)
        self.table = operator.backend.windowTable(TABLE)
        self.hashes = KeyHashes()
        self.elements = contents.elements
        self._contents = contents
        self._operator = operator
        self._evicts = description.evictor is not None
        """Whether elements are kept with their timestamps."""
        overlap = description.aggregation is not None and AlignedWindows.of(description).overlap
        self._shares = overlap or self._evicts
        """Whether functions may change an element that is in several windows, or that is kept."""

    def add(
        self,
        window: TimeWindow,
        records: Records,
        positions: Positions | None = None,
        copies: bool = False,
    ) -> None:
        """Add the records at ``positions``, or all, to a window that has not fired yet; with
        ``copies``, add a copy of each."""
        keys, values, hashes = records.keys, records.values, records.hashes
        assert keys is not None
        assert hashes is not None
        if positions is not None:
            keys, values, hashes = (
                taken(keys, positions),
                taken(values, positions),
                hashes[positions],
            )
        if copies:
            values = copied_values(values)
        blocks, index = self.table.blocks(window, keys, hashes)
        remaining = self._stamped(iter(values), records.timestamps, positions)
        with self._naming(values, remaining):
            self._contents.add(each_block(blocks, index), keys, remaining)

    def addRuns(
        self,
        window: TimeWindow,
        runs: KeyRuns,
        values: Sequence[Any],
        positions: Positions | None,
        copies: bool,
    ) -> None:
        """Add ``values``, the elements of ``runs``, ordered by key, to a window key by key."""
        keys, counts, hashes = runs.of(positions)
        members = values if positions is None else taken(values, positions)
        if copies:
            members = copied_values(members)
        blocks, index = self.table.blocks(window, keys, hashes)
        remaining = members.passing() if isinstance(members, RowColumns) else iter(members)
        remaining = self._stamped(remaining, runs.timestamps, positions)
        with self._naming(members, remaining):
            self._contents.addRuns(each_block(blocks, index), keys, counts.tolist(), remaining)

    def copies(self, values: Sequence[Any]) -> bool:
        """Whether each window needs its own copies of ``values``."""
        return self._shares and not all_immutable(values)

    def addOne(
        self, window: TimeWindow, key: Any, value: Any, timestamps: Timestamps, key_hash: Hashes
    ) -> Any:
        """Add one element. Returns the contents of the element's key."""
        blocks, index = self.table.blocks(window, (key,), key_hash)
        block = blocks[index[0]]
        values = iter((copied(value) if self._shares else value,))
        self._contents.add((block,), (key,), self._stamped(values, timestamps))
        return block[key]

    def replace(self, window: TimeWindow, contents: Mapping[Any, Sequence[Any] | None]) -> None:
        """Replace the elements of some keys of a window."""
        keys = list(contents)
        blocks, index = self.table.blocks(window, keys, self.hashes.column(keys))
        for block, (key, elements) in zip(each_block(blocks, index), contents.items()):
            block[key] = elements or None

    def adopt(self) -> None:
        """Move the panes here that ``EvictingWindowOperator`` has kept, as it did in earlier versions,
        without their timers."""
        backend = self._operator.backend
        panes, timers = backend.table(TABLE), backend.timerQueue(EVENT_TIMERS)
        found: dict[TimeWindow, dict[Any, Any]] = defaultdict(dict)
        for key, window, kept in list(panes.entries()):
            panes.remove(key, window)
            found[window][key] = list(kept)
        while (timer := timers.pollDue(MAX_TIMESTAMP)) is not None:
            # A pane without elements waits to be cleaned up
            found[timer.namespace].setdefault(timer.key, None)
        for window, contents in found.items():
            self.replace(window, contents)

    def _stamped(
        self, values: Iterator[Any], timestamps: Timestamps, positions: Positions | None = None
    ) -> Iterator[Any]:
        """The elements as an evictor needs them, if there is one."""
        if not self._evicts:
            return values
        times = timestamps if positions is None else timestamps[positions]
        return map(TimestampedValue, values, times.tolist())

    def _naming(
        self, values: Sequence[Any], remaining: Iterator[Any]
    ) -> AbstractContextManager[None]:
        """Names the element when a user function fails, counting the ``values`` that remain."""
        return self._operator.userCodeOf(
            lambda: values[len(values) - sum(1 for _ in remaining) - 1]
        )


def each_block(blocks: Sequence[Block], index: Iterable[int]) -> Iterator[Block]:
    """The block at each index."""
    return repeat(blocks[0]) if len(blocks) == 1 else map(blocks.__getitem__, index)
