#!/usr/bin/env python3
"""Same statements to Dogwood and to PostgreSQL 15: same rows, same types, same class of error.

    corpus/*.sql    written by hand, a folder of features; *.answers beside them are PostgreSQL's, for where it is not installed
    random          seeded: tables with NULLs, joins, predicates, aggregates, set operations, changes
    operators       seeded: expressions over bits, addresses of interfaces and money
    lists           seeded: long lists of literals, in rows and cast
    semantics       seeded: whole rows of outer joins, types of expressions, scopes of aggregates, kept orders, volatile calls
    corpus/refused  what Dogwood answers 0A000 to, and nothing else
    corpus/intended the differences that we mean, each with its reason; one that is gone fails the check

    sql_oracle.py [--only NAME] [--seed N] [--count N] [--verbose] [--record]

What is random needs PostgreSQL. Where it is installed, the recorded answers are held to it, and `--record` writes them anew.

Rows are compared as bags unless the statement ends in an ORDER BY. What only reads is run three times: from the third time on
it is known by its shape, and its literals are parameters. DOGWOOD names the binary.
"""

import argparse
import importlib
import re
import sys
import time

from harness.compared import Dogwood, Wire, left_out, postgres_if_there
from harness.corpus import CORPUS, ordered, statements
from harness.recorded import Recorded, Recording

OWN_OIDS = 16384
# Files whose errors are compared with their SQLSTATE, message, detail and hint; of others, the class of error.
WORD_FOR_WORD = ("11_settings", "17_schemas", "18_row_values", "19_with_writes", "20_merge", "21_temporary", "22_temporary_transactions", "42_writing_views", "44_rows_from", "47_view_defaults",
                 "28_jsonpath", "52_bits", "64_created_ranges", "53_mac_addresses", "54_money")
# What random statements may be refused for; PostgreSQL does not see those statements.
REFUSED = ("a subquery in the condition of FULL JOIN", "a change that view")


def same(sql, ours, theirs, where=""):
    loosely = where == "random"
    if ours.error or theirs.error:
        if not (ours.error and theirs.error):
            return False
        if where in WORD_FOR_WORD:
            return ours.error == theirs.error and ours.said == theirs.said
        return ours.error[:2] == theirs.error[:2]
    if ours.names != theirs.names or ours.tag != theirs.tag:
        return False
    if any(a != b and (a < OWN_OIDS or b < OWN_OIDS) for a, b in zip(ours.types, theirs.types)):
        return False
    if loosely:
        ours_rows, theirs_rows = shortened(ours), shortened(theirs)
    else:
        ours_rows, theirs_rows = ours.rows, theirs.rows
    key = lambda row: tuple((value is not None, value or b"") for value in row)  # noqa: E731
    if ordered(sql):
        return ours_rows == theirs_rows
    return sorted(ours_rows, key=key) == sorted(theirs_rows, key=key)


def only_reads(sql):
    """Whether a statement gives the same however often it is run."""
    return re.match(r"select\b", sql, re.I) and not re.search(
        r"nextval|currval|setval|lastval|random|now\(|current_|clock|timestamp\(\)|sleep|uuid|set_config|\binto\b|txid|backend|stat|for (no key )?(update|share)", sql, re.I)


def shortened(answer):
    """Rows whose numerics have no zeros at their end: which of two equal ones a DISTINCT keeps is open."""
    numeric = [oid == 1700 for oid in answer.types]
    short = lambda value: value.rstrip(b"0").rstrip(b".") if value and b"." in value else value  # noqa: E731
    return [tuple(short(v) if is_numeric else v for v, is_numeric in zip(row, numeric)) for row in answer.rows]


def intended():
    """Statement → why it differs."""
    found, reason = {}, ""
    path = CORPUS / "intended"
    for line in path.read_text().split("\n") if path.exists() else []:
        if line.startswith("# "):
            reason = line[2:]
        elif line.strip():
            found[line.strip()] = reason
    return found


