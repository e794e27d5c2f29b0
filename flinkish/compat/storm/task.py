"""The objects that a bolt gets when it is prepared: its collector, the context of its task, and state.

Objects of this module belong to a task. A bolt may keep them in its attributes; they are in no checkpoint.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, overload

from flinkish.api.absent import AbsentMethodError
from flinkish.api.arguments import instance, text
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError, NotSupportedError, shown
from flinkish.api.functions.runtime_context import RuntimeContext
from flinkish.api.functions.state import MapState, MapStateDescriptor
from flinkish.api.metrics import Counter
from flinkish.api.output_tag import OutputTag
from flinkish.api.type_variables import K, R, V
from flinkish.compat.storm.tuples import (
    DEFAULT_STREAM,
    Fields,
    GlobalStreamId,
    Grouping,
    TupleSchema,
)

log = logging.getLogger("flinkish.storm")


class OutputFieldsDeclarer:
    """Declares the streams of a bolt (Storm: ``OutputFieldsDeclarer``)."""

    def __init__(self) -> None:
        self.streams: dict[str, Fields] = {}

    def declare(self, *fields: object) -> None:
        """The fields of the default stream, as ``Fields("word", "count")`` or as names. With them
        what the bolt emits in a topology becomes a ``Tuple`` of those names."""
        self.streams[DEFAULT_STREAM] = _fields(fields)

    def declareStream(self, streamId: str, *fields: object) -> None:
        """A stream besides the default one. Behind ``setBolt(bolt, stream)`` it is read with
        ``getSideOutput(OutputTag(streamId))``."""
        self.streams[text("declareStream: streamId", streamId)] = _fields(fields)


def _fields(fields: tuple[object, ...]) -> Fields:
    names: list[Any] = []
    for field in fields:
        names += field if isinstance(field, (tuple, list)) else [field]
    return Fields(*names)


class OutputCollector(Generic[R]):
    """Collects the results of a bolt (Storm: ``OutputCollector``). Spark does the anchoring and acks."""

    def __init__(
        self, component: str, streams: Mapping[str, Fields], inTopology: bool = False
    ) -> None:
        self._component = text("OutputCollector: component", component)
        fix = "Pass the Fields of each stream by its id."
        instance("OutputCollector: streams", streams, Mapping, fix)
        self._schemas = {
            stream: TupleSchema(fields if inTopology else (), component, stream)
            for stream, fields in {DEFAULT_STREAM: (), **streams}.items()
        }
        self._collect: Callable[[Any], None]
        self._output: Callable[[OutputTag[Any], Any], None]

    def _goes_to(
        self,
        collect: Callable[[Any], None],
        output: Callable[[OutputTag[Any], Any], None],
    ) -> None:
        self._collect, self._output = collect, output

    @overload
    def emit(self, value: R, /) -> None: ...

    @overload
    def emit(self, streamId: str, value: object, /) -> None: ...

    @overload
    def emit(self, anchors: object, value: R, /) -> None: ...

    @overload
    def emit(self, streamId: str, anchors: object, value: object, /) -> None: ...

    def emit(self, *arguments: Any) -> None:
        """Emit a value, with the timestamp of the tuple or the end of the window: to the default stream, or to
        the one whose id comes first and that ``declareOutputFields`` declares. Anchors, before the value, have
        no effect.

        Raises InvalidProgramError for a stream that is not declared, and in a topology for more or fewer
        values than the stream has fields.
        """
        *before, value = arguments
        stream = before[0] if before and isinstance(before[0], str) else DEFAULT_STREAM
        schema = self._schemas.get(stream)
        if schema is None:
            raise InvalidProgramError(
                f"{self._component}: emit: no stream {shown(stream)} is declared. Write"
                f" declarer.declareStream({stream!r}) in declareOutputFields(declarer); to anchor a value to a text,"
                " leave the text out."
            )
        emitted = schema.emitted(value)
        if stream == DEFAULT_STREAM:
            self._collect(emitted)
        else:
            self._output(OutputTag(stream), emitted)

    def emitDirect(self, *arguments: object) -> None:
        """Raises NotSupportedError: a stream has no tasks to choose from."""
        raise NotSupportedError(
            f"{self._component}: emitDirect: tasks have no ids here. Emit to a declared stream, and let the"
            " bolts that want it read it with fieldsGrouping."
        )

    def ack(self, input: object) -> None:  # noqa: A002 - Storm's name
        """Accepted, without effect: each tuple counts once."""

    def fail(self, input: object) -> None:  # noqa: A002 - Storm's name
        """Raises NotSupportedError: a single tuple is not replayed."""
        raise NotSupportedError(
            f"{self._component}: fail: a single tuple is not replayed. Raise an exception to repeat the batch,"
            " or emit the tuple to a declared stream for failures."
        )

    def reportError(self, error: object) -> None:
        """Log the error."""
        log.error("%s: %s", self._component, error)


OutputFields = Mapping[str, Mapping[str, Fields]]
"""The fields of each stream of each component of a topology."""


class TopologyContext:
    """The context of a bolt's task (Storm: ``TopologyContext``)."""

    def __init__(
        self,
        component: str,
        context: RuntimeContext,
        groupings: Sequence[Grouping],
        outputs: OutputFields,
    ) -> None:
        self._component, self._context = component, context
        self._groupings, self._outputs = groupings, outputs

    if not TYPE_CHECKING:  # type checkers must see that the method is absent

        def __getattr__(self, name: str) -> object:
            if name.startswith("_"):
                raise AttributeError(name)
            raise AbsentMethodError(
                f"{self._component}: TopologyContext.{name} is not supported: Spark decides where tasks run. There"
                " are getThisSources, getThisInputFields, getComponentOutputFields and the like; state and"
                " metrics are in getRuntimeContext()."
            )

    def getThisComponentId(self) -> str:
        """The id that the bolt was set with."""
        return self._component

    def getThisTaskIndex(self) -> int:
        """The number of the task, from 0."""
        return self._context.getIndexOfThisSubtask()

    getThisTaskId = getThisTaskIndex

    def getComponentId(self, taskId: int) -> str:
        """The id of the component of a task: of this one, as others have no number here.

        Raises IllegalArgumentError for another.
        """
        if taskId != self.getThisTaskId():
            raise IllegalArgumentError(
                f"{self._component}: getComponentId: only the task itself has a number here,"
                f" {self.getThisTaskId()}, not {shown(taskId)}. Write tuple.getSourceComponent() for where a"
                " tuple comes from."
            )
        return self._component

    def getComponentIds(self) -> set[str]:
        """The ids of all spouts and bolts of the topology."""
        return set(self._outputs)

    def getThisStreams(self) -> set[str]:
        """The streams that the bolt emits to."""
        return self.getComponentStreams(self._component)

    def getComponentStreams(self, componentId: str) -> set[str]:
        """The streams that a component emits to. Raises IllegalArgumentError if there is none of that id."""
        if componentId not in self._outputs:
            raise IllegalArgumentError(
                f"{self._component}: there is no component {shown(componentId)}. There are"
                f" {', '.join(sorted(self._outputs))}."
            )
        return set(self._outputs[componentId])

    def getThisSources(self) -> dict[GlobalStreamId, Grouping]:
        """The streams that the bolt reads, and how they are grouped. A bolt that ``setBolt(bolt, stream)``
        sets has none, as those streams have no ids."""
        return {grouping.source: grouping for grouping in self._groupings}

    def getThisInputFields(self) -> dict[str, dict[str, list[str]]]:
        """The fields that the bolt reads: by component, and by stream."""
        fields: dict[str, dict[str, list[str]]] = {}
        for component, stream in self.getThisSources():
            read = self.getComponentOutputFields(component, stream)
            fields.setdefault(component, {})[stream] = read.toList()
        return fields

    def getThisOutputFields(self, streamId: str) -> Fields:
        """The fields that the bolt declares for a stream."""
        return self.getComponentOutputFields(self._component, streamId)

    def getComponentOutputFields(
        self, componentId: str | GlobalStreamId, streamId: str = DEFAULT_STREAM
    ) -> Fields:
        """The fields that a component declares for a stream, none if it declares none. In place of both ids a
        ``GlobalStreamId`` will do.

        Raises IllegalArgumentError if there is no such stream.
        """
        component, stream = (
            componentId if isinstance(componentId, GlobalStreamId) else (componentId, streamId)
        )
        streams = self.getComponentStreams(component)
        if stream not in streams:
            raise IllegalArgumentError(
                f"{self._component}: {component!r} has no stream {shown(stream)}. There are"
                f" {', '.join(sorted(streams))}."
            )
        return self._outputs[component][stream]

    def registerCounter(self, name: str) -> Counter:
        """A counter among the metrics of the job."""
        return self._context.getMetricGroup().counter(name)

    def getRuntimeContext(self) -> RuntimeContext:
        """flinkish's own context, with keyed state and metrics."""
        return self._context


