"""Every recorded case, as it came, cut by restarts, and those that Flink refuses."""

from __future__ import annotations

import random

import pytest

from flinkish.api.errors import FlinkishError

from .cases import Case, load
from .comparison import assert_same
from .families import FAMILIES
from .replay import replay


def _replayed(case: Case) -> bool:
    return case.family in FAMILIES and FAMILIES[case.family].covers(case)


CASES = [case for case in load("visible.jsonl") if _replayed(case)]
REFUSED = [case for case in load("rejected.jsonl") if _replayed(case)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_puts_out_what_flink_does(case: Case) -> None:
    assert_same(case, replay(FAMILIES[case.family], case))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_goes_on_from_snapshots_as_if_nothing_had_happened(case: Case) -> None:
    assert_same(case, replay(FAMILIES[case.family], case, random.Random(case.name)))


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_refuses_what_flink_refuses(case: Case) -> None:
    with pytest.raises(FlinkishError) as refusal:
        replay(FAMILIES[case.family], case)
    assert len(str(refusal.value).split()) > 8, "the reason and the mend in words"
