"""People, what they own alone and together, and what a database of theirs must hold: a model, and random statements that change both.
"""
import copy

from harness import rows

SCHEMA = (
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE notes (id INT PRIMARY KEY, author INT NOT NULL OWNED_BY people(id), body TEXT)",
    "CREATE TABLE messages (id INT PRIMARY KEY, sender INT OWNED_BY people(id), receiver INT OWNED_BY people(id), body TEXT, subject TEXT,"
    " ON DEL sender ANON (sender, body))",
    "CREATE INDEX by_subject ON messages (subject)",
    "CREATE TABLE places (id INT PRIMARY KEY, label TEXT, opener INT REFERENCES people(id) ON DELETE SET NULL)",
    "CREATE TABLE shelves (id INT PRIMARY KEY, label TEXT)",
    "CREATE TABLE keeps (id INT PRIMARY KEY, keeper INT NOT NULL OWNED_BY people(id), shelf INT NOT NULL OWNS shelves(id))",
    "ALTER TABLE shelves ADD ON DEL keeps(shelf) ANON (label)",
    "CREATE MATERIALIZED VIEW busy AS SELECT author, count(*) AS notes FROM notes GROUP BY author",
)
TABLES = ("people", "notes", "messages", "places", "shelves", "keeps")


class Model:
    """What the tables hold. Each person is somebody: a number may be given again, and then is somebody else's."""

    def __init__(self):
        self.tables = {name: {} for name in TABLES}
        self.somebody = {}
        self.born = 0

    def copy(self):
        return copy.deepcopy(self)

    def forget(self, number):
        tables = self.tables
        del tables["people"][number]
        del self.somebody[number]
        drop = lambda name, goes: [tables[name].pop(key) for key in [key for key, row in tables[name].items() if goes(row)]]
        drop("notes", lambda row: row[0] == number)
        for row in tables["messages"].values():
            if row[0] == number:
                row[0], row[2] = None, None
            if row[1] == number:
                row[1] = None
        drop("messages", lambda row: row[0] is None and row[1] is None)
        for row in tables["places"].values():
            if row[1] == number:
                row[1] = None
        shelves = {row[1] for row in drop("keeps", lambda row: row[0] == number)}
        kept = {row[1] for row in tables["keeps"].values()}
        for shelf in shelves:
            if shelf in kept:
                tables["shelves"][shelf][0] = None
            else:
                del tables["shelves"][shelf]

    def found(self):
        return {name: sorted((key, *row) for key, row in table.items()) for name, table in self.tables.items()}

    def busy(self):
        """What the view shows."""
        authors = [row[0] for row in self.tables["notes"].values()]
        return sorted((author, authors.count(author)) for author in set(authors))


def held(connection, names):
    return {name: sorted(rows(connection, f"SELECT * FROM {name}"), key=lambda row: row[0]) for name in names}


class Step:
    """Statements that are done as one, the model after them, and whom they forget, if they do."""

    def __init__(self, kind, statements, after, forgotten=None):
        self.kind, self.statements, self.after, self.forgotten = kind, statements, after, forgotten

    def run(self, connection):
        if len(self.statements) == 1:
            connection.execute(*self.statements[0])
            return
        with connection.transaction():
            for statement in self.statements:
                connection.execute(*statement)


class Steps:
    """Random steps over numbers of one range."""

    KINDS = ["person", "note", "note", "message", "message", "place", "keep", "keep", "forget", "rename", "move", "unsay"]

    def __init__(self, dice, numbers=range(1, 400)):
        self.dice, self.numbers = dice, numbers
        self.gone = []

    def next(self, model, kinds=KINDS):
        """One of these kinds; the model stays as it is."""
        model = model.copy()
        while True:
            kind = self.dice.choice(kinds) if len(model.tables["people"]) >= 3 else "person"
            made = getattr(self, kind)(model)
            if made:
                statements, forgotten = made
                return Step(kind, statements, model, forgotten)

    def free(self, model, table, reuse=0.0):
        taken = model.tables[table]
        if table == "people" and self.gone and self.dice.random() < reuse:
            number = self.dice.choice(self.gone)
            if number not in taken:
                return number
        return self.dice.choice([number for number in self.numbers if number not in taken])

    def word(self):
        return "".join(self.dice.choices("abcdefghij", k=12))

    def anybody(self, model):
        return self.dice.choice(list(model.tables["people"]))

    def person(self, model):
        number, word = self.free(model, "people", reuse=0.5), self.word()
        model.tables["people"][number] = [word]
        model.born += 1
        model.somebody[number] = model.born
        return [("INSERT INTO people VALUES (%s, %s)", (number, word))], None

    def note(self, model):
        number, author, word = self.free(model, "notes"), self.anybody(model), self.word()
        model.tables["notes"][number] = [author, word]
        return [("INSERT INTO notes VALUES (%s, %s, %s)", (number, author, word))], None

    def message(self, model):
        number, word = self.free(model, "messages"), self.word()
        sender, receiver = self.anybody(model), self.dice.choice([self.anybody(model), self.anybody(model), None])
        model.tables["messages"][number] = [sender, receiver, word, word[:1]]
        return [("INSERT INTO messages VALUES (%s, %s, %s, %s, %s)", (number, sender, receiver, word, word[:1]))], None

    def place(self, model):
        number, opener, word = self.free(model, "places"), self.anybody(model), self.word()
        model.tables["places"][number] = [word, opener]
        return [("INSERT INTO places VALUES (%s, %s, %s)", (number, word, opener))], None

    def keep(self, model):
        """A shelf with its first keeper, or one more keeper of a shelf."""
        tables, number, keeper, statements = model.tables, self.free(model, "keeps"), self.anybody(model), []
        theirs = {row[1] for row in tables["keeps"].values() if row[0] == keeper}
        others = [shelf for shelf in tables["shelves"] if shelf not in theirs]
        shelf = self.dice.choice(others) if others and self.dice.random() < 0.5 else None
        if shelf is None:
            shelf, word = self.free(model, "shelves"), self.word()
            statements.append(("INSERT INTO shelves VALUES (%s, %s)", (shelf, word)))
            tables["shelves"][shelf] = [word]
        statements.append(("INSERT INTO keeps VALUES (%s, %s, %s)", (number, keeper, shelf)))
        tables["keeps"][number] = [keeper, shelf]
        return statements, None

    def forget(self, model):
        number = self.anybody(model)
        forgotten = (number, model.somebody[number])
        model.forget(number)
        self.gone.append(number)
        return [(f"GDPR FORGET people {number}",)], forgotten

    def rename(self, model):
        number, word = self.anybody(model), self.word()
        model.tables["people"][number] = [word]
        return [("UPDATE people SET name = %s WHERE id = %s", (word, number))], None

    def move(self, model):
        # What was one person's is another's: an erasure of the first has nothing to do with it any more.
        notes = model.tables["notes"]
        if not notes:
            return None
        number, author = self.dice.choice(list(notes)), self.anybody(model)
        notes[number][0] = author
        return [("UPDATE notes SET author = %s WHERE id = %s", (author, number))], None

    def unsay(self, model):
        messages = model.tables["messages"]
        if not messages:
            return None
        number = self.dice.choice(list(messages))
        del messages[number]
        return [("DELETE FROM messages WHERE id = %s", (number,))], None
