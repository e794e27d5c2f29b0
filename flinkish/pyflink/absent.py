"""The errors for names of PyFlink that flinkish lacks, as most of them belong to Java or to PyFlink's own
workers: each says what to write instead.

A module of PyFlink that has only such names can be imported too, so that a ported import fails with
its fix.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from itertools import accumulate
from types import ModuleType
from typing import ClassVar, NoReturn

from flinkish.api.absent import AbsentMethods as CoreAbsentMethods
from flinkish.api.absent import (
    AbsentNameError,
    Dialect,
    absent_method,
    absent_tables,
    unknown_name,
    what_to_write,
)

PYFLINK = Dialect(
    "pyflink",
    "flinkish.pyflink has the names of PyFlink",
    lambda name: re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower(),
)
_PACKAGE = "flinkish.pyflink."


class AbsentMethods(CoreAbsentMethods):
    """Lets a class say what to write instead of a method that it lacks, or whose name it has in
    snake_case."""

    _dialect: ClassVar = PYFLINK


def refuse(receiver: type, name: str) -> NoReturn:
    """Raise the error of a method that a class must have, and that is not supported."""
    error = absent_method(receiver, name, PYFLINK)
    assert error is not None, name
    raise error


def packages(module: str) -> list[str]:
    """``module``, below ``flinkish.pyflink``, and the packages around it, the innermost first."""
    around = accumulate(module.split("."), lambda package, name: f"{package}.{name}")
    return list(around)[::-1]


def absent_names(module: str) -> Callable[[str], NoReturn]:
    """The ``__getattr__`` of a module that lacks some names of PyFlink's."""
    owners = packages(module.removeprefix(_PACKAGE))

    def look_up(name: str) -> NoReturn:
        instead = what_to_write(PYFLINK, owners, name)
        if instead is not None:
            raise AbsentNameError(f"{module} has no {name}. {instead}")
        raise unknown_name(module, name)

    return look_up


def is_absent(module: str) -> bool:
    """Whether ``module``, below ``flinkish.pyflink``, is one that has absent names only."""
    table = absent_tables()[PYFLINK.table]
    return any("*" in table.get(owner, ()) for owner in packages(module))


class AbsentModules(MetaPathFinder, Loader):
    """Imports a module of PyFlink that is absent, with an error for each of its names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.startswith(_PACKAGE) and is_absent(fullname.removeprefix(_PACKAGE)):
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__getattr__"] = absent_names(module.__name__)
