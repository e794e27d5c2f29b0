"""A varied part of the recorded cases and patterns on Spark, all in one job."""

from __future__ import annotations

import pytest

from tests.cep.cases import load as load_patterns
from tests.conformance.batches import covered
from tests.conformance.cases import Case, load
from tests.conformance.comparison import assert_same_records
from tests.conformance.jobs import outputs_of_one_job

PARTS = 3


def without_clock(case: Case) -> bool:
    waits = case.family == "async" and "attempts" not in case.data["function"]
    return covered(case) and not waits and all(item[0] != "p" for item in case.data["input"])


CASES = list(filter(without_clock, load("accepted.jsonl") + load("recorded.jsonl")))
PATTERNS = list(filter(without_clock, load_patterns("accepted.jsonl")))
SELECTED = [*CASES[::21], *PATTERNS[7::50]]


@pytest.mark.filterwarnings("ignore::flinkish.cep.UnboundedPatternWarning")
@pytest.mark.parametrize(
    "part",
    [
        0,
        *(
            pytest.param(part, marks=pytest.mark.rotating("the same with other cases"))
            for part in range(1, PARTS)
        ),
    ],
)
def test_cases_put_out_what_flink_does(env, part):
    cases = SELECTED[part::PARTS]
    output = outputs_of_one_job(env, cases, batches=2)
    for number, case in enumerate(cases):
        assert_same_records(case, output[number])
