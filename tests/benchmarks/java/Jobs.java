import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.BroadcastState;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReadOnlyBroadcastState;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.api.java.tuple.Tuple5;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.EventComparator;
import org.apache.flink.cep.PatternSelectFunction;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.streaming.api.datastream.AsyncDataStream;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.async.ResultFuture;
import org.apache.flink.streaming.api.functions.async.RichAsyncFunction;
import org.apache.flink.streaming.api.functions.co.KeyedBroadcastProcessFunction;
import org.apache.flink.streaming.api.functions.co.ProcessJoinFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.evictors.TimeEvictor;
import org.apache.flink.streaming.api.windowing.triggers.CountTrigger;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/** The twins of tests/benchmarks/jobs.py. An element is (key, value, at). */
final class Jobs {

    private static final long LATENESS = 5_000;
    private static final long LATE_ARRIVAL = 4_000;
    private static final long MINUTE = 60_000;
    private static final long LAST = 1L << 62;
    private static final long SMALL = 50;
    private static final long LARGE = 950;
    private static final MapStateDescriptor<Long, Long> RULES =
            new MapStateDescriptor<>("rules", Types.LONG, Types.LONG);

    private Jobs() {}

    static DataStream<String> build(String job, Bench bench) {
        TumblingEventTimeWindows minutes = TumblingEventTimeWindows.of(Duration.ofMinutes(1));
        switch (job) {
            case "tumbling":
                return aggregated(events(bench, "events"), minutes);
            case "many_keys":
                return aggregated(events(bench, "many-keys"), minutes);
            case "sliding":
                return aggregated(
                        events(bench, "events"),
                        SlidingEventTimeWindows.of(Duration.ofMinutes(1), Duration.ofSeconds(15)));
            case "sessions":
                return aggregated(events(bench, "sessions"), EventTimeSessionWindows.withGap(Duration.ofSeconds(1)));
            case "dynamic_sessions":
                return aggregated(
                        events(bench, "sessions"),
                        EventTimeSessionWindows.withDynamicGap((Tuple3<String, Long, Long> row) -> 500 + row.f1));
            case "tumbling_sum":
                return keyed(events(bench, "events")).window(minutes).sum(1).map(row -> row.f0 + "," + row.f1);
            case "all_elements":
                return keyed(events(bench, "events")).window(minutes).process(new Summary());
            case "keyed_process":
                return keyed(events(bench, "events")).process(new Totals());
            case "patterns":
                return CEP.pattern(keyed(events(bench, "events")), steps(), new ByValue()).select(new FirstAndLast());
            case "rows":
                return events(bench, "events", WatermarkStrategy.noWatermarks())
                        .map(row -> Tuple3.of(row.f0, row.f1 * 3 + 1, row.f2 / 1_000))
                        .returns(Types.TUPLE(Types.STRING, Types.LONG, Types.LONG))
                        .filter(row -> row.f1 % 4 == 0)
                        .map(row -> row.f0 + "," + row.f1 + "," + row.f2);
            case "interval_join":
                return keyed(events(bench, "left"))
                        .intervalJoin(keyed(events(bench, "right")))
                        .between(Duration.ofSeconds(-1), Duration.ofSeconds(1))
                        .process(new Pairs());
            case "generator":
                return aggregated(
                        events(
                                bench,
                                "events",
                                WatermarkStrategy.<Tuple3<String, Long, Long>>forGenerator(context -> new Highest())
                                        .withTimestampAssigner((row, timestamp) -> row.f2)),
                        minutes);
            case "punctuated":
                return aggregated(
                        events(
                                bench,
                                "events",
                                WatermarkStrategy.<Tuple3<String, Long, Long>>forGenerator(context -> new EachHigher())
                                        .withTimestampAssigner((row, timestamp) -> row.f2)),
                        minutes);
            case "splits":
                // On Flink each file is a split with a separate watermark.
                return aggregated(arrivals(bench, false), minutes);
            case "arrival_time":
                return aggregated(arrivals(bench, true), minutes);
            case "keyed_totals":
                return keyed(events(bench, "events")).process(new Total());
            case "map_entries":
                return keyed(events(bench, "events")).process(new ByDigit());
            case "rolling_sum":
                return keyed(ones(bench)).sum(1).map(row -> row.f0 + "," + row.f1);
            case "rolling_reduce":
                return keyed(ones(bench))
                        .reduce((one, other) -> Tuple2.of(one.f0, one.f1 + other.f1))
                        .map(row -> row.f0 + "," + row.f1);
            case "flat_map":
                return keyed(parts(events(bench, "events")))
                        .window(minutes)
                        .reduce((one, other) -> Tuple2.of(one.f0, one.f1 + other.f1))
                        .map(row -> row.f0 + "," + row.f1);
            case "late_updates":
                return keyed(events(bench, "late"))
                        .window(minutes)
                        .allowedLateness(Duration.ofMinutes(10))
                        .aggregate(
                                new SumAndCount<>(),
                                new KeyAndEnd(false),
                                Types.TUPLE(Types.LONG, Types.LONG),
                                Types.TUPLE(Types.LONG, Types.LONG),
                                Types.STRING);
            case "count_trigger":
                return keyed(events(bench, "events"))
                        .window(minutes)
                        .trigger(CountTrigger.of(5))
                        .aggregate(
                                new SumAndCount<>(),
                                new KeyAndEnd(true),
                                Types.TUPLE(Types.LONG, Types.LONG),
                                Types.TUPLE(Types.LONG, Types.LONG),
                                Types.STRING);
            case "count_window":
                return keyed(events(bench, "events"))
                        .countWindow(5)
                        .aggregate(new SumAndCount<>())
                        .map(sums -> String.valueOf(sums.f1));
            case "sliding_count_window":
                return keyed(events(bench, "events"))
                        .countWindow(10, 5)
                        .aggregate(new SumAndCount<>())
                        .map(sums -> String.valueOf(sums.f1));
            case "evictor":
                return keyed(events(bench, "events"))
                        .window(minutes)
                        .evictor(TimeEvictor.of(Duration.ofSeconds(10)))
                        .process(new Summary());
            case "async_lookup":
                return AsyncDataStream.unorderedWait(
                        events(bench, "events", WatermarkStrategy.noWatermarks()),
                        new Lookup(),
                        1,
                        TimeUnit.MINUTES,
                        100);
            case "broadcast_rules":
                return keyed(events(bench, "events"))
                        .connect(bench.<Tuple2<Long, Long>>read("rules", "ll", WatermarkStrategy.noWatermarks())
                                .broadcast(RULES))
                        .process(new Ruled());
            default:
                throw new IllegalArgumentException(job);
        }
    }

