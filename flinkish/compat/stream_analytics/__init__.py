"""Azure Stream Analytics: event ordering, windows and metrics, over flinkish streams.

``timestampBy`` is the ``TIMESTAMP BY`` of a query, the windows go into ``window`` and ``windowAll``
of a stream, and what they give carries ``System.Timestamp``. docs/compat/stream_analytics.md sets
the two side by side.
"""

from flinkish.api.absent import unknown_names as _unknown_names
from flinkish.compat.stream_analytics.event_functions import Duration as Duration
from flinkish.compat.stream_analytics.event_functions import Ranked as Ranked
from flinkish.compat.stream_analytics.event_functions import collectTop as collectTop
from flinkish.compat.stream_analytics.event_functions import isFirst as isFirst
from flinkish.compat.stream_analytics.event_functions import joinDateDiff as joinDateDiff
from flinkish.compat.stream_analytics.event_functions import lag as lag
from flinkish.compat.stream_analytics.event_functions import last as last
from flinkish.compat.stream_analytics.event_functions import topOne as topOne
from flinkish.compat.stream_analytics.event_functions import windows as windows
from flinkish.compat.stream_analytics.job import Query as Query
from flinkish.compat.stream_analytics.job import query as query
from flinkish.compat.stream_analytics.queries import LARGEST_LATE_ARRIVAL as LARGEST_LATE_ARRIVAL
from flinkish.compat.stream_analytics.queries import LARGEST_OUT_OF_ORDER as LARGEST_OUT_OF_ORDER
from flinkish.compat.stream_analytics.queries import EventOrdering as EventOrdering
from flinkish.compat.stream_analytics.queries import HoppingWindow as HoppingWindow
from flinkish.compat.stream_analytics.queries import Offset as Offset
from flinkish.compat.stream_analytics.queries import SessionWindow as SessionWindow
from flinkish.compat.stream_analytics.queries import SlidingWindow as SlidingWindow
from flinkish.compat.stream_analytics.queries import SnapshotWindow as SnapshotWindow
from flinkish.compat.stream_analytics.queries import (
    StreamAnalyticsMetrics as StreamAnalyticsMetrics,
)
from flinkish.compat.stream_analytics.queries import System as System
from flinkish.compat.stream_analytics.queries import TimeUnit as TimeUnit
from flinkish.compat.stream_analytics.queries import TumblingWindow as TumblingWindow
from flinkish.compat.stream_analytics.queries import byArrivalTime as byArrivalTime
from flinkish.compat.stream_analytics.queries import timestampBy as timestampBy
from flinkish.compat.stream_analytics.windows import CappedSessionWindows as CappedSessionWindows

__getattr__ = _unknown_names(__name__)
