"""The logical graph of a job: sources, operators and sinks as nodes, and edges between them.

Unions, partitionings and side outputs are folded into the edges. Each node has an identity
(``uid``) that depends on what the node does, with which function, and on the stateful nodes before
it, never on a position alone, so that state is found again after a harmless edit.
"""

from __future__ import annotations

import hashlib
import pickle
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Any, Union

from flinkish.api.connectors.file_source import FileSource
from flinkish.api.connectors.kafka.source import KafkaSource
from flinkish.api.connectors.sink import Sink
from flinkish.api.connectors.source import (
    CollectionSource,
    DataFrameSource,
    DataGeneratorSource,
    Source,
)
from flinkish.api.connectors.table_source import TableSource
from flinkish.api.errors import InvalidProgramError
from flinkish.api.functions.functions import Function
from flinkish.api.pickled_functions import dumps
from flinkish.api.plan.operators import OperatorDescription
from flinkish.api.plan.output_types import output_type
from flinkish.api.plan.partitioning import HashPartitioning, Partitioning
from flinkish.api.plan.state_form import StateForm
from flinkish.api.plan.transformations import (
    OneInputTransformation,
    PartitionTransformation,
    SideOutputTransformation,
    SinkTransformation,
    SourceTransformation,
    Transformation,
    TwoInputTransformation,
    UnionTransformation,
    reachable,
)
from flinkish.api.program_classes import ProgramClasses
from flinkish.api.types.type_info import TypeInformation, Types
from flinkish.graph.identities import (
    NO_IDENTITIES,
    Fingerprint,
    Identities,
    NodeIdentity,
    function_name,
    matched,
)

NodeContent = Union[Source[Any], OperatorDescription, Sink[Any]]


@dataclass(frozen=True)
class StreamEdge:
    """The path of elements from one node to another. ``inputIndex``: the number of the target's
    input; ``channel``: the number of the edge among those into that input."""

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
    identity: NodeIdentity | None = None
    """The identity by which a checkpoint finds the node, if the node may have state there."""
    earlierStates: tuple[tuple[str, str, str], ...] = ()
    """The states that the node's functions had in the checkpoint that the job continues from."""
    uidHash: str | None = None
    """The node's uid in the savepoint that the job begins from, if it was another."""

    @property
    def elementType(self) -> TypeInformation[Any]:
        """The type of the elements; for a sink, of its input."""
        return self.outputType or Types.PICKLED_BYTE_ARRAY()

    @property
    def operator(self) -> OperatorDescription:
        """The description of the operator; only operators have one."""
        if not isinstance(self.content, OperatorDescription):
            raise TypeError(f"{self.name} is not an operator")
        return self.content

    @property
    def isSource(self) -> bool:
        return isinstance(self.content, Source)

    @property
    def isSink(self) -> bool:
        return isinstance(self.content, Sink)

    @property
    def isStateful(self) -> bool:
        """Whether the node needs a separate stage, after a shuffle."""
        return isinstance(self.content, OperatorDescription) and self.content.stateful

    @property
    def seesTime(self) -> bool:
        """Whether the node's function may ask for the watermark and the clock."""
        return isinstance(self.content, OperatorDescription) and self.content.seesTime

    @property
    def generatesWatermarks(self) -> bool:
        """Whether the node's watermarks are its own, whatever those of its input are."""
        return isinstance(self.content, OperatorDescription) and self.content.generatesWatermarks


class StreamGraph:
    """All nodes of a job, in an order in which every node comes after its inputs."""

    def __init__(self, nodes: dict[str, StreamNode]) -> None:
        self._nodes = nodes

    @classmethod
    def of(cls, ends: Sequence[Transformation], earlier: Identities = NO_IDENTITIES) -> StreamGraph:
        """The graph of everything that ``ends`` need. ``earlier``: the identities in the checkpoint
        that the job continues from; nodes get the uids that they had there. Raises
        IncompatibleCheckpointError if the matches are ambiguous."""
        return _StreamGraphGenerator(ends, earlier).generate()

    def identities(self) -> dict[str, NodeIdentity]:
        """The identities by which a checkpoint finds the nodes that have state in it."""
        return {
            node.uid: node.identity
            for node in self
            if node.identity is not None and (node.isSource or node.isStateful)
        }

    def classes(self) -> ProgramClasses:
        """The classes of the program that functions, and a user's sources and sinks, refer to."""
        return ProgramClasses.of(chain.from_iterable(map(_references, self)))

    def __iter__(self) -> Iterator[StreamNode]:
        return iter(self._nodes.values())

    def __len__(self) -> int:
        return len(self._nodes)

    def node(self, uid: str) -> StreamNode:
        return self._nodes[uid]


@dataclass(frozen=True)
class _Origin:
    """A node whose output is passed on, with the partitioning and side output."""

    transformation: Transformation
    partitioning: Partitioning | None = None
    sideOutput: str | None = None


