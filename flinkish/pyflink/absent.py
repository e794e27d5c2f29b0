"""Names of PyFlink that flinkish lacks, as they belong to Java or to PyFlink's own workers: each
says what to write instead.

A module of PyFlink that has only such names exists here too, so that a ported import fails with its
fix.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from flinkish.api.absent import AbsentMethodError, AbsentNameError

_READ = "Read with Spark and env.from_data_frame(df), or derive from flinkish.Source."
_WRITE = (
    "Send from stream.for_each_batch(function), whose second argument is the id of the batch, or derive"
    " from flinkish.Sink."
)
_JDBC = (
    "Write flinkish.JdbcSink.builder()...buildAtLeastOnce(options) with flinkish.JdbcConnectionOptions, and pass it"
    " to stream.core.sinkTo(sink)."
)
_FILES = (
    "Use flinkish's own connectors: env.from_source(flinkish.FileSource.forCsv(path, schema), ...) or"
    " forJson or forParquet, and sink_to(flinkish.FileSink.forCsv(directory))."
)
_COLUMNS = (
    "Write FileSink.for_bulk_format(directory, ParquetBulkWriters.for_row_type(Types.ROW_NAMED(names, types))),"
    " whose files any reader of Parquet reads."
)
_SCHEMA = "Map the elements with a function: the connectors that take a schema are Java's."
_STORAGE = "Call get_checkpoint_config().set_checkpoint_storage_dir(path)."

_GUARANTEE = "Call set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE) of a KafkaSink's builder."

_BACKEND = "Leave it out: state is in Spark's state store, always."
_SERIALIZER = "Leave it out: elements are pickled, or Arrow columns."
_DEPENDENCY = "Leave it out: Spark decides when tasks start."
_STRATEGY = "Write WatermarkStrategy(flinkish.WatermarkStrategy.forGenerator(...))."
_UTILITY = "Leave it out: nothing comes from a JVM as bytes or goes there."

ABSENT_NAMES: dict[str, dict[str, str]] = {
    "common": {
        "AssignerWithPeriodicWatermarksWrapper": _STRATEGY,
        **dict.fromkeys(
            (
                "AvroRowDeserializationSchema",
                "AvroRowSerializationSchema",
                "CsvRowDeserializationSchema",
                "CsvRowSerializationSchema",
            ),
            _SCHEMA,
        ),
        **dict.fromkeys(
            ("JsonRowDeserializationSchema", "JsonRowSerializationSchema"),
            "Import it from datastream.formats.json.",
        ),
        "InputDependencyConstraint": _DEPENDENCY,
        "TypeSerializer": _SERIALIZER,
    },
    "common.input_dependency_constraint": {"InputDependencyConstraint": _DEPENDENCY},
    "common.io": {"InputFormat": _FILES},
    "common.serializer": dict.fromkeys(("TypeSerializer", "VoidNamespaceSerializer"), _SERIALIZER),
    "common.typeinfo": dict.fromkeys(
        ("ExternalTypeInfo", "LocalTimeTypeInfo"),
        "Write Types.SQL_DATE(), SQL_TIME() or SQL_TIMESTAMP(), or the type itself.",
    ),
    "common.utils": {"JavaObjectWrapper": "Leave it out: there is no JVM of Flink's."},
    "common.watermark_strategy": {"AssignerWithPeriodicWatermarksWrapper": _STRATEGY},
    "datastream": {
        "CustomCheckpointStorage": _STORAGE,
        "CustomStateBackend": _BACKEND,
        "TimeCharacteristic": "Leave it out: the window assigner says what time it works in, such as"
        " TumblingEventTimeWindows.",
    },
    "datastream.checkpoint_storage": {"CustomCheckpointStorage": _STORAGE},
    "datastream.connectors": {
        **dict.fromkeys(
            ("PulsarSource", "PulsarSourceBuilder", "StartCursor", "StopCursor"), _READ
        ),
        **dict.fromkeys(("RMQConnectionConfig", "RMQSource"), _READ),
        "RMQSink": _WRITE,
        **dict.fromkeys(("JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"), _JDBC),
        **dict.fromkeys(
            ("FileEnumeratorProvider", "FileSplitAssignerProvider", "StreamingFileSink"), _FILES
        ),
        "Semantic": _GUARANTEE,
    },
    "datastream.connectors.base": dict.fromkeys(
        ("StreamTransformer", "SupportsPreprocessing"), "Transform the stream before sink_to."
    ),
    "datastream.connectors.cassandra": dict.fromkeys(
        (
            "CassandraCommitter",
            "CassandraFailureHandler",
            "CassandraSink",
            "ClusterBuilder",
            "ConsistencyLevel",
            "MapperOptions",
        ),
        _WRITE,
    ),
    "datastream.connectors.elasticsearch": dict.fromkeys(
        (
            "Elasticsearch6SinkBuilder",
            "Elasticsearch7SinkBuilder",
            "ElasticsearchEmitter",
            "ElasticsearchSink",
            "ElasticsearchSinkBuilderBase",
            "FlushBackoffType",
        ),
        _WRITE,
    ),
    "datastream.connectors.file_system": dict.fromkeys(
        (
            "BulkFormat",
            "FileCompactStrategy",
            "FileCompactor",
            "FileEnumeratorProvider",
            "FileSplitAssignerProvider",
            "StreamingFileSink",
        ),
        _FILES,
    ),
    "datastream.connectors.hybrid_source": dict.fromkeys(
        ("HybridSource", "HybridSourceBuilder"),
        "Derive from flinkish.Source: its read(position) may read one after the other.",
    ),
    "datastream.connectors.jdbc": dict.fromkeys(
        ("JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"), _JDBC
    ),
    "datastream.connectors.kafka": {
        "FlinkKafkaConsumerBase": "Write KafkaSource.builder().",
        "FlinkKafkaProducerBase": "Write KafkaSink.builder().",
        "Semantic": _GUARANTEE,
    },
    "datastream.connectors.kinesis": {
        **dict.fromkeys(
            ("FlinkKinesisConsumer", "KinesisDeserializationSchema", "KinesisShardAssigner"), _READ
        ),
        "WatermarkTracker": _READ,
        **dict.fromkeys(
            (
                "KinesisFirehoseSink",
                "KinesisFirehoseSinkBuilder",
                "KinesisStreamsSink",
                "KinesisStreamsSinkBuilder",
                "PartitionKeyGenerator",
            ),
            _WRITE,
        ),
    },
    "datastream.connectors.pulsar": {
        **dict.fromkeys(
            ("PulsarSource", "PulsarSourceBuilder", "RangeGenerator", "StartCursor", "StopCursor"),
            _READ,
        ),
        **dict.fromkeys(
            ("MessageDelayer", "PulsarSink", "PulsarSinkBuilder", "TopicRoutingMode"), _WRITE
        ),
    },
    "datastream.connectors.rabbitmq": {
        **dict.fromkeys(("RMQConnectionConfig", "RMQSource"), _READ),
        "RMQSink": _WRITE,
    },
    "datastream.formats.avro": {
        "AvroBulkWriters": _COLUMNS,
        **dict.fromkeys(("AvroInputFormat", "AvroSchema"), _FILES),
        **dict.fromkeys(
            (
                "AvroRowDeserializationSchema",
                "AvroRowSerializationSchema",
                "GenericRecordAvroTypeInfo",
            ),
            _SCHEMA,
        ),
    },
    "datastream.formats.csv": {
        **dict.fromkeys(
            ("CsvBulkWriters", "CsvReaderFormat", "CsvSchema", "CsvSchemaBuilder"), _FILES
        ),
        **dict.fromkeys(("CsvRowDeserializationSchema", "CsvRowSerializationSchema"), _SCHEMA),
    },
    "datastream.formats.orc": {"OrcBulkWriters": _COLUMNS},
    "datastream.formats.parquet": {
        "AvroParquetWriters": _COLUMNS,
        **dict.fromkeys(("AvroParquetReaders", "ParquetColumnarRowInputFormat"), _FILES),
    },
    "datastream.state": {
        "OperatorStateStore": "Connect the stream with other.broadcast(descriptor): broadcast state is all"
        " that PyFlink keeps in it."
    },
    "datastream.state_backend": {"CustomStateBackend": _BACKEND},
    "datastream.window": dict.fromkeys(
        ("CountWindowSerializer", "GlobalWindowSerializer", "TimeWindowSerializer"), _SERIALIZER
    ),
}
"""By module of PyFlink, what to write instead of a name that is Java's."""

