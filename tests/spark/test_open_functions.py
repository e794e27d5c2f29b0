"""Functions stay open between batches, and what they keep in themselves is set back and warned of."""

from __future__ import annotations

import collections
import functools
import os
import warnings

import pytest

import flinkish as fl
from flinkish.api.errors import ChangedAttributeWarning, UserFunctionError
from tests.branches import results_of

BATCHES = 5
KEYS = 4


class Logged(fl.RichFunction):
    """Writes each call of ``open`` and ``close`` into a file."""

    def __init__(self, log):
        self.log = str(log)

    def open(self, openContext):
        self.write(f"open\nby {os.getpid()}")

    def close(self):
        self.write("close")

    def write(self, line):
        with open(self.log, "a") as log:
            log.write(f"{line}\n")


class LoggedMap(Logged, fl.RichMapFunction):
    def map(self, value):
        return value


class Numbered(Logged, fl.KeyedProcessFunction):
    """Counts as one ought to: in state."""

    def open(self, openContext):
        super().open(openContext)
        descriptor = fl.ValueStateDescriptor("count")
        self.count = self.getRuntimeContext().getState(descriptor)

    def processElement(self, value, ctx, out):
        number = (self.count.value() or 0) + 1
        self.count.update(number)
        out.collect((value, number))


def counts(log):
    return collections.Counter(log.read_text().split("\n") if log.exists() else ())


def most_by_one_worker(log):
    """Return the highest number of times that one worker opened the function."""
    return max(times for line, times in counts(log).items() if line.startswith("by "))


def numbers(env, batches=BATCHES):
    env.getConfig().setElementsPerBatch(KEYS)
    return env.fromData(*list(range(KEYS)) * batches)


def itself(value):
    return value


@pytest.fixture
def caught():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


class Remembers(LoggedMap):
    """A port from Flink: a counter, a cache, and a cache that is right."""

    def __init__(self, log):
        super().__init__(log)
        self.number = 0
        self.seen = {}

    def open(self, openContext):
        super().open(openContext)
        self.square = functools.lru_cache(lambda value: value * value)

    def map(self, value):
        self.number += 1
        self.seen[value] = self.square(value)
        return value, self.number, len(self.seen)


def changed(caught):
    found = [w.message for w in caught if isinstance(w.message, ChangedAttributeWarning)]
    return sorted((w.operator, w.owner.rpartition(".")[2], w.attribute) for w in found)


def test_functions_are_opened_less_often_than_batches_and_closed_at_the_end(env, tmp_path, caught):
    source, stage = tmp_path / "source", tmp_path / "stage"
    stream = numbers(env).map(LoggedMap(source)).keyBy(itself).process(Numbered(stage))
    results = stream.executeAndCollect()
    assert sorted(results) == sorted((k, n) for k in range(KEYS) for n in range(1, BATCHES + 1))
    # A worker has one task of the source, and two of the stage
    assert most_by_one_worker(source) == 1
    assert most_by_one_worker(stage) <= 2
    assert counts(source)["close"] == counts(source)["open"]
    assert counts(stage)["close"] == counts(stage)["open"]
    assert changed(caught) == []


def test_changed_attributes_are_set_back_and_warned_of_once(env, tmp_path, caught):
    """Attributes of a function of a class, and of a plain one."""
    log = tmp_path / "log"
    seen = []

    def number(value, kept=[]):  # noqa: B006
        seen.append(value)
        kept.append(value)
        return len(seen), len(kept)

    source = numbers(env)
    found = results_of(
        env,
        {
            "class": lambda env: source.map(Remembers(log)).name("Remember"),
            "plain": lambda env: source.map(number).name("Plain"),
        },
    )
    # Every batch begins with what open() left
    assert sorted(found["class"]) == sorted([(k, k + 1, k + 1) for k in range(KEYS)] * BATCHES)
    assert set(found["plain"]) == {(n, n) for n in range(1, KEYS + 1)}
    assert changed(caught) == [
        ("Plain", "number", "kept"),
        ("Plain", "number", "seen"),
        ("Remember", "Remembers", "number"),
        ("Remember", "Remembers", "seen"),
    ]
    assert counts(log)["open"] == counts(log)["close"] >= BATCHES


class FailsOnce(Logged, fl.RichMapFunction):
    """Fails in the fourth batch, the first time."""

    def __init__(self, log, failed):
        super().__init__(log)
        self.failed = failed
        self.number = 0

    def map(self, value):
        if value == KEYS * 3 and not self.failed.exists():
            self.failed.touch()
            raise ValueError("once")
        return value


@pytest.mark.recovery
def test_a_function_that_raised_is_closed_and_the_restarted_job_opens_its_own(env, tmp_path):
    log, failed = tmp_path / "log", tmp_path / "failed"
    env.enableCheckpointing(str(tmp_path / "checkpoint"))
    env.getConfig().setElementsPerBatch(KEYS)

    def run():
        stream = env.fromSequence(0, KEYS * BATCHES - 1).map(FailsOnce(log, failed))
        return list(stream.keyBy(itself).reduce(max).executeAndCollect())

    with pytest.raises(UserFunctionError, match="once"):
        run()
    assert counts(log)["close"] == counts(log)["open"]
    assert set(range(KEYS * 3 + 1, KEYS * BATCHES)) <= set(run())
    assert counts(log)["close"] == counts(log)["open"]


def test_two_jobs_of_a_session_do_not_share_what_they_opened(env, tmp_path):
    clients, batches = [], 3
    for name in ("one", "two"):
        stream = numbers(env, batches).keyBy(itself).process(Numbered(tmp_path / name))
        path = tmp_path / f"output-{name}"
        stream.sinkTo(fl.FileSink.forText(str(path)))
        clients.append((name, path, env.executeAsync(name)))
    for name, path, client in clients:
        client.getJobExecutionResult()
        lines = [x for f in path.glob("batch=*/part-*") for x in f.read_text().splitlines()]
        assert len(lines) == KEYS * batches
        # The other job may keep workers busy when this one ends, and they are not visited then.
        assert 0 < counts(tmp_path / name)["close"] <= counts(tmp_path / name)["open"]