    private static DataStream<Tuple3<String, Long, Long>> events(Bench bench, String name) {
        return events(
                bench,
                name,
                WatermarkStrategy.<Tuple3<String, Long, Long>>forBoundedOutOfOrderness(Duration.ofMillis(LATENESS))
                        .withTimestampAssigner((row, timestamp) -> row.f2));
    }

    private static DataStream<Tuple3<String, Long, Long>> events(
            Bench bench, String name, WatermarkStrategy<Tuple3<String, Long, Long>> strategy) {
        return bench.read(name, "sll", strategy);
    }

    /** (key, value, at, arrived, split). Flink has no ArrivalTimeStrategy; what it adjusts here, an assigner can. */
    private static DataStream<Tuple5<String, Long, Long, Long, Long>> arrivals(Bench bench, boolean adjusted) {
        return bench.read(
                "arrivals",
                "sllll",
                WatermarkStrategy.<Tuple5<String, Long, Long, Long, Long>>forBoundedOutOfOrderness(
                                Duration.ofMillis(LATENESS))
                        .withTimestampAssigner(
                                adjusted
                                        ? (row, timestamp) -> Math.max(row.f2, row.f3 - LATE_ARRIVAL)
                                        : (row, timestamp) -> row.f2));
    }

    private static <T extends Tuple> KeyedStream<T, String> keyed(DataStream<T> stream) {
        return stream.keyBy(row -> row.<String>getField(0), Types.STRING);
    }

    private static <T extends Tuple> DataStream<String> aggregated(
            DataStream<T> stream, WindowAssigner<? super T, TimeWindow> windows) {
        return keyed(stream)
                .window(windows)
                .aggregate(
                        new SumAndCount<T>(),
                        Types.TUPLE(Types.LONG, Types.LONG),
                        Types.TUPLE(Types.LONG, Types.LONG))
                .map(result -> result.f0 + "," + result.f1);
    }

    private static class SumAndCount<T extends Tuple>
            implements AggregateFunction<T, Tuple2<Long, Long>, Tuple2<Long, Long>> {
        @Override
        public Tuple2<Long, Long> createAccumulator() {
            return Tuple2.of(0L, 0L);
        }

        @Override
        public Tuple2<Long, Long> add(T row, Tuple2<Long, Long> accumulator) {
            accumulator.f0 += row.<Long>getField(1);
            accumulator.f1 += 1;
            return accumulator;
        }

        @Override
        public Tuple2<Long, Long> getResult(Tuple2<Long, Long> accumulator) {
            return accumulator;
        }

        @Override
        public Tuple2<Long, Long> merge(Tuple2<Long, Long> one, Tuple2<Long, Long> other) {
            return Tuple2.of(one.f0 + other.f0, one.f1 + other.f1);
        }
    }

