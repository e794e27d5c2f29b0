"""The Python that the workers of a user's own session run."""

from __future__ import annotations

import os
import subprocess
import sys
import venv

import pytest

from flinkish import InvalidProgramError
from flinkish.spark.session import worker_python

JOB = """
from pyspark.sql import SparkSession
import flinkish as fl
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
rows = env.fromDataFrame(spark.createDataFrame([(1, "a"), (2, "b"), (3, "a")], "n int, k string"))
print("found", sorted(r.n for r in rows.keyBy("k").sum("n").executeAndCollect()))
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """The path of a Python without packages."""
    directory = tmp_path_factory.mktemp("bare")
    venv.create(directory, with_pip=False)
    return directory / "bin" / "python"


def test_a_python_that_lacks_packages_is_named_with_the_fix(bare, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    with pytest.raises(InvalidProgramError) as raised:
        worker_python.check_worker_python(str(bare))
    assert f"run {bare}, which lacks cloudpickle pyarrow pandas numpy" in str(raised.value)
    assert f"Set PYSPARK_PYTHON={sys.executable}" in str(raised.value)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("echo 2.7; echo", r"which is Python 2\.7, where the program runs 3\."),
        ("echo broken >&2; exit 3", "which fails: broken"),
        (None, "which is not there"),
    ],
)
def test_what_else_a_python_may_be(answer, fault, tmp_path):
    python = tmp_path / "python"
    if answer is not None:
        python.write_text(f"#!/bin/sh\n{answer}\n")
        python.chmod(0o700)
    with pytest.raises(InvalidProgramError, match=fault):
        worker_python.check_worker_python(str(python))


def test_this_python_lacks_nothing():
    worker_python.check_worker_python(sys.executable)


@pytest.mark.processes
@pytest.mark.slow("two programs start a JVM each")
def test_the_first_job_of_a_session_of_ones_own(bare, tmp_path):
    path = os.pathsep.join((str(bare.parent), os.environ["PATH"]))
    plain = {k: v for k, v in os.environ.items() if k not in ("PYSPARK_PYTHON", "PYTHONPATH")}

    def run(**variables):
        return subprocess.run(
            [sys.executable, "-c", JOB],
            env={**plain, "PATH": path, **variables},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    # As an editor starts a kernel: python3 is not the Python of this program
    assert run().stdout == "found [1, 2, 4]\n"
    refused = run(PYSPARK_PYTHON=str(bare))
    assert (
        refused.stderr.strip()
        .splitlines()[-1]
        .startswith("flinkish.api.errors.InvalidProgramError: the workers of this SparkSession run")
    )
