"""The states a user reads and writes, and who may."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from flinkish import (
    AggregatingStateDescriptor,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapEntry,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from flinkish.api.errors import IllegalArgumentError, IllegalStateError, InvalidProgramError
from flinkish.runtime.state.heap import HeapKeyedStateBackend
from flinkish.runtime.state.keyed_states import NO_KEY, KeyedStates
from flinkish.runtime.time.clock import ProcessingTimeService
from flinkish.testing import StreamTestHarness
from tests.runtime.state.test_ttl import Total


@pytest.fixture
def states() -> KeyedStates:
    backend = HeapKeyedStateBackend()
    backend.currentKey = "k"
    return KeyedStates(backend, ProcessingTimeService())


def test_every_key_and_namespace_has_states_of_its_own(states):
    state = states.getState(ValueStateDescriptor("s"))
    state.update(1)
    states.backend.currentKey = "other"
    assert state.value() is None
    states.backend.currentKey, states.namespace = "k", "window"
    assert state.value() is None
    state.update(2)
    states.namespace = None
    assert state.value() == 1


def test_none_removes_a_value(states):
    state = states.getState(ValueStateDescriptor("s"))
    state.update(1)
    state.update(None)
    assert state.value() is None
    assert states.backend.numEntries() == 0


def test_a_default_is_not_shared(states):
    state = states.getState(ValueStateDescriptor("s", default=[]))
    state.value().append(1)
    assert state.value() == []


def test_a_list_does_not_hold_none(states):
    state = states.getListState(ListStateDescriptor("s"))
    for add in (lambda: state.add(None), lambda: state.addAll([1, None])):
        with pytest.raises(IllegalArgumentError, match="cannot hold None"):
            add()
    with pytest.raises(IllegalArgumentError, match="cannot hold None"):
        state.update([None])
    assert state.get() == []


def test_what_a_list_gives_is_a_copy(states):
    state = states.getListState(ListStateDescriptor("s"))
    given = [1, 2]
    state.update(given)
    given.append(3)
    state.get().append(4)
    assert state.get() == [1, 2]
    state.update([])
    assert states.backend.numEntries() == 0


@pytest.mark.parametrize(
    "descriptor",
    [ReducingStateDescriptor("s", lambda a, b: a + b), AggregatingStateDescriptor("s", Total())],
)
def test_adding_none_clears_as_on_flinks_heap(states, descriptor):
    state = states.of(descriptor)
    assert state.get() is None
    state.add(1)
    state.add(2)
    assert state.get() == 3
    state.add(None)
    assert state.get() is None


def test_a_map_may_be_changed_while_it_is_read(states):
    state = states.getMapState(MapStateDescriptor("s"))
    state.putAll({n: n for n in range(5)})
    for key, _ in state.entries():
        state.remove(key)
    assert state.isEmpty()
    assert list(state.entries()) == []


def test_entries_begin_anew_each_time(states):
    state = states.getMapState(MapStateDescriptor("s"))
    state.put("a", None)
    entries = state.entries()
    assert list(entries) == list(entries) == [("a", None)]
    assert state.contains("a")


def test_one_name_is_one_state(states):
    states.getState(ValueStateDescriptor("s"))
    assert states.getState(ValueStateDescriptor("s")) is states.getState(ValueStateDescriptor("s"))
    with pytest.raises(InvalidProgramError, match="ListStateDescriptor, but was used with a Value"):
        states.getListState(ListStateDescriptor("s"))


def test_what_is_no_descriptor_is_refused(states):
    with pytest.raises(InvalidProgramError, match="no descriptor of keyed state"):
        states.getState("s")


def test_without_a_key_there_is_no_state(states):
    states.backend.currentKey = NO_KEY
    with pytest.raises(IllegalStateError, match="applyToKeyedState"):
        states.getState(ValueStateDescriptor("s")).value()


def test_keys_of_a_state(states):
    value, mapped = ValueStateDescriptor("v"), MapStateDescriptor("m")
    for key in ("a", "b", "c"):
        states.backend.currentKey = key
        states.of(value).update(1)
        states.of(mapped).put(1, 1)
    states.of(value).clear()
    states.of(mapped).clear()
    assert states.keysOf(value) == states.keysOf(mapped) == ["a", "b"]


class Entries(KeyedProcessFunction):
    """Emits the entries of a map, as Java and as Python reads them."""

    def open(self, openContext):
        self.state = self.getRuntimeContext().getMapState(MapStateDescriptor("m"))

    def processElement(self, value, ctx, out):
        self.state.put(value, value * 2)
        for entry in self.state.entries():
            out.collect((entry.getKey(), entry.getValue()))
        for key, doubled in self.state.entries():
            out.collect((key, doubled))
        out.collect(next(self.state.iterator()))


def test_an_entry_of_a_map_is_a_pair_with_javas_methods():
    harness = StreamTestHarness(lambda s: s.keyBy(lambda v: 0).process(Entries()))
    harness.processElement(3)
    assert [r.value for r in harness.getOutput()] == [(3, 6)] * 3
    (entry, copied) = harness.getOutput()[2].value, pickle.loads(pickle.dumps(MapEntry((3, 6))))
    assert type(copied) is tuple
    assert copied == entry == MapEntry((3, 6))


class Caseless(str):
    """Equal to texts that have another hash."""

    def __eq__(self, other):
        return self.lower() == other.lower()

    def __hash__(self):
        return hash(self.lower())


class Code:
    """Equal to other codes only, which have the same hash."""

    def __init__(self, text):
        self.text = text

    def __eq__(self, other):
        return isinstance(other, Code) and self.text == other.text

    def __hash__(self):
        return hash(self.text)


@pytest.mark.parametrize("key", [Caseless("a"), (1, Caseless("a")), np.float32(0.1)])
def test_a_map_key_that_may_equal_keys_of_another_hash_is_refused(states, key):
    state = states.getMapState(MapStateDescriptor("seen"))
    for call in (state.get, state.contains, state.remove, lambda key: state.put(key, 1)):
        with pytest.raises(IllegalArgumentError, match=r"'seen' cannot have the key.* of type"):
            call(key)


def test_a_map_key_of_a_class_with_its_own_equality_is_found(states):
    state = states.getMapState(MapStateDescriptor("seen"))
    state.put(Code("a"), 1)
    assert state.get(Code("a")) == 1
