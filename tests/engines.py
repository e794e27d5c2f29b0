"""The engines that tests run on, and the marks that say which engine refuses a case.

A test is collected once for each engine of the fixture it takes, with the engine's name as its id:

- ``environment``: a whole job, by local execution (``local``) and on Spark (``spark``);
- ``run``: the operators of one stream, element by element (``harness``) and in micro-batches (``batches``);
- ``engine`` alone: the name of each of the four.

``@pytest.mark.never_on("local", reason="why", raises=Error, match="words")`` says that an engine refuses the case: there
the test passes if it ends with that error, and fails as soon as the engine takes the case.
``@pytest.mark.not_on("spark", reason="why")`` leaves an engine out. Both may mark a test, a module or one
``pytest.param``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from flinkish import DataStream, StreamExecutionEnvironment
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches
from tests.streams import values as values_of

Build = Callable[[DataStream[Any]], DataStream[Any]]

ENGINES_BY_FIXTURE = {"run": ("harness", "batches"), "environment": ("local", "spark")}
ENGINES = tuple(engine for engines in ENGINES_BY_FIXTURE.values() for engine in engines)


# ---------------------------------------------------------------------- fixtures


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> str:
    """The name of the engine; with ``spark``, the session is there."""
    name: str = request.param
    if name == "spark":
        request.getfixturevalue("spark")
    return name


@pytest.fixture
def environment(engine: str, request: pytest.FixtureRequest) -> StreamExecutionEnvironment:
    """An environment with two tasks and four key groups."""
    session = request.getfixturevalue("spark") if engine == "spark" else None
    environment = StreamExecutionEnvironment.getExecutionEnvironment(session)
    environment.setLocalExecution(engine == "local")
    return environment.setParallelism(2).setMaxParallelism(4)


@pytest.fixture
def run(engine: str) -> Callable[..., list[Any]]:
    """``on_harness`` or ``in_batches``."""
    return {"harness": on_harness, "batches": in_batches}[engine]


def untimed(value: Any) -> None:
    """No element has a timestamp."""


def on_harness(
    build: Build,
    values: Sequence[Any],
    timestamp: Callable[[Any], int | None] = untimed,
    batchSize: int | None = None,
) -> list[Any]:
    """Return the output of ``build``, to the end of the input. The harness has no batches."""
    harness = StreamTestHarness(build)
    for value in values:
        harness.processElement(value, timestamp(value))
    harness.endInput()
    return values_of(harness)


def in_batches(
    build: Build,
    values: Sequence[Any],
    timestamp: Callable[[Any], int | None] = untimed,
    batchSize: int | None = None,
) -> list[Any]:
    """Return the output of ``build``, in one batch, or in batches of ``batchSize`` elements."""
    elements = [(value, timestamp(value)) for value in values]
    size = batchSize or len(elements)
    batches = [[elements[at : at + size]] for at in range(0, len(elements), size)]
    return [result.value for result in MicroBatches(build, keyGroups=2).run(batches)[0]]


# ---------------------------------------------------------------------- marks


@dataclass(frozen=True)
class EngineMark:
    """The arguments of ``never_on`` or ``not_on``, checked."""

    engines: tuple[str, ...]
    reason: str
    raises: Any
    match: str | None

    @staticmethod
    def of(mark: pytest.Mark, known: Sequence[str]) -> EngineMark:
        """``mark`` of a test that runs on the engines ``known``; ValueError if it is written wrongly."""
        options = {"reason", "raises", "match"} if mark.name == "never_on" else {"reason"}
        if unknown := mark.kwargs.keys() - options:
            raise ValueError(
                f"{mark.name} has no option {sorted(unknown)}; there are {sorted(options)}"
            )
        if not mark.args or not set(mark.args) <= set(known):
            raise ValueError(f"{mark.name}{mark.args} must name engines of the test: {known}")
        if not mark.kwargs.get("reason"):
            raise ValueError(f'{mark.name}{mark.args} needs a reason, as in reason="has no clock"')
        if mark.name == "never_on" and "raises" not in mark.kwargs:
            raise ValueError(f"never_on{mark.args} needs raises=, the error of the engine")
        return EngineMark(
            mark.args, mark.kwargs["reason"], mark.kwargs.get("raises"), mark.kwargs.get("match")
        )


def _engine_of(item: pytest.Item) -> str | None:
    """The engine of a collected test; None if it takes no fixture of engines."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return parameters.get("engine") if "engine" in getattr(item, "fixturenames", ()) else None


def _engines_of(fixtures: Sequence[str]) -> tuple[str, ...]:
    for fixture, engines in ENGINES_BY_FIXTURE.items():
        if fixture in fixtures:
            return engines
    return ENGINES


def _marks_of(item: pytest.Item, name: str) -> list[EngineMark]:
    """The marks that are about the engine of ``item``."""
    engine = _engine_of(item)
    known = () if engine is None else _engines_of(item.fixturenames)  # type: ignore[attr-defined]
    try:
        marks = [EngineMark.of(mark, known) for mark in item.iter_markers(name)]
    except ValueError as error:
        raise pytest.UsageError(f"{item.nodeid}: {error}") from None
    return [mark for mark in marks if engine in mark.engines]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Collect a test once for each of its engines."""
    if "engine" in metafunc.fixturenames:
        metafunc.parametrize("engine", _engines_of(metafunc.fixturenames), indirect=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Check all marks, and leave out what ``not_on`` names."""
    refused = {item.nodeid for item in items if _marks_of(item, "never_on")}
    left_out = {item.nodeid for item in items if _marks_of(item, "not_on")}
    if both := refused & left_out:
        raise pytest.UsageError(f"never_on and not_on name one engine: {sorted(both)}")
    items[:] = [item for item in items if item.nodeid not in left_out]


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    """Expect the error of ``never_on``."""
    marks = _marks_of(pyfuncitem, "never_on")
    if not marks:
        return (yield)
    with pytest.raises(marks[0].raises, match=marks[0].match):
        yield
    return True
