"""What must be equal: the output, cut at watermarks and clock steps, key by key."""

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
        assert _by_key(case, got[0]) == _by_key(case, want[0]), f"piece {number} before {want[1]}"
        assert got[1] == want[1], f"end of piece {number}"
    assert len(flinkish) == len(flink)


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


def _by_key(case: Case, piece: list[Item]) -> dict[Any, list[Item]]:
    if case.family == "watermarks":
        return {None: piece}
    merges = case.data.get("mergeOrder", False)
    groups = defaultdict(list)
    for item in piece:
        if merges and item[0] == "r":
            item = ["r", [_unordered(part) for part in item[1]], *item[2:]]
        groups[item[0], _key(item)].append(item)
    if (
        case.data.get("tieOrder")
        or case.kind == "intervalJoin"
        or (merges and case.kind == "windowJoin")
    ):
        return {key: sorted(items, key=repr) for key, items in groups.items()}
    return dict(groups)


def _key(item: Item) -> str | None:
    payload = item[1] if len(item) > 1 and isinstance(item[1], list) else ()
    keys = (part for part in payload if isinstance(part, str) and KEY.fullmatch(part))
    return next(keys, None)


def _unordered(part: Any) -> Any:
    return sorted(part, key=repr) if isinstance(part, list) else part
