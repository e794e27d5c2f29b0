"""Errors for functions that do not fit the operators that they are passed to."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish.api.errors import IllegalStateError, InvalidProgramError, UnfitElementError
from flinkish.api.types.fields import with_field
from flinkish.compat import storm, streaminsight
from flinkish.testing import StreamTestHarness


def values(build, *elements):
    harness = StreamTestHarness(build)
    for element in elements:
        harness.processElement(element, 1)
    return [record.value for record in harness.getOutput()]


@pytest.fixture(params=["keyed", "not keyed"])
def keyed(request):
    return (lambda s: s.keyBy(lambda value: 0)) if request.param == "keyed" else (lambda s: s)


class TestFlatMap:
    @pytest.mark.parametrize("returned", [3, "ada", b"ada", {"a": 1}, fl.Row(name="ada")])
    def test_a_single_value_is_refused(self, keyed, returned):
        with pytest.raises(UnfitElementError, match=r"^twice: .* returned .*\[result\]"):
            values(lambda s: keyed(s).flatMap(lambda value: returned).name("twice"), 1)

    @pytest.mark.parametrize("returned", [["a", "b"], ("a", "b"), {"a": 1, "b": 2}.keys()])
    def test_whatever_can_be_iterated_will_do(self, keyed, returned):
        assert values(lambda s: keyed(s).flatMap(lambda value: returned), 1) == ["a", "b"]

    def test_no_result_is_none(self, keyed):
        assert values(lambda s: keyed(s).flatMap(lambda n: [n] if n > 1 else None), 1, 2) == [2]


@pytest.mark.parametrize(
    "windows",
    [
        lambda words: words.countWindow(1),
        lambda words: words.window(fl.TumblingEventTimeWindows.of(10)),
        lambda words: words.window(fl.EventTimeSessionWindows.withGap(10)),
    ],
)
def test_a_single_result_of_a_window_function_names_the_operator(windows):
    def ones(stream):
        return windows(stream.keyBy(len)).apply(lambda key, window, words: "one").name("ones")

    def run():
        harness = StreamTestHarness(ones)
        harness.processElement("ada", 1)
        harness.endInput()

    with pytest.raises(UnfitElementError, match=r"^ones: the window function returned 'one'"):
        run()


def test_a_missing_field_names_the_first_operator_that_wants_it():
    with pytest.raises(
        UnfitElementError, match=r"^\S.*: the element \('ada', 1\) has no field 'us"
    ):
        values(lambda s: s.map(lambda click: click).keyBy("user").sum(1).map(str), ("ada", 1))


class OpensNothing(fl.MapFunction):
    def open(self, openContext):
        self.seen = 0

    def map(self, value):
        return value


class Opens(OpensNothing, fl.RichFunction):
    def map(self, value):
        return self.seen


def test_an_open_that_nobody_would_call_is_refused():
    with pytest.raises(InvalidProgramError, match="OpensNothing: only a rich function is opened"):
        values(lambda s: s.map(OpensNothing()))
    assert values(lambda s: s.map(Opens()), 1) == [0]


@pytest.mark.parametrize(
    ("method", "build"),
    [
        ("map", lambda s: s.map(OpensNothing)),
        ("filter", lambda s: s.filter(fl.FilterFunction)),
        ("flatMap", lambda s: s.flatMap(fl.FlatMapFunction)),
        ("keyBy", lambda s: s.keyBy(fl.KeySelector)),
        ("reduce", lambda s: s.keyBy(len).reduce(fl.ReduceFunction)),
    ],
)
def test_a_class_in_place_of_a_function_is_refused(method, build):
    with pytest.raises(InvalidProgramError, match=rf"^{method}: (\w+) is a class.* \1\(\)"):
        values(build)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda s: s.map(lambda a, b: a), "map: .* cannot be called with 1 argument. Pass a MapF"),
        (lambda s: s.filter(lambda: True), "filter: .* cannot be called with 1 argument. Pass"),
        (lambda s: s.flatMap(lambda a, b, c: a), r"flatMap: .* with 1 or 2 arguments. Pass a Fl"),
        (lambda s: s.keyBy(lambda a, b: a), "keyBy: .* cannot be called with 1 argument. Pass"),
        (lambda s: s.keyBy(len).reduce(lambda a: a), "reduce: .* with 2 arguments. Pass a Reduce"),
        (lambda s: s.partitionCustom(lambda k: 1, len), "partitionCustom: .* with 2 arguments."),
    ],
)
def test_a_function_of_other_arguments_is_refused_where_it_is_passed(build, says):
    with pytest.raises(InvalidProgramError, match=says):
        build(fl.StreamExecutionEnvironment().fromElements("a"))


def test_a_function_may_take_more_than_it_is_given():
    """Defaults, any number of arguments, and functions that do not say what they take."""
    stream = fl.StreamExecutionEnvironment().fromElements("a")
    stream.map(lambda a, b=1: a).map(lambda *a: a[0]).map(str).keyBy(lambda a, **b: a).reduce(max)


@pytest.mark.parametrize("count", ["2", 0, -1, 1.5, None, True])
def test_a_count_is_a_whole_number_above_zero(count):
    env = fl.StreamExecutionEnvironment()
    stream = env.fromElements("a").map(str)
    for method in (env.setParallelism, env.setMaxParallelism, stream.setParallelism):
        with pytest.raises(fl.IllegalArgumentError, match=f"{method.__name__}: {count!r} is not a"):
            method(count)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((3,), "DataGeneratorSource: 3 of type int is not a function. Pass f"),
        ((lambda: 1,), "DataGeneratorSource: .* cannot be called with 1 argument. Pass f"),
        ((str, -1), "count: -1 is not a whole number from 0 on"),
        ((str, None, 0), "elementsPerSecond: 0 is not a whole number from 1 on"),
    ],
)
def test_a_generator_of_data_is_checked_where_it_is_made(arguments, says):
    with pytest.raises(fl.FlinkishError, match=says):
        fl.DataGeneratorSource(*arguments)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda env: env.setRuntimeMode("BATCHES"), "setRuntimeMode: 'BATCHES' is none of Runtime"),
        (lambda env: env.configure(3), "configure: 3 of type int is not a Mapping. Pass a Config"),
        (lambda env: fl.Configuration("x"), "Configuration: 'x' of type str is not a Mapping"),
        (lambda env: env.setBufferTimeout("x"), "setBufferTimeout: 'x' is not a length of time"),
        (lambda env: env.setBufferTimeout(-2), "setBufferTimeout: -2 ms is negative. Pass 0 or"),
        (lambda env: env.setTriggerInterval(-1), "setTriggerInterval: interval is -1 ms, but can"),
        (lambda env: env.setMaxParallelism(1 << 16), "setMaxParallelism: 65536 is above 32768"),
        (
            lambda env: env.enableCheckpointing(""),
            "setCheckpointStorage: directory: '' will not do",
        ),
        (lambda env: env.enableCheckpointing(0), "checkpointInterval is 0 ms, but must be greater"),
        (lambda env: env.enableCheckpointing("a", "b"), "'b' is none of CheckpointingMode.EXACTLY"),
        (lambda env: fl.Duration.ofSeconds(0.5), "Duration.ofSeconds: 0.5 is not a whole number"),
        (lambda env: fl.Time.days(None), "Duration.ofDays: None is not a whole number"),
        (lambda env: fl.Duration("x"), "Duration: 'x' is not a whole number"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(build, says):
    with pytest.raises(fl.FlinkishError, match=says):
        build(fl.StreamExecutionEnvironment())


def strategy():
    return fl.WatermarkStrategy.noWatermarks()


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: fl.WatermarkStrategy.forGenerator(3), "forGenerator: 3 of type int is not a func"),
        (lambda: fl.WatermarkStrategy.forGenerator(dict.get), "forGenerator: .* with 1 argument"),
        (
            lambda: strategy().withTimestampAssigner(7),
            "withTimestampAssigner: 7 of .* Pass a Times",
        ),
        (lambda: strategy().withTimestampAssigner(len), "withTimestampAssigner: .* 2 arguments"),
        (lambda: strategy().withIdleness(0), "withIdleness: idleTimeout is 0 ms, but must be"),
        (lambda: storm.unionWithLag(3, lag=5), "unionWithLag: 3 of type int is not a DataStream"),
    ],
)
def test_a_watermark_strategy_is_checked_as_it_is_made(build, says):
    with pytest.raises(fl.FlinkishError, match=says):
        build()


@pytest.mark.parametrize("end", [lambda s: s.map(str), lambda s: s.print()])
@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda s: s.uid(""), "uid: '' will not do. Pass a string that is not empty"),
        (lambda s: s.uid(3), "uid: 3 will not do"),
        (lambda s: s.name(3), "name: 3 of type int is not a str"),
        (lambda s: s.setDescription(None), "setDescription: None of type NoneType is not a str"),
        (lambda s: s.setParallelism(-3), "setParallelism: -3 is not a whole number from 1 on"),
        (lambda s: s.setMaxParallelism(0), "setMaxParallelism: 0 is not a whole number from 1 on"),
    ],
)
def test_operators_and_sinks_check_what_they_are_called(end, call, says):
    with pytest.raises(fl.FlinkishError, match=says):
        call(end(fl.StreamExecutionEnvironment().fromElements("a")))


@pytest.mark.parametrize("given", [str, fl.Types.STRING, "string"])
def test_an_output_type_is_a_type_information(given):
    stream = fl.StreamExecutionEnvironment().fromElements("a")
    with pytest.raises(InvalidProgramError, match=r"Map: outputType: .* Pass .* Types.STRING\(\)"):
        stream.map(str, given)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda env: env.fromSource(3), "fromSource: 3 of type int is not a Source. Pass one"),
        (
            lambda env: env.fromSource(fl.DataGeneratorSource(str), 3),
            "fromSource: 3 of type int is not a WatermarkStrategy",
        ),
        (lambda env: env.fromCollection(3), "fromCollection: 3 of type int is not an Iterable"),
        (lambda env: env.fromSequence("a", 3), "fromSequence: start: 'a' is not a whole number"),
        (lambda env: env.fromSequence(4, 3), "fromSequence: start 4 is greater than end 3. Swap"),
        (lambda env: env.fromDataFrame(3), "fromDataFrame: 3 of type int is not a DataFrame"),
        (lambda env: env.readTextFile(""), "FileSource: path: '' will not do"),
        (lambda env: env.socketTextStream("", 3), "socketTextStream: hostname: '' will not do"),
        (
            lambda env: env.socketTextStream("a", 70_000),
            "socketTextStream: port: 70000 is above 65535",
        ),
        (lambda env: type(env)(3), "StreamExecutionEnvironment: 3 is not a SparkSession. Pass"),
        (lambda env: env.registerJobListener(3), "registerJobListener: 3 .* is not a JobListener"),
        (lambda env: env.createLocalEnvironment(0), "setParallelism: 0 is not a whole number"),
        (lambda env: fl.FileSource.forCsv("a", 3), "FileSource.forCsv: 3 is no schema. Pass one"),
        (lambda env: fl.FileSink.forText(""), "FileSink: path: '' will not do"),
        (lambda env: fl.FileSink.forJson("a", 3), "FileSink.forJson: 3 is no schema. Pass one"),
    ],
)
def test_a_source_or_a_file_sink_is_checked_where_it_is_made(build, says):
    with pytest.raises(fl.FlinkishError, match=says):
        build(fl.StreamExecutionEnvironment())


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda s: s.assignTimestampsAndWatermarks(3), "3 of type int is not a WatermarkStrategy"),
        (lambda s: s.forEachBatch(3), "forEachBatch: 3 of type int is not a function. Pass f"),
        (
            lambda s: s.forEachPartition(3),
            "forEachPartition: 3 of type int is not a function. Pass f",
        ),
        (
            lambda s: s.forEachPartition(lambda: 1),
            "forEachPartition: .* cannot be called with 1 arg",
        ),
        (lambda s: s.forEachBatch(len), "forEachBatch: .* cannot be called with 2 arguments"),
        (lambda s: s.print(3), "print: sinkIdentifier: 3 of type int is not a str"),
        (lambda s: s.keyBy(-1), "keyBy: -1 is not a field. Pass a position from 0 on, or the"),
        (lambda s: s.keyBy(""), "keyBy: '' is not a field"),
        (lambda s: s.keyBy(0, str), "keyBy: keyType: <class 'str'> .* is not a TypeInformation"),
        (lambda s: s.project(), "project: pass the position of at least one field"),
        (lambda s: s.project(True), "project: position: True is not a whole number from 0"),
        (lambda s: s.keyBy(0).sum(-1), "sum: -1 is not a field"),
    ],
)
def test_what_is_done_with_a_stream_is_checked(call, says):
    with pytest.raises(fl.FlinkishError, match=says):
        call(fl.StreamExecutionEnvironment().fromElements(("a", 1)).map(lambda pair: pair))


def test_a_field_that_cannot_be_set_is_an_error_of_the_element():
    with pytest.raises(UnfitElementError, match="the field 1 of the element 'ada' cannot be set"):
        with_field("ada", 1, 7)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: fl.CountTrigger.of("3"), "CountTrigger: maxCount: '3' is not a whole number"),
        (lambda: fl.CountEvictor.of(None), "CountEvictor: maxCount: None is not a whole number"),
        (lambda: fl.TimeEvictor.of("x"), "TimeEvictor: windowSize: 'x' is not a length of time"),
        (lambda: fl.DeltaTrigger.of("x", max), "DeltaTrigger: threshold: 'x' is not a number"),
        (lambda: fl.DeltaEvictor.of(3, abs), "DeltaEvictor: .* cannot be called with 2 arguments"),
        (lambda: fl.PurgingTrigger.of(3), "PurgingTrigger: 3 of type int is not a Trigger. Pass"),
        (lambda: fl.ProcessingTimeoutTrigger.of(3, 5), "ProcessingTimeoutTrigger: 3 .* a Trigger"),
        (lambda: fl.GlobalWindows(3), "GlobalWindows: 3 of type int is not a Trigger"),
        (lambda: fl.TumblingEventTimeWindows.of("x"), "TumblingEventTimeWindows: size: 'x' is not"),
        (lambda: fl.TumblingEventTimeWindows.of(5, 0, 3), "windowStagger: 3 .* a WindowStagger"),
        (lambda: fl.SlidingEventTimeWindows.of(5, None), "SlidingEventTimeWindows: slide: None is"),
        (lambda: fl.EventTimeSessionWindows.withGap(0), "EventTimeSessionWindows: gap is 0 ms, b"),
        (lambda: fl.EventTimeSessionWindows.withDynamicGap(pow), "withDynamicGap: .* 1 argument"),
        (
            lambda: streaminsight.HoppingLifetimeWindows(5, "x"),
            "HoppingLifetimeWindows: hop: 'x' is not a le",
        ),
    ],
)
def test_a_piece_of_a_window_is_checked_as_it_is_made(build, says):
    with pytest.raises(fl.FlinkishError, match=says):
        build()


def ttl():
    return fl.StateTtlConfig.newBuilder(5)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda s: s.join(3), "join: 3 of type int is not a DataStream. Pass the stream to join"),
        (lambda s: s.coGroup(None), "coGroup: None of type NoneType is not a DataStream"),
        (
            lambda s: s.keyBy(0).intervalJoin(s),
            "intervalJoin: .* is not a KeyedStream. Call keyBy",
        ),
        (lambda s: joined(s).process(len), "intervalJoin: .* cannot be called with 4 arguments"),
        (lambda s: joined(s).sideOutputLeftLateData("x"), "sideOutputLeftLateData: 'x' of .* Outp"),
        (lambda s: policies(s).sideOutputLateData("x"), "sideOutputLateData: 'x' .* an OutputTag"),
        (lambda s: policies(3), "policy windows: 3 of type int is not a DataStream"),
        (lambda s: storm.Count.of("x"), "Count: 'x' is not a whole number from 1 on"),
        (lambda s: lifetimes(s).sideOutputLateData("x"), "sideOutputLateData: 'x' .* an OutputTag"),
        (lambda s: lifetimes(3), "lifetime windows: 3 of type int is not a DataStream"),
        (
            lambda s: streaminsight.advanceTime(3, None),
            "advanceTime: 3 of type int is not a DataStream",
        ),
        (
            lambda s: streaminsight.advanceTime(s, None),
            "advanceTime: None .* is not an AdvanceTimeSettings",
        ),
        (
            lambda s: streaminsight.advanceTime(
                s, streaminsight.AdvanceTimeSettings.increasingStartTime(), "x"
            ),
            "advanceTime: violations: 'x' of type str is not an OutputTag",
        ),
        (lambda s: streaminsight.committed(3), "committed: 3 of type int is not a DataStream"),
        (
            lambda s: streaminsight.shiftEventTime(3, 5),
            "shiftEventTime: 3 of type int is not a DataStream",
        ),
        (
            lambda s: streaminsight.shiftEventTime(s, "x"),
            "shiftEventTime: shift: 'x' is not a length of time",
        ),
        (
            lambda s: streaminsight.alterEventDuration(s, 5),
            "alterEventLifetime: 5 of type int is not a funct",
        ),
        (
            lambda s: streaminsight.temporalJoin(s, 3, max, max),
            "temporalJoin: 3 of type int is not a DataSt",
        ),
        (
            lambda s: streaminsight.temporalJoin(s, s, max, abs),
            "temporalJoin: select: .* with 2 arguments",
        ),
        (
            lambda s: fl.ReducingStateDescriptor("a", 3),
            r"ReducingStateDescriptor\('a'\): 3 of type",
        ),
        (lambda s: fl.AggregatingStateDescriptor("a", 3), r"\('a'\): 3 .* an AggregateFunction"),
        (
            lambda s: fl.ValueStateDescriptor("a").enableTimeToLive(3),
            "3 .* is not a StateTtlConfig",
        ),
        (lambda s: ttl().setUpdateType(3), "StateTtlConfig: updateType: 3 .* an UpdateType"),
        (lambda s: ttl().cleanupIncrementally("x", True), "cleanupSize: 'x' is not a whole number"),
        (lambda s: s.fullWindowPartition().sortPartition(0, 3), "sortPartition: 3 .* an Order"),
        (lambda s: fl.OutputTag(""), "OutputTag: id: '' will not do"),
    ],
)
def test_what_does_not_go_together_is_refused(build, says):
    with pytest.raises(fl.FlinkishError, match=says):
        build(fl.StreamExecutionEnvironment().fromElements(("a", 1)))


def joined(stream):
    return stream.keyBy(0).intervalJoin(stream.keyBy(0)).between(0, 5)


def policies(stream):
    return storm.PolicyWindowedStream.of(stream, storm.Count(2))


def lifetimes(stream):
    return streaminsight.LifetimeWindowedStream(stream, streaminsight.SnapshotWindows())


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: fl.Types.DATACLASS(int), "DATACLASS: <class 'int'> .* Decorate the class with"),
        (lambda: fl.Types.NAMED_TUPLE(int), "NAMED_TUPLE: <class 'int'> .* Derive the class from"),
        (
            lambda: fl.Types.LIST(str),
            "Types: List: <class 'str'> .* is not a TypeInformation. Pass",
        ),
        (lambda: fl.Types.TUPLE(3), "Types.TUPLE: 3 of type int is not a TypeInformation. Pass"),
        (lambda: fl.Types.ROW_NAMED(3, 3), "Types.ROW_NAMED: 3 of type int is not a Sequence"),
        (lambda: fl.Types.ENUM(int), "Types.ENUM: <class 'int'> is not an Enum. Derive"),
        (lambda: fl.TypeInformation.of(3), "TypeInformation: 3 is not a type. Pass one"),
        (lambda: fl.ValueStateDescriptor("a", fl.Types.STRING), "STRING .* is not a type. Pass"),
    ],
)
def test_a_type_is_made_of_types(build, says):
    with pytest.raises(fl.FlinkishError, match=says):
        build()


@pytest.mark.parametrize(
    ("register", "says"),
    [
        (lambda group: group.meter("a"), "the metric 'a' is already a counter. Give the meter an"),
        (lambda group: group.counter(""), "MetricGroup: name: '' will not do"),
        (lambda group: group.gauge("b", 3), "gauge 'b': 3 of type int is not a function. Pass f"),
    ],
)
def test_a_metric_has_a_name_and_a_kind(register, says):
    class Counts(fl.RichMapFunction):
        def open(self, openContext):
            group = self.getRuntimeContext().getMetricGroup()
            group.counter("a")
            register(group)

        def map(self, value):
            return value

    with pytest.raises(fl.FlinkishError, match=says):
        values(lambda s: s.map(Counts()), 1)


@pytest.mark.parametrize("kind", [storm.PolicyWindowFunction, fl.MapFunction, fl.WindowFunction])
def test_a_function_without_its_method_cannot_be_made(kind):
    with pytest.raises(TypeError, match="abstract"):
        kind()


def test_what_is_no_stream_has_no_part_in_a_union():
    stream = fl.StreamExecutionEnvironment().fromElements("a")
    with pytest.raises(fl.IllegalArgumentError, match="union: 3 of type int is not a stream"):
        stream.union(3)


def test_a_stream_says_what_it_is():
    flights = fl.StreamExecutionEnvironment().fromElements(("JFK", 7)).name("flights")
    assert repr(flights) == "DataStreamSource[Tuple<String, Long>] of 'flights'"
    assert repr(flights.keyBy(0)).startswith("KeyedStream[Tuple<String, Long>]")


def test_the_traceback_of_a_job_that_cannot_start_is_short(monkeypatch):
    class Executor:
        def executeAsync(self, environment, sinks, jobName):
            raise InvalidProgramError("no such job")

    monkeypatch.setattr(fl.StreamExecutionEnvironment, "executorLoader", staticmethod(Executor))
    env = fl.StreamExecutionEnvironment()
    env.fromElements(1).print()
    with pytest.raises(InvalidProgramError) as raised:
        env.executeAsync()
    assert len(raised.traceback) <= 2  # this test, and executeAsync of the environment


def test_a_second_execute_says_that_the_first_took_the_sinks():
    with pytest.raises(IllegalStateError, match="the next one runs those added since"):
        fl.StreamExecutionEnvironment().execute()
