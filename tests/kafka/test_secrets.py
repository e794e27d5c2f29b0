"""Passwords of sources and sinks are shown nowhere."""

from __future__ import annotations

import base64
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.cluster.standalone import StandaloneCluster
from tests.kafka.broker import KafkaBroker
from tests.kafka.secret_job import PASSWORD
from tests.kafka.topics import Topics
from tests.maven import ROOT

pytestmark = pytest.mark.kafka


def forms(secret: bytes) -> Iterator[bytes]:
    """Yield the forms in which ``secret`` may appear: itself, in UTF-16, and within Base64, which depends on what is
    before."""
    yield secret
    yield secret.decode().encode("utf-16-le")
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + secret)
        yield encoded[-(-before * 8 // 6) : (before + len(secret)) * 8 // 6]


def test_base64_is_seen_through():
    for before in range(5):
        text = base64.b64encode(b"x" * before + b"hunter2" + b"yz")
        assert any(form in text for form in forms(b"hunter2"))


@pytest.mark.slow("starts a program with Spark")
def test_no_password_is_shown(broker: KafkaBroker, topics: Topics, topic, tmp_path: Path):
    """Not by logs, plans, the status page, Spark's event log, the checkpoint or the savepoint."""
    variables = dict(os.environ)
    shown = shown_by_the_job("local[2]", variables, broker, topics, topic, tmp_path)
    places = {name.partition("/")[0] for name in shown}
    assert places >= {"events", "checkpoint", "savepoint", "written.db"}
    # What is looked through has what a job shows at all
    assert topic.encode() in shown["standard output"]
    assert b"physicalPlanDescription" in b"".join(v for k, v in shown.items() if "events" in k)
    assert not with_the_password(shown)


@pytest.mark.rotating("test_no_password_is_shown looks at the driver with each commit")
@pytest.mark.slow("starts a cluster of three JVMs, and a program with Spark")
@pytest.mark.timeout(900)
def test_no_password_is_shown_by_executors(
    broker: KafkaBroker, topics: Topics, topic, tmp_path: Path
):
    """Nor in what the processes of a cluster log, and in what executors leave in their directories."""
    cluster = StandaloneCluster(tmp_path / "cluster")
    try:
        variables = cluster.environment()
        shown = shown_by_the_job(
            cluster.master, variables, broker, topics, topic, tmp_path, timeout=600
        )
    finally:
        cluster.close()
    logs = [name for name in shown if re.fullmatch(r"cluster/work-\d/app-.*/stderr", name)]
    assert len(logs) == len(cluster.workers)
    # The executors have written to the topic, and say what they do
    assert all(b"Running task" in shown[log] for log in logs)
    assert not with_the_password(shown)


def shown_by_the_job(
    master: str,
    variables: Mapping[str, str],
    broker: KafkaBroker,
    topics: Topics,
    topic: str,
    directory: Path,
    timeout: float = 240,
) -> dict[str, bytes]:
    """Return the output of the job, and all files that are in ``directory`` when it has ended, which it does within
    ``timeout`` seconds."""
    topics.create(f"{topic}-results", 1)
    topics.send(topic, 0, [b"a"])
    with sqlite3.connect(directory / "written.db") as database:
        database.execute("CREATE TABLE texts (text VARCHAR)")
    command = [sys.executable, "-m", "tests.kafka.secret_job", master, broker.bootstrapServers]
    done = subprocess.run(
        [*command, topic, str(directory)],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    assert [m.value() for m in topics.read(f"{topic}-results")] == [b"a"]
    files = [file for file in directory.rglob("*") if file.is_file()]
    return {
        "standard output": done.stdout,
        "standard error": done.stderr,
        **{str(file.relative_to(directory)): file.read_bytes() for file in files},
    }


def with_the_password(shown: Mapping[str, bytes]) -> list[str]:
    """The names of what has the password in any form."""
    sought = list(forms(PASSWORD.encode()))
    return [name for name, text in shown.items() if any(form in text for form in sought)]
