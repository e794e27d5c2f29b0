"""What all tests share: one Spark session for the whole run, and a limit on how long a test takes."""

from __future__ import annotations

import os
import signal
import time
import zlib
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from flinkish import StreamExecutionEnvironment
from flinkish.api.program_classes import ProgramClasses, use_classes
from flinkish.runtime.columns.tracing.column_runs import (
    counted_runs,
    differences,
    forget_differences,
)

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

# The limit below is on a whole test: one example may be slow, as the first is that imports a library.
hypothesis.settings.register_profile("whole-test", deadline=None)
hypothesis.settings.load_profile("whole-test")
hypothesis.settings.register_profile("fast", deadline=None, max_examples=10)

pytest_plugins = ["tests.engines"]

collect_ignore = [
    "spark/job_life.py",
    "spark/sources/user_source_job.py",
    "benchmarks/bytewax_job.py",
    "benchmarks/pathway_job.py",
    "benchmarks/pyflink_job.py",
    "table/record_flink.py",
]
"""Scripts that run their jobs as they are read, or need PyFlink."""

LONGEST_SECONDS = 10.0
"""A test that takes longer is marked ``slow`` with a reason. One that is not fails after twice the
time, for a machine is at times half as fast as at others; on one that is busy with other things, the
limit is longer by as much as it is overloaded."""

LOOP_SECONDS = 0.1
"""What two million steps of a loop take of a core that has nothing else to do."""


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
"""Marks of tests that ``make test`` leaves to a target of their own."""


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
        help="run only share K of N of the tests, 0/4 to 3/4 for quarters, each test in one of them",
    )


def _in_share(item: pytest.Item, share: str) -> bool:
    number, shares = map(int, share.split("/"))
    if not 0 <= number < shares:
        raise pytest.UsageError(f"--share {share}: the shares of {shares} are 0 to {shares - 1}")
    return zlib.crc32(item.nodeid.encode()) % shares == number


def pytest_configure(config: pytest.Config) -> None:
    """A shell starts what it runs in the background without Ctrl-C, and so would the programs of tests be."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _marks(item: pytest.Item) -> set[str]:
    return {marker.name for marker in item.iter_markers()}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what uses the session as ``spark``, refuse a ``slow`` mark that gives no reason, and leave out
    what a target of its own runs, unless ``-m`` names it. The long tests, those on Spark, come first, so that
    no process is left with them at the end.
    """
    left_out = {name for name in OWN_TARGETS if name not in config.option.markexpr}
    share: str | None = config.option.share
    wanted, unwanted = [], []
    for item in items:
        chosen = not left_out.intersection(_marks(item)) and (not share or _in_share(item, share))
        (wanted if chosen else unwanted).append(item)
    items[:] = wanted
    config.hook.pytest_deselected(items=unwanted)
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {}).values()
        # Some ask for the session only where their parameter says so
        on_spark = any(isinstance(value, str) and value == "spark" for value in parameters)
        if on_spark or "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
        marker = item.get_closest_marker("slow")
        if marker is not None and not (marker.args or marker.kwargs.get("reason")):
            raise pytest.UsageError(
                f'{item.nodeid}: say why it is slow, as in slow("starts Flink")'
            )
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)


def _slowness() -> float:
    """How much longer a loop takes now than on a core that has nothing else to do: another program, or another
    machine on the same host, may have it."""
    began, total = time.perf_counter(), 0
    for number in range(2_000_000):
        total += number
    return (time.perf_counter() - began) / LOOP_SECONDS


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a passed test that took too long. What its fixtures took does not count."""
    report = yield
    may_be_slow = not report.passed or item.get_closest_marker("slow") is not None
    limit = 2 * LONGEST_SECONDS
    if report.when != "call" or may_be_slow or report.duration <= limit:
        return report
    overload = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1), _slowness())
    if report.duration > limit * overload:
        report.outcome = "failed"
        report.longrepr = (
            f"{item.nodeid} took {report.duration:.1f} s, and the limit is {LONGEST_SECONDS:.0f} s."
            ' Make it faster, or mark it @pytest.mark.slow("why").'
        )
    return report
