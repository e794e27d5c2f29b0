"""PyFlink jobs, in this process and some of them on Spark."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import shutil
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import flinkish
from flinkish.pyflink.common import (
    Configuration,
    Duration,
    Encoder,
    JobStatus,
    Row,
    Time,
    Types,
    WatermarkStrategy,
)
from flinkish.pyflink.common.watermark_strategy import TimestampAssigner
from flinkish.pyflink.datastream import (
    AggregateFunction,
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    BroadcastProcessFunction,
    CheckpointingMode,
    CoFlatMapFunction,
    CoMapFunction,
    DataStream,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    MergingWindowAssigner,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RuntimeExecutionMode,
    SinkFunction,
    StreamExecutionEnvironment,
    TimeDomain,
    Trigger,
    TriggerResult,
    WindowFunction,
)
from flinkish.pyflink.datastream.connectors.file_system import (
    BucketAssigner,
    FileSink,
    FileSource,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
)
from flinkish.pyflink.datastream.connectors.kafka import FlinkKafkaConsumer
from flinkish.pyflink.datastream.connectors.number_seq import NumberSequenceSource
from flinkish.pyflink.datastream.formats.parquet import ParquetBulkWriters
from flinkish.pyflink.datastream.functions import ProcessAllWindowFunction
from flinkish.pyflink.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from flinkish.pyflink.datastream.utils import ResultTypeQueryable
from flinkish.pyflink.datastream.window import (
    CountSlidingWindowAssigner,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    PurgingTrigger,
    TimeWindow,
    TumblingEventTimeWindows,
)

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])


@pytest.fixture
def local():
    environment = StreamExecutionEnvironment.get_execution_environment()
    return environment.set_local_execution(True)


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


ASCENDING = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())


def collected(stream):
    with stream.execute_and_collect() as results:
        return list(results)


class Bounds(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, len(list(elements))


class Timers(KeyedProcessFunction):
    def open(self, runtime_context):
        ttl = StateTtlConfig.new_builder(Time.hours(1)).update_ttl_on_read_and_write().build()
        descriptor = MapStateDescriptor("seen", Types.INT(), Types.STRING())
        descriptor.enable_time_to_live(ttl)
        self.seen = runtime_context.get_map_state(descriptor)
        self.all = runtime_context.get_list_state(ListStateDescriptor("all", Types.SHORT()))
        self.total = runtime_context.get_reducing_state(
            ReducingStateDescriptor("total", lambda a, b: a + b, Types.INT())
        )
        self.counter = runtime_context.get_metrics_group().add_group("mine").counter("elements")

    def process_element(self, value, ctx):
        self.counter.inc()
        self.seen[value[1]] = value[0]
        self.all.add(value[1] + 65_536)
        self.total.add(value[1])
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)

    def on_timer(self, timestamp, ctx):
        assert ctx.time_domain() is TimeDomain.EVENT_TIME
        yield (
            ctx.get_current_key(),
            timestamp,
            sorted(self.seen.keys()),
            list(self.all),
            self.total.get(),
        )


ROW = Types.ROW([Types.STRING(), Types.INT()])
LINE = Types.ROW_NAMED(["item"], [Types.STRING()])
ORDER = Types.ROW_NAMED(
    ["user", "amount", "lines"], [Types.STRING(), Types.INT(), Types.LIST(LINE)]
)


@dataclass
class Ran:
    """A run of a job of many branches: where its files are, what came out, and what it printed."""

    directory: Path
    env: StreamExecutionEnvironment
    seen: dict[str, list[Any]] = field(default_factory=dict)
    printed: str = ""

    def see(self, name: str, stream: DataStream) -> None:
        into = self.seen.setdefault(name, [])
        stream.for_each_batch(lambda values, batch: into.extend(values))


def timers_state_and_windows(ran):
    stream = ran.env.from_collection([("a", 1), ("b", 2), ("a", 30)], PAIR)
    timed = stream.assign_timestamps_and_watermarks(ASCENDING)
    windows = timed.key_by(lambda v: v[0]).window(
        TumblingEventTimeWindows.of(Time.milliseconds(20))
    )
    fired = timed.key_by(lambda v: v[0], Types.STRING()).process(Timers())
    ran.see("timers", fired.union(windows.process(Bounds())))


def printed_rows(ran):
    rows = ran.env.from_collection([("a", 2**31)], ROW)
    rows.map(lambda r: (r[0], r.f1 - 1), output_type=ROW).print("seen")
    rows.map(lambda r: r[0]).print()


def text_files(ran):
    (ran.directory / "in").mkdir()
    (ran.directory / "in" / "a.txt").write_text("to be\nor not\n")
    source = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), str(ran.directory / "in")
    ).process_static_file_set()
    lines = ran.env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "lines")
    words = lines.flat_map(lambda line: ((word, 1) for word in line.split()), output_type=PAIR)
    sink = (
        FileSink.for_row_format(str(ran.directory / "out"), Encoder.simple_string_encoder())
        .with_output_file_config(OutputFileConfig.builder().with_part_prefix("p").build())
        .with_rolling_policy(RollingPolicy.default_rolling_policy())
        .build()
    )
    words.sink_to(sink)


def files_in_buckets(ran):
    sink = (
        FileSink.for_row_format(str(ran.directory / "days"), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.date_time_bucket_assigner("'day='yyyy", "UTC"))
        .build()
    )
    ran.env.from_collection(["a", "b"], Types.STRING()).sink_to(sink)


def files_of_columns(ran):
    orders = [Row("a", 1, [Row("tea")]), Row("b", None, [])]
    sink = (
        FileSink.for_bulk_format(
            str(ran.directory / "columns"), ParquetBulkWriters.for_row_type(ORDER)
        )
        .with_bucket_assigner(BucketAssigner.date_time_bucket_assigner("'all'"))
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        .build()
    )
    ran.env.from_collection(orders, ORDER).sink_to(sink)


class Computed(MapFunction):
    """Takes a parameter, a Python file and an archive of the job."""

    def open(self, runtime_context):
        self.factor = int(runtime_context.get_job_parameter("factor", "1"))
        self.other = runtime_context.get_job_parameter("none", "default")

    def map(self, value):
        from a_module_of_the_job import plus  # type: ignore[import-not-found]

        with open("data/n.txt") as file:
            return plus(value) * self.factor + int(file.read()), self.other


def python_files_archives_and_parameters(ran):
    module = ran.directory / "a_module_of_the_job.py"
    module.write_text("def plus(n): return n + 1\n")
    (ran.directory / "data").mkdir()
    (ran.directory / "data" / "n.txt").write_text("10")
    archive = shutil.make_archive(str(ran.directory / "packed"), "zip", ran.directory / "data")
    ran.env.add_python_file(str(module))
    ran.env.add_python_archive(archive, "data")
    ran.env.get_config().set_global_job_parameters({"factor": "2"})
    ran.see("computed", ran.env.from_collection([1, 2]).map(Computed()))


class Lookup(AsyncFunction):
    """Fails once for each value."""

    def open(self, runtime_context):
        self.tried = set()

    async def async_invoke(self, value):
        await asyncio.sleep(0)
        if value not in self.tried:
            self.tried.add(value)
            raise OSError("once")
        return [value * value]


def asynchronous_lookups(ran):
    strategy = AsyncRetryStrategy.fixed_delay(3, 1, None, lambda error: isinstance(error, OSError))
    numbers = ran.env.from_source(
        NumberSequenceSource(1, 5), WatermarkStrategy.no_watermarks(), "numbers"
    )
    squares = AsyncDataStream.ordered_wait_with_retry(
        numbers, Lookup(), Time.seconds(30), strategy, 2, Types.INT()
    )
    ran.see("squares", squares)


@pytest.fixture(scope="module", params=["local", "spark"])
def ran(request, tmp_path_factory):
    """One job with all that both engines must do: Spark takes seconds to start each."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    env.set_local_execution(request.param == "local")
    ran = Ran(tmp_path_factory.mktemp("ran"), env)
    for build in (
        timers_state_and_windows,
        printed_rows,
        text_files,
        files_in_buckets,
        files_of_columns,
        python_files_archives_and_parameters,
        asynchronous_lookups,
    ):
        build(ran)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        env.execute("all")
    ran.printed = out.getvalue()
    return ran


