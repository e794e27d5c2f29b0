"""Lines, notebook and progress say what event time waits for."""

from __future__ import annotations

import itertools
import logging
import socket
import threading
import time
from dataclasses import replace

import pytest

import flinkish as fl
from flinkish import JobStatus
from flinkish.api.display import holds
from flinkish.api.display.holds import waits_for
from flinkish.api.display.notebook import facts, job_html
from flinkish.deployment.status import job_details
from flinkish.deployment.status.job_monitor import clock
from tests.spark.waiting import wait_for
from tests.web.jobs import Client, details

WAITS = "Source: slow, whose watermark ("


def held(**changes):
    """The job, whose operators are held back by what is changed so."""
    job = details()
    vertices = tuple(
        replace(
            vertex,
            operators=tuple(
                operator
                if operator.heldBackBy is None
                else replace(operator, heldBackBy=replace(operator.heldBackBy, **changes))
                for operator in vertex.operators
            ),
        )
        for vertex in job.vertices
    )
    return replace(job, vertices=vertices)


def test_the_source_and_how_long_and_the_fix():
    said = waits_for(details())
    assert said is not None
    assert said.startswith(WAITS)
    assert "has not moved for 1 min 30 s; no elements come from there" in said
    assert "withIdleness" in said
    assert said.count("Source: slow") == 1


@pytest.mark.slow("a second between two looks at a job")
def test_everywhere(capsys):
    assert facts(details())["waits for"].startswith(WAITS)
    assert WAITS in job_html(details())
    states = iter([JobStatus.RUNNING, JobStatus.FINISHED])

    class Ends(Client):
        def getJobDetails(self):
            return details(status=next(states))

    Ends(details()).show()
    running, ended = capsys.readouterr().out.splitlines()
    assert f"waits for {WAITS}" in running
    assert "waits for" not in ended


def test_a_split_is_named():
    said = waits_for(held(split="events/3"))
    assert said is not None
    assert said.startswith("Source: slow, split events/3, whose watermark")


@pytest.mark.parametrize(
    "changes", [{"since": details().now - 9_000}, {"currentWatermark": 2**63 - 1}]
)
def test_nothing_that_moves_or_has_ended(changes):
    now = details().now
    changes = {k: now if k == "since" else v for k, v in changes.items()}
    assert waits_for(replace(held(**changes), now=now)) is None
    assert "waits for" not in facts(replace(held(**changes), now=now))


def test_an_operator_without_a_watermark_shows_none():
    job = held(currentWatermark=None)
    vertices = tuple(
        replace(
            vertex,
            operators=tuple(
                replace(o, metrics=replace(o.metrics, currentWatermark=None))
                if any(each.holdsBack for each in o.inputs)
                else o
                for o in vertex.operators
            ),
        )
        for vertex in job.vertices
    )
    shown = facts(replace(job, vertices=vertices))["watermark"]
    assert shown.startswith("none yet at ")


IDLE = "no elements come from there: "
COME = "elements keep coming from there, the latest at 1970-01-01 00:00:03 UTC"
NO_USE = "withIdleness does not help, check"
MOVES = "a later timestamp or the end of the input moves it"


