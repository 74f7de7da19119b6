#!/usr/bin/env python3
"""What the documents say, held to the server: every statement that they show runs, and prints what they show.

    docs.py [--update] [PAGE …]

A page is played from its first line to its last, over an empty database of its own. What is played:

    ```sql            statements, through psql; `sql,NAME` in a second session of that name
    ```sql,any-order  whose rows come in any order
    ```sql,watch      a statement that does not end; a later ```text,watch shows what it has said meanwhile
    ```console        lines that begin with `$ ` are run by bash, the others are what they print
    ```python         a script
    ```text           directly after one of these: what it prints. Elsewhere: a drawing

`…` stands for what differs from run to run: some characters of a line, or, alone on a line, some lines. ```sh is shown only;
the goals of make that it names must be there. `--update` writes what was printed into the pages.

Beside that: links and anchors lead somewhere, every page stands in SUMMARY.md, sentences have at most 25 words, README.md at
most 600, the page of how it is tested names every check, and the pages of settings, relations, SQLSTATEs and commands name exactly what there is.
"""

import argparse
import re
import sys

import harness
from harness import ROOT
from harness.compared import NotHere, left_out, postgres_program
from support import markdown, transcript

SOURCE = ROOT / "docs" / "src"
OTHERS = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "benches/README.md", "benches/apps/README.md"]
# Pages whose sentences are checked: what else stands here is older than the rule.
PROSE_OTHERS = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "benches/README.md"]
WORDS_MAX = 25
README_WORDS_MAX = 600

# What surely differs in the next run: a receipt, a number, a hash, a time.
MASKS = [re.compile(pattern) for pattern in (
    r'(?<=^DETAIL:  \{"receipt":).*(?=\}$)',
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    r"(?:\\x)?[0-9a-f]{24,}",
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?:\+\d\d(?::?\d\d)?|Z)?",
    r"\b8\d{14}\b",
    r"(?<=time=)\d+\.\d+",
    r"\d+\.\d+(?= ms\b)",
)]


def masked(line):
    """The line with `…` for what surely differs; in tables in the same width."""
    in_table = line.startswith(" ")
    for pattern in MASKS:
        line = pattern.sub(lambda found: "…" + " " * (len(found.group(0)) - 1 if in_table else 0), line)
    return line.rstrip()


def fits(shown, printed):
    """Whether a printed line is as shown."""
    if "…" not in shown:
        return shown.rstrip() == printed.rstrip()
    squeeze = lambda text: re.sub(r"[ -]*-[ -]*|\s+", lambda run: "-" if "-" * 4 in run.group(0) else " ", text).strip()  # noqa: E731
    first, *further = squeeze(shown).split("…")
    pattern = re.escape(first) + "".join(r".+?\s*" + re.escape(part.lstrip()) for part in further)
    return re.fullmatch(pattern, squeeze(printed)) is not None


def first_difference(shown, printed):
    """The numbers of the first lines that differ, from 0 (shown, printed); None if there are none."""
    if not shown or not printed:
        return None if shown == printed else (0, 0)
    if shown[0].strip() == "…":
        for skipped in range(1, len(printed) + 1):
            if first_difference(shown[1:], printed[skipped:]) is None:
                return None
        return (0, 0)
    if not fits(shown[0], printed[0]):
        return (0, 0)
    further = first_difference(shown[1:], printed[1:])
    return further and (further[0] + 1, further[1] + 1)


def trimmed(text):
    """The lines of an output, without blank ones at its ends."""
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    return lines


def outputs(pieces):
    """What several statements print, with the statement's line for each printed line."""
    lines, of = [], []
    for line, text in pieces:
        text = trimmed(text)
        if lines and text and (len(text) > 1 or len(lines) > 1) and pieces:
            if lines[-1].endswith("rows)") or lines[-1] == "(1 row)":
                lines.append("")
                of.append(line)
        lines += text
        of += [line] * len(text)
    return lines, of


