"""``JdbcSink``: writes to tables of a database by SQL statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Self
from urllib.parse import parse_qsl, urlsplit

from flinkish.api.arguments import instance, secret, text, whole_number
from flinkish.api.connectors.sink import Sink
from flinkish.api.connectors.urls import shown_url
from flinkish.api.errors import IllegalArgumentError, NotSupportedError, shown
from flinkish.api.functions.adapt import checked_callable
from flinkish.api.type_variables import T, T_contra


class PreparedStatement:
    """Takes the values of a statement's parameters ``?``, which are numbered from 1 (Java:
    ``PreparedStatement``)."""

    def __init__(self, count: int) -> None:
        self.values: list[Any] = [None] * whole_number("PreparedStatement: count", count)

    def setObject(self, parameterIndex: int, value: Any) -> None:
        """Set a value, None for NULL."""
        if type(parameterIndex) is not int or not 1 <= parameterIndex <= len(self.values):
            raise IllegalArgumentError(
                f"JdbcSink: there is no parameter {shown(parameterIndex)}; the statement has"
                f" {len(self.values)}, counted from 1. Fix the index, or the statement."
            )
        self.values[parameterIndex - 1] = value

    setString = setInt = setLong = setShort = setByte = setDouble = setFloat = setObject
    setBoolean = setBytes = setDate = setTime = setTimestamp = setBigDecimal = setObject

    def setNull(self, parameterIndex: int, sqlType: object = None) -> None:
        """Set NULL."""
        self.setObject(parameterIndex, None)


StatementBuilder = Callable[[PreparedStatement, Any], None]


@dataclass(frozen=True)
class JdbcExecutionOptions:
    """How statements are executed (Flink: ``JdbcExecutionOptions``): ``batchSize`` of them at a
    time. A transaction that the database aborts for a deadlock is retried up to ``maxRetries``
    times; any other error fails the job. The interval has no effect: statements are executed at the
    end of each batch."""

    batchSize: int = 5_000
    maxRetries: int = 3
    batchIntervalMs: int = 0

    @staticmethod
    def builder() -> JdbcExecutionOptionsBuilder:
        """A builder."""
        return JdbcExecutionOptionsBuilder()

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """5,000 statements at a time."""
        return JdbcExecutionOptions()


class JdbcExecutionOptionsBuilder:
    """Builds ``JdbcExecutionOptions``."""

    def __init__(self) -> None:
        self._size, self._retries, self._interval = 5_000, 3, 0

    def withBatchSize(self, size: int) -> Self:
        """Set how many statements are sent to the database at a time."""
        self._size = whole_number("withBatchSize", size, 1)
        return self

    def withBatchIntervalMs(self, intervalMs: int) -> Self:
        """Accepted, without effect: statements are executed at the end of each batch of the job."""
        self._interval = whole_number("withBatchIntervalMs", intervalMs)
        return self

    def withMaxRetries(self, maxRetries: int) -> Self:
        """Set how often a transaction is retried that the database aborted for a deadlock."""
        self._retries = whole_number("withMaxRetries", maxRetries)
        return self

    def build(self) -> JdbcExecutionOptions:
        """The options."""
        return JdbcExecutionOptions(self._size, self._retries, self._interval)


@dataclass(frozen=True)
class JdbcConnectionOptions:
    """The location of the database (Flink: ``JdbcConnectionOptions``): a JDBC URL of PostgreSQL or SQLite, such as
    ``jdbc:postgresql://localhost:5432/shop`` or ``jdbc:sqlite:/data/shop.db``."""

    url: str = field(repr=False)
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        checked_url(self.url)

    @property
    def isSqlite(self) -> bool:
        """Whether the database is an SQLite file, which allows one writer at a time."""
        return self.url.startswith("jdbc:sqlite:")

    class JdbcConnectionOptionsBuilder:
        """Builds ``JdbcConnectionOptions``."""

        def __init__(self) -> None:
            self._url: str | None = None
            self._username: str | None = None
            self._password: str | None = None

        def withUrl(self, url: str) -> Self:
            """The JDBC URL."""
            self._url = checked_url(url)
            return self

        def withDriverName(self, driverName: str) -> Self:
            """Accepted, without effect: the URL says which database it is."""
            text("withDriverName", driverName)
            return self

        def withUsername(self, username: str) -> Self:
            """The name of the user."""
            self._username = text("withUsername", username)
            return self

        def withPassword(self, password: str) -> Self:
            """The user's password."""
            self._password = secret("withPassword", password, str, "Pass a string.")
            return self

        def withConnectionCheckTimeoutSeconds(self, connectionCheckTimeoutSeconds: int) -> Self:
            """Accepted, without effect."""
            whole_number("withConnectionCheckTimeoutSeconds", connectionCheckTimeoutSeconds)
            return self

        def build(self) -> JdbcConnectionOptions:
            """The options."""
            if self._url is None:
                raise IllegalArgumentError(
                    "JdbcConnectionOptionsBuilder: the URL is missing. Call"
                    ' withUrl("jdbc:postgresql://localhost:5432/shop") before build().'
                )
            return JdbcConnectionOptions(self._url, self._username, self._password)


