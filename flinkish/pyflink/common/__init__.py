"""PyFlink's ``pyflink.common``."""

from flinkish.pyflink.absent import absent_names
from flinkish.pyflink.common.completable_future import CompletableFuture as CompletableFuture
from flinkish.pyflink.common.config_options import ConfigOption as ConfigOption
from flinkish.pyflink.common.config_options import ConfigOptions as ConfigOptions
from flinkish.pyflink.common.configuration import Configuration as Configuration
from flinkish.pyflink.common.execution_config import ExecutionConfig as ExecutionConfig
from flinkish.pyflink.common.job_client import JobClient as JobClient
from flinkish.pyflink.common.job_client import JobExecutionResult as JobExecutionResult
from flinkish.pyflink.common.job_client import JobID as JobID
from flinkish.pyflink.common.job_client import JobStatus as JobStatus
from flinkish.pyflink.common.restart_strategy import RestartStrategies as RestartStrategies
from flinkish.pyflink.common.restart_strategy import (
    RestartStrategyConfiguration as RestartStrategyConfiguration,
)
from flinkish.pyflink.common.serialization import ByteArraySchema as ByteArraySchema
from flinkish.pyflink.common.serialization import DeserializationSchema as DeserializationSchema
from flinkish.pyflink.common.serialization import Encoder as Encoder
from flinkish.pyflink.common.serialization import SerializationSchema as SerializationSchema
from flinkish.pyflink.common.serialization import SimpleStringSchema as SimpleStringSchema
from flinkish.pyflink.common.time import Duration as Duration
from flinkish.pyflink.common.time import Instant as Instant
from flinkish.pyflink.common.time import Time as Time
from flinkish.pyflink.common.typeinfo import TypeInformation as TypeInformation
from flinkish.pyflink.common.typeinfo import Types as Types
from flinkish.pyflink.common.types import Row as Row
from flinkish.pyflink.common.types import RowKind as RowKind
from flinkish.pyflink.common.watermark_strategy import WatermarkStrategy as WatermarkStrategy

__getattr__ = absent_names(__name__)
