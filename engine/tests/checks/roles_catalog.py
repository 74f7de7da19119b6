"""Roles and rights as the catalog shows them: a script of definitions and questions (`planner/tests/checks/roles_catalog.sql`) on Dogwood
and on PostgreSQL 15, what psql shows of the result, and what pg_dump writes of it. Where PostgreSQL is not installed its answers are those
that `planner/tests/roles/record.sh` recorded.

Both call the first role `controller`. It is a superuser in PostgreSQL, and nobody is one in Dogwood: the questions leave that out.
"""
import contextlib
import os
import re
import subprocess

from harness import ROOT, Tally
from harness.compared import Dogwood, NotHere, Wire, left_out, postgres_if_there, postgres_program

SCRIPT = ROOT / "planner/tests/checks/roles_catalog.sql"
RECORDED = ROOT / "planner/tests/roles/expected.txt"
# What psql shows, of what the script makes.
SHOWN = [r"\dp app.*", r"\ddp", r"\dn+ app", r"\dn+ hidden", r"\dn+ public", r"\du ada", r"\du ben", r"\du+ readers", r"\du writers",
         r"\drds", r"\dT+ app.*", r"\dt app.*", r"\dv app.*", r"\ds app.*", r"\l postgres"]
# The lines of a dump that are about roles and rights.
OF_RIGHTS = re.compile(r"^(GRANT|REVOKE|ALTER DEFAULT PRIVILEGES|ALTER \w+( \w+)? .* OWNER TO) ?")


def script():
    return [line for line in SCRIPT.read_text().splitlines() if not line.startswith("--")]


def recorded():
    """The recorded answers, by the statements' places."""
    blocks = re.split(r"^> ", RECORDED.read_text(), flags=re.MULTILINE)[1:]
    return [sorted(block.splitlines()[1:]) for block in blocks]


def answer(wire, sql):
    """Lines as the recording has them."""
    found = wire.run(sql)
    if found.error:
        return [f"error {found.error} {found.said[0] if found.said else found.message}"]
    shown = ["|".join("~" if value is None else value.decode() for value in row) for row in found.rows]
    return sorted(line for row in shown for line in row.split("\n"))


@contextlib.contextmanager
def called_controller(postgres):
    """A PostgreSQL whose first role is called as Dogwood's."""
    if postgres is None:
        yield None
        return
    first = Wire(postgres.dsn)
    first.run("CREATE ROLE helper SUPERUSER LOGIN")
    first.close()
    helper = Wire(postgres.dsn.replace("user=postgres", "user=helper"))
    helper.run("ALTER ROLE postgres RENAME TO controller")
    helper.close()
    dsn = postgres.dsn.replace("user=postgres", "user=controller")
    wire = Wire(dsn)
    wire.run("DROP ROLE helper")
    wire.close()
    yield dsn


def said_by(program, dsn, *arguments):
    """What a program of PostgreSQL's writes, errors too."""
    command = [postgres_program(program), *arguments, "-d", dsn]
    environment = {**os.environ, "PGTZ": "UTC", "LC_ALL": "C"}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, timeout=120)
    return done.stdout.decode(errors="replace")


def answers_alike(tally, ours, theirs):
    """Each statement of the script on both, or against what was recorded."""
    own = Wire(ours)
    other = Wire(theirs) if theirs else None
    kept = recorded()
    tally.equal(len(kept), len(script()), "planner/tests/roles/record.sh has to run again")
    for sql, expected in zip(script(), kept):
        if other:
            tally.equal(answer(other, sql), expected, f"recorded: {sql}")
        tally.equal(answer(own, sql), expected, sql)
    own.close()
    if other:
        other.close()


def shown_alike(tally, ours, theirs):
    for command in SHOWN:
        tally.equal(said_by("psql", ours, "-X", "-c", command), said_by("psql", theirs, "-X", "-c", command), command)


def dumped_alike(tally, ours, theirs):
    """What pg_dump writes about roles and rights, for every schema of the script's."""
    def of_rights(dsn):
        dump = said_by("pg_dump", dsn, "--schema-only")
        tally.that("error:" not in dump, "pg_dump", dump[-500:])
        return sorted(line for line in dump.splitlines() if OF_RIGHTS.match(line))

    tally.equal(of_rights(ours), of_rights(theirs), "the rights in a dump")


def seen_of_others(tally, server):
    """pg_stat_activity says what others run to their own roles, controllers and pg_read_all_stats alone."""
    base = server.dsn.replace("dbname=dogwood", "dbname=postgres")
    first = Wire(base)
    first.run("CREATE ROLE watched LOGIN PASSWORD 'w'")
    first.run("CREATE ROLE stranger LOGIN PASSWORD 's'")
    first.run("CREATE ROLE watcher LOGIN PASSWORD 'r' IN ROLE pg_read_all_stats")

    def session(name, password):
        return Wire(re.sub(r"user=\S+ password=\S+", f"user={name} password={password}", base))

    watched, stranger, watcher = session("watched", "w"), session("stranger", "s"), session("watcher", "r")
    watched.run("SELECT 'seen' AS what")
    question = """SELECT usesysid::regrole::text, query = '<insufficient privilege>', state IS NULL, backend_start IS NULL, application_name IS NULL
        FROM pg_stat_activity WHERE usename = 'watched'"""
    hidden, open_to = ["watched|t|t|t|f"], ["watched|f|f|f|f"]
    for wire, expected, name in ((stranger, hidden, "a stranger"), (watcher, open_to, "pg_read_all_stats"), (first, open_to, "the controller"), (watched, open_to, "itself")):
        tally.equal(answer(wire, question), expected, f"pg_stat_activity to {name}")
    first.run("GRANT watched TO stranger")
    tally.equal(answer(stranger, question), open_to, "to a member of its role")
    # What a password is checked against is for controllers alone.
    secret = "SELECT rolpassword LIKE 'SCRAM-SHA-256$%' FROM pg_authid WHERE rolname = 'watched'"
    tally.equal(answer(first, secret), ["t"], "pg_authid to the controller")
    for relation in ("pg_authid", "pg_shadow"):
        tally.equal(answer(stranger, f"SELECT 1 FROM {relation}"), [f"error 42501 permission denied for table {relation}"], relation)
    tally.equal(answer(stranger, "SELECT rolpassword FROM pg_roles WHERE rolname = 'watched'"), ["********"], "pg_roles")
    for wire in (watched, stranger, watcher, first):
        wire.close()


def main():
    tally = Tally()
    with Dogwood() as server, postgres_if_there() as postgres, called_controller(postgres) as theirs:
        ours = server.dsn.replace("dbname=dogwood", "dbname=postgres")
        tally.case(answers_alike, tally, ours, theirs)
        if theirs is None:
            left_out("what psql shows and pg_dump writes of roles and rights")
        else:
            try:
                tally.case(shown_alike, tally, ours, theirs)
                tally.case(dumped_alike, tally, ours, theirs)
            except NotHere as program:
                left_out(f"what {program} shows of roles and rights")
        tally.case(seen_of_others, tally, server)
        tally.that(server.alive(), "the server lives", server.log.read_text(errors="replace")[-2000:])
        tally.that("internal error" not in server.log.read_text(errors="replace"), "the server's log")
    tally.end()


if __name__ == "__main__":
    main()