class KeyValueState(Generic[K, V]):
    """State by keys (Storm: the same name), in the checkpoints of the job: of the bolt's one task, or
    with ``fieldsGrouping`` of the values that it groups by."""

    def __init__(self, state: MapState[K, V]) -> None:
        fix = "A stateful bolt gets one by initState(state)."
        self._state = instance("KeyValueState", state, MapState, fix)
        self._loaded, self._used = True, False

    def get(self, key: K, defaultValue: V | None = None) -> V | None:
        """The value of ``key``, or ``defaultValue``."""
        found = self._is_loaded() and self._state.contains(key)
        return self._state.get(key) if found else defaultValue

    def put(self, key: K, value: V) -> None:
        """Set the value of ``key``."""
        if self._is_loaded():
            self._state.put(key, value)

    def delete(self, key: K) -> V | None:
        """Remove ``key`` and return its value."""
        value = self.get(key)
        if self._loaded:
            self._state.remove(key)
        return value

    def __iter__(self) -> Iterator[tuple[K, V]]:
        return iter(list(self._state.entries()) if self._is_loaded() else [])

    iterator = __iter__

    def _is_used_by(self, initState: Callable[[KeyValueState[K, V]], None]) -> bool:
        """Call ``initState`` before there is state, which is empty for it; whether it used the state."""
        self._loaded = False
        try:
            initState(self)
        finally:
            self._loaded = True
        return self._used

    def _is_loaded(self) -> bool:
        self._used = self._used or not self._loaded
        return self._loaded


def key_value_state(context: RuntimeContext) -> KeyValueState[Any, Any]:
    """The state of a stateful bolt."""
    return KeyValueState(context.getMapState(MapStateDescriptor[Any, Any]("storm-state")))
