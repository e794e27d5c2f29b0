"""``python -m flinkish atlas``: a pipeline over files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flinkish.cli.main import main

PIPELINE = """
s = {$source: {connectionName: "sensors", timeField: {$toDate: "$at"}}}
l = {$lookup: {from: "rooms", localField: "room", foreignField: "_id", as: "room"}}
w = {$tumblingWindow: {interval: {size: 10, unit: "second"}, pipeline: [
  {$group: {_id: {$first: "$room.name"}, mean: {$avg: "$temp"}}}, {$sort: {_id: 1}}]}}
m = {$merge: {into: {connectionName: "out", db: "d", coll: "c"}}}
sp.createStreamProcessor("means", [s, l, w, {$unset: "_stream_meta"}, m])
"""

READINGS = [
    {"room": 1, "temp": 20, "at": "2024-03-01T12:00:00Z"},
    {"room": 1, "temp": 21, "at": "2024-03-01T12:00:05Z"},
    {"room": 2, "temp": 10, "at": "2024-03-01T12:00:06Z"},
    {"room": 2, "temp": 12, "at": "2024-03-01T12:00:16Z"},
    {"room": 2, "temp": 12},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pipeline.js").write_text(PIPELINE)
    (tmp_path / "in.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in READINGS) + "no JSON\n"
    )
    (tmp_path / "rooms.json").write_text(
        '[{"_id": 1, "name": "hall"}, {"_id": 2, "name": "attic"}]'
    )
    return tmp_path


MEANS = [
    {"_id": "attic", "mean": 10.0},
    {"_id": "hall", "mean": 20.5},
    {"_id": "attic", "mean": 12.0},
]


def lines(text: str) -> list[object]:
    return [json.loads(line) for line in text.splitlines()]


def test_files_in_and_out(folder: Path) -> None:
    given = ["-i", f"sensors={folder}/in.jsonl", "-o", f"out={folder}/out.jsonl"]
    given += ["-c", f"{folder}/rooms.json", "-d", f"{folder}/dead.jsonl"]
    assert main(["atlas", f"{folder}/pipeline.js", *given]) == 0
    assert lines((folder / "out.jsonl").read_text()) == MEANS
    dead = lines((folder / "dead.jsonl").read_text())
    assert [letter["doc"] for letter in dead] == [READINGS[4], "no JSON"]  # type: ignore[index]
    assert {letter["stage"] for letter in dead} == {"stages[0].$source"}  # type: ignore[index]


def test_to_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--input", f"{folder}/in.jsonl", "--collection", f"rooms={folder}/rooms.json"]
    assert main(["atlas", f"{folder}/pipeline.js", *given]) == 0
    assert lines(capsys.readouterr().out) == MEANS


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        (PIPELINE, [], "no connection with a stream sensors"),
        (PIPELINE, ["-i", "in.jsonl"], "no collection rooms"),
        ("[{$source: }]", [], "line 1, column 12"),
        (
            "[{$source: {connectionName: 'a'}}, {$mach: 1}]",
            ["-i", "in.jsonl"],
            "Did you mean $match",
        ),
        (
            "[{$source: {connectionName: 'a'}}]",
            ["-i", "in.jsonl", "-o", "b=x"],
            "no stage writes to b",
        ),
    ],
)
def test_an_error_is_one_line(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    given: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    (folder / "pipeline.js").write_text(text)
    assert main(["atlas", "pipeline.js", *given]) == 1
    error = capsys.readouterr().err.splitlines()
    assert error[0].startswith("flinkish atlas: ")
    assert message in error[0]


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["atlas", "nowhere.js"]) == 1
    assert "the file nowhere.js cannot be read" in capsys.readouterr().err
