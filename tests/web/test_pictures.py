"""The pictures of the documentation, as they are now in build/web/docs; `make pictures` puts them into docs/images."""

from __future__ import annotations

import os
from html import escape

import nbformat
import pytest
from nbclient import NotebookClient
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from flinkish.web.server import WebServer
from tests.docs.pages import DOCS, ROOT
from tests.web.browser import Browser, installed
from tests.web.jobs import Client, flights

pytestmark = pytest.mark.web

PICTURES = ROOT / "build" / "web" / "docs"

NAMES = ("running_job", "batches", "flame_graph", "notebook")

CELLS = (
    """\
from flinkish import *

env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
at = WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda e, t: e[1])
clicks = env.fromCollection(
    [(("ada", "bob", "cem")[(n * n + n // 9) % 3], n * 700, n % 5) for n in range(600)]
).assignTimestampsAndWatermarks(at)
clicks.display(3)""",
    """\
windows = clicks.keyBy(lambda e: e[0]).window(TumblingEventTimeWindows.of(Time.seconds(30)))
counts = windows.sum(2).name("clicks a user")
counts""",
    """\
frame = counts.collectAsPandas()
frame.pivot_table("f2", frame.groupby("f0").cumcount(), "f0").plot(
    figsize=(8, 2.6), xlabel="window", ylabel="clicks", title="Clicks a user in windows of 30 seconds"
);""",
)

PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ font: 14px system-ui, sans-serif; margin: 18px 24px; width: 900px; }}
.cell {{ display: grid; grid-template-columns: 54px 1fr; gap: 4px 8px; margin-bottom: 14px; }}
.prompt {{ color: #5a6675; font: 12px monospace; padding-top: 9px; text-align: right; }}
.highlight {{ background: #f5f6f8; border: 1px solid #d9dfe7; border-radius: 4px; padding: 8px 10px; }}
.highlight pre {{ margin: 0; font: 12.5px/1.5 monospace; }}
.output {{ grid-column: 2; overflow: hidden; }}
table {{ border-collapse: collapse; font-size: 12.5px; }} th, td {{ padding: 3px 12px 3px 0; text-align: left; }}
{style}</style>{cells}"""


@pytest.fixture(scope="module")
def browser():
    path = installed()
    if path is None:
        if os.environ.get("FLINKISH_TEST_WEB"):
            pytest.fail("there is no chromium: apt-get install chromium")
        pytest.skip("there is no chromium on this machine: apt-get install chromium")
    opened = Browser(path)
    yield opened
    opened.close()


def test_pictures_of_the_page(browser):
    server = WebServer()
    try:
        server.addJob(Client(flights()))
        browser.resize(1280, 900, 1)
        browser.prefer("light")
        browser.open(server.url)
        browser.click("a", "delays by airport")
        browser.wait_for("document.querySelectorAll('.flinkish-graph .vertex').length === 4")
        browser.screenshot(PICTURES / "running_job.png")
        browser.click("[role=tab]", "Batches")
        browser.wait_for("document.querySelectorAll('.chart').length === 5")
        browser.screenshot(PICTURES / "batches.png", height=900)
        browser.click("[role=tab]", "Flame graph")
        browser.wait_for("document.querySelectorAll('.flame').length > 8")
        browser.screenshot(PICTURES / "flame_graph.png")
        assert browser.errors == []
    finally:
        server.close()


@pytest.mark.slow("a kernel runs the cells of a notebook")
def test_picture_of_a_notebook_with_a_plot(browser, tmp_path):
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in CELLS]
    )
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT)}}).execute()
    cells = "".join(map(_cell, notebook.cells))
    page = tmp_path / "notebook.html"
    page.write_text(PAGE.format(style=HtmlFormatter().get_style_defs(".highlight"), cells=cells))
    browser.resize(980, 700, 1)
    browser.prefer("light")
    browser.open(page.as_uri())
    browser.wait_for(
        "document.querySelectorAll('.output img, .output svg, .output table').length >= 3"
    )
    browser.wait_for("[...document.images].every((image) => image.complete)")
    browser.screenshot(PICTURES / "notebook.png")
    assert browser.evaluate("document.querySelectorAll('.output img').length") == 1
    assert "ada" in browser.text()


def _cell(cell):
    outputs = "".join(f'<div class="output">{_output(output)}</div>' for output in cell.outputs)
    code = highlight(cell.source, PythonLexer(), HtmlFormatter())
    return f'<div class="cell"><div class="prompt">[{cell.execution_count}]:</div>{code}{outputs}</div>'


def _output(output):
    if output.output_type == "error":
        raise AssertionError("\n".join(output.traceback))
    data = output.get("data", {})
    if "image/png" in data:
        return f'<img src="data:image/png;base64,{data["image/png"]}">'
    return (
        data.get("text/html")
        or f"<pre>{escape(data.get('text/plain', output.get('text', '')))}</pre>"
    )


def test_the_documentation_has_each_picture():
    shown = "".join(page.read_text("utf-8") for page in [ROOT / "README.md", *DOCS.rglob("*.md")])
    for name in NAMES:
        assert (DOCS / "images" / f"{name}.png").is_file()
        assert f"images/{name}.png" in shown
    assert {file.stem for file in (DOCS / "images").glob("*.png")} == set(NAMES)
