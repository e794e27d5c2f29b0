import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.apache.flink.api.common.JobExecutionResult;
import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFilterFunction;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.formats.json.JsonDeserializationSchema;
import org.apache.flink.formats.json.JsonSerializationSchema;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/**
 * The jobs of the benchmark on Flink: runs one for each line that it reads, {@code job topic output}, and prints a line of
 * JSON when it has ended: with how many elements it has read, or -1.
 *
 * <p>Argument: the servers. The cluster is started once, so that its start does not count, as that of Spark's session does
 * not.
 */
public final class FlinkKafka {

    static final int PARALLELISM = 2;

    private final String servers;
    private final String topic;
    private final String output;
    private final StreamExecutionEnvironment env;

    private FlinkKafka(String servers, String topic, String output, Path checkpoints) {
        this.servers = servers;
        this.topic = topic;
        this.output = output;
        Configuration configuration = new Configuration();
        configuration.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofSeconds(1));
        configuration.set(CheckpointingOptions.CHECKPOINT_STORAGE, "filesystem");
        configuration.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, checkpoints.toUri().toString());
        env = StreamExecutionEnvironment.getExecutionEnvironment(configuration);
        env.setParallelism(PARALLELISM);
        env.getConfig().enableObjectReuse();
    }

    public static void main(String[] arguments) throws Exception {
        Configuration configuration = new Configuration();
        configuration.set(RestOptions.BIND_PORT, "0");
        MiniClusterConfiguration size = new MiniClusterConfiguration.Builder()
                .setConfiguration(configuration)
                .setNumTaskManagers(1)
                .setNumSlotsPerTaskManager(PARALLELISM)
                .build();
        try (MiniCluster cluster = new MiniCluster(size)) {
            cluster.start();
            BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
            for (String line = asked.readLine(); line != null; line = asked.readLine()) {
                String[] words = line.split(" ");
                Path checkpoints = Files.createTempDirectory("flink-checkpoints");
                FlinkKafka job = new FlinkKafka(arguments[0], words[1], words[2], checkpoints);
                job.build(words[0]);
                JobExecutionResult result = cluster.executeJobBlocking(job.env.getStreamGraph().getJobGraph());
                Long read = result.getAccumulatorResult("read");
                System.out.printf("{\"read\": %d}%n", read == null ? -1 : read);
                System.out.flush();
            }
        }
    }

    private void build(String job) {
        switch (job) {
            case "read" -> sales().filter(new Kept()).sinkTo(new DiscardingSink<>());
            case "windows" -> sums(DeliveryGuarantee.AT_LEAST_ONCE);
            case "windows_once" -> sums(DeliveryGuarantee.EXACTLY_ONCE);
            case "pass" -> sales().map(FlinkKafka::raised).sinkTo(sink(DeliveryGuarantee.AT_LEAST_ONCE));
            default -> throw new IllegalArgumentException(job);
        }
    }

    private static Sale raised(Sale sale) {
        sale.amount += 1;
        return sale;
    }

    private void sums(DeliveryGuarantee guarantee) {
        sales().keyBy(sale -> sale.user)
                .window(TumblingEventTimeWindows.of(Duration.ofSeconds(10)))
                .aggregate(new Total(), new WithEnd())
                .sinkTo(sink(guarantee));
    }

    private DataStream<Sale> sales() {
        KafkaSource<Sale> source = KafkaSource.<Sale>builder()
                .setBootstrapServers(servers)
                .setTopics(topic)
                .setStartingOffsets(OffsetsInitializer.earliest())
                .setBounded(OffsetsInitializer.latest())
                .setValueOnlyDeserializer(new JsonDeserializationSchema<>(Sale.class))
                .build();
        return env.fromSource(source, WatermarkStrategy.forMonotonousTimestamps(), "sales");
    }

    private <T> KafkaSink<T> sink(DeliveryGuarantee guarantee) {
        return KafkaSink.<T>builder()
                .setBootstrapServers(servers)
                .setRecordSerializer(KafkaRecordSerializationSchema.<T>builder()
                        .setTopic(output)
                        .setValueSerializationSchema(new JsonSerializationSchema<T>())
                        .build())
                .setDeliveryGuarantee(guarantee)
                .setTransactionalIdPrefix(output)
                // Brokers allow no more than fifteen minutes
                .setProperty("transaction.timeout.ms", "300000")
                .build();
    }

    /** An element. */
    public static class Sale {
        public String user;
        public long amount;
    }

    /** A result. */
    public static class Sum {
        public String user;
        public long amount;
        public long end;
    }

    /** Keeps none, and counts them. */
    private static class Kept extends RichFilterFunction<Sale> {
        private final LongCounter read = new LongCounter();

        @Override
        public void open(OpenContext context) {
            getRuntimeContext().addAccumulator("read", read);
        }

        @Override
        public boolean filter(Sale sale) throws IOException {
            read.add(1);
            return sale.amount < 0 || sale.user.isEmpty();
        }
    }

    /** The sum of the amounts. */
    private static class Total implements AggregateFunction<Sale, Long, Long> {
        @Override
        public Long createAccumulator() {
            return 0L;
        }

        @Override
        public Long add(Sale sale, Long accumulator) {
            return accumulator + sale.amount;
        }

        @Override
        public Long getResult(Long accumulator) {
            return accumulator;
        }

        @Override
        public Long merge(Long a, Long b) {
            return a + b;
        }
    }

    /** Adds the user and the end of the window to a sum. */
    private static class WithEnd extends ProcessWindowFunction<Long, Sum, String, TimeWindow> {
        @Override
        public void process(String user, Context context, Iterable<Long> totals, Collector<Sum> out) {
            for (Long total : totals) {
                Sum sum = new Sum();
                sum.user = user;
                sum.amount = total;
                sum.end = context.window().getEnd();
                out.collect(sum);
            }
        }
    }
}
