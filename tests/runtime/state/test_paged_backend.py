"""The paged backend against the heap backend: the same answers, however a job is cut in batches."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.api.errors import (
    CorruptCheckpointError,
    IllegalStateError,
    IncompatibleCheckpointError,
)
from flinkish.runtime.records.keys import KeyHashes
from flinkish.runtime.records.stable_hashes import stable_hash
from flinkish.runtime.state import (
    blocks,
    hashed_pages,
    paged_column_tables,
    paged_tables,
    paged_timer_queue,
)
from flinkish.runtime.state.backend import HASH, Timer
from flinkish.runtime.state.heap import HeapKeyedStateBackend
from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend
from tests.runtime.counting_page_store import CountingPageStore

GROUPS = 3


@pytest.fixture(autouse=True, scope="module", params=[(3, 4, 1 << 16), (8, 12, 2)])
def small_pages(request):
    """Limits so low that a few entries split pages and blocks, and make maps big; most changes are written by
    themselves. Blocks of keys stay noted, or are forgotten every now and then."""
    target, most, noted = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashed_pages, "TARGET_ENTRIES", target)
        patch.setattr(hashed_pages, "MOST_ENTRIES", most)
        patch.setattr(hashed_pages, "BLOCK_ENTRIES", 2)
        patch.setattr(hashed_pages, "MOST_NOTED", noted)
        patch.setattr(hashed_pages, "CACHED_FROM", 1)
        patch.setattr(blocks, "BLOCK_ENTRIES", 2)
        patch.setattr(blocks, "CHANGES_FROM", 1)
        patch.setattr(blocks, "CHANGES_SHARE", 0.5)
        patch.setattr(hashed_pages, "TARGET_BYTES", 300)
        patch.setattr(hashed_pages, "MOST_BYTES", 400)
        patch.setattr(paged_tables, "TARGET_ENTRIES", 3)
        patch.setattr(paged_column_tables, "ROWS_A_PAGE", 3)
        patch.setattr(paged_tables, "MOST_SMALL", 5)
        patch.setattr(paged_tables, "TARGET_BYTES", 300)
        patch.setattr(paged_timer_queue, "PAGE_TIMERS", 4)
        patch.setattr(paged_timer_queue, "SMALL_PAGE", 3)
        patch.setattr(paged_timer_queue, "MOST_SMALL_PAGES", 3)
        yield


class Both:
    """A paged backend going from key group to key group, and a heap backend for each of them."""

    def __init__(self) -> None:
        self.paged = PagedKeyedStateBackend("operator")
        self.heaps = [HeapKeyedStateBackend() for _ in range(GROUPS)]
        self.stores = [CountingPageStore() for _ in range(GROUPS)]
        self.directories: list[bytes] = [pickle.dumps(None)] * GROUPS
        self.group = 0
        self.tables = [self.paged.table("one"), self.paged.table("two")]
        self.maps = self.paged.mapTable("map")
        self.windows = self.paged.windowTable("windows")
        self.columns = self.paged.columnTable("columns")
        self.rows = self.paged.keyedColumnTable("rows")
        self.timers = self.paged.timerQueue("timers")
        self._load()

    @property
    def heap(self) -> HeapKeyedStateBackend:
        return self.heaps[self.group]

    def cut(self, group: int) -> None:
        """End the batch, and begin one in ``group``."""
        directory = self.paged.flush()
        self.directories[self.group] = pickle.dumps(directory)
        assert self.paged.numPages() == len(self.stores[self.group].pages)
        self.group = group
        self._load()

    def _load(self) -> None:
        directory = pickle.loads(self.directories[self.group])
        store = self.stores[self.group]
        store.takeCalls()
        self.paged.load(store, directory)
        assert self.paged.flush() is directory or directory is None
        assert store.takeCalls() == (0, 0, 0)


KEYS = st.one_of(st.integers(0, 40), st.sampled_from(["a", "b", ("c", 1), None]))
NAMESPACES = st.sampled_from([None, None, 1, "window"])
VALUES = st.one_of(st.integers(), st.text(max_size=60))
CUTS = st.tuples(st.just("cut"), st.integers(0, GROUPS - 1))


@given(
    st.lists(
        st.one_of(
            CUTS,
            st.tuples(st.just("put"), st.sampled_from([0, 1]), KEYS, NAMESPACES, VALUES),
            st.tuples(st.just("put"), st.just(0), KEYS, st.none(), VALUES),
            st.tuples(st.just("get"), st.sampled_from([0, 1]), KEYS, NAMESPACES),
            st.tuples(st.just("remove"), st.sampled_from([0, 1]), KEYS, NAMESPACES),
        ),
        max_size=120,
    )
)
def test_a_state_table_is_as_on_the_heap(operations):
    both = Both()
    for operation, *arguments in operations:
        if operation == "cut":
            both.cut(*arguments)
            continue
        which, *rest = arguments
        heap, paged = both.heap.table(["one", "two"][which]), both.tables[which]
        assert getattr(heap, operation)(*rest) == getattr(paged, operation)(*rest)
        assert len(heap) == len(paged)
        assert both.heap.numEntries() == both.paged.numEntries()
    for group in (0, 1, 2):
        both.cut(group)
        for name, paged in zip(["one", "two"], both.tables):
            expected = sorted(both.heap.table(name).entries(), key=repr)
            assert sorted(paged.entries(), key=repr) == expected


class Unstable:
    """A map key that pickles and compares but has no stable hash."""

    def __init__(self, name: int) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unstable) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"Unstable({self.name})"


MAP_KEYS = st.one_of(st.integers(0, 30), st.integers(0, 30), st.builds(Unstable, st.integers(0, 1)))
FEW_KEYS = st.sampled_from(["k", "l", 3])


@given(
    st.lists(
        st.one_of(
            CUTS,
            st.tuples(st.just("fill"), FEW_KEYS, NAMESPACES, st.integers(1, 25)),
            st.tuples(st.just("put"), FEW_KEYS, NAMESPACES, MAP_KEYS, VALUES),
            st.tuples(st.just("get"), FEW_KEYS, NAMESPACES, MAP_KEYS),
            st.tuples(st.just("remove"), FEW_KEYS, NAMESPACES, MAP_KEYS),
            st.tuples(st.just("empty"), FEW_KEYS, NAMESPACES),
            st.tuples(st.just("clear"), FEW_KEYS, NAMESPACES),
            st.tuples(st.just("isEmpty"), FEW_KEYS, NAMESPACES),
        ),
        max_size=60,
    )
)
def test_a_map_table_is_as_on_the_heap(operations):
    both = Both()
    for operation, *arguments in operations:
        if operation == "cut":
            both.cut(*arguments)
            continue
        answers = []
        for table in (both.heap.mapTable("map"), both.maps):
            if operation == "fill":
                key, namespace, number = arguments
                for i in range(number):
                    table.put(key, namespace, i, i)
                answers.append(None)
            elif operation == "empty":
                for map_key, _ in table.items(*arguments):
                    table.remove(*arguments, map_key)  # type: ignore[call-arg]
                answers.append(table.isEmpty(*arguments))
            else:
                answers.append(getattr(table, operation)(*arguments))
        assert answers[0] == answers[1]
        assert len(both.heap.mapTable("map")) == len(both.maps)
    for group in (0, 1, 2):
        both.cut(group)
        heap = both.heap.mapTable("map")
        assert set(both.maps.maps()) == set(heap.maps())
        for name in heap.maps():
            assert sorted(both.maps.items(*name), key=repr) == sorted(heap.items(*name), key=repr)


WINDOWS = st.sampled_from([(0, 10), (10, 20), (5, 15)])
HASHES = KeyHashes()


@given(
    st.lists(
        st.one_of(
            CUTS,
            st.tuples(st.just("add"), WINDOWS, st.lists(KEYS, max_size=30)),
            st.tuples(st.just("drop"), WINDOWS, st.lists(KEYS, max_size=30)),
            st.tuples(st.just("remove"), WINDOWS),
        ),
        max_size=40,
    )
)
def test_a_window_table_is_as_on_the_heap(operations):
    both = Both()
    for operation, *arguments in operations:
        if operation == "cut":
            both.cut(*arguments)
            continue
        for table in (both.heap.windowTable("windows"), both.windows):
            if operation == "remove":
                table.remove(*arguments)
                continue
            window, keys = arguments
            pages, index = table.blocks(window, keys, HASHES.column(keys))
            assert all(type(i) is int for i in index)
            for key, i in zip(keys, index):
                if operation == "add":
                    pages[i][key] = pages[i].get(key, 0) + 1
                else:
                    pages[i].pop(key, None)
        assert_same_windows(both)
    for group in (0, 1, 2):
        both.cut(group)
        assert_same_windows(both)
        for window in both.windows.windows():
            expected = dict(both.heap.windowTable("windows").items(window))
            items = list(both.windows.items(window))
            assert dict(items) == expected
            assert len(items) == len(expected)


def assert_same_windows(both: Both) -> None:
    heap = both.heap.windowTable("windows")
    assert set(both.windows.windows()) == set(heap.windows())
    assert len(both.windows) == len(heap)
    assert all(both.windows.size(window) == heap.size(window) for window in heap.windows())


def concatenated(most: int):
    """Joins runs of up to ``most`` rows."""

    def merge(runs, whole):
        return [pa.concat_batches(runs)] if sum(run.num_rows for run in runs) <= most else None

    return merge


def summed(runs, whole):
    """The sum by key; while there is no first run, the rows as they are."""
    rows = [row for run in runs for row in run.to_pylist()]
    if whole:
        totals: dict[int, int] = {}
        for row in rows:
            totals[row["key"]] = totals.get(row["key"], 0) + row["number"]
        rows = [{"key": key, "number": number} for key, number in totals.items()]
    return [pa.RecordBatch.from_pylist(rows)]


def by_size_of_key(runs, whole):
    """One run of the keys up to 2, and one of the others."""
    rows = [row for run in runs for row in run.to_pylist()]
    parts = [row for row in rows if row["key"] < 3], [row for row in rows if row["key"] > 2]
    return [pa.RecordBatch.from_pylist(part) for part in parts if part]


def rows_of(table, window):
    return [(row["key"], row["number"]) for run in table.runs(window) for row in run.to_pylist()]


@pytest.mark.parametrize("merge", [concatenated(1000), concatenated(8), summed, by_size_of_key])
@given(
    operations=st.lists(
        st.one_of(
            CUTS,
            st.tuples(
                st.just("append"),
                WINDOWS,
                st.lists(st.tuples(st.integers(0, 5), st.integers()), min_size=1, max_size=12),
            ),
            st.tuples(st.just("remove"), WINDOWS),
        ),
        max_size=40,
    )
)
def test_a_column_table_is_as_on_the_heap(merge, operations):
    both = Both()
    both.columns.mergeBy(merge)
    for operation, *arguments in operations:
        if operation == "cut":
            both.cut(*arguments)
            continue
        for table in (both.heap.columnTable("columns"), both.columns):
            if operation == "remove":
                table.remove(*arguments)
            else:
                window, rows = arguments
                keys, numbers = zip(*[(key, number % 1000) for key, number in rows])
                table.append(window, pa.RecordBatch.from_pydict({"key": keys, "number": numbers}))
    for group in (0, 1, 2):
        both.cut(group)
        heap = both.heap.columnTable("columns")
        assert set(both.columns.windows()) == set(heap.windows())
        for window in heap.windows():
            expected, found = rows_of(heap, window), rows_of(both.columns, window)
            if merge is summed:
                expected, found = ([*map(tuple, sums(rows).items())] for rows in (expected, found))
            if merge is by_size_of_key:
                expected, found = (
                    sorted(rows, key=lambda row: row[0] > 2) for rows in (expected, found)
                )
            assert found == expected
            assert both.columns.size(window) == len(rows_of(both.columns, window))


def sums(rows):
    totals: dict[int, int] = {}
    for key, number in rows:
        totals[key] = totals.get(key, 0) + number
    return totals


def test_a_small_batch_does_not_rewrite_a_large_window_of_columns():
    both = Both()
    both.columns.mergeBy(concatenated(10**6))
    store, written = both.stores[0], 0
    large = pa.RecordBatch.from_pydict({"number": range(3000)})
    both.columns.append("w", large)
    both.cut(0)
    for number in range(300):
        both.columns.append("w", pa.RecordBatch.from_pydict({"number": [number]}))
        before = dict(store.pages)
        both.cut(0)
        written += sum(store.pages[page] is not before.get(page) for page in store.pages)
    # One page a batch, and again as often as the logarithm of their number
    assert 300 <= written < 300 * 4
    assert both.columns.size("w") == 3300


# ---------------------------------------------------------------------- rows by key


def keyed_rows(keys, changed=0, name="number"):
    """A row for each of ``keys``, due at its number."""
    columns = {
        "hash": pa.array([stable_hash(key) for key in keys], pa.uint32()),
        "due": pa.array(keys, pa.int64()),
        "key": pa.array(keys, pa.int64()),
        name: pa.array([changed] * len(keys), pa.int64()),
    }
    return pa.RecordBatch.from_pydict(columns)


def keys_and_numbers(table):
    return {row[2]: row[3] for batch in table.rows() for row in zip(*batch.to_pydict().values())}


def put_rows(table, keys, changed, name):
    """Replace the rows of ``keys``, all in columns of that name."""
    table.open(keyed_rows(keys).column(HASH).to_numpy())
    replaced = set(keys)
    kept = [
        batch.filter(pa.array([key not in replaced for key in batch.column("key").to_pylist()]))
        for batch in table.rows()
    ]
    table.replace([*kept, keyed_rows(keys, changed, name)])


def drop_due(table, until):
    table.openDue(until)
    table.replace([batch.filter(pc.field("due") > until) for batch in table.rows()])


@pytest.mark.parametrize("many", [1, 30])
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("cut"), st.integers(0, GROUPS - 1)),
            st.tuples(
                st.just(put_rows),
                st.sets(st.integers(0, 20), min_size=1),
                st.integers(0, 9),
                st.sampled_from(["number", "number", "other"]),
            ),
            st.tuples(st.just(drop_due), st.integers(0, 20)),
        ),
        max_size=20,
    )
)
def test_rows_by_key_are_as_on_the_heap(many, operations):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(paged_column_tables, "KEYED_ROWS_A_PAGE", 4)
        both = Both()
        for operation, *arguments in operations:
            if operation == "cut":
                both.cut(*arguments)
                continue
            if operation is put_rows:
                arguments[0] = [key * many + n for key in arguments[0] for n in range(many)]
            else:
                arguments[0] *= many
            for table in (both.heap.keyedColumnTable("rows"), both.rows):
                operation(table, *arguments)
        for group in range(GROUPS):
            both.cut(group)
            heap = both.heap.keyedColumnTable("rows")
            assert (len(both.rows), both.rows.nextDue()) == (len(heap), heap.nextDue())
            both.rows.openDue(10**6)
            assert keys_and_numbers(both.rows) == keys_and_numbers(heap)
            both.cut(group)
            assert both.paged.numPages() == len(both.stores[group].pages)


def test_a_few_rows_and_a_watermark_touch_few_pages():
    both = Both()
    put_rows(both.rows, range(100_000), 1, "number")
    both.cut(0)
    store = both.stores[0]
    before = dict(store.pages)
    assert 12 <= len(before) <= 50
    put_rows(both.rows, [7], 2, "number")
    assert store.takeCalls() == (1, 0, 0)
    both.cut(0)
    assert sum(page is not before[name] for name, page in store.pages.items()) == 1
    both.rows.openDue(-1)
    assert store.takeCalls() == (0, 0, 0)
    drop_due(both.rows, 99_990)
    both.cut(0)
    assert len(store.pages) == 1


class Registered:
    """The timers in the order they were registered: of one instant, they come so from pages. The heap
    backend has Flink's order instead."""

    def __init__(self) -> None:
        self.timers: list[Timer] = []

    def add(self, *timer: Any) -> None:
        if Timer(*timer) not in self.timers:
            self.timers.append(Timer(*timer))

    def remove(self, *timer: Any) -> None:
        self.timers = [t for t in self.timers if t != Timer(*timer)]

    def pollDue(self, until: int) -> Timer | None:
        first = min(self.timers, key=lambda timer: timer.timestamp, default=None)
        if first is None or first.timestamp > until:
            return None
        self.timers.remove(first)
        return first

    def nextTimestamp(self) -> int | None:
        return min((t.timestamp for t in self.timers), default=None)


