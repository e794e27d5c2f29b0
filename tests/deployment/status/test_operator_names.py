"""Operators with the same name are distinguished in the details of a job."""

from __future__ import annotations

import flinkish as fl


def details(*ends):
    (env,) = {
        id(end.getExecutionEnvironment()): end.getExecutionEnvironment() for end in ends
    }.values()
    for end in ends:
        end.forEachBatch(lambda values, batchId: None)
    client = env.executeAsync("names")
    client.getJobExecutionResult()
    return client.getJobDetails()


def environment():
    return fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()


def timed(env, name):
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda e, t: e)
    source = fl.DataGeneratorSource(lambda n: n, count=3)
    return env.fromSource(source, strategy, name)


def names_of(job):
    return [operator.metrics.name for operator in job.operators.values()]


def test_strategies_are_named_after_their_sources():
    env = environment()
    both = timed(env, "clicks").union(timed(env, "prices"))
    job = details(both.keyBy(lambda n: n).reduce(max).name("highest"))
    assert {
        "Timestamps/Watermarks (Source: clicks)",
        "Timestamps/Watermarks (Source: prices)",
        "highest",
    } <= set(names_of(job))
    (highest,) = (o for o in job.operators.values() if o.metrics.name == "highest")
    assert {read.name for read in highest.inputs} == {"Source: clicks", "Source: prices"}


def test_sources_of_one_name_are_numbered():
    env = environment()
    both = timed(env, "clicks").union(timed(env, "clicks"))
    job = details(both.keyBy(lambda n: n).reduce(max))
    names = names_of(job)
    assert len(names) == len(set(names))
    assert {"Source: clicks", "Source: clicks#2"} <= set(names)
    assert "Timestamps/Watermarks (Source: clicks#2)" in names
    (held,) = (o for o in job.operators.values() if o.inputs)
    assert {read.name for read in held.inputs} == {"Source: clicks", "Source: clicks#2"}


def test_one_name_in_one_vertex_is_numbered_too():
    env = environment()
    names = names_of(details(env.fromData(1).map(str).map(len)))
    assert names[1:] == ["Map (Source: Collection Source)", "Map (Source: Collection Source)#2"]


def test_names_of_their_own_stay():
    env = environment()
    one = timed(env, "clicks").keyBy(lambda n: n).reduce(max).name("highest")
    job = details(one.map(str).name("shown"))
    assert names_of(job) == ["Source: clicks", "Timestamps/Watermarks", "highest", "shown"]
    assert job.vertices[0].name == "Source: clicks -> Timestamps/Watermarks"
