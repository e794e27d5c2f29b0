"""Expressions of Atlas: values and types as MongoDB's manual gives them."""

from __future__ import annotations

import math
import uuid
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from flinkish import IllegalArgumentError
from flinkish.compat.atlas import Int64, ObjectId
from flinkish.compat.atlas.accumulators import ACCUMULATORS
from flinkish.compat.atlas.bson.values import MISSING, DocumentError, Timestamp, type_name
from flinkish.compat.atlas.expressions.compiler import OPERATORS, Place, compile_expression

NOW = datetime(2024, 2, 29, 12, 30, 45, 678_000, UTC)
DOCUMENT: dict[str, Any] = {
    "a": 7,
    "b": 2,
    "f": 2.5,
    "s": "Hello",
    "n": None,
    "d": NOW,
    "list": [3, 1, 2],
    "o": {"x": 1, "y": [{"z": 1}, {"z": 2}, {"w": 3}]},
    "items": [{"p": 2, "q": 3}, {"p": 5, "q": 1}],
    "dec": Decimal("1.10"),
    "t": True,
}


def value_of(expression: Any, document: dict[str, Any] = DOCUMENT) -> Any:
    return compile_expression(expression, Place("here"))(document, {"NOW": NOW})


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type]


NUMBERS = [
    ({"$add": ["$a", "$b", 1]}, 10),
    ({"$add": ["$a", 0.5]}, 7.5),
    ({"$add": ["$a", "$n"]}, None),
    ({"$add": ["$a", "$missing"]}, None),
    ({"$add": []}, 0),
    ({"$add": ["$d", 3_600_000]}, NOW + timedelta(hours=1)),
    ({"$add": [2**31 - 1, 1]}, 2**31),
    ({"$add": [2**63 - 1, 1]}, float(2**63)),
    ({"$add": ["$dec", 1]}, Decimal("2.10")),
    ({"$add": ["$dec", 0.1]}, Decimal("1.20")),
    ({"$subtract": ["$a", 10]}, -3),
    ({"$subtract": ["$d", at(2024, 2, 29)]}, 45_045_678),
    ({"$subtract": ["$d", 1000]}, NOW - timedelta(seconds=1)),
    ({"$multiply": ["$a", "$b", "$f"]}, 35.0),
    ({"$multiply": [2**62, 4]}, float(2**64)),
    ({"$divide": ["$a", "$b"]}, 3.5),
    ({"$divide": [4, 2]}, 2.0),
    ({"$mod": ["$a", 4]}, 3),
    ({"$mod": [-7, 4]}, -3),
    ({"$mod": [7.5, 2]}, 1.5),
    ({"$mod": [7, 2.0]}, 1),
    ({"$abs": -5}, 5),
    ({"$abs": -5.5}, 5.5),
    ({"$abs": {"$subtract": [1, 4]}}, 3),
    ({"$ceil": 2.1}, 3.0),
    ({"$ceil": -2.9}, -2.0),
    ({"$floor": -2.1}, -3.0),
    ({"$floor": 5}, 5),
    ({"$round": [2.5]}, 2.0),
    ({"$round": [3.5, 0]}, 4.0),
    ({"$round": [19.25, 1]}, 19.2),
    ({"$round": [28.73, 1]}, 28.7),
    ({"$round": [1234, -2]}, 1200),
    ({"$round": [2.675, 2]}, 2.67),
    ({"$round": ["$n", 1]}, None),
    ({"$trunc": [7.85, 1]}, 7.8),
    ({"$trunc": [-7.85]}, -7.0),
    ({"$trunc": [1299, -2]}, 1200),
    ({"$pow": [2, 10]}, 1024),
    ({"$pow": [2, -1]}, 0.5),
    ({"$pow": [2, 62]}, 2**62),
    ({"$sqrt": 25}, 5.0),
    ({"$exp": 0}, 1.0),
    ({"$ln": math.e}, 1.0),
    ({"$log10": 1000}, 3.0),
    ({"$log": [8, 2]}, 3.0),
    ({"$degreesToRadians": 180}, math.pi),
    ({"$atan2": [1, 1]}, math.pi / 4),
    ({"$bitAnd": [6, 3]}, 2),
    ({"$bitOr": [6, 3]}, 7),
    ({"$bitXor": [6, 3]}, 5),
    ({"$bitNot": 6}, -7),
    ({"$sum": "$list"}, 6),
    ({"$sum": ["$a", "$b", "$s"]}, 9),
    ({"$sum": {"$map": {"input": "$items", "in": {"$multiply": ["$$this.p", "$$this.q"]}}}}, 11),
    ({"$avg": "$list"}, 2.0),
    ({"$avg": ["$s"]}, None),
    ({"$max": ["$a", "$f", "$n"]}, 7),
    ({"$min": "$list"}, 1),
    ({"$stdDevPop": [[2, 4, 4, 4, 5, 5, 7, 9]]}, 2.0),
    ({"$median": {"input": "$list", "method": "approximate"}}, 2.0),
]

