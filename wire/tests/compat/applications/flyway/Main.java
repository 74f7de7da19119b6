import java.sql.DriverManager;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.MigrationInfo;
import org.flywaydb.core.api.configuration.FluentConfiguration;
import org.flywaydb.database.postgresql.PostgreSQLConfigurationExtension;

/** What a program with Flyway does from its first start on: migrate, info, validate, repair, baseline, clean. */
public class Main {
    static final String URL = System.getenv("JDBC_URL");

    static Flyway flyway(String missing, String... locations) {
        FluentConfiguration configuration = Flyway.configure().dataSource(URL, null, null).cleanDisabled(false).defaultSchema("app").schemas("app", "more")
            .placeholders(Map.of("schema", "app", "missing", missing));
        // Else its own lock is a transaction, for which CREATE INDEX CONCURRENTLY waits.
        configuration.getConfigurationExtension(PostgreSQLConfigurationExtension.class).setTransactionalLock(false);
        return configuration.locations(Arrays.stream(locations).map(location -> "filesystem:" + location).toArray(String[]::new)).load();
    }

    static List<String> info(Flyway flyway) {
        return Arrays.stream(flyway.info().all()).map((MigrationInfo one) -> one.getVersion() + " " + one.getDescription() + " " + one.getState()).toList();
    }

    static List<String> rows(String query) throws Exception {
        try (var connection = DriverManager.getConnection(URL); var rows = connection.createStatement().executeQuery(query)) {
            List<String> found = new ArrayList<>();
            while (rows.next()) found.add(rows.getString(1));
            return found;
        }
    }

    /** Two programs start at once: each waits for the other's lock. */
    static Object atOnce() throws Exception {
        var started = new ArrayList<Thread>();
        var failed = new ArrayList<String>();
        for (int i = 0; i < 3; i++) started.add(new Thread(() -> {
            try {
                flyway("people", "first").migrate();
            } catch (RuntimeException error) {
                failed.add(error.getMessage());
            }
        }));
        for (Thread one : started) one.start();
        for (Thread one : started) one.join();
        return failed;
    }

    public static void main(String[] arguments) {
        Flyway first = flyway("people", "first"), second = flyway("nothing", "first", "second"), mended = flyway("people", "first", "second");
        Steps.step("info before", () -> info(first));
        Steps.step("migrate", () -> first.migrate().migrationsExecuted);
        Steps.step("migrate again", () -> first.migrate().migrationsExecuted);
        Steps.step("validate", () -> first.validateWithResult().validationSuccessful);
        Steps.step("a migration fails", () -> Steps.refused(second::migrate));
        Steps.step("nothing of it is left", () -> rows("SELECT count(*) FROM information_schema.tables WHERE table_name = 'half'"));
        Steps.step("info after", () -> info(mended));
        Steps.step("repair", () -> second.repair().repairActions);
        Steps.step("migrate after that", () -> mended.migrate().migrationsExecuted);
        Steps.step("what is recorded", () -> rows("SELECT concat_ws(' ', installed_rank, version, description, type, script, checksum, success) FROM app.flyway_schema_history ORDER BY installed_rank"));
        Steps.step("rows", () -> List.of(rows("SELECT name || ' ' || coalesce(city, '') FROM app.people ORDER BY id"), rows("SELECT name FROM app.cities ORDER BY 1"), rows("SELECT name FROM app.names ORDER BY 1")));
        Steps.step("clean", () -> {
            mended.clean();
            return rows("SELECT count(*) FROM information_schema.tables WHERE table_schema IN ('app', 'more')");
        });
        Steps.step("three at once", Main::atOnce);
        Steps.step("a baseline", () -> {
            first.clean();
            Flyway baselined = Flyway.configure().configuration(first.getConfiguration()).baselineVersion("1.1").load();
            baselined.baseline();
            return info(baselined);
        });
    }
}
