import java.io.ByteArrayOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import liquibase.Scope;
import liquibase.command.CommandScope;
import liquibase.resource.DirectoryResourceAccessor;

/** Liquibase's own commands, as its command line gives them: update, status, snapshot, diff, rollback, drop. */
public class Main {
    static final String URL = System.getenv("JDBC_URL");

    /** Runs a command, and gives what it wrote. */
    static String command(String name, Map<String, Object> arguments) throws Exception {
        var output = new ByteArrayOutputStream();
        var command = new CommandScope(name).setOutput(output).addArgumentValue("url", URL);
        for (var argument : arguments.entrySet()) command.addArgumentValue(argument.getKey(), argument.getValue());
        command.execute();
        return output.toString();
    }

    static String changed(String name, String log) throws Exception {
        return command(name, Map.of("changelogFile", log));
    }

    static List<String> rows(String query) throws Exception {
        try (var connection = DriverManager.getConnection(URL); var rows = connection.createStatement().executeQuery(query)) {
            List<String> found = new ArrayList<>();
            while (rows.next()) found.add(rows.getString(1));
            return found;
        }
    }

    static List<String> recorded() throws Exception {
        return rows("SELECT concat_ws(' ', id, author, filename, orderexecuted, exectype, md5sum, description) FROM databasechangelog ORDER BY orderexecuted");
    }

    /** A snapshot without what differs from run to run. */
    static String snapshot() throws Exception {
        return command("snapshot", Map.of("snapshotFormat", "yaml")).replaceAll("(?m)^.*(snapshotId|created|[uU]rl|\\w*Version|user|connection|catalog|[Cc]atalogName|name: app_).*$\n", "").replaceAll("#\\w+", "#");
    }

    /** The statements of a script, without its comments: their order is that of the catalog. */
    static String sorted(String script) {
        return Arrays.stream(script.replaceAll("(?m)^--.*$\n", "").split(";\n")).map(String::strip).sorted().collect(Collectors.joining("\n"));
    }

    static void first() {
        Steps.step("status before", () -> changed("status", "first.yaml").contains("2 changesets have not been applied"));
        Steps.step("SQL of the update", () -> changed("updateSql", "first.yaml").replaceAll("(?m)^--.*$\n|'[0-9]{10}'|SET LOCKED.*|INSERT INTO.*", ""));
        Steps.step("update", () -> { changed("update", "first.yaml"); return recorded(); });
        Steps.step("update again", () -> { changed("update", "first.yaml"); return recorded().size(); });
        Steps.step("rows", () -> rows("SELECT name || height || living || (code IS NOT NULL) FROM people"));
        Steps.step("snapshot", Main::snapshot);
        Steps.step("a changelog of what is there", () -> command("generateChangelog", Map.of("changelogFile", "made.postgresql.sql", "overwriteOutputFile", true)).isEmpty()
            ? sorted(Files.readString(Path.of("made.postgresql.sql"))) : "");
        Steps.step("no difference from itself", () -> command("diff", Map.of("referenceUrl", URL)).replaceAll("(?m)^.*(jdbc:|Version).*$\n", ""));
    }

    static void second() {
        Steps.step("tag", () -> { command("tag", Map.of("tag", "one")); return rows("SELECT tag FROM databasechangelog WHERE tag IS NOT NULL"); });
        Steps.step("update to the second", () -> { changed("update", "second.yaml"); return recorded(); });
        Steps.step("changed columns", () -> rows("SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default) FROM information_schema.columns WHERE table_name IN ('people', 'volumes') ORDER BY table_name, ordinal_position"));
        Steps.step("rollback to the tag", () -> { command("rollback", Map.of("changelogFile", "second.yaml", "tag", "one")); return recorded().size(); });
        Steps.step("rollback of two more", () -> { command("rollbackCount", Map.of("changelogFile", "second.yaml", "count", 2)); return recorded(); });
        Steps.step("up, down and up", () -> { changed("updateTestingRollback", "first.yaml"); return recorded().size(); });
        Steps.step("all up", () -> { changed("update", "second.yaml"); return recorded().size(); });
        Steps.step("validate", () -> changed("validate", "second.yaml"));
        Steps.step("history", () -> command("history", Map.of()).lines().filter(line -> line.contains("::")).map(String::strip).toList());
        Steps.step("locks", () -> { command("listLocks", Map.of()); command("releaseLocks", Map.of()); return rows("SELECT locked FROM databasechangeloglock"); });
        Steps.step("drop all", () -> { command("dropAll", Map.of("force", true)); return rows("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"); });
        Steps.step("all up from nothing", () -> { changed("update", "second.yaml"); return recorded().size(); });
    }

    public static void main(String[] arguments) throws Exception {
        Logger.getLogger("").setLevel(Level.SEVERE);
        Scope.child(Map.of("resourceAccessor", new DirectoryResourceAccessor(Path.of("."))), () -> {
            first();
            second();
        });
    }
}
