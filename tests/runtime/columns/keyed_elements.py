"""Elements of keyed process functions, as columns: a key, a time, a number, a float, a bool and a text."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from flinkish.runtime.records.keys import ColumnKeys, KeyHashes
from flinkish.runtime.records.records import Records, timestamps_of
from flinkish.runtime.records.rows import RowColumns

NAMES = ("key", "at", "value", "real", "mark", "name")
KINDS = (pa.string(), pa.int64(), pa.int64(), pa.float64(), pa.bool_(), pa.string())

Element = tuple[Any, ...]


def keyed_records(elements: list[Element], times: list[int] | None = None) -> Records:
    """``elements`` as a run under their keys, with their own times or others."""
    columns = [pa.array(list(c), kind) for c, kind in zip(zip(*elements), KINDS)]
    values = RowColumns(pa.RecordBatch.from_arrays(columns, names=NAMES))
    hashes = KeyHashes().column([element[0] for element in elements])
    timestamps = timestamps_of([e[1] for e in elements] if times is None else times)
    return Records(values, timestamps, ColumnKeys(values, 0), hashes)


def any_elements(keys: str, most: int) -> st.SearchStrategy[list[Element]]:
    """Up to ``most`` elements, also with numbers at the limits of 64 bits, NaN and -0.0."""
    number = st.one_of(st.integers(-20, 20), st.sampled_from([2**62, -(2**63), 2**63 - 1]))
    real = st.one_of(st.integers(-9, 9).map(lambda n: n / 3), st.sampled_from([-0.0, 1e300]))
    element = st.tuples(
        st.sampled_from(keys),
        st.integers(0, 100),
        st.one_of(st.integers(-20, 20), number),
        st.one_of(real, st.just(float("nan"))),
        st.booleans(),
        st.sampled_from(["", "a", "b", "ab"]),
    )
    return st.lists(element, min_size=1, max_size=most)


def random_elements(random: Random, count: int, keys: str) -> list[Element]:
    """``count`` elements that columns hold."""
    return [
        (
            random.choice(keys),
            random.randrange(100),
            random.randrange(1, 20),
            random.random(),
            random.random() < 0.5,
            random.choice("xyz"),
        )
        for _ in range(count)
    ]


def runs_over_columns(driver: Any, function: Callable[[], Any], steps: list[Any]) -> int:
    """The runs of a function that a ``driver`` processed as columns; fails unless all is as element by element."""
    quick = driver(function(), columns=True)
    assert quick.run(steps) == driver(function(), columns=False).run(steps)
    runs: int = quick.runs
    return runs
