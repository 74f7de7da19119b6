#!/usr/bin/env python3
"""Real clients against Dogwood: psql, psycopg 3, asyncpg, pgbench, SQLAlchemy.

Each check is a function; what it raises is a failure. DOGWOOD names the binary.
"""

import asyncio
import datetime
import decimal
import os
import re
import subprocess
import sys
import traceback
import uuid

from harness.compared import Dogwood, NotHere, left_out, postgres_program
from harness.packages import need

CHECKS = []
MOMENT = datetime.datetime(2020, 2, 29, 12, 30, 15, 123456, tzinfo=datetime.timezone.utc)


def check(function):
    CHECKS.append(function)
    return function


def program(server, name, *arguments, text=None):
    environment = {**os.environ, "PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": "controller",
                   "PGPASSWORD": server.password, "PGDATABASE": "dogwood", "PGSSLMODE": "disable"}
    done = subprocess.run([postgres_program(name), *arguments], env=environment, input=text, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    assert done.returncode == 0, f"{name} {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def expect(found, *wanted):
    for part in wanted:
        assert re.search(part, found), f"no {part!r} in:\n{found}"


def equal(found, wanted):
    assert found == wanted, f"found {found!r}, wanted {wanted!r}"


@check
def psql_describes(server):
    program(server, "psql", "-v", "ON_ERROR_STOP=1", "-c",
            "CREATE TABLE shown(id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL DEFAULT 'x', n numeric(8,2) CHECK (n > 0))",
            "-c", "CREATE TABLE child(id bigserial PRIMARY KEY, shown int REFERENCES shown ON DELETE CASCADE)",
            "-c", "CREATE INDEX shown_name ON shown(name)", "-c", "COMMENT ON TABLE shown IS 'seen'")
    expect(program(server, "psql", "-c", r"\d shown"), r"id +\| integer +\| +\| not null \| generated always as identity",
           r"'x'::text|'x'", r"shown_pkey\" PRIMARY KEY, btree \(id\)", r"shown_name\" btree \(name\)",
           "Check constraints:", "Referenced by:", r"ON DELETE CASCADE")
    expect(program(server, "psql", "-c", r"\d child"), "Foreign-key constraints:", "nextval")
    expect(program(server, "psql", "-c", r"\d+ shown"), "Storage", "Access method: heap|Indexes")
    expect(program(server, "psql", "-c", r"\dt"), "child", "shown")
    expect(program(server, "psql", "-c", r"\dt+"), "seen")
    expect(program(server, "psql", "-c", r"\l"), "dogwood")
    for command in (r"\d", r"\di", r"\ds", r"\dv", r"\dn", r"\du", r"\df", r"\dT", r"\dp", r"\dx", r"\conninfo", r"\encoding"):
        program(server, "psql", "-v", "ON_ERROR_STOP=1", "-c", command)


@check
def psql_copies(server):
    found = program(server, "psql", "-v", "ON_ERROR_STOP=1", "-At", text=(
        "CREATE TABLE copied(a int, b text);\nCOPY copied FROM STDIN;\n1\tx\n2\t\\N\n\\.\n"
        "SELECT * FROM copied ORDER BY a;\nCOPY copied TO STDOUT WITH CSV;\n"))
    expect(found, "1\\|x", "2\\|", "1,x")


@check
def psycopg_speaks_text_and_binary(server):
    import psycopg

    values = (7, 1.5, decimal.Decimal("12.340"), "é", b"\x00\xff", True, datetime.date(2020, 2, 29), MOMENT,
              datetime.timedelta(days=2, seconds=5), uuid.UUID(int=5), [1, None, 3], ["a", 'b"c'], {"k": [1, None]})
    types = "int4 float8 numeric text bytea bool date timestamptz interval uuid int4[] text[] jsonb".split()
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("SET timezone = 'UTC'")
        from psycopg.types.json import Jsonb

        given = [Jsonb(v) if isinstance(v, dict) else v for v in values]
        for binary in (False, True):
            for form in ("%s", "%b", "%t"):
                for value, wanted, kind in zip(given, values, types):
                    row = connection.execute(f"SELECT {form}::{kind}", [value], binary=binary).fetchone()
                    equal(row[0], wanted)
        equal(connection.execute("SELECT NULL::int4, ARRAY[]::text[]", binary=True).fetchone(), (None, []))


@check
def psycopg_copies_both_ways(server):
    import psycopg

    with psycopg.connect(server.dsn) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE pc(a int PRIMARY KEY, b text, c numeric, d timestamptz)")
        rows = [(n, None if n % 7 == 0 else f"t\t{n}\n", decimal.Decimal(n) / 4, MOMENT) for n in range(5000)]
        with cursor.copy("COPY pc FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        connection.commit()
        cursor.execute("SET timezone = 'UTC'")
        with cursor.copy("COPY (SELECT * FROM pc ORDER BY a) TO STDOUT") as copy:
            copy.set_types(["int4", "text", "numeric", "timestamptz"])
            equal(list(copy.rows()), rows)
        kinds = ["int4", "text", "numeric", "timestamptz"]
        with cursor.copy("COPY (SELECT * FROM pc ORDER BY a) TO STDOUT WITH (FORMAT binary)") as copy:
            copy.set_types(kinds)
            equal(list(copy.rows()), rows)
        cursor.execute("TRUNCATE pc")
        with cursor.copy("COPY pc FROM STDIN WITH (FORMAT binary)") as copy:
            copy.set_types(kinds)
            for row in rows:
                copy.write_row(row)
        cursor.execute("SELECT * FROM pc ORDER BY a")
        equal(cursor.fetchall(), rows)


@check
def psycopg_cursors_and_pipelines(server):
    import psycopg

    with psycopg.connect(server.dsn) as connection:
        with connection.cursor("named") as cursor:
            cursor.execute("SELECT g FROM generate_series(1, 10000) g")
            equal(cursor.fetchmany(3), [(1,), (2,), (3,)])
            equal(sum(row[0] for row in cursor), 10000 * 10001 // 2 - 6)
        connection.commit()
        with connection.pipeline(), connection.cursor() as cursor:
            connection.execute("CREATE TABLE piped(a int PRIMARY KEY)")
            cursor.executemany("INSERT INTO piped VALUES (%s)", [(n,) for n in range(100)])
            cursor.execute("SELECT count(*) FROM piped")
            equal(cursor.fetchone(), (100,))
        connection.commit()
        for _ in range(8):  # prepared from the sixth on
            equal(connection.execute("SELECT a FROM piped WHERE a = %s", [5]).fetchone(), (5,))
        try:
            connection.execute("INSERT INTO piped VALUES (1)")
            raise AssertionError("a duplicate key passed")
        except psycopg.errors.UniqueViolation as error:
            equal((error.diag.constraint_name, error.diag.table_name), ("piped_pkey", "piped"))
        connection.rollback()
        connection.execute("CREATE DOMAIN label AS text NOT NULL CHECK (VALUE <> '')")
        connection.execute("CREATE TABLE labels(word label)")
        connection.commit()
        for word, constraint in (("", "label_check"), (None, None)):
            try:
                connection.execute("INSERT INTO labels VALUES (%s)", [word])
                raise AssertionError("a domain took what it forbids")
            except psycopg.errors.IntegrityError as error:
                told = error.diag
                equal((told.schema_name, told.datatype_name, told.constraint_name), ("public", "label", constraint))
            connection.rollback()
        with connection.transaction():
            try:
                with connection.transaction():
                    connection.execute("INSERT INTO piped VALUES (1000)")
                    raise ValueError
            except ValueError:
                pass
        equal(connection.execute("SELECT max(a) FROM piped").fetchone(), (99,))


@check
def some_statements_run_alone(server):
    """As PostgreSQL 15 answers: what cannot be taken back shares its transaction with nothing, in a pipeline or a string either."""
    import psycopg

    def answer(run):
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            try:
                run(connection)
            except psycopg.errors.ActiveSqlTransaction as error:
                return error.diag.message_primary

    def piped(statements):
        def run(connection):
            with connection.pipeline():
                for statement in statements:
                    connection.execute(statement)
        return answer(run)

    def string(statements):
        return answer(lambda connection: connection.execute(statements))

    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE alone(a int)")
    for statements, command in (
        (["SELECT 1", "VACUUM"], "VACUUM"),
        (["VACUUM", "VACUUM"], "VACUUM"),
        (["SET application_name = 'x'", "VACUUM"], "VACUUM"),
        (["SELECT 1", "DISCARD ALL"], "DISCARD ALL"),
        (["SELECT 1", "CREATE INDEX CONCURRENTLY alone_a ON alone(a)"], "CREATE INDEX CONCURRENTLY"),
        (["SELECT 1", "DROP INDEX CONCURRENTLY alone_a"], "DROP INDEX CONCURRENTLY"),
        (["SELECT 1", "REINDEX TABLE CONCURRENTLY alone"], "REINDEX CONCURRENTLY"),
        (["SELECT 1", "REINDEX SCHEMA public"], "REINDEX SCHEMA"),
        (["SELECT 1", "CLUSTER"], "CLUSTER"),
        (["VACUUM"], None),
        (["VACUUM", "SELECT 1"], None),
        (["SELECT 1", "BEGIN", "COMMIT", "VACUUM"], None),
        (["SELECT 1", "REINDEX TABLE alone"], None),
        (["SELECT 1", "ANALYZE alone"], None),
        (["CREATE INDEX CONCURRENTLY alone_a ON alone(a)"], None),
        (["DROP INDEX CONCURRENTLY alone_a"], None),
    ):
        equal((statements, piped(statements)), (statements, command and f"{command} cannot be executed within a pipeline"))
    for statements, command in (
        (["BEGIN", "VACUUM"], "VACUUM"),
        (["BEGIN", "CREATE INDEX CONCURRENTLY alone_a ON alone(a)"], "CREATE INDEX CONCURRENTLY"),
    ):
        equal((statements, piped(statements)), (statements, f"{command} cannot run inside a transaction block"))
    for statements, command in (
        ("VACUUM; SELECT 1", "VACUUM"),
        ("SELECT 1; VACUUM", "VACUUM"),
        ("BEGIN; COMMIT; VACUUM", "VACUUM"),
        ("INSERT INTO alone VALUES (1); DISCARD ALL", "DISCARD ALL"),
        ("VACUUM", None),
        ("BEGIN; REINDEX TABLE alone; COMMIT", None),
    ):
        equal((statements, string(statements)), (statements, command and f"{command} cannot run inside a transaction block"))


@check
def asyncpg_speaks(server):
    import asyncpg

    async def talk():
        connection = await asyncpg.connect(host="127.0.0.1", port=server.port, user="controller",
                                           password=server.password, database="dogwood", ssl=False)
        await connection.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
        await connection.execute("CREATE TABLE ap(id int PRIMARY KEY, m mood, ms mood[], j jsonb, n numeric, t timestamptz, s text[], u uuid, i interval, b bytea, d date, f float8)")
        row = (1, "ok", ["sad", "ok"], '{"a": 1}', decimal.Decimal("1.50"), MOMENT, ["x", None], uuid.UUID(int=9),
               datetime.timedelta(days=1, seconds=5), b"\x00", datetime.date(2020, 1, 1), 0.5)
        marks = ", ".join(f"${n + 1}" for n in range(len(row)))
        await connection.execute(f"INSERT INTO ap VALUES ({marks})", *row)
        equal(tuple(await connection.fetchrow("SELECT * FROM ap")), row)
        await connection.executemany("INSERT INTO ap(id, n) VALUES ($1, $2)", [(n, n) for n in range(2, 50)])
        equal(await connection.fetchval("SELECT count(*) FROM ap WHERE id = ANY($1)", [1, 2, 3]), 3)
        async with connection.transaction():
            total = 0
            async for record in connection.cursor("SELECT id FROM ap ORDER BY id", prefetch=7):
                total += record["id"]
            equal(total, 49 * 50 // 2)
        # asyncpg copies in binary.
        copied = [(number, decimal.Decimal(number) / 4) for number in range(100, 3000)]
        equal(await connection.copy_records_to_table("ap", records=copied, columns=["id", "n"]), "COPY 2900")
        equal([tuple(record) for record in await connection.fetch("SELECT id, n FROM ap WHERE id >= 100 ORDER BY id")], copied)
        await connection.execute("DELETE FROM ap WHERE id >= 100")
        equal(await connection.fetchval("SELECT count(*) FROM ap"), 49)
        try:
            async with connection.transaction():
                await connection.execute("INSERT INTO ap(id) VALUES (1)")
        except asyncpg.UniqueViolationError:
            pass
        await connection.close()

    asyncio.run(talk())


@check
def statements_are_prepared_once(server):
    """Drivers and poolers let go by SQL of what they prepared by the protocol, and find it in pg_prepared_statements."""
    import psycopg

    with psycopg.connect(server.dsn, autocommit=True, prepare_threshold=0) as connection:
        listed = "SELECT count(*) FROM pg_prepared_statements WHERE NOT from_sql"
        connection.prepared_max = 5
        for number in range(40):
            equal(connection.execute(f"SELECT %s::int + {number}", [1]).fetchone(), (number + 1,))
        kept = connection.execute(listed, prepare=False).fetchone()[0]
        equal((0 < kept <= 6, kept), (True, kept))
        connection.execute("DEALLOCATE ALL", prepare=False)
        equal(connection.execute(listed, prepare=False).fetchone(), (0,))
        connection.pgconn.prepare(b"by_protocol", b"SELECT $1::int * 2")
        equal(connection.execute("EXECUTE by_protocol(21)", prepare=False).fetchone(), (42,))
        connection.execute("DISCARD ALL", prepare=False)
        # More than there may be at once elsewhere, each let go of.
        for number in range(300):
            connection.pgconn.prepare(b"s", f"SELECT {number}".encode())
            connection.execute("DEALLOCATE s", prepare=False)
        connection.execute("CREATE TABLE renewed (a int)", prepare=False)
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        with connection.transaction():
            for columns in ("1 AS a", "2 AS b, 'x' AS c"):
                connection.execute(f"DECLARE k CURSOR FOR SELECT {columns}", prepare=False)
                found = connection.execute("FETCH ALL FROM k", prepare=True)
                equal(len(found.description), len(found.fetchone()))
                connection.execute("CLOSE k", prepare=False)


@check
def asyncpg_survives_changed_tables(server):
    """It prepares again what PostgreSQL says is stale: by code, and by the routine that reports it."""
    import asyncpg

    async def talk():
        there = {"host": "127.0.0.1", "port": server.port, "user": "controller", "password": server.password, "database": "dogwood", "ssl": False}
        one, other = await asyncpg.connect(**there), await asyncpg.connect(**there)
        await other.execute("CREATE TABLE grows (a int PRIMARY KEY, b text)")
        await one.execute("INSERT INTO grows VALUES (1, 'x')")
        every, label = "SELECT * FROM grows", "SELECT b FROM grows WHERE a = $1"
        equal([tuple(row) for row in await one.fetch(every)], [(1, "x")])
        equal(await one.fetchval(label, 1), "x")
        await other.execute("ALTER TABLE grows ADD COLUMN c int DEFAULT 7")
        equal([tuple(row) for row in await one.fetch(every)], [(1, "x", 7)])
        equal(await one.fetchval(label, 1), "x")
        await other.execute("ALTER TABLE grows ALTER COLUMN b TYPE int USING 5")
        equal(await one.fetchval(label, 1), 5)
        await other.execute("DROP TABLE grows")
        await other.execute("CREATE TABLE grows (a int PRIMARY KEY, b text)")
        await one.execute("INSERT INTO grows VALUES (2, 'y')")
        equal([tuple(row) for row in await one.fetch(every)], [(2, "y")])
        # What is prepared by hand is the application's to prepare again, and so is all inside a transaction.
        prepared = await one.prepare(every)
        equal(len(await prepared.fetch()), 1)
        await other.execute("ALTER TABLE grows ADD COLUMN c int")
        for _ in range(2):
            try:
                async with one.transaction():
                    await prepared.fetch()
                raise AssertionError("a changed result passed")
            except asyncpg.exceptions.InvalidCachedStatementError:
                pass
        equal(len(await one.fetch(every)), 1)
        for connection in (one, other):
            await connection.close()

    asyncio.run(talk())


@check
def pgbench_runs(server):
    program(server, "pgbench", "-i", "-s", "1", "-q")
    for mode in ("simple", "extended", "prepared"):
        found = program(server, "pgbench", "-n", "-c", "8", "-j", "2", "-T", "4", "-M", mode)
        expect(found, r"number of failed transactions: 0 ", r"tps = [1-9]")
    found = program(server, "psql", "-At", "-c", "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history), "
                    "(SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(tbalance) FROM pgbench_tellers)")
    equal(found.strip(), "t|t")


@check
def sqlalchemy_maps(server):
    import sqlalchemy as sa
    from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

    class Base(DeclarativeBase):
        pass

    class Author(Base):
        __tablename__ = "author"
        id: Mapped[int] = mapped_column(primary_key=True)
        name: Mapped[str] = mapped_column(sa.String(50), unique=True)
        books: Mapped[list["Book"]] = relationship(back_populates="author", cascade="all, delete-orphan")

    class Book(Base):
        __tablename__ = "book"
        id: Mapped[int] = mapped_column(primary_key=True)
        title: Mapped[str] = mapped_column(sa.Text, index=True)
        price: Mapped[decimal.Decimal] = mapped_column(sa.Numeric(8, 2))
        author_id: Mapped[int] = mapped_column(sa.ForeignKey("author.id"))
        author: Mapped[Author] = relationship(back_populates="books")

    engine = sa.create_engine(f"postgresql+psycopg://controller:{server.password}@127.0.0.1:{server.port}/dogwood?sslmode=disable")
    Base.metadata.create_all(engine)
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        session.add(Author(name="Ada", books=[Book(title="One", price=decimal.Decimal("9.50")), Book(title="Two", price=1)]))
        session.add_all([Author(name=f"a{n}") for n in range(20)])
        session.commit()
        author = session.scalars(sa.select(Author).where(Author.name == "Ada")).one()
        equal(sorted(book.title for book in author.books), ["One", "Two"])
        author.books[0].title = "Three"
        session.commit()
        found = session.execute(sa.select(Author.name, sa.func.count(Book.id), sa.func.sum(Book.price)).join(Book).group_by(Author.name)).all()
        equal([tuple(row) for row in found], [("Ada", 2, decimal.Decimal("10.50"))])
        session.delete(author)
        session.commit()
        equal(session.scalar(sa.select(sa.func.count()).select_from(Book)), 0)
    seen = sa.inspect(engine)
    equal({"author", "book"} <= set(seen.get_table_names()), True)
    equal([column["name"] for column in seen.get_columns("book")], ["id", "title", "price", "author_id"])
    equal(seen.get_pk_constraint("book")["constrained_columns"], ["id"])
    equal(seen.get_foreign_keys("book")[0]["referred_table"], "author")
    Base.metadata.drop_all(engine)
    engine.dispose()


def main():
    need("asyncpg", "sqlalchemy")
    failed = skipped = 0
    with Dogwood() as server:
        for function in CHECKS:
            try:
                function(server)
            except NotHere:
                left_out(function.__name__)
                skipped += 1
            except Exception:
                failed += 1
                print(f"FAILED {function.__name__}\n{traceback.format_exc(limit=-3)}", flush=True)
        log = server.log.read_text(errors="replace")
        for line in log.split("\n"):
            if "internal error" in line:
                failed += 1
                print(line)
    print(f"{len(CHECKS) - failed - skipped} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