    private static class Summary
            extends ProcessWindowFunction<Tuple3<String, Long, Long>, String, String, TimeWindow> {
        @Override
        public void process(
                String key, Context context, Iterable<Tuple3<String, Long, Long>> elements, Collector<String> out) {
            long count = 0;
            long sum = 0;
            long least = Long.MAX_VALUE;
            long most = Long.MIN_VALUE;
            for (Tuple3<String, Long, Long> element : elements) {
                count++;
                sum += element.f1;
                least = Math.min(least, element.f1);
                most = Math.max(most, element.f1);
            }
            out.collect(key + "," + context.window().getEnd() + "," + count + "," + sum + "," + (most - least));
        }
    }

    private static DataStream<Tuple2<String, Long>> ones(Bench bench) {
        return events(bench, "events", WatermarkStrategy.noWatermarks())
                .map(row -> Tuple2.of(row.f0, 1L))
                .returns(Types.TUPLE(Types.STRING, Types.LONG));
    }

    private static DataStream<Tuple2<String, Long>> parts(DataStream<Tuple3<String, Long, Long>> events) {
        return events.flatMap((Tuple3<String, Long, Long> row, Collector<Tuple2<String, Long>> out) -> {
                    for (long part = 0; part < row.f1 % 3; part++) {
                        out.collect(Tuple2.of(row.f0, row.f1 * 10 + part));
                    }
                })
                .returns(Types.TUPLE(Types.STRING, Types.LONG));
    }

    private static class KeyAndEnd extends ProcessWindowFunction<Tuple2<Long, Long>, String, String, TimeWindow> {
        private final boolean countOnly;

        KeyAndEnd(boolean countOnly) {
            this.countOnly = countOnly;
        }

        @Override
        public void process(String key, Context context, Iterable<Tuple2<Long, Long>> results, Collector<String> out) {
            for (Tuple2<Long, Long> result : results) {
                String start = key + "," + context.window().getEnd() + ",";
                out.collect(start + (countOnly ? "" : result.f0 + ",") + result.f1);
            }
        }
    }

    private static class Lookup extends RichAsyncFunction<Tuple3<String, Long, Long>, String> {
        @Override
        public void asyncInvoke(Tuple3<String, Long, Long> row, ResultFuture<String> result) {
            CompletableFuture.supplyAsync(() -> row.f0 + "," + row.f1 + "," + row.f1 * 7 % 100)
                    .thenAccept(found -> result.complete(List.of(found)));
        }
    }

    /** What comes before all rules have waits for the end of the input. */
    private static class Ruled
            extends KeyedBroadcastProcessFunction<String, Tuple3<String, Long, Long>, Tuple2<Long, Long>, String> {
        private transient ListState<Tuple3<String, Long, Long>> waiting;

        @Override
        public void open(OpenContext context) {
            waiting = getRuntimeContext()
                    .getListState(new ListStateDescriptor<>(
                            "waiting", Types.TUPLE(Types.STRING, Types.LONG, Types.LONG)));
        }

        @Override
        public void processElement(
                Tuple3<String, Long, Long> row, ReadOnlyContext context, Collector<String> out) throws Exception {
            ReadOnlyBroadcastState<Long, Long> rules = context.getBroadcastState(RULES);
            Long known = rules.get(-1L);
            if (known == null || known != 10) {
                waiting.add(row);
                context.timerService().registerEventTimeTimer(LAST);
            } else if (rules.contains(row.f1 % 100)) {
                out.collect(row.f0 + "," + row.f1 + "," + row.f2);
            }
        }

        @Override
        public void processBroadcastElement(Tuple2<Long, Long> rule, Context context, Collector<String> out)
                throws Exception {
            BroadcastState<Long, Long> rules = context.getBroadcastState(RULES);
            rules.put(rule.f0, 1L);
            Long known = rules.get(-1L);
            rules.put(-1L, known == null ? 1L : known + 1);
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<String> out) throws Exception {
            ReadOnlyBroadcastState<Long, Long> rules = context.getBroadcastState(RULES);
            for (Tuple3<String, Long, Long> row : waiting.get()) {
                if (rules.contains(row.f1 % 100)) {
                    out.collect(row.f0 + "," + row.f1 + "," + row.f2);
                }
            }
            waiting.clear();
        }
    }

    private static class Total extends KeyedProcessFunction<String, Tuple3<String, Long, Long>, String> {
        private transient ValueState<Tuple2<Long, Long>> state;

        @Override
        public void open(OpenContext context) {
            state = getRuntimeContext()
                    .getState(new ValueStateDescriptor<>("total", Types.TUPLE(Types.LONG, Types.LONG)));
        }

