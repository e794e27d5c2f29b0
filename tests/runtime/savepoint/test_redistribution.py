"""State of a savepoint among more or fewer key groups: nothing is lost, doubled, or in a wrong group."""

from __future__ import annotations

import datetime

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.api.errors import IllegalArgumentError, IncompatibleCheckpointError
from flinkish.api.time.elements import MIN_TIMESTAMP
from flinkish.api.windowing.windows import TimeWindow
from flinkish.runtime.records.keys import key_group_of
from flinkish.runtime.records.stable_hashes import stable_hash
from flinkish.runtime.savepoint.redistribution import (
    distributed,
    redistributed,
    restore_keyed,
    split_states,
    with_split_states,
)
from flinkish.runtime.savepoint.saved_state import (
    MOST_ENTRIES,
    SavedState,
    decoded,
    encoded,
    in_parts,
)
from flinkish.runtime.state.heap import HeapKeyedStateBackend
from flinkish.runtime.state.page_store import DictPageStore
from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend
from flinkish.runtime.task.gates import InputGates

KEYS = st.one_of(st.integers(), st.text(), st.tuples(st.integers(), st.text()))


@given(st.lists(KEYS, min_size=1, max_size=50, unique_by=repr), st.integers(2, 64))
def test_each_entry_goes_to_the_group_of_its_key(keys, keyGroups):
    entries = [(key, None, number) for number, key in enumerate(keys)]
    (saved,) = in_parts("uid", "values", "state", 3, entries)
    found = []
    for group, content in distributed(saved, range(keyGroups), keyGroups):
        for key, namespace, value in zip(*decoded("uid", "values", "state", content)):
            assert key_group_of(stable_hash(key), keyGroups) == group
            found.append((key, namespace, value))
    assert sorted(found, key=lambda entry: entry[2]) == entries


def test_the_values_of_a_part_that_stays_together_are_not_unpickled():
    content = encoded("uid", "values", "state", [[7], [None], [1]])
    broken = SavedState("uid", "values", "state", 0, 1, content[:-1] + b"?")
    ((_, handed_on),) = distributed(broken, range(4), 4)
    assert handed_on == broken.content


def test_large_states_are_many_parts():
    many = list(in_parts("uid", "values", "s", 0, ((n, None, n) for n in range(MOST_ENTRIES + 1))))
    assert [part.entries for part in many] == [MOST_ENTRIES, 1]
    heavy = list(in_parts("uid", "values", "s", 0, ((n, None, b"x" * 600_000) for n in range(4))))
    assert [part.entries for part in heavy] == [1, 1, 1, 1]


def paged():
    backend = PagedKeyedStateBackend("uid")
    backend.load(DictPageStore(), None)
    return backend


@pytest.mark.parametrize("backend", [HeapKeyedStateBackend, paged])
def test_every_kind_of_table_is_restored(backend):
    window = TimeWindow(0, 10)
    into = backend()
    for table, parts in {
        "values": [["a"], [window], [1]],
        "maps": [["a"], [None], [{1: 2, 3: 4}]],
        "windows": [["a", "b"], [window, window], [5, 6]],
        "timers": [["a"], [window], [9]],
    }.items():
        restore_keyed(into, "uid", encoded("uid", table, "state", parts))
    assert into.table("state").get("a", window) == 1
    assert dict(into.mapTable("state").items("a", None)) == {1: 2, 3: 4}
    assert dict(into.windowTable("state").items(window)) == {"a": 5, "b": 6}
    assert into.timerQueue("state").pollDue(9) == (9, "a", window)


@pytest.mark.parametrize("table", ["values", "maps", "windows"])
def test_the_states_of_two_equal_keys_are_not_merged(table):
    """As before a datetime and a Timestamp had one hash."""
    noon = datetime.datetime(2024, 2, 29, 12)
    part = [[TimeWindow(0, 10)], [{1: 2}]]
    into = paged()
    restore_keyed(into, "uid", encoded("uid", table, "state", [[noon], *part]))
    with pytest.raises(IncompatibleCheckpointError, match=r"'state' of the key Timestamp.* twice"):
        restore_keyed(into, "uid", encoded("uid", table, "state", [[pd.Timestamp(noon)], *part]))


