"""The format of pages: bytes that can be listed without the classes of the values in them.

A page is an *envelope*: the format's version, a header, and the sections that the header names,
such as keys, namespaces and values. Each section is a separate pickle, so a tool can list the
keys of a page without importing the classes of its values::

    version: 1 byte | header: 2 bytes of length, JSON | for each section: 4 bytes of length, pickle

The header names the state and its kind of table, and says how the sections are encoded. Where the
encoding is ``blocks``, the entries of the page are in 1, 2, 4, 8 ... groups (``Blocks``), and each
group has separate sections, so that it is read and written without the others::

    version | header | 4 bytes: number of blocks | for each block 4 bytes: its entries
    | for each block 4 bytes: its length | the sections of each block
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from flinkish.api.errors import (
    CorruptCheckpointError,
    IncompatibleCheckpointError,
    InvalidProgramError,
)
from flinkish.api.stored_values import pickled, pickled_by_name, plainly_pickled, unpickled
from flinkish.runtime.state.backend import Block

FORMAT = 3
"""The version of pages and of the directory."""

_LENGTH = struct.Struct("<I")
_LENGTHS = np.dtype("<u4")
_START = struct.Struct("<BH")

ENTRIES = ("keys", "values")
NAMED_ENTRIES = ("keys", "namespaces", "values")

_PICKLE = "pickle"
_BLOCKS = "blocks"


class Envelope(NamedTuple):
    """A stored page, of which nothing is unpickled yet."""

    table: str
    """The kind of table: ``values``, ``maps``, ``windows``, ``columns``, ``rows`` or ``timers``."""
    state: str
    """The name of the state: that of a descriptor, or of a state of the operator itself."""
    encoding: str
    """How the sections are encoded."""
    blocks: list[dict[str, memoryview]]
    """The sections of each block by name; a page without blocks counts as one block."""

    @property
    def sections(self) -> dict[str, memoryview]:
        """The sections of a page without blocks."""
        (sections,) = self.blocks
        return sections

    @classmethod
    def of(cls, content: bytes) -> Envelope:
        """The envelope of a page. Raises IncompatibleCheckpointError if another version of flinkish
        wrote it in a format that this version does not read."""
        header, at = _opened(content)
        in_blocks = header.encoding == _BLOCKS
        blocks = _blocks_of(content, at)[1] if in_blocks else [memoryview(content)[at:]]
        sections = [
            dict(zip(header.sections, _sections(block, len(header.sections))))
            for block in blocks
            if len(block)
        ]
        return cls(header.table, header.state, header.encoding, sections)


class _Header(NamedTuple):
    table: str
    state: str
    encoding: str
    sections: tuple[str, ...]


class PageCodec:
    """Encodes the pages of one state of one operator. Once a page has had classes of the main
    module or of functions, later pages are expected to have them too."""

    def __init__(self, uid: str, table: str, state: str) -> None:
        self.owner = f"{uid}: state {state!r}"
        self._table, self._state = table, state
        self._prefixes: dict[tuple[str, ...], bytes] = {}
        self._has_classes = False

    def encodeEntries(self, entries: Block, named: bool = False) -> bytes:
        """The bytes of a page of entries: value by key, or, if ``named``, by key and namespace."""
        prefix = self._prefix(NAMED_ENTRIES if named else ENTRIES, _PICKLE)
        return b"".join((prefix, self.encodeBlock(entries, named)))

    def decodeEntries(self, content: bytes) -> Block:
        """The entries of a page of ``encodeEntries``."""
        return dict(_items(self.decode(content)))

    def encode(self, names: tuple[str, ...], parts: Sequence[Any]) -> bytes:
        """The bytes of a page of sections. Raises InvalidProgramError if one is unpicklable."""
        return b"".join((self._prefix(names, _PICKLE), self._pickled(parts)))

    def decode(self, content: bytes) -> list[Any]:
        """The sections of a page without blocks. Raises CorruptCheckpointError if it is damaged."""
        try:
            header, at = self._opened(content)
            parts = _sections(memoryview(content)[at:], len(header.sections))
        except _DAMAGE as error:
            raise self._not_whole(content, error) from error
        return self._unpickled(parts)

    def decodeSection(self, section: memoryview) -> Any:
        """One section of a page, as ``Envelope`` has it."""
        (part,) = self._unpickled([section])
        return part

    def encodeBlock(self, block: Block, named: bool = False) -> bytes:
        """The bytes of a block of entries, for ``joinBlocks``."""
        return self._pickled((*name_sections(block, named), list(block.values())))

    def decodeBlock(self, content: bytes | memoryview, block: Block, named: bool = False) -> None:
        """Add the entries encoded by ``encodeBlock`` to ``block``."""
        try:
            parts = _sections(memoryview(content), len(NAMED_ENTRIES if named else ENTRIES))
        except _DAMAGE as error:
            raise self._not_whole(content, error) from error
        block.update(_items(self._unpickled(parts)))

    def joinBlocks(
        self, counts: Sequence[int], blocks: Sequence[bytes | memoryview], named: bool = False
    ) -> bytes:
        """The bytes of a page of encoded blocks; ``counts``: the number of entries of each."""
        prefix = self._prefix(NAMED_ENTRIES if named else ENTRIES, _BLOCKS)
        lengths = np.fromiter(map(len, blocks), dtype=_LENGTHS, count=len(blocks)).tobytes()
        entries = np.array(counts, dtype=_LENGTHS).tobytes()
        return b"".join((prefix, _LENGTH.pack(len(blocks)), entries, lengths, *blocks))

    def splitBlocks(self, content: bytes) -> tuple[list[int], list[memoryview]]:
        """The counts and the blocks of a page of ``joinBlocks``."""
        try:
            _, at = self._opened(content)
            return _blocks_of(content, at)
        except _DAMAGE as error:
            raise self._not_whole(content, error) from error

    def _opened(self, content: bytes) -> tuple[_Header, int]:
        try:
            return _opened(content)
        except IncompatibleCheckpointError as error:
            raise IncompatibleCheckpointError(f"{self.owner}: {error}") from None

    def _not_whole(self, content: bytes | memoryview, error: Exception) -> CorruptCheckpointError:
        return CorruptCheckpointError(
            f"{self.owner}: a page of {len(content)} bytes is not whole ({error}). The state"
            " store was damaged: restore the checkpoint directory from a copy, or begin anew"
            " with another checkpoint directory."
        )

    def _unpickled(self, parts: list[memoryview]) -> list[Any]:
        try:
            return list(map(unpickled, parts))
        except KeyboardInterrupt:
            raise
        except IncompatibleCheckpointError as error:
            raise IncompatibleCheckpointError(f"{self.owner}: {error}") from None
        except BaseException as error:
            raise CorruptCheckpointError(
                f"{self.owner}: a page cannot be unpickled ({type(error).__name__}: {error}). If a"
                " class of a stored value was moved or renamed, keep its old name importable."
            ) from error

    def _prefix(self, names: tuple[str, ...], encoding: str) -> bytes:
        """The version and header of pages with the sections ``names``."""
        prefix = self._prefixes.get((encoding, *names))
        if prefix is None:
            fields = {
                "table": self._table,
                "state": self._state,
                "encoding": encoding,
                "sections": names,
            }
            header = json.dumps(fields, separators=(",", ":")).encode()
            prefix = self._prefixes[encoding, *names] = _START.pack(FORMAT, len(header)) + header
        return prefix

    def _pickled(self, parts: Sequence[Any]) -> bytes:
        pieces = []
        for part in parts:
            section = self._section(part)
            pieces.append(_LENGTH.pack(len(section)))
            pieces.append(section)
        return b"".join(pieces)

    def _section(self, part: Any) -> bytes:
        data = None if self._has_classes else plainly_pickled(part)
        if data is not None:
            return data
        try:
            data, has_classes = pickled_by_name(part)
        except KeyboardInterrupt:
            raise
        except InvalidProgramError as error:
            raise InvalidProgramError(f"{self.owner}: {error}") from None
        except BaseException as error:
            raise self._refusal(part, error) from error
        self._has_classes = self._has_classes or has_classes
        return data

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
                pickled(part)
            except KeyboardInterrupt:
                raise
            except BaseException:
                return self._culprit(part)
        return value


def check_format(version: int, what: str) -> None:
    """Raises CorruptCheckpointError if ``version`` is 0, which stands for no bytes at all, and
    IncompatibleCheckpointError if this version of flinkish does not read it. The error names
    ``what``."""
    if not version:
        raise CorruptCheckpointError(
            f"{what} is empty. The state store was damaged: restore the checkpoint directory from a copy,"
            " or begin anew with another checkpoint directory."
        )
    if version != FORMAT:
        other = "An older" if version < FORMAT else "A newer"
        raise IncompatibleCheckpointError(
            f"{what} is of format {version}, and this flinkish reads format {FORMAT}."
            f" {other} version of flinkish wrote it: run that one, or begin anew with another checkpoint"
            " directory."
        )


def name_sections(names: Iterable[Any], named: bool) -> list[list[Any]]:
    """The sections for the names of entries: keys, or, if ``named``, keys and namespaces."""
    if not named:
        return [list(names)]
    pairs = list(names)
    return [[key for key, _ in pairs], [namespace for _, namespace in pairs]]


def _items(parts: list[Any]) -> Iterable[tuple[Any, Any]]:
    if len(parts) == len(ENTRIES):
        return zip(*parts)
    keys, namespaces, values = parts
    return zip(zip(keys, namespaces), values)


def _opened(content: bytes) -> tuple[_Header, int]:
    """The header of a page, and where it ends."""
    version = content[0] if content else 0
    check_format(version, "a page of state")
    _, size = _START.unpack_from(content)
    at = _START.size + size
    encoded = content[_START.size : at]
    header = _HEADERS.get(encoded)
    if header is None:
        fields = json.loads(encoded)
        header = _HEADERS[encoded] = _Header(
            fields["table"], fields["state"], fields["encoding"], tuple(fields["sections"])
        )
    return header, at


def _sections(view: memoryview, number: int) -> list[memoryview]:
    """The sections of a block. Raises ValueError or struct.error if it is incomplete."""
    at = 0
    parts = []
    for _ in range(number):
        (length,) = _LENGTH.unpack_from(view, at)
        at += _LENGTH.size
        parts.append(view[at : at + length])
        at += length
    if at != len(view):
        raise ValueError(f"{at} bytes were written")
    return parts


def _blocks_of(content: bytes, at: int) -> tuple[list[int], list[memoryview]]:
    """The counts and the blocks of a page whose header ends at ``at``. Raises ValueError or
    struct.error if it is incomplete."""
    (number,) = _LENGTH.unpack_from(content, at)
    at += _LENGTH.size
    head = np.frombuffer(content, _LENGTHS, 2 * number, at)
    at += head.nbytes
    ends: list[int] = (np.cumsum(head[number:], dtype=np.int64) + at).tolist()
    if ends[-1] != len(content):
        raise ValueError(f"{ends[-1]} bytes were written")
    view = memoryview(content)
    return head[:number].tolist(), [view[a:b] for a, b in zip((at, *ends), ends)]


_DAMAGE = (struct.error, ValueError, KeyError, IndexError)

_HEADERS: dict[bytes, _Header] = {}
"""The headers decoded so far, of which there are few."""
