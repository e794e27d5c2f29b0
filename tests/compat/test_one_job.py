"""Operators of Storm, StreamInsight, Atlas and Stream Analytics in one job, in several batches: all in local execution,
and some of each system on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from flinkish import DataStream, DeadLetterReason, StreamExecutionEnvironment
from flinkish.compat.atlas import pipeline
from flinkish.compat.storm import Duration, setBolt
from flinkish.compat.stream_analytics import query
from tests.compat.atlas import test_window_stages as atlas
from tests.compat.atlas.example import LATENESS, WATERMARKS, at
from tests.compat.atlas.pipelines import EXAMPLES
from tests.compat.atlas.running import bare
from tests.compat.storm import test_builder as builder
from tests.compat.storm import test_topology as storm
from tests.compat.storm.example import FIRST, FIRST_WINDOWS, SECOND, SECOND_WINDOWS, example_bolt
from tests.compat.storm.example import at as of_day
from tests.compat.stream_analytics.queries import CARS, CASES, rows
from tests.compat.streaminsight import test_cep_stream as cep_stream
from tests.compat.streaminsight import test_increments as streaminsight


class Branch(NamedTuple):
    """A part of the job, and what it puts out."""

    name: str
    stream: DataStream[Any]
    expected: list[Any]
    ordered: bool = True


def of_storm(env: StreamExecutionEnvironment) -> Iterator[Branch]:
    tuples = env.fromCollection(storm.ROWS)
    for number, (configure, windows) in enumerate(storm.FORMS):
        yield Branch(f"storm {number}", storm.of_form(configure, tuples), windows)
    # With an interval of 1 ms each batch computes a watermark, but for the first
    bolt = example_bolt().withWatermarkInterval(Duration.of(1))
    late = ("late", of_day(6, 0, 2))
    example = setBolt(bolt, env.fromCollection([*FIRST, *SECOND, late]))
    last = [
        (of_day(8, 0, 20), of_day(8, 0, 40), ["e7", "e8", "e9", "e10"]),
        (of_day(8, 0, 30), of_day(8, 0, 50), ["e10"]),
    ]
    yield Branch("storm: the example", example, [*FIRST_WINDOWS, *SECOND_WINDOWS, *last])
    yield Branch("storm: late tuples", example.getSideOutput(storm.LATE), [late])
    words = builder.counted(env.fromCollection(builder.SENTENCES))
    yield Branch("storm: word count", words, builder.COUNTS, ordered=False)


def of_atlas(env: StreamExecutionEnvironment) -> Iterator[Branch]:
    for lengths, events, windows in atlas.HOPPING:
        hopping = atlas.hopping(env.fromCollection(events), *lengths)
        yield Branch(f"atlas {lengths}", hopping, windows)
    arrivals = env.fromCollection([at(arrival.event) for arrival in WATERMARKS])
    plain = atlas.five_minutes(arrivals).results
    yield Branch("atlas: plain", plain, [(0, 5, [0, 0, 1, 3, 2, 1, 4]), (5, 10, [5, 6, 6])])
    times = [*(event for event, _, _ in LATENESS), 8, 9, 4]
    stage = atlas.TestAllowedLateness().stage(env.fromCollection(list(map(at, times))))
    closed = [(0, 5, [0, 1, 3, 2, 4, 1, 4]), (5, 10, [5, 6, 7, 8, 9])]
    yield Branch("atlas: allowed lateness", stage.results, closed)
    letters = stage.deadLetterQueue.map(lambda letter: (letter.value, letter.reason))
    yield Branch("atlas: dead letters", letters, [(at(4), DeadLetterReason.LATE)])
    [example] = (
        e for e in EXAMPLES if e.name == "a group that cannot take a document, in a window"
    )
    made = pipeline(
        example.text, {"in": env.fromCollection(example.documents)}, deadLetterQueue=True
    )
    yield Branch("atlas: a pipeline", made.results.map(bare), example.results)
    failures = made.deadLetterQueue.map(lambda letter: (bare(letter["doc"]), letter["stage"]))
    yield Branch("atlas: its dead letters", failures, example.failed, ordered=False)


def of_streaminsight(env: StreamExecutionEnvironment) -> Iterator[Branch]:
    lifetime = streaminsight.lifetime
    points = env.fromCollection(streaminsight.POINTS)
    hopping = streaminsight.hopping(points).map(lifetime)
    yield Branch("streaminsight: hopping", hopping, streaminsight.HOPPING)
    numbers = env.fromCollection(streaminsight.NUMBERS)
    sums = streaminsight.sums_of_sums(numbers).map(lifetime)
    yield Branch("streaminsight: tumbling twice", sums, streaminsight.SUMS)
    intervals = env.fromCollection(streaminsight.LIFETIMES)
    snapshots, counted = streaminsight.snapshots_and_counts(intervals)
    yield Branch("streaminsight: snapshots", snapshots.map(lifetime), streaminsight.SNAPSHOTS)
    yield Branch("streaminsight: counts", counted, streaminsight.COUNTED)
    joined = streaminsight.of_one_source(env.fromCollection(streaminsight.REFERENCES))
    pairs = joined.map(lambda event: event.payload)
    yield Branch("streaminsight: a join", pairs, streaminsight.PAIRS)
    named = cep_stream.windows_of_named(env.fromCollection(cep_stream.EVENTS))
    yield Branch("streaminsight: a named stream", named, cep_stream.WINDOWS)


def of_stream_analytics(env: StreamExecutionEnvironment) -> Iterator[Branch]:
    """Windows, analytic functions and a join."""
    sql = """
        SELECT Make, COUNT(*) AS n INTO Counts FROM Input TIMESTAMP BY Time
        GROUP BY Make, TumblingWindow(second, 10)
        SELECT Plate, LAG(Plate) OVER (LIMIT DURATION(minute, 1)) AS before INTO Lags
        FROM Input TIMESTAMP BY Time"""
    outputs = query(sql, {"Input": env.fromCollection(CARS)}).outputs
    plates = [car["Plate"] for car in CARS]
    results = {
        "Counts": rows("Make n", "Honda 1", "Toyota 2", "Honda 1", "Ford 1"),
        "Lags": [{"Plate": p, "before": b} for p, b in zip(plates, [None, *plates])],
    }
    case = CASES["what does not follow"]
    inputs = {name: env.fromCollection(list(found)) for name, found in case.inputs.items()}
    outputs = {**outputs, **query(case.sql, inputs).outputs}
    for name, expected in {**results, **case.outputs}.items():
        found = outputs[name].map(lambda row: row.asDict())
        yield Branch(f"analytics: {name}", found, list(expected), ordered=name == "Lags")


def check(env: StreamExecutionEnvironment, chosen: set[str] | None = None) -> None:
    """All branches of a job on ``env``, or those that are chosen, put out what they should."""
    env.setParallelism(1).setMaxParallelism(2)
    env.getConfig().setElementsPerBatch(5)
    parts = (of_storm, of_atlas, of_streaminsight, of_stream_analytics)
    branches = {branch.name: branch for part in parts for branch in part(env)}
    branches = {name: branches[name] for name in chosen or branches}
    seen: dict[str, list[Any]] = {name: [] for name in branches}
    for name, branch in branches.items():
        branch.stream.forEachBatch(lambda found, batch, into=seen[name]: into.extend(found))  # type: ignore[misc]
    env.execute("windows")
    for name, branch in branches.items():
        if branch.ordered:
            assert seen[name] == branch.expected, name
        else:
            assert sorted(map(repr, seen[name])) == sorted(map(repr, branch.expected)), name


def test_all_in_local_execution() -> None:
    check(StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution())


def test_some_of_each_system_on_spark(env: StreamExecutionEnvironment) -> None:
    check(
        env,
        {
            "storm: the example",
            "storm: late tuples",
            "storm: word count",
            "atlas: allowed lateness",
            "atlas: dead letters",
            "atlas: a pipeline",
            "atlas: its dead letters",
            "streaminsight: tumbling twice",
            "streaminsight: a join",
            "analytics: Counts",
            "analytics: Lags",
            "analytics: Missing",
        },
    )
