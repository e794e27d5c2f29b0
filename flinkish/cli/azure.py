"""``python -m flinkish azure``: runs a query of Azure Stream Analytics over files, in this process."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flinkish.api.environment.environment import StreamExecutionEnvironment
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.types.row import Row
from flinkish.cli.files import Lines, lines_of, read_rows, read_text
from flinkish.compat import stream_analytics
from flinkish.compat.stream_analytics.values import text_of

_ENCODING = "utf-8-sig"
"""Editors on Windows begin a file with a byte order mark."""


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
        inputs[name] = lines_of(environment, name, path)
    settings = {
        name: value
        for name, value in vars(given).items()
        if name.startswith("events") and value is not None
    }
    job = stream_analytics.query(
        read_text(given.query, _ENCODING),
        {name: stream.filter(_has_text) for name, stream in inputs.items()},
        {name: read_rows(path, _ENCODING) for name, path in _named("--reference", given.reference)},
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
        stream.forEachBatch(Lines.to(outputs.get(name), _line))
    environment.execute(Path(given.query).stem)
    return 0


def _line(row: Row) -> str:
    return json.dumps(row.asDict(), default=text_of, ensure_ascii=False)


def _has_text(line: str) -> bool:
    return bool(line.strip())


def _named(option: str, given: Sequence[str]) -> list[tuple[str, str]]:
    pairs = []
    for argument in given:
        name, assigned, path = argument.partition("=")
        if not (name and assigned and path):
            raise IllegalArgumentError(f"{option} {argument}: write NAME=FILE.")
        pairs.append((name, path))
    return pairs
