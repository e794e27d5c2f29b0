import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.OpenContext;
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
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.co.ProcessJoinFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
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
            case "splits":
                // On Flink each file is a split with a watermark of its own.
                return aggregated(arrivals(bench, false), minutes);
            case "arrival_time":
                return aggregated(arrivals(bench, true), minutes);
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
            DataStream<T> stream, WindowAssigner<Object, TimeWindow> windows) {
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
}
