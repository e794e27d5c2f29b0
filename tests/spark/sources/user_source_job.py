"""A job with a user-defined source and sink, run by ``test_user_sources.py``, which kills it.

``python user_source_job.py DIRECTORY PAUSE [SIZE CHECKPOINT]``: reads 60 numbers, ``PAUSE`` s apart, in batches of
``SIZE``, and writes their running sums into files of DIRECTORY/out, which get their names when they are committed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path

import flinkish as fl

DIRECTORY, PAUSE = Path(sys.argv[1]), float(sys.argv[2])
SIZE, CHECKPOINT = sys.argv[3:] or ("5", str(DIRECTORY / "checkpoint"))


class Ticks(fl.Source[int]):
    """Numbers, with the position in a dict, as a source with several parts has it."""

    def __init__(self, pause: float) -> None:
        self.pause = pause

    def read(self, position: dict[str, int] | None) -> Iterator[tuple[int, dict[str, int]]]:
        position = position or {"next": 0}
        while position["next"] < 60:
            position["next"] += 1
            yield position["next"] - 1, position
            time.sleep(self.pause)


class Writer(fl.CommittingSinkWriter[int, str]):
    """Writes a draft."""

    def __init__(self, directory: Path, name: str) -> None:
        self.name = name
        self.draft = (directory / f".{name}").open("w")

    def write(self, element: int, context: fl.SinkWriterContext) -> None:
        self.draft.write(f"{element}\n")

    def prepareCommit(self) -> Collection[str]:
        return [self.name]

    def close(self) -> None:
        self.draft.close()


class Committer(fl.Committer[str]):
    """Gives drafts their names."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def commit(self, committables: Collection[fl.CommitRequest[str]]) -> None:
        for request in committables:
            draft = self.directory / f".{request.getCommittable()}"
            if draft.exists():
                draft.rename(self.directory / request.getCommittable())


class Files(fl.Sink[int], fl.SupportsCommitter[str]):
    """A file for each batch and subtask."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def createWriter(self, context: fl.WriterInitContext) -> fl.SinkWriter[int]:
        subtask = context.getTaskInfo().getIndexOfThisSubtask()
        return Writer(self.directory, f"{context.getBatchId()}-{subtask}")

    def createCommitter(self, context: fl.CommitterInitContext) -> fl.Committer[str]:
        return Committer(self.directory)


env = fl.StreamExecutionEnvironment().setParallelism(1)
env.enableCheckpointing(CHECKPOINT).getConfig().setElementsPerBatch(int(SIZE))
numbers = env.fromSource(Ticks(PAUSE), None, "ticks").keyBy(lambda n: n % 3)
numbers.reduce(lambda a, b: a + b).sinkTo(Files(DIRECTORY / "out"))
env.execute()
print("ended")
