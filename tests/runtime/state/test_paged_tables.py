"""The cost of batches of the paged tables, in calls of the store, and how their pages split."""

from __future__ import annotations

import random

import numpy as np

from flinkish.runtime.records.keys import KeyHashes
from flinkish.runtime.state import hashed_pages
from flinkish.runtime.state.hashed_pages import MOST_BYTES, MOST_ENTRIES, TARGET_ENTRIES
from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend
from tests.runtime.counting_page_store import CountingPageStore


class Job:
    """Batches of one operator in one key group."""

    def __init__(self) -> None:
        self.store = CountingPageStore()
        self.backend = PagedKeyedStateBackend("operator")
        self.directory = None
        self.load()

    def load(self) -> None:
        self.backend.load(self.store, self.directory)

    def batch(self) -> tuple[int, int, int]:
        """End the batch and begin another; the gets, puts and removes of the one that ended."""
        self.directory = self.backend.flush()
        self.load()
        return self.store.takeCalls()


def test_a_batch_reads_and_writes_a_page_once():
    job = Job()
    table = job.backend.table("state")
    for key in range(100):
        table.put(key, None, key)
        table.put(key, "window", -key)
    assert job.batch() == (0, 2, 0)

    for key in range(100):
        assert table.get(key, None) == key
        table.get(key + 1000, None)
    assert job.batch() == (1, 0, 0)

    for key in range(100):
        table.put(key, None, table.get(key, None) + 1)
    assert job.batch() == (1, 1, 0)

    table.remove("absent", None)
    assert job.batch() == (1, 0, 0)

    for key in range(100):
        table.remove(key, None)
    assert len(table) == 100
    assert job.batch() == (1, 0, 1)
    assert job.batch() == (0, 0, 0)
    assert job.backend.numPages() == 1


def test_counting_reads_nothing():
    job = Job()
    table, windows = job.backend.table("state"), job.backend.windowTable("windows")
    table.put(1, None, 1)
    windows.blocks("w", [1, 2], KeyHashes().column([1, 2]))[0][0].update({1: 1, 2: 2})
    job.batch()
    assert (len(table), len(windows), windows.size("w"), job.backend.numEntries()) == (1, 2, 2, 3)
    assert windows.windows() == ["w"]
    assert job.batch() == (0, 0, 0)


def test_pages_split_as_they_grow_and_go_when_empty():
    job = Job()
    table = job.backend.table("state")
    seen = 0
    for batch in range(20):
        for key in range(seen, seen + 1000):
            table.put(f"key-{key}", None, key)
        seen += 1000
        job.batch()
        assert len(table) == seen
        pages = job.backend.numPages()
        assert seen / MOST_ENTRIES <= pages <= max(1, 3 * seen / TARGET_ENTRIES), batch
    assert sorted(value for _, _, value in table.entries()) == list(range(seen))

    job.load()
    job.store.takeCalls()
    table.put("key-7", None, "changed")
    assert job.batch() == (1, 1, 0)

    for key in range(seen):
        table.remove(f"key-{key}", None)
    gets, puts, removes = job.batch()
    assert (puts, removes) == (0, gets)
    assert job.directory == {}


