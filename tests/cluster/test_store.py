"""Checkpoints and savepoints on a store like S3, through Hadoop's connector."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

import flinkish as fl
from tests.cluster.moved_job import COUNT, KINDS
from tests.cluster.standalone import quick_variables
from tests.cluster.store import BUCKET, ObjectStore
from tests.cluster.test_standalone import JOB, PATIENCE, results, run_locally, write_input
from tests.reliability.processes import ROOT, kill, tree_of
from tests.savepoint_jobs import Run
from tests.spark.sources.test_user_sources import killed_and_gone_on

pytestmark = [
    pytest.mark.spark,
    pytest.mark.cluster,
    pytest.mark.slow("starts JVMs whose files are objects of a server"),
    pytest.mark.timeout(900),
]


@pytest.fixture
def store():
    opened = ObjectStore()
    yield opened
    opened.close()


def variables_of(store, tmp_path):
    return quick_variables(PYSPARK_PYTHON=sys.executable, **store.configure(tmp_path / "conf"))


def test_a_killed_job_goes_on_from_its_checkpoint_in_a_store(tmp_path, store):
    variables = variables_of(store, tmp_path)
    variables["CHECKPOINT"] = f"s3a://{BUCKET}/checkpoint"
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    write_input(whole)
    write_input(killed)
    command = [sys.executable, str(JOB), str(killed), "local[2]"]
    with (tmp_path / "job.log").open("w") as log:
        job = subprocess.Popen(command, env=variables, stdout=log, stderr=log)
        until = time.monotonic() + PATIENCE
        while not store.names("checkpoint/query/offsets/2"):
            assert job.poll() is None, (tmp_path / "job.log").read_text()[-5000:]
            assert time.monotonic() < until, "batch 2 has not begun"
            time.sleep(0.05)
        kill(process.pid for process in tree_of(job.pid))
        job.wait()
        assert not store.names("checkpoint/query/commits/4")
        subprocess.run(command, env=variables, stdout=log, stderr=log, check=True, timeout=PATIENCE)
    run_locally(whole, variables)
    assert results(killed) == results(whole)
    assert store.names("checkpoint/query/state")


@pytest.mark.rotating("a checkpoint in a store is tried with each commit")
def test_a_job_goes_on_from_a_savepoint_in_a_store(tmp_path, store):
    command = [sys.executable, "-m", "tests.cluster.moved_job", f"s3a://{BUCKET}/savepoint"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=variables_of(store, tmp_path),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    assert store.names("savepoint/metadata/")
    assert store.names("savepoint/state/part-")
    undisturbed = Run()
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.getConfig().setElementsPerBatch(15)
    undisturbed.build(env.setParallelism(2), KINDS, COUNT)
    env.execute()
    assert json.loads(done.stdout.splitlines()[-1]) == undisturbed.sorted


@pytest.mark.rotating("a checkpoint in a store is tried with each commit")
def test_a_killed_job_with_a_source_of_its_own_goes_on_from_its_checkpoint_in_a_store(
    tmp_path, store
):
    """The output of the source is in the store, written and read by Python processes."""
    checkpoint = f"s3a://{BUCKET}/checkpoint"
    killed_and_gone_on(tmp_path, variables_of(store, tmp_path), 15, checkpoint)
    assert store.names("checkpoint/sources/")
    assert not store.names("checkpoint/sources/ticks/plan")
