"""pgjdbc's own tests of JDBC 2 to 4.2, which are in its source archive at Maven's registry."""
import re
import shutil
import xml.etree.ElementTree

from job import sh

TITLE, VERSION, LIMIT = "pgjdbc", "42.7.4", 900
LEFT_OUT_BECAUSE = None if shutil.which("mvn") else "Maven is not installed"
ARTIFACT = f"org.postgresql:postgresql:{VERSION}:tar.gz:jdbc-src"
SETTINGS = """server=127.0.0.1
port={port}
database=test
username=test
password=test
privilegedUser=postgres
privilegedPassword=
preparethreshold=5
protocolVersion=0
"""
TESTS = ["org/postgresql/test/jdbc2/**", "org/postgresql/test/jdbc3/**", "org/postgresql/test/jdbc4/**", "org/postgresql/test/jdbc42/**"]
# What takes the longest, and what measures time.
LEFT_OUT = ["QuotationTest", "LoginTimeoutTest", "PreparedStatement64KBindsTest", "CopyLargeFileTest", "TypeCacheDLLStressTest", "DatabaseEncodingTest",
            "ConnectionValidTimeoutTest", "SocketTimeoutTest", "StatementTest"]


def source(folder):
    return folder / f"postgresql-{VERSION}-jdbc-src"


def install(folder):
    sh("mvn", "-q", "-B", "dependency:copy", f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={folder}", cwd=folder)
    sh("tar", "xzf", folder / f"postgresql-{VERSION}-jdbc-src.tar.gz", "-C", folder)
    sh("mvn", "-q", "-B", "test-compile", cwd=source(folder))


def run(job):
    if job.kind == "postgresql":
        job.statements("CREATE ROLE test SUPERUSER LOGIN")
    job.statements("CREATE DATABASE test")
    (source(job.folder) / "build.properties").write_text(SETTINGS.format(port=job.port))
    reports = source(job.folder) / "target/surefire-reports"
    shutil.rmtree(reports, ignore_errors=True)
    job.execute("mvn", "-q", "-B", "surefire:test", "-Dtest=" + ",".join([*TESTS, *("!" + name for name in LEFT_OUT)]), cwd=source(job.folder))
    for report in sorted(reports.glob("TEST-*.xml")):
        read(job, report)


def read(job, report):
    """Tells the results of one class. Of a test that is run in several ways, each counts by its number."""
    seen = {}
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        # Where a class cannot be prepared, its own name stands for all of its tests.
        parts = [case.get("classname"), case.get("name")]
        test = ".".join(dict.fromkeys(part for part in parts if part)).removeprefix("org.postgresql.test.")
        seen[test] = seen.get(test, 0) + 1
        test += f"[{seen[test]}]" if seen[test] > 1 else ""
        wrong = next((part for part in case if part.tag in ("failure", "error")), None)
        if wrong is not None:
            lines = [line.strip() for line in (wrong.get("message") or wrong.text or "").splitlines() if line.strip()]
            kind = (wrong.get("type") or "").rsplit(".", 1)[-1]
            job.tell(test, "failed", re.sub(r"@[0-9a-f]{6,}", "@…", f"{kind}: {lines[0] if lines else ''}"))
        else:
            job.tell(test, "skipped" if case.find("skipped") is not None else "passed")
