"""Names of PyFlink that are Java's and have nothing behind them here: each says what to write instead.

A module of PyFlink that has only such names is there, so that a ported import fails with its fix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from flinkish.api.absent import AbsentNameError

_READ = "Read with Spark and env.from_data_frame(df), or derive from flinkish.Source."
_WRITE = (
    "Send from stream.for_each_batch(function), whose second argument is the id of the batch, or derive"
    " from flinkish.Sink."
)
_FILES = (
    "Use flinkish's own connectors: env.from_source(flinkish.FileSource.forCsv(path, schema), ...) or"
    " forJson or forParquet, and sink_to(flinkish.FileSink.forCsv(directory))."
)
_SCHEMA = "Map the elements with a function: the connectors that take a schema are Java's."
_STORAGE = "Call get_checkpoint_config().set_checkpoint_storage_dir(path)."

_BACKEND = "Leave it out: state is in Spark's state store, always."
_SERIALIZER = "Leave it out: elements are pickled, or Arrow columns."
_DEPENDENCY = "Leave it out: Spark decides when tasks start."
_STRATEGY = "Write WatermarkStrategy.for_generator(...)."

ABSENT_NAMES: dict[str, dict[str, str]] = {
    "common": {
        "AssignerWithPeriodicWatermarksWrapper": _STRATEGY,
        "InputDependencyConstraint": _DEPENDENCY,
        "TypeSerializer": _SERIALIZER,
    },
    "common.input_dependency_constraint": {"InputDependencyConstraint": _DEPENDENCY},
    "common.io": {"InputFormat": _FILES},
    "common.serialization": {"BulkWriterFactory": _FILES},
    "common.serializer": {"TypeSerializer": _SERIALIZER},
    "common.watermark_strategy": {"AssignerWithPeriodicWatermarksWrapper": _STRATEGY},
    "datastream": {
        "CustomCheckpointStorage": _STORAGE,
        "CustomStateBackend": _BACKEND,
        "PredefinedOptions": _BACKEND,
    },
    "datastream.checkpoint_storage": {"CustomCheckpointStorage": _STORAGE},
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
        ("JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"), _WRITE
    ),
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
        **dict.fromkeys(("AvroBulkWriters", "AvroInputFormat", "AvroSchema"), _FILES),
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
    "datastream.formats.orc": {"OrcBulkWriters": _FILES},
    "datastream.formats.parquet": dict.fromkeys(
        (
            "AvroParquetReaders",
            "AvroParquetWriters",
            "ParquetBulkWriters",
            "ParquetColumnarRowInputFormat",
        ),
        _FILES,
    ),
    "datastream.state": {
        "OperatorStateStore": "Connect the stream with other.broadcast(descriptor): broadcast state is all"
        " that PyFlink keeps in it."
    },
    "datastream.state_backend": dict.fromkeys(
        ("CustomStateBackend", "PredefinedOptions"), _BACKEND
    ),
    "datastream.window": dict.fromkeys(
        ("CountWindowSerializer", "GlobalWindowSerializer", "TimeWindowSerializer"), _SERIALIZER
    ),
}
"""By module of PyFlink, what to write instead of a name."""

_PACKAGE = "flinkish.pyflink."


def absent_names(module: str) -> Callable[[str], NoReturn]:
    """The ``__getattr__`` of a module that lacks some names of PyFlink's."""
    names = ABSENT_NAMES[module.removeprefix(_PACKAGE)]

    def look_up(name: str) -> NoReturn:
        if name in names:
            raise AbsentNameError(f"{module} has no {name}, which is Java's. {names[name]}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return look_up
