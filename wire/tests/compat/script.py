"""A script of psql's: its statements and commands one by one, and what psql said to each.

psql itself reads and runs them, with its variables, `\\gset` and `\\if`. Before each stands an `\\echo` and a `\\warn` of its number,
by which the two outputs are cut. A server that is lost or does not answer costs the statement at which it happened: the next one
begins a new session.
"""
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

MARK = "==== unit "
RECORD = "\x1e"
# Commands that send the statement before them.
SENDS = {"g", "gx", "gset", "gexec", "gdesc", "crosstabview", "watch"}
SETTINGS = f"\\pset format unaligned\n\\pset recordsep '{RECORD}\\n'\n\\set VERBOSITY verbose\n"
QUIET_SECONDS_MAX = 90


class Unit:
    """One statement, or one command of psql's that stands by itself."""

    def __init__(self, text, is_statement, data=None):
        self.text, self.is_statement, self.data = text, is_statement, data
        self.plain = without_comments(text).strip()


class Answer:
    """What psql said to a unit: rows and tags as text, and the errors as (SQLSTATE, message)."""

    def __init__(self, out="", errors=(), lost=""):
        self.out, self.errors, self.lost = out, [tuple(error) for error in errors], lost

    def states(self):
        return [state for state, _ in self.errors] + [self.lost] * bool(self.lost)

    def records(self):
        return self.out.split(RECORD + "\n")


def without_comments(text):
    """The text without comments before its first word, and without those of whole lines."""
    text = re.sub(r"^\s*--.*$", "", text, flags=re.M)
    while True:
        shorter = re.sub(r"^\s*/\*.*?\*/", "", text, flags=re.S)
        if shorter == text:
            return text
        text = shorter


TOKEN = re.compile(r"""
      (?P<comment>--[^\n]*)
    | (?P<block>/\*)
    | (?P<escaped>(?<![A-Za-z0-9_])[eE]'(?:[^'\\]|\\.|'')*')
    | (?P<string>'(?:[^']|'')*')
    | (?P<name>"(?:[^"]|"")*")
    | (?P<dollar>\$(?P<tag>[A-Za-z_\x80-\U0010ffff][\w]*)?\$)
    | (?P<separator>\\;)
    | (?P<command>\\[^\n]*)
    | (?P<word>[A-Za-z_][\w$]*)
    | (?P<other>.)
""", re.X | re.S)


def block_end(text, at):
    """Where the comment ends that begins at `at`: comments nest."""
    depth = 0
    for edge in re.finditer(r"/\*|\*/", text[at:]):
        depth += 1 if edge.group() == "/*" else -1
        if not depth:
            return at + edge.end()
    return len(text)


def split(text):
    """The units of a script, in order."""
    units, at, begin, depth, atomic = [], 0, 0, 0, 0
    while at < len(text):
        token = TOKEN.match(text, at)
        kind, end = token.lastgroup if token.lastgroup != "tag" else "dollar", token.end()
        if token.group("dollar"):
            kind = "dollar"
            close = text.find(token.group("dollar"), end)
            end = len(text) if close < 0 else close + len(token.group("dollar"))
        if kind == "block":
            end = block_end(text, at)
        before = without_comments(text[begin:at]).strip()
        if kind == "word" and re.match(r"create\s+(or\s+replace\s+)?(function|procedure)\b", before, re.I):
            # BEGIN ATOMIC … END holds statements.
            word = token.group().lower()
            atomic += 1 if word == "begin" or (atomic and word == "case") else -1 if atomic and word == "end" else 0
        if kind == "other":
            depth = max(0, depth + {"(": 1, ")": -1}.get(token.group(), 0))
        if kind == "command":
            name = re.match(r"\\(\w*)", token.group()).group(1)
            if not before:
                units.append(Unit(text[at:end], is_statement=False))
                begin = end
            elif name in SENDS:
                units.append(Unit(text[begin:end], is_statement=True))
                begin, depth = end, 0
        elif kind == "other" and token.group() == ";" and not depth and not atomic:
            unit = Unit(text[begin:end], is_statement=True)
            if re.match(r"copy\b.*\bfrom\s+std(in|out)\b", unit.plain, re.I | re.S):
                unit.data, end = data_behind(text, end)
            units.append(unit)
            begin = end
        at = end
    if without_comments(text[begin:]).strip():
        units.append(Unit(text[begin:], is_statement=True))
    return units


