"""Every error that flinkish raises on purpose, in one place.

Each message names the operator, the value at fault and the mend, so that a user never has to
read flinkish's own source to go on. Beside these a user meets only what Python itself raises at such
places: KeyError and AttributeError of a ``Row``, TimeoutError of a wait, and TypeError where a class
lacks an abstract method.
"""

from __future__ import annotations

from contextvars import ContextVar

_SHOWN = 300

_hidden: ContextVar[bool] = ContextVar("hideElementsInErrors", default=False)


def hide_elements(hidden: bool) -> None:
    """Whether errors made from now on in this thread show no values, but their types only
    (``ExecutionConfig.hideElementsInErrors``)."""
    _hidden.set(hidden)


def shown(value: object) -> str:
    """``repr(value)``, cut so that an error message stays readable; its type where elements are
    hidden."""
    if _hidden.get():
        return f"of type {type(value).__qualname__} (hidden)"
    try:
        text = repr(value)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a broken __repr__ must not hide the error being reported
        text = f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"


def said_by(error: BaseException) -> str:
    """What ``error`` is and says; where elements are hidden, which it may quote, what it is."""
    name = type(error).__name__
    if _hidden.get():
        return f"{name} (its message is hidden)"
    try:
        message = str(error)
    except Exception as raised:
        message = f"<its message raises {type(raised).__name__}>"
    return f"{name}: {message}" if message else name


class FlinkishError(Exception):
    """Base of all errors that flinkish raises on purpose."""


class IllegalArgumentError(FlinkishError, ValueError):
    """An argument is outside its range (Flink: ``IllegalArgumentException``)."""


class InvalidProgramError(FlinkishError):
    """The pieces of a job do not fit together (Flink: ``InvalidProgramException``)."""


class UnfitElementError(InvalidProgramError):
    """An element, or what a function returned for one, that an operator cannot work with."""

    def __init__(self, reason: str, operator: str | None = None) -> None:
        super().__init__(reason, operator)
        self.reason, self.operator = reason, operator

    def at(self, operator: str) -> UnfitElementError:
        """The same, with the operator named where nobody has named it yet."""
        return self if self.operator else UnfitElementError(self.reason, operator)

    def __str__(self) -> str:
        return f"{self.operator}: {self.reason}" if self.operator else self.reason


class IllegalStateError(FlinkishError):
    """A method was called at a time it has no meaning (Flink: ``IllegalStateException``)."""


class NotSupportedError(FlinkishError):
    """A Flink feature that flinkish refuses, with what to use instead."""


class MissingTimestampError(FlinkishError):
    """An element without a timestamp reached an operator that works in event time."""

    def __init__(self, operator: str, element: object) -> None:
        super().__init__(operator, element)
        self.operator, self.element = operator, element
        self._shown = shown(element)

    def __str__(self) -> str:
        return (
            f"{self.operator}: the element {self._shown} has no timestamp, and this operator"
            " works in event time. Call assignTimestampsAndWatermarks(strategy) on the stream before"
            " it, with a strategy that has a timestamp assigner (withTimestampAssigner)."
        )


class UnstableKeyError(FlinkishError, TypeError):
    """A key whose state could not be found again: its hash differs between Python processes, or it
    is NaN, which is not equal to itself. ``reason`` says what else is wrong with it."""

    def __init__(self, key: object, reason: str | None = None) -> None:
        super().__init__(key, reason)
        self.key, self.reason = key, reason
        self._shown = shown(key)

    def __str__(self) -> str:
        if self.reason is not None:
            return (
                f"keyBy: the key {self._shown} of type {type(self.key).__name__} cannot be hashed:"
                f" {self.reason}. Let the key selector return a plain value of it, such as a text."
            )
        if _differs_from_itself(self.key):
            return (
                f"keyBy: the key {self._shown}, or a part of it, is not equal to itself, so its"
                " state could not be found again. Give None or a text in its place."
            )
        return (
            f"keyBy: the key {self._shown} of type {type(self.key).__name__} cannot be hashed the"
            " same way in every process. Use None, bool, int, float, str, bytes, Decimal, date,"
            " datetime, timedelta, UUID, an Enum, or a tuple, frozenset, NamedTuple or frozen"
            " dataclass of these."
        )


def _differs_from_itself(key: object) -> bool:
    try:
        return bool(key != key)
    except Exception:  # a broken __eq__ must not hide the error being reported
        return False


class MalformedRecordError(FlinkishError, ValueError):
    """A record of a source does not fit the schema that the job reads it with."""


class UserFunctionError(FlinkishError):
    """A user function raised. On the harness the original exception is the ``__cause__``; on Spark,
    where that stays in the worker, the user's lines of its traceback are a note.

    It names the element, or the ``method`` that was called without one, such as ``open()``."""

    def __init__(
        self, operator: str, element: object, reason: str, method: str | None = None
    ) -> None:
        super().__init__(operator, element, reason, method)
        self.operator, self.element, self.reason, self.method = operator, element, reason, method

    @classmethod
    def of(
        cls, operator: str, element: object, cause: BaseException, method: str | None = None
    ) -> UserFunctionError:
        """The error of ``cause``, raised by the user function of ``operator`` on ``element``, or in
        ``method``."""
        return cls(operator, shown(element), said_by(cause), method)

    def __str__(self) -> str:
        where = f"in {self.method}" if self.method else f"on the element {self.element}"
        return f"{self.operator}: the user function raised {self.reason} {where}"


class JavaNotFoundError(FlinkishError):
    """There is no Java that Spark can run on."""


class IncompatibleCheckpointError(FlinkishError):
    """The job differs from the one that the checkpoint is of, in a way that loses state."""


class CorruptCheckpointError(FlinkishError):
    """A file of a checkpoint, or a page of its state, cannot be read."""


class CheckpointStorageError(FlinkishError):
    """The directory of a checkpoint cannot be written or read."""


class JobExecutionError(FlinkishError):
    """A job failed for a reason that is not a user function's (Flink: ``JobExecutionException``)."""


class ChangedAttributeWarning(FlinkishError, UserWarning):
    """A user function has changed an attribute after ``open()``, which is undone before the next batch.

    ``owner`` is the function's class, or the name of a plain function, ``attribute`` the attribute, or
    the variable that the plain function refers to.
    """

    def __init__(self, operator: str, owner: str, attribute: str) -> None:
        super().__init__(operator, owner, attribute)
        self.operator, self.owner, self.attribute = operator, owner, attribute

    def __str__(self) -> str:
        return (
            f"{self.operator}: {self.owner}.{self.attribute} was changed while elements were processed."
            " What a function keeps in itself is lost: it is set back before the next batch. Keep it in"
            " keyed state (getRuntimeContext().getState or getMapState, after keyBy), or in a broadcast"
            " state if every task needs it; set in open() what can be made anew, with"
            " functools.lru_cache for a cache."
        )
