"""``python -m flinkish atlas``: runs a pipeline of Atlas Stream Processing over files, in this process."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from flinkish.api.connectors.file_source import FileSource
from flinkish.api.connectors.row_format import TextLineInputFormat
from flinkish.api.environment.environment import StreamExecutionEnvironment
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.eventtime.watermarks import WatermarkStrategy
from flinkish.compat import atlas
from flinkish.compat.atlas.bson.values import DocumentError
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
    text = _read(given.pipeline)
    definition = read_definition(text)
    source = definition.stages[0].get("$source", {}) if definition.stages else {}
    environment = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    connections: dict[str, Any] = {}
    for name, path in _named(given.input, str(source.get("connectionName"))):
        files = FileSource.forRecordStreamFormat(TextLineInputFormat(), path).build()
        connections[name] = environment.fromSource(files, WatermarkStrategy.noWatermarks(), name)
    collections = {name: _rows(path) for name, path in _named(given.collection, None)}
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
        stream.forEachBatch(_Lines.to(outputs.get(name)))
    if given.deadLetterQueue is not None:
        pipeline.deadLetterQueue.forEachBatch(_Lines.to(given.deadLetterQueue))
    environment.execute(definition.name or Path(given.pipeline).stem)
    return 0


@dataclass
class _Lines:
    """Writes documents, a line each."""

    file: TextIO

    @staticmethod
    def to(path: str | None) -> _Lines:
        """To a new file, or to standard output."""
        return _Lines(sys.stdout if path is None else open(path, "w", encoding="utf-8"))

    def __call__(self, documents: list[Any], batch: int) -> None:
        for document in documents:
            self.file.write(f"{line(document)}\n")
        self.file.flush()


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


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise IllegalArgumentError(f"the file {path} cannot be read: {error}.") from None


def _rows(path: str) -> list[Any]:
    text = _read(path)
    try:
        if text.lstrip().startswith("["):
            return list(decoded(json.loads(text)))
        return [decoded(json.loads(row)) for row in text.splitlines() if row.strip()]
    except (ValueError, DocumentError) as error:
        raise IllegalArgumentError(f"the file {path} has no rows in JSON: {error}.") from None
