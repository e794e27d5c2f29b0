"""Every recorded case, as it came, cut by restarts, and those that Flink refuses."""

from __future__ import annotations

import random
from functools import partial

import pytest

from flinkish.api.errors import FlinkishError
from flinkish.testing import StreamTestHarness
from tests.conformance.cases import Case, load
from tests.conformance.comparison import assert_same
from tests.conformance.families import family_of
from tests.conformance.refusals import refusal_of
from tests.conformance.replay import replay

OWN = load("recorded.jsonl")
CASES = [*load("accepted.jsonl"), *(case for case in OWN if not case.refused)]
REFUSED = [*load("rejected.jsonl"), *(case for case in OWN if case.refused)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_puts_out_what_flink_does(case: Case) -> None:
    assert_same(case, replay(family_of(case), case))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_goes_on_from_snapshots_as_if_nothing_had_happened(case: Case) -> None:
    assert_same(case, replay(family_of(case), case, random.Random(case.name)))


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_refuses_what_flink_refuses(case: Case) -> None:
    expected, family = refusal_of(case), family_of(case)
    build = partial(StreamTestHarness, family.build(case))
    if not expected.building:
        assert case.data["phase"] == "run"
        build()
    attempt = build if expected.building else partial(replay, family, case)
    with pytest.raises(FlinkishError) as refusal:
        attempt()
    expected.check(refusal.value, case)
