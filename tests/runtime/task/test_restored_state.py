"""State of a savepoint that comes to a task in parts."""

from __future__ import annotations

import pytest

from flinkish.api.stored_values import pickled
from flinkish.runtime.records.keys import KeyHashes
from flinkish.runtime.savepoint.capture import captured
from flinkish.runtime.savepoint.saved_state import decoded
from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend
from flinkish.runtime.task import restored_state
from tests.runtime.counting_page_store import CountingPageStore

GROUP = 3


def filled(backend: PagedKeyedStateBackend) -> None:
    """Put entries into tables of each kind."""
    values, maps = backend.table("value"), backend.mapTable("map")
    windows, timers = backend.windowTable("window"), backend.timerQueue("timer")
    keys = [f"key-{n}" for n in range(5_000)]
    hashes = KeyHashes().column(keys)
    for key in keys:
        values.put(key, None, key.upper())
        values.put(key, (1, 2), 7)
        maps.put(key, None, "a", 1)
        timers.add(len(key), key, None)
    for number in range(3_000):
        maps.put("many", None, number, -number)
    for window in ("w1", "w2"):
        blocks, index = windows.blocks(window, keys, hashes)
        for key, i in zip(keys, index):
            blocks[i][key] = window


def entries(saved: dict, store: CountingPageStore) -> list[str]:
    """All that is stored, in an order."""
    found = []
    for part in captured("uid", GROUP, saved, store.pages, True):
        sections = decoded(part.operator, part.table, part.state, part.content)
        found += [f"{part.table} {part.state} {entry}" for entry in zip(*sections)]
    return sorted(found)


@pytest.mark.parametrize("parts", [1, 3, 1_000])
def test_parts_are_written_as_they_come(monkeypatch, parts):
    """With few of them in memory, and all."""
    monkeypatch.setattr(restored_state, "PARTS_AT_ONCE", parts)
    store = CountingPageStore()
    backend = PagedKeyedStateBackend("uid")
    backend.load(store, None)
    filled(backend)
    saved = {"backend": backend.flush(), "chain": pickled(None), "gates": None}
    contents = [part.content for part in captured("uid", GROUP, saved, store.pages, True)]
    rows = [
        restored_state.restored_row({"uid": 0}, "uid", GROUP, content, number, 0)
        for number, content in enumerate(contents)
    ]
    assert len(rows) > 10

    to = CountingPageStore()
    restored = restored_state.restored_state(PagedKeyedStateBackend("uid"), "uid", rows, to)
    assert entries(restored, to) == entries(saved, store)
    assert (to.puts > len(to.pages)) == (parts < 1_000), (
        "a page is written for each time it has grown"
    )
