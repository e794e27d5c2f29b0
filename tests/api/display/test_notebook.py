"""The display of a job in a notebook and in a terminal."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.api.display import notebook
from flinkish.api.display.drawing import Arrow, Box, drawing
from flinkish.api.display.job_drawing import recent_rate, span
from flinkish.api.display.notebook import facts, in_notebook, job_html
from flinkish.api.execution.client import JobStatus
from tests.spark.waiting import wait_for
from tests.web.jobs import MARKUP, Client, details


def test_a_stream_and_an_environment_show_their_graph():
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    assert "no sinks" in env._repr_html_()
    words = env.fromData("a", "b").map(lambda w: (w, 1)).name(f"count {MARKUP}")
    shown = words.keyBy(lambda p: p[0])._repr_html_()
    assert "KeyedStream of " in shown
    assert "count &lt;script&gt;" in shown
    assert "<script" not in shown
    words.keyBy(lambda p: p[0]).sum(1).print()
    assert "Print to Std. Out" in env._repr_html_()
    assert len(env.getTransformations()) == 1


def test_a_job_shows_its_state_and_no_markup_of_its_own():
    shown = Client(details(name=MARKUP))._repr_html_()
    assert "<script" not in shown
    assert "<img" not in shown
    for fact in ("RUNNING", "HASH", "40", "900 · out 90"):
        assert fact in shown
    told = facts(details())
    assert told["records in"] == "900 (43/s)"
    assert told["running for"] == "1 min 40 s"
    assert told["late dropped"] == "7"
    assert told["watermark"].endswith("UTC, 1 h 0 min behind the clock")
    failed = facts(details(status=JobStatus.FAILED))
    assert failed["error"].startswith("Map: on")
    new = details(batches=0)
    assert "last batch" not in facts(new)
    assert "RUNNING" in job_html(new)


def test_a_result_shows_what_its_operators_did():
    metrics = {"<b>": fl.OperatorMetrics("u", "<b>", 3, 2, 1)}
    shown = fl.JobExecutionResult("a job", "1", 1_500, metrics)._repr_html_()
    assert "1.5 s" in shown
    assert "&lt;b&gt;" in shown


def test_without_a_notebook_a_job_is_shown_in_lines_until_it_ends(capsys):
    assert not in_notebook()
    client = Client(details(status=JobStatus.FINISHED))
    client.show()
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(
        "clicks by user: status FINISHED, batches 40, read files 12/40, files 12/40, records in 900"
    )


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (0, "0.0 s"),
        (9_940, "9.9 s"),
        (59_400, "59 s"),
        (61_000, "1 min 1 s"),
        (3_600_000, "1 h 0 min"),
        (90_000_000, "1 d 1 h"),
    ],
)
def test_a_time_span_is_told_to_people(milliseconds, shown):
    assert span(milliseconds) == shown


def test_the_rate_is_of_the_batches_of_the_last_minute():
    assert recent_rate(details(batches=0)) == 0.0
    assert recent_rate(details(batches=60)) == pytest.approx(100, rel=0.05)


boxes = st.lists(st.tuples(st.text(min_size=1), st.integers(0, 4)), min_size=1, max_size=12)


@given(boxes, st.data())
def test_any_graph_is_drawn_with_no_box_over_another(named, data):
    drawn = [Box(f"b{n}", [name], column) for n, (name, column) in enumerate(named)]
    pairs = [(a, b) for a in drawn for b in drawn if a.column < b.column]
    chosen = data.draw(st.lists(st.sampled_from(pairs), max_size=10)) if pairs else []
    svg = drawing(drawn, [Arrow(a.id, b.id, "HASH") for a, b in chosen], "a graph")
    root = ElementTree.fromstring(svg)
    places = [
        (float(r.get("x")), float(r.get("y")), float(r.get("width")), float(r.get("height")))
        for r in root.iter("{http://www.w3.org/2000/svg}rect")
        if r.get("class") == "box"
    ]
    assert len(places) == len(drawn)
    for n, (x, y, w, h) in enumerate(places):
        assert y + h <= float(root.get("height"))
        assert x + w <= float(root.get("width"))
        for x2, y2, w2, h2 in places[:n]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y


def test_in_a_notebook_a_job_is_shown_in_a_widget_with_a_button_to_stop_it(monkeypatch):
    pytest.importorskip("ipywidgets", reason="ipywidgets is not installed")
    shown = []
    monkeypatch.setattr(notebook, "in_notebook", lambda: True)
    monkeypatch.setattr(notebook, "_SECONDS", 0.05)
    monkeypatch.setattr("IPython.display.display", shown.append)
    client = Client(details())
    client.show()
    (box,) = shown
    view, stop = box.children
    assert "RUNNING" in view.value
    stop.click()
    wait_for(lambda: client.asked == ["cancel"], seconds=20)
    wait_for(lambda: "CANCELED" in view.value and stop.disabled, seconds=20)
