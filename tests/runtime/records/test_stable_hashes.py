"""Equal keys have one stable hash, whatever their types, in every process."""

import datetime as dt
import decimal
import enum
import fractions
import pickle
import subprocess
import sys
import uuid
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.api.errors import UnstableKeyError
from flinkish.runtime.records.keys import KeyHashes
from flinkish.runtime.records.stable_hashes import stable_hash, was_hashed_otherwise


class OwnDate(dt.date):
    pass


class OwnDatetime(dt.datetime):
    pass


class OwnTime(dt.time):
    pass


class OwnDelta(dt.timedelta):
    pass


class OwnText(str):
    __slots__ = ()


class OwnInt(int):
    pass


class OwnFloat(float):
    pass


class OwnBytes(bytes):
    pass


class OwnDecimal(decimal.Decimal):
    pass


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass(frozen=True)
class Place:
    at: Any
    note: str = field(default="", compare=False)


class Day(dt.date, enum.Enum):
    LEAP = 2024, 2, 29


class Moment(dt.datetime, enum.Enum):
    NOON = 2024, 2, 29, 12


class Span(dt.timedelta, enum.Enum):
    HOUR = 0, 3600


class Level(enum.IntEnum):
    HIGH = 3


class Share(float, enum.Enum):
    HALF = 0.5


class Name(enum.StrEnum):
    A = "a"


class Word(OwnText, enum.Enum):
    A = "a"


class Flag(enum.IntFlag):
    ON = 1


class Colour(enum.Enum):
    RED = 1


class Nowhere(dt.tzinfo):
    """A zone without an offset: its times are equal to naive ones."""

    def utcoffset(self, moment):
        return None

    def dst(self, moment):
        return None

    def tzname(self, moment):
        return None