def test_timers_state_and_windows(ran):
    # The watermark follows the elements of the batch, whose timers fire at its end
    assert sorted(ran.seen["timers"], key=str) == [
        ("a", 0, 20, 1),
        ("a", 11, [1, 30], [1, 30], 31),
        ("a", 20, 40, 1),
        ("a", 40, [1, 30], [1, 30], 31),
        ("b", 0, 20, 1),
        ("b", 12, [2], [2], 2),
    ]


def test_results_are_converted_and_printed_in_flinks_text(ran):
    assert sorted(ran.printed.splitlines()) == ["a", "seen> +I[a, 2147483647]"]


def test_files_are_read_and_written(ran):
    written = sorted((ran.directory / "out").glob("batch=*/part-*.txt"))
    assert "".join(file.read_text() for file in written).split() == [
        "(to,1)",
        "(be,1)",
        "(or,1)",
        "(not,1)",
    ]


def test_files_in_buckets(ran):
    written = list((ran.directory / "days").glob("batch=*/bucket=day%3D2*/part-*.txt"))
    assert sorted("".join(file.read_text() for file in written).split()) == ["a", "b"]


def test_files_of_columns(ran):
    files = (ran.directory / "columns").glob("batch=*/bucket=all/*.parquet")
    tables = [pq.ParquetFile(file).read() for file in files]
    assert {(table.column_names[0], str(table.schema.types[1])) for table in tables} == {
        ("user", "int32")
    }
    found = [row for table in tables for row in table.to_pylist()]
    assert sorted(found, key=lambda row: row["user"]) == [
        {"user": "a", "amount": 1, "lines": [{"item": "tea"}]},
        {"user": "b", "amount": None, "lines": []},
    ]


