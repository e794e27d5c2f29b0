"""The settings of an environment, with the names that they have in Flink."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

from flinkish.api.arguments import MAX_KEY_GROUPS, instance, member, milliseconds, positive, text
from flinkish.api.environment.configuration import (
    CheckpointConfig,
    CheckpointingMode,
    Configuration,
    ExecutionConfig,
    RuntimeExecutionMode,
)
from flinkish.api.environment.restart_strategies import (
    RESTART_OPTIONS,
    FallbackRestart,
    RestartStrategyConfiguration,
    restart_strategy_of,
)
from flinkish.api.environment.savepoint_settings import SavepointRestoreSettings
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.time.durations import TimeLike

_SAVEPOINT = ("execution.state-recovery.path", "execution.savepoint.path")
_UNCLAIMED = (
    "execution.state-recovery.ignore-unclaimed-state",
    "execution.savepoint.ignore-unclaimed-state",
)
"""Flink's options by their current names and those before 2.0."""
_REPEATED = "execution.state-recovery.allow-repeated-output"


def usable_cores() -> int:
    """The number of cores that this process may use, which in a container may be fewer than the
    machine has."""
    # Not available on every system
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


class EnvironmentSettings:
    """The settings of a ``StreamExecutionEnvironment`` for the jobs that it runs."""

    _defaultLocalParallelism: ClassVar[int] = usable_cores()

    def __init__(self) -> None:
        self._config = ExecutionConfig()
        self._checkpointConfig = CheckpointConfig(self._config)
        self._configuration = Configuration()
        self._bufferTimeout = 100
        self._chaining = True
        self._localExecution = False
        self._changelog: bool | None = None
        self._savepoint = SavepointRestoreSettings.none()

    def getConfig(self) -> ExecutionConfig:
        """The settings of the job."""
        return self._config

    def getCheckpointConfig(self) -> CheckpointConfig:
        """The checkpoint settings of the job."""
        return self._checkpointConfig

    # ------------------------------------------------------------------ parallelism

    def setParallelism(self, parallelism: int) -> Self:
        """Set the number of tasks of keyed operators: Spark's shuffle partitions of the job. With 1
        their results are in the order of their input, across all keys.

        A checkpoint keeps the number it was started with, even if none was set; a savepoint can be
        restored with any. The number of Spark's cores may change.
        """
        self._config.setParallelism(parallelism)
        return self

    def getParallelism(self) -> int | None:
        """The parallelism, None if it is Spark's default."""
        return self._config.parallelism

    def setMaxParallelism(self, maxParallelism: int) -> Self:
        """Set the number of key groups. An existing checkpoint keeps its number; a savepoint can be
        restored with another."""
        self._config.setMaxParallelism(maxParallelism)
        return self

    def getMaxParallelism(self) -> int | None:
        """The number of key groups, or None if flinkish decides."""
        return self._config.maxParallelism

    @classmethod
    def getDefaultLocalParallelism(cls) -> int:
        """The parallelism of local environments: the cores of the machine, unless set."""
        return EnvironmentSettings._defaultLocalParallelism

    @classmethod
    def setDefaultLocalParallelism(cls, parallelism: int) -> None:
        """Set the parallelism of the local environments that are created from now on."""
        EnvironmentSettings._defaultLocalParallelism = positive(
            "setDefaultLocalParallelism", parallelism, MAX_KEY_GROUPS
        )

    # ------------------------------------------------------------------ checkpoints

    def enableCheckpointing(
        self,
        checkpointStorage: str | TimeLike | None = None,
        mode: CheckpointingMode = CheckpointingMode.EXACTLY_ONCE,
    ) -> Self:
        """Keep checkpoints in the directory ``checkpointStorage``, and continue from there.

        Flink's interval (an int in ms or a Duration) may be passed instead. It is the least time
        between the starts of two batches of an unbounded job, as every batch is a checkpoint; the
        directory is then that of ``getCheckpointConfig().setCheckpointStorage`` or of the option
        ``state.checkpoints.dir``, and a job without one logs a warning. The mode has no effect:
        each element counts exactly once in either.
        """
        config = self._checkpointConfig
        if isinstance(checkpointStorage, str):
            config.setCheckpointStorage(checkpointStorage)
        elif checkpointStorage is not None:
            config.setCheckpointInterval(checkpointStorage)
        config.setCheckpointingConsistencyMode(mode)
        return self

    def getCheckpointInterval(self) -> int:
        """The interval that was set, in ms; -1 if none was."""
        return self._checkpointConfig.getCheckpointInterval()

    def getCheckpointingMode(self) -> CheckpointingMode:
        """The mode that was set; elements count exactly once in either."""
        return self._checkpointConfig.getCheckpointingConsistencyMode()

    def getCheckpointingConsistencyMode(self) -> CheckpointingMode:
        """``getCheckpointingMode`` by its newer name."""
        return self.getCheckpointingMode()

    def isUnalignedCheckpointsEnabled(self) -> bool:
        """False, as checkpoints are taken between batches, when no element is in flight."""
        return False

    def isForceUnalignedCheckpoints(self) -> bool:
        """False, for the same reason."""
        return False

    def enableChangelogStateBackend(self, enabled: bool) -> Self:
        """Accepted for ported jobs: Spark's state store writes changelogs in any case."""
        self._changelog = enabled
        return self

    def isChangelogStateBackendEnabled(self) -> bool | None:
        """The value that was set, None if none was."""
        return self._changelog

    def getDefaultSavepointDirectory(self) -> str | None:
        """The directory of the checkpoints, which ``stopWithSavepoint`` returns if called without
        one."""
        return self._checkpointConfig.getCheckpointStorage()

    def setSavepoint(
        self,
        savepoint: str | SavepointRestoreSettings,
        allowNonRestoredState: bool = False,
        allowRepeatedOutput: bool = False,
    ) -> Self:
        """Restore from a savepoint: the directory that ``stopWithSavepoint`` or
        ``triggerSavepoint`` returned, even if it has been moved. The parallelism, the key groups
        and the job may differ.

        A checkpoint directory will do too. If its job was killed in a batch, that batch is finished
        there first, so that its output comes once. ``allowNonRestoredState``: drop the state of
        operators that the job no longer has. ``allowRepeatedOutput``: leave that batch, and begin
        before it. A checkpoint that the job has written itself takes precedence, so a program can
        be restarted unchanged.
        """
        if not isinstance(savepoint, SavepointRestoreSettings):
            path = text("setSavepoint: savepoint", savepoint)
            savepoint = SavepointRestoreSettings(path, allowNonRestoredState, allowRepeatedOutput)
        self._savepoint = savepoint
        return self

    def getSavepointRestoreSettings(self) -> SavepointRestoreSettings:
        """The savepoint that jobs are restored from."""
        return self._savepoint

    # ------------------------------------------------------------------ failures

    def setRestartStrategy(
        self, restartStrategyConfiguration: RestartStrategyConfiguration
    ) -> Self:
        """Set whether a job that failed runs again from its last checkpoint, in this process, and when:
        one of ``RestartStrategies``. If none is set, a failure ends the job.

        A failure that a restart cannot fix ends the job in any case: an invalid program, a
        checkpoint that is damaged or of another job, a JVM that has exited.
        """
        self._config.setRestartStrategy(restartStrategyConfiguration)
        if isinstance(restartStrategyConfiguration, FallbackRestart):
            self._config.setRestartStrategy(restart_strategy_of(self._configuration))
        return self

    def getRestartStrategy(self) -> RestartStrategyConfiguration:
        """Whether a job that failed runs again, and when."""
        return self._config.getRestartStrategy()

    # ------------------------------------------------------------------ how it runs

    def setTriggerInterval(self, interval: TimeLike) -> Self:
        """Start a batch at most every ``interval`` (ms if an int); 0, the default, starts one as soon as
        there is data."""
        self._config.setTriggerInterval(interval)
        return self

    def setRuntimeMode(self, executionMode: RuntimeExecutionMode) -> Self:
        """Set whether a job runs as a stream (the default), as a batch, or as its sources allow.

        In BATCH, which is for bounded sources, a job is one query over all its input. A keyed operator gets
        the elements of a key together, sorted by time, and one watermark after the last. ``reduce``, ``sum``
        and the like give one result per key; nothing is late; there are no checkpoints.
        """
        mode = member("setRuntimeMode", executionMode, RuntimeExecutionMode)
        self._config.runtimeMode = mode
        return self

    def setLocalExecution(self, enabled: bool = True) -> Self:
        """Run the jobs of this environment in this process, without Spark: for tests and for learning.

        A job gives the same results as on Spark, in milliseconds. It takes savepoints but no
        checkpoints, and reads and writes no DataFrames. Unless ``setParallelism`` says otherwise
        its parallelism is 1.
        """
        self._localExecution = enabled
        return self

    def isLocalExecution(self) -> bool:
        """Whether jobs run in this process."""
        return self._localExecution

    def setBufferTimeout(self, timeoutMillis: TimeLike) -> Self:
        """Accepted for ported jobs: elements travel a batch at a time. Use setTriggerInterval for
        larger batches."""
        self._bufferTimeout = milliseconds("setBufferTimeout", timeoutMillis)
        if self._bufferTimeout < -1:
            raise IllegalArgumentError(
                f"setBufferTimeout: {self._bufferTimeout} ms is negative. Pass 0 or more, or -1 for"
                " no timeout."
            )
        return self

    def getBufferTimeout(self) -> int:
        """The value that was set, in ms; 100 if none was, as in Flink."""
        return self._bufferTimeout

    def disableOperatorChaining(self) -> Self:
        """Accepted for ported jobs, without effect: unchained operators would only be slower."""
        self._chaining = False
        return self

    def isChainingEnabled(self) -> bool:
        """Whether chaining was left on."""
        return self._chaining

    def isChainingOfOperatorsWithDifferentMaxParallelismEnabled(self) -> bool:
        """True, as operators of any max parallelism are chained."""
        return True

    def registerSlotSharingGroup(self, slotSharingGroup: object) -> Self:
        """Accepted for ported jobs: Spark has no slots. Size its executors instead."""
        return self

    # ------------------------------------------------------------------ by option

    def configure(self, configuration: Configuration) -> None:
        """Apply the options in ``configuration``; all other settings stay."""
        instance("configure", configuration, Mapping, "Pass a Configuration.")
        for option, value in configuration.items():
            self._configuration.set(option, value)
            self._set(option, value)
        if any(option in RESTART_OPTIONS for option in configuration):
            self._config.setRestartStrategy(restart_strategy_of(self._configuration))

    def getConfiguration(self) -> Configuration:
        """The options that were set by ``configure``."""
        return self._configuration

    def _set(self, option: str, value: Any) -> None:
        config, checkpoints = self._config, self._checkpointConfig
        setters: dict[str, Callable[[Any], object]] = {
            "parallelism.default": self.setParallelism,
            "pipeline.max-parallelism": self.setMaxParallelism,
            "pipeline.name": partial(text, "pipeline.name"),  # execute reads it
            "pipeline.auto-watermark-interval": config.setAutoWatermarkInterval,
            "pipeline.global-job-parameters": config.setGlobalJobParameters,
            "pipeline.column-checks": config.setColumnChecks,
            "execution.buffer-timeout.interval": self.setBufferTimeout,
            "execution.runtime-mode": self.setRuntimeMode,
            "execution.checkpointing.dir": checkpoints.setCheckpointStorage,
            "state.checkpoints.dir": checkpoints.setCheckpointStorage,
            "execution.checkpointing.externalized-checkpoint-retention": (
                checkpoints.setExternalizedCheckpointRetention
            ),
            "execution.checkpointing.interval": checkpoints.setCheckpointInterval,
            "execution.checkpointing.mode": checkpoints.setCheckpointingConsistencyMode,
        }
        if option in setters:
            setters[option](value)
        elif option == "pipeline.object-reuse":
            config.enableObjectReuse() if value else config.disableObjectReuse()
        elif option == "pipeline.function-tracing":
            config.enableFunctionTracing() if value else config.disableFunctionTracing()
        elif option == "pipeline.operator-chaining.enabled":
            self._chaining = bool(value)
        elif option in _SAVEPOINT:
            now = self._savepoint
            self.setSavepoint(value, now.allowNonRestoredState(), now.allowRepeatedOutput())
        elif option in _UNCLAIMED:
            allowed = instance(option, value, bool, "Pass True or False.")
            self._savepoint = replace(self._savepoint, _allow_non_restored_state=allowed)
        elif option == _REPEATED:
            allowed = instance(option, value, bool, "Pass True or False.")
            self._savepoint = replace(self._savepoint, _allow_repeated_output=allowed)
