"""Expiring state with broadcast rules: finds users who do things too often, by changing rules.

A rule says how many actions of a kind within which time are too many. All state of a user expires:
an action once it has been checked, the counts of a rule once they are too old, and after a while
the note that the user was reported.

``python -m examples.broadcast_rules``
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

from flinkish import (
    Collector,
    DataStream,
    Duration,
    KeyedBroadcastProcessFunction,
    MapState,
    MapStateDescriptor,
    OpenContext,
    StateTtlConfig,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)

QUIET = Duration.ofMinutes(30)
"""How long, by the clock, a user is not reported again for the same rule."""


class Action(NamedTuple):
    """What a user did, at a time in ms."""

    user: str
    kind: str
    at: int


class Rule(NamedTuple):
    """So many actions of a kind within so many ms are too many, from a time in ms on.

    A later rule of the same name takes its place; a limit of 0 takes it back.
    """

    name: str
    kind: str
    limit: int
    within: int
    at: int


class Alert(NamedTuple):
    """A user broke a rule, at a time in ms."""

    user: str
    rule: str
    at: int

    def __str__(self) -> str:
        return f"after {self.at // 1000} s {self.user} broke the rule of {self.rule}"


RULES = MapStateDescriptor[str, list[Rule]]("rules")
"""By name, the rule in force and those that will take its place."""

PENDING = MapStateDescriptor[int, list[Action]]("pending actions")
"""By timestamp, what a user did that has not been checked yet."""

RECENT = MapStateDescriptor[str, list[int]]("recent actions")
"""By rule, when a user did what it is about."""

REPORTED = MapStateDescriptor[str, bool]("reported")
"""The rules that a user was reported for a short while ago."""

REPORTED.enableTimeToLive(StateTtlConfig.newBuilder(QUIET).build())


def build(actions: DataStream[Action], rules: DataStream[Rule]) -> DataStream[Alert]:
    """The job, from actions and rules to alerts."""
    timed_actions = actions.assignTimestampsAndWatermarks(
        WatermarkStrategy[Action]
        .forMonotonousTimestamps()
        .withTimestampAssigner(lambda action, timestamp: action.at)
    )
    timed_rules = rules.assignTimestampsAndWatermarks(
        WatermarkStrategy[Rule]
        .forMonotonousTimestamps()
        .withTimestampAssigner(lambda rule, timestamp: rule.at)
    )
    return (
        timed_actions.keyBy(lambda action: action.user)
        .connect(timed_rules.broadcast(RULES))
        .process(RuleCheck())
        .name("rule check")
    )


class RuleCheck(KeyedBroadcastProcessFunction[str, Action, Rule, Alert]):
    """Checks an action when the watermark reaches it: the rules up to then have come."""

    pending: MapState[int, list[Action]]
    recent: MapState[str, list[int]]
    reported: MapState[str, bool]

    def open(self, openContext: OpenContext) -> None:
        self.pending = self.getRuntimeContext().getMapState(PENDING)
        self.recent = self.getRuntimeContext().getMapState(RECENT)
        self.reported = self.getRuntimeContext().getMapState(REPORTED)

    def processElement(
        self,
        value: Action,
        ctx: KeyedBroadcastProcessFunction.ReadOnlyContext[str],
        out: Collector[Alert],
    ) -> None:
        self.pending.put(value.at, [*(self.pending.get(value.at) or []), value])
        ctx.timerService().registerEventTimeTimer(value.at)

    def processBroadcastElement(
        self,
        value: Rule,
        ctx: KeyedBroadcastProcessFunction.Context[str],
        out: Collector[Alert],
    ) -> None:
        rules = ctx.getBroadcastState(RULES)
        versions = rules.get(value.name) or []
        past = [rule for rule in versions if rule.at <= ctx.currentWatermark()]
        rules.put(value.name, [*past[-1:], *versions[len(past) :], value])
        ctx.applyToKeyedState(REPORTED, lambda user, reported: reported.remove(value.name))

    def onTimer(
        self,
        timestamp: int,
        ctx: KeyedBroadcastProcessFunction.OnTimerContext[str],
        out: Collector[Alert],
    ) -> None:
        rules = {
            name: rule
            for name, versions in ctx.getBroadcastState(RULES).immutableEntries()
            if (rule := in_force(versions, timestamp)) is not None
        }
        for name, times in list(self.recent.entries()):
            still = [t for t in times if name in rules and t > timestamp - rules[name].within]
            if still:
                self.recent.put(name, still)
            else:
                self.recent.remove(name)
        for action in self.pending.get(timestamp) or []:
            for rule in rules.values():
                if rule.kind == action.kind:
                    self.count(action, rule, ctx, out)
        self.pending.remove(timestamp)

    def count(
        self,
        action: Action,
        rule: Rule,
        ctx: KeyedBroadcastProcessFunction.OnTimerContext[str],
        out: Collector[Alert],
    ) -> None:
        """Count an action, and report the user if that is one too many."""
        times = [*(self.recent.get(rule.name) or []), action.at]
        self.recent.put(rule.name, times)
        ctx.timerService().registerEventTimeTimer(action.at + rule.within)
        if len(times) >= rule.limit and not self.reported.contains(rule.name):
            self.reported.put(rule.name, True)
            out.collect(Alert(action.user, rule.name, action.at))


def in_force(versions: list[Rule], at: int) -> Rule | None:
    """The version of a rule that holds at that time."""
    begun = [rule for rule in versions if rule.at <= at]
    return begun[-1] if begun and begun[-1].limit > 0 else None


SECOND = 1000
MINUTE = 60 * SECOND

BUILT_IN_RULES = [
    Rule("three wrong passwords a minute", "wrong password", 3, MINUTE, 0),
    Rule("two transfers in ten seconds", "transfer", 2, 10 * SECOND, 0),
    Rule("two transfers in ten seconds", "transfer", 0, 0, 200 * SECOND),
    Rule("five transfers in two minutes", "transfer", 5, 2 * MINUTE, 200 * SECOND),
]
BUILT_IN_ACTIONS = [
    *(Action("ada", "wrong password", at * SECOND) for at in (5, 15, 40, 50)),
    *(Action("bob", "wrong password", at * SECOND) for at in (60, 100, 150)),
    *(Action("cy", "transfer", at * SECOND) for at in (180, 185)),
    *(Action("dan", "transfer", at * SECOND) for at in (210, 215, 240, 270, 300)),
]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the alerts of a few actions and rules."""
    argparse.ArgumentParser(prog="python -m examples.broadcast_rules").parse_args(arguments)
    env = StreamExecutionEnvironment.getExecutionEnvironment()
    build(env.fromCollection(BUILT_IN_ACTIONS), env.fromCollection(BUILT_IN_RULES)).print()
    env.execute("Broadcast Rules")


if __name__ == "__main__":
    main()
