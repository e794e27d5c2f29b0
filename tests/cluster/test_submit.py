"""Programs that ``spark-submit`` starts: the master is the one that it was given, and Spark is quiet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from flinkish.cli.main import main
from tests.cluster.standalone import StandaloneCluster, quick_variables

pytestmark = [
    pytest.mark.spark,
    pytest.mark.cluster,
    pytest.mark.slow("starts a JVM, or a cluster of them, for each program"),
    pytest.mark.timeout(900),
]

SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"

PATIENCE = 400.0

JOB = """
import os
import flinkish as fl
import words

env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
env.setParallelism(2).setMaxParallelism(2)
pairs = env.fromData("a b", "b c").flatMap(words.split)
counts = pairs.keyBy(lambda pair: pair[0]).sum(1).executeAndCollect()
print(sorted(counts))

from pyspark.sql import SparkSession

configuration = SparkSession.getActiveSession().sparkContext.getConf()
for name in ("spark.master", "spark.app.name", "spark.ui.enabled", "spark.driver.bindAddress"):
    print(name, configuration.get(name))
"""

WORDS = "def split(line):\n    for word in line.split():\n        yield word, 1\n"

COUNTS = "[('a', 1), ('b', 1), ('b', 2), ('c', 1)]"


@pytest.fixture
def job(tmp_path):
    """A program with a module beside it, away from the directory where it is submitted."""
    directory = tmp_path / "program"
    directory.mkdir()
    (directory / "words.py").write_text(WORDS)
    path = directory / "counts.py"
    path.write_text(JOB)
    return path


def submit(variables, directory, *arguments):
    return subprocess.run(
        [str(SUBMIT), *map(str, arguments)],
        env=variables,
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def said(run):
    """Return the text on the screen beside the results, without Java's messages at its start."""
    java = ("WARNING: Using incubator modules", "NOTE: Picked up JDK_JAVA_OPTIONS")
    return [line for line in run.stderr.splitlines() if not line.startswith(java)]


@pytest.mark.rotating("one runs on a cluster with each commit")
def test_a_program_runs_on_a_local_master_as_it_would_by_itself(tmp_path, job):
    """It finds the modules beside it, and listens on this machine alone; what Spark says, it says before Python begins
    or as the session starts."""
    variables = quick_variables(PYSPARK_PYTHON=sys.executable)
    run = submit(variables, tmp_path, "--master", "local[2]", job)
    assert run.returncode == 0, run.stderr[-5000:]
    assert run.stdout.splitlines() == [
        COUNTS,
        "spark.master local[2]",
        "spark.app.name counts.py",
        "spark.ui.enabled false",
        "spark.driver.bindAddress 127.0.0.1",
    ]
    assert len(said(run)) <= 8, run.stderr


def test_a_program_runs_on_a_standalone_cluster(tmp_path, job, capsys):
    """The same program, in client mode. Cluster mode is refused by Spark, as docs/operate/clusters.md says."""
    assert main(["logging"]) == 0
    logging = capsys.readouterr().out.strip()
    cluster = StandaloneCluster(tmp_path / "cluster", workers=1)
    try:
        settings = ("--conf", "spark.executor.memory=512m", "--conf", "spark.ui.enabled=false")
        options = (*settings, "--driver-java-options", f"-Dlog4j2.configurationFile={logging}")
        modules = ("--py-files", job.with_name("words.py"))
        master = ("--master", cluster.master)
        run = submit(cluster.environment(), tmp_path, *master, *options, *modules, job)
        refused = submit(cluster.environment(), tmp_path, *master, "--deploy-mode", "cluster", job)
    finally:
        cluster.close()
    assert run.returncode == 0, run.stderr[-5000:]
    assert run.stdout.splitlines()[:2] == [COUNTS, f"spark.master {cluster.master}"]
    # What Spark's process that looks at the state prints, as it starts on a cluster
    assert {line for line in said(run) if "TransformWithState" not in line} <= {""}
    applications = list((tmp_path / "cluster" / "work-0").glob("app-*"))
    assert len(applications) == 1, "the job ran on the executors of the cluster"
    assert refused.returncode != 0
    assert (
        "Cluster deploy mode is currently not supported for python applications on standalone"
        in refused.stderr
    )
