"""Family ``window``: one windowed stream, any assigner, trigger, evictor and function."""

from __future__ import annotations

from flinkish import (
    AggregateFunction,
    OutputTag,
    ProcessWindowFunction,
    TimeWindow,
    ValueStateDescriptor,
)
from tests.conformance.families.windowing import assigner_of, configured
from tests.conformance.family import Family

LATE = OutputTag("late")


class WindowFamily(Family):
    name = "window"

    def build(self, case):
        return lambda stream: _job(stream, case.data)

    def sides(self, case):
        return {"late": LATE}


def _job(stream, data):
    assigner = data["assigner"]
    keyed = stream.keyBy(lambda element: element[0])
    if assigner["kind"] == "countWindow":
        windowed = keyed.countWindow(assigner["size"], assigner.get("slide"))
    else:
        windowed = keyed.window(assigner_of(assigner))
    windowed = configured(windowed, data).sideOutputLateData(LATE)
    match data["function"]["kind"]:
        case "reduce":
            return windowed.reduce(lambda a, b: (a[0], a[1] + b[1]))
        case "aggregate":
            return windowed.aggregate(SumAndCount(), _sum_and_count)
        case "process":
            return windowed.process(
                lambda key, context, elements: [
                    (key, *_bounds(context.window()), _values(elements), context.currentWatermark())
                ]
            )
        case "apply":
            return windowed.apply(
                lambda key, window, elements, out: out.collect(
                    (key, *_bounds(window), _values(elements))
                )
            )
        case "process-state":
            return windowed.process(CountFirings(perWindow=True))
        case "process-global":
            return windowed.process(CountFirings(perWindow=False))
    raise ValueError(data["function"])


class SumAndCount(AggregateFunction):
    def createAccumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[1], accumulator[1] + 1

    def getResult(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


class CountFirings(ProcessWindowFunction):
    FIRINGS = ValueStateDescriptor("firings")

    def __init__(self, perWindow):
        self._per_window = perWindow

    def process(self, key, context, elements, out):
        counts = [_count(context.globalState().getState(self.FIRINGS))]
        if self._per_window:
            counts.insert(0, _count(context.windowState().getState(self.FIRINGS)))
        out.collect((key, *_bounds(context.window()), _values(elements), *counts))

    def clear(self, context):
        if self._per_window:
            context.windowState().getState(self.FIRINGS).clear()


def _sum_and_count(key, context, elements):
    for total, count in elements:
        yield (key, *_bounds(context.window()), total, count)


def _count(state):
    state.update((state.value() or 0) + 1)
    return state.value()


def _values(elements):
    return [element[1] for element in elements]


def _bounds(window):
    return (window.start, window.end) if isinstance(window, TimeWindow) else (None, None)
