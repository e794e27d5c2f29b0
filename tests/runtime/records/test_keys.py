"""Keys must hash the same in every process, and equal keys alike."""

import datetime
import decimal
import enum
import fractions
import subprocess
import sys
import uuid
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.api.errors import UnstableKeyError
from flinkish.runtime.records.keys import KeyHashes, key_group_of, stable_hash


class Colour(enum.Enum):
    RED = 1


class Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True)
class Place:
    name: str
    at: Point


KEYS = [
    None,
    True,
    0,
    -1,
    2**70,
    1.5,
    float("inf"),
    "key",
    "",
    "ü\ud800",
    b"bytes",
    (1, "a", None),
    Point(1, 2),
    Place("here", Point(3, 4)),
    Colour.RED,
    decimal.Decimal("1.10"),
    datetime.date(2024, 2, 29),
    datetime.datetime(2024, 2, 29, 12),
    datetime.timedelta(days=1),
    uuid.UUID(int=7),
]


@pytest.mark.slow("a program of its own")
def test_hashes_are_the_same_in_another_process():
    program = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "from tests.runtime.records.test_keys import KEYS, stable_hash\n"
        "print([stable_hash(key) for key in KEYS])"
    )
    other = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=sys.path[0]
    )
    assert other.stdout.strip() == str([stable_hash(key) for key in KEYS])


numbers = st.one_of(
    st.integers(), st.floats(allow_nan=False), st.booleans(), st.decimals(allow_nan=False)
)


@given(numbers)
def test_equal_numbers_have_one_hash(number):
    for other in (int, float, fractions.Fraction, decimal.Decimal, bool):
        try:
            same = other(number)
        except (OverflowError, ValueError, TypeError):
            continue
        if same == number:
            assert stable_hash(same) == stable_hash(number)


def test_equal_instants_have_one_hash():
    utc = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)
    assert stable_hash(utc) == stable_hash(
        utc.astimezone(datetime.timezone(datetime.timedelta(hours=5)))
    )


def test_an_enum_hashes_like_the_value_it_equals():
    class Level(enum.IntEnum):
        HIGH = 3

    class Name(enum.StrEnum):
        A = "a"

    assert stable_hash(Level.HIGH) == stable_hash(3)
    assert stable_hash(Name.A) == stable_hash("a")


def test_fold_does_not_count_as_it_does_not_in_equality():
    at = datetime.datetime(2024, 11, 3, 1, 30)
    assert stable_hash(at) == stable_hash(at.replace(fold=1))


def test_a_named_tuple_hashes_like_the_tuple_it_equals():
    assert stable_hash(Point(1, 2)) == stable_hash((1, 2))


@pytest.mark.parametrize("key", [object(), [1], {"a": 1}, {1}, lambda: None, (1, [2])])
def test_keys_without_a_stable_hash_are_refused_by_name(key):
    with pytest.raises(UnstableKeyError, match="cannot be hashed the same way in every process"):
        KeyHashes().column([key])


@pytest.mark.parametrize("keys", [range(10_000), [f"key-{i}" for i in range(10_000)]])
@pytest.mark.parametrize("groups", [1, 4, 16, 128])
def test_keys_spread_over_the_key_groups(keys, groups):
    counts = [0] * groups
    for key in keys:
        counts[key_group_of(stable_hash(key), groups)] += 1
    mean = len(keys) / groups
    assert min(counts) > 0.5 * mean
    assert max(counts) < 1.6 * mean


def test_remembered_hashes_are_bounded(monkeypatch):
    monkeypatch.setattr(KeyHashes, "MOST", 10)
    hashes = KeyHashes()
    assert hashes.column(list(range(100))).tolist() == [stable_hash(i) for i in range(100)]
    assert len(hashes) <= 10


@pytest.mark.parametrize("nan", [float("nan"), np.float32("nan"), decimal.Decimal("nan")])
def test_what_is_not_equal_to_itself_is_no_key(nan):
    """In Flink all NaN are one key; a Python state table would not find it again."""
    for key in (nan, ("a", nan), Place("a", nan)):
        with pytest.raises(UnstableKeyError, match=r"is not equal to itself.*Use None or a text"):
            stable_hash(key)


KINDS = [getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)]
NUMBERS = st.one_of(st.integers(-300, 300), st.integers(-(2**63), 2**64 - 1))


@given(st.sampled_from(KINDS), st.lists(st.one_of(NUMBERS, st.none())))
def test_a_column_of_integers_hashes_as_its_keys_do(kind, keys):
    least, width = (-1, kind.bit_width - 1) if str(kind).startswith("i") else (0, kind.bit_width)
    keys = [k for k in keys if k is None or least << width <= k < 1 << width]
    assert KeyHashes().ofColumn(pa.array(keys, kind)).tolist() == list(map(stable_hash, keys))
