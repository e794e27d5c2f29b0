"""Tracebacks show the frames of the program and one of flinkish."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest

import flinkish as fl
from flinkish.api.errors import FlinkishError, InternalError, UserFunctionError
from flinkish.api.tracebacks import FULL_TRACEBACKS, short_traceback
from flinkish.pyflink.datastream import StreamExecutionEnvironment
from flinkish.runtime.operators.output import Output
from flinkish.testing import StreamTestHarness


def inverse(number: int) -> float:
    return 1 / number


def inverses() -> fl.DataStream[float]:
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    return env.fromData([0]).map(lambda number: inverse(number)).keyBy(abs).reduce(max)


def run(stream: fl.DataStream[float]) -> None:
    stream.print()
    stream.getExecutionEnvironment().execute()


def run_asynchronously(stream: fl.DataStream[float]) -> None:
    stream.print()
    stream.getExecutionEnvironment().executeAsync().getJobExecutionResult()


def run_pyflink(stream: fl.DataStream[float]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.core.setLocalExecution()
    env.from_collection([0]).map(inverse).print()
    env.execute()


def run_harness(stream: fl.DataStream[float]) -> None:
    StreamTestHarness(lambda numbers: numbers.map(inverse).keyBy(abs)).processElement(0)


RUNS: dict[str, Callable[[fl.DataStream[float]], object]] = {
    "execute": run,
    "getJobExecutionResult": run_asynchronously,
    "__next__": lambda stream: list(stream.executeAndCollect()),
    "executeAndCollect": lambda stream: stream.executeAndCollect(5),
    "preview": lambda stream: stream.preview(5),
    "collectAsPandas": lambda stream: stream.collectAsPandas(),
    "processElement": run_harness,
    "execute of pyflink": run_pyflink,
}


def frames(error: BaseException) -> list[tuple[bool, str]]:
    """List the frames: whether each is of flinkish, and its function."""
    return [
        (str(frame.f_globals["__name__"]).startswith("flinkish"), frame.f_code.co_name)
        for frame, _ in traceback.walk_tb(error.__traceback__)
    ]


@pytest.mark.parametrize("name", RUNS)
def test_an_error_shows_the_program_and_the_method_that_was_called(name: str) -> None:
    with pytest.raises(UserFunctionError) as raised:
        RUNS[name](inverses())
    of_flinkish = [function for ours, function in frames(raised.value) if ours]
    assert of_flinkish == [name.split()[0]]
    cause = raised.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    assert [frame for frame in frames(cause) if frame[1] != "<lambda>"] == [(False, "inverse")]
    assert len("".join(traceback.format_exception(raised.value)).splitlines()) < 25


def test_a_setting_shows_all_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FULL_TRACEBACKS, "1")
    with pytest.raises(UserFunctionError) as raised:
        list(inverses().executeAndCollect())
    assert sum(ours for ours, _ in frames(raised.value)) > 5


def test_a_fault_of_flinkish_shows_all_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Any) -> None:
        return self.missing

    monkeypatch.setattr(Output, "flush", broken)
    monkeypatch.setitem(broken.__globals__, "__name__", "flinkish.runtime.broken")
    with pytest.raises(InternalError) as raised:
        StreamTestHarness(lambda numbers: numbers.map(abs)).processElement(1)
    assert sum(ours for ours, _ in frames(raised.value)) > 1


def test_the_signature_of_a_method_stays() -> None:
    @short_traceback
    def method(number: int) -> int:
        """What it does."""
        if number < 0:
            raise FlinkishError("negative")
        return number

    assert (method(3), method.__name__, method.__doc__) == (3, "method", "What it does.")
    with pytest.raises(FlinkishError) as raised:
        method(-1)
    assert [function for _, function in frames(raised.value)][-1] == "method"
