"""The sides that run on what else a user of Python would take: Bytewax and Pathway, each in a separate environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.files import ROOT
from tests.benchmarks.flink import installed, seconds_of
from tests.benchmarks.inputs import elements_of, halves_of
from tests.benchmarks.jobs import Job

JOBS = ("tumbling", "sliding", "sessions", "keyed_totals")
"""The jobs that both can run with results that equal those of the others."""

WORKERS = 2


@dataclass(frozen=True)
class Peer:
    """A package, and the script that runs the jobs on it. ``halved``: each of its two workers reads half of each file.
    ``others``: what the package imports and does not name."""

    side: str
    package: str
    version: str
    halved: bool
    others: tuple[str, ...] = ()

    def install(self) -> Path:
        """The Python that has it, installed if it is not there. Raises MissingError if it cannot be."""
        environment = ROOT / "build" / f"{self.package}-venv"
        return installed(self.package, self.version, environment, *self.others)

    def run(
        self, python: Path, job: Job, inputs: Mapping[str, Path], output: Path, patience: float
    ) -> float | None:
        """The seconds of the job, without its start; None: it was not done in time."""
        (directory,) = inputs.values()
        read = halves_of(directory) if self.halved else elements_of(directory)
        script = Path(__file__).parent / f"{self.package}_job.py"
        command = ["env", f"PATHWAY_THREADS={WORKERS}", str(python), str(script)]
        return seconds_of([*command, job.name, str(read), str(output)], output, patience)


PEERS = (
    Peer("Bytewax", "bytewax", "0.21.1", halved=True, others=("typing-extensions",)),
    Peer("Pathway", "pathway", "0.33.0", halved=False),
)
