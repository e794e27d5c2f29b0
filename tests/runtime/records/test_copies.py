"""Copies of documents, which are not pickled, are as those by pickling."""

from __future__ import annotations

import pickle
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from flinkish.runtime.records.copies import copied_mutable

SHARED: dict[str, Any] = {"n": 1}
NESTED: dict[str, Any] = {}
NESTED["own"] = NESTED

parts = st.none() | st.integers() | st.datetimes(timezones=st.timezones())
documents = st.recursive(
    st.dictionaries(st.text(max_size=2), parts, max_size=3),
    lambda inner: st.dictionaries(
        st.text(max_size=2), inner | parts | st.lists(inner, max_size=2), max_size=3
    ),
    max_leaves=6,
)


def containers(value: Any) -> list[Any]:
    """A value's dicts and lists, each once."""
    found: list[Any] = []

    def add(part: Any) -> None:
        if isinstance(part, (dict, list)) and not any(part is known for known in found):
            found.append(part)
            for inner in part.values() if isinstance(part, dict) else part:
                add(inner)

    add(value)
    return found


@example({"one": SHARED, "other": SHARED})
@example({"deeper": NESTED})
@given(documents)
def test_nothing_of_a_copy_is_the_documents(document: dict[str, Any]) -> None:
    copied = copied_mutable(document)
    pickled = pickle.loads(pickle.dumps(document))
    assert repr(copied) == repr(pickled) == repr(document)
    assert len(containers(copied)) == len(containers(pickled)) == len(containers(document))
    assert not set(map(id, containers(copied))) & set(map(id, containers(document)))
