"""Random expressions over types that few tables have: strings of bits, addresses of interfaces, money. Over columns, and over literals alone.

Amounts stay small: where PostgreSQL 15 lets them overflow, they are an error here.
"""
import random

SETUP = [
    "DROP TABLE IF EXISTS few_types",
    "CREATE TABLE few_types (id INT PRIMARY KEY, b BIT(6), v BIT VARYING(20), m MACADDR, w MACADDR8, c MONEY, i INT)",
    "CREATE INDEX few_types_b ON few_types (b)",
    "CREATE INDEX few_types_v ON few_types (v, m)",
    "CREATE INDEX few_types_c ON few_types (c DESC)",
    "INSERT INTO few_types SELECT g, (g * 7)::bit(6), substring(g::bit(20), 1 + g % 20)::varbit, ('08:00:2b:01:0' || g % 3 || ':0' || g % 7)::macaddr, "
    "('08002b01020' || g % 3 || '040' || g % 5)::macaddr8, (g % 9 - 4) * '1.37'::money, g % 8 - 3 FROM generate_series(1, 60) g",
    "INSERT INTO few_types (id) VALUES (61), (62)",
]
LEAVES = {
    "bit": ["b", "b", "B'101101'", "B'000000'", "X'F'", "B''", "(i)::bit(6)", "(-5)::bit(9)", "X'DEADBEEF'"],
    "varbit": ["v", "v", "B'1'::varbit", "''::varbit", "'x5'::bit varying", "'1011011101'::varbit(4)"],
    "macaddr": ["m", "m", "'08:00:2b:01:02:03'::macaddr", "'ffffff-000000'::macaddr"],
    "macaddr8": ["w", "w", "'08:00:2b:ff:fe:01:02:03'::macaddr8", "'ffff.ffff.0000.0000'::macaddr8", "m::macaddr8"],
    "money": ["c", "c", "'1.25'::money", "'-$3.10'::money", "0.015::money", "'0'::money", "7::money"],
    "int4": ["i", "i", "0", "1", "-1", "3", "9", "2147483647", "-2147483648"],
}
CALLS = {
    "bit": ["({bit} & {bit})", "({bit} | {bit})", "({bit} # {bit})", "(~ {bit})", "({bit} << {int4})", "({bit} >> {int4})", "substring({bit}, {int4}, {int4})", "substring({bit} FROM {int4})",
            "overlay({bit} PLACING {bit} FROM {int4})", "overlay({bit}, {bit}, {int4}, {int4})", "set_bit({bit}, {int4}, 1)", "({varbit})::bit(6)", "({bit})::bit(8)", "({int4})::bit(7)", "coalesce({bit}, b)"],
    "varbit": ["({varbit} || {varbit})", "({bit} || {bit})", "({varbit})::varbit(5)", "({bit})::text::varbit", "CASE WHEN {bool} THEN v ELSE b END"],
    "macaddr": ["(~ {macaddr})", "({macaddr} & {macaddr})", "({macaddr} | {macaddr})", "trunc({macaddr})", "({macaddr8})::macaddr", "greatest({macaddr}, {macaddr})"],
    "macaddr8": ["(~ {macaddr8})", "({macaddr8} & {macaddr8})", "({macaddr8} | {macaddr8})", "trunc({macaddr8})", "macaddr8_set7bit({macaddr8})", "({macaddr})::macaddr8", "least({macaddr8}, {macaddr8})"],
    "money": ["({money} + {money})", "({money} - {money})", "({money} * 3)", "(0.5::float8 * {money})", "({money} / 3)", "({money} / 7::int8)", "({money} / 0.3::float4)", "({money})::numeric::money", "nullif({money}, {money})"],
    "int4": ["length({bit})", "bit_length({varbit})", "octet_length({bit})", "position({bit} IN {bit})", "get_bit({bit}, {int4})", "({bit})::int", "bit_count({varbit})::int"],
    "bool": ["({bit} = {bit})", "({bit} < {bit})", "({varbit} >= {varbit})", "({varbit} <> {bit})", "({macaddr} < {macaddr})", "({macaddr8} = {macaddr})", "({money} > {money})", "({money} <= {money})",
             "({bit} IS DISTINCT FROM {bit})", "({bit} IN ({bit}, {bit}))", "({money} BETWEEN {money} AND {money})"],
    "text": ["({bit})::text", "({money})::text", "cash_words({money})", "({macaddr})::varchar(9)", "to_json({varbit})::text", "({money} / {money})::numeric(20, 6)::text", "format('%s', {macaddr8})"],
}
FOLDS = ["bit_and(b)", "bit_or(b)", "bit_xor(b)", "bit_xor(DISTINCT b)", "sum(c)", "min(c)", "max(c)", "count(DISTINCT v)", "count(DISTINCT m)", "array_agg(w ORDER BY w, id)", "sum(c) FILTER (WHERE i > 0)"]


class Random:
    def __init__(self, seed):
        self.dice = random.Random(seed)

    def statements(self, count):
        yield from SETUP
        for _ in range(count):
            yield self.dice.choice((self.values, self.rows, self.rows, self.groups))()

    def of(self, kind, depth):
        """An expression of a type."""
        if kind in LEAVES and (depth == 0 or self.dice.random() < 0.3):
            return self.dice.choice(LEAVES[kind])
        call = self.dice.choice(CALLS[kind])
        while "{" in call:
            before, _, rest = call.partition("{")
            inner, _, behind = rest.partition("}")
            call = before + self.of(inner, max(depth - 1, 0)).replace("{", "") + behind
        return call

    def some(self, depth=2):
        return self.of(self.dice.choice(list(CALLS)), depth)

    def values(self):
        """Of one row, so that errors are those of one."""
        return f"SELECT {self.some(3)} AS one, {self.some()} AS other FROM few_types WHERE id = {self.dice.randint(1, 62)}"

    def rows(self):
        kind = self.dice.choice(["b", "v", "m", "w", "c"])
        return f"SELECT id, {kind} FROM few_types WHERE {self.of('bool', 1)} ORDER BY {kind} {self.dice.choice(['', 'DESC', 'NULLS FIRST'])}, id LIMIT {self.dice.randint(1, 70)}"

    def groups(self):
        key = self.dice.choice(["b", "v", "m", "w", "c", "trunc(m)", "b & B'000011'", "c / 2", "length(v)"])
        return f"SELECT {key} AS k, count(*), {self.dice.choice(FOLDS)} AS f FROM few_types GROUP BY 1 ORDER BY 1"
