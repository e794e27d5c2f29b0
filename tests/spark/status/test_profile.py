"""Tasks on Spark learn that their batch is profiled, and send back what they were seen doing."""

from __future__ import annotations

import time

from flinkish.web.flame_graph import profile


def slowly(value):
    until = time.thread_time() + 0.01
    while time.thread_time() < until:
        pass
    return value


def test_a_profiled_batch(env):
    """Asked for before the first batch, which is the only one."""
    env.setParallelism(1)
    keyed = env.fromData(*range(50)).keyBy(lambda n: n % 5).reduce(max).name("largest")
    keyed.map(slowly).name("slow").forEachBatch(lambda values, batch: None)
    client = env.executeAsync("profiled")
    client.profileBatch()
    client.getJobExecutionResult()
    details = client.getJobDetails()
    most = profile(details)["functions"][0]
    assert "slowly (status/test_profile.py:" in most["function"]
    assert most["millis"] > 50
    assert details.workers
    assert all(worker.residentBytes > 10 << 20 for worker in details.workers)
    (largest,) = (o for o in details.operators.values() if o.metrics.name == "largest")
    state = largest.keyedState.values()
    assert sum(found.entries for found in state) == 5
    assert sum(found.bytes for found in state) == details.batches[-1].stateBytes > 0
    assert details.engineUI is None
