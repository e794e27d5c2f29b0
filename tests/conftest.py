"""Fixtures and options of all tests: one Spark session for the whole run, and which tests a target
runs."""

from __future__ import annotations

import gc
import os
import signal
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from flinkish import StreamExecutionEnvironment
from flinkish.api.program_classes import ProgramClasses, use_classes
from tests.column_counts import counted_runs, differences, forget_differences

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Most of what Spark's JVM does in a test is compiling code for the first time. Its optimizing compiler
# pays where code runs for minutes: without it a small job takes a third of the processor time. Threads that
# collect garbage beside the job pay where two sessions leave cores idle. And the classes that it loads are those
# of a release, which need no check of each: a seventh of what it does for the tests of connectors.
os.environ.setdefault(
    "SPARK_SUBMIT_OPTS",
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
)

# How many examples a property draws. No deadline for one of them: the first may import a library.
for profile, examples in {"fast": 10, "test": 25, "thorough": 200}.items():
    hypothesis.settings.register_profile(profile, deadline=None, max_examples=examples)
hypothesis.settings.load_profile("test")

pytest_plugins = ["tests.engines"]
pytest.register_assert_rewrite("tests.runtime.columns.keyed_elements")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Below ``tests`` only the tests themselves are collected: no module beside them has examples, and some run
    their job as they are imported.
    """
    is_module = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return True if is_module else None


@pytest.fixture(autouse=True)
def columns_agree(request: pytest.FixtureRequest) -> Iterator[None]:
    """A function that has left the columns is a fault that its right results hide, and so is one that
    never took them in a test that is marked ``takes_columns``."""
    with counted_runs() as runs:
        yield
    found = differences()
    forget_differences()
    assert not found, found
    for mark in request.node.iter_markers("takes_columns"):
        idle = [kind for kind in mark.args if not runs.taken[kind]]
        assert not idle, (
            f"no run was taken by {idle}, which the test is about; there were {runs.taken}"
        )


@pytest.fixture(autouse=True)
def classes_of_no_job() -> None:
    """A harness, of an example too, says for good whose classes are stored in its thread."""
    use_classes(ProgramClasses())


OWN_TARGETS = (
    "kills",
    "processes",
    "recovery",
    "notebooks",
    "web",
    "thorough",
    "kafka",
    "connect",
    "cluster",
    "image",
)
"""Marks of tests that ``make test`` leaves to separate targets."""


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session of the whole test run, set up as flinkish sets up its own."""
    from flinkish.spark.session.session import session_for

    session = session_for(None)
    # The first query of a session takes seconds longer; no test is to blame for that.
    warm_up = StreamExecutionEnvironment.getExecutionEnvironment(session).setMaxParallelism(2)
    warm_up.fromData(1).keyBy(lambda number: number).reduce(max).executeAndCollect(1)
    yield session
    session.stop()


@pytest.fixture
def env(spark: SparkSession) -> StreamExecutionEnvironment:
    """An environment on the shared session, with two tasks and four key groups."""
    environment = StreamExecutionEnvironment.getExecutionEnvironment(spark)
    return environment.setParallelism(2).setMaxParallelism(4)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--share",
        metavar="K/N",
        help="of the tests that rotate, run share K of N, each test in one of them; 0/4 to 3/4 for quarters",
    )


def _in_share(item: pytest.Item, share: str) -> bool:
    number, shares = map(int, share.split("/"))
    if not 0 <= number < shares:
        raise pytest.UsageError(f"--share {share}: the shares of {shares} are 0 to {shares - 1}")
    return zlib.crc32(item.nodeid.encode()) % shares == number


def pytest_collection() -> None:
    """Collected tests stay in memory: the garbage collector need not visit them, now nor in each
    test."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    """A shell starts what it runs in the background without Ctrl-C, and so would the programs of tests be."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _marks(item: pytest.Item) -> set[str]:
    return {marker.name for marker in item.iter_markers()}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what uses the session as ``spark``, refuse a mark without its reason, and leave out what a target of
    its own runs, unless ``-m`` names it, and what rotates and is not in the share. The long
    tests, those on Spark, come first, so that no process is left with them at the end.
    """
    expression = config.option.markexpr
    left_out = {name for name in OWN_TARGETS if name not in expression}
    share: str | None = config.option.share
    wanted, unwanted = [], []
    for item in items:
        marks = _marks(item)
        rotates = "thorough" in expression or "rotating" in marks
        chosen = not left_out & marks and (not share or not rotates or _in_share(item, share))
        (wanted if chosen else unwanted).append(item)
    items[:] = wanted
    config.hook.pytest_deselected(items=unwanted)
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {}).values()
        # Some ask for the session only where their parameter says so
        on_spark = any(isinstance(value, str) and value == "spark" for value in parameters)
        if on_spark or "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
        for name in ("slow", "rotating", "thorough"):
            marker = item.get_closest_marker(name)
            if marker is not None and not (marker.args or marker.kwargs.get("reason")):
                raise pytest.UsageError(f'{item.nodeid}: say why, as in {name}("starts Flink")')
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)
