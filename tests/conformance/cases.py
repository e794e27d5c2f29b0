"""The recorded cases."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
