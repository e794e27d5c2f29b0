"""Card testing as a pattern: two small payments or more, then a large one, within ten minutes.

``python -m examples.card_testing``
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from flinkish import DataStream, Duration, OutputTag, StreamExecutionEnvironment, WatermarkStrategy
from flinkish.cep import CEP, AfterMatchSkipStrategy, Pattern

MINUTE = 60 * 1000


class Payment(NamedTuple):
    """A payment from an account, at a time in ms."""

    account: int
    amount: float
    at: int


class Alert(NamedTuple):
    """An account whose card was tried out, and the large payment that followed."""

    account: int
    tries: int
    amount: float

    def __str__(self) -> str:
        return f"Alert: account {self.account} paid {self.amount:.2f} after {self.tries} small payments"


SUSPECTS = OutputTag[tuple[int, int]]("suspects")

CARD_TESTING = (
    Pattern[Payment]
    .begin("small", AfterMatchSkipStrategy.skipPastLastEvent())
    .where(lambda payment: payment.amount < 1)
    .timesOrMore(2)
    .greedy()
    .followedBy("large")
    .where(lambda payment: payment.amount > 500)
    .within(Duration.ofMinutes(10))
)


def build(payments: DataStream[Payment]) -> tuple[DataStream[Alert], DataStream[tuple[int, int]]]:
    """From payments to alerts, and to accounts with small payments that no large one followed."""
    strategy: WatermarkStrategy[Payment] = WatermarkStrategy.forBoundedOutOfOrderness(
        Duration.ofMinutes(1)
    )
    timed = payments.assignTimestampsAndWatermarks(
        strategy.withTimestampAssigner(lambda payment, timestamp: payment.at)
    )
    alerts = CEP.pattern(timed.keyBy(lambda payment: payment.account), CARD_TESTING).select(
        SUSPECTS, suspect, alert
    )
    return alerts, alerts.getSideOutput(SUSPECTS)


def alert(match: Mapping[str, Sequence[Payment]]) -> Alert:
    """What a match says."""
    large = match["large"][0]
    return Alert(large.account, len(match["small"]), large.amount)


def suspect(match: Mapping[str, Sequence[Payment]], timeoutTimestamp: int) -> tuple[int, int]:
    """The account of a partial match that took longer than ten minutes, and when that was."""
    return match["small"][0].account, timeoutTimestamp


def payments(count: int, accounts: int = 5, seed: int = 7) -> Iterator[Payment]:
    """Payments of accounts in turn, 20 seconds apart, the same ones for a seed; one in three tries out a
    card."""
    chance = random.Random(seed)
    for number in range(count):
        tries = chance.random() < 1 / 3
        amount = chance.uniform(0.05, 0.95) if tries else chance.uniform(5, 700)
        yield Payment(number % accounts + 1, round(amount, 2), number * MINUTE // 3)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the alerts of made-up payments."""
    parser = argparse.ArgumentParser(prog="python -m examples.card_testing")
    parser.add_argument("--payments", type=int, default=60, help="%(default)s")
    options = parser.parse_args(arguments)

    env = StreamExecutionEnvironment.getExecutionEnvironment()
    alerts, _ = build(env.fromCollection(list(payments(options.payments))))
    alerts.print()
    env.execute("Card Testing")


if __name__ == "__main__":
    main()
