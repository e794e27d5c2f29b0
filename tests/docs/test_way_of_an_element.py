"""The files of "From `aggregate` to a fired window" in docs/architecture.md are those that a job goes through."""

from __future__ import annotations

import gc
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import pytest

import flinkish as fl
from tests.docs.pages import DOCS, ROOT, text

PACKAGE = f"{ROOT / 'flinkish'}/"

TRANSLATION = {
    "graph/stream_graph.py",
    "graph/job_graph.py",
    "deployment/vertex_plans.py",
    "runtime/task/chain.py",
    "runtime/registry.py",
}
"""The modules that translate and open a job. They call other files as well, which have nothing to
do with windows."""

OPERATOR = ("WindowOperator.processRecords", "TimerOperator.advanceWatermark")

Visit = Callable[[FrameType, str], None]


class Count(fl.AggregateFunction[Any, int, int]):
    def createAccumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def getResult(self, accumulator: int) -> int:
        return accumulator


@contextmanager
def visiting(call: Visit) -> Iterator[None]:
    """Let ``call(frame, event)`` see every call and return of a function, in threads that start meanwhile too."""

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        call(frame, event)

    before = sys.getprofile()
    # What is collected meanwhile calls the files of other jobs
    gc.collect()
    gc.disable()
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(before)
        gc.enable()


def file_of(code: CodeType) -> str | None:
    """The file of the package that has the code, below the package."""
    name = code.co_filename
    return name.removeprefix(PACKAGE) if name.startswith(PACKAGE) else None


class Depth(threading.local):
    """The number of the operator's methods that run in a thread: others look at the job
    meanwhile."""

    value = 0


class Files:
    """The files of the package that are entered."""

    def __init__(self) -> None:
        self.entered: set[str] = set()
        self.of_the_operator: set[str] = set()
        """The files whose functions run during a method of the operator, and those that call it."""
        self._depth = Depth()

    def enter(self, frame: FrameType, event: str) -> None:
        if event not in ("call", "return") or frame.f_code.co_name == "<module>":
            return
        begins = frame.f_code.co_qualname in OPERATOR
        if event == "return":
            self._depth.value -= begins
            return
        file = file_of(frame.f_code)
        if begins and not self._depth.value:
            self._enter_callers(frame)
        self._depth.value += begins
        if file is not None:
            self.entered.add(file)
            if self._depth.value:
                self.of_the_operator.add(file)

    def _enter_callers(self, frame: FrameType) -> None:
        caller = frame.f_back
        while caller is not None:
            file = file_of(caller.f_code)
            if file is not None and not file.startswith("local/"):
                self.of_the_operator.add(file)
            caller = caller.f_back


def way() -> set[str]:
    """The files from ``aggregate`` to a fired window, in local execution."""
    described, run = Files(), Files()
    fired: list[Any] = []
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    strategy = fl.WatermarkStrategy[tuple[str, int]].forMonotonousTimestamps()
    words = env.fromData(*[("ada", at * 1_000) for at in range(1, 400)])
    windows = (
        words.assignTimestampsAndWatermarks(strategy.withTimestampAssigner(lambda e, t: e[1]))
        .keyBy(lambda e: e[0])
        .window(fl.TumblingEventTimeWindows.of(60_000))
        .trigger(fl.PurgingTrigger.of(fl.EventTimeTrigger.create()))
    )
    with visiting(described.enter):
        counts = windows.aggregate(Count())
    counts.forEachBatch(lambda values, batch: fired.extend(values))
    with visiting(run.enter):
        env.execute("way")
    assert sum(fired) == 399
    assert run.entered >= TRANSLATION
    return described.entered | TRANSLATION | run.of_the_operator


@pytest.mark.slow("traces all calls of a job")
def test_the_page_names_the_files_of_the_way() -> None:
    page = text(DOCS / "architecture.md")
    section = page.partition("## From `aggregate` to a fired window\n")[2].partition("\n## ")[0]
    steps = re.findall(r"[\w/]+\.py", section.split("```")[1])
    assert len(steps) == len(set(steps)) <= 20
    assert set(steps) <= way()
