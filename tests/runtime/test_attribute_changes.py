"""Changes of a function that are detected, and those that are ignored."""

from __future__ import annotations

import concurrent.futures
import functools
import itertools
import logging
import random
import re
import socket
import threading
from zoneinfo import ZoneInfo

import cloudpickle
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.runtime import attribute_owners
from flinkish.runtime.attribute_changes import FunctionAttributes
from tests.runtime.micro_batches import MicroBatches


class Keeper(fl.RichMapFunction):
    def __init__(self, kept=None):
        self.kept = kept

    def map(self, value):
        return value


def change_of(function, act):
    """Return the change found after ``act(function)``; nothing before it, and everything once."""
    held = FunctionAttributes("Map", function)
    assert held.changes() == []
    act(function)
    changes = held.changes()
    assert held.changes() == []
    return [(owner, attribute) for _, owner, attribute in changes]


class Statistics:
    """A class of the user's, with something in it that cannot be pickled."""

    def __init__(self):
        self.lock, self.count = threading.Lock(), 0


def count_on(keeper):
    keeper.kept.count += 1


CHANGES = {
    "a number": (0, lambda k: setattr(k, "kept", k.kept + 1)),
    "a list": ([], lambda k: k.kept.append(1)),
    "a dict": ({}, lambda k: k.kept.update(a=1)),
    "a set": (set(), lambda k: k.kept.add(1)),
    "deep inside": ({"a": [{"b": (1, [])}]}, lambda k: k.kept["a"][0]["b"][1].append(1)),
    "beside what cannot be pickled": ([threading.Lock(), 0], lambda k: k.kept.append(1)),
    "an object of the user's": (Statistics(), count_on),
    "a counter": (itertools.count(), lambda k: next(k.kept)),
    "random numbers": (random.Random(1), lambda k: k.kept.random()),
    "another of what cannot be pickled": (
        threading.Lock(),
        lambda k: setattr(k, "kept", threading.Lock()),
    ),
    "removed": (1, lambda k: delattr(k, "kept")),
    "a Row": (fl.Row(1), lambda k: setattr(k, "kept", fl.Row(2))),
    "a large list that grows": (list(range(200_000)), lambda k: k.kept.append(1)),
    "a function inside": (Keeper(1), lambda k: setattr(k.kept, "kept", 2)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_found(name):
    kept, act = CHANGES[name]
    assert change_of(Keeper(kept), act) == [("Keeper", "kept")]


def test_an_attribute_that_is_new_is_found():
    assert change_of(Keeper(), lambda keeper: setattr(keeper, "new", 1)) == [("Keeper", "new")]


class Careful(Keeper):
    """Has what works without being changed for it, as far as its user can tell."""

    def open(self, openContext):
        self.state = self.getRuntimeContext().getState(fl.ValueStateDescriptor("count"))
        self.counter = self.getRuntimeContext().getMetricGroup().counter("count")
        self.square = functools.lru_cache(lambda value: value * value)
        self.log, self.lock, self.pattern = (
            logging.getLogger("x"),
            threading.Lock(),
            re.compile("a+"),
        )
        self.pool = concurrent.futures.ThreadPoolExecutor(1)
        self.sockets = socket.socketpair()
        self.zone = ZoneInfo("Europe/Berlin")
        self.model = list(range(200_000))

    @functools.cached_property
    def lazy(self):
        return len(self.model)

    def map(self, value):
        self.state.update((self.state.value() or 0) + 1)
        self.counter.inc()
        self.pool.submit(self.square, self.lazy).result()
        self.sockets[0].send(b"a")
        self.pattern.match("aaa")
        with self.lock:
            return self.square(value), self.model[value]

    def close(self):
        self.pool.shutdown()
        for one in self.sockets:
            one.close()


def batches_of(stream, count=3):
    job = MicroBatches(stream, 2, keepsTasks=True)
    for number in range(count):
        job.process([[(value, None) for value in range(number, number + 4)]])
    return job


def test_what_open_made_and_only_works_is_no_change():
    job = batches_of(lambda stream: stream.keyBy(lambda value: value % 2).map(Careful()))
    assert job.attributeChanges == []


class Ported(fl.RichMapFunction):
    def __init__(self):
        self.count = 0

    def map(self, value):
        self.count += 1
        return self.count


@pytest.mark.parametrize("keyed", [False, True])
def test_attributes_last_behind_a_shuffle_and_for_a_batch_before_it(keyed):
    def build(stream):
        return (stream.keyBy(lambda value: 0) if keyed else stream).map(Ported()).name("Count")

    job = batches_of(build)
    job.end()
    counts = [result.value for result in job.results[0]]
    if keyed:
        assert counts == list(range(1, 13))
        assert job.attributeChanges == []
    else:
        assert counts == [1, 2, 3, 4] * 3
        assert set(job.attributeChanges) == {("Count", "Ported", "count")}


def shipped(function):
    return cloudpickle.loads(cloudpickle.dumps(function))


def test_what_a_plain_function_that_came_with_the_job_keeps_is_found():
    seen = []

    def keeps(value, kept=[]):  # noqa: B006
        seen.append(value)
        kept.append(value)
        keeps.last = value  # type: ignore[attr-defined]

    def calls(value):
        return keeps(value)

    found = change_of(shipped(keeps), lambda function: function(1))
    assert sorted(attribute for _, attribute in found) == ["keeps", "kept", "last", "seen"]
    [(owner, attribute)] = change_of(shipped(calls), lambda function: function(1))
    assert (owner.rpartition(".")[2], attribute) == ("calls", "keeps")
    selector = shipped(lambda value: keeps(value) or 0)
    job = batches_of(lambda stream: stream.keyBy(selector).map(lambda value: value), 1)
    assert [change.attribute for change in job.attributeChanges] == ["keeps"]


def local_class():
    class Local(fl.RichMapFunction):
        seen = []  # noqa: RUF012

        def map(self, value, kept={}):  # noqa: B006
            kept[value] = 1
            self.seen.append(value)

    return Local()


def test_what_a_class_that_came_with_the_job_keeps_is_found_also_if_it_comes_again():
    data = cloudpickle.dumps(local_class())
    function = cloudpickle.loads(data)
    held = FunctionAttributes("Map", function)
    again = cloudpickle.loads(data)
    assert type(again) is type(function)
    assert held.changes() == []
    function.map(1)
    assert sorted(change.attribute for change in held.changes()) == ["kept", "seen"]


def test_what_is_large_is_not_pickled_again(monkeypatch):
    keeper = Keeper(list(range(200_000)))
    held = FunctionAttributes("Map", keeper)
    monkeypatch.setattr(attribute_owners._Digest, "dump", lambda *_: pytest.fail("pickled"))
    assert held.changes() == []


values = st.recursive(
    st.none() | st.integers() | st.text() | st.binary() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=8,
)


@given(value=values, after=values)
def test_an_attribute_has_changed_just_if_its_value_has(value, after):
    keeper = Keeper(value)
    held = FunctionAttributes("Map", keeper)
    keeper.kept = after
    unequal = value != after or repr(value) != repr(after)
    if unequal:
        assert [change.attribute for change in held.changes()] == ["kept"]
