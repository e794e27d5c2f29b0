"""A job from topic to topic whose driver is a server of Spark Connect: the client is killed, and another goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.kafka.broker import KafkaBroker
from tests.kafka.killed_job import RECORDS_A_BATCH
from tests.kafka.topics import Topics
from tests.maven import ROOT
from tests.spark.connect.server import ConnectServer

pytestmark = pytest.mark.kafka


@pytest.mark.rotating("Connect and Kafka each have separate jobs")
@pytest.mark.timeout(600)
@pytest.mark.slow("starts a server of Spark Connect, and a program for each of two clients")
def test_a_job_over_spark_connect_writes_exactly_once(
    broker: KafkaBroker, topics: Topics, topic: str, tmp_path: Path
) -> None:
    results = f"{topic}-results"
    topics.create(results, 1)
    words = [b"w%d" % (n % 7) for n in range(RECORDS_A_BATCH)]
    for partition in (0, 1):
        topics.send(topic, partition, words)
    server = ConnectServer(tmp_path / "server")
    checkpoint = (server.directory / "checkpoint").as_uri()
    command = [sys.executable, "-m", "tests.kafka.killed_job", broker.bootstrapServers]
    command += [topic, results, checkpoint]

    def run(*kill: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *kill],
            cwd=ROOT,
            env={**os.environ, "SPARK_REMOTE": server.url},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    try:
        killed = run("between", "1")
        assert killed.returncode == -9, killed.stdout + killed.stderr
        done = run("", "-1")
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        server.kill()
    counts = Counter(word.decode() for word in words * 2)
    expected = [f"{word}:{n}" for word, count in counts.items() for n in range(1, count + 1)]
    assert sorted(m.value().decode() for m in topics.read(results)) == sorted(expected)
