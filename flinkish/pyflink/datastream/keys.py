"""Keys of any value that can be pickled: one that flinkish cannot hash is represented by its
pickle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flinkish.api.errors import UnstableKeyError
from flinkish.api.stored_values import pickled, unpickled
from flinkish.runtime.records.stable_hashes import stable_hash

_PLAIN = frozenset({str, int, bool, bytes, type(None)})


@dataclass(frozen=True)
class PickledKey:
    """A key represented by its pickle."""

    data: bytes


def key_of_state(key: Any) -> Any:
    """``key`` as state uses it."""
    if type(key) in _PLAIN:
        return key
    try:
        hash(key)
        stable_hash(key)
    except (TypeError, UnstableKeyError):
        return PickledKey(pickled(key))
    return key


def key_of_user(key: Any) -> Any:
    """``key`` as the user's functions see it."""
    return unpickled(key.data) if type(key) is PickledKey else key
