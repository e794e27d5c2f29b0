"""``pipeline``: the worked examples of Atlas's document, sinks, options, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from flinkish import (
    DataStream,
    FileSink,
    IllegalArgumentError,
    IllegalStateError,
    InvalidProgramError,
    JobExecutionError,
    Row,
    StreamExecutionEnvironment,
    StreamRecord,
)
from flinkish.compat import atlas
from flinkish.compat.atlas import ObjectId
from flinkish.compat.atlas.bson.values import Timestamp
from flinkish.compat.atlas.expressions.compiler import Place
from flinkish.compat.atlas.sinks import DocumentRecords
from flinkish.testing import StreamTestHarness
from tests.compat.atlas.example import IDLENESS, LATENESS, WATERMARKS, at
from tests.compat.atlas.running import bare, run


def date(minute: int) -> datetime:
    return datetime.fromtimestamp(at(minute) / 1000, UTC)


def windows(size: int, unit: str = "minute", **options: Any) -> list[Any]:
    """A pipeline that gives the minutes of the events of each tumbling window."""
    return [
        {"$source": {"connectionName": "in", "timeField": {"$toDate": {"$toLong": "$at"}}}},
        {
            "$tumblingWindow": {
                "interval": {"size": size, "unit": unit},
                "pipeline": [{"$group": {"_id": None, "events": {"$push": "$minute"}}}],
                **options,
            }
        },
    ]


def event(minute: int) -> dict[str, Any]:
    return {"at": at(minute), "minute": minute}


def closed(harness: StreamTestHarness, seen: int = 0) -> list[tuple[int, list[int]]]:
    """The windows that closed: the start in minutes after 12:00, and the events."""
    return [
        ((r.value["_stream_meta"]["window"]["start"] - date(0)).seconds // 60, r.value["events"])
        for r in harness.getOutput()[seen:]
        if isinstance(r, StreamRecord)
    ]


class TestTheTablesOfTheDocument:
    def harness(self, stages: list[Any], **options: Any) -> StreamTestHarness:
        return StreamTestHarness(lambda s: atlas.pipeline(stages, {"in": s}, **options).results)

    @pytest.mark.parametrize("perDocument", [False, True])
    def test_watermarks(self, perDocument: bool) -> None:
        harness = self.harness(windows(5), watermarkPerDocument=perDocument)
        rows = []
        for row, arrival in enumerate(WATERMARKS):
            harness.setProcessingTime(at(arrival.processed))
            before = len(harness.getOutput())
            harness.processElement(event(arrival.event))
            harness.setProcessingTime(at(arrival.processed) + 1_000)
            rows += [(row, *window) for window in closed(harness, before)]
        harness.endInput()
        assert rows == [(7, 0, [0, 0, 1, 3, 2, 1, 4])]
        assert closed(harness)[1:] == [(5, [5, 6, 6])]

    def test_without_the_watermark(self) -> None:
        harness = self.harness(windows(5, boundary="processingTime"))
        for arrival in WATERMARKS:
            harness.setProcessingTime(at(arrival.processed))
            harness.processElement(event(arrival.event))
        harness.setProcessingTime(at(10))
        assert closed(harness) == [(0, [0, 0, 1, 3]), (5, [2, 1, 4, 5, 6, 6])]

    def test_windows_of_the_clock_that_are_open_at_the_end_are_emitted(self) -> None:
        for window in (
            windows(5, boundary="processingTime")[1],
            {
                "$sessionWindow": {
                    **windows(5, boundary="processingTime")[1]["$tumblingWindow"],
                    "gap": {"size": 5, "unit": "minute"},
                    "partitionBy": "$k",
                }
            },
        ):
            window.get("$sessionWindow", {}).pop("interval", None)
            out = run([windows(5)[0], window], [event(0), event(7)])
            assert [d["events"] for d in out.documents] == [[0, 7]]

    def test_allowed_lateness(self) -> None:
        stages = windows(5, allowedLateness={"size": 2, "unit": "minute"})
        harness = self.harness(stages, watermarkPerDocument=True)
        for row, (minute, _, _) in enumerate(LATENESS):
            harness.processElement(event(minute))
            assert closed(harness) == ([(0, [0, 1, 3, 2, 4, 1, 4])] if row == 9 else [])

    def test_what_comes_after_the_close_is_a_dead_letter(self) -> None:
        stages = windows(5, allowedLateness={"size": 2, "unit": "minute"})
        events = [event(minute) for minute in [*(m for m, _, _ in LATENESS), 4]]
        out = run(stages, events, watermarkPerDocument=True)
        assert [d["events"] for d in out.documents] == [[0, 1, 3, 2, 4, 1, 4], [5, 6, 7]]
        (letter,) = out.deadLetters
        assert letter["doc"] == {**event(4), "_ts": date(4)}
        assert letter["errInfo"] == {"reason": "Input document arrived late."}
        assert letter["operatorName"] == "$tumblingWindow"
        assert letter["stage"] == "stages[1].$tumblingWindow"

    def test_the_watermark_rises_once_a_batch_unless_asked(self) -> None:
        events = [event(0), event(6), event(1)]
        assert run(windows(5), events).failures == []
        assert len(run(windows(5), events, watermarkPerDocument=True).failures) == 1
        assert len(run(windows(5), events, perBatch=2).failures) == 1

    def test_idle_timeout(self) -> None:
        harness = self.harness(windows(3, idleTimeout={"size": 1, "unit": "minute"}))
        rows = []
        for minute, happened, _ in IDLENESS:
            before = len(harness.getOutput())
            if happened is not None:
                harness.setProcessingTime(at(minute) - 1_000)
                harness.processElement(event(happened))
            harness.setProcessingTime(at(minute))
            rows += [(minute, *window) for window in closed(harness, before)]
        assert rows == [(5, 0, [0, 2]), (7, 3, [5])]

    @pytest.mark.parametrize(
        ("interval", "hop", "start", "seconds", "expected"),
        [
            (3, 5, None, [0, 2, 3, 4, 5], {0: [0, 2], 5: [5]}),
            (20, 5, None, [21], {5: [21], 10: [21], 15: [21], 20: [21]}),
            (20, 5, 20, [21, 26], {20: [21, 26], 25: [26]}),
            (20, 5, 18, [21, 26], {18: [21, 26], 23: [26]}),
            (3, 5, 1, [1, 3, 4, 5, 6], {1: [1, 3], 6: [6]}),
        ],
    )
    def test_hopping(
        self,
        interval: int,
        hop: int,
        start: int | None,
        seconds: list[int],
        expected: dict[int, list[int]],
    ) -> None:
        stages = windows(1)
        window = stages[1].pop("$tumblingWindow")
        stages[1]["$hoppingWindow"] = {
            **window,
            "interval": {"size": interval, "unit": "second"},
            "hopSize": {"size": hop, "unit": "second"},
        }
        events = [{"at": at(0) + second * 1_000, "minute": second} for second in seconds]
        startAt = None if start is None else at(0) + start * 1_000
        out = run(stages, events, startAt=startAt)
        found = {
            (d["_stream_meta"]["window"]["start"] - date(0)).seconds: d["events"]
            for d in out.results
        }
        assert found == expected

    def test_before_the_start_is_a_dead_letter(self) -> None:
        out = run(windows(5), [event(0), event(3)], startAt=date(2))
        assert [d["events"] for d in out.documents] == [[3]]
        assert out.deadLetters[0]["errInfo"]["reason"].startswith(
            "Input document is of a time before"
        )
        assert out.results[0]["_stream_meta"]["window"]["start"] == date(2)

    def test_an_offset_of_zero_is_from_the_epoch(self) -> None:
        stages = windows(5, offset={"offsetFromUtc": 0, "unit": "hour"})
        out = run(stages, [event(3), event(6)], startAt=date(2))
        assert [d["_stream_meta"]["window"]["start"] for d in out.results] == [date(5)]


class TestTime:
    def test_without_a_time_field_the_timestamps_of_the_stream_count(self) -> None:
        stages = windows(5)
        del stages[0]["$source"]["timeField"]
        harness = StreamTestHarness(lambda s: atlas.pipeline(stages, {"in": s}).results)
        for minute in (0, 4, 5):
            harness.processElement({"minute": minute}, at(minute))
        harness.setProcessingTime(1_000)
        assert closed(harness) == [(0, [0, 4])]
        harness.endInput()
        assert closed(harness) == [(0, [0, 4]), (5, [5])]

    def test_without_either_it_is_the_time_of_coming_in(self) -> None:
        stages = [
            {"$source": {"connectionName": "in"}},
            {
                "$tumblingWindow": {
                    "interval": {"size": 1, "unit": "day"},
                    "pipeline": [{"$count": "n"}],
                }
            },
        ]
        before = datetime.now(UTC)
        out = run(stages, [{}, {}])
        assert sum(d["n"] for d in out.documents) == 2
        assert all(d["_stream_meta"]["window"]["end"] > before for d in out.results)

    def test_the_clock(self) -> None:
        stages = [
            {"$source": {"connectionName": "in"}},
            {"$project": {"now": "$$NOW", "also": {"$currentDate": {}}}},
        ]
        harness = StreamTestHarness(lambda s: atlas.pipeline(stages, {"in": s}).results)
        harness.setProcessingTime(at(1))
        harness.processElement({}, 0)
        (record,) = (r for r in harness.getOutput() if isinstance(r, StreamRecord))
        assert bare(record.value) == {"now": date(1), "also": date(1)}


@dataclass
class Reading:
    sensor: str
    value: float


@dataclass
class Readings:
    of: dict[str, Reading]


ID = ObjectId("507f1f77bcf86cd799439011")


@pytest.mark.parametrize(
    ("element", "document"),
    [
        ({"a": 1}, {"a": 1}),
        (Row(a=1, b="x"), {"a": 1, "b": "x"}),
        (Reading("s", 1.5), {"sensor": "s", "value": 1.5}),
        (Row(id=ID, times=[Timestamp(1, 2)]), {"id": ID, "times": [Timestamp(1, 2)]}),
        (Readings({"s": Reading("s", 1.5)}), {"of": {"s": {"sensor": "s", "value": 1.5}}}),
        ('{"a": {"$numberLong": "5"}}', {"a": 5}),
        (b'{"a": 1}', {"a": 1}),
    ],
)
def test_what_elements_may_be(element: Any, document: dict[str, Any]) -> None:
    out = run([{"$source": {"connectionName": "in"}}], [element])
    assert out.documents == [document]
    assert out.results[0]["_stream_meta"] == {"source": {"type": "generated"}}


def test_an_element_that_is_no_document_is_a_dead_letter() -> None:
    out = run([{"$source": {"connectionName": "in"}}], [5, {"a": 1}])
    assert out.documents == [{"a": 1}]
    assert out.deadLetters[0]["doc"] == 5
    assert "a int is no document" in out.deadLetters[0]["errInfo"]["reason"]


def test_without_a_queue_failures_are_counted() -> None:
    stages = [{"$source": {"connectionName": "in"}}, {"$set": {"x": {"$divide": [1, "$n"]}}}]
    env = StreamExecutionEnvironment.getExecutionEnvironment()
    env.setLocalExecution()
    pipeline = atlas.pipeline(stages, {"in": env.fromCollection([{"n": 0}, {"n": 1}])})
    assert [bare(d) for d in pipeline.results.executeAndCollect()] == [{"n": 1, "x": 1.0}]
    with pytest.raises(IllegalStateError, match="Pass deadLetterQueue=True"):
        _ = pipeline.deadLetterQueue


def test_documents_of_the_source_stage_itself() -> None:
    env = StreamExecutionEnvironment.getExecutionEnvironment()
    env.setLocalExecution()
    stages = "[{$source: {documents: [{a: 1}, {a: 2}]}}, {$match: {a: {$gt: 1}}}]"
    pipeline = atlas.pipeline(stages, {"other": env.fromCollection([{"a": 3}])})
    assert [bare(d) for d in pipeline.results.executeAndCollect()] == [{"a": 2}]


# ---------------------------------------------------------------------- sinks


def merged(
    merge: dict[str, Any], documents: list[dict[str, Any]], rows: Any, collection: Any = "c"
) -> Any:
    into = {"connectionName": "db", "db": "d", "coll": collection}
    stages = [
        {"$source": {"connectionName": "in"}},
        {"$unset": ["_ts", "_stream_meta"]},
        {"$merge": {"into": into, **merge}},
    ]
    run(stages, documents, connections={"db": rows})
    return rows


ROWS = [{"_id": 1, "n": 1, "old": True}, {"_id": 2, "n": 2}]
NEW = [{"_id": 1, "n": 10}, {"_id": 3, "n": 30}]

MERGES = [
    ({}, [{"_id": 1, "n": 10, "old": True}, ROWS[1], NEW[1]]),
    ({"whenMatched": "replace"}, [{"_id": 1, "n": 10}, ROWS[1], NEW[1]]),
    ({"whenMatched": "keepExisting"}, [*ROWS, NEW[1]]),
    ({"whenNotMatched": "discard"}, [{"_id": 1, "n": 10, "old": True}, ROWS[1]]),
    ({"whenMatched": "delete"}, [ROWS[1]]),
    ({"whenMatched": "delete", "whenNotMatched": "insert"}, [ROWS[1], NEW[1]]),
    (
        {
            "whenMatched": {"$cond": [{"$gt": ["$n", 5]}, "replace", "keepExisting"]},
            "whenNotMatched": {"$cond": [{"$gt": ["$n", 20]}, "discard", "insert"]},
        },
        [NEW[0], ROWS[1]],
    ),
    (
        {"whenMatched": [{"$set": {"n": {"$add": ["$n", "$$new.n"]}}}]},
        [{"_id": 1, "n": 11, "old": True}, ROWS[1], NEW[1]],
    ),
    (
        {"let": {"by": "$n"}, "whenMatched": [{"$set": {"n": {"$subtract": ["$n", "$$by"]}}}]},
        [{"_id": 1, "n": -9, "old": True}, ROWS[1], NEW[1]],
    ),
]


@pytest.mark.parametrize(("merge", "expected"), MERGES, ids=[str(m) for m, _ in MERGES])
def test_merge_into_rows(merge: dict[str, Any], expected: list[Any]) -> None:
    assert merged(merge, NEW, [dict(row) for row in ROWS]) == expected


def test_merge_on_other_fields_keeps_the_id() -> None:
    rows = merged(
        {"on": ["k", "l"]}, [{"_id": 9, "k": 1, "l": 2, "n": 5}], [{"_id": 1, "k": 1, "l": 2}]
    )
    assert rows == [{"_id": 1, "k": 1, "l": 2, "n": 5}]


def test_merge_makes_an_id() -> None:
    (row,) = merged({}, [{"n": 1}], [])
    assert isinstance(row["_id"], ObjectId)


def test_merge_into_a_collection_that_an_expression_names() -> None:
    rows: dict[str, Any] = {}
    merged({}, [{"_id": 1, "k": "a"}, {"_id": 2, "k": "b"}], rows, {"$concat": ["c_", "$k"]})
    assert rows == {"c_a": [{"_id": 1, "k": "a"}], "c_b": [{"_id": 2, "k": "b"}]}


@pytest.mark.parametrize(
    ("option", "rows"), [({"whenMatched": "fail"}, ROWS), ({"whenNotMatched": "fail"}, [])]
)
def test_merge_that_must_not_happen_fails_the_job(option: dict[str, Any], rows: list[Any]) -> None:
    with pytest.raises((JobExecutionError, InvalidProgramError), match=r"there is (a|no) row"):
        merged(option, NEW[:1], [dict(row) for row in rows])


def test_an_expression_that_gives_no_choice_fails_the_job() -> None:
    with pytest.raises(
        (JobExecutionError, InvalidProgramError), match="whenMatched: the expression gives 10 for"
    ):
        merged({"whenMatched": "$n"}, NEW, [dict(row) for row in ROWS])


EMIT = [
    {"$source": {"connectionName": "in"}},
    {"$unset": ["_ts", "_stream_meta"]},
    {"$emit": {"connectionName": "out"}},
]


def test_emit_calls_a_function() -> None:
    found: list[Any] = []
    run(EMIT, [{"a": 1}, {"a": 2}], connections={"out": found.append})
    assert found == [{"a": 1}, {"a": 2}]


def test_emit_writes_lines_to_a_file(tmp_path: Path) -> None:
    sink: Any = FileSink.forText(str(tmp_path / "out"))
    run(EMIT, [{"a": 1, "at": date(0)}], connections={"out": sink})
    (file,) = (tmp_path / "out").rglob("part-*")
    assert file.read_text() == '{"a":1,"at":{"$date":"1970-01-01T12:00:00.000Z"}}\n'


def test_a_sink_that_is_not_given_is_a_stream() -> None:
    env = StreamExecutionEnvironment.getExecutionEnvironment()
    env.setLocalExecution()
    pipeline = atlas.pipeline(EMIT, {"in": env.fromCollection([{"a": 1}])})
    assert list(pipeline.sinks) == ["out"]
    assert pipeline.sinks["out"].executeAndCollect(10) == [{"a": 1}]


def test_the_dead_letter_queue_of_the_text() -> None:
    env = StreamExecutionEnvironment.getExecutionEnvironment()
    env.setLocalExecution()
    dead: dict[str, Any] = {}
    text = """
    sp.createStreamProcessor("p", [{$source: {connectionName: "in"}}, {$set: {x: {$divide: [1, "$n"]}}},
      {$merge: {into: {connectionName: "db", db: "d", coll: "results"}}}],
      {dlq: {connectionName: "db", db: "d", coll: "dlq"}})
    """
    atlas.pipeline(
        text, {"in": env.fromCollection([{"_id": 1, "n": 0}, {"_id": 2, "n": 1}]), "db": dead}
    )
    env.execute("p")
    assert [row["_id"] for row in dead["results"]] == [2]
    assert [letter["doc"]["_id"] for letter in dead["dlq"]] == [1]


def test_records_of_documents() -> None:
    from flinkish import KafkaRecordSerializationSchema, SimpleStringSchema

    schema: Any = (
        KafkaRecordSerializationSchema.builder()
        .setTopic("default")
        .setValueSerializationSchema(SimpleStringSchema())
        .build()
    )
    emit = {"connectionName": "k", "topic": {"$concat": ["t-", "$k"]}, "config": {"key": "$k"}}
    records = DocumentRecords(emit, Place("emit"), schema, canonical=True)
    record = records.serialize({"k": "a", "n": 1}, None, 5)  # type: ignore[arg-type]
    assert record is not None
    assert (record.topic, record.key, record.value) == (
        "t-a",
        b"a",
        b'{"k":"a","n":{"$numberInt":"1"}}',
    )
    plain = DocumentRecords({"connectionName": "k"}, Place("emit"), schema, canonical=False)
    record = plain.serialize({"n": 1}, None, 5)  # type: ignore[arg-type]
    assert record is not None
    assert (record.topic, record.key, record.value) == ("default", None, b'{"n":1}')


# ---------------------------------------------------------------------- refused

SOURCE = {"$source": {"connectionName": "in"}}
WINDOW = {"interval": {"size": 1, "unit": "second"}, "pipeline": []}
SESSION = {"gap": {"size": 1, "unit": "second"}, "partitionBy": "$a", "pipeline": []}
HOUR = {"size": 1, "unit": "hour"}

REFUSED = [
    ([{"$match": {}}], r"stages\[0\]: a pipeline begins with \$source"),
    ([SOURCE, SOURCE], r"stages\[1\]: a pipeline begins with \$source"),
    ([SOURCE, {"$mach": {}}], r"stages\[1\]: there is no stage \$mach\. Did you mean \$match"),
    ([SOURCE, {"$facet": {}}], r"stages\[1\]: \$facet is not supported"),
    ([SOURCE, {"$https": {}}], "AsyncDataStream"),
    ([SOURCE, {"$group": {"_id": 1}}], r"stages\[1\]: \$group needs all documents of a window"),
    ([SOURCE, {"$match": {}, "$set": {}}], "a stage is a document with one name"),
    (
        [SOURCE, {"$emit": {"connectionName": "o"}}, {"$match": {}}],
        r"stages\[1\]: \$emit is the last",
    ),
    (
        [{"$source": {"connectionName": "inn"}}],
        r"no connection with a stream inn\. Did you mean in",
    ),
    (
        [{"$source": {"conectionName": "in"}}],
        "there is no argument conectionName. Did you mean connectionName",
    ),
    (
        [SOURCE, {"$tumblingWindow": {**WINDOW, "intervall": 1}}],
        r"stages\[1\]\.\$tumblingWindow: there is no argument intervall\. Did you mean interval",
    ),
    (
        [SOURCE, {"$tumblingWindow": {**WINDOW, "interval": {"size": 1, "unit": "seconds"}}}],
        "there is no unit seconds. Did you mean second",
    ),
    (
        [SOURCE, {"$tumblingWindow": {**WINDOW, "interval": {"size": 1, "unit": ["ms"]}}}],
        r"there is no unit \['ms'\]",
    ),
    (
        [SOURCE, {"$sessionWindow": {**SESSION, "offset": {"offsetFromUtc": 0, "unit": "ms"}}}],
        "sessions have none",
    ),
    ([SOURCE, {"$tumblingWindow": {**WINDOW, "boundary": "x"}}], "'eventTime' or 'processingTime'"),
    (
        [SOURCE, {"$tumblingWindow": {**WINDOW, "pipeline": [{"$emit": {}}]}}],
        r"pipeline\[0\]: \$emit belongs into the outer pipeline",
    ),
    (
        [
            SOURCE,
            {
                "$tumblingWindow": {
                    **WINDOW,
                    "pipeline": [{"$group": {"_id": 1, "n": {"$summ": 1}}}],
                }
            },
        ],
        r"stages\[1\]\.\$tumblingWindow\.pipeline\[0\]\.\$group\.n: there is no accumulator \$summ",
    ),
    (
        [SOURCE, {"$lookup": {"from": "p", "localField": "a", "foreignField": "b", "as": "c"}}],
        "no collection p",
    ),
    (
        [SOURCE, {"$sessionWindow": {"gap": {"size": 1, "unit": "second"}, "pipeline": []}}],
        "lacks partitionBy",
    ),
    ([SOURCE, {"$merge": {"into": {"db": "x"}}}], "is {connectionName, db, coll}"),
    ([SOURCE, {"$merge": {"into": "c", "whenMatched": "x"}}], "is a pipeline or one of replace"),
    (
        [SOURCE, {"$merge": {"into": "c", "whenNotMatched": [{"$set": {"n": 0}}]}}],
        "whenNotMatched: is 'insert', 'discard' or 'fail', or an expression",
    ),
    (
        [SOURCE, {"$merge": {"into": "c", "whenMatched": [{"$match": {"n": 0}}]}}],
        r"whenMatched\[0\]: \$match is not allowed in whenMatched.*\$replaceWith",
    ),
    (
        [
            SOURCE,
            {"$tumblingWindow": {**WINDOW, "offset": {"offsetFromUtc": 90, "unit": "second"}}},
        ],
        r'offset: \{offsetFromUtc: 90, unit: "second"\} is beyond the interval, \{size: 1, unit: "second"\},'
        r' after which windows repeat\. Write \{offsetFromUtc: 0, unit: "second"\}',
    ),
    (
        [
            SOURCE,
            {
                "$hoppingWindow": {
                    **WINDOW,
                    "hopSize": {"size": 100, "unit": "ms"},
                    "offset": {"offsetFromUtc": -1, "unit": "second"},
                }
            },
        ],
        r"beyond the hopSize, .*Write \{offsetFromUtc: 0, unit: \"ms\"\}",
    ),
    (
        [SOURCE, {"$tumblingWindow": {**WINDOW, "interval": {"size": 0, "unit": "second"}}}],
        r"\$tumblingWindow\.interval: is 0 second, but must be 1 or more",
    ),
    (
        [
            SOURCE,
            {"$tumblingWindow": {**WINDOW, "allowedLateness": {"size": -1, "unit": "second"}}},
        ],
        "allowedLateness: is -1 second, but must be 0 or more",
    ),
    (
        [
            SOURCE,
            {
                "$tumblingWindow": {
                    **WINDOW,
                    "boundary": "processingTime",
                    "idleTimeout": {"size": 1, "unit": "second"},
                }
            },
        ],
        "idleTimeout: means nothing with boundary: 'processingTime'",
    ),
    *(
        (
            [
                SOURCE,
                {"$sessionWindow": {"gap": HOUR, "partitionBy": "$k", "pipeline": [], name: HOUR}},
            ],
            says,
        )
        for name, says in (
            ("offset", r"\$sessionWindow\.offset: sessions have none"),
            ("idleTimeout", r"\$sessionWindow\.idleTimeout: .*partitionIdleTimeout in \$source"),
        )
    ),
    ([SOURCE, {"$iceberg": {}}], r"\$iceberg is not supported.*\$emit.*own_sinks"),
    (
        [SOURCE, {"$set": {"x": {"$function": {"body": "", "args": [], "lang": "js"}}}}],
        r"\$set\.x: \$function is not supported: JavaScript does not run here.*with map",
    ),
    (
        [
            SOURCE,
            {
                "$tumblingWindow": {
                    **WINDOW,
                    "pipeline": [{"$group": {"_id": 1, "x": {"$accumulator": {}}}}],
                }
            },
        ],
        r"\$group\.x: \$accumulator is not supported: JavaScript",
    ),
    (
        [
            SOURCE,
            {
                "$lookup": {
                    "from": "people",
                    "localField": "a",
                    "foreignField": "b",
                    "as": "c",
                    "partitionBy": "$$x",
                }
            },
        ],
        r"\$lookup\.partitionBy: there is no variable \$\$x",
    ),
    ([], "stages is empty"),
    (5, "Pass the list of stages, or its text"),
]


@pytest.mark.parametrize(("stages", "message"), REFUSED, ids=[m[:50] for _, m in REFUSED])
def test_what_is_no_pipeline_is_refused_with_its_place(stages: Any, message: str) -> None:
    def build(stream: DataStream[Any]) -> DataStream[Any]:
        return atlas.pipeline(stages, {"in": stream}, {"people": []}).results

    with pytest.raises((IllegalArgumentError, InvalidProgramError), match=message):
        StreamTestHarness(build)


def test_a_connection_that_no_stage_names_is_refused() -> None:
    env = StreamExecutionEnvironment.getExecutionEnvironment()
    given: dict[str, Any] = {"in": env.fromCollection([{}]), "outt": print}
    with pytest.raises(IllegalArgumentError, match=r"names the connection outt\. Did you mean out"):
        atlas.pipeline(EMIT, given)
