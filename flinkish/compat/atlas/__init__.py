"""MongoDB Atlas Stream Processing: its sources and window stages, over flinkish streams.

The watermark is the highest event time seen. A window takes events of ``[start, end)`` and closes
once, when the watermark less its allowed lateness reaches its end; what comes later goes to the dead
letter queue. docs/compat/atlas.md sets the two side by side.
"""

from flinkish.api.absent import unknown_names as _unknown_names
from flinkish.compat.atlas.bson.values import Int64 as Int64
from flinkish.compat.atlas.bson.values import ObjectId as ObjectId
from flinkish.compat.atlas.closing_trigger import (
    AfterAllowedLatenessTrigger as AfterAllowedLatenessTrigger,
)
from flinkish.compat.atlas.idle_advance import withIdleAdvance as withIdleAdvance
from flinkish.compat.atlas.pipeline import Pipeline as Pipeline
from flinkish.compat.atlas.pipeline import pipeline as pipeline
from flinkish.compat.atlas.session_windows import ExclusiveSessionWindows as ExclusiveSessionWindows
from flinkish.compat.atlas.window_stages import Boundary as Boundary
from flinkish.compat.atlas.window_stages import Interval as Interval
from flinkish.compat.atlas.window_stages import IntervalLike as IntervalLike
from flinkish.compat.atlas.window_stages import Unit as Unit
from flinkish.compat.atlas.window_stages import WindowOptions as WindowOptions
from flinkish.compat.atlas.window_stages import WindowStage as WindowStage
from flinkish.compat.atlas.window_stages import hoppingWindow as hoppingWindow
from flinkish.compat.atlas.window_stages import sessionWindow as sessionWindow
from flinkish.compat.atlas.window_stages import source as source
from flinkish.compat.atlas.window_stages import tumblingWindow as tumblingWindow

__getattr__ = _unknown_names(__name__)
