"""``BatchStage``: one level of a job in BATCH, in a worker that has all input of its key groups at
once."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import cloudpickle
import pyarrow as pa

from flinkish.runtime.closing import closed_on_error
from flinkish.runtime.savepoint.capture import captured
from flinkish.runtime.savepoint.saved_state import SavedState
from flinkish.runtime.state.page_store import DictPageStore
from flinkish.runtime.task.gates import FrameRow
from flinkish.runtime.task.plan import TaskSettings
from flinkish.runtime.task.stage import DIRECTORY, StageTask, decode_directory
from flinkish.spark.frame_rows import arrow_batch
from flinkish.spark.stage_run import this_subtask

_BYTES_A_BATCH = 16 << 20
_BYTES_A_ROW = 4 << 20

SAVED = "saved state"
"""The target of the rows that carry state for a savepoint."""


@dataclass(frozen=True)
class BatchStage:
    """Processes rows of frames that are sorted by group, the last column.

    ``payload`` is the pickled ([VertexPlan], TaskSettings). Groups below zero contain rows for
    later levels, which are passed on. State is in the memory of the worker, for one key group after
    another.
    """

    payload: bytes

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task: StageTask | None = None
        plans, settings = cloudpickle.loads(self.payload)
        for group, members in groupby(_rows(batches), key=itemgetter(-1)):
            rows = (FrameRow(*row[:-1]) for row in members)
            if group < 0:
                yield from _batches(rows)
                continue
            if task is None:
                task = StageTask(plans, settings, this_subtask())
                with closed_on_error(task):
                    task.open()
            with closed_on_error(task):
                frames = list(rows)
                pages = DictPageStore()
                yield from _batches(task.process(frames[0].key_group, frames, pages))
                if settings.bootstraps:
                    yield from _batches(_saved(frames[0], pages, settings))
        if task is not None:
            task.close()


def _saved(frame: FrameRow, pages: DictPageStore, settings: TaskSettings) -> Iterator[FrameRow]:
    """The state of bootstraps in the key group of ``frame``, as rows that carry a few parts each."""
    group = frame.key_group
    held: list[SavedState] = []
    size = 0
    for uid, saved in decode_directory(pages.get(DIRECTORY)).items():
        if uid in settings.bootstraps:
            for state in captured(uid, group, saved, pages.pages, True):
                held.append(state)
                size += len(state.content)
                if size >= _BYTES_A_ROW:
                    yield _saved_row(frame, held, settings)
                    held, size = [], 0
    if held:
        yield _saved_row(frame, held, settings)


def _saved_row(frame: FrameRow, states: list[SavedState], settings: TaskSettings) -> FrameRow:
    content = pickle.dumps(states, protocol=5)
    return FrameRow(
        level=settings.sinkLevel,
        target=SAVED,
        key_group=frame.key_group,
        gate=0,
        slice=0,
        sequence=0,
        clock=frame.clock,
        frame=content,
    )


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns))


def _batches(rows: Iterable[FrameRow]) -> Iterator[pa.RecordBatch]:
    """Rows as Arrow batches of a bounded size."""
    held: list[FrameRow] = []
    size = 0
    for row in rows:
        held.append(row)
        size += len(row.frame)
        if size >= _BYTES_A_BATCH:
            yield arrow_batch(held)
            held, size = [], 0
    if held:
        yield arrow_batch(held)
