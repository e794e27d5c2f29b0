"""Reads a text in the query language into sqlglot's trees.

sqlglot knows T-SQL. What Stream Analytics adds is rewritten among the tokens before it parses them: a function
keeps its own name (``fn:NAME@offset``), and ``LIMIT DURATION`` and ``WHEN`` of an ``OVER`` become functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from sqlglot import ErrorLevel, exp
from sqlglot.dialects.tsql import TSQL
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from flinkish.api.errors import IllegalArgumentError

# ---------------------------------------------------------------------- words that mean something where they stand

RESERVED = frozenset(
    """
    ADD ALL ALTER AND ANY AS ASC AUTHORIZATION BACKUP BEGIN BETWEEN BREAK BROWSE BULK BY CASCADE CASE CHECK
    CHECKPOINT CLOSE CLUSTERED COALESCE COLLATE COLUMN COMMIT COMPUTE CONSTRAINT CONTAINS CONTAINSTABLE CONTINUE
    CONVERT CREATE CROSS CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER CURSOR DATABASE DBCC
    DEALLOCATE DECLARE DEFAULT DELETE DENY DESC DISK DISTINCT DISTRIBUTED DOUBLE DROP DUMP ELSE END ERRLVL ESCAPE
    EXCEPT EXEC EXECUTE EXISTS EXIT EXTERNAL FETCH FILE FILLFACTOR FOR FOREIGN FREETEXT FREETEXTTABLE FROM FULL
    FUNCTION GOTO GRANT GROUP HAVING HOLDLOCK IDENTITY IDENTITYCOL IDENTITY_INSERT IF IN INDEX INNER INSERT
    INTERSECT INTO IS JOIN KEY KILL LEFT LIKE LINENO LOAD MERGE NATIONAL NOCHECK NONCLUSTERED NOT NULL NULLIF OF
    OFF OFFSETS ON OPEN OPENDATASOURCE OPENQUERY OPENROWSET OPENXML OPTION OR ORDER OUTER OVER PERCENT PIVOT PLAN
    PRECISION PRIMARY PRINT PROC PROCEDURE PUBLIC RAISERROR READ READTEXT RECONFIGURE REFERENCES REPLICATION
    RESTORE RESTRICT RETURN REVERT REVOKE RIGHT ROLLBACK ROWCOUNT ROWGUIDCOL RULE SAVE SCHEMA SECURITYAUDIT SELECT
    SESSION_USER SET SETUSER SHUTDOWN SOME STATISTICS SYSTEM_USER TABLE TABLESAMPLE TEXTSIZE THEN TO TOP TRAN
    TRANSACTION TRIGGER TRUNCATE TRY_CONVERT TSEQUAL UNION UNIQUE UNPIVOT UPDATE UPDATETEXT USE USER VALUES
    VARYING VIEW WAITFOR WHEN WHERE WHILE WITH WRITETEXT
    """.split()  # noqa: SIM905 - a list would take a line for each word
)
"""T-SQL's reserved words. A column of such a name is written in brackets."""

LITERALS = frozenset({"TRUE", "FALSE"})

NO_FUNCTIONS = frozenset(
    """
    ALL AND APPLY AS BETWEEN BY CASE DISTINCT ELSE EXCEPT EXISTS FROM GROUP HAVING IN INTERSECT INTO IS JOIN LIKE
    NOT ON OR OVER SELECT THEN TOP UNION WHEN WHERE WITH
    """.split()  # noqa: SIM905 - a list would take a line for each word
)
"""The words before a parenthesis that call no function."""

TIMESTAMP_BY = "TIMESTAMP BY"

AFTER_SOURCE = frozenset(
    """
    WHERE JOIN LEFT RIGHT FULL INNER CROSS OUTER ON HAVING UNION SELECT INTO ) ; AS WITH
    """.split()  # noqa: SIM905 - a list would take a line for each word
) | {"GROUP BY", "PARTITION BY", "ORDER BY", TIMESTAMP_BY}
"""The words that end the name and alias of a source, and what belongs to it."""

TYPES = frozenset({"bigint", "float", "nvarchar", "datetime", "bit", "record", "array"})
LIMIT, WHEN = "LIMIT_DURATION", "WHEN_CONDITION"
SYSTEM_TIMESTAMP, SYSTEM_WINDOW = "SYSTEM_TIMESTAMP", "SYSTEM_WINDOW"


@dataclass(frozen=True)
class Place:
    line: int
    column: int

    def error(self, message: str) -> IllegalArgumentError:
        return IllegalArgumentError(f"query, line {self.line}, column {self.column}: {message}")


@dataclass(frozen=True)
class Timing:
    """``TIMESTAMP BY timestamp OVER over``."""

    timestamp: exp.Expression
    over: tuple[exp.Expression, ...]
    text: str


