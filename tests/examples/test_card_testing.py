"""Card testing on the harness: what is reported, and what is only suspected."""

from __future__ import annotations

from examples.card_testing import MINUTE, Alert, Payment, build
from flinkish.testing import StreamTestHarness
from tests.streams import feed, values


def results(*amounts: float) -> tuple[list[Alert], list[tuple[int, int]]]:
    """Return the results for one payment a minute."""
    harness = StreamTestHarness(build)
    feed(harness, [Payment(1, amount, at * MINUTE) for at, amount in enumerate(amounts)])
    harness.endInput()
    return values(harness, 0), values(harness, 1)


def test_small_payments_and_a_large_one_are_reported_once() -> None:
    alerts, _ = results(0.5, 20.0, 0.2, 0.9, 600.0, 700.0)
    assert alerts == [Alert(1, 3, 600.0)]
    assert str(alerts[0]) == "Alert: account 1 paid 600.00 after 3 small payments"


def test_one_small_payment_is_harmless() -> None:
    assert results(0.5, 600.0)[0] == []


def test_small_payments_without_a_large_one_are_suspected_when_the_time_is_over() -> None:
    alerts, suspects = results(0.5, 0.5, *[20.0] * 12)
    assert alerts == []
    assert (1, 10 * MINUTE) in suspects


def test_a_large_payment_after_ten_minutes_is_too_late() -> None:
    assert results(0.5, 0.5, *[20.0] * 9, 600.0)[0] == []
