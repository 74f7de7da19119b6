#!/usr/bin/env python3
"""`dogwood report`: the registers as a page, as tables and as JSON-LD, of a running server and of a stopped one's folder.

Names and values are such as would be tags, formulas or quotes where they are not text. Each table of each form is held against what the
relations give. DOGWOOD names the binary.
"""

import csv
import datetime
import html.parser
import io
import json
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import xml.etree.ElementTree

from harness import BINARY, Server, Tally, rows

EVIL = """<script>alert('1')</script>&amp;"]]>"""
SCHEMA = """
CREATE DATA_SUBJECT TABLE people (id int PRIMARY KEY, name text);
CREATE TABLE "<img src=x onerror=alert(1)>&" (id int PRIMARY KEY, "a""<b" int NOT NULL OWNED_BY people(id), kind text CATEGORY,
    allowed text[] PURPOSES, from_whom text ORIGIN, shared text SHARED_WITH, region text REGION, until timestamptz EXPIRES);
CREATE TABLE notes (id int PRIMARY KEY, writer int OWNED_BY people(id), reader int ACCESSED_BY people(id), parent int OWNED_BY notes(id));
CREATE TABLE world (id int PRIMARY KEY, note int REFERENCES notes(id) ON DELETE CASCADE);
CREATE SCHEMA s; CREATE TABLE s.things (id int PRIMARY KEY, email text);
CREATE PURPOSE ads; CREATE PURPOSE "<b>";
CREATE ROLE "ag<en>cy" IN ROLE dogwood_processor; GRANT PURPOSE ads TO "ag<en>cy"; GRANT SELECT ON notes TO "ag<en>cy";
INSERT INTO people SELECT n, 'n' || n FROM generate_series(1, 5) n;
INSERT INTO notes VALUES (1, 1, 2, NULL), (2, 2, 1, 1);
"""
SECTIONS = {
    "dogwood.processing_activities": "SELECT * FROM dogwood.processing_activities",
    "dogwood.data_map": "SELECT * FROM dogwood.data_map",
    "dogwood.inventory": "SELECT * FROM dogwood.inventory",
    "dogwood.retention_schedule": "SELECT * FROM dogwood.retention_schedule",
    "dogwood.impact_assessment": "SELECT * FROM dogwood.impact_assessment",
    "dogwood.purposes": "SELECT * FROM dogwood.purposes",
    "dogwood.properties": "SELECT * FROM dogwood.properties",
    "dogwood.features": "SELECT * FROM dogwood.features ORDER BY feature",
    "dogwood.notices": "SELECT recipient, happened, count(*), sum(rows)::bigint, min(happened_at) FROM dogwood.notices WHERE told_at IS NULL GROUP BY 1, 2 ORDER BY 1, 2",
    "dogwood.erasures": "SELECT count(*), count(receipt_number), max(erased_at), count(*) FILTER (WHERE pending IS NOT NULL) FROM dogwood.erasures",
    "EXPLAIN COMPLIANCE": "EXPLAIN COMPLIANCE",
}
VOID = {"meta", "br", "path", "rect"}


