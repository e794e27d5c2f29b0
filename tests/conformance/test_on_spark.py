"""A varied part of the recorded cases on Spark, all in one job."""

from __future__ import annotations

import pytest

from tests.conformance.batches import covered
from tests.conformance.cases import Case, load
from tests.conformance.comparison import assert_same_records
from tests.conformance.jobs import outputs_of_one_job

EVERY = 21


def without_clock(case: Case) -> bool:
    return covered(case) and all(item[0] != "p" for item in case.data["input"])


CASES = list(filter(without_clock, load("accepted.jsonl") + load("recorded.jsonl")))


@pytest.mark.slow("a job with about thirty window operators, in several batches")
def test_cases_put_out_what_flink_does(env):
    output = outputs_of_one_job(env, CASES[::EVERY], batches=3)
    for number, case in enumerate(CASES[::EVERY]):
        assert_same_records(case, output[number])
