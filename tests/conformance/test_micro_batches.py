"""The recorded cases on the engine, cut into batches, over key groups with paged state."""

from __future__ import annotations

import random

import pytest

from tests.conformance.batches import covered, replay_in_batches
from tests.conformance.cases import Case, load
from tests.conformance.comparison import assert_same_records
from tests.conformance.families import family_of

CASES = [case for case in load("accepted.jsonl") + load("recorded.jsonl") if covered(case)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_puts_out_what_flink_does(case: Case) -> None:
    assert_same_records(case, replay_in_batches(family_of(case), case, random.Random(case.name)))
