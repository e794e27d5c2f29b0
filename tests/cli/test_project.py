"""A new project passes its own checks, whatever options it was made with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from flinkish.cli.main import main

ROOT = Path(__file__).parents[2]
OWN = {"pyproject.toml", "my_job.py", "test_my_job.py", "README.md"}
KAFKA = {"my_job_kafka.py", "test_my_job_kafka.py"}
DOCKER = {"Dockerfile", ".dockerignore", "wheels/README"}


@pytest.mark.parametrize(
    ("options", "added", "requirement"),
    [
        ([], set(), "flinkish"),
        (["--kafka"], KAFKA, "flinkish[kafka]"),
        (["--notebook", "--notebook"], {"my_job.ipynb"}, "flinkish[notebook]"),
        (["--docker"], DOCKER, "flinkish"),
        (["--docker", "--kafka"], {*DOCKER, *KAFKA, "compose.yaml"}, "flinkish[kafka]"),
    ],
)
def test_options_add_what_they_say(tmp_path, options, added, requirement):
    project = tmp_path / "my_job"
    assert main(["new", str(project), *options]) == 0
    files = {str(file.relative_to(project)) for file in project.rglob("*") if file.is_file()}
    assert files == OWN | added
    for file in files:
        content = (project / file).read_text()
        assert not any(word in content for word in ("PROJECT", "EXTRAS", "MODULES"))
        assert content == content.lstrip()
        assert content.endswith("\n")
        if file == "compose.yaml":
            assert "KAFKA_INTER_BROKER_LISTENER_NAME: INSIDE" in content
            assert "/data/checkpoint, my_job_kafka.py]" in content
    settings = tomllib.loads((project / "pyproject.toml").read_text())
    assert settings["project"]["dependencies"] == [requirement]
    modules = {f"{module}.py" for module in settings["tool"]["setuptools"]["py-modules"]}
    assert modules == {file for file in files if file.endswith(".py") and "test" not in file}


@pytest.mark.thorough("runs pytest and mypy on the project")
@pytest.mark.slow("mypy reads flinkish")
@pytest.mark.parametrize("options", [[], ["--kafka", "--notebook", "--docker"]])
def test_a_new_project_passes_its_own_test_and_type_check(tmp_path, capsys, options):
    project = tmp_path / "my_job"
    assert main(["new", str(project), *options]) == 0
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAVA_HOME": "/nonexistent"}
    for command in (["pytest", "-q"], ["mypy", "."]):
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    for program in project.glob("my_job*.py"):
        assert main(["explain", str(program)]) == 0
        assert "clicks a minute" in capsys.readouterr().out


@pytest.mark.thorough("a separate kernel")
@pytest.mark.slow("a separate kernel")
def test_its_notebook_runs(tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    project = tmp_path / "my_job"
    assert main(["new", str(project), "--notebook"]) == 0
    notebook = nbformat.read(project / "my_job.ipynb", as_version=4)
    nbformat.validate(notebook)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(project)}}
    ).execute()
    shown = json.dumps(notebook.cells[-1]["outputs"])
    assert ("ada" in shown, "bob" in shown) == (True, True)


@pytest.mark.parametrize("name", ["my-job", "class", "flinkish", "1st"])
def test_a_project_has_a_name_that_python_takes(tmp_path, capsys, name):
    assert main(["new", str(tmp_path / name)]) == 1
    assert "cannot be the name" in capsys.readouterr().err
    assert not (tmp_path / name).exists()


def test_a_directory_that_is_there_is_not_written_to(tmp_path, capsys):
    (tmp_path / "mine").mkdir()
    assert main(["new", str(tmp_path / "mine")]) == 1
    assert "is there already" in capsys.readouterr().err
