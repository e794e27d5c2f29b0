"""Timers that functions register and delete, on the harness and in batches."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import flinkish as fl
from flinkish.api.errors import UserFunctionError

METHODS = [
    f"{what}{domain}TimeTimer"
    for what in ("register", "delete")
    for domain in ("Event", "Processing")
]


class Timer(fl.KeyedProcessFunction):
    """Calls ``method`` of the timer service with the element."""

    def __init__(self, method):
        self.method = method

    def processElement(self, value, ctx, out):
        getattr(ctx.timerService(), self.method)(value)

    def onTimer(self, timestamp, ctx, out):
        out.collect(timestamp)


class TimerTrigger(fl.Trigger):
    """Calls ``method`` of its context with the element."""

    def __init__(self, method):
        self.method = method

    def onElement(self, element, timestamp, window, ctx):
        getattr(ctx, self.method)(element)
        return fl.TriggerResult.CONTINUE

    def onEventTime(self, time, window, ctx):
        return fl.TriggerResult.FIRE

    def onProcessingTime(self, time, window, ctx):
        return fl.TriggerResult.FIRE

    def clear(self, window, ctx):
        """It leaves its timers."""


def processed(method):
    return lambda stream: stream.keyBy(lambda value: 0).process(Timer(method)).name("alarm")


def windowed(method):
    return lambda stream: (
        stream.keyBy(lambda value: 0)
        .window(fl.GlobalWindows.create())
        .trigger(TimerTrigger(method))
        .reduce(lambda a, b: a)
        .name("alarm")
    )


@pytest.mark.parametrize("build", [processed, windowed])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("time", [2**63, -(2**63) - 1, 5.0, "5", None])
def test_what_is_no_timestamp_is_refused(run, build, method, time):
    says = r"^alarm: .*Error: a timer at .*\(.*pass (min|an integer).*\) on the element "
    with pytest.raises(UserFunctionError, match=says + re.escape(repr(time))):
        run(build(method), [time])


@pytest.mark.parametrize("build", [processed, windowed])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("time", [2**63 - 1, -(2**63), 0])
def test_every_timestamp_will_do(run, build, method, time):
    run(build(method), [time])


class Timers(fl.KeyedProcessFunction):
    """Registers and deletes the timers that its elements name, and emits those that fire."""

    def processElement(self, value, ctx, out):
        method, time = value
        getattr(ctx.timerService(), method)(time)

    def onTimer(self, timestamp, ctx, out):
        out.collect(timestamp)


REGISTER, DELETE = "registerEventTimeTimer", "deleteEventTimeTimer"
calls = st.lists(st.tuples(st.sampled_from([REGISTER, DELETE]), st.integers(0, 3)), min_size=1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example([(REGISTER, 1), (DELETE, 1), (REGISTER, 1)])
@given(calls)
def test_a_timer_is_there_once_if_it_was_registered_last(run, calls):
    due = set()
    for method, time in calls:
        (due.add if method == REGISTER else due.discard)(time)
    fired = run(lambda stream: stream.keyBy(lambda value: 0).process(Timers()), calls)
    assert fired == sorted(due)
