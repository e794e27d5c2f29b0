"""The examples of PyFlink jobs print what they should, in this process."""

from __future__ import annotations

import pytest

from examples.pyflink import parcels, quiet_doors


@pytest.mark.parametrize(
    ("example", "printed"),
    [
        (
            parcels,
            [
                "(north,10000,2,1200)",
                "(south,10000,1,1200)",
                "(south,20000,1,4000)",
                "heavy> +I[north, 4000, 25000]",
            ],
        ),
        (
            quiet_doors,
            [
                "door a on floor 0, quiet since 50 s",
                "door b on floor 1, quiet since 100 s",
                "door c on floor 2, quiet since 110 s",
            ],
        ),
    ],
    ids=["parcels", "quiet_doors"],
)
def test_it_prints(example, printed, capsys):
    example.main(local=True)
    assert sorted(capsys.readouterr().out.splitlines()) == printed
