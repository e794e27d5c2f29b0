"""``SavepointWriter``: builds a savepoint, and changes one (Flink: the class of this name)."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from flinkish.api.arguments import MAX_KEY_GROUPS, instance, positive, text
from flinkish.api.environment.configuration import Configuration
from flinkish.api.environment.environment import StreamExecutionEnvironment
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.savepoint.bootstrap import StateBootstrapTransformation
from flinkish.api.savepoint.reader import OperatorLike, environment_of, uid_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MAX_PARALLELISM = 128
"""Flink's default."""


@dataclass(frozen=True)
class SavepointChanges:
    """The changes that create a savepoint, as data for an engine. ``existing``: the directory of
    the savepoint to change, None for a new one."""

    existing: str | None
    removed: frozenset[str]
    renamed: Mapping[str, str]
    """The new uids of operators by their old ones."""
    added: Mapping[str, StateBootstrapTransformation]
    """How the state of new operators is created, by uid."""


class SavepointWriter:
    """Creates a savepoint from tables, or from another savepoint (Flink: ``SavepointWriter``).

    The methods change this object and return it; nothing is done before ``write``.
    """

    def __init__(
        self, environment: StreamExecutionEnvironment, existing: str | None = None
    ) -> None:
        fix = "Call SavepointWriter.newSavepoint() or SavepointWriter.fromExistingSavepoint(directory)."
        # A copy, as these settings are for this writer only
        self._environment = copy(
            instance("SavepointWriter", environment, StreamExecutionEnvironment, fix)
        )
        self._environment._config = copy(environment._config)
        self._existing = existing
        self._removed: dict[str, None] = {}
        self._renamed: dict[str, str] = {}
        self._added: dict[str, StateBootstrapTransformation] = {}

    @staticmethod
    def newSavepoint(
        environment: StreamExecutionEnvironment | SparkSession | None = None,
        maxParallelism: int = _MAX_PARALLELISM,
    ) -> SavepointWriter:
        """A savepoint without operators. ``environment``: where its state is created, on Spark or by local execution,
        which is the default."""
        writer = SavepointWriter(_environment("SavepointWriter.newSavepoint", environment))
        subject = "SavepointWriter.newSavepoint: maxParallelism"
        writer._environment.setMaxParallelism(positive(subject, maxParallelism, MAX_KEY_GROUPS))
        return writer

    @staticmethod
    def fromExistingSavepoint(
        where: StreamExecutionEnvironment | SparkSession | str, savepointPath: str | None = None
    ) -> SavepointWriter:
        """The savepoint in a directory, to be changed and written to another:
        ``fromExistingSavepoint(directory)`` without Spark, ``fromExistingSavepoint(spark, directory)`` with it.
        """
        method = "SavepointWriter.fromExistingSavepoint"
        if savepointPath is None:
            path = text(f"{method}: savepointPath", where)  # type: ignore[arg-type]
            return SavepointWriter(_environment(method, None), path)
        path = text(f"{method}: savepointPath", savepointPath)
        return SavepointWriter(_environment(method, where), path)

    def withOperator(
        self, operator: OperatorLike, transformation: StateBootstrapTransformation
    ) -> Self:
        """Add an operator, with the state that ``transformation`` creates."""
        uid = uid_of("withOperator", operator)
        fix = "Pass OperatorTransformation.bootstrapWith(data).keyBy(key).transform(function)."
        instance("withOperator", transformation, StateBootstrapTransformation, fix)
        if uid in self._added:
            raise IllegalArgumentError(
                f"withOperator: there is an operator {uid!r} already. Give each its own uid."
            )
        self._added[uid] = transformation
        return self

    def removeOperator(self, operator: OperatorLike) -> Self:
        """Drop an operator, or the position of a source; then another with that uid may be
        added."""
        uid = uid_of("removeOperator", operator)
        if self._added.pop(uid, None) is None:
            self._removed[uid] = None
        return self

    def changeOperatorIdentifier(self, old: OperatorLike, new: OperatorLike) -> Self:
        """Give an operator, or a source, another uid."""
        method = "changeOperatorIdentifier"
        uid, changed = uid_of(method, old), uid_of(method, new)
        if uid in self._added:
            self._added[changed] = self._added.pop(uid)
        else:
            # It may have been renamed before
            first = next((first for first, now in self._renamed.items() if now == uid), uid)
            self._renamed[first] = changed
        return self

    def withConfiguration(self, option: str, value: Any) -> Self:
        """Set an option of Flink's for the job that creates the state, such as
        ``parallelism.default``."""
        key = text("withConfiguration: option", option)
        self._environment.configure(Configuration({key: value}))
        return self

    def write(self, path: str) -> None:
        """Write the savepoint to a directory, which must be new or empty."""
        directory = text("SavepointWriter.write: path", path)
        if self._existing is None and not self._added:
            raise IllegalArgumentError(
                "SavepointWriter.write: the savepoint would be empty. Call withOperator(uid, transformation)."
            )
        changes = SavepointChanges(
            self._existing, frozenset(self._removed), dict(self._renamed), dict(self._added)
        )
        self._environment._executor().writeSavepoint(self._environment, changes, directory)


def _environment(method: str, where: Any) -> StreamExecutionEnvironment:
    if where is None:
        return StreamExecutionEnvironment().setLocalExecution()
    return environment_of(method, where)
