"""Reads the schema of an application from its SQL text, and makes random rows for it.

It reads the file and not the server's catalog, so that the two can be held against each other. It knows the statements that the
schemas in benches/apps use, and refuses any other.
"""
import re

WORDS = ("OWNED_BY", "OWNS", "ACCESSED_BY", "ACCESSES")
TOKEN = re.compile(r"""\s*(?:--[^\n]*|("(?:[^"]|"")*")|('(?:[^']|'')*')|([A-Za-z_][A-Za-z_0-9]*)|(-?[0-9]+(?:\.[0-9]+)?)|([(),;]))""")


class Key:
    """A foreign key: its columns in `table`, and what it points at. `word` is its annotation, or None."""

    def __init__(self, table, columns, target, target_columns, word, on_delete):
        self.table, self.columns, self.target, self.target_columns = table, columns, target, target_columns
        self.word, self.on_delete = word, on_delete

    def __repr__(self):
        """As the server writes an edge."""
        columns = f".{self.columns[0]}" if len(self.columns) == 1 else f"({', '.join(self.columns)})"
        return f"{self.table}{columns} {self.word or 'REFERENCES'} {self.target}({', '.join(self.target_columns)})"

    @property
    def owns(self):
        return self.word in ("OWNED_BY", "OWNS")

    @property
    def forward(self):
        """Whether the table with the foreign key is the one that gains holders."""
        return self.word in ("OWNED_BY", "ACCESSED_BY")

    @property
    def near(self):
        """The table whose rows gain holders by this edge."""
        return self.table if self.forward else self.target


class Rule:
    """ON GET or ON DEL of `table` for one edge: the columns, or None for DELETE_ROW."""

    def __init__(self, table, event, key, columns):
        self.table, self.event, self.key, self.columns = table, event, key, columns


class Table:
    def __init__(self, name, subject):
        self.name, self.subject = name, subject
        self.columns, self.lengths, self.not_null, self.defaulted, self.choices = {}, {}, set(), set(), {}
        self.primary, self.unique, self.keys = [], [], []


class Schema:
    """Tables by name in the order in which they were declared, and the rules."""

    def __init__(self, text):
        self.tables, self.rules, self.waiting = {}, [], []
        for statement in statements(text):
            Statement(self, statement).read()
        for table, event, edge, columns in self.waiting:
            self.rules.append(Rule(table, event, self.edge(table, edge), columns))

    def keys(self):
        return [key for table in self.tables.values() for key in table.keys]

    def edges(self):
        return [key for key in self.keys() if key.word]

    def personal(self, name):
        return self.tables[name].subject or any(key.owns and key.near == name for key in self.edges())

    def subjects(self):
        return [table.name for table in self.tables.values() if table.subject]

    def edge(self, table, named):
        holder, columns = named if isinstance(named, tuple) else (table, [named])
        return next(key for key in self.tables[holder].keys if key.columns == columns and key.near == table)

    def rules_of(self, event, table, key):
        return [rule for rule in self.rules if rule.event == event and rule.table == table and rule.key is key]


def ordinary(text):
    """The same schema as PostgreSQL knows it: annotations are plain foreign keys, rules are gone."""
    text = re.sub(r"ALTER TABLE \S+ ADD ON [^;]*;", "", text)
    text = re.sub(r",\s*ON (?:GET|DEL) \S+ (?:ANON \([^)]*\)|DELETE_ROW)", "", text)
    text = re.sub(rf"\b(?:{'|'.join(WORDS)}|REFERENCES ONLY)\b", "REFERENCES", text)
    return text.replace("CREATE DATA_SUBJECT TABLE", "CREATE TABLE")


def labels(schema):
    """The security labels that say on an ordinary schema what the annotations say."""
    for key in schema.edges():
        target = f'"{key.target}"({", ".join(key.target_columns)})'
        yield f"""SECURITY LABEL FOR dogwood ON COLUMN "{key.table}"."{key.columns[0]}" IS '{key.word} {target}'"""
    for table in schema.tables.values():
        said = ["DATA_SUBJECT"] if table.subject else []
        for rule in (rule for rule in schema.rules if rule.table == table.name):
            edge = rule.key.columns[0] if rule.key.forward else f"{rule.key.table}({', '.join(rule.key.columns)})"
            said.append(f"ON {rule.event.upper()} {edge} " + ("DELETE_ROW" if rule.columns is None else f"ANON ({', '.join(rule.columns)})"))
        if said:
            yield f"""SECURITY LABEL FOR dogwood ON TABLE "{table.name}" IS '{'; '.join(said)}'"""