@pytest.mark.parametrize(
    ("changes", "ahead", "fix"),
    [
        ({}, True, f"{IDLE}give its strategy withIdleness(...)"),
        ({}, False, f"{IDLE}{MOVES}"),
        ({"currentWatermark": None}, True, f"{IDLE}give its strategy withIdleness(...)"),
        ({"lastElement": 60_000}, True, f"{IDLE}give its strategy withIdleness(...)"),
        ({"split": "events/3"}, True, "give its strategy withIdleness(...)"),
        ({"split": "events/3"}, False, MOVES),
        (
            {"lastElement": 0, "lastTimestamp": 3_000},
            False,
            f"{COME}, and do not move it: {NO_USE} their timestamps",
        ),
        (
            {"lastElement": 0, "lastTimestamp": 3_000},
            True,
            f", and do not move it: {NO_USE} their timestamps",
        ),
        (
            {"lastElement": 0},
            True,
            f"; elements keep coming from there, and do not move it: {NO_USE} their timestamps",
        ),
        (
            {"lastElement": 0, "lastTimestamp": 3_000, "currentWatermark": None},
            False,
            f"{COME}, but its strategy has emitted no watermark: {NO_USE} its WatermarkGenerator",
        ),
        (
            {"lastElement": 0, "currentWatermark": None, "isGenerated": False},
            True,
            "give it timestamps and watermarks with assignTimestampsAndWatermarks(...)",
        ),
    ],
)
def test_the_fix_fits_what_came_from_there(changes, ahead, fix):
    """``lastElement``: for how long none has come."""
    now = details().now
    if "lastElement" in changes:
        changes = {**changes, "lastElement": now - changes["lastElement"]}
    job = replace(held(**changes), now=now)
    vertices = tuple(
        replace(
            vertex,
            operators=tuple(
                replace(
                    o,
                    waitsForEventTime=True,
                    inputs=tuple(replace(each, holdsBack=False) for each in o.inputs),
                )
                for o in vertex.operators
            ),
        )
        for vertex in job.vertices
    )
    said = waits_for(job if ahead else replace(job, vertices=vertices))
    assert said is not None
    assert said.endswith(fix)
    assert (", older than the watermark of others (" in said) == (
        ahead and "lastTimestamp" in changes
    )


def test_what_several_inputs_wait_for_is_said_of_each():
    job = details()
    *first, windows, sink = job.vertices
    split = replace(windows.operators[0].heldBackBy, operator="Source: other", split="7")
    other = replace(windows.operators[1], heldBackBy=split)
    windows = replace(windows, operators=(windows.operators[0], other))
    said = waits_for(replace(job, vertices=(*first, windows, sink)))
    assert said is not None
    assert f"{IDLE}give its strategy withIdleness(...); and for Source: other, split 7, " in said


def test_the_time_in_which_a_batch_runs_is_not_waited_for(logged):
    job = details()
    since = job.now - 90_000
    assert waits_for(replace(job, batchSince=since + 9_000)) is None
    assert "has not moved for 20 s;" in str(waits_for(replace(job, batchSince=since + 20_000)))
    running = replace(job, batchSince=job.now)
    following([replace(running, now=job.now + 10_000 * step) for step in range(5)])
    assert logged.messages == []
    ended = replace(job, now=job.now + 60_000)
    following([running, ended])
    assert len(logged.messages) == 1


class Waits(fl.Source[tuple[str, int]]):
    """Elements up to 4 s, and then the last one's repetitions."""

    @property
    def bounded(self):
        return False

    def read(self, position):
        for second in itertools.count(position or 0):
            time.sleep(0.01 if second > 4 else 0)
            yield fl.StreamRecord(("a", 1), min(second, 4) * 1000), second + 1


def windows(env, strategy):
    return (
        env.fromSource(Waits(), strategy, "slow")
        .keyBy(lambda e: e[0])
        .window(fl.TumblingEventTimeWindows.of(fl.Time.minutes(1)))
        .sum(1)
    )


class Records(logging.Handler):
    """Keeps what is logged, and says when something has been."""

    def __init__(self):
        super().__init__()
        self.messages: list[str] = []
        self.came = threading.Event()

    def emit(self, record):
        if "Event time waits" in record.getMessage():
            self.messages.append(record.getMessage())
            self.came.set()


@pytest.fixture
def logged(monkeypatch):
    monkeypatch.setattr(holds, "STUCK_MILLIS", 300)
    monkeypatch.setattr(holds, "_POLL_SECONDS", 0.05)
    records = Records()
    logging.getLogger("flinkish").addHandler(records)
    yield records
    logging.getLogger("flinkish").removeHandler(records)


