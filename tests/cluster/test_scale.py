"""The evaluation of the measurements of ``tests.cluster.scale``, without a cluster."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import flinkish as fl
from tests.benchmarks.results import DifferentResultsError
from tests.cluster import scale
from tests.cluster.scale import Measured, Memory, check_equal, shuffled_bytes, table
from tests.cluster.scale_job import JobRun, salted, skewed


def measured(workers, results="3 results", job="skewed"):
    run = JobRun(job, [0.0, 4.0, 6.0, 8.0], [4.0, 2.0, 1.0, 2.0], 2.0, results)
    return Measured(workers, run, 1_000, 25.0, Memory(300, 200))


def test_batches_count_after_those_that_warm_up():
    one = measured(1)
    assert one.seconds == 4.0
    assert one.throughput == 500.0
    others = measured(1, job="tumbling")
    *_, row, last = table("skewed", [one, others, measured(2)], "about").splitlines()
    assert row.split(" | ") == ["| 1", "500", "1.50", "0.50", "25.0", "300", "200 |"]
    assert last.startswith("| 2 |")


def test_results_have_to_be_equal_on_each_number_of_workers():
    check_equal([measured(1), measured(2), measured(2, "4 results", "tumbling")])
    with pytest.raises(DifferentResultsError, match="skewed: 3 results; 4 results"):
        check_equal([measured(1), measured(2, "4 results")])
    with pytest.raises(DifferentResultsError):
        check_equal([measured(1), measured(1, "4 results", "salted")])


def test_the_page_has_the_table_in_place_of_the_one_before(tmp_path, monkeypatch):
    page = tmp_path / "scaling.md"
    one, other = scale.BEGIN.format("one"), scale.BEGIN.format("other")
    page.write_text(f"before\n{one}old\n{scale.END}{other}{scale.END}after\n")
    monkeypatch.setattr(scale, "PAGE", page)
    scale.write_page("one", "new\n")
    assert page.read_text() == f"before\n{one}new\n{scale.END}{other}{scale.END}after\n"
    with pytest.raises(ValueError, match="no place for third"):
        scale.write_page("third", "new\n")


def test_a_program_that_says_nothing_is_given_up():
    too_slow = ("import time; time.sleep(60)", 0.5, scale.TooSlowError)
    for then, seconds, error in (too_slow, ("", 60, RuntimeError)):
        command = [sys.executable, "-c", f"print('one\\ntwo', flush=True); {then}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
            assert [scale._line(program, 60) for _ in range(2)] == ["one", "two"]
            with pytest.raises(error):
                scale._line(program, seconds)


def test_bytes_of_a_shuffle_are_those_of_batches_that_count(tmp_path):
    def job(stages, description):
        properties = {"spark.job.description": description}
        return {"Event": "SparkListenerJobStart", "Stage IDs": stages, "Properties": properties}

    def task(stage, written):
        metrics = {"Shuffle Write Metrics": {"Shuffle Bytes Written": written}}
        return {"Event": "SparkListenerTaskEnd", "Stage ID": stage, "Task Metrics": metrics}

    batch = "tumbling\nid = 1\nrunId = 2\nbatch = {}".format
    events = [
        job([0], None),
        job([1, 2], batch(1)),
        job([3, 4], batch(2)),
        job([5], "other\nbatch = 3"),
    ]
    events += [task(stage, 10**stage) for stage in range(6)]
    events += [{"Event": "SparkListenerTaskEnd", "Stage ID": 4, "Task Metrics": None}]
    events[0]["Properties"] = None
    log = tmp_path / "events"
    log.write_text("".join(json.dumps(event) + "\n" for event in events))
    assert shuffled_bytes(log) == {"tumbling": 11_000}


def test_salts_change_no_result():
    """In this process, over rows of which half have one key."""
    rows = [(f"key-{n % 5}", n * 37 % 1000, n * 500) for n in range(400)]
    found = []
    for job in (skewed, salted):
        env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
        strategy = fl.WatermarkStrategy.forMonotonousTimestamps()

        def read(name, env=env, strategy=strategy):
            typed = fl.Types.ROW_NAMED(
                ["key", "value", "at"], [fl.Types.STRING(), fl.Types.LONG(), fl.Types.LONG()]
            )
            stream = env.fromCollection([fl.Row(key=k, value=v, at=at) for k, v, at in rows], typed)
            return stream.assignTimestampsAndWatermarks(
                strategy.withTimestampAssigner(lambda row, _: row.at)
            )

        with job(read).executeAndCollect() as results:
            found.append(sorted(results))
    assert found[0] == found[1]
    assert sum(result[2] for result in found[0]) == 400
    assert sum(result[2] for result in found[0] if result[0] == "hot") > 150