ZONES = [
    None,
    dt.UTC,
    dt.timezone(dt.timedelta(hours=5, minutes=30)),
    dt.timezone(dt.timedelta(hours=-1)),
    ZoneInfo("UTC"),
    *map(ZoneInfo, ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe")),
    Nowhere(),
]
# About the hours that come twice, and those that are left out
CHANGES = [dt.datetime(2024, 11, 3, 1), dt.datetime(2024, 10, 27, 2), dt.datetime(2024, 3, 31, 2)]
MOMENTS = st.builds(
    lambda moment, fold: moment.replace(fold=fold),
    st.one_of(
        st.datetimes(timezones=st.sampled_from(ZONES)),
        st.builds(
            lambda change, minutes, zone: (change + dt.timedelta(minutes=minutes)).replace(
                tzinfo=zone
            ),
            st.sampled_from(CHANGES),
            st.integers(-90, 150),
            st.sampled_from(ZONES),
        ),
    ),
    st.integers(0, 1),
)
TIMES = st.times(timezones=st.sampled_from(ZONES))
NUMBERS = st.one_of(
    st.integers(),
    st.integers(-9, 9),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.complex_numbers(allow_nan=False),
)
NANOSECONDS = st.integers(-(10**18), 10**18)


def tried(*forms):
    """The results of the ``forms`` that can express their value."""
    found = []
    for form in forms:
        try:
            found.append(form())
        except (ValueError, ArithmeticError, TypeError, AttributeError):
            continue
    return found


def forms_of_moment(moment):
    parts = (moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second)
    own = OwnDatetime(*parts, moment.microsecond, moment.tzinfo, fold=moment.fold)
    units = [lambda unit=unit: pd.Timestamp(moment).as_unit(unit) for unit in ("s", "us", "ns")]
    others = [lambda zone=zone: moment.astimezone(zone) for zone in ZONES[1:-1]]
    one = moment.replace(fold=1 - moment.fold)
    stamps = [lambda zone=zone: pd.Timestamp(moment).tz_convert(zone) for zone in ZONES[1:4]]
    return [moment, one, own, moment.replace(tzinfo=None), moment.date()] + tried(
        *units, *others, *stamps
    )


def forms_of_time(time):
    own = OwnTime(time.hour, time.minute, time.second, time.microsecond, time.tzinfo)
    forms = [time, time.replace(fold=1), own, time.replace(tzinfo=None)]
    if (offset := time.utcoffset()) is not None:
        for hours in (-2, 1, 3):
            zone = dt.timezone(offset + dt.timedelta(hours=hours))
            if 0 <= time.hour + hours < 24:
                forms.append(time.replace(hour=time.hour + hours, tzinfo=zone))
    return forms


def forms_of_number(number):
    kinds = (int, float, bool, complex, decimal.Decimal, fractions.Fraction, OwnInt, OwnFloat)
    kinds += (OwnDecimal, np.int8, np.int64, np.uint64, np.longlong, np.bool_, np.float64)
    return [number, *tried(*[lambda kind=kind: kind(number) for kind in kinds])]


EQUALS = st.one_of(
    MOMENTS.map(forms_of_moment),
    TIMES.map(forms_of_time),
    NUMBERS.map(forms_of_number),
    st.timedeltas().map(
        lambda delta: [
            delta,
            OwnDelta(delta.days, delta.seconds, delta.microseconds),
            *tried(lambda: pd.Timedelta(delta), lambda: pd.Timedelta(delta).as_unit("s")),
        ]
    ),
    NANOSECONDS.map(lambda ns: [pd.Timestamp(ns), pd.Timestamp(ns, tz="UTC").tz_convert("Japan")]),
    NANOSECONDS.map(lambda ns: [pd.Timedelta(ns), pd.Timedelta(ns).to_pytimedelta()]),
    st.dates().map(lambda day: [day, OwnDate(day.year, day.month, day.day)]),
    st.text().map(lambda text: [text, OwnText(text), np.str_(text)]),
    st.binary().map(lambda data: [data, OwnBytes(data), np.bytes_(data)]),
    st.sampled_from(
        [
            [Day.LEAP, dt.date(2024, 2, 29), OwnDate(2024, 2, 29)],
            [Moment.NOON, dt.datetime(2024, 2, 29, 12), pd.Timestamp("2024-02-29 12:00")],
            [Span.HOUR, dt.timedelta(hours=1), pd.Timedelta("1h")],
            [Level.HIGH, 3, 3.0, fractions.Fraction(3), 3 + 0j, np.int32(3)],
            [Share.HALF, 0.5, decimal.Decimal("0.5"), fractions.Fraction(1, 2), np.float64(0.5)],
            [Name.A, Word.A, "a", OwnText("a")],
            [Flag.ON, 1, True, np.True_],
            [None, None],
            [uuid.UUID(int=7), uuid.UUID(int=7)],
        ]
    ),
)
WRAPPED = [
    lambda form: form,
    lambda form: (form, "a"),
    lambda form: Pair(form, "a"),
    lambda form: ((form, "a"), (1,)),
    lambda form: frozenset([form, "a"]),
    lambda form: Place(form, note=repr(form)),
    lambda form: (Place((form,)), None),
]


def is_one_key(first, second):
    """Whether two keys are one key of a dict. A float and an integer of NumPy, which rounds before
    it compares, may be equal and have two hashes."""
    try:
        return hash(first) == hash(second) and first == second
    except (TypeError, OverflowError):  # NumPy compares a bool with no Decimal
        return False


@pytest.mark.slow("a separate program")
def test_equal_keys_have_one_hash_in_two_processes():
    drawn = []

    @given(EQUALS)
    def draw(forms):
        for wrapped in WRAPPED:
            keys = [wrapped(form) for form in forms]
            hashes = list(map(stable_hash, keys))
            for first, hashed in zip(keys, hashes):
                for second, other in zip(keys, hashes):
                    assert hashed == other or not is_one_key(first, second), (first, second)
            drawn.append((keys, hashes))

    draw()
    program = (
        f"import pickle, sys; sys.path[:0] = {sys.path!r}\n"
        "from flinkish.runtime.records.stable_hashes import stable_hash\n"
        "drawn = pickle.load(sys.stdin.buffer)\n"
        "sys.exit(any(list(map(stable_hash, keys)) != hashes for keys, hashes in drawn))"
    )
    data = pickle.dumps(drawn)
    subprocess.run([sys.executable, "-c", program], input=data, check=True, cwd=sys.path[0])


NOON = dt.datetime(2024, 2, 29, 12)
STORED = [
    (None, 1803230527),
    (True, 2654435761),
    (0, 0),
    (-1, 0),
    (2**70, 1861444096),
    (1.5, 2834421587),
    (float("inf"), 3777194258),
    ("key", 2324736937),
    ("", 0),
    ("ü\ud800", 3719751694),
    (b"bytes", 2365155966),
    ((1, "a", None), 1701272049),
    (Pair(1, 2), 590864190),
    (Place(7, "here"), 399958635),
    (Colour.RED, 3840942239),
    (decimal.Decimal("1.10"), 4020225205),
    (dt.date(2024, 2, 29), 754613610),
    (NOON, 1080955308),
    (dt.timedelta(days=1), 2556648605),
    (uuid.UUID(int=7), 4118805397),
    (dt.datetime(2024, 2, 29, 12, 0, 0, 5, dt.timezone(dt.timedelta(hours=2))), 1658302933),
    (dt.time(1, 2), 4177598115),
    (frozenset((1, "a")), 2263824372),
]


def test_state_that_is_stored_is_found():
    """Checkpoints have these hashes."""
    assert [stable_hash(key) for key, _ in STORED] == [hashed for _, hashed in STORED]
    assert not any(was_hashed_otherwise(key) for key, _ in STORED)


@pytest.mark.parametrize(
    "key",
    [
        pd.Timestamp(NOON),
        pd.Timedelta(days=1),
        OwnDate(2024, 2, 29),
        Day.LEAP,
        dt.time(1, 2, tzinfo=dt.UTC),
        dt.datetime(2024, 11, 3, 1, tzinfo=ZoneInfo("America/New_York"), fold=1),
        NOON.replace(tzinfo=Nowhere()),
    ],
)
def test_keys_that_version_1_hashed_otherwise_are_told_apart(key):
    for wrapped in WRAPPED:
        assert was_hashed_otherwise(wrapped(key))


class Caseless(str):
    def __eq__(self, other):
        return self.lower() == other.lower()

    def __hash__(self):
        return hash(self.lower())


class OwnHash(str):
    def __hash__(self):
        return 1


class Rounded(NamedTuple):
    x: float

    def __eq__(self, other):
        return round(self.x) == round(other.x)

    def __hash__(self):
        return hash(round(self.x))


@dataclass(frozen=True)
class Sized:
    name: str

    def __eq__(self, other):
        return len(self.name) == len(other.name)

    def __hash__(self):
        return len(self.name)


@dataclass(frozen=True)
class Hashed:
    name: str

    def __hash__(self):
        return hash(self.name)


class Near(dt.datetime):
    def __eq__(self, other):
        return abs(self - other) < dt.timedelta(seconds=1)

    def __hash__(self):
        return 1


class Mode(enum.Enum):
    FAST = 1

    def __eq__(self, other):
        return str(self) == str(other)

    def __hash__(self):
        return 1


@pytest.mark.parametrize(
    "key",
    [
        Caseless("a"),
        OwnHash("a"),
        Rounded(1.2),
        Sized("a"),
        Hashed("a"),
        Near(2024, 2, 29),
        Mode.FAST,
        np.float32(0.5),
        np.timedelta64(1, "D"),
        np.datetime64("2024-02-29"),
        (1, (Caseless("a"),)),
        object(),
        [1],
        {"a": 1},
        {1},
        lambda: None,
    ],
)
def test_what_cannot_promise_a_stable_hash_is_refused_by_name(key):
    with pytest.raises(UnstableKeyError, match="cannot be hashed the same way in every process"):
        KeyHashes().column([key])


@pytest.mark.parametrize("nan", [float("nan"), np.float64("nan"), decimal.Decimal("nan"), pd.NaT])
def test_what_is_not_equal_to_itself_is_no_key(nan):
    """In Flink all NaN are one key; a Python state table would not find it again."""
    for key in (nan, ("a", nan), Place(nan)):
        with pytest.raises(UnstableKeyError, match=r"is not equal to itself.*Use a text"):
            stable_hash(key)