COMPARISONS = [
    ({"$eq": [1, 1.0]}, True),
    ({"$eq": [True, 1]}, False),
    ({"$eq": ["$n", None]}, True),
    ({"$eq": ["$missing", None]}, False),
    ({"$gt": ["$s", 100]}, True),
    ({"$lt": ["$missing", None]}, True),
    ({"$gte": [None, None]}, True),
    ({"$cmp": ["$a", "$b"]}, 1),
    ({"$cmp": [{"x": 1, "y": 2}, {"x": 1, "y": 3}]}, -1),
    ({"$cmp": [[1, 2], [1, 2, 3]]}, -1),
    ({"$lt": [math.nan, -math.inf]}, True),
    ({"$lt": [{"$literal": {}}, [[1]]]}, True),
    ({"$ne": ["$a", 7]}, False),
    ({"$lte": [Decimal("2.5"), "$f"]}, True),
    ({"$and": ["$a", "$s"]}, True),
    ({"$and": [1, 0]}, False),
    ({"$and": []}, True),
    ({"$or": [None, "$missing", 0]}, False),
    ({"$not": ["$n"]}, True),
    ({"$not": [[]]}, False),
    ({"$cond": [{"$gt": ["$a", 5]}, "big", "small"]}, "big"),
    ({"$cond": {"if": "$missing", "then": 1, "else": 2}}, 2),
    ({"$ifNull": ["$n", "$missing", "$b"]}, 2),
    ({"$ifNull": ["$a", 0]}, 7),
    (
        {
            "$switch": {
                "branches": [
                    {"case": {"$lt": ["$a", 5]}, "then": "low"},
                    {"case": {"$lt": ["$a", 10]}, "then": "middle"},
                ],
                "default": "high",
            }
        },
        "middle",
    ),
    ({"$let": {"vars": {"x": 2, "y": "$a"}, "in": {"$multiply": ["$$x", "$$y"]}}}, 14),
    ({"$literal": "$a"}, "$a"),
    ({"$expr": {"$gt": ["$a", 1]}}, True),
]

TEXTS = [
    ({"$concat": ["$s", " ", "World"]}, "Hello World"),
    ({"$concat": ["$s", "$n"]}, None),
    ({"$toUpper": "$s"}, "HELLO"),
    ({"$toLower": "$missing"}, ""),
    ({"$toUpper": "é"}, "é"),
    ({"$strLenCP": "héllo"}, 5),
    ({"$strLenBytes": "héllo"}, 6),
    ({"$substrCP": ["$s", 1, 3]}, "ell"),
    ({"$substrBytes": ["$s", 1, -1]}, "ello"),
    ({"$substr": [2024, 0, 2]}, "20"),
    ({"$indexOfCP": ["$s", "l"]}, 2),
    ({"$indexOfBytes": ["$s", "x"]}, -1),
    ({"$indexOfCP": ["$s", "l", 3]}, 3),
    ({"$split": ["a-b-c", "-"]}, ["a", "b", "c"]),
    ({"$arrayElemAt": [{"$split": ["a-b-c", "-"]}, -1]}, "c"),
    ({"$trim": {"input": "  a b \n"}}, "a b"),
    ({"$ltrim": {"input": "xxab", "chars": "x"}}, "ab"),
    ({"$rtrim": {"input": "$n"}}, None),
    ({"$replaceOne": {"input": "a.a", "find": "a", "replacement": "b"}}, "b.a"),
    ({"$replaceAll": {"input": "a.a", "find": "a", "replacement": "b"}}, "b.b"),
    ({"$strcasecmp": ["abc", "ABD"]}, -1),
    ({"$regexMatch": {"input": "$s", "regex": "^he", "options": "i"}}, True),
    (
        {"$regexFind": {"input": "Café 42", "regex": r"(\d)(\d)"}},
        {"match": "42", "idx": 5, "captures": ["4", "2"]},
    ),
    ({"$regexFind": {"input": "$s", "regex": "x"}}, None),
    ({"$size": {"$regexFindAll": {"input": "aXbX", "regex": "X"}}}, 2),
]

