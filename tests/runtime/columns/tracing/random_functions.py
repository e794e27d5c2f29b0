"""Random functions as source text, and random columns with extreme values to run them on.

All is drawn of a ``random.Random``, as thousands of functions are wanted in seconds.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from flinkish.api.functions.functions import AggregateFunction
from flinkish.api.output_tag import OutputTag
from flinkish.runtime.records.rows import RowColumns

WHOLE = [0, 1, -1, 2, 3, 7, -10, 1000, 2**31, 2**53, 2**53 + 1, -(2**53) - 1]
WIDEST = [2**62, 2**63 - 1, -(2**63), -(2**63) + 1, 10**18]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.1, 2.5, -3.5, 1e300, -1e300, 5e-324, math.inf, -math.inf]
TEXTS = ["", "a", "b", "A", "ab", "ß", "é", "\U0001f600", "\uffff", "zz top", " a "]


def _integer(random: Random) -> int:
    return random.choice(WHOLE) if random.random() < 0.5 else random.randint(-100, 100)


def _real(random: Random) -> float:
    return random.choice(FLOATS) if random.random() < 0.4 else random.uniform(-100, 100)


COLUMNS: dict[str, tuple[pa.DataType, Callable[[Random], Any]]] = {
    "x": (pa.int64(), lambda r: r.randint(-100, 100)),
    "w": (pa.int64(), lambda r: r.choice(WIDEST) if r.random() < 0.2 else _integer(r)),
    "i": (pa.int8(), lambda r: r.randint(-128, 127)),
    "f": (pa.float64(), lambda r: math.nan if r.random() < 0.05 else _real(r)),
    "g": (pa.float32(), lambda r: float(np.float32(r.uniform(-10, 10)))),
    "p": (pa.float64(), lambda r: r.uniform(0.5, 100)),
    "b": (pa.bool_(), lambda r: r.random() < 0.5),
    "s": (pa.string(), lambda r: r.choice(TEXTS)),
    "d": (pa.dictionary(pa.int32(), pa.string()), lambda r: r.choice(TEXTS)),
    "n": (pa.int64(), lambda r: None if r.random() < 0.2 else _integer(r)),
    "t": (pa.timestamp("us"), lambda r: datetime.datetime(2020, 1, r.randint(1, 31))),
    "m": (pa.decimal128(9, 2), lambda r: Decimal(r.randint(-999, 999)) / 100),
}


def random_rows(random: Random, most: int = 6) -> RowColumns:
    """Rows with a column of each kind."""
    count = random.randint(1, most)
    arrays = [
        pa.array([draw(random) for _ in range(count)], kind) for kind, draw in COLUMNS.values()
    ]
    return RowColumns(pa.RecordBatch.from_arrays(arrays, names=list(COLUMNS)))


class Leaves(NamedTuple):
    """The sources of values of each type."""

    numbers: Sequence[str]
    texts: Sequence[str]
    truths: Sequence[str]


ROW = Leaves(
    ["v.x", "v['w']", "v.i", "v.f", "v.g", "v[5]", "v.p", "v.b", "v.x", "v.i", "v.n", "len(v.s)"],
    ["v.s", "v.d"],
    ["v.b"],
)

_CONSTANTS = [*map(repr, WHOLE), "0.0", "-0.0", "0.5", "1e10", "LIMIT", "SCALE", "MADE", "True"]
_ARITHMETIC = ["+", "-", "*", "+", "-", "//", "%", "/", "&", "|", "^"]
_COMPARE = ["<", "<=", ">", ">=", "==", "!="]


def expression(random: Random, leaves: Leaves, depth: int) -> tuple[str, str]:
    """The kind and the source of an expression, of numbers mostly."""
    if depth == 0 or random.random() < 0.15:
        drawn = random.random()
        if drawn < 0.5:
            return "n", random.choice(leaves.numbers)
        if drawn < 0.7:
            return "n", random.choice(_CONSTANTS)
        if drawn < 0.85:
            return "s", random.choice([*leaves.texts, *map(repr, TEXTS[:5])])
        return "b", random.choice([*leaves.truths, "True", "False"])
    return _combined(random, *(expression(random, leaves, depth - 1) for _ in range(3)))


def _combined(
    random: Random, first: tuple[str, str], second: tuple[str, str], third: tuple[str, str]
) -> tuple[str, str]:
    (k1, a), (k2, b), (_, c) = first, second, third
    way = random.randrange(30)
    if way < 7:
        if "s" in (k1, k2):  # never a text times 2**31
            return k1, random.choice([f"({a} + {b})", f"({a} + {b})", f"({a} % {b})"])
        return "n", f"({a} {random.choice(_ARITHMETIC)} {b})"
    if way < 11:
        return "b", f"({a} {random.choice(_COMPARE)} {b})"
    if way < 14:
        return k2, f"({b} if {a} else {c})"
    if way == 14:
        return k1, f"min({a}, {b})"
    if way == 15:
        return k1, f"max({a}, {b}, {c})"
    if way == 16:
        return k1, random.choice([f"({a} and {b})", f"({a} or {b})"])
    if way == 17:
        return "b", f"(not {a})"
    if way == 18:
        return "n", random.choice([f"abs({a})", f"(-{a})", f"(+{a})", f"(~{a})", f"round({a})"])
    if way == 19:
        calls = [f"int({a})", f"float({a})", f"helped({a})", f"round({a}, 1)", f"math.floor({a})"]
        return "n", random.choice(calls)
    if way == 20 and k1 == "s":
        sources = [f"{a}.upper()", f"{a}.strip()", f"{a}[:1]", f"{a}.replace('a', 'bb')"]
        return "s", random.choice(sources)
    if way == 20:
        return "n", f"({a} ** {random.randrange(4)})"
    if way == 21:
        sources = [f"({a} in (1, 2.5, {b}))", f"(({a}, {b}) < ({c}, 1))"]
        return "b", random.choice([*sources, f"({a} in {{1, 2.5, 'a', -7}})"])
    if way == 23:
        sources = [
            f"sum([{a}, {b}, 1])",
            f"sum(y * 2 for y in ({a}, {b}))",
            f"len([y for y in ({a}, {b}, 3) if y])",
            f"list(map(abs, [{a}]))[0]",
            f"sum(y - {b} for y in range({a} & 7))",
            f"len([y for y in range(-2, {a} & 7, 2) if y < {b}])",
        ]
        return "n", random.choice(sources)
    if way == 24:
        return "b", random.choice([f"any(y for y in [{a}, {b}])", f"all(({a}, {b}))"])
    if way == 25:
        key = random.choice(["lambda y: -y", "lambda y: (y % 3, y)", "lambda y: y"])
        return "n", f"{random.choice(['min', 'max'])}({a}, {b}, key={key})"
    if way == 26:
        return k1, random.choice([f"[y for y in ({a}, {b})][0]", f"next(iter([{a}]))"])
    if way == 27:
        sources = [
            f"('%s|%r' % ({a}, {b}))",
            f"('%.2f' % {a})",
            f"('%d, %s' % ({a}, 'x'))",
            f"','.join([str({a}), 'x'])",
            f"'-'.join(({a}, {b}))",
            f"'{{}}:{{:>3}}'.format({a}, {b})",
        ]
        return "s", random.choice(sources)
    if way == 28:
        return _of_a_time(random, a, b)
    if way == 22:
        return k1, f"(v.n if v.n is not None else {b})"
    return "b", f"({a} < {b} <= {c})"


def _of_a_time(random: Random, a: str, b: str) -> tuple[str, str]:
    """The kind and the source of an expression in which times or decimals are made."""
    moment = random.choice(
        [f"DateTime.fromtimestamp({a} * 10_000.5, UTC)", "v.t", "EPOCH", f"DateTime({a}, 1, 2)"]
    )
    span = random.choice([f"timedelta(hours={a})", "timedelta(1)", f"timedelta({b}, {a})"])
    money = random.choice([f"Decimal({a})", f"Decimal(str({a}))", "v.m", "v.m"])
    numbers = [
        f"{moment}.hour",
        f"{moment}.date().toordinal()",
        f"({moment} - {moment}).total_seconds()",
        f"({moment} + {span}).weekday()",
        f"{span} // timedelta(minutes=1)",
        f"int({money} * {b})",
        f"float({money} + {money})",
        f"round({money} / 7)",
    ]
    texts = [
        f"{moment}.isoformat()",
        f"{moment}.strftime('%Y-%m')",
        f"str({money} * 2)",
        f"str(abs({span}))",
        f"str(max({money}, {money}))",
    ]
    truths = [
        f"({moment} < {moment})",
        f"({money} >= {b})",
        f"bool({money})",
        f"({span} == {span})",
    ]
    kind = random.choice("nsb")
    return kind, random.choice({"n": numbers, "s": texts, "b": truths}[kind])


class Pair(NamedTuple):
    """A result with names."""

    first: Any
    second: Any


def helped(value: Any) -> Any:
    """A function that others call."""
    return value if value > 3 else -value


SIDE = OutputTag[Any]("side")


class Totals(NamedTuple):
    """An accumulator with names."""

    a0: Any
    a1: Any
    a2: Any


NAMES: dict[str, Any] = {
    "AggregateFunction": AggregateFunction,
    "Totals": Totals,
    "Pair": Pair,
    "helped": helped,
    "LIMIT": 5,
    "SIDE": SIDE,
    "SCALE": 0.25,
    "MADE": -2,
    "math": math,
    "UTC": datetime.UTC,
    "EPOCH": datetime.datetime(1970, 1, 1),
    "DateTime": datetime.datetime,
    "timedelta": datetime.timedelta,
    "Decimal": Decimal,
}


DICTS = Leaves(
    [f"v['{name}']" for name in "xwifgpb"] + ["v.get('x')", "v.get('y', 3)", "len(v)"],
    ["v['s']", "v['d']"],
    ["v['b']", "('b' in v)", "isinstance(v, dict)"],
)
"""Expressions of rows that are dicts."""


def random_function(random: Random, leaves: Leaves = ROW) -> str:
    """The source of a function of a row."""
    p, q, r = (expression(random, leaves, random.choice([0, 1, 1, 2, 2, 3]))[1] for _ in range(3))
    made = random.choice(
        [
            *("{0}", "{0}", "{0}", "({0}, {1})", "Pair({0}, second={1})"),
            "({0}, ({1}, v.t))" if leaves is ROW else "{{**v, 'x': {0}, 'y': {1}}}",
            "{{'k': {0}, 'in': {{'v': {1}}}}}",
            "dict(k={0}, v={1})",
        ]
    )
    if random.random() < 0.6:
        return f"def function(v):\n    return {made.format(p, q)}\n"
    lines = random.choice(
        [
            f"unused = {q}\n    return {made.format(p, r)}",
            f"q = {q}\n    if {r}:\n        return {made.format('q', p)}\n"
            f"    return {made.format(p, 'q')}",
            f"q, r = {q}, {r}\n    return {made.format('q', 'r')}",
            f"made = {{'q': {q}}}\n    made['p'] = {p}\n    if {r}: made['q'] = made['p']\n"
            "    return made",
            f"if {q}: raise ValueError(f'{{v!r}}', {p})\n    return {made.format(p, r)}",
            f"a, b = {p}, {q}\n    text = f'{{a}}-{{b:>4}}'\n    return (text + '!', {r})",
            f"a = {p}\n    return {{'k': f'{{a}}', 'v': '{{}}+{{}}'.format(a, {r})}}",
            f"a = f'{{{p.replace(chr(39), chr(34))}}}'\n    return len(a) + len('{{}}'.format({r}))",
            f"assert not {q}, {p}\n    return {made.format(p, r)}",
            f"try:\n        q = {q}\n    except (ValueError, TypeError, ZeroDivisionError):\n"
            f"        return {made.format(p, r)}\n    return {made.format('q', r)}",
            f"try:\n        q = {q}\n        if {r}: raise KeyError(q)\n    except KeyError as e:\n"
            f"        q = str(e)\n    finally:\n        p = {p}\n    return {made.format('p', 'q')}",
        ]
    )
    return f"def function(v):\n    {lines}\n"


def random_emitter(random: Random, arguments: str) -> str:
    """The source of a function of ``arguments``, the row among them, that emits any number of results of one shape
    where it can; with an ``out`` among them it may write to it."""
    kind, value = expression(random, ROW, random.choice([0, 1, 2]))
    results = [f"(v.s, {value})"]
    for _ in range(random.randint(0, 2)):
        other = expression(random, ROW, 1)
        results.append(f"({random.choice(ROW.texts)}, {other[1] if other[0] == kind else value})")
    condition = expression(random, ROW, 1)[1]
    lines = []
    way = random.choice(["yield", "return", "write"] if "out" in arguments else ["yield", "return"])
    emits = {"yield": "yield {}", "write": "out.collect({})", "return": "results.append({})"}[way]
    for number, result in enumerate(results):
        aside = "ctx" in arguments and random.random() < 0.3
        line = ("ctx.output(SIDE, {})" if aside else emits).format(result)
        lines.append(f"if {condition}: {line}" if number % 2 or random.random() < 0.4 else line)
    if random.random() < 0.2:
        lines[0] = f"try:\n        {lines[0]}\n    except Exception:\n        pass"
    if random.random() < 0.3:
        lines.append(f"for y in (v.x, {value}):\n        " + emits.format("(v.s, y)"))
    if random.random() < 0.2:
        lines.append("for y in range(v.i & 3):\n        " + emits.format("(v.s, y)"))
    if way == "return":
        lines = ["results = []", *lines, "return results"]
    body = "\n    ".join(lines)
    return f"def function({arguments}):\n    {body}\n"


def compiled(source: str) -> Any:
    """The function of a source."""
    # Of a function without a module cloudpickle asks all modules, which takes longer than the rest
    names: dict[str, Any] = {**NAMES, "__name__": "drawn"}
    exec(source, names)
    return names["function"]


def exactly(value: Any) -> Any:
    """A value with the types of all of its parts, in which NaN equals NaN and 0.0 is not -0.0."""
    if isinstance(value, tuple):
        return type(value).__name__, [exactly(part) for part in tuple.__iter__(value)]
    return type(value), repr(value)


def _field(random: Random, a: str) -> tuple[str, str]:
    """A start and the source of the next value of the field ``a`` of an accumulator."""
    depth = random.choice([0, 0, 1, 1, 2])
    x = expression(random, ROW, depth)[1]
    number = random.choice(["v.x", "v.w", "v.i", "v.f", "v.p", "v.g", f"({x})"])
    condition = random.choice(["v.b", "v.x > 0", "v.f < 1.5", f"({expression(random, ROW, 1)[1]})"])
    start = random.choice(["0", "0", "0.0", "0.0", "5", "-0.0", "100", "2.5", "-1"])
    value = random.choice([number, "v.x", "v.p"])
    return random.choice(
        [
            (start, f"{a} + {value}"),
            (start, f"{value} + {a}"),
            (start, f"{a} - {value}"),
            (start, f"{a} + {value} + 1"),
            ("0", f"{a} + 1"),
            ("0", f"{a} + (1 if {condition} else 0)"),
            (start, f"{a} + ({value} if {condition} else 0)"),
            (start, f"({a} + {value} if {condition} else {a})"),
            (start, f"min({a}, {value})"),
            (start, f"max({value}, {a})"),
            (start, f"({value} if {value} < {a} else {a})"),
            (start, f"(max({a}, {value}) if {condition} else {a})"),
            ("''", f"max({a}, {random.choice(ROW.texts)})"),
            ("'m'", f"min({random.choice(ROW.texts)}, {a})"),
            ("''", "v.s"),
            (start, f"{value}"),
            (start, f"({value} if {condition} else {a})"),
            (start, a),
            ("False", f"({a} or {condition})"),
            ("True", f"({a} and v.x > 0)"),
        ]
    )


def _better(random: Random, ones: list[str], others: list[str]) -> str:
    """The source of a condition for elements with the parts ``ones`` to be better than others."""
    signs = [random.choice(["", "", "-"]) for _ in ones]
    first = [sign + part for sign, part in zip(signs, ones)]
    second = [sign + part for sign, part in zip(signs, others)]
    (a, *_), (b, *_), (c, d) = first, second, (first[-1], second[-1])
    sign = random.choice(["<", "<=", ">", ">="])
    return random.choice(
        [
            f"({', '.join(first)}) {sign} ({', '.join(second)})",
            f"{a} > {b} or ({a} == {b} and {c} {sign} {d})",
            f"{b} < {a} or not ({a} < {b}) and {d} {sign} {c}",
            f"({c} {sign} {d} if {a} == {b} else {a} < {b})",
            f"({a} > {b} if {b} != {a} else {c} {sign} {d})",
        ]
    )


def _fields_of_the_better(random: Random, names: list[str]) -> list[tuple[str, str]]:
    """A start and the next value of each field, where an accumulator is that of the best element."""
    sources = random.choice(
        [["v.x", "v.p", "v.d"], ["v.x % 3", "v.i", "v.x"], ["v.b", "v.s", "v.x"], ["v.p"] * 3]
    )
    starts = {"v.x": "0", "v.p": "50.0", "v.d": "''", "v.i": "1", "v.b": "False", "v.s": "'b'"}
    parts = random.choice([2, 2, 3])
    better = _better(random, sources[:parts], names[:parts])
    return [
        (starts.get(source, "0"), f"({source} if {better} else {name})")
        for source, name in zip(sources, names)
    ]


_DICT = "{{'a0': {}, 'a1': {}, 'a2': {}}}"
_LIST = "[{}, {}, {}]"


def random_aggregate(random: Random) -> str:
    """The source of an AggregateFunction of rows."""
    form, kind = random.choice(
        [
            ("a.a{}", "Totals({}, {}, {})"),
            ("a[{}]", "({}, {}, {})"),
            ("a['a{}']", _DICT),
            ("a[{}]", _LIST),
        ]
    )
    names = [form.format(number) for number in range(3)]
    fields = [_field(random, name) for name in names]
    if random.random() < 0.2:
        key = random.choice(["v.x", "v.p", "v.s", "v.f"])
        sign = random.choice(["<", "<=", ">", ">="])
        start = {"v.x": "0", "v.p": "50.0", "v.f": "0.0", "v.s": "'b'"}[key]
        better = random.choice([f"{key} {sign} {names[0]}", f"{names[0]} {sign} {key}"])
        fields[0] = (start, f"({key} if {better} else {names[0]})")
        fields[1] = ("''", f"(v.d if {better} else {names[1]})")
    if random.random() < 0.15:
        fields = _fields_of_the_better(random, names)
    starts, nexts = (kind.format(*parts) for parts in zip(*fields))
    if kind in (_DICT, _LIST) and random.random() < 0.5:
        writes = "".join(f"        {name} = {f[1]}\n" for name, f in zip(names, fields))
        added = f"{writes}        return a\n"
    else:
        added = f"        return {nexts}\n"
    return (
        "class Random(AggregateFunction):\n"
        f"    def createAccumulator(self):\n        return {starts}\n"
        f"    def add(self, v, a):\n{added}"
        f"    def getResult(self, a):\n        return ({names[0]}, {names[1]})\n"
        "function = Random()\n"
    )


def random_reduce(random: Random) -> str:
    """The source of a reduce function of Pairs whose second part is of one type."""
    x = "b.second"
    nexts = [
        "a.second + b.second",
        "b.second + a.second",
        "min(a.second, b.second)",
        "max(a.second, b.second)",
        "b.second",
        "a.second",
        f"a.second + ({x} if b.first > 0 else 0)",
        f"a.second + 2 * {x}",
        f"(a.second if a.second > {x} else {x})",
    ]
    if random.random() < 0.3:
        better = _better(random, ["b.first", "b.second"], ["a.first", "a.second"])
        keys = ["(e.first, e.second)", "(e.first, -e.second)", "-e.first", "(-e.second, e.first)"]
        return random.choice(
            [
                f"function = lambda a, b: b if {better} else a\n",
                f"function = lambda a, b: a if {better} else b\n",
                f"function = lambda a, b: max(a, b, key=lambda e: {random.choice(keys)})\n",
                f"function = lambda a, b: min((b, a), key=lambda e: {random.choice(keys)})\n",
            ]
        )
    if random.random() < 0.3:
        sign = random.choice(["<", "<=", ">", ">="])
        by = random.choice(["first", "second"])
        return f"function = lambda a, b: a if a.{by} {sign} b.{by} else b\n"
    firsts = ["a.first", "b.first", "a.first + b.first", "max(a.first, b.first)"]
    return f"function = lambda a, b: Pair({random.choice(firsts)}, {random.choice(nexts)})\n"
