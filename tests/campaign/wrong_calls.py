"""Every public callable of flinkish with arguments that it cannot use.

``wrong_calls()`` walks the names of ``flinkish`` and of the packages of ``flinkish.compat``: the
functions, the classes, their static and class methods, and the methods of an instance of each.
"""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import flinkish as fl
import flinkish.compat
from flinkish.api.functions.functions import Function
from flinkish.compat.storm.policies import EvictionPolicy, TriggerPolicy

SEED = 12
COMBINATIONS = 6
"""The number of calls with several wrong arguments at once that are drawn for each callable."""

WRONG: dict[str, Any] = {
    "None": None,
    "an empty text": "",
    "a text": "5",
    "half a surrogate pair": "\ud800",
    "a list": [],
    "a dict": {},
    "an object": object(),
    "-1": -1,
    "0": 0,
    "2**70": 2**70,
    "1.5": 1.5,
    "nan": math.nan,
    "inf": math.inf,
    "True": True,
    "a function of nothing": lambda: 1,
    "a function of nine": lambda a, b, c, d, e, f, g, h, i: 1,
    "a class": dict,
}

STARTS_A_JOB = {
    "execute",
    "executeAsync",
    "executeAndCollect",
    "preview",
    "display",
    "collectAsPandas",
    "collectAsArrow",
    "enableWebUI",
    "webUILoader",
    "createLocalEnvironmentWithWebUI",
    "inItsCell",
    "toDataFrame",
    "fromDataFrame",
    "createLocalEnvironment",
    "getExecutionEnvironment",
}
"""These have separate tests, on Spark."""

CALLED_BY_THE_ENGINE: tuple[type[Any], ...] = (
    fl.BucketAssigner,
    fl.Trigger,
    fl.Evictor,
    fl.WindowAssigner,
    fl.WatermarkGenerator,
    fl.TimestampAssigner,
    Function,
    fl.Collector,
    fl.DeserializationSchema,
    fl.KafkaPartitioner,
    fl.KafkaRecordDeserializationSchema,
    fl.KafkaRecordSerializationSchema,
    fl.KafkaSinkContext,
    fl.SerializationSchema,
    EvictionPolicy,
    TriggerPolicy,
)
"""Methods of these classes are called for every element, with objects of the engine, and so check
nothing."""

CALLED_FOR_EVERY_ELEMENT = {
    "BaseWindowedBolt.process",
    "ContentChangeWindows.changeAt",
    "ContentChangeWindows.changes",
    "EvictableElements.removeFirst",
    "EvictableElements.removeIf",
    "HistogramStatistics.merged",
    "HistogramStatistics.plus",
    "OutputCollector.emit",
    "Row.make",
    "TimeWindow.cover",
    "TimeWindow.intersects",
    "TimeWindow.mergeWindows",
    "EventTimeSessionWindows.mergeWindows",
    "ProcessingTimeSessionWindows.mergeWindows",
    "DynamicEventTimeSessionWindows.mergeWindows",
    "DynamicProcessingTimeSessionWindows.mergeWindows",
    "FieldAggregator.reduce",
}
"""The same, of classes that a user does not derive from."""


@dataclass(frozen=True)
class WrongCall:
    """A call and how to show it."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    shown: str

    def __str__(self) -> str:
        return f"{self.name}({self.shown})"


def wrong_calls() -> list[WrongCall]:
    """All of them, the same in every run."""
    draw = random.Random(SEED)
    return [call for name, function in callables() for call in calls_of(name, function, draw)]


def callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public callable with its name."""
    public = public_names()
    for name, value in public.items():
        if not inspect.isclass(value):
            yield name, value
        elif not issubclass(value, (Enum, BaseException)):
            yield name, value
            yield from own_functions(name, value)
    for instance in instances(public):
        yield from methods_of(instance)


def public_names() -> dict[str, Callable[..., Any]]:
    """Return the callables that a user imports."""
    modules = [
        importlib.import_module(f"flinkish.compat.{module.name}")
        for module in pkgutil.iter_modules(flinkish.compat.__path__)
        if module.ispkg  # a system; what systems share is not public
    ]
    found = {name: getattr(fl, name) for name in (*fl.__all__, *fl._CLASHING)}
    for module in modules:
        for name, value in vars(module).items():
            own = getattr(value, "__module__", "").startswith(module.__name__)
            if not name.startswith("_") and own:
                found[f"{module.__name__.rpartition('.')[2]}.{name}"] = value
    return {name: value for name, value in sorted(found.items()) if is_called(value)}


def is_called(value: object) -> bool:
    """Whether ``value`` is a function, or a class that is no Protocol."""
    return inspect.isroutine(value) or (
        inspect.isclass(value) and not getattr(value, "_is_protocol", False)
    )


