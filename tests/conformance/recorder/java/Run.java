import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import org.apache.flink.api.java.tuple.Tuple;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.streaming.util.AbstractStreamOperatorTestHarness;
import org.apache.flink.streaming.util.OneInputStreamOperatorTestHarness;
import org.apache.flink.streaming.util.TwoInputStreamOperatorTestHarness;
import org.apache.flink.util.OutputTag;
import org.apache.flink.util.TaggedUnion;

/** Drives one operator in Flink's test harness, input item by input item. */
final class Run implements AutoCloseable {

    static final OutputTag<Tuple2<String, Long>> LATE = new OutputTag<>("late") {};
    static final OutputTag<Tuple2<String, Long>> LEFT = new OutputTag<>("left") {};
    static final OutputTag<Tuple2<String, Long>> RIGHT = new OutputTag<>("right") {};

    private final AbstractStreamOperatorTestHarness<?> harness;
    private final String family;
    private final ArrayNode output = Recorder.array();
    private final Map<OutputTag<?>, Object[]> sideOutputs = new LinkedHashMap<>();
    private long elements;

    Run(AbstractStreamOperatorTestHarness<?> harness, String family) throws Exception {
        this.harness = harness;
        this.family = family;
        // what the elements of a side output begin with, after the label
        if (family.equals("join")) {
            sideOutputs.put(LEFT, new Object[] {"late", "a"});
            sideOutputs.put(RIGHT, new Object[] {"late", "b"});
        } else if (family.equals("cep")) {
            sideOutputs.put(LATE, new Object[] {"late"});
            sideOutputs.put(Patterns.TIMED_OUT, new Object[] {"timedOut"});
        } else {
            sideOutputs.put(LATE, new Object[] {"late"});
            sideOutputs.put(LEFT, new Object[] {"left"});
            sideOutputs.put(RIGHT, new Object[] {"right"});
        }
        harness.open();
    }

    ArrayNode of(JsonNode input) throws Exception {
        for (JsonNode item : input) {
            step(item);
            settle(item.get(0).asText().equals("w"));
            drain();
            if (item.get(0).asText().equals("p")) {
                output.add(item);
            }
        }
        watermark(1, Long.MAX_VALUE);
        watermark(2, Long.MAX_VALUE);
        settle(true);
        drain();
        if (!List.of("async", "cep", "watermarks").contains(family)) {
            output.add(
                    Recorder.array(
                            "timers",
                            harness.numEventTimeTimers(),
                            harness.numProcessingTimeTimers()));
        }
        return output;
    }

    @Override
    public void close() throws Exception {
        harness.close();
    }

    private void step(JsonNode item) throws Exception {
        switch (item.get(0).asText()) {
            case "p" -> {
                harness.setStateTtlProcessingTime(item.get(1).asLong());
                harness.setProcessingTime(item.get(1).asLong());
            }
            case "w" -> {
                if (family.equals("two")) {
                    watermark(item.get(1).asInt(), item.get(2).asLong());
                } else {
                    watermark(1, item.get(1).asLong());
                    watermark(2, item.get(1).asLong());
                }
            }
            default -> element(item);
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private void watermark(int input, long timestamp) throws Exception {
        Watermark watermark = new Watermark(timestamp);
        if (harness instanceof TwoInputStreamOperatorTestHarness two) {
            if (input == 1) {
                two.processWatermark1(watermark);
            } else {
                two.processWatermark2(watermark);
            }
        } else if (input == 1) {
            ((OneInputStreamOperatorTestHarness) harness).processWatermark(watermark);
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private void element(JsonNode item) throws Exception {
        int size = item.size();
        String key = item.get(size - 3).asText();
        long value = item.get(size - 2).asLong();
        boolean first = size == 4 || List.of("1", "a").contains(item.get(1).asText());
        Object element = Tuple2.of(key, value);
        if (family.toLowerCase().endsWith("rolling")) {
            element = Tuple3.of(key, value, elements++);
        }
        boolean two = harness instanceof TwoInputStreamOperatorTestHarness;
        if (family.equals("join") && !two) {
            element = first ? TaggedUnion.one(element) : TaggedUnion.two(element);
        }
        JsonNode timestamp = item.get(size - 1);
        StreamRecord record =
                timestamp.isNull()
                        ? new StreamRecord(element)
                        : new StreamRecord(element, timestamp.asLong());
        if (!two) {
            ((OneInputStreamOperatorTestHarness) harness).processElement(record);
        } else if (first) {
            ((TwoInputStreamOperatorTestHarness) harness).processElement1(record);
        } else {
            ((TwoInputStreamOperatorTestHarness) harness).processElement2(record);
        }
    }

    /** Lets requests be tried again; at a watermark, which waits for them, those that hang time out. */
    private void settle(boolean all) throws Exception {
        if (!family.equals("async")) {
            return;
        }
        long end = harness.getProcessingTime() + 10;
        while (harness.getProcessingTime() < end) {
            mails();
            harness.setProcessingTime(harness.getProcessingTime() + 1);
        }
        if (all) {
            harness.setProcessingTime(end + AsyncFunctions.TIMEOUT);
        }
        mails();
    }

    private void mails() throws Exception {
        var mailbox = harness.getTaskMailbox();
        for (var mail = mailbox.tryTake(0); mail.isPresent(); mail = mailbox.tryTake(0)) {
            mail.get().run();
        }
    }

    private void drain() {
        Queue<Object> queue = harness.getOutput();
        for (Object element = queue.poll(); element != null; element = queue.poll()) {
            if (element instanceof StreamRecord<?> record) {
                output.add(Recorder.array("r", payload(record.getValue()), timestamp(record)));
            } else if (element instanceof Watermark watermark) {
                output.add(Recorder.array("w", watermark.getTimestamp()));
            } else if (element instanceof WatermarkStatus status) {
                output.add(Recorder.array(status.isIdle() ? "idle" : "active"));
            } else {
                throw new IllegalStateException("unexpected output " + element);
            }
        }
        sideOutputs.forEach(this::drain);
    }

    private void drain(OutputTag<?> tag, Object[] label) {
        Queue<? extends StreamRecord<?>> queue = harness.getSideOutput(tag);
        while (queue != null && !queue.isEmpty()) {
            StreamRecord<?> record = queue.poll();
            List<Object> payload = new ArrayList<>(List.of(label).subList(1, label.length));
            fields((Tuple) record.getValue(), payload);
            payload.add(timestamp(record));
            output.add(Recorder.array(label[0], payload));
        }
    }

    private static Object payload(Object value) {
        if (value instanceof String text) {
            return Recorder.parsed(text);
        }
        List<Object> fields = new ArrayList<>();
        fields((Tuple) value, fields);
        return fields;
    }

    private static void fields(Tuple tuple, List<Object> into) {
        for (int i = 0; i < tuple.getArity(); i++) {
            into.add(tuple.getField(i));
        }
    }

    private static Long timestamp(StreamRecord<?> record) {
        return record.hasTimestamp() ? record.getTimestamp() : null;
    }
}
