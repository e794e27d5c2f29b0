"""Pages in blocks: what is touched is decoded and written, and what is not is not."""

from __future__ import annotations

import random

import pytest

from flinkish.api.errors import CorruptCheckpointError, UnstableKeyError
from flinkish.runtime.records.keys import KeyHashes
from flinkish.runtime.state import blocks, hashed_pages, paged_tables
from flinkish.runtime.state.hashed_pages import MOST_BYTES
from flinkish.runtime.state.page_codec import Envelope, PageCodec
from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend
from flinkish.runtime.state.paged_tables import PagedStateTable
from flinkish.spark.page_store import MapStatePageStore, PageCache
from tests.runtime.counting_page_store import CountingPageStore

ENTRIES = 5_000


class Job:
    """Batches of an operator, in one key group."""

    def __init__(self, store: CountingPageStore | MapStatePageStore | None = None) -> None:
        self.store = CountingPageStore() if store is None else store
        self.backend = PagedKeyedStateBackend("operator")
        self.table: PagedStateTable = self.backend.table("state")
        self.maps = self.backend.mapTable("maps")
        self.backend.load(self.store, None)

    def batch(self) -> None:
        """End the batch and begin another."""
        self.backend.load(self.store, self.backend.flush())

    def fill(self) -> None:
        """A batch that puts many entries."""
        for key in range(ENTRIES):
            self.table.put(key, None, key)
        self.batch()


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the number of entries of each decoded block."""
    found: list[int] = []
    decode = PageCodec.decodeBlock

    def noted(codec, content, block, named=False):
        decode(codec, content, block, named)
        found.append(len(block))

    monkeypatch.setattr(PageCodec, "decodeBlock", noted)
    return found


@pytest.fixture
def job() -> Job:
    """A page of many entries."""
    job = Job()
    job.fill()
    assert len(job.store.pages) == 1
    job.store.takeCalls()
    return job


def test_what_is_read_is_decoded(job, decoded):
    assert job.table.get(77, None) == 77
    assert job.table.get(-1, None, "absent") == "absent"
    assert len(decoded) <= 2
    assert sum(decoded) <= 4 * blocks.BLOCK_ENTRIES
    job.batch()
    assert job.store.takeCalls() == (1, 0, 0)


def test_few_changes_are_written_by_themselves(job, decoded):
    (whole,) = job.store.pages.values()
    job.table.put(77, None, "changed")
    job.table.remove(78, None)
    job.batch()
    assert sum(decoded) <= 4 * blocks.BLOCK_ENTRIES
    assert len(job.store.pages) == job.backend.numPages() == 2
    assert min(map(len, job.store.pages.values())) < 300
    assert whole in job.store.pages.values(), "the page is as it was"
    assert job.store.takeCalls() == (1, 1, 0)

    assert (job.table.get(77, None), job.table.get(78, None)) == ("changed", None)
    assert len(job.table) == ENTRIES - 1
    job.table.put(78, None, "again")
    job.batch()
    assert job.store.takeCalls() == (2, 1, 0)
    expected = {key: key for key in range(ENTRIES)} | {77: "changed", 78: "again"}
    assert {key: value for key, _, value in job.table.entries()} == expected


def test_many_changes_are_written_with_the_rest(job):
    chance = random.Random(3)
    expected = {key: key for key in range(ENTRIES)}
    written = []
    for batch in range(60):
        for key in chance.sample(range(ENTRIES), 20):
            job.table.put(key, None, -batch)
            expected[key] = -batch
        job.batch()
        written.append(len(job.store.pages))
    assert set(written) == {1, 2}
    assert 2 <= written.count(1) <= 10, "a tenth of the entries later all are written"
    assert {key: value for key, _, value in job.table.entries()} == expected

    for key in range(ENTRIES):
        job.table.remove(key, None)
    job.batch()
    assert job.store.pages == {}


@pytest.mark.parametrize("seed", range(5))
def test_a_state_that_drains_keeps_what_is_left(seed):
    job, chance = Job(), random.Random(seed)
    left = {key: key for key in range(20_000)}
    for key in left:
        job.table.put(key, None, key)
    job.batch()
    while left:
        for key in chance.sample(list(left), max(1, len(left) // 4)):
            job.table.remove(key, None)
            del left[key]
        job.batch()
        assert len(job.table) == len(left)
        assert {key: job.table.get(key, None) for key in left} == left
    assert job.store.pages == {}


def upper_half(number: int) -> set[int]:
    """The keys below ``number`` that are in the page of bucket 1, where there are two."""
    hashes = KeyHashes()
    return {key for key in range(number) if (hashes[key] ^ hashes[key] >> 16) & 1}


def test_entries_stay_when_the_page_beside_theirs_becomes_empty():
    job, upper = Job(), upper_half(14_000)
    for key in range(14_000):
        job.table.put(key, None, key)
        job.maps.put("key", None, key, key)
    job.batch()
    for key in upper:
        job.table.remove(key, None)
        job.maps.remove("key", None, key)
    job.batch()
    for key in range(14_000):
        expected = None if key in upper else key
        assert job.table.get(key, None) == expected
        assert job.maps.get("key", None, key) == expected


def test_pages_shrink_with_what_is_in_them():
    job, content = Job(), random.Random(1)
    for key in range(3_000):
        job.table.put(key, None, content.randbytes(1_000))
    job.batch()
    for key in range(3_000):
        if key % 100:
            job.table.remove(key, None)
    job.batch()
    assert job.store.bytes < 100_000
    for key in range(0, 3_000, 100):
        job.table.put(key, None, "small")
    job.batch()
    assert job.store.bytes < 20_000
    for key in range(0, 3_000, 100):
        job.table.remove(key, None)
    job.batch()
    assert job.store.pages == {}


def test_a_map_that_could_not_be_divided_is_promoted_once(monkeypatch):
    def refused(entries):
        raise UnstableKeyError(entries)

    job = Job()
    with monkeypatch.context() as patch:
        patch.setattr(paged_tables, "hashes_of_keys", refused)
        for mapKey in range(paged_tables.MOST_SMALL + 1):
            job.maps.put("big", None, mapKey, f"the value of {mapKey}")
        job.maps.put("small", None, 0, 0)
        job.batch()
    for batch in range(5):
        job.maps.put("small", None, 0, batch)
        job.batch()
    assert len(job.store.pages) == job.backend.numPages()
    job.maps.put("big", None, 0, "changed")
    job.batch()
    assert len(job.store.pages) == job.backend.numPages()
    assert [value for _, value in sorted(job.maps.items("big", None))][:2] == [
        "changed",
        "the value of 1",
    ]


def test_an_entry_that_is_put_twice_is_one_change(job):
    for _ in range(200):
        job.table.put(77, None, "again")
        job.batch()
    assert min(map(len, job.store.pages.values())) < 300


def test_a_single_block_is_not_divided():
    job = Job()
    for key in range(blocks.BLOCK_ENTRIES):
        job.table.put(key, None, key)
    job.batch()
    (content,) = job.store.pages.values()
    assert len(Envelope.of(content).blocks) == 1


@pytest.mark.parametrize("damage", [lambda c: c[:-3], lambda c: c + b"more", lambda c: c[:120]])
def test_a_page_that_is_damaged_is_told(job, damage):
    ((name, content),) = job.store.pages.items()
    job.store.pages[name] = damage(content)
    with pytest.raises(
        CorruptCheckpointError, match=r"operator: state 'state': a page of .* is not"
    ):
        job.table.get(77, None)


# ---------------------------------------------------------------------- with a cache for each worker


class MapState:
    """A Spark ``MapState``, with a count of the reads."""

    def __init__(self) -> None:
        self.pages: dict[bytes, bytes] = {}
        self.reads = 0

    def getValue(self, page):
        self.reads += 1
        content = self.pages.get(page[0])
        return None if content is None else (content,)

    def updateValue(self, page, content):
        self.pages[page[0]] = content[0]

    def removeKey(self, page):
        del self.pages[page[0]]


def test_a_page_that_was_read_is_not_read_again():
    state, cache = MapState(), PageCache(1 << 20)
    job = Job(MapStatePageStore(state, 3, cache))
    job.fill()
    assert job.table.get(77, None) == 77
    assert state.reads == 0, "it was written here"

    other = Job(MapStatePageStore(state, 4, cache))
    other.backend.load(other.store, job.backend.flush())
    assert other.table.get(77, None) == 77
    assert state.reads == 1, "the same page of another key group is another"


def test_a_page_of_another_version_is_told():
    """A state store that is not of the directory."""
    state, cache = MapState(), PageCache(1 << 20)
    job = Job(MapStatePageStore(state, 3, cache))
    job.fill()
    before = dict(state.pages)
    for key in range(ENTRIES):
        job.table.put(key, None, -key)
    directory = job.backend.flush()
    state.pages = before
    other = Job(MapStatePageStore(state, 3, PageCache(1 << 20)))
    other.backend.load(other.store, directory)
    with pytest.raises(
        CorruptCheckpointError, match="is not the one that the page directory tells"
    ):
        other.table.get(77, None)


def test_the_cache_is_bounded():
    cache = PageCache(100)
    for number in range(20):
        cache.put(0, b"%d" % number, b"digest", bytes(30))
        cache.get(0, b"0", b"digest")
    kept = [n for n in range(20) if cache.get(0, b"%d" % n, b"digest") is not None]
    assert kept == [0, 18, 19], "those that were used last"
    cache.put(0, b"large", b"digest", bytes(101))
    assert cache.get(0, b"large", b"digest") is None
    assert cache.get(0, b"19", b"digest") is not None
    assert cache.get(0, b"19", b"another") is None


@pytest.mark.parametrize(
    ("entries", "least", "share"), [(8_000, 1 << 13, 16), (40, 1, 1), (400, 1, 4)]
)
def test_random_batches_of_workers_that_take_turns(monkeypatch, entries, least, share):
    """Two workers with a cache each, and attempts that fail after they wrote their pages. Pages
    have about so many entries; changes are written separately if the blocks have at least so many
    bytes, and while they are at most such a share of them."""
    monkeypatch.setattr(hashed_pages, "TARGET_ENTRIES", entries)
    monkeypatch.setattr(hashed_pages, "MOST_ENTRIES", entries * 3 // 2)
    monkeypatch.setattr(hashed_pages, "CACHED_FROM", 1)
    monkeypatch.setattr(blocks, "CHANGES_FROM", least)
    monkeypatch.setattr(blocks, "CHANGES_SHARE", share)
    chance = random.Random(entries)
    state = MapState()
    workers = [Job(MapStatePageStore(state, 0, PageCache(size))) for size in (1 << 20, 3_000)]
    directory: dict | None = None
    expected: dict[tuple[int, int | None], object] = {}
    for batch in range(120):
        job = chance.choice(workers)
        job.backend.load(job.store, directory)
        before, pages = dict(expected), dict(state.pages)
        growing, draining = batch % 40 < 20, batch % 40 > 30
        for _ in range(chance.choice([3, 300])):
            key, namespace = chance.randrange(2_000), chance.choice([None, None, None, 1, 2])
            if chance.random() < (0.9 if growing else 0.0 if draining else 0.3):
                value = "x" * chance.choice([1, 1, 1, 200])
                job.table.put(key, namespace, (batch, value))
                expected[key, namespace] = (batch, value)
            else:
                for near in range(key, key + 20):
                    job.table.remove(near, namespace)
                    expected.pop((near, namespace), None)
            assert job.table.get(key, namespace) == expected.get((key, namespace))
        written = job.backend.flush()
        if chance.random() < 0.2:
            state.pages, expected = pages, before  # the attempt failed
            continue
        directory = written
        assert job.backend.numPages() == len(state.pages)
        job.backend.load(job.store, directory)
        assert len(job.table) == len(expected)
        if batch % 10 == 9:
            assert {(k, n): value for k, n, value in job.table.entries()} == expected
    assert max(map(len, state.pages.values())) <= MOST_BYTES
