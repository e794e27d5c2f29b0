"""Objects become columns if the columns give equal objects, and jobs have the same results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish import Row
from flinkish.runtime.columns import phase_columns, uniform_elements
from flinkish.runtime.columns.tracing.checks import same
from flinkish.runtime.columns.uniform_elements import uniform_columns
from tests.column_counts import counted_runs


class Sale(NamedTuple):
    user: str
    amount: int


class Odd(Sale):
    """Has attributes beside its parts."""


@dataclass
class Visit:
    user: str
    seconds: float


@dataclass(frozen=True)
class Place:
    visit: Visit
    at: tuple[int, int]


@pytest.fixture(autouse=True)
def _few_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uniform_elements, "LEAST_ELEMENTS", 1)
    monkeypatch.setattr(phase_columns, "LEAST_ELEMENTS", 1)


TEXTS = st.sampled_from(["", "a", "ü", "longer than others"])
NUMBERS = st.integers(-(2**63), 2**63 - 1)
REALS = st.floats()
UNIFORM: dict[str, st.SearchStrategy[Any]] = {
    "texts": TEXTS,
    "numbers": NUMBERS,
    "bools": st.booleans(),
    "tuples": st.tuples(TEXTS, NUMBERS, REALS, st.booleans()),
    "nested": st.tuples(TEXTS, st.tuples(NUMBERS, st.tuples(REALS))),
    "Rows": st.builds(lambda a, b: Row(a=a, b=b), TEXTS, REALS),
    "NamedTuples": st.builds(Sale, TEXTS, NUMBERS),
    "dataclasses": st.builds(Visit, TEXTS, REALS),
    "dicts": st.builds(lambda a, b: {"a": a, "b": {"c": b}}, NUMBERS, REALS),
    "of each other": st.builds(
        Place, st.builds(Visit, TEXTS, REALS), st.tuples(NUMBERS, NUMBERS)
    ),
    "with nothing": st.tuples(st.just(1), st.one_of(st.none(), NUMBERS)),
}  # fmt: skip


@pytest.mark.parametrize("name", UNIFORM)
@given(data=st.data())
def test_elements_of_one_shape_are_columns(name: str, data: st.DataObject) -> None:
    elements = data.draw(st.lists(UNIFORM[name], min_size=1, max_size=30))
    columns = uniform_columns(elements)
    if name != "with nothing" or any(number is not None for _, number in elements):
        assert columns is not None
        assert same(columns.rows(), elements)


ANY = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**70), 2**70), REALS, st.text(max_size=3),
        st.binary(max_size=2), st.sampled_from(["\ud800", (), [], {}, Odd("a", 1), Sale("b", 2)]),
    ),
    lambda parts: st.one_of(
        st.lists(parts, max_size=3), st.lists(parts, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from(["a", "b", "a.b"]), parts, max_size=2),
        st.builds(Visit, parts, parts), st.builds(lambda a, b: Row(a=a, b=b), parts, parts),
    ),
    max_leaves=4,
)  # fmt: skip


@given(
    elements=st.one_of(
        st.lists(ANY, min_size=1, max_size=5),
        st.lists(st.one_of(st.tuples(ANY), *UNIFORM.values()), min_size=1, max_size=4),
    )
)
def test_columns_never_give_other_objects(elements: list[Any]) -> None:
    columns = uniform_columns(elements)
    if columns is not None:
        assert same(columns.rows(), elements)


def test_what_an_object_has_beside_its_parts_is_kept() -> None:
    visit, sale = Visit("a", 1.0), Odd("a", 1)
    visit.more = 5  # type: ignore[attr-defined]
    sale.more = 5  # type: ignore[attr-defined]
    assert uniform_columns([Visit("b", 2.0), visit]) is None
    assert uniform_columns([sale]) is None


class Nothing(NamedTuple):
    """Has no fields."""


@dataclass
class Tick:
    """Has no fields either."""


@dataclass
class Pickled:
    number: int

    def __setstate__(self, state: Any) -> None:
        self.number = -1


@dataclass
class Lacking:
    number: int = 7


def test_what_columns_could_not_give_back_stays_objects() -> None:
    shared, lacking = {"a": 1}, Lacking()
    del lacking.number
    lacking.other = 5  # type: ignore[attr-defined]
    for elements in (
        [Nothing()],
        [Tick()],
        [(1, Nothing())],
        [(1, Tick())],
        [(0, {"a": 1}, {"a": 1}), (1, shared, shared)],
        [Lacking(), lacking],
        [Pickled(1)],
        [[1, 2]],
        [("a", [1, 2])],
    ):
        assert uniform_columns(elements) is None


def test_few_elements_stay_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uniform_elements, "LEAST_ELEMENTS", 3)
    assert uniform_columns([1, 2]) is None
    assert uniform_columns([1, 2, 3]) is not None


def called(row: Any) -> Any:
    """Cannot be traced."""
    parts = []
    count = row.amount % 3
    while count >= 0:
        parts.append((row.user, row.amount + count, row.at))
        count -= 1
    return parts


JOBS: dict[str, Any] = {
    "windows": lambda parts: (
        parts.keyBy(lambda part: part[0])
        .window(fl.TumblingEventTimeWindows.of(200))
        .reduce(lambda one, other: (one[0], one[1] + other[1], other[2]))
    ),
    "sessions": lambda parts: (
        parts.keyBy(lambda part: part[0])
        .window(fl.EventTimeSessionWindows.withGap(7))
        .reduce(lambda one, other: (one[0], max(one[1], other[1]), one[2]))
    ),
    "rolling": lambda parts: parts.keyBy(lambda part: part[0]).sum(1),
    "called": lambda parts: parts.keyBy(lambda part: hex(part[1] % 5)).process(
        lambda part, ctx, out: out.collect((ctx.getCurrentKey(), str(part)))
    ),
}


@pytest.mark.parametrize("name", JOBS)
def test_jobs_give_the_same_behind_a_function_that_is_called(name: str, tmp_path: Path) -> None:
    lines = [f"{'abc'[n % 3]},{n // 2 * (3 if n % 40 else 1)},{n % 17 - 4}" for n in range(3_000)]
    (tmp_path / "lines.csv").write_text("\n".join(lines) + "\n")

    def results(tracing: bool) -> list[str]:
        env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
        env.setParallelism(2)
        if not tracing:
            env.getConfig().disableFunctionTracing()
        strategy = fl.WatermarkStrategy.forBoundedOutOfOrderness(50).withTimestampAssigner(
            lambda row, _: row.at
        )
        source = fl.FileSource.forCsv(str(tmp_path), "user string, at long, amount long")
        parts = env.fromSource(source, strategy, "lines").flatMap(called)
        return sorted(map(repr, JOBS[name](parts).executeAndCollect()))

    with counted_runs() as runs:
        over = results(True)
    assert over == results(False)
    assert len(over) > 30
    assert runs.taken.total() > runs.taken["ColumnFunction"] or name == "called"
