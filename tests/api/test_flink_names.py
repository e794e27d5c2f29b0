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
"""What every object of Java has, and Python spells in its own way."""


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


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_is_there_or_says_what_to_write(name: str) -> None:
    if name not in vars(flinkish):
        with pytest.raises(
            AbsentNameError, match=f"^(flinkish has no {name}. |{name} is in flinkish.)"
        ):
            getattr(flinkish, name)


@pytest.mark.parametrize(("owner", "name"), METHODS)
def test_a_method_is_there_or_says_what_to_write(owner: str, name: str) -> None:
    receiver = getattr(flinkish, owner)
    if name == "global":  # a word of Python
        name = "global_"
    assert hasattr(receiver, name) or absent_method(receiver, name) is not None