@pytest.mark.parametrize(
    ("strategy", "fix"),
    [
        (fl.WatermarkStrategy.forMonotonousTimestamps(), "check their timestamps."),
        (None, "assignTimestampsAndWatermarks(...)."),
    ],
)
def test_a_silent_job_logs_it_once(logged, strategy, fix):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    windows(env, strategy).print()
    client = env.executeAsync("quiet")
    try:
        assert logged.came.wait(20)
    finally:
        client.cancel()
    (message,) = logged.messages
    assert message.startswith("quiet: nothing has come out for")
    assert "Event time waits for Source: slow, whose watermark (" in message
    assert message.endswith(fix)


@pytest.mark.parametrize("awaited", [False, True])
def test_an_error_that_nobody_waits_for_is_logged(caplog, monkeypatch, awaited):
    polled = threading.Event()

    def follow_later(look, seconds):
        threading.Thread(target=lambda: (polled.wait(20), look())).start()

    monkeypatch.setattr(holds, "follow", follow_later)
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    windows(env, fl.WatermarkStrategy.noWatermarks()).map(lambda e: 1 // 0).print()
    env.fromData("x").map(int).name("numbers").print()
    client = env.executeAsync("broken")
    wait_for(lambda: client.getJobStatus().isGloballyTerminalState(), seconds=20)
    if awaited:
        with pytest.raises(fl.UserFunctionError):
            client.getJobExecutionResult()

    def told():
        # A job of an earlier test may still be told of
        return [message for message in caplog.messages if message.startswith("broken ")]

    with caplog.at_level(logging.ERROR, "flinkish"):
        polled.set()
        wait_for(lambda: awaited or told(), seconds=20)
    assert [
        message.startswith("broken has failed: UserFunctionError: numbers: ") for message in told()
    ] == ([] if awaited else [True])


def following(jobs):
    """Return the log of a job that is in these states one after the other."""
    told = iter(jobs)

    class Goes(Client):
        def getJobStatus(self):
            self.now = next(told, details(status=JobStatus.FINISHED))
            return self.now.status

        def getJobDetails(self):
            return self.now

    silence = holds._Silence(Goes(details()))
    while silence.look():
        pass


def without_timers(job):
    """The job where nothing waits for the watermark."""
    return replace(
        job,
        vertices=tuple(
            replace(
                vertex,
                operators=tuple(
                    replace(o, metrics=replace(o.metrics, timers=0)) for o in vertex.operators
                ),
            )
            for vertex in job.vertices
        ),
    )


def test_a_job_with_output_or_a_short_one_logs_nothing(logged):
    job = details()
    short = [replace(job, now=job.now + 250 * step) for step in range(2)]
    following(short)

    def written(step):
        vertices = tuple(replace(v, numRecordsIn=v.numRecordsIn + step) for v in job.vertices)
        return replace(job, now=job.now + 1_000 * step, vertices=vertices)

    following([written(step) for step in range(5)])
    following([replace(without_timers(job), now=job.now + 250 * step) for step in range(5)])
    assert logged.messages == []
    following([replace(job, now=job.now + 250 * step) for step in range(5)])
    assert len(logged.messages) == 1


def test_an_empty_preview_says_it():
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    strategy: fl.WatermarkStrategy[tuple[str, int]] = fl.WatermarkStrategy.forMonotonousTimestamps()
    said = "no elements yet: event time waits for Source: slow, whose watermark ("
    # On a busy machine event time has not stood still for long enough after half a second
    for seconds in (0.5, 2, 8):
        shown = windows(env, strategy).preview(3, seconds)
        assert (shown, shown.isComplete) == ([], False)
        if said in shown.toText():
            break
    assert said in shown.toText()
    assert said in shown._repr_html_()
    first = env.fromSource(Waits(), strategy, "slow").preview(1)
    assert first.toText().splitlines()[-1] == "the first 1 element"


AT = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda e, t: e[1])
START = 1_767_225_600_000


