"""What a function gives over columns is what it gives element by element, with columns that do not check themselves."""

from __future__ import annotations

import pyarrow as pa
import pytest

from flinkish import KeyedProcessFunction, ProcessFunction
from flinkish.runtime.tracing.column_runs import counted_runs
from tests.runtime.tracing.test_checks import emitted


def agrees(build, *batches, timed=True, columns=None):
    """Asserts that a job emits of ``batches`` what it emits with tracing off; ``columns``: whether a function takes
    its runs over columns."""
    right = sorted(emitted(build, batches, traces=False, checks=0, timed=timed))
    assert right
    with counted_runs() as runs:
        assert sorted(emitted(build, batches, checks=0, timed=timed)) == right
    if columns is not None:
        assert bool(sum(runs.taken.values())) == columns


ROWS = pa.RecordBatch.from_pydict(
    {"k": ["a", "b"] * 1000, "n": list(range(2000)), "t": list(range(2000))}
)


class Timed(ProcessFunction):
    def processElement(self, value, ctx, out):
        out.collect("untimed" if ctx.timestamp() is None else "timed")


class KeyedTimed(KeyedProcessFunction):
    def processElement(self, value, ctx, out):
        out.collect((value.k, "timed" if ctx.timestamp() is not None else "untimed"))


TIMED = {
    "process": lambda s: s.process(Timed()),
    "function": lambda s: s.process(lambda r, ctx, out: out.collect(ctx.timestamp() is None)),
    "unused": lambda s: s.process(
        lambda r, ctx, out: out.collect(r.n) if ctx.timestamp() is None else out.collect(-r.n)
    ),
    "keyed": lambda s: s.keyBy("k").process(KeyedTimed()),
    "keyed function": lambda s: s.keyBy("k").process(
        lambda r, ctx, out: out.collect((r.n, ctx.timestamp() is None))
    ),
}


@pytest.mark.parametrize("build", TIMED.values(), ids=TIMED)
@pytest.mark.parametrize("timed", [False, True])
def test_an_element_without_timestamp_has_none(build, timed):
    agrees(build, ROWS, timed=timed, columns=timed)
