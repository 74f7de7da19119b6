"""Materialized views that depend on the time zone, read in sessions of other zones and styles: as they stand, computed in a transaction
that has changed what they read, and for roles that a policy binds. They are the same for all: UTC, ISO dates. What stands around them
is the session's, and where both cannot be had it is refused.

Subscriptions to queries whose literals the session alone can read: each in its own zone.

    styles.py
"""
import datetime

import psycopg

from harness import Check, rows, run_check, state_of

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE events (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), at TIMESTAMPTZ, n INT)",
    "INSERT INTO people VALUES (1, 'a'), (2, 'b')",
    "INSERT INTO events VALUES (1, 1, '2019-12-31 20:00+00', 1), (2, 1, '2020-01-01 20:00+00', 2), (3, 2, '2020-01-02 03:00+00', 3), (4, 2, '1999-06-01 12:00+00', 4)",
]
VIEWS = {
    "after": "SELECT id, n FROM events WHERE at > '2020-01-01'",
    "days": "SELECT at::date AS day, count(*) AS c FROM events GROUP BY at::date",
    "hours": "SELECT id, date_trunc('day', at) AS day, extract(hour FROM at) AS hour, at::text AS text FROM events",
    "told": "SELECT person, string_agg(to_char(at, 'DD HH24'), ',' ORDER BY id) AS all FROM events GROUP BY person",
    "above": "SELECT day, c FROM days WHERE c > 0",
    "ends": "SELECT id FROM events WHERE coalesce(at, 'infinity') > '-infinity'",
}
SESSIONS = (
    {}, {"TimeZone": "Asia/Tokyo"}, {"TimeZone": "America/New_York", "DateStyle": "ISO, YMD"}, {"IntervalStyle": "iso_8601"},
    {"TimeZone": "Europe/Berlin", "DateStyle": "ISO, DMY", "extra_float_digits": "-3"},
)
CHANGES = ("INSERT INTO events VALUES (10, 2, '2020-01-01 22:00+00', 5)", "UPDATE events SET at = at + interval '1 hour' WHERE id = 2", "DELETE FROM events WHERE id = 1")


