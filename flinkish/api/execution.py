"""What an engine offers the API, so that the API knows none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from flinkish.api.data_stream import DataStream
    from flinkish.api.environment import StreamExecutionEnvironment
    from flinkish.api.job import JobClient
    from flinkish.api.transformations import SinkTransformation


class Plan(Protocol):
    """A job's plan, to be shown."""

    def asJson(self) -> str:
        """The plan as JSON, in the manner of Flink's."""

    def asText(self) -> str:
        """The plan as text for people."""


class PipelineExecutor(Protocol):
    """Runs the jobs of an environment (Flink: ``PipelineExecutor``)."""

    def executeAsync(
        self,
        environment: StreamExecutionEnvironment,
        sinks: Sequence[SinkTransformation],
        jobName: str,
    ) -> JobClient:
        """Start the job that ends in ``sinks``."""

    def toDataFrame(
        self, environment: StreamExecutionEnvironment, stream: DataStream[Any], schema: Any
    ) -> DataFrame:
        """``stream`` as a streaming DataFrame."""

    def plan(
        self, environment: StreamExecutionEnvironment, sinks: Sequence[SinkTransformation]
    ) -> Plan:
        """The plan of the job that ends in ``sinks``."""
