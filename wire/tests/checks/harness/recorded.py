"""PostgreSQL's answers, in files. A check compares Dogwood with these; where PostgreSQL is installed it is asked too, so that what a
file says is what PostgreSQL says. `--record` writes them anew.

    > SELECT a, b FROM t        what was asked, in one line; of a long one the beginning and a digest
    :a 23|b 25                  the columns, with the OIDs of their types
    |1	x                       rows as COPY writes them, sorted where the question leaves their order open
    =SELECT 1                   the tag; or the SQLSTATE and the message of an error, its detail, its hint
    !22012 division by zero

What differs from run to run is not recorded: OIDs of what was made meanwhile are all the first one, and a moment or a random number that
an error shows is `…`.
"""
import hashlib
import re

from .compared import Answer

FIRST_OWN_OID = 16384
QUESTION_MAX = 120
# In the detail of an error, which shows whole rows.
PASSING = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+(?:\+\d\d)?|\b0\.\d{10,}")
ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\v": "\\v", "\f": "\\f", "\x85": "\\x85", "\u2028": "\\u2028", "\u2029": "\\u2029"}
UNESCAPES = {escaped: plain for plain, escaped in ESCAPES.items()}


class Recording:
    """The answers of one file, each given once, in their order. `asks` says whether PostgreSQL answers too, `writes` whether it is recorded."""

    def __init__(self, path, asks, writes=False):
        self.path, self.asks, self.writes = path, asks, writes
        self.kept, self.given, self.stale = {}, [], []
        if path.exists():
            for question, lines in entries(path.read_text()):
                self.kept.setdefault(question, []).append(lines)

    def lines(self, question, live):
        """The answer, as lines. What PostgreSQL says now, as `live` gives it, goes before what was recorded."""
        question, found = shortened(question), self.kept.get(shortened(question))
        recorded = found.pop(0) if found else None
        if self.asks:
            now = live()
            if not self.writes and recorded != now:
                self.stale.append(f"{question}\n    recorded {recorded}\n    postgres {now}")
            recorded = now
        elif recorded is None:
            self.stale.append(f"{question}\n    is not recorded: give --record where PostgreSQL 15 is installed")
        assert not any(line.startswith("> ") or "\n" in line for line in recorded or []), question
        self.given.append((question, recorded or []))
        return recorded

    def answer(self, sql, live, in_order=True):
        """The answer to a statement; None if nobody knows it."""
        lines = self.lines(sql, lambda: written(live(), in_order))
        return None if lines is None else read(lines)

    def pass_over(self, beginning):
        """Keeps the answers to what begins so, and is not asked this time."""
        for question in [question for question in self.kept if question.startswith(beginning)]:
            self.given += [(question, lines) for lines in self.kept.pop(question)]

    def close(self):
        """Writes the file if that was asked for, and returns how many of its answers were wrong, missing or too many; says which."""
        if self.writes and self.asks:
            self.path.write_text("".join(f"> {question}\n" + "".join(line + "\n" for line in lines) for question, lines in self.given))
        self.stale += [] if self.writes else [f"{question}\n    is not asked any more" for question, left in self.kept.items() for _ in left]
        for one in self.stale:
            print(f"STALE {self.path.name}: {one}", flush=True)
        return len(self.stale)


class Recorded:
    """A connection to PostgreSQL that answers from a recording, in the place of a Wire; of what has no order the rows come sorted."""

    def __init__(self, recording, wire, ordered=lambda sql: True):
        self.recording, self.wire, self.ordered = recording, wire, ordered

    def run(self, sql, copied=None):
        answer = self.recording.answer(sql, lambda: self.wire.run(sql, copied), self.ordered(sql))
        if answer is None:
            answer = Answer()
            answer.error, answer.message = "none", "not recorded"
        return answer


def entries(text):
    """(question, lines) of each."""
    question, lines = None, []
    for line in text.split("\n")[:-1]:
        if line.startswith("> "):
            if question is not None:
                yield question, lines
            question, lines = line[2:], []
        else:
            lines.append(line)
    if question is not None:
        yield question, lines


def shortened(question):
    flat = " ".join(question.split())
    return flat if len(flat) <= QUESTION_MAX else f"{flat[:QUESTION_MAX - 30]} … {hashlib.sha1(flat.encode()).hexdigest()[:10]}"


def escape(text):
    return re.sub("[\\\\\t\n\r\v\f\x85\u2028\u2029]", lambda found: ESCAPES[found.group(0)], text)


def unescape(text):
    return re.sub(r"\\(?:u202[89]|x85|.)", lambda found: UNESCAPES[found.group(0)], text)


def written(answer, in_order):
    """An answer as lines."""
    if answer.error:
        message, detail, hint = answer.said or (answer.message, "", "")
        return [f"!{answer.error} {escape(message)}"] + ([f"!DETAIL {PASSING.sub('…', escape(detail))}"] if detail else []) + ([f"!HINT {escape(hint)}"] if hint else [])
    columns = "|".join(f"{escape(name)} {min(oid, FIRST_OWN_OID)}" for name, oid in zip(answer.names, answer.types))
    rows = ["|" + "\t".join("\\N" if value is None else escape(value.decode(errors="surrogateescape")) for value in row) for row in answer.rows]
    return ([":" + columns] if columns else []) + (rows if in_order else sorted(rows)) + ["=" + answer.tag]


def read(lines):
    """An answer of lines."""
    answer = Answer()
    for line in lines:
        kind, rest = line[:1], line[1:]
        if kind == "!" and not answer.error:
            answer.error, message = rest.split(" ", 1)
            answer.said = (unescape(message), "", "")
            answer.message = "ERROR:  " + answer.said[0].split("\n")[0]
        elif kind == "!":
            part, text = rest.split(" ", 1)
            message, detail, hint = answer.said
            answer.said = (message, unescape(text), hint) if part == "DETAIL" else (message, detail, unescape(text))
        elif kind == ":":
            columns = [column.rsplit(" ", 1) for column in rest.split("|")]
            answer.names, answer.types = [unescape(name) for name, _ in columns], [int(oid) for _, oid in columns]
        elif kind == "|":
            values = rest.split("\t") if answer.names or rest else []
            answer.rows.append(tuple(None if value == "\\N" else unescape(value).encode(errors="surrogateescape") for value in values))
        else:
            answer.tag = rest
    return answer