def functions(numbers, watermark=0):
    state = {"token": "t", "number": 3, "lists": {"seen": ("list", numbers)}}
    return {"watermark": watermark, "functions": [state]}


def lists(snapshots):
    return [s["functions"][0]["lists"]["seen"][1] for _, s in sorted(snapshots.items())]


@given(st.lists(st.lists(st.integers()), min_size=1, max_size=16), st.integers(1, 16))
def test_lists_are_dealt_out_evenly_and_joined_in_their_order(before, groups):
    snapshots = {group: functions(numbers) for group, numbers in enumerate(before)}
    dealt = redistributed(snapshots, range(groups), same=False)
    sizes = [len(numbers) for numbers in lists(dealt)]
    assert max(sizes) - min(sizes) <= 1
    joined = redistributed(dealt, [0], same=False)
    assert lists(joined) == [[number for numbers in before for number in numbers]]


def test_key_groups_that_stay_keep_their_own():
    snapshots = {group: functions([group], group) for group in range(4)}
    assert redistributed(snapshots, range(4), same=True) == snapshots
    changed = redistributed(snapshots, range(2), same=False)
    assert {snapshot["watermark"] for snapshot in changed.values()} == {0}


SPLITS = st.dictionaries(KEYS, st.tuples(st.integers(), st.none()), max_size=20)
"""The order of each, and what waits of it."""
GENERATORS = st.dictionaries(
    KEYS, st.tuples(st.binary(), st.integers(), st.booleans(), st.booleans()), max_size=20
)


@given(SPLITS | GENERATORS, st.integers(2, 16), st.integers(2, 16))
def test_splits_go_to_the_groups_of_their_ids_and_are_joined_again(states, before, after):
    kept = {"watermark": 0, "emitter": (7, True)}
    marked = any(len(state) > 2 for state in states.values())
    kept |= {"generators": ({}, ([], [], 7, True)), "nextEmit": 3} if marked else {"partitions": {}}
    one = {0: with_split_states(kept, states)}
    parted = redistributed(one, range(before), same=False)
    for groups, snapshots in (
        (before, parted),
        (after, redistributed(parted, range(after), same=False)),
    ):
        for group, snapshot in snapshots.items():
            found = split_states(snapshot)
            assert found == {
                split: state
                for split, state in states.items()
                if key_group_of(stable_hash(split), groups) == group
            }
            assert snapshot["emitter"] == (MIN_TIMESTAMP, False), "each tells its splits anew"
        assert split_states(redistributed(snapshots, [0], same=False)[0]) == states


def test_the_splits_of_generators_are_found():
    ended = {"generators": ({"a": b"g", "b": b"h"}, ([3, 4], [False, True], 3, False), {"b"})}
    assert split_states(ended) == {"a": (b"g", 3, False, False), "b": (b"h", 4, True, True)}
    assert split_states({"generators": (b"g", None), "watermark": 0}) is None
    assert split_states({"watermark": 0}) is None


class Unstable:
    """Is told from others by its identity."""


def test_a_split_without_a_stable_hash_stays_in_one_key_group():
    split = Unstable()
    kept = {"watermark": 0, "emitter": (7, True), "partitions": {split: 1}}
    assert split_states(redistributed({3: kept}, [5], same=False)[5]) == {split: (1, None)}
    with pytest.raises(IllegalArgumentError, match=r"setSavepoint: the split .* of type Unstable"):
        redistributed({3: kept}, range(2), same=False)


def test_broadcast_state_goes_to_all_and_watermarks_are_the_lowest():
    snapshots = {0: {"watermark": 5, "broadcast": {"rules": {1: 2}}}, 1: {"watermark": 3}}
    for same in (True, False):
        found = redistributed(snapshots, range(2), same)
        assert all(snapshot["broadcast"] == {"rules": {1: 2}} for snapshot in found.values())
    gates = [
        {"gates": {"a": (5, False)}, "inputs": [5]},
        {"gates": {"a": (3, True)}, "inputs": [4]},
    ]
    assert InputGates.lowest(gates) == {"gates": {"a": (3, True)}, "inputs": [4]}
