"""``StreamExecutionEnvironment``: creates the sources of a job, and runs it."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from typing import Any

from flinkish.api.arguments import instance
from flinkish.api.connectors.source import Source as CoreSource
from flinkish.api.environment.configuration import CheckpointingMode as CoreMode
from flinkish.api.environment.configuration import Configuration as CoreConfiguration
from flinkish.api.environment.configuration import RuntimeExecutionMode as CoreRuntimeMode
from flinkish.api.environment.environment import StreamExecutionEnvironment as CoreEnvironment
from flinkish.api.environment.restart_strategies import RESTART_OPTIONS
from flinkish.api.errors import InvalidProgramError
from flinkish.api.streams.data_stream import DataStreamSource
from flinkish.api.tracebacks import short_traceback
from flinkish.pyflink.absent import AbsentMethods
from flinkish.pyflink.common.arguments import declared_type_or_none
from flinkish.pyflink.common.configuration import Configuration
from flinkish.pyflink.common.execution_config import ExecutionConfig
from flinkish.pyflink.common.job_client import JobClient, JobExecutionResult
from flinkish.pyflink.common.restart_strategy import RestartStrategyConfiguration
from flinkish.pyflink.common.typeinfo import TypeInformation
from flinkish.pyflink.common.watermark_strategy import WatermarkStrategy
from flinkish.pyflink.datastream.checkpoint_config import CheckpointConfig
from flinkish.pyflink.datastream.checkpointing_mode import CheckpointingMode
from flinkish.pyflink.datastream.connectors.base import Source
from flinkish.pyflink.datastream.data_stream import DataStream
from flinkish.pyflink.datastream.dependencies import PythonDependencies
from flinkish.pyflink.datastream.execution_mode import RuntimeExecutionMode
from flinkish.pyflink.datastream.slot_sharing_group import SlotSharingGroup
from flinkish.pyflink.datastream.state_backend import StateBackend
from flinkish.pyflink.datastream.utils import ResultTypeQueryable

__all__ = ["StreamExecutionEnvironment"]

_LOG = logging.getLogger(__name__)


class StreamExecutionEnvironment(AbsentMethods):
    """Builds jobs and runs them (PyFlink: ``StreamExecutionEnvironment``).

    >>> env = StreamExecutionEnvironment.get_execution_environment().set_local_execution(True)
    >>> ds = env.from_collection([1, 2, 3]).map(lambda n: n * n)
    >>> list(ds.execute_and_collect())
    [1, 4, 9]
    """

    def __init__(self, environment: CoreEnvironment) -> None:
        self.core = environment
        """The environment as flinkish's own."""
        self.dependencies = PythonDependencies()
        self._config = ExecutionConfig(environment.getConfig(), self.dependencies.job_parameters)
        self._checkpoint_config = CheckpointConfig(environment.getCheckpointConfig())
        self._backend: StateBackend | None = None

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None,
    ) -> StreamExecutionEnvironment:
        """An environment on the active Spark session, or a new local one."""
        environment = StreamExecutionEnvironment(CoreEnvironment.getExecutionEnvironment())
        if configuration is not None:
            environment.configure(configuration)
        return environment

    def set_local_execution(self, enabled: bool = True) -> StreamExecutionEnvironment:
        """Run jobs in this process, without Spark (flinkish: ``setLocalExecution``)."""
        self.core.setLocalExecution(enabled)
        return self

    # ------------------------------------------------------------------ settings

    def get_config(self) -> ExecutionConfig:
        """The settings of the job."""
        return self._config

    def set_parallelism(self, parallelism: int) -> StreamExecutionEnvironment:
        """Set the number of tasks of keyed operators."""
        self.core.setParallelism(parallelism)
        return self

    def get_parallelism(self) -> int:
        """The parallelism that was set, else that of local environments."""
        return self.core.getParallelism() or self.get_default_local_parallelism()

    def set_max_parallelism(self, max_parallelism: int) -> StreamExecutionEnvironment:
        """Set the number of key groups."""
        self.core.setMaxParallelism(max_parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """The number that was set, -1 if none was."""
        return self.core.getMaxParallelism() or -1

    def get_default_local_parallelism(self) -> int:
        """The parallelism of local environments."""
        return CoreEnvironment.getDefaultLocalParallelism()

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Set the parallelism of local environments."""
        CoreEnvironment.setDefaultLocalParallelism(parallelism)

    def register_slot_sharing_group(
        self, slot_sharing_group: SlotSharingGroup
    ) -> StreamExecutionEnvironment:
        """Accepted for ported jobs: Spark has no slots."""
        return self

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
        """Set whether a job runs as a stream, or as a batch with only final results (flinkish:
        ``setRuntimeMode``)."""
        fix = "Pass one such as RuntimeExecutionMode.BATCH."
        instance("set_runtime_mode", execution_mode, RuntimeExecutionMode, fix)
        self.core.setRuntimeMode(CoreRuntimeMode[execution_mode.name])
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> StreamExecutionEnvironment:
        """Accepted for ported jobs: elements travel a batch at a time."""
        self.core.setBufferTimeout(timeout_millis)
        return self

    def get_buffer_timeout(self) -> int:
        """The value that was set, in ms."""
        return self.core.getBufferTimeout()

    def disable_operator_chaining(self) -> StreamExecutionEnvironment:
        """Accepted for ported jobs: operators stay chained."""
        self.core.disableOperatorChaining()
        return self

    def is_chaining_enabled(self) -> bool:
        """Whether chaining was left on."""
        return self.core.isChainingEnabled()

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """True, as operators of any max parallelism are chained."""
        return True

    def get_checkpoint_config(self) -> CheckpointConfig:
        """The checkpoint settings of the job."""
        return self._checkpoint_config

    def enable_checkpointing(
        self, interval: int, mode: CheckpointingMode | None = None
    ) -> StreamExecutionEnvironment:
        """Take a checkpoint at most every ``interval`` ms: every batch is one, so this is the least
        time between the starts of two batches of an unbounded job. ``set_checkpoint_directory``
        keeps them."""
        if isinstance(interval, str):
            raise InvalidProgramError(
                f"enable_checkpointing: {interval!r} is no interval in ms. A directory that keeps"
                " checkpoints is set by set_checkpoint_directory(path)."
            )
        self.core.enableCheckpointing(
            interval, CoreMode[(mode or self.get_checkpointing_mode()).name]
        )
        return self

    def set_checkpoint_directory(self, directory: str) -> StreamExecutionEnvironment:
        """Keep checkpoints in that directory, and continue from there (flinkish:
        ``enableCheckpointing``)."""
        self.core.enableCheckpointing(directory)
        return self

    def get_checkpoint_interval(self) -> int:
        """The interval that was set, in ms, -1 if none was."""
        return self.core.getCheckpointInterval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """The mode that was set."""
        return self._checkpoint_config.get_checkpointing_mode()

    get_checkpointing_consistency_mode = get_checkpointing_mode

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """False, as no element is in flight between batches."""
        return False

    is_force_unaligned_checkpoints = is_unaligned_checkpoints_enabled

    def enable_changelog_state_backend(self, enabled: bool) -> StreamExecutionEnvironment:
        """Accepted for ported jobs."""
        self.core.enableChangelogStateBackend(enabled)
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """The value that was set, None if none was."""
        return self.core.isChangelogStateBackendEnabled()

    def set_default_savepoint_directory(self, directory: str) -> StreamExecutionEnvironment:
        """Keep checkpoints in that directory."""
        return self.set_checkpoint_directory(directory)

    def get_default_savepoint_directory(self) -> str | None:
        """The directory of the checkpoints."""
        return self.core.getDefaultSavepointDirectory()

    def set_restart_strategy(
        self, restart_strategy_configuration: RestartStrategyConfiguration
    ) -> None:
        """Set whether a job that failed runs again from its last checkpoint (flinkish:
        ``setRestartStrategy``)."""
        fix = "Pass one such as RestartStrategies.fixed_delay_restart(3, 10_000)."
        strategy = restart_strategy_configuration
        instance("set_restart_strategy", strategy, RestartStrategyConfiguration, fix)
        self.core.setRestartStrategy(strategy.core)

    def get_restart_strategy(self) -> RestartStrategyConfiguration:
        """The strategy that was set, directly or by options."""
        return RestartStrategyConfiguration(self.core.getRestartStrategy())

    def set_state_backend(self, state_backend: StateBackend) -> StreamExecutionEnvironment:
        """Accepted: state is always in Spark's state store."""
        self._backend = state_backend
        return self

    def get_state_backend(self) -> StateBackend | None:
        """The backend that was set."""
        return self._backend

    def configure(self, configuration: Configuration) -> None:
        """Apply the options that flinkish knows; others have no effect."""
        fix = "Pass one such as Configuration().set_string(key, value)."
        instance("configure", configuration, Configuration, fix)
        for key, value in configuration.to_dict().items():
            option = _ALIASES.get(key, key)
            if option in _VALUES:
                self.core.configure(CoreConfiguration({option: _VALUES[option](value)}))
            elif option == "execution.checkpointing.timeout":
                self._checkpoint_config.set_checkpoint_timeout(_millis(value))
            elif option == "python.files":
                for path in value.split(","):
                    self.add_python_file(path)
            else:
                _LOG.debug("the option %s has no effect in flinkish", key)

    # ------------------------------------------------------------------ dependencies

    def add_python_file(self, file_path: str) -> None:
        """Let functions import a module, a package or the contents of a zip file."""
        self.dependencies.add_file(file_path)

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Let functions import the packages that a requirements file lists; pip installs them for
        the job."""
        self.dependencies.set_requirements(requirements_file_path, requirements_cache_dir)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Let functions open the files of an archive, below ``target_dir``."""
        self.dependencies.add_archive(archive_path, target_dir)

    def set_python_executable(self, python_exec: str) -> None:
        """Accepted: set PYSPARK_PYTHON before the SparkSession is built."""

    def add_jars(self, *jars_path: str) -> None:
        """Accepted, without effect: no Java code runs."""

    def add_classpaths(self, *classpaths: str) -> None:
        """Accepted, without effect: no Java code runs."""

    # ------------------------------------------------------------------ sources

    def from_collection(
        self, collection: Iterable[Any], type_info: TypeInformation | None = None
    ) -> DataStream:
        """A stream of the elements of ``collection``, converted to ``type_info``."""
        values = list(instance("from_collection", collection, Iterable, "Pass a list."))
        if declared_type_or_none("from_collection: type_info", type_info) is not None:
            assert type_info is not None
            values = [type_info.converted(value) for value in values]
        return self._stream(self.core.fromCollection(values), type_info)

    def from_source(
        self,
        source: Source | CoreSource[Any],
        watermark_strategy: WatermarkStrategy,
        source_name: str,
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """A stream of a source, with timestamps and watermarks. The source may also be one of
        flinkish's, or your own."""
        fix = (
            "Pass one such as FileSource..., or one of flinkish's or derived from flinkish.Source."
        )
        core = (
            source
            if isinstance(source, CoreSource)
            else instance("from_source", source, Source, fix).core
        )
        fix = "Pass one such as WatermarkStrategy.no_watermarks()."
        instance("from_source: watermark_strategy", watermark_strategy, WatermarkStrategy, fix)
        declared_type_or_none("from_source: type_info", type_info)
        if type_info is None and isinstance(source, ResultTypeQueryable):
            type_info = source.get_produced_type()
        stream = self.core.fromSource(core, watermark_strategy.core, source_name)
        return self._stream(stream, type_info)

    def from_data_frame(
        self,
        data_frame: Any,
        timestamp: str | None = None,
        watermark_strategy: WatermarkStrategy | None = None,
    ) -> DataStream:
        """The rows of a Spark DataFrame, as flinkish's own Rows."""
        strategy = None if watermark_strategy is None else watermark_strategy.core
        return self._stream(self.core.fromDataFrame(data_frame, timestamp, strategy), None)

    def read_text_file(self, file_path: str) -> DataStream:
        """The lines of a text file or of the files of a directory."""
        return self._stream(self.core.readTextFile(file_path), None)

    def _stream(
        self, stream: DataStreamSource[Any], type_info: TypeInformation | None
    ) -> DataStream:
        core = None if type_info is None else type_info.core
        if core is not None:
            stream.returns(core)
        return DataStream(self, stream, type_info)

    # ------------------------------------------------------------------ running

    @short_traceback
    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run the job to its end."""
        return JobExecutionResult(self.core.execute(job_name))

    @short_traceback
    def execute_async(self, job_name: str = "Flink Streaming Job") -> JobClient:
        """Start the job and return a handle on it."""
        return JobClient(self.core.executeAsync(job_name))

    def get_execution_plan(self) -> str:
        """The plan of the job as JSON."""
        return self.core.getExecutionPlan()

    def close(self) -> None:
        """Does nothing; the SparkSession stays open."""


_UNITS = {
    **dict.fromkeys(("ms", "milli", "millisecond"), 1),
    **dict.fromkeys(("s", "sec", "second"), 1000),
    **dict.fromkeys(("m", "min", "minute"), 60_000),
    **dict.fromkeys(("h", "hour"), 3_600_000),
    **dict.fromkeys(("d", "day"), 86_400_000),
}


def _millis(text: str) -> int:
    """A length of time as Flink's options write it, such as ``1 min``, in ms."""
    found = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", text)
    unit = "ms" if found is None else found.group(2) or "ms"
    if unit not in _UNITS:
        unit = unit.removesuffix("s")
    if found is None or unit not in _UNITS:
        raise ValueError(f"{text!r} is no length of time. Write one such as '200 ms' or '1 min'.")
    return int(found.group(1)) * _UNITS[unit]


def _is_true(text: str) -> bool:
    return text == "true"


_ALIASES = {
    "restart-strategy": "restart-strategy.type",
    "pipeline.operator-chaining": "pipeline.operator-chaining.enabled",
    "execution.buffer-timeout": "execution.buffer-timeout.interval",
}

_VALUES: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(RESTART_OPTIONS, _millis),
    "restart-strategy.type": str,
    "restart-strategy.fixed-delay.attempts": int,
    "restart-strategy.exponential-delay.backoff-multiplier": float,
    "restart-strategy.exponential-delay.jitter-factor": float,
    "restart-strategy.exponential-delay.attempts-before-reset-backoff": int,
    "restart-strategy.failure-rate.max-failures-per-interval": int,
    "parallelism.default": int,
    "pipeline.max-parallelism": int,
    "pipeline.auto-watermark-interval": _millis,
    "pipeline.object-reuse": _is_true,
    "pipeline.operator-chaining.enabled": lambda text: text != "false",
    "execution.buffer-timeout.interval": _millis,
    "execution.runtime-mode": lambda text: CoreRuntimeMode[text.upper()],
    "execution.checkpointing.interval": _millis,
    "execution.checkpointing.mode": lambda text: CoreMode[text.upper()],
    "execution.checkpointing.dir": str,
    "state.checkpoints.dir": str,
    "execution.savepoint.path": str,
    "execution.savepoint.ignore-unclaimed-state": _is_true,
    "execution.state-recovery.path": str,
    "execution.state-recovery.ignore-unclaimed-state": _is_true,
    "execution.state-recovery.allow-repeated-output": _is_true,
}
"""The values of flinkish's options, made from texts."""
