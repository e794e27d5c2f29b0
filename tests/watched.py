"""Files for a directory that a job watches."""

from __future__ import annotations

import os
from pathlib import Path


def drop(directory: Path, name: str, text: str, changed: float | None = None) -> None:
    """Let a file appear, whole: one that is listed while it is being written is read as far as it was then.
    ``changed``: when it is said to have been changed, in seconds."""
    draft = directory / f".{name}"
    draft.write_text(text)
    if changed is not None:
        os.utime(draft, (changed, changed))
    draft.rename(directory / name)
