"""Random streams of windows, and what can be seen of an operator that runs them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from flinkish import AggregateFunction, ProcessWindowFunction, TimeWindow
from flinkish.api.errors import FlinkishError
from flinkish.api.functions.aggregations import ComparableAggregator
from flinkish.api.plan.window_operator import apply_call, process_call
from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from tests.runtime.windowing.operators import WindowOperatorDriver

far = st.sampled_from([MIN_TIMESTAMP + 1, MAX_TIMESTAMP, MAX_TIMESTAMP - 7])
timestamps = st.integers(-30, 70)
elements = st.tuples(st.sampled_from("abc"), st.integers(0, 9), timestamps | (timestamps | far))
steps = st.one_of(
    st.lists(elements, max_size=12), st.integers(0, 40), st.just("restart"), st.just("end")
)


class Digest(AggregateFunction):
    """All values in their order; where the sum is odd there is no result."""

    def createAccumulator(self):
        return []

    def add(self, value, accumulator):
        accumulator.append(value)
        return accumulator

    def merge(self, a, b):
        return [*a, *b]

    def getResult(self, accumulator):
        return None if sum(value[1] for value in accumulator) % 2 else tuple(accumulator)


def joined(a, b):
    return a[0], a[1] + b[1], *a[2:], b


class Totals(AggregateFunction):
    """An aggregation that can be vectorised whatever the grouping: a sum, a count and extremes."""

    def createAccumulator(self):
        return (3, 0, 99, -1)

    def add(self, value, accumulator):
        total, count, least, most = accumulator
        number = value[1]
        return total + number, count + 1, min(least, number), max(most, number * 2 - 5)

    def merge(self, a, b):
        return a[0] + b[0] - 3, a[1] + b[1], min(a[2], b[2]), max(a[3], b[3])

    def getResult(self, accumulator):
        return accumulator[0] // accumulator[1], accumulator[2:]


class Means(AggregateFunction):
    """An aggregation that can be vectorised only if elements are added in their order: a sum of
    floats."""

    def createAccumulator(self):
        return (0.0, 0)

    def add(self, value, accumulator):
        return accumulator[0] + value[1] / 7, accumulator[1] + 1

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]

    def getResult(self, accumulator):
        return accumulator[0] / accumulator[1]


class LargeTotals(Totals):
    """Sums that leave 64 bits soon."""

    def createAccumulator(self):
        return (0, 0, 0, 0)

    def add(self, value, accumulator):
        return (accumulator[0] + value[1] * 2**58, *accumulator[1:3], value[1])

    def getResult(self, accumulator):
        return accumulator


def listed(key, window, elements):
    yield key, window, list(elements)


class Last(Totals):
    """The last number."""

    def createAccumulator(self):
        return -1

    def add(self, value, accumulator):
        return value[1]

    def getResult(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return b


BY_ORDER: list[dict[str, Any]] = [
    {"aggregation": lambda a, b: a},
    {"aggregation": lambda a, b: b},
    {"aggregation": lambda a, b: (b[0], a[1])},
    {"aggregation": Last()},
    {"aggregation": ComparableAggregator(0, "maxBy")},
    {"aggregation": ComparableAggregator(0, "maxBy", first=False)},
    {"aggregation": lambda a, b: max(a, b, key=lambda value: value[0])},
]
"""Functions that depend on the order of the elements."""


def text_of(key):
    """The text of a key, which may be a tuple."""
    return key[0] if isinstance(key, tuple) else key


class Spans(ProcessWindowFunction[Any, Any, str, TimeWindow]):
    """The result with its window, and once more where its key is not "a"."""

    TIMES = 2

    def open(self, openContext):
        self.added = 1

    def process(self, key, context, elements, out):
        window = context.window()
        for value in elements:
            out.collect((key, window, window.maxTimestamp() - window.getStart(), value))
            if text_of(key) != "a":
                out.collect((key, window, self.added * self.TIMES, value))


def ends(key, context, elements):
    """The end of the window where it is no multiple of 20."""
    return [(key, context.window().end, each) for each in elements if context.window().end % 20]


def yielded(key, window, elements):
    (value,) = elements
    yield (key, window.start, value)
    if text_of(key) < "c":
        yield (key, max(window.start, 7), next(iter(elements)))


SPANS = Spans()
WINDOW_FUNCTIONS: list[dict[str, Any]] = [
    {"function": SPANS, "call": process_call(SPANS)},
    {"call": process_call(ends)},
    {"call": apply_call(yielded)},
]
"""Functions that compute their results from a key, a window, and the one result of an
aggregation."""


@dataclass(frozen=True)
class Moment:
    """``seen``: output and late records; ``due``: the next event-time timer; and how many timers and
    entries of state there are."""

    seen: tuple[Any, ...]
    due: int | None
    timers: int = 0
    entries: int = 0


def run(driver: WindowOperatorDriver, steps: list[Any]) -> list[Moment]:
    """Return the observations after every step, up to the first that is refused."""
    moments = []
    for step in steps:
        try:
            take(driver, step)
        except FlinkishError as refusal:
            moments.append(Moment((str(refusal),), None))
            break
        operator = driver.operator
        dropped = operator.metrics.numLateRecordsDropped
        seen = by_key(driver.output), dropped
        timers, entries = operator.numEventTimeTimers(), driver.numEntries()
        moments.append(Moment(seen, operator.nextEventTimeTimer(), timers, entries))
        driver.output.clear()
    return moments


def take(driver: WindowOperatorDriver, step: Any) -> None:
    """Take one of ``steps``."""
    if step == "restart":
        driver.restart()
    elif step == "end":
        driver.watermark(MAX_TIMESTAMP)
    elif isinstance(step, int):
        now = driver.operator.currentWatermark
        driver.watermark(-30 if now == MIN_TIMESTAMP else min(now + step, MAX_TIMESTAMP))
    else:
        driver.process([(key, (key, number), ts) for key, number, ts in step])


def by_key(output: list[tuple[Any, ...]]) -> dict[Any, list[Any]]:
    """The order among keys is open, and so is that between main and side outputs."""
    groups = defaultdict(list)
    for label, *item in output:
        value = item[0]
        while isinstance(value, tuple) and value:
            value = value[0]
        groups[label, value].append(item)
    return groups


def by_time(moment: Moment) -> Any:
    """Return the observations; the order of the results of different keys at one time is open, and these results do not
    say of which key they are."""
    if len(moment.seen) < 2:
        return moment.seen
    output, dropped = moment.seen
    ordered = {
        name: sorted(items, key=_time_and_text) if name[0] == "main" else items
        for name, items in output.items()
    }
    return ordered, dropped


def _time_and_text(item: list[Any]) -> tuple[int, str]:
    return item[-1], repr(without_names(item))


def without_names(value: Any) -> Any:
    """A Row equals the tuple of its values, and has to stand where that stands."""
    return tuple(map(without_names, value)) if isinstance(value, (tuple, list)) else value
