"""State from a savepoint, which reaches the tasks as rows of the first batch, besides the frames.

A row carries a part of the state of one vertex and key group, and has its own gate. The state is
restored before any element of the batch is read. A batch that is run again brings the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from flinkish.api.stored_values import pickled
from flinkish.runtime.savepoint.redistribution import restore_keyed
from flinkish.runtime.savepoint.saved_state import TASK, decoded
from flinkish.runtime.state.page_codec import Envelope
from flinkish.runtime.state.page_store import PageStore
from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend
from flinkish.runtime.task.gates import FrameRow

RESTORED_GATE = -2

PARTS_AT_ONCE = 32
"""The parts of state in memory at a time, each with up to 2,000 entries or 1 MB."""


def restored_row(
    levels: Mapping[str, int], uid: str, keyGroup: int, content: bytes, number: int, clock: int
) -> FrameRow:
    """The row that brings ``content`` to a vertex; ``levels`` are the stages of the vertices."""
    return FrameRow(
        levels[uid], uid, keyGroup, RESTORED_GATE, slice=number, clock=clock, frame=content
    )


def restored_state(
    backend: PagedKeyedStateBackend, uid: str, rows: Iterable[FrameRow], store: PageStore
) -> dict[str, Any]:
    """Write the state of a vertex that ``rows`` bring to the pages of a key group, and return the
    vertex's entry in the directory, as after a batch."""
    backend.load(store, None)
    chain, gates = None, None
    for number, row in enumerate(sorted(rows, key=lambda row: (row.slice, row.sequence)), 1):
        # Spark's rows contain a bytearray
        content = bytes(row.frame)
        table, state, *_ = Envelope.of(content)
        if table == TASK:
            chain, gates = decoded(uid, table, state, content)
        else:
            restore_keyed(backend, uid, content)
        if number % PARTS_AT_ONCE == 0:
            written = backend.flush()
            backend.endBatch()
            backend.load(store, written)
    return {"backend": backend.flush(), "chain": pickled(chain), "gates": gates}
