"""Plans the statements of a query as streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from flinkish.api.streams.data_stream import DataStream
from flinkish.api.windowing.assigners import SlidingEventTimeWindows, TumblingEventTimeWindows
from flinkish.compat.folds import fold_columns
from flinkish.compat.stream_analytics.aggregates import (
    AGGREGATES,
    Aggregate,
    GroupResults,
    Item,
    compile_aggregate,
    merged,
    record_from,
)
from flinkish.compat.stream_analytics.calls import compile_analytic, is_analytic
from flinkish.compat.stream_analytics.compiler import (
    Scope,
    compile_condition,
    compile_expression,
    kind_of,
    named,
    names_of,
    refuse_others,
)
from flinkish.compat.stream_analytics.datediff_join import DateDiffJoin, TimeBounds
from flinkish.compat.stream_analytics.functions import array_elements, record_properties
from flinkish.compat.stream_analytics.group_windows import WindowPlan, windows_of
from flinkish.compat.stream_analytics.joins import (
    conjuncts,
    equal_sides,
    reference_join,
    sources_of,
    time_bounds,
)
from flinkish.compat.stream_analytics.looking_back import AnalyticFunction, entered
from flinkish.compat.stream_analytics.text import (
    SYSTEM_TIMESTAMP,
    Text,
    Timing,
    function_name,
    is_function,
    written,
)
from flinkish.compat.stream_analytics.values import (
    Environment,
    Evaluate,
    Record,
    ValueFailure,
    frozen,
    join_key,
)

OUTPUT = "output"
"""The name of the output of a SELECT without INTO."""

Inputs = Callable[[str, Timing | None, exp.Expression], DataStream[Record] | None]
"""The records of an input by its name and TIMESTAMP BY, None if there is no such input."""


_CLAUSES = frozenset(
    {"expressions", "from_", "from", "joins", "laterals", "where", "group", "having", "into"}
    | {"with_", "with"}
)


@dataclass(frozen=True)
class _Rows:
    """The rows of the FROM of a SELECT, as planned so far."""

    stream: DataStream[Environment]
    sources: tuple[str, ...]
    slack: int = 0
    """By how much the event of a source may be older than the row that it is in, in ms."""
    computed: Mapping[str, str] = field(default_factory=dict)
    """By the text of an analytic function, the name under which its value is in the environment."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """See ``Scope.columns``."""


@dataclass
class Planner:
    _text: Text
    _inputs: Inputs
    _columns: Callable[[str], Mapping[str, str]]
    """The kinds of the columns of an input."""
    _references: Mapping[str, Sequence[Record]]
    """By their names in lower case."""
    _functions: Mapping[str, Callable[..., Any]]
    _writes: exp.Expression | None = None
    """The SELECT of the statement that has its INTO."""
    _steps: dict[str, DataStream[Record]] = field(default_factory=dict)

    def outputs(self) -> dict[str, DataStream[Record]]:
        """The stream of each output by its name."""
        outputs: dict[str, DataStream[Record]] = {}
        for statement in self._text.statements:
            name = self._into(statement)
            known = next((each for each in outputs if each.lower() == name.lower()), name)
            stream = self._query(statement)
            outputs[known] = outputs[known].union(stream) if known in outputs else stream
        return outputs

    def _into(self, statement: exp.Expression) -> str:
        first = statement
        while isinstance(first, exp.SetOperation):
            first = first.this
        self._writes = first
        into = first.args.get("into")
        return str(into.this.name) if into is not None else OUTPUT

    # ------------------------------------------------------------------ queries

    def _query(self, node: exp.Expression) -> DataStream[Record]:
        steps = node.args.get("with_") or node.args.get("with")
        for step in steps.expressions if steps is not None else ():
            name = step.alias.lower()
            if name in self._steps:
                raise self._text.error(step.args["alias"], f"there is a step {step.alias} already.")
            self._steps[name] = self._query(step.this)
        if isinstance(node, exp.Subquery):
            return self._query(node.this)
        if isinstance(node, exp.Union):
            # UNION keeps equal rows in Stream Analytics, as UNION ALL does
            return self._query(node.this).union(self._query(node.expression))
        if not isinstance(node, exp.Select):
            raise self._text.error(
                node, f"{node.key.upper()} is not supported. Write SELECT and UNION ALL."
            )
        return self._select(node)

    def _select(self, node: exp.Select) -> DataStream[Record]:
        self._refuse_clauses(node)
        conditions = node.args.get("where")
        rows = self._joined(node)
        scope = replace(self._scope(rows.sources), computed=rows.computed, columns=rows.columns)
        stream = rows.stream
        if conditions is not None:
            stream = stream.filter(compile_condition(conditions.this, scope))
        group = node.args.get("group")
        if group is not None:
            return self._grouped(node, group, stream, scope)
        if node.args.get("having") is not None:
            raise self._text.error(node.args["having"], "HAVING needs GROUP BY. Write WHERE.")
        items = self._items(node, scope)
        return stream.map(lambda row: record_from(items, row))

    def _analytic_calls(self, node: exp.Select) -> dict[str, exp.Expression]:
        clauses = (node.args.get(name) for name in ("where", "group", "having"))
        parts = _parts((*node.expressions, *clauses), is_analytic)
        return {written(part): part for part in parts}

    def _refuse_clauses(self, node: exp.Select) -> None:
        for clause, fix in (
            ("distinct", "Write COUNT(DISTINCT ...), or GROUP BY the columns."),
            ("limit", "Write TopOne() or CollectTop(n) OVER (ORDER BY ...) in a window."),
            ("order", "Write CollectTop(n) OVER (ORDER BY ...) in a window."),
            ("qualify", "Write WHERE on a step."),
        ):
            found = node.args.get(clause)
            if found:
                place = found if clause == "order" else node
                said = {"limit": "TOP", "order": "ORDER BY"}.get(clause, clause.upper())
                raise self._text.error(place, f"{said} is not supported. {fix}")
        if node.args.get("into") is not None and node is not self._writes:
            raise self._text.error(
                node.args["into"].this, "INTO belongs to the SELECT that a statement begins with."
            )
        scope = self._scope(())
        refuse_others(node, _CLAUSES, scope)
        if node.args.get("group") is not None:
            refuse_others(node.args["group"], frozenset({"expressions"}), scope)
        for join in node.args.get("joins") or ():
            refuse_others(join, frozenset({"this", "side", "kind", "on"}), scope)

    def _scope(self, sources: tuple[str, ...]) -> Scope:
        return Scope(self._text, sources, self._functions)

    def _items(self, node: exp.Select, scope: Scope) -> tuple[Item, ...]:
        items: list[Item] = []
        for position, item in enumerate(node.expressions):
            names = names_of(item)
            if isinstance(item, exp.Star) or (names is not None and names[-1] == "*"):
                if scope.grouped:
                    raise self._text.error(
                        node, "SELECT * cannot be with GROUP BY. Write COLLECT()."
                    )
                items.append(Item(None, self._all_fields(item, scope)))
                continue
            inner = item.this if isinstance(item, exp.Alias) else item
            name = item.alias or self._name(inner, position)
            items.append(Item(name, compile_expression(inner, scope)))
        return tuple(items)

    def _all_fields(self, node: exp.Expression, scope: Scope) -> Evaluate:
        names = (names_of(node) or ["*"])[:-1]
        if not names:
            return lambda row: merged(row, scope.sources)
        if names[0].lower() not in scope.sources and len(scope.sources) > 1:
            raise self._text.error(node, f"there is no source {names[0]} in FROM.")
        return named(names, scope)

    def _name(self, node: exp.Expression, position: int) -> str:
        names = names_of(node)
        if names:
            return names[-1]
        call = node.this if isinstance(node, exp.Window) else node
        if is_function(call, SYSTEM_TIMESTAMP):
            return "Timestamp"
        if isinstance(node, exp.Dot):
            return str(node.expression.name)
        return (function_name(call) or f"column{position + 1}").rpartition(".")[2]

    # ------------------------------------------------------------------ FROM

    def _joined(self, node: exp.Select) -> _Rows:
        begin = node.args.get("from_") or node.args.get("from")
        if begin is None:
            raise self._text.error(node, "SELECT needs FROM.")
        joins = [*(node.args.get("joins") or ()), *(node.args.get("laterals") or ())]
        calls = self._analytic_calls(node)
        slots = {text: f"#analytic{number}" for number, text in enumerate(calls)}

        def looking_back(rows: _Rows, only: str | None) -> _Rows:
            # Joins leave out events, or repeat them, that count for the functions of a source
            found = {
                text: call
                for text, call in calls.items()
                if only is None or sources_of(call) <= {only}
            }
            for text in found:
                del calls[text]
            return self._with_analytics(rows, found, slots)

        rows = self._source(begin.this)
        rows = looking_back(rows, rows.sources[0] if joins else None)
        for join in joins:
            lateral = join if isinstance(join, exp.Lateral) else join.this
            if isinstance(lateral, exp.Lateral):
                rows = self._applied(rows, lateral)
            else:
                rows = self._join(rows, join, looking_back)
        return looking_back(rows, None)

    def _alias(self, table: exp.Expression) -> str:
        return str(table.alias_or_name).lower()

    def _source(self, table: exp.Expression) -> _Rows:
        source = self._alias(table)
        columns: Mapping[str, str] = {}
        if isinstance(table, exp.Subquery):
            records = self._query(table.this)
        elif isinstance(table, exp.Table):
            records = self._table(table)
            if str(table.name).lower() not in self._steps:
                columns = self._columns(str(table.name))
        else:
            raise self._text.error(table, f"{table.sql()} is no source. Name an input or a step.")
        return _Rows(entered(records, source), (source,), columns=columns)

    def _table(self, table: exp.Table) -> DataStream[Record]:
        timing = self._text.timing(table)
        name = str(table.name)
        step = self._steps.get(name.lower())
        if step is not None:
            if timing is not None:
                raise self._text.error(
                    table, f"TIMESTAMP BY belongs to an input, and {name} is a step."
                )
            return step
        found = self._inputs(name, timing, table)
        if found is not None:
            return found
        if name.lower() in self._references:
            raise self._text.error(
                table,
                f"{name} is reference data, which FROM cannot begin with. JOIN it to an input.",
            )
        known = ", ".join([*self._steps, *self._references]) or "none"
        raise self._text.error(
            table,
            f"there is no input and no step {name}. Pass it in inputs. Steps and references: {known}.",
        )

    def _applied(self, rows: _Rows, lateral: exp.Lateral) -> _Rows:
        call, source = lateral.this, self._alias(lateral)
        scope = self._scope(rows.sources)
        expand = {"GETARRAYELEMENTS": array_elements, "GETRECORDPROPERTIES": record_properties}.get(
            (function_name(call) or "").upper()
        )
        if expand is None or len(call.expressions) != 1:
            raise self._text.error(
                call, "APPLY takes GetArrayElements(array) or GetRecordProperties(record)."
            )
        if not source:
            raise self._text.error(
                call, "APPLY needs a name: CROSS APPLY GetArrayElements(...) AS name."
            )
        value = compile_expression(call.expressions[0], scope)
        outer = not lateral.args.get("cross_apply")
        place, moment = self._text.place(call), f"@{source}"

        def apply(row: Environment) -> Iterator[Environment]:
            try:
                found = expand(value(row))
            except ValueFailure as failure:
                raise place.error(f"APPLY: {failure}.") from None
            for item in found or ([None] if outer else []):
                yield {**row, source: item, moment: row["@"]}

        return replace(rows, stream=rows.stream.flatMap(apply), sources=(*rows.sources, source))

    def _join(
        self, rows: _Rows, join: exp.Join, looking_back: Callable[[_Rows, str], _Rows]
    ) -> _Rows:
        table, source = join.this, self._alias(join.this)
        side, kind = str(join.side or "").upper(), str(join.kind or "").upper()
        if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER"):
            raise self._text.error(
                table, f"{side or kind} JOIN is not supported. Write JOIN or LEFT JOIN."
            )
        if source in rows.sources:
            raise self._text.error(table, f"two sources are named {table.alias_or_name}. Add AS.")
        on = join.args.get("on")
        if on is None:
            raise self._text.error(table, "JOIN needs ON.")
        name = str(table.name).lower() if isinstance(table, exp.Table) else ""
        reference = None if name in self._steps else self._references.get(name)
        right = None if reference is not None else looking_back(self._source(table), source)
        bounds, keys, holds = self._conditions(on, rows.sources, source, right is not None)
        sources, outer = (*rows.sources, source), side == "LEFT"
        if reference is not None:
            joined = rows.stream.flatMap(reference_join(source, reference, keys, holds, outer))
            return replace(rows, stream=joined, sources=sources)
        if bounds is None or right is None:
            raise self._text.error(
                on,
                f"a join of streams needs DATEDIFF(unit, {rows.sources[0]}, {source}) BETWEEN low AND high in ON.",
            )
        right_key = _join_key(tuple(key for _, key in keys))
        # NULL equals nothing
        events = right.stream.filter(lambda row: None not in right_key(row))
        joined = (
            rows.stream.keyBy(_join_key(tuple(key for key, _ in keys)))
            .connect(events.keyBy(right_key))
            .process(DateDiffJoin(bounds, holds, source, outer, rows.slack))
        )
        span = (abs(bounds.low) + abs(bounds.high) + 1) * bounds.size
        computed = {**rows.computed, **right.computed}
        return _Rows(joined, sources, rows.slack + span, computed)

    def _conditions(
        self, on: exp.Expression, left: tuple[str, ...], right: str, timed: bool
    ) -> tuple[
        TimeBounds | None, Sequence[tuple[Evaluate, Evaluate]], Callable[[Environment], bool]
    ]:
        """The conditions of a join: the bounds that it is ``timed`` by, the keys of both sides, and whether all
        conditions but the bounds hold."""
        bounds, keys, rest = None, [], []
        scope = self._scope((*left, right))
        for part in conjuncts(on):
            if timed and bounds is None:
                bounds = time_bounds(part, left, right, scope)
                if bounds is not None:
                    continue
            equal = equal_sides(part, left, right)
            if equal is not None:
                key = compile_expression(equal[0], self._scope(left))
                keys.append((key, compile_expression(equal[1], self._scope((right,)))))
            rest.append(compile_condition(part, scope))
        return bounds, tuple(keys), lambda row: all(condition(row) for condition in rest)

    # ------------------------------------------------------------------ analytic functions

    def _with_analytics(
        self, rows: _Rows, calls: Mapping[str, exp.Expression], slots: Mapping[str, str]
    ) -> _Rows:
        if not calls:
            return rows
        scope = self._scope(rows.sources)
        analytics = [compile_analytic(call, slots[text], scope) for text, call in calls.items()]
        one = len({call.over.partitionText for call in analytics}) == 1
        partition = analytics[0].over.partition if one else _constant
        stream = rows.stream.keyBy(partition).process(AnalyticFunction(analytics))
        computed = {**rows.computed, **{text: slots[text] for text in calls}}
        return replace(rows, stream=stream, computed=computed)

    # ------------------------------------------------------------------ GROUP BY

    def _grouped(
        self,
        node: exp.Select,
        group: exp.Expression,
        stream: DataStream[Environment],
        scope: Scope,
    ) -> DataStream[Record]:
        windows: list[WindowPlan] | None = None
        keys: list[exp.Expression] = []
        for part in group.expressions:
            found = windows_of(part, scope)
            if found is None:
                keys.append(part)
            elif windows is None:
                windows = found
            else:
                raise self._text.error(
                    part, "GROUP BY has one window. Write Windows(...) for more."
                )
        if windows is None:
            raise self._text.error(
                group,
                "GROUP BY needs a window, such as TumblingWindow(minute, 1), or System.Timestamp().",
            )
        results = self._results(node, keys, scope)
        streams = [self._windowed(stream, window, results, scope) for window in windows]
        return streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]

    def _results(self, node: exp.Select, keys: list[exp.Expression], scope: Scope) -> GroupResults:
        computed: dict[str, str] = {}
        for position, key in enumerate(keys):
            slot = f"#key{position}"
            computed[written(key)] = slot
            names = names_of(key)
            if names is not None:
                if len(names) > 1 and names[0].lower() in scope.sources and len(scope.sources) == 1:
                    names = names[1:]
                computed.setdefault(f"name:{'.'.join(names).lower()}", slot)
        aggregates: list[tuple[str, Aggregate]] = []
        having = node.args.get("having")
        for part in _parts((*node.expressions, having), _is_aggregate):
            if written(part) not in computed:
                slot = computed[written(part)] = f"#aggregate{len(aggregates)}"
                aggregates.append((slot, compile_aggregate(part, scope)))
        inside = replace(scope, computed=computed, grouped=True)
        items = self._items(node, inside)
        condition = None
        if having is not None:
            # HAVING may name the items of the SELECT list
            of_items = {
                f"name:{item.name.lower()}": f"#item{i}"
                for i, item in enumerate(items)
                if item.name
            }
            condition = compile_condition(
                having.this, replace(inside, computed={**of_items, **computed})
            )
        evaluate = tuple(compile_expression(part, scope) for part in keys)
        plain = all(kind_of(key, scope) is not None for key in keys)
        return GroupResults(evaluate, aggregates, items, condition, plain)

    def _windowed(
        self,
        stream: DataStream[Environment],
        window: WindowPlan,
        results: GroupResults,
        scope: Scope,
    ) -> DataStream[Record]:
        together, identity = window.together, window.id
        partition = tuple(compile_expression(part, scope) for part in window.partition)
        window_key = _key(partition if together else results.keys)
        contributions = results.contributions

        def contribution(row: Environment) -> tuple[Any, ...]:
            return (window_key(row), *[part(row) for part in contributions])

        def results_of(context: Any, rows: Any) -> Iterator[Record]:
            end = context.window().maxTimestamp()
            for group in results.groups(rows) if together else (list(rows),):
                found = results.of(group, end, identity)
                if found is not None:
                    yield found

        def results_of_key(key: Any, context: Any, rows: Any) -> Iterator[Record]:
            return results_of(context, rows)

        def results_of_folds(key: Any, context: Any, folded: Any) -> Iterator[Record]:
            end = context.window().maxTimestamp()
            (numbers,) = folded
            found = results.ofFolds(_key_values(key, len(results.keys)), numbers, end, identity)
            if found is not None:
                yield found

        contributed = stream.map(contribution).name("Group By")
        if results.folds and isinstance(
            window.assigner, SlidingEventTimeWindows | TumblingEventTimeWindows
        ):
            keyed = contributed.keyBy(lambda row: row[0]).window(window.assigner)
            return keyed.aggregate(fold_columns(results.folds), results_of_folds)
        if partition or (results.keys and not together):
            keyed = contributed.keyBy(lambda row: row[0]).window(window.assigner)
            return keyed.process(results_of_key)
        return contributed.windowAll(window.assigner).process(results_of)


def _parts(
    clauses: Iterable[exp.Expression | None], wanted: Callable[[Any], bool]
) -> Iterator[Any]:
    """The outermost parts of clauses that are ``wanted``."""
    for clause in filter(None, clauses):
        yield from (part for part in clause.walk(prune=wanted) if wanted(part))


def _is_aggregate(node: exp.Expression) -> bool:
    if is_analytic(node):
        return False
    if isinstance(node, exp.Window):
        return is_function(node.this, *AGGREGATES)
    return is_function(node, *AGGREGATES)


def _key(parts: tuple[Evaluate, ...]) -> Evaluate:
    """A key shared by all rows for which the values of ``parts`` are equal, NULL equal to NULL. Of one part it is the
    value itself, as a column; of none it is 0."""
    if not parts:
        return lambda row: 0
    if len(parts) > 1:
        return lambda row: tuple(frozen(part(row)) for part in parts)
    (only,) = parts

    def key(row: Environment) -> Any:
        value = only(row)
        return () if value is None else frozen(value)

    return key


def _key_values(key: Any, parts: int) -> Sequence[Any]:
    """What ``_key`` has made a key of, if that were whole numbers, texts or NULL."""
    if parts == 1:
        return (None if key == () else key,)
    return key if parts else ()


def _join_key(parts: tuple[Evaluate, ...]) -> Callable[[Environment], tuple[Any, ...]]:
    """A key shared by all rows that a condition ``=`` may find equal."""
    return lambda row: tuple(join_key(part(row)) for part in parts)


def _constant(row: Environment) -> tuple[Any, ...]:
    return ()
