"""Examples in docstrings, as blocks of code on the site.

Docstrings have doctests as Python writes them, without a fence. Markdown would join their lines and take
brackets in them for links.
"""

from __future__ import annotations

from typing import Any

import griffe


class FencedDoctests(griffe.Extension):
    """Puts a fence around each doctest of each docstring."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called once for each module, class, function and attribute that has been read."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    """``docstring`` with a fence around each paragraph that begins with a prompt."""
    lines: list[str] = []
    within = False
    for line in [*docstring.splitlines(), ""]:
        if not within and line.lstrip().startswith(">>> "):
            indent = line[: len(line) - len(line.lstrip())]
            lines += ["", f"{indent}```pycon"]
            within = True
        elif within and not line.strip():
            lines.append(f"{indent}```")
            within = False
        lines.append(line)
    return "\n".join(lines)
