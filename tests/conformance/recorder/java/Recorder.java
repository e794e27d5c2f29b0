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

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(JSON.writeValueAsString(recorded((ObjectNode) JSON.readTree(line))));
        }
    }

    private static ObjectNode recorded(ObjectNode testCase) {
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
        return testCase;
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
