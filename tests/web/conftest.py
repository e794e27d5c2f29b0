"""What the tests of the web page share."""

from __future__ import annotations

import socketserver

import pytest


@pytest.fixture(autouse=True)
def servers_end_at_once(monkeypatch):
    """A server looks twice a second whether it is to end, for which each test would wait."""
    serve = socketserver.BaseServer.serve_forever
    monkeypatch.setattr(
        socketserver.BaseServer,
        "serve_forever",
        lambda server, poll_interval=0.5: serve(server, 0.01),
    )
