"""The parts of a program that go to a server of Spark Connect."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import PurePosixPath

from flinkish.spark.session.artifacts import program_modules, write_modules


def test_modules_of_the_program_go_and_installed_ones_do_not(tmp_path, monkeypatch):
    (tmp_path / "mine_of_artifacts" / "deep").mkdir(parents=True)
    (tmp_path / "mine_of_artifacts" / "deep" / "inner.py").write_text("answer = 42\n")
    (tmp_path / "single_of_artifacts.py").write_text("answer = 43\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("mine_of_artifacts.deep.inner")
    importlib.import_module("single_of_artifacts")
    modules = program_modules()
    assert modules[PurePosixPath("single_of_artifacts.py")] == b"answer = 43\n"
    assert PurePosixPath("mine_of_artifacts/deep/inner.py") in modules
    roots = {file.parts[0].removesuffix(".py") for file in modules}
    assert not roots & {"flinkish", "pyspark", "pandas", "pytest", "json", "__main__"}
    archive = tmp_path / "modules.zip"
    write_modules(archive, modules)
    told = "import mine_of_artifacts.deep.inner as m, single_of_artifacts as s; print(m.answer, s.answer)"
    found = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(archive)!r}); {told}"],
        capture_output=True,
        text=True,
        cwd=archive.parent.parent,
    )
    assert found.stdout == "42 43\n", found.stderr
