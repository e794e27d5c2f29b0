"""PyFlink's ``pyflink.datastream.connectors``."""

from flinkish.pyflink.absent import absent_names
from flinkish.pyflink.datastream.connectors.base import DeliveryGuarantee as DeliveryGuarantee
from flinkish.pyflink.datastream.connectors.base import Sink as Sink
from flinkish.pyflink.datastream.connectors.base import Source as Source
from flinkish.pyflink.datastream.connectors.file_system import BucketAssigner as BucketAssigner
from flinkish.pyflink.datastream.connectors.file_system import FileSink as FileSink
from flinkish.pyflink.datastream.connectors.file_system import FileSource as FileSource
from flinkish.pyflink.datastream.connectors.file_system import (
    FileSourceBuilder as FileSourceBuilder,
)
from flinkish.pyflink.datastream.connectors.file_system import OutputFileConfig as OutputFileConfig
from flinkish.pyflink.datastream.connectors.file_system import RollingPolicy as RollingPolicy
from flinkish.pyflink.datastream.connectors.file_system import StreamFormat as StreamFormat
from flinkish.pyflink.datastream.connectors.kafka import FlinkKafkaConsumer as FlinkKafkaConsumer
from flinkish.pyflink.datastream.connectors.kafka import FlinkKafkaProducer as FlinkKafkaProducer
from flinkish.pyflink.datastream.connectors.kafka import KafkaSource as KafkaSource
from flinkish.pyflink.datastream.connectors.number_seq import (
    NumberSequenceSource as NumberSequenceSource,
)

__getattr__ = absent_names(__name__)
