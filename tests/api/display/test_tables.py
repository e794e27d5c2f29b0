"""Elements as a table: its columns, and that it shows values and runs none of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.api.display.tables import Elements


class Named(NamedTuple):
    user: str
    clicks: int


@dataclass
class Held:
    user: str
    clicks: int


@pytest.mark.parametrize(
    ("element", "columns"),
    [
        (("ada", 3), ["f0", "f1"]),
        (Named("ada", 3), ["user", "clicks"]),
        (Held("ada", 3), ["user", "clicks"]),
        (fl.Row(user="ada", clicks=3), ["user", "clicks"]),
        ({"user": "ada", "clicks": 3}, ["user", "clicks"]),
    ],
)
def test_the_fields_of_an_element_are_the_columns(element, columns):
    elements = Elements([element, element])
    assert elements.columns == columns
    frame = elements.toPandas()
    assert list(frame.columns) == columns
    assert frame.values.tolist() == [["ada", 3], ["ada", 3]]
    assert elements.toArrow().to_pydict() == {columns[0]: ["ada"] * 2, columns[1]: [3, 3]}


@pytest.mark.parametrize("element", [3, "ada", None, frozenset({1})])
def test_an_element_without_fields_is_one_column(element):
    assert Elements([element]).toPandas().to_dict("list") == {"value": [element]}


def test_no_elements_have_the_columns_of_the_type():
    assert list(Elements([], ["user", "clicks"]).toPandas().columns) == ["user", "clicks"]
    assert Elements([]).toPandas().empty
    assert Elements([]).toText().splitlines()[-1] == "0 elements"


def test_elements_of_several_kinds_leave_gaps():
    elements = Elements([("a", 1), ("b",), 7])
    assert elements.toText().splitlines()[2:4] == ["a     1", "b     None"]


def test_a_table_as_text_and_how_much_there_is():
    text = Elements([("ada", 3), ("bob", 14)], isComplete=False).toText()
    assert text.splitlines() == ["f0   f1", "---  --", "ada  3", "bob  14", "the first 2 elements"]
    assert Elements([1]).toText().splitlines()[-1] == "1 element"


@given(st.lists(st.tuples(st.text(), st.text()), max_size=4))
def test_values_are_shown_and_never_markup(elements):
    html = Elements(elements)._repr_html_()
    inner = html.replace("<td>", "").replace("</td>", "").replace("<tr>", "").replace("</tr>", "")
    for tag in (
        "<table>",
        "</table>",
        "<thead>",
        "</thead>",
        "<tbody>",
        "</tbody>",
        "<th>",
        "</th>",
        "<p>",
        "</p>",
    ):
        inner = inner.replace(tag, "")
    assert "<" not in inner
    assert ">" not in inner


def test_it_is_a_list():
    assert Elements([1, 2]) == [1, 2]
    assert Elements([1, 2]).isComplete
