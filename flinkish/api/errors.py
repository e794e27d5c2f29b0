"""Every error that flinkish raises on purpose, in one place.

Each message names the operator, the wrong value and the fix, so that a user never has to read the source of
flinkish. The only other errors are those that Python itself raises in such cases: KeyError and
AttributeError of a ``Row``, TimeoutError of a wait, and TypeError for a class that lacks an abstract method.
"""

from __future__ import annotations

from contextvars import ContextVar

_SHOWN = 300

_hidden: ContextVar[bool] = ContextVar("hideElementsInErrors", default=False)


def hide_elements(hidden: bool) -> None:
    """Set whether errors made in this thread show only the types of values, not the values
    (``ExecutionConfig.hideElementsInErrors``)."""
    _hidden.set(hidden)


def elements_hidden() -> bool:
    """Whether values are hidden in this thread."""
    return _hidden.get()


def shown(value: object) -> str:
    """``repr(value)``, shortened to keep an error message readable; only its type if elements are
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
    """The class and message of ``error``; only the class if elements are hidden, as the message may
    quote one."""
    name = type(error).__name__
    if _hidden.get():
        return f"{name} (its message is hidden)"
    try:
        message = str(error)
    except Exception as raised:
        message = f"<its message raises {type(raised).__name__}>"
    return f"{name}: {message}" if message else name


class FlinkishError(Exception):
    """The base of all errors that flinkish raises on purpose."""


class IllegalArgumentError(FlinkishError, ValueError):
    """An argument is outside its range (Flink: ``IllegalArgumentException``)."""


class InvalidProgramError(FlinkishError):
    """The pieces of a job do not fit together (Flink: ``InvalidProgramException``)."""


class MalformedPatternError(InvalidProgramError):
    """A pattern of ``flinkish.cep`` is malformed (Flink:
    ``MalformedPatternException``)."""


class UnfitElementError(InvalidProgramError):
    """An operator cannot process an element, or the result of a function for one."""

    def __init__(self, reason: str, operator: str | None = None) -> None:
        super().__init__(reason, operator)
        self.reason, self.operator = reason, operator

    def at(self, operator: str) -> UnfitElementError:
        """This error with the name of the operator, unless it has one already."""
        return self if self.operator else UnfitElementError(self.reason, operator)

    def __str__(self) -> str:
        return f"{self.operator}: {self.reason}" if self.operator else self.reason


class IllegalStateError(FlinkishError):
    """A method was called at a time when it cannot work (Flink: ``IllegalStateException``)."""


class NotSupportedError(FlinkishError):
    """A feature of Flink that flinkish does not support; the message says what to use instead."""


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
    """A key whose state could not be found again, as its hash differs between Python processes or
    from that of an equal key, or it is NaN, which is not equal to itself. ``reason`` names any other
    cause."""

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
                " state could not be found again. Use a text instead."
            )
        return (
            f"keyBy: the key {self._shown} of type {type(self.key).__name__} cannot be hashed the"
            " same way in every process. Use bool, int, float, str, bytes, Decimal, date, datetime,"
            " timedelta, UUID, an Enum, or a tuple, frozenset, NamedTuple or frozen dataclass of these"
            " and None; no part may be of a class that overrides __eq__ or __hash__."
        )


def _differs_from_itself(key: object) -> bool:
    try:
        return bool(key != key)
    except Exception:  # a broken __eq__ must not hide the error being reported
        return False


class MalformedRecordError(FlinkishError, ValueError):
    """A record of a source does not fit the schema with which the job reads it."""


class UserFunctionError(FlinkishError):
    """A user function raised an exception.

    In the harness that exception is the ``__cause__``. On Spark it stays in the worker, and the
    lines of its traceback in the user's code are added as a note. The error names the element, or
    the ``method`` if there was no element, such as ``open()``.
    """

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


class InternalError(FlinkishError):
    """A fault of flinkish itself: neither the job nor its input is to blame.

    The traceback is in its ``__cause__``, and on Spark in a note.
    """

    @classmethod
    def of(cls, operator: str, cause: BaseException, where: str) -> InternalError:
        """The error of ``cause``, raised at the line ``where`` of flinkish while ``operator`` worked."""
        said = " ".join(said_by(cause)[:_SHOWN].split())  # one line, as Spark passes on no more
        return cls(
            f"{operator}: internal error of flinkish, not of your functions: {said}, at {where}. Please report"
            " it with this message, its traceback, and what the operator does; if the job went on from a savepoint or a"
            " checkpoint, also with what was changed since."
        )


class JavaNotFoundError(FlinkishError):
    """No Java was found on which Spark can run."""


class IncompatibleCheckpointError(FlinkishError):
    """The job differs from the one that wrote the checkpoint in a way that would lose state."""


class CorruptCheckpointError(FlinkishError):
    """A file of a checkpoint, or a page of its state, cannot be read."""


class CheckpointStorageError(FlinkishError):
    """The directory of a checkpoint cannot be written or read."""


class JobExecutionError(FlinkishError):
    """A job failed, but not in a user function (Flink: ``JobExecutionException``)."""


class ProducerFencedError(JobExecutionError):
    """A later run writes with the same transactional id prefix, and this one may not any more
    (Kafka: ``ProducerFencedException``). A restart would only fence the later run in turn, so the
    job ends."""


class ChangedAttributeWarning(FlinkishError, UserWarning):
    """A user function changed an attribute after ``open()``, either before the first shuffle or one
    that cannot be pickled; the change is undone before the next batch.

    ``owner`` is the class of the function, or the name of a plain function; ``attribute`` is the
    attribute, or the variable to which the plain function refers.
    """

    def __init__(self, operator: str, owner: str, attribute: str) -> None:
        super().__init__(operator, owner, attribute)
        self.operator, self.owner, self.attribute = operator, owner, attribute

    def __str__(self) -> str:
        return (
            f"{self.operator}: {self.owner}.{self.attribute} was changed while elements were processed."
            " The change is lost, as attributes are reset before the next batch; only attributes of function"
            " objects after keyBy that can be pickled are kept. Use keyed state (getRuntimeContext().getState"
            " or getMapState, after keyBy), or broadcast state if every task needs the value. Create in"
            " open() what can be created again, with functools.lru_cache for a cache. To see the results in"
            " this program, use executeAndCollect() or forEachBatch(function)."
        )


class DriverResultsWarning(FlinkishError, UserWarning):
    """A batch has brought so many elements to the driver that the cluster waits for the driver.

    ``sink`` is the name of the sink that received them, ``elements`` their number so far.
    """

    def __init__(self, sink: str, elements: int) -> None:
        super().__init__(sink, elements)
        self.sink, self.elements = sink, elements

    def __str__(self) -> str:
        return (
            f"{self.sink}: a batch has brought {self.elements:,} elements to the driver, which must hold them"
            " all and calls the sink alone. Write them from the workers, with sinkTo(sink) or"
            " forEachPartition(function), or let a batch have fewer elements"
            " (env.getConfig().setElementsPerBatch(n))."
        )


class UnboundedPatternWarning(FlinkishError, UserWarning):
    """A pattern has no ``within``, so its partial matches are kept forever. ``pattern`` is its
    text."""

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self.pattern = pattern

    def __str__(self) -> str:
        return (
            f"the pattern {self.pattern} has no within: the state of a key grows with every partial match"
            " that is never completed. Call within(Duration) on it, with the longest time that a match"
            " may take."
        )


class ElementsNeededError(FlinkishError):
    """A window needs elements that the task before the shuffle has folded already.

    No job fails with it: the batch runs again, and from then on elements cross the shuffle one by
    one.
    """