ARRAYS = [
    ("$o.y.z", [1, 2]),
    ("$items.p", [2, 5]),
    ("$list.x", []),
    ("$o.missing", MISSING),
    (["$a", "$missing"], [7, None]),
    ({"k": "$a", "m": "$missing"}, {"k": 7}),
    ({"$size": "$list"}, 3),
    ({"$arrayElemAt": ["$list", 0]}, 3),
    ({"$arrayElemAt": ["$list", -1]}, 2),
    ({"$arrayElemAt": ["$list", 5]}, MISSING),
    ({"$first": "$list"}, 3),
    ({"$last": "$list"}, 2),
    ({"$firstN": {"n": 2, "input": "$list"}}, [3, 1]),
    ({"$lastN": {"n": 2, "input": "$list"}}, [1, 2]),
    ({"$maxN": {"n": 2, "input": "$list"}}, [3, 2]),
    ({"$minN": {"n": 2, "input": "$list"}}, [1, 2]),
    ({"$slice": ["$list", 2]}, [3, 1]),
    ({"$slice": ["$list", -2]}, [1, 2]),
    ({"$slice": ["$list", 1, 1]}, [1]),
    ({"$in": [2, "$list"]}, True),
    ({"$indexOfArray": ["$list", 2]}, 2),
    ({"$indexOfArray": ["$list", 9]}, -1),
    ({"$concatArrays": ["$list", [4]]}, [3, 1, 2, 4]),
    ({"$concatArrays": ["$list", "$n"]}, None),
    ({"$reverseArray": "$list"}, [2, 1, 3]),
    ({"$range": [0, 10, 3]}, [0, 3, 6, 9]),
    ({"$range": [3, 0, -1]}, [3, 2, 1]),
    ({"$zip": {"inputs": [["a", "b"], [1]]}}, [["a", 1]]),
    (
        {"$zip": {"inputs": [["a", "b"], [1]], "useLongestLength": True, "defaults": ["x", 0]}},
        [["a", 1], ["b", 0]],
    ),
    ({"$sortArray": {"input": "$list", "sortBy": -1}}, [3, 2, 1]),
    ({"$sortArray": {"input": "$items", "sortBy": {"q": 1}}}, [{"p": 5, "q": 1}, {"p": 2, "q": 3}]),
    ({"$isArray": ["$list"]}, True),
    ({"$map": {"input": "$list", "as": "x", "in": {"$add": ["$$x", "$b"]}}}, [5, 3, 4]),
    ({"$filter": {"input": "$list", "cond": {"$gte": ["$$this", 2]}}}, [3, 2]),
    ({"$filter": {"input": "$list", "as": "x", "cond": {"$gte": ["$$x", 1]}, "limit": 2}}, [3, 1]),
    (
        {"$reduce": {"input": "$list", "initialValue": 0, "in": {"$add": ["$$value", "$$this"]}}},
        6,
    ),
    ({"$map": {"input": "$n", "in": 1}}, None),
    ({"$setUnion": [[2, 1], [2, 3.0, 3]]}, [1, 2, 3.0]),
    ({"$setIntersection": [[1, 2], [2.0, 4]]}, [2]),
    ({"$setDifference": [[1, 2, 2], [1]]}, [2]),
    ({"$setEquals": [[1, 2], [2, 1, 1]]}, True),
    ({"$setIsSubset": [[1], [1, 2]]}, True),
    ({"$anyElementTrue": [[0, None, 1]]}, True),
    ({"$allElementsTrue": [[1, 0]]}, False),
    ({"$mergeObjects": ["$o", {"x": 2}, None]}, {"x": 2, "y": DOCUMENT["o"]["y"]}),
    ({"$objectToArray": {"a": 1, "b": 2}}, [{"k": "a", "v": 1}, {"k": "b", "v": 2}]),
    ({"$arrayToObject": [[{"k": "a", "v": 1}]]}, {"a": 1}),
    ({"$arrayToObject": {"$literal": [["a", 1], ["b", 2]]}}, {"a": 1, "b": 2}),
    ({"$getField": "a"}, 7),
    ({"$getField": {"field": "x", "input": "$o"}}, 1),
    ({"$setField": {"field": "k.k", "input": {"a": 1}, "value": 2}}, {"a": 1, "k.k": 2}),
    ({"$unsetField": {"field": "x", "input": {"x": 1, "y": 2}}}, {"y": 2}),
    ({"$bsonSize": {"a": 1}}, 12),
    ({"$binarySize": "héllo"}, 6),
]

