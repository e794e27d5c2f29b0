"""Runs a query of Nexmark over generated events, and prints its last answers and how long it took."""

from __future__ import annotations

import argparse
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from examples.nexmark.events import from_files, generated, write_files
from examples.nexmark.generator import NexmarkGenerator
from examples.nexmark.queries import QUERIES
from flinkish import StreamExecutionEnvironment

SHOWN = 10


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one query."""
    options = _options(arguments)
    generator = NexmarkGenerator(options.seed, options.rate)
    env = StreamExecutionEnvironment.getExecutionEnvironment()
    if options.files is None:
        streams = generated(env, generator, options.events)
    else:
        write_files(generator, options.files, options.events, options.events_per_file)
        streams = from_files(env, options.files)

    query = QUERIES[options.query]
    print(f"Q{options.query}: {query.__doc__}")
    count, last = [0], deque[Any](maxlen=SHOWN)

    def note(answers: list[Any], batch: int) -> None:
        count[0] += len(answers)
        last.extend(answers)

    query(streams).forEachBatch(note)
    began = time.monotonic()
    env.execute(f"Nexmark query {options.query}")
    print(*last, sep="\n")
    print(f"{count[0]:,} answers, {options.events:,} events, {time.monotonic() - began:.1f} s")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m examples.nexmark", description=__doc__)
    parser.add_argument("--query", type=int, choices=QUERIES, default=5, help="%(default)s")
    parser.add_argument("--events", type=int, default=100_000, help="%(default)s")
    parser.add_argument(
        "--rate", type=int, default=10_000, help="events a second of event time: %(default)s"
    )
    parser.add_argument("--seed", type=int, default=1, help="%(default)s")
    parser.add_argument(
        "--files", type=Path, help="write the events to files in this directory and read them"
    )
    parser.add_argument("--events-per-file", type=int, default=1_000_000, help="%(default)s")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
