"""``docs/compatibility.md`` lists each public method of Flink, and says of each what is true."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import flinkish as fl
from flinkish.api.errors import InvalidProgramError, NotSupportedError
from tests.api.flink_reference import CLASSES, REFERENCE, FlinkMethod, flink_methods

DOCUMENT = Path(__file__).parents[2] / "docs" / "compatibility.md"

ROW = re.compile(r"\| (?P<signatures>`.*`) \| (?P<status>[a-z ]+) \| (?P<note>.*) \|")


class Entry(NamedTuple):
    status: str
    note: str


def entries_of(text: str) -> dict[tuple[str, str], Entry]:
    """Parse the tables into entries by class and signature."""
    entries: dict[tuple[str, str], Entry] = {}
    className = ""
    for line in text.partition("\n## Methods")[2].partition("\n## Partitioning")[0].splitlines():
        if line.startswith("### "):
            className = line.removeprefix("### ")
        elif match := ROW.fullmatch(line.replace(" |  |", " |   |")):
            for signature in re.findall(r"`([^`]+)`", match["signatures"]):
                assert (className, signature) not in entries, f"{signature} is listed twice"
                entries[className, signature] = Entry(match["status"], match["note"].strip())
        else:
            assert not line.startswith("| `"), f"unreadable: {line}"
    return entries


TEXT = DOCUMENT.read_text("utf-8")
ENTRIES = entries_of(TEXT)
METHODS = list(flink_methods(REFERENCE.read_text("utf-8")))


def implementation(method: FlinkMethod) -> Any:
    """flinkish's method of the same name, or of the name that the document gives."""
    if method.isConstructor:
        return CLASSES[method.className]
    renamed = re.match(r"as `(\w+)`", ENTRIES[method.className, method.signature].note)
    return getattr(CLASSES[method.className], renamed[1] if renamed else method.name, None)


def is_refused(function: Any) -> bool:
    return inspect.signature(function).return_annotation == "NoReturn"


def test_the_document_lists_just_the_methods_of_flink():
    assert set(ENTRIES) == {(method.className, method.signature) for method in METHODS}


def test_the_document_counts_right():
    counts = dict.fromkeys(("same", "differs", "not supported"), 0)
    for entry in ENTRIES.values():
        counts[entry.status] += 1
    same, differ, not_supported = counts.values()
    said = f"{same} methods are the same, {differ} differ and {not_supported} are not supported."
    assert said in TEXT


def test_what_the_document_says_of_a_method_is_so():
    wrong = {
        f"{method.className}.{method.signature}": said
        for method in METHODS
        if (said := misstated(method)) is not None
    }
    assert wrong == {}


def misstated(method: FlinkMethod) -> str | None:
    """Describe the error in the row of ``method``; None if there is none."""
    key = (method.className, method.signature)
    entry, function = ENTRIES[key], implementation(method)
    if entry.status == "not supported":
        if not entry.note:
            return "say why, and what instead"
        refuses = function is None or method.isConstructor or is_refused(function)
        if refuses or key in REFUSED_OVERLOADS or not method.fits(function):
            return None
        return "it is there"
    if function is None or is_refused(function):
        return "it is not there"
    if not method.fits(function):
        return f"{inspect.signature(function)} takes other arguments"
    if bool(entry.note) != (entry.status == "differs"):
        return "a note says how it differs, and only that"
    return None


@pytest.fixture
def env():
    return fl.StreamExecutionEnvironment()


REFUSED_OVERLOADS = {
    ("StreamExecutionEnvironment", "execute(StreamGraph)"): lambda env: env.execute(object()),
    ("StreamExecutionEnvironment", "executeAsync(StreamGraph)"): lambda env: env.executeAsync(
        object()
    ),
    (
        "WindowedStream",
        "trigger(AsyncTrigger<? super T, ? super W>)",
    ): lambda env: env.fromElements(1).keyBy(abs).countWindow(1).trigger(object()),
}
"""Calls that have as many arguments as one that is supported."""


@pytest.mark.parametrize("call", REFUSED_OVERLOADS.values(), ids=map(str, REFUSED_OVERLOADS))
def test_an_overload_that_is_not_supported_is_refused(env, call):
    with pytest.raises((NotSupportedError, InvalidProgramError), match=r"[Pp]ass|call"):
        call(env)


REFUSED = sorted(
    {
        (className, name)
        for className, kind in CLASSES.items()
        for name, function in inspect.getmembers(kind, inspect.isfunction)
        if is_refused(function)
    }
)


def test_what_is_refused_names_the_alternative(env):
    numbers = env.fromElements(1)
    keyed = numbers.keyBy(abs)
    made = {
        "DataStream": numbers,
        "SingleOutputStreamOperator": numbers,
        "KeyedStream": keyed,
        "ConnectedStreams": numbers.connect(numbers),
        "KeyedStream.IntervalJoin": keyed.intervalJoin(keyed),
        "StreamExecutionEnvironment": env,
    }
    for className, name in REFUSED:
        with pytest.raises(NotSupportedError, match=r"(Use|Write|Keep|Leave) .*\.$") as caught:
            getattr(made[className], name)()
        assert name in str(caught.value) or className.endswith("IntervalJoin"), (className, name)


def test_a_constructor_that_is_documented_makes_an_environment():
    settings = fl.Configuration({"parallelism.default": 3})
    assert fl.StreamExecutionEnvironment().getParallelism() is None
    assert fl.StreamExecutionEnvironment(settings).getParallelism() == 3
    assert fl.StreamExecutionEnvironment(None, settings).getParallelism() == 3
    assert fl.StreamExecutionEnvironment.getExecutionEnvironment(settings).getParallelism() == 3
