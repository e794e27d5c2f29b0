"""Keys to key groups, by a hash that is the same in every process and on every machine.

Python's ``hash()`` of a string changes from process to process, so state written by one worker
would not be found by the next. The hash here follows equality: keys that are equal
(``1 == 1.0 == True``) have one hash, as they have one dict entry.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import struct
import uuid
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from flinkish.api.errors import UnstableKeyError
from flinkish.runtime.elements import Hashes

_MIX = 0x9E3779B1
_MASK = 0xFFFFFFFF


def stable_hash(key: Any) -> int:
    """A hash of ``key`` in 32 bits, the same in every process.

    Raises UnstableKeyError for keys that have none.
    """
    kind = type(key)
    if kind is str:
        return zlib.crc32(key.encode("utf-8", "surrogatepass"))
    if kind is int or kind is bool:
        return _of_int(int(key))
    if kind is tuple:
        return _of_items(key)
    return _of_any(key)


def _of_int(number: int) -> int:
    # Multiplying spreads neighbours; folding lets the high half count.
    folded = (number ^ (number >> 32)) & _MASK if -(2**63) <= number < 2**63 else hash(number)
    return (folded * _MIX ^ (folded >> 15)) & _MASK


def _of_items(items: Any) -> int:
    result = 0x811C9DC5
    for item in items:
        result = ((result ^ stable_hash(item)) * 0x01000193 + 0x7F4A7C15) & _MASK
    return result


def _of_any(key: Any) -> int:
    if key is None:
        return 0x6B7B1D3F
    if isinstance(key, enum.Enum) and not isinstance(key, (str, int, float, bytes, tuple)):
        return zlib.crc32(f"{type(key).__qualname__}.{key.name}".encode())
    if isinstance(key, str):
        return zlib.crc32(str.encode(key, "utf-8", "surrogatepass"))
    if isinstance(key, (int, np.integer, np.bool_)):
        return _of_int(int(key))
    if isinstance(key, (float, np.floating, decimal.Decimal, fractions.Fraction)):
        return _of_number(key)
    if isinstance(key, bytes):
        return zlib.crc32(key, 1)
    if isinstance(key, tuple):
        return _of_items(key)
    if isinstance(key, frozenset):
        return sum([stable_hash(part) for part in key]) & _MASK
    if isinstance(key, uuid.UUID):
        return zlib.crc32(key.bytes, 2)
    if isinstance(key, datetime.datetime) and key.tzinfo is not None:
        # Aware datetimes are equal when they are the same instant, whatever their zone.
        return zlib.crc32(key.astimezone(datetime.UTC).isoformat().encode(), 3)
    if isinstance(key, (datetime.datetime, datetime.time)):
        return zlib.crc32(repr(key.replace(fold=0)).encode(), 4)
    if isinstance(key, (datetime.date, datetime.timedelta)):
        return zlib.crc32(repr(key).encode(), 4)
    if _is_frozen_dataclass(key):
        return _of_items(tuple(getattr(key, f.name) for f in dataclasses.fields(key) if f.compare))
    raise UnstableKeyError(key)


def _of_number(number: Any) -> int:
    if number != number:
        raise UnstableKeyError(number)
    try:
        if number == int(number):
            return _of_int(int(number))
    except (OverflowError, ValueError):  # infinities
        return zlib.crc32(str(float(number)).encode(), 5)
    # hash() of a number depends on its value only, never on the process
    return zlib.crc32(struct.pack(">q", hash(number)), 6)


def _is_frozen_dataclass(key: Any) -> bool:
    parameters = getattr(type(key), "__dataclass_params__", None)
    return parameters is not None and parameters.frozen and parameters.eq


def key_group_of(key_hash: int, key_groups: int) -> int:
    """The key group of a key with that hash, of ``key_groups``."""
    return key_hash * key_groups >> 32


class KeyHashes(dict[Any, int]):
    """Remembers the hashes of keys: a stream has far fewer keys than elements."""

    MOST = 1 << 20
    MOST_BETWEEN_BATCHES = 1 << 14

    def __missing__(self, key: Any) -> int:
        if len(self) >= self.MOST:
            self.clear()
        result = self[key] = stable_hash(key)
        return result

    def trim(self) -> None:
        """Called between batches: do not hold the keys of many elements while nothing is done."""
        if len(self) > self.MOST_BETWEEN_BATCHES:
            self.clear()

    def column(self, keys: Sequence[Any]) -> Hashes:
        """The hashes of ``keys``, in their order."""
        try:
            # No map: fromiter() would take a StopIteration of a key's __hash__ for the end of it
            return np.array([self[key] for key in keys], dtype=np.uint32)
        except UnstableKeyError:
            raise
        except Exception:
            for key in keys:
                self._check(key)
            raise

    @staticmethod
    def _check(key: Any) -> None:
        """Raises UnstableKeyError if ``key`` cannot be hashed."""
        try:
            hash(key)
            stable_hash(key)
        except RecursionError:
            raise UnstableKeyError(key, "it is nested too deep") from None
        except TypeError:
            raise UnstableKeyError(key) from None
        except Exception as error:
            reason = f"its __hash__ raises {type(error).__name__}: {error}"
            raise UnstableKeyError(key, reason) from None
