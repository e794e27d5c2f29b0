"""``Configuration``: settings of a job by the names of Flink's options."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Self

from flinkish.api.absent import AbsentMethods
from flinkish.api.arguments import (
    MAX_KEY_GROUPS,
    instance,
    length_from_zero,
    member,
    positive,
    positive_length,
    text,
    whole_number,
)
from flinkish.api.environment.parameter_tool import ParameterTool
from flinkish.api.environment.restart_strategies import (
    RESTART_OPTIONS,
    NoRestart,
    RestartStrategyConfiguration,
)
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.time.durations import TimeLike

_LOG = logging.getLogger("flinkish")


class ExternalizedCheckpointRetention(Enum):
    """Says when the directory of a job's checkpoints is removed (Flink: ``ExternalizedCheckpointRetention``).

    As in Flink, all three remove the directory of a job that has finished, or that was stopped with
    a savepoint.
    """

    DELETE_ON_CANCELLATION = "DELETE_ON_CANCELLATION"
    """Remove it when the job is cancelled; keep it when the job fails."""
    RETAIN_ON_CANCELLATION = "RETAIN_ON_CANCELLATION"
    """Keep it when the job is cancelled or fails."""
    NO_EXTERNALIZED_CHECKPOINTS = "NO_EXTERNALIZED_CHECKPOINTS"
    """Remove it however the job ends."""


class CheckpointingMode(Enum):
    """The guarantee for state after a crash (Flink: ``CheckpointingMode``)."""

    EXACTLY_ONCE = "EXACTLY_ONCE"
    AT_LEAST_ONCE = "AT_LEAST_ONCE"
    """Accepted, but flinkish still counts each element exactly once."""


class RuntimeExecutionMode(Enum):
    """Whether a job emits every result or only the last (Flink: ``RuntimeExecutionMode``)."""

    STREAMING = "STREAMING"
    AUTOMATIC = "AUTOMATIC"
    """BATCH if all sources are bounded, else STREAMING."""
    BATCH = "BATCH"
    """All input is read at once and sorted by key and time; only final results are emitted."""


class Configuration(Mapping[str, Any]):
    """Options by Flink's names, for ``env.configure`` (Flink: ``Configuration``).

    >>> Configuration({"parallelism.default": 4}).set("pipeline.max-parallelism", 16)
    Configuration({'parallelism.default': 4, 'pipeline.max-parallelism': 16})
    """

    OPTIONS = (
        "execution.buffer-timeout.interval",
        "execution.checkpointing.dir",
        "state.checkpoints.dir",
        "execution.checkpointing.externalized-checkpoint-retention",
        "execution.checkpointing.interval",
        "execution.checkpointing.mode",
        "execution.runtime-mode",
        "execution.savepoint.ignore-unclaimed-state",
        "execution.savepoint.path",
        "execution.state-recovery.allow-repeated-output",
        "execution.state-recovery.ignore-unclaimed-state",
        "execution.state-recovery.path",
        "parallelism.default",
        "pipeline.auto-watermark-interval",
        "pipeline.global-job-parameters",
        "pipeline.max-parallelism",
        "pipeline.name",
        "pipeline.object-reuse",
        "pipeline.column-checks",
        "pipeline.function-tracing",
        "pipeline.operator-chaining.enabled",
        "rest.port",
        *RESTART_OPTIONS,
    )
    """The supported options. Times are int ms or a Duration; the job parameters are a dict;
    ``createLocalEnvironmentWithWebUI`` reads ``rest.port``."""

    WITHOUT_EFFECT = (
        "akka.",
        "blob.",
        "cluster.",
        "env.",
        "fs.",
        "heartbeat.",
        "high-availability",
        "historyserver.",
        "io.",
        "jobmanager.",
        "kubernetes.",
        "metrics.",
        "pekko.",
        "python.",
        "s3.",
        "security.",
        "slot.",
        "state.backend",
        "taskmanager.",
        "web.",
        "yarn.",
    )
    """Prefixes of the options for Flink's own processes. They are accepted and a warning is logged,
    since Spark has its own processes and state store."""

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self._options: dict[str, Any] = {}
        if options is not None:
            instance(
                "Configuration", options, Mapping, 'Pass a dict, as {"parallelism.default": 4}.'
            )
        for name, value in (options or {}).items():
            self.set(name, value)

    def set(self, option: str, value: Any) -> Self:
        """Set an option. An option of Flink's own processes has no effect, and a warning says so.
        Raises IllegalArgumentError for any other unknown option, which would be ignored
        unnoticed."""
        if isinstance(option, str) and option.startswith(self.WITHOUT_EFFECT):
            _LOG.warning(
                "The option %s has no effect: it is for Flink's own processes. Configure those of Spark on the"
                " SparkSession.",
                option,
            )
        elif option not in self.OPTIONS:
            raise IllegalArgumentError(
                f"Configuration: flinkish has no option {option!r}. It has"
                f" {', '.join(self.OPTIONS)}; all else is set on the SparkSession."
            )
        self._options[option] = value
        return self

    def __getitem__(self, option: str) -> Any:
        if not isinstance(option, str):
            raise KeyError(option)
        return self._options[option]

    def __iter__(self) -> Iterator[str]:
        return iter(self._options)

    def __len__(self) -> int:
        return len(self._options)

    def __repr__(self) -> str:
        return f"Configuration({self._options!r})"


DEFAULT_COLUMN_CHECKS = 4
"""The number of elements of a run to check, unless ``setColumnChecks`` says otherwise."""


class ExecutionConfig(AbsentMethods):
    """The settings for running a job (Flink: ``ExecutionConfig``)."""

    def __init__(self) -> None:
        self.autoWatermarkInterval = 200
        self.parallelism: int | None = None
        self.maxParallelism: int | None = None
        self._trigger_interval: int | None = None
        self._checkpoint_interval: int | None = None
        self.elementsPerBatch: int | None = None
        self._function_tracing = True
        self._column_checks = DEFAULT_COLUMN_CHECKS
        self._object_reuse = False
        self.elementsHiddenInErrors = False
        self.nullKeysAllowed = False
        self.runtimeMode = RuntimeExecutionMode.STREAMING
        self._restart_strategy: RestartStrategyConfiguration = NoRestart()
        self._job_parameters: dict[str, str] = {}

    def setAutoWatermarkInterval(self, interval: TimeLike) -> Self:
        """Set how often generators emit periodic watermarks in the harness, in ms.

        On Spark they do at the end of every batch, whatever the interval.
        """
        self.autoWatermarkInterval = length_from_zero(
            "setAutoWatermarkInterval: interval", interval
        )
        return self

    def getAutoWatermarkInterval(self) -> int:
        """The interval (ms) at which generators emit periodic watermarks in the harness."""
        return self.autoWatermarkInterval

    def setParallelism(self, parallelism: int) -> Self:
        """Set the number of tasks of keyed operators."""
        self.parallelism = positive("setParallelism", parallelism, MAX_KEY_GROUPS)
        return self

    def getParallelism(self) -> int | None:
        """The number of tasks of keyed operators, None if it is Spark's default."""
        return self.parallelism

    def setMaxParallelism(self, maxParallelism: int) -> Self:
        """Set the number of key groups. Raises IllegalArgumentError if there are too many."""
        self.maxParallelism = positive("setMaxParallelism", maxParallelism, MAX_KEY_GROUPS)
        return self

    def getMaxParallelism(self) -> int | None:
        """The number of key groups, or None if flinkish decides."""
        return self.maxParallelism

    def setTriggerInterval(self, interval: TimeLike) -> Self:
        """Start a batch at most every ``interval`` (ms if an int)."""
        self._trigger_interval = length_from_zero("setTriggerInterval: interval", interval)
        return self

    def triggerIntervalOf(self, unbounded: bool) -> int:
        """The least time between the starts of two batches, in ms: the trigger interval if it was
        set, else the checkpoint interval of an unbounded job, else 0."""
        if self._trigger_interval is None and unbounded:
            return self._checkpoint_interval or 0
        return self._trigger_interval or 0

    def setElementsPerBatch(self, elements: int) -> Self:
        """Read collections and sequences in batches of ``elements`` elements.

        If it is not set, a collection is read in one batch, and a sequence in at most 64 batches of
        a million elements or more.
        """
        self.elementsPerBatch = positive("setElementsPerBatch", elements)
        return self

    def enableObjectReuse(self) -> Self:
        """Pass elements to chained operators without a copy, even mutable ones.

        Then no function may change an element that it received or emitted, unless it emits that
        element again: the upstream function, state and other readers of the stream may hold the
        same object.
        """
        self._object_reuse = True
        return self

    def disableObjectReuse(self) -> Self:
        """Give each reader of a stream its own copy of mutable elements. This is the default."""
        self._object_reuse = False
        return self

    def isObjectReuseEnabled(self) -> bool:
        """Whether chained operators get elements without a copy."""
        return self._object_reuse

    def enableFunctionTracing(self) -> Self:
        """Run functions that only compute over columns where their input is columns, such as rows of a
        table: the results are the same. This is the default; ``explain`` says which functions do."""
        self._function_tracing = True
        return self

    def disableFunctionTracing(self) -> Self:
        """Call every function element by element."""
        self._function_tracing = False
        return self

    def isFunctionTracingEnabled(self) -> bool:
        """Whether functions that only compute run over columns."""
        return self._function_tracing

    def setColumnChecks(self, elements: int) -> Self:
        """Set for how many elements of a run over columns the function is also called, to compare
        the results: 4 by default, 0 for none. The first run is checked, each run with nulls in
        columns that had none before, and others as long as checks take no more than 1 % of the
        time. A function whose results differ is called for each element from then on, and a warning
        says so."""
        self._column_checks = whole_number("setColumnChecks: elements", elements)
        return self

    def getColumnChecks(self) -> int:
        """The number of elements of a checked run for which the function is also called."""
        return self._column_checks

    def setRestartStrategy(
        self, restartStrategyConfiguration: RestartStrategyConfiguration
    ) -> Self:
        """Set whether a job that failed runs again from its last checkpoint, and when."""
        self._restart_strategy = instance(
            "setRestartStrategy",
            restartStrategyConfiguration,
            RestartStrategyConfiguration,
            "Pass one, such as RestartStrategies.fixedDelayRestart(3, 10_000).",
        )
        return self

    def getRestartStrategy(self) -> RestartStrategyConfiguration:
        """Whether a job that failed runs again, and when."""
        return self._restart_strategy

    def setGlobalJobParameters(
        self, globalJobParameters: ParameterTool | Mapping[str, str]
    ) -> Self:
        """Set parameters that every function can read with
        ``getRuntimeContext().getGlobalJobParameters()``. A job has those that were set when it
        started."""
        parameters = globalJobParameters
        if isinstance(parameters, ParameterTool):
            parameters = parameters.toMap()
        fix = "Pass a ParameterTool, or a dict of strings."
        instance("setGlobalJobParameters", parameters, Mapping, fix)
        for name, value in parameters.items():
            instance("setGlobalJobParameters: a name", name, str, fix)
            instance(f"setGlobalJobParameters: {name}", value, str, fix)
        self._job_parameters = dict(parameters)
        return self

    def getGlobalJobParameters(self) -> dict[str, str]:
        """The parameters that were set for all functions."""
        return dict(self._job_parameters)

    def setLatencyTrackingInterval(self, interval: TimeLike) -> Self:
        """Accepted for ported jobs, without effect: metrics and the web page show the latency of every batch."""
        length_from_zero("setLatencyTrackingInterval: interval", interval)
        return self

    def enableGenericTypes(self) -> None:
        """Accepted for ported jobs, without effect: any object that can be pickled is an element."""

    def disableGenericTypes(self) -> None:
        """Accepted for ported jobs, without effect: there are no serializers to fall back from."""

    def enableClosureCleaner(self) -> Self:
        """Accepted for ported jobs, without effect: functions are pickled with what they refer to."""
        return self

    def disableClosureCleaner(self) -> Self:
        """Accepted for ported jobs, without effect: functions are pickled with what they refer to."""
        return self

    def setUseSnapshotCompression(self, useSnapshotCompression: bool) -> None:
        """Accepted for ported jobs, without effect: compression is a setting of Spark's state
        store."""

    def setTaskCancellationInterval(self, interval: TimeLike) -> Self:
        """Accepted for ported jobs, without effect: Spark ends the tasks of a job that is cancelled."""
        length_from_zero("setTaskCancellationInterval: interval", interval)
        return self

    def setTaskCancellationTimeout(self, timeout: TimeLike) -> Self:
        """Accepted for ported jobs, without effect: Spark ends the tasks of a job that is cancelled."""
        length_from_zero("setTaskCancellationTimeout: timeout", timeout)
        return self

    def hideElementsInErrors(self) -> Self:
        """Show only the types of elements in errors, neither their values nor the messages of user
        functions, for data that must not appear in logs."""
        self.elementsHiddenInErrors = True
        return self

    def allowNullKeys(self) -> Self:
        """Take None as one key. Otherwise a key selector that returns None fails the job with
        UnfitElementError, as Flink refuses null keys."""
        self.nullKeysAllowed = True
        return self


