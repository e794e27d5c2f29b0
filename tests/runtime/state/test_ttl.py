"""Entries of keyed state that expire."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish import (
    AggregateFunction,
    AggregatingStateDescriptor,
    Duration,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    RichFilterFunction,
    RichMapFunction,
    StateTtlConfig,
    ValueStateDescriptor,
)
from flinkish.runtime.state.backend import NotedState
from flinkish.runtime.state.heap import HeapKeyedStateBackend
from flinkish.runtime.state.keyed_states import KeyedStates
from flinkish.runtime.state.page_store import DictPageStore
from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend
from flinkish.runtime.time.clock import ProcessingTimeService
from tests.runtime.micro_batches import MicroBatches


class Total(AggregateFunction[int, int, int]):
    def createAccumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def getResult(self, accumulator: int) -> int:
        return accumulator


class Expiring:
    """States with a time to live of 10 ms, and the clock."""

    def __init__(self, builder: Any) -> None:
        self.clock = ProcessingTimeService()
        self.backend = HeapKeyedStateBackend()
        self.backend.currentKey = "k"
        self.states = KeyedStates(self.backend, self.clock, sweeps=True)
        self.config = builder.build()

    def state(self, descriptor: Any) -> Any:
        descriptor.enableTimeToLive(self.config)
        return self.states.of(descriptor)

    def at(self, now: int) -> None:
        self.clock.advanceTo(now)


def builder() -> Any:
    return StateTtlConfig.newBuilder(10).disableCleanupInBackground()


SCALARS = {
    "value": (lambda: ValueStateDescriptor("s"), lambda s: s.value(), lambda s, v: s.update(v)),
    "reducing": (
        lambda: ReducingStateDescriptor("s", lambda a, b: a + b),
        lambda s: s.get(),
        lambda s, v: s.add(v),
    ),
    "aggregating": (
        lambda: AggregatingStateDescriptor("s", Total()),
        lambda s: s.get(),
        lambda s, v: s.add(v),
    ),
}


@pytest.fixture(params=SCALARS.values(), ids=SCALARS.keys())
def scalar(request):
    return request.param


def test_an_entry_lives_for_its_time_to_live(scalar):
    describe, read, write = scalar
    env = Expiring(builder())
    state = env.state(describe())
    write(state, 3)
    env.at(9)
    assert read(state) == 3
    env.at(10)
    assert read(state) is None
    assert env.backend.numEntries() == 0, "the read removed it"


def test_a_read_renews_only_if_it_is_said_to(scalar):
    describe, read, write = scalar
    for renews in (False, True):
        config = builder().updateTtlOnReadAndWrite() if renews else builder()
        env = Expiring(config)
        state = env.state(describe())
        write(state, 3)
        env.at(9)
        read(state)
        env.at(12)
        assert read(state) == (3 if renews else None)


def test_an_expired_entry_may_be_read_once_if_it_is_there(scalar):
    describe, read, write = scalar
    env = Expiring(builder().returnExpiredIfNotCleanedUp())
    state = env.state(describe())
    write(state, 3)
    env.at(50)
    assert read(state) == 3
    assert read(state) is None


@pytest.mark.parametrize("visible", [False, True])
@pytest.mark.parametrize("kind", ["reducing", "aggregating"])
def test_adding_goes_on_from_an_expired_entry_only_if_it_is_visible(kind, visible):
    describe, read, write = SCALARS[kind]
    env = Expiring(builder().returnExpiredIfNotCleanedUp() if visible else builder())
    state = env.state(describe())
    write(state, 3)
    env.at(50)
    write(state, 4)
    assert read(state) == (7 if visible else 4)


def test_none_removes_a_value():
    env = Expiring(builder())
    state = env.state(ValueStateDescriptor("s"))
    state.update(3)
    state.update(None)
    assert state.value() is None
    assert env.backend.numEntries() == 0


def test_reducing_nothing_into_an_entry_renews_it():
    env = Expiring(builder())
    state = env.state(ReducingStateDescriptor("s", lambda a, b: a + b))
    state.add(3)
    env.at(5)
    state.add(None)
    env.at(14)
    assert state.get() == 3
    env.at(15)
    assert state.get() is None


def test_a_default_is_not_asked_as_in_flink():
    assert Expiring(builder()).state(ValueStateDescriptor("s", default=7)).value() is None


def test_elements_of_a_list_expire_one_by_one():
    env = Expiring(builder())
    state = env.state(ListStateDescriptor("s"))
    state.add(1)
    env.at(5)
    state.addAll([2, 3])
    env.at(10)
    assert state.get() == [2, 3]
    env.at(15)
    assert state.get() == []
    assert env.backend.numEntries() == 0


def test_expired_elements_stay_visible_until_all_have_expired():
    env = Expiring(builder().returnExpiredIfNotCleanedUp())
    state = env.state(ListStateDescriptor("s"))
    state.add(1)
    env.at(5)
    state.add(2)
    env.at(10)
    assert state.get() == [1, 2]
    assert state.get() == [1, 2]
    env.at(15)
    assert state.get() == [1, 2]
    assert state.get() == []


def test_a_read_that_renews_drops_expired_elements():
    env = Expiring(builder().returnExpiredIfNotCleanedUp().updateTtlOnReadAndWrite())
    state = env.state(ListStateDescriptor("s"))
    state.add(1)
    env.at(5)
    state.add(2)
    env.at(10)
    assert state.get() == [1, 2]
    assert state.get() == [2]
    env.at(19)
    assert state.get() == [2]


def test_entries_of_a_map_expire_one_by_one():
    env = Expiring(builder())
    state = env.state(MapStateDescriptor("s"))
    state.put("a", 1)
    env.at(5)
    state.putAll({"b": 2, "c": 3})
    env.at(10)
    assert state.get("a") is None
    assert not state.contains("a")
    entries = state.entries()
    assert list(entries) == list(entries) == [("b", 2), ("c", 3)]
    assert list(state.keys()) == ["b", "c"]
    assert list(state.values()) == [2, 3]
    env.at(15)
    assert not state.isEmpty(), "as in Flink, nobody has looked yet"
    assert list(state.entries()) == []
    assert state.isEmpty()


def test_a_map_renews_what_an_iteration_reads():
    env = Expiring(builder().updateTtlOnReadAndWrite())
    state = env.state(MapStateDescriptor("s"))
    state.putAll({"a": 1, "b": 2})
    env.at(9)
    assert state.get("b") == 2
    assert next(iter(state.keys())) == "a"
    env.at(12)
    assert dict(state.entries()) == {"a": 1, "b": 2}


def test_disabled_means_no_time_to_live():
    env = Expiring(StateTtlConfig.newBuilder(StateTtlConfig.DISABLED))
    state = env.state(ValueStateDescriptor("s", default=7))
    assert state.value() == 7
    state.update(1)
    env.at(2**62)
    assert state.value() == 1


class TestCleanupInBackground:
    @pytest.fixture
    def env(self) -> Expiring:
        return Expiring(StateTtlConfig.newBuilder(10))

    def test_removes_what_nobody_touches(self, env, scalar):
        describe, _, write = scalar
        write(env.state(describe()), 1)
        env.at(9)
        env.states.removeExpired(9)
        assert env.backend.numEntries() == 1
        env.at(10)
        env.states.removeExpired(10)
        assert env.backend.numEntries() == 0

    def test_spares_what_was_renewed(self, env):
        state = env.state(ValueStateDescriptor("s"))
        state.update(1)
        env.at(7)
        state.update(2)
        env.at(10)
        env.states.removeExpired(10)
        assert state.value() == 2
        env.at(17)
        env.states.removeExpired(17)
        assert env.backend.numEntries() == 0

    def test_takes_lists_by_element_and_maps_by_entry(self, env):
        listed, mapped = env.state(ListStateDescriptor("l")), env.state(MapStateDescriptor("m"))
        listed.add(1)
        mapped.put("a", 1)
        env.at(5)
        listed.add(2)
        mapped.put("b", 2)
        env.at(8)
        listed.add(3)
        table = env.backend.table("l/expires after 10 ms")
        for now, left in ((10, [2, 3]), (15, [3])):
            env.at(now)
            env.states.removeExpired(now)
            assert [value for value, _ in table.get("k", None)] == left
            keys = [
                key for key, _ in env.backend.mapTable("m/expires after 10 ms").items("k", None)
            ]
            assert keys == (["b"] if now == 10 else [])
        env.at(18)
        env.states.removeExpired(18)
        assert env.backend.numEntries() == 0

    def test_never_runs_where_it_is_off(self):
        env = Expiring(builder())
        env.state(ValueStateDescriptor("s")).update(1)
        env.at(100)
        env.states.removeExpired(100)
        assert env.backend.numEntries() == 1


class Stored:
    """One state of one kind, in memory or in pages, under several keys, with restarts."""

    def __init__(self, kind: str, paged: bool) -> None:
        self.kind, self.paged = kind, paged
        self.clock = ProcessingTimeService()
        self.contents: dict[Any, Any] = {}
        self.store, self.directory = DictPageStore(), None
        self.earlier: tuple[NotedState, ...] = ()

    def start(self, config: StateTtlConfig | None) -> None:
        """Begin, or go on with ``config`` from what is stored."""
        self.config = config
        self.backend = (
            PagedKeyedStateBackend("u") if self.paged else HeapKeyedStateBackend(self.contents)
        )
        self.backend.earlierStates = self.earlier
        self.states = KeyedStates(self.backend, self.clock, sweeps=True)
        descriptor = KINDS[self.kind]()
        if config is not None:
            descriptor.enableTimeToLive(config)
        self.state = self.states.of(descriptor)
        self.load()

    def load(self) -> None:
        if self.paged:
            self.backend.load(self.store, self.directory)

    def flush(self) -> None:
        """End a batch and begin the next one."""
        self.earlier = tuple(NotedState(*noted) for noted in self.backend.noted())
        if self.paged:
            self.directory = self.backend.flush()
            self.load()

    def write(self, key: int, value: int) -> None:
        self.backend.currentKey = key
        state = self.state
        if self.kind == "map":
            state.put(value % 3, value)
        else:
            (state.update if self.kind == "value" else state.add)(value)

    def remove(self, key: int) -> None:
        self.backend.currentKey = key
        if self.kind == "map":
            for each in range(3):
                self.state.remove(each)
        else:
            self.state.clear()

    def clear(self, key: int) -> None:
        self.backend.currentKey = key
        self.state.clear()

    def read(self, key: int) -> Any:
        self.backend.currentKey = key
        if self.kind == "map":
            return dict(self.state.entries()) or None
        if self.kind == "list":
            return list(self.state.get()) or None
        return self.state.value() if self.kind == "value" else self.state.get()

    def entries(self) -> int:
        """Return the number of stored entries, those of maps one by one."""
        if self.kind != "map":
            return self.backend.numEntries()
        table = self.state._table
        return sum(len(list(table.items(*name))) for name in table.maps())

    def checks(self) -> int:
        """Return the number of scheduled checks. Ends the use of this object."""
        checks = 0
        for name in self.backend.names():
            queue = self.backend.timerQueue(name)
            while queue.pollDue(2**63 - 1) is not None:
                checks += 1
        return checks


KINDS: dict[str, Any] = {
    "value": lambda: ValueStateDescriptor("s"),
    "list": lambda: ListStateDescriptor("s"),
    "map": lambda: MapStateDescriptor("s"),
    "reducing": lambda: ReducingStateDescriptor("s", lambda a, b: a + b),
    "aggregating": lambda: AggregatingStateDescriptor("s", Total()),
}

ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "remove", "clear", "read", "sweep", "flush"]),
        st.integers(0, 2),
        st.sampled_from([0, 1, 7, 100, 400]),
    ),
    max_size=60,
)


@pytest.mark.parametrize("paged", [False, True], ids=["memory", "pages"])
@pytest.mark.parametrize("kind", KINDS)
@given(ACTIONS, st.booleans(), st.sampled_from([10, 1_000]))
def test_what_is_stored_depends_only_on_the_live_entries(kind, paged, actions, renews, length):
    config = StateTtlConfig.newBuilder(length)
    config = config.updateTtlOnReadAndWrite() if renews else config
    stored = Stored(kind, paged)
    stored.start(config.build())
    for action, key, wait in actions:
        stored.clock.advanceTo(stored.clock.getCurrentProcessingTime() + wait)
        if action == "sweep":
            stored.states.removeExpired(stored.clock.getCurrentProcessingTime())
        elif action == "flush":
            stored.flush()
        elif action == "write":
            stored.write(key, wait)
        else:
            getattr(stored, action)(key)
    if len(actions) % 2:
        assert stored.checks() == stored.entries()
        return
    for key in range(3):
        stored.clear(key)
    stored.flush()
    assert stored.backend.names() == []
    assert not stored.paged or (not stored.directory and not stored.store.pages)


@pytest.mark.parametrize("paged", [False, True], ids=["memory", "pages"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_clears_leave_nothing(kind, paged):
    stored = Stored(kind, paged)
    stored.start(StateTtlConfig.newBuilder(Duration.ofDays(1)).build())
    for number in range(1_000):
        stored.clock.advanceTo(number * 1_000)
        stored.write(1, number)
        (stored.clear if number % 2 else stored.remove)(1)
        if number % 100 == 0:
            stored.flush()
    stored.flush()
    assert stored.backend.names() == []
    assert not stored.store.pages


@pytest.mark.parametrize("number", [1, 100])
def test_an_entry_that_is_renewed_often_has_one_check(number):
    stored = Stored("value", paged=False)
    stored.start(StateTtlConfig.newBuilder(1_000).build())
    for now in range(0, number * 10, 10):
        stored.clock.advanceTo(now)
        stored.write(1, now)
    stored.states.removeExpired(number * 10)
    assert stored.read(1) == number * 10 - 10
    assert stored.checks() == 1


TEN = StateTtlConfig.newBuilder(10).build()
CONFIGS = {
    "off": None,
    "on": TEN,
    "other": StateTtlConfig.newBuilder(25).build(),
    "no clean-up": StateTtlConfig.newBuilder(10).disableCleanupInBackground().build(),
}


@pytest.mark.parametrize("paged", [False, True], ids=["memory", "pages"])
@pytest.mark.parametrize("kind", KINDS)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(list(CONFIGS)),
            st.integers(0, 30),
            st.dictionaries(st.integers(0, 2), st.just(1)),
        ),
        min_size=2,
        max_size=6,
    )
)
def test_a_time_to_live_may_change_at_each_restore(kind, paged, runs):
    """Entries without a time were accessed at the restore; the others keep theirs."""
    stored = Stored(kind, paged)
    accessed: dict[int, int | None] = {}
    for name, wait, written in runs:
        config = CONFIGS[name]
        stored.start(config)
        now = stored.clock.getCurrentProcessingTime()
        if config is None:
            accessed = dict.fromkeys(accessed)
        else:
            accessed = {key: now if at is None else at for key, at in accessed.items()}
        for key in written:
            stored.clear(key)
            stored.write(key, 1)
            accessed[key] = None if config is None else now
        now += wait
        stored.clock.advanceTo(now)
        stored.states.removeExpired(now)
        if config is not None:
            length = config.timeToLive
            alive = {key: at for key, at in accessed.items() if at is None or now < at + length}
            if config.cleanupInBackground:
                assert stored.entries() == len(alive)
                accessed = alive
        for key in range(3):
            there = key in accessed if config is None else key in alive
            value = {1: 1} if kind == "map" else [1] if kind == "list" else 1
            assert stored.read(key) == (value if there else None)
        if config is not None:
            accessed = alive  # a read removes what has expired
        stored.flush()
    expected = len(accessed) if config is not None and config.cleanupInBackground else 0
    assert stored.checks() == expected


@pytest.mark.parametrize("paged", [False, True], ids=["memory", "pages"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("names", [("on",), ("off",), ("on", "off", "on"), ("no clean-up", "off")])
def test_state_of_an_earlier_version_goes_on(kind, paged, names):
    """It had entries with times in the table of the state's name."""
    stored = Stored(kind, paged)
    stored.earlier = (NotedState("s", f"{_kind_name(kind)} that expires", ""),)
    stored.start(None)
    backend = stored.backend
    if kind == "map":
        backend.mapTable("s").put(0, None, 1, (1, 100))
    else:
        backend.table("s").put(0, None, [(1, 100)] if kind == "list" else (1, 100))
    backend.timerQueue("s/ttl").add(110, 0, (None, 1) if kind == "map" else None)
    if paged:
        stored.directory = backend.flush()
    stored.clock.advanceTo(105)
    value = {1: 1} if kind == "map" else [1] if kind == "list" else 1
    for name in names:
        stored.start(CONFIGS[name])
        assert stored.read(0) == value
        stored.flush()
    assert "s/ttl" not in stored.backend.names()
    if names[-1] == "on":
        end = 110 if len(names) == 1 else 115
        for now, left in ((end - 1, 1), (end, 0)):
            stored.clock.advanceTo(now)
            stored.states.removeExpired(now)
            assert stored.entries() == left


