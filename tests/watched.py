"""Files for a directory that a job watches."""

from __future__ import annotations

from pathlib import Path


def drop(directory: Path, name: str, text: str) -> None:
    """Let a file appear, whole: one that is listed while it is being written is read as far as it was then."""
    draft = directory / f".{name}"
    draft.write_text(text)
    draft.rename(directory / name)
