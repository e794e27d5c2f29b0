"""None is a key where the other system groups by null."""

import pytest

from flinkish.compat.atlas import Interval, tumblingWindow
from flinkish.compat.storm import BaseBasicBolt, BaseWindowedBolt, setBolt
from flinkish.compat.storm.windows import Count
from flinkish.compat.stream_analytics import Duration, isFirst, joinDateDiff
from flinkish.compat.streaminsight import (
    LifetimeWindowedStream,
    PointEvent,
    SnapshotWindows,
    leftAntiSemiJoin,
    temporalJoin,
)
from flinkish.testing import StreamTestHarness


def key(event):
    return event.payload[0]


def counted(window, *rest):
    return [len(list(rest[-1]))]


class Keys(BaseBasicBolt):
    def execute(self, tuple, collector):  # noqa: A002
        collector.emit(tuple)


def keyed(stream):
    return stream.keyBy(key)


SYSTEMS = {
    "Atlas": lambda s: (
        tumblingWindow(
            s,
            interval=Interval(5, "second"),
            pipeline=lambda windows: windows.apply(lambda key, window, events: [len(list(events))]),
            groupBy=key,
        ).results
    ),
    "Storm": lambda s: setBolt(Keys(), s, fieldsGrouping=key),
    "Storm's windows": lambda s: setBolt(
        BaseWindowedBolt(lambda window: [len(window.get())]).withTumblingWindow(Count(2)),
        s,
        fieldsGrouping=key,
    ),
    "Azure": lambda s: isFirst(s, Duration("second", 10), partitionBy=key),
    "Azure's join": lambda s: joinDateDiff(
        s, s, "second", 0, 1, where=lambda left: key(left), equalTo=lambda e: key(e), outer=True
    ),
    "StreamInsight": lambda s: LifetimeWindowedStream(keyed(s), SnapshotWindows()).apply(counted),
    "StreamInsight's join": lambda s: temporalJoin(
        keyed(s), keyed(s), lambda a, b: True, lambda a, b: a
    ),
    "StreamInsight's clipping": lambda s: leftAntiSemiJoin(keyed(s), keyed(s), lambda a, b: a != b),
}


@pytest.mark.parametrize("build", SYSTEMS.values(), ids=SYSTEMS)
def test_events_without_a_key_belong_together(build):
    harness = StreamTestHarness(build)
    for second in (1, 2):
        harness.processElement(PointEvent(second * 1_000, (None, second)), second * 1_000)
    harness.endInput()
    assert len(harness.getOutput()) >= 2, "a result, and the last watermark"
