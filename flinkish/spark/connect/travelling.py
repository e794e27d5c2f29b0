"""Objects for the Python processes of a streaming query over Spark Connect, which put flinkish on
the path as they are unpickled.

Files sent with ``addArtifacts`` are on the disk of these processes, but not on the path of those
that a streaming query starts (seen with Spark 4.3.0; the processes of other queries have them). So
the pickled object says how to find them. This module is pickled by value and imports nothing from
flinkish.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.cloudpickle import register_pickle_by_value
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

ARCHIVES = "archives"
"""The option with the names of archives."""


class Travelling:
    """Pickles ``content`` so that it unpickles as ``content`` itself. ``archives``: the names of
    the files that it is imported from."""

    def __init__(self, archives: tuple[str, ...], content: Any) -> None:
        self._archives = archives
        self._pickled = pickle.dumps(content)

    def __call__(self, *arguments: Any) -> Any:
        """Makes the object callable, as pyspark expects a function."""
        return pickle.loads(self._pickled)(*arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return unpickled, (self._archives, self._pickled)


def unpickled(archives: tuple[str, ...], content: bytes) -> Any:
    """The content of a ``Travelling``, with its archives on the path of this process."""
    find(archives)
    return pickle.loads(content)


def find(archives: tuple[str, ...]) -> None:
    """Put those of ``archives`` on the path of this process that are not on it yet."""
    from pyspark import SparkFiles

    # Spark names them where they are not
    known = {Path(entry).name for entry in sys.path if Path(entry).exists()}
    root = Path(SparkFiles.getRootDirectory())
    for name in archives:
        if name not in known:
            # Each session has its own directory, and the names identify the content
            found = next(
                (file for at in (root, root.parent) for file in at.glob(f"*/{name}")), None
            )
            if found is not None:
                sys.path.insert(0, str(found))


class TravellingSource(DataSource):
    """flinkish's planned source, importable from the archives that an option names."""

    @classmethod
    def name(cls) -> str:
        return "flinkish"

    def schema(self) -> str:
        return "value string"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        archives = tuple(self.options[ARCHIVES].split("\n"))
        find(archives)
        # By its name, as it registers this class
        planned = import_module("flinkish.spark.sources.planned_source").PlannedSource
        return TravellingReader(archives, planned(self.options).streamReader(schema))


class TravellingReader(DataSourceStreamReader):
    """Delegates to ``reader``, in any process."""

    def __init__(self, archives: tuple[str, ...], reader: DataSourceStreamReader) -> None:
        self._archives = archives
        self._reader = reader

    def initialOffset(self) -> dict[str, Any]:
        return self._reader.initialOffset()

    def latestOffset(
        self, start: dict[str, Any] | None = None, limit: Any = None
    ) -> dict[str, Any]:
        return self._reader.latestOffset(start, limit)  # type: ignore[arg-type]

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return self._reader.partitions(start, end)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return self._reader.read(partition)

    def commit(self, end: dict[str, Any]) -> None:
        self._reader.commit(end)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reader_of, (self._archives, pickle.dumps(self._reader))


def _reader_of(archives: tuple[str, ...], content: bytes) -> TravellingReader:
    return TravellingReader(archives, unpickled(archives, content))


register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
