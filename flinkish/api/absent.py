"""Names of Flink that flinkish lacks, and names that have moved: each with what to write instead.

``from flinkish import ParameterTool`` and ``stream.timeWindow`` look them up here, so that a ported line
fails with its fix and not with a bare ImportError or AttributeError.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flinkish.api.errors import NotSupportedError

_SINK = (
    "Derive from Sink and write createWriter(context), and for exactly once from SupportsCommitter too;"
    " or call stream.forEachBatch(function), which is called with the batch's id."
)
_SOURCE = (
    "Derive from Source and write read(position), a generator of elements with their positions; or"
    " read with Spark and pass the DataFrame to env.fromDataFrame(df)."
)
_BACKEND = (
    "State is in Spark's RocksDB state store, always; env.enableCheckpointing(directory) says where"
    " its checkpoints are."
)
_STRATEGY = (
    "Write WatermarkStrategy.forBoundedOutOfOrderness(...), forMonotonousTimestamps() or"
    " forGenerator(...), and withTimestampAssigner(...)."
)
_FILE_SINK = "Write FileSink.forText, forCsv, forJson or forParquet(directory)."
_FILE_SOURCE = "Write FileSource.forLines, forCsv, forJson or forParquet(path)."
_TABLE = "For SQL go on in Spark: stream.toDataFrame(), and back with env.fromDataFrame(df)."
_TUPLE = "Write a Python tuple: (a, b); its fields are 0, 1, ... or f0, f1, ..."

ABSENT_NAMES: dict[str, str] = {
    "MultipleParameterTool": "Use argparse, with nargs or action='append'.",
    "FlinkKafkaConsumer": "Flink 1's; write KafkaSource.builder()...build().",
    "FlinkKafkaProducer": "Flink 1's; write KafkaSink.builder()...build().",
    "SourceFunction": _SOURCE,
    "RichSourceFunction": _SOURCE,
    "ParallelSourceFunction": _SOURCE,
    "RichParallelSourceFunction": _SOURCE,
    "SinkFunction": _SINK,
    "RichSinkFunction": _SINK,
    "PrintSinkFunction": "Write stream.print().",
    "StreamingFileSink": _FILE_SINK,
    "BucketingSink": _FILE_SINK,
    "TextInputFormat": _FILE_SOURCE,
    "StreamFormat": _FILE_SOURCE,
    "CountWindow": "Write countWindow(size), or countWindowAll(size); its windows are GlobalWindows.",
    "SourceReader": _SOURCE,
    "SplitEnumerator": _SOURCE,
    "ListCheckpointed": "Derive from CheckpointedFunction: initializeState and snapshotState.",
    "CheckpointListener": "Write stream.forEachBatch(function), which is called for each batch with its id.",
    "RestartStrategyOptions": (
        'Write the options as texts: Configuration({"restart-strategy.type": "fixed-delay"}).'
    ),
    "RestartStrategy": "Write env.setRestartStrategy(RestartStrategies.fixedDelayRestart(3, 10_000)).",
    "StateBackend": _BACKEND,
    "HashMapStateBackend": _BACKEND,
    "EmbeddedRocksDBStateBackend": _BACKEND,
    "RocksDBStateBackend": _BACKEND,
    "FsStateBackend": _BACKEND,
    "MemoryStateBackend": _BACKEND,
    "AssignerWithPeriodicWatermarks": _STRATEGY,
    "AssignerWithPunctuatedWatermarks": _STRATEGY,
    "BoundedOutOfOrdernessTimestampExtractor": _STRATEGY,
    "AscendingTimestampExtractor": _STRATEGY,
    "IngestionTimeExtractor": _STRATEGY,
    "TimeCharacteristic": (
        "Leave it out: the window assigner says what time it works in, such as"
        " TumblingEventTimeWindows or TumblingProcessingTimeWindows."
    ),
    "FoldFunction": "Write an AggregateFunction: createAccumulator, add and getResult.",
    "SplitStream": "Write a ProcessFunction with an OutputTag, and stream.getSideOutput(tag).",
    "OutputSelector": "Write a ProcessFunction with an OutputTag, and stream.getSideOutput(tag).",
    "IterativeStream": (
        "Flink 2 has dropped iterations. Keep what goes round in keyed state with timers."
    ),
    "SlotSharingGroup": "Spark has no slots: leave it out.",
    "TypeHint": "Write the Python type: returns(tuple[str, int]) or TypeInformation.of(list[int]).",
    "Either": "Write a union type, int | str, and isinstance.",
    "Tuple": _TUPLE,
    **{f"Tuple{arity}": _TUPLE for arity in range(26)},
    "ExecutionEnvironment": "Write StreamExecutionEnvironment: bounded sources end the job.",
    "DataSet": "Write DataStream: bounded sources end the job.",
    "StreamTableEnvironment": _TABLE,
    "TableEnvironment": _TABLE,
    "Table": _TABLE,
}
"""What to write instead of a class of Flink that is not there."""

MOVED_NAMES: dict[str, str] = {
    **dict.fromkeys(
        (
            "AdvanceTimeGenerationSettings",
            "AdvanceTimeImportSettings",
            "AdvanceTimePolicy",
            "AdvanceTimeSettings",
            "advanceTime",
            "alterEventDuration",
            "alterEventLifetime",
            "committed",
            "CountByStartTimeWindows",
            "EdgeEvent",
            "EdgeType",
            "HoppingLifetimeWindows",
            "IntervalEvent",
            "LifetimeWindowedStream",
            "LifetimeWindows",
            "PointEvent",
            "shiftEventTime",
            "SnapshotWindows",
            "TemporalEvent",
            "temporalJoin",
            "TumblingLifetimeWindows",
        ),
        "flinkish.compat.streaminsight",
    ),
    **dict.fromkeys(
        (
            "Count",
            "CountEvictionPolicy",
            "CountTriggerPolicy",
            "Event",
            "EvictionContext",
            "EvictionPolicy",
            "LagWatermarks",
            "PolicyWindow",
            "PolicyWindowedStream",
            "PolicyWindowFunction",
            "TimeEvictionPolicy",
            "TimeTriggerPolicy",
            "TriggerPolicy",
            "TriggerPolicyContext",
            "unionWithLag",
            "WatermarkCountEvictionPolicy",
            "WatermarkCountTriggerPolicy",
            "WatermarkTimeEvictionPolicy",
            "WatermarkTimeTriggerPolicy",
        ),
        "flinkish.compat.storm",
    ),
    **dict.fromkeys(("AfterAllowedLatenessTrigger", "IdleAdvance"), "flinkish.compat.atlas"),
    "CappedSessionWindows": "flinkish.compat.stream_analytics",
}
"""In which package the names of another system are, which ``flinkish`` itself had before 0.2."""

ABSENT_METHODS: dict[str, str] = {
    "timeWindow": (
        "write window(TumblingEventTimeWindows.of(size)), or SlidingEventTimeWindows.of(size, slide)"
    ),
    "timeWindowAll": (
        "write windowAll(TumblingEventTimeWindows.of(size)), or SlidingEventTimeWindows.of(size, slide)"
    ),
    "fold": "write aggregate(AggregateFunction), or reduce(function)",
    "split": "write process(ProcessFunction) with an OutputTag, and getSideOutput(tag)",
    "select": "write getSideOutput(tag) of a process function with an OutputTag",
    "assignTimestamps": "write assignTimestampsAndWatermarks(WatermarkStrategy...)",
    "assignAscendingTimestamps": (
        "write assignTimestampsAndWatermarks(WatermarkStrategy.forMonotonousTimestamps()"
        ".withTimestampAssigner(function))"
    ),
    "writeAsText": "write sinkTo(FileSink.forText(directory))",
    "writeAsCsv": "write sinkTo(FileSink.forCsv(directory))",
    "setStreamTimeCharacteristic": (
        "leave it out: the window assigner says what time it works in, such as"
        " TumblingEventTimeWindows"
    ),
    "setStateBackend": "leave it out: state is in Spark's RocksDB state store, always",
    "getStateBackend": "leave it out: state is in Spark's RocksDB state store, always",
    "setNumberOfExecutionRetries": (
        "write setRestartStrategy(RestartStrategies.fixedDelayRestart(retries, 0))"
    ),
    "addDefaultKryoSerializer": "leave it out: elements are pickled, or Arrow columns",
    "registerType": "leave it out: elements are pickled, or Arrow columns",
    "registerTypeWithKryoSerializer": "leave it out: elements are pickled, or Arrow columns",
    "setGlobalJobParameters": "write env.getConfig().setGlobalJobParameters(parameters)",
    "getStreamGraph": "write explain() or getExecutionPlan()",
}
"""What to write instead of a method of an older Flink, or of one that flinkish lacks."""


class AbsentNameError(NotSupportedError, ImportError):
    """A name that ``flinkish`` does not have; says what to write instead."""


class AbsentMethodError(NotSupportedError, AttributeError):
    """A method that a class of flinkish does not have; says what to write instead."""


def absent_name(name: str) -> Exception:
    """What an import of ``name`` from ``flinkish`` raises."""
    if name in MOVED_NAMES:
        package = MOVED_NAMES[name]
        return AbsentNameError(f"{name} is in {package}: write from {package} import {name}.")
    if name in ABSENT_NAMES:
        return AbsentNameError(f"flinkish has no {name}. {ABSENT_NAMES[name]}")
    return AttributeError(f"module 'flinkish' has no attribute {name!r}")


class AbsentMethods:
    """Lets a class say what to write instead of a method that it lacks."""

    if not TYPE_CHECKING:  # a type checker is to see that the method is not there

        def __getattr__(self, name: str) -> object:
            subject = type(self).__name__
            if name in ABSENT_METHODS:
                raise AbsentMethodError(
                    f"{subject}.{name} is not supported: {ABSENT_METHODS[name]}."
                )
            camel_case = re.sub(r"(?<=[a-z0-9])_([a-z])", lambda m: m.group(1).upper(), name)
            if camel_case != name and not name.startswith("_") and hasattr(type(self), camel_case):
                raise AbsentMethodError(
                    f"{subject} has no {name}: flinkish has the names of Flink's Java API. Write"
                    f" {camel_case}."
                )
            raise AttributeError(f"{subject!r} object has no attribute {name!r}")
