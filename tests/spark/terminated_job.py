"""Runs a job on flinkish's session until the process is terminated; run by ``test_job_life.py``."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import flinkish as fl


@dataclass(frozen=True)
class Slow:
    """Touches ``ready``, and takes its time."""

    ready: Path

    def __call__(self, value: int) -> int:
        self.ready.touch()
        time.sleep(0.02)
        return value


def main(ready: str) -> None:
    """Run the job until the process ends."""
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setParallelism(2)
    numbers = env.fromSequence(1, 1_000_000)
    numbers.keyBy(lambda n: n % 2).map(Slow(Path(ready))).sinkTo(fl.DiscardingSink())
    env.execute()


if __name__ == "__main__":
    main(sys.argv[1])
