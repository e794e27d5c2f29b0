"""On Spark time goes on without input: an idle timeout and an estimated arrival time close windows."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flinkish import FileSource, StreamExecutionEnvironment
from flinkish.compat import atlas, stream_analytics
from tests.spark.waiting import wait_for


def test_windows_close_by_the_clock(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text(f"{time.time_ns() // 1_000_000}\n")
    events = env.fromSource(FileSource.forLines(str(tmp_path)).monitorContinuously()).map(int)
    idle = atlas.tumblingWindow(
        atlas.source(events, lambda event, timestamp: event),
        interval=atlas.Interval(1, "second"),
        idleTimeout=atlas.Interval(1, "second"),
        pipeline=lambda windows: windows.apply(lambda window, found: [("idle", len(list(found)))]),
    )
    ordering = stream_analytics.EventOrdering(eventsLateArrivalMaxDelayInSeconds=3600)
    estimated = (
        stream_analytics.timestampBy(
            events,
            lambda event, timestamp: event - 3_600_000,
            arrivalTime=lambda event, timestamp: event,
            ordering=ordering,
        )
        .windowAll(stream_analytics.TumblingWindow("s", 1))
        .apply(lambda window, found: [("estimated", len(list(found)))])
    )
    seen: list[Any] = []
    idle.results.union(estimated).forEachBatch(lambda values, batch: seen.extend(values))
    client = env.executeAsync("without input")
    try:
        wait_for(lambda: len(seen) == 2 or client.getJobStatus().value != "RUNNING")
    finally:
        client.cancel()
    assert sorted(seen) == [("estimated", 1), ("idle", 1)]


@pytest.mark.recovery
def test_an_idle_timeout_goes_on_over_a_stop_and_a_restart(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    """The event is read before the stop, and its window closes without any input after it."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "in.txt").write_text(f"{time.time_ns() // 1_000_000}\n")
    env.enableCheckpointing(str(tmp_path / "checkpoint"))
    read: list[int] = []
    closed: list[int] = []

    def run(until: Callable[[], bool]) -> None:
        lines = FileSource.forLines(str(source)).monitorContinuously()
        events = env.fromSource(lines).uid("lines").map(int)
        stage = atlas.tumblingWindow(
            atlas.source(events, lambda event, timestamp: event),
            interval=atlas.Interval(1, "second"),
            idleTimeout=atlas.Interval(3, "second"),
            pipeline=lambda windows: windows.apply(lambda window, found: [len(list(found))]),
        )
        events.forEachBatch(lambda values, batch: read.extend(values))
        stage.results.forEachBatch(lambda values, batch: closed.extend(values))
        client = env.executeAsync("idle")
        try:
            wait_for(lambda: until() or client.getJobStatus().value != "RUNNING")
        finally:
            # With its last batch committed: the file is gone when it would come again
            client.stopWithSavepoint()

    run(lambda: bool(read))
    (source / "in.txt").unlink()
    run(lambda: bool(closed))
    assert closed == [1]
