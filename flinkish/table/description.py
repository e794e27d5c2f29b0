"""``QueryDescription``: a query over one stream, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from flinkish.api.plan.operators import OperatorDescription
from flinkish.table.cells import InputColumns
from flinkish.table.data_types import DataType
from flinkish.table.steps import Step
from flinkish.table.user_functions import user_functions


@dataclass(frozen=True)
class QueryDescription(OperatorDescription):
    """Reads the columns ``input`` from the elements, runs ``steps``, and emits Rows with ``names``
    and ``types``.

    ``rowtime``: the column with the timestamps of the results. Without one the results have no
    timestamp, as in Flink; if there are no ``steps``, they keep the timestamps of their elements.
    """

    kind: ClassVar[str] = "Query"

    input: InputColumns
    steps: tuple[Step, ...]
    names: tuple[str, ...]
    types: tuple[DataType, ...]
    rowtime: int | None
    text: str = ""

    @property
    def name(self) -> str:
        return "Query"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return tuple(user_functions(part for step in self.steps for part in step.expressions))

    @property
    def drawing(self) -> tuple[str, ...]:
        return tuple(line.strip() for line in self.text.splitlines())
