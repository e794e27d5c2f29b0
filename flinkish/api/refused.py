"""Methods of Flink that flinkish refuses: each says why, and what to use instead."""

from __future__ import annotations

from typing import NoReturn

from flinkish.api.absent import AbsentMethods
from flinkish.api.errors import NotSupportedError


class RefusedStreamMethods(AbsentMethods):
    """What Flink's ``DataStream`` and ``SingleOutputStreamOperator`` have and flinkish refuses."""

    def iterate(self, *arguments: object) -> NoReturn:
        """Not supported: Flink 2 has no iterations either."""
        raise NotSupportedError(
            "iterate is not supported: Flink 2 has dropped iterations too. Keep what goes round in"
            " keyed state with timers (KeyedProcessFunction), or write results to a topic or a"
            " directory that the job also reads."
        )

    def transform(self, *arguments: object) -> NoReturn:
        """Not supported: operators of one's own see Flink's internals."""
        raise NotSupportedError(
            "transform is not supported: an operator of one's own works on Flink's internals. Write"
            " a ProcessFunction, KeyedProcessFunction or KeyedCoProcessFunction, which have state,"
            " timers, side outputs and a life cycle."
        )

    def addSink(self, *arguments: object) -> NoReturn:
        """Not supported: a SinkFunction writes element by element, so a replayed batch would double."""
        raise NotSupportedError(
            "addSink is not supported: a SinkFunction writes element by element, so that a batch"
            " which is run again would write twice. Use sinkTo(FileSink...), or"
            " forEachBatch(function), which is called with the batch's id."
        )

    def writeToSocket(self, *arguments: object) -> NoReturn:
        """Not supported: what went into a socket cannot be taken back when a batch is run again."""
        raise NotSupportedError(
            "writeToSocket is not supported. Use forEachBatch(function) and send the elements there,"
            " with the batch's id so that the receiver can drop a batch that comes again."
        )

    def writeUsingOutputFormat(self, *arguments: object) -> NoReturn:
        """Not supported: an OutputFormat is a Java class."""
        raise NotSupportedError(
            "writeUsingOutputFormat is not supported. Use sinkTo(FileSink...), or toDataFrame() and"
            " the writers of Spark."
        )

    def cache(self) -> NoReturn:
        """Not supported: there is no cluster that would keep what a job has computed."""
        raise NotSupportedError(
            "cache is not supported. Write the stream with sinkTo(FileSink.forParquet(directory)),"
            " and let later jobs read it with FileSource.forParquet."
        )


class RefusedKeyedStreamMethods:
    """What Flink's ``KeyedStream`` has and flinkish refuses."""

    def asQueryableState(self, *arguments: object) -> NoReturn:
        """Not supported: Flink has deprecated queryable state too."""
        raise NotSupportedError(
            "asQueryableState is not supported. Write the state to a sink that can be queried, or"
            " read the checkpoint with Spark's state data source."
        )


class RefusedEnvironmentMethods(AbsentMethods):
    """What Flink's ``StreamExecutionEnvironment`` has and flinkish refuses."""

    def addSource(self, *arguments: object) -> NoReturn:
        """Not supported: a SourceFunction cannot say where to go on after a crash."""
        raise NotSupportedError(
            "addSource is not supported: Flink has deprecated SourceFunction. Use"
            " fromSource(DataGeneratorSource(function)), fromSource(FileSource...), or"
            " fromDataFrame(spark.readStream...) with any of Spark's connectors."
        )

    def createInput(self, *arguments: object) -> NoReturn:
        """Not supported: an InputFormat is a Java class."""
        raise NotSupportedError(
            "createInput is not supported. Use fromSource(FileSource...), or fromDataFrame with any"
            " of Spark's readers."
        )

    def readFile(self, *arguments: object) -> NoReturn:
        """Not supported: an InputFormat is a Java class."""
        raise NotSupportedError(
            "readFile is not supported. Use fromSource(FileSource.forLines(path)), or forCsv, forJson,"
            " forParquet; monitorContinuously() watches the directory."
        )

    def readFileStream(self, *arguments: object) -> NoReturn:
        """Not supported: Flink has deprecated it."""
        raise NotSupportedError(
            "readFileStream is not supported. Use"
            " fromSource(FileSource.forLines(path).monitorContinuously())."
        )

    def fromParallelCollection(self, *arguments: object) -> NoReturn:
        """Not supported: a SplittableIterator is a Java class."""
        raise NotSupportedError(
            "fromParallelCollection is not supported. Use fromSequence(start, end), or"
            " fromSource(DataGeneratorSource(function, count)), which Spark reads in parallel."
        )

    def registerCachedFile(self, *arguments: object) -> NoReturn:
        """Not supported: Spark ships files itself."""
        raise NotSupportedError(
            "registerCachedFile is not supported. Use spark.addArtifact(path, file=True) before the"
            " job and pyspark.SparkFiles.get(name) in open()."
        )

    def setDefaultSavepointDirectory(self, *arguments: object) -> NoReturn:
        """Not supported: each savepoint has a directory of its own."""
        raise NotSupportedError(
            "setDefaultSavepointDirectory is not supported: each savepoint has a directory of its own."
            " Use stopWithSavepoint(directory) or triggerSavepoint(directory)."
        )

    @staticmethod
    def createRemoteEnvironment(*arguments: object) -> NoReturn:
        """Not supported: the cluster is Spark's."""
        raise NotSupportedError(
            "createRemoteEnvironment is not supported: the cluster is Spark's. Use"
            " getExecutionEnvironment(SparkSession.builder.master(url).getOrCreate())."
        )


