"""Parses queries to sqlglot's trees, in Flink's dialect: functions keep their names and the order
of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

from sqlglot import exp, parser, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import TokenType

from flinkish.api.errors import InvalidProgramError, NotSupportedError
from flinkish.table.expressions import Place
from flinkish.table.refusals import refusal_of_text

_KEPT = ("EXTRACT", "TRIM", "SUBSTRING", "POSITION", "OVERLAY", "CEIL", "FLOOR")


def _cast(self: Any) -> exp.Expr:
    """``CAST(value AS type)``: the type is kept as a string."""
    name = self._prev.text if self._prev.text != "(" else self._tokens[self._index - 2].text
    value = self._parse_disjunction()
    if not self._match(TokenType.ALIAS):
        self.raise_error("Expected AS")
    return exp.Anonymous(this=name.upper(), expressions=[value, exp.Literal.string(_rest(self))])


def _rest(self: Any) -> str:
    """The text up to the closing parenthesis of the function."""
    begin, depth = self._curr.start, 0
    end = begin
    while self._curr is not None:
        kind = self._curr.token_type
        if kind == TokenType.R_PAREN and depth == 0:
            break
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        end = self._curr.end + 1
        self._advance()
    return str(self.sql[begin:end])


def _with_clauses(name: str) -> Callable[[Any], exp.Expr]:
    """``JSON_VALUE(text, path ...)``: the clauses after the arguments are kept as a string,
    defaults as arguments."""

    def parse(self: Any) -> exp.Expr:
        arguments = [self._parse_disjunction()]
        while self._match(TokenType.COMMA):
            arguments.append(self._parse_disjunction())
        clauses = exp.Literal.string(_rest(self))
        return exp.Anonymous(this=name, expressions=[*arguments, clauses])

    return parse


def _json_object(self: Any) -> exp.Expr:
    """``JSON_OBJECT(KEY key VALUE value, ... NULL ON NULL)``."""
    parts: list[Any] = []
    while self._curr is not None and self._curr.token_type != TokenType.R_PAREN:
        if self._match_text_seq("NULL", "ON", "NULL") or self._match_text_seq(
            "ABSENT", "ON", "NULL"
        ):
            parts.append(exp.Literal.string(self._tokens[self._index - 3].text.upper()))
            break
        self._match_text_seq("KEY")
        parts.append(self._parse_bitwise())
        if not self._match_text_seq("VALUE"):
            self.raise_error("Expected VALUE")
        parts.append(self._parse_bitwise())
        self._match(TokenType.COMMA)
    return exp.Anonymous(this="JSON_OBJECT", expressions=parts)


def _json_array(self: Any) -> exp.Expr:
    parts: list[Any] = []
    mode = exp.Literal.string("ABSENT")
    while self._curr is not None and self._curr.token_type != TokenType.R_PAREN:
        if self._match_text_seq("NULL", "ON", "NULL") or self._match_text_seq(
            "ABSENT", "ON", "NULL"
        ):
            mode = exp.Literal.string(self._tokens[self._index - 3].text.upper())
            break
        parts.append(self._parse_bitwise())
        if self._match_text_seq("NULL", "ON", "NULL") or self._match_text_seq(
            "ABSENT", "ON", "NULL"
        ):
            mode = exp.Literal.string(self._tokens[self._index - 3].text.upper())
            break
        self._match(TokenType.COMMA)
    return exp.Anonymous(this="JSON_ARRAY", expressions=[*parts, mode])


class FlinkSql(Dialect):
    """The dialect of Flink's SQL, as far as stateless queries need it."""

    class Tokenizer(tokens.Tokenizer):
        IDENTIFIERS: ClassVar = ["`"]
        QUOTES: ClassVar = ["'"]
        HEX_STRINGS: ClassVar = [("x'", "'"), ("X'", "'")]
        STRING_ESCAPES: ClassVar = ["'"]

    class Parser(parser.Parser):
        FUNCTIONS: ClassVar = {}
        NO_PAREN_FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = {
            **{name: parser.Parser.FUNCTION_PARSERS[name] for name in _KEPT},
            "CAST": _cast,
            "TRY_CAST": _cast,
            "JSON_VALUE": _with_clauses("JSON_VALUE"),
            "JSON_EXISTS": _with_clauses("JSON_EXISTS"),
            "JSON_QUERY": _with_clauses("JSON_QUERY"),
            "JSON_OBJECT": _json_object,
            "JSON_ARRAY": _json_array,
        }


class Text:
    """The text of a query, and the places of its parts."""

    def __init__(self, sql: str, method: str) -> None:
        self.sql, self.method = sql, method
        dialect = FlinkSql()
        refusal = refusal_of_text(sql)
        if refusal is not None:
            raise self.refused(
                Place(*self._line_and_column(refusal.start), refusal.what), refusal.fix
            )
        try:
            statements = [found for found in dialect.parse(sql) if found is not None]
        except ParseError as error:
            place = error.errors[0]
            raise InvalidProgramError(
                f"{method}, line {place['line']}, column {place['col']}: the query cannot be read at"
                f" {place['highlight']!r} ({place['description'].rstrip('.')})."
            ) from None
        except TokenError as error:
            raise InvalidProgramError(f"{method}: the query cannot be read: {error}") from None
        if len(statements) != 1:
            raise InvalidProgramError(
                f"{method}: pass one query; there are {len(statements)} in the text."
            )
        self.query: exp.Expr = statements[0]

    def place(self, node: exp.Expr) -> Place:
        """The place of ``node``, which is that of its first part."""
        starts = [
            (part.meta["start"], part.meta["end"]) for part in node.walk() if "start" in part.meta
        ]
        if not starts:
            return Place(1, 1, str(node.sql())[:60])
        start = min(starts)[0]
        end = max(end for _, end in starts) + 1
        return Place(*self._line_and_column(start), self.sql[start:end])

    def _line_and_column(self, offset: int) -> tuple[int, int]:
        before = self.sql[:offset]
        return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1

    def error(self, node: exp.Expr, message: str) -> InvalidProgramError:
        """The error for a wrong query."""
        place = self.place(node)
        return InvalidProgramError(f"{self.method}, {place}, at {place.text!r}: {message}")

    def fail(self, node: exp.Expr, message: str) -> NoReturn:
        """Raise the error for a wrong query."""
        raise self.error(node, message)

    def refused(self, place: Place, fix: str) -> NotSupportedError:
        """The error for an unsupported part of a query."""
        return NotSupportedError(f"{self.method}, {place}: {place.text} is not supported. {fix}")

    def refuse(self, node: exp.Expr, what: str, fix: str) -> NoReturn:
        """Raise the error for an unsupported part of a query."""
        place = self.place(node)
        raise self.refused(Place(place.line, place.column, what), fix)
