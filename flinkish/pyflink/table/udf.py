"""Scalar functions for queries: ``@udf`` and ``ScalarFunction``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from flinkish.api.absent import AbsentNameError
from flinkish.api.errors import IllegalArgumentError, NotSupportedError
from flinkish.pyflink.absent import AbsentMethods
from flinkish.pyflink.table.types import as_core
from flinkish.table.data_types import DataType
from flinkish.table.user_functions import UserFunction

__all__ = ["ScalarFunction", "udf"]


class FunctionContext(AbsentMethods):
    """The argument of ``open`` (PyFlink: ``FunctionContext``)."""

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """The default: queries have no parameters."""
        return default_value


class ScalarFunction(AbsentMethods, ABC):
    """A function of a row (PyFlink: ``ScalarFunction``)."""

    def open(self, function_context: FunctionContext) -> None:
        """Called once in each worker, before the first row."""

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """The result for the arguments of a row."""

    def is_deterministic(self) -> bool:
        """Accepted for ported jobs."""
        return True


class _Evaluated:
    """Calls ``eval``, and ``open`` before the first call."""

    def __init__(self, function: ScalarFunction) -> None:
        self._function = function
        self._opened = False

    def __getstate__(self) -> dict[str, Any]:
        return {"_function": self._function, "_opened": False}

    def openOnce(self) -> None:
        """Call ``open``, unless it has been called."""
        if not self._opened:
            self._function.open(FunctionContext())
            self._opened = True

    def __call__(self, *arguments: Any) -> Any:
        self.openOnce()
        return self._function.eval(*arguments)


def udf(
    f: Callable[..., Any] | ScalarFunction | None = None,
    input_types: Sequence[DataType | str] | DataType | str | None = None,
    result_type: DataType | str | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
    udf_type: str | None = None,
) -> Any:
    """Wrap a function for ``create_temporary_function``, so that queries can call it (PyFlink:
    ``udf``)."""
    if (udf_type or func_type) != "general":
        raise NotSupportedError(
            "udf: func_type='pandas' is not supported. Write the function for one row, and leave func_type out."
        )
    if result_type is None:
        raise IllegalArgumentError(
            "udf: pass the type of the results, as in udf(f, result_type=DataTypes.STRING())."
        )
    if input_types is not None and isinstance(input_types, (DataType, str)):
        input_types = [input_types]
    kinds = None if input_types is None else tuple(map(as_core, input_types))

    def made(function: Callable[..., Any] | ScalarFunction) -> UserFunction:
        call = _Evaluated(function) if isinstance(function, ScalarFunction) else function
        return UserFunction(call, as_core(result_type), kinds)

    return made if f is None else made(f)


def __getattr__(name: str) -> NoReturn:
    fixes = {
        "udtf": "Write flat_map(...) before the view.",
        "TableFunction": "Write flat_map(...) before the view.",
        "udaf": "Write key_by(...).window(...).aggregate(...).",
        "udtaf": "Write key_by(...).process(...).",
        "AggregateFunction": "Write key_by(...).window(...).aggregate(...).",
        "TableAggregateFunction": "Write key_by(...).process(...).",
    }
    if name in fixes:
        raise AbsentNameError(f"{__name__} has no {name}: {fixes[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