TIMER = st.tuples(st.integers(0, 12), st.sampled_from("ab"), st.sampled_from([None, None, 1]))
TIMER_OPERATION = st.tuples(st.sampled_from(["add", "add", "remove"]), TIMER)


@given(
    st.lists(
        st.one_of(
            CUTS,
            TIMER_OPERATION,
            st.tuples(st.just("add"), TIMER),
            st.tuples(st.just("poll"), st.integers(0, 14), st.lists(TIMER_OPERATION, max_size=6)),
        ),
        max_size=100,
    )
)
def test_timers_fire_in_the_order_they_were_registered(operations):
    both = Both()
    registered = [Registered() for _ in range(GROUPS)]
    for operation, *arguments in operations:
        if operation == "cut":
            both.cut(*arguments)
            continue
        queues = (registered[both.group], both.timers)
        if operation == "poll":
            expected, paged = (sweep(queue, *arguments) for queue in queues)
            assert paged == expected
        else:
            for queue in queues:
                getattr(queue, operation)(*arguments[0])
        expected_next, paged_next = (queue.nextTimestamp() for queue in queues)
        assert expected_next is None or paged_next <= expected_next
    for group in (0, 1, 2):
        both.cut(group)
        expected, paged = (sweep(queue, 99, []) for queue in (registered[group], both.timers))
        assert paged == expected
        both.cut(group)
        assert len(both.timers) == 0
        assert both.timers.nextTimestamp() is None
        assert both.paged.numPages() == 0


