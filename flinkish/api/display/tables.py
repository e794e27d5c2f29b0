"""``Elements``: elements of a stream, shown as a table of their fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from flinkish.api.type_variables import T
from flinkish.api.types.columns import ONLY_COLUMN
from flinkish.api.types.fields import field_names

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


_CELL = 80


class Elements(list[T]):
    """A list of elements that a notebook shows as a table.

    ``isComplete``: whether these are all the elements of the stream. ``waitsFor``: what event time
    waited for, if there are none.
    """

    def __init__(
        self,
        elements: Iterable[T] = (),
        names: list[str] | None = None,
        isComplete: bool = True,
        waitsFor: str | None = None,
    ) -> None:
        super().__init__(elements)
        self.isComplete = isComplete
        self.waitsFor = waitsFor
        self._names = names

    @property
    def columns(self) -> list[str]:
        """The names of the columns: those of the stream's type, else of the first element."""
        if self._names is not None:
            return self._names
        if not self:
            return [ONLY_COLUMN]
        return [ONLY_COLUMN if name == "*" else name for name in field_names(self[0])]

    def toPandas(self) -> pd.DataFrame:
        """The elements as a pandas DataFrame, a column for each field."""
        import pandas as pd

        return pd.DataFrame(self._values())

    def toArrow(self) -> pa.Table:
        """The elements as an Arrow table, a column for each field."""
        import pyarrow as pa

        return pa.table(self._values())

    def toText(self) -> str:
        """The elements as a table of text."""
        rows = [self.columns, *(list(map(_cell, row)) for row in zip(*self._values().values()))]
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([*lines, self._summary()])

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        rows = "".join(
            f"<tr>{''.join(f'<td>{escape(_cell(value))}</td>' for value in row)}</tr>"
            for row in zip(*self._values().values())
        )
        return (
            f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
            f"<p>{escape(self._summary())}</p>"
        )

    def _summary(self) -> str:
        if self.waitsFor is not None:
            return f"no elements yet: event time waits for {self.waitsFor}"
        count = "1 element" if len(self) == 1 else f"{len(self)} elements"
        return count if self.isComplete else f"the first {count}"

    def _values(self) -> dict[str, list[Any]]:
        names = self.columns
        if names == [ONLY_COLUMN]:
            return {ONLY_COLUMN: list(self)}
        return {
            name: [_field(element, position, name) for element in self]
            for position, name in enumerate(names)
        }


def _field(element: Any, position: int, name: str) -> Any:
    if isinstance(element, Mapping):
        return element.get(name)
    if isinstance(element, (tuple, list)):
        return element[position] if position < len(element) else None
    return getattr(element, name, None)


def _cell(value: object) -> str:
    shown = str(value)
    return shown if len(shown) <= _CELL else f"{shown[: _CELL - 1]}…"
