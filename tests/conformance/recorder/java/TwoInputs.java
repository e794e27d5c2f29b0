import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.BroadcastState;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.TimeDomain;
import org.apache.flink.streaming.api.TimerService;
import org.apache.flink.streaming.api.functions.co.KeyedBroadcastProcessFunction;
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.streaming.api.functions.co.ProcessJoinFunction;
import org.apache.flink.util.Collector;

/** The functions of the family {@code two}, and of interval joins. */
final class TwoInputs {

    static final MapStateDescriptor<String, Long> RULES =
            new MapStateDescriptor<>("rules", Types.STRING, Types.LONG);
    private static final ValueStateDescriptor<Long> SUM =
            new ValueStateDescriptor<>("sum", Types.LONG);

    static final class Timed
            extends ProcessJoinFunction<Tuple2<String, Long>, Tuple2<String, Long>, String> {
        private final boolean withTimestamp;

        Timed(boolean withTimestamp) {
            this.withTimestamp = withTimestamp;
        }

        @Override
        public void processElement(
                Tuple2<String, Long> left,
                Tuple2<String, Long> right,
                Context context,
                Collector<String> out) {
            List<Object> payload = new ArrayList<>(List.of(left.f0, left.f1, right.f1));
            payload.add(context.getLeftTimestamp());
            payload.add(context.getRightTimestamp());
            if (withTimestamp) {
                payload.add(context.getTimestamp());
            }
            out.collect(Recorder.text(payload.toArray()));
        }
    }

    static final class Meeting
            extends KeyedCoProcessFunction<
                    String, Tuple2<String, Long>, Tuple2<String, Long>, String> {
        private transient ListState<Long> stored;

        @Override
        public void open(OpenContext context) {
            stored =
                    getRuntimeContext()
                            .getListState(new ListStateDescriptor<>("stored", Types.LONG));
        }

        @Override
        public void processElement1(
                Tuple2<String, Long> element, Context context, Collector<String> out)
                throws Exception {
            TimerService timers = context.timerService();
            stored.add(element.f1);
            timers.registerEventTimeTimer(context.timestamp() + Math.abs(element.f1));
            out.collect(
                    Recorder.text(
                            1,
                            element.f0,
                            element.f1,
                            context.timestamp(),
                            timers.currentWatermark()));
        }

        @Override
        public void processElement2(
                Tuple2<String, Long> element, Context context, Collector<String> out)
                throws Exception {
            TimerService timers = context.timerService();
            out.collect(
                    Recorder.text(
                            2,
                            element.f0,
                            element.f1,
                            ProcessFunctions.listed(stored.get()),
                            timers.currentWatermark()));
            if (element.f1 % 3 == 0) {
                timers.registerProcessingTimeTimer(
                        timers.currentProcessingTime() + Math.abs(element.f1));
            }
            if (element.f1 % 7 == 0) {
                timers.deleteEventTimeTimer(context.timestamp());
            }
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<String> out)
                throws Exception {
            out.collect(
                    Recorder.text(
                            "timer",
                            ProcessFunctions.domain(context.timeDomain()),
                            context.getCurrentKey(),
                            timestamp,
                            ProcessFunctions.listed(stored.get()),
                            context.timerService().currentWatermark()));
            if (context.timeDomain() == TimeDomain.EVENT_TIME) {
                stored.clear();
            }
        }
    }

    static final class Rules
            extends KeyedBroadcastProcessFunction<
                    String, Tuple2<String, Long>, Tuple2<String, Long>, String> {
        private transient ValueState<Long> sum;

        @Override
        public void open(OpenContext context) {
            sum = getRuntimeContext().getState(SUM);
        }

        @Override
        public void processElement(
                Tuple2<String, Long> element, ReadOnlyContext context, Collector<String> out)
                throws Exception {
            long total = (sum.value() == null ? 0 : sum.value()) + element.f1;
            sum.update(total);
            Map<String, Long> rules = new TreeMap<>();
            for (Map.Entry<String, Long> rule :
                    context.getBroadcastState(RULES).immutableEntries()) {
                rules.put(rule.getKey(), rule.getValue());
            }
            rules.forEach(
                    (name, threshold) -> {
                        if (total >= threshold) {
                            out.collect(
                                    Recorder.text(
                                            "match",
                                            element.f0,
                                            name,
                                            total,
                                            context.currentWatermark()));
                        }
                    });
            if (element.f1 % 3 == 0) {
                context.timerService()
                        .registerEventTimeTimer(context.timestamp() + Math.abs(element.f1));
            }
        }

        @Override
        public void processBroadcastElement(
                Tuple2<String, Long> rule, Context context, Collector<String> out)
                throws Exception {
            BroadcastState<String, Long> rules = context.getBroadcastState(RULES);
            if (rule.f1 < 0) {
                rules.remove(rule.f0);
            } else {
                rules.put(rule.f0, rule.f1);
            }
            if (rule.f1 % 5 == 0) {
                List<List<Object>> sums = new ArrayList<>();
                context.applyToKeyedState(
                        SUM, (key, state) -> sums.add(List.of(key, state.value())));
                sums.sort(Comparator.comparing(pair -> Recorder.text(pair.toArray())));
                out.collect(Recorder.text("sums", sums));
            }
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<String> out)
                throws Exception {
            out.collect(
                    Recorder.text("timer", context.getCurrentKey(), timestamp, sum.value()));
            sum.clear();
        }
    }

    private TwoInputs() {}
}
