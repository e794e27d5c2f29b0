"""The web page in a real browser: what it shows, that it runs nothing of what it shows, and that a keyboard, a
phone and either colour scheme get through."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import flinkish as fl
from flinkish.api.execution.client import JobStatus
from flinkish.web.server import WebServer
from tests.web.browser import Browser, installed
from tests.web.jobs import MARKUP, Client, details

pytestmark = pytest.mark.web

PICTURES = Path(__file__).parents[2] / "build" / "web"


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


@pytest.fixture
def page(browser):
    """The browser, of which no console error is left at the end."""
    browser.errors.clear()
    browser.resize(1280, 900)
    browser.prefer("light")
    yield browser
    browser.open("about:blank")
    assert browser.errors == []


@pytest.fixture
def server():
    served = WebServer()
    yield served
    served.close()


def opened(page, server, *clients):
    for client in clients:
        server.addJob(client)
    page.evaluate("1")
    page.open(server.url)
    page.wait_for(
        "document.querySelectorAll('table').length > 0 || /No job is/.test(document.body.innerText)"
    )


def test_all_jobs_and_then_one_as_flink_shows_it(page, server):
    opened(page, server, Client(details()), Client(details("b2", JobStatus.FAILED, "yesterday's")))
    assert "1 running, 1 completed" in page.text()
    assert "#token" not in page.evaluate("location.href")
    page.screenshot(PICTURES / "jobs.png")
    page.click("a", "clicks by user")
    page.wait_for("document.querySelectorAll('.flinkish-graph .vertex').length === 4")
    page.wait_for("/in 900 · out 90/.test(document.querySelector('.flinkish-graph').textContent)")
    text = page.text()
    for shown in (
        "RUNNING",
        "81 %",
        "Source: slow, since",
        "Event time waits for Source: slow",
        "HASH",
        "FORWARD · late",
        "Cancel job",
        "files 12/40, files 12/40, about ",
    ):
        assert shown in text, shown
    page.click("td button", "windows -> Map")
    page.wait_for("/Records by key group/.test(document.body.innerText)")
    text = page.text()
    for shown in ("holds the others back", "idle", "Late records dropped", "2.50", "34 in 5 pages"):
        assert shown in text, shown
    page.screenshot(PICTURES / "job.png")
    page.click("td button", "Source: ")
    page.wait_for("/Pending records/.test(document.body.innerText)")
    text = page.text()
    for shown in ("12 of 40 files", "3.0 MiB"):
        assert shown in text, shown
    page.click("td button", "windows -> Map")
    page.wait_for("/Records by key group/.test(document.body.innerText)")
    page.prefer("dark")
    page.screenshot(PICTURES / "job-dark.png")


def test_every_tab_shows_what_it_is_for(page, server):
    opened(page, server, Client(details()))
    logging.getLogger("shop").warning("price %d is low", 3)
    page.click("a", "clicks by user")
    for tab, shown in {
        "Watermarks": "holds the others back",
        "Batches": "Duration by phase",
        "Checkpoints": "/data/checkpoint",
        "Exceptions": "Where it was raised",
        "Metrics": "clicks",
        "Flame graph": "No batch has been profiled yet",
        "Executors": "4711 on worker-1",
        "Logs": "price 3 is low",
        "Configuration": "objectReuse",
    }.items():
        page.click("[role=tab]", tab)
        page.wait_for(f"document.querySelector('#panel')?.innerText.includes('{shown}')")
        assert page.evaluate("document.querySelector('[aria-selected=true]').textContent") == tab
        page.screenshot(PICTURES / f"{tab.lower().replace(' ', '-')}.png")


def test_charts_tell_restarts_gaps_and_a_slow_first_batch(page, server):
    opened(page, server, Client(details()))
    page.click("a", "clicks by user")
    page.wait_for("document.querySelectorAll('.tile').length === 7")
    text = page.text()
    for shown in ("Output lag", "Between inputs", "58 min 30 s", "Open windows"):
        assert shown in text, shown
    assert page.evaluate("document.querySelectorAll('.sparkline .break.restart').length") == 6
    assert page.evaluate("document.querySelectorAll('.sparkline .break.gap').length") == 6
    page.click("[role=tab]", "Batches")
    page.wait_for("document.querySelectorAll('.chart').length === 5")
    assert "1 cut off at the top, up to 29 s" in page.text()
    assert "restarted before batch 12" in page.text()
    assert "without a batch before batch 25" in page.text()
    # The usual batch takes most of the height, though the first took fifty times as long
    tall = """(() => {
      const bars = [...document.querySelectorAll('.chart g')].slice(1, 40);
      return Math.min(...bars.map((bar) => bar.getBBox().height));
    })()"""
    assert page.evaluate(tall) > 60


class Spark(BaseHTTPRequestHandler):
    """Spark's own page, as far as its executors are asked for."""

    def do_GET(self):
        executor = {
            "id": "driver",
            "hostPort": "worker:1",
            "isActive": True,
            "totalCores": 2,
            "activeTasks": 1,
            "failedTasks": 0,
            "memoryUsed": 3 << 20,
            "maxMemory": 4 << 30,
            "totalDuration": 90_000,
            "totalGCTime": 2_500,
            "peakMemoryMetrics": {"JVMHeapMemory": 700 << 20},
        }
        found = [executor] if self.path.endswith("allexecutors") else [{"id": "app-1"}]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(found).encode())

    def log_message(self, format, *args):  # noqa: A002
        """Nothing."""


