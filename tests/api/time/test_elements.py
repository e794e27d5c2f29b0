"""The elements of a stream and their times."""

from __future__ import annotations

import pytest

from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, earliest


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([], None),
        ([None, None], None),
        ([None, 5, 3], 3),
        ([0, None], 0),
        ([MAX_TIMESTAMP, MIN_TIMESTAMP], MIN_TIMESTAMP),
    ],
)
def test_the_earliest_of_times_leaves_out_those_that_are_not(times, expected):
    assert earliest(iter(times)) == expected
