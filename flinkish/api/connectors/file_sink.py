"""``FileSink``: writes elements to files of a directory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

from flinkish.api.connectors.sink import Sink
from flinkish.api.errors import IllegalArgumentError

T_contra = TypeVar("T_contra", contravariant=True)


@dataclass(frozen=True, eq=False)
class FileSink(Sink[T_contra]):
    """Files in a directory (Flink: ``FileSink``); a replayed batch never doubles a row.

    Made by ``forText``, ``forCsv``, ``forJson`` or ``forParquet``. Batch ``n`` writes the directory
    ``batch=n``, and replaces it if it comes again; so the directory is this sink's alone, and one
    that holds the output of another run is refused. Spark reads the whole as one table with the
    column ``batch``. ``options`` are those of Spark's writer of the format.
    """

    format: str
    path: str
    schema: Any = None
    options: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def forText(path: str) -> FileSink[Any]:
        """``str(element)`` of each, a line each."""
        return FileSink("text", path)

    @staticmethod
    def forCsv(path: str, schema: Any = None, **options: str) -> FileSink[Any]:
        """Tuples, Rows, dicts or dataclasses as CSV; with a ``schema`` (a DDL string or a
        StructType) checked against it and written by Spark."""
        return FileSink("csv", path, schema, _for_schema(schema, options, "forCsv"))

    @staticmethod
    def forJson(path: str, schema: Any = None, **options: str) -> FileSink[Any]:
        """Elements as JSON, one a line: an object if their fields have names."""
        return FileSink("json", path, schema, _for_schema(schema, options, "forJson"))

    @staticmethod
    def forParquet(path: str, schema: Any, **options: str) -> FileSink[Any]:
        """Elements as Parquet of ``schema``."""
        if not schema:
            raise IllegalArgumentError(
                'FileSink.forParquet: pass the schema, such as "origin string, delay int".'
            )
        return FileSink("parquet", path, schema, options)


def _for_schema(schema: Any, options: dict[str, str], method: str) -> dict[str, str]:
    if options and schema is None:
        raise IllegalArgumentError(
            f"FileSink.{method}: the options {', '.join(options)} are for Spark's writer, which"
            " needs a schema: pass one."
        )
    return options
