"""Completion by the script of ``flinkish completion bash``, run by bash itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flinkish.cli.main import main
from flinkish.cli.run_directory import Program, registered
from flinkish.web.server import WebServer
from tests.web.jobs import Client, details

pytestmark = pytest.mark.slow("starts shells")

ROOT = Path(__file__).parents[2]

COMPLETE = r"""
flinkish() { PYTHONPATH="$ROOT" "$PYTHON" -m flinkish "$@"; }
source ./script
COMP_WORDS=(flinkish "$@")
COMP_CWORD=$#
_shtab_flinkish 2>/dev/null
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def completed(tmp_path, monkeypatch, capsys):
    """Return the words that Tab offers after the words of a command, the last of which is begun."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "job.py").touch()
    assert main(["completion", "bash"]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)

    def complete(*words):
        environment = {**os.environ, "ROOT": str(ROOT), "PYTHON": sys.executable}
        done = subprocess.run(
            ["bash", "-c", COMPLETE, "bash", *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return set(done.stdout.split())

    return complete


def test_commands_options_and_paths_are_completed(completed):
    assert {"run", "stop", "savepoint", "doctor", "completion"} <= completed("")
    assert completed("sto") == {"stop"}
    assert completed("stop", "--") == {"--help", "--cancel", "--savepointPath"}
    assert completed("run", "j") == {"job.py"}
    assert completed("run", "--checkpoint", "") >= {"checkpoints"}
    assert "job.py" not in completed("run", "--checkpoint", "")
    assert completed("completion", "") == {"bash", "zsh"}


def test_running_jobs_are_completed(completed):
    served = WebServer()
    served.addJob(Client(details("a1b2")))
    with registered(Program(os.getpid(), "job.py", served.address, served.token)):
        assert completed("stop", "") == {"a1b2"}
        assert completed("stop", "b") == set()
        assert "a1b2" in completed("savepoint", "a")
    served.close()


def test_zsh_has_the_same_commands(capsys):
    assert main(["completion", "zsh"]) == 0
    script = capsys.readouterr().out
    assert script.startswith("#compdef flinkish")
    for command in ("run", "savepoint", "stop"):
        assert f"{command}) _arguments -C -s $_shtab_flinkish_{command}_options" in script
    assert '":its id or the beginning of it, or its name:_flinkish_jobs"' in script


def test_without_shtab_the_extra_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 1
    assert "pip install 'flinkish[completion]'" in capsys.readouterr().err