def sweep(queue: Any, until: int, callbacks: list[Any]) -> list[Any]:
    """All timers due, where each callback makes one of the calls."""
    fired = []
    calls = iter(callbacks)
    while (timer := queue.pollDue(until)) is not None:
        fired.append(timer)
        for operation, arguments in calls:
            getattr(queue, operation)(*arguments)
            break
    return fired


def test_a_table_may_be_asked_for_in_the_middle_of_a_batch():
    store = CountingPageStore()
    writer = PagedKeyedStateBackend("operator")
    writer.load(store, None)
    writer.table("late").put("key", None, "value")
    writer.mapTable("other").put("key", None, 1, 2)
    directory = writer.flush()

    reader = PagedKeyedStateBackend("operator")
    reader.load(store, directory)
    reader.table("first").put("key", None, 1)
    assert reader.numEntries() == 3
    assert reader.table("late").get("key", None) == "value"
    assert reader.table("late") is reader.table("late")
    directory = reader.flush()
    reader.load(store, directory)
    assert reader.mapTable("other").get("key", None, 1) == 2


def test_operators_share_a_store():
    store = CountingPageStore()
    backends = [PagedKeyedStateBackend(uid) for uid in ("one", "two")]
    directories = []
    for backend in backends:
        backend.load(store, None)
        backend.table("same").put("key", None, len(directories))
        directories.append(backend.flush())
    for number, (backend, directory) in enumerate(zip(backends, directories)):
        backend.load(store, directory)
        assert backend.table("same").get("key", None) == number


