"""On Spark, state follows its function when the job is changed, and is given to no other."""

from __future__ import annotations

import json
import threading

import pytest

import flinkish as fl
from flinkish.api.errors import IncompatibleCheckpointError
from tests.campaign import test_changed_jobs as campaign
from tests.campaign.changed_jobs import cell


class Counter(fl.KeyedProcessFunction):
    def open(self, openContext):
        self.kept = self.getRuntimeContext().getState(fl.ValueStateDescriptor("kept", int, 0))

    def changed(self, kept, value):
        return kept + 1

    def processElement(self, value, ctx, out):
        self.kept.update(self.changed(self.kept.value(), value))
        out.collect((type(self).__name__, self.kept.value()))


class Sum(Counter):
    def changed(self, kept, value):
        return kept + value


class Latest(Counter):
    def changed(self, kept, value):
        return value


class InMap(fl.KeyedProcessFunction):
    def open(self, openContext):
        self.kept = self.getRuntimeContext().getMapState(fl.MapStateDescriptor("kept"))

    def processElement(self, value, ctx, out):
        self.kept.put(value, value)


def run(env, tmp_path, functions, value):
    """One run of the job over a file with ``value``: what each function gives last."""
    directory = tmp_path / "input"
    directory.mkdir(exist_ok=True)
    (directory / f"{len(list(directory.iterdir()))}.txt").write_text(f"{value}\n")
    env.enableCheckpointing(str(tmp_path / "checkpoint"))
    seen = []
    keyed = env.fromSource(fl.FileSource.forLines(str(directory))).map(int).keyBy(lambda value: 0)
    results = [
        keyed.process(function).uid(uid) if uid else keyed.process(function)
        for uid, function in functions
    ]
    results[0].union(*results[1:]).forEachBatch(lambda values, batch: seen.extend(values))
    env.execute()
    return dict(seen)


@pytest.mark.recovery
@pytest.mark.slow("runs four jobs")
def test_swapped_and_inserted_definitions_and_a_state_of_another_kind(env, tmp_path):
    """The case of the issue: swapped, a counter went on with a sum (501)."""
    run(env, tmp_path, [(None, Counter()), (None, Sum())], 500)
    plan = json.loads((tmp_path / "checkpoint" / "plan" / "text").read_text())
    states = {node["function"]: node["states"] for node in plan["nodes"].values()}
    assert states[f"{__name__}.Counter"] == [["kept", "ValueState", "Long"]]
    swapped = run(env, tmp_path, [(None, Sum()), (None, Counter())], 1)
    assert swapped == {"Counter": 2, "Sum": 501}
    inserted = run(env, tmp_path, [(None, Latest()), (None, Sum()), (None, Counter())], 7)
    assert inserted == {"Latest": 7, "Counter": 3, "Sum": 508}
    uid = next(u for u, n in plan["nodes"].items() if n["function"].endswith("Counter"))
    with pytest.raises(
        IncompatibleCheckpointError,
        match="the state 'kept' was a ValueState in the checkpoint and is a MapState now",
    ):
        run(env, tmp_path, [(None, Latest()), (None, Sum()), (uid, InMap())], 1)


@pytest.mark.recovery
@pytest.mark.rotating("tests/graph/test_identities.py has it without Spark")
def test_lambdas_that_cannot_be_told_apart_are_refused(env, tmp_path):
    def plus(number):
        return lambda value, ctx, out: out.collect((f"plus {number}", value + number))

    def pair(*numbers):
        return [(None, plus(number)) for number in numbers]

    assert run(env, tmp_path, pair(1, 2), 10) == {"plus 1": 11, "plus 2": 12}
    assert run(env, tmp_path, pair(3, 2), 10) == {"plus 3": 13, "plus 2": 12}
    with pytest.raises(IncompatibleCheckpointError) as raised:
        run(env, tmp_path, pair(4, 5), 10)
    plan = json.loads((tmp_path / "checkpoint" / "plan" / "text").read_text())
    for uid, node in plan["nodes"].items():
        if node["function"] == "<lambda>":
            assert f"uid({uid!r})" in str(raised.value)


CELLS = [
    ("ValueState", "function renamed"),
    *(
        pytest.param(*names, marks=pytest.mark.rotating("another change of seven"))
        for names in (
            ("tumbling, sum", "a column more"),
            ("session, reduce(+)", "like function"),
            ("sliding, apply", "evictor added"),
            ("tumbling, aggregate(mean)", "other state"),
            ("broadcast state", "tracing off"),
            ("join within 100", "narrower"),
        )
    ),
]
"""The changes of docs/changes.md that are tried on Spark too."""


@pytest.mark.recovery
@pytest.mark.slow("stops a job and goes on with another, twice each")
@pytest.mark.parametrize(("name", "change"), CELLS)
def test_a_changed_job_goes_on_or_is_refused_as_the_page_says(name, change, spark, tmp_path):
    """From the checkpoint in its directory, and from a savepoint."""
    found = cell(campaign.JOBS[name], change)
    assert found is not None
    before, after = found

    def environment(pieces, checkpoint):
        env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
        env.setParallelism(2).setMaxParallelism(4).enableCheckpointing(str(checkpoint))
        if not pieces.tracing:
            env.getConfig().disableFunctionTracing()
        return env

    campaign.write_numbers(tmp_path / "numbers", campaign.CUT)
    env, reached = environment(before, tmp_path / "checkpoint"), threading.Event()
    given = campaign.build(env, before, tmp_path, reached)
    client = env.executeAsync()
    assert reached.wait(60)
    savepoint = client.stopWithSavepoint(str(tmp_path / "savepoint"))
    outcomes = []
    for checkpoint in ("checkpoint", "of the savepoint"):
        env = environment(after, tmp_path / checkpoint)
        if checkpoint != "checkpoint":
            env.setSavepoint(savepoint)
        later = campaign.build(env, after, tmp_path, None)
        try:
            env.execute()
        except IncompatibleCheckpointError as error:
            outcomes.append(campaign.named(error))
        else:
            outcomes.append(campaign.compared(given + later, before, after))
    assert outcomes == [campaign.told()[name][change]] * 2
