"""Random patterns, most of them sound, and the input that meets them."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.conformance.recorder.inputs import MIN, Item

Spec = dict[str, Any]

SKIPS = ("noSkip", "noSkip", "skipToNext", "skipPastLastEvent", "skipToFirst", "skipToLast")
POSITIVE = ("next", "followedBy", "followedBy", "followedByAny")
NEGATIVE = ("notNext", "notFollowedBy")
FUNCTIONS = ("select", "selectTimeout", "flatSelect", "process", "processTimeout", "processTimeout")


class Patterns:
    """Writes the pattern and the input of one case. ``unit`` is the time between elements, in ms."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._unit = random.choice((1, 2, 5, 10, 10, 1_000))
        self._stages = 0

    def case(self) -> Spec:
        """A whole case."""
        random = self._random
        processing = random.random() < 0.2
        pattern = self._pattern(random.choice((1, 2, 2, 3, 3, 4)), depth=0)
        if random.random() < 0.75:
            length = self._unit * random.choice((1, 2, 3, 5, 8, 12, 20))
            pattern[-1]["calls"].append(["within", max(1, length + random.choice((0, 0, -1, 1)))])
        return {
            "pattern": pattern,
            "skip": self._skip(pattern),
            "keyed": random.random() < 0.75,
            "time": "processing" if processing else "event",
            "comparator": random.random() < 0.25,
            "sidesLateData": random.random() < 0.5,
            "function": {"kind": random.choice(FUNCTIONS)},
            "input": self._input(processing),
        }

    # ------------------------------------------------------------------ patterns

    def _pattern(self, length: int, depth: int) -> list[Spec]:
        """``length`` stages. In a group (``depth`` above 0) the last is not a negative one."""
        random = self._random
        stages = [self._stage("begin", depth)]
        for number in range(1, length):
            last = number == length - 1
            negative = random.random() < (0.1 if last and depth else 0.25)
            if negative and random.random() < 0.9:
                negative = not _is_optional(stages[-1])
            stages.append(self._stage(random.choice(NEGATIVE if negative else POSITIVE), depth))
        return stages

    def _stage(self, how: str, depth: int) -> Spec:
        random = self._random
        if how not in NEGATIVE and depth < 2 and random.random() < 0.15:
            group = self._pattern(random.choice((1, 2, 2, 3)), depth + 1)
            return {"how": how, "group": group, "calls": self._quantifier(how, group=True)}
        name = f"s{self._stages}"
        self._stages += 1
        calls = self._conditions(name)
        calls += self._quantifier(how) if how not in NEGATIVE or random.random() < 0.03 else []
        if random.random() < 0.08:
            calls.append(["withinPrevious", self._window()])
        if random.random() < 0.03:
            calls.append(["within", self._window()])
        return {"how": how, "name": name, "calls": calls}

    def _conditions(self, name: str) -> list[Any]:
        random = self._random
        calls: list[Any] = []
        if random.random() < 0.93:
            calls.append(["where", self._simple()])
        if random.random() < 0.2:
            calls.append([random.choice(("where", "or")), self._condition(name)])
        return calls

    def _condition(self, name: str) -> Spec:
        random = self._random
        stage = random.choice((name, name, f"s{random.randrange(self._stages)}"))
        match random.randrange(5):
            case 0:
                return self._simple()
            case 1 | 2:
                return {"kind": "sumBelow", "stage": stage, "limit": random.choice((3, 5, 8))}
            case 3:
                return {"kind": "aboveLast", "stage": stage}
            case _:
                return {"kind": "time", "limit": random.choice((1, 2))}

    def _simple(self) -> Spec:
        kinds = self._random.sample(range(4), self._random.choice((1, 1, 1, 2, 2, 3)))
        return {"kind": "in", "of": sorted(kinds)}

    def _quantifier(self, how: str, group: bool = False) -> list[Any]:
        random = self._random
        calls: list[Any] = []
        loops = random.random() < 0.5
        window = [{"window": self._window()}] if loops and random.random() < 0.1 else []
        if loops:
            kind = random.choice(("oneOrMore", "oneOrMore", "times", "timesRange", "timesOrMore"))
            numbers = {
                "oneOrMore": [],
                "times": [random.choice((1, 2, 3))],
                "timesRange": sorted((random.choice((0, 1, 2)), random.choice((1, 2, 3)))),
                "timesOrMore": [random.choice((1, 2, 3))],
            }[kind]
            calls.append([kind, *numbers, *window])
            if random.random() < 0.5:
                calls.append([random.choice(("consecutive", "allowCombinations"))])
            if random.random() < 0.3 and not group:
                calls.append(["greedy"])
            if kind in ("oneOrMore", "timesOrMore") and random.random() < 0.25:
                calls.append(["until", self._simple()])
        if random.random() < 0.25:
            calls.append(["optional"])
        if random.random() < 0.02:
            calls.append([random.choice(("greedy", "optional", "consecutive", "oneOrMore"))])
        if random.random() < 0.03:
            random.shuffle(calls)
        return calls

    def _window(self) -> int:
        return max(1, self._unit * self._random.choice((1, 2, 3, 5)) + self._random.choice((0, 1)))

    def _skip(self, pattern: list[Spec]) -> Spec:
        random = self._random
        skip: Spec = {"kind": random.choice(SKIPS)}
        if skip["kind"].startswith("skipTo") and skip["kind"] != "skipToNext":
            names = [stage["name"] for stage in pattern if "name" in stage]
            usual = names and random.random() < 0.95
            skip["name"] = random.choice(names) if usual else f"s{random.randrange(9)}"
            if random.random() < 0.1:
                skip["throws"] = True
        return skip

    # ------------------------------------------------------------------ input

    def _input(self, processing: bool) -> list[Item]:
        random, unit = self._random, self._unit
        items: list[Item] = [["p", random.choice((0, 1, 1_000))]]
        clock = items[0][1]
        now = random.choice((0, 0, 100, 1_700_000_000_000, -5 * unit))
        watermark = MIN
        keys = random.choice((1, 1, 2, 3))
        disorder = random.choice((0, 0, unit, 4 * unit))
        every = random.choice((0.05, 0.15, 0.3))
        for number in range(random.choice((6, 12, 20, 30))):
            now += random.choice((0, 0, unit, unit, 2 * unit, 6 * unit if number % 7 == 0 else 1))
            stamp = now - (random.randint(0, disorder) if disorder else 0)
            value = number * 10 + random.choice((0, 0, 1, 1, 2, 2, 3, 4))
            items.append(["e", f"k{random.randrange(keys)}", value, stamp])
            if processing and random.random() < 0.5:
                clock += random.choice((1, unit, unit, 3 * unit))
                items.append(["p", clock])
            if random.random() < every:
                reached = now - random.choice((0, 0, unit, disorder, 2 * disorder, -unit))
                if reached > watermark:
                    watermark = reached
                    items.append(["w", watermark])
        if processing:
            items.append(["p", clock + random.choice((1, unit, 30 * unit))])
        return items if processing else items[1:]


def _is_optional(stage: Spec) -> bool:
    return any(call[0] == "optional" or call[:2] == ["timesRange", 0] for call in stage["calls"])
