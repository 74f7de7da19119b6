"""The statements that stand in planner/tests/checks/corpus."""

import pathlib
import re

CORPUS = pathlib.Path(__file__).resolve().parents[4] / "planner/tests/checks/corpus"


def statements(text):
    """Statements of a corpus file: ended by `;` at a line's end; COPY … FROM STDIN has its data behind it, to `\\.`."""
    lines, current = iter(text.split("\n")), []
    for line in lines:
        if not current and (not line.strip() or line.startswith("--")):
            continue
        current.append(line)
        if not line.rstrip().endswith(";"):
            continue
        sql, current, data = "\n".join(current).rstrip().rstrip(";"), [], None
        if re.match(r"copy\b.*\bfrom\s+stdin", sql, re.I | re.S):
            data = ""
            for row in lines:
                if row == "\\.":
                    break
                data += row + "\n"
        yield sql, data


def ordered(sql):
    """Whether the outermost query sorts, or keeps the order of one inside as PostgreSQL does, which a remark says."""
    depth, outer = 0, []
    for part in re.split(r"('(?:[^']|'')*'|[()])", sql):
        if part == "(":
            depth += 1
        elif part == ")":
            depth -= 1
        elif depth == 0 and not part.startswith("'"):
            outer.append(part)
    return "/* in order */" in sql or re.search(r"order\s+by", " ".join(outer), re.I) is not None
