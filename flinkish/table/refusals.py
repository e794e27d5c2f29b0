"""The parts of SQL that are not supported over streams, each with what to write instead."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WINDOW = "Write toDataStream(table), keyBy(...), and window(...) with aggregate(...), reduce(...) or process(...)."
GROUP = (
    "A result for each group changes with every row, and needs state. "
    + _WINDOW
    + " For results that change, write"
    " keyBy(...).reduce(...), or process(...) with state."
)
DISTINCT = "It has to remember all rows. Write keyBy(...).process(...) with a ValueState that says whether a key was seen."
ORDER = "Rows of a stream have no last one to sort up to. Write keyBy(...).process(...) with timers, or sort the results."
LIMIT = "Write executeAndCollect(name, limit), or process(...) with state that counts."
JOIN = (
    "Both sides would be kept for ever. Write keyed.intervalJoin(other).between(...), join(other).where(...)"
    ".equalTo(...).window(...), or connect(other); a table made of values or of pandas may be joined."
)
OVER = "Write keyBy(...).process(...) with state."
PATTERN = "Write CEP.pattern(stream, pattern) of flinkish.cep."
DDL = "Write env.fromSource(...) and createTemporaryView(name, stream)."
INSERT = "Write toDataStream(table) and sinkTo(sink)."
SUBQUERY = "Write a JOIN with a static table, or connect(...)."
FUNCTION_TABLE = "Write flatMap(...) before the view."
VALUE_OF_CLOCK = "Results have to be the same when a batch runs again. Write process(...) and ctx.timerService().currentProcessingTime()."
STATEMENT = "Only queries are run here: SELECT ... UNION ALL ...; views are made with createTemporaryView(name, table)."

AGGREGATES = frozenset(
    [
        "COUNT",
        "SUM",
        "AVG",
        "MIN",
        "MAX",
        "STDDEV_POP",
        "STDDEV_SAMP",
        "VAR_POP",
        "VAR_SAMP",
        "COLLECT",
        "LISTAGG",
        "FIRST_VALUE",
        "LAST_VALUE",
        "RANK",
        "DENSE_RANK",
        "ROW_NUMBER",
        "LEAD",
        "LAG",
        "NTILE",
        "CUME_DIST",
        "PERCENT_RANK",
        "APPROX_COUNT_DISTINCT",
        "JSON_OBJECTAGG",
        "JSON_ARRAYAGG",
        "ARRAY_AGG",
        "GROUPING",
        "GROUP_ID",
        "GROUPING_ID",
        "PERCENTILE",
        "TUMBLE",
        "HOP",
        "SESSION",
        "TUMBLE_START",
        "TUMBLE_END",
        "HOP_START",
        "HOP_END",
        "SESSION_START",
        "SESSION_END",
        "TUMBLE_ROWTIME",
        "HOP_ROWTIME",
        "SESSION_ROWTIME",
    ]
)
CLOCK = frozenset(
    [
        "CURRENT_TIMESTAMP",
        "CURRENT_DATE",
        "CURRENT_TIME",
        "LOCALTIME",
        "LOCALTIMESTAMP",
        "NOW",
        "CURRENT_ROW_TIMESTAMP",
        "PROCTIME",
        "RAND",
        "RAND_INTEGER",
        "UUID",
        "CURRENT_WATERMARK",
    ]
)


@dataclass(frozen=True)
class Refusal:
    """A part of SQL that is found by its keywords, without the parser."""

    start: int
    what: str
    fix: str


_BY_TEXT = (
    (re.compile(r"\bMATCH_RECOGNIZE\b", re.I), "MATCH_RECOGNIZE", PATTERN),
    (
        re.compile(r"\bTABLE\s*\(\s*(TUMBLE|HOP|CUMULATE|SESSION)\b", re.I),
        "a window function over a table",
        _WINDOW,
    ),
    (re.compile(r"^\s*(CREATE|DROP|ALTER)\b", re.I), "DDL", DDL),
    (re.compile(r"^\s*INSERT\b", re.I), "INSERT INTO", INSERT),
    (re.compile(r"^\s*EXECUTE\s+STATEMENT\b", re.I), "EXECUTE STATEMENT SET", INSERT),
    (
        re.compile(
            r"^\s*(SHOW|DESCRIBE|DESC|EXPLAIN|USE|LOAD|UNLOAD|SET|RESET|DELETE|UPDATE|TRUNCATE|CALL|ANALYZE|ADD|REMOVE)\b",
            re.I,
        ),
        "a statement that is no query",
        STATEMENT,
    ),
    (re.compile(r"\bFOR\s+SYSTEM_TIME\s+AS\s+OF\b", re.I), "FOR SYSTEM_TIME AS OF", JOIN),
)
_QUOTED = re.compile(r"'(?:[^']|'')*'|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL)


def refusal_of_text(sql: str) -> Refusal | None:
    """The first part of a query that its keywords show to be unsupported, None if there is none."""
    plain = _QUOTED.sub(lambda found: " " * len(found[0]), sql)
    for pattern, what, fix in _BY_TEXT:
        found = pattern.search(plain)
        if found is not None:
            word = found.start() + len(found[0]) - len(found[0].lstrip())
            return Refusal(word, what, fix)
    return None
