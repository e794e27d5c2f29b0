"""Lines of text in UTF-8."""

from __future__ import annotations

from flinkish import MalformedRecord
from flinkish.runtime.formats.lines import MOST_LINES, TextFormat
from tests.runtime.formats.reading import read, whole


def test_a_line_that_is_no_utf_8_is_malformed(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("é\n".encode() + b"caf\xe9\nlast\0\n")
    records, malformed = read(TextFormat(), whole(path))
    assert records == ["é", "last\0"]
    assert malformed == [MalformedRecord(str(path), 2, 3, b"caf\xe9", "it is not text in UTF-8")]
    assert malformed[0].text == "caf\\xe9"
    assert malformed[0].position == f"line 2 of {path}"


def test_long_runs_are_cut(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("\n" * (MOST_LINES + 1))
    assert [len(run) for run in TextFormat().read(whole(path))] == [MOST_LINES, 1]
