"""Many cases in one job: each is a branch of it, as the start of a job takes Spark far longer than a branch does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flinkish import DataStream, StreamExecutionEnvironment

Branch = Callable[[StreamExecutionEnvironment], DataStream[Any]]


def results_of(
    env: StreamExecutionEnvironment, branches: Mapping[str, Branch]
) -> dict[str, list[Any]]:
    """Return the output of each branch, in the order in which the driver gets it, from one job on ``env``."""
    found: dict[str, list[Any]] = {name: [] for name in branches}
    for name, build in branches.items():
        into = found[name]
        build(env).forEachBatch(lambda values, batch, into=into: into.extend(values))
    env.execute()
    return found
