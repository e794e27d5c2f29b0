"""``FunctionSource``: a SourceFunction of Flink 1 as a source."""

from __future__ import annotations

from typing import Any

from flinkish.api.arguments import instance
from flinkish.api.connectors.source import Source
from flinkish.api.errors import NotSupportedError
from flinkish.api.functions.adapt import checked_callable
from flinkish.api.functions.checkpointed import CheckpointedFunction
from flinkish.api.functions.source_function import SourceFunction, SourceFunctionLike
from flinkish.api.type_variables import T_co


class FunctionSource(Source[T_co]):
    """A SourceFunction as a source. It has no position; ``bounded``: whether ``run`` returns
    without being cancelled.

    Raises InvalidProgramError unless ``function`` is a SourceFunction or takes a context, NotSupportedError if it keeps
    its position in a checkpoint.
    """

    kind = "SourceFunction"

    def __init__(self, function: SourceFunctionLike[T_co], bounded: bool = False) -> None:
        given: Any = function.run if isinstance(function, SourceFunction) else function
        self.run = checked_callable("addSource", given, "a SourceFunction or f(context)", 1)
        if isinstance(function, CheckpointedFunction):
            raise NotSupportedError(
                f"addSource: {type(function).__name__} is a CheckpointedFunction, and a SourceFunction has no state here."
                " Derive from Source, and write read(position), whose positions are kept, for fromSource."
            )
        self.function = function
        self._bounded = instance("addSource: bounded", bounded, bool, "Pass True or False.")

    @property
    def bounded(self) -> bool:
        return self._bounded

    @property
    def isUsers(self) -> bool:
        return True

    @property
    def name(self) -> str:
        """The name of the function's class, or of the function."""
        if isinstance(self.function, SourceFunction):
            return type(self.function).__name__
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def cancel(self) -> None:
        """Ask ``run`` to end."""
        if isinstance(self.function, SourceFunction):
            self.function.cancel()
