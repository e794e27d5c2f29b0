"""Family ``cep``: a pattern with its stages, and what is done with matches."""

from __future__ import annotations

import json

from flinkish import OutputTag
from flinkish.cep import (
    CEP,
    AfterMatchSkipStrategy,
    IterativeCondition,
    Pattern,
    PatternProcessFunction,
    SimpleCondition,
    TimedOutPartialMatchHandler,
    WithinType,
)
from tests.conformance.family import Family

LATE = OutputTag("late")
TIMED_OUT = OutputTag("timedOut")


class PatternFamily(Family):
    name = "cep"

    def build(self, case):
        return lambda stream: matched(stream, case.data)

    def sides(self, case):
        return {"late": LATE, "timedOut": TIMED_OUT}


def matched(stream, data):
    """The results of a case over ``stream``."""
    keyed = data["keyed"]
    input_ = stream.keyBy(lambda element: element[0]) if keyed else stream
    comparator = (lambda a, b: b[1] % 10 - a[1] % 10) if data.get("comparator") else None
    pattern = CEP.pattern(input_, pattern_of(data), comparator)
    if data["time"] == "processing":
        pattern = pattern.inProcessingTime()
    if data["sidesLateData"]:
        pattern = pattern.sideOutputLateData(LATE)
    timed_out = TimedOut(keyed)
    match data["function"]["kind"]:
        case "select":
            return pattern.select(Labelled("match", keyed))
        case "selectTimeout":
            return pattern.select(TIMED_OUT, timed_out, Labelled("match", keyed))
        case "flatSelect":
            labels = Labelled("first", keyed), Labelled("second", keyed)
            return pattern.flatSelect(
                TIMED_OUT,
                lambda match, timestamp: [
                    timed_out(match, timestamp),
                    timed_out(match, -timestamp),
                ],
                lambda match: [labelled(match) for labelled in labels],
            )
        case "process":
            return pattern.process(Plain(keyed))
        case _:
            return pattern.process(WithTimeouts(keyed))


def pattern_of(data):
    """The pattern of a case."""
    skip = data["skip"]
    names = [skip["name"]] if "name" in skip else []
    strategy = getattr(AfterMatchSkipStrategy, skip["kind"])(*names)
    if skip.get("throws"):
        strategy = strategy.throwExceptionOnMiss()
    return stages(data["pattern"], strategy)


def stages(specs, strategy=None):
    pattern = None
    for spec in specs:
        content = stages(spec["group"]) if "group" in spec else spec["name"]
        if pattern is None:
            pattern = Pattern.begin(content, strategy)
        else:
            pattern = getattr(pattern, spec["how"])(content)
        for name, *arguments in spec["calls"]:
            pattern = called(pattern, name, arguments)
    return pattern


def called(pattern, name, arguments):
    options = arguments.pop() if arguments and "window" in str(arguments[-1]) else {}
    window = options.get("window")
    match name:
        case "where":
            return pattern.where(condition(*arguments))
        case "or":
            return pattern.or_(condition(*arguments))
        case "until":
            return pattern.until(condition(*arguments))
        case "times" | "timesRange":
            return pattern.times(*arguments, windowTime=window)
        case "oneOrMore" | "timesOrMore":
            return getattr(pattern, name)(*arguments, windowTime=window)
        case "withinPrevious":
            return pattern.within(*arguments, WithinType.PREVIOUS_AND_CURRENT)
        case _:
            return getattr(pattern, name)(*arguments)


def condition(spec):
    match spec["kind"]:
        case "in":
            return Kinds(spec["of"])
        case "sumBelow":
            return SumBelow(spec["stage"], spec["limit"])
        case "aboveLast":
            return above_last(spec["stage"])
        case _:
            limit = spec["limit"]
            return lambda event, ctx: ctx.timestamp() % 3 < limit


class Kinds(SimpleCondition):
    def __init__(self, kinds):
        self.kinds = kinds

    def filter(self, value):
        return value[1] % 10 in self.kinds


class SumBelow(IterativeCondition):
    def __init__(self, stage, limit):
        self.stage, self.limit = stage, limit

    def filter(self, value, ctx):
        events = ctx.getEventsForPattern(self.stage)
        return value[1] % 10 + sum(event[1] % 10 for event in events) < self.limit


def above_last(stage):
    def accept(event, ctx):
        last = -1
        for earlier in ctx.getEventsForPattern(stage):
            last = earlier[1] % 10
        return event[1] % 10 >= last

    return accept


def key_of(match, keyed):
    return next(iter(match.values()))[0][0] if keyed else "all"


def content(match):
    return [[stage, [value for _, value in events]] for stage, events in match.items()]


class Labelled:
    def __init__(self, label, keyed):
        self.label, self.keyed = label, keyed

    def __call__(self, match):
        return [self.label, key_of(match, self.keyed), content(match)]


class TimedOut:
    def __init__(self, keyed):
        self.keyed = keyed

    def __call__(self, match, timestamp):
        text = json.dumps([timestamp, content(match)], separators=(",", ":"))
        return key_of(match, self.keyed), text


class Plain(PatternProcessFunction):
    def __init__(self, keyed):
        self.keyed = keyed

    def processMatch(self, match, ctx, out):
        out.collect(["match", key_of(match, self.keyed), content(match), ctx.timestamp()])


class WithTimeouts(Plain, TimedOutPartialMatchHandler):
    def processTimedOutMatch(self, match, ctx):
        ctx.output(TIMED_OUT, TimedOut(self.keyed)(match, ctx.timestamp()))
