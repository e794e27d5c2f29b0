"""The recorded cases on the engine, cut into batches, over key groups with paged state."""

from __future__ import annotations

import random

import pytest

from flinkish.api.errors import FlinkishError
from tests.conformance.batches import covered, replay_in_batches
from tests.conformance.cases import Case, check_each, load, parametrized
from tests.conformance.comparison import assert_same_records
from tests.conformance.families import family_of
from tests.conformance.refusals import refusal_of

CASES = [case for case in load("accepted.jsonl") + load("recorded.jsonl") if covered(case)]
REFUSED = [
    case
    for case in load("rejected.jsonl") + load("recorded.jsonl")
    if case.refused
    and not refusal_of(case).building
    and all(item[-1] is not None for item in case.data["input"])  # timestamps are assigned
]


@pytest.mark.thorough("thousands of jobs; test_conformance.py has them without batches")
@pytest.mark.parametrize("keeps", [False, True], ids=["opened anew", "kept open"])
@parametrized(CASES)
def test_puts_out_what_flink_does(cases: list[Case], keeps: bool) -> None:
    def check(case: Case) -> None:
        chosen = random.Random(case.name)
        assert_same_records(case, replay_in_batches(family_of(case), case, chosen, keeps))

    check_each(cases, check)


def is_refused(case: Case) -> None:
    with pytest.raises(FlinkishError) as refusal:
        replay_in_batches(family_of(case), case, random.Random(case.name))
    refusal_of(case).check(refusal.value, case)


@parametrized(REFUSED)
def test_refuses_while_it_runs_what_flink_refuses(cases: list[Case]) -> None:
    check_each(cases, is_refused)
