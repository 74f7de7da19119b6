#!/usr/bin/env python3
"""Regular expressions: random ones and odd ones, over short texts, with the same answers and the same complaints as PostgreSQL 15.

    regular.py [--seed N] [--count N] [--record]

The odd ones over texts of their own are fixed: `corpus/regular.answers` has PostgreSQL's answers, for where it is not installed.

What is compared: whether there is a match, the groups of all matches, replacement, splitting, counting. Groups that a back reference names
are never empty: PostgreSQL does not look for such a match at the very end of a text. DOGWOOD names the binary.
"""

import argparse
import pathlib
import random
import sys

from harness.compared import Dogwood, Wire, left_out, postgres_if_there
from harness.recorded import Recorded, Recording

ODD = [
    "a{", "a{1", "a{1,", "a{,2}", "a{x", "a{256}", "a**", "*a", "a|*", "(", "a)", "(a", "[", "[a", "[a-", "[b-a]", "[a-b-c]", "[[:foo:]]",
    "[[.foo.]]", "[[.hyphen.]]", "\\", "\\q", "\\x41", "\\x4", "\\u0041", "\\U00000041", "\\cA", "\\101", "\\08", "\\7", "\\12", "()", "(|a)",
    "a||b", "(?:)", "(?a)", "(?ia)", "(?i)A", "(?x)a b # c", "***=a.b", "***:a", "***a", "(?#c)a", "a(?#c)*", "(?=", "(?=a)*", "(?", "(?<",
    "(?<a)", "$a", "a^", "^*", "[]", "[^]", "[]]", "[^]a]", "[a\\]b]", "[\\]]", "[\\d]", "[^\\D]", "[\\q]", "[--a]", "[a--]", "[%--]", "]",
    "}", "{", "{1}", "a{1}{2}", "\\A*", "x{0}", "(x){0}\\1", "\\1(a)", "(a\\1)", "(?=(a)\\1)", "[[:<:]a]", "[a[:<:]]", "\\Y\\y",
    "(?b)a\\(b\\)", "(?e)a\\w", "(?q)a.", "(?n)^a.$", "(?p)a.b", "(?w)^b$", "[[=b=]]", "(?i)[b-d]", "[[:word:]]+", "(?s).", "a{2}?",
    "(a|ab)(c|bcd)(d*)", "(?i)(a)\\1", "a\\{1,2\\}", "\\(a\\)\\1", "*b", "\\(*a\\)", "a\\|b", "o|oo", "foo(?!bar)", "(?<!a)b", "(?<=a|b)c",
]
ANSWERS = pathlib.Path(__file__).parent / "corpus/regular.answers"
FLAGS = ["", "", "", "i", "n", "x", "q", "e", "b", "p", "w", "ix", "qi", "qx", "qn", "c", "s", "t", "m", "bi", "ex", "be", "g", "z"]


