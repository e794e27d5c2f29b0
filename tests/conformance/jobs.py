"""A case as a job over a stream of its input items, for engines whose input is not stepped by hand.

Watermarks are items too, and a generator emits them between the elements, as they were recorded.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from flinkish import (
    DataStream,
    ProcessFunction,
    StreamExecutionEnvironment,
    Watermark,
    WatermarkGenerator,
    WatermarkStrategy,
)
from tests.conformance.cases import Case
from tests.conformance.comparison import Item
from tests.conformance.families import family_of
from tests.conformance.family import Family
from tests.conformance.replay import recorded


class InputItem(NamedTuple):
    """An element, or a watermark where ``isWatermark``."""

    element: Any
    timestamp: int | None
    isWatermark: bool = False


def input_items(family: Family, case: Case) -> Iterator[InputItem | int]:
    """The input of a case; a clock step is its time in ms."""
    number = 0
    for item in case.data["input"]:
        if item[0] == "p":
            yield item[1]
        elif item[0] == "w":
            yield InputItem(None, item[-1], isWatermark=True)
        else:
            yield InputItem(family.element(item, number), item[-1])
            number += 1


def results_of(family: Family, case: Case, items: DataStream[InputItem]) -> DataStream[Item]:
    """Return the case's main and late output over ``items``, in the recorded form."""
    strategy: WatermarkStrategy[InputItem] = WatermarkStrategy.forGenerator(lambda context: Marks())
    timed = items.assignTimestampsAndWatermarks(
        strategy.withTimestampAssigner(lambda item, timestamp: item.timestamp)  # type: ignore[return-value]
    )
    elements = timed.filter(lambda item: not item.isWatermark).map(lambda item: item.element)
    result = family.build(case)(elements)
    outputs = [result.process(AsRecorded("r"))]
    for label, tag in family.sides(case).items():
        outputs.append(result.getSideOutput(tag).process(AsRecorded(label)))
    return outputs[0].union(*outputs[1:]) if len(outputs) > 1 else outputs[0]


def outputs_of_one_job(
    env: StreamExecutionEnvironment, cases: Sequence[Case], batches: int
) -> dict[int, list[Item]]:
    """Return the output of ``cases`` in one job, by their numbers. Each has its own operators; the elements of all come
    in turn, each case's in order."""
    numbered = [
        [(number, item) for item in input_items(family_of(case), case)]
        for number, case in enumerate(cases)
    ]
    in_turn = [item for row in itertools.zip_longest(*numbered) for item in row if item is not None]
    env.setParallelism(1).setMaxParallelism(2)
    env.getConfig().setElementsPerBatch(len(in_turn) // batches)
    source = env.fromCollection(in_turn)
    outputs = [
        results_of(family_of(case), case, source.filter(_of(number)).map(itemgetter(1))).map(
            _numbered_with(number)
        )
        for number, case in enumerate(cases)
    ]
    found: dict[int, list[Item]] = defaultdict(list)
    with outputs[0].union(*outputs[1:]).executeAndCollect() as rows:
        for number, item in rows:
            found[number].append(item)
    return found


def _of(number):
    return lambda pair: pair[0] == number


def _numbered_with(number):
    return lambda item: (number, item)


class AsRecorded(ProcessFunction[Any, Item]):
    def __init__(self, label: str) -> None:
        self._label = label

    def processElement(self, value, ctx, out):
        out.collect(recorded(self._label, value, ctx.timestamp()))


class Marks(WatermarkGenerator[InputItem]):
    """Emits the watermarks that are in the stream."""

    def onEvent(self, event, eventTimestamp, output):
        if event.isWatermark:
            output.emitWatermark(Watermark(event.timestamp))

    def onPeriodicEmit(self, output):
        pass
