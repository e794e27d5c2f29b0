"""Big maps: read and written page by page, never as a whole."""

from __future__ import annotations

import datetime

import pandas as pd
import pytest

from flinkish.runtime.state.hashed_pages import MOST_BYTES
from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend
from tests.runtime.counting_page_store import CountingPageStore

BIG = 50_000


class Job:
    """Batches of an operator with one map state, in one key group."""

    def __init__(self) -> None:
        self.store = CountingPageStore()
        self.backend = PagedKeyedStateBackend("operator")
        self.table = self.backend.mapTable("map")
        self.backend.load(self.store, None)

    def batch(self) -> tuple[int, int, int]:
        """End the batch and begin another; the gets, puts and removes of the one that ended."""
        self.backend.load(self.store, self.backend.flush())
        assert self.backend.numPages() == len(self.store.pages)
        return self.store.takeCalls()


@pytest.fixture
def job() -> Job:
    """A key with a big map and one with a small map."""
    job = Job()
    for i in range(BIG):
        job.table.put("big", None, i, str(i))
    for i in (3, 1, 2):
        job.table.put("small", None, i, str(i))
    gets, puts, _ = job.batch()
    assert gets == 0
    assert puts >= BIG / 3_000
    return job


def test_one_entry_of_a_big_map_costs_two_pages(job):
    assert job.table.get("big", None, 7) == "7"
    assert job.table.get("big", None, -1, "absent") == "absent"
    gets, puts, removes = job.batch()
    assert gets <= 3
    assert (puts, removes) == (0, 0)

    job.table.put("big", None, 7, "changed")
    assert job.batch() == (2, 2, 0), "what changed has a separate page from now on"

    job.table.put("big", None, 7, "again")
    job.table.remove("big", None, -1)
    gets, puts, removes = job.batch()
    assert gets <= 5
    assert (puts, removes) == (1, 0), "the number of entries is as it was, and so is the rest"

    job.table.remove("big", None, 7)
    assert job.batch() == (3, 2, 0)
    assert not job.table.isEmpty("big", None)
    assert len(job.table) == 2
    assert set(job.table.maps()) == {("big", None), ("small", None)}
    assert job.batch() == (1, 0, 0)


def test_small_maps_beside_it_keep_their_order(job):
    assert list(job.table.items("small", None)) == [(3, "3"), (1, "1"), (2, "2")]
    job.table.put("small", None, 3, "again")
    assert job.batch() == (1, 1, 0)
    assert list(job.table.items("small", None)) == [(3, "again"), (1, "1"), (2, "2")]


def test_a_big_map_may_be_changed_while_it_is_read(job):
    seen = set()
    for i, value in job.table.items("big", None):
        assert value == str(i)
        seen.add(i)
        job.table.remove("big", None, i)
    assert seen == set(range(BIG))
    assert job.table.isEmpty("big", None)
    gets, _, removes = job.batch()
    assert gets == removes + 1
    assert job.backend.numEntries() == 1
    assert len(job.store.pages) == 1


def test_a_big_map_may_be_cleared_while_it_is_read(job):
    items = job.table.items("big", None)
    next(items)
    job.table.clear("big", None)
    job.table.put("big", None, "new", 1)
    assert len(list(items)) == BIG - 1
    assert list(job.table.items("big", None)) == [("new", 1)]
    job.batch()
    assert list(job.table.items("big", None)) == [("new", 1)]
    assert len(job.store.pages) == 1


def test_clearing_a_big_map_reads_none_of_it(job):
    pages = job.backend.numPages()
    job.table.clear("big", None)
    assert job.table.isEmpty("big", None)
    assert job.batch() == (1, 1, pages - 1)


def test_an_equal_key_of_another_type_finds_the_entry_of_a_big_map(job):
    """Also one that has no stable hash, whatever was looked up before."""
    days = [datetime.datetime(2024, 1, 1) + datetime.timedelta(n) for n in range(3_000)]
    for number, day in enumerate(days):
        job.table.put("days", None, pd.Timestamp(day), number)
    job.batch()
    other = Job()
    other.store = job.store
    other.backend.load(job.store, job.backend.flush())
    assert [other.table.get("days", None, day) for day in days] == list(range(3_000))
    assert other.table.get("days", None, Near(2024, 1, 2)) == 1
    other.table.remove("days", None, Near(2024, 1, 2))
    other.batch()
    assert other.table.get("days", None, days[1]) is None
    assert other.table.get("days", None, days[2]) == 2


class Near(datetime.datetime):
    """A type that cannot promise the hash of what it is equal to."""

    def __eq__(self, other):
        return super().__eq__(other)

    __hash__ = datetime.datetime.__hash__


class Unstable:
    """A key without a stable hash."""


UNSTABLE = Unstable()


def test_a_map_key_without_a_stable_hash_keeps_the_map_small(job):
    assert job.table.get("big", None, UNSTABLE) is None
    job.table.remove("big", None, UNSTABLE)
    job.table.put("big", None, UNSTABLE, "value")
    assert job.table.get("big", None, UNSTABLE) == "value"
    assert job.table.get("big", None, 7) == "7"
    job.batch()
    assert len(job.store.pages) == 1
    assert len(list(job.table.items("big", None))) == BIG + 1


def test_a_map_is_big_by_its_bytes_too():
    job = Job()
    for i in range(20):
        job.table.put("heavy", "window", i, str(i) * (MOST_BYTES // 10))
    for key in range(20):
        job.table.put(key, "window", 1, "light")
    job.batch()
    assert job.table.get("heavy", "window", 3) == "3" * (MOST_BYTES // 10)
    gets, _, _ = job.batch()
    assert gets == 2
    assert job.backend.numPages() > 5
    assert len(job.table) == 21


def test_a_single_huge_entry_stays_where_it_is():
    job = Job()
    job.table.put("key", None, 1, bytes(2 * MOST_BYTES))
    assert job.batch() == (0, 1, 0)
    assert len(job.table.get("key", None, 1)) == 2 * MOST_BYTES


def test_many_small_maps_split_over_pages():
    job = Job()
    for key in range(30_000):
        job.table.put(key, None, "a", key)
    job.batch()
    assert 4 <= job.backend.numPages() <= 16
    job.table.put(77, None, "b", 1)
    assert job.batch() == (1, 1, 0)
    assert len(job.table) == 30_000
    assert sorted(key for key, _ in job.table.maps()) == list(range(30_000))
