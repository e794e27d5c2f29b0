"""The cost of the web page and the metering behind it: processor time, in turns in one process.

python -m tests.benchmarks.web_page
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Callable
from functools import partial
from urllib.request import urlopen

import flinkish as fl
from flinkish.runtime import reports

TURNS = 4
BATCHES = 200
ELEMENTS_A_BATCH = 100
"""Few, as the metering is by batch and key group."""


def _milliseconds_a_batch(page: bool) -> float:
    """The processor time of a batch of two keyed operators; ``page``: one is asked once a second."""
    environment = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    environment.setParallelism(2).getConfig().setElementsPerBatch(ELEMENTS_A_BATCH)
    at = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda n, t: n)
    count = BATCHES * ELEMENTS_A_BATCH
    numbers = environment.fromSequence(1, count).assignTimestampsAndWatermarks(at)
    windows = numbers.keyBy(lambda n: n % 100).window(fl.TumblingEventTimeWindows.of(2_000))
    sums = windows.reduce(lambda a, b: a + b)
    sums.keyBy(lambda n: n % 10).reduce(max).forEachBatch(lambda values, batch: None)
    web = environment.enableWebUI() if page else None
    ended = threading.Event()
    began = time.process_time()
    client = environment.executeAsync("measured")

    def ask(address: str) -> None:
        while not ended.wait(1):
            urlopen(f"{address}/api/jobs/{client.getJobID()}/details?batches=50").read()

    if web is not None:
        asking = threading.Thread(target=ask, args=(web.url.partition("/#")[0],))
        asking.start()
    client.getJobExecutionResult()
    took = time.process_time() - began
    ended.set()
    if web is not None:
        asking.join()
        web.close()
    return 1000 * took / BATCHES


def _reading_each_time() -> float:
    """Without a page, where each task reads what its process needs."""
    seconds, reports._WORKER_SECONDS = reports._WORKER_SECONDS, -1.0
    try:
        return _milliseconds_a_batch(page=False)
    finally:
        reports._WORKER_SECONDS = seconds


def _milliseconds_a_call(calls: int = 200) -> tuple[float, float]:
    """Measure the page's requests to a job that has 600 batches: the processor time, and the
    time."""
    environment = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    environment.getConfig().setElementsPerBatch(1)
    environment.fromSequence(1, 600).keyBy(lambda n: n % 10).reduce(max).forEachBatch(
        lambda values, batch: None
    )
    web = environment.enableWebUI()
    client = environment.executeAsync("asked")
    client.getJobExecutionResult()
    url = f"{web.url.partition('/#')[0]}/api/jobs/{client.getJobID()}/details?batches=50"
    took, began = [], time.process_time()
    for _ in range(calls):
        started = time.perf_counter()
        json.load(urlopen(url))
        took.append(time.perf_counter() - started)
    processor = (time.process_time() - began) / calls
    web.close()
    return processor * 1000, statistics.median(took) * 1000


def main() -> None:
    """Print the figures."""
    sides: dict[str, Callable[[], float]] = {
        "without a page": partial(_milliseconds_a_batch, page=False),
        "with a page": partial(_milliseconds_a_batch, page=True),
        "without, process read by each task": _reading_each_time,
    }
    first, *others = sides
    sides[first]()
    found: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(TURNS):
        # By turns which is first, as the machine may slow down
        for name in list(sides)[:: -1 if turn % 2 else 1]:
            found[name].append(sides[name]())
    for name, each in found.items():
        print(f"{name}: {statistics.median(each):.2f} ms of processor time a batch")
    for name in others:
        ratios = [one / other for one, other in zip(found[name], found[first])]
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        print(f"{name}: {statistics.median(ratios):.2f} times as much, {spread}")
    processor, took = _milliseconds_a_call()
    print(f"a call: {took:.1f} ms, {processor:.1f} ms of processor time with the client's part")


if __name__ == "__main__":
    main()
