"""The recorded cases."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """One recorded case; ``data`` is the JSON object."""

    data: dict[str, Any]

    @property
    def name(self) -> str:
        return self.data["name"]

    @property
    def family(self) -> str:
        return self.data["family"]

    @property
    def kind(self) -> str | None:
        """The kind of function."""
        return (self.data.get("function") or {}).get("kind")

    @property
    def refused(self) -> bool:
        """Whether Flink refuses it."""
        return "exception" in self.data

    def __str__(self) -> str:
        return self.name


def load(file: str) -> list[Case]:
    """The cases of a file beside this one."""
    with (HERE / file).open() as lines:
        return [Case(json.loads(line)) for line in lines]


def in_parts(cases: Sequence[Case], size: int = 20) -> dict[str, list[Case]]:
    """The cases of each family, in parts of at most ``size``: to begin a test takes longer than to replay a case."""
    families: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        families[case.family].append(case)
    return {
        f"{family} {begin // size}": found[begin : begin + size]
        for family, found in families.items()
        for begin in range(0, len(found), size)
    }


def parametrized(cases: Sequence[Case]) -> pytest.MarkDecorator:
    """A test of each part of ``cases``, which is its argument ``cases``."""
    parts = in_parts(cases)
    return pytest.mark.parametrize("cases", parts.values(), ids=parts)


def check_each(cases: Sequence[Case], check: Callable[[Case], None]) -> None:
    """Check all of the cases; raise what the first that fails has raised, with the names of all that do."""
    failed: dict[str, BaseException] = {}
    for case in cases:
        try:
            check(case)
        except (Exception, pytest.fail.Exception) as error:
            failed[case.name] = error
    for error in failed.values():
        error.add_note(f"The cases {', '.join(failed)} fail; this is the first of them.")
        raise error
