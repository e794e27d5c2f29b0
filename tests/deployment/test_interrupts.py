"""SIGINT while the program waits for a job. The jobs themselves:
``tests/spark/test_job_life.py``."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from flinkish.api.execution.client import JobClient
from flinkish.deployment.interrupts import interrupts_held, plain_interrupts, wait_for


@pytest.fixture
def handler():
    """Sets the program's handler, and gives back the one that there was."""
    before = signal.getsignal(signal.SIGINT)
    yield lambda chosen: signal.signal(signal.SIGINT, chosen)
    signal.signal(signal.SIGINT, before)


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def test_pysparks_handler_is_not_asked_while_the_program_waits(handler):
    cancelled = []

    def cancel_all(number, frame):
        cancelled.append(number)

    cancel_all.__module__ = "pyspark.core.context"
    handler(cancel_all)
    with pytest.raises(KeyboardInterrupt), plain_interrupts():
        interrupt()
    assert cancelled == []
    interrupt()
    assert cancelled == [signal.SIGINT], "it is there again afterwards"


def test_a_handler_of_the_programs_own_stays(handler):
    seen = []
    handler(lambda number, frame: seen.append(number))
    with plain_interrupts():
        interrupt()
    assert seen == [signal.SIGINT]


def test_an_interrupt_may_be_held_until_a_step_is_done(handler):
    handler(signal.default_int_handler)
    done = []

    def step():
        interrupt()
        done.append(True)

    with pytest.raises(KeyboardInterrupt), interrupts_held():
        step()
    assert done == [True]


def test_a_handler_that_was_set_meanwhile_stays(handler):
    handler(signal.default_int_handler)

    def later(number, frame):
        pass

    with interrupts_held():
        signal.signal(signal.SIGINT, later)
    assert signal.getsignal(signal.SIGINT) is later


def test_other_threads_leave_the_handler_alone(handler):
    handler(signal.default_int_handler)
    seen = []

    def wait():
        with plain_interrupts(), interrupts_held():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


def test_a_client_cancels_its_job_on_an_interrupt():
    cancelled = threading.Event()
    client = type("Client", (JobClient,), {"cancel": lambda self: cancelled.set()})
    client.__abstractmethods__ = frozenset()  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt), client().cancelledOnInterrupt():
        raise KeyboardInterrupt
    assert cancelled.wait(5)


def test_a_wait_ends_often_enough_to_notice_an_interrupt_that_came_just_before_it():
    class Asleep(threading.Event):
        """Goes to sleep after the interrupt has come, and wakes at its timeout only."""

        naps = 0

        def wait(self, timeout=None):
            assert timeout is not None
            assert timeout <= 0.5
            self.naps += 1
            if self.naps == 3:
                interrupt()
            return False

    asleep = Asleep()
    with pytest.raises(KeyboardInterrupt):
        wait_for(asleep)
    assert asleep.naps == 3


def test_a_wait_returns_whether_the_event_was_set():
    event = threading.Event()
    assert not wait_for(event, 0)
    event.set()
    assert wait_for(event)
    assert wait_for(event, 0)
