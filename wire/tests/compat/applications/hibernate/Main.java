import jakarta.persistence.LockModeType;
import jakarta.persistence.PersistenceException;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.hibernate.LockMode;
import org.hibernate.ScrollMode;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;
import org.hibernate.query.SelectionQuery;

/** hbm2ddl at one start after another, then entities, queries, transactions and locks. */
public class Main {
    static final Logger STATEMENTS = Logger.getLogger("org.hibernate.SQL");
    static final List<String> SAID = new ArrayList<>();

    /** A start of the program, and what it sent to change the schema. */
    static SessionFactory start(String action, List<Class<?>> entities) {
        SAID.clear();
        Configuration configuration = new Configuration();
        entities.forEach(configuration::addAnnotatedClass);
        return configuration.setProperty("hibernate.connection.url", System.getenv("JDBC_URL")).setProperty("hibernate.hbm2ddl.auto", action)
            .setProperty("hibernate.hbm2ddl.create_namespaces", "true")
            .setProperty("hibernate.hbm2ddl.halt_on_error", String.valueOf(action.equals("update"))).setProperty("hibernate.query.hql.json_functions_enabled", "true").buildSessionFactory();
    }

    static List<String> changes(String action) {
        start(action, Model.ENTITIES).close();
        return SAID.stream().sorted().toList();
    }

    static Model.Author author(Session session, String name) {
        return session.createSelectionQuery("from Author where name = :name", Model.Author.class).setParameter("name", name).getSingleResult();
    }

    static void listen() {
        Logger.getLogger("").setLevel(Level.SEVERE);
        STATEMENTS.setLevel(Level.FINE);
        STATEMENTS.setUseParentHandlers(false);
        STATEMENTS.addHandler(new Handler() {
            @Override public void publish(LogRecord record) {
                if (record.getMessage().matches("(?s)(create|alter|drop|comment|set client).*")) SAID.add(record.getMessage());
            }
            @Override public void flush() {}
            @Override public void close() {}
        });
    }

    static void starts() {
        Steps.step("update", () -> String.join("\n", changes("update")));
        Steps.step("update again", () -> {
            List<String> left = changes("update");
            Steps.must(left.isEmpty(), "nothing to do: " + left);
            return left;
        });
        Steps.step("validate", () -> changes("validate"));
        Steps.step("create-drop", () -> changes("create-drop").size());
        Steps.step("create", () -> changes("create").size());
        Steps.step("validate after that", () -> changes("validate"));
    }

    static void write(SessionFactory factory) {
        Steps.step("persist", () -> factory.fromTransaction(session -> {
            var subject = new Model.Subject("sea");
            session.persist(subject);
            var ann = new Model.Author();
            ann.name = "Ann";
            ann.email = "ann@example.com";
            ann.age = 30;
            ann.role = Model.Role.WRITER;
            ann.settings = Map.of("theme", "dark", "sizes", List.of(1, 2));
            ann.tags = List.of("a", "b");
            ann.numbers = new int[] {1, 2, 3};
            ann.born = LocalDate.of(1990, 1, 2);
            ann.since = Instant.parse("2020-02-03T04:05:06.789Z");
            ann.online = Duration.ofSeconds(93784, 5_000_000);
            ann.picture = new byte[] {1, 0, -1};
            ann.address = new Model.Address("Road 1", "0150");
            ann.phones.put("home", "123");
            for (String title : List.of("One", "Three", "hidden")) {
                var book = new Model.Book();
                book.title = title;
                book.price = new BigDecimal("12.50");
                book.author = ann;
                book.subjects = Set.of(subject);
                ann.books.add(book);
            }
            session.persist(ann);
            session.flush();
            return List.of(ann.books.get(0).letters, ann.books.get(0).id, ann.version);
        }));
        Steps.step("joined, single table, soft deletion", () -> factory.fromTransaction(session -> {
            var atlas = new Model.Atlas();
            atlas.label = "world";
            atlas.scale = 0.5;
            session.persist(atlas);
            var card = new Model.Card();
            card.number = "42";
            session.persist(card);
            session.flush();
            session.remove(atlas);
            session.flush();
            return List.of(session.createSelectionQuery("from Item", Model.Item.class).list().size(), session.createSelectionQuery("from Payment", Model.Payment.class).list().size());
        }));
        Steps.step("many in batches", () -> factory.fromTransaction(session -> {
            session.setJdbcBatchSize(50);
            for (int i = 0; i < 120; i++) {
                var author = new Model.Author();
                author.name = "author " + i;
                author.age = i;
                session.persist(author);
            }
            session.flush();
            return session.createSelectionQuery("select count(*) from Author", Long.class).getSingleResult();
        }));
        Steps.step("a check refuses", () -> Steps.refused(() -> factory.fromTransaction(session -> session.createMutationQuery("update Author set age = -1").executeUpdate())));
        Steps.step("a key refuses", () -> Steps.refused(() -> factory.fromTransaction(session -> session.createMutationQuery("update Author set email = 'ann@example.com'").executeUpdate())));
    }

