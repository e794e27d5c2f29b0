"""Random input: elements, watermarks and clock steps that meet the edges of windows."""

from __future__ import annotations

from random import Random
from typing import Any

Item = list[Any]

MAX = 2**63 - 1
MIN = -(2**63)
UNITS = (1, 2, 3, 5, 10, 20, 50, 100, 500, 1_000, 5_000, 10_000, 60_000, 300_000)
ORIGINS = (0, 0, 0, 0, 1_700_000_000_000)


class Scale:
    """A unit of time in ms, which sizes and timestamps of a case go by."""

    def __init__(self, random: Random, span: int | None = None) -> None:
        self._random = random
        self.unit = span or max(1, random.choice(UNITS) + random.choice((0, 0, 0, 1)))

    def near(self, time: int) -> int:
        """A time at or next to ``time``, most often."""
        return time + self._random.choice((0, 0, 0, -1, 1))

    def size(self) -> int:
        """A length around the unit."""
        factor = self._random.choice((0.1, 0.25, 0.5, 1, 1, 1, 1.5, 2, 2, 4))
        return max(1, self.near(int(self.unit * factor)))


class Inputs:
    """Writes the input of one case."""

    def __init__(self, random: Random, scale: Scale, clocked: bool = False) -> None:
        self._random = random
        self._scale = scale
        self._clocked = clocked
        self._origin = random.choice(ORIGINS) + random.choice((0, 0, 0, -1, 1)) * scale.unit * 7
        self._keys = random.randint(1, 4)

    def items(
        self,
        values: tuple[int, int] | None = None,
        watermarks: bool = True,
        untimed: bool = False,
    ) -> list[Item]:
        """Elements with values from ``values``, or with values that drift."""
        random, unit = self._random, self._scale.unit
        now = self._origin
        clock = random.choice((0, 1, 10, 1_700_000_000_000))
        drift = random.choice((-1, 1)) * random.randint(0, 4)
        value, watermark = random.randint(-20, 40), MIN
        every = random.choice((0.05, 0.15, 0.3, 0.5))
        items: list[Item] = [["p", clock]] if self._clocked else []
        stamps: list[int] = []
        for step in range(random.randint(5, 60)):
            if step and watermarks and random.random() < every:
                following = self._next_watermark(now, stamps)
                if following > watermark:
                    watermark = following
                    items.append(["w", watermark])
                continue
            if step and self._clocked and random.random() < every:
                clock = max(clock, self._next_clock(clock))
                items.append(["p", clock])
                continue
            now += random.choice((0, 0, 0, 1, unit // 4, unit // 2, unit, 2 * unit))
            stamp = self._timestamp(now, stamps)
            stamps.append(stamp)
            value = random.randint(*values) if values else value + drift + random.randint(-9, 9)
            key = f"k{random.randrange(self._keys)}"
            items.append(["e", key, value, None if untimed else stamp])
        if self._clocked:
            items.append(["p", clock + random.choice((1, unit, 3 * unit))])
        return items

    def _timestamp(self, now: int, stamps: list[int]) -> int:
        random, unit = self._random, self._scale.unit
        near = self._scale.near
        match random.randrange(8):
            case 0 | 1 | 2:
                return now + random.randint(-unit, unit)
            case 3 | 4:
                return near((now + random.randint(-unit, unit)) // unit * unit)
            case 5:
                return near(random.choice(stamps)) if stamps else now
            case 6:
                return (
                    near(random.choice(stamps) + unit * random.choice((-1, 1))) if stamps else now
                )
            case _:
                return now - random.randint(0, 4 * unit)

    def _next_watermark(self, now: int, stamps: list[int]) -> int:
        random, unit = self._random, self._scale.unit
        match random.randrange(5):
            case 0:
                return now
            case 1 | 2:
                return self._scale.near((now + random.randint(-unit, unit)) // unit * unit)
            case 3 if stamps:
                return self._scale.near(random.choice(stamps))
            case _:
                return now - random.randint(-unit, 2 * unit)

    def _next_clock(self, clock: int) -> int:
        unit = self._scale.unit
        if self._random.random() < 0.5:
            step = self._random.choice((1, unit // 4, unit // 2, unit, 2 * unit))
            return clock + step
        return self._scale.near((clock // unit + 1) * unit)
