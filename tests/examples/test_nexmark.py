"""Nexmark: the rules of its generator, and each query against a computation in pandas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from examples.nexmark import __main__ as command
from examples.nexmark.events import IN_ORDER, by_kind, from_files, generated, write_files
from examples.nexmark.generator import KINDS, Auction, Bid, NexmarkGenerator, Person
from examples.nexmark.queries import QUERIES
from flinkish import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from flinkish.testing import StreamTestHarness
from tests.local_programs import local_execution
from tests.streams import feed, values

pytestmark = pytest.mark.slow("runs every query")

EVENTS = 6_000
SLOW = NexmarkGenerator(seed=3, eventsPerSecond=150)
"""Forty seconds of event time in EVENTS."""

PERIOD, SLIDE = 10_000, 2_000


# ---------------------------------------------------------------- the generator


def test_of_fifty_events_one_is_a_person_three_are_auctions_and_the_others_bids() -> None:
    events = NexmarkGenerator().events(0, 500)
    assert Counter(map(type, events)) == {Person: 10, Auction: 30, Bid: 460}
    assert [type(event) for event in events[50:55]] == [Person, Auction, Auction, Auction, Bid]


def test_an_event_is_the_same_in_whatever_pieces_they_are_made() -> None:
    generator = NexmarkGenerator()
    whole = generator.events(0, 6_000)
    pieces = [generator.events(first, 700) for first in range(0, 6_000, 700)]
    assert [event for piece in pieces for event in piece][:6_000] == whole
    assert [generator.event(number) for number in (0, 4_999, 5_000, 5_999)] == [
        whole[0],
        whole[4_999],
        whole[5_000],
        whole[5_999],
    ]


def test_another_seed_gives_other_events() -> None:
    one, other = (NexmarkGenerator(seed).columns("bid", 0, 5_000)["price"] for seed in (1, 2))
    assert (one == other).mean() < 0.01


def test_event_time_follows_from_the_rate() -> None:
    events = NexmarkGenerator(eventsPerSecond=100, firstTime=7_000).events(0, 300)
    assert [event.dateTime for event in events] == [7_000 + number * 10 for number in range(300)]


def test_ids_count_up_and_who_is_named_exists_or_soon_will() -> None:
    events = NexmarkGenerator().events(0, 50_000)
    persons = auctions = 0
    for event in events:
        if isinstance(event, Person):
            assert event.id == 1_000 + persons
            persons += 1
        elif isinstance(event, Auction):
            assert event.id == 1_000 + auctions
            assert 1_000 <= event.seller < 1_000 + persons + 10
            assert event.dateTime < event.expires
            assert event.initialBid < event.reserve
            auctions += 1
        else:
            # A hundred auctions are in flight, and the hottest is at most a hundred back.
            assert max(0, auctions - 101) <= event.auction - 1_000 < auctions + 10
            assert 1_000 <= event.bidder < 1_000 + persons + 10
            assert 100 <= event.price <= 100_000_000


def test_half_of_the_bids_are_hot_and_three_of_four_bidders_and_sellers() -> None:
    generator = NexmarkGenerator()
    bids = generator.columns("bid", 1_000_000, 200_000)
    auctions = generator.columns("auction", 1_000_000, 200_000)
    assert np.mean(bids["auction"] % 100 == 0) == pytest.approx(1 / 2, abs=0.02)
    assert np.mean((bids["bidder"] - 1) % 100 == 0) == pytest.approx(3 / 4, abs=0.02)
    assert np.mean(auctions["seller"] % 100 == 0) == pytest.approx(3 / 4, abs=0.02)
    # Each power of ten of a price is as likely.
    assert np.mean(bids["price"] < 100_000) == pytest.approx(1 / 2, abs=0.02)
    assert set(np.unique(auctions["category"])) == set(range(10, 15))


def test_a_hundred_auctions_are_open_at_once() -> None:
    columns = SLOW.columns("auction", 0, 100_000)
    opens, closes = columns["dateTime"], np.sort(columns["expires"])
    moments = opens[len(opens) // 2 :]
    open_now = np.searchsorted(opens, moments, "right") - np.searchsorted(closes, moments, "right")
    assert np.mean(open_now) == pytest.approx(100, rel=0.1)


# ---------------------------------------------------------------- the queries, once more in pandas

Tables = dict[str, pd.DataFrame]
Answers = Iterable[tuple[Any, ...]]


def tables(generator: NexmarkGenerator, events: int) -> Tables:
    return {kind: pd.DataFrame(generator.columns(kind, 0, events)) for kind in KINDS}


def rows(frame: pd.DataFrame) -> Answers:
    return frame.itertuples(index=False, name=None)


def with_windows(
    frame: pd.DataFrame, size: int, slide: int, time: str = "dateTime"
) -> pd.DataFrame:
    """Each row once for each window that it is in, which ends at ``end``."""
    parts = []
    for back in range(size // slide):
        start = frame[time] // slide * slide - back * slide
        parts.append(frame.assign(end=start + size)[frame[time] < start + size])
    return pd.concat(parts)


def q0(tables: Tables) -> Answers:
    return rows(tables["bid"])


def q1(tables: Tables) -> Answers:
    return rows(tables["bid"].assign(price=tables["bid"].price * 908 // 1000))


def q2(tables: Tables) -> Answers:
    bids = tables["bid"]
    return rows(bids[bids.auction % 123 == 0][["auction", "price"]])


def q3(tables: Tables) -> Answers:
    near = tables["person"][tables["person"].state.isin(["OR", "ID", "CA"])]
    auctions = tables["auction"][tables["auction"].category == 10]
    pairs = near.merge(auctions, left_on="id", right_on="seller", suffixes=("", "_of_auction"))
    return rows(pairs[["name", "city", "state", "id_of_auction"]])


def winners(tables: Tables) -> pd.DataFrame:
    auctions = tables["auction"].rename(columns={"dateTime": "opens", "id": "auction"})
    bids = tables["bid"].merge(auctions, on="auction")
    valid = bids[(bids.opens <= bids.dateTime) & (bids.dateTime <= bids.expires)]
    ordered = valid.sort_values(["price", "dateTime", "bidder"], ascending=[False, True, True])
    return ordered.drop_duplicates("auction")


def q9(tables: Tables) -> Answers:
    return rows(winners(tables)[["auction", "category", "bidder", "price", "dateTime"]])


def q4(tables: Tables) -> Answers:
    windows = with_windows(winners(tables), PERIOD, SLIDE, "expires")
    prices = windows.groupby(["category", "end"]).price.agg(["sum", "count"]).reset_index()
    prices["average"] = prices["sum"] // prices["count"]
    return rows(prices[["category", "average", "end"]])


def q5(tables: Tables) -> Answers:
    windows = with_windows(tables["bid"], PERIOD, SLIDE)
    counts = windows.groupby(["auction", "end"]).size().reset_index(name="bids")
    most = counts[counts.bids == counts.groupby("end").bids.transform("max")]
    return rows(most[["auction", "bids", "end"]])


def q7(tables: Tables) -> Answers:
    order = {"price": False, "dateTime": True, "auction": True, "bidder": True}
    bids = tables["bid"].sort_values(list(order), ascending=list(order.values()))
    best = bids.groupby(bids.dateTime // PERIOD).head(1)
    return rows(best[["auction", "bidder", "price", "dateTime"]])


def q8(tables: Tables) -> Answers:
    persons = tables["person"].assign(start=tables["person"].dateTime // PERIOD * PERIOD)
    sellers = tables["auction"].assign(start=tables["auction"].dateTime // PERIOD * PERIOD)
    sold = sellers[["seller", "start"]].drop_duplicates().rename(columns={"seller": "id"})
    return rows(persons.merge(sold, on=["id", "start"])[["id", "name", "start"]])


def q11(tables: Tables) -> Answers:
    bids = tables["bid"].sort_values(["bidder", "dateTime"])
    # Windows that touch are one session.
    new = bids.groupby("bidder").dateTime.diff().fillna(PERIOD + 1) > PERIOD
    sessions = bids.groupby(["bidder", new.cumsum()]).dateTime.agg(["size", "min", "max"])
    sessions = sessions.reset_index()
    sessions["end"] = sessions["max"] + PERIOD
    return rows(sessions[["bidder", "size", "min", "end"]])


EXPECTED: dict[int, Callable[[Tables], Answers]] = {
    0: q0, 1: q1, 2: q2, 3: q3, 4: q4, 5: q5, 7: q7, 8: q8, 9: q9, 11: q11,
}  # fmt: skip


def test_each_query_is_asked_in_words_and_checked() -> None:
    assert set(QUERIES) == set(EXPECTED)
    assert all(str(query.__doc__).rstrip().endswith("?") for query in QUERIES.values())


@pytest.mark.parametrize("query", QUERIES)
def test_answers_are_those_of_pandas(query: int) -> None:
    def build(events: DataStream[Any]) -> DataStream[Any]:
        return QUERIES[query](by_kind(events.assignTimestampsAndWatermarks(IN_ORDER)))

    harness = StreamTestHarness(build)
    feed(harness, SLOW.events(0, EVENTS))
    harness.endInput()
    expected = Counter(EXPECTED[query](tables(SLOW, EVENTS)))
    assert expected
    assert Counter(map(tuple, values(harness))) == expected


@pytest.mark.parametrize("query", QUERIES)
def test_answers_of_a_batch_are_the_same(query: int) -> None:
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(2).setRuntimeMode(RuntimeExecutionMode.BATCH)
    events = env.fromCollection(SLOW.events(0, EVENTS)).assignTimestampsAndWatermarks(IN_ORDER)
    answers = QUERIES[query](by_kind(events)).executeAndCollect()
    assert Counter(map(tuple, answers)) == Counter(EXPECTED[query](tables(SLOW, EVENTS)))


def bid_then_auction(query: int, waits: bool) -> list[Any]:
    """The answers where a bid is read before its auction, or has none."""
    auction = Auction(1, "item 1", 100, 200, 1_000, 2_000, 9, 10)
    bid = Bid(1, 5, 300, 1_500)
    other = Bid(1, 6, 250, 1_600)
    harness = StreamTestHarness(
        lambda events: QUERIES[query](by_kind(events.assignTimestampsAndWatermarks(IN_ORDER)))
    )
    feed(harness, [other, bid, auction] if waits else [other, bid])
    harness.endInput()
    return values(harness)


def test_a_bid_waits_for_its_auction() -> None:
    assert bid_then_auction(9, waits=True) == [(1, 10, 5, 300, 1_500)]
    assert bid_then_auction(9, waits=False) == []


# ---------------------------------------------------------------- on Spark


@pytest.mark.slow("a job on Spark of three queries in three batches")
def test_events_from_files_on_spark(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    write_files(SLOW, tmp_path, EVENTS, 2_000)
    events = from_files(env, tmp_path)
    answers = {query: QUERIES[query](events).collectAsync() for query in (3, 5, 9)}
    env.execute()
    for query, found in answers.items():
        expected = Counter(EXPECTED[query](tables(SLOW, EVENTS)))
        assert Counter(map(tuple, found)) == expected


def test_generated_events_are_those_of_the_generator() -> None:
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    answers = QUERIES[3](generated(env, SLOW, EVENTS)).executeAndCollect()
    assert Counter(map(tuple, answers)) == Counter(q3(tables(SLOW, EVENTS)))


def test_the_command_runs_a_query(capsys: pytest.CaptureFixture[str]) -> None:
    with local_execution():
        command.main(["--query", "2", "--events", "5000", "--seed", "3"])
    expected = list(q2(tables(NexmarkGenerator(3), 5_000)))
    assert f"{len(expected):,} answers, 5,000 events" in capsys.readouterr().out
