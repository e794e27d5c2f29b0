"""An ``ArrivalOrder`` for each input partition, and the watermark of them all."""

from __future__ import annotations

from typing import Any

from flinkish.api.arrival_time import ArrivalTimeStrategy
from flinkish.runtime.arrival_order import ArrivalOrder


class ArrivalPartitions:
    """The input partitions of an ``ArrivalTimeStrategy``, each with a watermark of its own.

    A partition counts from its first element, or from the beginning of the batch that has it
    (``register``): nothing is known of one that has sent nothing. It goes on from ``snapshot``, or
    begins if that is None.
    """

    def __init__(self, strategy: ArrivalTimeStrategy[Any], snapshot: Any = None) -> None:
        self._strategy = strategy
        self._orders: dict[Any, ArrivalOrder] = {
            partition: ArrivalOrder(strategy, order)
            for partition, order in (snapshot or {}).items()
        }

    def snapshot(self) -> Any:
        """What ``__init__`` takes."""
        return {partition: order.snapshot() for partition, order in self._orders.items()}

    def register(self, partition: Any) -> ArrivalOrder:
        """The order of ``partition``, which counts from now on."""
        order = self._orders.get(partition)
        if order is None:
            order = self._orders[partition] = ArrivalOrder(self._strategy)
        return order

    @property
    def watermark(self) -> int | None:
        """The lowest of all partitions, None while one of them has none yet."""
        watermarks = [order.watermark for order in self._orders.values()]
        known = [watermark for watermark in watermarks if watermark is not None]
        return min(known) if known and len(known) == len(watermarks) else None

    def estimate(self, now: int) -> None:
        """Let the watermark of each partition that nothing has come from follow the clock."""
        for order in self._orders.values():
            order.estimate(now)

    @property
    def estimates(self) -> bool:
        """Whether the watermark of a partition follows the clock while nothing comes."""
        return any(order.estimates for order in self._orders.values())