def statements(text):
    """Tokens statement by statement: names in lower case unless quoted, words that could be either as they fold."""
    found, position = [], 0
    text = text.rstrip()
    while position < len(text):
        match = TOKEN.match(text, position)
        if not match:
            raise ValueError(f"not understood: {text[position:position + 60]!r}")
        position = match.end()
        quoted, string, word, number, sign = match.groups()
        if sign == ";":
            yield found
            found = []
        elif quoted:
            found.append(quoted[1:-1])
        elif string or number or sign:
            found.append(string or number or sign)
        elif word:
            found.append(word.lower())


class Statement:
    """One statement's tokens, read from left to right."""

    def __init__(self, schema, tokens):
        self.schema, self.tokens, self.position = schema, tokens, 0

    def peek(self, *words):
        return self.tokens[self.position:self.position + len(words)] == list(words)

    def take(self, *words):
        """Whether these words come next; if so, goes on behind them."""
        if self.peek(*words):
            self.position += len(words)
            return True
        return False

    def next(self):
        self.position += 1
        return self.tokens[self.position - 1]

    def expect(self, *words):
        if not self.take(*words):
            raise ValueError(f"expected {words}, found {self.tokens[self.position:self.position + 5]} in {self.tokens[:4]}")

    def names(self):
        """`(a, b)`"""
        self.expect("(")
        names = [self.next()]
        while self.take(","):
            names.append(self.next())
        self.expect(")")
        return names

    def read(self):
        if self.take("create", "data_subject", "table"):
            self.create(True)
        elif self.take("create", "table"):
            self.create(False)
        elif self.take("alter", "table"):
            self.alter(self.schema.tables[self.next()])
        elif self.take("create", "unique", "index"):
            self.next()
            self.expect("on")
            self.schema.tables[self.next()].unique.append(self.names())
        elif not self.take("create", "index"):
            raise ValueError(f"not a statement of a schema: {self.tokens[:4]}")

    def create(self, subject):
        table = Table(self.next(), subject)
        self.schema.tables[table.name] = table
        self.expect("(")
        while True:
            self.element(table)
            if not self.take(","):
                break
        self.expect(")")

    def alter(self, table):
        self.expect("add")
        if self.take("foreign", "key"):
            self.reference(table, self.names())
        else:
            self.rule(table)

    def element(self, table):
        if self.take("primary", "key"):
            table.primary = self.names()
            table.not_null.update(table.primary)
        elif self.take("unique"):
            table.unique.append(self.names())
        elif self.peek("on"):
            self.rule(table)
        else:
            self.column(table)

    def rule(self, table):
        self.expect("on")
        event = self.next()
        edge = self.next()
        if self.peek("("):
            edge = (edge, self.names())
        columns = None
        if not self.take("delete_row"):
            self.expect("anon")
            columns = self.names()
        self.schema.waiting.append((table.name, event, edge, columns))

    def column(self, table):
        name, kind = self.next(), self.next()
        if kind == "double":
            self.expect("precision")
        if self.peek("("):
            table.lengths[name] = int(self.names()[0])
        table.columns[name] = kind
        if kind == "serial":
            table.not_null.add(name)
            table.defaulted.add(name)
        while self.position < len(self.tokens) and not self.peek(",") and not self.peek(")"):
            self.constraint(table, name)

    def constraint(self, table, name):
        if self.take("not", "null"):
            table.not_null.add(name)
        elif self.take("primary", "key"):
            table.primary = [name]
            table.not_null.add(name)
        elif self.take("unique"):
            table.unique.append([name])
        elif self.take("default"):
            self.next()
            if self.take("("):
                self.expect(")")
            table.defaulted.add(name)
        elif self.take("check"):
            self.expect("(")
            self.expect(name, "in")
            table.choices[name] = [int(value) for value in self.names()]
            self.expect(")")
        else:
            self.reference(table, [name])

    def reference(self, table, columns):
        word = self.next().upper()
        if word == "REFERENCES":
            word = None
            self.take("only")
        elif word not in WORDS:
            raise ValueError(f"not a reference: {word} in {table.name}")
        target = self.next()
        target_columns = self.names()
        on_delete = "no action"
        if self.take("on", "delete"):
            on_delete = "cascade" if self.take("cascade") else "set null"
            if on_delete == "set null":
                self.expect("set", "null")
        table.keys.append(Key(table.name, columns, target, target_columns, word, on_delete))


