"""How long entries of keyed state live."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import ClassVar

from flinkish.api.arguments import instance, integer, milliseconds, positive
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.time.durations import Duration, TimeLike


class UpdateType(Enum):
    """What makes an entry's life begin anew (Flink: ``StateTtlConfig.UpdateType``)."""

    Disabled = "Disabled"
    """Nothing: entries live for ever."""
    OnCreateAndWrite = "OnCreateAndWrite"
    """Every write."""
    OnReadAndWrite = "OnReadAndWrite"
    """Every write and every read."""


class StateVisibility(Enum):
    """Whether an expired entry may still be read (Flink: ``StateTtlConfig.StateVisibility``)."""

    ReturnExpiredIfNotCleanedUp = "ReturnExpiredIfNotCleanedUp"
    """Yes, as long as it is there: the read that finds it expired removes it."""
    NeverReturnExpired = "NeverReturnExpired"
    """No."""


class TtlTimeCharacteristic(Enum):
    """The clock that lives are measured with (Flink: ``StateTtlConfig.TtlTimeCharacteristic``)."""

    ProcessingTime = "ProcessingTime"
    """The processing-time clock; Flink has no other."""


_UpdateType = UpdateType


_StateVisibility = StateVisibility


_TtlTimeCharacteristic = TtlTimeCharacteristic


@dataclass(frozen=True)
class StateTtlConfig:
    """How long entries live, and what becomes of expired ones (Flink: ``StateTtlConfig``).

    A value lives as a whole, a list by element, a map by entry.

    >>> config = StateTtlConfig.newBuilder(Duration.ofHours(1)).updateTtlOnReadAndWrite().build()
    >>> config.getTimeToLive()
    Duration(milliseconds=3600000)
    """

    timeToLive: int
    """In ms."""
    updateType: UpdateType = UpdateType.OnCreateAndWrite
    stateVisibility: StateVisibility = StateVisibility.NeverReturnExpired
    ttlTimeCharacteristic: TtlTimeCharacteristic = TtlTimeCharacteristic.ProcessingTime
    cleanupInBackground: bool = True
    """Whether expired entries go without being touched."""

    def __post_init__(self) -> None:
        integer("StateTtlConfig: timeToLive", self.timeToLive)
        mend = "Pass one of its members."
        instance("StateTtlConfig: updateType", self.updateType, _UpdateType, mend)
        instance("StateTtlConfig: stateVisibility", self.stateVisibility, _StateVisibility, mend)
        clock = self.ttlTimeCharacteristic
        instance("StateTtlConfig: ttlTimeCharacteristic", clock, _TtlTimeCharacteristic, mend)

    UpdateType = _UpdateType
    StateVisibility = _StateVisibility
    TtlTimeCharacteristic = _TtlTimeCharacteristic
    DISABLED: ClassVar[StateTtlConfig]

    @staticmethod
    def newBuilder(ttl: TimeLike | StateTtlConfig) -> StateTtlConfigBuilder:
        """A builder of a config for a life of ``ttl``, or one that begins as a copy of a config."""
        if isinstance(ttl, StateTtlConfig):
            return StateTtlConfigBuilder(ttl)
        return StateTtlConfigBuilder(StateTtlConfig(milliseconds("StateTtlConfig: ttl", ttl)))

    def isEnabled(self) -> bool:
        """Whether entries expire at all."""
        return self.updateType is not UpdateType.Disabled

    def getTimeToLive(self) -> Duration:
        """How long an entry lives."""
        return Duration.ofMillis(self.timeToLive)

    def getUpdateType(self) -> _UpdateType:
        """What makes an entry's life begin anew."""
        return self.updateType

    def getStateVisibility(self) -> _StateVisibility:
        """Whether an expired entry may still be read."""
        return self.stateVisibility

    def getTtlTimeCharacteristic(self) -> _TtlTimeCharacteristic:
        """The clock that lives are measured with."""
        return self.ttlTimeCharacteristic


