"""What a server did not make or change in the course of a script, by name, and why: what later statements do with it is no fault of theirs."""
import re

CHANGES = re.compile(r"""
    ^(?:with\b.*?\b)?(?:
        create\s+(?:or\s+replace\s+)?(?:global\s+|local\s+)?(?:temp(?:orary)?\s+|unlogged\s+|unique\s+|recursive\s+|materialized\s+|procedural\s+|trusted\s+)*
            (?:table|view|index|sequence|type|domain|function|procedure|aggregate|operator|schema|rule|trigger|role|user|collation|cast|statistics|policy)
        | insert\s+into | update | delete\s+from | merge\s+into | copy | alter\s+\w+ | drop\s+\w+ | truncate(?:\s+table)? | refresh\s+materialized\s+view
        | prepare | declare | select\b.*?\binto(?:\s+temp)?(?:\s+table)?
    )\s+(?:if\s+(?:not\s+)?exists\s+|only\s+|concurrently\s+)*"?([\w.]+)"?""", re.X | re.I | re.S)


class Missing:
    """Names of objects that are not as they are on PostgreSQL, each with the first reason. It errs on the side of naming too many."""

    def __init__(self):
        self.reasons, self.read_by = {}, {}

    def note(self, unit, theirs, ours, why):
        """Takes a statement in: `why` says how its answer differs from PostgreSQL's."""
        changes = CHANGES.match(unit.plain)
        if not changes or theirs is None:
            return
        name = last_part(changes[1])
        if re.match(r"create\b.*?\bview\b", unit.plain, re.I):
            self.read_by[name] = re.findall(r"\b(?:from|join)\s+(?:\w+\.)?(\w+)", unit.plain.lower())
        if theirs.errors:
            if ours is not None and not ours.errors:
                self.reasons.setdefault(name, why)
            return
        if re.match("select", unit.plain, re.I) and not (ours is None or ours.states()):
            why = ""
        inherited = [self.reasons[other] for other in sorted(names_in(unit.plain) - {name}) if other in self.reasons]
        if why or inherited:
            reason = why if refused(ours) else inherited[0] if inherited else self.reasons.get(name, why)
            for other in [name, *beside(unit.plain), *self.behind(name, unit.plain)]:
                self.reasons.setdefault(other, reason)
        elif re.match(r"create\b.*?\b(table|view|sequence)\s+(?!if\b)", unit.plain, re.I):
            # A new one of that name.
            self.reasons.pop(name, None)

    def behind(self, view, statement):
        """The tables of a view: what is not written through it is missing there."""
        if re.match("create|alter|drop", statement, re.I):
            return []
        tables = self.read_by.get(view, [])
        return tables + [deeper for table in tables for deeper in self.read_by.get(table, [])]

    def explains(self, unit, ours):
        """Why an earlier statement did not make what this one is about; nothing where it is about no such thing, or refused by itself."""
        if ours is None or ours.lost or refused(ours):
            return ""
        # A variable of psql's hides the statement, not what its error names.
        said = {name for _, message in ours.errors for name in re.findall(r"\w+", message.lower())}
        for name in sorted(names_in(unit.plain) | names_told(unit.plain) | said):
            if name in self.reasons:
                return self.reasons[name]
        if "25P02" in ours.states() or (not ours.errors and re.match(r"commit|end\b", unit.plain, re.I)):
            return "an earlier statement of the transaction"
        return ""


def refused(answer):
    """Whether the server has no such statement, whatever it is about."""
    return answer is not None and "0A000" in answer.states()


def last_part(name):
    return name.lower().rsplit(".", 1)[-1]


def names_in(text):
    return set(re.findall(r"[a-z_][a-z0-9_$]*", re.sub(r"'(?:[^']|'')*'", "", text.lower())))


def names_told(text):
    """Names in literals of statements that ask a catalog."""
    return set(re.findall(r"\w+", " ".join(re.findall(r"'([^']*)'", text.lower())))) if re.search(r"\bpg_|information_schema", text) else set()


def beside(statement):
    """What else lacks something where a statement did not make its object: a child is missing among its parent's rows, and keeps nothing
    in them; what is ON a table acts on it."""
    for parents in re.findall(r"\binherits\s*\(([^)]*)\)|\bpartition\s+of\s+([\w.]+)|\breferences\s+([\w.]+)", statement, re.I):
        yield from names_in(" ".join(parents))
    if re.match(r"create\s+(unique\s+)?(index|trigger|rule|policy)", statement, re.I):
        on = re.search(r"\bon\s+(?:only\s+)?([\w.]+)", statement, re.I)
        if on:
            yield last_part(on[1])
