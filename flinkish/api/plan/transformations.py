"""The job as data: a graph of transformations, each pointing at its inputs.

The stream classes only build these; ``graph`` turns them into a plan. Nothing here knows how or
where a job runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Self

from flinkish.api.arguments import instance
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.output_tag import OutputTag
from flinkish.api.plan.partitioning import HashPartitioning, Partitioning
from flinkish.api.types.type_info import TypeInformation

if TYPE_CHECKING:
    from flinkish.api.connectors.sink import Sink
    from flinkish.api.connectors.source import Source
    from flinkish.api.plan.operators import OperatorDescription


_ids = itertools.count(1)


class Transformation:
    """One step of a job (Flink: ``Transformation``)."""

    def __init__(self, name: str, inputs: Sequence[Transformation]) -> None:
        self.id = next(_ids)
        self.name = name
        self.inputs = tuple(inputs)
        self.uid: str | None = None
        self.uidHash: str | None = None
        self.description: str | None = None
        self.parallelism: int | None = None
        self.maxParallelism: int | None = None
        self._outputType: TypeInformation[Any] | None = None

    @property
    def outputType(self) -> TypeInformation[Any] | None:
        """The type of the elements that the user declared, None if it was not declared.

        Setting it raises InvalidProgramError for anything but a TypeInformation.
        """
        return self._outputType

    @outputType.setter
    def outputType(self, outputType: TypeInformation[Any] | None) -> None:
        if outputType is not None:
            fix = "Pass one, such as Types.STRING(), or call returns(str) on the result."
            instance(f"{self.name}: outputType", outputType, TypeInformation, fix)
        self._outputType = outputType

    def copied(self) -> Self:
        """Copy this step, with a new id."""
        own = copy(self)
        own.id = next(_ids)
        return own

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id}, {self.name!r})"


class SourceTransformation(Transformation):
    """A source of the plan."""

    def __init__(self, name: str, source: Source[Any]) -> None:
        super().__init__(name, ())
        self.source = source


def reachable(ends: Iterable[Transformation]) -> list[Transformation]:
    """All that ``ends`` need, each once, the nearest first."""
    found: dict[Transformation, None] = {}
    following = list(ends)
    for step in following:
        if step not in found:
            found[step] = None
            following += step.inputs
    return list(found)


def check_bounded(method: str, end: Transformation, fix: str) -> None:
    """Raise IllegalArgumentError if a source of ``end`` is unbounded, as ``method`` returns only with its end."""
    for step in reachable([end]):
        if isinstance(step, SourceTransformation) and not step.source.bounded:
            raise IllegalArgumentError(
                f"{method}: {step.name!r} is unbounded, so the job does not end, and {method} would not return. {fix}"
            )


class OneInputTransformation(Transformation):
    """An operator with one input."""

    def __init__(self, operator: OperatorDescription, source: Transformation) -> None:
        super().__init__(operator.name, (source,))
        self.operator = operator


class TwoInputTransformation(Transformation):
    """An operator with two inputs that it distinguishes."""

    def __init__(
        self, operator: OperatorDescription, first: Transformation, second: Transformation
    ) -> None:
        super().__init__(operator.name, (first, second))
        self.operator = operator


class SinkTransformation(Transformation):
    """A sink of the plan."""

    def __init__(self, name: str, sink: Sink[Any], source: Transformation) -> None:
        super().__init__(name, (source,))
        self.sink = sink


class UnionTransformation(Transformation):
    """The union of several streams."""

    def __init__(self, inputs: Sequence[Transformation]) -> None:
        super().__init__("Union", inputs)


class PartitionTransformation(Transformation):
    """How the elements of the input are distributed over the tasks that read them."""

    def __init__(self, partitioning: Partitioning, source: Transformation) -> None:
        super().__init__(partitioning.name, (source,))
        self.partitioning = partitioning


class SideOutputTransformation(Transformation):
    """The side output of the input with that tag."""

    def __init__(self, tag: OutputTag[Any], source: Transformation) -> None:
        super().__init__("Side Output", (source,))
        self.tag = tag


def unkeyed(transformation: Transformation) -> Transformation:
    """The transformation before its ``keyBy``, or itself if it has none; for operators that receive all
    elements, whatever their key."""
    while isinstance(transformation, PartitionTransformation) and isinstance(
        transformation.partitioning, HashPartitioning
    ):
        (transformation,) = transformation.inputs
    return transformation
