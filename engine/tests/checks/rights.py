"""Random roles, grants and policies, asked by random ways, against an evaluator of thirty lines: who is refused, and which rows there are.

    rights.py [--seed N] [--count N]
"""
import random

import psycopg
from psycopg import pq

from harness import Check, options, rows, run_check

ROLES = [f"q{n}" for n in range(6)]
TABLES = ["ta", "tb", "tc"]
COLUMNS = ["id", "owner", "level", "body"]
PRIVILEGES = ["SELECT", "INSERT", "UPDATE", "DELETE"]
ROWS = 12
# Each policy's condition, as SQL and as it is. `of` is who asks, `clear` what a table beside it says of them.
CONDITIONS = {
    "true": lambda row, of, clear: True,
    "owner = current_user": lambda row, of, clear: row["owner"] == of,
    "level <= 5": lambda row, of, clear: row["level"] <= 5,
    "id % 2 = 0": lambda row, of, clear: row["id"] % 2 == 0,
    "EXISTS (SELECT 1 FROM clearance c WHERE c.who = current_user AND c.upto >= level)": lambda row, of, clear: clear.get(of, -1) >= row["level"],
    "level IN (SELECT upto FROM clearance)": lambda row, of, clear: row["level"] in clear.values(),
}
# What is asked of rows. The last two fail on some, of which nothing may be heard.
ASKED = {
    "true": lambda row: True,
    "level > 3": lambda row: row["level"] > 3,
    "id = 4": lambda row: row["id"] == 4,
    "owner = 'q1'": lambda row: row["owner"] == "q1",
    "100 / (level - 7) < 1000": None,
    "body::int >= 0": None,
}


class World:
    """What the evaluator knows."""

    def __init__(self, chance):
        self.chance = chance
        self.members = {role: set() for role in ROLES}
        self.inherits = {role: chance.random() < 0.8 for role in ROLES}
        self.without_rows = chance.choice(ROLES)
        self.grants = set()
        self.policies = {table: [] for table in TABLES}
        self.enabled = {table: chance.random() < 0.7 for table in TABLES}
        self.clear = {role: chance.randrange(10) for role in ROLES[:4]}
        self.data = {table: {id: self.row(id) for id in range(1, ROWS + 1)} for table in TABLES}

    def row(self, id):
        return {"id": id, "owner": self.chance.choice(ROLES), "level": self.chance.randrange(10), "body": "x"}

    def reached(self, role, inheriting):
        found, open = set(), [role]
        while open:
            role = open.pop()
            if role not in found:
                found.add(role)
                open += self.members[role] if self.inherits[role] or not inheriting else ()
        return found

    def has(self, role, relation, privilege, columns):
        if self.without_rows in self.reached(role, False):
            return False
        held = self.reached(role, True) | {"PUBLIC"}
        granted = lambda column: any((of, relation, privilege, column) in self.grants for of in held)
        return granted(None) or (all(map(granted, columns)) if columns else any(map(granted, COLUMNS)))

    def passes(self, role, table, command, row, check=False):
        if not self.enabled[table]:
            return True
        held = self.reached(role, True) | {"PUBLIC"}
        mine = [p for p in self.policies[table] if p["command"] in ("ALL", command) and p["role"] in held]
        says = lambda p: CONDITIONS[p["check"] if check and p["check"] else p["using"] or "true"](row, role, self.clear)
        return any(says(p) for p in mine if p["permissive"]) and all(says(p) for p in mine if not p["permissive"])


