"""The logical graph of a job: nodes that do something, and edges that say how elements get there.

Unions, partitionings and side outputs are folded into the edges. Each node has an identity
(``uid``) that depends on what it does and on the stateful nodes before it, never on a position, so
that state is found again after a harmless edit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

import cloudpickle

from flinkish.api.connectors.sink import Sink
from flinkish.api.connectors.source import Source
from flinkish.api.errors import InvalidProgramError
from flinkish.api.functions import Function
from flinkish.api.operators import OperatorDescription
from flinkish.api.output_types import output_type
from flinkish.api.partitioning import Partitioning
from flinkish.api.transformations import (
    OneInputTransformation,
    PartitionTransformation,
    SideOutputTransformation,
    SinkTransformation,
    SourceTransformation,
    Transformation,
    TwoInputTransformation,
    UnionTransformation,
)
from flinkish.api.types import TypeInformation, Types

NodeContent = Union[Source[Any], OperatorDescription, Sink[Any]]


@dataclass(frozen=True)
class StreamEdge:
    """How elements go from one node to another.

    ``inputIndex``: which of the target's inputs; ``channel``: which of the edges into that input.
    """

    sourceUid: str
    targetUid: str
    inputIndex: int
    channel: int
    partitioning: Partitioning | None
    sideOutput: str | None


@dataclass(eq=False)
class StreamNode:
    """A source, an operator or a sink."""

    uid: str
    name: str
    content: NodeContent
    inputs: list[StreamEdge] = field(default_factory=list)
    outputs: list[StreamEdge] = field(default_factory=list)
    parallelism: int | None = None
    outputType: TypeInformation[Any] | None = None
    description: str | None = None

    @property
    def elementType(self) -> TypeInformation[Any]:
        """The type of the elements; those of a sink are the ones it gets."""
        return self.outputType or Types.PICKLED_BYTE_ARRAY()

    @property
    def operator(self) -> OperatorDescription:
        """The description of the operator; only operators have one."""
        if not isinstance(self.content, OperatorDescription):
            raise TypeError(f"{self.name} is not an operator")
        return self.content

    @property
    def isSource(self) -> bool:
        """Whether elements begin here."""
        return isinstance(self.content, Source)

    @property
    def isSink(self) -> bool:
        """Whether elements end here."""
        return isinstance(self.content, Sink)

    @property
    def isStateful(self) -> bool:
        """Whether the node needs a stage of its own, after a shuffle."""
        return isinstance(self.content, OperatorDescription) and self.content.stateful

    @property
    def seesTime(self) -> bool:
        """Whether the node's function may ask for the watermark and the clock."""
        return isinstance(self.content, OperatorDescription) and self.content.seesTime


class StreamGraph:
    """All nodes of a job, in an order in which every node comes after its inputs."""

    def __init__(self, nodes: dict[str, StreamNode], uids: dict[int, str]) -> None:
        self._nodes = nodes
        self._uids = uids

    @classmethod
    def of(cls, ends: Sequence[Transformation]) -> StreamGraph:
        """The graph of everything that ``ends`` need."""
        return _StreamGraphGenerator(ends).generate()

    def __iter__(self) -> Iterator[StreamNode]:
        return iter(self._nodes.values())

    def __len__(self) -> int:
        return len(self._nodes)

    def node(self, uid: str) -> StreamNode:
        """The node of that uid."""
        return self._nodes[uid]

    def uidOf(self, transformation: Transformation) -> str:
        """The uid of the node that a transformation became."""
        return self._uids[transformation.id]


@dataclass(frozen=True)
class _Origin:
    """A node whose output a virtual transformation passes on, and how."""

    transformation: Transformation
    partitioning: Partitioning | None = None
    sideOutput: str | None = None


