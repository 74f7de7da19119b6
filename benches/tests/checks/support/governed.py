"""How an application is governed: a `governed.txt` beside its schema, and its telling. benches/apps/README.md says how it is written."""
import harness


class Governed:
    """Steps as (verb, words): `do`, `see`, `refused`, `as`."""

    def __init__(self, text):
        self.steps = []
        for number, line in enumerate(text.splitlines(), 1):
            verb, _, rest = line.partition(" ")
            if not line.strip() or line.startswith("#"):
                continue
            if verb not in ("do", "see", "refused", "as") or verb == "see" and " => " not in rest:
                raise ValueError(f"line {number}: {line}?")
            self.steps.append((verb, rest.strip()))


def written(value):
    if isinstance(value, bool):
        return "t" if value else "f"
    return "" if value is None else str(value)


def play(tally, name, server, governed):
    """Each step over its role's own connection."""
    connections = {"controller": server.connect()}
    one = connections["controller"]
    try:
        for verb, rest in governed.steps:
            if verb == "as":
                role, _, purpose = rest.partition(" ")
                one = connections.get(role) or connections.setdefault(role, server.connect(user=role))
                if purpose:
                    one.execute(f"SET dogwood.purpose = '{purpose}'")
            elif verb == "do":
                tally.equal(harness.state_of(one.execute, rest), "", f"{name}: {rest}")
            elif verb == "refused":
                state, statement = rest.split(" ", 1)
                tally.equal(harness.state_of(one.execute, statement), state, f"{name}: {statement}")
            else:
                query, expected = rest.split(" => ")
                found = "; ".join(", ".join(written(value) for value in row) for row in harness.rows(one, query))
                tally.equal(found, expected, f"{name}: {query}")
    finally:
        for connection in connections.values():
            connection.close()
