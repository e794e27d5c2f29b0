"""The format of pages: bytes that can be listed without the classes of the values in them.

A page is an *envelope*: the format's version, a header, and the sections that the header names, such
as keys, namespaces and values. Each section is a pickle of its own, so a tool can list the keys of a
page without importing the classes of its values::

    version: 1 byte | header: 2 bytes of length, JSON | for each section: 4 bytes of length, pickle

The header names the state and its kind of table, and says how the sections are encoded.
"""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

from flinkish.api.errors import (
    CorruptCheckpointError,
    IncompatibleCheckpointError,
    InvalidProgramError,
)
from flinkish.api.stored_names import unpickled
from flinkish.runtime.state.backend import Page

FORMAT = 2
"""The version of pages and of the directory. In version 1 a page was a single pickle."""

_PROTOCOL = 5
_LENGTH = struct.Struct("<I")
_START = struct.Struct("<BH")

ENTRIES = ("keys", "values")
NAMED_ENTRIES = ("keys", "namespaces", "values")


class Envelope(NamedTuple):
    """A page as it is stored, without unpickling any of it."""

    table: str
    """The kind of table: ``values``, ``maps``, ``windows``, ``columns``, ``rows`` or ``timers``."""
    state: str
    """The name of the state: of its descriptor, or of a state of the operator itself."""
    encoding: str
    """How the sections are encoded."""
    sections: dict[str, memoryview]

    @classmethod
    def of(cls, content: bytes) -> Envelope:
        """The envelope of a page. Raises IncompatibleCheckpointError if it has the format of another
        version of flinkish."""
        header, names, parts = _opened(content)
        fields = json.loads(header)
        return cls(fields["table"], fields["state"], fields["encoding"], dict(zip(names, parts)))


class PageCodec:
    """Encodes the pages of one state of one operator.

    Values that ``pickle`` cannot handle (of classes of ``__main__`` in a worker, lambdas) are encoded
    by ``cloudpickle``, and so are all later pages of this state.
    """

    __slots__ = ("_dumps", "_prefixes", "_state", "_table", "owner")

    def __init__(
        self,
        uid: str,
        table: str,
        state: str,
        dumps: Callable[[Any, int], bytes] = pickle.dumps,
    ) -> None:
        self.owner = f"{uid}: state {state!r}"
        self._table, self._state = table, state
        self._prefixes: dict[tuple[str, ...], bytes] = {}
        self._dumps = dumps

    def encodeEntries(self, page: Page, named: bool = False) -> bytes:
        """The bytes of a page of entries: value by key, or ``named`` by key and namespace."""
        if not named:
            return self.encode(ENTRIES, (list(page), list(page.values())))
        keys, namespaces = map(list, zip(*page)) if page else ([], [])
        return self.encode(NAMED_ENTRIES, (keys, namespaces, list(page.values())))

    def decodeEntries(self, content: bytes) -> Page:
        """The page of ``encodeEntries``."""
        parts = self.decode(content)
        if len(parts) == len(ENTRIES):
            return dict(zip(*parts))
        keys, namespaces, values = parts
        return dict(zip(zip(keys, namespaces), values))

    def encode(self, names: tuple[str, ...], parts: Sequence[Any]) -> bytes:
        """The bytes of a page of those sections. Raises InvalidProgramError if one cannot be
        pickled."""
        pieces = [self._prefixes.get(names) or self._prefix(names)]
        for part in parts:
            section = self._section(part)
            pieces.append(_LENGTH.pack(len(section)))
            pieces.append(section)
        return b"".join(pieces)

    def decode(self, content: bytes) -> list[Any]:
        """The sections of a page."""
        try:
            _, _, parts = _opened(content)
        except IncompatibleCheckpointError as error:
            raise IncompatibleCheckpointError(f"{self.owner}: {error}") from None
        except (struct.error, ValueError, KeyError) as error:
            raise CorruptCheckpointError(
                f"{self.owner}: a page of {len(content)} bytes is not whole ({error}). The state"
                " store was damaged: restore the checkpoint directory from a copy, or begin anew"
                " with another checkpoint directory."
            ) from error
        try:
            return list(map(unpickled, parts))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise CorruptCheckpointError(
                f"{self.owner}: a page cannot be unpickled ({type(error).__name__}: {error}). If a"
                " class of a stored value was moved or renamed, keep its old name importable."
            ) from error

    def _prefix(self, names: tuple[str, ...]) -> bytes:
        """The version and header of pages with those sections."""
        fields = {
            "table": self._table,
            "state": self._state,
            "encoding": "pickle",
            "sections": names,
        }
        header = json.dumps(fields, separators=(",", ":")).encode()
        prefix = self._prefixes[names] = _START.pack(FORMAT, len(header)) + header
        return prefix

    def _section(self, part: Any) -> bytes:
        try:
            return self._dumps(part, _PROTOCOL)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            import cloudpickle

            if self._dumps is cloudpickle.dumps:
                raise self._refusal(part, error) from error
            self._dumps = cloudpickle.dumps
            return self._section(part)

    def _refusal(self, part: Any, error: BaseException) -> InvalidProgramError:
        value = self._culprit(part)
        return InvalidProgramError(
            f"{self.owner}: a value of type {type(value).__qualname__} cannot be pickled"
            f" ({type(error).__name__}: {error}). Keep only data in state, and open connections,"
            " locks and the like in open()."
        )

    def _culprit(self, value: Any) -> Any:
        """The innermost part of ``value`` that cannot be pickled."""
        parts: Any = ()
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


def check_format(version: int, what: str) -> None:
    """Raises CorruptCheckpointError if ``version`` is 0, which stands for no bytes at all, and
    IncompatibleCheckpointError if it is not ``FORMAT``; ``what`` is named."""
    if not version:
        raise CorruptCheckpointError(
            f"{what} is empty. The state store was damaged: restore the checkpoint directory from a copy,"
            " or begin anew with another checkpoint directory."
        )
    if version != FORMAT:
        other = "An older" if version < FORMAT else "A newer"
        raise IncompatibleCheckpointError(
            f"{what} is of format {version}, and this flinkish reads format {FORMAT}. {other} version"
            " of flinkish wrote it: run that one, or begin anew with another checkpoint directory."
        )


def _opened(content: bytes) -> tuple[bytes, Sequence[str], list[memoryview]]:
    """The header, the names of the sections, and the sections of a page. Raises ValueError or
    struct.error if the page is incomplete."""
    version = content[0] if content else 0
    check_format(version, "a page of state")
    _, size = _START.unpack_from(content)
    at = _START.size + size
    header = content[_START.size : at]
    names = _SECTIONS.get(header)
    if names is None:
        names = _SECTIONS[header] = tuple(json.loads(header)["sections"])
    view = memoryview(content)
    parts = []
    for _ in names:
        (length,) = _LENGTH.unpack_from(content, at)
        at += _LENGTH.size
        parts.append(view[at : at + length])
        at += length
    if at != len(content):
        raise ValueError(f"{at} bytes were written")
    return header, names, parts


_SECTIONS: dict[bytes, tuple[str, ...]] = {}
"""The names of the sections by the headers met so far, of which there are few."""