def shown(value):
    """A value as the report has it."""
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    if isinstance(value, datetime.datetime):
        return re.sub(r"\.?0*\+00$", "+00", value.astimezone(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f+00"))
    return {None: "", True: "yes", False: "no"}.get(value, str(value)) if value is None or isinstance(value, bool) else str(value)


class Page(html.parser.HTMLParser):
    """A page's elements, its tables, and whatever it would fetch or run."""

    def __init__(self, text):
        super().__init__()
        self.open, self.wrong, self.tags, self.tables, self.headings = [], [], [], [], []
        self.feed(text)
        self.close()
        self.wrong += self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.wrong += [(tag, name) for name, value in attributes if name.startswith("on") or name in ("src", "href") and not (value or "").startswith("#")]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag == "h2":
            self.headings.append("")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data
        if "h2" in self.open:
            self.headings[-1] += data


class Reports:
    def __init__(self):
        self.tally = Tally()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dogwood-check-"))
        self.server = Server(data=str(self.folder / "data"))

    def run(self):
        try:
            self.server.start()
            with self.server.connect() as one:
                one.execute(SCHEMA)
                one.cursor().executemany('INSERT INTO "<img src=x onerror=alert(1)>&" VALUES (%s, %s, %s, %s, %s, %s, %s, %s)', [
                    (1, 1, "health, <i>bad</i>", ["ads", EVIL], EVIL, "=cmd|' /C calc'!A0,b\"c", "eu", None),
                    (2, 2, "# not a heading", ["ads"], "line\nbreak", "", "us", datetime.datetime(2100, 5, 1, tzinfo=datetime.timezone.utc)), (3, 3, None, None, None, None, None, None)])
                one.execute('UPDATE "<img src=x onerror=alert(1)>&" SET kind = kind, "a""<b" = 3 WHERE id = 1')
                one.execute("GDPR FORGET people 5")
            for case in (self.tables, self.page, self.json_ld, self.refused, self.left, self.other_database, self.stopped):
                self.tally.case(case)
        finally:
            self.server.kill()
            shutil.rmtree(self.folder, ignore_errors=True)
        self.tally.end()

    def reported(self, form, *arguments, file="-", data=None):
        done = subprocess.run([BINARY, "report", "--data", data or self.server.data, f"--{form}", *arguments, str(file)], capture_output=True, timeout=60)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def report(self, form, *arguments):
        status, said, error = self.reported(form, *arguments)
        self.tally.equal((status, error), (0, ""), f"report --{form}")
        return said

    def expected(self):
        with self.server.connect() as one:
            found = {section: [[shown(value) for value in row] for row in rows(one, query)] for section, query in SECTIONS.items()}
        found["EXPLAIN COMPLIANCE"] = [row for row in found["EXPLAIN COMPLIANCE"] if row[0] != "info"]
        return found

    def sections(self, text):
        """The tables of the CSV form: by name, columns and rows."""
        found, name = {}, None
        text = text.split("\r\n\r\n", 1)[1]
        for line in csv.reader(io.StringIO(text, newline="")):
            if line and line[0].startswith("# ") and name is None:
                name = line[0][2:]
                found[name] = []
            elif not line:
                name = None
            else:
                found[name].append(line)
        return found

    def tables(self):
        found, expected = self.sections(self.report("csv")), self.expected()
        self.tally.equal(list(found), list(expected), "all tables are there")
        for name, lines in found.items():
            self.tally.equal(lines[1:], expected[name], f"{name} as CSV")
        file = self.folder / "out.csv"
        self.tally.equal(self.reported("csv", file=file)[0], 0, "into a file")
        self.tally.that(file.read_bytes().startswith(b"# database"), "which has it")

    def page(self):
        text, expected = self.report("html"), self.expected()
        page = Page(text)
        self.tally.equal(page.wrong, [], "tags close, and nothing is fetched or run")
        self.tally.that(not {"script", "img", "iframe", "link", "object", "form", "i", "b"} & set(page.tags), "nothing that was said is a tag", set(page.tags))
        self.tally.that("http:" not in text and "https:" not in text and "url(" not in text.replace("url(#tip)", ""), "no address is in it")
        shown_tables = iter(page.tables)
        for name, lines in expected.items():
            if lines:
                self.tally.equal(next(shown_tables)[1:], lines, f"{name} on the page")
        self.tally.equal(list(shown_tables), [], "and no other table")
        self.tally.equal(len(page.headings), len(expected) + 1, "headings")
        drawing = xml.etree.ElementTree.fromstring(re.search(r"<svg.*</svg>", text, re.S).group())
        titles = [title.text for title in drawing.iter("title")]
        self.tally.equal(len([*drawing.iter("rect")]), 5, "each table is drawn")
        self.tally.equal(sum("→" in title for title in titles), 5, "and each foreign key")
        self.tally.that('<img src=x onerror=alert(1)>& a"<b OWNED_BY → people' in titles, "by its name", titles)
        self.tally.that(all(float(box.get("x")) + float(box.get("width")) <= float(drawing.get("width")) for box in drawing.iter("rect")), "within its frame")
        places = [(box.get("x"), box.get("y")) for box in drawing.iter("rect")]
        self.tally.equal(len(set(places)), len(places), "no table over another")

    def json_ld(self):
        document, activities = json.loads(self.report("jsonld")), self.expected()["dogwood.processing_activities"]
        processes = document["dpv:hasPersonalDataProcess"]
        self.tally.equal([process.get("dpv:hasPurpose", {}).get("skos:prefLabel", "") for process in processes], [row[0] for row in activities], "a process for each activity")
        self.tally.equal(document["@context"]["dpv"], "https://w3id.org/dpv#", "its vocabulary")
        prefixes = {key.split(":")[0] for item in [document, *processes] for key in item if ":" in key}
        self.tally.that(prefixes <= set(document["@context"]), "every prefix is declared", prefixes)
        labels = lambda process, key: [concept["skos:prefLabel"] for concept in process.get(key, [])]
        ads = next(process for process in processes if process.get("dpv:hasPurpose", {}).get("skos:prefLabel") == "ads" and "dct:source" in process)
        self.tally.equal((labels(ads, "dpv:hasDataSubject"), labels(ads, "dpv:hasLocation"), ads["dogwood:rowCount"], ads["dogwood:grantedTo"]),
                         (["people"], ["eu", "us"], 2, ["ag<en>cy"]), "what it is about")
        self.tally.equal(ads["dpv:hasStorageCondition"]["skos:prefLabel"], "EXPIRES until", "how long it is kept")

    def refused(self):
        (self.folder / "empty").mkdir()
        for form, arguments, options, status, said in (
                ("pdf", [], {}, 2, "unknown option"), ("html", ["--csv"], {}, 2, "given twice"), ("html", ["--database", "nix"], {}, 1, "3D000"),
                ("html", ["--database", "a\nb"], {}, 1, "line break"), ("html", [], {"file": "/nowhere/x"}, 1, "could not write"),
                ("html", [], {"data": "/nowhere"}, 1, "no data folder"), ("html", [], {"data": str(self.folder / "empty")}, 1, "no data folder")):
            got, _, error = self.reported(form, *arguments, **options)
            self.tally.that((got, said in error) == (status, True), f"report --{form} {arguments} {options}", (got, error))
        self.tally.equal(list((self.folder / "empty").iterdir()), [], "a folder that is none stays empty")

    def left(self):
        """Who asks leaves; the server goes on."""
        with self.server.connect() as one:
            one.execute("INSERT INTO notes SELECT n, 1 + n % 4, NULL, NULL FROM generate_series(100, 30000) n")
        for pause in (0, 0.005, 0.02, 0.05, 0.1):
            process = subprocess.Popen([BINARY, "report", "--data", self.server.data, "--html", "-"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(pause)
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.tally.that("public,notes,,,29903," in self.report("csv"), "the next is answered")
        with self.server.connect() as one:
            one.execute("DELETE FROM notes WHERE id >= 100")
            found = rows(one, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dogwood report'")
        self.tally.equal(found, [(0,)], "no session of theirs is left")

    def other_database(self):
        with self.server.connect() as one:
            one.execute("CREATE DATABASE elsewhere")
        with self.server.connect(dbname="elsewhere") as one:
            one.execute("CREATE DATA_SUBJECT TABLE citizens (id int PRIMARY KEY)")
        found = self.sections(self.report("csv", "--database", "elsewhere"))
        self.tally.equal([row[1] for row in found["dogwood.data_map"][1:]], ["citizens"], "of another database")

    def stopped(self):
        until = time.monotonic() + 30
        with self.server.connect() as one:
            while rows(one, "SELECT count(*) FROM dogwood.erasures WHERE pending IS NOT NULL") != [(0,)] and time.monotonic() < until:
                time.sleep(0.2)
        without_time = lambda text: re.sub(r"\d{4}-\d\d-\d\d [\d:.]+\+00", "…", text)
        running = {form: without_time(self.report(form)) for form in ("html", "csv", "jsonld")}
        self.tally.equal(self.server.stop(), 0, "SIGTERM")
        for form, text in running.items():
            self.tally.equal(without_time(self.report(form)), text, f"--{form} of a stopped server's folder is the same")
        self.tally.clean(self.server, "afterwards")


if __name__ == "__main__":
    Reports().run()