DATES = [
    ({"$year": "$d"}, 2024),
    ({"$month": "$d"}, 2),
    ({"$dayOfMonth": "$d"}, 29),
    ({"$hour": {"date": "$d", "timezone": "America/New_York"}}, 7),
    ({"$minute": "$d"}, 30),
    ({"$second": "$d"}, 45),
    ({"$millisecond": "$d"}, 678),
    ({"$dayOfWeek": "$d"}, 5),
    ({"$dayOfYear": "$d"}, 60),
    ({"$week": "$d"}, 8),
    ({"$week": at(2024, 1, 6)}, 0),
    ({"$isoWeek": at(2021, 1, 1)}, 53),
    ({"$isoWeekYear": at(2021, 1, 1)}, 2020),
    ({"$isoDayOfWeek": "$d"}, 4),
    ({"$year": "$n"}, None),
    ({"$dateToString": {"date": "$d"}}, "2024-02-29T12:30:45.678Z"),
    ({"$dateToString": {"date": "$d", "format": "%Y-%m-%d %H:%M:%S"}}, "2024-02-29 12:30:45"),
    (
        {"$dateToString": {"date": "$d", "format": "%G-W%V-%u %j %w %b %B %L"}},
        "2024-W09-4 060 5 Feb February 678",
    ),
    (
        {"$dateToString": {"date": "$d", "format": "%H:%M %z (%Z minutes)", "timezone": "+05:30"}},
        "18:00 +0530 (+330 minutes)",
    ),
    (
        {"$dateToString": {"date": at(1880, 3, 5), "format": "%z", "timezone": "America/New_York"}},
        "-0457",
    ),
    ({"$dateToString": {"date": "$n", "onNull": "none"}}, "none"),
    ({"$dateFromString": {"dateString": "2024-02-29T12:30:45.678Z"}}, NOW),
    (
        {"$dateFromString": {"dateString": "2023-08-27T13:51:53.375+00:00"}},
        at(2023, 8, 27, 13, 51, 53, 375_000),
    ),
    ({"$dateFromString": {"dateString": "2024-02-29"}}, at(2024, 2, 29)),
    (
        {"$dateFromString": {"dateString": "2024-02-29T12:00:00", "timezone": "Europe/Berlin"}},
        at(2024, 2, 29, 11),
    ),
    ({"$dateFromString": {"dateString": "15/06/2018", "format": "%d/%m/%Y"}}, at(2018, 6, 15)),
    ({"$dateFromString": {"dateString": "no date", "onError": "bad"}}, "bad"),
    ({"$dateFromString": {"dateString": "$missing", "onNull": "none"}}, "none"),
    ({"$dateFromParts": {"year": 2024, "month": 14, "day": 1}}, at(2025, 2, 1)),
    ({"$dateFromParts": {"isoWeekYear": 2020, "isoWeek": 53, "isoDayOfWeek": 5}}, at(2021, 1, 1)),
    ({"$getField": {"field": "hour", "input": {"$dateToParts": {"date": "$d"}}}}, 12),
    ({"$dateAdd": {"startDate": at(2024, 1, 31), "unit": "month", "amount": 1}}, at(2024, 2, 29)),
    (
        {"$dateAdd": {"startDate": "$d", "unit": "second", "amount": 15}},
        NOW + timedelta(seconds=15),
    ),
    ({"$dateSubtract": {"startDate": "$d", "unit": "week", "amount": 1}}, NOW - timedelta(days=7)),
    (
        {
            "$dateAdd": {
                "startDate": at(2024, 3, 30, 12),
                "unit": "day",
                "amount": 1,
                "timezone": "Europe/Berlin",
            }
        },
        at(2024, 3, 31, 11),
    ),
    (
        {
            "$dateDiff": {
                "startDate": at(2023, 12, 31, 23),
                "endDate": at(2024, 1, 1),
                "unit": "year",
            }
        },
        1,
    ),
    (
        {
            "$dateDiff": {
                "startDate": at(2024, 1, 1, 0, 59),
                "endDate": at(2024, 1, 1, 1),
                "unit": "hour",
            }
        },
        1,
    ),
    ({"$dateDiff": {"startDate": at(2024, 1, 6), "endDate": at(2024, 1, 7), "unit": "week"}}, 1),
    (
        {
            "$dateDiff": {
                "startDate": at(2024, 1, 6),
                "endDate": at(2024, 1, 7),
                "unit": "week",
                "startOfWeek": "Mon",
            }
        },
        0,
    ),
    (
        {
            "$dateDiff": {
                "startDate": "$d",
                "endDate": NOW + timedelta(seconds=90),
                "unit": "second",
            }
        },
        90,
    ),
    ({"$dateTrunc": {"date": "$d", "unit": "hour"}}, at(2024, 2, 29, 12)),
    ({"$dateTrunc": {"date": "$d", "unit": "minute", "binSize": 15}}, at(2024, 2, 29, 12, 30)),
    ({"$dateTrunc": {"date": "$d", "unit": "week"}}, at(2024, 2, 25)),
    ({"$dateTrunc": {"date": "$d", "unit": "week", "startOfWeek": "monday"}}, at(2024, 2, 26)),
    ({"$dateTrunc": {"date": "$d", "unit": "quarter"}}, at(2024, 1, 1)),
    (
        {"$dateTrunc": {"date": "$d", "unit": "day", "timezone": "America/New_York"}},
        at(2024, 2, 29, 5),
    ),
    ({"$tsSecond": Timestamp(5, 1)}, 5),
    ("$$NOW", NOW),
    ({"$currentDate": {}}, NOW),
]