class Text:
    """The statements of a query, and where their parts stand."""

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._dialect = TSQL()
        self._timings: dict[int, Timing] = {}
        """By the offset of the words ``TIMESTAMP BY``."""
        self.statements: list[exp.Expression] = []
        self.tables: dict[str, dict[str, str]] = {}
        """The types of columns that CREATE TABLE names, by the name of the input in lower case."""
        try:
            tokens = self._dialect.tokenize(sql)
        except TokenError as error:
            raise IllegalArgumentError(f"query: the text cannot be read: {error}") from None
        for statement in _statements(_named_functions(tokens)):
            if [token.text.upper() for token in statement[:2]] == ["CREATE", "TABLE"]:
                self._table(statement)
                continue
            self.statements.append(self._parsed(self._without_timings(statement)))
        if not self.statements:
            raise IllegalArgumentError("query: the text has no SELECT.")

    def place(self, node: exp.Expression) -> Place:
        return self._at(self._offset(node))

    def error(self, node: exp.Expression, message: str) -> IllegalArgumentError:
        return self.place(node).error(message)

    def timing(self, table: exp.Expression) -> Timing | None:
        """The ``TIMESTAMP BY`` that follows a source."""
        begin = self._offset(table)
        found = [offset for offset in self._timings if offset > begin]
        if not found:
            return None
        first = min(found)
        between = self._dialect.tokenize(self._sql[begin:first])
        # only the name of the source and its alias may come between
        if any(_words(token) in AFTER_SOURCE - {"AS"} for token in between):
            return None
        return self._timings[first]

    def _offset(self, node: exp.Expression) -> int:
        offsets = []
        for part in node.walk():
            if "start" in part.meta:
                offsets.append(part.meta["start"])
            elif isinstance(part, exp.Anonymous):
                offsets.append(int(str(part.this).rpartition("@")[2]))
        return min(offsets, default=0)

    def _at(self, offset: int) -> Place:
        before = self._sql[:offset]
        return Place(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)

    def _parsed(self, tokens: list[Token]) -> exp.Expression:
        parser = self._dialect.parser(error_level=ErrorLevel.RAISE)
        try:
            trees = [tree for tree in parser.parse(tokens, self._sql) if tree is not None]
        except (ParseError, TokenError) as error:
            first = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
            line = first.get("line") or tokens[0].line
            found = first.get("highlight")
            near = f" at {found!r}" if found else ""
            place = Place(int(line), self._column_of(first, tokens[0]))
            said = str(first.get("description") or error)
            if "sqlglot" in said or "Token" in said:
                said = "something is missing there, or does not belong there"
            if str(found).upper() in RESERVED - NO_FUNCTIONS - AFTER_SOURCE:
                said = f"{said.removesuffix('.')}. To name a column, write [{found}]"
            raise place.error(
                f"the text cannot be parsed{near}: {said.removesuffix('.')}."
            ) from None
        if len(trees) != 1 or not isinstance(trees[0], exp.Query):
            raise self._at(tokens[0].start).error(
                f"{tokens[0].text} begins no query. Write SELECT ... INTO ..., with WITH steps before it."
            )
        return cast(exp.Expression, trees[0])

    def _column_of(self, error: dict[str, object], first: Token) -> int:
        column, highlight = error.get("col"), error.get("highlight")
        if not isinstance(column, int):
            return first.col - len(first.text) + 1
        return max(column - len(str(highlight or " ")) + 1, 1)

    def _table(self, tokens: list[Token]) -> None:
        """Note the columns of ``CREATE TABLE name (column type, ...)``."""
        columns: dict[str, str] = {}
        inside, end = _until(tokens, 4, frozenset({")"}))
        if len(tokens) < 5 or tokens[3].text != "(" or end != len(tokens) - 1:
            raise self._at(tokens[0].start).error("write CREATE TABLE name (column type, ...).")
        while inside:
            column, _ = _until(inside, 0, frozenset({","}))
            kind = column[1].text.lower() if len(column) > 1 else ""
            if kind not in TYPES:
                raise self._at(column[-1].start).error(
                    f"{kind or 'nothing'} is no type. There are {', '.join(sorted(TYPES))}."
                )
            columns[column[0].text] = kind
            inside = inside[len(column) + 1 :]
        self.tables[tokens[2].text.lower()] = columns

    def _without_timings(self, tokens: list[Token]) -> list[Token]:
        kept: list[Token] = []
        position = 0
        overs: list[int] = []
        depth = 0
        while position < len(tokens):
            token = tokens[position]
            words = token.text.upper()
            if words == "(" and kept and kept[-1].text.upper() == "OVER":
                overs.append(depth)
            depth += (words == "(") - (words == ")")
            if words == ")" and overs and overs[-1] == depth:
                overs.pop()
            if words == TIMESTAMP_BY:
                position = self._timing(tokens, position)
            elif words == "PARTITION BY" and not overs:
                _, position = _until(tokens, position + 1, AFTER_SOURCE)
                position += 2 * _is_count(tokens[position : position + 2])
            else:
                kept.append(token)
                position += 1
        return kept

    def _timing(self, tokens: list[Token], begin: int) -> int:
        """Note the ``TIMESTAMP BY`` at ``begin``; returns the position behind it."""
        timestamp, position = _until(tokens, begin + 1, AFTER_SOURCE | {"OVER", ","})
        over: list[exp.Expression] = []
        if position < len(tokens) and tokens[position].text.upper() == "OVER":
            columns, position = _until(tokens, position + 1, AFTER_SOURCE)
            over = self._expressions(columns, tokens[begin])
        (time,) = self._expressions(timestamp, tokens[begin])[:1]
        text = self._sql[tokens[begin].start : tokens[position - 1].end + 1]
        self._timings[tokens[begin].start] = Timing(time, tuple(over), text)
        return position

    def _expressions(self, tokens: list[Token], at: Token) -> list[exp.Expression]:
        if not tokens:
            raise self._at(at.start).error("TIMESTAMP BY needs an expression.")
        parsed = self._parsed([_named(at, TokenType.SELECT, "SELECT"), *tokens])
        others = any(part for name, part in parsed.args.items() if name != "expressions")
        if others or any(isinstance(part, exp.Alias) for part in parsed.expressions):
            raise self._at(at.start).error("TIMESTAMP BY takes an expression, and OVER columns.")
        return list(parsed.expressions)


