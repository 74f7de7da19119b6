"""The two servers that the checks compare: Dogwood and PostgreSQL 15, each in a temporary folder.

Must never touch a server that it did not start itself.
"""

import contextlib
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

# Another folder, or none: the checks then do without PostgreSQL, as where it is not installed.
POSTGRES_BIN = pathlib.Path(os.environ.get("POSTGRES_BIN") or "/usr/lib/postgresql/15/bin")
SERVERS = ("initdb", "pg_ctl")


class NotHere(Exception):
    """A program of PostgreSQL's that is not installed."""


def postgres_program(name):
    """Where a program of PostgreSQL's is, its clients among them."""
    there = POSTGRES_BIN / name
    if there.exists():
        return str(there)
    # Of the clients other versions do as well.
    anywhere = None if "POSTGRES_BIN" in os.environ or name in SERVERS else shutil.which(name)
    if not anywhere:
        raise NotHere(name)
    return anywhere


def postgres_there():
    """Whether PostgreSQL 15 is installed."""
    return (POSTGRES_BIN / "initdb").exists()


def postgres_if_there():
    """`with postgres_if_there() as postgres`: a PostgreSQL of its own, or None where it is not installed."""
    return Postgres() if postgres_there() else contextlib.nullcontext()


def left_out(what):
    """Says by name what a check does not do where PostgreSQL is not installed."""
    print(f"LEFT OUT, PostgreSQL 15 is not here: {what}", flush=True)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Dogwood:
    """A Dogwood of its own: `with Dogwood() as server: server.dsn`."""

    def __init__(self, *arguments):
        self.arguments = arguments
        self.binary = os.environ.get("DOGWOOD") or shutil.which("dogwood")
        if not self.binary:
            sys.exit("set DOGWOOD to the binary to check")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dogwood-check-"))
        self.log = self.folder / "log"

    def __enter__(self):
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [self.binary, "serve", "--data", self.folder / "data", "--listen", "127.0.0.1:0", "--insecure", *self.arguments],
                stdout=log, stderr=log, start_new_session=True,
            )
        end = time.time() + 60
        while not re.search(r"listening on \S+\n", self.log.read_text(errors="replace")):
            if self.process.poll() is not None or time.time() > end:
                sys.exit("dogwood did not start:\n" + self.log.read_text(errors="replace"))
            time.sleep(0.05)
        self.port = int(self.log.read_text(errors="replace").split("listening on", 1)[1].split()[0].rsplit(":", 1)[1])
        self.password = (self.folder / "data/controller.secret").read_text().strip()
        self.dsn = f"host=127.0.0.1 port={self.port} user=controller password={self.password} dbname=dogwood sslmode=disable"
        return self

    def alive(self):
        return self.process.poll() is None

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Postgres:
    """A PostgreSQL 15 of its own, C locale, UTC, without durability unless that is measured."""

    # No plan may depend on when tables were last analyzed: a memoized LATERAL is computed once for equal rows.
    CHECKED = "-c fsync=off -c shared_buffers=32MB -c autovacuum=off -c enable_memoize=off"
    MEASURED = "-c shared_buffers=512MB -c max_wal_size=4GB -c max_connections=1200"

    def __init__(self, settings=CHECKED):
        self.settings = settings

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="postgres-check-"))
        self.port = free_port()
        data = self.folder / "data"
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        self._run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "--locale=C", "-E", "UTF8", "--no-sync")
        options = (
            f"-p {self.port} -h 127.0.0.1 -k {self.folder} -c timezone=UTC -c log_timezone=UTC {self.settings}"
        )
        self._run("pg_ctl", "-D", data, "-w", "-o", options, "-l", self.folder / "log", "start")
        self.dsn = f"host=127.0.0.1 port={self.port} user=postgres dbname=postgres sslmode=disable"
        return self

    def _run(self, program, *arguments):
        prefix = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        environment = {**os.environ, "TZ": "UTC", "LC_ALL": "C"}
        command = [*prefix, str(POSTGRES_BIN / program), *map(str, arguments)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, cwd="/tmp")
        if done.returncode:
            sys.exit(f"{program} failed:\n{done.stdout.decode(errors='replace')}")

    def __exit__(self, *_):
        self._run("pg_ctl", "-D", self.folder / "data", "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)


class Answer:
    """What a server said to one statement: rows as text with the types' OIDs, or an error."""

    def __init__(self):
        self.names, self.types, self.rows, self.tag = [], [], [], ""
        self.error, self.message, self.said = None, "", ()

    def __repr__(self):
        if self.error:
            return f"error {self.error}: {self.message}" + "".join(f" | {part}" for part in self.said[1:] if part)
        shown = [tuple(None if v is None else v.decode(errors="replace") for v in row) for row in self.rows[:8]]
        more = f" … {len(self.rows)} rows" if len(self.rows) > 8 else ""
        return f"{self.tag} {list(zip(self.names, self.types))} {shown}{more}"


class Wire:
    """A connection by libpq, simple protocol, that notices a server which does not answer."""

    def __init__(self, dsn, patience=20):
        self.dsn, self.patience = dsn, patience
        self.connect()

    def connect(self):
        from psycopg import pq

        self.connection = pq.PGconn.connect(self.dsn.encode())
        if self.connection.status != pq.ConnStatus.OK:
            raise ConnectionError(self.connection.error_message.decode(errors="replace"))
        self.run("SET statement_timeout = '15s'")
        self.run("SET client_min_messages = 'error'")

    def in_failed_transaction(self):
        from psycopg import pq

        return self.connection.transaction_status == pq.TransactionStatus.INERROR

    def close(self):
        self.connection.finish()

    def wait(self):
        end = time.time() + self.patience
        while self.connection.is_busy():
            ready, _, _ = select.select([self.connection.socket], [], [], max(0.0, end - time.time()))
            if not ready:
                raise TimeoutError
            self.connection.consume_input()

    def run(self, sql, copied=None):
        """The answer to a statement; of several in one string, to the last."""
        from psycopg import pq
        from psycopg.pq import DiagnosticField, ExecStatus

        answer = Answer()
        try:
            self.connection.send_query(sql.encode())
            while True:
                self.wait()
                result = self.connection.get_result()
                if result is None:
                    return answer
                status = result.status
                if status in (ExecStatus.FATAL_ERROR, ExecStatus.NONFATAL_ERROR, ExecStatus.BAD_RESPONSE):
                    answer.error = (result.error_field(DiagnosticField.SQLSTATE) or b"08006").decode()
                    answer.message = result.error_message.decode(errors="replace").strip().split("\n")[0]
                    parts = (DiagnosticField.MESSAGE_PRIMARY, DiagnosticField.MESSAGE_DETAIL, DiagnosticField.MESSAGE_HINT)
                    answer.said = tuple((result.error_field(part) or b"").decode(errors="replace") for part in parts)
                    if self.connection.status != pq.ConnStatus.OK:
                        self.connect()
                        answer.error = "lost"
                        return answer
                elif status == ExecStatus.COPY_IN:
                    self.connection.put_copy_data((copied or "").encode())
                    self.connection.put_copy_end()
                elif status == ExecStatus.COPY_OUT:
                    answer.rows = self.copy_out()
                elif status in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
                    answer.tag = (result.command_status or b"").decode()
                    if status == ExecStatus.TUPLES_OK:
                        columns = range(result.nfields)
                        answer.names = [result.fname(c).decode() for c in columns]
                        answer.types = [result.ftype(c) for c in columns]
                        answer.rows = [
                            tuple(result.get_value(r, c) for c in columns) for r in range(result.ntuples)
                        ]
        except TimeoutError:
            answer.error, answer.message = "hang", f"no answer in {self.patience} s"
            self.close()
            self.connect()
        except Exception as error:  # what libpq raises for a connection that broke
            answer.error, answer.message = "lost", str(error)
            self.close()
            self.connect()
        return answer

    def copy_out(self):
        rows = []
        while True:
            size, data = self.connection.get_copy_data(0)
            if size < 0:
                return rows
            rows.append((bytes(data),))


def stop(process):
    """Ends a process group that a check started."""
    os.killpg(process.pid, signal.SIGTERM)