def test_a_page_with_many_bytes_splits():
    job = Job()
    table = job.backend.table("state")
    value = "x" * (MOST_BYTES // 10)
    for key in range(200):
        table.put(key, None, value + str(key))
    job.batch()
    assert job.backend.numPages() >= 20
    assert max(map(len, job.store.pages.values())) <= MOST_BYTES
    assert all(table.get(key, None) == value + str(key) for key in range(200))


def test_one_huge_value_does_not_split_for_ever():
    job = Job()
    table = job.backend.table("state")
    for key in range(50):
        table.put(key, None, bytes(2 * MOST_BYTES))
    job.batch()
    assert len(table) == 50
    # Slots grow with the pages, not with how close the hashes of two keys are.
    assert len(job.directory["sstate"][2][2]) <= 50 * 64  # type: ignore[index]
    assert all(len(table.get(key, None)) == 2 * MOST_BYTES for key in range(50))


def test_keys_of_one_hash_stay_together(monkeypatch):
    monkeypatch.setattr(hashed_pages, "MOST_ENTRIES", 10)
    monkeypatch.setattr(hashed_pages, "TARGET_ENTRIES", 5)
    job = Job()
    table = job.backend.table("state")
    for namespace in range(100):
        table.put("key", namespace, namespace)
    assert job.batch() == (0, 1, 0)
    assert [table.get("key", namespace) for namespace in range(100)] == list(range(100))


def test_random_batches_over_many_pages(monkeypatch):
    monkeypatch.setattr(hashed_pages, "MOST_ENTRIES", 12)
    monkeypatch.setattr(hashed_pages, "TARGET_ENTRIES", 8)
    job = Job()
    table = job.backend.table("state")
    expected: dict[int, int] = {}
    chance = random.Random(5)
    for batch in range(60):
        growing = batch % 20 < 12
        for _ in range(200):
            key = chance.randrange(3000)
            if chance.random() < (0.9 if growing else 0.1):
                table.put(key, None, batch)
                expected[key] = batch
            else:
                for near in range(key, key + 30):
                    table.remove(near, None)
                    expected.pop(near, None)
        job.batch()
        assert len(table) == len(expected)
        assert job.backend.numPages() == len(job.store.pages)
    assert {key: value for key, _, value in table.entries()} == expected


def test_a_window_is_read_once_and_dropped_whole():
    job = Job()
    table = job.backend.windowTable("windows")
    keys = [f"key-{i}" for i in range(20_000)]
    hashes = KeyHashes().column(keys)

    def count(window, chosen):
        pages, index = table.blocks(window, [keys[i] for i in chosen.tolist()], hashes[chosen])
        for i, page in zip(chosen.tolist(), index):
            pages[page][keys[i]] = pages[page].get(keys[i], 0) + 1

    every = np.arange(20_000)
    count("a", every)
    count("b", every[:10])
    gets, puts, removes = job.batch()
    assert (gets, puts, removes) == (0, 5, 0), "room for all keys was made at once"

    count("a", every)
    assert job.batch() == (4, 4, 0)
    count("a", every[:1])
    assert job.batch() == (1, 1, 0), "only the pages touched are read"

    assert sorted(table.items("a")) == sorted({**dict.fromkeys(keys, 2), keys[0]: 3}.items())
    table.remove("a")
    assert table.windows() == ["b"]
    assert job.batch() == (5, 0, 5), "four pages, and what changed in one"
    assert job.backend.numEntries() == 10

    count("c", every)
    table.remove("c")
    table.remove("never there")
    assert job.batch() == (0, 0, 0), "a window that comes and goes in a batch is never written"


def test_a_window_grows_over_batches():
    job = Job()
    table = job.backend.windowTable("windows")
    hashes = KeyHashes()
    for start in range(0, 30_000, 1_500):
        keys = list(range(start, start + 1_500))
        pages, index = table.blocks("w", keys, hashes.column(keys))
        for key, i in zip(keys, index):
            pages[i][key] = key
        job.batch()
    assert table.size("w") == 30_000
    assert 3 <= job.backend.numPages() <= 8
    assert sorted(table.items("w")) == [(key, key) for key in range(30_000)]


def test_a_window_used_again_after_it_was_removed_is_new():
    job = Job()
    table = job.backend.windowTable("windows")
    hashes = KeyHashes().column([1])
    table.blocks("w", [1], hashes)[0][0][1] = "old"
    job.batch()
    table.remove("w")
    assert table.blocks("w", [1], hashes)[0][0] == {}
    table.blocks("w", [1], hashes)[0][0][1] = "new"
    assert job.batch() == (0, 1, 1)
    assert list(table.items("w")) == [(1, "new")]
