"""The fraud detector on the harness: the flag, its timer, and that nothing is left behind."""

from __future__ import annotations

from examples.fraud_detection import ONE_MINUTE, Alert, Transaction, build, payments
from flinkish.testing import StreamTestHarness
from tests.streams import feed, values


def pay(harness: StreamTestHarness, *amounts: float, account: int = 1) -> None:
    feed(harness, [Transaction(account, amount) for amount in amounts])


def test_a_large_payment_right_after_a_small_one_is_reported() -> None:
    harness = StreamTestHarness(build)
    pay(harness, 0.99, 500.01)
    assert values(harness) == [Alert(1, 500.01)]
    assert str(Alert(1, 500.01)) == "Alert: account 1 paid 500.01 right after a small payment"


def test_the_limits_themselves_are_harmless() -> None:
    harness = StreamTestHarness(build)
    pay(harness, 1.00, 600.00, 0.50, 500.00, 600.00)
    assert values(harness) == []


def test_another_payment_in_between_clears_the_flag() -> None:
    harness = StreamTestHarness(build)
    pay(harness, 0.50, 20.00, 600.00)
    assert values(harness) == []
    assert harness.numProcessingTimeTimers() == harness.numKeyedStateEntries() == 0


def test_accounts_are_apart() -> None:
    harness = StreamTestHarness(build)
    pay(harness, 0.50)
    pay(harness, 600.00, account=2)
    pay(harness, 700.00)
    assert values(harness) == [Alert(1, 700.00)]


def test_after_a_minute_the_small_payment_is_forgotten() -> None:
    harness = StreamTestHarness(build)
    harness.setProcessingTime(1_000)
    pay(harness, 0.50)
    harness.setProcessingTime(1_000 + ONE_MINUTE - 1)
    assert harness.numProcessingTimeTimers() == 1
    harness.setProcessingTime(1_000 + ONE_MINUTE)
    assert harness.numProcessingTimeTimers() == harness.numKeyedStateEntries() == 0
    pay(harness, 600.00)
    assert values(harness) == []


def test_a_second_small_payment_begins_a_new_minute() -> None:
    harness = StreamTestHarness(build)
    pay(harness, 0.50)
    harness.setProcessingTime(40_000)
    pay(harness, 0.60)
    harness.setProcessingTime(ONE_MINUTE + 10)  # the first timer was deleted
    pay(harness, 600.00)
    assert values(harness) == [Alert(1, 600.00)]


def test_a_restart_remembers_flag_and_timer() -> None:
    before = StreamTestHarness(build)
    pay(before, 0.50)
    pay(before, 0.50, account=2)
    after = StreamTestHarness.restore(build, before.snapshot())
    pay(after, 600.00)
    after.setProcessingTime(ONE_MINUTE)
    pay(after, 600.00, account=2)
    assert values(after) == [Alert(1, 600.00)]


def test_made_up_payments_are_the_same_each_time() -> None:
    assert list(payments(50)) == list(payments(50))
    assert {payment.account for payment in payments(50)} == {1, 2, 3, 4, 5}
