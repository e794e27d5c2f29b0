"""Jobs of process functions with state, cut into batches, give the same whether functions run over columns or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from examples.nexmark.events import from_files, write_files
from examples.nexmark.generator import NexmarkGenerator
from examples.nexmark.queries import QUERIES
from flinkish import StreamExecutionEnvironment
from flinkish.runtime.columns import phase_columns
from tests.column_counts import counted_runs, differences

EVENTS = 4_000
GENERATOR = NexmarkGenerator(seed=5, eventsPerSecond=200)


@pytest.fixture(autouse=True)
def _short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phase_columns, "LEAST_ELEMENTS", 1)


def answers(query: int, directory: Path, traced: bool, parallelism: int) -> list[Any]:
    """The answers to a query, in their order."""
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(parallelism)
    if not traced:
        env.getConfig().disableFunctionTracing()
    return [
        tuple(answer) for answer in QUERIES[query](from_files(env, directory)).executeAndCollect()
    ]


@pytest.mark.takes_columns("PhaseFold")
@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("query", [3, 9])
def test_joins_by_state_give_the_same_over_columns(
    tmp_path: Path, query: int, parallelism: int
) -> None:
    write_files(GENERATOR, tmp_path, EVENTS, 1_000)
    with counted_runs() as runs:
        over = answers(query, tmp_path, True, parallelism)
    assert over == answers(query, tmp_path, False, parallelism)
    assert over
    assert runs.taken["PhaseFold"] > runs.elements["PhaseFold"]
    assert not differences()
