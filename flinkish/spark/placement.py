"""Placement of key groups: integers that Spark's shuffle distributes evenly.

Spark sends a group to the partition murmur3(grouping key) modulo the number of shuffle partitions. With few
key groups that is uneven: some partitions would get several, others none. So each key group is
represented by an integer, chosen so that all partitions get the same number of key groups.
"""

from __future__ import annotations

_MASK = 0xFFFFFFFF
_SPARK_SEED = 42


def murmur3_of_int(value: int) -> int:
    """Spark's hash of an int column, as a signed 32-bit number."""
    k = (value & _MASK) * 0xCC9E2D51 & _MASK
    k = (k << 15 | k >> 17) & _MASK
    k = k * 0x1B873593 & _MASK
    h = _SPARK_SEED ^ k
    h = (h << 13 | h >> 19) & _MASK
    h = (h * 5 + 0xE6546B64) & _MASK
    h ^= 4
    h ^= h >> 16
    h = h * 0x85EBCA6B & _MASK
    h ^= h >> 13
    h = h * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def balanced_integers(count: int, partitions: int, start: int = 0) -> list[int]:
    """``count`` integers from ``start``; Spark sends the i-th to partition i % ``partitions``."""
    waiting: dict[int, list[int]] = {}
    for position in range(count - 1, -1, -1):
        waiting.setdefault(position % partitions, []).append(position)
    found = [0] * count
    candidate, left = start, count
    while left:
        places = waiting.get(murmur3_of_int(candidate) % partitions)
        if places:
            found[places.pop()] = candidate
            left -= 1
        candidate += 1
    return found