def test_python_files_archives_and_parameters(ran):
    assert ran.seen["computed"] == [(14, "default"), (16, "default")]


def test_asynchronous_lookups(ran):
    assert ran.seen["squares"] == [1, 4, 9, 16, 25]


# ---------------------------------------------------------------------- in this process alone


def test_batch_mode_gives_the_last_results(local):
    local.set_runtime_mode(RuntimeExecutionMode.BATCH)
    pairs = local.from_collection([("a", 1), ("b", 2), ("a", 3)], PAIR)
    assert sorted(collected(pairs.key_by(lambda v: v[0]).sum(1))) == [("a", 4), ("b", 2)]


def wheel(directory, name, code):
    """A package of one module, as pip installs it."""
    directory.mkdir()
    of = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(directory / f"{name}-1.0-py3-none-any.whl", "w") as made:
        made.writestr(f"{name}.py", code)
        made.writestr(f"{of}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        made.writestr(
            f"{of}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        made.writestr(f"{of}/RECORD", "")


@pytest.mark.slow("installs a package")
def test_requirements_are_installed_for_the_job(local, tmp_path):
    wheel(tmp_path / "cached", "a_package_of_the_job", "def plus(n): return n + 1")
    (tmp_path / "requirements.txt").write_text("a_package_of_the_job==1.0\n")
    local.set_python_requirements(str(tmp_path / "requirements.txt"), str(tmp_path / "cached"))

    def computed(value):
        from a_package_of_the_job import plus  # type: ignore[import-not-found]

        return plus(value)

    assert collected(local.from_collection([1, 2]).map(computed)) == [2, 3]


def test_metrics_are_in_the_result(local):
    class Counting(MapFunction):
        def open(self, runtime_context):
            group = runtime_context.get_metrics_group().add_group("mine")
            self.counter = group.counter("seen")
            self.sizes = group.distribution("sizes")

        def map(self, value):
            self.counter.inc(2)
            self.sizes.update(value)
            return value

    local.from_collection([1, 2, 3]).map(Counting()).for_each_batch(lambda values, batch: None)
    result = local.execute("counting")
    assert result.get_accumulator_result("mine.seen") == 6
    assert result.get_accumulator_result("none") is None


def test_side_outputs_of_any_results(local):
    tag = OutputTag("odd", Types.STRING())

    class Divide(ProcessFunction):
        def process_element(self, value, ctx):
            if value % 2:
                yield tag, str(value)
            else:
                yield value

    divided = local.from_collection([1, 2, 3]).process(Divide())
    seen = []
    divided.get_side_output(tag).for_each_batch(lambda values, batch: seen.extend(values))
    divided.for_each_batch(lambda values, batch: seen.extend(values))
    local.execute()
    assert sorted(map(str, seen)) == ["1", "2", "3"]


@pytest.mark.parametrize("key", [[1], {"a": 1}, Row(a=1), (1, [2]), "text", 1.5, None])
def test_keys_of_any_value_that_pickles(local, key):
    class Keys(KeyedProcessFunction):
        def process_element(self, value, ctx):
            yield ctx.get_current_key()

    keyed = local.from_collection([1, 2]).key_by(lambda value: key)
    assert collected(keyed.process(Keys())) == [key, key]
    counts = keyed.count_window(2).apply(Counted())
    assert collected(counts) == [(key, 0, 2)]


class Counted(WindowFunction):
    def apply(self, key, window, inputs):
        return [(key, window.id, len(list(inputs)))]


def test_count_windows(local):
    numbers = local.from_collection(list(range(7)))
    keyed = numbers.key_by(lambda n: 0)
    assert collected(keyed.count_window(3).apply(Counted())) == [(0, 0, 3), (0, 1, 3)]
    assert collected(keyed.count_window(3).reduce(lambda a, b: a + b)) == [3, 12]
    sliding = keyed.window(CountSlidingWindowAssigner(4, 2))
    assert collected(sliding.reduce(lambda a, b: a + b)) == [6, 14]
    gaps = keyed.count_window(2, 3)
    assert collected(gaps.reduce(lambda a, b: (a, b))) == [(0, 1), (3, 4)]
    assert collected(numbers.window_all(CountSlidingWindowAssigner(7, 7)).reduce(max)) == [6]
    with pytest.raises(flinkish.NotSupportedError, match="fire when they are full"):
        keyed.count_window(3).trigger(PurgingTrigger.of(Alternating()))


class Mean(AggregateFunction):
    def create_accumulator(self):
        return (0, 0)

    def add(self, value, accumulator):
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def test_sessions_aggregates_and_window_functions(local):
    pairs = local.from_collection([("a", 1), ("a", 3), ("a", 20)], PAIR)
    timed = pairs.assign_timestamps_and_watermarks(ASCENDING)
    gap = EventTimeSessionWindows.with_gap(Time.milliseconds(5))
    sessions = timed.key_by(lambda v: v[0]).window(gap)
    assert collected(sessions.aggregate(Mean(), output_type=Types.FLOAT())) == [2.0, 20.0]
    bounded = sessions.aggregate(Mean(), Bounds(), Types.TUPLE([Types.INT(), Types.INT()]))
    assert collected(bounded) == [("a", 1, 8, 1), ("a", 20, 25, 1)]
    assert collected(timed.window_all(gap).reduce(lambda a, b: ("all", a[1] + b[1]))) == [
        ("all", 4),
        ("a", 20),
    ]


class Alternating(Trigger):
    """Fires at every second element."""

    COUNT = ValueStateDescriptor("count", Types.INT())

    def on_element(self, element, timestamp, window, ctx):
        state = ctx.get_partitioned_state(self.COUNT)
        count = (state.value() or 0) + 1
        state.update(count)
        return TriggerResult.CONTINUE if count % 2 else TriggerResult.FIRE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def clear(self, window, ctx):
        ctx.get_partitioned_state(self.COUNT).clear()


def test_a_trigger_of_the_job(local):
    numbers = local.from_collection([1, 2, 3, 4, 5]).key_by(lambda n: 0)
    windowed = numbers.window(GlobalWindows.create()).trigger(Alternating())
    assert collected(windowed.reduce(lambda a, b: a + b)) == [3, 10]


class Early(Trigger):
    """Fires as the event-time trigger does, and at every third element."""

    COUNT = ValueStateDescriptor("count", Types.INT())

    def __init__(self):
        self.nested = EventTimeTrigger.create()

    def on_element(self, element, timestamp, window, ctx):
        state = ctx.get_partitioned_state(self.COUNT)
        state.update((state.value() or 0) + 1)
        decided = self.nested.on_element(element, timestamp, window, ctx)
        return decided if state.value() % 3 else TriggerResult.FIRE

    def on_processing_time(self, time, window, ctx):
        return self.nested.on_processing_time(time, window, ctx)

    def on_event_time(self, time, window, ctx):
        return self.nested.on_event_time(time, window, ctx)

    def clear(self, window, ctx):
        ctx.get_partitioned_state(self.COUNT).clear()
        self.nested.clear(window, ctx)


class EarlySessions(MergingWindowAssigner):
    """Sessions, which fire early."""

    def __init__(self):
        self.nested = EventTimeSessionWindows.with_gap(Time.milliseconds(5))

    def assign_windows(self, element, timestamp, context):
        return self.nested.assign_windows(element, timestamp, context)

    def merge_windows(self, windows, callback):
        self.nested.merge_windows(windows, callback)

    def get_default_trigger(self, env):
        return self.nested.get_default_trigger(env)

    def is_event_time(self):
        return self.nested.is_event_time()


def test_triggers_and_assigners_of_the_job_call_those_that_there_are(local):
    pairs = local.from_collection([("a", n) for n in (1, 2, 3, 4, 20)], PAIR)
    keyed = pairs.assign_timestamps_and_watermarks(ASCENDING).key_by(lambda v: v[0])
    windowed = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).trigger(Early())
    assert collected(windowed.aggregate(Mean())) == [2.0, 2.5, 20.0]
    assert collected(keyed.window(EarlySessions()).aggregate(Mean(), Bounds())) == [
        ("a", 1, 9, 1),
        ("a", 20, 25, 1),
    ]


