import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.stream.Stream;

import org.apache.kafka.common.utils.Exit;

/**
 * Runs the mains of Kafka's command lines, one after the other, in this one JVM.
 *
 * <p>Standard input takes a line for each: the class and its arguments, form-encoded, with a space in between.
 * Standard output answers `exited CODE OUT ERR`, with what the main printed, form-encoded too. When standard input
 * ends, so does this JVM.
 */
public final class Tools {
    private static final PrintStream NOWHERE = new PrintStream(OutputStream.nullOutputStream());

    /** Thrown where a main would have ended the JVM. */
    private static final class Exited extends RuntimeException {
        Exited() {
            super("exited", null, false, false);
        }
    }

    /** The code of the first exit of the main that runs; what it does after that is not seen. */
    private Integer code;

    public static void main(String[] none) throws IOException {
        PrintStream answers = System.out;
        Tools tools = new Tools();
        Exit.setExitProcedure(tools::exit);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = Stream.of(line.split(" ", -1))
                .map(word -> URLDecoder.decode(word, StandardCharsets.UTF_8))
                .toArray(String[]::new);
            answers.println(tools.answer(words));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private void exit(int wanted, String message) {
        if (code == null) {
            code = wanted;
            if (message != null) {
                System.err.println(message);
            }
            print(NOWHERE, NOWHERE);
        }
        throw new Exited();
    }

    private String answer(String[] words) {
        PrintStream out = System.out;
        PrintStream err = System.err;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        ByteArrayOutputStream complained = new ByteArrayOutputStream();
        code = null;
        print(stream(printed), stream(complained));
        try {
            Class.forName(words[0])
                .getMethod("main", String[].class)
                .invoke(null, (Object) Arrays.copyOfRange(words, 1, words.length));
        } catch (ReflectiveOperationException failure) {
            failure.printStackTrace();
            code = code == null ? Integer.valueOf(1) : code;
        } finally {
            print(out, err);
        }
        return "exited " + (code == null ? 0 : code) + " " + encoded(printed) + " " + encoded(complained);
    }

    private static void print(PrintStream out, PrintStream err) {
        System.setOut(out);
        System.setErr(err);
    }

    private static PrintStream stream(ByteArrayOutputStream text) {
        return new PrintStream(text, true, StandardCharsets.UTF_8);
    }

    private static String encoded(ByteArrayOutputStream text) {
        return URLEncoder.encode(text.toString(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
    }
}
