"""Texts in the query language of Azure Stream Analytics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from flinkish import FlinkishError, IllegalArgumentError, Row, StreamExecutionEnvironment
from flinkish.compat.stream_analytics import EventOrdering, query
from tests.compat.stream_analytics.queries import CARS, CASES, READINGS, Case, at, rows


def results(
    env: StreamExecutionEnvironment,
    sql: str,
    inputs: Mapping[str, Sequence[Any]],
    **options: Any,
) -> dict[str, list[Any]]:
    """The rows of each output."""
    job = query(sql, {name: env.fromCollection(list(found)) for name, found in inputs.items()}, **options)
    seen: dict[str, list[Any]] = {name: [] for name in job.outputs}

    def note(name: str) -> Any:
        return lambda found, batch: seen[name].extend(found)

    for name, stream in job.outputs.items():
        stream.forEachBatch(note(name))
    env.execute("query")
    return seen


def local(sql: str, inputs: Mapping[str, Sequence[Any]], **options: Any) -> dict[str, list[Any]]:
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    return results(env, sql, inputs, **options)


def in_order(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Rows without the order in which windows of several keys, or pairs, come."""
    return sorted(repr(dict(row)) for row in found)


def compare(found: dict[str, list[Any]], case: Case) -> None:
    assert list(found) == list(case.outputs)
    for name, expected in case.outputs.items():
        assert in_order([row.asDict() for row in found[name]]) == in_order(expected)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_queries(case: Case) -> None:
    compare(local(case.sql, case.inputs, **case.options), case)
