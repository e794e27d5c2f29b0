"""Apache Storm: topologies of bolts, and windows by length and slide, each a count or a duration.

``TopologyBuilder`` sets bolts by name; ``setBolt`` sets a single one on streams:

>>> class Sums(BaseWindowedBolt[tuple[int, int], int]):
...     def execute(self, inputWindow, collector):
...         collector.emit(sum(value for value, _ in inputWindow.get()))
>>> bolt = Sums().withWindow(Duration.seconds(20), Duration.seconds(10)).withTimestampField(1)
>>> from flinkish import StreamRecord
>>> from flinkish.testing import StreamTestHarness
>>> harness = StreamTestHarness(
...     lambda readings: setBolt(bolt.withLag(Duration.seconds(5)), readings)
... )
>>> for reading in ((1, 4_000), (2, 12_000), (4, 33_000)):
...     harness.processElement(reading)
>>> harness.endInput()
>>> [element.value for element in harness.getOutput() if isinstance(element, StreamRecord)]
[1, 3, 2, 4, 4]

docs/compat/storm.md has Storm's words beside flinkish's.
"""

import flinkish.compat.storm.operator  # noqa: F401  # registers its operators
from flinkish.api.absent import unknown_names as _unknown_names
from flinkish.compat.storm.bolts import BaseBasicBolt as BaseBasicBolt
from flinkish.compat.storm.bolts import BaseRichBolt as BaseRichBolt
from flinkish.compat.storm.bolts import BaseStatefulBolt as BaseStatefulBolt
from flinkish.compat.storm.builder import BoltDeclarer as BoltDeclarer
from flinkish.compat.storm.builder import SpoutDeclarer as SpoutDeclarer
from flinkish.compat.storm.builder import StormSubmitter as StormSubmitter
from flinkish.compat.storm.builder import StormTopology as StormTopology
from flinkish.compat.storm.builder import TopologyBuilder as TopologyBuilder
from flinkish.compat.storm.config import Config as Config
from flinkish.compat.storm.join_bolt import JoinBolt as JoinBolt
from flinkish.compat.storm.policies import CountEvictionPolicy as CountEvictionPolicy
from flinkish.compat.storm.policies import CountTriggerPolicy as CountTriggerPolicy
from flinkish.compat.storm.policies import Event as Event
from flinkish.compat.storm.policies import EvictionContext as EvictionContext
from flinkish.compat.storm.policies import EvictionPolicy as EvictionPolicy
from flinkish.compat.storm.policies import TimeEvictionPolicy as TimeEvictionPolicy
from flinkish.compat.storm.policies import TimeTriggerPolicy as TimeTriggerPolicy
from flinkish.compat.storm.policies import TriggerPolicy as TriggerPolicy
from flinkish.compat.storm.policies import TriggerPolicyContext as TriggerPolicyContext
from flinkish.compat.storm.policies import (
    WatermarkCountEvictionPolicy as WatermarkCountEvictionPolicy,
)
from flinkish.compat.storm.policies import (
    WatermarkCountTriggerPolicy as WatermarkCountTriggerPolicy,
)
from flinkish.compat.storm.policies import (
    WatermarkTimeEvictionPolicy as WatermarkTimeEvictionPolicy,
)
from flinkish.compat.storm.policies import WatermarkTimeTriggerPolicy as WatermarkTimeTriggerPolicy
from flinkish.compat.storm.task import KeyValueState as KeyValueState
from flinkish.compat.storm.task import OutputCollector as OutputCollector
from flinkish.compat.storm.task import OutputFieldsDeclarer as OutputFieldsDeclarer
from flinkish.compat.storm.task import TopologyContext as TopologyContext
from flinkish.compat.storm.topology import BaseStatefulWindowedBolt as BaseStatefulWindowedBolt
from flinkish.compat.storm.topology import BaseWindowedBolt as BaseWindowedBolt
from flinkish.compat.storm.topology import Duration as Duration
from flinkish.compat.storm.topology import TupleWindow as TupleWindow
from flinkish.compat.storm.topology import setBolt as setBolt
from flinkish.compat.storm.tuples import Fields as Fields
from flinkish.compat.storm.tuples import GlobalStreamId as GlobalStreamId
from flinkish.compat.storm.tuples import Grouping as Grouping
from flinkish.compat.storm.tuples import Tuple as Tuple
from flinkish.compat.storm.tuples import Values as Values
from flinkish.compat.storm.watermarks import LagWatermarks as LagWatermarks
from flinkish.compat.storm.watermarks import unionWithLag as unionWithLag
from flinkish.compat.storm.windows import Count as Count
from flinkish.compat.storm.windows import Extent as Extent
from flinkish.compat.storm.windows import PolicyWindow as PolicyWindow
from flinkish.compat.storm.windows import PolicyWindowCollector as PolicyWindowCollector
from flinkish.compat.storm.windows import PolicyWindowedStream as PolicyWindowedStream
from flinkish.compat.storm.windows import PolicyWindowFunction as PolicyWindowFunction
from flinkish.compat.storm.windows import PolicyWindowLike as PolicyWindowLike

__getattr__ = _unknown_names(__name__)
