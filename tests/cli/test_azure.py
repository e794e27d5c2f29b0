"""``python -m flinkish azure``: a query over files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flinkish.cli.main import main

QUERY = """
-- warm rooms
SELECT r.name, AVG(i.temp) AS mean, System.Timestamp() AS until INTO Alerts
FROM Input i TIMESTAMP BY at JOIN Rooms r ON i.room = r.id
GROUP BY r.name, TumblingWindow(second, 10) HAVING AVG(i.temp) > 15

SELECT temp INTO Archive FROM Input TIMESTAMP BY at
"""
READINGS = [
    {"room": 1, "temp": 20, "at": "2024-03-01T12:00:00Z"},
    {"room": 1, "temp": 21, "at": "2024-03-01T12:00:05Z"},
    {"room": 2, "temp": 10, "at": "2024-03-01T12:00:06Z"},
    {"room": 1, "temp": 23, "at": "2024-03-01T12:00:09Z"},
]
ALERTS = [
    {"name": "hall", "mean": 20.0, "until": "2024-03-01T12:00:00.0000000Z"},
    {"name": "hall", "mean": 22.0, "until": "2024-03-01T12:00:10.0000000Z"},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "query.sql").write_text(QUERY)
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in READINGS) + "\n")
    (tmp_path / "rooms.json").write_text('[{"id": 1, "name": "hall"}, {"id": 2, "name": "attic"}]')
    return tmp_path


def arguments(folder: Path, *more: str) -> list[str]:
    return [
        "azure",
        str(folder / "query.sql"),
        *("--input", f"Input={folder / 'in.jsonl'}"),
        *("--reference", f"Rooms={folder / 'rooms.json'}"),
        *more,
    ]


def test_to_a_file_and_to_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "out.jsonl"
    assert main(arguments(folder, "--output", f"Alerts={out}")) == 0
    assert [json.loads(line) for line in out.read_text().splitlines()] == ALERTS
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == [{"temp": row["temp"]} for row in READINGS]


def test_the_settings_of_event_ordering(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        json.dumps({**READINGS[0], "temp": 1}),
        json.dumps(READINGS[3]),
        json.dumps(READINGS[1]),
    ]
    (folder / "in.jsonl").write_text("\n".join(lines))
    drop = ["--eventsOutOfOrderPolicy", "Drop", "--output", f"Alerts={folder / 'alerts'}"]
    assert main(arguments(folder, *drop)) == 0
    assert [json.loads(line)["temp"] for line in capsys.readouterr().out.splitlines()] == [1, 23]
    late = ["--eventsOutOfOrderMaxDelayInSeconds", "5", *drop]
    assert main(arguments(folder, *late)) == 0
    assert [json.loads(line)["temp"] for line in capsys.readouterr().out.splitlines()] == [
        1,
        21,
        23,
    ]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--output", "Nope=x"], "the query has no output Nope. It has Alerts, Archive."),
        (["--input", "x"], "--input x: write NAME=FILE."),
        (["--reference", "R=nowhere.json"], "nowhere.json cannot be read"),
    ],
)
def test_errors(
    folder: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    assert main(arguments(folder, *more)) != 0
    assert message in capsys.readouterr().err
