"""Timestamps and watermarks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from flinkish.api.arguments import instance
from flinkish.api.eventtime.watermarks import WatermarkStrategy as CoreStrategy
from flinkish.pyflink.absent import AbsentMethods, absent_names
from flinkish.pyflink.common.arguments import millis_of_duration
from flinkish.pyflink.common.shipping import shippable
from flinkish.pyflink.common.time import Duration


class TimestampAssigner(ABC):
    """Gives elements their timestamps (PyFlink: ``TimestampAssigner``)."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The timestamp of ``value`` in ms since the epoch."""


class WatermarkStrategy(AbsentMethods):
    """How a stream gets timestamps and watermarks (PyFlink: ``WatermarkStrategy``).

    ``strategy`` is one of flinkish's own, for example with a generator written for flinkish.
    """

    def __init__(self, strategy: CoreStrategy[Any]) -> None:
        self.core = strategy
        """The strategy for flinkish's own streams."""

    def with_timestamp_assigner(self, timestamp_assigner: TimestampAssigner) -> WatermarkStrategy:
        """This strategy with timestamps from ``timestamp_assigner``."""
        if not hasattr(timestamp_assigner, "extract_timestamp"):
            fix = "Derive a class from it with extract_timestamp(value, record_timestamp), and pass an object."
            instance("with_timestamp_assigner", timestamp_assigner, TimestampAssigner, fix)
        extract = shippable(timestamp_assigner).extract_timestamp
        return WatermarkStrategy(self.core.withTimestampAssigner(extract))

    def with_idleness(self, idle_timeout: Duration) -> WatermarkStrategy:
        """This strategy, which marks an input idle after that time without elements."""
        return WatermarkStrategy(
            self.core.withIdleness(millis_of_duration("with_idleness", idle_timeout))
        )

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: Duration,
        update_interval: Duration | None = None,
    ) -> WatermarkStrategy:
        """This strategy, which pauses a source while it is ahead of the others of its group."""
        call = "with_watermark_alignment"
        interval = 1_000
        if update_interval is not None:
            interval = millis_of_duration(call, update_interval)
        drift = millis_of_duration(call, max_allowed_watermark_drift)
        return WatermarkStrategy(self.core.withWatermarkAlignment(watermark_group, drift, interval))

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """For timestamps that never decrease."""
        return WatermarkStrategy(CoreStrategy.forMonotonousTimestamps())

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: Duration) -> WatermarkStrategy:
        """For elements up to ``max_out_of_orderness`` older than the newest so far."""
        length = millis_of_duration("for_bounded_out_of_orderness", max_out_of_orderness)
        return WatermarkStrategy(CoreStrategy.forBoundedOutOfOrderness(length))

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """Without watermarks."""
        return WatermarkStrategy(CoreStrategy.noWatermarks())


__getattr__ = absent_names(__name__)
