"""``python -m flinkish atlas``: runs a pipeline of Atlas Stream Processing over files, in this process."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from flinkish.api.environment.environment import StreamExecutionEnvironment
from flinkish.api.errors import IllegalArgumentError
from flinkish.cli.files import Lines, lines_of, read_rows, read_text
from flinkish.compat import atlas
from flinkish.compat.atlas.extended_json import decoded, line
from flinkish.compat.atlas.text import read_definition


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("pipeline", help="a file with the stages: JSON, or what mongosh takes")
    several: dict[str, Any] = {"action": "append", "default": [], "metavar": "[NAME=]FILE"}
    parser.add_argument(
        "--input",
        "-i",
        help="documents for $source: a file, or a directory, of a document a line",
        **several,
    )
    parser.add_argument(
        "--output",
        "-o",
        help="where $emit or $merge writes, a document a line; without one, to standard output",
        **several,
    )
    parser.add_argument(
        "--collection", "-c", help="rows for $lookup: a JSON array, or a document a line", **several
    )
    parser.add_argument("--deadLetterQueue", "-d", metavar="FILE", help="where dead letters go")
    parser.add_argument("--startAt", metavar="TIME", help="when the processor starts, as ISO 8601")
    parser.add_argument(
        "--watermarkPerDocument",
        action="store_true",
        help="let the watermark rise with each document",
    )


def run(given: argparse.Namespace) -> int:
    """Run the pipeline to the end of its input; returns the exit code."""
    text = read_text(given.pipeline)
    definition = read_definition(text)
    source = definition.stages[0].get("$source", {}) if definition.stages else {}
    environment = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    connections: dict[str, Any] = {}
    for name, path in _named(given.input, str(source.get("connectionName"))):
        connections[name] = lines_of(environment, name, path)
    collections = {
        name: read_rows(path, decode=decoded) for name, path in _named(given.collection, None)
    }
    start = given.startAt if given.startAt is None else datetime.fromisoformat(given.startAt)
    pipeline = atlas.pipeline(
        text,
        connections,
        collections,
        deadLetterQueue=given.deadLetterQueue is not None,
        startAt=start,
        watermarkPerDocument=given.watermarkPerDocument,
    )
    outputs = dict(_named(given.output, next(iter(pipeline.sinks), "results")))
    unknown = [name for name in outputs if name not in pipeline.sinks and name != "results"]
    if unknown:
        raise IllegalArgumentError(
            f"--output: no stage writes to {unknown[0]}. There are {', '.join(pipeline.sinks) or 'no sinks'}."
        )
    streams = pipeline.sinks or {"results": pipeline.results}
    for name, stream in streams.items():
        stream.forEachBatch(Lines.to(outputs.get(name), line))
    if given.deadLetterQueue is not None:
        pipeline.deadLetterQueue.forEachBatch(Lines.to(given.deadLetterQueue, line))
    environment.execute(definition.name or Path(given.pipeline).stem)
    return 0


def _named(given: Sequence[str], default: str | None) -> list[tuple[str, str]]:
    """Names and paths; a path alone has the default name, or that of its file."""
    pairs = []
    for argument in given:
        name, assigned, path = argument.partition("=")
        if not assigned:
            path = argument
            name = Path(argument).stem if default is None else default
        pairs.append((name, path))
    return pairs
