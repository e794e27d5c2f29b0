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
    StateTtlConfig,
    ValueStateDescriptor,
)
from flinkish.runtime.state.heap import HeapKeyedStateBackend
from flinkish.runtime.state.keyed_states import KeyedStates
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
        table = env.backend.contents["table", "l"]
        for now, left in ((10, [2, 3]), (15, [3])):
            env.at(now)
            env.states.removeExpired(now)
            assert [value for value, _ in table.get("k", None)] == left
            keys = [key for key, _ in env.backend.contents["map", "m"].items("k", None)]
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