        @Override
        public void processElement(Tuple3<String, Long, Long> row, Context context, Collector<String> out)
                throws Exception {
            Tuple2<Long, Long> current = state.value();
            if (current == null) {
                state.update(Tuple2.of(row.f1, 1L));
                context.timerService().registerEventTimeTimer(LAST);
            } else {
                state.update(Tuple2.of(current.f0 + row.f1, current.f1 + 1));
            }
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<String> out) throws Exception {
            Tuple2<Long, Long> current = state.value();
            out.collect(context.getCurrentKey() + "," + current.f0 + "," + current.f1);
        }
    }

    private static class ByDigit extends KeyedProcessFunction<String, Tuple3<String, Long, Long>, String> {
        private transient MapState<Long, Long> counts;

        @Override
        public void open(OpenContext context) {
            counts = getRuntimeContext().getMapState(new MapStateDescriptor<>("counts", Types.LONG, Types.LONG));
        }

        @Override
        public void processElement(Tuple3<String, Long, Long> row, Context context, Collector<String> out)
                throws Exception {
            long digit = row.f1 % 10;
            Long before = counts.get(digit);
            long count = before == null ? 1 : before + 1;
            counts.put(digit, count);
            out.collect(row.f0 + "," + digit + "," + count);
        }
    }

    private static Pattern<Tuple3<String, Long, Long>, ?> steps() {
        return Pattern.<Tuple3<String, Long, Long>>begin("small", AfterMatchSkipStrategy.skipPastLastEvent())
                .where(SimpleCondition.of(row -> row.f1 < SMALL))
                .followedBy("middle")
                .where(SimpleCondition.of(row -> SMALL * 2 <= row.f1 && row.f1 < SMALL * 3))
                .followedBy("large")
                .where(SimpleCondition.of(row -> row.f1 >= LARGE))
                .within(Duration.ofSeconds(10));
    }

    private static class ByValue implements EventComparator<Tuple3<String, Long, Long>> {
        @Override
        public int compare(Tuple3<String, Long, Long> one, Tuple3<String, Long, Long> two) {
            return Long.compare(one.f1, two.f1);
        }
    }

    private static class FirstAndLast implements PatternSelectFunction<Tuple3<String, Long, Long>, String> {
        @Override
        public String select(Map<String, List<Tuple3<String, Long, Long>>> match) {
            Tuple3<String, Long, Long> first = match.get("small").get(0);
            return first.f0 + "," + first.f2 + "," + match.get("large").get(0).f2;
        }
    }

    private static class Totals extends KeyedProcessFunction<String, Tuple3<String, Long, Long>, String> {
        private transient ValueState<Tuple2<Long, Long>> state;

        @Override
        public void open(OpenContext context) {
            state = getRuntimeContext()
                    .getState(new ValueStateDescriptor<>("first and total", Types.TUPLE(Types.LONG, Types.LONG)));
        }

        @Override
        public void processElement(Tuple3<String, Long, Long> row, Context context, Collector<String> out)
                throws Exception {
            Tuple2<Long, Long> current = state.value();
            if (current == null) {
                state.update(Tuple2.of(row.f2, row.f1));
                context.timerService().registerEventTimeTimer(LAST);
            } else {
                state.update(Tuple2.of(Math.min(current.f0, row.f2), current.f1 + row.f1));
            }
            context.timerService().registerEventTimeTimer(row.f2 - row.f2 % MINUTE + MINUTE);
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<String> out) throws Exception {
            Tuple2<Long, Long> current = state.value();
            out.collect(
                    context.getCurrentKey() + "," + timestamp + "," + (timestamp == LAST ? current.f1 : current.f0));
        }
    }

    private static class Pairs
            extends ProcessJoinFunction<Tuple3<String, Long, Long>, Tuple3<String, Long, Long>, String> {
        @Override
        public void processElement(
                Tuple3<String, Long, Long> left,
                Tuple3<String, Long, Long> right,
                Context context,
                Collector<String> out) {
            out.collect(left.f0 + "," + left.f1 + "," + right.f1);
        }
    }

    private static class Highest implements WatermarkGenerator<Tuple3<String, Long, Long>> {
        private long highest = LATENESS;

        @Override
        public void onEvent(Tuple3<String, Long, Long> row, long timestamp, WatermarkOutput output) {
            highest = Math.max(highest, timestamp);
        }

        @Override
        public void onPeriodicEmit(WatermarkOutput output) {
            output.emitWatermark(new Watermark(highest - LATENESS - 1));
        }
    }

    private static class EachHigher implements WatermarkGenerator<Tuple3<String, Long, Long>> {
        private long highest = Long.MIN_VALUE;

        @Override
        public void onEvent(Tuple3<String, Long, Long> row, long timestamp, WatermarkOutput output) {
            if (timestamp > highest) {
                highest = timestamp;
                output.emitWatermark(new Watermark(timestamp - LATENESS - 1));
            }
        }

        @Override
        public void onPeriodicEmit(WatermarkOutput output) {
            // Nothing: all has been said in onEvent.
        }
    }
}
