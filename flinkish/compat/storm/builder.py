"""Topologies: spouts and bolts by name, and the streams that they read."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from flinkish.api.arguments import instance, positive, text
from flinkish.api.connectors.sink import DiscardingSink
from flinkish.api.environment.environment import StreamExecutionEnvironment
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError, NotSupportedError, shown
from flinkish.api.execution.client import JobExecutionResult
from flinkish.api.output_tag import OutputTag
from flinkish.api.streams.data_stream import DataStream
from flinkish.api.suggestions import suggestion_or_all
from flinkish.api.types.fields import field_getter
from flinkish.compat.storm.bolts import Bolt
from flinkish.compat.storm.config import WindowSettings, check_names
from flinkish.compat.storm.join_bolt import JoinBolt
from flinkish.compat.storm.task import OutputFields
from flinkish.compat.storm.topology import BaseWindowedBolt
from flinkish.compat.storm.tuples import (
    DEFAULT_STREAM,
    Fields,
    GlobalStreamId,
    Grouping,
    TupleSchema,
    delivered,
)


class _Declarer:
    """The settings of spouts and bolts (Storm: ``ComponentConfigurationDeclarer``)."""

    def __init__(self) -> None:
        self._settings: dict[str, Any] = {}

    def addConfiguration(self, config: str, value: object) -> Self:
        """A setting of this component, by the names of ``Config``."""
        return self.addConfigurations({text("addConfiguration", config): value})

    def addConfigurations(self, conf: Mapping[str, object]) -> Self:
        """The same for several."""
        fix = "Pass a dict or a Config."
        check_names(instance("addConfigurations", conf, Mapping, fix))
        self._settings.update(conf)
        return self

    def setNumTasks(self, val: int) -> Self:
        """Accepted, without effect: Spark divides the work."""
        positive("setNumTasks", val)
        return self

    def setMaxTaskParallelism(self, val: int) -> Self:
        """Accepted, without effect."""
        positive("setMaxTaskParallelism", val)
        return self

    def setMaxSpoutPending(self, val: int) -> Self:
        """Accepted, without effect: a source limits its batches."""
        positive("setMaxSpoutPending", val)
        return self

    def setDebug(self, debug: bool) -> Self:
        """Accepted, without effect."""
        return self


class SpoutDeclarer(_Declarer):
    """A spout that has been set (Storm: the same name)."""

    def __init__(self, component: str, stream: DataStream[Any], fields: Fields) -> None:
        super().__init__()
        self._schema, self._stream = TupleSchema(fields, component, DEFAULT_STREAM), stream

    def _output_fields(self) -> Mapping[str, Fields]:
        return {DEFAULT_STREAM: Fields(*self._schema.fields)}


class BoltDeclarer(_Declarer):
    """A bolt that has been set, and which streams it reads (Storm: the same name).

    A stream is that of a component, the default one unless its id follows.
    """

    def __init__(self, component: str, bolt: Bolt[Any, Any], tasks: int) -> None:
        super().__init__()
        self._component, self._bolt, self._tasks = component, bolt, tasks
        self._groupings: list[Grouping] = []

    def shuffleGrouping(self, componentId: str, streamId: str = DEFAULT_STREAM) -> Self:
        """The tuples go to any task."""
        return self._read("shuffleGrouping", componentId, streamId, spread=True)

    def localOrShuffleGrouping(self, componentId: str, streamId: str = DEFAULT_STREAM) -> Self:
        """The same."""
        return self._read("localOrShuffleGrouping", componentId, streamId, spread=True)

    def noneGrouping(self, componentId: str, streamId: str = DEFAULT_STREAM) -> Self:
        """The same."""
        return self._read("noneGrouping", componentId, streamId, spread=True)

    def globalGrouping(self, componentId: str, streamId: str = DEFAULT_STREAM) -> Self:
        """All tuples go to one task."""
        return self._read("globalGrouping", componentId, streamId)

    def allGrouping(self, componentId: str, streamId: str = DEFAULT_STREAM) -> Self:
        """All tasks get all tuples: here the bolt is one task then, and gets each tuple once."""
        return self._read("allGrouping", componentId, streamId)

    def fieldsGrouping(self, componentId: str, *streamIdAndFields: Any) -> Self:
        """``(component, Fields(...))`` or ``(component, streamId, Fields(...))``: tuples with the same values
        go to the same task. A windowed bolt has separate windows for each of them."""
        stream, *fields = (
            streamIdAndFields
            if len(streamIdAndFields) == 2
            else (DEFAULT_STREAM, *streamIdAndFields)
        )
        if len(fields) != 1 or not isinstance(fields[0], (Fields, str)) or not fields[0]:
            raise IllegalArgumentError(
                f"fieldsGrouping: {shown(streamIdAndFields)} will not do. Pass the component, the id of"
                ' a stream if it is not the default one, and Fields("user").'
            )
        given = fields[0] if isinstance(fields[0], Fields) else Fields(fields[0])
        return self._read("fieldsGrouping", componentId, stream, fields=given)

    def directGrouping(self, componentId: str, streamId: str = DEFAULT_STREAM) -> Self:
        """Raises NotSupportedError."""
        raise NotSupportedError(
            "directGrouping: tasks have no ids here. Let the bolt before emit a field that says where a tuple"
            " belongs, and use fieldsGrouping."
        )

    def customGrouping(self, componentId: str, *streamIdAndGrouping: object) -> Self:
        """Raises NotSupportedError."""
        raise NotSupportedError(
            "customGrouping: tasks cannot be chosen here. Let the bolt before emit a field that says where a"
            " tuple belongs, and use fieldsGrouping."
        )

    def partialKeyGrouping(self, componentId: str, *streamIdAndFields: object) -> Self:
        """Raises NotSupportedError."""
        raise NotSupportedError(
            "partialKeyGrouping: a key is in one task here. Use fieldsGrouping; or shuffleGrouping and a bolt"
            " behind it with fieldsGrouping that adds up the partial results."
        )

    def _read(self, method: str, component: str, stream: str, **how: Any) -> Self:
        text(f"{method}: componentId", component)
        text(f"{method}: streamId", stream)
        self._groupings.append(Grouping(GlobalStreamId(component, stream), **how))
        return self

    # ------------------------------------------------------------------ on streams

    def _output_fields(self) -> Mapping[str, Fields]:
        return self._bolt._streams()

    def _set_on(self, topology: StormTopology) -> tuple[DataStream[Any], set[str]]:
        """Set a bolt on its inputs. Return its output, and the ids of its streams."""
        settings = {
            **topology._config,
            **(self._bolt.getComponentConfiguration() or {}),
            **self._settings,
        }
        bolt = copy.copy(self._bolt)
        bolt._component, bolt._configuration = self._component, settings
        bolt._groupings, bolt._outputs = tuple(self._groupings), topology._outputs
        window = WindowSettings.of(settings)
        ids = {*topology._outputs[self._component]}
        if isinstance(bolt, BaseWindowedBolt):
            window.complete(bolt)
            if bolt._late_tag is not None:
                ids.add(bolt._late_tag.getId())
        if not self._groupings:
            raise InvalidProgramError(
                f"{self._component}: it reads no component. Call shuffleGrouping(component) on what setBolt"
                " returns."
            )
        by_fields = all(grouping.fields is not None for grouping in self._groupings)
        # The other groupings depend on the stream of an element, so it becomes a tuple that knows its stream
        by_same_fields = len({grouping.fields for grouping in self._groupings}) == 1
        named = (by_fields and not by_same_fields) or isinstance(bolt, JoinBolt)
        streams = tuple(
            topology.stream(*grouping.source)
            .map(_delivery(grouping.source, named))
            .name(f"{grouping.source.componentId} to {self._component}")
            for grouping in self._groupings
        )
        tasks = self._tasks if all(grouping.spread for grouping in self._groupings) else 1
        return bolt._set_on(streams, _key(self._groupings) if by_fields else None, tasks), ids


def _delivery(source: GlobalStreamId, named: bool) -> Callable[[Any], Any]:
    component, stream = source
    return lambda value: delivered(value, component, stream, named)


def _key(groupings: Sequence[Grouping]) -> Callable[[Any], Any]:
    """The values of the fields that the stream of a tuple is grouped by."""
    getters = {grouping.source: _values_of(grouping.fields or Fields()) for grouping in groupings}
    if len({grouping.fields for grouping in groupings}) == 1:
        return next(iter(getters.values()))
    return lambda value: getters[value.getSourceGlobalStreamId()](value)


def _values_of(fields: Fields) -> Callable[[Any], Any]:
    getters = [field_getter(field) for field in fields]
    if len(getters) == 1:
        return getters[0]
    return lambda value: tuple(get(value) for get in getters)


class StormTopology:
    """The streams of a topology (Storm: the same name): ``topology["bolt"]`` is what that bolt emits, and
    ``topology["bolt", "stream"]`` what it emits to a declared stream.

    A spout or bolt runs if what it emits is read in the end: by a bolt or sink behind it. With
    ``submitTopology`` all run.
    """

    def __init__(
        self, components: Mapping[str, SpoutDeclarer | BoltDeclarer], config: Mapping[str, Any]
    ) -> None:
        fix = "TopologyBuilder().createTopology() makes it."
        self._components = instance("StormTopology", components, Mapping, fix)
        self._config = instance("StormTopology", config, Mapping, fix)
        self._streams: dict[str, tuple[DataStream[Any], set[str]]] = {}
        self._waiting: list[str] = []
        self._outputs: OutputFields = {
            component: {DEFAULT_STREAM: Fields(), **declarer._output_fields()}
            for component, declarer in components.items()
        }
        for component in components:
            self.stream(component)

    def __getitem__(self, component: str | tuple[str, str]) -> DataStream[Any]:
        return self.stream(*(component if isinstance(component, tuple) else (component,)))

    def __contains__(self, component: object) -> bool:
        return component in self._components

    def stream(self, componentId: str, streamId: str = DEFAULT_STREAM) -> DataStream[Any]:
        """The stream of a component. Raises IllegalArgumentError if there is none of that id."""
        text("StormTopology.stream: componentId", componentId)
        text("StormTopology.stream: streamId", streamId)
        if componentId not in self._components:
            raise IllegalArgumentError(
                f"topology: there is no component {shown(componentId)}"
                f"{_read_by(self._waiting)}.{suggestion_or_all(componentId, sorted(self._components))}"
            )
        stream, ids = self._of_component(componentId)
        if streamId not in ids:
            raise IllegalArgumentError(
                f"topology: {componentId!r} has no stream {shown(streamId)}{_read_by(self._waiting)}."
                f"{suggestion_or_all(streamId, sorted(ids))} Declare it with declarer.declareStream({streamId!r}, Fields(...))."
            )
        if streamId == DEFAULT_STREAM:
            return stream
        side: Any = stream
        return side.getSideOutput(OutputTag(streamId))  # type: ignore[no-any-return]

    def _all_run(self) -> StreamExecutionEnvironment:
        """The environment, with a sink behind each component that no bolt reads."""
        read = {
            grouping.source.componentId
            for declarer in self._components.values()
            if isinstance(declarer, BoltDeclarer)
            for grouping in declarer._groupings
        }
        last = [self.stream(component) for component in self._components if component not in read]
        if not last:
            raise InvalidProgramError("submitTopology: the topology is empty. Call setSpout first.")
        for stream in last:
            stream.sinkTo(DiscardingSink())
        return last[0].getExecutionEnvironment()

    def _of_component(self, component: str) -> tuple[DataStream[Any], set[str]]:
        if component not in self._streams:
            if component in self._waiting:
                circle = " -> ".join([*self._waiting[self._waiting.index(component) :], component])
                raise NotSupportedError(
                    f"topology: the bolts read each other in a circle: {circle}. A job on Spark has no loops:"
                    " keep what the loop hands back in state, or send it round through Kafka."
                )
            self._waiting.append(component)
            declarer = self._components[component]
            if isinstance(declarer, SpoutDeclarer):
                emitted = declarer._stream
                if declarer._schema.fields:
                    emitted = emitted.map(declarer._schema.emitted).name(component)
                self._streams[component] = emitted, {DEFAULT_STREAM}
            else:
                self._streams[component] = declarer._set_on(self)
            self._waiting.pop()
        return self._streams[component]


def _read_by(waiting: list[str]) -> str:
    return f", which {waiting[-1]!r} reads" if waiting else ""


class TopologyBuilder:
    """Spouts and bolts by name (Storm: the same name).

    >>> from flinkish.compat.storm.bolts import BaseBasicBolt
    >>> from flinkish.testing import StreamTestHarness
    >>> class Split(BaseBasicBolt):
    ...     def execute(self, input, collector):
    ...         for word in input.getStringByField("sentence").split():
    ...             collector.emit([word])
    ...     def declareOutputFields(self, declarer):
    ...         declarer.declare(Fields("word"))
    >>> def words(sentences):
    ...     builder = TopologyBuilder()
    ...     builder.setSpout("sentences", sentences, fields=Fields("sentence"))
    ...     builder.setBolt("split", Split(), 2).shuffleGrouping("sentences")
    ...     return builder.createTopology()["split"]
    >>> harness = StreamTestHarness(words)
    >>> harness.processElement("the cow")
    >>> [record.value for record in harness.getOutput()]
    [('the',), ('cow',)]
    """

    def __init__(self) -> None:
        self._components: dict[str, SpoutDeclarer | BoltDeclarer] = {}

    def setSpout(
        self,
        id: str,  # noqa: A002 - Storm's name
        spout: DataStream[Any],
        parallelismHint: int | None = None,
        *,
        fields: Fields | None = None,
    ) -> SpoutDeclarer:
        """The elements of a stream are the tuples of a spout. ``fields`` names their values: those of a
        tuple or list in order, of a Row, dict or dataclass by name; a single name that of any other element.

        Raises InvalidProgramError for an object that is not a stream, IllegalArgumentError for an id that is taken.
        """
        self._check(id, "setSpout", parallelismHint)
        fix = (
            "A spout is a stream here: pass env.fromSource(...), which restarts where the last checkpoint"
            " ended, or env.fromCollection(...)."
        )
        instance("setSpout", spout, DataStream, fix)
        if fields is not None:
            instance("setSpout: fields", fields, Fields, 'Pass Fields("word", "count").')
        declarer = SpoutDeclarer(id, spout, Fields() if fields is None else fields)
        self._components[id] = declarer
        return declarer

    def setBolt(
        self,
        id: str,  # noqa: A002 - Storm's name
        bolt: Bolt[Any, Any],
        parallelismHint: int | None = None,
    ) -> BoltDeclarer:
        """Add a bolt. The returned declarer says which streams it reads.

        With a ``parallelismHint`` above 1 a plain bolt that reads with ``shuffleGrouping`` only runs wherever
        there is room, and then keeps nothing in its attributes. Otherwise it is one task, as in Storm.

        Raises InvalidProgramError for an object that is not a bolt, IllegalArgumentError for an id that is taken.
        """
        self._check(id, "setBolt", parallelismHint)
        fix = "Pass a BaseBasicBolt, BaseRichBolt, BaseWindowedBolt or JoinBolt."
        instance("setBolt", bolt, Bolt, fix)
        declarer = BoltDeclarer(id, bolt, 1 if parallelismHint is None else parallelismHint)
        self._components[id] = declarer
        return declarer

    def createTopology(self, config: Mapping[str, Any] | None = None) -> StormTopology:
        """The topology, with the settings of ``config`` for bolts that do not set the same themselves.

        Raises IllegalArgumentError for a bolt that reads a component or a stream that there is not,
        NotSupportedError for bolts that read each other in a circle.
        """
        settings = {} if config is None else config
        instance("createTopology", settings, Mapping, "Pass a Config or a dict, or nothing.")
        check_names(settings)
        return StormTopology(dict(self._components), dict(settings))

    def _check(self, component: str, method: str, hint: int | None) -> None:
        text(f"{method}: id", component)
        if hint is not None:
            positive(f"{method}: parallelismHint", hint)
        if component in self._components:
            raise IllegalArgumentError(
                f"{method}: there is a component {component!r} already. Give each its own id."
            )


class StormSubmitter:
    """Runs topologies (Storm: the same name)."""

    @staticmethod
    def submitTopology(
        name: str, topoConf: Mapping[str, Any], topology: StormTopology
    ) -> JobExecutionResult:
        """Run all spouts and bolts of ``topology``, and whatever else its environment has, until it ends.

        Raises InvalidProgramError if ``topoConf`` has settings of windowed bolts that ``createTopology`` was
        not given, as the windows are made there.
        """
        text("submitTopology: name", name)
        instance("submitTopology", topoConf, Mapping, "Pass a Config or a dict second.")
        instance("submitTopology", topology, StormTopology, "Pass builder.createTopology() third.")
        if WindowSettings.of(topoConf) not in (
            WindowSettings(),
            WindowSettings.of(topology._config),
        ):
            raise InvalidProgramError(
                "submitTopology: the settings of windowed bolts come too late here. Pass them to"
                " builder.createTopology(config)."
            )
        return topology._all_run().execute(name)
