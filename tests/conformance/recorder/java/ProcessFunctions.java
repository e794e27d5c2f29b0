import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.TimeDomain;
import org.apache.flink.streaming.api.TimerService;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** The functions of the family {@code keyedProcess}. */
final class ProcessFunctions {

    static KeyedProcessFunction<String, Tuple2<String, Long>, String> of(JsonNode function) {
        return switch (function.path("kind").asText()) {
            case "both" -> new BothDomains();
            case "ttl" -> new Expiring(function);
            default -> new EventTimers();
        };
    }

    static String domain(TimeDomain domain) {
        return domain == TimeDomain.EVENT_TIME ? "event" : "processing";
    }

    static <T> List<T> listed(Iterable<T> elements) {
        List<T> list = new ArrayList<>();
        if (elements != null) {
            elements.forEach(list::add);
        }
        return list;
    }

    private static final class EventTimers
            extends KeyedProcessFunction<String, Tuple2<String, Long>, String> {
        private transient ListState<Long> seen;

        @Override
        public void open(OpenContext context) {
            seen =
                    getRuntimeContext()
                            .getListState(new ListStateDescriptor<>("seen", Types.LONG));
        }

        @Override
        public void processElement(
                Tuple2<String, Long> element, Context context, Collector<String> out)
                throws Exception {
            TimerService timers = context.timerService();
            long value = element.f1;
            seen.add(value);
            if (value % 3 == 0) {
                timers.registerEventTimeTimer(context.timestamp() + value);
            }
            if (value % 5 == 0) {
                timers.deleteEventTimeTimer(context.timestamp());
            }
            out.collect(
                    Recorder.text(
                            "el",
                            context.getCurrentKey(),
                            value,
                            context.timestamp(),
                            timers.currentWatermark()));
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<String> out)
                throws Exception {
            List<Long> values = listed(seen.get());
            out.collect(
                    Recorder.text(
                            "timer",
                            context.getCurrentKey(),
                            timestamp,
                            values,
                            context.timerService().currentWatermark()));
            if (values.size() > 5) {
                seen.clear();
            }
        }
    }

    private static final class BothDomains
            extends KeyedProcessFunction<String, Tuple2<String, Long>, String> {
        private transient ListState<Long> seen;
        private transient ValueState<Long> chained;

        @Override
        public void open(OpenContext context) {
            seen =
                    getRuntimeContext()
                            .getListState(new ListStateDescriptor<>("seen", Types.LONG));
            chained =
                    getRuntimeContext()
                            .getState(new ValueStateDescriptor<>("chained", Types.LONG));
        }

        @Override
        public void processElement(
                Tuple2<String, Long> element, Context context, Collector<String> out)
                throws Exception {
            TimerService timers = context.timerService();
            long value = element.f1;
            Long timestamp = context.timestamp();
            long now = timers.currentProcessingTime();
            seen.add(value);
            if (value % 3 == 0 && timestamp != null) {
                timers.registerEventTimeTimer(timestamp + value);
            }
            if (value % 4 == 0) {
                timers.registerProcessingTimeTimer(now + Math.abs(value));
            }
            if (value % 5 == 0 && timestamp != null) {
                timers.deleteEventTimeTimer(timestamp);
            }
            if (value % 7 == 0) {
                timers.deleteProcessingTimeTimer(now + Math.abs(value) / 7 * 4);
            }
            out.collect(
                    Recorder.text(
                            "el",
                            context.getCurrentKey(),
                            value,
                            timestamp,
                            timers.currentWatermark(),
                            now));
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<String> out)
                throws Exception {
            TimerService timers = context.timerService();
            List<Long> values = listed(seen.get());
            out.collect(
                    Recorder.text(
                            "timer",
                            domain(context.timeDomain()),
                            context.getCurrentKey(),
                            timestamp,
                            values,
                            timers.currentWatermark(),
                            timers.currentProcessingTime()));
            long count = chained.value() == null ? 0 : chained.value();
            if (values.size() % 2 == 1 && count < 4) {
                chained.update(count + 1);
                if (context.timeDomain() == TimeDomain.EVENT_TIME) {
                    timers.registerEventTimeTimer(timestamp + 1);
                } else {
                    timers.registerProcessingTimeTimer(timestamp + 1);
                }
            }
            if (values.size() > 5) {
                seen.clear();
                chained.clear();
            }
        }
    }

    private static final class Expiring
            extends KeyedProcessFunction<String, Tuple2<String, Long>, String> {
        private final StateTtlConfig config;
        private transient ValueState<Long> sum;
        private transient ListState<Long> list;
        private transient MapState<Long, Long> map;

        Expiring(JsonNode function) {
            config =
                    StateTtlConfig.newBuilder(Duration.ofMillis(function.get("ttl").asLong()))
                            .setUpdateType(
                                    StateTtlConfig.UpdateType.valueOf(
                                            function.get("update").asText()))
                            .setStateVisibility(
                                    StateTtlConfig.StateVisibility.valueOf(
                                            function.get("visibility").asText()))
                            .disableCleanupInBackground()
                            .build();
        }

        private <D extends StateDescriptor<?, ?>> D expiring(D descriptor) {
            descriptor.enableTimeToLive(config);
            return descriptor;
        }

        @Override
        public void open(OpenContext context) {
            var runtime = getRuntimeContext();
            sum = runtime.getState(expiring(new ValueStateDescriptor<>("sum", Types.LONG)));
            list = runtime.getListState(expiring(new ListStateDescriptor<>("list", Types.LONG)));
            map =
                    runtime.getMapState(
                            expiring(new MapStateDescriptor<>("map", Types.LONG, Types.LONG)));
        }

        @Override
        public void processElement(
                Tuple2<String, Long> element, Context context, Collector<String> out)
                throws Exception {
            long value = element.f1;
            Long total = null;
            if (value % 2 == 0) {
                total = sum.value();
                if (value % 4 == 0) {
                    sum.update((total == null ? 0 : total) + value);
                }
            }
            List<Long> values = null;
            if (value % 3 == 0) {
                values = listed(list.get());
            } else {
                list.add(value);
            }
            long slot = Math.floorMod(value, 5L);
            Long before = map.get(slot);
            List<List<Long>> entries = null;
            if (slot == 4) {
                entries = new ArrayList<>();
                for (Map.Entry<Long, Long> entry : map.entries()) {
                    entries.add(List.of(entry.getKey(), entry.getValue()));
                }
                entries.sort(Comparator.comparing(entry -> entry.get(0)));
            } else {
                map.put(slot, value);
            }
            out.collect(
                    Recorder.text(
                            context.getCurrentKey(), value, total, values, before, entries));
        }
    }

    private ProcessFunctions() {}
}