def test_the_directory_is_plain_and_empty_when_nothing_is_held():
    backend = PagedKeyedStateBackend("operator")
    store = CountingPageStore()
    backend.load(store, None)
    backend.windowTable("w").blocks(Unstable(1), [1], HASHES.column([1]))[0][0][1] = 2
    backend.timerQueue("t").add(1, "key", None)
    directory = backend.flush()
    assert b"Unstable" in pickle.dumps(directory)
    assert b"flinkish" not in pickle.dumps(directory)
    backend.load(store, directory)
    backend.windowTable("w").remove(Unstable(1))
    assert backend.timerQueue("t").pollDue(5) is not None
    assert backend.flush() == {}
    assert store.pages == {}


def test_what_was_not_flushed_is_forgotten():
    backend = PagedKeyedStateBackend("operator")
    backend.load(CountingPageStore(), None)
    backend.table("t").put("key", None, 1)
    backend.timerQueue("q").add(1, "key", None)
    backend.load(CountingPageStore(), None)
    assert backend.table("t").get("key", None) is None
    assert len(backend.timerQueue("q")) == 0
    assert backend.flush() == {}


def test_misuse_is_told():
    backend = PagedKeyedStateBackend("operator")
    with pytest.raises(IllegalStateError, match="before load"):
        backend.flush()
    with pytest.raises(IncompatibleCheckpointError, match="format 7"):
        backend.load(CountingPageStore(), {"format": 7})
    backend.load(CountingPageStore(), None)
    backend.table("t").put("key", None, 1)
    directory = backend.flush()
    backend.load(CountingPageStore(), directory)
    with pytest.raises(CorruptCheckpointError, match=r"operator: state 't'.*missing"):
        backend.table("t").get("key", None)
