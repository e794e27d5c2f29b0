"""The results of the job, and sums to check them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import pandas as pd

from examples.flights.arrivals import NEW_YORK
from examples.flights.job import Flight, WindowResult


class Totals(NamedTuple):
    """Where the flights that departed are: each is in one of the other three numbers."""

    departed: int
    on_time: int
    """In the first result of their hour."""
    updated: int
    """Late, but in time for an update of it."""
    too_late: int
    """In the side output."""

    def problem(self) -> str | None:
        """Why the numbers cannot be right, None if they can."""
        found = self.on_time + self.updated + self.too_late
        if found == self.departed:
            return None
        return (
            f"{self.departed:,} flights departed, but {self.on_time:,} on time +"
            f" {self.updated:,} in updates + {self.too_late:,} too late = {found:,}."
        )


@dataclass
class Results:
    """The elements of the job's three streams, in the order in which they came."""

    hourly: list[WindowResult] = field(default_factory=list)
    trend: list[WindowResult] = field(default_factory=list)
    too_late: list[Flight] = field(default_factory=list)

    def totals(self, departed: int) -> Totals:
        """The sums, for so many flights that departed."""
        on_time = sum(result.departures for result in self.hourly if result.revision == 0)
        latest = sum(result.departures for result in last_revisions(self.hourly))
        return Totals(departed, on_time, latest - on_time, len(self.too_late))

    def updates(self) -> int:
        """How many hourly results took the place of an earlier one."""
        return sum(result.revision > 0 for result in self.hourly)


def last_revisions(results: list[WindowResult]) -> list[WindowResult]:
    """The last result of every airport and window."""
    return list({(result.origin, result.start): result for result in results}.values())


def table_of(results: list[WindowResult]) -> pd.DataFrame:
    """The last revisions, with the start of the window by New York's clocks."""
    table = pd.DataFrame(last_revisions(results), columns=list(WindowResult._fields))
    table["time"] = pd.to_datetime(table["start"], unit="ms", utc=True).dt.tz_convert(NEW_YORK)
    return table.sort_values(["start", "origin"], ignore_index=True)


def typical_day(hours: pd.DataFrame) -> pd.DataFrame:
    """Of each airport and hour of the day: departures a day, and the mean delay of all of them."""
    days = hours["time"].dt.date.nunique()
    table = hours.assign(hour=hours["time"].dt.hour)
    table["minutes"] = table["departures"] * table["mean_delay"]
    sums = table.groupby(["origin", "hour"], as_index=False)[["departures", "minutes"]].sum()
    return pd.DataFrame(
        {
            "origin": sums["origin"],
            "hour": sums["hour"],
            "departures": sums["departures"] / days,
            "mean_delay": sums["minutes"] / sums["departures"],
        }
    )


def busiest_hours(hours: pd.DataFrame, most: int = 3) -> pd.DataFrame:
    """The hours of the day in which most flights leave, ``most`` of each airport."""
    by_departures = typical_day(hours).sort_values("departures", ascending=False)
    busiest = by_departures.groupby("origin").head(most)
    return busiest.sort_values(["origin", "departures"], ascending=[True, False], ignore_index=True)