CONVERSIONS = [
    ({"$toInt": "42"}, 42),
    ({"$toInt": 4.9}, 4),
    ({"$toInt": True}, 1),
    ({"$toLong": "5"}, 5),
    ({"$toDouble": "2.5"}, 2.5),
    ({"$toDouble": 3}, 3.0),
    ({"$toDecimal": "1.10"}, Decimal("1.10")),
    ({"$toString": 2.5}, "2.5"),
    ({"$toString": 3.0}, "3"),
    ({"$toString": True}, "true"),
    ({"$toString": "$d"}, "2024-02-29T12:30:45.678Z"),
    ({"$toString": ObjectId("507f1f77bcf86cd799439011")}, "507f1f77bcf86cd799439011"),
    ({"$toBool": "false"}, True),
    ({"$toBool": 0}, False),
    ({"$toDate": "2024-02-29T12:30:45.678Z"}, NOW),
    ({"$toDate": 1_709_209_845_678}, NOW),
    ({"$toDate": 120_000_000_000.5}, at(1973, 10, 20, 21, 20)),
    ({"$toDate": ObjectId("507f1f77bcf86cd799439011")}, at(2012, 10, 17, 21, 13, 27)),
    ({"$toObjectId": "507F1F77bcf86cd799439011"}, ObjectId("507f1f77bcf86cd799439011")),
    ({"$toUUID": "00000000-0000-0000-0000-000000000001"}, uuid.UUID(int=1)),
    ({"$convert": {"input": "x", "to": "int", "onError": -1}}, -1),
    ({"$convert": {"input": "$n", "to": "int", "onNull": 0}}, 0),
    ({"$convert": {"input": "1.5", "to": 1}}, 1.5),
    ({"$type": "$a"}, "int"),
    ({"$type": "$missing"}, "missing"),
    ({"$type": "$o"}, "object"),
    ({"$type": {"$toLong": 5}}, "long"),
    ({"$type": {"$add": [{"$toLong": 5}, 1]}}, "long"),
    ({"$type": {"$add": [2**31 - 1, 1]}}, "long"),
    ({"$type": "$dec"}, "decimal"),
    ({"$isNumber": "$s"}, False),
]

CASES = [*NUMBERS, *COMPARISONS, *TEXTS, *ARRAYS, *DATES, *CONVERSIONS]


@pytest.mark.parametrize(("expression", "expected"), CASES, ids=[str(e)[:60] for e, _ in CASES])
def test_value_and_type(expression: Any, expected: Any) -> None:
    value = value_of(expression)
    if isinstance(expected, float) and not math.isnan(expected):
        assert value == pytest.approx(expected, rel=1e-14)
    else:
        assert value == expected
    if expected is not MISSING and not isinstance(expected, (list, dict, int)):
        assert type_name(value) == type_name(expected)
    assert isinstance(value, bool) == isinstance(expected, bool)


