"""``ExecutionConfig``: the settings of a job."""

from __future__ import annotations

from collections.abc import Mapping

from flinkish.api.environment.configuration import ExecutionConfig as CoreConfig
from flinkish.pyflink.absent import AbsentMethods

__all__ = ["ExecutionConfig"]


class ExecutionConfig(AbsentMethods):
    """The settings of a job (PyFlink: ``ExecutionConfig``).

    Settings of serializers, closures, latency and cancellation have no effect.
    """

    PARALLELISM_DEFAULT = -1
    """The result of ``get_parallelism`` if none was set."""
    PARALLELISM_UNKNOWN = -2
    """Accepted for ported jobs."""

    def __init__(self, config: CoreConfig, job_parameters: dict[str, str]) -> None:
        self._config = config
        self._job_parameters = job_parameters
        self._cleans_closures = True
        self._latency_interval = 0
        self._cancellation_interval = 30_000
        self._cancellation_timeout = 180_000
        self._forces_kryo = False
        self._forces_avro = False
        self._generic_types = True
        self._generates_uids = True
        self._compresses_snapshots = False

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Set how often generators emit, in ms; on Spark they do at the end of every batch."""
        self._config.setAutoWatermarkInterval(interval)
        return self

    def get_auto_watermark_interval(self) -> int:
        """The interval that was set, in ms."""
        return self._config.getAutoWatermarkInterval()

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set the number of tasks of keyed operators."""
        self._config.setParallelism(parallelism)
        return self

    def get_parallelism(self) -> int:
        """The number that was set, -1 if none was."""
        return self._config.getParallelism() or -1

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the number of key groups."""
        self._config.setMaxParallelism(max_parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """The number that was set, -1 if none was."""
        return self._config.getMaxParallelism() or -1

    def enable_object_reuse(self) -> ExecutionConfig:
        """Pass elements to chained operators without a copy."""
        self._config.enableObjectReuse()
        return self

    def disable_object_reuse(self) -> ExecutionConfig:
        """Give each reader its own copy of mutable elements. This is the default."""
        self._config.disableObjectReuse()
        return self

    def is_object_reuse_enabled(self) -> bool:
        """Whether elements are passed on without a copy."""
        return self._config.isObjectReuseEnabled()

    def set_global_job_parameters(
        self, global_job_parameters_dict: Mapping[str, str]
    ) -> ExecutionConfig:
        """Set the parameters that functions read with ``get_job_parameter``."""
        self._job_parameters.clear()
        self._job_parameters.update(global_job_parameters_dict)
        return self

    def get_global_job_parameters(self) -> dict[str, str]:
        """The parameters that were set."""
        return dict(self._job_parameters)

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Accepted, without effect: functions are pickled with what they use."""
        self._cleans_closures = True
        return self

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Accepted, without effect: functions are pickled with what they use."""
        self._cleans_closures = False
        return self

    def is_closure_cleaner_enabled(self) -> bool:
        """The value that was set."""
        return self._cleans_closures

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Accepted, without effect."""
        self._latency_interval = interval
        return self

    def get_latency_tracking_interval(self) -> int:
        """The value that was set, in ms."""
        return self._latency_interval

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Accepted, without effect."""
        self._cancellation_interval = interval
        return self

    def get_task_cancellation_interval(self) -> int:
        """The value that was set, in ms."""
        return self._cancellation_interval

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Accepted, without effect."""
        self._cancellation_timeout = timeout
        return self

    def get_task_cancellation_timeout(self) -> int:
        """The value that was set, in ms."""
        return self._cancellation_timeout

    def enable_force_kryo(self) -> ExecutionConfig:
        """Accepted, without effect: elements are pickled, or Arrow columns."""
        self._forces_kryo = True
        return self

    def disable_force_kryo(self) -> ExecutionConfig:
        """Accepted, without effect: elements are pickled, or Arrow columns."""
        self._forces_kryo = False
        return self

    def is_force_kryo_enabled(self) -> bool:
        """The value that was set."""
        return self._forces_kryo

    def enable_force_avro(self) -> ExecutionConfig:
        """Accepted, without effect: elements are pickled, or Arrow columns."""
        self._forces_avro = True
        return self

    def disable_force_avro(self) -> ExecutionConfig:
        """Accepted, without effect: elements are pickled, or Arrow columns."""
        self._forces_avro = False
        return self

    def is_force_avro_enabled(self) -> bool:
        """The value that was set."""
        return self._forces_avro

    def enable_generic_types(self) -> ExecutionConfig:
        """Accepted, without effect: a stream whose type is not said has any Python values."""
        self._generic_types = True
        return self

    def disable_generic_types(self) -> ExecutionConfig:
        """Accepted, without effect: a stream whose type is not said has any Python values."""
        self._generic_types = False
        return self

    def has_generic_types_disabled(self) -> bool:
        """Whether generic types were disabled."""
        return not self._generic_types

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Accepted, without effect: an operator without a uid gets one derived from its
        function."""
        self._generates_uids = True
        return self

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Accepted, without effect: an operator without a uid gets one derived from its
        function."""
        self._generates_uids = False
        return self

    def has_auto_generated_uids_enabled(self) -> bool:
        """The value that was set."""
        return self._generates_uids

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """None: no serializer of Java's runs."""
        return {}

    def get_registered_kryo_types(self) -> list[str]:
        """None: no serializer of Java's runs."""
        return []

    get_registered_pojo_types = get_registered_kryo_types

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Accepted, without effect: compression is a setting of Spark's state store."""
        self._compresses_snapshots = use_snapshot_compression
        return self

    def is_use_snapshot_compression(self) -> bool:
        """The value that was set."""
        return self._compresses_snapshots
