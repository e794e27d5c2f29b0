"""Recorded patterns as jobs: in local execution, and a few of them on Spark."""

from __future__ import annotations

import itertools
from collections import defaultdict
from operator import itemgetter

import pytest

from flinkish import StreamExecutionEnvironment
from tests.cep.cases import load
from tests.conformance.batches import covered
from tests.conformance.cases import Case
from tests.conformance.comparison import Item, assert_same_records
from tests.conformance.families import family_of
from tests.conformance.jobs import input_items, results_of

pytestmark = pytest.mark.filterwarnings("ignore::flinkish.cep.UnboundedPatternWarning")


def in_event_time(case: Case) -> bool:
    return covered(case) and all(item[0] != "p" for item in case.data["input"])


CASES = list(filter(in_event_time, load("accepted.jsonl")))


def check(env: StreamExecutionEnvironment, cases: list[Case]) -> None:
    """Each case has its own operators; the elements of all come in turn, each case's in order."""
    numbered = [
        [(number, item) for item in input_items(family_of(case), case)]
        for number, case in enumerate(cases)
    ]
    in_turn = [item for row in itertools.zip_longest(*numbered) for item in row if item is not None]
    env.setParallelism(1).setMaxParallelism(2)
    env.getConfig().setElementsPerBatch(len(in_turn) // 3)
    source = env.fromCollection(in_turn)
    outputs = [
        results_of(family_of(case), case, source.filter(of(number)).map(itemgetter(1))).map(
            numbered_with(number)
        )
        for number, case in enumerate(cases)
    ]
    output: dict[int, list[Item]] = defaultdict(list)
    with outputs[0].union(*outputs[1:]).executeAndCollect() as rows:
        for number, item in rows:
            output[number].append(item)
    for number, case in enumerate(cases):
        assert_same_records(case, output[number])


def of(number):
    return lambda pair: pair[0] == number


def numbered_with(number):
    return lambda item: (number, item)


def test_cases_put_out_what_flink_does_in_local_execution():
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    check(env, CASES[::20])


@pytest.mark.slow("a job with a dozen patterns, in several batches")
def test_cases_put_out_what_flink_does_on_spark(env):
    check(env, CASES[7::50])
