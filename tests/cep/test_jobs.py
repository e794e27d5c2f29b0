"""Recorded patterns as jobs in local execution; ``tests/conformance/test_on_spark.py`` has some of them on Spark."""

from __future__ import annotations

import pytest

from flinkish import StreamExecutionEnvironment
from tests.conformance.comparison import assert_same_records
from tests.conformance.jobs import outputs_of_one_job
from tests.conformance.test_on_spark import PATTERNS


@pytest.mark.filterwarnings("ignore::flinkish.cep.UnboundedPatternWarning")
def test_cases_put_out_what_flink_does_in_local_execution():
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    cases = PATTERNS[::20]
    output = outputs_of_one_job(env, cases, batches=3)
    for number, case in enumerate(cases):
        assert_same_records(case, output[number])
