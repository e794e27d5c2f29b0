"""The methods of Flink that flinkish lacks or refuses, by receiver: each with what to write instead."""

from __future__ import annotations

_NO_KEY = "call keyBy first: stream.keyBy(key).{0}; without a key write {0}All(...)"
_KEYED_OR_ALL = "call keyBy first: stream.keyBy(key).{0}, or windowAll(assigner).{0}"
_NO_RESULT = (
    "a window has no result yet: call reduce, aggregate, apply, process, sum, min or max before it, as"
    " window(assigner).reduce(function).{0}"
)
_NO_RESULT_OF_TWO = (
    "two connected streams have no result yet: call map, flatMap or process before it"
)
_COUNTER = "write getMetricGroup().counter(name), or addAccumulator(name, LongCounter())"
_BROADCAST = "use broadcast state: stream.connect(rules.broadcast(descriptor))"
_FILES = "use fromSource(FileSource.forLines(path)), or forCsv, forJson, forParquet"

ABSENT_METHODS: dict[str, dict[str, str]] = {
    "": {
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
        **dict.fromkeys(
            ("setStateBackend", "getStateBackend"),
            "leave it out: state is in Spark's RocksDB state store, always",
        ),
        "setNumberOfExecutionRetries": (
            "write setRestartStrategy(RestartStrategies.fixedDelayRestart(retries, 0))"
        ),
        **dict.fromkeys(
            ("addDefaultKryoSerializer", "registerType", "registerTypeWithKryoSerializer"),
            "leave it out: elements are pickled, or Arrow columns",
        ),
        "setGlobalJobParameters": "write env.getConfig().setGlobalJobParameters(parameters)",
        "getStreamGraph": "write explain() or getExecutionPlan()",
        "groupBy": "write keyBy(key)",
    },
    "DataStream": {
        "iterate": (
            "Flink 2 has dropped iterations too. Keep what goes round in keyed state with timers"
            " (KeyedProcessFunction), or write results to a topic or a directory that the job also reads"
        ),
        "transform": (
            "a custom operator works on Flink's internals. Write a ProcessFunction,"
            " KeyedProcessFunction or KeyedCoProcessFunction, which have state, timers, side outputs and a"
            " life cycle"
        ),
        "writeToSocket": (
            "use forEachBatch(function) and send the elements there, with the batch's id so that the"
            " receiver can drop a batch that comes again"
        ),
        "writeUsingOutputFormat": (
            "an OutputFormat is a Java class. Use sinkTo(FileSink...), or toDataFrame() and the writers of"
            " Spark"
        ),
        "cache": (
            "write the stream with sinkTo(FileSink.forParquet(directory)), and let later jobs read it with"
            " FileSource.forParquet"
        ),
        **{name: _NO_KEY.format(name) for name in ("window", "countWindow")},
        **{
            name: _KEYED_OR_ALL.format(f"{name}(...)")
            for name in ("reduce", "sum", "min", "max", "minBy", "maxBy")
        },
        **{
            name: f"call windowAll(assigner) first, or keyBy(key).window(assigner): .{name} is a method of"
            " windowed streams"
            for name in (
                "aggregate",
                "apply",
                "trigger",
                "evictor",
                "allowedLateness",
                "sideOutputLateData",
            )
        },
        "intervalJoin": "call keyBy first, on both streams: first.keyBy(key).intervalJoin(second.keyBy(key))",
        **dict.fromkeys(
            ("foreach", "forEach"),
            "write forEachBatch(function), which gets the elements of a batch and its id, or print()",
        ),
        "foreachPartition": "write forEachPartition(function), which gets an iterator in the workers",
        "collect": "write executeAndCollect(), which runs the job and gives its results",
        "show": "write print(), or executeAndCollect(limit=20)",
        **dict.fromkeys(
            ("getMinResources", "getPreferredResources"),
            "Spark's executors are sized on the SparkSession",
        ),
        "withColumn": "write map(function)",
        "where": "write filter(function)",
        "writeStream": "write sinkTo(sink), or toDataFrame() and continue with Spark",
    },
    "KeyedStream": {
        "asQueryableState": (
            "write the state to a sink that can be queried, or read the checkpoint with Spark's state data"
            " source"
        ),
        **{
            name: f"call window(assigner) or countWindow(size) first: .{name} is a method of windowed streams;"
            " reduce, sum and process give a result for each element"
            for name in (
                "aggregate",
                "apply",
                "trigger",
                "evictor",
                "allowedLateness",
                "sideOutputLateData",
            )
        },
    },
    "BaseWindowedStream": {
        name: _NO_RESULT.format(f"{name}(...)")
        for name in (
            "print",
            "map",
            "filter",
            "flatMap",
            "keyBy",
            "sinkTo",
            "forEachBatch",
            "executeAndCollect",
            "toDataFrame",
            "union",
            "connect",
            "name",
            "uid",
            "setParallelism",
            "getSideOutput",
            "window",
            "collectAsync",
        )
    },
    "_TwoStreams": dict.fromkeys(
        (
            "print",
            "filter",
            "window",
            "sinkTo",
            "executeAndCollect",
            "union",
            "reduce",
            "assignTimestampsAndWatermarks",
        ),
        _NO_RESULT_OF_TWO,
    ),
    "StreamExecutionEnvironment": {
        **dict.fromkeys(
            ("addOperator", "generateStreamGraph", "clean", "areExplicitEnvironmentsAllowed"),
            "internal to Flink: the methods of streams build the job, explain() shows it",
        ),
        **dict.fromkeys(
            ("registerCacheTransformation", "invalidateClusterDataset"),
            "internal to cache: write a FileSink, and delete what it wrote",
        ),
        "getCachedFiles": "use pyspark.SparkFiles.get(name)",
        "getNumberOfExecutionRetries": "write getConfig().getRestartStrategy()",
        "getStreamTimeCharacteristic": "the window assigner says what time it works in",
        "isForceCheckpointing": "leave it out: every batch is a checkpoint",
        "createInput": (
            "an InputFormat is a Java class. Use fromSource(FileSource...), or fromDataFrame with any of"
            " Spark's readers"
        ),
        "readFile": f"an InputFormat is a Java class: {_FILES}; monitorContinuously() watches the directory",
        "readFileStream": "use fromSource(FileSource.forLines(path).monitorContinuously())",
        "readCsvFile": f"{_FILES}",
        "fromParallelCollection": (
            "a SplittableIterator is a Java class. Use fromSequence(start, end), or"
            " fromSource(DataGeneratorSource(function, count)), which Spark reads in parallel"
        ),
        "registerCachedFile": (
            "use spark.addArtifact(path, file=True) before the job and pyspark.SparkFiles.get(name) in open()"
        ),
        "setDefaultSavepointDirectory": (
            "each savepoint has a directory of its own. Use stopWithSavepoint(directory) or"
            " triggerSavepoint(directory)"
        ),
        **dict.fromkeys(
            ("sqlQuery", "executeSql", "sql", "createTemporaryView"),
            "write StreamTableEnvironment.create(env) of flinkish.table, which has it; for queries with state continue in"
            " Spark: stream.toDataFrame(), or stream.forEachBatchDataFrame(function); for MATCH_RECOGNIZE write"
            " CEP.pattern(stream, pattern) of flinkish.cep",
        ),
    },
    "DataStreamSink": {
        **dict.fromkeys(
            ("forSink", "forSinkV1", "getTransformation", "getLegacyTransformation"),
            "internal to Flink: stream.sinkTo(sink) makes it",
        ),
        "addMetricVariable": "register metrics in the sink's writer",
        "setUidHash": "write uid(name)",
    },
    "JobClient": {"reportHeartbeat": "leave it out: the job runs in this process"},
    "JobExecutionResult": {
        "getIntCounterResult": "write getAccumulatorResult(name)",
        **dict.fromkeys(
            ("fromJobSubmissionResult", "getJobExecutionResult", "isJobExecutionResult"),
            "leave it out: it is the result itself",
        ),
    },
    "WatermarkStrategy": {
        "createTimestampAssigner": "write withTimestampAssigner(function)",
        "getAlignmentParameters": "write withWatermarkAlignment(group, maxDrift)",
    },
    "CheckpointConfig": dict.fromkeys(
        (
            "configure",
            "disableCheckpointing",
            "enableApproximateLocalRecovery",
            "enableUnalignedCheckpointsInterruptibleTimers",
            "getAlignmentTimeout",
            "getCheckpointIdOfIgnoredInFlightData",
            "getCheckpointIntervalDuringBacklog",
            "getExternalizedCheckpointCleanup",
            "getMaxSubtasksPerChannelStateFile",
            "isApproximateLocalRecoveryEnabled",
            "isFailOnCheckpointingErrors",
            "isForceCheckpointing",
            "isForceUnalignedCheckpoints",
            "isPauseSourcesUntilFirstCheckpoint",
            "isUnalignedCheckpointsInterruptibleTimersEnabled",
            "setAlignmentTimeout",
            "setCheckpointIdOfIgnoredInFlightData",
            "setCheckpointIntervalDuringBacklog",
            "setForceCheckpointing",
            "setForceUnalignedCheckpoints",
            "setMaxSubtasksPerChannelStateFile",
            "setPauseSourcesUntilFirstCheckpoint",
            "toConfiguration",
        ),
        "leave it out: every batch is a checkpoint, and no element is in flight between two",
    ),
    "ExecutionConfig": {
        **dict.fromkeys(
            (
                "disableAutoTypeRegistration",
                "disableForceAvro",
                "disableForceKryo",
                "enableForceAvro",
                "enableForceKryo",
                "getDefaultKryoSerializerClasses",
                "getDefaultKryoSerializers",
                "getRegisteredKryoTypes",
                "getRegisteredPojoTypes",
                "getRegisteredTypesWithKryoSerializerClasses",
                "getRegisteredTypesWithKryoSerializers",
                "getSerializerConfig",
                "hasGenericTypesDisabled",
                "isAutoTypeRegistrationDisabled",
                "isForceAvroEnabled",
                "isForceKryoEnabled",
                "registerKryoType",
                "registerPojoType",
            ),
            "leave it out: elements are pickled, or Arrow columns",
        ),
        **dict.fromkeys(
            ("disableAutoGeneratedUIDs", "enableAutoGeneratedUIDs", "hasAutoGeneratedUIDsEnabled"),
            "give a uid to each operator that has state; one without is found by what it does",
        ),
        **dict.fromkeys(
            (
                "getClosureCleanerLevel",
                "isClosureCleanerEnabled",
                "setClosureCleanerLevel",
            ),
            "leave it out: functions are pickled with what they refer to",
        ),
        **dict.fromkeys(
            ("getExecutionRetryDelay", "getNumberOfExecutionRetries", "setExecutionRetryDelay"),
            "write setRestartStrategy(RestartStrategies.fixedDelayRestart(retries, delay))",
        ),
        **dict.fromkeys(
            ("getExecutionMode", "setExecutionMode"),
            "write env.setRuntimeMode(RuntimeExecutionMode.BATCH)",
        ),
        **dict.fromkeys(
            (
                "archive",
                "configure",
                "enablePeriodicMaterialize",
                "getAsyncInflightRecordsLimit",
                "getAsyncStateActiveBufferSize",
                "getAsyncStateActiveBufferTimeout",
                "getAsyncStateBufferSize",
                "getAsyncStateBufferTimeout",
                "getAsyncStateTotalBufferSize",
                "getDefaultInputDependencyConstraint",
                "getLatencyTrackingInterval",
                "getMaterializationMaxAllowedFailures",
                "getPeriodicMaterializeIntervalMillis",
                "getSchedulerType",
                "getTaskCancellationInterval",
                "getTaskCancellationTimeout",
                "isLatencyTrackingConfigured",
                "isPeriodicMaterializeEnabled",
                "isUseSnapshotCompression",
                "resetParallelism",
                "setAsyncInflightRecordsLimit",
                "setAsyncStateActiveBufferSize",
                "setAsyncStateActiveBufferTimeout",
                "setAsyncStateBufferSize",
                "setAsyncStateBufferTimeout",
                "setAsyncStateTotalBufferSize",
                "setDefaultInputDependencyConstraint",
                "setMaterializationMaxAllowedFailures",
                "setPeriodicMaterializeIntervalMillis",
                "toConfiguration",
            ),
            "leave it out: Spark schedules the tasks and keeps the state, by the settings of its session",
        ),
    },
    "RuntimeContext": {
        **dict.fromkeys(
            ("getAccumulator", "getIntCounter", "getLongCounter", "getDoubleCounter"), _COUNTER
        ),
        "getExecutionConfig": "write env.getConfig() where the job is built, or getGlobalJobParameters()",
        "getJobId": "use JobClient.getJobID() in the driver",
        "getHistogram": "write getMetricGroup().histogram(name)",
        **dict.fromkeys(
            ("getBroadcastVariable", "hasBroadcastVariable", "getBroadcastVariableWithInitializer"),
            _BROADCAST,
        ),
        "getJobInfo": (
            "functions are shipped before the job has its id. Use JobClient.getJobID() in the driver, and give"
            " the function the job's name if it needs it"
        ),
        "getDistributedCache": (
            "use spark.addArtifact(path, file=True) before the job and pyspark.SparkFiles.get(name) in open()"
        ),
        "getUserCodeClassLoader": (
            "Python has no class loaders. Use importlib, and spark.addArtifact(path, pyfile=True) for modules"
            " that workers lack"
        ),
        "registerUserCodeClassLoaderReleaseHookIfAbsent": (
            "Python has no class loaders. Use close() of the function"
        ),
        "getExternalResourceInfos": "use pyspark.TaskContext.get().resources()",
        "createSerializer": "elements are pickled. Use pickle or cloudpickle",
    },
}
"""What to write instead of a method, by the class of the receiver; under "", of any receiver."""
