"""The classes of Flink that flinkish lacks, and those that have moved: each with what to write instead.

``docs/port/missing.md`` shows this table and that of ``api/absent_methods.py``.
``tests/api/test_flink_names.py`` compares them with every public class of Flink 1.20 and 2.3.
"""

from __future__ import annotations

_SINK = (
    "Derive from Sink and write createWriter(context), and for exactly once from SupportsCommitter too;"
    " or call stream.forEachBatch(function), which is called with the batch's id."
)
_SOURCE = (
    "Derive from Source and write read(position), a generator of elements with their positions; or"
    " read with Spark and pass the DataFrame to env.fromDataFrame(df)."
)
_STRATEGY = (
    "Write WatermarkStrategy.forBoundedOutOfOrderness(...), forMonotonousTimestamps() or"
    " forGenerator(...), and withTimestampAssigner(...)."
)
_FILE_SINK = "Write FileSink.forText, forCsv, forJson or forParquet(directory)."
_FILE_SOURCE = "Write FileSource.forLines, forCsv, forJson or forParquet(path)."
_DATA_SET = "Flink 2 has no DataSet either. Write DataStream: bounded sources end the job, and BATCH emits final results only."

_GROUPS: tuple[tuple[str, str], ...] = (
    # ------------------------------------------------------------------ sources
    (
        "ParallelSourceFunction RichParallelSourceFunction SourceReader"
        " SplitEnumerator SourceSplit SourceReaderContext SourceReaderFactory SplitEnumeratorContext ReaderOutput"
        " SourceOutput ReaderInfo SourceEvent SplitsAssignment ExternallyInducedSourceReader ExternallyInducedSource"
        " DynamicFilteringInfo DynamicParallelismInference SupportsBatchSnapshot"
        " SupportsHandleExecutionAttemptSourceEvent SupportsSplitReassignmentOnRecovery RecordEmitter"
        " RecordEvaluator RecordsBySplits RecordsWithSplitIds SingleThreadMultiplexSourceReaderBase SourceReaderBase"
        " SourceReaderOptions SingleThreadFetcherManager SplitFetcher SplitFetcherManager SplitFetcherTask"
        " SplitReader SplitsAddition SplitsChange IteratorSourceEnumerator IteratorSourceReader"
        " IteratorSourceReaderBase IteratorSourceSplit FromElementsFunction FromIteratorFunction"
        " FromSplittableIteratorFunction MessageAcknowledgingSourceBase"
        " MultipleIdsMessageAcknowledgingSourceBase StatefulSequenceSource",
        _SOURCE,
    ),
    ("SocketTextStreamFunction", "Write env.socketTextStream(host, port)."),
    (
        "HybridSource",
        "Read the bounded part in a first job, stop it with a savepoint and continue from that with the other"
        " source; or derive from Source, whose read(position) yields first the one and then the other.",
    ),
    (
        "FlinkKafkaConsumer FlinkKafkaConsumer010 FlinkKafkaConsumer011",
        "Flink 1's; write KafkaSource.builder()...build().",
    ),
    (
        "Boundedness",
        "A source is bounded or not by itself: KafkaSource has setBounded(...), a Source has isBounded().",
    ),
    (
        "RateLimiter FlinkConnectorRateLimiter",
        "Write RateLimiterStrategy.perSecond(n) of a DataGeneratorSource.",
    ),
    ("TextInputFormat StreamFormat FileProcessingMode", _FILE_SOURCE),
    (
        "InputFormat RichInputFormat FileInputFormat BinaryInputFormat CheckpointableInputFormat"
        " DelimitedInputFormat GenericInputFormat NonParallelInput ReplicatingInputFormat SerializedInputFormat"
        " CollectionInputFormat CsvReader IteratorInputFormat ParallelIteratorInputFormat PrimitiveInputFormat"
        " RowCsvInputFormat TextValueInputFormat TypeSerializerInputFormat FilePathFilter BlockInfo InputSplit"
        " InputSplitAssigner InputSplitSource InputStatus GenericInputSplit LocatableInputSplit FileInputSplit"
        " LocatableInputSplitAssigner InputStreamFSInputWrapper InputSplitProvider BaseStatistics SplitDataProperties"
        " CleanupWhenUnsuccessful ParseException FieldParser BigDecParser BigIntParser BooleanParser"
        " BooleanValueParser ByteParser ByteValueParser DoubleParser DoubleValueParser FloatParser FloatValueParser"
        " IntParser IntValueParser LongParser LongValueParser ShortParser ShortValueParser SqlDateParser SqlTimeParser"
        " SqlTimestampParser StringParser StringValueParser",
        "An InputFormat is a Java class. Write FileSource.forLines, forCsv, forJson or forParquet(path), or"
        " env.fromDataFrame(df) with any reader of Spark.",
    ),
    (
        "SplittableIterator NumberSequenceIterator LongValueSequenceIterator TraversableOnceException",
        "Write env.fromSequence(start, end), or DataGeneratorSource(function, count).",
    ),
    # ------------------------------------------------------------------ sinks
    (
        "TwoPhaseCommitSinkFunction StatefulSink StatefulSinkWriter SupportsWriterState"
        " TwoPhaseCommittingSink GlobalCommitter InitContext AsyncSinkBase AsyncSinkBaseBuilder AsyncSinkWriter"
        " AsyncSinkWriterConfiguration AsyncSinkWriterStateSerializer Batch BatchCreator BufferedRequestState"
        " ElementConverter RequestBuffer RequestEntryWrapper ResultHandler AIMDScalingStrategy"
        " CongestionControlRateLimitingStrategy RateLimitingStrategy RequestInfo ResultInfo ScalingStrategy"
        " OutputFormatSinkFunction WriteFormat WriteFormatAsCsv WriteFormatAsText WriteSinkFunction"
        " WriteSinkFunctionByMillis SinkOptions",
        _SINK,
    ),
    (
        "SocketClientSink",
        "Send from stream.forEachBatch(function), which is called with the batch's id.",
    ),
    ("PrintSinkFunction PrintingOutputFormat", "Write stream.print()."),
    ("DiscardingOutputFormat", "Write stream.sinkTo(DiscardingSink())."),
    ("StreamingFileSink BucketingSink", _FILE_SINK),
    (
        "FlinkKafkaProducer FlinkKafkaProducer010 FlinkKafkaProducer011",
        "Flink 1's; write KafkaSink.builder()...build().",
    ),
    (
        "OutputFormat RichOutputFormat FileOutputFormat BinaryOutputFormat SerializedOutputFormat CsvOutputFormat"
        " TextOutputFormat TypeSerializerOutputFormat LocalCollectionOutputFormat FinalizeOnMaster InitializeOnMaster"
        " FirstAttemptInitializationContext",
        "An OutputFormat is a Java class. Write FileSink.forText, forCsv, forJson or forParquet(directory), or"
        " toDataFrame() and a writer of Spark.",
    ),
    (
        "BulkWriter",
        "Write FileSink.forBulkFormat(directory, ParquetBulkWriters...), or FileSink.forParquet(directory).",
    ),
    (
        "CheckpointRollingPolicy PartFileInfo",
        "Write OnCheckpointRollingPolicy.build(), or DefaultRollingPolicy.builder()...build().",
    ),
    (
        "SimpleVersionedStringSerializer SimpleVersionedSerializer SimpleVersionedSerialization Versioned VersionMismatchException",
        "Leave it out: the committables of sinks and the positions of sources are pickled.",
    ),
    # ------------------------------------------------------------------ schemas and formats
    (
        "JSONKeyValueDeserializationSchema",
        "Write KafkaRecordDeserializationSchema.of(f), where f(record) has the record's key and value as bytes: json.loads(record.value).",
    ),
    (
        "AvroDeserializationSchema AvroSerializationSchema",
        "Write ConfluentRegistryAvroDeserializationSchema, or read Avro files with env.fromDataFrame(spark.read.format('avro')...).",
    ),
    (
        "AbstractDeserializationSchema TypeInformationSerializationSchema RowFieldExtractorSchema",
        "Derive from DeserializationSchema or SerializationSchema.",
    ),
    # ------------------------------------------------------------------ event time
    (
        "AssignerWithPeriodicWatermarks AssignerWithPunctuatedWatermarks BoundedOutOfOrdernessTimestampExtractor"
        " AscendingTimestampExtractor IngestionTimeExtractor TimestampExtractor TimestampAssignerSupplier WatermarkGeneratorSupplier"
        " WatermarksWithIdleness RecordTimestampAssigner",
        _STRATEGY,
    ),
    (
        "IngestionTimeAssigner",
        "Write withTimestampAssigner(lambda element, timestamp: ...) in which you read the clock, or use windows in processing time.",
    ),
    (
        "WatermarkAlignmentParams",
        "Write withWatermarkAlignment(group, maxDrift) of a WatermarkStrategy.",
    ),
    (
        "TimeCharacteristic UnsupportedTimeCharacteristicException",
        "Leave it out: the window assigner says what time it works in, such as TumblingEventTimeWindows or TumblingProcessingTimeWindows.",
    ),
    (
        "LatencyMarker",
        "Leave it out: JobClient.getJobDetails() and the web page show the latency of batches.",
    ),
    (
        "CountWindow",
        "Write countWindow(size), or countWindowAll(size); its windows are GlobalWindows.",
    ),
    (
        "CosineDistance EuclideanDistance ExtractionAwareDeltaFunction",
        "Write a function of two elements: DeltaTrigger.of(threshold, lambda a, b: ...).",
    ),
    # ------------------------------------------------------------------ functions and streams
    ("FoldFunction", "Write an AggregateFunction: createAccumulator, add and getResult."),
    (
        "SplitStream OutputSelector SideOutputDataStream",
        "Write a ProcessFunction with an OutputTag, and stream.getSideOutput(tag).",
    ),
    (
        "IterativeStream IterationRuntimeContext",
        "Flink 2 has dropped iterations. Keep what goes round in keyed state with timers.",
    ),
    ("StreamProjection", "Write stream.project(0, 2)."),
    (
        "CachedDataStream",
        "Write the stream to a FileSink.forParquet(directory), and read that in later jobs.",
    ),
    (
        "QueryableStateStream QueryableStateClient QueryableStateOptions",
        "Flink has deprecated it too. Write the state to a sink that can be queried.",
    ),
    ("CollectionSupplier", "Pass a list, or any iterable, to ResultFuture.complete."),
    (
        "RichProcessWindowFunction RichProcessAllWindowFunction AbstractRichFunction",
        "Derive from ProcessWindowFunction, ProcessAllWindowFunction or a Rich function: all of them have open, close and getRuntimeContext.",
    ),
    (
        "BaseBroadcastProcessFunction",
        "Derive from BroadcastProcessFunction or KeyedBroadcastProcessFunction.",
    ),
    (
        "AbstractRuntimeUDFContext DefaultOpenContext WithConfigurationOpenContext",
        "Leave it out: flinkish calls open(openContext), and getRuntimeContext() gives the context.",
    ),
    (
        "RichMapPartitionFunction",
        "Derive from MapPartitionFunction: stream.fullWindowPartition().mapPartition(function).",
    ),
    ("InvalidTypesException", "Catch flinkish.FlinkishError, the base of all errors of flinkish."),
    (
        "FlinkException FlinkRuntimeException InvalidProgramException NonSerializableUserCodeException IllegalConfigurationException DynamicCodeLoadingException DeserializationException",
        "Catch flinkish.FlinkishError, the base of all errors of flinkish, or raise an exception of your own.",
    ),
    (
        "FunctionWithException LongFunctionWithException QuadConsumer QuadFunction RunnableWithException"
        " SerializableFunction SerializableSupplier SerializableSupplierWithException SupplierWithException"
        " ThrowingConsumer ThrowingRunnable TriConsumer TriFunction TriFunctionWithException Function",
        "Pass a Python function or lambda: it is pickled, and may raise what it likes.",
    ),
    (
        "AsyncTableFunction TableFunction ScalarFunction",
        "For SQL continue in Spark: stream.toDataFrame(), with a UDF of Spark's.",
    ),
    (
        "AbstractStreamOperator AbstractUdfStreamOperator BoundedMultiInput BoundedOneInput ChainingStrategy Input"
        " InputSelectable InputSelection MultipleInputStreamOperator OneInputStreamOperator Output"
        " OutputTypeConfigurable SetupableStreamOperator StreamOperator StreamOperatorFactory TwoInputStreamOperator"
        " TwoInputStreamOperatorFactory MailboxExecutor ProcessingTimeService ProcessingTimeServiceAware Operator"
        " InputTypeConfigurable",
        "A custom operator works on Flink's internals. Derive from ProcessFunction, KeyedProcessFunction or"
        " KeyedCoProcessFunction, which have state, timers, side outputs and a life cycle.",
    ),
    # ------------------------------------------------------------------ state and checkpoints
    ("ListCheckpointed", "Derive from CheckpointedFunction: initializeState and snapshotState."),
    (
        "StateInitializationContext StateSnapshotContext ManagedSnapshotContext KeyGroupStatePartitionStreamProvider KeyedStateCheckpointOutputStream OperatorStateCheckpointOutputStream StatePartitionStreamProvider",
        "Derive from CheckpointedFunction: it is given a FunctionInitializationContext and a FunctionSnapshotContext.",
    ),
    (
        "CheckpointListener",
        "Write stream.forEachBatch(function), which is called for each batch with its id.",
    ),
    ("WithMasterCheckpointHook", "Leave it out: every batch is a checkpoint, which Spark takes."),
    (
        "RestartStrategyOptions",
        'Write the options as texts: Configuration({"restart-strategy.type": "fixed-delay"}).',
    ),
    (
        "RestartStrategy",
        "Write env.setRestartStrategy(RestartStrategies.fixedDelayRestart(3, 10_000)).",
    ),
    (
        "StateBackend HashMapStateBackend EmbeddedRocksDBStateBackend RocksDBStateBackend FsStateBackend"
        " MemoryStateBackend AbstractStateBackend AbstractFileStateBackend StateBackendFactory"
        " HashMapStateBackendFactory FsStateBackendFactory MemoryStateBackendFactory"
        " EmbeddedRocksDBStateBackendFactory ConfigurableRocksDBOptionsFactory RocksDBConfigurableOptions"
        " RocksDBNativeMetricOptions RocksDBOptions RocksDBOptionsFactory PredefinedOptions",
        "State is in Spark's RocksDB state store, always; env.enableCheckpointing(directory) says where"
        " its checkpoints are.",
    ),
    (
        "CheckpointStorage CheckpointStorageFactory FileSystemCheckpointStorage JobManagerCheckpointStorage",
        "Write env.getCheckpointConfig().setCheckpointStorage(directory).",
    ),
    (
        "CheckpointType RecoveryClaimMode RestoreMode SavepointFormatType SavepointConfigOptions",
        "Leave it out: a savepoint has one format, and a job that starts from one leaves it unchanged.",
    ),
    (
        "AppendingState MergingState State",
        "Name the state itself: ValueState, ListState, MapState, ReducingState or AggregatingState.",
    ),
    # ------------------------------------------------------------------ types
    (
        "TypeHint",
        "Write the Python type: returns(tuple[str, int]) or TypeInformation.of(list[int]).",
    ),
    (
        "TypeInfo TypeInfoFactory TypeExtractor ResultTypeQueryable AtomicType BasicArrayTypeInfo BasicTypeInfo"
        " BitmapTypeInfo FractionalTypeInfo IntegerTypeInfo LocalTimeTypeInfo NothingTypeInfo NumericTypeInfo"
        " PrimitiveArrayTypeInfo SqlTimeTypeInfo VariantTypeInfo CompositeType EitherTypeInfo EnumTypeInfo"
        " GenericTypeInfo ListTypeInfo MapTypeInfo MultisetTypeInfo NullableListTypeInfo NullableMapTypeInfo"
        " NullableSetTypeInfo ObjectArrayTypeInfo PojoTypeInfo RowTypeInfo SetTypeInfo ValueTypeInfo"
        " VoidNamespaceTypeInfo",
        "Write the Python type, or Types.ROW_NAMED, Types.LIST, Types.MAP and so on.",
    ),
    (
        "TypeSerializer TypeComparator CompositeTypeComparator CompositeTypeSerializerSnapshot"
        " SimpleTypeSerializerSnapshot TypeSerializerSchemaCompatibility TypeSerializerSnapshot SerializerConfig"
        " DataInputView DataInputViewStreamWrapper DataOutputView DataOutputViewStreamWrapper SeekableDataInputView"
        " SeekableDataOutputView IOReadableWritable",
        "Leave it out: elements and state are pickled, or Arrow columns.",
    ),
    ("Either", "Write a union type, int | str, and isinstance."),
    (
        " ".join(
            (
                "Tuple",
                "TupleTypeInfo",
                *(f"Tuple{n}" for n in range(26)),
                *(f"Tuple{n}Builder" for n in range(26)),
            )
        ),
        "Write a Python tuple: (a, b); its fields are 0, 1, ... or f0, f1, ...",
    ),
    (
        "BooleanValue ByteValue CharValue CopyableValue DoubleValue FloatValue IntValue JavaToValueConverter Key"
        " KeyFieldOutOfBoundsException ListValue LongValue MapValue NormalizableKey Nothing NullFieldException"
        " NullKeyFieldException NullValue Record ResettableValue ShortValue StringValue StringValueUtils StringUtils Value"
        " Variant VariantBuilder VariantTypeException Bitmap TernaryBoolean",
        "Write a value of Python: bool, int, float, str, list, dict or None.",
    ),
    (
        "RowKind RowUtils",
        "A Row has no kind: give it a field for what is inserted, changed or removed.",
    ),
    # ------------------------------------------------------------------ environment and configuration
    ("MultipleParameterTool AbstractParameterTool", "Use argparse, with nargs or action='append'."),
    (
        "ExecutionEnvironment CollectionEnvironment ExecutionEnvironmentFactory",
        "Write StreamExecutionEnvironment: bounded sources end the job.",
    ),
    (
        "LocalEnvironment LocalStreamEnvironment StreamContextEnvironment StreamPlanEnvironment StreamExecutionEnvironmentFactory",
        "Write StreamExecutionEnvironment.getExecutionEnvironment().",
    ),
    (
        "RemoteEnvironment RemoteStreamEnvironment",
        "Write getExecutionEnvironment(SparkSession.builder.master(url).getOrCreate()).",
    ),
    (
        "SlotSharingGroup InputDependencyConstraint ExecutionMode BatchShuffleMode",
        "Leave it out: Spark has no slots, and decides when tasks start.",
    ),
    ("CustomSinkOperatorUidHashes", "Write uid(name): state is found by it."),
    (
        "AkkaOptions AlgorithmOptions ApplicationResultStoreOptions ArtifactFetchOptions BatchExecutionOptions"
        " BlobServerOptions CheckpointingOptions CleanupOptions ClientOptions ClusterOptions ConfigConstants"
        " ConfigOption ConfigOptions CoreOptions DeploymentOptions DescribedEnum Description ExecutionCheckpointingOptions"
        " ExecutionOptions ExternalResourceOptions HeartbeatManagerOptions HighAvailabilityOptions HistoryServerOptions"
        " JMXServerOptions JobEventStoreOptions JobManagerOptions JobResultStoreOptions KubernetesConfigOptions"
        " KubernetesHighAvailabilityOptions MemorySize MetricOptions NettyShuffleEnvironmentOptions OptimizerOptions"
        " PipelineOptions ReadableConfig ResourceManagerOptions RestOptions RpcOptions SecurityOptions"
        " ShuffleServiceOptions SlowTaskDetectorOptions StateBackendOptions StateChangelogOptions"
        " StateLatencyTrackOptions StateRecoveryOptions StateSizeTrackOptions StreamPipelineOptions TaskManagerOptions"
        " UnmodifiableConfiguration WebOptions WritableConfig YarnConfigOptions BlockElement DescriptionElement"
        " Formatter InlineElement LineBreakElement LinkElement ListElement TextElement",
        'Write the option as text: Configuration({"parallelism.default": 4}). What is not in'
        " Configuration.OPTIONS is Spark's to set, on the SparkSession.",
    ),
    (
        "DistributedCache",
        "Use spark.addArtifact(path, file=True) before the job and pyspark.SparkFiles.get(name) in open().",
    ),
    (
        "ExternalResourceInfo ExternalResourceDriver ExternalResourceDriverFactory",
        "Use pyspark.TaskContext.get().resources().",
    ),
    (
        "BroadcastVariableInitializer",
        "Use broadcast state: stream.connect(rules.broadcast(descriptor)).",
    ),
    (
        "UserCodeClassLoader TemporaryClassLoaderContext Plugin",
        "Python has no class loaders: use importlib, and spark.addArtifact(path, pyfile=True) for modules that workers lack.",
    ),
    (
        "BlockLocation EntropyInjectingFileSystem EntropyInjector FSDataInputStream FSDataOutputStream FileStatus"
        " FileSystem FileSystemFactory FileSystemKind LocalFileSystemFactory LocatedFileStatus Path"
        " RecoverableFsDataOutputStream RecoverableWriter",
        "Write a path as text or pathlib.Path; to read and write files yourself use pyarrow.fs or open.",
    ),
    (
        "Clock SystemClock",
        "Read context.timerService().currentProcessingTime(); on the harness setProcessingTime steps it.",
    ),
    ("AbstractID ApplicationID JobID", "Ids are texts: JobClient.getJobID()."),
    ("XORShiftRandom", "Use random.Random."),
    (
        "SupportsConcurrentExecutionAttempts ProgramDescription FlinkVersion Experimental Internal Public PublicEvolving",
        "Leave it out.",
    ),
    # ------------------------------------------------------------------ jobs, metrics, lineage
    (
        "JobInfo JobSubmissionResult ApplicationState ApplicationExecutionException WebSubmissionJobClient",
        "env.executeAsync() gives a JobClient, with the job's id and status.",
    ),
    (
        "JobCreatedEvent JobExecutionStatusEvent JobStatusChangedEvent JobStatusChangedListener JobStatusChangedListenerFactory",
        "Write env.registerJobListener(listener), with a JobListener.",
    ),
    ("InetSocketAddressSerializer", "Leave it out: values are pickled."),
    (
        "Gauge Metric View MetricType CharacterFilter LogicalScopeProvider",
        "Write getMetricGroup().gauge(name, function), counter(name), meter(name) or histogram(name).",
    ),
    (
        "MetricConfig Reporter MetricReporter MetricReporterFactory AbstractReporter InstantiateViaFactory"
        " InterceptInstantiationViaReflection Scheduled CacheMetricGroup OperatorCoordinatorMetricGroup"
        " OperatorIOMetricGroup OperatorMetricGroup SinkCommitterMetricGroup SinkWriterMetricGroup"
        " SourceReaderMetricGroup SourceSplitMetricGroup SplitEnumeratorMetricGroup",
        "Read JobClient.getMetrics(), the web page's /metrics for Prometheus, or use the extra opentelemetry.",
    ),
    (
        "DatasetConfigFacet DatasetSchemaFacet DatasetSchemaField DefaultTypeDatasetFacet LineageDataset"
        " LineageDatasetFacet LineageEdge LineageGraph LineageVertex LineageVertexProvider SourceLineageVertex"
        " TypeDatasetFacet TypeDatasetFacetProvider",
        "env.getExecutionPlan() has the job's sources and sinks as JSON.",
    ),
    # ------------------------------------------------------------------ tables and data sets
    (
        "StreamTableEnvironment Table TableResult Schema DataTypes ResolvedSchema",
        "Import it from flinkish.table, which runs queries that need no state.",
    ),
    (
        "TableEnvironment EnvironmentSettings TableConfig TableSchema TableDescriptor"
        " StatementSet AsyncDynamicTableSinkFactory AsyncSinkConnectorOptions ConfigurationValidator"
        " TableOptionsUtils AsyncDynamicTableSink AsyncDynamicTableSinkBuilder AsyncSinkConfigurationValidator"
        " ConfigurationValidatorUtil",
        "Queries without state run with flinkish.table.StreamTableEnvironment. For other SQL continue in Spark:"
        " stream.toDataFrame(), or stream.forEachBatchDataFrame(function) for what Spark refuses on"
        " a stream, and back with env.fromDataFrame(df).",
    ),
    (
        "DataSet DataSetUtils AggregateOperator Aggregations UnsupportedAggregationTypeException CoGroupOperator"
        " CrossOperator CustomUnaryOperation DataSink DataSource DeltaIteration DeltaIterationResultSet"
        " DistinctOperator FilterOperator FlatMapOperator GroupCombineOperator GroupReduceOperator Grouping"
        " IterativeDataSet JoinOperator MapOperator MapPartitionOperator PartitionOperator ProjectOperator"
        " ReduceOperator SingleInputOperator SingleInputUdfOperator SortPartitionOperator SortedGrouping"
        " TwoInputOperator TwoInputUdfOperator UdfOperator UnionOperator UnsortedGrouping JoinFunctionAssigner"
        " JoinOperatorSetsBase JoinType CombineFunction CrossFunction RichCrossFunction GroupCombineFunction"
        " RichGroupCombineFunction GroupReduceFunction RichGroupReduceFunction FlatMapIterator FunctionAnnotation"
        " GroupReduceIterator BooleanColumnSummary ColumnSummary NumericColumnSummary ObjectColumnSummary"
        " StringColumnSummary DataDistribution RangeBoundaries Aggregator AggregatorWithName ConvergenceCriterion"
        " DoubleSumAggregator DoubleZeroConvergence LongSumAggregator LongZeroConvergence",
        _DATA_SET,
    ),
)

ABSENT_NAMES: dict[str, str] = {
    name: instead for names, instead in _GROUPS for name in names.split()
}
"""What to write instead of a class of Flink that flinkish lacks."""

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
"""The packages of the names of other systems, which ``flinkish`` itself exported before 0.2."""
