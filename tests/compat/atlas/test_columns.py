"""A ``$group`` over the columns of a table gives what it gives document by document."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flinkish import FileSource, StreamExecutionEnvironment, WatermarkStrategy
from flinkish.compat import atlas
from flinkish.compat.atlas.extended_json import line
from tests.compat.atlas.running import bare

SCHEMA = "at long, device string, watts int, group int, ratio double, total long"
BASE = 1_709_294_400_000
"""2024-03-01 12:00, in ms."""

rows = st.fixed_dictionaries(
    {
        "at": st.one_of(st.integers(BASE, BASE + 40_000), st.sampled_from([None, 7, -1])),
        "device": st.sampled_from(["a", "b", "", None]),
        "watts": st.one_of(st.none(), st.integers(-(1 << 31), (1 << 31) - 1), st.integers(-3, 3)),
        "group": st.one_of(st.none(), st.integers(0, 2)),
        "ratio": st.one_of(st.none(), st.floats(-2, 2)),
        "total": st.one_of(st.none(), st.integers(-(1 << 63), (1 << 63) - 1)),
    }
)
accumulators = st.sampled_from(
    [
        {"$sum": "$watts"},
        {"$sum": "$total"},
        {"$sum": 1},
        {"$sum": -2},
        {"$count": {}},
        {"$avg": "$watts"},
        {"$min": "$watts"},
        {"$max": "$total"},
    ]
)
identities = st.sampled_from([None, "$device", "$group", {"d": "$device", "g": "$group"}])
matches = st.sampled_from(
    [
        None,
        {"watts": {"$gt": 0}},
        {"device": "a", "watts": {"$lte": 2}},
        {"ratio": {"$gte": -0.5, "$lt": 1}},
        {"group": 1},
    ]
)
stages_behind = st.sampled_from(
    [
        [],
        [{"$match": {"f0": {"$gt": 0}}}],
        [{"$sort": {"f0": -1, "_id": 1}}, {"$limit": 1}],
    ]
)


@st.composite
def pipelines(draw: st.DrawFn) -> list[dict[str, Any]]:
    found = draw(st.lists(accumulators, min_size=1, max_size=3))
    group = {"_id": draw(identities)} | {f"f{i}": field for i, field in enumerate(found)}
    match = draw(matches)
    window: dict[str, Any] = {
        "interval": {"size": 10, "unit": "second"},
        "pipeline": [{"$group": group}, *draw(stages_behind)],
    }
    name = draw(st.sampled_from(["$tumblingWindow", "$hoppingWindow"]))
    if name == "$hoppingWindow":
        window["hopSize"] = {"size": 5, "unit": "second"}
    source = {"$source": {"connectionName": "in", "timeField": {"$toDate": "$at"}}}
    return [source, *([] if match is None else [{"$match": match}]), {name: window}]


def outcome(
    stages: list[dict[str, Any]], documents: list[dict[str, Any]], columns: bool
) -> tuple[list[str], list[str], str]:
    """The results and dead letters as texts, and the plan."""
    env = StreamExecutionEnvironment.getExecutionEnvironment()
    env.setLocalExecution().setParallelism(1)
    with TemporaryDirectory() as directory:
        Path(directory, "rows.json").write_text("".join(json.dumps(d) + "\n" for d in documents))
        files = FileSource.forJson(directory, SCHEMA)
        stream = env.fromSource(files, WatermarkStrategy.noWatermarks(), "rows")
        connection: Any = stream if columns else stream.map(lambda row: row)
        made = atlas.pipeline(stages, {"in": connection}, deadLetterQueue=True)
        results: list[Any] = []
        letters: list[Any] = []
        made.results.forEachBatch(lambda found, batch: results.extend(found))
        made.deadLetterQueue.forEachBatch(lambda found, batch: letters.extend(found))
        plan = env.explain()
        env.execute("group")
    windows = [(line(bare(r), canonical=True), line(r["_stream_meta"])) for r in results]
    failed = [(line(bare(x["doc"])), line(x["errInfo"]), x["stage"]) for x in letters]
    return sorted(map(str, windows)), sorted(map(str, failed)), plan


GROUPED: list[dict[str, Any]] = [
    {"$source": {"connectionName": "in", "timeField": {"$toDate": "$at"}}},
    {
        "$tumblingWindow": {
            "interval": {"size": 10, "unit": "second"},
            "pipeline": [{"$group": {"_id": "$device", "f0": {"$sum": "$watts"}}}],
        }
    },
]
DOCUMENTS = [
    {"at": BASE + at, "device": device, "watts": at, "group": 1, "ratio": 0.5, "total": 1}
    for at, device in enumerate("abab")
]


@pytest.mark.takes_columns("ColumnFold")
@example(GROUPED, DOCUMENTS)
@given(pipelines(), st.lists(rows, min_size=1, max_size=12))
def test_as_document_by_document(
    stages: list[dict[str, Any]], documents: list[dict[str, Any]]
) -> None:
    results, letters, plan = outcome(stages, documents, columns=True)
    expected, failed, plain = outcome(stages, documents, columns=False)
    assert (results, letters) == (expected, failed)
    assert "Documents without a time" in plan
    assert "Documents without a time" not in plain
