"""Opens files by path or URI, and decompresses them according to the ending of their name."""

from __future__ import annotations

import bz2
import gzip
import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import fs

from flinkish.api.errors import MalformedRecordError

CHUNK = 1 << 21
"""The number of bytes read at once: about 50,000 rows."""


def opened(path: str) -> Any:
    """The file at ``path``, a path or URI, for reading from any position."""
    if path.startswith("file:"):
        path = unquote("/" + path.removeprefix("file:").lstrip("/"))
    if "://" not in path:
        return open(path, "rb")
    system, inner = fs.FileSystem.from_uri(path)
    return system.open_input_file(inner)


def chunks(file: Any, length: int) -> Iterator[bytes]:
    """The next ``length`` bytes of ``file``."""
    while length > 0:
        data = bytes(file.read(min(CHUNK, length)))
        if not data:
            return
        yield data
        length -= len(data)


def is_compressed(path: str) -> bool:
    """Whether the file is compressed, so that it can only be read from its beginning."""
    return os.path.splitext(path)[1] in _CODECS


def decompressed_chunks(path: str) -> Iterator[bytes] | None:
    """The decompressed contents of a file; None if it is not compressed. The iterator raises
    MalformedRecordError if the file is damaged or cut off."""
    ending = os.path.splitext(path)[1]
    codec = _CODECS.get(ending)
    return None if codec is None else _checked(path, ending, codec)


def _checked(path: str, ending: str, codec: Callable[[Any], Iterator[bytes]]) -> Iterator[bytes]:
    with opened(path) as file:
        try:
            yield from codec(file)
        except (EOFError, OSError, ValueError, zlib.error, pa.ArrowException) as error:
            raise MalformedRecordError(
                f"FileSource: the file {path} cannot be decompressed as {ending}: {error}. It is"
                " damaged, cut off, or no such file; replace it or take it out of the directory."
            ) from error


def _of_reader(make: Callable[[Any], Any]) -> Callable[[Any], Iterator[bytes]]:
    def read(file: Any) -> Iterator[bytes]:
        with make(file) as reader:
            while data := reader.read(CHUNK):
                yield bytes(data)

    return read


def _deflated(file: Any) -> Iterator[bytes]:
    inflate = zlib.decompressobj()
    while data := bytes(file.read(CHUNK)):
        yield inflate.decompress(data)
    yield inflate.flush()
    if not inflate.eof:
        raise EOFError("the stream ends too early")


def _hadoop_blocks(
    codec: str, length_of: Callable[[bytes], int]
) -> Callable[[Any], Iterator[bytes]]:
    """Reads Hadoop's framing: a block's length, then compressed parts after their lengths."""

    def read(file: Any) -> Iterator[bytes]:
        while head := bytes(file.read(4)):
            left = _length(head)
            while left > 0:
                size = _length(bytes(file.read(4)))
                data = bytes(file.read(size))
                if len(data) < size:
                    raise EOFError("a block ends too early")
                part = bytes(pa.Codec(codec).decompress(data, length_of(data), asbytes=True))
                if not 0 < len(part) <= left:
                    raise ValueError("a block has another length than it says")
                yield part
                left -= len(part)

    return read


def _snappy_length(data: bytes) -> int:
    """The decompressed length that begins a block: seven bits a byte, the lowest first."""
    length = shift = 0
    for byte in data[:5]:
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return length
    raise ValueError("a block does not say its length")


def _lz4_length(data: bytes) -> int:
    """The decompressed length: that of the block's literals and matches together."""
    position = length = 0

    def extended(count: int) -> int:
        nonlocal position
        more = 255 if count == 15 else 0
        while more == 255:
            more = data[position]
            position += 1
            count += more
        return count

    try:
        while position < len(data):
            token = data[position]
            position += 1
            literals = extended(token >> 4)
            position += literals
            length += literals
            if position < len(data):
                position += 2
                length += extended(token & 15) + 4
    except IndexError:
        raise EOFError("a block ends too early") from None
    return length


def _length(data: bytes) -> int:
    if len(data) < 4:
        raise EOFError("a block ends too early")
    return int.from_bytes(data, "big")


_CODECS: dict[str, Callable[[Any], Iterator[bytes]]] = {
    ".gz": _of_reader(lambda file: gzip.GzipFile(fileobj=file)),
    ".bz2": _of_reader(bz2.BZ2File),
    ".zst": _of_reader(lambda file: pa.CompressedInputStream(pa.PythonFile(file), "zstd")),
    ".deflate": _deflated,
    ".snappy": _hadoop_blocks("snappy", _snappy_length),
    ".lz4": _hadoop_blocks("lz4_raw", _lz4_length),
}