class Play:
    """One page over one stage."""

    def __init__(self, tally, page, name, update):
        self.tally, self.page, self.name, self.update = tally, page, name, update
        self.changes = []

    def run(self):
        played = ("sql", "console", "python")
        if not any(block.language in played for block in self.page.blocks):
            return
        try:
            postgres_program("psql")
        except NotHere:
            left_out(f"psql, and with it the statements of {self.name}")
            return
        stage = transcript.Stage(sys.executable)
        try:
            for block in self.page.blocks:
                try:
                    self.block(stage, block)
                except transcript.Failure as failure:
                    self.tally.that(False, f"{self.name}:{block.line}", str(failure))
                    break
        finally:
            stage.close()
        if self.update and self.changes:
            self.rewrite()

    def block(self, stage, block):
        if block.language == "sql" and "watch" in block.flags:
            watch = stage.session("watch")
            watch.send("\n".join(block.lines))
            watch.read(10)
        elif block.language == "text" and "watch" in block.flags:
            said = stage.session("watch").watched(None if self.update else len(block.lines))
            self.compare(block, [(block.line, said)], block)
        elif block.language == "sql":
            name = next((flag for flag in block.flags if flag != "any-order"), "one")
            pieces = [(line, stage.sql(name, statement)) for line, statement in transcript.statements(block)]
            self.compare(block, pieces, self.page.output_of(block))
        elif block.language == "python":
            self.compare(block, [(block.line, stage.script("\n".join(block.lines)))], self.page.output_of(block))
        elif block.language == "console":
            self.console(stage, block)

    def compare(self, block, pieces, text):
        printed, of = outputs(pieces)
        shown = [line.rstrip() for line in text.lines] if text else []
        # What ends a row of a list does not belong to it.
        unordered = lambda lines: sorted(line.rstrip(",") for line in lines)  # noqa: E731
        any_order = "any-order" in block.flags
        difference = first_difference(*(unordered(lines) if any_order else lines for lines in (shown, printed)))
        if difference is None:
            self.tally.that(True, self.name)
            return
        if self.update:
            self.changes.append((block, text, [masked(line) for line in printed]))
            return
        at = of[difference[1]] if difference[1] < len(of) else (of[-1] if of else block.line)
        line = text.line + 1 + difference[0] if text else block.end
        self.tally.that(False, f"{self.name}:{at}", self.told(line, shown, printed, difference))

    def told(self, line, shown, printed, difference):
        lines = lambda these, first: "\n".join("    " + text for text in these[first:first + 12]) or "    (nothing more)"  # noqa: E731
        return f"line {line} differs; shown:\n{lines(shown, difference[0])}\n  printed:\n{lines(printed, difference[1])}"

    def console(self, stage, block):
        commands = []
        for offset, line in enumerate(block.lines, 1):
            if line.startswith("$ "):
                commands.append((block.line + offset, line[2:], []))
            elif commands:
                commands[-1][2].append(line.rstrip())
        new = []
        for line, command, shown in commands:
            printed = trimmed(stage.shell(command))
            difference = first_difference(shown, printed)
            new += ["$ " + command] + (shown if difference is None else [masked(text) for text in printed])
            if difference is not None and not self.update:
                self.tally.that(False, f"{self.name}:{line}", self.told(line + 1 + difference[0], shown, printed, difference))
            else:
                self.tally.that(True, self.name)
        if self.update and new != [text.rstrip() for text in block.lines]:
            self.changes.append((None, block, new))

    def rewrite(self):
        lines = list(self.page.lines)
        for block, text, printed in reversed(self.changes):
            if text is not None and printed:
                lines[text.line:text.end - 1] = printed
            elif text is not None:
                lines[text.line - 1:text.end] = []
            else:
                lines[block.end:block.end] = ["", "```text", *printed, "```"]
        self.page.path.write_text("\n".join(lines))
        print(f"{self.name}: {len(self.changes)} outputs written")


LANGUAGES = {"sql", "console", "python", "text", "sh", "ini"}
FLAGS = {"watch", "any-order", "two"}


def check_blocks(tally, pages):
    """Nothing is shown that is not played because its language is written in another way."""
    for name, page in pages.items():
        if not name.startswith("docs/") and name not in PROSE_OTHERS:
            continue
        for block in page.blocks:
            tally.that(block.language in LANGUAGES, f"{name}:{block.line}", f"no language of these pages: {block.language}")
            tally.that(set(block.flags) <= FLAGS, f"{name}:{block.line}", f"no flag of a block: {block.flags}")


def read_pages():
    found = {}
    for path in sorted(SOURCE.rglob("*.md")) + [ROOT / name for name in OTHERS]:
        if path.exists():
            found[str(path.relative_to(ROOT))] = markdown.Page(path, path.read_text())
    return found


# ---- what needs no server

