import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.PatternStream;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.functions.TimedOutPartialMatchHandler;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.WithinType;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;

/** Family {@code cep}: a pattern with its stages, and what is done with matches. */
final class Patterns {

    static final OutputTag<Tuple2<String, String>> TIMED_OUT = new OutputTag<>("timedOut") {};

    static DataStream<?> of(DataStream<Tuple2<String, Long>> pairs, JsonNode testCase) {
        boolean keyed = testCase.get("keyed").asBoolean();
        Pattern<Tuple2<String, Long>, ?> pattern =
                stages(testCase.get("pattern"), skip(testCase.get("skip")));
        DataStream<Tuple2<String, Long>> input = keyed ? pairs.keyBy(pair -> pair.f0) : pairs;
        PatternStream<Tuple2<String, Long>> stream =
                testCase.path("comparator").asBoolean()
                        ? CEP.pattern(
                                input,
                                pattern,
                                (a, b) -> Long.compare(b.f1 % 10, a.f1 % 10))
                        : CEP.pattern(input, pattern);
        if (testCase.get("time").asText().equals("processing")) {
            stream = stream.inProcessingTime();
        }
        if (testCase.get("sidesLateData").asBoolean()) {
            stream = stream.sideOutputLateData(Run.LATE);
        }
        return switch (testCase.get("function").get("kind").asText()) {
            case "select" -> stream.select(match -> text("match", keyed, match), Types.STRING);
            case "selectTimeout" ->
                    stream.select(
                            TIMED_OUT,
                            (match, timestamp) -> timedOut(keyed, match, timestamp),
                            Types.STRING,
                            match -> text("match", keyed, match));
            case "flatSelect" ->
                    stream.flatSelect(
                            TIMED_OUT,
                            (match, timestamp, out) -> {
                                out.collect(timedOut(keyed, match, timestamp));
                                out.collect(timedOut(keyed, match, -timestamp));
                            },
                            Types.STRING,
                            (match, out) -> {
                                out.collect(text("first", keyed, match));
                                out.collect(text("second", keyed, match));
                            });
            case "process" -> stream.process(new Plain(keyed), Types.STRING);
            default -> stream.process(new WithTimeouts(keyed), Types.STRING);
        };
    }

    // ------------------------------------------------------------------ patterns

    private static Pattern<Tuple2<String, Long>, ?> stages(
            JsonNode stages, AfterMatchSkipStrategy skip) {
        Pattern<Tuple2<String, Long>, Tuple2<String, Long>> pattern = null;
        for (JsonNode stage : stages) {
            pattern = appended(pattern, stage, skip);
            for (JsonNode call : stage.get("calls")) {
                pattern = called(pattern, call);
            }
        }
        return pattern;
    }

    @SuppressWarnings("unchecked")
    private static Pattern<Tuple2<String, Long>, Tuple2<String, Long>> appended(
            Pattern<Tuple2<String, Long>, Tuple2<String, Long>> pattern,
            JsonNode stage,
            AfterMatchSkipStrategy skip) {
        String how = stage.get("how").asText();
        if (stage.has("group")) {
            var group =
                    (Pattern<Tuple2<String, Long>, Tuple2<String, Long>>)
                            stages(stage.get("group"), AfterMatchSkipStrategy.noSkip());
            return switch (how) {
                case "begin" -> Pattern.begin(group, skip);
                case "next" -> pattern.next(group);
                case "followedBy" -> pattern.followedBy(group);
                default -> pattern.followedByAny(group);
            };
        }
        String name = stage.get("name").asText();
        return switch (how) {
            case "begin" -> Pattern.begin(name, skip);
            case "next" -> pattern.next(name);
            case "followedBy" -> pattern.followedBy(name);
            case "followedByAny" -> pattern.followedByAny(name);
            case "notNext" -> pattern.notNext(name);
            default -> pattern.notFollowedBy(name);
        };
    }

    private static Pattern<Tuple2<String, Long>, Tuple2<String, Long>> called(
            Pattern<Tuple2<String, Long>, Tuple2<String, Long>> pattern, JsonNode call) {
        JsonNode first = call.path(1);
        Duration window =
                call.get(call.size() - 1).has("window")
                        ? Duration.ofMillis(call.get(call.size() - 1).get("window").asLong())
                        : null;
        return switch (call.get(0).asText()) {
            case "where" -> pattern.where(condition(first));
            case "or" -> pattern.or(condition(first));
            case "until" -> pattern.until(condition(first));
            case "oneOrMore" -> pattern.oneOrMore(window);
            case "times" -> pattern.times(first.asInt(), window);
            case "timesRange" -> pattern.times(first.asInt(), call.get(2).asInt(), window);
            case "timesOrMore" -> pattern.timesOrMore(first.asInt(), window);
            case "optional" -> pattern.optional();
            case "greedy" -> pattern.greedy();
            case "consecutive" -> pattern.consecutive();
            case "allowCombinations" -> pattern.allowCombinations();
            case "within" -> pattern.within(Duration.ofMillis(first.asLong()));
            case "withinPrevious" ->
                    pattern.within(
                            Duration.ofMillis(first.asLong()), WithinType.PREVIOUS_AND_CURRENT);
            default -> throw new IllegalArgumentException(call.toString());
        };
    }

