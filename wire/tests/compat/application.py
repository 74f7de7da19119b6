"""An application of other people's on one server: its database, its migrations, its process, and what is done with it.

Each step is told as a test is (see `job.py`), so that an application is compared as a suite is. What the server refused on the way is
in a file beside the results (see `overheard.py`): that names the statement behind a step that failed.
"""
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import traceback

import overheard
from harness.compared import free_port


class Stopped(Exception):
    """A step without which no other can be made has failed."""


class Application:
    """`with Application(job, "shop") as app:` with a new database of that name, and an empty folder `app.work`."""

    def __init__(self, job, database):
        self.job, self.name, self.folder = job, database, job.folder
        self.python = job.folder / "venv/bin/python"
        self.work = job.folder / f"work-{job.kind}"
        self.heard = overheard.Overheard(job.port, job.results.with_suffix(".refused.jsonl"))
        self.environment, self.processes = {}, []
        self.http_port = free_port()
        self.base = f"http://127.0.0.1:{self.http_port}"

    def __enter__(self):
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        self.heard.__enter__()
        self.port = self.heard.port
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/{self.name}"
        self.environment = {"HOME": str(self.work), "COMPAT_PORT": str(self.port), "COMPAT_DATABASE": self.name, "PGSSLMODE": "disable",
                            "PATH": f"{self.folder}/venv/bin:{os.environ['PATH']}", "PYTHONUNBUFFERED": "1"}
        self.job.statements(f"CREATE DATABASE {self.name}")
        return self

    def __exit__(self, kind, error, _):
        self.stop()
        self.heard.__exit__()
        return kind is Stopped

    def stop(self):
        """Ends all that was started, the last first."""
        while self.processes:
            ended(self.processes.pop())

    @contextlib.contextmanager
    def step(self, name, needed=False):
        """What is done in it is one step. Where the others need it, none follows on a failure."""
        try:
            yield
        except Stopped:
            raise
        except Exception as error:
            self.job.tell(name, "failed", f"{type(error).__name__}: {error}")
            with self.job.log.open("a") as log:
                log.write(f"==== step {name}\n{traceback.format_exc()}\n")
            if needed:
                raise Stopped(name) from error
        else:
            self.job.tell(name, "passed")

    def command(self, *command, limit=300, cwd=None):
        """A command of the application's, to its end; its output. Fails with what it said last."""
        environment = {**os.environ, **self.environment}
        done = subprocess.run([str(part) for part in command], cwd=cwd or self.work, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=limit)
        with self.job.log.open("a") as log:
            log.write(f"==== {' '.join(map(str, command))}\n{done.stdout}\n")
        if done.returncode:
            raise RuntimeError(f"{last_error(done.stdout)} (status {done.returncode})")
        return done.stdout

    def serve(self, *command, cwd=None, limit=120, port=None):
        """Starts what goes on until the end; returns when its port is open."""
        with self.job.log.open("a") as log:
            process = subprocess.Popen([str(part) for part in command], cwd=cwd or self.work, env={**os.environ, **self.environment},
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.processes.append(process)
        end = time.monotonic() + limit
        while not is_open(port or self.http_port):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("did not start: " + last_error(self.job.log.read_text(errors="replace")))
            time.sleep(0.2)

    def eventually(self, found, limit=60):
        """What `found` gives, once it gives something."""
        end = time.monotonic() + limit
        while not (result := found()):
            if time.monotonic() > end:
                raise TimeoutError(f"not within {limit} s")
            time.sleep(0.5)
        return result

    def same(self, found, wanted):
        if found != wanted:
            raise AssertionError(f"found {found!r}, expected {wanted!r}")

    def rows(self, sql):
        """What stands in the application's database."""
        import psycopg

        with psycopg.connect(host="127.0.0.1", port=self.job.port, user="postgres", dbname=self.name, autocommit=True) as connection:
            return connection.execute(sql).fetchall()


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def ended(process):
    """Ends a process group that the application started: asked first, then made to."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)


def last_error(output):
    """The line in which a program said why it ended."""
    found = re.findall(r"^\W*((?:[\w.]+\.)?\w*(?:Error|Exception|Undefined\w+|NotSupported|FAILED|ERROR)\b.*)$", output, re.M)
    lines = found or [line for line in output.splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else "it said nothing"