StateTtlConfig.DISABLED = StateTtlConfig(2**63 - 1, UpdateType.Disabled)


class StateTtlConfigBuilder:
    """Builds a ``StateTtlConfig`` (Flink: ``StateTtlConfig.Builder``)."""

    def __init__(self, config: StateTtlConfig) -> None:
        self._config = config

    def setUpdateType(self, updateType: UpdateType) -> StateTtlConfigBuilder:
        """What makes an entry's life begin anew; the default is every write."""
        return self._with(updateType=updateType)

    def updateTtlOnCreateAndWrite(self) -> StateTtlConfigBuilder:
        """Every write makes an entry's life begin anew."""
        return self.setUpdateType(UpdateType.OnCreateAndWrite)

    def updateTtlOnReadAndWrite(self) -> StateTtlConfigBuilder:
        """Every write and every read makes an entry's life begin anew."""
        return self.setUpdateType(UpdateType.OnReadAndWrite)

    def setStateVisibility(self, stateVisibility: StateVisibility) -> StateTtlConfigBuilder:
        """Whether an expired entry may still be read; the default is never."""
        return self._with(stateVisibility=stateVisibility)

    def returnExpiredIfNotCleanedUp(self) -> StateTtlConfigBuilder:
        """An expired entry may be read as long as it is there."""
        return self.setStateVisibility(StateVisibility.ReturnExpiredIfNotCleanedUp)

    def neverReturnExpired(self) -> StateTtlConfigBuilder:
        """An expired entry is never read."""
        return self.setStateVisibility(StateVisibility.NeverReturnExpired)

    def setTtlTimeCharacteristic(
        self, ttlTimeCharacteristic: TtlTimeCharacteristic
    ) -> StateTtlConfigBuilder:
        """The clock that lives are measured with."""
        return self._with(ttlTimeCharacteristic=ttlTimeCharacteristic)

    def useProcessingTime(self) -> StateTtlConfigBuilder:
        """Measure lives with the processing-time clock."""
        return self.setTtlTimeCharacteristic(TtlTimeCharacteristic.ProcessingTime)

    def setTimeToLive(self, ttl: TimeLike) -> StateTtlConfigBuilder:
        """How long an entry lives."""
        return self._with(timeToLive=milliseconds("setTimeToLive", ttl))

    def disableCleanupInBackground(self) -> StateTtlConfigBuilder:
        """Remove expired entries only when they are touched."""
        return self._with(cleanupInBackground=False)

    def cleanupFullSnapshot(self) -> StateTtlConfigBuilder:
        """Accepted for ported jobs: background clean-up leaves nothing expired to a snapshot."""
        return self

    def cleanupIncrementally(
        self, cleanupSize: int, runCleanupForEveryRecord: bool
    ) -> StateTtlConfigBuilder:
        """Accepted for ported jobs: background clean-up knows what has expired, and visits no
        more than that."""
        positive("cleanupIncrementally: cleanupSize", cleanupSize)
        return self

    def cleanupInRocksdbCompactFilter(
        self, queryTimeAfterNumEntries: int = 1000, periodicCompactionTime: TimeLike | None = None
    ) -> StateTtlConfigBuilder:
        """Accepted for ported jobs: background clean-up does the same without compaction."""
        return self

    def build(self) -> StateTtlConfig:
        """The config. Raises IllegalArgumentError if the time to live is not above zero."""
        if self._config.timeToLive <= 0:
            raise IllegalArgumentError(
                f"StateTtlConfig: the time to live is {self._config.timeToLive} ms, but must be"
                " greater than zero. Pass a longer one, such as Duration.ofHours(1)."
            )
        return self._config

    def _with(self, **changes: object) -> StateTtlConfigBuilder:
        self._config = replace(self._config, **changes)  # type: ignore[arg-type]
        return self