def checked_url(url: str) -> str:
    """Return ``url``; raises NotSupportedError if flinkish cannot write to that kind of
    database."""
    text("JdbcConnectionOptions: url", url)
    seen = shown(shown_url(url))
    if not url.startswith("jdbc:"):
        raise IllegalArgumentError(
            f"JdbcConnectionOptions: {seen} is no JDBC URL. Pass one such as"
            " jdbc:postgresql://localhost:5432/shop."
        )
    if not url.startswith(("jdbc:postgresql://", "jdbc:sqlite:")):
        raise NotSupportedError(
            f"JdbcConnectionOptions: {seen} is of a database that flinkish does not write to: it"
            " knows PostgreSQL and SQLite. Write forEachBatchDataFrame(function) and Spark's JDBC writer."
        )
    if "@" in urlsplit(url.removeprefix("jdbc:")).netloc:
        raise IllegalArgumentError(
            f"JdbcConnectionOptions: the URL {seen} names a user. Pass the username and the password beside the"
            " URL: withUsername(...), withPassword(...)."
        )
    return url


def postgresql_parameters(options: JdbcConnectionOptions) -> dict[str, Any]:
    """Converts a JDBC URL to libpq's connection parameters.

    >>> postgresql_parameters(JdbcConnectionOptions("jdbc:postgresql://db:5433/shop?sslmode=require", "ann"))
    {'host': 'db', 'port': 5433, 'dbname': 'shop', 'user': 'ann', 'sslmode': 'require'}
    """
    parts = urlsplit(options.url.removeprefix("jdbc:"))
    named = {"host": parts.hostname, "port": parts.port, "dbname": parts.path.removeprefix("/")}
    named |= {"user": options.username, "password": options.password}
    more = dict(parse_qsl(parts.query))
    return {**{key: value for key, value in named.items() if value}, **more}


@dataclass(frozen=True, eq=False)
class JdbcSink(Sink[T_contra]):
    """Writes to a database by executing a statement for each element (Flink: ``JdbcSink``).

    On Spark the workers write to PostgreSQL, each task its part of a batch in one transaction;
    SQLite and local execution have one writer and one transaction for each batch. With exactly
    once, the same transaction writes the number of the batch to the table ``flinkish_writers`` of
    the database, so that a batch that is run again after a crash is recognised and not written
    twice. This works for any statement; for keys that may exist already, state the conflict rule:
    ``INSERT ... ON CONFLICT (id) DO UPDATE SET ...``. PostgreSQL needs
    ``pip install 'flinkish[postgresql]'``.

    >>> from flinkish import JdbcConnectionOptions, JdbcSink
    >>> sink = (
    ...     JdbcSink.builder()
    ...     .withQueryStatement("INSERT INTO totals VALUES (?, ?)", lambda statement, total: (
    ...         statement.setString(1, total.user), statement.setLong(2, total.amount)))
    ...     .buildExactlyOnce(JdbcConnectionOptions("jdbc:sqlite:/tmp/shop.db"))
    ... )
    """

    sql: str
    statementBuilder: StatementBuilder
    executionOptions: JdbcExecutionOptions
    connectionOptions: JdbcConnectionOptions
    exactlyOnce: bool

    @staticmethod
    def builder() -> JdbcSinkBuilder[Any]:
        """A builder."""
        return JdbcSinkBuilder()


class JdbcSinkBuilder(Generic[T]):
    """Builds a ``JdbcSink`` (Flink: ``JdbcSinkBuilder``)."""

    def __init__(self) -> None:
        self._sql: str | None = None
        self._statement_builder: StatementBuilder | None = None
        self._execution = JdbcExecutionOptions()

    def withQueryStatement(
        self, query: str, statementBuilder: StatementBuilder
    ) -> JdbcSinkBuilder[Any]:
        """Set the statement, and ``statementBuilder(statement, element)``, which sets the values of
        its parameters ``?``."""
        self._sql = text("withQueryStatement: query", query)
        form = "f(statement, element)"
        checked_callable("withQueryStatement", statementBuilder, form, 2)
        self._statement_builder = statementBuilder
        return self

    def withExecutionOptions(self, executionOptions: JdbcExecutionOptions) -> Self:
        """How statements are executed."""
        fix = "Pass JdbcExecutionOptions.builder()...build()."
        kind = JdbcExecutionOptions
        self._execution = instance("withExecutionOptions", executionOptions, kind, fix)
        return self

    def buildAtLeastOnce(self, connectionOptions: JdbcConnectionOptions) -> JdbcSink[T]:
        """The sink; a batch that is run again is written again."""
        return self._build("buildAtLeastOnce", connectionOptions, False)

    def buildExactlyOnce(self, connectionOptions: JdbcConnectionOptions) -> JdbcSink[T]:
        """The sink; a batch that is run again is recognised and not written again."""
        return self._build("buildExactlyOnce", connectionOptions, True)

    def _build(
        self, method: str, connectionOptions: JdbcConnectionOptions, exactlyOnce: bool
    ) -> JdbcSink[T]:
        fix = "Pass JdbcConnectionOptions(url, username, password), or what its builder makes."
        instance(method, connectionOptions, JdbcConnectionOptions, fix)
        if self._sql is None or self._statement_builder is None:
            raise IllegalArgumentError(
                f'{method}: the statement is missing. Call withQueryStatement("INSERT INTO ...", f) first.'
            )
        return JdbcSink(
            self._sql, self._statement_builder, self._execution, connectionOptions, exactlyOnce
        )