def test_count_windows_with_a_context(local):
    class Context(ProcessWindowFunction):
        def process(self, key, context, elements):
            seen = context.global_state().get_state(ValueStateDescriptor("seen", Types.INT()))
            seen.update((seen.value() or 0) + len(elements))
            yield key, context.window().id, list(elements), seen.value()
            if context.current_watermark() > context.current_processing_time():
                context.window_state()

    class Whole(ProcessAllWindowFunction):
        def process(self, context, elements):
            context.window_state()

    numbers = local.from_collection([1, 2, 3, 4])
    windows = numbers.key_by(lambda n: "all").count_window(2)
    assert collected(windows.process(Context())) == [("all", 0, [1, 2], 2), ("all", 1, [3, 4], 4)]
    assert collected(windows.reduce(max, Context())) == [("all", 0, [2], 1), ("all", 1, [4], 2)]
    with pytest.raises(flinkish.NotSupportedError, match="a count window fires once"):
        collected(numbers.window_all(CountSlidingWindowAssigner(2, 2)).process(Whole()))


class First(KeySelector):
    def get_key(self, value):
        return value[0]


def test_connected_streams(local):
    class Both(CoMapFunction):
        def map1(self, value):
            return 1, value

        def map2(self, value):
            return 2, value

    class Flat(CoFlatMapFunction):
        def flat_map1(self, value):
            yield value
            yield value

        def flat_map2(self, value):
            return None

    class Joined(KeyedCoProcessFunction):
        def open(self, runtime_context):
            self.left = runtime_context.get_state(ValueStateDescriptor("left", Types.INT()))

        def process_element1(self, value, ctx):
            self.left.update(value[1])

        def process_element2(self, value, ctx):
            yield ctx.get_current_key(), self.left.value(), value[1]

    one, two = local.from_collection([("a", 1)]), local.from_collection([("a", "x")])
    assert collected(one.connect(two).map(Both())) == [(1, ("a", 1)), (2, ("a", "x"))]
    assert collected(one.connect(two).flat_map(Flat())) == [("a", 1), ("a", 1)]
    joined = one.connect(two).key_by(First(), First(), Types.STRING())
    assert collected(joined.process(Joined())) == [("a", 1, "x")]


