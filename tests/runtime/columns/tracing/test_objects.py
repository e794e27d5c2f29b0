"""Times, durations and decimals of functions that run over columns are those that Python computes."""

from __future__ import annotations

import datetime as dt
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from flinkish.runtime.columns.tracing.column_function import ColumnFunction
from flinkish.runtime.records.rows import RowColumns
from tests.runtime.columns.tracing.test_same_as_python import agrees

EPOCH = datetime(1970, 1, 1)
BERLIN = ZoneInfo("Europe/Berlin")
CENT = Decimal("0.01")
LIMIT = Decimal("3.10")

COUNT = 40
ROWS = pa.RecordBatch.from_pydict(
    {
        "n": [n * 7 % 23 - 5 for n in range(COUNT)],
        "f": [n * 0.37 for n in range(COUNT)],
        "s": [f"2024-0{n % 9 + 1}-{n % 27 + 1:02d} 1{n % 10}:05:09" for n in range(COUNT)],
        "c": [f"{n}.{n % 10}0" for n in range(COUNT)],
        "at": pa.array(
            [datetime(2024, 3, 30, 22) + timedelta(hours=n) for n in range(COUNT)],
            pa.timestamp("us"),
        ),
        "zoned": pa.array(
            [datetime(2024, 3, 30, 22, tzinfo=UTC) + timedelta(hours=n) for n in range(COUNT)],
            pa.timestamp("ms", "Europe/Berlin"),
        ),
        "day": pa.array([date(2024, 2, 20) + timedelta(n) for n in range(COUNT)]),
        "span": pa.array([timedelta(minutes=n) for n in range(COUNT)], pa.duration("us")),
        "clock": pa.array([dt.time(n % 24, n) for n in range(COUNT)], pa.time64("us")),
        "price": pa.array([Decimal(n * 31) / 100 for n in range(COUNT)], pa.decimal128(9, 2)),
        "t": [1_700_000_000_000 + n * 3_600_000 for n in range(COUNT)],
    }
)


def rounded(price: Decimal) -> Decimal:
    """A function that others call with a decimal."""
    return price.quantize(CENT, ROUND_HALF_UP)


def parsed(r):
    at = datetime.strptime(r.s, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    return int(at.timestamp() * 1000), at.hour if at.hour > 14 else -1


def of_a_row(r):
    if r.at >= EPOCH + timedelta(days=19_812) and r.day.weekday() < 5:
        return r.at, r.price, r.at.isoformat(), str(r.price * r.n)
    return r.at, r.price, f"{r.at:%d.%m.%Y}", "%s of %d" % (r.price, r.n)  # noqa: UP031


FOLLOWED = {
    "fromtimestamp": lambda r: datetime.fromtimestamp(r.t / 1000, tz=UTC).hour,
    "of a module": lambda r: dt.datetime.fromtimestamp(r.t / 1000, dt.UTC).isoformat(),
    "of a class": lambda r: datetime.fromtimestamp(r.f, dt.timezone.utc).microsecond,  # noqa: UP017
    "local": lambda r: datetime.fromtimestamp(r.t // 1000).strftime("%A %j"),
    "zone": lambda r: datetime.fromtimestamp(r.t / 1000, BERLIN).strftime("%H%z"),
    "strptime": parsed,
    "fromisoformat": lambda r: (datetime.fromisoformat(r.s) - EPOCH).total_seconds(),
    "made": lambda r: datetime(2024, 1, 1 + abs(r.n), hour=abs(r.n)).timestamp(),
    "span": lambda r: (timedelta(hours=r.n) + r.span) // timedelta(minutes=7),
    "number times span": lambda r: (r.n * timedelta(seconds=1) / 3).total_seconds(),
    "span through span": lambda r: (r.span / timedelta(hours=1), r.span.seconds, bool(r.span)),
    "later": lambda r: (EPOCH + r.span).isoformat(" "),
    "earlier": lambda r: (r.day - timedelta(r.n)).isoformat(),
    "between": lambda r: (r.day - date(2024, 1, 1)).days,
    "compared": lambda r: ("late" if r.at > datetime(2024, 3, 31) else "early", r.at == r.at),
    "constant first": lambda r: datetime(2024, 3, 31) < r.at,
    "zoned": lambda r: (r.zoned.hour, r.zoned.isoformat(), r.zoned.astimezone(UTC).hour),
    "clock": lambda r: (r.clock.minute, r.clock.isoformat(), str(r.clock)),
    "decimal": lambda r: (str(Decimal(r.c) * 3), int(Decimal(r.c)), float(Decimal(r.c) / 7)),
    "of a float": lambda r: str(Decimal(r.f)),
    "price": lambda r: (str(r.price * r.n + 1), r.price > LIMIT, r.price >= r.n, bool(r.price)),
    "quantized": lambda r: f"{rounded(r.price / 3)} of {r.price:8.1f}",
    "largest": lambda r: str(max(r.price, LIMIT, -r.price)),
    "rounded": lambda r: (round(r.price), str(round(r.price / 3, 1)), str(abs(-r.price))),
    "instance": lambda r: (isinstance(r.price, Decimal), isinstance(r.at, date)),
    "with what is handed on": of_a_row,
}


@pytest.mark.parametrize("function", FOLLOWED.values(), ids=FOLLOWED)
def test_python_computes_them_for_each_element(function):
    agrees(lambda s: s.map(function), ROWS, columns=True)


CALLED = {
    "now": lambda r: datetime.now().year > r.n,
    "a result": lambda r: r.at + timedelta(r.n),
    "with another": lambda r: r.at == r.n,
    "hashed": lambda r: len({r.price: r.n}),
}


@pytest.mark.parametrize("function", CALLED.values(), ids=CALLED)
def test_other_uses_are_called(function):
    agrees(lambda s: s.map(function), ROWS, columns=False)


def test_an_operator_that_they_do_not_have_is_the_reason():
    function = ColumnFunction(lambda r: r.price & r.n)
    assert function.results(RowColumns(ROWS)) is None
    assert "uses & on a Decimal and another value" in str(function.reason)


def test_an_error_of_one_element_is_that_of_the_function():
    def failing(r):
        return datetime(2024, 2, r.n + 5).day

    with pytest.raises(Exception, match="day is out of range for month"):
        agrees(lambda s: s.map(failing), ROWS)


def test_an_object_that_is_not_used_raises_its_error():
    def failing(r):
        timedelta(days=r.n * 10**8)
        return r.n

    with pytest.raises(Exception, match="must have magnitude"):
        agrees(lambda s: s.map(failing), ROWS)


def test_nulls_are_none():
    holes = pa.RecordBatch.from_pydict(
        {
            "price": pa.array([Decimal(1), None, Decimal(3)], pa.decimal128(9, 2)),
            "t": [1, 2, 3],
        }
    )
    agrees(lambda s: s.map(lambda r: "none" if r.price is None else str(r.price * 2)), holes)
    agrees(lambda s: s.map(lambda r: str(r.price)), holes)


def test_timestamps_are_assigned_of_texts():
    from flinkish import WatermarkStrategy

    strategy = WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
        lambda r, _: int(datetime.fromisoformat(r.s).replace(tzinfo=UTC).timestamp() * 1000)
    )
    agrees(lambda s: s.assignTimestampsAndWatermarks(strategy), ROWS, columns=True)