    static void read(SessionFactory factory) {
        Steps.step("load", () -> factory.fromSession(session -> {
            var ann = author(session, "Ann");
            return List.of(ann.role, new TreeMap<>(ann.settings), List.copyOf(ann.tags), ann.numbers.length, ann.born, ann.since, ann.online, ann.picture.length, ann.address, ann.phones, ann.shout, ann.books.stream().map(book -> book.title).toList()).toString();
        }));
        for (String query : List.of(
            "select a.name, count(b), sum(b.price) from Author a join a.books b where b.title like '%e%' group by a.name having count(b) > 0",
            "select b.title, row_number() over (order by b.title desc) from Book b order by b.title",
            "select a.name from Author a where a.born = (select max(o.born) from Author o) and exists (select 1 from Book b where b.author = a)",
            "select b.title from Book b join b.subjects s where s.code = 'sea' order by b.title nulls last limit 1 offset 1",
            "select array_contains(a.tags, 'a'), array_length(a.numbers), array_to_string(a.tags, '+') from Author a where a.name = 'Ann'",
            "select a.name from Author a where a.name ilike 'AN%' and year(a.born) = 1990 and a.since < current_timestamp",
            "with counted as (select a.role role, count(*) many from Author a group by a.role) select c.role, c.many from counted c order by c.role",
            "select 'a' from Author a where a.name = 'Ann' union all select b.title from Book b order by 1",
            "select key(p), value(p) from Author a join a.phones p",
            "select cast(a.age as String) || '!' , a.age / 7, extract(month from a.born) from Author a where a.name = 'Ann'",
            "select json_value(a.settings, '$.theme') from Author a where a.name = 'Ann'",
            "select listagg(b.title, ', ') within group (order by b.title) from Book b"))
            Steps.step("query: " + query, () -> factory.fromSession(session -> session.createSelectionQuery(query, Object[].class).list().stream().map(Arrays::toString).toList()));
        Steps.step("scrolling", () -> factory.fromTransaction(session -> {
            SelectionQuery<String> query = session.createSelectionQuery("select a.name from Author a order by a.age, a.name", String.class).setFetchSize(10);
            try (var rows = query.scroll(ScrollMode.FORWARD_ONLY)) {
                int seen = 0;
                while (rows.next()) seen++;
                return seen;
            }
        }));
    }

    static void transactions(SessionFactory factory) {
        Steps.step("an update in one of two sessions", () -> factory.fromSession(stale -> {
            var old = author(stale, "Ann");
            factory.inTransaction(session -> author(session, "Ann").age = 31);
            stale.beginTransaction();
            old.age = 99;
            try {
                stale.getTransaction().commit();
            } catch (PersistenceException error) {
                return "refused";
            }
            return "not refused";
        }));
        Steps.step("pessimistic locks", () -> factory.fromTransaction(session -> {
            session.lock(author(session, "Ann"), LockModeType.PESSIMISTIC_WRITE);
            return factory.fromTransaction(other -> other.createSelectionQuery("from Author where name = 'Ann'", Model.Author.class)
                .setHibernateLockMode(LockMode.UPGRADE_SKIPLOCKED).list().size());
        }));
        Steps.step("HQL changes", () -> factory.fromTransaction(session -> List.of(
            session.createMutationQuery("update Author a set a.age = a.age + 1, a.role = WRITER where a.age between 10 and 19").executeUpdate(),
            session.createMutationQuery("insert into Subject (code) select a.name from Author a where a.age < 3").executeUpdate(),
            session.createMutationQuery("insert into Subject (code) values ('sea') on conflict (code) do nothing").executeUpdate(),
            session.createMutationQuery("delete from Author a where a.age > 100 and a.books is empty").executeUpdate(),
            session.createMutationQuery("update Map m set m.label = 'atlas', m.scale = 2").executeUpdate())));
        Steps.step("orphans", () -> factory.fromTransaction(session -> {
            var ann = author(session, "Ann");
            ann.books.remove(0);
            session.flush();
            return session.createSelectionQuery("select count(*) from Book", Long.class).getSingleResult();
        }));
        Steps.step("rolled back", () -> factory.fromSession(session -> {
            session.beginTransaction();
            session.createMutationQuery("delete from Card").executeUpdate();
            session.getTransaction().rollback();
            return session.createSelectionQuery("select count(*) from Card", Long.class).getSingleResult();
        }));
    }

    public static void main(String[] arguments) {
        listen();
        starts();
        try (SessionFactory factory = start("update", Model.ENTITIES)) {
            write(factory);
            read(factory);
            transactions(factory);
        }
        Steps.step("a type of an enum", () -> {
            try (SessionFactory factory = start("update", List.of(Model.Opinion.class))) {
                factory.inTransaction(session -> session.persist(new Model.Opinion(Model.Role.WRITER)));
                return factory.fromSession(session -> session.createSelectionQuery("select o.role from Opinion o where o.role = WRITER and cast(o.role as String) > 'A'", Model.Role.class).list());
            }
        });
        Steps.step("drop", () -> changes("drop").size());
    }
}
