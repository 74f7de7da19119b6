"""One run of a suite: where it is installed, the server that it meets, and where its results go."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

PLUGINS = pathlib.Path(__file__).resolve().parent / "plugins"


def sh(*command, cwd=None):
    """Runs a step of an installation; what fails ends the run."""
    done = subprocess.run([str(part) for part in command], cwd=cwd,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout


def python_environment(folder, *packages):
    """A virtual environment in `folder`/venv with these packages."""
    if not (folder / "venv/bin/python").exists():
        sh(sys.executable, "-m", "venv", folder / "venv")
    if packages:
        sh(folder / "venv/bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages)


def source_archive(folder, package, version):
    """The source archive of a package of PyPI's, unpacked; its folder."""
    sh(folder / "venv/bin/python", "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "--no-binary", package,
       "--dest", folder, f"{package}=={version}")
    archive = next(folder.glob(f"{package}-{version}.tar.gz"))
    sh("tar", "xzf", archive, "-C", folder)
    return folder / f"{package}-{version}"


class Job:
    """A suite that is to run against a server. `quick` asks for the part that `make test` runs."""

    def __init__(self, folder, server, kind, results, limit, quick=False):
        self.folder, self.server, self.kind, self.results, self.limit, self.quick = folder, server, kind, results, limit, quick
        self.port = server.port if server else None
        self.log = results.with_suffix(".log")
        if server:
            results.unlink(missing_ok=True)
            self.log.unlink(missing_ok=True)

    def statements(self, *statements, database="postgres", user="postgres"):
        """Runs statements before the suite. What a server does not know it refuses, and the tests of it with it."""
        import psycopg

        with psycopg.connect(host="127.0.0.1", port=self.port, user=user, dbname=database, autocommit=True) as connection:
            for statement in statements:
                try:
                    connection.execute(statement)
                except psycopg.Error as error:
                    print(f"  {self.kind}: {statement}: {str(error).splitlines()[0]}", flush=True)

    def execute(self, *command, cwd=None, environment=None, limit=None):
        """Runs the suite's own runner in a process group of its own, to its limit; its output is in `log`."""
        environment = {**os.environ, "TELL_RESULTS": str(self.results), "PYTHONPATH": str(PLUGINS), **(environment or {})}
        with self.log.open("ab") as log:
            process = subprocess.Popen([str(part) for part in command], cwd=cwd, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=log, start_new_session=True)
            try:
                return process.wait(limit or self.limit)
            except subprocess.TimeoutExpired:
                print(f"  {self.kind}: not done after {limit or self.limit} s, stopped", flush=True)
                return None
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()

    def pytest(self, *arguments, cwd, environment=None, each=60):
        """pytest of the suite's environment, with the plugin that tells the results."""
        return self.execute(self.folder / "venv/bin/python", "-m", "pytest", "-q", "-p", "tell_results", "--tb=line",
                            f"--timeout={each}", *arguments, cwd=cwd, environment=environment)

    def tell(self, test, outcome, message=""):
        with self.results.open("a") as file:
            file.write(json.dumps({"test": test, "outcome": outcome, "message": message[:400]}) + "\n")

    def read(self, name=lambda test: test):
        """{test: (outcome, message)}; `name` takes what differs between the servers out of a test's name."""
        found = {}
        if self.results.exists():
            for line in self.results.read_text().splitlines():
                one = json.loads(line)
                found[name(one["test"])] = (one["outcome"], one["message"])
        return found


def plain(message):
    """A message without what differs from test to test, to group by."""
    message = re.sub(r"0x[0-9a-f]+", "0x…", message)
    message = re.sub(r"^(\w+\.)+(\w+): ", r"\2: ", message)
    return message[:160]
