"""Bucket assigners, and file sinks that write into buckets, in this process."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl

TIMES = st.integers(0, 4_000_000_000_000)


@dataclass
class Sale:
    shop: str
    cents: int


SALES = [Sale("Antwerp", 450), Sale("Cork / Kent", 690), Sale("Antwerp", 1290)]


class ByShop(fl.BucketAssigner[Sale]):
    def getBucketId(self, element, context):
        return element.shop


@pytest.fixture
def local():
    environment = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    return environment.setParallelism(1)


def context(time: int) -> fl.BucketAssigner.Context:
    return fl.BucketAssigner.Context(time)


@given(TIMES)
def test_a_time_is_written_as_java_does(time):
    written = datetime.fromtimestamp(time // 1000, UTC)
    assigner = fl.DateTimeBucketAssigner(zoneId="UTC")
    assert assigner.getBucketId(None, context(time)) == f"{written:%Y-%m-%d--%H}"
    assigner = fl.DateTimeBucketAssigner("'day'' 100%' yyyyMMdd'T'HH.mm:ss", "UTC")
    expected = f"day' 100% {written:%Y%m%dT%H.%M:%S}"
    assert assigner.getBucketId(None, context(time)) == expected


def test_a_time_is_of_its_zone():
    assigner = fl.DateTimeBucketAssigner("HH", "Asia/Tokyo")
    assert assigner.getBucketId(None, context(0)) == "09"


@pytest.mark.parametrize("pattern", ["yyyy-MMM", "EEE", "yyyy'", "y"])
def test_a_format_that_is_not_known(pattern):
    with pytest.raises(fl.IllegalArgumentError, match="put text in single quotes"):
        fl.DateTimeBucketAssigner(pattern)


def test_a_zone_that_is_not_known():
    with pytest.raises(fl.IllegalArgumentError, match="no time zone 'Mars/Olympus'"):
        fl.DateTimeBucketAssigner(zoneId="Mars/Olympus")


def test_a_sink_has_no_watermark():
    with pytest.raises(fl.NotSupportedError, match=re.escape("timestamp()")):
        context(0).currentWatermark()


def test_lines_in_buckets(local, tmp_path):
    sink = fl.FileSink.forRowFormat(str(tmp_path), fl.SimpleStringEncoder())
    local.fromCollection(SALES).sinkTo(sink.withBucketAssigner(ByShop()).build())
    local.execute()
    [file] = tmp_path.glob("batch=0/bucket=Antwerp/part-*.txt")
    assert file.read_text().splitlines() == [str(SALES[0]), str(SALES[2])]
    [file] = tmp_path.glob("batch=0/bucket=Cork %2F Kent/part-*.txt")
    assert file.read_text().splitlines() == [str(SALES[1])]


def test_columns_in_buckets(local, tmp_path):
    sink = fl.FileSink.forBulkFormat(str(tmp_path), fl.ParquetBulkWriters.forRowType())
    local.fromCollection(SALES).sinkTo(sink.withBucketAssigner(ByShop()).build())
    local.execute()
    [file] = tmp_path.glob("batch=0/bucket=Antwerp/part-*.parquet")
    table = pq.ParquetFile(file).read()
    assert table.to_pydict() == {"shop": ["Antwerp", "Antwerp"], "cents": [450, 1290]}


def test_the_timestamp_of_an_element(local, tmp_path):
    class BySecond(fl.BucketAssigner[Sale]):
        def getBucketId(self, element, context):
            return "none" if context.timestamp() is None else str(context.timestamp() // 1000)

    sales = local.fromCollection(SALES)
    timed = fl.WatermarkStrategy.noWatermarks().withTimestampAssigner(
        lambda sale, _: sale.cents * 2
    )
    for name, stream in ("timed", sales.assignTimestampsAndWatermarks(timed)), ("plain", sales):
        stream.sinkTo(fl.FileSink.forJson(str(tmp_path / name)).withBucketAssigner(BySecond()))
    local.execute()
    directories = {f"{d.parent.parent.name}/{d.name}" for d in tmp_path.glob("*/batch=0/*")}
    assert directories == {
        "timed/bucket=0",
        "timed/bucket=1",
        "timed/bucket=2",
        "plain/bucket=none",
    }


def test_the_base_path_has_no_buckets(local, tmp_path):
    sink = fl.FileSink.forText(str(tmp_path)).withBucketAssigner(fl.BasePathBucketAssigner())
    local.fromCollection(SALES).sinkTo(sink)
    local.execute()
    assert len(list(tmp_path.glob("batch=0/part-*.txt"))) == 1


@pytest.mark.parametrize("bucket", ["", None, 7])
def test_a_bucket_that_is_none(local, tmp_path, bucket):
    class Wrong(fl.BucketAssigner[Sale]):
        def getBucketId(self, element, context):
            return bucket

    sink = fl.FileSink.forText(str(tmp_path)).withBucketAssigner(Wrong())
    local.fromCollection(SALES).sinkTo(sink)
    with pytest.raises(fl.IllegalArgumentError, match=r"getBucketId of Wrong returned .*'Antwerp'"):
        local.execute()


def test_a_field_of_the_same_name(local, tmp_path):
    sink = fl.FileSink.forParquet(str(tmp_path), "bucket string, n int")
    rows = local.fromCollection([("a", 1)])
    rows.sinkTo(sink.withBucketAssigner(fl.DateTimeBucketAssigner()))
    with pytest.raises(fl.InvalidProgramError, match="field 'bucket'"):
        local.execute()


def test_what_is_no_assigner_or_factory():
    with pytest.raises(fl.InvalidProgramError, match=r"DateTimeBucketAssigner\(\)"):
        fl.FileSink.forText("/out").withBucketAssigner("hourly")
    with pytest.raises(fl.InvalidProgramError, match=r"ParquetBulkWriters.forRowType"):
        fl.FileSink.forBulkFormat("/out", "parquet")
    with pytest.raises(fl.IllegalArgumentError, match=r"Types.ROW_NAMED"):
        fl.ParquetBulkWriters.forRowType(7)


def test_the_columns_of_a_type():
    named = fl.Types.ROW_NAMED(["user", "n"], [fl.Types.STRING(), fl.Types.LONG()])
    assert fl.ParquetBulkWriters.forRowType(named).schema == "`user` string, `n` bigint"
