"""What a batch does at its end: elements to the sinks, metrics to the job."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial, singledispatchmethod
from typing import TYPE_CHECKING, Any

from flinkish.api.connectors.file_sink import FileSink
from flinkish.api.connectors.sink import ForEachBatchSink, PrintSink, Sink
from flinkish.api.errors import IllegalStateError, NotSupportedError
from flinkish.graph.stream_graph import StreamNode
from flinkish.runtime.attribute_warnings import AttributeWarnings
from flinkish.runtime.frames import decode_frame
from flinkish.runtime.gates import FrameRow
from flinkish.runtime.metrics_report import MetricsTotals, decode_reports
from flinkish.runtime.stage_task import METRICS
from flinkish.runtime.user_code import mapped, user_code_of
from flinkish.spark.frame_decoding import LinesFunction, columns_of_frames, csv_line
from flinkish.spark.frame_rows import frame_rows
from flinkish.spark.json_lines import JsonLine
from flinkish.spark.sink_columns import sink_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def _place(row: FrameRow) -> tuple[int, int, int]:
    return row.gate, row.slice, row.sequence


class BatchSinks:
    """Writes each batch to all sinks of a job; the function of ``foreachBatch``.

    A batch that failed or was not committed comes again with its id, and is then written again:
    files of that id are replaced, the driver's own sinks get what a first try gave them only once
    within one run.
    """

    def __init__(
        self,
        sinks: Sequence[StreamNode],
        metrics: MetricsTotals,
    ) -> None:
        self._sinks = {node.uid: node for node in sinks}
        self._files = {
            node.uid: sink_schema(node) for node in sinks if isinstance(node.content, FileSink)
        }
        self._metrics = metrics
        self._changes = AttributeWarnings()
        self._refusing = False

    def refuseBatches(self) -> None:
        """Write no batch from now on; the one that is being written is finished."""
        self._refusing = True

    def __call__(self, frame: DataFrame, batchId: int) -> None:
        """Write a batch."""
        from pyspark.sql import functions as F

        if self._refusing:
            raise IllegalStateError(f"batch {batchId} is not written: the job is being stopped.")
        if self._files:
            # The files are written by other Spark jobs than the one that collects.
            frame = frame.persist()
        try:
            rows = frame
            if self._files:
                content = F.when(~F.col("target").isin(list(self._files)), F.col("frame"))
                rows = frame.withColumn("frame", content)
            by_target: dict[str, list[Any]] = {}
            for row in sorted(frame_rows(rows.collect()), key=_place):
                by_target.setdefault(row.target, []).append(row.frame)
            for uid in self._files:
                if uid in by_target:
                    self._write_files(self._sinks[uid], frame, batchId)
            for uid, node in self._sinks.items():
                if uid in by_target and uid not in self._files:
                    values = [
                        v for data in by_target[uid] for v in decode_frame(data).records.values
                    ]
                    self._write(node.content, node.name, values, batchId)
            for data in by_target.get(METRICS, ()):
                reports, changes = decode_reports(data)
                self._metrics.add(reports)
                self._changes.warn(changes)
            self._metrics.endBatch()
        finally:
            if self._files:
                frame.unpersist()

    @singledispatchmethod
    def _write(self, sink: Sink[Any], name: str, values: list[Any], batchId: int) -> None:
        raise NotSupportedError(
            f"{type(sink).__name__} is not a sink that flinkish can write on Spark. Use a FileSink,"
            " print(), forEachBatch(function), or toDataFrame() and Spark's writers."
        )

    @_write.register
    def _print(self, sink: PrintSink, name: str, values: list[Any], batchId: int) -> None:
        stream = sys.stderr if sink.standardError else sys.stdout
        prefix = f"{sink.identifier}> " if sink.identifier else ""
        stream.write("".join(mapped(name, lambda value: f"{prefix}{value}\n", values)))
        stream.flush()

    @_write.register
    def _call(self, sink: ForEachBatchSink, name: str, values: list[Any], batchId: int) -> None:  # type: ignore[type-arg]
        with user_code_of(name, partial(list, values)):
            sink.function(values, batchId)

    def _write_files(self, node: StreamNode, frame: DataFrame, batchId: int) -> None:
        sink = node.content
        assert isinstance(sink, FileSink)
        rows = frame.filter(frame["target"] == node.uid).sortWithinPartitions(
            "gate", "slice", "sequence"
        )
        schema, options = self._files[node.uid], sink.options
        if schema is None:
            lines = LinesFunction(node.name, _line(sink.format, frame))
            written, format_ = rows.mapInArrow(lines.__call__, "value string"), "text"
        else:
            written, format_ = to_columns(rows, schema), sink.format
        if format_ == "json":
            options = {"ignoreNullFields": "false", **options}
        # A directory a batch: a batch that comes again replaces just what it wrote before.
        target = f"{sink.path}/batch={batchId}"
        written.write.format(format_).options(**options).mode("overwrite").save(target)


def to_columns(rows: DataFrame, schema: StructType) -> DataFrame:
    """Rows of frames of columns as rows of ``schema``, which the columns have."""
    return rows.mapInArrow(columns_of_frames, schema)


def _line(format_: str, frame: DataFrame) -> Callable[[Any], str]:
    """An element as a line of that format."""
    if format_ == "json":
        return JsonLine(frame.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC")
    return csv_line if format_ == "csv" else str
