"""Complaints as JSON strings, from a file or built in: counts words, on screen or into files.

``python -m examples.pyflink.complaints [--local] [--input FILE] [--output DIRECTORY]``
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from flinkish.pyflink.common import Encoder, Types, WatermarkStrategy
from flinkish.pyflink.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from flinkish.pyflink.datastream.connectors.file_system import (
    FileSink,
    FileSource,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
)

COMPLAINTS = [
    '{"line": 4, "text": "late and full", "answered": false}',
    '{"line": 7, "text": "Late again", "answered": true}',
    '{"line": 4, "text": "full of bees", "answered": false}',
]
COUNTED = Types.TUPLE([Types.STRING(), Types.INT()])


def words(complaint: str) -> Iterator[str]:
    """The words of a complaint that nobody has answered."""
    content = json.loads(complaint)
    if not content["answered"]:
        yield from content["text"].lower().split()


def build(env: StreamExecutionEnvironment, path: str | None = None) -> DataStream:
    """The words with their counts."""
    if path is None:
        complaints = env.from_collection(COMPLAINTS, Types.STRING())
    else:
        lines = StreamFormat.text_line_format()
        source = FileSource.for_record_stream_format(lines, path).process_static_file_set().build()
        complaints = env.from_source(source, WatermarkStrategy.no_watermarks(), "complaints")
    counted = complaints.flat_map(words, Types.STRING()).map(lambda word: (word, 1), COUNTED)
    return counted.key_by(lambda pair: pair[0], Types.STRING()).reduce(
        lambda a, b: (a[0], a[1] + b[1])
    )


def main(local: bool = False, path: str | None = None, output: str | None = None) -> None:
    """Run the job. All complaints are there, so only the last count of each word is wanted."""
    env = StreamExecutionEnvironment.get_execution_environment().set_local_execution(local)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH).set_parallelism(1)
    counts = build(env, path)
    if output is None:
        counts.print()
    else:
        files = (
            OutputFileConfig.builder().with_part_prefix("words").with_part_suffix(".txt").build()
        )
        sink = FileSink.for_row_format(output, Encoder.simple_string_encoder())
        sink = sink.with_output_file_config(files)
        counts.sink_to(sink.with_rolling_policy(RollingPolicy.default_rolling_policy()).build())
    env.execute("complaints")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--local", action="store_true", help="run without Spark")
    parser.add_argument("--input", help="a file with a complaint a line")
    parser.add_argument("--output", help="a directory that is not there yet")
    arguments = parser.parse_args()
    main(arguments.local, arguments.input, arguments.output)