class CheckpointConfig(AbsentMethods):
    """The checkpoint settings of a job (Flink: ``CheckpointConfig``). Every batch is a checkpoint,
    so pauses, timeouts and limits of Flink's checkpoints have no effect; ``get...`` returns
    them."""

    def __init__(self, config: ExecutionConfig) -> None:
        self._config = instance(
            "CheckpointConfig: config",
            config,
            ExecutionConfig,
            "Take the one of the environment: env.getCheckpointConfig().",
        )
        config._checkpoint_interval = None
        self.checkpointStorage: str | None = None
        self._interval = -1
        self._mode = CheckpointingMode.EXACTLY_ONCE
        self._retention: ExternalizedCheckpointRetention | None = None
        self._timeout = 600_000
        self._pause = 0
        self._concurrent = 1
        self._tolerable = 0
        self._unaligned = False
        self._alignment = 0

    def setCheckpointStorage(self, directory: str) -> None:
        """Keep checkpoints in ``directory``, any path that Spark can write."""
        self.checkpointStorage = text("setCheckpointStorage: directory", directory)

    def getCheckpointStorage(self) -> str | None:
        """The directory of the checkpoints; None for a temporary one that is removed with the
        job."""
        return self.checkpointStorage

    def setCheckpointInterval(self, checkpointInterval: TimeLike) -> None:
        """Set the least time between two checkpoints (ms if an int). Every batch is a checkpoint,
        so it is the least time between the starts of two batches of an unbounded job, unless
        ``setTriggerInterval`` was called."""
        self._interval = positive_length(
            "setCheckpointInterval: checkpointInterval", checkpointInterval
        )
        self._config._checkpoint_interval = self._interval

    def getCheckpointInterval(self) -> int:
        """The interval that was set, in ms; -1 if none was."""
        return self._interval

    def setExternalizedCheckpointRetention(
        self, retention: ExternalizedCheckpointRetention
    ) -> None:
        """Set when the directory of the checkpoints is removed as the job ends. If this is never called, it
        stays."""
        method = "setExternalizedCheckpointRetention"
        self._retention = member(method, retention, ExternalizedCheckpointRetention)

    def getExternalizedCheckpointRetention(self) -> ExternalizedCheckpointRetention | None:
        """The retention that was set; None if the directory stays in any case."""
        return self._retention

    def isExternalizedCheckpointsEnabled(self) -> bool:
        """Whether checkpoints may outlive the job."""
        return self._retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS

    def setCheckpointingConsistencyMode(self, checkpointingMode: CheckpointingMode) -> None:
        """Accepted for ported jobs: elements count exactly once in either mode."""
        self._mode = member("setCheckpointingConsistencyMode", checkpointingMode, CheckpointingMode)

    def getCheckpointingConsistencyMode(self) -> CheckpointingMode:
        """The mode that was set."""
        return self._mode

    def setCheckpointingMode(self, checkpointingMode: CheckpointingMode) -> None:
        """``setCheckpointingConsistencyMode`` by its older name."""
        self.setCheckpointingConsistencyMode(checkpointingMode)

    def getCheckpointingMode(self) -> CheckpointingMode:
        """The mode that was set."""
        return self._mode

    def isCheckpointingEnabled(self) -> bool:
        """Whether an interval was set."""
        return self._interval > 0

    def setExternalizedCheckpointCleanup(self, cleanup: ExternalizedCheckpointRetention) -> None:
        """``setExternalizedCheckpointRetention`` by its older name."""
        self.setExternalizedCheckpointRetention(cleanup)

    def enableExternalizedCheckpoints(self, cleanup: ExternalizedCheckpointRetention) -> None:
        """``setExternalizedCheckpointRetention`` by its older name."""
        self.setExternalizedCheckpointRetention(cleanup)

    def setCheckpointTimeout(self, checkpointTimeout: TimeLike) -> None:
        """Accepted without effect: a batch ends when it ends."""
        self._timeout = positive_length("setCheckpointTimeout", checkpointTimeout)

    def getCheckpointTimeout(self) -> int:
        """The timeout that was set, in ms."""
        return self._timeout

    def setMinPauseBetweenCheckpoints(self, minPauseBetweenCheckpoints: TimeLike) -> None:
        """Accepted without effect: ``env.getConfig().setTriggerInterval`` spaces the batches."""
        self._pause = length_from_zero("setMinPauseBetweenCheckpoints", minPauseBetweenCheckpoints)

    def getMinPauseBetweenCheckpoints(self) -> int:
        """The pause that was set, in ms."""
        return self._pause

    def setMaxConcurrentCheckpoints(self, maxConcurrentCheckpoints: int) -> None:
        """Accepted without effect: batches come one after the other."""
        self._concurrent = positive("setMaxConcurrentCheckpoints", maxConcurrentCheckpoints)

    def getMaxConcurrentCheckpoints(self) -> int:
        """The number that was set."""
        return self._concurrent

    def setTolerableCheckpointFailureNumber(self, tolerableCheckpointFailureNumber: int) -> None:
        """Accepted without effect: a batch that cannot be committed fails the job, which ``setRestartStrategy``
        restarts."""
        self._tolerable = whole_number(
            "setTolerableCheckpointFailureNumber", tolerableCheckpointFailureNumber
        )

    def getTolerableCheckpointFailureNumber(self) -> int:
        """The number that was set."""
        return self._tolerable

    def setFailOnCheckpointingErrors(self, failOnCheckpointingErrors: bool) -> None:
        """``setTolerableCheckpointFailureNumber(0)``, or with the highest number if False."""
        self._tolerable = 0 if failOnCheckpointingErrors else 2**31 - 1

    def enableUnalignedCheckpoints(self, enabled: bool = True) -> None:
        """Accepted without effect: no element is in flight between batches."""
        self._unaligned = enabled

    def disableUnalignedCheckpoints(self) -> None:
        """Accepted without effect."""
        self._unaligned = False

    def isUnalignedCheckpointsEnabled(self) -> bool:
        """The value that was set."""
        return self._unaligned

    def setAlignedCheckpointTimeout(self, alignedCheckpointTimeout: TimeLike) -> None:
        """Accepted without effect: no element is in flight between batches."""
        self._alignment = length_from_zero("setAlignedCheckpointTimeout", alignedCheckpointTimeout)

    def getAlignedCheckpointTimeout(self) -> int:
        """The timeout that was set, in ms."""
        return self._alignment
