"""The watermarks of aligned sources as a file of the checkpoint: the driver writes it after a batch, and the
processes that plan sources read it."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from flinkish.runtime.sources.alignment import Watermarks
from flinkish.spark.checkpoint.storage import write_whole

_FILE = "aligned-watermarks.json"


def note_watermarks(checkpoint: Path, watermarks: Watermarks) -> None:
    """Write ``watermarks`` into the ``checkpoint``, a directory of this machine."""
    write_whole(checkpoint / _FILE, json.dumps(watermarks))


def noted_watermarks(checkpoint: Path) -> Watermarks:
    """The watermarks that were written last; none at first."""
    with suppress(OSError, ValueError):
        noted: dict[str, int | None] = json.loads((checkpoint / _FILE).read_text("utf-8"))
        return noted
    return {}
