"""Pages are what they were before a batch that failed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flinkish.local.page_store import RevertiblePageStore

PAGES = st.integers(0, 4).map(lambda n: bytes([n]))
CHANGES = st.lists(st.tuples(PAGES, st.none() | st.binary(max_size=3)), max_size=12)


def apply(store, changes):
    for page, content in changes:
        if content is not None:
            store.put(page, content)
        elif store.get(page) is not None:
            store.remove(page)


@given(CHANGES, CHANGES, CHANGES)
def test_a_batch_is_undone_and_only_that(first, failed, again):
    store, expected = RevertiblePageStore(), RevertiblePageStore()
    apply(store, first)
    store.endBatch()
    apply(store, failed)
    store.revert()
    apply(expected, first)
    assert store.pages == expected.pages
    apply(store, again)
    apply(expected, again)
    assert store.pages == expected.pages
    assert store.bytes == sum(map(len, store.pages.values()))
