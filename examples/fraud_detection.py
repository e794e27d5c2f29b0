"""Fraud detection: a very small payment, and within a minute a large one from the same account.

``python -m examples.fraud_detection``
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flinkish import (
    Collector,
    DataStream,
    KeyedProcessFunction,
    OpenContext,
    StreamExecutionEnvironment,
    ValueState,
    ValueStateDescriptor,
)

SMALL_AMOUNT = 1.00
LARGE_AMOUNT = 500.00
ONE_MINUTE = 60 * 1000


class Transaction(NamedTuple):
    """A payment from an account."""

    account: int
    amount: float


class Alert(NamedTuple):
    """An account that looks as if somebody had tried out its card."""

    account: int
    amount: float

    def __str__(self) -> str:
        return f"Alert: account {self.account} paid {self.amount:.2f} right after a small payment"


def build(transactions: DataStream[Transaction]) -> DataStream[Alert]:
    """The job, from payments to alerts."""
    return (
        transactions.keyBy(lambda transaction: transaction.account)
        .process(FraudDetector())
        .name("fraud-detector")
    )


class FraudDetector(KeyedProcessFunction[int, Transaction, Alert]):
    """Remembers a small payment until the next payment, for a minute at most."""

    flag: ValueState[bool]
    timer: ValueState[int]

    def open(self, openContext: OpenContext) -> None:
        context = self.getRuntimeContext()
        self.flag = context.getState(ValueStateDescriptor[bool]("flag"))
        self.timer = context.getState(ValueStateDescriptor[int]("timer-state"))

    def processElement(
        self, value: Transaction, ctx: KeyedProcessFunction.Context[int], out: Collector[Alert]
    ) -> None:
        if self.flag.value():
            if value.amount > LARGE_AMOUNT:
                out.collect(Alert(value.account, value.amount))
            self.clean_up(ctx)

        if value.amount < SMALL_AMOUNT:
            self.flag.update(True)
            time = ctx.timerService().currentProcessingTime() + ONE_MINUTE
            ctx.timerService().registerProcessingTimeTimer(time)
            self.timer.update(time)

    def onTimer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext[int], out: Collector[Alert]
    ) -> None:
        self.timer.clear()
        self.flag.clear()

    def clean_up(self, ctx: KeyedProcessFunction.Context[int]) -> None:
        """Forget the small payment."""
        time = self.timer.value()
        if time is not None:
            ctx.timerService().deleteProcessingTimeTimer(time)
        self.timer.clear()
        self.flag.clear()


def payments(count: int, accounts: int = 5, seed: int = 3) -> Iterator[Transaction]:
    """Payments of accounts in turn, the same ones for a seed; one in twelve tries out a card."""
    chance = random.Random(seed)
    for number in range(count):
        tries = chance.random() < 1 / 12
        amount = chance.uniform(0.05, 0.95) if tries else chance.uniform(5, 700)
        yield Transaction(number % accounts + 1, round(amount, 2))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the alerts of made-up payments."""
    parser = argparse.ArgumentParser(prog="python -m examples.fraud_detection")
    parser.add_argument("--transactions", type=int, default=200, help="%(default)s")
    options = parser.parse_args(arguments)

    env = StreamExecutionEnvironment.getExecutionEnvironment()
    build(env.fromCollection(list(payments(options.transactions)))).print()
    env.execute("Fraud Detection")


if __name__ == "__main__":
    main()
