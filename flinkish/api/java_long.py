"""Java's 64-bit arithmetic where it shows: times near the ends of their range wrap around."""

from __future__ import annotations

from flinkish.api.elements import MAX_TIMESTAMP, MIN_TIMESTAMP


def fits_long(number: int) -> bool:
    """Whether Java's ``long`` holds ``number``, as it does every timestamp."""
    return MIN_TIMESTAMP <= number <= MAX_TIMESTAMP


def to_long(number: int) -> int:
    """What Java's ``long`` would hold after computing ``number``.

    >>> to_long(2**63)
    -9223372036854775808
    """
    if MIN_TIMESTAMP <= number <= MAX_TIMESTAMP:
        return number
    return (number - MIN_TIMESTAMP) % 2**64 + MIN_TIMESTAMP


def remainder(dividend: int, divisor: int) -> int:
    """Java's ``%`` for a positive divisor: the sign is the dividend's.

    >>> remainder(-7, 5)
    -2
    """
    return dividend % divisor if dividend >= 0 else -(-dividend % divisor)
