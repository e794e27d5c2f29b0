"""The suggestion that an error adds for a name that is probably misspelt."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_NEAR = 0.75


def suggestion(name: str, known: Iterable[str]) -> str:
    """`` Did you mean ...?`` with the name in ``known`` that is most like ``name``, whatever its case;
    empty if none is."""
    # Of names that differ in case alone, the last
    by_letters = {each.lower(): each for each in known if not each.startswith("_")}
    found = get_close_matches(name.lower(), by_letters, 1, _NEAR)
    return f" Did you mean {by_letters[found[0]]}?" if found else ""


def suggestion_or_all(name: str, known: Iterable[str]) -> str:
    """``suggestion``, or all names in ``known`` if none is like ``name``."""
    names = list(known)
    return suggestion(name, names) or f" There are {', '.join(names)}."
