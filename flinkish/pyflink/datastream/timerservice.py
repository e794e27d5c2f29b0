"""``TimerService``: the current times, and the timers of the current key."""

from __future__ import annotations

from flinkish.api.functions.process import TimerService as CoreService


class TimerService:
    """The current times in ms, and the timers of the current key (PyFlink: ``TimerService``)."""

    def __init__(self, service: CoreService) -> None:
        self._service = service

    def current_processing_time(self) -> int:
        """The processing-time clock."""
        return self._service.currentProcessingTime()

    def current_watermark(self) -> int:
        """The current watermark."""
        return self._service.currentWatermark()

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` when the clock reaches ``timestamp``."""
        self._service.registerProcessingTimeTimer(timestamp)

    def register_event_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` when the watermark reaches ``timestamp``."""
        self._service.registerEventTimeTimer(timestamp)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Delete the timer; does nothing if there is none."""
        self._service.deleteProcessingTimeTimer(timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Delete the timer; does nothing if there is none."""
        self._service.deleteEventTimeTimer(timestamp)
