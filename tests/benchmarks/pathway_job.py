"""Jobs of the benchmark on Pathway; runs in the environment that has Pathway.

    python pathway_job.py JOB INPUT OUTPUT

Two threads, which PATHWAY_THREADS says. Files are read whole, in the mode "static", as Pathway has it for files that end. The
job runs on one element first, and that time is subtracted: what it takes to start does not count.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import pathway as pw

MINUTE, HOP, GAP = 60_000, 15_000, 1_000


class Event(pw.Schema):
    key: str
    value: int
    at: int


WINDOWS = {
    "tumbling": pw.temporal.tumbling(duration=MINUTE),
    "sliding": pw.temporal.sliding(hop=HOP, duration=MINUTE),
    "sessions": pw.temporal.session(predicate=lambda one, other: abs(one - other) <= GAP),
}


def run(job, source, output):
    """Seconds. The results are in a file of ``output``."""
    pw.internals.parse_graph.G.clear()
    events = pw.io.csv.read(str(source), schema=Event, mode="static")
    if job == "keyed_totals":
        results = events.groupby(events.key).reduce(
            events.key, sum=pw.reducers.sum(events.value), count=pw.reducers.count()
        )
    else:
        results = events.windowby(events.at, window=WINDOWS[job], instance=events.key).reduce(
            sum=pw.reducers.sum(pw.this.value), count=pw.reducers.count()
        )
    pw.io.csv.write(results, str(output))
    began = time.monotonic()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    return time.monotonic() - began


def with_header(source, directory):
    """The files, each with the header by which Pathway knows its columns."""
    for path in sorted(source.iterdir()):
        Path(directory, path.name).write_text("key,value,at\n" + path.read_text())
    return directory


def plain(found, columns, output):
    """Pathway's file without its header, and without its columns of times and differences."""
    with found.open() as lines, output.open("w") as results:
        next(lines)
        results.writelines(",".join(line.split(",")[:columns]) + "\n" for line in lines)


def main():
    job, source, output = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    with tempfile.TemporaryDirectory() as directory:
        one, whole, found = (Path(directory, name) for name in ("one", "whole", "found.csv"))
        one.mkdir()
        whole.mkdir()
        with_header(source, whole)
        first = next(line for path in sorted(source.iterdir()) for line in path.open())
        Path(one, "one.csv").write_text("key,value,at\n" + first)
        run(job, one, found)
        start = run(job, one, found)
        seconds = run(job, whole, found)
        plain(found, 3 if job == "keyed_totals" else 2, output / "results.csv")
    print(json.dumps({"seconds": max(seconds - start, 0.0)}))


main()
