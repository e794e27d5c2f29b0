import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** The strategies of the family {@code watermarks}. */
final class Watermarks {

    static WatermarkStrategy<Tuple2<String, Long>> of(JsonNode spec) {
        WatermarkStrategy<Tuple2<String, Long>> strategy =
                switch (spec.get("kind").asText()) {
                    case "forMonotonousTimestamps" -> WatermarkStrategy.forMonotonousTimestamps();
                    case "forBoundedOutOfOrderness" ->
                            WatermarkStrategy.forBoundedOutOfOrderness(
                                    Duration.ofMillis(spec.get("bound").asLong()));
                    case "noWatermarks" -> WatermarkStrategy.noWatermarks();
                    case "punctuated" -> WatermarkStrategy.forGenerator(context -> new Punctuated());
                    default -> WatermarkStrategy.forGenerator(context -> new LastThree());
                };
        if (spec.hasNonNull("timestampFromValue")) {
            long factor = spec.get("timestampFromValue").asLong();
            strategy =
                    strategy.withTimestampAssigner(
                            (element, timestamp) -> element.f1 * factor);
        }
        if (spec.hasNonNull("idleness")) {
            strategy = strategy.withIdleness(Duration.ofMillis(spec.get("idleness").asLong()));
        }
        return strategy;
    }

    private static final class Punctuated implements WatermarkGenerator<Tuple2<String, Long>> {
        @Override
        public void onEvent(Tuple2<String, Long> event, long timestamp, WatermarkOutput output) {
            if (event.f1 % 3 == 0) {
                output.emitWatermark(new Watermark(timestamp));
            }
        }

        @Override
        public void onPeriodicEmit(WatermarkOutput output) {}
    }

    private static final class LastThree implements WatermarkGenerator<Tuple2<String, Long>> {
        private final Deque<Long> last = new ArrayDeque<>();

        @Override
        public void onEvent(Tuple2<String, Long> event, long timestamp, WatermarkOutput output) {
            last.add(timestamp);
            if (last.size() > 3) {
                last.remove();
            }
            if (event.f1 == 0) {
                output.markIdle();
            }
        }

        @Override
        public void onPeriodicEmit(WatermarkOutput output) {
            if (last.size() == 3) {
                output.emitWatermark(new Watermark(Collections.min(last)));
            }
        }
    }

    private Watermarks() {}
}