class RefusedRuntimeContextMethods:
    """What Flink's ``RuntimeContext`` has and flinkish refuses."""

    def addAccumulator(self, *arguments: object) -> NoReturn:
        """Not supported: a counter does the same."""
        raise NotSupportedError(
            "addAccumulator is not supported. Use getMetricGroup().counter(name): the job sums it up"
            " over its tasks in JobExecutionResult.getMetrics()."
        )

    def getAccumulator(self, *arguments: object) -> NoReturn:
        """Not supported: a counter does the same."""
        raise NotSupportedError(
            "getAccumulator is not supported. Use getMetricGroup().counter(name)."
        )

    def getIntCounter(self, *arguments: object) -> NoReturn:
        """Not supported: a counter of the metrics does the same."""
        raise NotSupportedError(
            "getIntCounter is not supported. Use getMetricGroup().counter(name)."
        )

    def getLongCounter(self, *arguments: object) -> NoReturn:
        """Not supported: a counter of the metrics does the same."""
        raise NotSupportedError(
            "getLongCounter is not supported. Use getMetricGroup().counter(name)."
        )

    def getDoubleCounter(self, *arguments: object) -> NoReturn:
        """Not supported: a histogram of the metrics does the same."""
        raise NotSupportedError(
            "getDoubleCounter is not supported. Use getMetricGroup().histogram(name), which sums up."
        )

    def getHistogram(self, *arguments: object) -> NoReturn:
        """Not supported: a histogram of the metrics does the same."""
        raise NotSupportedError(
            "getHistogram is not supported. Use getMetricGroup().histogram(name)."
        )

    def getBroadcastVariable(self, *arguments: object) -> NoReturn:
        """Not supported: Flink has them for data sets only."""
        raise NotSupportedError(
            "getBroadcastVariable is not supported. Use broadcast state:"
            " stream.connect(rules.broadcast(descriptor))."
        )

    def hasBroadcastVariable(self, *arguments: object) -> NoReturn:
        """Not supported: Flink has them for data sets only."""
        raise NotSupportedError(
            "hasBroadcastVariable is not supported. Use broadcast state:"
            " stream.connect(rules.broadcast(descriptor))."
        )

    def getBroadcastVariableWithInitializer(self, *arguments: object) -> NoReturn:
        """Not supported: Flink has them for data sets only."""
        raise NotSupportedError(
            "getBroadcastVariableWithInitializer is not supported. Use broadcast state:"
            " stream.connect(rules.broadcast(descriptor))."
        )

    def getJobInfo(self) -> NoReturn:
        """Not supported: functions are shipped before the job has its id."""
        raise NotSupportedError(
            "getJobInfo is not supported: functions are shipped before the job has its id. Use"
            " JobClient.getJobID() in the driver, and give the function the job's name if it needs it."
        )

    def getDistributedCache(self) -> NoReturn:
        """Not supported: Spark ships files itself."""
        raise NotSupportedError(
            "getDistributedCache is not supported. Use spark.addArtifact(path, file=True) before the"
            " job and pyspark.SparkFiles.get(name) in open()."
        )

    def getUserCodeClassLoader(self) -> NoReturn:
        """Not supported: Python has no class loaders."""
        raise NotSupportedError(
            "getUserCodeClassLoader is not supported: Python has no class loaders. Use importlib, and"
            " spark.addArtifact(path, pyfile=True) for modules that workers lack."
        )

    def registerUserCodeClassLoaderReleaseHookIfAbsent(self, *arguments: object) -> NoReturn:
        """Not supported: Python has no class loaders."""
        raise NotSupportedError(
            "registerUserCodeClassLoaderReleaseHookIfAbsent is not supported: Python has no class"
            " loaders. Use close() of the function."
        )

    def getExternalResourceInfos(self, *arguments: object) -> NoReturn:
        """Not supported: resources are Spark's."""
        raise NotSupportedError(
            "getExternalResourceInfos is not supported. Use pyspark.TaskContext.get().resources()."
        )

    def createSerializer(self, *arguments: object) -> NoReturn:
        """Not supported: elements are pickled."""
        raise NotSupportedError(
            "createSerializer is not supported: elements are pickled. Use pickle or cloudpickle."
        )
