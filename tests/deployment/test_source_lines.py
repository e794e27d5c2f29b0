"""Tracebacks of workers get the source lines that only the driver has."""

from __future__ import annotations

import linecache
import sys
from types import SimpleNamespace

import pytest

from flinkish.deployment.source_lines import with_source_lines

CELL = "def broken(n):\n    x = n + 1\n    return x / 0\n"


@pytest.fixture
def cell(monkeypatch):
    """A cell, as IPython registers it."""
    name = "/tmp/ipykernel_1/1141840141.py"
    monkeypatch.setitem(linecache.cache, name, (len(CELL), None, CELL.splitlines(True), name))
    return name


def trace(name, *after):
    return "\n".join(
        [
            "Traceback (most recent call last):",
            f'  File "{name}", line 3, in broken',
            *after,
            "ZeroDivisionError: division by zero",
        ]
    )


def test_a_line_that_the_worker_does_not_have_is_added(cell):
    assert with_source_lines(trace(cell)) == trace(cell, "    return x / 0")


def test_what_is_there_stays(cell):
    known = trace(cell, "    return x / 0", "           ~~^~~")
    assert with_source_lines(known) == known
    unknown = trace("/nowhere/else.py")
    assert with_source_lines(unknown) == unknown
    assert with_source_lines("") == ""


def test_each_frame_has_its_own_line(cell):
    frame = f'  File "{cell}", line '
    two = f"{frame}2, in outer\n{frame}3, in broken"
    assert (
        with_source_lines(two)
        == f"{frame}2, in outer\n    x = n + 1\n{frame}3, in broken\n    return x / 0"
    )


def test_in_a_notebook_the_cell_is_named(cell, monkeypatch):
    compiled = SimpleNamespace(
        format_code_name=lambda name: ("Cell", "In[3]") if name == cell else None
    )
    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace(compile=compiled))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert "\n  Cell In[3], line 3, in broken\n    return x / 0\n" in with_source_lines(trace(cell))
    assert with_source_lines(trace("/nowhere.py")) == trace("/nowhere.py")
