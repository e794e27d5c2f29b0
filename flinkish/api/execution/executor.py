"""The interface that engines implement, so that the API depends on none of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from flinkish.api.environment.environment import StreamExecutionEnvironment
    from flinkish.api.execution.client import JobClient
    from flinkish.api.plan.transformations import SinkTransformation
    from flinkish.api.savepoint.queries import StateQuery
    from flinkish.api.savepoint.writer import SavepointChanges
    from flinkish.api.streams.data_stream import DataStream


class Plan(Protocol):
    """A job's plan, to be shown."""

    def asJson(self) -> str:
        """The plan as JSON, similar to Flink's."""

    def asText(self) -> str:
        """The plan as text for people."""

    def asSvg(self) -> str:
        """The plan as a drawing."""


class WebUI(Protocol):
    """The web page of an environment's jobs."""

    @property
    def url(self) -> str:
        """The address to open in a browser, with the token that is needed to stop jobs."""

    def addJob(self, client: JobClient) -> None:
        """Show a job from now on."""

    def close(self) -> None:
        """Stop serving the page."""


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

    def readSavepoint(
        self, environment: StreamExecutionEnvironment, savepointPath: str, query: StateQuery
    ) -> Any:
        """The answer of ``query``, as the engine's kind of table."""

    def writeSavepoint(
        self,
        environment: StreamExecutionEnvironment,
        changes: SavepointChanges,
        savepointPath: str,
    ) -> None:
        """Write the savepoint that ``changes`` describe."""
