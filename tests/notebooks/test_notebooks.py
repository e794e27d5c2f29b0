"""The notebooks of the examples, each run from top to bottom on a separate kernel, and their types.

Those on Spark start a JVM each, so `make test-notebooks` runs them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))

FIRST, *OTHERS = NOTEBOOKS
ROTATING = pytest.mark.rotating("the first notebook runs with each commit")

pytestmark = pytest.mark.notebooks


def cells(file: Path, kind: str = "code") -> list[dict[str, Any]]:
    notebook = json.loads(file.read_text("utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


@pytest.mark.slow("a separate kernel and JVM")
@pytest.mark.parametrize(
    "file",
    [FIRST, *(pytest.param(file, marks=ROTATING) for file in OTHERS)],
    ids=lambda file: file.stem,
)
def test_a_notebook_runs_from_top_to_bottom(file, tmp_path):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(file, as_version=4)
    NotebookClient(
        notebook, timeout=280, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}
    ).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("image/png" in output.get("data", {}) for output in outputs), "there is no plot"
    nbformat.write(notebook, tmp_path / file.name)
    if file.stem == "first_job":
        by_source = {cell.source: cell.get("outputs", []) for cell in notebook.cells}
        # The line of the progress is left empty, where the job took a second
        shown = {
            source.partition("\n")[0]: [
                output for output in outputs if output.get("data") != {"text/plain": ""}
            ]
            for source, outputs in by_source.items()
        }
        (table,) = shown["stream.display(3)"]
        assert "<td>Harbour</td>" in table["data"]["text/html"]
        (graph,) = shown[
            'fares = stream.keyBy(lambda ride: ride.zone).sum("fare").name("fares by zone")'
        ]
        assert "fares by zone" in graph["data"]["text/html"]
        assert "<svg" in graph["data"]["text/html"]
        printed = [o for o in shown['fares.print("total")'] if o["output_type"] == "stream"]
        assert "total> Ride(zone='Airport'" in "".join(o["text"] for o in printed)
        results = [o for o in shown['fares.print("total")'] if o["output_type"] == "execute_result"]
        assert "fares by zone" in results[0]["data"]["text/html"]


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
@pytest.mark.slow("a type checker reads pyspark")
def test_the_notebooks_are_typed(tmp_path, checker):
    for file in NOTEBOOKS:
        source = "\n".join("".join(cell["source"]) for cell in cells(file))
        (tmp_path / f"{file.stem}_notebook.py").write_text(source)
    files = [str(file) for file in tmp_path.glob("*.py")]
    if checker == "mypy":
        command = ["mypy", "--config-file", str(ROOT / "pyproject.toml"), *files]
    else:
        command = ["pyright", "--pythonpath", sys.executable, *files]
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_is_kept_without_its_outputs(file):
    assert len(cells(file)) >= 4
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells(file))
