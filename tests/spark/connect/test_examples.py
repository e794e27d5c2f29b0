"""The examples and the first notebook over Spark Connect, as they are: only the address of the server is set."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

pytestmark = [
    pytest.mark.connect,
    pytest.mark.slow("a client in a separate process, and a job on the server"),
]


@pytest.mark.rotating("the same examples run without Connect with each commit")
@pytest.mark.parametrize("name", ["side_output", "window_word_count"])
def test_an_example_prints_what_its_page_says(server, name):
    from tests.examples.test_pages import RUN, check_lines, text

    ((module, arguments, said),) = RUN.findall(text(name))
    done = subprocess.run(
        [sys.executable, "-m", f"examples.{module}", *shlex.split(arguments)],
        cwd=ROOT,
        env={**os.environ, "SPARK_REMOTE": server.url},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    check_lines(done.stdout.splitlines(), said.splitlines())


@pytest.mark.rotating("it runs without Connect with each commit")
def test_the_first_notebook_runs_from_top_to_bottom(server):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(ROOT / "examples" / "notebooks" / "first_job.ipynb", as_version=4)
    client = NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}
    )
    client.execute(env={**os.environ, "SPARK_REMOTE": server.url})
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    printed = "".join(output["text"] for output in outputs if output["output_type"] == "stream")
    assert "total> Ride(zone='Airport', minutes=31, fare=81.5)" in printed
    assert any("image/png" in output.get("data", {}) for output in outputs), "there is no plot"
