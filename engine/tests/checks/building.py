"""Indexes of filled tables, which are filled beside commits: what the transaction itself reads by them, what others change meanwhile.

What is read by an index must be what a scan finds: within the transaction that makes it, over rows that it has changed before and
after, from an older snapshot, behind a savepoint; and after it, when rows have got other owners and people were forgotten while it
was filled, when it was cancelled, or the server was killed.

    building.py [--seed S] [--rows N] [--rounds N]
"""
import threading
import time

import psycopg

from harness import Check, options, rows, run_check, state_of

PEOPLE, VALUES = 60, 40


class Building(Check):
    def run(self):
        count = self.options.rows
        self.set_up([
            "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
            "CREATE TABLE rooms (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), other INT OWNED_BY people(id))",
            "CREATE TABLE notes (id INT PRIMARY KEY, room INT NOT NULL OWNED_BY rooms(id), v INT, w INT, body TEXT)",
            "CREATE TABLE plain (id INT PRIMARY KEY, v INT, w INT, body TEXT)",
            f"INSERT INTO people SELECT n, 'p' || n FROM generate_series(1, {PEOPLE}) n",
            f"INSERT INTO rooms SELECT n, 1 + n % {PEOPLE}, 1 + (n * 7) % {PEOPLE} FROM generate_series(1, {2 * PEOPLE}) n",
            f"INSERT INTO notes SELECT n, 1 + n % {2 * PEOPLE}, n % {VALUES}, n, 'b' || n FROM generate_series(1, {count}) n",
            f"INSERT INTO plain SELECT n, n % {VALUES}, n, 'b' || n FROM generate_series(1, {count}) n",
        ])
        for table in ("plain", "notes"):
            self.tally.case(self.within, table)
            self.tally.case(self.older, table)
            self.tally.case(self.unique, table)
            self.tally.case(self.savepoint, table)
            self.tally.case(self.ended, table)
        for number in range(self.options.rounds):
            self.tally.case(self.meanwhile, number)
            self.tally.case(self.killed, number)
        self.tally.case(self.two_definitions)
        self.tally.case(self.progress)

    def agree(self, connection, table, name, column="v"):
        """Each value by the index, and by a scan that no index helps."""
        for value in [*self.dice.sample(range(VALUES), 6), VALUES + 1, -1]:
            found = rows(connection, f"SELECT id FROM {table} WHERE {column} = %s ORDER BY id", (value,))
            scanned = rows(connection, f"SELECT id FROM {table} WHERE {column} + 0 = %s ORDER BY id", (value,))
            self.tally.equal(found, scanned, f"{table}: {name}, {column} = {value}")
        if table == "plain":
            found = rows(connection, f"SELECT id FROM plain WHERE {column} > %s ORDER BY {column} DESC, id LIMIT 9", (VALUES - 3,))
            scanned = rows(connection, f"SELECT id FROM plain WHERE {column} + 0 > %s ORDER BY {column} + 0 DESC, id LIMIT 9", (VALUES - 3,))
            self.tally.equal(found, scanned, f"{table}: {name}, a range of {column}")

    def changed(self, connection, table, start):
        connection.execute(f"UPDATE {table} SET v = (v + 1) %% {VALUES} WHERE id BETWEEN %s AND %s", (start, start + 50))
        connection.execute(f"DELETE FROM {table} WHERE id BETWEEN %s AND %s", (start + 60, start + 65))
        columns = "id, v, w, body" if table == "plain" else "id, room, v, w, body"
        values = "%s, 3, %s, 'new'" if table == "plain" else "%s, 5, 3, %s, 'new'"
        connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({values})", (1_000_000 + start, 1_000_000 + start))

    def within(self, table):
        with self.server.connect(autocommit=False) as connection:
            self.changed(connection, table, 100)
            connection.execute(f"CREATE INDEX made ON {table} (v)")
            self.agree(connection, table, "in its transaction")
            self.changed(connection, table, 200)
            connection.execute(f"UPDATE {table} SET v = v WHERE id = 400")
            self.agree(connection, table, "in its transaction, changed after")
            connection.rollback()
            self.tally.equal(state_of(connection.execute, "DROP INDEX made"), "42704", f"{table}: rolled back")
            connection.rollback()
            self.changed(connection, table, 100)
            connection.execute(f"CREATE INDEX made ON {table} (v)")
            self.changed(connection, table, 200)
            connection.commit()
            self.agree(connection, table, "committed")
            connection.commit()
            self.changed(connection, table, 300)
            connection.commit()
            self.agree(connection, table, "changed then")
            connection.execute("DROP INDEX made")
            connection.execute(f"CREATE INDEX made ON {table} (v)")
            connection.execute("DROP INDEX made")
            connection.commit()
            connection.execute(f"CREATE INDEX made ON {table} (v) WHERE w % 3 = 0")
            connection.execute(f"TRUNCATE {table}")
            self.changed(connection, table, 500)
            self.agree(connection, table, "emptied")
            connection.rollback()

    def older(self, table):
        """A snapshot from before the index was filled."""
        with self.server.connect(autocommit=False) as connection, self.server.connect() as other:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            before = rows(connection, f"SELECT id FROM {table} WHERE v + 0 = 7 ORDER BY id")
            other.execute(f"UPDATE {table} SET v = 8 WHERE id = (SELECT min(id) FROM {table} WHERE v + 0 = 7)")
            other.execute(f"DELETE FROM {table} WHERE id = (SELECT max(id) FROM {table} WHERE v + 0 = 7)")
            connection.execute(f"CREATE INDEX older ON {table} (v)")
            self.tally.equal(rows(connection, f"SELECT id FROM {table} WHERE v = 7 ORDER BY id"), before, f"{table}: as of before")
            connection.commit()
            self.agree(connection, table, "made over an older snapshot")
            connection.execute("DROP INDEX older")
            connection.commit()

    def unique(self, table):
        with self.server.connect(autocommit=False) as connection:
            self.tally.equal(state_of(connection.execute, f"CREATE UNIQUE INDEX one ON {table} (v)"), "23505", f"{table}: a value twice")
            connection.rollback()
            twice = rows(connection, f"SELECT min(id), max(id) FROM {table}")[0]
            connection.execute(f"UPDATE {table} SET w = -5 WHERE id IN (%s, %s)", twice)
            self.tally.equal(state_of(connection.execute, f"ALTER TABLE {table} ADD CONSTRAINT one UNIQUE (w)"), "23505", f"{table}: twice in the transaction")
            connection.rollback()
            connection.execute(f"UPDATE {table} SET w = -5 WHERE id IN (%s, %s)", twice)
            connection.commit()
            self.tally.equal(state_of(connection.execute, f"CREATE UNIQUE INDEX one ON {table} (w)"), "23505", f"{table}: twice")
            connection.rollback()
            connection.execute(f"UPDATE {table} SET w = -6 WHERE id = %s", twice[:1])
            connection.execute(f"ALTER TABLE {table} ADD CONSTRAINT one UNIQUE (w)")
            self.tally.equal(state_of(connection.execute, f"UPDATE {table} SET w = -6 WHERE id = {twice[1]}"), "23505", f"{table}: once, then twice")
            connection.rollback()
            connection.execute(f"UPDATE {table} SET w = -6 WHERE id = %s", twice[:1])
            connection.execute(f"ALTER TABLE {table} ADD CONSTRAINT one UNIQUE (w)")
            connection.commit()
            self.tally.equal(state_of(connection.execute, f"UPDATE {table} SET w = -6 WHERE id = {twice[1]}"), "23505", f"{table}: unique then")
            connection.rollback()
            connection.execute(f"UPDATE {table} SET w = NULL WHERE id IN (%s, %s)", twice)
            connection.execute(f"ALTER TABLE {table} DROP CONSTRAINT one")
            connection.execute(f"ALTER TABLE {table} ADD CONSTRAINT one UNIQUE (w)")
            connection.execute(f"ALTER TABLE {table} DROP CONSTRAINT one")
            connection.commit()

    def savepoint(self, table):
        with self.server.connect(autocommit=False) as connection:
            connection.execute(f"CREATE INDEX first ON {table} (v)")
            connection.execute("SAVEPOINT here")
            connection.execute(f"CREATE INDEX second ON {table} (w)")
            connection.execute("ROLLBACK TO here")
            connection.execute(f"CREATE INDEX third ON {table} (w, v)")
            self.changed(connection, table, 700)
            connection.commit()
            self.agree(connection, table, "the first index")
            self.agree(connection, table, "the third index", "w")
            self.tally.equal(state_of(connection.execute, "DROP INDEX second"), "42704", f"{table}: gone with the savepoint")
            connection.rollback()
            connection.execute("DROP INDEX first, third")
            connection.commit()

    def ended(self, table):
        """Cancelled at any moment; then it can be made."""
        with self.server.connect() as connection:
            for _ in range(4):
                cancel = threading.Timer(self.dice.random() * 0.3, connection.cancel)
                cancel.start()
                state = state_of(connection.execute, f"CREATE INDEX cut ON {table} (v)")
                cancel.join()
                self.tally.that(state in ("", "57014"), f"{table}: cancelled", state)
                self.agree(connection, table, "cancelled" if state else "made in time")
                connection.execute("DROP INDEX IF EXISTS cut")

    def meanwhile(self, number):
        """Rooms change hands and people are forgotten while an index of their notes is filled."""
        stop = threading.Event()
        dice = self.dice

        def change():
            with self.server.connect() as connection:
                while not stop.is_set():
                    person, room = dice.randrange(1, PEOPLE), dice.randrange(1, 2 * PEOPLE)
                    column = dice.choice(("person", "other"))
                    try:
                        connection.execute(f"UPDATE rooms SET {column} = (SELECT id FROM people ORDER BY abs(id - {person}) LIMIT 1) WHERE id = {room}")
                        connection.execute("INSERT INTO plain VALUES ((SELECT max(id) + 1 FROM plain), 1, NULL, 'x')")
                        time.sleep(0.002)
                    except psycopg.Error as error:
                        if error.sqlstate not in ("40001", "40P01", "23503", "23505", "DG001", "DG002"):
                            self.tally.that(False, "a change meanwhile", error)

        def forget():
            with self.server.connect() as connection:
                time.sleep(0.05)
                for person in (number * 5 + 1, number * 5 + 2):
                    state = state_of(connection.execute, f"GDPR FORGET people {person}")
                    self.tally.that(state in ("", "DG003", "40001", "02000"), "FORGET meanwhile", state)

        threads = [threading.Thread(target=change), threading.Thread(target=change), threading.Thread(target=forget)]
        for thread in threads:
            thread.start()
        made = 0
        with self.server.connect() as connection:
            for attempt in range(6):
                state = state_of(connection.execute, f"CREATE INDEX amid{attempt} ON notes (v, w)" if attempt % 2 else f"CREATE INDEX amid{attempt} ON notes (v)")
                self.tally.that(state in ("", "40001"), "CREATE INDEX meanwhile", state)
                made += state == ""
            stop.set()
            for thread in threads:
                thread.join()
            self.tally.that(made > 0, "an index is made at last")
            self.agree(connection, "notes", f"made amid changes ({made})")
        self.server.stop()
        self.tally.clean(self.server, "rows changed owners meanwhile")
        self.server.start()
        with self.server.connect() as connection:
            for attempt in range(6):
                connection.execute(f"DROP INDEX IF EXISTS amid{attempt}")

    def killed(self, number):
        def make():
            try:
                with self.server.connect() as connection:
                    connection.execute(f"CREATE INDEX killed ON {'notes' if number % 2 else 'plain'} (v)")
            except psycopg.Error:
                pass

        thread = threading.Thread(target=make)
        thread.start()
        time.sleep(0.02 + self.dice.random() * 0.4)
        self.server.kill()
        thread.join()
        self.server.start()
        with self.server.connect() as connection:
            connection.execute("DROP INDEX IF EXISTS killed")
            # The number of the one that was killed.
            for table in ("plain", "notes"):
                connection.execute(f"CREATE INDEX again ON {table} (w, v)")
                self.agree(connection, table, "after a kill", "w")
                connection.execute("DROP INDEX again")

    def progress(self):
        """How far it is, for others to see."""
        question = """SELECT relid::regclass::text, command, phase, blocks_done <= blocks_total, tuples_done, tuples_total
                      FROM pg_stat_progress_create_index"""
        seen = []
        with self.server.connect() as connection, self.server.connect() as other:
            thread = threading.Thread(target=lambda: connection.execute("CREATE INDEX seen ON plain (w, v)"))
            thread.start()
            while thread.is_alive():
                seen += rows(other, question)
            thread.join()
            count = rows(other, "SELECT count(*) FROM plain")[0][0]
            self.tally.equal({row[:2] for row in seen}, {("plain", "CREATE INDEX")}, "what is shown of an index that is filled")
            self.tally.that(all(row[2].startswith("building index: ") and row[3] and row[4] <= count and row[5] in (0, count) for row in seen),
                            "how far it is", (count, seen[:9]))
            self.tally.equal(seen, sorted(seen, key=lambda row: row[4]), "it goes on")
            self.tally.equal(rows(other, question), [], "it is over")
            connection.execute("DROP INDEX seen")

    def two_definitions(self):
        """Others define meanwhile: one after the other."""
        states = []

        def define(statement):
            with self.server.connect() as connection:
                states.append(state_of(connection.execute, statement))

        statements = ["CREATE INDEX two_a ON plain (v)", "CREATE INDEX two_b ON notes (v)", "CREATE TABLE two_c (id INT PRIMARY KEY)",
                      "ALTER TABLE plain ADD COLUMN more INT DEFAULT 4", "CREATE INDEX two_d ON plain (w)"]
        threads = [threading.Thread(target=define, args=(statement,)) for statement in statements]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.tally.equal(states, [""] * len(statements), "definitions beside definitions")
        with self.server.connect() as connection:
            for table in ("plain", "notes"):
                self.agree(connection, table, "beside definitions")


if __name__ == "__main__":
    run_check(Building(options(20261128, rows=30_000, rounds=2)))
