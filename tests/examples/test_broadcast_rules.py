"""Expiring state with broadcast rules, on the harness: any order of the inputs, and what is kept."""

from __future__ import annotations

import random

import pytest

from examples.broadcast_rules import (
    BUILT_IN_ACTIONS,
    BUILT_IN_RULES,
    QUIET,
    SECOND,
    Action,
    Alert,
    Rule,
    build,
)
from flinkish.testing import StreamTestHarness
from tests.streams import values

TWICE = Rule("twice", "transfer", limit=2, within=10 * SECOND, at=0)


class Inputs:
    """Actions and rules on the harness, and a clock that makes watermarks of them."""

    def __init__(self) -> None:
        self.harness = StreamTestHarness(build)
        self.now = 0

    def act(self, *seconds: int, user: str = "ada") -> None:
        for second in seconds:
            self.harness.processElement1(Action(user, "transfer", second * SECOND))

    def rule(self, rule: Rule) -> None:
        self.harness.processElement2(rule)

    def watermarks(self) -> None:
        self.now += 200
        self.harness.setProcessingTime(self.now)

    def alerts(self) -> list[object]:
        self.watermarks()
        self.harness.endInput()
        return values(self.harness)


def test_actions_are_checked_when_the_rules_up_to_them_have_come() -> None:
    inputs = Inputs()
    inputs.act(1, 2, 20)
    inputs.watermarks()
    assert values(inputs.harness) == []  # the rules may lag
    inputs.rule(TWICE)
    inputs.rule(Rule("other", "login", 1, SECOND, at=15 * SECOND))
    inputs.watermarks()
    assert values(inputs.harness) == [Alert("ada", "twice", 2 * SECOND)]


def test_what_is_older_than_the_rule_looks_back_does_not_count() -> None:
    inputs = Inputs()
    inputs.rule(TWICE)
    inputs.act(1, 11, 21)
    assert inputs.alerts() == []
    inputs = Inputs()
    inputs.rule(TWICE)
    inputs.act(1, 11, 20)
    assert inputs.alerts() == [Alert("ada", "twice", 20 * SECOND)]


def test_users_are_apart() -> None:
    inputs = Inputs()
    inputs.rule(TWICE)
    inputs.act(1)
    inputs.act(2, user="bob")
    assert inputs.alerts() == []


@pytest.mark.parametrize("seed", range(20))
def test_the_order_in_which_the_inputs_come_does_not_matter(seed: int) -> None:
    chance = random.Random(seed)
    inputs = Inputs()
    actions, rules = list(reversed(BUILT_IN_ACTIONS)), list(reversed(BUILT_IN_RULES))
    actions.sort(key=lambda action: action.at, reverse=True)
    while actions or rules:
        if rules and (not actions or chance.random() < 0.3):
            inputs.rule(rules.pop())
        else:
            inputs.harness.processElement1(actions.pop())
        if chance.random() < 0.5:
            inputs.watermarks()
    assert inputs.alerts() == [
        Alert("ada", "three wrong passwords a minute", 40 * SECOND),
        Alert("cy", "two transfers in ten seconds", 185 * SECOND),
        Alert("dan", "five transfers in two minutes", 300 * SECOND),
    ]


def test_all_that_is_kept_of_a_user_expires() -> None:
    inputs = Inputs()
    inputs.rule(TWICE)
    inputs.act(1, 2)
    assert inputs.alerts() == [Alert("ada", "twice", 2 * SECOND)]
    assert inputs.harness.numEventTimeTimers() == 0
    of_rules_and_reported = inputs.harness.numKeyedStateEntries()
    inputs.harness.setProcessingTime(inputs.now + QUIET.toMillis())
    assert inputs.harness.numKeyedStateEntries() == of_rules_and_reported - 1


def test_a_user_is_reported_again_after_a_quiet_time_of_the_clock() -> None:
    inputs = Inputs()
    inputs.rule(TWICE)
    inputs.rule(Rule("other", "login", 1, SECOND, at=99 * SECOND))
    inputs.act(1, 2, 3)
    inputs.watermarks()
    inputs.act(20, 21, 32)
    inputs.watermarks()
    assert values(inputs.harness) == [Alert("ada", "twice", 2 * SECOND)]
    inputs.now += QUIET.toMillis()
    inputs.act(50, 51)
    assert inputs.alerts()[1:] == [Alert("ada", "twice", 51 * SECOND)]


def test_a_rule_that_changes_reports_users_anew() -> None:
    inputs = Inputs()
    inputs.rule(TWICE)
    inputs.act(1, 2)
    inputs.act(8, user="bob")
    inputs.rule(Rule("other", "login", 1, SECOND, at=9 * SECOND))
    inputs.watermarks()
    inputs.rule(TWICE._replace(limit=3, at=10 * SECOND))
    inputs.act(11, 12, 13)
    assert inputs.alerts() == [
        Alert("ada", "twice", 2 * SECOND),
        Alert("ada", "twice", 13 * SECOND),  # the third within ten seconds, by the new limit
    ]
