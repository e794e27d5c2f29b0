"""The worked example of Storm's documentation: windows of 20 s every 10 s, with a lag of 5 s."""

from __future__ import annotations

from flinkish.compat.storm import BaseWindowedBolt, Duration


def at(hours, minutes, seconds):
    """A time of some day, in ms."""
    return ((hours * 60 + minutes) * 60 + seconds) * 1000


FIRST = [
    ("e1", at(6, 0, 3)),
    ("e2", at(6, 0, 5)),
    ("e3", at(6, 0, 7)),
    ("e4", at(6, 0, 18)),
    ("e5", at(6, 0, 26)),
    ("e6", at(6, 0, 36)),
]
"""The events that arrive between 9:00:00 and 9:00:01."""

SECOND = [
    ("e7", at(8, 0, 25)),
    ("e8", at(8, 0, 26)),
    ("e9", at(8, 0, 27)),
    ("e10", at(8, 0, 39)),
]
"""The events that arrive between 9:00:01 and 9:00:02."""

FIRST_WINDOWS = [
    (at(5, 59, 50), at(6, 0, 10), ["e1", "e2", "e3"]),
    (at(6, 0, 0), at(6, 0, 20), ["e1", "e2", "e3", "e4"]),
    (at(6, 0, 10), at(6, 0, 30), ["e4", "e5"]),
]

SECOND_WINDOWS = [
    (at(6, 0, 20), at(6, 0, 40), ["e5", "e6"]),
    (at(6, 0, 30), at(6, 0, 50), ["e6"]),
    (at(8, 0, 10), at(8, 0, 30), ["e7", "e8", "e9"]),
]


class Names(BaseWindowedBolt):
    """Emits where a window begins and ends, and the names of its tuples."""

    def execute(self, inputWindow, collector):
        names = [name for name, _ in inputWindow.get()]
        start, end = inputWindow.getStartTimestamp(), inputWindow.getEndTimestamp()
        collector.emit((start, end, names))


def example_bolt():
    """The bolt of the example."""
    return (
        Names()
        .withWindow(Duration.seconds(20), Duration.seconds(10))
        .withTimestampField(1)
        .withLag(Duration.seconds(5))
        .withLateTupleStream("late")
    )