def function_name(node: exp.Expression) -> str | None:
    """Return the name of a function in its original spelling; None if ``node`` is no function."""
    if not isinstance(node, exp.Anonymous):
        return None
    return str(node.this).removeprefix("fn:").rpartition("@")[0]


def is_function(node: exp.Expression, *names: str) -> bool:
    """Whether ``node`` calls one of those, named in upper case."""
    name = function_name(node)
    return name is not None and name.upper() in names


def shown_sql(node: exp.Expression) -> str:
    """The text of an expression for an error."""
    copy = node.copy()
    for part in copy.find_all(exp.Anonymous):
        part.set("this", function_name(part))
    return copy.sql(dialect="tsql")


def written(node: exp.Expression) -> str:
    """The text of an expression, normalised so that two that differ only in case and place are equal."""
    copy = node.copy()
    for part in copy.walk():
        if isinstance(part, exp.Anonymous):
            part.set("this", (function_name(part) or "").upper())
        elif isinstance(part, exp.Identifier):
            part.set("this", str(part.this).lower())
            part.set("quoted", True)
    return copy.sql(dialect="tsql")


def _words(token: Token) -> str:
    """The text of a token in upper case; a quoted name is not a keyword."""
    return token.text.upper() if token.token_type is not TokenType.IDENTIFIER else ""


def _until(tokens: list[Token], begin: int, stops: frozenset[str]) -> tuple[list[Token], int]:
    """The tokens up to the first outside parentheses that is one of ``stops``."""
    depth, position = 0, begin
    while position < len(tokens):
        words = _words(tokens[position])
        if depth == 0 and words in stops:
            break
        depth += (words == "(") - (words == ")")
        position += 1
    return tokens[begin:position], position


def _is_count(tokens: list[Token]) -> bool:
    """Whether those are ``INTO`` and a number, as PARTITION BY has them."""
    return [token.token_type for token in tokens] == [TokenType.INTO, TokenType.NUMBER]


def _statements(tokens: list[Token]) -> list[list[Token]]:
    """The tokens of each statement; most texts have no semicolons between them."""
    statements: list[list[Token]] = [[]]
    depth, has_select = 0, False
    for token in tokens:
        words, current = _words(token), statements[-1]
        depth += (words == "(") - (words == ")")
        begins = words == "SELECT" or (words == "WITH" and has_select)
        joined = current and current[-1].text.upper() in ("UNION", "ALL", "EXCEPT", "INTERSECT")
        if depth == 0 and (words in (";", "CREATE") or (begins and has_select and not joined)):
            statements.append([])
            has_select = False
        if depth == 0 and begins:
            has_select = words == "SELECT"
        if depth or words != ";":
            statements[-1].append(token)
        if words == ")" and depth == 0 and statements[-1][0].text.upper() == "CREATE":
            statements.append([])
    return [statement for statement in statements if statement]


def _named(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end)


def _var(token: Token, text: str) -> Token:
    return _named(token, TokenType.VAR, text)


def _function(token: Token, name: str) -> Token:
    return _var(token, f"fn:{name}@{token.start}")


