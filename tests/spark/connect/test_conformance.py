"""Every twentieth recorded case of Flink's over Spark Connect, all in one job."""

from __future__ import annotations

import pytest

from tests.conformance.comparison import assert_same_records
from tests.conformance.jobs import outputs_of_one_job
from tests.conformance.test_on_spark import CASES

pytestmark = pytest.mark.connect

EVERY = 20


@pytest.mark.rotating("the same operators run without Connect with each commit")
@pytest.mark.slow("a job with about thirty window operators, in two batches")
def test_cases_put_out_what_flink_does(env):
    cases = CASES[EVERY // 2 :: EVERY]
    assert len(cases) > 20
    output = outputs_of_one_job(env, cases, batches=2)
    for number, case in enumerate(cases):
        assert_same_records(case, output[number])
