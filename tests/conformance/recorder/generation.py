"""Random cases of every family, without what Flink puts out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.conformance.recorder.inputs import Inputs, Item, Scale
from tests.conformance.recorder.patterns import Patterns
from tests.conformance.recorder.windowing import Windowing

Data = dict[str, Any]

FUNCTIONS = ("reduce", "aggregate", "process", "process-state", "process-global", "apply")
ROLLING = ("sum", "min", "max", "minBy", "maxBy", "reduce")


class Cases:
    """Random cases; the same seed gives the same cases."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._seed = seed

    def take(self, count: int, families: tuple[str, ...] = ()) -> Iterator[Data]:
        """``count`` cases, of the ``families`` named or of all."""
        makers = {
            "window": (self._window, 60),
            "join": (self._join, 8),
            "keyedProcess": (self._keyed_process, 12),
            "two": (self._two, 8),
            "rolling": (self._rolling, 2),
            "windowRolling": (self._window_rolling, 2),
            "watermarks": (self._watermarks, 6),
            "async": (self._asynchronous, 2),
            "cep": (lambda: Patterns(self._random).case(), 0),
        }
        chosen = [name for name in makers if not families or name in families]
        weights = [makers[name][1] for name in chosen] if len(chosen) > 1 else None
        for number in range(count):
            family = self._random.choices(chosen, weights)[0]
            case = makers[family][0]()
            if re.search("Continuous|Timeout|EarlyLate|Capped", str(case)):
                case["tieOrder"] = True
            yield {"name": f"{self._seed}-{number:04}-{family}", "family": family, **case}

    # ---------------------------------------------------------------- families

    def _window(self) -> Data:
        random = self._random
        scale = Scale(random)
        windowing = Windowing(random, scale)
        assigner = windowing.assigner()
        trigger = windowing.trigger(assigner)
        dynamic = "gapExpr" in assigner
        clocked = windowing.wantsClock(assigner, trigger) or random.random() < 0.3
        inputs = Inputs(random, scale, clocked)
        values = (1, 3 * scale.unit) if dynamic else None
        event_time = "Processing" not in assigner["kind"]
        return {
            "assigner": assigner,
            "trigger": trigger,
            "evictor": windowing.evictor(),
            "allowedLateness": windowing.lateness(),
            "function": {"kind": random.choice(FUNCTIONS)},
            "input": inputs.items(values=values, untimed=not event_time and random.random() < 0.2),
        }

    def _join(self) -> Data:
        random = self._random
        scale = Scale(random)
        if random.random() < 0.4:
            return {
                "function": self._interval_join(scale),
                "input": self._two_sided(Inputs(random, scale), ("a", "b")),
            }
        windowing = Windowing(random, scale)
        assigner = windowing.assigner(joins=True)
        trigger = windowing.trigger(assigner, plain=True)
        return {
            "assigner": assigner,
            "trigger": trigger,
            "allowedLateness": windowing.lateness(),
            "function": {"kind": random.choice(("windowJoin", "coGroup"))},
            "input": self._two_sided(Inputs(random, scale), ("a", "b")),
        }

    def _keyed_process(self) -> Data:
        random = self._random
        kind = random.choice((None, "both", "ttl"))
        scale = Scale(random, span=random.choice((3, 10, 30)))
        values = random.choice(((-30, 45), (0, 60)))
        items = Inputs(random, scale, clocked=kind is not None).items(
            values=values, untimed=kind == "both" and random.random() < 0.1
        )
        if kind is None:
            return {"input": items}
        if kind == "both":
            return {"function": {"kind": kind}, "input": items}
        function = {
            "kind": kind,
            "ttl": random.choice((1, 2, 5, 10, 20, 100)),
            "update": random.choice(("OnCreateAndWrite", "OnReadAndWrite")),
            "visibility": random.choice(("NeverReturnExpired", "ReturnExpiredIfNotCleanedUp")),
        }
        return {"function": function, "input": items}

    def _two(self) -> Data:
        random = self._random
        kind = random.choice(("coProcess", "broadcast", "intervalJoin"))
        scale = Scale(random, span=random.choice((5, 20, 60)))
        inputs = Inputs(random, scale, clocked=True)
        function = self._interval_join(scale) if kind == "intervalJoin" else {"kind": kind}
        items = self._two_sided(inputs, (1, 2), own_watermarks=True)
        if kind == "broadcast":
            items = [self._rule(item) if item[:2] == ["e", 2] else item for item in items]
        return {"function": function, "input": items}

    def _rolling(self) -> Data:
        random = self._random
        inputs = Inputs(random, Scale(random))
        return {"function": self._rolling_function(), "input": inputs.items(values=(-3, 6))}

    def _window_rolling(self) -> Data:
        scale = Scale(self._random)
        inputs = Inputs(self._random, scale)
        return {
            "function": self._rolling_function(),
            "assigner": {"kind": "TumblingEventTimeWindows", "size": scale.unit},
            "input": inputs.items(values=(-3, 6)),
        }

    def _watermarks(self) -> Data:
        random = self._random
        kinds = ("forMonotonousTimestamps", "forBoundedOutOfOrderness", "noWatermarks")
        strategy: Data = {"kind": random.choice((*kinds, "punctuated", "lastThree"))}
        if strategy["kind"] == "forBoundedOutOfOrderness":
            strategy["bound"] = random.choice((0, 1, 5, 20))
        if random.random() < 0.3:
            strategy["timestampFromValue"] = random.choice((1, 10, -1))
        if random.random() < 0.5:
            strategy["idleness"] = random.choice((1, 5, 20, 50))
        scale = Scale(random, span=random.choice((3, 10, 30)))
        items = Inputs(random, scale, clocked=True).items(values=(-2, 30), watermarks=False)
        interval = random.choice((0, 1, 5, 10, 20, 200))
        return {"strategy": strategy, "interval": interval, "input": items}

    def _asynchronous(self) -> Data:
        """Requests that hang, or are tried again, keep their place only where results are in order."""
        random = self._random
        kind = random.choice(("ordered", "ordered", "unordered"))
        function: Data = {"kind": kind}
        if random.random() < 0.5:
            function["attempts"] = random.choice((1, 2, 5))
        endings = [0, 1, 2]
        if kind == "ordered" and "attempts" not in function:
            endings.append(4)
        if kind == "ordered" and function.get("attempts", 0) > 2:
            endings.append(3)
        items = Inputs(random, Scale(random)).items(values=(0, 100))
        values = iter(range(len(items)))
        # Each element is asked about once: a separate value, with an ending that the case may have
        drawn = [
            [*item[:2], 5 * next(values) + random.choice(endings), item[3]]
            if item[0] == "e"
            else item
            for item in items
        ]
        return {"function": function, "input": drawn}

    # ------------------------------------------------------------------ pieces

    def _rolling_function(self) -> Data:
        kind = self._random.choice(ROLLING)
        if kind.endswith("By"):
            return {"kind": kind, "first": self._random.random() < 0.5}
        return {"kind": kind}

    def _interval_join(self, scale: Scale) -> Data:
        lower = scale.near(self._random.choice((0, 0, -1, 1, -3, 3)) * scale.unit)
        width = self._random.choice((0, 1, 2, 5, scale.unit, 10 * scale.unit))
        function = {"kind": "intervalJoin", "lower": lower, "upper": lower + width}
        for bound in ("lowerBoundExclusive", "upperBoundExclusive"):
            if self._random.random() < 0.25:
                function[bound] = True
        return function

    def _two_sided(
        self, inputs: Inputs, sides: tuple[Any, Any], own_watermarks: bool = False
    ) -> list[Item]:
        items = inputs.items(values=(-20, 60))
        marked = ("e", "w") if own_watermarks else ("e",)
        return [
            [item[0], self._random.choice(sides), *item[1:]] if item[0] in marked else item
            for item in items
        ]

    def _rule(self, item: Item) -> Item:
        threshold = self._random.choice((-1, 0, 5, 10, 20, 50, 13))
        return [*item[:2], f"r{self._random.randrange(4)}", threshold, item[4]]
