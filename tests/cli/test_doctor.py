"""`flinkish doctor` names what a job would fail on, with the fix."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from flinkish.cli import doctor
from flinkish.cli.doctor import examine
from flinkish.cli.main import main


def found(subject, checkpoint=None):
    """The finding about ``subject``; what is examined later is left out."""
    return next(each for each in examine(checkpoint, runsJob=False) if each.subject == subject)


@pytest.fixture
def no_processes(monkeypatch):
    """Java and the Python of the workers, which take a second, are not asked."""
    for check in ("check_java", "check_worker_python"):
        monkeypatch.setattr(doctor, check, lambda *arguments: None)


@pytest.mark.spark
def test_nothing_is_wrong_here(tmp_path, capsys):
    assert main(["doctor", "--no-job", "--checkpoint", str(tmp_path / "new")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "Everything that jobs need is there."
    assert len(lines) == 9
    assert all(line.startswith("ok    ") for line in lines[:-1])
    assert list((tmp_path / "new").iterdir()) == []


def test_a_job_runs(spark):
    *_, last = examine(None, runsJob=True)
    assert (last.subject, last.fix) == ("a job on Spark", "")
    assert last.said.endswith(" s")


def test_a_java_that_is_not_there(monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert "there is none in JAVA_HOME=/nowhere" in found("Java").fix


def test_a_python_of_the_workers_without_packages(monkeypatch, tmp_path):
    python = tmp_path / "python"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    python.write_text(f"#!/bin/sh\necho {version}\necho pyarrow\n")
    python.chmod(0o700)
    monkeypatch.setenv("PYSPARK_PYTHON", str(python))
    fix = found("Python of the workers").fix
    assert "which lacks pyarrow" in fix
    assert f"PYSPARK_PYTHON={sys.executable}" in fix


def test_a_command_of_the_workers_that_is_no_python(monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", "true")
    fix = found("Python of the workers").fix
    assert "true, which does not run Python code: asked for its version it prints ''" in fix


@pytest.mark.usefixtures("no_processes")
def test_a_directory_that_is_a_file(tmp_path, capsys):
    (tmp_path / "taken").write_text("")
    assert main(["doctor", "--no-job", "--checkpoint", str(tmp_path / "taken")]) == 1
    out = capsys.readouterr().out
    assert "FAIL  checkpoints" in out
    assert out.endswith("1 to fix.\n")


@pytest.mark.usefixtures("no_processes")
@pytest.mark.parametrize("seconds", [-60, 60])
def test_a_clock_that_differs(monkeypatch, tmp_path, seconds):
    written = Path.write_bytes

    def later(path, data):
        written(path, data)
        time = path.stat().st_mtime + seconds
        os.utime(path, (time, time))

    monkeypatch.setattr(Path, "write_bytes", later)
    finding = found("checkpoints", str(tmp_path))
    assert f"differs by {seconds} s" in finding.said
    assert "NTP" in finding.fix


@pytest.mark.usefixtures("no_processes")
def test_a_disk_that_is_full(monkeypatch):
    monkeypatch.setattr(doctor, "_LEAST_FREE", 1 << 60)
    assert "TMPDIR" in found("disk").fix


@pytest.mark.usefixtures("no_processes")
def test_a_pyspark_that_is_too_old(monkeypatch):
    monkeypatch.setattr(doctor, "version", lambda name: "3.5.1")
    assert "4.1 up to 5" in found("pyspark").fix
