"""The running server that a notebook talks to: DOGWOOD_URL says where it is, else it is that of the README's ten lines.

Never starts or stops a server: `demo.py` does.
"""

import os
import pathlib

import polars as pl
import psycopg
import sqlalchemy

URL = os.environ.get("DOGWOOD_URL", "postgresql://controller@127.0.0.1:5432/postgres?sslmode=disable")

# How much is measured: 1 is what the committed figures show, less is for a quick run.
SCALE = float(os.environ.get("DOGWOOD_NOTEBOOK_SCALE", "1"))


def connect():
    """A connection of its own, each statement a transaction."""
    return psycopg.connect(URL, autocommit=True)


def engine():
    """SQLAlchemy's engine, each statement a transaction."""
    return sqlalchemy.create_engine(sqlalchemy_url(), isolation_level="AUTOCOMMIT")


def sqlalchemy_url():
    """The server's address as SQLAlchemy and JupySQL want it."""
    return "postgresql+psycopg" + URL.removeprefix("postgresql")


def scaled(count, least=1):
    """A count at the scale of this run."""
    return max(least, round(count * SCALE))


def table(connection, query, parameters=None):
    """A query's rows as a polars frame."""
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        names = [column.name for column in cursor.description]
        return pl.DataFrame(cursor.fetchall(), schema=names, orient="row", infer_schema_length=None)


def resident_bytes():
    """The server's resident set, if it runs on this machine and Linux lets us look; else None."""
    process = os.environ.get("DOGWOOD_PID") or listener(psycopg.conninfo.conninfo_to_dict(URL).get("port", "5432"))
    try:
        status = pathlib.Path(f"/proc/{process}/status").read_text()
    except OSError:
        return None
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def listener(port):
    """The process that listens on a TCP port of this machine, None if it cannot be seen."""
    sockets = set()
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:] if os.path.exists("/proc/net/tcp") else []:
        fields = line.split()
        if fields[3] == "0A" and int(fields[1].rsplit(":", 1)[1], 16) == int(port):
            sockets.add(f"socket:[{fields[9]}]")
    for folder in pathlib.Path("/proc").glob("[0-9]*/fd") if sockets else []:
        try:
            if any(os.readlink(file) in sockets for file in folder.iterdir()):
                return folder.parent.name
        except OSError:  # gone meanwhile, or another user's
            continue
    return None
