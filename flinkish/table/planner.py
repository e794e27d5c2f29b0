"""Plans queries: the streams that they read, and their steps. Queries that need state are refused
by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from sqlglot import exp

from flinkish.api.errors import InvalidProgramError
from flinkish.table import refusals
from flinkish.table.analysis import Analyser, Column, Scope, common_type, comparable
from flinkish.table.casts import cast_kernel
from flinkish.table.data_types import BOOLEAN, DataType
from flinkish.table.expressions import (
    Call,
    ColumnRead,
    Connection,
    EvaluationError,
    Expression,
    Literal,
    Rows,
)
from flinkish.table.relations import Relation
from flinkish.table.steps import Projection, Selection, StaticJoin, StaticRows, Unnesting
from flinkish.table.text import Text
from flinkish.table.user_functions import UserFunction

Lookup = Callable[[str], "Relation | None"]

_NOT_ON_STREAMS = {
    "group": ("GROUP BY", refusals.GROUP),
    "having": ("HAVING", refusals.GROUP),
    "distinct": ("DISTINCT", refusals.DISTINCT),
    "order": ("ORDER BY", refusals.ORDER),
    "limit": ("LIMIT", refusals.LIMIT),
    "offset": ("OFFSET", refusals.LIMIT),
    "windows": ("WINDOW", refusals.OVER),
    "qualify": ("QUALIFY", refusals.OVER),
}
_IGNORED = {
    "expressions",
    "from_",
    "joins",
    "where",
    "with_",
    "kind",
    "operation_modifiers",
    "hint",
}


@dataclass(frozen=True)
class Catalogue:
    """Resolves the names of tables and functions in a query."""

    table: Lookup
    functions: Mapping[str, UserFunction]


class Planner:
    """Plans the table of a query."""

    def __init__(self, text: Text, catalogue: Catalogue) -> None:
        self._text, self._catalogue = text, catalogue

    def plan(self) -> Relation:
        """The table of the query."""
        try:
            return self._query(self._text.query, {})
        except EvaluationError as error:
            where = "" if error.place is None else f", {error.place}, at {error.place.text!r}"
            raise InvalidProgramError(f"{self._text.method}{where}: {error.message}.") from None

    def _query(self, node: exp.Expr, steps: Mapping[str, Relation]) -> Relation:
        with_ = node.args.get("with_")
        if with_ is not None:
            known = dict(steps)
            for part in with_.expressions:
                known[part.alias] = _renamed(
                    self._query(part.this, known), part.args["alias"], self._text
                )
            steps = known
        if isinstance(node, exp.Union):
            return self._union(node, steps)
        if isinstance(node, exp.Select):
            return self._select(node, steps)
        if isinstance(node, exp.Values):
            return self._values(node)
        if isinstance(node, (exp.Subquery, exp.Paren)):
            return self._query(node.this, steps)
        if isinstance(node, (exp.Intersect, exp.Except)):
            self._text.refuse(node, type(node).__name__.upper(), refusals.DISTINCT)
        return self._text.refuse(node, "a statement that is no query", refusals.STATEMENT)

    # ------------------------------------------------------------------ UNION ALL

    def _union(self, node: exp.Union, steps: Mapping[str, Relation]) -> Relation:
        if node.args.get("distinct"):
            self._text.refuse(node, "UNION", f"Write UNION ALL. {refusals.DISTINCT}")
        self._check_clauses(node, {"this", "expression", "with_", "distinct"})
        one, other = self._query(node.this, steps), self._query(node.expression, steps)
        if len(one.columns) != len(other.columns):
            self._text.fail(
                node,
                f"UNION ALL takes tables of as many columns; these have {len(one.columns)} and {len(other.columns)}.",
            )
        columns = []
        for first, second in zip(one.columns, other.columns):
            kind = common_type([first.type, second.type])
            if kind is None:
                self._text.fail(
                    node,
                    f"the column {first.name!r} is {first.type} in one table and {second.type} in the other. Write a CAST.",
                )
            columns.append(Column(first.name, kind, None, first.rowtime and second.rowtime))
        one, other = (_cast_columns(part, columns) for part in (one, other))
        if one.rows is not None and other.rows is not None:
            both = [
                pa.concat_arrays([a, b.cast(a.type)])
                for a, b in zip(one.rows.columns, other.rows.columns)
            ]
            return Relation(
                tuple(columns), rows=StaticRows(tuple(both), one.rows.count + other.rows.count)
            )
        if one.isStatic or other.isStatic:
            self._text.refuse(
                node,
                "UNION ALL of a stream and a static table",
                "Write fromDataStream(env.fromCollection(rows)) for the static one.",
            )
        return Relation(tuple(columns), one.branches + other.branches)

    # ------------------------------------------------------------------ SELECT

    def _select(self, node: exp.Select, steps: Mapping[str, Relation]) -> Relation:
        self._check_clauses(node, _IGNORED)
        source = node.args.get("from_")
        relation = _NOTHING if source is None else self._from(source.this, steps)
        for join in node.args.get("joins") or ():
            relation = self._join(join, relation, steps)
        where = node.args.get("where")
        if where is not None:
            condition = self._analyser(relation.columns).condition(where.this)
            relation = relation.then(Selection(condition), relation.columns)
        expressions, columns = self._select_list(node, relation)
        same = [part.index if isinstance(part, ColumnRead) else -1 for part in expressions]
        if same == list(range(len(relation.columns))):
            return replace(relation, columns=tuple(columns))
        return relation.then(Projection(tuple(expressions)), columns)

    def _check_clauses(self, node: exp.Expr, known: set[str]) -> None:
        for name, (what, fix) in _NOT_ON_STREAMS.items():
            found = node.args.get(name)
            if found:
                self._text.refuse(found if isinstance(found, exp.Expr) else node, what, fix)
        for name, found in node.args.items():
            if found and name not in known and name not in _NOT_ON_STREAMS:
                self._text.refuse(node, name.strip("_").upper(), refusals.STATEMENT)

    def _select_list(
        self, node: exp.Select, relation: Relation
    ) -> tuple[list[Expression], list[Column]]:
        analyser = self._analyser(relation.columns)
        expressions: list[Expression] = []
        columns: list[Column] = []
        names: set[str] = set()

        def add(expression: Expression, name: str, rowtime: bool) -> None:
            plain, number = name, 0
            while name in names:
                name, number = f"{plain}{number}", number + 1
            names.add(name)
            expressions.append(expression)
            columns.append(Column(name, expression.type, None, rowtime))

        for number, part in enumerate(node.expressions):
            table = _star(part)
            if table is not None:
                found = [(k, c) for k, c in enumerate(relation.columns) if table in ("", c.table)]
                if not found:
                    self._text.fail(part, f"there is no table {table!r}.")
                for index, column in found:
                    add(ColumnRead(column.type, index), column.name, column.rowtime)
                continue
            inner = part.this if isinstance(part, exp.Alias) else part
            expression = analyser.expression(inner)
            if expression.type.isInterval:
                self._text.refuse(part, "an INTERVAL as a column", "Write TIMESTAMPDIFF.")
            if expression.type.name == "NULL":
                self._text.fail(part, "the type of NULL is not known. Write CAST(NULL AS STRING).")
            read = isinstance(expression, ColumnRead)
            rowtime = read and relation.columns[expression.index].rowtime  # type: ignore[attr-defined]
            name = part.alias if isinstance(part, exp.Alias) else _name_of(inner)
            add(expression, name or f"EXPR${number}", rowtime)
        return expressions, columns

    def _analyser(self, columns: Sequence[Column]) -> Analyser:
        return Analyser(Scope(self._text, tuple(columns), self._catalogue.functions))

    # ------------------------------------------------------------------ FROM and JOIN

    def _from(self, node: exp.Expr, steps: Mapping[str, Relation]) -> Relation:
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            if node.args.get("joins"):
                self._text.refuse(node, "a join in parentheses", refusals.SUBQUERY)
            path = [part.name for part in node.parts]
            found = steps.get(path[-1]) if len(path) == 1 else None
            found = found or self._catalogue.table(path[-1])
            if found is None:
                self._text.fail(
                    node,
                    f"there is no table {'.'.join(path)!r}. Call createTemporaryView({path[-1]!r}, table).",
                )
            return _renamed(found.named(node.alias or path[-1]), node.args.get("alias"), self._text)
        if isinstance(node, exp.Subquery):
            return _renamed(
                self._query(node.this, steps).named(node.alias or None),
                node.args.get("alias"),
                self._text,
            )
        if isinstance(node, exp.Values):
            return _renamed(
                self._values(node).named(node.alias or None), node.args.get("alias"), self._text
            )
        if isinstance(node, exp.Unnest):
            return self._text.refuse(
                node,
                "UNNEST without a table before it",
                "Write FROM table CROSS JOIN UNNEST(column).",
            )
        return self._text.refuse(node, "this kind of table", refusals.FUNCTION_TABLE)

    def _join(self, join: exp.Join, left: Relation, steps: Mapping[str, Relation]) -> Relation:
        side, method = join.side.upper(), join.args.get("method")
        if method or join.args.get("using"):
            self._text.refuse(join, "NATURAL JOIN and USING", "Write ON.")
        if isinstance(join.this, exp.Unnest):
            return self._unnest(join, left, outer=side == "LEFT")
        if isinstance(join.this, exp.Lateral):
            self._text.refuse(join, "LATERAL", refusals.FUNCTION_TABLE)
        right = self._from(join.this, steps)
        if not left.isStatic and not right.isStatic:
            self._text.refuse(join, "a join of two streams", refusals.JOIN)
        if join.kind.upper() in ("SEMI", "ANTI") or side == "FULL":
            self._text.refuse(join, f"{side} {join.kind.upper()} JOIN".strip(), refusals.JOIN)
        if not right.isStatic:
            if side == "LEFT":
                self._text.refuse(join, "LEFT JOIN of a static table with a stream", refusals.JOIN)
            # The stream has to be on the left: its rows come one by one
            joined = self._static_join(join, right, left, outer=side == "RIGHT")
            width = len(right.columns)
            order = [*range(width, len(joined.columns)), *range(width)]
            return joined.reordered(order)
        if side == "RIGHT":
            self._text.refuse(join, "RIGHT JOIN of a stream with a static table", refusals.JOIN)
        return self._static_join(join, left, right, outer=side == "LEFT")

    def _static_join(
        self, join: exp.Join, left: Relation, right: Relation, outer: bool
    ) -> Relation:
        assert right.rows is not None
        # A time attribute becomes a plain time after a join, as in Flink
        columns = [replace(column, rowtime=False) for column in left.columns]
        there = [
            replace(c, type=c.type.nullableIf(c.type.nullable or outer), rowtime=False)
            for c in right.columns
        ]
        on = join.args.get("on")
        if on is None and join.kind.upper() != "CROSS" and (outer or join.args.get("side")):
            self._text.fail(join, "the join has no ON.")
        both = [*columns, *there]
        condition = None if on is None else self._analyser(both).condition(on)
        keys, table_keys, rest = _equalities(condition, len(columns))
        step = StaticJoin(right.rows, tuple(keys), tuple(table_keys), rest, outer)
        return left.then(step, both)

    def _unnest(self, join: exp.Join, left: Relation, outer: bool) -> Relation:
        node = join.this
        on = join.args.get("on")
        if on is not None and not (isinstance(on, exp.Boolean) and on.this):
            self._text.refuse(join, "a condition on UNNEST", "Write ON TRUE, and WHERE.")
        if len(node.expressions) != 1:
            self._text.refuse(node, "UNNEST of several arrays", "Write a CROSS JOIN for each.")
        value = self._analyser(left.columns).expression(node.expressions[0])
        kind = value.type
        ordinality = bool(node.args.get("offset"))
        if kind.name == "ARRAY":
            element = kind.children[0]
            types = element.children if element.name == "ROW" else (element,)
            names = list(element.fields) if element.name == "ROW" else ["f0"]
        elif kind.name == "MAP":
            types, names = kind.children, ["f0", "f1"]
        else:
            self._text.fail(node, f"UNNEST takes an array or a map, and this is {kind}.")
        alias = node.args.get("alias")
        given = [part.name for part in alias.columns] if alias is not None else []
        if isinstance(node.args.get("offset"), exp.Identifier):
            given.append(node.args["offset"].name)
        width = len(types) + ordinality
        if given and len(given) != width:
            self._text.fail(
                node, f"UNNEST returns {width} columns, but the alias has {len(given)} names."
            )
        names = given or [*names, *(["ORDINALITY"] if ordinality else [])]
        kinds = [*types, *([DataType("INT", nullable=False)] if ordinality else [])]
        if outer:
            kinds = [kind.nullableIf(True) for kind in kinds]
        table = alias.name if alias is not None else None
        columns = [Column(name, kind, table) for name, kind in zip(names, kinds)]
        step = Unnesting(value, tuple(types), ordinality, outer)
        return left.then(step, [*left.columns, *columns])

    def _values(self, node: exp.Values) -> Relation:
        analyser = self._analyser(())
        rows = []
        for row in node.expressions:
            parts = row.expressions if isinstance(row, exp.Tuple) else [row]
            rows.append([analyser.expression(part) for part in parts])
        columns = []
        for number, cells in enumerate(zip(*rows)):
            kind = common_type([cell.type for cell in cells])
            if kind is None or any(len(row) != len(rows[0]) for row in rows):
                self._text.fail(node, "the rows of VALUES have different types.")
            columns.append(Column(f"EXPR${number}", kind))
        one = Rows([], 1)
        cells_of = [
            [
                one.column(analyser.converted(node, cell, c.type).evaluate(one), c.type)
                for cell in cells
            ]
            for c, cells in zip(columns, zip(*rows))
        ]
        arrays = tuple(pa.concat_arrays(cells) for cells in cells_of)
        return Relation(tuple(columns), rows=StaticRows(arrays, len(rows)))


_NOTHING = Relation((), rows=StaticRows((), 1))
"""The input of a SELECT without FROM: one row without columns."""


def _star(part: exp.Expr) -> str | None:
    """The table of ``table.*``, an empty string for ``*``, None for anything else."""
    if isinstance(part, exp.Star):
        return ""
    if isinstance(part, exp.Column) and isinstance(part.this, exp.Star):
        return part.table
    return None


def _name_of(node: exp.Expr) -> str:
    return node.parts[-1].name if isinstance(node, exp.Column) else ""


def _renamed(relation: Relation, alias: Any, text: Text) -> Relation:
    names = [part.name for part in alias.columns] if alias is not None else []
    if not names:
        return relation
    if len(names) != len(relation.columns):
        text.fail(
            alias,
            f"the table has {len(relation.columns)} columns, but the alias has {len(names)} names.",
        )
    return replace(
        relation, columns=tuple(replace(c, name=name) for c, name in zip(relation.columns, names))
    )


def _cast_columns(relation: Relation, wanted: Sequence[Column]) -> Relation:
    """The table with its columns cast to the types of ``wanted``."""
    reads: list[Expression] = []
    for number, (column, target) in enumerate(zip(relation.columns, wanted)):
        read: Expression = ColumnRead(column.type, number)
        if column.type.arrow != target.type.arrow:
            found = cast_kernel(column.type, target.type)
            assert found is not None, (column.type, target.type)
            read = Call(target.type, "CAST", (read,), found[0])
        reads.append(read)
    if all(isinstance(read, ColumnRead) for read in reads):
        return replace(relation, columns=tuple(wanted))
    return relation.then(Projection(tuple(reads)), wanted)


def _equalities(
    condition: Expression | None, width: int
) -> tuple[list[Expression], list[Expression], Expression | None]:
    """The two sides of the equalities between both tables, and the rest of the condition. The first
    ``width`` columns are those of the left table."""
    keys: list[Expression] = []
    others: list[Expression] = []
    rest: Expression | None = None
    for part in _conjuncts(condition):
        pair = _pair(part, width)
        if pair is not None:
            keys.append(pair[0])
            others.append(pair[1])
        elif not (isinstance(part, Literal) and part.value is True):
            rest = part if rest is None else Connection(BOOLEAN, rest, part, False)
    return keys, others, rest


def _conjuncts(condition: Expression | None) -> list[Expression]:
    if condition is None:
        return []
    if isinstance(condition, Connection) and not condition.decides:
        return [*_conjuncts(condition.first), *_conjuncts(condition.second)]
    return [condition]


def _pair(part: Expression, width: int) -> tuple[Expression, Expression] | None:
    if not (isinstance(part, Call) and part.name == "equal"):
        return None
    one, other = part.arguments
    plain = one.type.nullableIf(True) == other.type.nullableIf(True) or (
        one.type.isText and other.type.isText
    )
    if (
        not plain
        or one.type.isApproximate
        or one.type.children
        or not comparable(one.type, other.type)
    ):
        return None
    if not (_plain(one) and _plain(other)):
        return None
    sides = [{read < width for read in _reads(value)} for value in (one, other)]
    if sides == [{True}, {False}]:
        return one, _moved(other, width)
    return (other, _moved(one, width)) if sides == [{False}, {True}] else None


def _plain(value: Expression) -> bool:
    """Whether an expression consists of columns, constants and functions that cannot fail."""
    if isinstance(value, Call):
        return not value.fails and all(map(_plain, value.arguments))
    return isinstance(value, (ColumnRead, Literal))


def _reads(value: Expression) -> list[int]:
    if isinstance(value, ColumnRead):
        return [value.index]
    return [index for part in value.parts for index in _reads(part)]


def _moved(value: Expression, width: int) -> Expression:
    """The expression over the columns of the right table alone."""
    if isinstance(value, ColumnRead):
        return replace(value, index=value.index - width)
    if isinstance(value, Call):
        return replace(value, arguments=tuple(_moved(part, width) for part in value.arguments))
    return value
