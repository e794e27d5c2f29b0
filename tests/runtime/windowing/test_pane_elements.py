"""``PaneElements`` is the list of elements that it stands for."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish import Row
from flinkish.api.windowing.evictors import TimestampedValue
from flinkish.runtime.records.shapes import VALUE, row_shape, tuple_shape
from flinkish.runtime.windowing import pane_elements
from flinkish.runtime.windowing.pane_elements import LEAST_COLUMNS, PaneElements


@pytest.fixture(autouse=True, scope="module")
def _encodes_soon() -> Iterator[None]:
    with mock.patch.object(pane_elements, "ENCODED_AT_ONCE", 2 * LEAST_COLUMNS):
        yield


def _add(elements: PaneElements, texts: list[str], rows: bool, timed: bool) -> None:
    shape = row_shape(["name", "length"]) if rows else tuple_shape((VALUE, VALUE))
    columns: list[list[Any]] = [texts, list(map(len, texts))]
    elements.addColumns(columns + [list(range(len(texts)))] * timed, len(texts), shape, timed)


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
        _add(made, texts, rows, timed)
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
            _add(elements, of_step, rows, timed)
            model = model + added
        elif step == "other before":
            elements, model = columns(of_step, rows) + elements, added + model
        elif step == "other behind":
            elements, model = elements + columns(of_step, rows), model + added
        else:
            elements = pickle.loads(pickle.dumps(elements))
    assert _shown(elements) == _shown(model)