FAILING = [
    ({"$add": ["$s", 1]}, "only supports numeric or date types, not string"),
    ({"$divide": ["$a", 0]}, "can't \\$divide by zero"),
    ({"$mod": ["$a", 0]}, "can't \\$mod by zero"),
    ({"$concat": ["$s", 1]}, "only supports strings, not int"),
    ({"$size": "$missing"}, "must be an array, but was of type: missing"),
    ({"$toInt": "4.5"}, "Failed to parse number"),
    ({"$toInt": 2**40}, "overflow"),
    ({"$toDecimal": "1e9999999999999999999"}, "Failed to parse number"),
    ({"$toDate": "$a"}, "Unsupported conversion from int to date"),
    ({"$dateFromString": {"dateString": "no date"}}, "Error parsing date string"),
    ({"$switch": {"branches": [{"case": False, "then": 1}]}}, "no default"),
    ({"$arrayElemAt": ["$s", 0]}, "requires an array, but found string"),
    ({"$mergeObjects": ["$s"]}, "requires an object, but found string"),
    ({"$in": [1, "$s"]}, "requires an array as a second argument, found: string"),
    ({"$year": "$s"}, "can't convert from string to Date"),
    ({"$sqrt": -1}, "not defined for -1"),
    ({"$subtract": ["$s", 1]}, "can't \\$subtract int from string"),
    ({"$strLenCP": "$n"}, "requires a string argument"),
    ({"$dateTrunc": {"date": "$d", "unit": "fortnight"}}, "unknown time unit"),
    ({"$hour": {"date": "$d", "timezone": "Mars/Base"}}, "unrecognized time zone"),
]


@pytest.mark.parametrize(("expression", "reason"), FAILING, ids=[str(e)[:60] for e, _ in FAILING])
def test_what_an_expression_cannot_take_is_an_error_of_the_document(
    expression: Any, reason: str
) -> None:
    with pytest.raises(DocumentError, match=reason):
        value_of(expression)


REFUSED = [
    (
        {"total": {"$ad": [1, 2]}},
        r"here\.total: there is no expression \$ad\. Did you mean .*\$add",
    ),
    ({"$cond": [1, 2]}, r"here\.\$cond: takes 3 argument\(s\), and here are 2"),
    ({"$filter": {"input": "$a", "con": True}}, "there is no argument con. Did you mean cond"),
    ({"$map": {"input": "$a"}}, r"here\.\$map: lacks in"),
    ("$$thi", r"there is no variable \$\$thi"),
    ({"$map": {"input": "$a", "in": "$$thiss"}}, r"here\.\$map\.in: .*\$\$thiss.*\$\$this"),
    ({"$add": [1, 2], "$subtract": [1, 2]}, "an expression has one operator"),
    ("$a..b", "is no path"),
    ({"$meta": "textScore"}, "stream.window.start"),
]


@pytest.mark.parametrize(("expression", "message"), REFUSED, ids=[str(e)[:60] for e, _ in REFUSED])
def test_what_is_no_expression_is_refused_with_its_place(expression: Any, message: str) -> None:
    with pytest.raises(IllegalArgumentError, match=message):
        value_of(expression)


@pytest.mark.parametrize("name", ["$indexOfArray", "$indexOfCP", "$indexOfBytes"])
def test_the_bounds_of_what_is_null_are_not_looked_at(name: str) -> None:
    assert value_of({name: ["$n", "x", "$missing"]}) is None


def test_names_of_months_are_english() -> None:
    class Elsewhere(datetime):
        """A date in a process whose locale is not English."""

        def strftime(self, format: str) -> str:  # noqa: A002 - Python's name
            return "März"

    date = Elsewhere(2024, 3, 1, tzinfo=UTC)
    assert value_of({"$dateToString": {"date": date, "format": "%b %B"}}) == "Mar March"


def test_the_number_of_operators() -> None:
    assert len(OPERATORS) >= 140
    assert len(ACCUMULATORS) >= 24


def test_remove_leaves_a_field_out() -> None:
    assert value_of({"a": {"$cond": ["$n", 1, "$$REMOVE"]}}) == {}


def test_long_stays_long() -> None:
    assert type(value_of({"$multiply": [Int64(2), 3]})) is Int64
