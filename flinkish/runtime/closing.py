"""Closes several objects reliably: all of them are closed, even if one raises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol


class Closeable(Protocol):
    """An object with a ``close()`` that does nothing if the object was not opened."""

    def close(self) -> None: ...


def close_all(parts: Iterable[Closeable]) -> None:
    """Close all ``parts`` in order. The first error is raised after all are closed."""
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
    """Closes ``part`` if the block raises; an error of ``close()`` is not raised."""
    try:
        yield
    except BaseException:
        with suppress(BaseException):
            part.close()
        raise


@contextmanager
def closed_at_end(part: Closeable) -> Iterator[None]:
    """Closes ``part`` after the block, even if it raises."""
    with closed_on_error(part):
        yield
    part.close()