def own_functions(name: str, kind: type[Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The static and class methods of ``kind``."""
    for method in dir(kind):
        given = inspect.getattr_static(kind, method)
        if isinstance(given, (staticmethod, classmethod)) and is_called_by_users(kind, method):
            yield f"{name}.{method}", getattr(kind, method)


def methods_of(instance: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The methods of an instance that flinkish defines."""
    kind = type(instance)
    for method in dir(kind):
        given = inspect.getattr_static(kind, method)
        if inspect.isfunction(given) and is_called_by_users(kind, method):
            yield f"{kind.__name__}().{method}", getattr(instance, method)


def is_called_by_users(kind: type[Any], method: str) -> bool:
    """Whether ``method`` is there for a user to call with arguments of his own."""
    function = inspect.unwrap(getattr(kind, method))
    return not (
        method.startswith("_")
        or method in STARTS_A_JOB
        or not getattr(function, "__module__", "").startswith("flinkish")
        or any(issubclass(kind, base) and hasattr(base, method) for base in CALLED_BY_THE_ENGINE)
        or any(f"{base.__name__}.{method}" in CALLED_FOR_EVERY_ELEMENT for base in kind.__mro__)
    )


def instances(public: dict[str, Callable[..., Any]]) -> list[Any]:
    """An instance of every class that one can be made of, as jobs make them."""
    env = fl.StreamExecutionEnvironment().setLocalExecution()
    pairs = env.fromCollection([("a", 1), ("b", 2)])
    keyed = pairs.keyBy(lambda pair: pair[0])
    tumbling = fl.TumblingEventTimeWindows.of(fl.Time.seconds(1))
    descriptor = fl.MapStateDescriptor("rules", str, int)
    made = [
        env,
        env.getConfig(),
        env.getCheckpointConfig(),
        pairs,
        pairs.union(pairs),
        keyed,
        keyed.sum(1),
        pairs.windowAll(tumbling),
        keyed.window(tumbling),
        pairs.connect(pairs),
        keyed.connect(keyed),
        pairs.connect(pairs.broadcast(descriptor)),
        pairs.join(pairs),
        pairs.join(pairs).where(lambda pair: pair[0]),
        pairs.join(pairs).where(lambda pair: pair[0]).equalTo(lambda pair: pair[0]),
        pairs.coGroup(pairs),
        pairs.coGroup(pairs).where(lambda pair: pair[0]),
        pairs.coGroup(pairs).where(lambda pair: pair[0]).equalTo(lambda pair: pair[0]),
        keyed.intervalJoin(keyed),
        keyed.intervalJoin(keyed).between(-1, 1),
        pairs.fullWindowPartition(),
        pairs.print(),
        fl.WatermarkStrategy.noWatermarks(),
        fl.ValueStateDescriptor("x"),
        fl.OutputTag("x"),
        fl.Row(a=1),
        fl.TimeWindow(0, 5),
        fl.FileSource.forLines("/nowhere"),
        fl.FileSink.forCsv("/nowhere"),
        *savepoints(pairs, tumbling),
    ]
    arguments: tuple[tuple[Any, ...], ...] = ((), (1,), (fl.Time.seconds(1),), ("x",), ("x", 1))
    for kind in public.values():
        if inspect.isclass(kind) and not issubclass(kind, (Enum, BaseException)):
            makers = [
                kind,
                *(getattr(kind, name, None) for name in ("of", "newBuilder", "withGap")),
            ]
            made += [
                instance
                for maker in makers
                if maker is not None
                for given in arguments
                if type(instance := outcome(maker, given)).__module__.startswith("flinkish")
                and not isinstance(instance, BaseException)
            ]
    return list({type(instance): instance for instance in reversed(made)}.values())


def savepoints(pairs: Any, tumbling: Any) -> list[Any]:
    """Return readers and writers of a savepoint that does not exist."""
    reader = fl.SavepointReader.read("/nowhere")
    data = fl.OperatorTransformation.bootstrapWith(pairs)
    keyed = data.keyBy(lambda pair: pair[0])
    windows = keyed.window(tumbling)
    writer = fl.SavepointWriter.fromExistingSavepoint("/nowhere")
    return [reader, reader.window(tumbling), writer, data, keyed, windows, windows.reduce(max)]


def outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return the result of the call, or the exception that it raises."""
    try:
        return function(*arguments)
    except Exception as error:
        return error


def calls_of(name: str, function: Callable[..., Any], draw: random.Random) -> Iterator[WrongCall]:
    """Calls of ``function``: with one wrong argument among such as it takes, with the same wrong one
    everywhere, and with wrong ones drawn at random."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    keywords = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if keywords or not (positional or variadic):
        return
    count = max(len(positional), 1)
    for shown, wrong in WRONG.items():
        yield WrongCall(name, function, (wrong,) * count, f"{shown} everywhere")
        for position in range(len(positional) if len(positional) > 1 else 0):
            arguments = [plausible(parameter) for parameter in positional]
            arguments[position] = wrong
            where = f"{positional[position].name}={shown}"
            yield WrongCall(name, function, tuple(arguments), where)
    for _ in range(COMBINATIONS if count > 1 else 0):
        drawn = draw.choices(list(WRONG), k=count)
        arguments = [WRONG[shown] for shown in drawn]
        yield WrongCall(name, function, tuple(arguments), ", ".join(drawn))


def plausible(parameter: inspect.Parameter) -> Any:
    """An argument that ``parameter`` may well take."""
    if parameter.default is not parameter.empty:
        return parameter.default
    annotation = str(parameter.annotation)
    if "DataStream" in annotation or "KeyedStream" in annotation:
        stream = fl.StreamExecutionEnvironment().setLocalExecution().fromCollection([("a", 1)])
        return stream.keyBy(lambda pair: pair[0]) if "KeyedStream" in annotation else stream
    for part, value in (
        ("TimeLike", 1_000),
        ("Extent", 1_000),
        ("int", 1_000),
        ("float", 1.0),
        ("str", "x"),
        ("bool", False),
        ("Assigner", fl.TumblingEventTimeWindows.of(fl.Time.seconds(1))),
        ("Like", lambda *arguments: 1),
        ("Callable", lambda *arguments: 1),
        ("Type", fl.Types.STRING()),
    ):
        if part in annotation:
            return value
    return 1
