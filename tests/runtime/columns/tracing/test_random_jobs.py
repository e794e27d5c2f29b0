"""Random functions in jobs, on columns of extreme values: with tracing and without, the results are the same."""

from __future__ import annotations

import math
from collections import Counter
from datetime import datetime
from decimal import Decimal
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.runtime.records.records import NO_TIMESTAMP, Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.testing import StreamTestHarness
from tests.column_counts import counted_runs
from tests.runtime.columns.tracing.random_functions import (
    FLOATS,
    TEXTS,
    WHOLE,
    WIDEST,
    Leaves,
    compiled,
    exactly,
    expression,
)

LEAVES = Leaves(
    ["v.x", "v.w", "v.f", "v.n", "v.h", "max(v.f, 1.0)", "v.x", "len(v.s)", "v['x']", "v[1]"],
    ["v.s", "v.z"],
    ["v.b", "v.e", "bool(v.e)", "(not v.e)", "(max(v.f, 1.0) in (v.f,))", "any((v.e, v.b))"],
)
COLUMNS = {
    "x": (pa.int64(), lambda r: r.randint(-5, 5)),
    "f": (pa.float64(), lambda r: math.nan if r.random() < 0.1 else r.choice(FLOATS)),
    "w": (pa.int64(), lambda r: r.choice([*WHOLE, *WIDEST])),
    "b": (pa.bool_(), lambda r: r.random() < 0.5),
    "s": (pa.string(), lambda r: r.choice(TEXTS)),
    "e": (pa.bool_(), lambda r: r.random() < 0.5),
    "n": (pa.int64(), lambda r: r.choice(WHOLE)),
    "h": (pa.float64(), lambda r: math.nan if r.random() < 0.1 else r.choice(FLOATS)),
    "z": (pa.string(), lambda r: r.choice(TEXTS)),
    "t": (pa.timestamp("us"), lambda r: datetime(2020, 1, r.randint(1, 31), r.randint(0, 23))),
    "m": (pa.decimal128(9, 2), lambda r: Decimal(r.randint(-999, 999)) / 100),
}
NULLABLE = "enhztm"


def random_batch(random: Random, count: int) -> RowColumns:
    """Rows of which some batches have nulls and others have none."""
    holes = {name: random.choice([0, 0, 0.3]) for name in NULLABLE}
    arrays = [
        pa.array(
            [None if random.random() < holes.get(name, 0) else draw(random) for _ in range(count)],
            kind,
        )
        for name, (kind, draw) in COLUMNS.items()
    ]
    return RowColumns(pa.RecordBatch.from_arrays(arrays, names=list(COLUMNS)))


def drawn(random: Random, depth: int = 2) -> str:
    kind = random.random()
    if kind < 0.3:
        return random.choice([*LEAVES.truths, "v.e", "(True if v.e else False)"])
    return expression(random, LEAVES, random.randint(0, depth))[1]


def timed(random: Random) -> str:
    """Draw an expression that may ask the context of a process function for the timestamp."""
    return random.choice(["ctx.timestamp() is None", "ctx.timestamp()", "0", drawn(random)])


def random_job(random: Random, way: str) -> str:
    """The source of a function for one ``way`` of its use."""
    p, q, c = drawn(random), drawn(random), drawn(random, 1)
    if way in ("map", "filter", "keyBy"):
        made = p if way != "map" else random.choice([p, f"({p}, {q})", f"({p} if {c} else {q})"])
        return f"def function(v):\n    return {made}\n"
    if way == "iterate":
        return f"def function(v):\n    yield ({p}, v.x)\n    if {c}:\n        yield ({p}, v.w)\n"
    emitted = f"out.collect(({p}, v.x))"
    if way == "flatMap":
        return f"def function(v, out):\n    if {c}:\n        {emitted}\n"
    return f"def function(v, ctx, out):\n    out.collect(({p}, {timed(random)}))\n"


BUILDS = {
    "map": lambda s, f: s.map(f),
    "filter": lambda s, f: s.filter(f),
    "flatMap": lambda s, f: s.flatMap(f),
    "iterate": lambda s, f: s.flatMap(f),
    "keyBy": lambda s, f: s.keyBy(f).process(lambda v, ctx, out: out.collect(ctx.getCurrentKey())),
    "process": lambda s, f: s.process(f),
    "keyed": lambda s, f: s.keyBy("x").process(f),
}


def outcome(way, source, runs, traces):
    """The results of a job with their types, up to its first error, and that error."""
    function = compiled(source)

    def built(stream):
        config = stream.getExecutionEnvironment().getConfig().setColumnChecks(0)
        if not traces:
            config.disableFunctionTracing()
        return BUILDS[way](stream, function)

    harness, error = StreamTestHarness(built), None
    try:
        for values, timestamps in runs:
            harness._inputs[0].output.emitRecords(Records(values, timestamps))
    except Exception as raised:
        cause = raised.__cause__ or raised
        return None, (type(cause).__name__, str(cause))
    found = [e for e in harness.getOutput() if hasattr(e, "value")]
    return [(exactly(e.value), e.timestamp) for e in found], error


def check_jobs(seed: int, ways: list[str]) -> Counter[str]:
    """Asserts that random jobs agree. Gives how many took the columns, by the way of their function."""
    random = Random(seed)
    outcomes: Counter[str] = Counter()
    for way in ways:
        source = random_job(random, way)
        # A keyed process function takes the columns of many elements only
        rows = 1100 if way == "keyed" else random.randint(1, 8)
        runs = []
        for _ in range(1 if way == "keyed" else random.randint(1, 3)):
            times = np.arange(rows, dtype=np.int64)
            if random.random() < 0.4:
                times[random.choice([slice(None), slice(0, 1)])] = NO_TIMESTAMP
            runs.append((random_batch(random, rows), times))
        right = outcome(way, source, runs, traces=False)
        with counted_runs() as counts:
            found = outcome(way, source, runs, traces=True)
        assert found == right, f"{way}\n{source}\n{[v.rows()[:8] for v, _ in runs]}\n{runs[0][1]}"
        if right[1] is None and sum(counts.taken.values()):
            outcomes[way] += 1
    return outcomes


@given(st.integers(0, 2**32))
def test_random_jobs_agree(seed):
    check_jobs(seed, list(BUILDS))


@pytest.mark.slow("twenty random jobs of each kind")
def test_random_jobs_take_the_columns():
    outcomes = check_jobs(1, 20 * list(BUILDS))
    assert all(outcomes[way] >= 3 for way in BUILDS), outcomes
