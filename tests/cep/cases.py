"""Patterns recorded from Flink 2.3.0, as ``tests/conformance`` records jobs."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conformance.cases import Case

HERE = Path(__file__).parent


def load(file: str) -> list[Case]:
    """The cases of a file beside this one."""
    with (HERE / file).open() as lines:
        return [Case(json.loads(line)) for line in lines]
