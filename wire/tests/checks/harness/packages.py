"""Python packages that a check needs. Without them it runs itself again in a virtual environment under ~/.cache/dogwood/venv, made at first
need.
"""
import importlib.util
import os
import pathlib
import subprocess
import sys

VENV = pathlib.Path.home() / ".cache/dogwood/venv"
PACKAGES = {"psycopg": "psycopg[binary]", "asyncpg": "asyncpg", "sqlalchemy": "sqlalchemy", "pandas": "pandas", "polars": "polars",
            "moto": "moto[s3]", "boto3": "boto3", "flask": "flask", "flask_cors": "flask-cors"}


def need(*modules):
    """Runs the script again in the virtual environment if this Python lacks a module."""
    if all(importlib.util.find_spec(module) for module in modules):
        return
    python = VENV / "bin/python"
    if pathlib.Path(sys.prefix).resolve() == VENV.resolve():
        subprocess.run([python, "-m", "pip", "install", "-q", *(PACKAGES[m] for m in modules)], check=True)
        importlib.invalidate_caches()
        return
    if not python.exists():
        VENV.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    os.execv(python, [str(python), *sys.argv])
