"""Queries 0 to 5, 7, 8, 9 and 11 of Nexmark as DataStream jobs.

Each is a function from the three streams to the stream of its answers. Prices are in cents, times
in ms. Ties are broken so that the answers do not depend on the order of events with different keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from examples.nexmark.generator import Auction, Bid, Person
from flinkish import (
    AggregateFunction,
    CoGroupFunction,
    Collector,
    DataStream,
    EventTimeSessionWindows,
    KeyedCoProcessFunction,
    ListState,
    ListStateDescriptor,
    OpenContext,
    ProcessWindowFunction,
    SlidingEventTimeWindows,
    Time,
    TimeWindow,
    TumblingEventTimeWindows,
    ValueState,
    ValueStateDescriptor,
    WindowContext,
)

PERIOD = Time.seconds(10)
SLIDE = Time.seconds(2)


class Streams(NamedTuple):
    """What a query may ask about, with timestamps."""

    persons: DataStream[Person]
    auctions: DataStream[Auction]
    bids: DataStream[Bid]


# ---------------------------------------------------------------- queries about one bid at a time


def q0(streams: Streams) -> DataStream[Bid]:
    """What does it cost to hand on every bid as it is?"""
    return streams.bids


def q1(streams: Streams) -> DataStream[Bid]:
    """What is each bid in euros, at 0.908 of a dollar?"""
    return streams.bids.map(
        lambda bid: Bid(bid.auction, bid.bidder, bid.price * 908 // 1_000, bid.dateTime)
    )


def q2(streams: Streams) -> DataStream[tuple[int, int]]:
    """Which bids, auction and price, are for one auction in 123?"""
    return streams.bids.filter(lambda bid: bid.auction % 123 == 0).map(
        lambda bid: (bid.auction, bid.price)
    )


# ---------------------------------------------------------------- Q3: state without end


class LocalItem(NamedTuple):
    """A seller nearby, and an auction of theirs."""

    name: str
    city: str
    state: str
    auction: int


def q3(streams: Streams) -> DataStream[LocalItem]:
    """Who sells something of category 10 in Oregon, Idaho or California?"""
    auctions = streams.auctions.filter(lambda auction: auction.category == 10)
    return (
        streams.persons.keyBy(lambda person: person.id)
        .connect(auctions.keyBy(lambda auction: auction.seller))
        .process(LocalItems())
    )


class LocalItems(KeyedCoProcessFunction[int, Person, Auction, LocalItem]):
    """Keeps the person, and until they come their auctions."""

    person: ValueState[tuple[str, str, str]]
    waiting: ListState[int]

    def open(self, openContext: OpenContext) -> None:
        context = self.getRuntimeContext()
        self.person = context.getState(ValueStateDescriptor[tuple[str, str, str]]("person"))
        self.waiting = context.getListState(ListStateDescriptor[int]("auctions"))

    def processElement1(
        self,
        value: Person,
        ctx: KeyedCoProcessFunction.Context[int],
        out: Collector[LocalItem],
    ) -> None:
        self.person.update((value.name, value.city, value.state))
        for auction in self.waiting.get():
            self.answer(value.name, value.city, value.state, auction, out)
        self.waiting.clear()

    def processElement2(
        self,
        value: Auction,
        ctx: KeyedCoProcessFunction.Context[int],
        out: Collector[LocalItem],
    ) -> None:
        person = self.person.value()
        if person is None:
            self.waiting.add(value.id)
        else:
            self.answer(*person, value.id, out)

    def answer(
        self, name: str, city: str, state: str, auction: int, out: Collector[LocalItem]
    ) -> None:
        """The auction, if its seller is near."""
        if state in ("OR", "ID", "CA"):
            out.collect(LocalItem(name, city, state, auction))


# ---------------------------------------------------------------- Q9 and Q4: which bid wins


class WinningBid(NamedTuple):
    """The bid that an auction ended with."""

    auction: int
    category: int
    bidder: int
    price: int
    dateTime: int


def q9(streams: Streams) -> DataStream[WinningBid]:
    """Which bid wins each auction: the highest, and of those the earliest, while it was open?"""
    return (
        streams.auctions.keyBy(lambda auction: auction.id)
        .connect(streams.bids.keyBy(lambda bid: bid.auction))
        .process(WinningBids())
    )


class WinningBids(KeyedCoProcessFunction[int, Auction, Bid, WinningBid]):
    """Keeps an open auction and its best bid, and answers when the auction expires.

    Bids that are read before their auction wait for it, until the watermark has passed them: then
    there is no auction that they were made in.
    """

    auction: ValueState[tuple[int, int, int]]
    best: ValueState[tuple[int, int, int]]
    waiting: ListState[tuple[int, int, int]]

    def open(self, openContext: OpenContext) -> None:
        context = self.getRuntimeContext()
        self.auction = context.getState(ValueStateDescriptor[tuple[int, int, int]]("auction"))
        self.best = context.getState(ValueStateDescriptor[tuple[int, int, int]]("best bid"))
        self.waiting = context.getListState(ListStateDescriptor[tuple[int, int, int]]("bids"))

    def processElement1(
        self,
        value: Auction,
        ctx: KeyedCoProcessFunction.Context[int],
        out: Collector[WinningBid],
    ) -> None:
        self.auction.update((value.dateTime, value.expires, value.category))
        ctx.timerService().registerEventTimeTimer(value.expires)
        for bid in self.waiting.get():
            self.consider(value.dateTime, value.expires, bid)
        self.waiting.clear()

    def processElement2(
        self,
        value: Bid,
        ctx: KeyedCoProcessFunction.Context[int],
        out: Collector[WinningBid],
    ) -> None:
        auction = self.auction.value()
        # Bids compare by price, the earlier first among equals, and then by bidder.
        bid = (value.price, -value.dateTime, -value.bidder)
        if auction is not None:
            self.consider(auction[0], auction[1], bid)
        else:
            self.waiting.add(bid)
            ctx.timerService().registerEventTimeTimer(value.dateTime)

    def consider(self, opens: int, expires: int, bid: tuple[int, int, int]) -> None:
        """Keep the bid if it is the best so far."""
        if opens <= -bid[1] <= expires:
            best = self.best.value()
            if best is None or bid > best:
                self.best.update(bid)

    def onTimer(
        self,
        timestamp: int,
        ctx: KeyedCoProcessFunction.OnTimerContext[int],
        out: Collector[WinningBid],
    ) -> None:
        auction = self.auction.value()
        if auction is None:
            waiting = [bid for bid in self.waiting.get() if -bid[1] > timestamp]
            self.waiting.update(waiting)
        elif timestamp == auction[1]:
            best = self.best.value()
            if best is not None:
                price, time, bidder = best
                out.collect(WinningBid(ctx.getCurrentKey(), auction[2], -bidder, price, -time))
            self.auction.clear()
            self.best.clear()


class CategoryPrice(NamedTuple):
    """What a thing of a category went for on average, in the period that ended at ``end``."""

    category: int
    price: int
    end: int


def q4(streams: Streams) -> DataStream[CategoryPrice]:
    """What was the average price of the auctions of each category that ended in the last ten seconds?"""
    return (
        q9(streams)
        .keyBy(lambda bid: bid.category)
        .window(SlidingEventTimeWindows.of(PERIOD, SLIDE))
        .aggregate(AveragePrice(), with_window(CategoryPrice))
    )


class AveragePrice(AggregateFunction[WinningBid, tuple[int, int], int]):
    """The average price, rounded down to a cent."""

    def createAccumulator(self) -> tuple[int, int]:
        return (0, 0)

    def add(self, value: WinningBid, accumulator: tuple[int, int]) -> tuple[int, int]:
        return (accumulator[0] + value.price, accumulator[1] + 1)

    def getResult(self, accumulator: tuple[int, int]) -> int:
        return accumulator[0] // accumulator[1]


# ---------------------------------------------------------------- Q5, Q7, Q8, Q11: windows


class Count(AggregateFunction[Any, int, int]):
    """How many there are."""

    def createAccumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def getResult(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


class HotItem(NamedTuple):
    """An auction and its number of bids in the period that ended at ``end``."""

    auction: int
    bids: int
    end: int


def q5(streams: Streams) -> DataStream[HotItem]:
    """Every two seconds: which auctions had the most bids in the last ten?"""
    counts = (
        streams.bids.keyBy(lambda bid: bid.auction)
        .window(SlidingEventTimeWindows.of(PERIOD, SLIDE))
        .aggregate(Count(), with_window(HotItem))
    )
    # Counts of one period have the timestamp of its end, so they meet in one window of the length of the slide.
    return (
        counts.keyBy(lambda count: count.end)
        .window(TumblingEventTimeWindows.of(SLIDE))
        .process(Hottest())
    )


class Hottest(ProcessWindowFunction[HotItem, HotItem, int, TimeWindow]):
    """All that have the highest count."""

    def process(
        self,
        key: int,
        context: WindowContext[TimeWindow],
        elements: Iterable[HotItem],
        out: Collector[HotItem],
    ) -> None:
        items = list(elements)
        most = max(item.bids for item in items)
        for item in items:
            if item.bids == most:
                out.collect(item)


def q7(streams: Streams) -> DataStream[Bid]:
    """What is the highest bid of every ten seconds; of equal ones the earliest?"""
    of_auctions = (
        streams.bids.keyBy(lambda bid: bid.auction)
        .window(TumblingEventTimeWindows.of(PERIOD))
        .reduce(higher)
    )
    return of_auctions.windowAll(TumblingEventTimeWindows.of(PERIOD)).reduce(higher)


def higher(one: Bid, other: Bid) -> Bid:
    """The higher bid, of equal ones the earlier, then the one of the lower auction and bidder."""
    return max(one, other, key=lambda bid: (bid.price, -bid.dateTime, -bid.auction, -bid.bidder))


class NewSeller(NamedTuple):
    """A person who joined and began to sell in the ten seconds from ``start`` on."""

    id: int
    name: str
    start: int


def q8(streams: Streams) -> DataStream[NewSeller]:
    """Who joined and opened an auction within the same ten seconds?"""
    return (
        streams.persons.coGroup(streams.auctions)
        .where(lambda person: person.id)
        .equalTo(lambda auction: auction.seller)
        .window(TumblingEventTimeWindows.of(PERIOD))
        .apply(NewSellers())
    )


class NewSellers(CoGroupFunction[Person, Auction, NewSeller]):
    """The person, if there is an auction."""

    def coGroup(
        self, first: Iterable[Person], second: Iterable[Auction], out: Collector[NewSeller]
    ) -> None:
        if any(True for _ in second):
            for person in first:
                start = TimeWindow.getWindowStartWithOffset(
                    person.dateTime, 0, PERIOD.toMilliseconds()
                )
                out.collect(NewSeller(person.id, person.name, start))


class Session(NamedTuple):
    """How many bids somebody made from ``start`` on without a pause of ten seconds, which ended at ``end``."""

    bidder: int
    bids: int
    start: int
    end: int


def q11(streams: Streams) -> DataStream[Session]:
    """How many bids does each bidder make in a session, that is without a pause of ten seconds?"""
    return (
        streams.bids.keyBy(lambda bid: bid.bidder)
        .window(EventTimeSessionWindows.withGap(PERIOD))
        .aggregate(Count(), sessions)
    )


def sessions(
    key: int, context: WindowContext[TimeWindow], elements: Iterable[int]
) -> Iterable[Session]:
    """The count with its window."""
    window = context.window()
    return [Session(key, count, window.start, window.end) for count in elements]


def with_window(
    answer: Callable[[int, int, int], Any],
) -> Callable[[int, WindowContext[TimeWindow], Iterable[int]], Iterable[Any]]:
    """Makes an answer of the key, the aggregated value and the end of the window."""
    return lambda key, context, elements: [
        answer(key, value, context.window().end) for value in elements
    ]


QUERIES: Mapping[int, Callable[[Streams], DataStream[Any]]] = {
    0: q0, 1: q1, 2: q2, 3: q3, 4: q4, 5: q5, 7: q7, 8: q8, 9: q9, 11: q11,
}  # fmt: skip