def test_broadcast_state(local):
    rules = MapStateDescriptor("rules", Types.STRING(), Types.INT())

    class Above(BroadcastProcessFunction):
        def process_element(self, value, ctx):
            yield value, ctx.get_broadcast_state(rules).get("limit")

        def process_broadcast_element(self, value, ctx):
            ctx.get_broadcast_state(rules).put("limit", value)

    limits = local.from_collection([5]).broadcast(rules)
    assert collected(local.from_collection([1]).connect(limits).process(Above())) == [(1, 5)]


def test_rolling_fields_of_rows(local):
    kind = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.INT()])
    keyed = local.from_collection([("a", 3), ("a", 1)], kind).key_by(lambda row: row.key)
    assert collected(keyed.sum("n")) == [Row(key="a", n=3), Row(key="a", n=4)]
    assert collected(keyed.min(1)) == [Row(key="a", n=3), Row(key="a", n=1)]
    assert collected(keyed.max_by("n"))[-1] == Row(key="a", n=3)
    with pytest.raises(flinkish.UserFunctionError, match="Leave the position out"):
        collected(local.from_collection([1, 2]).key_by(lambda n: 0).sum("n"))


def test_a_rich_reduce_has_state(local):
    class Counting(ReduceFunction):
        def open(self, runtime_context):
            self.calls = runtime_context.get_state(ValueStateDescriptor("calls", Types.INT()))

        def reduce(self, value1, value2):
            self.calls.update((self.calls.value() or 0) + 1)
            return value1[0], self.calls.value()

    pairs = local.from_collection([("a", 0)] * 3, PAIR)
    assert collected(pairs.key_by(lambda v: v[0]).reduce(Counting())) == [
        ("a", 0),
        ("a", 1),
        ("a", 2),
    ]


