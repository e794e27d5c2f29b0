"""What the web page costs: a job in pairs of runs, with the page that a browser looks at once a second, and without.

python -m tests.benchmarks.web_page
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from urllib.request import urlopen

import flinkish as fl

PAIRS = 3
ELEMENTS = 60_000
BATCHES = 5

_BROWSER = """
import sys, time
from urllib.request import urlopen
jobs, address = 0, sys.argv[1]
while True:
    import json
    (job, *_) = json.load(urlopen(address + "/api/jobs/overview"))["jobs"] or [None]
    if job:
        urlopen(f"{address}/api/jobs/{job['jid']}/details?batches=50").read()
    time.sleep(1)
"""
"""What the page asks once a second, from another process, as a browser is."""


def _seconds(environment: fl.StreamExecutionEnvironment) -> float:
    """How long the batches of a job took, the first of which is left out."""
    at = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda n, t: n)
    environment.getConfig().setElementsPerBatch(ELEMENTS // BATCHES)
    numbers = environment.fromSequence(0, ELEMENTS - 1).assignTimestampsAndWatermarks(at)
    windows = numbers.keyBy(lambda n: n % 1000).window(fl.TumblingEventTimeWindows.of(200_000))
    windows.reduce(lambda a, b: a + b).forEachBatch(lambda values, batch: None)
    client = environment.executeAsync("measured")
    client.getJobExecutionResult()
    return sum(batch.duration for batch in client.getJobDetails().batches[1:]) / 1000


def _with_page() -> float:
    environment = fl.StreamExecutionEnvironment.getExecutionEnvironment().setParallelism(2)
    web = environment.enableWebUI()
    browser = subprocess.Popen([sys.executable, "-c", _BROWSER, web.url.partition("/#")[0]])
    try:
        time.sleep(0.5)
        return _seconds(environment)
    finally:
        browser.kill()
        browser.wait()
        web.close()


def _without_page() -> float:
    return _seconds(fl.StreamExecutionEnvironment.getExecutionEnvironment().setParallelism(2))


def _milliseconds_a_call(calls: int = 200) -> tuple[float, float]:
    """What the page asks of a job that has 600 batches: the processor time, and the time."""
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
    _without_page()
    ratios = []
    for pair in range(PAIRS):
        # By turns which is first, as the machine may slow down
        order = (_with_page, _without_page) if pair % 2 else (_without_page, _with_page)
        found = {run: run() for run in order}
        ratios.append(found[_with_page] / found[_without_page])
        print(f"with {found[_with_page]:.2f} s, without {found[_without_page]:.2f} s", flush=True)
    print(f"ratio: median {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}")
    processor, took = _milliseconds_a_call()
    print(f"a call: {took:.1f} ms, {processor:.1f} ms of processor time with the client's part")


if __name__ == "__main__":
    main()
