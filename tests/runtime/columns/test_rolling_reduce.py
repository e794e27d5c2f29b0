"""Rolling reductions over columns give what they give element by element, and keep the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flinkish import ReduceFunction, Row
from flinkish.api.errors import UnfitElementError, UserFunctionError
from flinkish.api.functions.adapt import reduce_call
from flinkish.api.functions.aggregations import ComparableAggregator, SumAggregator
from flinkish.api.functions.runtime_context import TaskInfo
from flinkish.api.plan.operators import KeyedReduceDescription
from flinkish.runtime.columns import phase_columns
from flinkish.runtime.columns.rolling_reduce import ColumnGroupedReduce
from flinkish.runtime.columns.tracing.column_function import ColumnFunction
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.output import Output
from flinkish.runtime.records.keys import ColumnKeys, KeyHashes
from flinkish.runtime.records.records import Records, timestamps_of
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.state.page_store import DictPageStore
from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend
from flinkish.runtime.time.clock import ProcessingTimeService
from tests.column_counts import counted_runs
from tests.runtime.properties import part_of_examples
from tests.runtime.windowing.operators import Recorder

NAMES = ("key", "number", "real", "mark", "name")
KINDS = (pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.string())


class Named(NamedTuple):
    key: str
    number: int


@dataclass(frozen=True)
class Made:
    key: str
    number: int
    name: str


def as_row(row):
    return row


class Longest(ReduceFunction):
    """The sum, and the highest text."""

    def reduce(self, value1, value2):
        return (value1[0], value1[1] + value2[1], max(value1[2], value2[2]))


def number_of(row: Any) -> Any:
    return row.number


# What is made of a row first, and how that is reduced
REDUCTIONS: dict[str, tuple[Any, Any]] = {
    "sum": (as_row, SumAggregator("number")),
    "sum of floats": (as_row, SumAggregator("real")),
    "sum by a function": (as_row, SumAggregator(number_of)),
    "sum in a tuple": (lambda row: (row.key, row.number), SumAggregator(1)),
    "sum in a NamedTuple": (lambda row: Named(row.key, row.number), SumAggregator("number")),
    "sum in a dataclass": (
        lambda row: Made(row.key, row.number, row.name),
        SumAggregator("number"),
    ),
    "sum of values": (lambda row: row.number, SumAggregator(0)),
    "max": (as_row, ComparableAggregator("number", "max")),
    "min": (as_row, ComparableAggregator("number", "min")),
    "max of floats": (lambda row: (row.key, row.real), ComparableAggregator(1, "max")),
    "min of floats": (as_row, ComparableAggregator("real", "min")),
    "a function": (lambda row: (row.key, row.number), lambda a, b: (a[0], a[1] + b[1])),
    "a ReduceFunction": (lambda row: (row.key, row.number, row.name), Longest()),
    "Rows": (
        as_row,
        lambda a, b: Row(
            key=a.key,
            number=min(a.number, b.number),
            real=b.real,
            mark=b.mark,
            name=a.name,
        ),
    ),
    "by a condition": (
        lambda row: (row.key, row.number, row.mark),
        lambda a, b: (a[0], a[1] + b[1] if b[2] else a[1], b[2]),
    ),
    "a dataclass": (
        lambda row: Made(row.key, row.number, row.name),
        lambda a, b: Made(b.key, a.number + b.number, b.name),
    ),
    "max of texts": (as_row, ComparableAggregator("name", "max")),
}

NOT_FOLLOWED: dict[str, tuple[Any, Any]] = {
    "maxBy": (as_row, ComparableAggregator("number", "maxBy")),
    "a better one": (as_row, lambda a, b: max(a, b, key=lambda row: row.number)),
    "another type": (lambda row: row.number, lambda a, b: a / 2 + b),
    "replace": (lambda row: Made(row.key, row.number, row.name), lambda a, b: replace(a, name="")),
    "None": (lambda row: row.number, lambda a, b: None),
}


class Driver:
    """The single operator, with functions over columns or without."""

    def __init__(self, made: Any, reduction: Any, columns: bool) -> None:
        self.made = made
        self.output: list[Any] = []
        self.backend, self.store = PagedKeyedStateBackend("it"), DictPageStore()
        output = Output()
        output.connect(Recorder("main", self.output))
        info, clock = TaskInfo("It"), ProcessingTimeService()
        context = OperatorContext(
            "it", "It", self.backend, clock, output, info, tracesFunctions=columns
        )
        function = reduction if isinstance(reduction, ReduceFunction) else None
        description = KeyedReduceDescription(function, reduce_call(reduction))
        self.operator = ColumnGroupedReduce(context, description)
        self.operator.open()
        self.backend.load(self.store, None)
        self.operator.restore(None)

    def elements(self, elements: list[tuple[Any, ...]]) -> None:
        columns = [pa.array(list(c), kind) for c, kind in zip(zip(*elements), KINDS)]
        rows = RowColumns(pa.RecordBatch.from_arrays(columns, names=NAMES))
        values = rows if self.made is as_row else ColumnFunction(self.made).results(rows)
        assert values is not None
        keys, timestamps = ColumnKeys(values, 0), timestamps_of(range(len(elements)))
        hashes = KeyHashes().ofColumn(values.arrow(0))
        self.operator.processRecords(Records(values, timestamps, keys, hashes))

    def run(self, steps: list[Any]) -> str:
        """Return the output and the state afterwards, as text, which tells 1 from True, and 0.0 from -0.0."""
        for step in steps:
            if step == "restart":
                snapshot, directory = self.operator.snapshot(), self.backend.flush()
                self.backend.load(self.store, directory)
                self.operator.restore(snapshot)
            else:
                try:
                    self.elements(step)
                except (UserFunctionError, UnfitElementError) as error:
                    return f"{self.output} {error}"
        kept = sorted(self.backend.table("_op_state").entries(), key=repr)
        return f"{self.output} {kept}"


def same(reduction: tuple[Any, Any], steps: list[Any]) -> int:
    """Return the number of runs processed as columns; fails unless all is as element by element."""
    with counted_runs() as runs:
        over = Driver(*reduction, columns=True).run(steps)
    assert over == Driver(*reduction, columns=False).run(steps)
    return runs.taken["PhaseFold"]


@pytest.fixture(autouse=True)
def _short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phase_columns, "LEAST_ELEMENTS", 1)


SMALL = st.integers(-20, 20)
THIRDS = st.integers(-9, 9).map(lambda n: n / 3)


def elements(number: Any = SMALL, real: Any = THIRDS) -> Any:
    element = st.tuples(
        st.sampled_from("abc"), number, real, st.booleans(), st.sampled_from(["", "a", "b", "ab"])
    )
    return st.lists(element, min_size=1, max_size=40)


LARGE = st.sampled_from([2**62, -(2**63), 2**63 - 1, 0])
ODD = st.sampled_from([float("nan"), -0.0, 0.0, 1e300, float("inf"), float("-inf")])
STEPS = st.lists(
    st.one_of(
        elements(), elements(), st.just("restart"), elements(LARGE), elements(LARGE, real=ODD)
    ),
    max_size=6,
)


def some(count: int, keys: str = "abc") -> list[tuple[Any, ...]]:
    return [
        (keys[n * 7 % len(keys)], n * 31 % 17, n % 13 / 4, n % 3 > 0, "xyz"[n % 3])
        for n in range(1, count)
    ]


@pytest.mark.takes_columns("PhaseFold")
@pytest.mark.parametrize("name", REDUCTIONS)
@part_of_examples(2)
@given(steps=STEPS)
@example(steps=[some(30), some(20)])
def test_runs_give_what_their_elements_give(name: str, steps: list[Any]) -> None:
    same(REDUCTIONS[name], steps)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_are_followed(name: str) -> None:
    assert same(REDUCTIONS[name], [some(100), some(80), "restart", some(90)]) == 3


@pytest.mark.parametrize("name", NOT_FOLLOWED)
def test_others_are_called_for_each_element(name: str) -> None:
    assert same(NOT_FOLLOWED[name], [some(60), some(50), "restart", some(40)]) == 0


def test_a_part_that_goes_by_element_goes_on_in_columns() -> None:
    reduction = REDUCTIONS["sum"]
    over = [("a", 2**62, 0.5, True, "")] * 3
    assert same(reduction, [some(60), over, "restart", some(60, "bc"), some(60, "bc")]) == 3


SHAPES: dict[str, tuple[Any, Any, Any]] = {
    "another order of keys": (
        lambda row: {"key": row.key, "number": row.number, "more": 1_000},
        lambda row: {"key": row.key, "more": 1_000, "number": row.number},
        SumAggregator("number"),
    ),
    "another order of fields": (
        lambda row: Row(key=row.key, number=row.number, more=1_000),
        lambda row: Row(key=row.key, more=1_000, number=row.number),
        SumAggregator("number"),
    ),
    "wider": (
        lambda row: (row.key, row.number),
        lambda row: ((row.key, 7), row.number),
        SumAggregator(1),
    ),
    "another class": (
        lambda row: Named(row.key, row.number),
        lambda row: (row.key, row.number),
        SumAggregator("number"),
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_elements_of_another_shape_than_the_state_are_left_to_the_function(name: str) -> None:
    made, then, reduction = SHAPES[name]
    shown = []
    for columns in (True, False):
        driver = Driver(made, reduction, columns)
        first = driver.run([some(60)])
        driver.made = then
        shown.append((first, driver.run([some(70)])))
    assert shown[0] == shown[1]


def test_a_batch_emits_the_last_of_each_key_only() -> None:
    driver = Driver(*REDUCTIONS["sum"], columns=True)
    context = OperatorContext(
        "it", "It", driver.backend, ProcessingTimeService(), Output(), TaskInfo("It"), batch=True
    )
    description = KeyedReduceDescription(None, lambda a, b: a)
    assert ColumnGroupedReduce(context, description).path is None