def _kind_name(kind: str) -> str:
    return type(KINDS[kind]()).__name__.removesuffix("Descriptor")


def test_states_of_windows_and_of_keys_do_not_take_each_others_entries():
    backend, clock = HeapKeyedStateBackend(), ProcessingTimeService()
    of_keys = KeyedStates(backend, clock, sweeps=True)
    of_windows = KeyedStates(backend, clock, sweeps=True, ofWindows=True)
    of_windows.namespace = "window"
    expiring = ValueStateDescriptor("s")
    expiring.enableTimeToLive(TEN)
    backend.currentKey = 1
    of_windows.of(expiring).update("of the window")
    of_keys.of(ValueStateDescriptor("s")).update("of the key")
    of_keys.settle()
    of_windows.settle()
    assert of_windows.of(expiring).value() == "of the window"
    clock.advanceTo(10)
    of_windows.removeExpired(10)
    assert of_windows.of(expiring).value() is None
    assert of_keys.of(ValueStateDescriptor("s")).value() == "of the key"


class Counts(RichMapFunction[Any, Any]):
    """Counts each element."""

    expires = False

    def open(self, openContext):
        count = ValueStateDescriptor[int]("count")
        if self.expires:
            count.enableTimeToLive(TEN)
        self.count = self.getRuntimeContext().getState(count)

    def map(self, value):
        self.count.update((self.count.value() or 0) + 1)
        return value, self.count.value()


