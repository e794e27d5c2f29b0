"""The gates of vertices, where frames arrive, and the rows that carry frames there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Gate:
    """Where a frame arrives: the edges into a vertex, numbered, each from one upstream vertex.

    ``name`` says the same by uids, so that it is good beyond a change of the graph.
    ``sequential``: the slices are parts of one channel, in order (those of a source); else each is a
    channel of its own (the key groups of an operator). ``folded``: the watermark of a batch is the
    highest of all slices (the running maximum of a built-in strategy), taken at the end of it.
    ``broadcast``: everything that comes goes to all tasks, and is read first where nothing else decides.
    """

    level: int
    target: str
    index: int
    name: str
    inputIndex: int
    sequential: bool
    folded: bool
    broadcast: bool = False


class FrameRow(NamedTuple):
    """A frame on its way, as the columns of a Spark row."""

    level: int
    target: str
    key_group: int
    gate: int
    slice: int
    sequence: int
    clock: int
    frame: bytes


@dataclass(frozen=True)
class Slice:
    """What a writer stamps its frames with: which part of the batch it is, and the clock."""

    number: int
    clock: int
