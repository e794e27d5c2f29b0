"""A picture of the results, and a page with it to open in a browser."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import matplotlib as mpl
import pandas as pd

from examples.flights.results import Results, Totals, busiest_hours, table_of, typical_day

mpl.use("Agg")  # no window, also where there is no screen

import matplotlib.dates as mdates
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

AIRPORTS = {"EWR": "Newark", "JFK": "Kennedy", "LGA": "LaGuardia"}
COLOURS = {"EWR": "#d1495b", "JFK": "#2e6f95", "LGA": "#e09f3e"}
BARS = "#c9d3dc"
INK = "#26323b"

STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.edgecolor": "#9aa7b1",
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def write_page(results: Results, totals: Totals, directory: Path) -> Path:
    """Write ``flights.png`` and ``index.html`` and return the path of the page."""
    hours, trend = table_of(results.hourly), table_of(results.trend)
    directory.mkdir(parents=True, exist_ok=True)
    picture = directory / "flights.png"
    with mpl.rc_context(STYLE):
        figure = draw(hours, trend)
        figure.savefig(picture, dpi=130, facecolor="white")
        plt.close(figure)
    page = directory / "index.html"
    page.write_text(_html(hours, results, totals, picture.read_bytes()), "utf-8")
    return page


def draw(hours: pd.DataFrame, trend: pd.DataFrame) -> Figure:
    """The year by hours, a day at each airport, and the worst week."""
    figure = plt.figure(figsize=(12, 12.5), layout="constrained")
    grid = figure.add_gridspec(3, 1, height_ratios=[1.1, 1, 1])
    _draw_year(figure.add_subplot(grid[0]), hours)
    days = figure.add_subfigure(grid[1]).subplots(1, 3, sharey=True)
    for axes, origin in zip(days, AIRPORTS):
        _draw_day(axes, typical_day(hours), origin)
    _draw_worst_week(figure.add_subplot(grid[2]), trend)
    return figure


def _draw_year(axes: Axes, hours: pd.DataFrame) -> None:
    table = hours.assign(
        date=hours["time"].dt.tz_localize(None).dt.normalize(),
        hour=hours["time"].dt.hour,
        minutes=hours["departures"] * hours["mean_delay"],
    )
    sums = table.pivot_table(
        index="hour", columns="date", values=["minutes", "departures"], aggfunc="sum"
    )
    means = sums["minutes"] / sums["departures"]
    days = mdates.date2num(means.columns.to_pydatetime())
    image = axes.imshow(
        means,
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        cmap="YlOrRd",
        vmin=0,
        vmax=90,
        extent=(days[0], days[-1] + 1, means.index[0], means.index[-1] + 1),
    )
    axes.set_yticks(range(6, 25, 3))
    axes.xaxis_date()
    axes.xaxis.set_major_formatter(mdates.ConciseDateFormatter(axes.xaxis.get_major_locator()))
    axes.set_title("Every hour of the year: mean delay of the three airports")
    axes.set_ylabel("hour of the day, New York")
    axes.figure.colorbar(image, ax=axes, label="minutes", extend="both", pad=0.01)


def _draw_day(axes: Axes, day: pd.DataFrame, origin: str) -> None:
    table = day[day["origin"] == origin]
    axes.bar(table["hour"], table["departures"], width=0.9, align="edge", color=BARS)
    axes.set_title(f"A day at {AIRPORTS[origin]}")
    axes.set_xlabel("hour of the day, New York")
    axes.set_ylabel("bars: departures an hour")
    delays = axes.twinx()
    delays.plot(table["hour"] + 0.5, table["mean_delay"], color=COLOURS[origin], linewidth=2.5)
    delays.set_ylim(-5, 45)
    delays.set_ylabel("line: mean delay, minutes", color=COLOURS[origin])
    axes.label_outer()


def _draw_worst_week(axes: Axes, trend: pd.DataFrame) -> None:
    week = trend["time"].dt.tz_localize(None).dt.normalize().dt.to_period("W")
    minutes = (trend["departures"] * trend["mean_delay"]).groupby(week).sum()
    worst = trend[week == minutes.idxmax()]
    for origin, colour in COLOURS.items():
        line = worst[worst["origin"] == origin].set_index("time")["mean_delay"]
        # An hour without a result is a gap in the line.
        line = line.tz_convert("UTC").asfreq("h").tz_convert(worst["time"].dt.tz)
        axes.plot(line.index, line, color=colour, linewidth=2, label=AIRPORTS[origin])
    axes.xaxis.set_major_locator(mdates.DayLocator(tz=worst["time"].dt.tz))
    axes.xaxis.set_major_formatter(mdates.DateFormatter("%a %d %b", tz=worst["time"].dt.tz))
    axes.set_title("The worst week: mean delay over three hours, every hour")
    axes.set_ylabel("minutes")
    axes.grid(axis="y", color="#e4e9ed")
    axes.legend(frameon=False, ncols=3)


def _html(hours: pd.DataFrame, results: Results, totals: Totals, picture: bytes) -> str:
    tiles = [
        (totals.departed, "flights departed"),
        (totals.on_time, "in the first result of their hour"),
        (totals.updated, f"late, in {results.updates():,} updates"),
        (totals.too_late, "too late, in the side output"),
    ]
    rows = [
        f"<tr><td>{escape(AIRPORTS[row.origin])}</td><td>{row.hour:02}:00</td>"
        f"<td>{row.departures:.1f}</td><td>{row.mean_delay:+.1f} min</td></tr>"
        for row in busiest_hours(hours).itertuples()
    ]
    return PAGE.substitute(
        tiles="".join(f"<div><b>{number:,}</b>{text}</div>" for number, text in tiles),
        sum=f"{totals.on_time:,} + {totals.updated:,} + {totals.too_late:,} = {totals.departed:,}",
        picture=base64.b64encode(picture).decode("ascii"),
        rows="".join(rows),
    )


PAGE = Template("""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The flights of New York, 2013</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; color: #26323b; background: #f4f6f8; margin: 0; }
  main { max-width: 60rem; margin: 0 auto; padding: 2rem 1rem; }
  h1 { margin: 0 0 .25rem; }
  .tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(12rem, 1fr)); gap: 1rem; }
  .tiles div, .card { background: white; border-radius: .5rem; padding: 1rem; }
  .tiles b { display: block; font-size: 1.8rem; line-height: 1.2; }
  .card { margin-top: 1rem; overflow-x: auto; }
  .card h2 { margin: 0 0 .5rem; font-size: 1.1rem; }
  img { width: 100%; display: block; }
  table { border-collapse: collapse; width: 100%; }
  th, td { text-align: right; padding: .25rem .75rem; border-bottom: 1px solid #e4e9ed; }
  th:first-child, td:first-child { text-align: left; }
</style>
<main>
<h1>The flights of New York, 2013</h1>
<p>Event time is when a flight was scheduled to leave; it became an event when it really left.
The watermark is 30 minutes behind the latest schedule seen. A result is updated by what comes
within an hour after that.</p>
<div class="tiles">$tiles</div>
<p>Each flight is in one of the three: $sum. Delays are means of the first two, as only those are
in a result.</p>
<div class="card"><img alt="Mean delays by hour of the year, by hour of the day, and in the worst
week" src="data:image/png;base64,$picture"></div>
<div class="card"><h2>The busiest hours</h2>
<table><tr><th>Airport<th>Hour, New York<th>Departures a day<th>Mean delay</tr>$rows</table></div>
</main>
</html>
""")
