"""A small community to measure with: people, their stories, comments, votes and messages, and views over them.

Every run makes the same rows. Must never write into a database that holds anything else: `clear` refuses one.
"""

import random

SCHEMA = """
CREATE DATA_SUBJECT TABLE users (id int PRIMARY KEY, name text NOT NULL, email text);
CREATE TABLE groups (id int PRIMARY KEY, name text);
CREATE TABLE memberships (id int PRIMARY KEY, member int OWNED_BY users(id), team int OWNS groups(id));
CREATE TABLE stories (id int PRIMARY KEY, title text NOT NULL, author int OWNED_BY users(id));
CREATE TABLE comments (id int PRIMARY KEY, body text, author int OWNED_BY users(id), story int ACCESSED_BY stories(id));
CREATE TABLE votes (id int PRIMARY KEY, voter int OWNED_BY users(id), story int REFERENCES stories(id));
CREATE TABLE messages (id int PRIMARY KEY, body text, sender int OWNED_BY users(id), receiver int OWNED_BY users(id));
COMMENT ON TABLE users IS 'made by the notebooks';
"""

VIEWS = {
    "votes_per_story": "SELECT story, count(*) AS votes FROM votes GROUP BY story",
    "story_page": "SELECT s.id, s.title, u.name FROM stories s JOIN users u ON u.id = s.author",
    "front_page": "SELECT s.id, s.title, v.votes FROM stories s JOIN votes_per_story v ON v.story = s.id "
    "ORDER BY v.votes DESC, s.id LIMIT 50",
    "latest_comment": "SELECT story, max(id) AS comment FROM comments GROUP BY story",
    "writers": "SELECT DISTINCT author FROM comments",
}

# A story gets so many of each.
COMMENTS = 3
VOTES = 4
MESSAGES = 1

# People of one group.
TEAM = 5


def create(connection):
    """The empty tables."""
    clear(connection)
    for statement in SCHEMA.strip().split(";\n"):
        connection.execute(statement)


def clear(connection):
    """A database of the notebooks is emptied, any other one is left alone with an error."""
    if connection.execute("SELECT 1 FROM pg_tables WHERE schemaname = 'public' LIMIT 1").fetchone():
        mark = connection.execute("SELECT obj_description(to_regclass('users'))").fetchone()[0]
        if mark != "made by the notebooks":
            raise RuntimeError("this database holds tables of its own, and this notebook writes: make lab starts a server for it")
        drop(connection)


def drop(connection):
    """Whatever the notebooks made. All tables go at once: one by one they would leave rows without an owner."""
    relations = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = %s"
    for kind, name in [("r", "TABLE"), ("m", "MATERIALIZED VIEW"), ("v", "VIEW")]:
        found = [f'"{row[0]}"' for row in connection.execute(relations, [kind])]
        if found:
            connection.execute(f"DROP {name} {', '.join(found)} CASCADE")


def grow(connection, stories, first=0, people=None):
    """Loads stories `first` to `first + stories` with what belongs to them, and the people that they need. The rows made."""
    dice = random.Random(first)
    people = people or max(10, (first + stories) // 10)
    known = connection.execute("SELECT count(*) FROM users").fetchone()[0]
    rows = {
        "users": [(n, f"person {n}", f"person{n}@example.org") for n in range(known, people)],
        "stories": [(n, f"The story number {n}", n % people) for n in range(first, first + stories)],
    }
    last = first + stories

    def some(count, row):
        return [row(n) for n in range(count * first, count * last)]

    def popular():  # a few stories are liked by many
        return int(last * dice.random() ** 3)

    rows["comments"] = some(COMMENTS, lambda n: (n, f"What I think of it, part {n}", dice.randrange(people), popular()))
    rows["votes"] = some(VOTES, lambda n: (n, dice.randrange(people), popular()))
    rows["messages"] = some(MESSAGES, lambda n: (n, f"Hello, for the {n}th time", dice.randrange(people), dice.randrange(people)))
    for name, values in rows.items():
        copy(connection, name, values)
    teams = {"groups": [(n, f"team {n}") for n in range(known // TEAM, people // TEAM)],
             "memberships": [(n, n, n // TEAM) for n in range(known // TEAM * TEAM, people // TEAM * TEAM)]}
    with connection.transaction():  # a group has owners once it has members
        for name, values in teams.items():
            copy(connection, name, values)
    return sum(map(len, [*rows.values(), *teams.values()]))


def copy(connection, name, values):
    """COPYs rows into a table."""
    with connection.cursor().copy(f"COPY {name} FROM STDIN") as copied:
        for value in values:
            copied.write_row(value)


def create_views(connection, names=tuple(VIEWS)):
    """The maintained views of these names, ready to read."""
    for name in names:
        connection.execute(f"CREATE MATERIALIZED VIEW {name} AS {VIEWS[name]}")
    wait_for_views(connection)


def wait_for_views(connection, patience_s=60):
    """Returns when every view is ready."""
    import time

    end = time.monotonic() + patience_s
    while True:
        stages = dict(connection.execute("SELECT name, stage FROM dogwood.views").fetchall())
        if "failed" in stages.values() or time.monotonic() > end:
            raise RuntimeError(f"views are not ready: {stages}")
        if all(stage == "ready" for stage in stages.values()):
            return
        time.sleep(0.02)
