"""The examples of PyFlink jobs print what they should, in this process and on Spark."""

from __future__ import annotations

import pytest

from examples.pyflink import complaints, parcels, quiet_doors, turnstiles


def named(kind):
    return kind.__name__.rpartition(".")[2]


PRINTED = {
    complaints: ["(and,1)", "(bees,1)", "(full,2)", "(late,1)", "(of,1)"],
    parcels: [
        "(north,10000,2,1200)",
        "(south,10000,1,1200)",
        "(south,20000,1,4000)",
        "heavy> +I[north, 4000, 25000]",
    ],
    quiet_doors: [
        "door a on floor 0, quiet since 50 s",
        "door b on floor 1, quiet since 100 s",
        "door c on floor 2, quiet since 110 s",
    ],
    turnstiles: [
        "(east,party 1-6 s,3)",
        "(east,party 9-19 s,6)",
        "(east,session 1-8 s,3)",
        "(east,session 15-19 s,1)",
        "(east,session 9-13 s,5)",
        "(east,sliding -5-5 s,3)",
        "(east,sliding 0-10 s,8)",
        "(east,sliding 10-20 s,1)",
        "(east,sliding 15-25 s,1)",
        "(east,sliding 5-15 s,5)",
        "(east,three visits,8)",
        "(west,party 2-4 s,1)",
        "(west,session 2-6 s,1)",
        "(west,sliding -5-5 s,1)",
        "(west,sliding 0-10 s,1)",
    ],
}


@pytest.mark.parametrize("example", PRINTED, ids=named)
def test_it_prints(example, capsys):
    example.main(local=True)
    assert sorted(capsys.readouterr().out.splitlines()) == PRINTED[example]


@pytest.mark.parametrize(
    "example",
    [
        parcels,
        *(
            pytest.param(example, marks=pytest.mark.rotating("one of them runs in any case"))
            for example in (complaints, quiet_doors, turnstiles)
        ),
    ],
    ids=named,
)
def test_it_prints_on_spark(example, spark, capsys):
    example.main(local=False)
    assert sorted(capsys.readouterr().out.splitlines()) == PRINTED[example]


def test_complaints_are_read_from_files_and_written_to_files(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "today.txt").write_text("\n".join(complaints.COMPLAINTS))
    complaints.main(local=True, path=str(tmp_path / "in"), output=str(tmp_path / "out"))
    lines = [line for file in tmp_path.glob("out/*/part*") for line in file.read_text().split()]
    assert sorted(lines) == PRINTED[complaints]
