"""The errors for names of Flink that flinkish lacks, which say what to write instead.

``from flinkish import Schema`` and ``stream.timeWindow`` look their name up in two tables, so that a
ported line fails with its fix and not with a bare ImportError or AttributeError.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flinkish.api.absent_methods import ABSENT_METHODS
from flinkish.api.absent_names import ABSENT_NAMES, MOVED_NAMES
from flinkish.api.errors import NotSupportedError


class AbsentNameError(NotSupportedError, ImportError):
    """A name that ``flinkish`` does not have; says what to write instead."""


class AbsentMethodError(NotSupportedError, AttributeError):
    """A method that a class of flinkish does not have; says what to write instead."""


def absent_name(name: str) -> Exception:
    """The error that an import of ``name`` from ``flinkish`` raises."""
    if name in MOVED_NAMES:
        package = MOVED_NAMES[name]
        return AbsentNameError(f"{name} is in {package}: write from {package} import {name}.")
    if name in ABSENT_NAMES:
        return AbsentNameError(f"flinkish has no {name}. {ABSENT_NAMES[name]}")
    return AttributeError(f"module 'flinkish' has no attribute {name!r}")


def absent_method(receiver: type, name: str) -> AbsentMethodError | None:
    """The error that a look-up of ``name`` on an object of ``receiver`` raises; None if no table
    has the name."""
    for owner in (*(base.__name__ for base in receiver.__mro__), ""):
        if name in ABSENT_METHODS.get(owner, ()):
            instead = ABSENT_METHODS[owner][name]
            return AbsentMethodError(f"{receiver.__name__}.{name} is not supported: {instead}.")
    camel_case = re.sub(r"(?<=[a-z0-9])_([a-z])", lambda m: m.group(1).upper(), name)
    if camel_case != name and not name.startswith("_") and hasattr(receiver, camel_case):
        return AbsentMethodError(
            f"{receiver.__name__} has no {name}: flinkish has the names of Flink's Java API. Write"
            f" {camel_case}."
        )
    return None


class AbsentMethods:
    """Lets a class say what to write instead of a method that it lacks."""

    if not TYPE_CHECKING:  # type checkers must see that the method is absent

        def __getattr__(self, name: str) -> object:
            raise absent_method(type(self), name) or AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}"
            )
