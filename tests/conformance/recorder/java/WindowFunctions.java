import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.state.KeyedStateStore;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.functions.windowing.WindowFunction;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.api.windowing.windows.Window;
import org.apache.flink.util.Collector;

/** The functions of the families {@code window} and {@code join}. */
final class WindowFunctions {

    static final class SumAndCount
            implements AggregateFunction<
                    Tuple2<String, Long>, Tuple2<Long, Long>, Tuple2<Long, Long>> {
        @Override
        public Tuple2<Long, Long> createAccumulator() {
            return Tuple2.of(0L, 0L);
        }

        @Override
        public Tuple2<Long, Long> add(Tuple2<String, Long> element, Tuple2<Long, Long> sum) {
            return Tuple2.of(sum.f0 + element.f1, sum.f1 + 1);
        }

        @Override
        public Tuple2<Long, Long> getResult(Tuple2<Long, Long> sum) {
            return sum;
        }

        @Override
        public Tuple2<Long, Long> merge(Tuple2<Long, Long> a, Tuple2<Long, Long> b) {
            return Tuple2.of(a.f0 + b.f0, a.f1 + b.f1);
        }
    }

    static final class WithBounds<W extends Window>
            extends ProcessWindowFunction<Tuple2<Long, Long>, String, String, W> {
        @Override
        public void process(
                String key, Context context, Iterable<Tuple2<Long, Long>> sums, Collector<String> out) {
            for (Tuple2<Long, Long> sum : sums) {
                out.collect(
                        Recorder.text(
                                key, start(context.window()), end(context.window()), sum.f0, sum.f1));
            }
        }
    }

    static final class ListApply<W extends Window>
            implements WindowFunction<Tuple2<String, Long>, String, String, W> {
        @Override
        public void apply(
                String key, W window, Iterable<Tuple2<String, Long>> elements, Collector<String> out) {
            out.collect(Recorder.text(key, start(window), end(window), values(elements)));
        }
    }

    static final class ListAll<W extends Window>
            extends ProcessWindowFunction<Tuple2<String, Long>, String, String, W> {
        @Override
        public void process(
                String key,
                Context context,
                Iterable<Tuple2<String, Long>> elements,
                Collector<String> out) {
            W window = context.window();
            out.collect(
                    Recorder.text(
                            key,
                            start(window),
                            end(window),
                            values(elements),
                            context.currentWatermark()));
        }
    }

    /** Counts its firings, in global state and perhaps per window. */
    static final class Counting<W extends Window>
            extends ProcessWindowFunction<Tuple2<String, Long>, String, String, W> {
        private final boolean perWindow;
        private final ValueStateDescriptor<Long> firings =
                new ValueStateDescriptor<>("firings", Types.LONG);

        Counting(boolean perWindow) {
            this.perWindow = perWindow;
        }

        @Override
        public void process(
                String key,
                Context context,
                Iterable<Tuple2<String, Long>> elements,
                Collector<String> out)
                throws Exception {
            W window = context.window();
            List<Object> payload = new ArrayList<>();
            payload.add(key);
            payload.add(start(window));
            payload.add(end(window));
            payload.add(values(elements));
            if (perWindow) {
                payload.add(count(context.windowState()));
            }
            payload.add(count(context.globalState()));
            out.collect(Recorder.text(payload.toArray()));
        }

        private long count(KeyedStateStore store) throws Exception {
            ValueState<Long> state = store.getState(firings);
            state.update(state.value() == null ? 1 : state.value() + 1);
            return state.value();
        }

        @Override
        public void clear(Context context) throws Exception {
            if (perWindow) {
                context.windowState().getState(firings).clear();
            }
        }
    }

    static void bothSides(
            Iterable<Tuple2<String, Long>> left,
            Iterable<Tuple2<String, Long>> right,
            Collector<String> out) {
        Iterable<Tuple2<String, Long>> some = left.iterator().hasNext() ? left : right;
        out.collect(Recorder.text(some.iterator().next().f0, values(left), values(right)));
    }

    static List<Long> values(Iterable<Tuple2<String, Long>> elements) {
        List<Long> values = new ArrayList<>();
        elements.forEach(element -> values.add(element.f1));
        return values;
    }

    private static Long start(Window window) {
        return window instanceof TimeWindow time ? time.getStart() : null;
    }

    private static Long end(Window window) {
        return window instanceof TimeWindow time ? time.getEnd() : null;
    }

    private WindowFunctions() {}
}
