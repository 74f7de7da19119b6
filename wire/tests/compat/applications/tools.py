"""What the applications of Node, Go and Java share: how one is installed, and how what it says becomes steps.

An application is a module here, with a folder of its name that holds its program. Its module says:

    TITLE, VERSION     what stands in the report
    LEFT_OUT_BECAUSE   why it cannot be run here, or None
    install()          brings it under ~/.cache/dogwood/apps, from a registry
    run(address)       uses the database at that URL, which is new and empty: {step: (outcome, answer or message)}

A program tells each step on a line of JSON, by the piece of `steps/` in its language. An answer counts: the same step on another
server must give the same one.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
INSTALLED = pathlib.Path.home() / ".cache/dogwood/apps"
ANSWER_BYTES_MAX = 20_000
ORDER = ["drizzle", "typeorm", "kysely", "node_pg_migrate", "golang_migrate", "river", "flyway", "liquibase", "hibernate", "redmine"]


def address_of(port, name):
    """The URL of a new database of a server on this machine."""
    import psycopg

    with psycopg.connect(host="127.0.0.1", port=port, user="postgres", dbname="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"postgresql://postgres@127.0.0.1:{port}/{name}?sslmode=disable"


def without(*programs):
    """Why an application is left out that wants these programs, or None."""
    missing = [program for program in programs if not shutil.which(program)]
    return f"not installed: {', '.join(missing)}" if missing else None


def without_node():
    """Why an application of Node is left out: its libraries want a Node that Debian 12 has not."""
    return without("node", "npm") or (None if node_version() >= 20 else f"Node {node_version()} is older than 20")


def node_version():
    return int(subprocess.run(["node", "-p", "process.versions.node"], stdout=subprocess.PIPE, text=True).stdout.split(".")[0] or 0)


def laid(name, *pieces):
    """The folder in which an application is installed, with its program as it is now and the pieces that tell steps."""
    folder = INSTALLED / name
    shutil.copytree(HERE / name, folder, dirs_exist_ok=True)
    for piece in pieces:
        shutil.copy(HERE / "steps" / piece, folder)
    return folder


def sh(*command, cwd):
    """A step of an installation; what fails ends the run."""
    done = subprocess.run(["nice", "-n", "10", *map(str, command)], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-3000:]}")


def install_node(name):
    folder = laid(name, "steps.mjs")
    sh("npm", "install", "--no-audit", "--no-fund", cwd=folder)
    return folder


def install_go(name):
    folder = laid(name, "steps.go")
    sh("go", "mod", "tidy", cwd=folder)
    sh("go", "build", "-o", "program", ".", cwd=folder)
    return folder


def install_java(name):
    folder = laid(name, "Steps.java", "steps.xml")
    sh("mvn", "-q", "-B", "compile", cwd=folder)


def java(name):
    """The command that runs an application's `Main` with what it depends on, which its pom.xml lays beside it."""
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{INSTALLED / name}/target/classes:{INSTALLED / name}/target/lib/*", "Main"]


def jdbc(address):
    """The same database, as JDBC writes it."""
    url = urllib.parse.urlsplit(address)
    query = urllib.parse.urlencode({"user": url.username, "password": url.password or "", **dict(urllib.parse.parse_qsl(url.query))})
    return f"jdbc:postgresql://{url.hostname}:{url.port}{url.path}?{query}"


class Steps:
    """The steps of one application, run in its folder with `DATABASE_URL`."""

    def __init__(self, name, address, limit=120):
        self.folder, self.limit, self.found = INSTALLED / name, limit, {}
        self.environment = {**os.environ, "DATABASE_URL": address, "NO_COLOR": "1", "CI": "1"}

    def output(self, command, typed=""):
        """The exit status and output of a command, in a process group of its own that ends with it."""
        process = subprocess.Popen([str(part) for part in command], cwd=self.folder, env=self.environment, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
        try:
            said, _ = process.communicate(typed, self.limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
            return None, said + f"\nnot done after {self.limit} s"
        return process.returncode, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said)

    def command(self, step, *command, says="", answer=lambda _: "", ends=0):
        """A step that is a command of the tool's own: it ends with that status and says these words."""
        status, said = self.output(command)
        if status == ends and says in said:
            self.found[step] = ("passed", answer(said))
        else:
            wanted = f"exit status {status}" if status != ends else f"does not say {says!r}"
            self.found[step] = ("failed", f"{wanted}: {essence(said)}")

    def program(self, step, *command):
        """A program that tells steps of its own, each under the name of this one."""
        status, said = self.output(command)
        lines = [line for line in said.splitlines() if line.strip()]
        for line in [line for line in lines if line.startswith('{"step":')]:
            one, _ = json.JSONDecoder().raw_decode(line)
            self.found[f"{step}: {one['step']}"] = (one["outcome"], one["message"][:ANSWER_BYTES_MAX])
            lines.remove(line)
        if status:
            self.found[step] = ("failed", f"exit status {status}: {essence(chr(10).join(lines))}")


def essence(said):
    """What a tool said of an error: the lines that name it, or the last ones."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"error|exception|fatal|SQLSTATE|refused|not supported|does not exist", line, re.I)
               and not re.match(r"at ", line)]
    return " | ".join(dict.fromkeys((telling or lines[-6:])[:6]))[:1500]
