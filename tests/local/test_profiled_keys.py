"""A profiled batch says which keys had the most records; one that is not profiled counts none."""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest

import flinkish as fl
from flinkish.api.execution.details import ProfiledKey
from flinkish.runtime.task import vertex
from flinkish.web.flame_graph import profile

USERS = ["ada"] * 30 + ["bob"] * 5 + ["eve"]


def slowly(value, other):
    until = time.perf_counter() + 0.004
    while time.perf_counter() < until:
        pass
    return value


def ran(profiled, hidden=False):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    if hidden:
        env.getConfig().hideElementsInErrors()
    env.getConfig().setElementsPerBatch(len(USERS))
    asked = threading.Event()
    users = (
        env.fromCollection(["zoe"] * len(USERS) + USERS)
        .keyBy(lambda user: user)
        .reduce(slowly)
        .name("slow")
    )
    users.keyBy(len).reduce(max).name("longest").forEachBatch(lambda values, batch: asked.wait(20))
    client = env.executeAsync("users")
    if profiled:
        # The first batch waits in its sink
        client.profileBatch()
    asked.set()
    client.getJobExecutionResult()
    return client.getJobDetails()


@pytest.mark.parametrize("hidden", [False, True])
def test_the_keys_of_each_vertex_with_their_records(hidden):
    details = ran(profiled=True, hidden=hidden)
    assert details.profile is not None
    found = Counter()
    for key in details.profile.keys:
        name = next(v.name for v in details.vertices if v.id == key.vertex)
        found[name, key.key] += key.records
    slow = {("slow", repr(user)): count for user, count in Counter(USERS).items()}
    assert found == ({} if hidden else {**slow, ("longest", "3"): len(USERS)})
    assert [key["records"] for key in profile(details)["keys"]] == sorted(
        found.values(), reverse=True
    )
    assert all(isinstance(key, ProfiledKey) for key in details.profile.keys)


def test_a_batch_that_is_not_profiled_counts_none(monkeypatch):
    def counted(keys):
        raise AssertionError("nobody has asked")

    monkeypatch.setattr(vertex, "largest_keys", counted)
    assert ran(profiled=False).profile is None
