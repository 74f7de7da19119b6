"""SQLAlchemy's own tests of what only PostgreSQL has. Installed with the suite of dialects."""
from suites import sqlalchemy

TITLE, VERSION, LIMIT = "SQLAlchemy, PostgreSQL's dialect", sqlalchemy.VERSION, 900
FOLDER = "sqlalchemy"
install, name = sqlalchemy.install, sqlalchemy.name


def run(job):
    sqlalchemy.run(job, ["test/dialect/postgresql"])
