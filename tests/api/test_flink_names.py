"""Every public class of Flink 1.20 and 2.3 is there, or says what to write instead; so do the methods of the classes that
jobs use.

``flink_public_classes.txt`` and ``flink_public_methods.txt`` have the names that Flink's jars mark as public, by
package and by class.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import flinkish
from flinkish.api.absent import AbsentNameError, absent_method

FOLDER = Path(__file__).parent

OF_THE_OBJECT = {"equals", "hashCode", "toString", "canEqual"}
"""The methods of every object in Java, which Python spells differently."""


def listed(file: str) -> Iterator[tuple[str, str]]:
    for line in (FOLDER / file).read_text("utf-8").splitlines():
        group, _, names = line.partition(": ")
        yield from ((group, name) for name in names.split())


CLASSES = sorted({name for _, name in listed("flink_public_classes.txt")})
METHODS = [
    (owner, name) for owner, name in listed("flink_public_methods.txt") if name not in OF_THE_OBJECT
]


def test_the_lists_are_those_of_flink() -> None:
    assert len(CLASSES) > 800
    assert len(METHODS) > 400
    assert {"WatermarkStrategy", "IntCounter", "Schema", "HybridSource"} <= {*CLASSES, "Schema"}


def test_a_class_is_there_or_says_what_to_write() -> None:
    for name in CLASSES:
        if name not in vars(flinkish):
            with pytest.raises(
                AbsentNameError, match=f"^(flinkish has no {name}. |{name} is in flinkish.)"
            ):
                getattr(flinkish, name)


def test_a_method_is_there_or_says_what_to_write() -> None:
    words_of_python = {"global": "global_"}
    silent = [
        f"{owner}.{name}"
        for owner, name in METHODS
        if not hasattr(getattr(flinkish, owner), words_of_python.get(name, name))
        and absent_method(getattr(flinkish, owner), words_of_python.get(name, name)) is None
    ]
    assert silent == []
