"""The interface of a family of cases: how the job is built and how elements go in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from flinkish import OutputTag
from flinkish.testing import StreamTestHarness
from tests.conformance.cases import Case

MAX = 2**63 - 1


class Family(ABC):
    """Builds and drives the cases of one family."""

    name: str

    def covers(self, case: Case) -> bool:
        """Whether the family knows how to build ``case``."""
        return True

    @abstractmethod
    def build(self, case: Case) -> Callable[..., Any]:
        """The job, as the harness takes it."""

    def element(self, item: list[Any], number: int) -> Any:
        """The element of the input item ``["e", ...]``, the ``number``-th of the case."""
        return tuple(item[1:-1])

    def options(self, case: Case) -> dict[str, Any]:
        """Arguments of the harness."""
        return {}

    def sides(self, case: Case) -> dict[str, OutputTag[Any]]:
        """The side outputs to look at, by the label they have in the record."""
        return {}

    def step(self, harness: StreamTestHarness, item: list[Any], number: int) -> None:
        """Do what an input item says."""
        if item[0] == "p":
            harness.setProcessingTime(item[1])
        elif item[0] == "w":
            harness.processWatermark(item[1])
        else:
            harness.processElement(self.element(item, number), item[-1])

    def end(self, harness: StreamTestHarness) -> None:
        """End the input."""
        harness.processWatermark(MAX)
