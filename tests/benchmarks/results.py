"""The results of a job as a digest that does not depend on their order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

ARROW_TYPES = {"string": pa.string(), "long": pa.int64(), "int": pa.int32()}


@dataclass(frozen=True)
class Digest:
    """The number of results and the sum of their hashes."""

    count: int
    hash: int

    def __str__(self) -> str:
        return f"{self.count:,} results, hash {self.hash:016x}"


class DifferentResultsError(Exception):
    """Two sides gave different results for one job on the same files."""


def digest(directory: Path, schema: str, updates: int = 0) -> Digest:
    """The digest of all results in the files below ``directory``, CSV if not named otherwise, with the columns of
    ``schema``. Of results with the same first ``updates`` columns the highest values count, as one."""
    columns = dict(tuple(column.split()) for column in schema.split(","))
    types = {name: ARROW_TYPES[kind] for name, kind in columns.items()}
    tables = [
        _read(path, types)
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.stat().st_size and not _is_metadata(path.relative_to(directory))
    ]
    if updates and tables:
        names = list(types)
        latest = [(name, "max") for name in names[updates:]]
        grouped = pa.concat_tables(tables).group_by(names[:updates]).aggregate(latest)
        tables = [grouped.select([*names[:updates], *(f"{name}_max" for name in names[updates:])])]
    return Digest(sum(map(len, tables)), sum(map(_hash, tables)) % 2**64)


def _read(path: Path, types: dict[str, pa.DataType]) -> pa.Table:
    if path.suffix == ".parquet":
        # Not as a dataset, which would have a column for "batch=3" in the path
        table = pa.parquet.ParquetFile(path).read()
    elif path.suffix == ".json":
        schema = pa.schema(types)
        table = pa.json.read_json(path, parse_options=pa.json.ParseOptions(explicit_schema=schema))
    else:
        return pa.csv.read_csv(
            path,
            pa.csv.ReadOptions(column_names=list(types)),
            convert_options=pa.csv.ConvertOptions(column_types=types),
        )
    return table.select(list(types)).cast(pa.schema(types))


def _is_metadata(path: Path) -> bool:
    """Spark's checksums, log and marks; of Flink hidden files too are results, until a checkpoint
    gives them their name."""
    return path.suffix == ".crc" or any(part.startswith("_") for part in path.parts)


def _hash(table: pa.Table) -> int:
    with np.errstate(over="ignore"):
        hashes = np.zeros(len(table), np.uint64)
        for column in table.columns:
            values = column.to_pandas().to_numpy()
            hashes = hashes * np.uint64(1_000_003) + pd.util.hash_array(values)
        # Mixed once more, so that equal columns of different rows cannot be exchanged.
        return int(pd.util.hash_array(hashes).sum(dtype=np.uint64))


def check_equal(job: str, digests: dict[str, Digest]) -> None:
    """Raise DifferentResultsError unless all sides gave the same results, and some."""
    if len(set(digests.values())) > 1 or any(found.count == 0 for found in digests.values()):
        found = "; ".join(f"{side}: {digest}" for side, digest in digests.items())
        raise DifferentResultsError(f"{job}: the sides gave different or no results: {found}")
