"""The rules of ``ArrivalTimeStrategy``: judges elements, and knows the watermark."""

from __future__ import annotations

from typing import Any, NamedTuple

from flinkish.api.arrival_time import ArrivalTimeStrategy, DeadLetterReason, OrderingPolicy
from flinkish.runtime.substream_watermarks import SubstreamWatermarks


class Verdict(NamedTuple):
    """What becomes of an element: it goes on with ``timestamp``, or is dropped for a reason."""

    timestamp: int
    dropped: DeadLetterReason | None = None
    late: bool = False
    outOfOrder: bool = False


class ArrivalOrder:
    """Holds one element after another against the watermark, which only rises. All times in ms.

    It goes on from ``snapshot``, or begins if that is None.
    """

    def __init__(self, strategy: ArrivalTimeStrategy[Any], snapshot: Any = None) -> None:
        # __post_init__ has made them ms
        self._early: Any = strategy.earlyArrivalTolerance
        self._late: Any = strategy.lateArrivalTolerance
        self._disorder: Any = strategy.outOfOrderTolerance
        self._drops_late = strategy.lateArrivalPolicy is OrderingPolicy.DROP
        self._drops_disordered = strategy.outOfOrderPolicy is OrderingPolicy.DROP
        self._independent = strategy.independentSubstreams
        self._substreams = SubstreamWatermarks({} if snapshot is None else snapshot["substreams"])
        self.watermark: int | None = None if snapshot is None else snapshot["watermark"]
        """The lowest timestamp that may still come, None before the first element."""
        self._arrival: int | None = None if snapshot is None else snapshot["arrival"]
        self._seen: int = 0 if snapshot is None else snapshot["seen"]

    def snapshot(self) -> Any:
        """What ``__init__`` takes."""
        return {
            "substreams": self._substreams.snapshot(),
            "watermark": self.watermark,
            "arrival": self._arrival,
            "seen": self._seen,
        }

    def arrive(self, key: Any, timestamp: int, arrival: int, now: int) -> Verdict:
        """Judge an element of the substream ``key`` that is read at ``now``."""
        self._seen = now
        self._arrival = arrival if self._arrival is None else max(arrival, self._arrival)
        if self._early is not None and timestamp - arrival > self._early:
            return Verdict(timestamp, DeadLetterReason.EARLY)
        late = self._late is not None and arrival - timestamp > self._late
        if late:
            if self._drops_late:
                return Verdict(timestamp, DeadLetterReason.LATE, late)
            timestamp = arrival - self._late
        lowest = self._lowest(key)
        out_of_order = lowest is not None and timestamp < lowest
        if out_of_order:
            if self._drops_disordered:
                return Verdict(timestamp, DeadLetterReason.OUT_OF_ORDER, late, out_of_order)
            timestamp = lowest  # type: ignore[assignment]  # it is out of order, so there is one
        self._advance(key, timestamp)
        return Verdict(timestamp, None, late, out_of_order)

    def estimate(self, now: int) -> None:
        """Let the watermark follow the estimated arrival time, if nothing has come until ``now``."""
        if self._arrival is not None and self._late is not None and now > self._seen:
            self._raise(self._arrival + now - self._seen - self._late)

    @property
    def estimates(self) -> bool:
        """Whether the watermark follows the clock while nothing comes."""
        return self._arrival is not None and self._late is not None

    def _lowest(self, key: Any) -> int | None:
        """The lowest timestamp that an element of ``key`` may have."""
        own = self._substreams.of(key)
        if own is None or self.watermark is None:
            return self.watermark
        return max(own, self.watermark)

    def _advance(self, key: Any, timestamp: int) -> None:
        assert self._arrival is not None
        own = self._substreams.advance(key, timestamp - self._disorder)
        if self._independent:
            self._raise(self._arrival - self._late)
            return
        self._raise(self._substreams.lowest())
        if self._late is not None and len(self._substreams) > 1:
            # Time has come to this arrival for all keys: others hold back no further than that.
            self._raise(min(own, self._arrival - self._late))

    def _raise(self, watermark: int) -> None:
        if self.watermark is None or watermark > self.watermark:
            self.watermark = watermark
