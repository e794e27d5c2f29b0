"""The search of the documentation site finds names of the API, and what users call their tasks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.docs.pages import ROOT
from tests.web.browser import Browser, installed

pytestmark = [pytest.mark.web, pytest.mark.slow("the site is built, then searched in a browser")]

# What is typed, and the page that explains it
FOUND = {
    "allowedLateness": "reference/streams/",
    "sideOutputLateData": "reference/streams/",
    "withIdleness": "reference/time/",
    "ProcessWindowFunction": "reference/functions/",
    "top n": "recipes/",
    "deduplicate": "recipes/",
    "enrich": "recipes/",
    "unit test": "testing/",
    "late data": "recipes/",
}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format, *args):  # noqa: A002
        """Nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of the site."""
    built = tmp_path_factory.mktemp("site")
    settings = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    mkdocs = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", ".mkdocs.yml"]
    subprocess.run([*mkdocs, "--site-dir", str(built)], cwd=ROOT, env=settings, check=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(built)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


@pytest.mark.timeout(600)
def test_names_are_found(site):
    path = installed()
    if path is None:
        pytest.skip("there is no chromium on this machine: apt-get install chromium")
    browser = Browser(path)
    try:
        browser.resize(1280, 900)
        browser.open(site)
        browser.wait_for("document.querySelector('.md-search__input')", seconds=60)
        browser.evaluate("document.querySelector('.md-search__input').focus()")
        for typed, page in FOUND.items():
            browser.evaluate(
                f"(() => {{ const i = document.querySelector('.md-search__input'); i.value = {typed!r};"
                " i.dispatchEvent(new Event('input')); i.dispatchEvent(new Event('keyup')); })()"
            )
            found = (
                "[...document.querySelectorAll('.md-search-result__item')].slice(0, 3)"
                f".some((e) => e.textContent.toLowerCase().includes({typed.lower()!r}) && e.querySelector('a').href.includes({page!r}))"
            )
            browser.wait_for(found, seconds=60)
        browser.screenshot(ROOT / "build" / "web" / "search.png", height=900)
        wide = "[...document.querySelectorAll('.md-content pre code')].filter((e) => e.scrollWidth > e.clientWidth + 1).length"
        browser.open(f"{site}start/")
        browser.wait_for("document.querySelectorAll('.md-content pre code').length > 1", seconds=60)
        assert browser.evaluate(wide) == 0
        browser.screenshot(ROOT / "build" / "web" / "start.png", height=900)
    finally:
        browser.close()
