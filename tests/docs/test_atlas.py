"""docs/compat/atlas.md lists what a pipeline takes, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from flinkish.compat.atlas import pipeline  # noqa: F401  (its modules add their operators)
from flinkish.compat.atlas.accumulators import ACCUMULATORS
from flinkish.compat.atlas.expressions.compiler import OPERATORS
from flinkish.compat.atlas.queries import _OPERATORS as QUERY_OPERATORS
from flinkish.compat.atlas.stages import _ALL, _EACH, _OUTSIDE, _REFUSED

PAGE = Path(__file__).parents[2] / "docs" / "compat" / "atlas.md"


@pytest.mark.parametrize(
    "kind",
    [OPERATORS, ACCUMULATORS, QUERY_OPERATORS, (*_EACH, *_ALL, *_OUTSIDE), _REFUSED],
    ids=["expressions", "accumulators", "queries", "stages", "refused"],
)
def test_all_are_listed(kind: object) -> None:
    text = PAGE.read_text(encoding="utf-8")
    names = list(kind)  # type: ignore[call-overload]
    assert names
    assert [name for name in names if f"`{name}`" not in text] == []