class Check:
    def __init__(self, dogwood, postgres, verbose):
        self.server = dogwood
        self.ours, self.theirs = Wire(dogwood.dsn), Wire(postgres.dsn) if postgres else None
        self.postgres = self.theirs
        self.passed, self.failed, self.refused, self.differences = 0, 0, 0, 0
        self.verbose, self.intended, self.used = verbose, intended(), set()

    def one(self, sql, data=None, where=""):
        flat = " ".join(sql.split())
        began = time.time()
        ours = self.ours.run(sql, data)
        took = time.time() - began
        if where == "random" and ours.error == "0A000" and any(known in ours.message for known in REFUSED):
            self.refused += 1
            if self.ours.in_failed_transaction():
                self.theirs.run("SELECT 1/0")
            return True
        theirs = self.theirs.run(sql, data)
        if same(sql, ours, theirs, where):
            if only_reads(sql) and not self.ours.in_failed_transaction() and not self.again(sql, theirs, where):
                return False
            self.passed += 1
            if took > 3:
                print(f"SLOW  {where}: {took:.1f} s: {flat[:300]}")
            return True
        if flat in self.intended:
            self.used.add(flat)
            self.differences += 1
            return False
        self.failed += 1
        kind = "REFUSED" if ours.error == "0A000" else "DIFFERS"
        print(f"{kind} {where}: {flat[:1200]}\n    dogwood  {ours!r}\n    postgres {theirs!r}", flush=True)
        if not self.server.alive():
            print("dogwood ended:\n" + self.server.log.read_text(errors="replace")[-4000:])
            sys.exit(1)
        return False

    def again(self, sql, theirs, where):
        """Whether the statement has the same answer a second and a third time."""
        for _ in range(2):
            ours = self.ours.run(sql)
            if not same(sql, ours, theirs, where):
                self.failed += 1
                print(f"DIFFERS again {where}: {sql[:1200]}\n    dogwood  {ours!r}\n    postgres {theirs!r}", flush=True)
                return False
        return True

    def corpus(self, only, record):
        """The files in their order: a later one may stand on the tables of those before it, which are therefore made also where only it is wanted."""
        paths = sorted(CORPUS.glob("*.sql"))
        wanted = [path for path in paths if only in path.stem]
        for path in paths[:paths.index(wanted[-1]) + 1] if wanted else []:
            if path not in wanted:
                for sql, data in statements(path.read_text()):
                    for connection in filter(None, (self.ours, self.postgres)):
                        connection.run(sql, data)
                continue
            recording = Recording(path.with_suffix(".answers"), self.postgres is not None, record)
            self.theirs = Recorded(recording, self.postgres, ordered)
            for sql, data in statements(path.read_text()):
                self.one(sql, data, path.stem)
            self.failed += recording.close()
        self.theirs = self.postgres
        for sql in [] if only else (CORPUS / "refused").read_text().split("\n"):
            if not sql or sql.startswith("#"):
                continue
            ours = self.ours.run(sql)
            self.passed += ours.error == "0A000"
            self.failed += ours.error != "0A000"
            if ours.error != "0A000":
                print(f"NOT REFUSED: {sql}\n    dogwood {ours!r}")
        for sql in set() if only else set(self.intended) - self.used:
            self.failed += 1
            print(f"GONE  an intended difference is none any more: {sql}")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--only", default="")
    arguments.add_argument("--seed", type=int, default=15)
    arguments.add_argument("--count", type=int, default=3000)
    arguments.add_argument("--seconds", type=int, default=120)
    arguments.add_argument("--verbose", action="store_true")
    arguments.add_argument("--record", action="store_true")
    options = arguments.parse_args()
    with Dogwood() as dogwood, postgres_if_there() as postgres:
        check = Check(dogwood, postgres, options.verbose)
        check.corpus(options.only, options.record)
        for kind, share in (("random", 1), ("semantics", 3), ("lists", 40), ("operators", 3)):
            if options.only and options.only != kind:
                continue
            if not postgres:
                left_out(f"random statements ({kind})")
                continue
            for connection in (check.ours, check.theirs):
                connection.run("ROLLBACK")
            source, began = importlib.import_module(f"support.random_{'sql' if kind == 'random' else kind}"), time.time()
            for sql in source.Random(options.seed).statements(options.count // share):
                if check.failed > 60 or time.time() - began > options.seconds / min(share, 3):
                    break
                check.one(sql, where=kind)
        log = dogwood.log.read_text(errors="replace")
        panics = log.count("internal error")
        if panics:
            print(f"{panics} internal errors in the server's log:\n" + "\n".join(sorted(set(
                line for line in log.split("\n") if "internal error" in line))))
        print(f"{check.passed} passed, {check.failed + panics} failed "
              f"({check.refused} random ones refused; {check.differences} intended differences)")
        return 1 if check.failed + panics else 0


if __name__ == "__main__":
    sys.exit(main())
