"""Evictors: what they take out of a window, and that it stays out."""

from __future__ import annotations

import pytest

from flinkish import (
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    EvictableElements,
    Evictor,
    GlobalWindow,
    GlobalWindows,
    TimeEvictor,
    TimestampedValue,
)
from flinkish.api.errors import IllegalStateError
from flinkish.testing import StreamTestHarness


def elements(*pairs):
    return EvictableElements([TimestampedValue(*pair) for pair in pairs])


def left(evictor, contents, after=False):
    evict = evictor.evictAfter if after else evictor.evictBefore
    evict(contents, len(contents), GlobalWindow.get(), None)
    return [element.getValue() for element in contents]


def test_count_keeps_the_newest_arrivals():
    assert left(CountEvictor.of(2), elements("a", "b", "c")) == ["b", "c"]
    assert left(CountEvictor.of(5), elements("a", "b", "c")) == ["a", "b", "c"]


def test_time_keeps_what_is_close_to_the_newest_timestamp():
    assert left(TimeEvictor.of(5), elements(("a", 5), ("b", 10), ("c", 6))) == ["b", "c"]
    assert left(TimeEvictor.of(5), elements(("a",), ("b",))) == ["a", "b"]


def test_delta_keeps_what_is_close_to_the_last_arrival():
    evictor = DeltaEvictor.of(3, lambda old, new: abs(old - new))
    assert left(evictor, elements((1, 0), (5, 0), (9, 0), (7, 0))) == [5, 9, 7]


def test_each_evicts_on_one_side_of_the_function_only():
    evictor = CountEvictor.of(1, True)
    assert left(evictor, elements("a", "b")) == ["a", "b"]
    assert left(evictor, elements("a", "b"), after=True) == ["b"]


def test_what_an_evictor_of_ones_own_removes_stays_out():
    class NoSpikes(Evictor):
        def evictBefore(self, elements, size, window, evictorContext):
            iterator = elements.iterator()
            while iterator.hasNext():
                if iterator.next().getValue() > 100:
                    iterator.remove()

        def evictAfter(self, elements, size, window, evictorContext):
            assert evictorContext.getCurrentWatermark() < 0
            elements.removeFirst(size - 1)

    harness = StreamTestHarness(
        lambda s: (
            s.keyBy(lambda n: 0)
            .window(GlobalWindows.create())
            .trigger(CountTrigger.of(2))
            .evictor(NoSpikes())
            .apply(lambda key, window, numbers: [list(numbers)])
        )
    )
    for number in (1, 500, 2, 3):
        harness.processElement(number, number)
    assert [record.value for record in harness.getOutput()] == [[1], [1, 2, 3]]
    assert harness.numKeyedStateEntries() == 1


def test_remove_wants_an_element_first():
    iterator = elements("a").iterator()
    with pytest.raises(IllegalStateError, match="next"):
        iterator.remove()
    next(iterator)
    iterator.remove()
    with pytest.raises(IllegalStateError):
        iterator.remove()


def test_an_element_without_a_timestamp_says_so():
    value = TimestampedValue("a")
    assert not value.hasTimestamp()
    with pytest.raises(IllegalStateError, match="hasTimestamp"):
        value.getTimestamp()