NUMBERS = ("serial", "int", "bigint", "smallint")
TEXTS = ("varchar", "text")


class Rows:
    """Random rows: data[table] is a list of dictionaries. Keys that would come before their target, and those into the same table, are filled in later (`late`)."""

    def __init__(self, schema, random, most=12):
        self.schema, self.random = schema, random
        self.order = self.in_order()
        place = {name: number for number, name in enumerate(self.order)}
        self.late = [key for key in schema.keys() if place[key.target] >= place[key.table]]
        self.data = {name: [] for name in self.order}
        for name in self.order:
            count = 6 if schema.tables[name].subject else random.randint(3, most)
            for _ in range(count):
                self.add(schema.tables[name])
        for key in self.late:
            for row in self.data[key.table]:
                row[key.columns[0]] = self.target(key)

    def in_order(self):
        """Tables, targets of foreign keys before what points at them; a circle is broken where all its keys may be NULL."""
        order, left = [], dict(self.schema.tables)
        while left:
            ready = [name for name, table in left.items() if all(key.target not in left or key.target == name for key in table.keys)]
            if not ready:
                ready = [name for name, table in left.items()
                         if all(key.target not in left or key.target == name or key.columns[0] not in table.not_null for key in table.keys)][:1]
            if not ready:
                raise ValueError(f"a circle of foreign keys that may not be NULL: {sorted(left)}")
            order += ready
            for name in ready:
                del left[name]
        return order

    def target(self, key):
        """A value for a foreign key, or None if it may be NULL (three times in ten) or there is nothing to point at."""
        table, rows = self.schema.tables[key.table], self.data[key.target]
        if not rows or (key.columns[0] not in table.not_null and self.random.random() < 0.3):
            return None
        return self.random.choice(rows)[key.target_columns[0]]

    def add(self, table):
        """One row, if a few attempts find one that no unique key forbids."""
        for _ in range(20):
            row = self.row(table)
            required = [name for name in row if name in table.not_null and row[name] is None]
            sets = [columns for columns in [table.primary, *table.unique] if columns]
            taken = any(all(row[c] is not None for c in columns) and any(all(row[c] == other[c] for c in columns) for other in self.data[table.name])
                        for columns in sets)
            if not required and not taken:
                self.data[table.name].append(row)
                return

    def row(self, table):
        number = len(self.data[table.name]) + 1
        keys = {key.columns[0]: key for key in table.keys}
        row = {}
        for name, kind in table.columns.items():
            if name in keys:
                row[name] = None if keys[name] in self.late else self.target(keys[name])
            elif name in table.choices:
                row[name] = self.random.choice(table.choices[name])
            elif kind in NUMBERS:
                row[name] = number if [name] == table.primary else self.random.randint(1, 9)
            elif kind in TEXTS:
                value = f"{name[:3]}{number}" if [name] in [table.primary, *table.unique] else f"{self.random.randint(1, 9)}{name[:3]}"
                row[name] = value[:table.lengths.get(name)]
            elif kind == "boolean":
                row[name] = self.random.random() < 0.5
            elif name in table.not_null and name not in table.defaulted:
                raise ValueError(f"no value for {table.name}.{name} of type {kind}")
        return row

    def statements(self):
        """INSERTs with their parameters, then UPDATEs for what came too early; to be run in one transaction."""
        late = {(key.table, key.columns[0]) for key in self.late}
        quoted = '"{}"'.format
        for name in self.order:
            for row in self.data[name]:
                given = {column: (None if (name, column) in late else value) for column, value in row.items()}
                yield (f"INSERT INTO {quoted(name)} ({', '.join(map(quoted, given))}) VALUES ({', '.join(['%s'] * len(given))})", list(given.values()))
        for key in self.late:
            primary, column = self.schema.tables[key.table].primary[0], key.columns[0]
            for row in self.data[key.table]:
                if row[column] is not None:
                    yield f"UPDATE {quoted(key.table)} SET {quoted(column)} = %s WHERE {quoted(primary)} = %s", [row[column], row[primary]]
