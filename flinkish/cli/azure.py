"""``python -m flinkish azure``: runs a query of Azure Stream Analytics over files, in this process."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from flinkish.api.connectors.file_source import FileSource
from flinkish.api.connectors.row_format import TextLineInputFormat
from flinkish.api.environment.environment import StreamExecutionEnvironment
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.eventtime.watermarks import WatermarkStrategy
from flinkish.api.types.row import Row
from flinkish.compat import stream_analytics
from flinkish.compat.stream_analytics.values import text_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("query", help="a file with the query")
    several: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME=FILE"}
    parser.add_argument(
        "--input", "-i", help="an input: a file, or a directory, of a JSON event a line", **several
    )
    parser.add_argument(
        "--output",
        "-o",
        help="where an output goes, a JSON row a line; without one, to standard output",
        **several,
    )
    parser.add_argument(
        "--reference", "-r", help="reference data: a JSON array, or a row a line", **several
    )
    parser.add_argument("--arrivalTime", metavar="FIELD", help="when an event has arrived")
    parser.add_argument("--outputStartTime", metavar="TIME", help="when outputs begin, as ISO 8601")
    for setting, unit in (("LateArrival", "late"), ("OutOfOrder", "out of order")):
        parser.add_argument(
            f"--events{setting}MaxDelayInSeconds",
            type=int,
            metavar="SECONDS",
            help=f"how far an event may be {unit}",
        )
    parser.add_argument(
        "--eventsOutOfOrderPolicy", choices=["Adjust", "Drop"], help="what happens to other events"
    )


def run(given: argparse.Namespace) -> int:
    """Run the query to the end of its inputs; returns the exit code."""
    environment = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    inputs = {}
    for name, path in _named("--input", given.input):
        files = FileSource.forRecordStreamFormat(TextLineInputFormat(), path).build()
        inputs[name] = environment.fromSource(files, WatermarkStrategy.noWatermarks(), name)
    settings = {
        name: value
        for name, value in vars(given).items()
        if name.startswith("events") and value is not None
    }
    job = stream_analytics.query(
        _read(given.query),
        {name: stream.filter(_has_text) for name, stream in inputs.items()},
        {name: _rows(path) for name, path in _named("--reference", given.reference)},
        ordering=stream_analytics.EventOrdering(**settings) if settings else None,
        arrivalTime=given.arrivalTime,
        outputStartTime=given.outputStartTime,
    )
    outputs = dict(_named("--output", given.output))
    unknown = [name for name in outputs if name not in job.outputs]
    if unknown:
        raise IllegalArgumentError(
            f"--output: the query has no output {unknown[0]}. It has {', '.join(job.outputs)}."
        )
    for name, stream in job.outputs.items():
        stream.forEachBatch(_Lines.to(outputs.get(name)))
    environment.execute(Path(given.query).stem)
    return 0


def _has_text(line: str) -> bool:
    return bool(line.strip())


@dataclass
class _Lines:
    """Writes rows as JSON, a line each."""

    file: TextIO

    @staticmethod
    def to(path: str | None) -> _Lines:
        """To a new file, or to standard output."""
        return _Lines(sys.stdout if path is None else open(path, "w", encoding="utf-8"))

    def __call__(self, rows: list[Row], batch: int) -> None:
        for row in rows:
            self.file.write(f"{json.dumps(row.asDict(), default=text_of, ensure_ascii=False)}\n")
        self.file.flush()


def _named(option: str, given: Sequence[str]) -> list[tuple[str, str]]:
    pairs = []
    for argument in given:
        name, assigned, path = argument.partition("=")
        if not (name and assigned and path):
            raise IllegalArgumentError(f"{option} {argument}: write NAME=FILE.")
        pairs.append((name, path))
    return pairs


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise IllegalArgumentError(f"the file {path} cannot be read: {error}.") from None


def _rows(path: str) -> list[Any]:
    text = _read(path)
    try:
        if text.lstrip().startswith("["):
            return list(json.loads(text))
        return [json.loads(row) for row in text.splitlines() if row.strip()]
    except ValueError as error:
        raise IllegalArgumentError(f"the file {path} has no rows in JSON: {error}.") from None
