"""Every recorded case, as it came, cut by restarts, and those that Flink refuses."""

from __future__ import annotations

from functools import partial

import pytest

from flinkish.api.errors import FlinkishError
from flinkish.testing import StreamTestHarness
from tests.conformance.cases import Case, check_each, load, parametrized
from tests.conformance.families import family_of
from tests.conformance.refusals import refusal_of
from tests.conformance.replay import goes_on_the_same, puts_out_the_same, replay

pytestmark = pytest.mark.slow("950 recorded cases")

OWN = load("recorded.jsonl")
CASES = [*load("accepted.jsonl"), *(case for case in OWN if not case.refused)]
SOME = 12
REFUSED = [*load("rejected.jsonl"), *(case for case in OWN if case.refused)]


@parametrized(CASES)
def test_puts_out_what_flink_does(cases: list[Case]) -> None:
    check_each(cases, puts_out_the_same)


@parametrized(CASES[::SOME])
def test_goes_on_from_snapshots_as_if_nothing_had_happened(cases: list[Case]) -> None:
    check_each(cases, goes_on_the_same)


@pytest.mark.rotating("some of the cases go on with every commit")
@parametrized(CASES)
def test_each_goes_on_from_snapshots_as_if_nothing_had_happened(cases: list[Case]) -> None:
    check_each(cases, goes_on_the_same)


def is_refused(case: Case) -> None:
    expected, family = refusal_of(case), family_of(case)
    build = partial(StreamTestHarness, family.build(case))
    if not expected.building:
        assert case.data["phase"] == "run"
        build()
    attempt = build if expected.building else partial(replay, family, case)
    with pytest.raises(FlinkishError) as refusal:
        attempt()
    expected.check(refusal.value, case)


@parametrized(REFUSED)
def test_refuses_what_flink_refuses(cases: list[Case]) -> None:
    check_each(cases, is_refused)
