"""Who owns and who may access each row, what a request gives, and what an erasure leaves: by walking all rows, again for every question.

The rules are those of docs/src/reference/annotations.md; nothing is kept between questions and nothing is fast.
A state is {table: {key: row}}, a key the tuple of a row's primary key, a row a dictionary.
"""
import copy


class Walk:
    """The rows of one state, and the steps between them."""

    def __init__(self, schema, state):
        self.schema, self.state = schema, state
        self.steps = {}      # far row -> [(near row, edge)]: whoever holds the far row holds the near one
        self.from_near = {}  # near row -> [(far row, edge)]
        for key in schema.edges():
            targets = {}
            for primary, row in state[key.target].items():
                targets[tuple(row[c] for c in key.target_columns)] = (key.target, primary)
            for primary, row in state[key.table].items():
                other = targets.get(tuple(row[c] for c in key.columns))
                if other is None or any(row[c] is None for c in key.columns):
                    continue
                near, far = ((key.table, primary), other) if key.forward else (other, (key.table, primary))
                self.steps.setdefault(far, []).append((near, key))
                self.from_near.setdefault(near, []).append((far, key))

    def is_person(self, row):
        return self.schema.tables[row[0]].subject

    def reached(self, person, without=None):
        """{row: True if owned, False if only accessed} for everything that a person reaches, as if the row `without` were not there."""
        found, waiting = {person: True}, [person]
        while waiting:
            far = waiting.pop()
            if far != person and self.is_person(far):
                continue
            for near, key in self.steps.get(far, ()):
                owned = found[far] and key.owns
                if near != without and (near not in found or (owned and not found[near])):
                    found[near] = owned
                    waiting.append(near)
        return found

    def people(self):
        return [(name, primary) for name in self.schema.subjects() for primary in self.state[name]]

    def owned(self):
        """Every row that has an owner."""
        rows = set()
        for person in self.people():
            rows.update(row for row, is_owned in self.reached(person).items() if is_owned)
        return rows

    def orphans(self):
        owned = self.owned()
        return [(name, primary) for name in self.state if self.schema.personal(name)
                for primary in self.state[name] if (name, primary) not in owned]

    def through(self, person, row, reached):
        """The edges of a row through which this person reached it: not those whose far row was reached through the row itself."""
        if row == person:
            return []
        found = reached if row not in self.steps else self.reached(person, without=row)
        edges = []
        for far, key in self.from_near.get(row, ()):
            if far in found and (far == person or not self.is_person(far)) and key not in edges:
                edges.append(key)
        return edges

    def get(self, person):
        """What GDPR GET gives: {(table, key): (relation, path, row, hidden columns)}."""
        answer, reached = {}, self.reached(person)
        for (name, primary), is_owned in reached.items():
            edges = self.through(person, (name, primary), reached)
            hidden, dropped = self.redaction(name, edges)
            if dropped:
                continue
            row = {column: (None if column in hidden else value) for column, value in self.state[name][primary].items()}
            path = ", ".join(sorted(map(repr, edges)))
            answer[name, primary] = ("owner" if is_owned else "accessor", path, row, sorted(hidden))
        return answer

    def redaction(self, name, edges):
        """(columns that every edge hides, whether every edge says DELETE_ROW)"""
        every, hides, drops = set(self.schema.tables[name].columns), [], []
        for key in edges:
            rules = self.schema.rules_of("get", name, key)
            drops.append(any(rule.columns is None for rule in rules))
            hides.append(every if drops[-1] else {column for rule in rules for column in rule.columns})
        return (set.intersection(*hides) if hides else set()), bool(drops) and all(drops)


class Erasure:
    """One person's erasure: `state` is what remains, `erased` the rows gone, `blanked` {row: columns that were not NULL before}, `result` the statement's rows."""

    def __init__(self, schema, state, person):
        self.schema, self.before = schema, state
        self.state = copy.deepcopy(state)
        self.walk = Walk(schema, state)
        self.person, self.reach = person, self.walk.reached(person)
        self.erased = set()
        self.erase(person)
        while self.follow_rules() or self.follow_keys() or self.erase_orphans():
            pass
        self.blanked = self.blanked_columns()
        self.result = self.count()

    def alive(self, row):
        return row[1] in self.state[row[0]]

    def erase(self, row):
        if not self.alive(row):
            return False
        del self.state[row[0]][row[1]]
        self.erased.add(row)
        return True

    def blank(self, row, columns):
        """Whether that changed anything. A row whose key would be blanked goes."""
        if any(column in self.schema.tables[row[0]].primary for column in columns):
            return self.erase(row)
        values = self.state[row[0]][row[1]]
        changed = any(values[column] is not None for column in columns)
        values.update({column: None for column in columns})
        return changed

    def follow_rules(self):
        """ON DEL, on the edges of reached rows whose far row tied them to the person and is erased."""
        changed = False
        for row in self.reach:
            for far, key in self.walk.from_near.get(row, ()):
                if not self.alive(row) or far not in self.erased or far not in self.reach:
                    continue
                rules = self.schema.rules_of("del", row[0], key)
                for rule in rules:
                    if rule.columns is None:
                        changed |= self.erase(row)
                    elif self.alive(row):
                        changed |= self.blank(row, rule.columns)
        return changed

    def follow_keys(self):
        """No column under a foreign key names an erased row."""
        changed = False
        for key in self.schema.keys():
            gone = {tuple(self.before[key.target][primary][c] for c in key.target_columns) for name, primary in self.erased if name == key.target}
            for primary, row in list(self.state[key.table].items()):
                if tuple(row[c] for c in key.columns) not in gone:
                    continue
                if key.word is None and key.on_delete == "cascade" and not self.schema.tables[key.table].subject:
                    changed |= self.erase((key.table, primary))
                else:
                    changed |= self.blank((key.table, primary), key.columns)
        return changed

    def erase_orphans(self):
        orphans = Walk(self.schema, self.state).orphans()
        for row in orphans:
            self.erase(row)
        return bool(orphans)

    def blanked_columns(self):
        found = {}
        for name, rows in self.state.items():
            for primary, row in rows.items():
                columns = {column for column, value in row.items() if value != self.before[name][primary][column]}
                if columns:
                    found[name, primary] = columns
        return found

    def count(self):
        """{table: [deleted, anonymized, disowned]}"""
        result = {}
        for row in self.erased:
            result.setdefault(row[0], [0, 0, 0])[0] += 1
        for row in self.blanked:
            result.setdefault(row[0], [0, 0, 0])[1] += 1
        for row, is_owned in self.reach.items():
            if is_owned and self.alive(row):
                result.setdefault(row[0], [0, 0, 0])[2] += 1
        return result
