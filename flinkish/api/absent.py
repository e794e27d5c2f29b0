"""The errors for names that flinkish lacks, which say what to write instead.

``from flinkish import Schema`` and ``stream.timeWindow`` look their name up in ``absent_names.toml``, so that
a ported line fails with its fix and not with a bare ImportError or AttributeError. PyFlink's names are in the
same file, for ``flinkish.pyflink``. A name that is like one of flinkish's is probably misspelt, and the error
suggests that one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, ClassVar, NoReturn

from flinkish.api.errors import NotSupportedError
from flinkish.api.suggestions import suggestion

ANY_RECEIVER = "*"


class AbsentNameError(NotSupportedError, ImportError):
    """A name that ``flinkish`` does not have; says what to write instead."""


class AbsentMethodError(NotSupportedError, AttributeError):
    """A method that a class of flinkish does not have; says what to write instead."""


@dataclass(frozen=True)
class Dialect:
    """A table of ``absent_names.toml``, and how its names are spelled."""

    table: str
    spelling: str
    spelled: Callable[[str], str]


FLINK = Dialect(
    "flink",
    "flinkish has the names of Flink's Java API",
    lambda name: re.sub(r"(?<=[a-z0-9])_([a-z])", lambda match: match[1].upper(), name),
)


@cache
def absent_tables() -> dict[str, dict[str, dict[str, str]]]:
    """Return the advice for each missing name, by dialect, module or receiver, and name."""
    import tomllib  # these take a tenth of the time of importing flinkish
    from importlib.resources import files

    tables = tomllib.loads((files("flinkish.api") / "absent_names.toml").read_text("utf-8"))
    return {
        dialect: {
            owner: {
                name: sentence.replace("{name}", name)
                for names, sentence in rows
                for name in names.split()
            }
            for owner, rows in owners.items()
        }
        for dialect, owners in tables.items()
    }


def what_to_write(dialect: Dialect, owners: Iterable[str], name: str) -> str | None:
    """Return the advice of the first of ``owners`` that lacks ``name``; None if the table has the name for none of
    them."""
    if (
        name.startswith("__") and name != "__all__"
    ):  # without which import * would import nothing silently
        return None
    table = absent_tables()[dialect.table]
    for owner in owners:
        for absent, sentence in table.get(owner, {}).items():
            if absent == name or ("*" in absent and fnmatchcase(name, absent)):
                return sentence
    return None


def absent_name(name: str) -> Exception:
    """The error that an import of ``name`` from ``flinkish`` raises."""
    instead = what_to_write(FLINK, ("flinkish",), name)
    if instead is not None:
        return AbsentNameError(f"flinkish has no {name}. {instead}")
    return unknown_name("flinkish", name)


def unknown_name(module: str, name: str) -> Exception:
    """The error that an import of ``name`` from ``module``, which lacks it, raises."""
    near = "" if name.startswith("_") else suggestion(name, vars(sys.modules[module]))
    if near:
        # An import replaces an AttributeError by its own error
        return AbsentNameError(f"{module} has no {name}.{near}")
    return AttributeError(f"module {module!r} has no attribute {name!r}")


def unknown_names(module: str) -> Callable[[str], NoReturn]:
    """The ``__getattr__`` of ``module``."""

    def look_up(name: str) -> NoReturn:
        raise unknown_name(module, name)

    return look_up


def unknown_method(receiver: object, name: str) -> AttributeError:
    """The error of a look-up of ``name`` on ``receiver``, which lacks it."""
    message = f"{type(receiver).__name__!r} object has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(message)
    # Python adds its own suggestion, unless it knows the object and not the name
    near = suggestion(name, dir(type(receiver)))
    return AttributeError(f"{message}.{near}", obj=receiver) if near else AttributeError(message)


def absent_method(receiver: type, name: str, dialect: Dialect = FLINK) -> AbsentMethodError | None:
    """The error that a look-up of ``name`` on an object of ``receiver`` raises; None if the table
    does not have the name."""
    for base in receiver.__mro__:
        instead = what_to_write(dialect, (base.__name__,), name)
        if instead is not None or name in vars(base):
            break
    else:
        instead = what_to_write(dialect, (ANY_RECEIVER,), name)
    if instead is not None:
        return AbsentMethodError(f"{receiver.__name__}.{name} is not supported. {instead}")
    spelled = dialect.spelled(name)
    if spelled != name and not name.startswith("_") and hasattr(receiver, spelled):
        return AbsentMethodError(
            f"{receiver.__name__} has no {name}: {dialect.spelling}. Write {spelled}."
        )
    return None


class AbsentMethods:
    """Lets a class say what to write instead of a method that it lacks."""

    _dialect: ClassVar = FLINK

    if not TYPE_CHECKING:  # type checkers must see that the method is absent

        def __getattr__(self, name: str) -> object:
            raise absent_method(type(self), name, self._dialect) or unknown_method(self, name)
