"""Keys of any value that pickles: what flinkish cannot hash is a key by its pickle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flinkish.api.errors import UnstableKeyError
from flinkish.api.stored_values import pickled, unpickled
from flinkish.runtime.records.keys import stable_hash

_PLAIN = frozenset({str, int, bool, bytes, type(None)})


@dataclass(frozen=True)
class PickledKey:
    """A key by its pickle."""

    data: bytes


def key_of_state(key: Any) -> Any:
    """``key`` as state knows it."""
    if type(key) in _PLAIN:
        return key
    try:
        hash(key)
        stable_hash(key)
    except (TypeError, UnstableKeyError):
        return PickledKey(pickled(key))
    return key


def key_of_user(key: Any) -> Any:
    """``key`` as the user's functions know it."""
    return unpickled(key.data) if type(key) is PickledKey else key
