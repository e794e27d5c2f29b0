"""The page behind a proxy that serves it below a path prefix, as docs/monitor.md shows."""

from __future__ import annotations

import http.client
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urljoin

import pytest

from flinkish.web.server import WebServer
from tests.web.jobs import Client, details

PREFIX = "/jobs-of-the-house"


@pytest.fixture
def server():
    served = WebServer(token="open sesame")
    yield served
    served.close()


@pytest.fixture
def proxy(server):
    """The port of a proxy that passes on what is below ``PREFIX``, for the host that it asks."""
    behind = server._server.server_address[1]

    class Passing(BaseHTTPRequestHandler):
        def do_GET(self):
            assert self.path.startswith(f"{PREFIX}/")
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            connection = http.client.HTTPConnection("127.0.0.1", behind, timeout=20)
            kept = {k: v for k, v in self.headers.items() if k != "Host"}
            connection.request(self.command, self.path.removeprefix(PREFIX), body, kept)
            answer = connection.getresponse()
            content = answer.read()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.headers["Content-Type"])
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            connection.close()

        do_PATCH = do_GET

        def log_message(self, *arguments):
            """Says nothing."""

    passing = ThreadingHTTPServer(("127.0.0.1", 0), Passing)
    threading.Thread(target=passing.serve_forever, daemon=True).start()
    yield passing.server_address[1]
    passing.shutdown()
    passing.server_close()


def asked(port, path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, None, {"Host": "jobs.example", **headers})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_all_that_the_page_asks_for_is_below_the_path_of_the_proxy(server, proxy):
    server.addJob(Client(details()))
    status, page = asked(proxy, f"{PREFIX}/")
    assert status == 200
    links = re.findall(r'(?:href|src)="([^"#:]+)"', page)
    script = asked(proxy, f"{PREFIX}/page.js")[1]
    called = [call.split("$")[0] for call in re.findall(r"fetch\(`([^`]+)`", script)]
    assert {"page.js", "style.css"} <= set(links)
    assert called == ["api/"]
    for link in [*links, "api/jobs", "metrics"]:
        assert asked(proxy, urljoin(f"{PREFIX}/", link))[0] == 200, link


def test_the_token_passes_through_the_proxy(server, proxy):
    client = Client(details())
    server.addJob(client)
    path = f"{PREFIX}/api/jobs/a1?mode=cancel"
    assert asked(proxy, path, "PATCH")[0] == 401
    assert asked(proxy, path, "PATCH", Authorization="Bearer open sesame")[0] == 202