def test_executors_and_the_link_to_sparks_page(page, server):
    with HTTPServer(("127.0.0.1", 0), Spark) as spark:
        threading.Thread(target=spark.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{spark.server_address[1]}"
        opened(page, server, Client(replace(details(), engineUI=address)))
        page.click("a", "clicks by user")
        page.wait_for("/its own page/.test(document.body.innerText)")
        links = "[...document.querySelectorAll('a')].map((a) => a.href)"
        assert f"{address}/StreamingQuery/" in page.evaluate(links)
        page.click("[role=tab]", "Executors")
        page.wait_for("/worker:1/.test(document.body.innerText)")
        text = page.text()
        for shown in ("3.0 MiB of 4.0 GiB", "700 MiB", "1 min 30 s", "2.5 s"):
            assert shown in text, shown
        spark.shutdown()


def test_charts_of_one_operator(page, server):
    opened(page, server, Client(details()))
    page.click("a", "clicks by user")
    page.click("[role=tab]", "Metrics")
    page.wait_for("document.querySelector('select option')")
    page.evaluate(
        "(() => { const s = document.querySelector('select'); s.value = 'w'; s.dispatchEvent(new Event('change')); })()"
    )
    page.wait_for("document.querySelectorAll('.charts .chart').length === 7")
    assert page.evaluate("document.querySelectorAll('.charts .chart g').length") == 7 * 40


def test_a_flame_graph_on_demand(page, server):
    client = Client(details())
    opened(page, server, client)
    page.click("a", "clicks by user")
    page.click("[role=tab]", "Flame graph")
    page.click("button", "Profile the next batch")
    page.wait_for("document.querySelectorAll('.flame').length === 7")
    assert client.asked == ["profile"]
    text = page.text()
    assert "Slow.reduce (jobs/clicks.py:12)" in text
    assert "90 ms" in text
    assert "Keys with the most records in the batch" in text
    assert "'ada'" in text
    assert page.evaluate("document.querySelectorAll('main script, main img').length") == 0
    page.screenshot(PICTURES / "flame-graph.png")


def test_a_savepoint_by_its_button(page, server):
    client = Client(details())
    opened(page, server, client)
    page.click("a", "clicks by user")
    page.click("button", "Savepoint")
    page.wait_for("document.querySelector('dialog input')")
    page.evaluate("document.querySelector('dialog input').value = '/data/savepoints/one'")
    page.click("dialog button", "Write savepoint")
    page.wait_for("/written to .data.savepoints.one/.test(document.body.innerText)")
    assert client.asked == ["savepoint"]


def test_a_wide_graph_is_not_cut_off(page, server):
    told = details()
    chain = [
        replace(told.vertices[2], id=f"c{n}", name=f"operator {n}", level=n) for n in range(2, 5)
    ]
    sink = replace(told.vertices[3], level=5)
    edges = [
        replace(told.edges[0], source=s, target=t)
        for s, t in pairwise(["w", "c2", "c3", "c4", "k"])
    ]
    wide = replace(
        told, vertices=(*told.vertices[:3], *chain, sink), edges=(*told.edges[:2], *edges)
    )
    opened(page, server, Client(wide))
    page.click("a", "clicks by user")
    page.wait_for("document.querySelectorAll('.flinkish-graph .vertex').length === 7")
    inside = """(() => {
      const box = document.querySelector('.graph').getBoundingClientRect();
      return [...document.querySelectorAll('.vertex')].every((v) => v.getBoundingClientRect().right <= box.right + 1);
    })()"""
    page.resize(1480, 900)
    assert page.evaluate(inside)
    page.screenshot(PICTURES / "wide.png")


def test_what_comes_from_a_job_is_text(page, server):
    opened(page, server, Client(details(name=f"job {MARKUP}")))
    assert MARKUP in page.text()
    page.click("main a", "job")
    page.wait_for("document.querySelectorAll('.flinkish-graph .vertex').length === 4")
    page.click("td button", "Source: <script>")
    page.wait_for("document.querySelector('tr.picked')")
    for tab in ("Watermarks", "Exceptions"):
        page.click("[role=tab]", tab)
        page.wait_for(
            f"location.hash.endsWith('{tab.lower()}') && document.querySelector('#panel').innerText.includes('<script>')"
        )
    assert page.evaluate("document.querySelectorAll('main script, main img').length") == 0
    assert "hacked" not in page.evaluate("document.title.replace(/^job .*flinkish$/, '')")


def test_a_keyboard_gets_through(page, server):
    client = Client(details())
    opened(page, server, client)
    here = "document.activeElement.textContent.trim()"

    def tab_to(text):
        for _ in range(40):
            page.press("Tab")
            if page.evaluate(here) == text:
                return
        raise AssertionError(f"Tab does not reach {text}")

    tab_to("clicks by user")
    page.press("Enter")
    page.wait_for("document.querySelectorAll('.flinkish-graph .vertex').length === 4")
    tab_to("Overview")
    page.press("ArrowRight")
    page.wait_for("/Inputs and splits/.test(document.body.innerText)")
    assert page.evaluate(here) == "Watermarks"
    page.evaluate("history.back()")
    page.wait_for("document.querySelectorAll('.flinkish-graph .vertex').length === 4")
    page.evaluate("document.querySelector('[data-vertex=\"w\"]').focus()")
    page.press("Enter")
    page.wait_for("document.querySelector('tr.picked')")
    page.evaluate("document.querySelector('[data-key=cancel]').focus()")
    page.press("Enter")
    page.wait_for("document.querySelector('dialog[open]')")
    page.press("Tab")
    page.press("Enter")
    page.wait_for("/CANCELED/.test(document.body.innerText)")
    assert client.asked == ["cancel"]


def test_a_question_comes_before_a_job_is_stopped(page, server):
    client = Client(details())
    opened(page, server, client)
    page.click("a", "clicks by user")
    page.click("button", "Stop after this batch")
    page.click("dialog button", "Keep running")
    page.wait_for("!document.querySelector('dialog')")
    assert client.asked == []
    page.click("button", "Stop after this batch")
    page.click("dialog button", "Stop job")
    page.wait_for("/CANCELED/.test(document.body.innerText)")
    assert client.asked == ["stop"]


PROGRAM = """
import sys, time
from flinkish.api.execution.client import JobStatus
from flinkish.web.server import WebServer
from tests.web.jobs import Client, details
server = WebServer(port=int(sys.argv[1]))
server.addJob(Client(details("b2", JobStatus.FINISHED, "ended")))
server.addJob(Client(details()))
print(server.url, flush=True)
time.sleep(600)
"""


@contextmanager
def program(port):
    """A program with two jobs, one of which runs; it is killed at the end of the block."""
    started = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(port)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    try:
        yield started.stdout.readline().strip()
    finally:
        started.kill()
        started.wait()
        started.stdout.close()


def test_a_program_that_was_killed_is_disconnected(page):
    with program(0) as url:
        page.open(url)
        page.click("a", "clicks by user")
        page.wait_for("document.querySelector('svg .vertex')")
        page.wait_for("document.querySelectorAll('.actions button').length == 3")
    page.wait_for("/DISCONNECTED/.test(document.body.innerText)")
    assert "The program has not answered since 20" in page.text()
    assert page.evaluate("document.querySelectorAll('.actions button').length") == 0
    assert "RUNNING" not in page.text()
    for tab, shown in (("Watermarks", "Inputs and splits"), ("Overview", "Choose a vertex")):
        page.click("[role=tab]", tab)
        page.wait_for(f"document.body.innerText.includes({shown!r})")
        assert "DISCONNECTED" in page.text()
    page.evaluate("location.hash = '#/jobs/b2'")
    page.wait_for("/not known to this page/.test(document.body.innerText)")
    port = urlsplit(url).port
    with program(port):
        page.evaluate("location.hash = '#/'")
        page.wait_for("/1 running, 1 completed/.test(document.body.innerText)")
    page.wait_for("/0 running, 1 disconnected, 1 completed/.test(document.body.innerText)")
    page.errors.clear()  # what the browser says of a server that is not there


def test_without_the_token_the_page_is_to_be_read_only(page, server):
    server.addJob(Client(details()))
    page.open(server.address)
    page.evaluate("try { sessionStorage.clear() } catch {} 1")
    page.open(f"{server.address}/?fresh")
    page.click("a", "clicks by user")
    page.wait_for("/read only/.test(document.body.innerText)")
    assert "Cancel job" not in page.text()


def test_a_phone_needs_no_scrolling_sideways(page, server):
    page.resize(390, 800, 2)
    opened(page, server, Client(details()))
    page.click("a", "clicks by user")
    page.wait_for("document.querySelectorAll('.flinkish-graph .vertex').length === 4")
    page.click("td button", "windows -> Map")
    page.wait_for("/Records by key group/.test(document.body.innerText)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.screenshot(PICTURES / "phone.png")
    overlapping = """[...document.querySelectorAll('td')].filter((e) => e.scrollWidth > e.clientWidth + 1).length"""
    assert page.evaluate(overlapping) == 0
    for tab in ("Batches", "Exceptions"):
        page.click("[role=tab]", tab)
        page.wait_for(f"location.hash.endsWith('{tab.lower()}')")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_either_scheme(page, server, scheme):
    page.prefer(scheme)
    opened(page, server, Client(details()))
    contrast = page.evaluate(
        """(() => {
          const channel = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
          const light = (color) => { const [r, g, b] = color.match(/[\\d.]+/g).map(Number); return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b); };
          const ground = light(getComputedStyle(document.querySelector('.card')).backgroundColor);
          return Math.min(...[...document.querySelectorAll('.card th, .card td, .card a, .card .state')].map((e) => {
            const text = light(getComputedStyle(e).color);
            return (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
          }));
        })()"""
    )
    assert contrast >= 4.5


@pytest.mark.slow("a job on Spark runs until it has a few batches to show")
def test_a_running_job(page, env):
    """A user sees a stream that stands still, and which input is to blame."""
    at = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda e, t: e[1])
    clicks = env.fromSource(
        fl.DataGeneratorSource(
            lambda n: (f"user {n % 7}", 1_767_225_600_000 + n * 1_000), elementsPerSecond=50
        ),
        None,
        "clicks",
    )
    prices = env.fromSource(
        fl.DataGeneratorSource(lambda n: ("price", 1_767_225_600_000), elementsPerSecond=5),
        None,
        "prices",
    )
    timed = clicks.assignTimestampsAndWatermarks(at).union(prices.assignTimestampsAndWatermarks(at))
    windows = timed.keyBy(lambda e: e[0]).window(fl.TumblingEventTimeWindows.of(10_000))
    windows.reduce(max).name("clicks a user").forEachBatch(lambda values, batch: None)
    web = env.enableWebUI()
    client = env.executeAsync("clicks by user")
    try:
        page.open(web.url)
        page.click("a", "clicks by user")
        page.wait_for("/Event time waits for .*prices/.test(document.body.innerText)", seconds=200)
        page.wait_for("/in [1-9]/.test(document.querySelector('.flinkish-graph')?.textContent)")
        page.click("td button", "clicks a user")
        page.wait_for("/holds the others back/.test(document.body.innerText)")
        page.screenshot(PICTURES / "running.png")
        page.click("[role=tab]", "Batches")
        page.wait_for("document.querySelectorAll('.chart rect').length > 4")
        page.screenshot(PICTURES / "running-batches.png")
        page.click("[role=tab]", "Flame graph")
        page.click("button", "Profile the next batch")
        page.wait_for("document.querySelectorAll('.flame').length > 4", seconds=100)
        # A batch so small may be sampled in anything that a worker does
        assert ".py:" in page.text()
        page.click("[role=tab]", "Executors")
        page.wait_for("document.querySelectorAll('#panel td').length >= 6")
        page.click("button", "Cancel job")
        page.click("dialog button", "Cancel job")
        page.wait_for("/CANCELED/.test(document.body.innerText)")
        assert client.getJobStatus() is fl.JobStatus.CANCELED
    finally:
        client.cancel()
        web.close()
