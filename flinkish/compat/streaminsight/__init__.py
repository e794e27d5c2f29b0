"""Microsoft StreamInsight: events with lifetimes, and time by current-time increments (CTIs).

Streams become streams of events with ``toPointStreamable`` and the like, which also say how their
time advances:

>>> from flinkish import Duration, StreamRecord
>>> from flinkish.testing import StreamTestHarness
>>> settings = AdvanceTimeSettings(
...     AdvanceTimeGenerationSettings(10, Duration.ofSeconds(5), True), None, AdvanceTimePolicy.Adjust
... )
>>> def volumes(ticks):
...     trades = toPointStreamable(ticks, lambda tick: PointEvent(tick[0], tick[1]), settings)
...     windows = hoppingWindow(trades, Duration.ofMinutes(2), Duration.ofMinutes(1))
...     return windows.apply(lambda window, events: [sum(event.payload for event in events)])
>>> harness = StreamTestHarness(volumes)
>>> for tick in ((10_000, 5), (70_000, 3), (130_000, 1)):
...     harness.processElement(tick)
>>> harness.endInput()
>>> for element in harness.getOutput():
...     if isinstance(element, StreamRecord):
...         print(element.value)
IntervalEvent(startTime=-60000, endTime=60000, payload=5)
IntervalEvent(startTime=0, endTime=120000, payload=8)
IntervalEvent(startTime=60000, endTime=180000, payload=4)
IntervalEvent(startTime=120000, endTime=240000, payload=1)

A tick is a millisecond. docs/compat/streaminsight.md has StreamInsight's words beside flinkish's.
"""

import flinkish.compat.streaminsight.advance_time_operator  # registers its operators
import flinkish.compat.streaminsight.lifetime_operators  # noqa: F401  # registers its operators
from flinkish.api.absent import unknown_names as _unknown_names
from flinkish.compat.streaminsight.advance_time import (
    AdvanceTimeGenerationSettings as AdvanceTimeGenerationSettings,
)
from flinkish.compat.streaminsight.advance_time import (
    AdvanceTimeImportSettings as AdvanceTimeImportSettings,
)
from flinkish.compat.streaminsight.advance_time import AdvanceTimePolicy as AdvanceTimePolicy
from flinkish.compat.streaminsight.advance_time import AdvanceTimeSettings as AdvanceTimeSettings
from flinkish.compat.streaminsight.advance_time import advanceTime as advanceTime
from flinkish.compat.streaminsight.cep_stream import (
    AdapterAdvanceTimeSettings as AdapterAdvanceTimeSettings,
)
from flinkish.compat.streaminsight.cep_stream import AdapterFactory as AdapterFactory
from flinkish.compat.streaminsight.cep_stream import CepStream as CepStream
from flinkish.compat.streaminsight.cep_stream import EventShape as EventShape
from flinkish.compat.streaminsight.clipping import clipEventDuration as clipEventDuration
from flinkish.compat.streaminsight.clipping import leftAntiSemiJoin as leftAntiSemiJoin
from flinkish.compat.streaminsight.events import TICK as TICK
from flinkish.compat.streaminsight.events import EdgeEvent as EdgeEvent
from flinkish.compat.streaminsight.events import EdgeType as EdgeType
from flinkish.compat.streaminsight.events import IntervalEvent as IntervalEvent
from flinkish.compat.streaminsight.events import PointEvent as PointEvent
from flinkish.compat.streaminsight.events import TemporalEvent as TemporalEvent
from flinkish.compat.streaminsight.joins import committed as committed
from flinkish.compat.streaminsight.joins import temporalJoin as temporalJoin
from flinkish.compat.streaminsight.lifetimes import alterEventDuration as alterEventDuration
from flinkish.compat.streaminsight.lifetimes import alterEventLifetime as alterEventLifetime
from flinkish.compat.streaminsight.lifetimes import shiftEventTime as shiftEventTime
from flinkish.compat.streaminsight.lifetimes import toPointEventStream as toPointEventStream
from flinkish.compat.streaminsight.queries import countByStartTimeWindow as countByStartTimeWindow
from flinkish.compat.streaminsight.queries import hoppingWindow as hoppingWindow
from flinkish.compat.streaminsight.queries import snapshotWindow as snapshotWindow
from flinkish.compat.streaminsight.queries import toEdgeStreamable as toEdgeStreamable
from flinkish.compat.streaminsight.queries import toIntervalStreamable as toIntervalStreamable
from flinkish.compat.streaminsight.queries import toPointStreamable as toPointStreamable
from flinkish.compat.streaminsight.queries import tumblingWindow as tumblingWindow
from flinkish.compat.streaminsight.queries import union as union
from flinkish.compat.streaminsight.time_span import ENDLESS as ENDLESS
from flinkish.compat.streaminsight.time_span import TimeSpan as TimeSpan
from flinkish.compat.streaminsight.time_span import timeOfTicks as timeOfTicks
from flinkish.compat.streaminsight.windows import CountByStartTimeWindows as CountByStartTimeWindows
from flinkish.compat.streaminsight.windows import HoppingLifetimeWindows as HoppingLifetimeWindows
from flinkish.compat.streaminsight.windows import LifetimeWindowedStream as LifetimeWindowedStream
from flinkish.compat.streaminsight.windows import LifetimeWindows as LifetimeWindows
from flinkish.compat.streaminsight.windows import SnapshotWindows as SnapshotWindows
from flinkish.compat.streaminsight.windows import TumblingLifetimeWindows as TumblingLifetimeWindows

join = temporalJoin

__getattr__ = _unknown_names(__name__)
