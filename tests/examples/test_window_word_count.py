"""WindowWordCount on the harness: windows of words by number."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.window_word_count import build, main
from flinkish.testing import StreamTestHarness
from tests.local_programs import local_execution
from tests.streams import feed, values


def test_a_word_is_counted_every_slide_over_the_last_window() -> None:
    harness = StreamTestHarness(lambda lines: build(lines, window_size=3, slide_size=2))
    feed(harness, ["To be, or not to be", "to BE -- be to"])
    # to: 1, 2 (fires with 2), 3, 4 (fires with the last 3); be likewise, "not" and "or" never
    assert values(harness) == [("to", 2), ("be", 2), ("be", 3), ("to", 3)]


def test_a_window_that_is_not_full_does_not_fire_at_the_end() -> None:
    harness = StreamTestHarness(build)
    feed(harness, ["be be be be"])
    harness.endInput()
    assert values(harness) == []


def test_lines_without_words_give_nothing() -> None:
    harness = StreamTestHarness(lambda lines: build(lines, window_size=1, slide_size=1))
    feed(harness, ["", "  --  ", "rub"])
    assert values(harness) == [("rub", 1)]


def test_words_may_come_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "words.txt"
    file.write_text("to be\nor not\nto be\n")
    with local_execution():
        main(["--input", str(file), "--window", "2", "--slide", "2"])
    assert sorted(capsys.readouterr().out.splitlines()) == ["('be', 2)", "('to', 2)"]