def test_a_keyed_stream_hands_out_keys_with_values_and_is_no_operator(local):
    keyed = local.from_collection([("a", 1)], PAIR).key_by(lambda v: v[0], Types.STRING())
    assert collected(keyed) == [Row(f0="a", f1=("a", 1))]
    for method in ("shuffle", "rebalance", "rescale", "forward", "broadcast", "get_name"):
        with pytest.raises(flinkish.InvalidProgramError, match=f"{method}: a KeyedStream has no"):
            getattr(keyed, method)()


def test_options_are_applied_and_unknown_ones_kept(local, caplog):
    caplog.set_level(logging.DEBUG, "flinkish.pyflink")
    configuration = Configuration().set_string("execution.buffer-timeout", "1 min")
    configuration.set_string("python.fn-execution.bundle.size", "1").set_integer(
        "parallelism.default", 3
    )
    configuration.set_string("execution.checkpointing.mode", "at_least_once")
    configuration.set_string("execution.checkpointing.dir", "memory:/somewhere")
    local.configure(configuration)
    assert local.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert local.get_buffer_timeout() == 60_000
    assert local.get_parallelism() == 3
    assert configuration.get_integer("python.fn-execution.bundle.size", 0) == 1
    [line] = caplog.messages
    assert line == "the option python.fn-execution.bundle.size has no effect in flinkish"
    assert "python.fn-execution.bundle.size" in configuration.key_set()


