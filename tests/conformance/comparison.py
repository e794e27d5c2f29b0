"""Compares the output of a case, cut at watermarks and clock steps, key by key.

The description of the cases leaves more open: the order of timers of one instant (``tieOrder``)
and of what merging sessions put together (``mergeOrder``). On the harness both are as in Flink.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from tests.conformance.cases import Case

Item = list[Any]
CUTS = ("w", "p", "timers")
KEY = re.compile(r"k\d+")


def assert_same(case: Case, actual: list[Item]) -> None:
    """Fail unless ``actual`` is what Flink put out."""
    flink, flinkish = _pieces(case.data["output"]), _pieces(actual)
    for number, (want, got) in enumerate(zip(flink, flinkish)):
        assert by_key(case, got[0]) == by_key(case, want[0]), f"piece {number} before {want[1]}"
        assert got[1] == want[1], f"end of piece {number}"
    assert len(flinkish) == len(flink)


def assert_same_records(case: Case, actual: list[Item]) -> None:
    """As ``assert_same``, where nothing tells when a record came: all of them are one piece.

    Timers of one instant may come in any order.
    """
    records = [item for item in case.data["output"] if len(item) > 1 and item[0] not in CUTS]
    want, got = by_key(case, records), by_key(case, actual)
    if case.data.get("tieOrder"):
        want, got = _unordered(want), _unordered(got)
    assert got == want


def _pieces(output: Iterable[Item]) -> list[tuple[list[Item], Item | None]]:
    """The output in pieces, each with what ended it."""
    pieces: list[tuple[list[Item], Item | None]] = []
    piece: list[Item] = []
    for item in output:
        if item[0] in CUTS:
            pieces.append((piece, item))
            piece = []
        else:
            piece.append(item)
    return [*pieces, (piece, None)]


def by_key(case: Case, piece: list[Item]) -> dict[Any, list[Item]]:
    """The records of each key in their order, in groups that may come in any."""
    if case.family == "watermarks":
        return {None: piece}
    groups = defaultdict(list)
    for item in piece:
        groups[item[0], _key(item)].append(item)
    return _unordered(groups) if case.kind == "intervalJoin" else dict(groups)


def _unordered(groups: dict[Any, list[Item]]) -> dict[Any, list[Item]]:
    return {key: sorted(items, key=repr) for key, items in groups.items()}


def _key(item: Item) -> str | None:
    payload = item[1] if len(item) > 1 and isinstance(item[1], list) else ()
    keys = (part for part in payload if isinstance(part, str) and KEY.fullmatch(part))
    return next(keys, None)
