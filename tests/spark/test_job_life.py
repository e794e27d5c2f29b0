"""How a job ends: at the end of its input, by an error, by ``cancel()``, a savepoint, Ctrl-C or the
JVM's death; on a session of our own and on one that the user has built, and what is on the screen
then."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import flinkish as fl
from tests.reliability.processes import tree_of
from tests.spark.waiting import wait_for

PROGRAM = Path(__file__).with_name("job_life.py")

pytestmark = [
    pytest.mark.processes,
    pytest.mark.spark,
    pytest.mark.slow("starts Python and Spark, and ends jobs in fourteen ways"),
    pytest.mark.timeout(1200),
]

NOT_OURS = ("WARN NativeCodeLoader", "WARN Utils:", "WARN SparkConf:")
"""Spark's messages when a session starts, which is the user's to set."""


class Life:
    """The messages and output of a run of ``job_life.py``, by part."""

    def __init__(self, output: str, errors: str) -> None:
        self.output = dict(_parts(output))
        self.errors = dict(_parts(errors))
        self.said = {
            name: json.loads(lines[-1].removeprefix("said "))
            for name, text in self.output.items()
            if (lines := text.splitlines()) and lines[-1].startswith("said ")
        }

    def printed(self, name: str) -> list[str]:
        """Return the lines that the user saw in that part."""
        lines = [*self.output[name].splitlines()[:-1], *self.errors[name].splitlines()]
        shown = (line.rpartition("\r")[2].strip() for line in lines)
        return [line for line in shown if line and not any(text in line for text in NOT_OURS)]


def _parts(text: str) -> list[tuple[str, str]]:
    parts = (part.partition("\n") for part in text.split("begin ")[1:])
    return [(name, content) for name, _, content in parts]


def lived(session: str, directory: Path) -> Life:
    """Run ``job_life.py``, which ends jobs in all ways, on that session."""
    root = str(Path(fl.__file__).parents[1])
    ended = subprocess.run(
        [sys.executable, str(PROGRAM), session, str(directory)],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    result = Life(ended.stdout, ended.stderr)
    assert len(result.said) == 14, (list(result.said), ended.stderr[-8000:])
    return result


@pytest.fixture(scope="module")
def life(tmp_path_factory):
    return lived("own", tmp_path_factory.mktemp("own"))


def test_a_job_that_succeeds_prints_its_result_only(life):
    assert sorted(life.printed("success")) == ["('a', 1)", "('a', 4)", "('b', 2)"]


def test_a_long_stage_has_no_bar_of_sparks(life):
    assert sorted(life.printed("a long stage")) == ["('a', 1)", "('a', 3)", "('b', 2)"]


def test_a_dataframe_of_results_says_nothing_of_pages(life):
    assert not [line for line in life.printed("toDataFrame") if "Map state" in line]


def test_an_error_is_raised_and_nothing_printed(life):
    for part, named in (
        ("error in a worker", "Map: the user function raised ZeroDivisionError"),
        ("error in a sink", "For Each Batch: the user function raised ZeroDivisionError"),
        ("exit in a sink", "For Each Batch: the user function raised SystemExit"),
    ):
        assert life.said[part]["error"] == "UserFunctionError", part
        assert named in life.said[part]["message"], part
        assert life.printed(part) == [], part


def test_cancel_in_a_batch_prints_nothing(life):
    for part in ("cancel", "cancel from a sink"):
        assert life.said[part] == {"status": "CANCELED"}, part
        assert life.printed(part) == [], part


def test_a_savepoint_prints_nothing_and_is_for_its_owner_only(life):
    assert life.said["savepoint"]["status"] == "CANCELED"
    assert life.said["savepoint"]["mode"] == "0o700"
    assert life.printed("savepoint") == []


def test_an_interrupt_cancels_the_job(life):
    for part in ("interrupt in a batch", "interrupt between batches"):
        assert life.said[part]["error"] == "KeyboardInterrupt", part
        assert life.printed(part) == [], part


def test_a_job_that_is_terminated_prints_nothing(tmp_path):
    """As when a notebook's kernel is restarted, or a terminal is closed: all its processes are."""
    ready, said = tmp_path / "ready", tmp_path / "said"
    with said.open("w") as errors:
        job = subprocess.Popen(
            [sys.executable, str(PROGRAM.with_name("terminated_job.py")), str(ready)],
            env={**os.environ, "PYTHONPATH": str(Path(fl.__file__).parents[1])},
            stdout=errors,
            stderr=errors,
            start_new_session=True,
        )
        wait_for(ready.exists, 300)
        processes = [process.pid for process in tree_of(job.pid)]
        os.killpg(job.pid, signal.SIGTERM)
        assert job.wait(60) == -signal.SIGTERM
        wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in processes), 60)
    lines = [line for line in said.read_text().splitlines() if "incubator modules" not in line]
    assert lines == []


def test_an_interrupted_iterator_has_no_job_any_more(life):
    assert life.said["interrupt between batches"]["status"] == "CANCELED"


def test_a_job_ends_with_the_iterator_that_it_is_there_for(life):
    assert life.said["dropped"] == {"status": "CANCELED"}
    assert life.printed("dropped") == []


def test_errors_show_no_elements_if_they_are_hidden(life):
    assert life.said["hidden"]["error"] == "UserFunctionError"
    assert life.said["hidden"]["message"] == (
        "Map: the user function raised ValueError (its message is hidden) on the element of type str"
        " (hidden)"
    )
    assert life.said["hidden"]["notes"] == []
    assert "secret" not in life.output["hidden"] + life.errors["hidden"]


def test_the_death_of_the_jvm_is_an_error_and_leaves_no_worker(life):
    said = life.said["no jvm"]
    assert "the JVM that Spark runs in is gone" in said["result"]
    assert list(said["next"]) == [
        "job",
        "job in that session",
        "toDataFrame",
        "SavepointReader",
        "SavepointWriter",
    ]
    assert all("Restart Python" in error for error in said["next"].values())
    assert said["workers"] > 0
    assert "error" not in said, "workers that live on"


@pytest.mark.rotating("starts Python and Spark once more, and ends jobs in fourteen ways")
def test_all_of_this_on_a_session_that_the_user_has_built(tmp_path):
    life = lived("user", tmp_path)
    test_a_job_that_succeeds_prints_its_result_only(life)
    test_a_long_stage_has_no_bar_of_sparks(life)
    test_a_dataframe_of_results_says_nothing_of_pages(life)
    test_an_error_is_raised_and_nothing_printed(life)
    test_cancel_in_a_batch_prints_nothing(life)
    test_a_savepoint_prints_nothing_and_is_for_its_owner_only(life)
    test_an_interrupt_cancels_the_job(life)
    test_an_interrupted_iterator_has_no_job_any_more(life)
    test_a_job_ends_with_the_iterator_that_it_is_there_for(life)
    test_errors_show_no_elements_if_they_are_hidden(life)
    test_the_death_of_the_jvm_is_an_error_and_leaves_no_worker(life)