@pytest.fixture
def env():
    return fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()


def generated(env, name, first, step):
    source = fl.DataGeneratorSource(lambda n: (name, first + n * step), elementsPerSecond=200)
    return env.fromSource(source, None, name).assignTimestampsAndWatermarks(AT)


def windows_of(stream):
    keyed = stream.keyBy(lambda e: e[0])
    keyed.window(fl.TumblingEventTimeWindows.of(60_000)).reduce(max).forEachBatch(lambda v, b: None)


def said_of(client, expected):
    """Return the reason for which a running job waits, once it is the expected one."""
    said = []

    def is_said():
        said[:] = [waits_for(client.getJobDetails(), 300) or ""]
        return expected in said[0]

    try:
        wait_for(is_said, seconds=60)
    finally:
        client.cancel()
    return said[0]


def test_a_source_with_old_timestamps_is_behind(env):
    windows_of(generated(env, "new", START, 1_000).union(generated(env, "old", 4_000, 0)))
    said = said_of(env.executeAsync("behind"), "older than the watermark of others")
    assert said.startswith("Source: old, whose watermark (1970-01-01 00:00:03 UTC) has not moved")
    assert "; elements keep coming from there, the latest at 1970-01-01 00:00:04 UTC, older" in said
    assert said.endswith("and do not move it: withIdleness does not help, check their timestamps")


@pytest.mark.parametrize("strategy", ["built in", "own"])
def test_a_split_is_told_to_be_behind_or_idle(env, strategy):
    def element(n):
        return ("old", 4_000) if n < 20 or (goes_on and n % 2) else ("new", START + n * 1_000)

    class Own(fl.BoundedOutOfOrdernessWatermarks):
        pass

    at = AT
    if strategy == "own":
        at = fl.WatermarkStrategy.forGenerator(lambda _: Own(fl.Duration.ofMillis(0)))
        at = at.withTimestampAssigner(lambda e, t: e[1])
    fixes = {
        True: "elements keep coming from there, the latest at 1970-01-01 00:00:04 UTC, older",
        False: "no elements come from there: give its strategy withIdleness(...)",
    }
    for goes_on in fixes:
        source = fl.DataGeneratorSource(element, elementsPerSecond=200).withSplits(lambda e: e[0])
        windows_of(env.fromSource(source, at, "events"))
        said = said_of(env.executeAsync("splits"), fixes[goes_on])
        assert said.startswith("Source: events, split old, whose watermark (1970-01-01 00:00:03 ")


def test_a_source_that_sends_nothing_more_is_idle(env):
    with socket.create_server(("localhost", 0)) as server:
        lines = env.socketTextStream("localhost", server.getsockname()[1])
        timed = lines.map(lambda line: (line, 4_000)).assignTimestampsAndWatermarks(AT)
        windows_of(generated(env, "new", START, 1_000).union(timed))
        client = env.executeAsync("idle")
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"one\n")
            said = said_of(client, "watermark (1970-01-01 00:00:03 UTC)")
    assert said.startswith("Source: Socket Stream, whose watermark (1970-01-01 00:00:03 UTC) has")
    assert said.endswith("; no elements come from there: give its strategy withIdleness(...)")


def test_a_job_whose_batch_takes_long_waits_for_nothing(env, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()

    def slowly(values, batch):
        if batch > 0:
            begun.set()
            assert go_on.wait(60)

    stream = generated(env, "clicks", START, 0)
    windows_of(stream)
    stream.forEachBatch(slowly)
    client = env.executeAsync("slow")
    try:
        assert begun.wait(60)
        monkeypatch.setattr(job_details, "clock", lambda: clock() + 60_000)
        running = client.getJobDetails()
        assert running.batchSince is not None
        assert running.operators
        assert waits_for(running) is None
        go_on.set()
        wait_for(lambda: waits_for(client.getJobDetails()), seconds=60)
    finally:
        go_on.set()
        client.cancel()
