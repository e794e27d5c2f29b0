"""A job whose graph has changed since its savepoint: the lines of the table in docs/savepoints.md.

What changes in an operator is in ``tests/campaign/test_changed_jobs.py``.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, field, make_dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import flinkish as fl
from tests.savepoint_jobs import BY_TIME, stop_held

COUNT = 60


class Sums(fl.KeyedProcessFunction):
    """Running sums in a state of that name."""

    def __init__(self, more=(), name="sum", type_=None):
        self.more, self.name, self.type = more, name, type_

    def open(self, context):
        runtime = self.getRuntimeContext()
        self.sum = runtime.getState(fl.ValueStateDescriptor(self.name, self.type))
        self.others = [runtime.getState(fl.ValueStateDescriptor(name)) for name in self.more]

    def processElement(self, value, context, out):
        total = (self.sum.value() or 0) + value
        self.sum.update(total)
        for other in self.others:
            other.update((other.value() or 0) + 1)
        out.collect((value, total, *(other.value() for other in self.others)))


def sums(keyed, uid="sums", **settings):
    return keyed.process(Sums(**settings)).uid(uid)


def by_three(stream):
    return stream.keyBy(lambda e: e % 3)


@dataclass
class Job:
    """A run of a job in local execution, by the savepoint that it begins from and leaves."""

    directory: Path
    results: list[Any] = field(default_factory=list)

    def env(self, parallelism=2, **options):
        env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
        env.setParallelism(parallelism).getConfig().setElementsPerBatch(6)
        if self.directory.exists():
            env.setSavepoint(str(self.directory), **options)
        return env

    def numbers(self, env, uid="numbers"):
        return env.fromSequence(0, COUNT - 1).uid(uid).assignTimestampsAndWatermarks(BY_TIME)

    def stop(self, env, stream):
        """Run to a savepoint after the first batch."""
        reached, goOn = threading.Event(), threading.Event()

        def collect(values, batch):
            self.results.extend(values)
            reached.set()
            goOn.wait(60)

        stream.forEachBatch(collect)
        stop_held(env.executeAsync(), reached, goOn, str(self.directory))
        assert self.results
        return len(self.results)

    def run(self, env, stream):
        """Run to the end, and return what came out."""
        results = []
        stream.forEachBatch(lambda values, batch: results.extend(values))
        env.execute()
        return results


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path / "savepoint")


@pytest.fixture
def begun(job):
    """A job of running sums, stopped with a savepoint."""
    env = job.env()
    job.stop(env, sums(by_three(job.numbers(env))))
    assert len(job.results) < COUNT
    return job


def last_sums(results):
    """The last and so the highest sums by remainder, of elements that begin (number, sum)."""
    return {r: max(total for n, total, *_ in results if n % 3 == r) for r in range(3)}


WHOLE = {r: sum(range(r, COUNT, 3)) for r in range(3)}


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(
            lambda n: sums(by_three(n.map(lambda v: v).filter(lambda v: True))),
            id="a new operator without state",
        ),
        pytest.param(
            lambda n: sums(by_three(n)).keyBy(lambda e: e[0]).process(Sums0()).uid("behind"),
            id="a new keyed operator behind",
        ),
        pytest.param(
            lambda n: sums(by_three(n.keyBy(lambda v: v % 4).process(Same()).uid("before"))),
            id="a new keyed operator before",
        ),
        pytest.param(lambda n: sums(by_three(n)).setParallelism(1), id="one operator as one task"),
    ],
)
def test_state_goes_on(begun, changed):
    env = begun.env(parallelism=3)
    after = begun.run(env, changed(begun.numbers(env)))
    assert len(begun.results) + len(after) == COUNT
    assert last_sums(after) == WHOLE


class Same(fl.KeyedProcessFunction):
    """Hands elements on."""

    def processElement(self, value, context, out):
        out.collect(value)


class Sums0(fl.KeyedProcessFunction):
    """Hands elements on, and counts them."""

    def open(self, context):
        self.count = self.getRuntimeContext().getState(fl.ValueStateDescriptor("count"))

    def processElement(self, value, context, out):
        self.count.update((self.count.value() or 0) + 1)
        out.collect(value)


@pytest.mark.parametrize("parallelism", [1, 2, 5])
@pytest.mark.parametrize("maxParallelism", [5, 64])
def test_parallelism_and_key_groups_may_be_others(begun, parallelism, maxParallelism):
    env = begun.env(parallelism).setMaxParallelism(maxParallelism)
    assert last_sums(begun.run(env, sums(by_three(begun.numbers(env))))) == WHOLE


def test_an_operator_with_state_may_be_removed_only_where_that_is_allowed(begun):
    env = begun.env()
    with pytest.raises(
        fl.IncompatibleCheckpointError, match=r"'KeyedProcess' \(sums\) with 3 entr"
    ):
        begun.run(env, begun.numbers(env))
    env = begun.env(allowNonRestoredState=True)
    after = begun.run(env, begun.numbers(env))
    assert sorted(after) == list(range(len(begun.results), COUNT))


def test_an_operator_whose_key_is_gone_is_refused(begun):
    env = begun.env()
    with pytest.raises(fl.IncompatibleCheckpointError, match=r"\(sums\) kept .* would keep none"):
        begun.run(env, begun.numbers(env).map(lambda n: n).uid("sums"))


def test_a_source_may_be_removed_only_where_that_is_allowed(begun):
    env = begun.env()
    with pytest.raises(
        fl.IncompatibleCheckpointError, match=r"source .* \(numbers\) with its position"
    ):
        begun.run(env, sums(by_three(begun.numbers(env, "others"))))
    env = begun.env(allowNonRestoredState=True)
    after = begun.run(env, sums(by_three(begun.numbers(env, "others"))))
    assert len(after) == COUNT


def test_a_uid_of_a_source_that_an_operator_has_now_is_no_source(begun):
    """It would read its input again from the beginning."""
    env = begun.env()
    numbers = env.fromSource(fl.NumberSequenceSource(0, COUNT - 1), BY_TIME, "s").uid("numbers")
    with pytest.raises(
        fl.IncompatibleCheckpointError,
        match=r"\(numbers\) with its position is gone, as 'Timestamps/Watermarks' has that uid now: .*"
        r"fromSource\(source\)\.uid\('numbers'\)\.assign",
    ):
        begun.run(env, sums(by_three(numbers)))


def test_a_source_of_another_kind_is_refused(begun):
    env = begun.env()
    other = env.fromCollection(range(COUNT)).uid("numbers").assignTimestampsAndWatermarks(BY_TIME)
    with pytest.raises(
        fl.IncompatibleCheckpointError, match="was a SequenceSource and is a CollectionSource"
    ):
        begun.run(env, sums(by_three(other)))


def test_a_new_state_is_empty_and_one_not_asked_for_is_kept(begun):
    env = begun.env()
    after = begun.run(env, sums(by_three(begun.numbers(env)), more=("count",)))
    assert last_sums(after) == WHOLE
    assert sorted(after)[0][2] == 1
    env = begun.env()
    renamed = begun.run(env, sums(by_three(begun.numbers(env)), name="other"))
    first = sorted(renamed)[0]
    assert first[0] == first[1]


def test_integers_become_floats_and_other_types_are_refused(job):
    env = job.env()
    job.stop(env, sums(by_three(job.numbers(env)), type_=fl.Types.LONG()))
    env = job.env()
    after = job.run(env, sums(by_three(job.numbers(env)), type_=fl.Types.DOUBLE()))
    assert last_sums(after) == WHOLE
    env = job.env()
    with pytest.raises(
        fl.IncompatibleCheckpointError,
        match=r"'sum' has values of the type Long .* the type String",
    ):
        job.run(env, sums(by_three(job.numbers(env)), type_=fl.Types.STRING()))


def test_a_dataclass_may_get_a_field_with_a_default(job, monkeypatch):
    here = sys.modules[__name__]
    before = make_dataclass("Kept", ["total"], namespace={"__module__": __name__})
    monkeypatch.setattr(here, "Kept", before)
    env = job.env()
    job.stop(env, by_three(job.numbers(env)).process(KeepsObjects()).uid("kept"))
    after = make_dataclass(
        "Kept", ["total", ("note", str, "none")], namespace={"__module__": __name__}
    )
    monkeypatch.setattr(here, "Kept", after)
    env = job.env()
    results = job.run(env, by_three(job.numbers(env)).process(KeepsObjects()).uid("kept"))
    assert last_sums(results) == WHOLE
    assert {note for *_, note in results} == {"none"}


Kept: Any = None
"""The class of the objects, which a test sets."""


class KeepsObjects(fl.KeyedProcessFunction):
    """Keeps objects of the class ``Kept`` of this module."""

    def open(self, context):
        self.kept = self.getRuntimeContext().getState(fl.ValueStateDescriptor("kept"))

    def processElement(self, value, context, out):
        kept = self.kept.value() or Kept(0)
        kept.total += value
        self.kept.update(kept)
        out.collect((value, kept.total, getattr(kept, "note", None)))


def test_lists_of_operator_state_are_dealt_out_and_joined_again(job):
    def listed(env):
        return job.numbers(env).keyBy(lambda n: n).process(Listed()).uid("listed")

    env = job.env(1)
    seen = job.stop(env, listed(env))
    env = job.env(4).setMaxParallelism(4)
    job.directory = job.directory.with_name("second")
    job.stop(env, listed(env))
    restored = [numbers for kind, numbers in job.results if kind == "restored"]
    # Each element is in one of four lists, and in one after
    assert len(restored) == 4
    assert sorted(chain(*restored)) == list(range(seen))
    again = dict(job.run((env := job.env(1)), listed(env)))["restored"]
    assert len(again) == len(set(again)) >= seen


class Listed(fl.KeyedProcessFunction, fl.CheckpointedFunction):
    """Keeps what it saw in a list of operator state, and tells what was restored."""

    def initializeState(self, context):
        store = context.getOperatorStateStore()
        self.list = store.getListState(fl.ListStateDescriptor("seen"))
        self.restored = list(self.list.get()) if context.isRestored() else None
        self.seen = list(self.restored or ())

    def snapshotState(self, context):
        self.list.update(self.seen)

    def processElement(self, value, context, out):
        if self.restored is not None:
            out.collect(("restored", self.restored))
            self.restored = None
        self.seen.append(value)
        out.collect(("seen", [value]))