class _StreamGraphGenerator:
    def __init__(self, ends: Sequence[Transformation], earlier: Identities) -> None:
        self._transformations = sorted(
            (t for t in reachable(ends) if not isinstance(t, _VIRTUAL)), key=lambda t: t.id
        )
        self._earlier = earlier
        self._identities: dict[int, NodeIdentity] = {}
        self._uids: dict[int, str] = {}
        self._nodes: dict[str, StreamNode] = {}
        self._functions: dict[int, Function] = {}

    def generate(self) -> StreamGraph:
        self._find_uids()
        for transformation in self._transformations:
            self._add(transformation)
        # Spark identifies sources by their positions: those in the checkpoint keep theirs
        known = [uid for uid in self._earlier if uid in self._nodes and self._nodes[uid].isSource]
        nodes = {uid: self._nodes[uid] for uid in (*known, *self._nodes)}
        return StreamGraph(nodes)

    def _add(self, transformation: Transformation) -> None:
        uid = self._uids[transformation.id]
        known = transformation.uidHash or uid
        is_sink = isinstance(transformation, SinkTransformation)
        node = StreamNode(
            uid,
            transformation.name,
            self._with_own_functions(transformation.name, _content(transformation)),
            parallelism=transformation.parallelism,
            # Workers do not need the types of operators' results; a sink derives its columns from its type
            outputType=output_type(transformation) if is_sink else None,
            description=transformation.description,
            identity=self._identities.get(transformation.id),
            earlierStates=self._earlier[known].states if known in self._earlier else (),
            uidHash=transformation.uidHash,
        )
        self._nodes[uid] = node
        for index, source in enumerate(transformation.inputs):
            for channel, origin in enumerate(_origins(source)):
                edge = StreamEdge(
                    sourceUid=self._uids[origin.transformation.id],
                    targetUid=uid,
                    inputIndex=index,
                    channel=channel,
                    partitioning=origin.partitioning,
                    sideOutput=origin.sideOutput,
                )
                node.inputs.append(edge)
                self._nodes[edge.sourceUid].outputs.append(edge)

    def _with_own_functions(self, name: str, content: NodeContent) -> NodeContent:
        """``content``, copied if an earlier operator has one of its functions: as in Flink, a
        function's attributes and runtime context belong to one operator."""
        if not isinstance(content, OperatorDescription):
            return content
        functions = [f for f in content.userFunctions if isinstance(f, Function)]
        met_before = [function for function in functions if id(function) in self._functions]
        self._functions.update((id(function), function) for function in functions)
        if not met_before:
            return content
        try:
            copied: NodeContent = pickle.loads(dumps(content))
        except Exception as error:
            raise InvalidProgramError(
                f"{name}: another operator has the same {type(met_before[0]).__name__}, and it cannot"
                f" be copied ({type(error).__name__}: {error}). Pass each operator a separate"
                " instance."
            ) from error
        return copied

    def _find_uids(self) -> None:
        """Give every node its uid. An automatic uid depends on the uids of the stateful nodes
        before the node, and on all nodes of its group."""
        explicit: dict[str, Transformation] = {}
        depths: dict[int, int] = {}
        by_depth: dict[int, list[Transformation]] = defaultdict(list)
        for transformation in self._transformations:
            uid = transformation.uid
            if uid is not None:
                if uid in explicit:
                    raise InvalidProgramError(
                        f"the uid {uid!r} is given to two operators; one of them is"
                        f" {transformation.name!r}. Each needs a different uid."
                    )
                explicit[uid] = transformation
                self._uids[transformation.id] = uid
            origins = chain.from_iterable(map(_origins, transformation.inputs))
            depth = max(
                (depths[o.transformation.id] + _is_anchor(o.transformation) for o in origins),
                default=0,
            )
            depths[transformation.id] = depth
            by_depth[depth].append(transformation)
        taken = {*explicit, *self._earlier}
        for depth in sorted(by_depth):
            groups: dict[str, list[Transformation]] = defaultdict(list)
            for transformation in by_depth[depth]:
                group = None
                if transformation.uid is None:
                    group = self._group(transformation)
                    groups[group].append(transformation)
                if _may_keep(transformation):
                    self._identities[transformation.id] = self._identity(transformation, group)
            for group, members in groups.items():
                self._find_uids_of_group(group, members, taken)

    def _find_uids_of_group(
        self, group: str, members: Sequence[Transformation], taken: set[str]
    ) -> None:
        uids: list[str | None] = [None] * len(members)
        hashes = {t.uidHash for t in self._transformations if t.uidHash is not None}
        explicit = {*self._uids.values(), *hashes}
        earlier = {
            uid: identity
            for uid, identity in self._earlier.items()
            if identity.group == group and uid not in explicit
        }
        if earlier:
            uids = matched(group, earlier, [self._identities[t.id] for t in members])
        number = 1
        for transformation, uid in zip(members, uids):
            while uid is None:
                candidate = group if number == 1 else f"{group}-{number}"
                uid = None if candidate in taken else candidate
                number += 1
            taken.add(uid)
            self._uids[transformation.id] = uid

    def _group(self, transformation: Transformation) -> str:
        """The beginning of an automatic uid: what the node does, with which function, and where."""
        content = _content(transformation)
        anchors = sorted(set(self._anchors(transformation)))
        path = f"{content.kind}({','.join(anchors)})"
        if _may_keep(transformation):
            path = f"{_function_of(content)} {path}"
        return f"{content.kind}-{hashlib.sha256(path.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"

    def _anchors(self, transformation: Transformation) -> Iterator[str]:
        """The uids of the nearest stateful operators and sources before ``transformation``."""
        for index, source in enumerate(transformation.inputs):
            for origin in _origins(source):
                suffix = f"[{origin.sideOutput}]" if origin.sideOutput else ""
                if _is_anchor(origin.transformation):
                    yield f"{index}:{self._uids[origin.transformation.id]}{suffix}"
                else:
                    for anchor in self._anchors(origin.transformation):
                        yield f"{anchor}{suffix}"

    def _identity(self, transformation: Transformation, group: str | None) -> NodeIdentity:
        content = _content(transformation)
        partitionings = [
            origin.partitioning
            for source in transformation.inputs
            for origin in _origins(source)
            if isinstance(origin.partitioning, HashPartitioning)
        ]
        return NodeIdentity(
            transformation.name,
            group,
            _function_of(content),
            Fingerprint.of(_settings_of(content), [keyed.keySelector for keyed in partitionings]),
            tuple(_upstream(transformation)),
            form=_form(content, partitionings),
        )


