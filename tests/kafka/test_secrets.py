"""Passwords of sources and sinks are shown nowhere."""

from __future__ import annotations

import base64
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kafka.broker import KafkaBroker
from tests.kafka.secret_job import PASSWORD
from tests.kafka.topics import Topics
from tests.maven import ROOT

pytestmark = pytest.mark.kafka


def forms(secret: bytes) -> Iterator[bytes]:
    """What ``secret`` may look like: itself, in UTF-16, and within Base64, which depends on what is before."""
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
    topics.create(f"{topic}-results", 1)
    topics.send(topic, 0, [b"a"])
    with sqlite3.connect(tmp_path / "written.db") as database:
        database.execute("CREATE TABLE texts (text VARCHAR)")
    command = [sys.executable, "-m", "tests.kafka.secret_job", broker.bootstrapServers, topic]
    done = subprocess.run([*command, str(tmp_path)], cwd=ROOT, capture_output=True, timeout=240)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    assert [m.value() for m in topics.read(f"{topic}-results")] == [b"a"]
    shown = {"standard output": done.stdout, "standard error": done.stderr}
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    shown |= {str(file.relative_to(tmp_path)): file.read_bytes() for file in files}
    places = {name.partition("/")[0] for name in shown}
    assert places >= {"events", "checkpoint", "savepoint", "written.db"}
    # What is looked through has what a job shows at all
    assert topic.encode() in done.stdout
    assert b"physicalPlanDescription" in b"".join(v for k, v in shown.items() if "events" in k)
    found = [
        name for name, text in shown.items() if any(f in text for f in forms(PASSWORD.encode()))
    ]
    assert not found