def check_links(tally, pages):
    for name, page in pages.items():
        for line, target in page.links:
            if re.match(r"^[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = (page.path.parent / path).resolve() if path else page.path
            if not tally.that(file.exists(), f"{name}:{line}", f"the link leads nowhere: {target}"):
                continue
            if file.suffix == ".md" and name.startswith("docs/") and not file.is_relative_to(SOURCE):
                tally.that(False, f"{name}:{line}", f"a link out of the book, which its readers do not have: {target}")
            if anchor and file.suffix == ".md":
                linked = pages.get(str(file.relative_to(ROOT))) or markdown.Page(file, file.read_text())
                tally.that(anchor in linked.anchors, f"{name}:{line}", f"no heading makes this anchor: {target}")


def check_summary(tally, pages):
    listed = {str((SOURCE / target).resolve().relative_to(ROOT)) for _, target in pages["docs/src/SUMMARY.md"].links}
    there = {name for name in pages if name.startswith("docs/src/")} - {"docs/src/SUMMARY.md"}
    tally.equal(sorted(there - listed), [], "every page stands in SUMMARY.md")


def check_prose(tally, pages):
    for name, page in pages.items():
        if name.startswith("docs/") or name in PROSE_OTHERS:
            for line, count, begin in markdown.long_sentences(page, WORDS_MAX):
                tally.that(False, f"{name}:{line}", f"a sentence of {count} words: {begin} …")
            tally.that(True, name)
    readme = pages["README.md"]
    count = sum(markdown.words(line) for line in readme.lines)
    tally.that(count <= README_WORDS_MAX, "README.md", f"{count} words, {README_WORDS_MAX} at most")


def check_checks(tally, pages):
    """Every check stands in the page of how it is tested."""
    name = "docs/src/inside/testing.md"
    named = set(re.findall(r"`(\w+\.py)`", "\n".join(pages[name].lines)))
    there = {path.name for path in ROOT.glob("*/tests/checks/*.py") if re.search("run_check|__main__", path.read_text())}
    tally.equal(sorted(there - named), [], f"{name} names every check")
    tally.equal(sorted(named - there), [], f"{name} names only checks that are there")


def check_goals(tally, pages):
    goals = set(re.findall(r"^([a-z][a-z -]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    goals = {goal for line in goals for goal in line.split()} | {"bench-" + name for name in
                                                               "votes owncloud lobsters sar ycsb gdprbench memory".split()}
    for name, page in pages.items():
        for number, line in enumerate(page.lines, 1):
            for goal in re.findall(r"(?:^|`)make ([a-z-]+)", line):
                tally.that(goal in goals, f"{name}:{number}", f"there is no goal {goal} in the Makefile")


def named(page, heading=None):
    """What stands as code in the first column of a page's tables, with its line; below one heading if it is named."""
    begin, end = 0, len(page.lines) + 1
    if heading is not None:
        begin = page.lines.index(heading) + 1
        end = next((number for number in range(begin + 1, end) if re.match(r"^#{1,3} ", page.lines[number - 1])), end)
    found = {}
    for table in page.tables:
        for line, row in table[2:]:
            if begin <= line < end:
                for name in re.findall(r"`([^`]+)`", row[0]):
                    found.setdefault(name, (line, row))
    return found


def same(tally, page, name, documented, there, what):
    """Two sets of names are equal; what is documented and gone has its line."""
    for missing in sorted(set(there) - set(documented)):
        tally.that(False, name, f"{what} {missing} is not documented")
    for gone in sorted(set(documented) - set(there)):
        tally.that(False, f"{name}:{documented[gone][0]}", f"there is no {what} {gone}")
    tally.that(bool(documented), name, f"it documents no {what}")


SQLSTATE = re.compile(r'"((?:0[0-9A-Z]|2[0-9BDF]|3[0-9BDF]|4[0-9][0-9A-Z]?|5[0-9]|DG|XX|P0|HV|F0|72)[0-9A-Z]{2,3})"')


def sqlstates():
    """Every SQLSTATE that stands in the sources, tests left out."""
    found = set()
    for room in ("planner/src", "engine", "wire/src", "storage"):
        for path in sorted((ROOT / room).rglob("*.rs")):
            if "tests" in path.parts or path.name == "tests.rs" or "target" in path.parts:
                continue
            # All that PostgreSQL has a name for.
            if path.parts[-2:] == ("plpgsql", "conditions.rs"):
                continue
            text = path.read_text().split("#[cfg(test)]\nmod tests {")[0]
            found |= {state for state in SQLSTATE.findall(text) if len(state) == 5 and re.search(r"[1-9A-Z]", state)}
    return found - {"10000", "30000", "43200", "60000", "00000"}


def check_errors(tally, pages):
    name = "docs/src/reference/errors.md"
    same(tally, pages[name], name, named(pages[name]), sqlstates(), "SQLSTATE")


SIGNATURE = re.compile(r'"([a-z_0-9]+)\([^")]*\) [^"]+"')
# What expressions become: nobody calls it by that name.
INTERNAL = set("""
    array_set_element array_set_slice array_slice array_subscript hstore_set_element jsonb_set_element like name_subscript notlike record_field record_set_field
    rows_skipped rows_up_to rows_with_ties text
""".split())


def check_functions(tally, pages):
    """Functions stand in the sources by their signatures; pg_proc has those beside that other catalog relations name."""
    name = "docs/src/reference/functions.md"
    there = set()
    for kind in ("func", "aggregate", "window", "table_func"):
        for path in (ROOT / "planner/src/scalar" / kind).rglob("*.rs"):
            text = path.read_text()
            # Those of pairs have one signature, which a macro writes; so have those that ask for privileges, and of ranges.
            there |= set(SIGNATURE.findall(text)) | set(re.findall(r'(?:regression|in_all_forms|of_set)!\("([a-z_0-9]+)"', text))
            there |= {made for names in re.findall(r'constructors!\("(\w+)", "\w+", "(\w+)", [\w:]+\)', text) for made in names}
        there |= set(SIGNATURE.findall((ROOT / f"planner/src/scalar/{kind}.rs").read_text()))
    there |= {"stddev", "stddev_pop", "stddev_samp", "var_pop", "var_samp", "variance"}
    there = {function for function in there if re.fullmatch(r"[a-z_0-9]+", function)} - INTERNAL
    documented = {}
    for table in pages[name].tables:
        for line, row in table[2:]:
            documented |= {function: (line, row) for function in re.findall(r"`([^`]+)`", row[1])}
    same(tally, pages[name], name, documented, there, "function")


def check_commands(tally, pages):
    name = "docs/src/reference/commands.md"
    documented = {option: at for option, at in named(pages[name]).items() if option.startswith("--")}
    _, said = harness.run("--help")
    same(tally, pages[name], name, documented, set(re.findall(r"--[a-z][a-z-]*", said)), "option")


# ---- what the server lists

def check_lists(tally, pages):
    server = harness.Server()
    try:
        server.start()
        with server.connect() as connection:
            check_settings(tally, pages, connection)
            check_relations(tally, pages, connection)
            check_functions(tally, pages)
        server.stop()
    finally:
        server.remove()


def check_settings(tally, pages, connection):
    name = "docs/src/reference/settings.md"
    listed = {row[0] for row in harness.rows(connection, "SHOW ALL")} | {"is_superuser", "session_authorization"}
    same(tally, pages[name], name, named(pages[name]), listed, "setting")
    for setting, (line, row) in named(pages[name]).items():
        default = re.fullmatch(r"`(.*)`", row[1])
        if default and setting in listed:
            shown = harness.rows(connection, f"SHOW {setting}")[0][0]
            tally.equal(default.group(1), shown, f"{name}:{line}: the default of {setting}")


def check_relations(tally, pages, connection):
    name = "docs/src/reference/relations.md"
    listed = {}
    for relation, column, kind in harness.rows(connection, """SELECT relname, attname, format_type(atttypid, atttypmod)
            FROM pg_attribute JOIN pg_class c ON c.oid = attrelid JOIN pg_namespace n ON n.oid = relnamespace
            WHERE nspname = 'dogwood' AND attnum > 0 AND relkind <> 'i' ORDER BY relname, attnum"""):
        listed.setdefault(relation, {})[column] = kind
    headings = {match.group(1): line for line in pages[name].lines if (match := re.match(r"^#+ `dogwood\.(\w+)`", line))}
    same(tally, pages[name], name, {heading: (0,) for heading in headings}, listed, "relation in schema dogwood:")
    for relation, columns in listed.items():
        if relation in headings:
            documented = named(pages[name], headings[relation])
            same(tally, pages[name], name, documented, columns, f"column of dogwood.{relation}")
            tally.equal(list(documented), list(columns), f"{name}: the order of the columns of {relation}")
            for column, (line, row) in documented.items():
                tally.equal(row[1], columns.get(column), f"{name}:{line}: the type of {relation}.{column}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write what was printed into the pages")
    parser.add_argument("pages", nargs="*", help="only these, by a part of their names")
    arguments = parser.parse_args()
    tally, pages = harness.Tally(), read_pages()
    for name, page in pages.items():
        if not arguments.pages or any(part in name for part in arguments.pages):
            tally.case(Play(tally, page, name, arguments.update).run)
    if not arguments.pages:
        for check in (check_blocks, check_links, check_summary, check_prose, check_checks, check_goals, check_errors, check_commands, check_lists):
            tally.case(check, tally, pages)
    tally.end()


if __name__ == "__main__":
    main()
