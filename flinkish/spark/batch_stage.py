"""Runs one level of a job in BATCH, in a worker with all input of its key groups."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import cloudpickle
import pyarrow as pa

from flinkish.runtime.closing import closed_on_error
from flinkish.runtime.savepoint.capture import captured
from flinkish.runtime.state.page_store import DictPageStore
from flinkish.runtime.task.gates import FrameRow
from flinkish.runtime.task.plan import TaskSettings
from flinkish.runtime.task.stage import DIRECTORY, StageTask, decode_directory
from flinkish.spark.frame_rows import arrow_batch, sized
from flinkish.spark.stage_run import this_subtask

_BYTES_A_BATCH = 16 << 20
_BYTES_A_ROW = 4 << 20

SAVED = "saved state"
"""The target of the rows that carry state for a savepoint."""


def run_batch_stage(payload: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Processes rows of frames that are sorted by group, the last column. ``payload`` is the
    pickled ([VertexPlan], TaskSettings). Groups below zero contain rows for later levels, which are
    passed on. State is in the memory of the worker, for one key group after another."""
    task: StageTask | None = None
    plans, settings = cloudpickle.loads(payload)
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
    level, group, clock = settings.sinkLevel, frame.key_group, frame.clock
    states = (
        state
        for uid, saved in decode_directory(pages.get(DIRECTORY)).items()
        if uid in settings.bootstraps
        for state in captured(uid, group, saved, pages.pages, True)
    )
    for held in sized(states, lambda state: len(state.content), _BYTES_A_ROW):
        yield FrameRow(level, SAVED, group, clock=clock, frame=pickle.dumps(held, protocol=5))


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns))


def _batches(rows: Iterable[FrameRow]) -> Iterator[pa.RecordBatch]:
    """Rows as Arrow batches of a bounded size."""
    return map(arrow_batch, sized(rows, lambda row: len(row.frame), _BYTES_A_BATCH))
