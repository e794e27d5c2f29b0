"""Jobs of the benchmark on Bytewax; runs in the environment that has Bytewax.

    python bytewax_job.py JOB INPUT OUTPUT

Two processes of one worker each: threads of one process would share Python's lock. INPUT has each file in two halves;
a worker reads the first halves in order, the other one the second. Bytewax does not hold a worker back that is ahead of
the other in event time, so its clock waits for SKEW more than elements are out of order. The time is from the first
line read to the last result written, by a clock that the processes share.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import bytewax.operators as op
import bytewax.operators.windowing as w
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.operators import StatefulBatchLogic
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import cluster_main

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
OUT_OF_ORDER = timedelta(seconds=5)
SKEW = timedelta(minutes=20)
LINES = 1_000
WORKERS = 2
FIRST_PORT = 43_200


class Halves(FixedPartitionedSource):
    """The halves of a directory, each a partition that reads its files in order."""

    def __init__(self, directory):
        self.directory = directory

    def list_parts(self):
        return ["0", "1"]

    def build_part(self, step_id, for_part, resume_state):
        return Half(sorted(self.directory.glob(f"*-{for_part}.csv")))


class Half(StatefulSourcePartition):
    first = 0.0

    def __init__(self, paths):
        self.lines = (line for path in paths for line in path.open())

    def next_batch(self):
        Half.first = Half.first or time.monotonic()
        lines = list(islice(self.lines, LINES))
        if not lines:
            raise StopIteration
        return lines

    def snapshot(self):
        return None


class Results(DynamicSink):
    """A file for each worker."""

    def __init__(self, directory):
        self.directory = directory

    def build(self, step_id, worker_index, worker_count):
        return File(self.directory / f"{worker_index}.csv")


class File(StatelessSinkPartition):
    last = 0.0

    def __init__(self, path):
        self.file = path.open("w")

    def write_batch(self, items):
        self.file.writelines(items)
        File.last = time.monotonic()

    def close(self):
        self.file.close()
        File.last = time.monotonic()


def fields(line):
    key, value, at = line.split(",")
    return key, (int(value), int(at))


def time_of(element):
    return EPOCH + timedelta(milliseconds=element[1])


def no_values():
    return (0, 0)


def add(accumulator, element):
    return (accumulator[0] + element[0], accumulator[1] + 1)


def merge(one, other):
    return (one[0] + other[0], one[1] + other[1])


class Total(StatefulBatchLogic):
    """The sum and the number of the values of a key, when there are no more."""

    def __init__(self, state):
        self.state = state or no_values()

    def on_batch(self, values):
        for value in values:
            self.state = add(self.state, value)
        return (), StatefulBatchLogic.RETAIN

    def on_eof(self):
        return (self.state,), StatefulBatchLogic.DISCARD

    def snapshot(self):
        return self.state


MINUTE = timedelta(minutes=1)
WINDOWS = {
    "tumbling": w.TumblingWindower(length=MINUTE, align_to=EPOCH),
    "sliding": w.SlidingWindower(length=MINUTE, offset=timedelta(seconds=15), align_to=EPOCH),
    "sessions": w.SessionWindower(gap=timedelta(seconds=1)),
}


def flow(job, source, output):
    flow = Dataflow(job)
    keyed = op.map("fields", op.input("lines", flow, Halves(source)), fields)
    if job == "keyed_totals":
        totals = op.stateful_batch("totals", keyed, Total)
        lines = op.map("line", totals, lambda kept: f"{kept[0]},{kept[1][0]},{kept[1][1]}\n")
    else:
        # The clock stands still, as event time would go on with it
        clock = w.EventClock(time_of, OUT_OF_ORDER + SKEW, now_getter=lambda: EPOCH)
        windows = w.fold_window(
            "windows", keyed, clock, WINDOWS[job], no_values, add, merge, ordered=False
        )
        lines = op.map("line", windows.down, lambda kept: f"{kept[1][1][0]},{kept[1][1][1]}\n")
    op.output("results", lines, Results(output))
    return flow


def main():
    job, source, output = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    if len(sys.argv) > 4:
        addresses = [f"127.0.0.1:{FIRST_PORT + worker}" for worker in range(WORKERS)]
        cluster_main(flow(job, source, output), addresses, int(sys.argv[4]))
        print(json.dumps([Half.first, File.last]))
        return
    workers = [
        subprocess.Popen(
            [sys.executable, *sys.argv, str(worker)], stdout=subprocess.PIPE, text=True
        )
        for worker in range(WORKERS)
    ]
    printed = [worker.communicate()[0] for worker in workers]
    if any(worker.returncode for worker in workers):
        sys.exit(1)
    times = [json.loads(text.splitlines()[-1]) for text in printed]
    first = min(first for first, _ in times if first)
    print(json.dumps({"seconds": max(last for _, last in times) - first}))


main()
