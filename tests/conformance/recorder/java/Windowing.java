import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.functions.windowing.delta.DeltaFunction;
import org.apache.flink.streaming.api.windowing.assigners.*;
import org.apache.flink.streaming.api.windowing.evictors.*;
import org.apache.flink.streaming.api.windowing.triggers.*;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.api.windowing.windows.Window;

/** Assigners, triggers and evictors as the cases name them. */
final class Windowing {

    private static final DeltaFunction<Object> DISTANCE =
            (old, latest) -> Math.abs(value(old) - value(latest));

    private static long value(Object element) {
        return ((Tuple2<?, Long>) element).f1;
    }

    private static Duration ms(JsonNode spec, String field) {
        return Duration.ofMillis(spec.path(field).asLong());
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    static WindowAssigner assigner(JsonNode spec) {
        Duration size = ms(spec, "size");
        Duration slide = ms(spec, "slide");
        Duration offset = ms(spec, "offset");
        Duration gap = ms(spec, "gap");
        String kind = spec.get("kind").asText();
        return switch (kind) {
            case "TumblingEventTimeWindows" -> TumblingEventTimeWindows.of(size, offset);
            case "TumblingProcessingTimeWindows" -> TumblingProcessingTimeWindows.of(size, offset);
            case "SlidingEventTimeWindows" -> SlidingEventTimeWindows.of(size, slide, offset);
            case "SlidingProcessingTimeWindows" ->
                    SlidingProcessingTimeWindows.of(size, slide, offset);
            case "EventTimeSessionWindows" -> EventTimeSessionWindows.withGap(gap);
            case "ProcessingTimeSessionWindows" -> ProcessingTimeSessionWindows.withGap(gap);
            case "DynamicEventTimeSessionWindows" ->
                    EventTimeSessionWindows.withDynamicGap(Windowing::value);
            case "DynamicProcessingTimeSessionWindows" ->
                    ProcessingTimeSessionWindows.withDynamicGap(Windowing::value);
            case "GlobalWindows" ->
                    spec.path("endOfStream").asBoolean()
                            ? GlobalWindows.createWithEndOfStreamTrigger()
                            : GlobalWindows.create();
            case "CappedSessionWindows" ->
                    new CappedSessionWindows(spec.get("gap").asLong(), spec.get("cap").asLong());
            default -> throw new IllegalArgumentException(kind);
        };
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    static Trigger trigger(JsonNode spec) {
        String kind = spec.get("kind").asText();
        return switch (kind) {
            case "EventTimeTrigger" -> EventTimeTrigger.create();
            case "ProcessingTimeTrigger" -> ProcessingTimeTrigger.create();
            case "ContinuousEventTimeTrigger" ->
                    ContinuousEventTimeTrigger.of(ms(spec, "interval"));
            case "ContinuousProcessingTimeTrigger" ->
                    ContinuousProcessingTimeTrigger.of(ms(spec, "interval"));
            case "CountTrigger" -> CountTrigger.of(spec.get("n").asLong());
            case "DeltaTrigger" ->
                    DeltaTrigger.of(
                            spec.get("threshold").asDouble(),
                            (DeltaFunction) DISTANCE,
                            Types.TUPLE(Types.STRING, Types.LONG)
                                    .createSerializer(new ExecutionConfig().getSerializerConfig()));
            case "PurgingTrigger" -> PurgingTrigger.of(trigger(spec.get("of")));
            case "ProcessingTimeoutTrigger" ->
                    ProcessingTimeoutTrigger.of(
                            trigger(spec.get("of")),
                            ms(spec, "timeout"),
                            spec.get("resetTimerOnNewRecord").asBoolean(),
                            spec.get("shouldClearOnTimeout").asBoolean());
            case "EarlyLateTrigger" ->
                    new EarlyLateTrigger(spec.get("early").asLong(), spec.get("lateCount").asLong());
            default -> throw new IllegalArgumentException(kind);
        };
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    static Evictor evictor(JsonNode spec) {
        boolean after = spec.get("doEvictAfter").asBoolean();
        String kind = spec.get("kind").asText();
        return switch (kind) {
            case "CountEvictor" -> CountEvictor.of(spec.get("n").asLong(), after);
            case "TimeEvictor" -> TimeEvictor.of(ms(spec, "size"), after);
            case "DeltaEvictor" ->
                    DeltaEvictor.of(
                            spec.get("threshold").asDouble(), (DeltaFunction) DISTANCE, after);
            default -> throw new IllegalArgumentException(kind);
        };
    }

    /** Sessions that grow no longer than a cap. */
    static final class CappedSessionWindows extends MergingWindowAssigner<Object, TimeWindow> {
        private final long gap;
        private final long cap;

        CappedSessionWindows(long gap, long cap) {
            this.gap = gap;
            this.cap = cap;
        }

        @Override
        public Collection<TimeWindow> assignWindows(
                Object element, long timestamp, WindowAssignerContext context) {
            return Collections.singletonList(new TimeWindow(timestamp, timestamp + gap));
        }

        @Override
        public void mergeWindows(Collection<TimeWindow> windows, MergeCallback<TimeWindow> merge) {
            List<TimeWindow> sorted = new ArrayList<>(windows);
            sorted.sort(
                    Comparator.comparingLong(TimeWindow::getStart)
                            .thenComparingLong(TimeWindow::getEnd));
            List<TimeWindow> parts = new ArrayList<>();
            TimeWindow cover = null;
            for (TimeWindow window : sorted) {
                boolean joins =
                        cover != null
                                && window.getStart() <= cover.getEnd()
                                && Math.max(window.getEnd(), cover.getEnd()) - cover.getStart()
                                        <= cap;
                if (joins) {
                    cover = cover.cover(window);
                } else {
                    mergeParts(parts, cover, merge);
                    parts = new ArrayList<>();
                    cover = window;
                }
                parts.add(window);
            }
            mergeParts(parts, cover, merge);
        }

        private static void mergeParts(
                List<TimeWindow> parts, TimeWindow cover, MergeCallback<TimeWindow> merge) {
            if (parts.size() > 1) {
                merge.merge(parts, cover);
            }
        }

        @Override
        public Trigger<Object, TimeWindow> getDefaultTrigger() {
            return EventTimeTrigger.create();
        }

        @Override
        public TypeSerializer<TimeWindow> getWindowSerializer(ExecutionConfig config) {
            return new TimeWindow.Serializer();
        }

        @Override
        public boolean isEventTime() {
            return true;
        }
    }

    /** Fires now and then before the watermark, and for every so many late elements after. */
    static final class EarlyLateTrigger extends Trigger<Object, Window> {
        private final long early;
        private final long lateCount;
        private final ValueStateDescriptor<Long> next =
                new ValueStateDescriptor<>("next", Types.LONG);
        private final ValueStateDescriptor<Long> late =
                new ValueStateDescriptor<>("late", Types.LONG);

        EarlyLateTrigger(long early, long lateCount) {
            this.early = early;
            this.lateCount = lateCount;
        }

        @Override
        public TriggerResult onElement(
                Object element, long timestamp, Window window, TriggerContext context)
                throws Exception {
            if (window.maxTimestamp() <= context.getCurrentWatermark()) {
                return countLate(context.getPartitionedState(late));
            }
            context.registerEventTimeTimer(window.maxTimestamp());
            if (context.getPartitionedState(next).value() == null) {
                await(context.getCurrentProcessingTime() + early, context);
            }
            return TriggerResult.CONTINUE;
        }

        private TriggerResult countLate(ValueState<Long> state) throws Exception {
            long count = state.value() == null ? 1 : state.value() + 1;
            if (count < lateCount) {
                state.update(count);
                return TriggerResult.CONTINUE;
            }
            state.clear();
            return TriggerResult.FIRE;
        }

        private void await(long time, TriggerContext context) throws Exception {
            context.getPartitionedState(next).update(time);
            context.registerProcessingTimeTimer(time);
        }

        @Override
        public TriggerResult onProcessingTime(long time, Window window, TriggerContext context)
                throws Exception {
            Long awaited = context.getPartitionedState(next).value();
            if (awaited == null || awaited != time) {
                return TriggerResult.CONTINUE;
            }
            await(time + early, context);
            return TriggerResult.FIRE;
        }

        @Override
        public TriggerResult onEventTime(long time, Window window, TriggerContext context)
                throws Exception {
            if (time != window.maxTimestamp()) {
                return TriggerResult.CONTINUE;
            }
            stop(context);
            return TriggerResult.FIRE_AND_PURGE;
        }

        private void stop(TriggerContext context) throws Exception {
            Long awaited = context.getPartitionedState(next).value();
            if (awaited != null) {
                context.deleteProcessingTimeTimer(awaited);
                context.getPartitionedState(next).clear();
            }
        }

        @Override
        public void clear(Window window, TriggerContext context) throws Exception {
            context.deleteEventTimeTimer(window.maxTimestamp());
            stop(context);
            context.getPartitionedState(late).clear();
        }
    }

    private Windowing() {}
}
