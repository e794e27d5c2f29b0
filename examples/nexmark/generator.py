"""The events of Nexmark: a function of a seed and the number of the event, computed for many at once with NumPy.

The rules are those of the benchmark's own generator. Of 50 events in turn one is a person, three are auctions and 46
are bids. Event time follows from the number and the rate. Half of the bids are for the hottest auction of the moment,
three of four are by the hottest bidder, and three of four auctions are by the hottest seller; the
others are spread over the open auctions and the active people. Strings that only pad an event to a
size are left out.

Random numbers are a hash of seed, number and purpose instead of a sequence, so any event can be
generated without those before it: a range of events is the same however it is divided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Union

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


class Person(NamedTuple):
    """Somebody who joins, at ``dateTime`` (ms)."""

    id: int
    name: str
    email: str
    city: str
    state: str
    dateTime: int


class Auction(NamedTuple):
    """A thing that ``seller`` offers from ``dateTime`` to ``expires`` (ms)."""

    id: int
    itemName: str
    initialBid: int
    reserve: int
    dateTime: int
    expires: int
    seller: int
    category: int


class Bid(NamedTuple):
    """What ``bidder`` would pay in ``auction``, in cents."""

    auction: int
    bidder: int
    price: int
    dateTime: int


Event = Union[Person, Auction, Bid]
KINDS: Mapping[str, type[Event]] = {"person": Person, "auction": Auction, "bid": Bid}

PERSONS, AUCTIONS, BIDS = 1, 3, 46
TURN = PERSONS + AUCTIONS + BIDS

FIRST_PERSON = FIRST_AUCTION = 1_000
FIRST_CATEGORY, CATEGORIES = 10, 5
HOT_AUCTION, HOT_BIDDER, HOT_SELLER = 2, 4, 4
"""One in so many is not for the hottest auction, not by the hottest bidder or seller."""
HOT_GROUP = 100
"""The hottest one is the first of so many ids in a row."""
AUCTIONS_IN_FLIGHT, ACTIVE_PEOPLE = 100, 1_000
AUCTION_LEAD, PERSON_LEAD = 10, 10
"""So many of those that are chosen from do not exist yet."""

FIRST_NAMES = np.array(
    ["Ada", "Alan", "Barbara", "Edsger", "Frances", "Grace", "John", "Kathleen", "Niklaus", "Tony"]
)
LAST_NAMES = np.array(
    ["Allen", "Backus", "Booth", "Dijkstra", "Hoare", "Hopper", "Liskov", "Lovelace", "Wirth"]
)
STATES = np.array(["AZ", "CA", "ID", "OR", "WA", "WY"])
CITIES = np.array(
    [
        "Phoenix",
        "Los Angeles",
        "San Francisco",
        "Boise",
        "Portland",
        "Bend",
        "Redmond",
        "Seattle",
        "Kent",
        "Cheyenne",
    ]
)

BLOCK = 5_000
"""How many events ``event`` makes at once."""


@dataclass(frozen=True)
class NexmarkGenerator:
    """Events 0, 1, 2, ..., ``eventsPerSecond`` of them a second of event time from ``firstTime`` (ms) on."""

    SCHEMAS: ClassVar[Mapping[str, str]] = {
        "person": "id long, name string, email string, city string, state string, dateTime long",
        "auction": "id long, itemName string, initialBid long, reserve long, dateTime long, expires long,"
        " seller long, category long",
        "bid": "auction long, bidder long, price long, dateTime long",
    }
    """The columns of each kind of event, as a file has them."""

    seed: int = 1
    eventsPerSecond: int = 10_000
    firstTime: int = 1_577_836_800_000

    def event(self, number: int) -> Event:
        """The event of that number, for a DataGeneratorSource."""
        return _block(self, number // BLOCK)[number % BLOCK]

    def events(self, first: int, count: int) -> list[Event]:
        """The events with the numbers from ``first`` on, in order."""
        made: dict[int, Event] = {}
        for kind, constructor in KINDS.items():
            columns = self.columns(kind, first, count).values()
            events: Iterator[Event] = map(constructor, *(column.tolist() for column in columns))
            made.update(zip(self.numbers(kind, first, count).tolist(), events))
        return [made[number] for number in range(first, first + count)]

    def numbers(self, kind: str, first: int, count: int) -> Numbers:
        """The numbers of the events of a kind among ``count`` from ``first`` on."""
        numbers = np.arange(first, first + count)
        place = numbers % TURN
        if kind == "person":
            return numbers[place < PERSONS]
        if kind == "auction":
            return numbers[(place >= PERSONS) & (place < PERSONS + AUCTIONS)]
        return numbers[place >= PERSONS + AUCTIONS]

    def columns(self, kind: str, first: int, count: int) -> dict[str, NDArray[Any]]:
        """The events of a kind among ``count`` from ``first`` on, as an array for each field."""
        make = {"person": self._persons, "auction": self._auctions, "bid": self._bids}[kind]
        return make(self.numbers(kind, first, count))

    def _persons(self, numbers: Numbers) -> dict[str, NDArray[Any]]:
        first = FIRST_NAMES[self._below(len(FIRST_NAMES), numbers, "first name")]
        last = LAST_NAMES[self._below(len(LAST_NAMES), numbers, "last name")]
        mail = np.char.add(np.char.add(np.char.lower(last), "."), numbers.astype(str))
        return {
            "id": _last_person(numbers) + FIRST_PERSON,
            "name": np.char.add(np.char.add(first, " "), last),
            "email": np.char.add(mail, "@example.org"),
            "city": CITIES[self._below(len(CITIES), numbers, "city")],
            "state": STATES[self._below(len(STATES), numbers, "state")],
            "dateTime": self._time(numbers),
        }

    def _auctions(self, numbers: Numbers) -> dict[str, NDArray[Any]]:
        ids = _last_auction(numbers) + FIRST_AUCTION
        initial = self._price(numbers, "initial bid")
        time = self._time(numbers)
        # On average AUCTIONS_IN_FLIGHT are open at once.
        until = numbers + AUCTIONS_IN_FLIGHT * TURN // AUCTIONS
        longest = np.maximum(2 * (self._time(until) - time), 1)
        return {
            "id": ids,
            "itemName": np.char.add("item ", ids.astype(str)),
            "initialBid": initial,
            "reserve": initial + self._price(numbers, "reserve"),
            "dateTime": time,
            "expires": time + 1 + self._below(longest, numbers, "length"),
            "seller": self._person(numbers, HOT_SELLER, 0, "seller"),
            "category": FIRST_CATEGORY + self._below(CATEGORIES, numbers, "category"),
        }

    def _bids(self, numbers: Numbers) -> dict[str, NDArray[Any]]:
        last = _last_auction(numbers)
        oldest = np.maximum(last - AUCTIONS_IN_FLIGHT, 0)
        any_auction = oldest + self._below(last - oldest + 1 + AUCTION_LEAD, numbers, "auction")
        hot = self._below(HOT_AUCTION, numbers, "hot auction") > 0
        return {
            "auction": np.where(hot, last // HOT_GROUP * HOT_GROUP, any_auction) + FIRST_AUCTION,
            # The hottest bidder is not the hottest seller.
            "bidder": self._person(numbers, HOT_BIDDER, 1, "bidder"),
            "price": self._price(numbers, "price"),
            "dateTime": self._time(numbers),
        }

    def _person(self, numbers: Numbers, ratio: int, place: int, purpose: str) -> Numbers:
        """The id of the hottest person, but for one in ``ratio``: anybody active."""
        people = _last_person(numbers) + 1
        active = np.minimum(people, ACTIVE_PEOPLE)
        anybody = people - active + self._below(active + PERSON_LEAD, numbers, purpose)
        hot = self._below(ratio, numbers, f"hot {purpose}") > 0
        hottest = (people - 1) // HOT_GROUP * HOT_GROUP + place
        return np.where(hot, hottest, anybody) + FIRST_PERSON

    def _price(self, numbers: Numbers, purpose: str) -> Numbers:
        """From 1 to a million dollars, in cents; each power of ten is as likely."""
        return np.rint(10.0 ** (6.0 * self._chance(numbers, purpose)) * 100.0).astype(np.int64)

    def _time(self, numbers: Numbers) -> Numbers:
        return self.firstTime + numbers * 1_000 // self.eventsPerSecond

    def _below(self, limit: int | Numbers, numbers: Numbers, purpose: str) -> Numbers:
        """A whole number from 0 to ``limit`` - 1 for each event."""
        return (self._chance(numbers, purpose) * limit).astype(np.int64)

    def _chance(self, numbers: Numbers, purpose: str) -> NDArray[np.float64]:
        """A number from 0 to 1 for each event (the finaliser of SplitMix64 over seed, purpose and number)."""
        salt = int.from_bytes(purpose.encode()[:16], "big") * 2 + 1 + self.seed * 0x9E3779B97F4A7C15
        with np.errstate(over="ignore"):
            mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= _mixed(np.full(1, salt % 2**64, np.uint64))
            mixed = _mixed(mixed)
        return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _last_person(numbers: Numbers) -> Numbers:
    """The place, among all people, of the last one up to each event."""
    return numbers // TURN * PERSONS + np.minimum(numbers % TURN, PERSONS - 1)


def _last_auction(numbers: Numbers) -> Numbers:
    """The place, among all auctions, of the last one up to each event; -1 before the first."""
    place = np.clip(numbers % TURN - PERSONS, -1, AUCTIONS - 1)
    return numbers // TURN * AUCTIONS + place


@lru_cache(maxsize=2)
def _block(generator: NexmarkGenerator, block: int) -> list[Event]:
    return generator.events(block * BLOCK, BLOCK)
