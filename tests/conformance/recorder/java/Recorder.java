import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * Reads cases, one JSON object a line, runs each on Flink and writes it with what Flink put out, or
 * with the exception and the phase in which it came.
 */
public final class Recorder {

    private static final ObjectMapper JSON = new ObjectMapper();

    /** The longest time of a case, in ms. */
    private static final long LONGEST = 1_000;

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode testCase = (ObjectNode) JSON.readTree(line);
            if (testCase.get("family").asText().equals("cep")) {
                recordInTime(testCase);
            } else {
                recorded(testCase);
            }
            out.println(JSON.writeValueAsString(testCase));
        }
        // The shared buffer of a pattern that fails leaves a thread behind
        System.exit(0);
    }

    /** Some patterns keep Flink busy for ever, or make more matches than there is room for. */
    @SuppressWarnings({"deprecation", "removal"})
    private static void recordInTime(ObjectNode testCase) throws InterruptedException {
        Thread thread = new Thread(() -> recorded(testCase));
        thread.start();
        thread.join(LONGEST);
        if (thread.isAlive()) {
            thread.stop();
            thread.join();
        }
    }

    private static void recorded(ObjectNode testCase) {
        String phase = "build";
        try (Run run = Jobs.of(testCase)) {
            phase = "run";
            testCase.set("output", run.of(testCase.get("input")));
        } catch (Throwable failure) {
            Throwable cause = failure;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            testCase.put("phase", phase);
            testCase.put("exception", cause.getClass().getName());
            testCase.put("message", String.valueOf(cause.getMessage()));
        }
    }

    /** A JSON array of values that may be arrays, lists, tuples, text, numbers and null. */
    static ArrayNode array(Object... values) {
        return JSON.valueToTree(values);
    }

    /** The array as text: what the functions emit, so that Flink copies nothing but strings. */
    static String text(Object... values) {
        return array(values).toString();
    }

    static JsonNode parsed(String text) {
        try {
            return JSON.readTree(text);
        } catch (Exception failure) {
            throw new IllegalArgumentException(text, failure);
        }
    }

    private Recorder() {}
}
