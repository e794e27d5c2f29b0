"""Blocks are noted by key: found once a batch, no longer than they are, and with no other answers."""

from __future__ import annotations

import pickle
from operator import add
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from flinkish.api.errors import UnstableKeyError
from flinkish.runtime.records.keys import KeyHashes
from flinkish.runtime.state import hashed_pages
from flinkish.runtime.state.backend import KeyedStateBackend
from flinkish.runtime.state.hashed_pages import HashedPages
from flinkish.runtime.state.heap import HeapKeyedStateBackend
from flinkish.runtime.state.keyed_states import KeyedStates
from flinkish.runtime.state.page_store import DictPageStore
from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend
from flinkish.runtime.state.table_states import TableValueState
from flinkish.runtime.time.clock import ProcessingTimeService


class States:
    """A state of each kind, under any key and namespace."""

    def __init__(self, backend: KeyedStateBackend) -> None:
        self.owner = KeyedStates(backend, ProcessingTimeService())
        self.value = self.owner.getState(ValueStateDescriptor("value"))
        self.list = self.owner.getListState(ListStateDescriptor("list"))
        self.map = self.owner.getMapState(MapStateDescriptor("map"))
        self.sum = self.owner.getReducingState(ReducingStateDescriptor("sum", add))

    def run(self, key: Any, namespace: Any, operation: str, number: int) -> Any:
        """Change one of them, or ask all of them."""
        self.owner.backend.currentKey, self.owner.namespace = key, namespace
        states = (self.value, self.list, self.map, self.sum)
        if operation == "update":
            self.value.update(number)
        elif operation == "add":
            self.list.add(number)
            self.sum.add(number)
        elif operation == "put":
            self.map.put(number, number)
        elif operation == "remove":
            self.map.remove(number)
        elif operation == "clear":
            states[number % 4].clear()
        else:
            entries = list(self.map.entries())
            return self.value.value(), self.list.get(), entries, self.sum.get()
        return None


class Paged:
    """The states of one key group in pages."""

    def __init__(self) -> None:
        self.store = DictPageStore()
        self.backend = PagedKeyedStateBackend("operator")
        self.states = States(self.backend)
        self.directory: dict[str, Any] | None = None
        self.backend.load(self.store, None)

    def cut(self) -> None:
        """End the batch, and begin another."""
        self.directory = self.backend.flush()
        self.backend.load(self.store, self.directory)

    def fail(self) -> None:
        """Lose the attempt, and begin it again."""
        self.backend.endBatch()
        self.backend.load(self.store, self.directory)


class Heap:
    """The same in memory."""

    def __init__(self, contents: bytes = pickle.dumps({})) -> None:
        self._contents = contents
        self._backend = HeapKeyedStateBackend(pickle.loads(contents))
        self.states = States(self._backend)

    def cut(self) -> Heap:
        return Heap(pickle.dumps(self._backend.contents))

    def fail(self) -> Heap:
        return Heap(self._contents)


OPERATIONS = st.tuples(
    st.sampled_from([1, 2, "a", "b", ("c", 1), True, None]),
    st.sampled_from([None, None, "window"]),
    st.sampled_from(["update", "add", "put", "remove", "clear", "ask", "ask"]),
    st.integers(0, 7),
)


@pytest.mark.parametrize("noted", [0, 2, 1 << 16])
@given(st.lists(st.one_of(OPERATIONS, st.sampled_from(["cut", "fail"])), max_size=80))
def test_states_are_as_on_the_heap_when_attempts_fail_too(noted, steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashed_pages, "MOST_NOTED", noted)
        patch.setattr(hashed_pages, "TARGET_ENTRIES", 2)
        patch.setattr(hashed_pages, "MOST_ENTRIES", 3)
        paged, heap = Paged(), Heap()
        for step in steps:
            if step == "cut":
                paged.cut()
                heap = heap.cut()
            elif step == "fail":
                paged.fail()
                heap = heap.fail()
            else:
                assert paged.states.run(*step) == heap.states.run(*step)
        paged.cut()
        for key in (1, 2, "a", "b", ("c", 1), None):
            for namespace in (None, "window"):
                asked = key, namespace, "ask", 0
                assert paged.states.run(*asked) == heap.states.run(*asked)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The hashes of which the block was looked up."""
    found: list[int] = []
    read = HashedPages.read

    def noted(pages, keyHash):
        found.append(keyHash)
        return read(pages, keyHash)

    monkeypatch.setattr(HashedPages, "read", noted)
    return found


@pytest.mark.parametrize("namespace", [None, "window"])
def test_a_key_is_looked_up_once_a_batch_and_table(reads, namespace):
    paged = Paged()
    for _ in range(2):
        for operation in ("ask", "update", "add", "put", "ask", "remove", "clear", "ask"):
            for key in ("a", "b"):
                paged.states.run(key, namespace, operation, 0)
        assert len(reads) == 2 * 4
        paged.cut()
        reads.clear()


def test_no_more_blocks_are_noted_than_the_most(monkeypatch, reads):
    monkeypatch.setattr(hashed_pages, "MOST_NOTED", 10)
    paged = Paged()
    table = paged.backend.table("value")
    for key in range(1_000):
        table.put(key, None, key)
        assert len(table._void.blocks) <= 10
    assert len(reads) == 1_000
    assert table.get(999, None) == 999
    assert len(reads) == 1_000, "those asked for last are noted"
    assert [table.get(key, None) for key in range(1_000)] == list(range(1_000))
    paged.cut()
    assert not table._void.blocks


def test_a_key_without_a_stable_hash_is_not_noted():
    paged = Paged()
    for _ in range(2):
        with pytest.raises(UnstableKeyError):
            paged.states.run(object(), None, "ask", 0)
    assert not paged.backend.table("value")._void.blocks


@given(st.lists(st.lists(st.integers(0, 60), unique=True, min_size=1, max_size=30), max_size=5))
def test_blocks_found_at_once_are_those_found_one_by_one(batches):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashed_pages, "TARGET_ENTRIES", 4)
        patch.setattr(hashed_pages, "MOST_ENTRIES", 6)
        paged, expected = Paged(), {}
        state = paged.states.owner.getState(ValueStateDescriptor("value"))
        assert isinstance(state, TableValueState)
        for number, keys in enumerate(batches):
            hashes = KeyHashes().column(keys)
            assert state.storedUnder(keys, hashes) == [expected.get(key) for key in keys]
            blocks = paged.backend.table("value").void
            one_by_one = paged.backend.table("value")._void
            assert all(
                blocks[key] is one_by_one.read(int(found)) for key, found in zip(keys, hashes)
            )
            changes = {key: None if (key + number) % 3 == 0 else key + number for key in keys}
            state.store(changes.items())
            expected.update(changes)
            paged.cut()
        assert {k: v for k, _, v in paged.backend.table("value").entries()} == {
            key: value for key, value in expected.items() if value is not None
        }
