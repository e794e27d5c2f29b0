"""Runs the demo: writes the departures to files, runs the job on them, and shows the results."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from examples.flights.arrivals import SCHEMA, departures, write_files
from examples.flights.job import HOURLY, airport_delays, flight_of
from examples.flights.page import write_page
from examples.flights.results import Results, Totals, busiest_hours, table_of
from flinkish import FileSource, StreamExecutionEnvironment, Watermark
from flinkish.api.execution.client import JobClient


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo and return the exit status: 1 if the totals are wrong."""
    options = _options(arguments)
    flights = departures(options.days)
    files = options.output / "departures"
    shutil.rmtree(files, ignore_errors=True)
    number = write_files(flights, files, options.days_a_file)
    print(f"{len(flights):,} flights left New York; they are in {number} files in {files}.")

    environment = StreamExecutionEnvironment.getExecutionEnvironment()
    environment.setMaxParallelism(4)  # for three airports
    results = run(environment, files, len(flights))

    totals = results.totals(len(flights))
    problem = totals.problem()
    if problem is not None:
        print(f"The totals are wrong: {problem}", file=sys.stderr)
        return 1
    _show(results, totals)
    print(f"\nLook at {write_page(results, totals, options.output)}")
    return 0


def run(environment: StreamExecutionEnvironment, files: Path, departed: int) -> Results:
    """Run the job on ``files``, a file a batch, and print how far it is."""
    source = FileSource.forCsv(str(files), SCHEMA).withFilesPerBatch(1)
    flights = environment.fromSource(source, sourceName="Departures").map(flight_of)
    streams = airport_delays(flights)

    results = Results()
    streams.hourly.forEachBatch(lambda elements, batch: results.hourly.extend(elements))
    streams.trend.forEachBatch(lambda elements, batch: results.trend.extend(elements))
    streams.too_late.forEachBatch(lambda elements, batch: results.too_late.extend(elements))
    _watch(environment.executeAsync("Flights of New York"), departed)
    return results


def _watch(client: JobClient, departed: int) -> None:
    began, shown = time.monotonic(), -1
    while True:
        try:
            client.getJobExecutionResult(timeout=0.5)
        except TimeoutError:
            hourly = client.getMetrics().get(HOURLY)
            if hourly is not None and hourly.numRecordsIn != shown:
                shown = hourly.numRecordsIn
                print(
                    f"  {time.monotonic() - began:5.1f} s  {shown / departed:4.0%}"
                    f"  {_event_time(hourly.currentWatermark)}, {hourly.numRecordsOut:,} results",
                    flush=True,
                )
        else:
            took = time.monotonic() - began
            print(f"  {took:5.1f} s  100%  {departed / took:,.0f} flights a second")
            return


def _event_time(watermark: int | None) -> str:
    if watermark is None or watermark == Watermark.MAX_WATERMARK.timestamp:
        return "at the end" if watermark else "at the beginning"
    return time.strftime("it is %Y-%m-%d %H:%M UTC", time.gmtime(watermark / 1000))


def _show(results: Results, totals: Totals) -> None:
    print(
        f"\n{totals.departed:,} flights departed"
        f"\n  {totals.on_time:9,} were in the first result of their hour"
        f"\n  {totals.updated:9,} came late and updated it: {results.updates():,} updates"
        f"\n  {totals.too_late:9,} came later than that, to the side output"
    )
    if results.too_late:
        last = max(results.too_late, key=lambda flight: flight.delay)
        hours, minutes = divmod(last.delay, 60)
        print(
            f"The latest of all, {last.carrier} {last.number} from {last.origin} to {last.dest},"
            f" left {hours} h {minutes} min after its time."
        )
    print("\nThe busiest hours, by New York's clocks")
    for row in busiest_hours(table_of(results.hourly)).itertuples():
        print(
            f"  {row.origin}  {row.hour:02}:00  {row.departures:5.1f} departures a day,"
            f" {row.mean_delay:+5.1f} min on average"
        )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m examples.flights", description=__doc__)
    parser.add_argument("--days", type=int, help="only the first days of 2013 (default: all)")
    parser.add_argument("--days-a-file", type=int, default=31, help="default: %(default)s")
    parser.add_argument("--output", type=Path, default=Path("build/demo"), help="%(default)s")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
