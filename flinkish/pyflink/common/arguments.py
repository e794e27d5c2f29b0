"""Checks the arguments of PyFlink's methods: each error names the method, the wrong value and the
fix."""

from __future__ import annotations

from typing import Any

from flinkish.api.arguments import instance, whole_number
from flinkish.api.errors import InvalidProgramError, shown
from flinkish.api.type_variables import T
from flinkish.pyflink.common.time import Duration, Time
from flinkish.pyflink.common.typeinfo import TypeInformation


def declared_type(subject: str, given: TypeInformation) -> TypeInformation:
    """``given``; raises InvalidProgramError unless it is a type of PyFlink's."""
    if isinstance(given, TypeInformation):
        return given
    name = getattr(given, "__name__", "")
    if name.isupper() and callable(given):
        fix = f"Call it: Types.{name}()."
    else:
        fix = "Pass one that Types makes, such as Types.INT() or Types.ROW([Types.INT()])."
    raise InvalidProgramError(
        f"{subject}: {shown(given)} of type {type(given).__name__} is no TypeInformation. {fix}"
    )


def declared_type_or_none(subject: str, given: TypeInformation | None) -> TypeInformation | None:
    """``declared_type`` for a type that may be omitted."""
    return None if given is None else declared_type(subject, given)


def user_function(method: str, given: T, *kinds: type[Any], function: str | None = None) -> T:
    """``given``; raises InvalidProgramError unless it is an object of one of ``kinds``.

    ``function``: an example of a plain function, if those are allowed too.
    """
    if isinstance(given, kinds):
        return given
    names = " or ".join(kind.__name__ for kind in kinds)
    if isinstance(given, type) and issubclass(given, kinds):
        raise InvalidProgramError(
            f"{method}: {given.__name__} is a class. Pass an object of it: {given.__name__}()."
        )
    if function is not None and callable(given):
        return given
    fix = f"an object of a class derived from {names}"
    raise InvalidProgramError(
        f"{method}: {shown(given)} of type {type(given).__name__} is no {names}. Pass"
        f" {fix}{'' if function is None else f', or a function such as {function}'}."
    )


def millis_of_time(subject: str, given: Time) -> int:
    """``given`` in ms; raises InvalidProgramError unless it is a Time."""
    return instance(subject, given, Time, "Pass one such as Time.seconds(5).").to_milliseconds()


def millis_of_duration(subject: str, given: Duration) -> int:
    """``given`` in ms; raises InvalidProgramError unless it is a Duration."""
    fix = "Pass one such as Duration.of_seconds(5)."
    return int(instance(subject, given, Duration, fix).milliseconds)


def milliseconds(subject: str, given: int) -> int:
    """``given``; raises IllegalArgumentError unless it is a number of milliseconds."""
    if isinstance(given, (Time, Duration)):
        raise InvalidProgramError(
            f"{subject}: {shown(given)} is a {type(given).__name__}. Pass milliseconds as an int"
            f"{', such as time.to_milliseconds()' if isinstance(given, Time) else ''}."
        )
    return whole_number(subject, given)
