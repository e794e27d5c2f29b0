import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.CoGroupFunction;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.api.java.tuple.Tuple5;
import org.apache.flink.api.java.tuple.Tuple6;
import org.apache.flink.api.java.tuple.Tuple8;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/** The twins of examples/nexmark/queries.py; what each asks is written there. */
final class Nexmark {

    private static final Duration PERIOD = Duration.ofSeconds(10);
    private static final Duration SLIDE = Duration.ofSeconds(2);
    private static final TypeInformation<Tuple3<Long, Long, Long>> LONGS =
            Types.TUPLE(Types.LONG, Types.LONG, Types.LONG);

    private Nexmark() {}

    static DataStream<String> build(String query, Bench bench) {
        switch (query) {
            case "q0":
                return bids(bench).map(new Line<>(), Types.STRING);
            case "q1":
                return bids(bench)
                        .map(bid -> Tuple4.of(bid.f0, bid.f1, bid.f2 * 908 / 1_000, bid.f3))
                        .returns(Types.TUPLE(Types.LONG, Types.LONG, Types.LONG, Types.LONG))
                        .map(new Line<>(), Types.STRING);
            case "q2":
                return bids(bench).filter(bid -> bid.f0 % 123 == 0).map(bid -> bid.f0 + "," + bid.f2);
            case "q3":
                return persons(bench)
                        .keyBy(person -> person.f0)
                        .connect(auctions(bench).filter(auction -> auction.f7 == 10).keyBy(auction -> auction.f6))
                        .process(new LocalItems());
            case "q4":
                return winningBids(bench)
                        .keyBy(bid -> bid.f1)
                        .window(SlidingEventTimeWindows.of(PERIOD, SLIDE))
                        .aggregate(new AveragePrice(), new WithWindow())
                        .map(new Line<>(), Types.STRING);
            case "q5":
                return bids(bench)
                        .keyBy(bid -> bid.f0)
                        .window(SlidingEventTimeWindows.of(PERIOD, SLIDE))
                        .aggregate(new Count<>(), new WithWindow())
                        .keyBy(count -> count.f2)
                        .window(TumblingEventTimeWindows.of(SLIDE))
                        .process(new Hottest());
            case "q7":
                return bids(bench)
                        .keyBy(bid -> bid.f0)
                        .window(TumblingEventTimeWindows.of(PERIOD))
                        .reduce(Nexmark::higher)
                        .windowAll(TumblingEventTimeWindows.of(PERIOD))
                        .reduce(Nexmark::higher)
                        .map(new Line<>(), Types.STRING);
            case "q8":
                return persons(bench)
                        .coGroup(auctions(bench))
                        .where(person -> person.f0)
                        .equalTo(auction -> auction.f6)
                        .window(TumblingEventTimeWindows.of(PERIOD))
                        .apply(new NewSellers());
            case "q9":
                return winningBids(bench).map(new Line<>(), Types.STRING);
            case "q11":
                return bids(bench)
                        .keyBy(bid -> bid.f1)
                        .window(EventTimeSessionWindows.withGap(PERIOD))
                        .aggregate(new Count<>(), new Sessions());
            default:
                throw new IllegalArgumentException(query);
        }
    }

    /** (id, name, email, city, state, dateTime). */
    private static DataStream<Tuple6<Long, String, String, String, String, Long>> persons(Bench bench) {
        return bench.read("nexmark-person", "lssssl", inOrder(5));
    }

    /** (id, itemName, initialBid, reserve, dateTime, expires, seller, category). */
    private static DataStream<Tuple8<Long, String, Long, Long, Long, Long, Long, Long>> auctions(Bench bench) {
        return bench.read("nexmark-auction", "lsllllll", inOrder(4));
    }

    /** (auction, bidder, price, dateTime). */
    private static DataStream<Tuple4<Long, Long, Long, Long>> bids(Bench bench) {
        return bench.read("nexmark-bid", "llll", inOrder(3));
    }

    private static <T extends Tuple> WatermarkStrategy<T> inOrder(int field) {
        return WatermarkStrategy.<T>forMonotonousTimestamps()
                .withTimestampAssigner((event, timestamp) -> event.<Long>getField(field));
    }

    /** (auction, category, bidder, price, dateTime). */
    private static DataStream<Tuple5<Long, Long, Long, Long, Long>> winningBids(Bench bench) {
        return auctions(bench)
                .keyBy(auction -> auction.f0)
                .connect(bids(bench).keyBy(bid -> bid.f0))
                .process(new WinningBids())
                .returns(Types.TUPLE(Types.LONG, Types.LONG, Types.LONG, Types.LONG, Types.LONG));
    }

