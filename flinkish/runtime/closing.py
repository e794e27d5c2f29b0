"""Closes what was opened, all of it, even if some of it fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol


class Closeable(Protocol):
    """What has a ``close``, which does nothing to what was not opened."""

    def close(self) -> None: ...


def close_all(parts: Iterable[Closeable]) -> None:
    """Close ``parts``, one after the other. What the first to fail raises is raised when all are closed."""
    raised: list[BaseException] = []
    for part in parts:
        try:
            part.close()
        except BaseException as error:
            raised.append(error)
    if raised:
        raise raised[0]


@contextmanager
def closed_on_error(part: Closeable) -> Iterator[None]:
    """Closes ``part`` if an error comes out of the block. That is what the user has to hear of, not what
    closing may make of it."""
    try:
        yield
    except BaseException:
        with suppress(BaseException):
            part.close()
        raise


@contextmanager
def closed_at_end(part: Closeable) -> Iterator[None]:
    """Closes ``part`` after the block, also after an error."""
    with closed_on_error(part):
        yield
    part.close()
