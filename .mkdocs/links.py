"""Puts the files of the repository that pages link to onto the site, and leads the links to them.

In the repository a page links to ``../../examples/side_output.py``, which is outside of ``docs``. The site
has such a file as ``files/examples/side_output.py``. A link to a folder becomes plain text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)([^)#\s]+)(#[^)\s]*)?\)")
FOLDER = "files"


def outside(page: str, link: str) -> str | None:
    """The path in the repository of a ``link`` of ``page`` that leads out of ``docs``; else None."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link))
    return None if path.startswith("docs/") else path


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Called when MkDocs has listed the pages: adds what they link to."""
    root = Path(config.docs_dir).parent
    for file in list(files.documentation_pages()):
        for _, link, _ in LINK.findall(file.content_string):
            path = outside(file.src_uri, link)
            if path is not None and (root / path).is_file():
                uri = f"{FOLDER}/{path}"
                if files.get_file_from_path(uri) is None:
                    files.append(File.generated(config, uri, abs_src_path=str(root / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Called for each page before it is rendered: leads its links to what ``on_files`` added."""
    here = posixpath.dirname(page.file.src_uri) or "."

    def led(match: re.Match[str]) -> str:
        text, link, anchor = match.groups()
        path = outside(page.file.src_uri, link)
        if path is None:
            return match.group(0)
        if (Path(config.docs_dir).parent / path).is_dir():
            return text
        return f"[{text}]({posixpath.relpath(f'{FOLDER}/{path}', here)}{anchor or ''})"

    return LINK.sub(led, markdown)