class ExpiringCounts(Counts):
    expires = True


def test_the_clock_of_the_batch_is_the_time_of_the_restore():
    def job(function):
        return MicroBatches(
            lambda stream: stream.keyBy(lambda value: value).map(function).uid("counts"), 1
        )

    before, after = job(Counts()), job(ExpiringCounts())
    before.process([[("a", None), ("b", None)]], clock=1_000)
    after.stores = before.stores
    after.process([[("c", None)]], clock=2_000)
    after.process([[("a", None)]], clock=2_009)
    after.process([[("a", None), ("b", None)]], clock=2_010)
    found = [result.value for result in after.results[0]]
    assert found == [("c", 1), ("a", 2), ("a", 3), ("b", 1)]


STEPS = st.lists(
    st.tuples(
        st.integers(0, 7),
        st.sampled_from(["put", "get", "remove", "entries"]),
        st.integers(0, 3),
        st.booleans(),
    ),
    max_size=60,
)


@given(STEPS, st.booleans(), st.booleans())
def test_a_map_shows_what_was_accessed_less_than_its_time_to_live_ago(steps, renews, background):
    """Clean-up, in background or not, cannot be seen where expired entries are never returned."""
    config = StateTtlConfig.newBuilder(10)
    config = config.updateTtlOnReadAndWrite() if renews else config
    env = Expiring(config if background else config.disableCleanupInBackground())
    state = env.state(MapStateDescriptor("m"))
    model: dict[int, tuple[int, int]] = {}
    now = 0
    for wait, action, key, sweep in steps:
        now += wait
        env.at(now)
        if sweep:
            env.states.removeExpired(now)
        alive = {k: entry for k, entry in model.items() if now - entry[1] < 10}
        if action == "put":
            state.put(key, now)
            model[key] = (now, now)
        elif action == "remove":
            state.remove(key)
            model.pop(key, None)
        elif action == "get":
            assert state.get(key) == (alive[key][0] if key in alive else None)
            if renews and key in alive:
                model[key] = (model[key][0], now)
        else:
            assert dict(state.entries()) == {k: value for k, (value, _) in alive.items()}
            if renews:
                model.update({k: (value, now) for k, (value, _) in alive.items()})


def test_the_longest_time_to_live_lasts_to_the_end_of_time(scalar):
    describe, read, write = scalar
    env = Expiring(StateTtlConfig.newBuilder(Duration.ofMillis(2**63 - 1)))
    env.at(1000)
    state = env.state(describe())
    write(state, 3)
    env.at(10**15)
    env.states.removeExpired(10**15)
    assert read(state) == 3


class Once(RichFilterFunction[Any]):
    """The first element of each key."""

    def open(self, openContext):
        seen = ValueStateDescriptor[bool]("seen")
        seen.enableTimeToLive(StateTtlConfig.newBuilder(Duration.ofMillis(2**63 - 1)).build())
        self.seen = self.getRuntimeContext().getState(seen)

    def filter(self, value):
        if self.seen.value():
            return False
        self.seen.update(True)
        return True


def test_the_longest_time_to_live_lasts_from_batch_to_batch():
    job = MicroBatches(lambda stream: stream.keyBy(lambda value: value).filter(Once()), 1)
    job.process([[("a", None), ("b", None)]], clock=1000)
    job.process([[("a", None), ("c", None)]], clock=10**15)
    job.end(clock=10**15)
    assert [result.value for result in job.results[0]] == ["a", "b", "c"]
