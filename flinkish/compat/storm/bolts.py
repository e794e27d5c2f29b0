"""Bolts, which are called with each tuple or each window, and their life cycle."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic

from flinkish.api.errors import InvalidProgramError
from flinkish.api.functions.adapt import positional_arity, results_of, takes
from flinkish.api.functions.functions import Collector, KeySelectorLike, RichFunction
from flinkish.api.functions.process import (
    KeyedProcessContext,
    KeyedProcessFunction,
    ProcessContext,
    ProcessFunction,
)
from flinkish.api.functions.runtime_context import OpenContext
from flinkish.api.output_tag import OutputTag
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.streams.windowed_stream import constant_key, with_null_keys
from flinkish.api.type_variables import R, T
from flinkish.compat.storm.task import (
    KeyValueState,
    OutputCollector,
    OutputFields,
    OutputFieldsDeclarer,
    TopologyContext,
    key_value_state,
)
from flinkish.compat.storm.tuples import DEFAULT_STREAM, Fields, Grouping


class Bolt(RichFunction, ABC, Generic[T, R]):
    """The base of all bolts (Storm: ``BaseComponent``).

    ``prepare`` may take what Storm's kinds of bolts take: ``(context)``, which is flinkish's own,
    ``(topoConf, context)`` or ``(topoConf, context, collector)``.
    """

    _component: str | None = None
    _configuration: Mapping[str, object] = {}
    _groupings: Sequence[Grouping] = ()
    _outputs: OutputFields | None = None
    _state_is_due = False
    """Whether ``initState`` is to be called again, as it used the state before there was any."""

    def prepare(self, *given: Any, **named: Any) -> None:
        """Called before the first tuple or window, once for as long as a worker keeps the task."""

    def declareOutputFields(self, declarer: OutputFieldsDeclarer) -> None:
        """Declare the fields of the default stream, and further streams that are emitted to."""

    def getComponentConfiguration(self) -> Mapping[str, object] | None:
        """Settings of this bolt, by the names of ``Config``."""
        return None

    def cleanup(self) -> None:
        """Called at the end, as often as ``prepare``."""

    def execute(self, input: Any, *collector: Any, **named: Any) -> Iterable[R] | None:  # noqa: A002 - Storm's name
        """Called with each tuple, or window, as ``execute(input)`` or ``execute(input, collector)``.
        Emits to the collector, or returns or yields the results."""
        return None

    def open(self, openContext: OpenContext) -> None:
        context, streams = self.getRuntimeContext(), self._streams()
        name = self._component or type(self).__name__
        self._collector = OutputCollector[Any](name, streams, self._component is not None)
        self._takes_collector = positional_arity(self.execute) > 1
        outputs = self._outputs or {name: {DEFAULT_STREAM: Fields(), **streams}}
        topology = TopologyContext(name, context, self._groupings, outputs)
        given = self._configuration, topology, self._collector
        arity = positional_arity(self.prepare)
        self.prepare(*(given[:arity] if arity > 1 else (context,) * takes(self.prepare, 1)))
        if isinstance(self, Stateful):
            self._state_is_due = key_value_state(context)._is_used_by(self.initState)

    def close(self) -> None:
        self.cleanup()

    def _streams(self) -> dict[str, Fields]:
        declarer = OutputFieldsDeclarer()
        self.declareOutputFields(declarer)
        return declarer.streams

    @abstractmethod
    def _set_on(
        self, streams: tuple[DataStream[T], ...], key: KeySelectorLike[T, Any] | None, tasks: int
    ) -> SingleOutputStreamOperator[R]:
        """The stream that the bolt emits when it reads ``streams``."""

    def _run(
        self,
        given: Any,
        collect: Callable[[Any], None],
        output: Callable[[OutputTag[Any], Any], None],
    ) -> None:
        """Call ``execute``, with the collector if it takes that."""
        if self._state_is_due and isinstance(self, Stateful):
            # Attributes are part of the checkpoint: this is once in the life of the job, not of the task
            self._state_is_due = False
            self.initState(key_value_state(self.getRuntimeContext()))
        collector = self._collector
        collector._goes_to(collect, output)
        returned = self.execute(given, *(collector,) * self._takes_collector)
        for result in results_of(returned, f"{type(self).__name__}.execute"):
            collector.emit(result)


class Stateful:
    """A bolt with a ``KeyValueState`` (Storm: ``IStatefulComponent``)."""

    def initState(self, state: KeyValueState[Any, Any]) -> None:
        """Called after ``prepare``, to keep the state and to set attributes by it.

        The task has no state before its first tuple, so an ``initState`` that reads or writes it is called
        once more then: the first call finds it empty. What the bolt changes in its attributes is in the
        checkpoints too, so after a restart they are as they were.
        """


class BaseRichBolt(Bolt[T, R]):
    """A bolt that is called with each tuple (Storm: the same name). Results keep the tuple's timestamp.

    What it changes in its attributes is kept from batch to batch and is in the checkpoints: of the one task, or
    with ``fieldsGrouping`` of the keys that hash together.
    """

    def _set_on(
        self, streams: tuple[DataStream[T], ...], key: KeySelectorLike[T, Any] | None, tasks: int
    ) -> SingleOutputStreamOperator[R]:
        if type(self).execute is Bolt.execute:
            raise InvalidProgramError(
                f"setBolt: {type(self).__name__} has nothing to do. Write its execute(input, collector)."
            )
        stream = streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]
        if key is None and tasks > 1 and not isinstance(self, Stateful):
            return stream.process(_SpreadBolt(self)).name(self._component or type(self).__name__)
        keyed = with_null_keys(stream.keyBy(constant_key if key is None else key))
        return keyed.process(_TaskOfBolt(self)).name(self._component or type(self).__name__)


class BaseBasicBolt(BaseRichBolt[T, R]):
    """The same; Storm's acks each tuple individually, which has no meaning here (Storm: the same
    name)."""


class BaseStatefulBolt(Stateful, BaseRichBolt[T, R]):
    """A bolt with a ``KeyValueState`` (Storm: the same name)."""


class _Delegate(RichFunction):
    def __init__(self, bolt: Bolt[Any, Any]) -> None:
        self.bolt = bolt

    def open(self, openContext: OpenContext) -> None:
        self.bolt.setRuntimeContext(self.getRuntimeContext())
        self.bolt.open(openContext)

    def close(self) -> None:
        self.bolt.close()


class _SpreadBolt(_Delegate, ProcessFunction[Any, Any]):
    """A bolt on a stream without keys."""

    def processElement(self, value: Any, ctx: ProcessContext, out: Collector[Any]) -> None:
        self.bolt._run(value, out.collect, ctx.output)


class _TaskOfBolt(_Delegate, KeyedProcessFunction[Any, Any, Any]):
    """A bolt with attributes and state that are kept."""

    def processElement(
        self, value: Any, ctx: KeyedProcessContext[Any], out: Collector[Any]
    ) -> None:
        self.bolt._run(value, out.collect, ctx.output)
