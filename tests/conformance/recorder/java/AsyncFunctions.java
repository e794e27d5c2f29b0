import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.AsyncDataStream;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.async.AsyncFunction;
import org.apache.flink.streaming.api.functions.async.ResultFuture;
import org.apache.flink.streaming.util.retryable.AsyncRetryStrategies;
import org.apache.flink.streaming.util.retryable.RetryPredicates;

/** The family {@code async}: the value of an element says how its request ends. */
final class AsyncFunctions {

    static final long TIMEOUT = 1_000;

    static DataStream<?> of(DataStream<Tuple2<String, Long>> stream, JsonNode function) {
        boolean ordered = function.get("kind").asText().equals("ordered");
        if (!function.has("attempts")) {
            return ordered
                    ? AsyncDataStream.orderedWait(
                            stream, new Request(), TIMEOUT, TimeUnit.MILLISECONDS, 100)
                    : AsyncDataStream.unorderedWait(
                            stream, new Request(), TIMEOUT, TimeUnit.MILLISECONDS, 100);
        }
        var strategy =
                new AsyncRetryStrategies.FixedDelayRetryStrategyBuilder<String>(
                                function.get("attempts").asInt(), 1)
                        .ifResult(RetryPredicates.EMPTY_RESULT_PREDICATE)
                        .ifException(RetryPredicates.HAS_EXCEPTION_PREDICATE)
                        .build();
        return ordered
                ? AsyncDataStream.orderedWaitWithRetry(
                        stream, new Request(), TIMEOUT, TimeUnit.MILLISECONDS, 100, strategy)
                : AsyncDataStream.unorderedWaitWithRetry(
                        stream, new Request(), TIMEOUT, TimeUnit.MILLISECONDS, 100, strategy);
    }

    private static final class Request implements AsyncFunction<Tuple2<String, Long>, String> {

        private final Map<Tuple2<String, Long>, Integer> attempts = new HashMap<>();

        @Override
        public void asyncInvoke(Tuple2<String, Long> element, ResultFuture<String> future) {
            int attempt = attempts.merge(element, 1, Integer::sum);
            switch ((int) Math.floorMod(element.f1, 5L)) {
                case 0 -> future.complete(Collections.emptyList());
                case 1 -> future.complete(List.of(text(element, "one", attempt)));
                case 2 ->
                        future.complete(
                                List.of(text(element, "one", attempt), text(element, "two", attempt)));
                case 3 -> {
                    if (attempt < 3) {
                        future.completeExceptionally(new IllegalStateException("busy"));
                    } else {
                        future.complete(List.of(text(element, "at last", attempt)));
                    }
                }
                default -> {}
            }
        }

        @Override
        public void timeout(Tuple2<String, Long> element, ResultFuture<String> future) {
            future.complete(List.of(text(element, "too late", 0)));
        }

        private static String text(Tuple2<String, Long> element, String how, int attempt) {
            return Recorder.text(element.f0, element.f1, how, attempt);
        }
    }

    private AsyncFunctions() {}
}
