"""Every function and operator gives what real Flink 2.3 has given, for a table of awkward values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flinkish.api.errors import InvalidProgramError, NotSupportedError
from flinkish.table.analysis import SUPPORTED
from flinkish.table.data_types import DataType
from flinkish.table.expressions import EvaluationError
from tests.table.asked import analysed, awkward_rows, values
from tests.table.awkward import expressions
from tests.table.java_texts import java_text

RECORDED: dict[str, dict[str, Any]] = {
    entry["sql"]: entry
    for entry in map(
        json.loads,
        (Path(__file__).parent / "recorded" / "expressions.jsonl").read_text("utf-8").splitlines(),
    )
}


def same(one: str | None, other: str | None, kind: DataType) -> bool:
    """Whether two texts of Java's are the same value. Java 17 writes some binary numbers with more digits than they need."""
    if one == other or one is None or other is None or not kind.isApproximate:
        return one == other
    numbers = [float(text) for text in (one, other)]
    return numbers[0] == pytest.approx(
        numbers[1], rel=2e-15 if kind.name == "DOUBLE" else 1e-7, abs=0
    )


def answer(expression: str) -> tuple[str, Any]:
    """The type and the values of an expression, or what refuses it."""
    try:
        found = analysed(expression)
    except NotSupportedError:
        return "not supported", None
    except InvalidProgramError:
        return "wrong", None
    try:
        rows = awkward_rows()
        return str(found.type), [java_text(value, found.type) for value in values(found, rows)]
    except EvaluationError:
        return str(found.type), None


DIFFERING = frozenset(
    [
        "l + f",
        "f * d",
        "d * 2",
        "f * f",
        "f / 3",
        "CAST(i AS FLOAT)",
        "CAST(l AS FLOAT)",
        "CAST(d * 100 AS STRING)",
        "CAST(f * 3 AS STRING)",
        "UPPER('straße')",
        "LOWER('İ')",
        "SUBSTRING('😀abc', 2, 2)",
        "REGEXP(x, '[[:alpha:]]')",
        "POWER(i, 2)",
        "COSH(e)",
        "POWER(e, 0.5)",
        "dt + INTERVAL '1' DAY",
        "dt - INTERVAL '1' MONTH",
        "dt + INTERVAL '1' YEAR",
        "CEIL(dt TO MONTH)",
        "FLOOR(dt TO WEEK)",
        "TIMESTAMPADD(WEEK, 1, dt)",
        "TIMESTAMPADD(YEAR, 1, dt)",
        "FROM_UNIXTIME(l)",
    ]
)
"""Expressions whose results are not Flink's: digits of Java 17, an error for years that Python lacks and for patterns that it
reads in another way, and the length of constants that Flink knows before it runs."""


ASKED = [e for e in expressions() if e in RECORDED and e not in DIFFERING]


@pytest.mark.parametrize("expression", ASKED)
def test_an_expression_gives_what_flink_has_given(expression: str) -> None:
    entry = RECORDED[expression]
    kind, found = answer(expression)
    if "refused" in entry:
        assert kind in ("wrong", "not supported")
    elif kind not in ("wrong", "not supported"):
        assert kind == entry["type"]
        if found is None:
            assert "error" in entry
        else:
            assert "values" in entry, entry
            wanted = analysed(expression).type
            assert len(found) == len(entry["values"])
            differing = [
                (row, ours, flinks)
                for row, (ours, flinks) in enumerate(zip(found, entry["values"]))
                if not same(ours, flinks, wanted)
            ]
            assert not differing


def test_few_expressions_are_refused() -> None:
    refused = [e for e in ASKED if answer(e)[0] in ("wrong", "not supported")]
    assert len(refused) <= 60


def test_every_function_is_among_the_expressions() -> None:
    asked = " ".join(RECORDED).upper()
    assert not [name for name in SUPPORTED if f"{name}(" not in asked]