class _StreamGraphGenerator:
    def __init__(self, ends: Sequence[Transformation]) -> None:
        self._transformations = sorted(_reachable(ends), key=lambda t: t.id)
        self._uids: dict[int, str] = {}
        self._nodes: dict[str, StreamNode] = {}
        self._explicit: set[str] = set()
        self._functions: dict[int, Function] = {}

    def generate(self) -> StreamGraph:
        for transformation in self._transformations:
            if not _is_virtual(transformation):
                self._add(transformation)
        return StreamGraph(self._nodes, self._uids)

    def _add(self, transformation: Transformation) -> None:
        uid = self._uid(transformation)
        self._uids[transformation.id] = uid
        node = StreamNode(
            uid,
            transformation.name,
            self._with_own_functions(transformation.name, _content(transformation)),
            parallelism=transformation.parallelism,
            outputType=_element_type(transformation),
            description=transformation.description,
        )
        self._nodes[uid] = node
        for index, source in enumerate(transformation.inputs):
            for channel, origin in enumerate(_origins(source)):
                edge = StreamEdge(
                    self._uids[origin.transformation.id],
                    uid,
                    index,
                    channel,
                    origin.partitioning,
                    origin.sideOutput,
                )
                node.inputs.append(edge)
                self._nodes[edge.sourceUid].outputs.append(edge)

    def _with_own_functions(self, name: str, content: NodeContent) -> NodeContent:
        """``content``, as a copy if an operator before has a function of it already: what a function
        keeps, and its runtime context, are one operator's, as in Flink, where each gets the function
        as bytes."""
        if not isinstance(content, OperatorDescription):
            return content
        functions = [f for f in content.userFunctions if isinstance(f, Function)]
        met_before = [function for function in functions if id(function) in self._functions]
        self._functions.update((id(function), function) for function in functions)
        if not met_before:
            return content
        try:
            copied: NodeContent = cloudpickle.loads(cloudpickle.dumps(content))
        except Exception as error:
            raise InvalidProgramError(
                f"{name}: another operator has the same {type(met_before[0]).__name__}, and it cannot"
                f" be copied ({type(error).__name__}: {error}). Pass each operator an instance of its"
                " own."
            ) from error
        return copied

    def _uid(self, transformation: Transformation) -> str:
        if transformation.uid is not None:
            uid = transformation.uid
            if uid in self._explicit:
                raise InvalidProgramError(
                    f"the uid {uid!r} is given to two operators; one of them is"
                    f" {transformation.name!r}. Each needs a uid of its own."
                )
            self._explicit.add(uid)
            return uid
        kind = type(_content(transformation)).__name__.removesuffix("Description")
        anchors = sorted(set(self._anchors(transformation)))
        path = f"{kind}({','.join(anchors)})"
        stem = f"{kind}-{hashlib.sha256(path.encode()).hexdigest()[:10]}"
        uid, number = stem, 1
        while uid in self._nodes:
            number += 1
            uid = f"{stem}-{number}"
        return uid

    def _anchors(self, transformation: Transformation) -> Iterator[str]:
        """The uids of the nearest stateful operators and sources before ``transformation``."""
        for index, source in enumerate(transformation.inputs):
            for origin in _origins(source):
                node = self._nodes[self._uids[origin.transformation.id]]
                suffix = f"[{origin.sideOutput}]" if origin.sideOutput else ""
                if node.isSource or node.isStateful or origin.transformation.uid is not None:
                    yield f"{index}:{node.uid}{suffix}"
                else:
                    for anchor in self._anchors(origin.transformation):
                        yield f"{anchor}{suffix}"


def _reachable(ends: Iterable[Transformation]) -> set[Transformation]:
    found: set[Transformation] = set()
    open_ends = list(ends)
    while open_ends:
        transformation = open_ends.pop()
        if transformation not in found:
            found.add(transformation)
            open_ends.extend(transformation.inputs)
    return found


def _element_type(transformation: Transformation) -> TypeInformation[Any] | None:
    # What operators give need not go to the workers; a sink makes columns by it.
    return output_type(transformation) if isinstance(transformation, SinkTransformation) else None


def _is_virtual(transformation: Transformation) -> bool:
    return isinstance(
        transformation, (UnionTransformation, PartitionTransformation, SideOutputTransformation)
    )


def _origins(transformation: Transformation) -> Iterator[_Origin]:
    """The real nodes behind a transformation, with what the virtual ones between say."""
    if isinstance(transformation, UnionTransformation):
        for source in transformation.inputs:
            yield from _origins(source)
    elif isinstance(transformation, PartitionTransformation):
        for origin in _origins(transformation.inputs[0]):
            yield _Origin(origin.transformation, transformation.partitioning, origin.sideOutput)
    elif isinstance(transformation, SideOutputTransformation):
        for origin in _origins(transformation.inputs[0]):
            yield _Origin(origin.transformation, None, transformation.tag.getId())
    else:
        yield _Origin(transformation)


def _content(transformation: Transformation) -> NodeContent:
    if isinstance(transformation, SourceTransformation):
        return transformation.source
    if isinstance(transformation, SinkTransformation):
        return transformation.sink
    if isinstance(transformation, (OneInputTransformation, TwoInputTransformation)):
        return transformation.operator
    raise TypeError(f"unknown transformation {transformation!r}")