def data_behind(text, end):
    """The data that stand behind a COPY, to its `\\.`, and where they end. No data behind one that a server refuses: there stand statements."""
    line = text.find("\n", end) + 1
    closing = re.search(r"^\\\.[ ]*$\n?", text[line:], re.M)
    data = text[line:line + closing.start()] if closing else ""
    if not closing or re.search(r"^\s*(copy|select|create|drop|alter|begin|insert|rollback|commit|\\[a-z]{2,}|\\d|--)(\b|\s)", data, re.I | re.M):
        return "", end
    return data, line + closing.end()


def sent(unit, number, folder):
    """The unit as psql reads it. What a COPY reads stands in a file: where it is refused, its data would be read as statements."""
    if not unit.is_statement and re.match(r"\\set\s+VERBOSITY\b", unit.text):
        return ""
    if unit.data is None:
        return unit.text
    path = pathlib.Path(folder) / f"copied{number}"
    path.write_text(unit.data)
    flat = " ".join(unit.plain.rstrip("; \n").split())
    return re.sub(r"\bfrom\s+std(in|out)\b", lambda _: f"from '{path}'", "\\" + flat.lstrip("\\"), count=1, flags=re.I)


def run(units, environment, program, database):
    """The answers of a server to the units, in order; None for what psql left out."""
    answers, begin = [None] * len(units), 0
    with tempfile.TemporaryDirectory(prefix="psql-script-") as folder:
        folder = pathlib.Path(folder)
        while begin < len(units):
            lines = [SETTINGS]
            for number in range(begin, len(units)):
                lines.append(f"\\echo {MARK}{number}\n\\warn {MARK}{number}\n{sent(units[number], number, folder)}\n")
            lines.append(f"\\echo {MARK}{len(units)}\n\\warn {MARK}{len(units)}\n")
            (folder / "script").write_text("".join(lines))
            ended = session(folder, environment, program, database)
            out, said = (cut((folder / name).read_bytes().decode(errors="replace")) for name in ("out", "err"))
            for number in range(begin, len(units)):
                if number in out or number in said:
                    answers[number] = Answer(out.get(number, ""), errors(said.get(number, "")))
            last = max([number for number in {*out, *said}], default=None)
            if last == len(units):
                break
            # The session ended at the last unit of which anything is known.
            last = begin if last is None else last
            answers[last] = answers[last] or Answer()
            answers[last].lost = ended
            begin = last + 1
    return answers


def session(folder, environment, program, database):
    """psql over the script of the folder. How it ended: "lost", or "hang" where it was stopped."""
    with (folder / "script").open() as script, (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        process = subprocess.Popen([program, "-X", "-d", database], stdin=script, stdout=out, stderr=err, cwd=folder,
                                   env={**os.environ, **environment}, start_new_session=True)
    grown, since = 0, time.monotonic()
    while process.poll() is None:
        size = (folder / "out").stat().st_size + (folder / "err").stat().st_size
        if size != grown:
            grown, since = size, time.monotonic()
        if time.monotonic() - since > QUIET_SECONDS_MAX:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "hang"
        time.sleep(0.02)
    return "lost"


def cut(output):
    """{unit's number: what stands behind its mark}."""
    parts = re.split(rf"^{re.escape(MARK)}(\d+)\n", output, flags=re.M)
    return {int(number): text for number, text in zip(parts[1::2], parts[2::2])}


def errors(said):
    return re.findall(r"^(?:ERROR|FATAL|PANIC):  (\w{5}): (.*)$", said, re.M)
