"""Checks of arguments: each error names the method, the wrong value and the fix."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from flinkish.api.errors import IllegalArgumentError, InvalidProgramError, shown
from flinkish.api.time.durations import TimeLike, fits_long, to_milliseconds
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.api.type_variables import T

MAX_KEY_GROUPS = 1 << 15
"""Flink's upper bound for maxParallelism."""

E = TypeVar("E", bound=Enum)


def integer(subject: str, number: int) -> int:
    """``number``; raises IllegalArgumentError unless it is a whole number that 64 bits hold."""
    if not isinstance(number, int) or isinstance(number, bool):
        raise IllegalArgumentError(
            f"{subject}: {shown(number)} is not a whole number. Pass an int."
        )
    if not fits_long(number):
        raise IllegalArgumentError(
            f"{subject}: {shown(number)} does not fit into 64 bits. Pass an int from -2**63 to"
            " 2**63 - 1."
        )
    return number


def whole_number(subject: str, number: int, lowest: int = 0, highest: int = MAX_TIMESTAMP) -> int:
    """``number``; raises IllegalArgumentError unless it is a whole number from ``lowest`` to
    ``highest``, by default the greatest that 64 bits hold."""
    if not isinstance(number, int) or isinstance(number, bool) or number < lowest:
        raise IllegalArgumentError(
            f"{subject}: {shown(number)} is not a whole number from {lowest} on. Pass an int of at"
            f" least {lowest}."
        )
    if number > highest:
        raise IllegalArgumentError(
            f"{subject}: {shown(number)} is above {highest}, the maximum. Pass that or less."
        )
    return number


def positive(subject: str, count: int, highest: int = MAX_TIMESTAMP) -> int:
    """``count``; raises IllegalArgumentError unless it is a whole number above 0, and at most
    ``highest``."""
    return whole_number(subject, count, 1, highest)


def time_in_millis(subject: str, time: int) -> int:
    """``time``; raises IllegalArgumentError unless it is a time in ms since the epoch."""
    if not isinstance(time, int) or isinstance(time, bool) or not fits_long(time):
        raise IllegalArgumentError(
            f"{subject}: {shown(time)} is not a time in ms since the epoch. Pass an int of 64 bits, such"
            " as int(when.timestamp() * 1000) of an aware datetime."
        )
    return time


def milliseconds(subject: str, length: TimeLike) -> int:
    """``length`` in ms; raises IllegalArgumentError unless it is a length of time."""
    try:
        return to_milliseconds(length)
    except IllegalArgumentError as error:
        raise IllegalArgumentError(f"{subject}: {error}") from None


def positive_length(subject: str, length: TimeLike) -> int:
    """``length`` in ms; raises IllegalArgumentError unless it is above 0."""
    millis = milliseconds(subject, length)
    if millis <= 0:
        raise IllegalArgumentError(
            f"{subject} is {millis} ms, but must be greater than zero. Pass a longer length of"
            " time, such as Duration.ofSeconds(5)."
        )
    return millis


def length_from_zero(subject: str, length: TimeLike) -> int:
    """``length`` in ms; raises IllegalArgumentError if it is negative."""
    millis = milliseconds(subject, length)
    if millis < 0:
        raise IllegalArgumentError(
            f"{subject} is {millis} ms, but cannot be negative. Pass 0 or more."
        )
    return millis


def text(subject: str, value: str) -> str:
    """``value``; raises IllegalArgumentError unless it is a string that is not empty."""
    if not isinstance(value, str) or not value:
        raise IllegalArgumentError(
            f"{subject}: {shown(value)} will not do. Pass a string that is not empty."
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise IllegalArgumentError(
            f"{subject}: {value!r} has half a surrogate pair, which nothing outside Python takes. Pass another string."
        ) from None
    return value


def secret(subject: str, value: T, kind: type[object], fix: str) -> T:
    """``instance`` for values that may be or contain a password: the error shows only their
    type."""
    if not isinstance(value, kind):
        raise InvalidProgramError(f"{subject}: an object of type {type(value).__name__}. {fix}")
    return value


def number(subject: str, value: float) -> float:
    """``value``; raises IllegalArgumentError unless it is a number."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise IllegalArgumentError(
            f"{subject}: {shown(value)} is not a number. Pass an int or float."
        )
    return value


def instance(subject: str, value: T, kind: type[object], fix: str) -> T:
    """``value``; raises InvalidProgramError, which ends with ``fix``, unless it is a ``kind``."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise InvalidProgramError(
            f"{subject}: {shown(value)} of type {type(value).__name__} is not {article}"
            f" {kind.__name__}. {fix}"
        )
    return value


def member(subject: str, value: object, kind: type[E]) -> E:
    """The member of the enum ``kind`` that ``value`` is or names; raises IllegalArgumentError if there
    is none."""
    try:
        return kind(value)
    except ValueError:
        members = ", ".join(f"{kind.__name__}.{one.name}" for one in kind)
        raise IllegalArgumentError(f"{subject}: {shown(value)} is none of {members}.") from None
