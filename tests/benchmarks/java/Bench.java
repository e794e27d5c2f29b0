import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.Encoder;
import org.apache.flink.api.java.tuple.Tuple;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.FileSourceSplit;
import org.apache.flink.connector.file.src.assigners.FileSplitAssigner;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.filesystem.bucketassigners.BasePathBucketAssigner;

/**
 * Runs one job in this JVM for each line that it reads, and prints a line of JSON for each run.
 *
 * <p>Arguments: job, output directory, and {@code name=directory} for each input. A line is {@code plain} or
 * {@code checkpointed}, and the results of its run are below the directory of that name.
 * The time is from when the first record is read until the last result is written, so that neither the start of the
 * cluster nor its end counts.
 */
public final class Bench {

    static final int PARALLELISM = 2;

    /** When the last result of a run was written. */
    static volatile long last;

    private final StreamExecutionEnvironment env;
    private final Map<String, String> inputs;

    private Bench(StreamExecutionEnvironment env, Map<String, String> inputs) {
        this.env = env;
        this.inputs = inputs;
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, String> inputs = new TreeMap<>();
        for (int i = 2; i < arguments.length; i++) {
            String[] input = arguments[i].split("=", 2);
            inputs.put(input[0], input[1]);
        }
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
        for (String kind = asked.readLine(); kind != null; kind = asked.readLine()) {
            String output = arguments[1] + "/" + kind;
            double seconds = run(arguments[0], output, inputs, kind.equals("checkpointed"));
            System.out.printf("{\"seconds\": %.4f}%n", seconds);
            System.out.flush();
        }
    }

    private static double run(String job, String output, Map<String, String> inputs, boolean checkpoints)
            throws Exception {
        delete(Path.of(output));
        Configuration configuration = new Configuration();
        configuration.set(StateBackendOptions.STATE_BACKEND, "hashmap");
        if (checkpoints) {
            configuration.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofSeconds(1));
            configuration.set(CheckpointingOptions.CHECKPOINT_STORAGE, "filesystem");
            // A directory for each run, as Flink goes on removing old checkpoints after the job's end
            Path directory = Files.createTempDirectory(Files.createDirectories(Path.of(output).getParent()), "checkpoints");
            configuration.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, directory.toUri().toString());
        }
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.createLocalEnvironment(PARALLELISM, configuration);
        env.getConfig().enableObjectReuse();
        Bench bench = new Bench(env, inputs);
        DataStream<String> results = job.startsWith("q") ? Nexmark.build(job, bench) : Jobs.build(job, bench);
        org.apache.flink.core.fs.Path path = new org.apache.flink.core.fs.Path(new File(output, "results").toURI());
        results.sinkTo(
                FileSink.forRowFormat(path, new Lines()).withBucketAssigner(new BasePathBucketAssigner<>()).build());
        CsvFormat.FIRST.set(0);
        env.execute(job);
        return (last - CsvFormat.FIRST.get()) / 1e9;
    }

    /** The elements of an input, each with its timestamp, at most {@code lateness} ms out of order. */
    <T extends Tuple> DataStream<T> read(String name, String types, WatermarkStrategy<T> strategy) {
        FileSource<T> source = FileSource.forRecordStreamFormat(
                        new CsvFormat<T>(types), new org.apache.flink.core.fs.Path(new File(inputs.get(name)).toURI()))
                .setSplitAssigner(InOrder::new)
                .build();
        return env.fromSource(source, strategy, name);
    }

    private static void delete(Path directory) throws IOException {
        if (Files.exists(directory)) {
            try (Stream<Path> paths = Files.walk(directory)) {
                for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(path);
                }
            }
        }
    }

    /** Hands out files by name, so that no element is late. */
    private static class InOrder implements FileSplitAssigner {
        private final ArrayDeque<FileSourceSplit> splits = new ArrayDeque<>();

        InOrder(Collection<FileSourceSplit> splits) {
            addSplits(splits);
        }

        @Override
        public Optional<FileSourceSplit> getNext(String hostname) {
            return Optional.ofNullable(splits.poll());
        }

        @Override
        public void addSplits(Collection<FileSourceSplit> added) {
            List<FileSourceSplit> all = new ArrayList<>(splits);
            all.addAll(added);
            all.sort(Comparator.comparing(split -> split.path().getName()));
            splits.clear();
            splits.addAll(all);
        }

        @Override
        public Collection<FileSourceSplit> remainingSplits() {
            return splits;
        }
    }

    private static class Lines implements Encoder<String> {
        @Override
        public void encode(String line, OutputStream stream) throws IOException {
            stream.write(line.getBytes(StandardCharsets.UTF_8));
            stream.write('\n');
            last = System.nanoTime();
        }
    }
}