class Expressions:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.groups = 0

    def next(self):
        """(flags, pattern, text)"""
        choose = self.random
        self.groups = 0
        if choose.random() < 0.1:
            pattern = choose.choice(["", "", "", "a", "(b)"]) + choose.choice(ODD) + choose.choice(["", "", "", "a", "b*"])
            flags = choose.choice(FLAGS)
        else:
            pattern, flags = self.alternatives(choose.choice([1, 2, 3])), choose.choice(["", "", "", "", "i", "n", "x"])
        letters = choose.choice(["ab", "ab", "aabbc", "aAbB c\n x_1"])
        return flags, pattern, "".join(choose.choice(letters) for _ in range(choose.choice([0, 1, 2, 3, 4, 5, 6, 8, 12])))

    def alternatives(self, depth):
        return "|".join(self.branch(depth) for _ in range(self.random.choice([1, 1, 1, 2, 2, 3])))

    def branch(self, depth):
        parts = []
        for _ in range(self.random.choice([0, 1, 1, 2, 2, 3, 4])):
            if self.random.random() < 0.07:
                parts.append(self.random.choice([
                    "^", "$", r"\m", r"\M", r"\y", r"\Y", r"\A", r"\Z", "(?=a)", "(?!b)", "(?<=a)", "(?<!b)", "(?=a|b$)", "(?<=^a*)",
                    "[[:<:]]", "[[:>:]]", "(?=(a)b)", "(?!.*b)"]))
                continue
            parts.append(self.atom(depth))
            if self.random.random() < 0.45:
                parts.append(self.random.choice([
                    "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{1,}", "{2,}?", "{1}", "{1,1}?", "{1}?", "{0}", "{1,1}",
                    "{0,1}", "{3}", "{2,1}"]))
        return "".join(parts)

    def atom(self, depth):
        kind = self.random.random()
        if kind < 0.45:
            return self.random.choice("aabbc.xA")
        if kind < 0.53:
            return self.random.choice([
                "[ab]", "[^a]", "[a-c]", "[[:alpha:]]", r"\w", r"\d", r"\s", "[^[:upper:]b]", "[]a]", "[a-]", r"[\w-]", r"\n", "[[.a.]]"])
        if kind < 0.60 and self.groups:
            return f"\\{self.random.randint(1, self.groups)}"
        if depth <= 0:
            return self.random.choice("ab")
        if kind < 0.82:
            inner = self.alternatives(depth - 1)
            self.groups += 1
            return f"({inner})"
        return f"(?:{self.alternatives(depth - 1)})" if kind < 0.95 else self.random.choice(["ab", "ba", "aa"])


def literal(text):
    return "E'" + text.replace("\\", "\\\\").replace("'", "''").replace("\n", "\\n") + "'"


def statements(flags, pattern, text):
    """The ways to ask."""
    text, pattern, flags = literal(text), literal(pattern), flags.replace("g", "")
    yield f"SELECT regexp_matches({text}, {pattern}, '{flags}g')"
    if flags == "":
        yield f"SELECT {text} ~ {pattern}, substring({text} FROM {pattern}), regexp_count({text}, {pattern})"
        yield f"SELECT regexp_replace({text}, {pattern}, '<\\&,\\1>', 'g'), regexp_replace({text}, {pattern}, '-'), regexp_split_to_array({text}, {pattern})"
        yield f"SELECT regexp_instr({text}, {pattern}, 1, 2, 1), regexp_substr({text}, {pattern}, 1, 1, '', 1), regexp_replace({text}, {pattern}, '+', 2, 2)"


def odd_ones():
    """What is asked in every run, also where PostgreSQL is not installed."""
    for text in ("", "abcA-1 b\n(a)a.b"):
        for pattern in ODD:
            yield from statements("", pattern, text)
    for number, pattern in enumerate(ODD):
        flags = FLAGS[number % len(FLAGS)]
        if flags:
            yield from statements(flags, pattern, "AbA\nb a\\{x")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seed", type=int, default=15)
    arguments.add_argument("--count", type=int, default=1500)
    arguments.add_argument("--record", action="store_true")
    options = arguments.parse_args()
    passed, failed = 0, 0
    with Dogwood() as dogwood, postgres_if_there() as postgres:
        ours, theirs = Wire(dogwood.dsn), Wire(postgres.dsn) if postgres else None
        recording = Recording(ANSWERS, postgres is not None, options.record)
        asked = [(sql, Recorded(recording, theirs)) for sql in odd_ones()]
        source = Expressions(options.seed)
        for _ in range(options.count if postgres else 0):
            asked += [(sql, theirs) for sql in statements(*source.next())]
        for sql, oracle in asked:
            one, other = ours.run(sql), oracle.run(sql)
            if (one.error, one.rows) == (other.error, other.rows) and one.said[:1] == other.said[:1]:
                passed += 1
            else:
                failed += 1
                print(f"DIFFERS {sql}\n    dogwood  {one!r}\n    postgres {other!r}", flush=True)
        failed += recording.close()
        if not postgres:
            left_out("random regular expressions")
    print(f"{passed} passed, {failed} failed (seed {options.seed})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
