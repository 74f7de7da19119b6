"""What is counted: reads and writes of tables and indexes, transactions and sessions, where clients come from. Nobody is told of a
table that they may not read, and nothing is left of one that is gone.

    activity.py
"""
import threading

from harness import Check, rows, run_check

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE posts (id INT PRIMARY KEY, author INT NOT NULL OWNED_BY people(id), body TEXT)",
    "CREATE INDEX posts_author ON posts (author)",
    "CREATE TABLE plain (id INT PRIMARY KEY, v TEXT)",
]
TABLE = ("SELECT seq_scan, seq_tup_read, idx_scan, idx_tup_fetch, n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_user_tables "
         "WHERE relname = '{}'")
INDEX = "SELECT idx_scan, idx_tup_fetch FROM pg_stat_user_indexes WHERE indexrelname = '{}'"


def difference(before, after):
    return tuple(new - old for old, new in zip(before, after))


class Activity(Check):
    def run(self):
        self.set_up(SCHEMA)
        with self.server.connect() as connection:
            connection.execute("INSERT INTO people SELECT g, 'person ' || g FROM generate_series(1, 20) g")
            connection.execute("INSERT INTO posts SELECT g, 1 + g % 20, 'body ' || g FROM generate_series(1, 200) g")
            connection.execute("INSERT INTO plain SELECT g, 'plain ' || g FROM generate_series(1, 100) g")
        for case in (self.written, self.read, self.by_many, self.transactions, self.connections, self.to_whom, self.gone):
            self.tally.case(case)

    def counted(self, connection, table, statements):
        """What the statements add to a table's counters."""
        before = rows(connection, TABLE.format(table))[0]
        for statement in statements:
            connection.execute(statement)
        return difference(before, rows(connection, TABLE.format(table))[0])

    def written(self):
        equal = self.tally.equal
        with self.server.connect() as connection:
            equal(rows(connection, "SELECT n_tup_ins, n_live_tup FROM pg_stat_user_tables WHERE relname = 'posts'"),
                  [(200, 200)], "rows that were inserted, and are there")
            added = self.counted(connection, "plain", ["INSERT INTO plain VALUES (101, 'a'), (102, 'b')"])
            equal(added[4:], (2, 0, 0), "INSERT")
            added = self.counted(connection, "plain", ["UPDATE plain SET v = 'x' WHERE id > 90"])
            equal(added[4:], (0, 12, 0), "UPDATE")
            added = self.counted(connection, "plain", ["DELETE FROM plain WHERE id > 100"])
            equal(added[4:], (0, 0, 2), "DELETE")
            added = self.counted(connection, "plain", ["BEGIN", "INSERT INTO plain VALUES (500, 'a')", "ROLLBACK"])
            equal(added[4:], (1, 0, 0), "what is rolled back counts, as in PostgreSQL")
            added = self.counted(connection, "plain", ["UPDATE plain SET id = id + 1000 WHERE id <= 5", "DELETE FROM plain WHERE id > 1000"])
            equal(added[4:], (0, 5, 5), "rows that get another key")

    def read(self):
        equal = self.tally.equal
        with self.server.connect() as connection:
            connection.execute("SET dogwood.auto_views = off")
            equal(self.counted(connection, "plain", ["SELECT count(v) FROM plain"])[:2], (1, 95), "all rows")
            equal(self.counted(connection, "plain", ["SELECT v FROM plain WHERE id = 7"])[:4], (0, 0, 1, 1), "one by its key")
            before = rows(connection, INDEX.format("plain_pkey"))[0]
            connection.execute("SELECT v FROM plain WHERE id IN (7, 8, 9, 10000)")
            equal(difference(before, rows(connection, INDEX.format("plain_pkey"))[0]), (4, 3), "several, one of which is not there")
            before = rows(connection, INDEX.format("posts_author"))[0]
            connection.execute("SELECT body FROM posts WHERE author = 3")
            equal(difference(before, rows(connection, INDEX.format("posts_author"))[0]), (1, 10), "by an index")
            added = self.counted(connection, "posts", ["SELECT 1"])
            equal(added, (0,) * 7, "what is about others, or looks at counters, is not counted")
            equal(rows(connection, "SELECT pg_stat_get_numscans('posts_author'::regclass) > 0, pg_stat_get_tuples_inserted('posts'::regclass)"),
                  [(True, 200)], "the functions say the same")

    def by_many(self):
        """Nothing is lost beside others, on a table that nobody has used yet."""
        with self.server.connect() as connection:
            connection.execute("CREATE TABLE busy (id INT PRIMARY KEY, v INT)")

        def work(place):
            with self.server.connect() as own:
                for step in range(100):
                    own.execute("INSERT INTO busy VALUES (%s, 0)", (place * 1000 + step,))
                    own.execute("SELECT v FROM busy WHERE id = %s", (place * 1000 + step,)).fetchall()

        threads = [threading.Thread(target=work, args=(place,)) for place in range(6)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        with self.server.connect() as connection:
            found = rows(connection, "SELECT n_tup_ins, idx_scan, idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'busy'")
            self.tally.equal(found, [(600, 600, 600)], "six sessions")

    def transactions(self):
        equal = self.tally.equal
        ask = "SELECT xact_commit, xact_rollback, sessions FROM pg_stat_database WHERE datname = current_database()"
        with self.server.connect() as connection:
            before = rows(connection, ask)[0]
            connection.execute("BEGIN")
            connection.execute("INSERT INTO plain VALUES (700, 'a')")
            connection.execute("COMMIT")
            connection.execute("DELETE FROM plain WHERE id = 700")
            connection.execute("BEGIN")
            connection.execute("SELECT 1")
            connection.execute("ROLLBACK")
            with self.server.connect() as other:
                rows(other, "SELECT 1")
            commits, rollbacks, sessions = difference(before, rows(connection, ask)[0])
            self.tally.that(commits >= 4, "transactions that committed", commits)
            equal((rollbacks, sessions), (1, 1), "one was rolled back, one session came")
            equal(rows(connection, "SELECT numbackends, stats_reset <= now(), stats_reset = pg_postmaster_start_time() FROM pg_stat_database "
                                   "WHERE datname = current_database()"), [(1, True, True)], "who is there, and since when")

    def connections(self):
        equal = self.tally.equal
        with self.server.connect() as connection:
            own = "WHERE pid = pg_backend_pid()"
            equal(rows(connection, f"SELECT host(client_addr), client_port = inet_client_port() FROM pg_stat_activity {own}"),
                  [("127.0.0.1", True)], "the client's end")
            equal(rows(connection, "SELECT host(inet_server_addr()), inet_server_port()"), [("127.0.0.1", self.server.port)], "the server's")
            equal(rows(connection, f"SELECT ssl, version, cipher, bits FROM pg_stat_ssl {own}"), [(False, None, None, None)], "in clear")
            equal(rows(connection, "SELECT current_query()"), [("SELECT current_query()",)], "the statement at hand")

    def to_whom(self):
        equal = self.tally.equal
        with self.server.connect() as connection:
            for statement in ("CREATE ROLE stranger LOGIN", "CREATE ROLE reader LOGIN", "GRANT SELECT ON plain TO reader",
                              "CREATE ROLE bound LOGIN", "GRANT SELECT ON plain TO bound", "CREATE USER person FOR people 1",
                              "CREATE ROLE watcher LOGIN IN ROLE pg_read_all_stats"):
                connection.execute(statement)
            ask = "SELECT n_tup_ins > 0, seq_scan > 0 FROM pg_stat_user_tables WHERE relname = 'plain'"
            for role, sees in (("stranger", False), ("reader", True), ("watcher", True), ("person", False)):
                connection.execute(f"SET ROLE {role}")
                equal(rows(connection, ask), [(sees, sees)], f"what {role} is told")
                connection.execute("RESET ROLE")
            connection.execute("ALTER TABLE plain ENABLE ROW LEVEL SECURITY")
            connection.execute("CREATE POLICY few ON plain USING (id < 10)")
            connection.execute("SET ROLE bound")
            equal(rows(connection, ask), [(False, False)], "policies bind what is told, too")
            equal(rows(connection, "SELECT pg_stat_get_tuples_inserted('plain'::regclass)"), [(0,)], "by a function as well")
            connection.execute("RESET ROLE")
            connection.execute("DROP POLICY few ON plain")
            connection.execute("ALTER TABLE plain DISABLE ROW LEVEL SECURITY")

    def gone(self):
        equal = self.tally.equal
        with self.server.connect() as connection:
            connection.execute("DROP TABLE busy")
            connection.execute("CREATE TABLE busy (id INT PRIMARY KEY, v INT)")
            equal(rows(connection, "SELECT n_tup_ins, idx_scan FROM pg_stat_user_tables WHERE relname = 'busy'"), [(0, 0)], "another table of that name")
            connection.execute("CREATE TEMP TABLE brief (id INT PRIMARY KEY)")
            connection.execute("INSERT INTO brief VALUES (1)")
            equal(rows(connection, "SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'brief'"), [(0,)], "temporary tables are not counted")
        self.server.stop()
        self.server.start()
        with self.server.connect() as connection:
            equal(rows(connection, "SELECT n_tup_ins, n_tup_upd, seq_scan FROM pg_stat_user_tables WHERE relname = 'posts'"), [(0, 0, 0)],
                  "a restart begins anew")


if __name__ == "__main__":
    run_check(Activity())
