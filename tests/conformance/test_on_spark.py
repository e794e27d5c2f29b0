"""A varied part of the recorded cases on Spark, all in one job."""

from __future__ import annotations

import itertools
from collections import defaultdict
from operator import itemgetter

import pytest

from tests.conformance.batches import covered
from tests.conformance.cases import Case, load
from tests.conformance.comparison import Item, assert_same_records
from tests.conformance.families import family_of
from tests.conformance.jobs import input_items, results_of

EVERY = 21


def without_clock(case: Case) -> bool:
    return covered(case) and all(item[0] != "p" for item in case.data["input"])


CASES = list(filter(without_clock, load("accepted.jsonl") + load("recorded.jsonl")))[::EVERY]


@pytest.mark.slow("a job with about thirty window operators, in several batches")
def test_cases_put_out_what_flink_does(env):
    """Each case has its own operators; the elements of all come in turn, each case's in order."""
    numbered = [
        [(number, item) for item in input_items(family_of(case), case)]
        for number, case in enumerate(CASES)
    ]
    in_turn = [item for row in itertools.zip_longest(*numbered) for item in row if item is not None]
    env.setParallelism(1).setMaxParallelism(2)
    env.getConfig().setElementsPerBatch(len(in_turn) // 3)
    source = env.fromCollection(in_turn)

    outputs = [
        results_of(family_of(case), case, source.filter(of(number)).map(itemgetter(1))).map(
            numbered_with(number)
        )
        for number, case in enumerate(CASES)
    ]
    output: dict[int, list[Item]] = defaultdict(list)
    with outputs[0].union(*outputs[1:]).executeAndCollect() as rows:
        for number, item in rows:
            output[number].append(item)

    for number, case in enumerate(CASES):
        assert_same_records(case, output[number])


def of(number):
    return lambda pair: pair[0] == number


def numbered_with(number):
    return lambda item: (number, item)
