"""Reads a file as the source in a worker does."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from flinkish import MalformedRecord
from flinkish.runtime.formats.base import FileSplit


def whole(path):
    """All of a file."""
    size = Path(path).stat().st_size
    return FileSplit(str(path), 0, size, size)


def ranges(path, cuts):
    """A file in the ranges between ``cuts``."""
    size = Path(path).stat().st_size
    places = [0, *sorted({cut for cut in cuts if 0 < cut < size}), size]
    return [FileSplit(str(path), a, b - a, size) for a, b in pairwise(places)]


def read(file_format, *splits):
    """The values and the malformed records of ``splits``."""
    values, malformed = [], []
    for split in splits:
        for result in file_format.read(split):
            if isinstance(result, MalformedRecord):
                malformed.append(result)
            else:
                values.extend(result.values)
    return values, malformed
