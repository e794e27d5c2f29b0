"""The files of a run, below ``build/benchmarks``: inputs stay for the next run, outputs do not."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from tests.benchmarks.inputs import INPUTS
from tests.benchmarks.jobs import Job

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "benchmarks"


@dataclass(frozen=True)
class Workload:
    """The size of the input: the number of files, and of elements in each, all inputs of a job
    together."""

    files: int
    elements: int

    @property
    def total(self) -> int:
        return self.files * self.elements

    def inputs(self, job: Job, root: Path = BUILD) -> Mapping[str, Path]:
        """The directories of the job's inputs, written if they are not there."""
        return {
            name: INPUTS[name].write(root / "inputs", self.files, self.elements, job.format)
            for name in job.inputs
        }


@contextmanager
def fresh_directory(name: str, root: Path = BUILD) -> Iterator[Path]:
    """An empty directory that is gone afterwards; never the same, as Spark still writes into the checkpoint of a
    query for a moment after its end, and a query refuses a checkpoint that is not empty."""
    outputs = root / "outputs"
    outputs.mkdir(parents=True, exist_ok=True)
    directory = Path(mkdtemp(prefix=f"{name}-", dir=outputs))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
