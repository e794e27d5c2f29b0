"""``PaneElements`` is the list of elements that it stands for."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from flinkish import Row
from flinkish.api.windowing.evictors import TimestampedValue
from flinkish.runtime.records.records import timestamps_of
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import VALUE, tuple_shape
from flinkish.runtime.windowing.pane_elements import LEAST_COLUMNS, PaneElements

Shown = list[tuple[Any, int | None]]


def _columns(texts: list[str], rows: bool) -> RowColumns:
    batch = pa.RecordBatch.from_pydict({"name": texts, "length": list(map(len, texts))})
    values = RowColumns(batch, None if rows else tuple_shape((VALUE, VALUE)))
    values.encodeTexts()
    return values


def _listed(texts: list[str], rows: bool) -> list[Any]:
    return [Row(name=t, length=len(t)) if rows else (t, len(t)) for t in texts]


def _shown(elements: Any) -> list[Any]:
    return [
        (e.value, e.timestamp) if isinstance(e, TimestampedValue) else (e, None) for e in elements
    ]


texts = st.text("ab", max_size=2)
runs = st.lists(texts, min_size=1, max_size=3 * LEAST_COLUMNS)
steps = st.one_of(
    st.tuples(st.sampled_from(["columns", "other before", "other behind"]), runs, st.booleans()),
    st.tuples(st.sampled_from(["append", "list"]), runs, st.booleans()),
    st.just(("store", [], True)),
)


@given(kept=st.none() | st.lists(texts), timed=st.booleans(), steps=st.lists(steps, max_size=8))
def test_is_the_list_of_its_elements(
    kept: list[str] | None, timed: bool, steps: list[tuple[str, list[str], bool]]
) -> None:
    def objects(listed: list[Any]) -> list[Any]:
        return [TimestampedValue(e, n) for n, e in enumerate(listed)] if timed else listed

    def columns(texts: list[str], rows: bool) -> PaneElements:
        made = PaneElements.of(None)
        times = timestamps_of(list(range(len(texts)))) if timed else None
        made.addColumns(_columns(texts, rows), times)
        return made

    model = [] if kept is None else objects(_listed(kept, True))
    elements: Any = PaneElements.of(None if kept is None else list(model))
    for step, of_step, rows in steps:
        added = objects(_listed(of_step, rows))
        if step == "append":
            for element in added:
                elements.append(element)
            model = model + added
        elif step == "list":
            elements = added + elements if rows else elements + added
            model = added + model if rows else model + added
        elif step == "columns":
            times = timestamps_of(list(range(len(of_step)))) if timed else None
            elements.addColumns(_columns(of_step, rows), times)
            model = model + added
        elif step == "other before":
            elements, model = columns(of_step, rows) + elements, added + model
        elif step == "other behind":
            elements, model = elements + columns(of_step, rows), model + added
        else:
            elements = pickle.loads(pickle.dumps(elements))
    assert _shown(elements) == _shown(model)