    private static AfterMatchSkipStrategy skip(JsonNode skip) {
        boolean throwing = skip.path("throws").asBoolean();
        return switch (skip.get("kind").asText()) {
            case "skipToNext" -> AfterMatchSkipStrategy.skipToNext();
            case "skipPastLastEvent" -> AfterMatchSkipStrategy.skipPastLastEvent();
            case "skipToFirst" ->
                    throwing
                            ? AfterMatchSkipStrategy.skipToFirst(name(skip)).throwExceptionOnMiss()
                            : AfterMatchSkipStrategy.skipToFirst(name(skip));
            case "skipToLast" ->
                    throwing
                            ? AfterMatchSkipStrategy.skipToLast(name(skip)).throwExceptionOnMiss()
                            : AfterMatchSkipStrategy.skipToLast(name(skip));
            default -> AfterMatchSkipStrategy.noSkip();
        };
    }

    private static String name(JsonNode skip) {
        return skip.get("name").asText();
    }

    private static IterativeCondition<Tuple2<String, Long>> condition(JsonNode spec) {
        List<Long> kinds = new ArrayList<>();
        spec.path("of").forEach(kind -> kinds.add(kind.asLong()));
        long limit = spec.path("limit").asLong();
        String stage = spec.path("stage").asText();
        return switch (spec.get("kind").asText()) {
            case "in" ->
                    new SimpleCondition<>() {
                        @Override
                        public boolean filter(Tuple2<String, Long> value) {
                            return kinds.contains(value.f1 % 10);
                        }
                    };
            case "sumBelow" ->
                    new IterativeCondition<>() {
                        @Override
                        public boolean filter(
                                Tuple2<String, Long> value, Context<Tuple2<String, Long>> context)
                                throws Exception {
                            long sum = value.f1 % 10;
                            for (Tuple2<String, Long> event : context.getEventsForPattern(stage)) {
                                sum += event.f1 % 10;
                            }
                            return sum < limit;
                        }
                    };
            case "aboveLast" ->
                    new IterativeCondition<>() {
                        @Override
                        public boolean filter(
                                Tuple2<String, Long> value, Context<Tuple2<String, Long>> context)
                                throws Exception {
                            long last = -1;
                            for (Tuple2<String, Long> event : context.getEventsForPattern(stage)) {
                                last = event.f1 % 10;
                            }
                            return value.f1 % 10 >= last;
                        }
                    };
            default ->
                    new IterativeCondition<>() {
                        @Override
                        public boolean filter(
                                Tuple2<String, Long> value,
                                Context<Tuple2<String, Long>> context) {
                            return Math.floorMod(context.timestamp(), 3L) < limit;
                        }
                    };
        };
    }

    // ------------------------------------------------------------------ results

    private static String text(
            String label, boolean keyed, Map<String, List<Tuple2<String, Long>>> match) {
        return Recorder.text(label, key(keyed, match), stages(match));
    }

    private static Tuple2<String, String> timedOut(
            boolean keyed, Map<String, List<Tuple2<String, Long>>> match, long timestamp) {
        return Tuple2.of(key(keyed, match), Recorder.text(timestamp, stages(match)));
    }

    private static String key(boolean keyed, Map<String, List<Tuple2<String, Long>>> match) {
        return keyed ? match.values().iterator().next().get(0).f0 : "all";
    }

    private static List<List<Object>> stages(Map<String, List<Tuple2<String, Long>>> match) {
        List<List<Object>> stages = new ArrayList<>();
        match.forEach(
                (stage, events) ->
                        stages.add(List.of(stage, events.stream().map(e -> e.f1).toList())));
        return stages;
    }

    private static class Plain extends PatternProcessFunction<Tuple2<String, Long>, String> {

        final boolean keyed;

        Plain(boolean keyed) {
            this.keyed = keyed;
        }

        @Override
        public void processMatch(
                Map<String, List<Tuple2<String, Long>>> match,
                Context context,
                Collector<String> out) {
            out.collect(
                    Recorder.text(
                            "match", key(keyed, match), stages(match), context.timestamp()));
        }
    }

    private static final class WithTimeouts extends Plain
            implements TimedOutPartialMatchHandler<Tuple2<String, Long>> {

        WithTimeouts(boolean keyed) {
            super(keyed);
        }

        @Override
        public void processTimedOutMatch(
                Map<String, List<Tuple2<String, Long>>> match, Context context) {
            context.output(TIMED_OUT, timedOut(keyed, match, context.timestamp()));
        }
    }

    private Patterns() {}
}
