import java.time.Duration;
import java.util.List;
import org.apache.flink.api.common.functions.JoinFunction;
import org.apache.flink.api.common.functions.CoGroupFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.dag.Transformation;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.CoGroupedStreams;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.JoinedStreams;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.WindowedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.co.ProcessJoinFunction;
import org.apache.flink.streaming.api.operators.OneInputStreamOperatorFactory;
import org.apache.flink.streaming.api.operators.StreamGroupedReduceOperator;
import org.apache.flink.streaming.api.operators.co.CoBroadcastWithKeyedOperator;
import org.apache.flink.streaming.api.transformations.KeyedBroadcastStateTransformation;
import org.apache.flink.streaming.api.transformations.OneInputTransformation;
import org.apache.flink.streaming.api.transformations.ReduceTransformation;
import org.apache.flink.streaming.api.transformations.TimestampsAndWatermarksTransformation;
import org.apache.flink.streaming.api.transformations.TwoInputTransformation;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.Window;
import org.apache.flink.streaming.runtime.operators.TimestampsAndWatermarksOperatorFactory;
import org.apache.flink.streaming.util.AbstractStreamOperatorTestHarness;
import org.apache.flink.streaming.util.KeyedOneInputStreamOperatorTestHarness;
import org.apache.flink.streaming.util.KeyedTwoInputStreamOperatorTestHarness;
import org.apache.flink.streaming.util.OneInputStreamOperatorTestHarness;
import org.apache.flink.util.Collector;

/** Builds the job of a case with Flink's API, and puts its last operator into the test harness. */
final class Jobs {

    private static final TypeInformation<Tuple2<String, Long>> PAIR =
            Types.TUPLE(Types.STRING, Types.LONG);
    private static final TypeInformation<Tuple3<String, Long, Long>> TRIPLE =
            Types.TUPLE(Types.STRING, Types.LONG, Types.LONG);

    static Run of(JsonNode testCase) throws Exception {
        String family = testCase.get("family").asText();
        StreamExecutionEnvironment environment =
                StreamExecutionEnvironment.getExecutionEnvironment();
        DataStream<Tuple2<String, Long>> pairs = environment.fromData(PAIR, Tuple2.of("", 0L));
        DataStream<Tuple2<String, Long>> others = environment.fromData(PAIR, Tuple2.of("", 0L));
        DataStream<Tuple3<String, Long, Long>> triples =
                environment.fromData(TRIPLE, Tuple3.of("", 0L, 0L));
        DataStream<?> result =
                switch (family) {
                    case "window" -> window(pairs, testCase);
                    case "keyedProcess" ->
                            pairs.keyBy(pair -> pair.f0)
                                    .process(ProcessFunctions.of(testCase.path("function")));
                    case "join" -> join(pairs, others, testCase);
                    case "two" -> two(pairs, others, testCase);
                    case "rolling", "windowRolling" -> rolling(triples, testCase);
                    case "cep" -> Patterns.of(pairs, testCase);
                    case "async" -> AsyncFunctions.of(pairs, testCase.get("function"));
                    case "watermarks" ->
                            pairs.assignTimestampsAndWatermarks(
                                    Watermarks.of(testCase.get("strategy")));
                    default -> throw new IllegalArgumentException(family);
                };
        return new Run(harness(result.getTransformation(), testCase), family);
    }

    // ------------------------------------------------------------------ jobs