_WRAPPER = (
    "Pass the function itself: map(function), or a class derived from MapFunction and the like."
)
_WINDOW_FUNCTION = "Derive from ProcessWindowFunction or ProcessAllWindowFunction."

INTERNAL_NAMES: dict[str, dict[str, str]] = {
    "datastream.data_stream": {"CachedDataStream": "Write the stream with sink_to and read it."},
    "datastream.functions": {
        "AsyncFunctionDescriptor": "Call AsyncDataStream.unordered_wait or ordered_wait, with an"
        " AsyncFunction.",
        **dict.fromkeys(
            ("FunctionWrapper", "JavaFunctionWrapper", "ReduceFunctionWrapper"), _WRAPPER
        ),
        **dict.fromkeys(
            (
                "InternalIterableAllWindowFunction",
                "InternalIterableProcessAllWindowFunction",
                "InternalIterableProcessWindowFunction",
                "InternalIterableWindowFunction",
                "InternalProcessAllWindowContext",
                "InternalProcessWindowContext",
                "InternalSingleValueAllWindowFunction",
                "InternalSingleValueProcessAllWindowFunction",
                "InternalSingleValueProcessWindowFunction",
                "InternalSingleValueWindowFunction",
                "InternalWindowFunction",
                "PassThroughAllWindowFunction",
                "PassThroughWindowFunction",
            ),
            _WINDOW_FUNCTION,
        ),
    },
    "datastream.utils": dict.fromkeys(
        (
            "convert_to_python_obj",
            "create_hadoop_configuration",
            "create_java_properties",
            "pickled_bytes_to_python_obj",
        ),
        _UTILITY,
    ),
    "datastream.window": {
        "Min": "Pass min to reduce.",
        "WindowOperationDescriptor": _WINDOW_FUNCTION,
        **dict.fromkeys(("long_to_int_with_bit_mixing", "mod_inverse"), "Call hash(window)."),
    },
}
"""By module of PyFlink, what to write instead of a name that PyFlink itself keeps internal."""

