"""``ExecutionConfig``: the settings of a job."""

from __future__ import annotations

from collections.abc import Mapping

from flinkish.api.environment.configuration import ExecutionConfig as CoreConfig

__all__ = ["ExecutionConfig"]


class ExecutionConfig:
    """The settings of a job (PyFlink: ``ExecutionConfig``)."""

    def __init__(self, config: CoreConfig, job_parameters: dict[str, str]) -> None:
        self._config = config
        self._job_parameters = job_parameters

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """How often generators emit, in ms; here they do at the end of every batch."""
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
        """Hand elements to chained operators without a copy."""
        self._config.enableObjectReuse()
        return self

    def disable_object_reuse(self) -> ExecutionConfig:
        """Give each reader a copy of what can change: the default."""
        self._config.disableObjectReuse()
        return self

    def is_object_reuse_enabled(self) -> bool:
        """Whether elements are handed on without a copy."""
        return self._config.isObjectReuseEnabled()

    def set_global_job_parameters(
        self, global_job_parameters_dict: Mapping[str, str]
    ) -> ExecutionConfig:
        """Set what functions read with ``get_job_parameter``."""
        self._job_parameters.clear()
        self._job_parameters.update(global_job_parameters_dict)
        return self

    def get_global_job_parameters(self) -> dict[str, str]:
        """What was set."""
        return dict(self._job_parameters)
