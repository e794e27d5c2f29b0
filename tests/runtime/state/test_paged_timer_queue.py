"""The cost of the log of timers in calls of the store, and that none fires twice or never."""

from __future__ import annotations

import random

from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend
from flinkish.runtime.state.paged_timer_queue import MOST_SMALL_PAGES, PAGE_TIMERS
from tests.runtime.counting_page_store import CountingPageStore


class Job:
    """Batches of an operator with timers, in one key group."""

    def __init__(self) -> None:
        self.store = CountingPageStore()
        self.backend = PagedKeyedStateBackend("operator")
        self.queue = self.backend.timerQueue("timers")
        self.directory = None
        self.backend.load(self.store, None)

    def batch(self) -> tuple[int, int, int]:
        """End the batch and begin another; the gets, puts and removes of the one that ended."""
        self.directory = self.backend.flush()
        self.backend.load(self.store, self.directory)
        assert self.backend.numPages() == len(self.store.pages)
        return self.store.takeCalls()

    def poll(self, until: int) -> list[tuple[int, object]]:
        """All that is due, as (timestamp, key)."""
        fired = []
        while (timer := self.queue.pollDue(until)) is not None:
            fired.append((timer.timestamp, timer.key))
        return fired


def test_registering_and_deleting_read_nothing():
    job = Job()
    for i in range(3 * PAGE_TIMERS):
        job.queue.add(1000 + i, i, None)
    assert job.batch() == (0, 3, 0)
    for i in range(0, 3 * PAGE_TIMERS, 2):
        job.queue.remove(1000 + i, i, None)
    job.queue.add(500, "early", None)
    assert len(job.queue) == 1.5 * PAGE_TIMERS + 1
    assert job.batch() == (0, 2, 0)
    assert len(job.queue) == 1.5 * PAGE_TIMERS + 1
    assert job.queue.nextTimestamp() == 500
    assert job.batch() == (0, 0, 0)


def test_a_batch_with_no_timer_due_reads_no_timer_page():
    job = Job()
    for i in range(100):
        job.queue.add(1000 + i, i, None)
    job.batch()
    for until in range(0, 1000, 10):
        assert job.poll(until) == []
    assert job.batch() == (0, 0, 0)


def test_only_pages_that_are_due_are_read():
    job = Job()
    for i in range(10 * PAGE_TIMERS):
        job.queue.add(i, i, None)
    job.batch()
    assert job.poll(9) == [(i, i) for i in range(10)]
    assert job.batch() == (1, 1, 0)
    assert job.poll(PAGE_TIMERS + 5) == [(i, i) for i in range(10, PAGE_TIMERS + 6)]
    assert job.batch() == (2, 1, 1)
    assert len(job.poll(10 * PAGE_TIMERS)) == 9 * PAGE_TIMERS - 6
    assert job.batch() == (9, 0, 9)
    assert job.directory == {}


def test_one_page_after_another_is_read_when_many_are_due():
    job = Job()
    for i in range(5 * PAGE_TIMERS):
        job.queue.add(i, i, None)
    job.batch()
    assert job.queue.pollDue(10**9) == (0, 0, None)
    assert job.store.takeCalls() == (1, 0, 0)


def test_a_timer_registered_again_in_a_later_batch_keeps_its_place():
    job = Job()
    for key in "abc":
        job.queue.add(10, key, None)
        job.batch()
    job.queue.add(10, "a", None)
    job.queue.remove(10, "b", None)
    job.batch()
    job.queue.add(10, "b", None)
    job.batch()
    assert job.poll(10) == [(10, "a"), (10, "c"), (10, "b")]
    assert len(job.queue) == 0


def test_len_is_put_right_when_pages_are_merged():
    job = Job()
    for _ in range(5):
        job.queue.add(10, "again", None)
        job.queue.add(30, "far", None)
        job.queue.remove(30, "never there", None)
        job.batch()
    job.queue.add(5, "due", None)
    job.batch()
    assert job.poll(5) == [(5, "due")]
    assert len(job.queue) == 6  # each batch that registered "again" counts it
    assert job.poll(9) == []
    job.queue.add(6, "late", None)  # pages that begin at 10 have not been read
    job.batch()
    assert job.poll(10) == [(6, "late"), (10, "again")]
    assert len(job.queue) == 1
    job.batch()
    assert len(job.queue) == 1
    assert job.poll(30) == [(30, "far")]


def test_callbacks_register_and_delete_in_the_sweep():
    job = Job()
    for key in "abcd":
        job.queue.add(10, key, None)
    job.queue.add(20, "e", None)
    job.batch()
    assert job.queue.pollDue(50) == (10, "a", None)
    job.queue.remove(10, "b", None)
    job.queue.add(5, "past", None)
    job.queue.add(30, "within", None)
    job.queue.add(60, "after", None)
    job.queue.add(10, "c", None)
    assert job.poll(50) == [(5, "past"), (10, "c"), (10, "d"), (20, "e"), (30, "within")]
    job.batch()
    assert job.poll(60) == [(60, "after")]


def test_small_pages_are_merged_when_they_pile_up():
    job = Job()
    batches = 10 * MOST_SMALL_PAGES
    reads = 0
    for batch in range(batches):
        for i in range(10):
            job.queue.add(10_000 + batch + i, batch, None)
        reads += job.batch()[0]
        assert job.backend.numPages() <= MOST_SMALL_PAGES + 10
    assert 0 < reads <= batches
    assert len(job.queue) == 10 * batches
    fired = job.poll(10**6)
    assert len(set(fired)) == 10 * batches
    assert fired == sorted(fired, key=lambda timer: timer[0])


def test_timers_deleted_and_merged_are_gone_for_good():
    job = Job()
    for batch in range(3 * MOST_SMALL_PAGES):
        job.queue.add(1000 + batch, "key", None)
        if batch:
            job.queue.remove(1000 + batch - 1, "key", None)
        job.batch()
    assert job.backend.numPages() <= MOST_SMALL_PAGES + 1
    assert len(job.queue) == 1
    assert job.poll(10**6) == [(1000 + batch, "key")]


def test_a_timer_that_comes_and_goes_in_a_batch_is_not_written():
    job = Job()
    job.queue.add(10, "key", None)
    job.batch()
    job.queue.add(20, "other", None)
    job.queue.remove(20, "other", None)
    assert len(job.queue) == 1
    assert job.batch() == (0, 0, 0)


def test_many_timers_half_of_them_deleted_fire_once_each_in_order():
    job = Job()
    chance = random.Random(3)
    number = 60_000
    timestamps = [chance.randrange(1_000_000) for _ in range(number)]
    for start in range(0, number, 5_000):
        for i in range(start, start + 5_000):
            job.queue.add(timestamps[i], i, "namespace")
        job.batch()
    for start in range(0, number, 5_000):
        for i in range(start, start + 5_000, 2):
            job.queue.remove(timestamps[i], i, "namespace")
        job.batch()
    assert len(job.queue) == number / 2
    fired = []
    for until in range(50_000, 1_000_001, 50_000):
        fired += job.poll(until)
        job.batch()
    assert [timestamp for timestamp, _ in fired] == sorted(timestamps[1::2])
    assert sorted(key for _, key in fired) == list(range(1, number, 2))
    assert job.directory == {}


def test_many_timers_at_one_time_are_polled_in_linear_time():
    job = Job()
    for i in range(50_000):
        job.queue.add(7, i, None)
    job.batch()
    assert job.poll(7) == [(7, i) for i in range(50_000)]
