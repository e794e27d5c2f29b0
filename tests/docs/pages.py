"""The README and the pages in docs, as their tests read them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
INLINE = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def text(page: Path) -> str:
    return page.read_text("utf-8")


def blocks(page: Path) -> list[tuple[str, str]]:
    """The language and the content of each block of code."""
    return FENCE.findall(text(page))


def links(page: Path) -> list[tuple[str, str]]:
    """The path and the anchor of each link to a file; one of them may be empty."""
    return LINK.findall(INLINE.sub("", FENCE.sub("", text(page))))


def anchors(page: Path) -> set[str]:
    """Return the anchors that links may use, as GitHub and MkDocs make them of headings."""
    words = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings(page))
    return {re.sub(r"[-\s]+", "-", heading) for heading in words}


def headings(page: Path) -> list[str]:
    return HEADING.findall(FENCE.sub("", text(page)))


def rows(page: Path, heading: str) -> list[list[str]]:
    """The cells of the tables below a heading, without the tables' own headings."""
    below = re.split(rf"^#+ {re.escape(heading)}$", text(page), flags=re.MULTILINE)[1]
    below = re.split(r"^#+ ", below, maxsplit=1, flags=re.MULTILINE)[0]
    lines = [line for line in below.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    heads = {index - 1 for index, row in enumerate(cells) if set("".join(row)) <= set("-: ")}
    return [row for index, row in enumerate(cells) if index not in heads and index - 1 not in heads]
