"""References in pages are valid: pages, headings, files, modules, names and commands."""

from __future__ import annotations

import re
from types import ModuleType

import flinkish
from tests.docs.pages import DOCS, PAGES, ROOT, anchors, links, name, rows, text

FILE = re.compile(r"`([\w./]*/[\w./]+\.(?:py|md|txt|jsonl|yml))`")
COMMAND = re.compile(r"(?:^    |`)make ([\w-]+)", re.MULTILINE)
MODULE = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for path, anchor in links(page):
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), f"{name(page)}: {path} is not there"
            if anchor:
                assert anchor in anchors(target), f"{name(page)}: {target.name} has no {anchor}"


def test_files_that_are_named_are_there() -> None:
    for page in PAGES:
        for path in FILE.findall(text(page)):
            is_there = (ROOT / path).exists() or (ROOT / "flinkish" / path).exists()
            assert is_there, f"{name(page)}: {path}"


def test_commands_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    for page in PAGES:
        assert set(COMMAND.findall(text(page))) <= targets, name(page)


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
    assert {path for path in listed if not (DOCS / path).exists()} == {"port/missing.md"}


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


def test_a_term_of_the_glossary_names_modules_that_teach() -> None:
    for term, meaning, modules in rows(DOCS / "glossary.md", "Glossary"):
        assert term
        assert meaning, term
        paths = re.findall(r"`([\w/]+\.py)`", modules)
        assert paths, term
        for path in paths:
            source = (ROOT / "flinkish" / path).read_text("utf-8")
            assert source.startswith('"""'), f"{path} has no docstring"


def test_the_architecture_lists_every_room() -> None:
    for row in rows(DOCS / "architecture.md", "Layers and rooms"):
        layer = ROOT / row[0].strip("`")
        rooms = {room.parent.name for room in layer.glob("*/__init__.py")}
        assert set(re.findall(r"`([\w]+)`", row[1])) == rooms, layer


def test_the_architecture_lists_every_layer() -> None:
    listed = {row[0].strip("`") for row in rows(DOCS / "architecture.md", "Layers and rooms")}
    assert listed == {
        f"flinkish/{layer.parent.name}" for layer in ROOT.glob("flinkish/*/__init__.py")
    }