@pytest.mark.parametrize(("text", "left_on"), [("TRUE", True), ("true", True), ("false", False)])
def test_chaining_is_left_on_unless_the_option_is_false(local, text, left_on):
    local.configure(Configuration().set_string("pipeline.operator-chaining.enabled", text))
    assert local.is_chaining_enabled() is left_on


def test_a_job_client(local):
    local.from_collection([1]).for_each_batch(lambda values, batch: None)
    client = local.execute_async("mine")
    result = client.get_job_execution_result().result()
    assert str(result.get_job_id()) == str(client.get_job_id())
    assert client.get_job_status().result().is_globally_terminal_state()


def test_what_is_javas_says_what_to_write(local):
    with pytest.raises(flinkish.NotSupportedError, match="for_each_batch"):
        local.from_collection([1]).add_sink(SinkFunction())
    with pytest.raises(flinkish.NotSupportedError, match=r"KafkaSource.builder"):
        FlinkKafkaConsumer("topic", None, {})


def test_lengths_of_time_and_windows():
    assert Duration.of_seconds(5) == Duration.of_millis(5_000)
    assert Time.minutes(1).to_milliseconds() == 60_000
    assert TimeWindow(1, 5).max_timestamp() == 4
    assert TimeWindow(1, 5).cover(TimeWindow(3, 9)) == TimeWindow(1, 9)


def test_the_status_of_a_job_that_has_ended():
    ended = {JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED}
    assert {status for status in JobStatus if status.is_globally_terminal_state()} == ended
    assert {s for s in JobStatus if s.is_terminal_state()} == {*ended, JobStatus.SUSPENDED}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("a", ["a"]),
        ("a;b c", ["a", "b c"]),
        ("[a, 1, 'b, c', \"d\"]", ["a", 1, "b, c", "d"]),
        ("[]", []),
    ],
)
def test_options_that_are_lists(text, parts):
    assert Configuration.parse_list_value(text) == parts


class TypedSquares(flinkish.Source[int], ResultTypeQueryable):
    def read(self, position):
        yield 200, 1

    def get_produced_type(self):
        return Types.BYTE()


def test_a_source_that_knows_its_type(local):
    stream = local.from_source(TypedSquares(), WatermarkStrategy.no_watermarks(), "typed")
    assert stream.get_type() == Types.BYTE()


class Squares(flinkish.Source[int]):
    def read(self, position):
        for number in range(position or 0, 4):
            yield number * number, number + 1


class Noting(flinkish.Sink[int]):
    seen: list[int] = []  # noqa: RUF012 - of the job's copy too, in this process

    def createWriter(self, context):
        return NotingWriter()


class NotingWriter(flinkish.SinkWriter[int]):
    def write(self, element, context):
        Noting.seen.append(element)


def test_a_source_and_a_sink_of_ones_own_go_through_pyflinks_door(local):
    Noting.seen.clear()
    squares = local.from_source(
        Squares(), WatermarkStrategy.no_watermarks(), "squares", Types.INT()
    )
    squares.map(lambda n: n + 1, Types.INT()).sink_to(Noting())
    local.execute()
    assert Noting.seen == [1, 2, 5, 10]


def test_for_each_partition_gets_the_elements_of_each_batch(local, tmp_path):
    path = str(tmp_path / "out")

    def append(elements):
        with open(path, "a", encoding="utf-8") as file:
            print(list(elements), file=file)

    local.from_collection([1, 2, 3], Types.INT()).for_each_partition(append)
    local.execute()
    assert (tmp_path / "out").read_text() == "[1, 2, 3]\n"
