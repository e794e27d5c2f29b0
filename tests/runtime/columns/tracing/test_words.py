"""Functions that emit results for each word of a text have the same results over columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.runtime.columns.tracing.checks import Collected
from flinkish.runtime.columns.tracing.emitting_function import FlatMapColumns
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.testing import StreamTestHarness
from tests.runtime.columns.tracing.random_functions import exactly


def counts(v, out):
    for word in v.line.split():
        out.collect((word, 1))


def several(v, out):
    for word in v.line.lower().split(" "):
        if word:
            out.collect((word, v.n))
            if word > "b":
                out.collect((f"{word}!", len(word)))


def changed(v, out):
    for word in v.line.split():
        word = word.strip(",")
        key = word.upper()
        if word != "b":
            yield key, f"{word}-{v.n}", v.other


def returned(v, out):
    return v.line.split(",")


def some(v, out):
    limit = v.n // 2
    if v.n > 1:
        for part in v.line.rsplit(" ", 1):
            out.collect({"part": part, "limit": limit, "n": v.n})


def divided(v, out):
    for word in v.line.split():
        out.collect((word, 6 // v.n))


def lines(v, out):
    for line in v.line.splitlines():
        out.collect(line)


FOLLOWED = [counts, several, changed, returned, some, divided, lines]


def numbered(v, out):
    number = 0
    for word in v.line.split():
        number += 1  # noqa: SIM113
        out.collect((word, number))


def until(v, out):
    for word in v.line.split():
        if word == "b":
            break
        out.collect(word)


def first_too(v, out):
    out.collect("first")
    for word in v.line.split():
        out.collect(word)


def counted(v, out):
    words = v.line.split()
    for word in words:
        out.collect((word, len(words)))


def remembered(v, out):
    seen = []
    for word in v.line.split():
        seen.append(word)
        if len(seen) < 4:
            out.collect(word)


def listed(v, out):
    kept = []
    kept.append(f"{v.n}")
    if kept[0] == "2":
        out.collect(kept[0])


def put(v, out):
    kept = {}
    kept.update(text=f"{v.n}")
    if kept["text"] == "2":
        out.collect(1)


def aliased(v, out):
    kept = []
    add = kept.append
    add("{}".format(v.n))  # noqa: UP032
    if "2" in kept:
        out.collect(1)


def last(v, out):
    found = ""
    for word in v.line.split():
        found = word
    out.collect(found)


def sometimes_set(v, out):
    for word in v.line.split():
        if word > "b":
            kept = word
        out.collect(kept)


def twice(v, out):
    for word in v.line.split():
        out.collect(word)
    for word in v.line.split(","):
        out.collect(word)


def asked(v, out):
    if isinstance(v.line.split(), list):
        out.collect(v.line)


def by_value(v, out):
    for word in v.line.split(v.other):
        out.collect(word)


ALONE = {
    numbered: "has a loop over words that may depend on those before (line",
    until: "has a loop over words whose rounds differ",
    first_too: "emits within a loop over words, and outside of it",
    counted: "does more with the words of a text than to loop over them (line",
    remembered: "has a loop over words that may depend on those before (line",
    listed: "converts a value to text (line",
    put: "converts a value to text (line",
    aliased: "converts a value to text (line",
    last: "emits within a loop over words, and outside of it",
    sometimes_set: "has a loop over words that may depend on those before (line",
    twice: "has several loops over the words of texts (line",
    asked: "calls isinstance (line",
    by_value: "calls split with a value (line",
}


def results(function, rows):
    """Return the results of a run over columns, and of calls; None where columns or a call give
    up."""
    columns = FlatMapColumns(function, None)
    columns.runs.checks = 2
    found = columns.process(Records(rows.anew(), np.arange(len(rows)) * 10), 0, 0)
    called = []
    for position, row in enumerate(rows.anew()):
        out = Collected()
        try:
            out.collectReturned(function(row, out), tuples=True)
        except Exception:
            return columns, found, None
        called += [(exactly(result), position * 10) for result in out.results[None]]
    return columns, found, called


ROWS = st.lists(
    st.tuples(st.one_of(st.none(), st.text(" ,abB\n", max_size=12)), st.integers(0, 3)),
    min_size=1,
    max_size=6,
)


def rows_of(drawn):
    texts, numbers = zip(*drawn)
    return RowColumns(
        pa.record_batch(
            {
                "line": pa.array(texts, pa.string()),
                "n": pa.array(numbers, pa.int64()),
                "other": pa.array(["x"] * len(drawn)),
            }
        )
    )


@pytest.mark.takes_columns("FlatMapColumns")
@pytest.mark.parametrize("function", FOLLOWED)
@given(drawn=ROWS)
@example(drawn=[("a b", 2), ("", 1), ("B,b a", 3)])
def test_words_over_columns_are_as_element_by_element(function, drawn):
    _, found, called = results(function, rows_of(drawn))
    if called is None:
        assert found is None
    elif found is not None:
        main = found[None]
        values = map(exactly, main.values)
        assert list(zip(values, main.timestamps.tolist())) == called


@pytest.mark.parametrize("function", FOLLOWED)
def test_functions_are_followed(function):
    columns, found, called = results(function, rows_of([("a b", 2), ("", 1), ("B,b a", 3)]))
    assert columns.reason is None
    assert found is not None
    assert called


@pytest.mark.parametrize("function", ALONE)
def test_others_are_called_for_each_element(function):
    columns, found, _ = results(function, rows_of([("c a b", 2), ("b", 1)]))
    assert found is None
    assert str(columns.reason).startswith(ALONE[function])


def test_words_go_to_side_outputs_too():
    long = fl.OutputTag("long")

    class Sorted(fl.ProcessFunction):
        def processElement(self, value, ctx, out):
            for word in value.line.split():
                if len(word) > 1:
                    ctx.output(long, word)
                else:
                    out.collect(word)

    rows = rows_of([("a bb", 1), ("ccc", 1), ("d a aa", 1)])

    def emitted(traced):
        def build(stream):
            if not traced:
                stream.getExecutionEnvironment().getConfig().disableFunctionTracing()
            words = stream.process(Sorted())
            return words.union(words.getSideOutput(long))

        harness = StreamTestHarness(build)
        harness._inputs[0].output.emitRecords(Records(rows.anew(), np.arange(len(rows))))
        return [(e.value, e.timestamp) for e in harness.getOutput() if hasattr(e, "value")]

    found = emitted(traced=True)
    assert found == emitted(traced=False)
    assert len(found) == 6
