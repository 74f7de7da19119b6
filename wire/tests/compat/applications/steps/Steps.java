import java.sql.SQLException;
import java.util.concurrent.Callable;

/** Tells what each step of a program came to, as tools.py reads it. */
final class Steps {
    private Steps() {}

    interface Body {
        Object run() throws Exception;
    }

    /** Runs a step; what it returns is its answer. True if it passed. */
    static boolean step(String name, Body body) {
        try {
            tell(name, "passed", String.valueOf(body.run()));
            return true;
        } catch (Exception | LinkageError error) {
            tell(name, "failed", said(error));
            return false;
        }
    }

    static void must(boolean condition, String what) {
        if (!condition) throw new IllegalStateException("not so: " + what);
    }

    /** The SQLSTATE with which an operation is refused. */
    static String refused(Callable<?> operation) {
        try {
            operation.call();
        } catch (Exception error) {
            SQLException refusal = refusal(error);
            if (refusal != null) return refusal.getSQLState();
            throw new IllegalStateException(said(error), error);
        }
        throw new IllegalStateException("not so: it was not refused");
    }

    private static SQLException refusal(Throwable error) {
        for (; error != null; error = error.getCause()) if (error instanceof SQLException found) return found;
        return null;
    }

    private static String said(Throwable error) {
        SQLException refusal = refusal(error);
        if (refusal != null) return refusal.getSQLState() + " | " + refusal.getMessage();
        Throwable last = error;
        while (last.getCause() != null) last = last.getCause();
        return last.getClass().getSimpleName() + ": " + last.getMessage();
    }

    private static void tell(String step, String outcome, String message) {
        System.out.println("{\"step\": " + quoted(step) + ", \"outcome\": " + quoted(outcome) + ", \"message\": " + quoted(message) + "}");
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        text.chars().forEach(c -> quoted.append(c < ' ' ? String.format("\\u%04x", c) : c == '"' || c == '\\' ? "\\" + (char) c : String.valueOf((char) c)));
        return quoted.append('"').toString();
    }
}
