"""The watermarks of several outputs, as Flink's multiplexer joins them.

The cases were recorded from the WatermarkOutputMultiplexer of Flink 2.3.0. Each step is one of ``n``
(a new output), ``p`` (the periodic emit), and ``i,OUTPUT,WHAT`` or ``d,OUTPUT,WHAT`` (to the immediate or
the deferred output: a watermark, idle or active); after each ``|`` is what came of it.
"""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish.runtime.time.watermark_generation import (
    DeferredOutput,
    ImmediateOutput,
    WatermarkOutputMultiplexer,
)

RECORDED = [
    ("n d,0,active i,0,4 i,0,13 d,0,idle n i,1,idle", "|||W4 |W13 |||I "),
    ("n d,0,13 i,0,idle n d,1,16 d,1,active i,1,idle i,1,6 i,1,active", "|||W13 I ||||W16 I ||"),
    ("n i,0,7 i,0,idle i,0,12 d,0,idle i,0,idle p d,0,9 n d,0,idle", "||W7 |I |W12 ||I |I |||"),
    ("n d,0,9 i,0,idle d,0,15 p i,0,11 n", "|||W9 I ||W15 ||"),
    (
        "n i,0,idle i,0,active i,0,2 p n d,0,idle i,1,5 d,1,10 p i,0,active",
        "||I ||W2 ||||W5 ||W10 |",
    ),
    ("n d,0,6 d,0,idle p n n d,1,13 d,2,11 d,2,11 i,1,idle i,1,18", "||||W6 I ||||||W11 |"),
    ("n d,0,15 i,0,idle d,0,19 n d,1,idle d,0,0 p d,1,0 i,0,idle", "|||W15 I |||||W19 ||"),
    ("n d,0,11 d,0,active p p d,0,4 i,0,12 i,0,5 i,0,idle d,0,active n", "||||W11 |||W12 ||I ||"),
    ("n i,0,4 d,0,7 i,0,3 i,0,18 p i,0,4 i,0,idle p n n", "||W4 |||W18 |||I |I ||"),
    ("n p i,0,2 d,0,idle i,0,idle n d,1,9 i,0,9 n p", "|||W2 ||I |||W9 ||"),
]


class Noted(fl.WatermarkOutput):
    def __init__(self):
        self.text = ""

    def emitWatermark(self, watermark):
        self.text += f"W{watermark.timestamp} "

    def markIdle(self):
        self.text += "I "

    def markActive(self):
        self.text += "A "


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(("steps", "expected"), RECORDED)
def test_as_recorded(steps, expected, restarts):
    noted = Noted()
    multiplexer = WatermarkOutputMultiplexer(noted)
    for step in steps.split():
        noted.text += "|"
        if restarts:
            snapshot = multiplexer.status.snapshot()
            multiplexer = WatermarkOutputMultiplexer(noted)
            multiplexer.status.restore(snapshot)
        if step == "n":
            multiplexer.status.add()
        elif step == "p":
            multiplexer.onPeriodicEmit()
        else:
            kind, index, what = step.split(",")
            output = (ImmediateOutput if kind == "i" else DeferredOutput)(multiplexer, int(index))
            if what == "idle":
                output.markIdle()
            elif what == "active":
                output.markActive()
            else:
                output.emitWatermark(fl.Watermark(int(what)))
    assert noted.text == expected
