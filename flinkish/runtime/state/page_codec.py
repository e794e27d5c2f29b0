"""Pages to bytes and back: a version byte, then the page as a pickle."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from flinkish.api.errors import IllegalStateError, InvalidProgramError

_VERSION = b"\x01"
_PROTOCOL = 5


class PageCodec:
    """Encodes the pages of one state of one operator.

    What ``pickle`` refuses (classes of ``__main__`` in a worker, lambdas) goes through
    ``cloudpickle``, from then on for every page of this state.
    """

    __slots__ = ("_dumps", "owner")

    def __init__(self, uid: str, name: str) -> None:
        self.owner = f"{uid}: state {name!r}"
        self._dumps: Callable[[Any, int], bytes] = pickle.dumps

    def encode(self, page: Any) -> bytes:
        """The bytes of ``page``. Raises InvalidProgramError if it cannot be pickled."""
        try:
            return _VERSION + self._dumps(page, _PROTOCOL)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            import cloudpickle

            if self._dumps is cloudpickle.dumps:
                raise self._refusal(page, error) from error
            self._dumps = cloudpickle.dumps
            return self.encode(page)

    def decode(self, content: bytes) -> Any:
        """The page that was encoded. Raises IllegalStateError if that is not possible."""
        if content[:1] != _VERSION:
            raise IllegalStateError(
                f"{self.owner}: a page has format version {content[:1]!r}; this flinkish reads"
                f" {_VERSION!r}. It was written by another version of flinkish: run that one, or"
                " start from an empty checkpoint."
            )
        try:
            return pickle.loads(memoryview(content)[1:])
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise IllegalStateError(
                f"{self.owner}: a page cannot be unpickled ({type(error).__name__}: {error}). If a"
                " class of a stored value was moved or renamed, keep its old name importable."
            ) from error

    def _refusal(self, page: Any, error: BaseException) -> InvalidProgramError:
        value = self._culprit(page)
        return InvalidProgramError(
            f"{self.owner}: a value of type {type(value).__qualname__} cannot be pickled"
            f" ({type(error).__name__}: {error}). Keep only data in state, and open connections,"
            " locks and the like in open()."
        )

    def _culprit(self, value: Any) -> Any:
        """The innermost part of ``value`` that cannot be pickled."""
        parts: Iterable[Any] = ()
        if type(value) is dict:
            parts = chain(value.values(), value)
        elif type(value) in (list, tuple, set):
            parts = value
        for part in parts:
            try:
                self._dumps(part, _PROTOCOL)
            except KeyboardInterrupt:
                raise
            except BaseException:
                return self._culprit(part)
        return value
