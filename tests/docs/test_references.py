"""What pages point at is there: pages, headings, files, modules, names and commands."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

import flinkish
from tests.docs.pages import DOCS, PAGES, ROOT, anchors, links, name, rows, text

FILE = re.compile(r"`([\w./]*/[\w./]+\.(?:py|md|txt|jsonl|yml))`")
COMMAND = re.compile(r"(?:^    |`)make ([\w-]+)", re.MULTILINE)
MODULE = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)

# A changelog tells of what was there; it names no files.
each_page = pytest.mark.parametrize("page", PAGES, ids=name)


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for path, anchor in links(page):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{path} is not there"
        assert not anchor or anchor in anchors(target), f"{target.name} has no heading {anchor}"


@each_page
def test_files_that_are_named_are_there(page: Path) -> None:
    for path in FILE.findall(text(page)):
        assert (ROOT / path).exists() or (ROOT / "flinkish" / path).exists(), path


@each_page
def test_commands_are_there(page: Path) -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert set(COMMAND.findall(text(page))) <= set(targets)


def test_every_page_leads_on_from_the_site() -> None:
    """MkDocs checks the pages that its configuration lists, and warns of those that it does not."""
    navigation = (ROOT / ".mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    listed = set(re.findall(r"[\w/-]+\.md", navigation))
    for page in PAGES[1:]:
        path = page.relative_to(DOCS).as_posix()
        folder, _, file = path.rpartition("/")
        if folder == "examples" or (folder == "decisions" and file[0].isdigit()):
            continue
        assert path in listed, f"{path} is not in the nav of .mkdocs.yml"
    assert all((DOCS / path).exists() for path in listed)


def test_the_reference_has_every_public_name() -> None:
    modules = {
        module
        for page in (DOCS / "reference").glob("*.md")
        for module in MODULE.findall(text(page))
    }
    names = {
        public: value
        for public, value in vars(flinkish).items()
        if not public.startswith("_") and not isinstance(value, ModuleType)
    }
    assert len(names) > 150
    for public, value in names.items():
        module = getattr(value, "__module__", "")
        assert (
            module in modules or not module.startswith("flinkish.api") or public == ("absent_name")
        ), f"no page in docs/reference shows {public} of {module}"


@pytest.mark.parametrize("row", rows(DOCS / "glossary.md", "Glossary"), ids=lambda row: row[0])
def test_a_term_of_the_glossary_names_modules_that_teach(row: list[str]) -> None:
    term, meaning, modules = row
    assert term
    assert meaning
    paths = re.findall(r"`([\w/]+\.py)`", modules)
    assert paths
    for path in paths:
        source = (ROOT / "flinkish" / path).read_text("utf-8")
        assert source.startswith('"""'), f"{path} has no docstring"


@pytest.mark.parametrize(
    "row", rows(DOCS / "architecture.md", "Layers and rooms"), ids=lambda row: row[0]
)
def test_the_architecture_lists_every_room(row: list[str]) -> None:
    layer = ROOT / row[0].strip("`")
    rooms = {room.parent.name for room in layer.glob("*/__init__.py")}
    assert set(re.findall(r"`([\w]+)`", row[1])) == rooms


def test_the_architecture_lists_every_layer() -> None:
    listed = {row[0].strip("`") for row in rows(DOCS / "architecture.md", "Layers and rooms")}
    assert listed == {
        f"flinkish/{layer.parent.name}" for layer in ROOT.glob("flinkish/*/__init__.py")
    }
