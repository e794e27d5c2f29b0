"""Pipelines as the users of Atlas write them: their results."""

from __future__ import annotations

from typing import Any

import pytest

from flinkish.compat.atlas.extended_json import line
from tests.compat.atlas.pipelines import EXAMPLES, Example
from tests.compat.atlas.running import run


def compared(documents: list[Any], ordered: bool) -> list[Any]:
    return documents if ordered else sorted(documents, key=line)


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.name for example in EXAMPLES])
def test_results_and_dead_letters(example: Example) -> None:
    out = run(example.text, example.documents, source=example.source, collections=example.rows)
    found = compared(out.documents, example.ordered)
    assert found == compared(example.results, example.ordered)
    assert [line(a) for a in found] == [line(b) for b in compared(example.results, example.ordered)]
    assert out.failures == example.failed


@pytest.mark.parametrize(
    "name", ["solar: the first tutorial", "solar: the three hottest of a hopping window"]
)
def test_document_by_document(name: str) -> None:
    (example,) = (example for example in EXAMPLES if example.name == name)
    out = run(example.text, example.documents, source=example.source, perBatch=1)
    assert compared(out.documents, example.ordered) == compared(example.results, example.ordered)
