"""Ranges of a file, wherever they are cut, give each of its lines once."""

from __future__ import annotations

import bz2
import gzip
import re
import zlib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.api.errors import MalformedRecordError
from flinkish.runtime.formats import files
from flinkish.runtime.formats.base import FileSplit
from flinkish.runtime.formats.lines import LineBlock, TextFormat, line_blocks
from tests.runtime.formats.reading import ranges, whole

CONTENTS = st.lists(st.sampled_from(["a", "bc", "é", "\n", "\r", "\r\n", ""]), max_size=40).map(
    "".join
)


def lines_of(path, splits=None):
    return [
        line.raw
        for split in splits or [whole(path)]
        for block in line_blocks(split)
        for line in block.lines()
    ]


def expected(data: bytes):
    lines = re.split(rb"\r\n|\n|\r", data)
    return lines[:-1] if lines[-1] == b"" else lines


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("lines") / "a.txt"


@given(content=CONTENTS, cuts=st.lists(st.integers(0, 60), max_size=6), chunk=st.integers(1, 9))
def test_all_ranges_give_each_line_once(path, content, cuts, chunk):
    data = content.encode()
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(files, "CHUNK", chunk)
        assert lines_of(path) == expected(data)
        assert lines_of(path, ranges(path, cuts)) == expected(data)


@given(content=CONTENTS, chunk=st.integers(1, 9))
def test_lines_know_where_they_stand(path, content, chunk):
    data = content.encode()
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(files, "CHUNK", chunk)
        found = [line for block in line_blocks(whole(path)) for line in block.lines()]
    assert [line.number for line in found] == [*range(1, len(found) + 1)]
    for line in found:
        assert data[line.offset :].startswith(line.raw)
        assert line.offset == 0 or data[line.offset - 1 : line.offset] in (b"\n", b"\r")


@given(content=CONTENTS)
def test_halves_are_the_whole(content):
    block = LineBlock("a", content.encode(), 7, 3)
    halves = block.halves()
    if halves is not None:
        assert [line for half in halves for line in half.lines()] == [*block.lines()]


def test_a_range_that_does_not_begin_its_file_has_no_line_numbers(path):
    path.write_bytes(b"one\ntwo\nthree\n")
    (line,) = [
        line for block in line_blocks(FileSplit(str(path), 4, 10, 14)) for line in block.lines()
    ]
    assert (line.raw, line.offset, line.number) == (b"three", 8, None)


def test_a_byte_order_mark_is_no_text(path):
    path.write_bytes(b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n")
    records = [value for run in TextFormat().read(whole(path)) for value in run.values]
    assert records == ["one", "\ufefftwo"]


def test_a_line_longer_than_many_chunks(path, monkeypatch):
    monkeypatch.setattr(files, "CHUNK", 10)
    path.write_bytes(b"x" * 1_000 + b"\ny")
    assert lines_of(path) == [b"x" * 1_000, b"y"]


def hadoop(codec, data):
    """Two blocks, the second of two parts, as Hadoop's stream writes them."""
    blocks = [[data[:9]], [data[9:15], data[15:]]]
    out = b""
    for parts in blocks:
        out += sum(map(len, parts)).to_bytes(4, "big")
        for part in parts:
            packed = pa.Codec(codec).compress(part, asbytes=True)
            out += len(packed).to_bytes(4, "big") + packed
    return out


COMPRESSED = {
    ".gz": lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:]),
    ".bz2": lambda data: bz2.compress(data[:9]) + bz2.compress(data[9:]),
    ".deflate": zlib.compress,
    ".zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
    ".snappy": lambda data: hadoop("snappy", data),
    ".lz4": lambda data: hadoop("lz4_raw", data),
}


@pytest.mark.parametrize("ending", COMPRESSED)
def test_compressed_files(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    data = b"first line\r\nsecond\nthird" * 50
    path.write_bytes(COMPRESSED[ending](data))
    assert not TextFormat().splits(str(path))
    assert lines_of(path) == expected(data)


@pytest.mark.parametrize("ending", COMPRESSED)
@pytest.mark.parametrize("cut", [3, 7, 40])
def test_a_compressed_file_that_is_cut_off_is_named(tmp_path, ending, cut):
    path = tmp_path / f"a{ending}"
    data = COMPRESSED[ending](bytes(range(256)) * 50)
    path.write_bytes(data[:-cut])
    with pytest.raises(MalformedRecordError, match=rf"a\{ending} cannot be decompressed as"):
        lines_of(path)


def test_what_is_not_compressed_as_its_name_says_is_named(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(b"plain text\n")
    with pytest.raises(MalformedRecordError, match="Not a gzipped file"):
        lines_of(path)