def _parentheses(token: Token, inside: Sequence[Token] = ()) -> list[Token]:
    opening, closing = _named(token, TokenType.L_PAREN, "("), _named(token, TokenType.R_PAREN, ")")
    return [opening, *inside, closing]


def _named_functions(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with functions under their own names, and each OVER with what sqlglot knows of it."""
    named: list[Token] = []
    position = 0

    def words(ahead: int) -> str:
        return tokens[position + ahead].text.upper() if position + ahead < len(tokens) else ""

    while position < len(tokens):
        token = tokens[position]
        quoted = token.token_type in (
            TokenType.IDENTIFIER,
            TokenType.STRING,
            TokenType.NATIONAL_STRING,
        )
        text = "" if quoted else token.text.upper()
        if token.token_type is TokenType.NATIONAL_STRING:
            named.append(_named(token, TokenType.STRING, token.text))
        elif text == "SYSTEM" and words(1) == "." and words(2) in ("TIMESTAMP", "WINDOW"):
            name = SYSTEM_TIMESTAMP if words(2) == "TIMESTAMP" else SYSTEM_WINDOW
            named += _function(token, name), *_parentheses(token)
            position += 5 if words(3) == "(" else 3
            continue
        elif text in ("UDF", "UDA") and words(1) == "." and words(3) == "(":
            named.append(_function(token, f"{token.text.lower()}.{tokens[position + 2].text}"))
            position += 3
            continue
        elif text == "OVER" and words(1) == "(":
            inside, end = _until(list(tokens), position + 2, frozenset({")"}))
            named += [token, tokens[position + 1], *_over(_named_functions(inside))]
            position = end
            continue
        elif text.lower() in TYPES and named and named[-1].text.upper() == "AS":
            named.append(_var(token, token.text))
            if words(1) == "(":
                _, position = _until(list(tokens), position + 2, frozenset({")"}))
        elif (
            text
            and words(1) == "("
            and text.replace("_", "").isalnum()
            and not text[0].isdigit()
            and text not in NO_FUNCTIONS
            and text.lower() not in TYPES
            and not (named and named[-1].text.upper() in ("INTO", "WITH", "TABLE"))
        ):
            named.append(_function(token, token.text))
        elif text == "TIMESTAMP" and words(1) == "BY":
            named.append(_var(token, TIMESTAMP_BY))
            position += 1
        elif token.token_type is not TokenType.VAR and _is_name(text, named, words(1)):
            named.append(_named(token, TokenType.IDENTIFIER, token.text))
        else:
            named.append(token)
        position += 1
    return named


def _is_name(word: str, before: Sequence[Token], after: str) -> bool:
    """Whether a word that sqlglot may know as a keyword is a name, as T-SQL does not reserve it."""
    if not word.replace("_", "").isalpha() or word in RESERVED | LITERALS:
        return False
    if before and before[-1].text.upper() in ("CROSS", "OUTER", "FOR", "CURRENT"):
        return False  # CROSS APPLY, FOR JSON, CURRENT ROW
    frame = after in ("BETWEEN", "UNBOUNDED", "CURRENT") or after.isdigit()
    return not (word in ("ROWS", "RANGE") and frame)


def _over(tokens: list[Token]) -> list[Token]:
    """Return the tokens in the parentheses of an OVER, with the limit and the condition among the partitions."""
    parts: dict[str, list[Token]] = {"": []}
    heads: dict[str, Token] = {}
    part, depth, cases = "", 0, 0
    for token, following in zip(tokens, [*tokens[1:], *tokens[-1:]]):
        words = token.text.upper()
        if words == "LIMIT" and "DURATION" not in following.text.upper():
            words = ""  # a column
        if depth == 0 and cases == 0 and words in ("PARTITION BY", "ORDER BY", "LIMIT", "WHEN"):
            part, heads[words] = words, token
            parts[part] = []
            continue
        depth += (words == "(") - (words == ")")
        cases += (words == "CASE") - (words == "END")
        parts[part].append(token)
    partitions = [parts["PARTITION BY"]] if parts.get("PARTITION BY") else []
    if "LIMIT" in heads and parts["LIMIT"]:
        head, *rest = parts["LIMIT"]
        partitions.append([_function(head, LIMIT), *rest])
    if "WHEN" in heads:
        head = heads["WHEN"]
        partitions.append([_function(head, WHEN), *_parentheses(head, parts["WHEN"])])
    result = list(parts[""])
    for number, partition in enumerate(partitions):
        joint = (TokenType.COMMA, ",") if number else (TokenType.PARTITION_BY, "PARTITION BY")
        result += [_named(partition[0], *joint), *partition]
    if "ORDER BY" in heads:
        result += [heads["ORDER BY"], *parts["ORDER BY"]]
    return result
