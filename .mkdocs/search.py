"""Lets the search show recipes, the reference and the guides first, and what they were decided from last."""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

BOOSTS = {"recipes": 10.0, "reference/": 2.0, "decisions/": 0.1, "changelog": 0.1}


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Called for each page before it is rendered: says how much it counts in a search."""
    for start, boost in BOOSTS.items():
        if page.file.src_uri.startswith(start):
            page.meta.setdefault("search", {"boost": boost})
    return markdown