class Rights(Check):
    def run(self):
        chance = random.Random(self.options.seed)
        done = 0
        while done < self.options.count:
            world = World(chance)
            with self.server.connect(user="postgres") as one:
                self.make(one, world)
                logins = {role: self.server.connect(user=role) for role in ROLES}
                for _ in range(200):
                    if chance.random() < 0.05:
                        self.change(one, world)
                    self.ask(logins, world, chance)
                    done += 1
                for login in logins.values():
                    login.close()
                self.unmake(one)

    def make(self, one, world):
        for role in ROLES:
            kind = " IN ROLE dogwood_regulator" if role == world.without_rows else ""
            one.execute(f"CREATE ROLE {role} LOGIN {'INHERIT' if world.inherits[role] else 'NOINHERIT'}{kind}")
        one.execute("CREATE TABLE clearance (who name PRIMARY KEY, upto int); GRANT SELECT ON clearance TO PUBLIC")
        for who, upto in world.clear.items():
            one.execute("INSERT INTO clearance VALUES (%s, %s)", (who, upto))
        for table in TABLES:
            one.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, owner text, level int, body text)")
            for row in world.data[table].values():
                one.execute(f"INSERT INTO {table} VALUES (%(id)s, %(owner)s, %(level)s, %(body)s)", row)
            one.execute(f"CREATE VIEW v_{table} AS SELECT * FROM {table}; CREATE MATERIALIZED VIEW m_{table} AS SELECT * FROM {table}")
            one.execute(f"CREATE VIEW i_{table} WITH (security_invoker = true) AS SELECT * FROM {table}")
            if world.enabled[table]:
                one.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        for _ in range(40):
            self.change(one, world)

    def unmake(self, one):
        for table in TABLES:
            one.execute(f"DROP TABLE {table} CASCADE")
        one.execute("DROP TABLE clearance")
        for role in ROLES:
            one.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")

    def change(self, one, world):
        """One more grant, one less, a member, a policy."""
        chance = world.chance
        what = chance.random()
        if what < 0.6:
            relation = chance.choice(["", "", "v_", "m_", "i_"]) + chance.choice(TABLES)
            privilege = chance.choice(PRIVILEGES) if relation in TABLES else "SELECT"
            column = chance.choice(COLUMNS) if privilege != "DELETE" and chance.random() < 0.5 else None
            to = chance.choice(ROLES + ["PUBLIC"])
            if to != "PUBLIC" and world.without_rows in world.reached(to, False):
                return
            on = f"{privilege} {f'({column})' if column else ''} ON {relation}"
            if chance.random() < 0.75:
                one.execute(f"GRANT {on} TO {to}")
                world.grants.add((to, relation, privilege, column))
            else:
                one.execute(f"REVOKE {on} FROM {to}")
                gone = [column] if column else [None, *COLUMNS]
                world.grants -= {(to, relation, privilege, of) for of in gone}
        elif what < 0.75:
            group, member = chance.sample(ROLES, 2)
            may = member not in world.reached(group, False)
            has_rows = any(of in {role for role, *_ in world.grants} for of in ROLES if member in world.reached(of, False))
            if may and not (world.without_rows in world.reached(group, False) and has_rows):
                one.execute(f"GRANT {group} TO {member}")
                world.members[member].add(group)
        else:
            table, number = chance.choice(TABLES), chance.randrange(1_000_000)
            command = chance.choice(["ALL", "ALL", "SELECT", "INSERT", "UPDATE", "DELETE"])
            using = None if command == "INSERT" else chance.choice(list(CONDITIONS))
            check = chance.choice(list(CONDITIONS)) if command == "INSERT" or command in ("ALL", "UPDATE") and chance.random() < 0.5 else None
            role, permissive = chance.choice(ROLES + ["PUBLIC", "PUBLIC"]), chance.random() < 0.75
            one.execute(f"CREATE POLICY p{number} ON {table} AS {'PERMISSIVE' if permissive else 'RESTRICTIVE'} FOR {command} TO {role}"
                        + (f" USING ({using})" if using else "") + (f" WITH CHECK ({check})" if check else ""))
            world.policies[table].append({"command": command, "role": role, "permissive": permissive, "using": using, "check": check, "number": number})
            if len(world.policies[table]) > 6:
                self.drop_policies(one, world, table)

    def drop_policies(self, one, world, table):
        for name, in [(f"p{p['number']}",) for p in world.policies[table]]:
            one.execute(f"DROP POLICY {name} ON {table}")
        world.policies[table] = []

    def ask(self, logins, world, chance):
        role, table = chance.choice(ROLES), chance.choice(TABLES)
        way = chance.choice([self.read] * 4 + [self.change_rows, self.delete, self.insert])
        login = logins[role]
        login.execute("BEGIN")
        try:
            sql, found, expected = way(login, world, chance, role, table)
        finally:
            login.execute("ROLLBACK")
        self.tally.equal(found, expected, f"{role}: {sql}")

    def told(self, login, sql, column=0):
        """The rows that it gives, by the number in a column, or its SQLSTATE."""
        result = login.pgconn.exec_(sql.encode())
        if result.status == pq.ExecStatus.FATAL_ERROR:
            return result.error_field(pq.DiagnosticField.SQLSTATE).decode()
        if result.status == pq.ExecStatus.COPY_OUT:
            found = []
            while (part := login.pgconn.get_copy_data(0))[0] > 0:
                found.append(int(bytes(part[1]).split(b"\t")[0]))
            # What fails on a row does so after the rows before it.
            states = [each.error_field(pq.DiagnosticField.SQLSTATE) for each in iter(login.pgconn.get_result, None)]
            failed = [state.decode() for state in states if state]
            return failed[0] if failed else sorted(found)
        return sorted(int(value) for row in range(result.ntuples) if (value := result.get_value(row, column)) is not None)

    def read(self, login, world, chance, role, table):
        kind = chance.choice(["", "", "v_", "m_", "i_"])
        relation, asked = kind + table, chance.choice(list(ASKED))
        columns = chance.sample(COLUMNS, chance.randrange(1, 4))
        columns = ["id", *[column for column in columns if column != "id"]]
        query = f"SELECT {', '.join(columns)} FROM {relation} WHERE {asked}"
        used = set(columns) | {column for column in COLUMNS if column in asked.split("::")[0].replace("(", " ").split()}
        way = chance.choice(["plain", "nested", "with", "copy", "cursor", "prepared", "counted", "joined", "grouped", "subscribed", "explained"])
        sql = {
            "plain": query, "nested": f"SELECT * FROM ({query}) q", "with": f"WITH w AS ({query}) SELECT * FROM w",
            "copy": f"COPY ({query}) TO STDOUT", "cursor": f"DECLARE c CURSOR FOR {query}", "prepared": f"PREPARE z AS {query}",
            "subscribed": f"DECLARE c CURSOR FOR SUBSCRIBE ({query})", "explained": f"EXPLAIN {query}",
            "grouped": f"SELECT id FROM ({query}) q GROUP BY id HAVING count(*) > 0",
            "counted": f"SELECT n FROM (SELECT count(*) AS n FROM ({query}) q) c",
            "joined": f"SELECT q.* FROM ({query}) q JOIN (VALUES (1), (2), (4), (5)) v (id) USING (id)",
        }[way]
        if way == "cursor":
            found = self.told(login, sql)
            found = found if isinstance(found, str) else self.told(login, "FETCH ALL c")
        elif way == "subscribed":
            found = self.told(login, sql)
            found = found if isinstance(found, str) else self.told(login, "FETCH ALL c", 2)
            if found == "0A000" and world.enabled[table]:
                # Under policies nobody is told of changes of what may fail, or of what is asked anew for each statement.
                return sql, found, found
        elif way == "explained":
            state = login.pgconn.exec_(sql.encode()).error_field(pq.DiagnosticField.SQLSTATE)
            found = state.decode() if state else "shown"
        elif way == "prepared":
            found = self.told(login, sql)
            found = self.told(login, "EXECUTE z")
            if not isinstance(found, str):
                self.told(login, "DEALLOCATE z")
            else:
                login.execute("ROLLBACK; DEALLOCATE ALL; BEGIN")
        else:
            found = self.told(login, sql)
        if not world.has(role, relation, "SELECT", used) or kind == "i_" and not world.has(role, table, "SELECT", COLUMNS):
            return sql, found, "42501"
        if way == "explained":
            return sql, found, "shown"
        visible = [row for row in world.data[table].values() if world.passes(role, table, "SELECT", row)]
        if ASKED[asked] is None:
            fails = {"100 / (level - 7) < 1000": ("22012", lambda row: row["level"] == 7), "body::int >= 0": ("22P02", lambda row: True)}[asked]
            if any(fails[1](row) for row in visible):
                # What is joined away first need not fail.
                return sql, found if way == "joined" else found, found if way == "joined" and found != "42501" else fails[0]
            left = [row for row in visible if asked.startswith("100")]
            left = [row for row in left if int(100 / (row["level"] - 7)) < 1000]
        else:
            left = [row for row in visible if ASKED[asked](row)]
        ids = sorted(row["id"] for row in left)
        if way == "joined":
            ids = [id for id in ids if id in (1, 2, 4, 5)]
        return sql, found, [len(ids)] if way == "counted" else ids

    def change_rows(self, login, world, chance, role, table):
        column, value, change = chance.choice([("body", "'y'", lambda row: {**row, "body": "y"}), ("level", "level + 1", lambda row: {**row, "level": row["level"] + 1}),
                                               ("owner", "'q2'", lambda row: {**row, "owner": "q2"})])
        sql = f"UPDATE {table} SET {column} = {value} WHERE id < 7 RETURNING id"
        found = self.told(login, sql)
        reads = {"id"} | ({"level"} if column == "level" else set())
        if not (world.has(role, table, "UPDATE", [column]) and world.has(role, table, "SELECT", reads)):
            return sql, found, "42501"
        there = [row for row in world.data[table].values() if row["id"] < 7 and world.passes(role, table, "UPDATE", row) and world.passes(role, table, "SELECT", row)]
        made = [change(row) for row in there]
        ok = all(world.passes(role, table, "UPDATE", row, True) and world.passes(role, table, "SELECT", row) for row in made)
        return sql, found, sorted(row["id"] for row in there) if ok else "42501"

    def delete(self, login, world, chance, role, table):
        sql = f"DELETE FROM {table} WHERE id > 2 RETURNING id"
        found = self.told(login, sql)
        if not (world.has(role, table, "DELETE", []) and world.has(role, table, "SELECT", ["id"])):
            return sql, found, "42501"
        there = [row for row in world.data[table].values() if row["id"] > 2 and world.passes(role, table, "DELETE", row) and world.passes(role, table, "SELECT", row)]
        return sql, found, sorted(row["id"] for row in there)

    def insert(self, login, world, chance, role, table):
        row = world.row(100 + chance.randrange(50))
        sql = f"INSERT INTO {table} (id, owner, level, body) VALUES ({row['id']}, '{row['owner']}', {row['level']}, 'x')"
        found = self.told(login, sql)
        ok = world.has(role, table, "INSERT", COLUMNS) and world.passes(role, table, "INSERT", row, True)
        return sql, found, [] if ok else "42501"


if __name__ == "__main__":
    run_check(Rights(options(7, count=2000)))