    private static Tuple4<Long, Long, Long, Long> higher(
            Tuple4<Long, Long, Long, Long> one, Tuple4<Long, Long, Long, Long> other) {
        int order = Long.compare(one.f2, other.f2);
        order = order != 0 ? order : Long.compare(other.f3, one.f3);
        order = order != 0 ? order : Long.compare(other.f0, one.f0);
        order = order != 0 ? order : Long.compare(other.f1, one.f1);
        return order >= 0 ? one : other;
    }

    /** A class: Java takes a serialized reference to one method for another's whose tuples are longer. */
    private static class Line<T extends Tuple> implements MapFunction<T, String> {
        @Override
        public String map(T tuple) {
            return of(tuple);
        }

        static String of(Tuple tuple) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < tuple.getArity(); i++) {
                line.append(i == 0 ? "" : ",").append(tuple.<Object>getField(i));
            }
            return line.toString();
        }
    }

    private static class LocalItems
            extends KeyedCoProcessFunction<
                    Long,
                    Tuple6<Long, String, String, String, String, Long>,
                    Tuple8<Long, String, Long, Long, Long, Long, Long, Long>,
                    String> {
        private transient ValueState<Tuple3<String, String, String>> person;
        private transient ListState<Long> waiting;

        @Override
        public void open(OpenContext context) {
            person = getRuntimeContext()
                    .getState(new ValueStateDescriptor<>(
                            "person", Types.TUPLE(Types.STRING, Types.STRING, Types.STRING)));
            waiting = getRuntimeContext().getListState(new ListStateDescriptor<>("auctions", Types.LONG));
        }

        @Override
        public void processElement1(
                Tuple6<Long, String, String, String, String, Long> value, Context context, Collector<String> out)
                throws Exception {
            Tuple3<String, String, String> known = Tuple3.of(value.f1, value.f3, value.f4);
            person.update(known);
            for (Long auction : waiting.get()) {
                answer(known, auction, out);
            }
            waiting.clear();
        }

        @Override
        public void processElement2(
                Tuple8<Long, String, Long, Long, Long, Long, Long, Long> value,
                Context context,
                Collector<String> out)
                throws Exception {
            Tuple3<String, String, String> known = person.value();
            if (known == null) {
                waiting.add(value.f0);
            } else {
                answer(known, value.f0, out);
            }
        }

        private static void answer(Tuple3<String, String, String> person, Long auction, Collector<String> out) {
            if (person.f2.equals("OR") || person.f2.equals("ID") || person.f2.equals("CA")) {
                out.collect(person.f0 + "," + person.f1 + "," + person.f2 + "," + auction);
            }
        }
    }

    private static class WinningBids
            extends KeyedCoProcessFunction<
                    Long,
                    Tuple8<Long, String, Long, Long, Long, Long, Long, Long>,
                    Tuple4<Long, Long, Long, Long>,
                    Tuple5<Long, Long, Long, Long, Long>> {
        /** (dateTime, expires, category). */
        private transient ValueState<Tuple3<Long, Long, Long>> auction;

        /** (price, dateTime, bidder). */
        private transient ValueState<Tuple3<Long, Long, Long>> best;

        private transient ListState<Tuple3<Long, Long, Long>> waiting;

        @Override
        public void open(OpenContext context) {
            auction = getRuntimeContext().getState(new ValueStateDescriptor<>("auction", LONGS));
            best = getRuntimeContext().getState(new ValueStateDescriptor<>("best bid", LONGS));
            waiting = getRuntimeContext().getListState(new ListStateDescriptor<>("bids", LONGS));
        }

        @Override
        public void processElement1(
                Tuple8<Long, String, Long, Long, Long, Long, Long, Long> value,
                Context context,
                Collector<Tuple5<Long, Long, Long, Long, Long>> out)
                throws Exception {
            Tuple3<Long, Long, Long> open = Tuple3.of(value.f4, value.f5, value.f7);
            auction.update(open);
            context.timerService().registerEventTimeTimer(value.f5);
            for (Tuple3<Long, Long, Long> bid : waiting.get()) {
                consider(open, bid);
            }
            waiting.clear();
        }

        @Override
        public void processElement2(
                Tuple4<Long, Long, Long, Long> value,
                Context context,
                Collector<Tuple5<Long, Long, Long, Long, Long>> out)
                throws Exception {
            Tuple3<Long, Long, Long> open = auction.value();
            Tuple3<Long, Long, Long> bid = Tuple3.of(value.f2, value.f3, value.f1);
            if (open != null) {
                consider(open, bid);
            } else {
                waiting.add(bid);
                context.timerService().registerEventTimeTimer(value.f3);
            }
        }

        private void consider(Tuple3<Long, Long, Long> open, Tuple3<Long, Long, Long> bid) throws Exception {
            if (open.f0 <= bid.f1 && bid.f1 <= open.f1) {
                Tuple3<Long, Long, Long> current = best.value();
                if (current == null || better(bid, current)) {
                    best.update(bid);
                }
            }
        }

        private static boolean better(Tuple3<Long, Long, Long> bid, Tuple3<Long, Long, Long> than) {
            int order = Long.compare(bid.f0, than.f0);
            order = order != 0 ? order : Long.compare(than.f1, bid.f1);
            order = order != 0 ? order : Long.compare(than.f2, bid.f2);
            return order > 0;
        }

        @Override
        public void onTimer(
                long timestamp, OnTimerContext context, Collector<Tuple5<Long, Long, Long, Long, Long>> out)
                throws Exception {
            Tuple3<Long, Long, Long> open = auction.value();
            if (open == null) {
                List<Tuple3<Long, Long, Long>> kept = new ArrayList<>();
                for (Tuple3<Long, Long, Long> bid : waiting.get()) {
                    if (bid.f1 > timestamp) {
                        kept.add(bid);
                    }
                }
                waiting.update(kept);
            } else if (timestamp == open.f1) {
                Tuple3<Long, Long, Long> winner = best.value();
                if (winner != null) {
                    out.collect(Tuple5.of(context.getCurrentKey(), open.f2, winner.f2, winner.f0, winner.f1));
                }
                auction.clear();
                best.clear();
            }
        }
    }

    private static class AveragePrice
            implements AggregateFunction<Tuple5<Long, Long, Long, Long, Long>, Tuple2<Long, Long>, Long> {
        @Override
        public Tuple2<Long, Long> createAccumulator() {
            return Tuple2.of(0L, 0L);
        }

        @Override
        public Tuple2<Long, Long> add(Tuple5<Long, Long, Long, Long, Long> bid, Tuple2<Long, Long> accumulator) {
            accumulator.f0 += bid.f3;
            accumulator.f1 += 1;
            return accumulator;
        }

        @Override
        public Long getResult(Tuple2<Long, Long> accumulator) {
            return accumulator.f0 / accumulator.f1;
        }

        @Override
        public Tuple2<Long, Long> merge(Tuple2<Long, Long> one, Tuple2<Long, Long> other) {
            return Tuple2.of(one.f0 + other.f0, one.f1 + other.f1);
        }
    }

    private static class Count<T> implements AggregateFunction<T, Long, Long> {
        @Override
        public Long createAccumulator() {
            return 0L;
        }

        @Override
        public Long add(T value, Long accumulator) {
            return accumulator + 1;
        }

        @Override
        public Long getResult(Long accumulator) {
            return accumulator;
        }

        @Override
        public Long merge(Long one, Long other) {
            return one + other;
        }
    }

    /** (key, aggregated value, end of the window). */
    private static class WithWindow extends ProcessWindowFunction<Long, Tuple3<Long, Long, Long>, Long, TimeWindow> {
        @Override
        public void process(
                Long key, Context context, Iterable<Long> elements, Collector<Tuple3<Long, Long, Long>> out) {
            out.collect(Tuple3.of(key, elements.iterator().next(), context.window().getEnd()));
        }
    }

    private static class Hottest extends ProcessWindowFunction<Tuple3<Long, Long, Long>, String, Long, TimeWindow> {
        @Override
        public void process(
                Long key, Context context, Iterable<Tuple3<Long, Long, Long>> elements, Collector<String> out) {
            long most = 0;
            for (Tuple3<Long, Long, Long> item : elements) {
                most = Math.max(most, item.f1);
            }
            for (Tuple3<Long, Long, Long> item : elements) {
                if (item.f1 == most) {
                    out.collect(Line.of(item));
                }
            }
        }
    }

    private static class NewSellers
            implements CoGroupFunction<
                    Tuple6<Long, String, String, String, String, Long>,
                    Tuple8<Long, String, Long, Long, Long, Long, Long, Long>,
                    String> {
        @Override
        public void coGroup(
                Iterable<Tuple6<Long, String, String, String, String, Long>> persons,
                Iterable<Tuple8<Long, String, Long, Long, Long, Long, Long, Long>> auctions,
                Collector<String> out) {
            if (auctions.iterator().hasNext()) {
                for (Tuple6<Long, String, String, String, String, Long> person : persons) {
                    long start = TimeWindow.getWindowStartWithOffset(person.f5, 0, PERIOD.toMillis());
                    out.collect(person.f0 + "," + person.f1 + "," + start);
                }
            }
        }
    }

    private static class Sessions extends ProcessWindowFunction<Long, String, Long, TimeWindow> {
        @Override
        public void process(Long key, Context context, Iterable<Long> elements, Collector<String> out) {
            TimeWindow window = context.window();
            out.collect(key + "," + elements.iterator().next() + "," + window.getStart() + "," + window.getEnd());
        }
    }
}
