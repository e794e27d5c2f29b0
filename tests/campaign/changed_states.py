"""Keyed operators with states of one kind or another, for ``changed_jobs``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import make_dataclass
from types import ModuleType
from typing import Any

import flinkish as fl


class Mean(fl.AggregateFunction):
    """The accumulator is (sum, count)."""

    def createAccumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value.value, accumulator[1] + 1

    def getResult(self, accumulator):
        return fl.Row(key=-1, value=accumulator[0] / accumulator[1], at=0)

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


class Largest(Mean):
    """The accumulator is a list."""

    def createAccumulator(self):
        return []

    def add(self, value, accumulator):
        return [max([*accumulator, value.value])]

    def getResult(self, accumulator):
        return fl.Row(key=-1, value=accumulator[0], at=0)

    def merge(self, a, b):
        return [max(a + b)]


HOMES = {
    "as it was": ("changed_jobs_values", "Total"),
    "moved": ("changed_jobs_elsewhere", "Total"),
    "renamed": ("changed_jobs_values", "Renamed"),
}
"""The module and the name of a class of values in state."""


def at_home(home: str) -> type:
    """The class of values, which is in that module and no other now."""
    for module, _ in HOMES.values():
        sys.modules.pop(module, None)
    name, kind = HOMES[home]
    module = sys.modules[name] = ModuleType(name)
    made = make_dataclass(kind, ["value"], namespace={"__module__": name})
    setattr(module, kind, made)
    return made


class Keeps(fl.KeyedProcessFunction):
    """A running sum in a state ``kept`` of one kind or another."""

    kind = "value"
    made: Any = None
    ttl = 0
    times = False

    def open(self, context):
        runtime, descriptor = self.getRuntimeContext(), self.descriptor()
        if self.ttl:
            ttl = fl.StateTtlConfig.newBuilder(fl.Duration.ofSeconds(self.ttl)).build()
            descriptor.enableTimeToLive(ttl)
        get = {
            "value": runtime.getState,
            "text": runtime.getState,
            "object": runtime.getState,
            "list": runtime.getListState,
            "map": runtime.getMapState,
            "reducing": runtime.getReducingState,
            "aggregating": runtime.getAggregatingState,
            "aggregating list": runtime.getAggregatingState,
        }[self.kind]
        self.kept = get(descriptor)

    def descriptor(self):
        number = fl.Types.LONG()
        return {
            "value": lambda: fl.ValueStateDescriptor("kept", number),
            "text": lambda: fl.ValueStateDescriptor("kept", fl.Types.STRING()),
            "object": lambda: fl.ValueStateDescriptor("kept"),
            "list": lambda: fl.ListStateDescriptor("kept", number),
            "map": lambda: fl.MapStateDescriptor("kept", number, number),
            "reducing": lambda: fl.ReducingStateDescriptor("kept", lambda a, b: a + b, number),
            "aggregating": lambda: fl.AggregatingStateDescriptor("kept", Mean()),
            "aggregating list": lambda: fl.AggregatingStateDescriptor("kept", Largest()),
        }[self.kind]()

    def processElement(self, value, context, out):
        kept, kind = self.kept, self.kind
        if kind == "value":
            kept.update((kept.value() or 0) + value.value)
            total = kept.value()
        elif kind == "text":
            kept.update((kept.value() or "") + "x" * int(value.value))
            total = len(kept.value())
        elif kind == "object":
            kept.update(self.made((kept.value() or self.made(0)).value + value.value))
            total = kept.value().value
        elif kind == "map":
            kept.put(value.at, value.value)
            total = sum(dict(kept.entries()).values())
        elif kind.startswith("aggregating"):
            kept.add(value)
            total = kept.get().value
        else:
            kept.add(value.value)
            total = kept.get() if kind == "reducing" else sum(kept.get())
        if self.times:
            context.timerService().registerEventTimeTimer(value.at + 100)
        out.collect(fl.Row(key=value.key, value=total, at=0))

    def onTimer(self, timestamp, context, out):
        out.collect(fl.Row(key="timer", value=timestamp, at=0))


class KeepsMore(Keeps):
    """The same by another name."""


class CoKeeps(fl.KeyedCoProcessFunction):
    """``Keeps`` with another input."""

    def open(self, context):
        self.kept = self.getRuntimeContext().getState(
            fl.ValueStateDescriptor("kept", fl.Types.LONG())
        )

    processElement1 = Keeps.processElement
    kind, times = "value", False

    def processElement2(self, value, context, out):
        """Nothing comes."""


class MapKeeps(fl.RichMapFunction):
    """``Keeps`` as a map, which sees no timers."""

    def open(self, context):
        self.kept = self.getRuntimeContext().getState(
            fl.ValueStateDescriptor("kept", fl.Types.LONG())
        )

    def map(self, value):
        self.kept.update((self.kept.value() or 0) + value.value)
        return fl.Row(key=value.key, value=self.kept.value(), at=0)


def keeps(
    kind: str = "value", ttl: int = 0, times: bool = False, more: bool = False, home: str = ""
) -> Any:
    def call(keyed: Any) -> Any:
        function = KeepsMore() if more else Keeps()
        if home:
            function.made = at_home(home)
        function.kind, function.ttl, function.times = kind, ttl, times
        return keyed.process(function)

    return call


def co_keeps(keyed: Any) -> Any:
    nothing = keyed.filter(lambda e: False).keyBy(lambda e: e.key)
    return keyed.connect(nothing).process(CoKeeps())


RULES = fl.MapStateDescriptor("rules")


class Rules(fl.KeyedBroadcastProcessFunction):
    """Adds up what was broadcast."""

    def processElement(self, value, context, out):
        """Nothing to do: another order of both inputs would be as right."""

    def processBroadcastElement(self, value, context, out):
        rules = context.getBroadcastState(RULES)
        rules.put("sum", (rules.get("sum") or 0) + value.value)
        out.collect(fl.Row(key="rules", value=rules.get("sum"), at=0))


def rules(keyed: Any) -> Any:
    ones = keyed.filter(lambda e: e.at % 20 == 0)
    return keyed.connect(ones.broadcast(RULES)).process(Rules())


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "ValueState": keeps(),
    "ValueState, another class": keeps(more=True),
    "ValueState of a class": keeps("object", home="as it was"),
    "ValueState of a class that moved": keeps("object", home="moved"),
    "ValueState of a class of another name": keeps("object", home="renamed"),
    "ValueState of text": keeps("text"),
    "ValueState with TTL": keeps(ttl=3600),
    "ValueState with longer TTL": keeps(ttl=7200),
    "ValueState, timers": keeps(times=True),
    "ListState": keeps("list"),
    "MapState": keeps("map"),
    "ReducingState": keeps("reducing"),
    "AggregatingState": keeps("aggregating"),
    "AggregatingState of a list": keeps("aggregating list"),
    "two inputs": co_keeps,
    "rich map": lambda keyed: keyed.map(MapKeeps()),
    "broadcast state": rules,
}