    private static <W extends Window> DataStream<?> window(
            DataStream<Tuple2<String, Long>> stream, JsonNode testCase) {
        WindowedStream<Tuple2<String, Long>, String, ?> windowed = windowed(stream, testCase);
        windowed.sideOutputLateData(Run.LATE);
        String kind = testCase.get("function").get("kind").asText();
        return switch (kind) {
            case "reduce" -> windowed.reduce((a, b) -> Tuple2.of(a.f0, a.f1 + b.f1));
            case "aggregate" ->
                    windowed.aggregate(
                            new WindowFunctions.SumAndCount(),
                            new WindowFunctions.WithBounds<>(),
                            Types.TUPLE(Types.LONG, Types.LONG),
                            Types.TUPLE(Types.LONG, Types.LONG),
                            Types.STRING);
            case "apply" -> windowed.apply(new WindowFunctions.ListApply<>(), Types.STRING);
            case "process" -> windowed.process(new WindowFunctions.ListAll<>(), Types.STRING);
            default ->
                    windowed.process(
                            new WindowFunctions.Counting<>(kind.equals("process-state")),
                            Types.STRING);
        };
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static WindowedStream<Tuple2<String, Long>, String, ?> windowed(
            DataStream<Tuple2<String, Long>> stream, JsonNode testCase) {
        KeyedStream<Tuple2<String, Long>, String> keyed = stream.keyBy(pair -> pair.f0);
        JsonNode assigner = testCase.get("assigner");
        WindowedStream windowed;
        if (!assigner.get("kind").asText().equals("countWindow")) {
            windowed = keyed.window(Windowing.assigner(assigner));
        } else if (assigner.has("slide")) {
            windowed =
                    keyed.countWindow(assigner.get("size").asLong(), assigner.get("slide").asLong());
        } else {
            windowed = keyed.countWindow(assigner.get("size").asLong());
        }
        if (testCase.hasNonNull("trigger")) {
            windowed.trigger(Windowing.trigger(testCase.get("trigger")));
        }
        if (testCase.hasNonNull("evictor")) {
            windowed.evictor(Windowing.evictor(testCase.get("evictor")));
        }
        if (testCase.hasNonNull("allowedLateness")) {
            windowed.allowedLateness(Duration.ofMillis(testCase.get("allowedLateness").asLong()));
        }
        return windowed;
    }

    private static DataStream<?> rolling(
            DataStream<Tuple3<String, Long, Long>> stream, JsonNode testCase) {
        KeyedStream<Tuple3<String, Long, Long>, String> keyed = stream.keyBy(triple -> triple.f0);
        JsonNode function = testCase.get("function");
        boolean first = function.path("first").asBoolean(true);
        String kind = function.get("kind").asText();
        if (testCase.get("family").asText().equals("windowRolling")) {
            long size = testCase.get("assigner").get("size").asLong();
            var windowed = keyed.window(TumblingEventTimeWindows.of(Duration.ofMillis(size)));
            return switch (kind) {
                case "sum" -> windowed.sum(1);
                case "min" -> windowed.min(1);
                case "max" -> windowed.max(1);
                case "minBy" -> windowed.minBy(1, first);
                case "maxBy" -> windowed.maxBy(1, first);
                default -> windowed.reduce((a, b) -> Tuple3.of(a.f0, a.f1 + b.f1, b.f2));
            };
        }
        return switch (kind) {
            case "sum" -> keyed.sum(1);
            case "min" -> keyed.min(1);
            case "max" -> keyed.max(1);
            case "minBy" -> keyed.minBy(1, first);
            case "maxBy" -> keyed.maxBy(1, first);
            default -> keyed.reduce((a, b) -> Tuple3.of(a.f0, a.f1 + b.f1, b.f2));
        };
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static DataStream<?> join(
            DataStream<Tuple2<String, Long>> left,
            DataStream<Tuple2<String, Long>> right,
            JsonNode testCase) {
        KeySelector<Tuple2<String, Long>, String> key = pair -> pair.f0;
        JsonNode function = testCase.get("function");
        if (function.get("kind").asText().equals("intervalJoin")) {
            return intervalJoin(left.keyBy(key), right.keyBy(key), function, false);
        }
        var assigner = Windowing.assigner(testCase.get("assigner"));
        var trigger =
                testCase.hasNonNull("trigger") ? Windowing.trigger(testCase.get("trigger")) : null;
        Duration lateness =
                testCase.hasNonNull("allowedLateness")
                        ? Duration.ofMillis(testCase.get("allowedLateness").asLong())
                        : null;
        if (function.get("kind").asText().equals("windowJoin")) {
            JoinedStreams.WithWindow windowed =
                    left.join(right).where(key).equalTo(key).window(assigner);
            windowed = trigger == null ? windowed : windowed.trigger(trigger);
            windowed = lateness == null ? windowed : windowed.allowedLateness(lateness);
            JoinFunction<Tuple2<String, Long>, Tuple2<String, Long>, String> pairs =
                    (a, b) -> Recorder.text(a.f0, a.f1, b.f1);
            return windowed.apply(pairs, Types.STRING);
        }
        CoGroupedStreams.WithWindow windowed =
                left.coGroup(right).where(key).equalTo(key).window(assigner);
        windowed = trigger == null ? windowed : windowed.trigger(trigger);
        windowed = lateness == null ? windowed : windowed.allowedLateness(lateness);
        CoGroupFunction<Tuple2<String, Long>, Tuple2<String, Long>, String> groups =
                WindowFunctions::bothSides;
        return windowed.apply(groups, Types.STRING);
    }

    private static DataStream<?> two(
            DataStream<Tuple2<String, Long>> first,
            DataStream<Tuple2<String, Long>> second,
            JsonNode testCase) {
        JsonNode function = testCase.get("function");
        KeySelector<Tuple2<String, Long>, String> key = pair -> pair.f0;
        return switch (function.get("kind").asText()) {
            case "intervalJoin" ->
                    intervalJoin(first.keyBy(key), second.keyBy(key), function, true);
            case "coProcess" ->
                    first.keyBy(key).connect(second.keyBy(key)).process(new TwoInputs.Meeting());
            default ->
                    first.keyBy(key)
                            .connect(second.broadcast(TwoInputs.RULES))
                            .process(new TwoInputs.Rules());
        };
    }

    private static DataStream<?> intervalJoin(
            KeyedStream<Tuple2<String, Long>, String> left,
            KeyedStream<Tuple2<String, Long>, String> right,
            JsonNode function,
            boolean withTimestamp) {
        var join =
                left.intervalJoin(right)
                        .between(
                                Duration.ofMillis(function.get("lower").asLong()),
                                Duration.ofMillis(function.get("upper").asLong()));
        if (function.path("lowerBoundExclusive").asBoolean()) {
            join = join.lowerBoundExclusive();
        }
        if (function.path("upperBoundExclusive").asBoolean()) {
            join = join.upperBoundExclusive();
        }
        return join.sideOutputLeftLateData(Run.LEFT)
                .sideOutputRightLateData(Run.RIGHT)
                .process(new TwoInputs.Timed(withTimestamp), Types.STRING);
    }

    // -------------------------------------------------------------- harnesses

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static AbstractStreamOperatorTestHarness<?> harness(
            Transformation<?> last, JsonNode testCase) throws Exception {
        if (testCase.get("family").asText().equals("async")) {
            return new OneInputStreamOperatorTestHarness(
                    (OneInputStreamOperatorFactory)
                            ((OneInputTransformation) last).getOperatorFactory(),
                    PAIR.createSerializer(null));
        }
        if (last instanceof OneInputTransformation one) {
            return new KeyedOneInputStreamOperatorTestHarness(
                    one.getOperatorFactory(), one.getStateKeySelector(), one.getStateKeyType());
        }
        if (last instanceof ReduceTransformation reduce) {
            return new KeyedOneInputStreamOperatorTestHarness(
                    new StreamGroupedReduceOperator(
                            reduce.getReducer(), TRIPLE.createSerializer(null)),
                    reduce.getKeySelector(),
                    reduce.getKeyTypeInfo());
        }
        if (last instanceof TwoInputTransformation two) {
            return new KeyedTwoInputStreamOperatorTestHarness(
                    two.getOperator(),
                    two.getStateKeySelector1(),
                    two.getStateKeySelector2(),
                    two.getStateKeyType());
        }
        if (last instanceof KeyedBroadcastStateTransformation broadcast) {
            return new KeyedTwoInputStreamOperatorTestHarness(
                    new CoBroadcastWithKeyedOperator(
                            broadcast.getUserFunction(), List.of(TwoInputs.RULES)),
                    broadcast.getKeySelector(),
                    null,
                    broadcast.getStateKeyType());
        }
        var watermarks = (TimestampsAndWatermarksTransformation) last;
        var harness =
                new OneInputStreamOperatorTestHarness(
                        new TimestampsAndWatermarksOperatorFactory(
                                watermarks.getWatermarkStrategy(), true));
        harness.getExecutionConfig()
                .setAutoWatermarkInterval(testCase.path("interval").asLong(200));
        return harness;
    }

    private Jobs() {}
}
