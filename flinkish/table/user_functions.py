"""Users' scalar functions, which queries call by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from flinkish.runtime.records.user_code import user_code_of
from flinkish.table.data_types import DataType
from flinkish.table.expressions import Call, Expression, Kernel, RowByRow


@dataclass(frozen=True)
class UserFunction:
    """A Python function with the type of its results, and the types of its arguments if they are
    known. With ``pandas`` it takes and returns pandas Series, one run of rows at a time."""

    call: Callable[..., Any]
    resultType: DataType
    inputTypes: tuple[DataType, ...] | None = None

    def kernel(self, name: str) -> Kernel:
        """The kernel that calls the function, row by row."""
        return RowByRow(_Called(name, self.call), nulls=True)


def user_functions(expressions: Iterable[Expression]) -> Iterator[Callable[..., Any]]:
    """The functions that expressions call."""
    for expression in expressions:
        kernel = expression.kernel if isinstance(expression, Call) else None
        if isinstance(kernel, RowByRow) and isinstance(kernel.function, _Called):
            yield kernel.function.call
        yield from user_functions(expression.parts)


@dataclass(frozen=True)
class _Called:
    name: str
    call: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        with user_code_of(self.name, lambda: arguments):
            return self.call(*arguments)
