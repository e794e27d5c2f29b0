import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.file.src.reader.SimpleStreamFormat;
import org.apache.flink.core.fs.FSDataInputStream;

/**
 * CSV without quotes as tuples, parsed from bytes. {@code types} has a letter for each column: s for a text,
 * l for a long. Flink's own format for CSV goes through Jackson and takes several times as long.
 */
public class CsvFormat<T extends Tuple> extends SimpleStreamFormat<T> {

    /** When the first record of a run was about to be read. */
    static final AtomicLong FIRST = new AtomicLong();

    private final String types;

    CsvFormat(String types) {
        this.types = types;
    }

    @Override
    public Reader<T> createReader(Configuration configuration, FSDataInputStream stream) {
        FIRST.compareAndSet(0, System.nanoTime());
        return new CsvReader<>(types, stream);
    }

    @Override
    public TypeInformation<T> getProducedType() {
        TypeInformation<?>[] fields = new TypeInformation<?>[types.length()];
        for (int i = 0; i < fields.length; i++) {
            fields[i] = types.charAt(i) == 's' ? Types.STRING : Types.LONG;
        }
        return Types.TUPLE(fields);
    }

    private static class CsvReader<T extends Tuple> implements Reader<T> {
        private final String types;
        private final FSDataInputStream stream;
        private byte[] buffer = new byte[1 << 16];
        private int position;
        private int end;

        CsvReader(String types, FSDataInputStream stream) {
            this.types = types;
            this.stream = stream;
        }

        @Override
        @SuppressWarnings("unchecked")
        public T read() throws IOException {
            int length = lineLength();
            if (length < 0) {
                return null;
            }
            Tuple tuple = Tuple.newInstance(types.length());
            int at = position;
            for (int i = 0; i < types.length(); i++) {
                int start = at;
                if (types.charAt(i) == 's') {
                    while (buffer[at] != ',' && buffer[at] != '\n') {
                        at++;
                    }
                    tuple.setField(new String(buffer, start, at - start, java.nio.charset.StandardCharsets.UTF_8), i);
                } else {
                    boolean negative = buffer[at] == '-';
                    long value = 0;
                    for (at += negative ? 1 : 0; buffer[at] != ',' && buffer[at] != '\n'; at++) {
                        value = value * 10 + buffer[at] - '0';
                    }
                    tuple.setField(negative ? -value : value, i);
                }
                at++;
            }
            position += length;
            return (T) tuple;
        }

        /** The length of the next line, all of which is then in the buffer; -1 at the end. */
        private int lineLength() throws IOException {
            int at = position;
            while (true) {
                for (; at < end; at++) {
                    if (buffer[at] == '\n') {
                        return at + 1 - position;
                    }
                }
                int rest = end - position;
                if (rest == buffer.length) {
                    buffer = java.util.Arrays.copyOf(buffer, 2 * rest);
                } else {
                    System.arraycopy(buffer, position, buffer, 0, rest);
                }
                at = rest;
                position = 0;
                end = rest;
                int read = stream.read(buffer, rest, buffer.length - rest);
                if (read <= 0) {
                    return -1; // Flink asks once more behind the end
                }
                end += read;
            }
        }

        @Override
        public void close() throws IOException {
            stream.close();
        }
    }
}
