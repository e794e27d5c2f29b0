"""The archive that executors of a cluster import as flinkish."""

from __future__ import annotations

import subprocess
import sys
import zipfile

import pytest

from flinkish.spark.session.artifacts import _IN_THIS_PROCESS, write_archive

ALL_IMPORTED = """
import builtins, importlib, pkgutil, sys

compile = builtins.compile

def compiled_already(source, filename, *arguments, **options):
    assert ".zip" not in str(filename), f"{filename} is compiled anew"
    return compile(source, filename, *arguments, **options)

builtins.compile = compiled_already
sys.path.insert(0, "./flinkish.zip")
import flinkish

found = pkgutil.walk_packages(flinkish.__path__, "flinkish.")
names = [name for _, name, _ in found if not name.endswith(".__main__")]
for name in names:
    importlib.import_module(name)
assert "flinkish.spark.session.session" in names and flinkish.__file__.startswith("./flinkish.zip")
"""


@pytest.mark.slow("imports all modules in a separate program")
def test_all_modules_are_imported_from_the_archive_in_their_compiled_form(tmp_path):
    """At a relative path, as executors have it, in whose own directory files lie that a session was given."""
    archive = tmp_path / "flinkish.zip"
    write_archive(archive)
    command = [sys.executable, "-c", ALL_IMPORTED]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(archive) as written:
        names = set(written.namelist())
    assert {"flinkish/py.typed", "flinkish/spark/job.py", "flinkish/spark/job.pyc"} <= names
    assert not [name for name in names if "__pycache__" in name]


@pytest.mark.parametrize(
    ("master", "here"),
    [
        ("local", True),
        ("local[*]", True),
        ("local[2, 4]", True),
        ("local-cluster[2,1,1024]", False),
        ("spark://host:7077", False),
        ("yarn", False),
        ("k8s://https://host:443", False),
    ],
)
def test_executors_of_a_cluster_get_it(master, here):
    assert bool(_IN_THIS_PROCESS.fullmatch(master)) is here
