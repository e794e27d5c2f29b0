"""``CheckpointConfig``: the checkpoint settings of a job; every batch is a checkpoint."""

from __future__ import annotations

from flinkish.api.environment.configuration import CheckpointConfig as CoreConfig
from flinkish.api.environment.configuration import CheckpointingMode as CoreMode
from flinkish.api.environment.configuration import ExternalizedCheckpointRetention as CoreRetention
from flinkish.pyflink.absent import AbsentMethods
from flinkish.pyflink.common.time import Duration
from flinkish.pyflink.datastream.checkpointing_mode import CheckpointingMode
from flinkish.pyflink.datastream.externalized_checkpoint_retention import (
    ExternalizedCheckpointRetention,
)

__all__ = ["CheckpointConfig"]


class CheckpointConfig(AbsentMethods):
    """The checkpoint settings of a job (PyFlink: ``CheckpointConfig``).

    Every batch is a checkpoint, so most settings are stored without effect.
    """

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        self._timeout = 600_000
        self._pause = 0
        self._concurrent = 1
        self._tolerable = 0
        self._unaligned = False
        self._forces_unaligned = False
        self._alignment = Duration.of_millis(0)
        self._retention = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS

    def is_checkpointing_enabled(self) -> bool:
        """Whether an interval was set."""
        return self.get_checkpoint_interval() > 0

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """The mode that was set."""
        return CheckpointingMode[self._config.getCheckpointingConsistencyMode().name]

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Accepted: elements count exactly once in either mode."""
        self._config.setCheckpointingConsistencyMode(CoreMode[checkpointing_mode.name])
        return self

    def get_checkpoint_interval(self) -> int:
        """The interval that was set, in ms, -1 if none was."""
        return self._config.getCheckpointInterval()

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        """Start a batch, which is a checkpoint, at most every ``checkpoint_interval`` ms if a
        source is unbounded."""
        self._config.setCheckpointInterval(checkpoint_interval)
        return self

    def get_checkpoint_timeout(self) -> int:
        """The value that was set, in ms."""
        return self._timeout

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Accepted, without effect."""
        self._timeout = checkpoint_timeout
        return self

    def get_min_pause_between_checkpoints(self) -> int:
        """The value that was set, in ms."""
        return self._pause

    def set_min_pause_between_checkpoints(
        self, min_pause_between_checkpoints: int
    ) -> CheckpointConfig:
        """Accepted, without effect."""
        self._pause = min_pause_between_checkpoints
        return self

    def get_max_concurrent_checkpoints(self) -> int:
        """The value that was set."""
        return self._concurrent

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Accepted, without effect."""
        self._concurrent = max_concurrent_checkpoints
        return self

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """The value that was set."""
        return self._tolerable

    def set_tolerable_checkpoint_failure_number(
        self, tolerable_checkpoint_failure_number: int
    ) -> CheckpointConfig:
        """Accepted, without effect: a batch that cannot be committed fails the job."""
        self._tolerable = tolerable_checkpoint_failure_number
        return self

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Whether no failure is tolerated."""
        return self._tolerable == 0

    def set_fail_on_checkpointing_errors(
        self, fail_on_checkpointing_errors: bool
    ) -> CheckpointConfig:
        """``set_tolerable_checkpoint_failure_number(0)``, or with the highest number if False."""
        number = 0 if fail_on_checkpointing_errors else 2**31 - 1
        return self.set_tolerable_checkpoint_failure_number(number)

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Set when the directory of the checkpoints is removed as the job ends; until this is called, it
        stays."""
        self._config.setExternalizedCheckpointRetention(CoreRetention[retention_mode.name])
        self._retention = retention_mode
        return self

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """The value that was set."""
        return self._retention

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Whether checkpoints may outlive the job."""
        return self._retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """The value that was set."""
        return self._unaligned

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Accepted, without effect: no element is in flight between batches."""
        self._unaligned = enabled
        return self

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Accepted, without effect."""
        return self.enable_unaligned_checkpoints(False)

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Accepted, without effect."""
        self._alignment = alignment_timeout
        return self

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """The value that was set."""
        return self._alignment

    set_alignment_timeout = set_aligned_checkpoint_timeout
    get_alignment_timeout = get_aligned_checkpoint_timeout

    def set_force_unaligned_checkpoints(
        self, force_unaligned_checkpoints: bool = True
    ) -> CheckpointConfig:
        """Accepted, without effect."""
        self._forces_unaligned = force_unaligned_checkpoints
        return self

    def is_force_unaligned_checkpoints(self) -> bool:
        """The value that was set."""
        return self._forces_unaligned

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> CheckpointConfig:
        """Keep checkpoints in that directory."""
        self._config.setCheckpointStorage(checkpoint_path)
        return self
