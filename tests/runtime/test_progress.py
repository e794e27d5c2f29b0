"""The driver's evaluation of the reports: which input holds an operator back and since when, and the work of vertices
and edges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.api.errors import hide_elements
from flinkish.api.time.elements import MIN_TIMESTAMP
from flinkish.runtime.metrics_totals import MetricsTotals
from flinkish.runtime.progress import InputWatermarks, lowest
from flinkish.runtime.reports import InputReport, split_name
from tests.runtime.micro_batches import MicroBatches

AT = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda e, t: e[1])


def gate(name, watermark, idle=False):
    return InputReport(name, False, watermark, idle)


def test_the_input_that_holds_others_back_is_the_lowest_and_since_when_it_stands_is_known():
    inputs = InputWatermarks()
    inputs.update("join", [(gate("left", 10), gate("right", 5))], now=1_000)
    inputs.update("join", [(gate("left", 20), gate("right", 5))], now=2_000)
    held = lowest(inputs.of("join"))
    assert held is not None
    assert (held.name, held.watermark, held.since) == ("right", 5, 1_000)
    assert [(read.name, read.since) for read in inputs.of("join")] == [
        ("right", 1_000),
        ("left", 2_000),
    ]


def test_an_idle_input_holds_nothing_back_and_says_since_when_it_is_idle():
    inputs = InputWatermarks()
    inputs.update("join", [(gate("left", 10), gate("right", 5))], now=1_000)
    for now in (2_000, 3_000):
        inputs.update("join", [(gate("left", 10), gate("right", 5, idle=True))], now)
    assert [(read.name, read.idle, read.since) for read in inputs.of("join")] == [
        ("left", False, 1_000),
        ("right", True, 2_000),
    ]
    held = lowest(inputs.of("join"))
    assert held is not None
    assert held.name == "left"
    inputs.update("join", [(gate("left", 10, idle=True), gate("right", 5, idle=True))], now=4_000)
    assert lowest(inputs.of("join")) is None


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), min_size=1, max_size=6))
def test_over_key_groups_an_input_is_as_far_as_the_slowest_that_is_not_idle(groups):
    inputs = InputWatermarks()
    inputs.update("sum", [(gate("in", watermark, idle),) for watermark, idle in groups], now=7)
    (read,) = inputs.of("sum")
    active = [watermark for watermark, idle in groups if not idle]
    assert read.idle == (not active)
    assert read.watermark == min(active or [watermark for watermark, _ in groups])


def test_edges_vertices_and_key_groups_count_what_goes_over_them():
    job = MicroBatches(
        lambda s: s.map(lambda e: e).keyBy(lambda e: e[0]).reduce(lambda a, b: a).map(str),
        keyGroups=4,
    )
    keys = [f"k{n}" for n in range(40)]
    job.process([[((key, n), n) for n, key in enumerate(keys)]])
    loads = job.metrics.loads
    source, reduced = (v for v in job.graph.vertices if not v.head.isSink)
    (into,) = [loads.edges[reduced.uid, edge.name] for edge in reduced.inputs]
    (out,) = [loads.edges[edge.target.uid, edge.name] for edge in reduced.outputs]
    assert (into, out) == (40, 40)
    assert sum(loads.keyGroups[reduced.uid].values()) == 40
    assert loads.vertices[source.uid].lastRecords == 40
    assert loads.vertices[reduced.uid].skew == max(loads.keyGroups[reduced.uid].values()) / 10
    assert loads.vertices[reduced.uid].lastBusyNanoseconds > 0
    assert source.uid not in loads.keyGroups
    metrics = job.metrics.metrics()[source.head.name]
    assert (metrics.numRecordsIn, metrics.numRecordsOut) == (0, 40)


def test_the_highest_timestamp_of_an_edge_and_when_an_element_last_came(monkeypatch):
    """An element that a filter drops has come nevertheless."""
    job = MicroBatches(
        lambda s: (
            s.assignTimestampsAndWatermarks(AT)
            .filter(lambda e: e[0] == "a")
            .keyBy(lambda e: e[0])
            .reduce(max)
        ),
        keyGroups=2,
    )
    source, reduced = (v for v in job.graph.vertices if not v.head.isSink)
    (edge,) = reduced.inputs

    def seen(now, *slices):
        monkeypatch.setattr(
            job.metrics, "endBatch", lambda: MetricsTotals.endBatch(job.metrics, now)
        )
        job.process([[(element, None) for element in part] for part in slices])
        highest = job.metrics.loads.lastTimestamps.get((reduced.uid, edge.name))
        return highest, job.metrics.lastEmitted[source.nodes[1].uid, source.uid]

    assert seen(1_000, [("a", 700), ("b", 900)], [("a", 40)]) == (700, 1_000)
    assert seen(2_000, [("b", 1_000)]) == (700, 2_000)
    assert seen(3_000) == (700, 2_000)
    assert seen(4_000, [("a", 800)]) == (800, 4_000)


def test_one_key_takes_all_and_the_skew_says_so():
    job = MicroBatches(lambda s: s.keyBy(lambda e: e[0]).reduce(lambda a, b: a), keyGroups=4)
    job.process([[((key, 0), 0) for key in [*map(str, range(8)), *["hot"] * 92]]])
    (reduced,) = (uid for uid in job.metrics.loads.keyGroups)
    assert job.metrics.loads.vertices[reduced].skew > 3


def test_the_watermark_of_a_source_is_that_of_the_partition_that_is_furthest():
    job = MicroBatches(
        lambda s: s.assignTimestampsAndWatermarks(AT).keyBy(lambda e: e[0]).reduce(max),
        keyGroups=1,
    )
    job.process([[(("a", 500), None)], [(("b", 20), None)]])
    job.process([[(("a", 30), None)]])
    (assigner,) = (m for m in job.metrics.metrics().values() if m.name == "Timestamps/Watermarks")
    assert assigner.currentWatermark == 499


def test_elements_that_are_hidden_hide_the_splits_that_are_made_of_them():
    try:
        hide_elements(True)
        assert split_name("ada@example.org", 4) == "split 5 (hidden)"
    finally:
        hide_elements(False)
    assert split_name("ada@example.org", 4) == "ada@example.org"
    assert len(split_name("x" * 1_000, 0)) == 103


def test_before_the_first_watermark_there_is_none():
    inputs = InputWatermarks()
    inputs.update("sum", [(gate("in", MIN_TIMESTAMP),)], now=1)
    inputs.update("map", [()], now=1)
    assert inputs.of("map") == inputs.of("nowhere") == []
    assert inputs.of("sum")[0].watermark == MIN_TIMESTAMP


@pytest.mark.parametrize("columns", [False, True])
def test_the_last_timestamp_of_a_split_and_when_an_element_last_came(monkeypatch, columns):
    """A key group without elements in a batch still has the report of its last one."""
    strategy: fl.ArrivalTimeStrategy[fl.Row] = fl.ArrivalTimeStrategy(
        timestampAssigner=lambda row, _: row.at,
        lateArrivalTolerance=None,
        inputPartition=lambda row: row.name,
    )
    job = MicroBatches(
        lambda s: s.assignTimestampsAndWatermarks(strategy).keyBy(lambda row: row.name).reduce(max),
        keyGroups=4,
        columns=columns,
    )
    (assigner,) = (v.uid for v in job.graph.vertices if v.level == 1)

    def seen(now, *elements):
        monkeypatch.setattr(
            job.metrics, "endBatch", lambda: MetricsTotals.endBatch(job.metrics, now)
        )
        job.process([[(fl.Row(name=name, at=at), None) for name, at in elements]])
        splits = [read for read in job.metrics.inputs.of(assigner) if read.isSplit]
        return {read.name: (read.lastTimestamp, read.lastElement) for read in splits}

    assert seen(1_000, ("a", 700), ("b", 900), ("a", 40)) == {"a": (700, 1_000), "b": (900, 1_000)}
    assert seen(2_000, ("b", 800)) == {"a": (700, 1_000), "b": (900, 2_000)}
    assert seen(3_000, ("a", 750)) == {"a": (750, 3_000), "b": (900, 2_000)}
