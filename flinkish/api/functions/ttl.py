"""Time to live of keyed state: entries that are not used for a while expire and are removed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import ClassVar, Self

from flinkish.api.arguments import instance, integer, milliseconds, positive, positive_length
from flinkish.api.time.durations import Duration, TimeLike


class UpdateType(Enum):
    """The accesses that renew the time to live of an entry (Flink:
    ``StateTtlConfig.UpdateType``)."""

    Disabled = "Disabled"
    """None, as entries never expire."""
    OnCreateAndWrite = "OnCreateAndWrite"
    """Creating and writing."""
    OnReadAndWrite = "OnReadAndWrite"
    """Reading and writing."""


class StateVisibility(Enum):
    """Whether reads return expired entries (Flink: ``StateTtlConfig.StateVisibility``)."""

    ReturnExpiredIfNotCleanedUp = "ReturnExpiredIfNotCleanedUp"
    """Yes, until they are removed; a read that finds an entry expired removes it."""
    NeverReturnExpired = "NeverReturnExpired"
    """No."""


class TtlTimeCharacteristic(Enum):
    """The clock that measures the time to live (Flink: ``StateTtlConfig.TtlTimeCharacteristic``)."""

    ProcessingTime = "ProcessingTime"
    """The processing-time clock; Flink has no other."""


_UpdateType = UpdateType


_StateVisibility = StateVisibility


_TtlTimeCharacteristic = TtlTimeCharacteristic


@dataclass(frozen=True)
class StateTtlConfig:
    """The time to live of entries, the accesses that renew it, and the time at which expired
    entries are removed (Flink: ``StateTtlConfig``).

    A value expires as a whole, a list element by element, a map entry by entry. Time is processing
    time; on Spark the timestamp of the batch.

    >>> config = StateTtlConfig.newBuilder(Duration.ofHours(1)).updateTtlOnReadAndWrite().build()
    >>> config.getTimeToLive()
    Duration(milliseconds=3600000)
    """

    timeToLive: int
    """The time to live in ms."""
    updateType: UpdateType = UpdateType.OnCreateAndWrite
    stateVisibility: StateVisibility = StateVisibility.NeverReturnExpired
    ttlTimeCharacteristic: TtlTimeCharacteristic = TtlTimeCharacteristic.ProcessingTime
    cleanupInBackground: bool = True
    """Whether expired entries are removed even if they are never accessed again."""

    def __post_init__(self) -> None:
        integer("StateTtlConfig: timeToLive", self.timeToLive)
        fix = "Pass one of its members."
        instance("StateTtlConfig: updateType", self.updateType, _UpdateType, fix)
        instance("StateTtlConfig: stateVisibility", self.stateVisibility, _StateVisibility, fix)
        clock = self.ttlTimeCharacteristic
        instance("StateTtlConfig: ttlTimeCharacteristic", clock, _TtlTimeCharacteristic, fix)

    UpdateType = _UpdateType
    StateVisibility = _StateVisibility
    TtlTimeCharacteristic = _TtlTimeCharacteristic
    DISABLED: ClassVar[StateTtlConfig]

    @staticmethod
    def newBuilder(ttl: TimeLike | StateTtlConfig) -> StateTtlConfigBuilder:
        """A builder for a time to live of ``ttl`` (ms if an int), or for a copy of a config."""
        if isinstance(ttl, StateTtlConfig):
            return StateTtlConfigBuilder(ttl)
        return StateTtlConfigBuilder(StateTtlConfig(milliseconds("StateTtlConfig: ttl", ttl)))

    def isEnabled(self) -> bool:
        """Whether entries expire at all."""
        return self.updateType is not UpdateType.Disabled

    def getTimeToLive(self) -> Duration:
        """The time to live."""
        return Duration.ofMillis(self.timeToLive)

    def getUpdateType(self) -> _UpdateType:
        """The accesses that renew an entry."""
        return self.updateType

    def getStateVisibility(self) -> _StateVisibility:
        """Whether reads return expired entries."""
        return self.stateVisibility

    def getTtlTimeCharacteristic(self) -> _TtlTimeCharacteristic:
        """The clock that measures the time to live."""
        return self.ttlTimeCharacteristic


StateTtlConfig.DISABLED = StateTtlConfig(2**63 - 1, UpdateType.Disabled)


class StateTtlConfigBuilder:
    """Builds a ``StateTtlConfig`` (Flink: ``StateTtlConfig.Builder``)."""

    def __init__(self, config: StateTtlConfig) -> None:
        self._config = config

    def setUpdateType(self, updateType: UpdateType) -> Self:
        """Set which accesses renew an entry; by default creating and writing."""
        return self._with(updateType=updateType)

    def updateTtlOnCreateAndWrite(self) -> Self:
        """Creating and writing renews an entry."""
        return self.setUpdateType(UpdateType.OnCreateAndWrite)

    def updateTtlOnReadAndWrite(self) -> Self:
        """Reading and writing renews an entry."""
        return self.setUpdateType(UpdateType.OnReadAndWrite)

    def setStateVisibility(self, stateVisibility: StateVisibility) -> Self:
        """Set whether reads return expired entries; by default they do not."""
        return self._with(stateVisibility=stateVisibility)

    def returnExpiredIfNotCleanedUp(self) -> Self:
        """Reads return expired entries until they are removed."""
        return self.setStateVisibility(StateVisibility.ReturnExpiredIfNotCleanedUp)

    def neverReturnExpired(self) -> Self:
        """Reads never return expired entries."""
        return self.setStateVisibility(StateVisibility.NeverReturnExpired)

    def setTtlTimeCharacteristic(self, ttlTimeCharacteristic: TtlTimeCharacteristic) -> Self:
        """The clock that measures the time to live."""
        return self._with(ttlTimeCharacteristic=ttlTimeCharacteristic)

    def useProcessingTime(self) -> Self:
        """Measure the time to live with the processing-time clock."""
        return self.setTtlTimeCharacteristic(TtlTimeCharacteristic.ProcessingTime)

    def setTimeToLive(self, ttl: TimeLike) -> Self:
        """Set the time to live (ms if an int)."""
        return self._with(timeToLive=milliseconds("setTimeToLive", ttl))

    def disableCleanupInBackground(self) -> Self:
        """Remove expired entries only when they are accessed."""
        return self._with(cleanupInBackground=False)

    def cleanupFullSnapshot(self) -> Self:
        """Does nothing, for ported jobs: background clean-up removes expired entries anyway."""
        return self

    def cleanupIncrementally(self, cleanupSize: int, runCleanupForEveryRecord: bool) -> Self:
        """Does nothing, for ported jobs: background clean-up visits only entries that have expired.

        Raises IllegalArgumentError unless ``cleanupSize`` is above 0.
        """
        positive("cleanupIncrementally: cleanupSize", cleanupSize)
        return self

    def cleanupInRocksdbCompactFilter(
        self, queryTimeAfterNumEntries: int = 1000, periodicCompactionTime: TimeLike | None = None
    ) -> Self:
        """Does nothing, for ported jobs: background clean-up does the same without compaction."""
        return self

    def build(self) -> StateTtlConfig:
        """The config. Raises IllegalArgumentError if the time to live is not above zero."""
        positive_length("StateTtlConfig: the time to live", self._config.timeToLive)
        return self._config

    def _with(self, **changes: object) -> Self:
        self._config = replace(self._config, **changes)  # type: ignore[arg-type]
        return self
