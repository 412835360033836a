import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;

import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.common.utils.Time;

/**
 * Runs Kafka nodes, one for each properties file given, in this one JVM.
 *
 * <p>Standard input takes `start ID`, `stop ID` (a clean stop) and `exit` (stop all, then end);
 * standard output answers `started ID`, `stopped ID` or `failed ID reason`. When standard input
 * ends, whoever started this JVM is gone, and it ends at once. SIGTERM is a clean stop of all.
 */
public final class Nodes {
    private final Map<Integer, Properties> configured = new ConcurrentHashMap<>();
    private final Map<Integer, KafkaRaftServer> running = new ConcurrentHashMap<>();

    public static void main(String[] files) throws IOException {
        Nodes nodes = new Nodes();
        for (String file : files) {
            nodes.add(Path.of(file));
        }
        Runtime.getRuntime().addShutdownHook(new Thread(nodes::stopAll, "stop-all"));
        nodes.configured.keySet().forEach(id -> nodes.inBackground(id, nodes::start));
        nodes.obey(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)));
        Runtime.getRuntime().halt(0);
    }

    private void add(Path file) throws IOException {
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
            properties.load(reader);
        }
        configured.put(Integer.parseInt(properties.getProperty("node.id")), properties);
    }

    private void obey(BufferedReader commands) throws IOException {
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.trim().split(" ");
            switch (words[0]) {
                case "start" -> inBackground(Integer.parseInt(words[1]), this::start);
                case "stop" -> inBackground(Integer.parseInt(words[1]), this::stop);
                case "exit" -> System.exit(0);
                default -> throw new IllegalArgumentException("unknown command: " + line);
            }
        }
    }

    private void inBackground(int id, java.util.function.IntConsumer action) {
        Thread thread = new Thread(() -> attempt(id, action), "node-" + id);
        thread.setDaemon(true);
        thread.start();
    }

    private static void attempt(int id, java.util.function.IntConsumer action) {
        try {
            action.accept(id);
        } catch (Throwable failure) {
            failure.printStackTrace();
            answer("failed " + id + " " + failure.toString().replace('\n', ' '));
        }
    }

    private void start(int id) {
        KafkaConfig config = KafkaConfig.fromProps(configured.get(id), false);
        KafkaRaftServer server = new KafkaRaftServer(config, Time.SYSTEM);
        running.put(id, server);
        server.startup();
        answer("started " + id);
    }

    private void stop(int id) {
        KafkaRaftServer server = running.remove(id);
        server.shutdown();
        server.awaitShutdown();
        answer("stopped " + id);
    }

    private void stopAll() {
        running.values().parallelStream().forEach(KafkaRaftServer::shutdown);
    }

    private static synchronized void answer(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