class Styles(Check):
    def run(self):
        self.set_up(SCHEMA)
        with self.server.connect() as connection:
            for name, query in VIEWS.items():
                connection.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")
                connection.execute(f"CREATE VIEW behind_{name} AS SELECT * FROM {name}")
            connection.execute("CREATE FUNCTION counted() RETURNS BIGINT LANGUAGE sql STABLE AS 'SELECT count(*) FROM after'")
        for case in (self.read, self.computed, self.beside, self.bound, self.subscribed, self.watched):
            self.tally.case(case)

    def session(self, settings, **how):
        connection = self.server.connect(**how)
        for name, value in settings.items():
            connection.execute(f"SET {name} = '{value}'")
        return connection

    @staticmethod
    def plain(connection, sql):
        """The rows, moments as moments: psycopg shows them in the session's zone."""
        utc = lambda value: value.astimezone(datetime.timezone.utc) if isinstance(value, datetime.datetime) and value.tzinfo else value  # noqa: E731
        return sorted(str(tuple(utc(value) for value in row)) for row in rows(connection, sql))

    def read(self):
        with self.session({}) as utc:
            wanted = {name: self.plain(utc, query) for name, query in VIEWS.items()}
        for settings in SESSIONS:
            with self.session(settings) as connection:
                for name in VIEWS:
                    self.tally.equal(self.plain(connection, f"SELECT * FROM {name}"), wanted[name], f"{name} as it stands, {settings}")

    def computed(self):
        """In a transaction that has changed what they read: what they are once it has committed."""
        changed = {}
        with self.session({}) as utc:
            utc.execute("BEGIN")
            for change in CHANGES:
                utc.execute(change)
            # `days` is spelled out: the query is asked in UTC.
            changed = {name: self.plain(utc, query.replace("FROM days", f"FROM ({VIEWS['days']}) days")) for name, query in VIEWS.items()}
            utc.execute("ROLLBACK")
        for settings in SESSIONS:
            with self.session(settings) as connection:
                connection.execute("BEGIN")
                for change in CHANGES:
                    connection.execute(change)
                for name in VIEWS:
                    self.tally.equal(self.plain(connection, f"SELECT * FROM {name}"), changed[name], f"{name} computed, {settings}")
                    self.tally.equal(self.plain(connection, f"SELECT * FROM behind_{name}"), changed[name], f"{name} behind a plain view, {settings}")
                    connection.execute(f"DECLARE c_{name} CURSOR FOR SELECT * FROM {name}")
                    self.tally.equal(self.plain(connection, f"FETCH ALL c_{name}"), changed[name], f"{name} by a cursor, {settings}")
                self.tally.equal(rows(connection, "SELECT counted()"), [(len(changed["after"]),)], f"within a function, {settings}")
                self.tally.equal(rows(connection, "SHOW TimeZone"), [(settings.get("TimeZone", "UTC"),)], "the session's own zone stays")
                connection.execute("CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM hours")
                self.tally.equal(self.plain(connection, "SELECT * FROM kept"), changed["hours"], f"kept by CREATE TABLE AS, {settings}")
                connection.execute("ROLLBACK")

    def beside(self):
        """A statement that depends on the session itself."""
        asked = {
            "SELECT count(*) FROM after WHERE n > 0 AND now() > current_date",
            "SELECT a.id, e.at::date FROM after a JOIN events e USING (id)",
            "INSERT INTO events SELECT id + 100, 1, '2020-01-01 12:00', n FROM after",
        }
        for settings in SESSIONS:
            is_plain = not settings
            with self.session(settings) as connection:
                for sql in asked:
                    self.tally.equal(state_of(connection.execute, f"EXPLAIN {sql}"), "", f"read as it stands: {sql}")
                    connection.execute("BEGIN")
                    connection.execute(CHANGES[0])
                    state = state_of(connection.execute, sql)
                    self.tally.equal(state, "" if is_plain else "0A000", f"computed beside: {sql}, {settings}")
                    connection.execute("ROLLBACK")
        with self.session({"TimeZone": "Asia/Tokyo"}) as connection:
            connection.execute("BEGIN")
            connection.execute(CHANGES[0])
            try:
                connection.execute("SELECT id, now()::date FROM after")
            except psycopg.Error as error:
                self.tally.that("TimeZone" in str(error.diag.message_primary) or "timezone" in error.diag.message_primary, "the style is named", error)
                self.tally.that("SET timezone = 'UTC'" in (error.diag.message_hint or ""), "and what to do", error.diag.message_hint)
            connection.execute("ROLLBACK")
            # A view that does not depend on it goes with anything.
            connection.execute("CREATE MATERIALIZED VIEW small AS SELECT id FROM events WHERE n < 3")
            connection.execute("BEGIN")
            connection.execute(CHANGES[0])
            self.tally.equal(state_of(connection.execute, "SELECT id, now()::date FROM small"), "", "which does not depend on it")
            connection.execute("ROLLBACK")

    def bound(self):
        """For a role that a policy binds views are computed."""
        with self.session({}) as owner:
            for sql in ("CREATE ROLE teller LOGIN", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO teller", "ALTER TABLE events ENABLE ROW LEVEL SECURITY",
                        "CREATE POLICY early ON events FOR SELECT TO teller USING (n < 4)"):
                owner.execute(sql)
            wanted = self.plain(owner, f"SELECT * FROM ({VIEWS['after'].replace('WHERE', 'WHERE n < 4 AND')}) x")
        for settings in SESSIONS:
            with self.session(settings, user="teller") as connection:
                if settings:
                    self.tally.equal(state_of(connection.execute, "SELECT * FROM after"), "0A000", f"bound, {settings}")
                else:
                    self.tally.equal(self.plain(connection, "SELECT * FROM after"), wanted, "bound, in UTC")
        with self.session({}) as owner:
            owner.execute("DROP POLICY early ON events")
            owner.execute("ALTER TABLE events DISABLE ROW LEVEL SECURITY")

    def watching(self, settings, query, parameters=None):
        connection = self.session(settings)
        connection.execute("BEGIN")
        connection.execute(f"DECLARE told CURSOR FOR SUBSCRIBE ({query})", parameters)
        return connection

    def told(self, connection, count):
        """So many changes, the time aside."""
        found = []
        while len(found) < count:
            got = rows(connection, "FETCH 100 told WITH (timeout = '20s')")
            if not got:
                break
            found += [row[1:] for row in got if row[1] is not None]
        return sorted(found)

    def subscribed(self):
        """A literal without an offset is read in the session's zone, as it begins."""
        query = "SELECT id FROM events WHERE at >= '2020-01-01' AND at < date_trunc('day', '2020-01-02 12:00'::timestamptz)"
        wanted = {"UTC": [2], "Asia/Tokyo": [1], "America/New_York": [2, 3]}
        for zone, ids in wanted.items():
            with self.session({"TimeZone": zone}) as connection:
                self.tally.equal(sorted(id for id, in rows(connection, query)), ids, f"asked once in {zone}")
            with self.watching({"TimeZone": zone}, query) as connection:
                self.tally.equal(self.told(connection, len(ids)), [(1, id) for id in ids], f"subscribed in {zone}")
                # What the zone is later changes nothing of it.
                connection.execute("SET TimeZone = 'Asia/Kolkata'")
                with self.server.connect() as writer:
                    writer.execute("UPDATE events SET n = n + 1")
                    writer.execute("INSERT INTO events VALUES (50, 1, '2020-01-01 12:00+00', 0)")
                    self.tally.equal(self.told(connection, 1), [(1, 50)], f"told in {zone}")
                    writer.execute("DELETE FROM events WHERE id = 50")
        with self.server.connect() as connection:
            for sql in ("SELECT id, at::date FROM events", "SELECT id FROM events WHERE at::text > '2020'", "SELECT id FROM events WHERE at > clock_timestamp()",
                        "SELECT id FROM events WHERE at > 'no time at all'::text::timestamptz"):
                connection.execute("BEGIN")
                self.tally.equal(state_of(connection.execute, f"DECLARE told CURSOR FOR SUBSCRIBE ({sql})"), "0A000", f"refused: {sql}")
                connection.execute("ROLLBACK")

    def watched(self):
        """Whoever watches the view itself is told of what it is."""
        for settings in SESSIONS:
            with self.watching(settings, "SELECT id FROM after") as connection, self.watching(settings, VIEWS["ends"]) as ends:
                self.tally.equal(self.told(connection, 2), [(1, 2), (1, 3)], f"a view that depends on the zone, {settings}")
                self.tally.equal(self.told(ends, 4), [(1, 1), (1, 2), (1, 3), (1, 4)], f"the ends of time, {settings}")
                with self.server.connect() as writer:
                    writer.execute("INSERT INTO events VALUES (60, 1, '2020-01-01 00:30+00', 0)")
                    self.tally.equal((self.told(connection, 1), self.told(ends, 1)), ([(1, 60)], [(1, 60)]), f"and follows it, {settings}")
                    writer.execute("DELETE FROM events WHERE id = 60")


if __name__ == "__main__":
    run_check(Styles())