def _is_anchor(transformation: Transformation) -> bool:
    """Whether the uids of the nodes after this one depend on it."""
    content = _content(transformation)
    stateful = isinstance(content, OperatorDescription) and content.stateful
    return isinstance(content, Source) or stateful or transformation.uid is not None


def _may_keep(transformation: Transformation) -> bool:
    """Whether a checkpoint may have state of the node under its uid."""
    content = _content(transformation)
    if isinstance(content, OperatorDescription):
        return content.stateful or content.seesTime
    return isinstance(content, Source)


def _function_of(content: NodeContent) -> str:
    if isinstance(content, OperatorDescription):
        return " ".join(function_name(f) for f in content.userFunctions if f is not None)
    if isinstance(content, DataGeneratorSource):
        return function_name(content.generator)
    return ""


def _form(content: NodeContent, keyedBy: Sequence[HashPartitioning]) -> StateForm | None:
    if not isinstance(content, OperatorDescription):
        return None
    return content.stateForm(next((keyed.keyType for keyed in keyedBy if keyed.keyType), ""))


def _settings_of(content: NodeContent) -> Any:
    """The settings that distinguish two nodes of one kind and function."""
    if isinstance(content, OperatorDescription):
        return content.userFunctions
    if isinstance(content, CollectionSource):
        values = content.values
        return len(values), list(values[:_MOST_SHOWN]), list(values[-_MOST_SHOWN:])
    if isinstance(content, DataFrameSource):
        return content.dataframe.columns
    if isinstance(content, FileSource):
        return content.format, content.path
    if isinstance(content, KafkaSource):
        # Not its properties: a password may change, and must not be stored
        return content.servers, content.subscription, content.deserializer
    return [getattr(content, setting.name) for setting in fields(content)]


def _upstream(transformation: Transformation) -> Iterator[Fingerprint]:
    """The fingerprints of the stateless operators from the nearest anchors on."""
    for source in transformation.inputs:
        for origin in _origins(source):
            if not _is_anchor(origin.transformation):
                content = _content(origin.transformation)
                yield Fingerprint.of(content.kind, _settings_of(content))
                yield from _upstream(origin.transformation)


_MOST_SHOWN = 20

_ELEMENTS_LOOKED_AT = 100
"""The number of elements of a collection that are searched for classes in advance."""


def _references(node: StreamNode) -> Iterator[object]:
    """The objects of ``node`` that may refer to classes of the program."""
    yield [edge.partitioning for edge in node.inputs]
    content = node.content
    if isinstance(content, CollectionSource):
        yield list(content.values[:_ELEMENTS_LOOKED_AT])
    elif isinstance(content, (TableSource, DataFrameSource)):
        return  # elements of built-in types
    elif not node.isSink or not type(content).__module__.startswith("flinkish."):
        # Objects that stay on the driver, such as the function of a sink, may refer to anything
        yield content


_VIRTUAL = (UnionTransformation, PartitionTransformation, SideOutputTransformation)


def _origins(transformation: Transformation) -> Iterator[_Origin]:
    """The real nodes behind a transformation, with the partitionings and side outputs of the virtual ones between."""
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