_JVM = "there is no JVM of Flink's: Spark runs the job"
_READ_ONLY = (
    "broadcast state changes in process_broadcast_element only, which every task calls alike"
)
_KEYED = "the stream has no key: call key_by before it"
_CODED = "values are not encoded for a JVM: call converted(value) or text_of(value)"

ABSENT_METHODS = {
    "add_default_kryo_serializer": "leave it out: elements are pickled, or Arrow columns",
    "count_window": _KEYED,
    "create_input": "an InputFormat is Java's: call from_source with a FileSource, or with a class derived"
    " from flinkish.Source",
    "from_internal_type": _CODED,
    "from_parallel_collection": "write from_collection",
    "max": _KEYED,
    "max_by": _KEYED,
    "min": _KEYED,
    "min_by": _KEYED,
    "need_conversion": _CODED,
    "get_current_key": "the stream has no key: call key_by before process, and derive from"
    " KeyedProcessFunction",
    "get_cleanup_strategies": "state that has expired goes when its page is read",
    "put": _READ_ONLY,
    "put_all": _READ_ONLY,
    "read_file": "write from_source with a FileSource",
    "reduce": _KEYED,
    "register_cached_file": "write add_python_archive, or add_python_file: functions open the files"
    " themselves",
    "register_type": "leave it out: elements are pickled, or Arrow columns",
    "remove": _READ_ONLY,
    "set_stream_time_characteristic": "leave it out: the window assigner says what time it works in, such"
    " as TumblingEventTimeWindows",
    "sum": _KEYED,
    "time_window": "write window(TumblingEventTimeWindows.of(size))",
    "time_window_all": "write window_all(TumblingEventTimeWindows.of(size))",
    "to_internal_type": _CODED,
    "window": "the stream has no key: call key_by before it, or window_all",
    "write_as_csv": "write sink_to(FileSink...)",
    "write_as_text": "write sink_to(FileSink...)",
}
"""What to write instead of a method of PyFlink, or of an older one."""

_PACKAGE = "flinkish.pyflink."


def absent_names(module: str) -> Callable[[str], NoReturn]:
    """The ``__getattr__`` of a module that lacks some names of PyFlink's."""
    java = ABSENT_NAMES.get(module.removeprefix(_PACKAGE), {})
    internal = INTERNAL_NAMES.get(module.removeprefix(_PACKAGE), {})

    def look_up(name: str) -> NoReturn:
        if name in java:
            raise AbsentNameError(f"{module} has no {name}, which is Java's. {java[name]}")
        if name in internal:
            raise AbsentNameError(
                f"{module} has no {name}, which is internal to PyFlink. {internal[name]}"
            )
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return look_up


class AbsentMethods:
    """Lets a class say what to write instead of a method that it lacks, or whose name it has in
    snake_case."""

    if not TYPE_CHECKING:  # type checkers must see that the method is absent

        def __getattr__(self, name: str) -> object:
            subject = type(self).__name__
            if name in ABSENT_METHODS:
                raise AbsentMethodError(
                    f"{subject}.{name} is not supported: {ABSENT_METHODS[name]}."
                )
            if name.startswith(("_j_", "get_java_", "to_j_")):
                raise AbsentMethodError(f"{subject}.{name} is Java's, and {_JVM}.")
            snake_case = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
            if snake_case != name and not name.startswith("_") and hasattr(type(self), snake_case):
                raise AbsentMethodError(
                    f"{subject} has no {name}: flinkish.pyflink has the names of PyFlink. Write"
                    f" {snake_case}."
                )
            raise AttributeError(f"{subject!r} object has no attribute {name!r}")
