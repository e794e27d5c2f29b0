"""Every recorded pattern: as it came, cut by restarts, in batches, and those that Flink refuses."""

from __future__ import annotations

import random
import re
from functools import partial
from typing import NamedTuple

import pytest

from flinkish.api.errors import FlinkishError, IllegalStateError, MalformedPatternError
from flinkish.testing import StreamTestHarness
from tests.cep.cases import load
from tests.conformance.batches import covered, replay_in_batches
from tests.conformance.cases import Case, check_each, parametrized
from tests.conformance.comparison import assert_same_records
from tests.conformance.families import family_of
from tests.conformance.replay import goes_on_the_same, puts_out_the_same, replay

pytestmark = [
    pytest.mark.slow("780 recorded cases"),
    pytest.mark.filterwarnings("ignore::flinkish.cep.UnboundedPatternWarning"),
]

CASES = load("accepted.jsonl")
IN_BATCHES = [case for case in CASES if covered(case)]
REFUSED = load("rejected.jsonl")
SOME = 12


class Refusal(NamedTuple):
    """Words of Flink's message, the error that flinkish raises, and words of its message."""

    message: str
    words: str
    error: type[FlinkishError] = MalformedPatternError
    building: bool = True


REFUSALS = (
    Refusal("Option not applicable to NOT pattern", "accepts no event"),
    Refusal("window length between the previous and current", "Shorten the first"),
    Refusal("until condition is only applicable", "does not loop"),
    Refusal("either combinations or consecutive", "Call one of consecutive()"),
    Refusal("Consecutive already applied", "Call one of consecutive()"),
    Refusal("optional path to NOT condition", "before it is optional"),
    Refusal("not applicable to FollowedByAny", "allows combinations"),
    Refusal("Optional already applied", "is optional already"),
    Refusal("NotFollowedBy is not supported without", "Call within(Duration)"),
    Refusal("can not be found in the given Pattern", "the pattern has no stage"),
    Refusal("cannot be preceded by greedy", "which is greedy"),
    Refusal("not applicable to singleton", "nothing to prolong"),
    Refusal("Already applied quantifier", "has a quantifier already"),
    Refusal("Consecutive not applicable", "accepts one event"),
    Refusal("Combinations not applicable", "accepts one event"),
    Refusal("not applicable to group pattern", "a group cannot be greedy"),
    Refusal("NOT pattern cannot be optional", "cannot be optional"),
    Refusal("Could not skip to first element", "first of the match", IllegalStateError, False),
    Refusal(
        "No such element in the found match", "no event of the stage", IllegalStateError, False
    ),
)


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


def in_batches(case: Case) -> None:
    chosen = random.Random(case.name)
    assert_same_records(case, replay_in_batches(family_of(case), case, chosen))


@parametrized(IN_BATCHES[::SOME])
def test_puts_out_what_flink_does_in_batches(cases: list[Case]) -> None:
    check_each(cases, in_batches)


def in_batches_of_one_worker(case: Case) -> None:
    chosen = random.Random(case.name)
    assert_same_records(case, replay_in_batches(family_of(case), case, chosen, keepsTasks=True))


@pytest.mark.thorough("hundreds of jobs; some of them run always")
@parametrized(IN_BATCHES)
def test_puts_out_what_flink_does_in_any_batches(cases: list[Case]) -> None:
    check_each(cases, in_batches_of_one_worker)


def is_refused(case: Case) -> None:
    [refusal] = [refusal for refusal in REFUSALS if refusal.message in case.data["message"]]
    family = family_of(case)
    build = partial(StreamTestHarness, family.build(case))
    if not refusal.building:
        assert case.data["phase"] == "run"
        build()
    attempt = build if refusal.building else partial(replay, family, case)
    with pytest.raises(refusal.error, match=re.escape(refusal.words)):
        attempt()


@parametrized(REFUSED)
def test_refuses_what_flink_refuses(cases: list[Case]) -> None:
    check_each(cases, is_refused)
