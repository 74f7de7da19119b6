//! Random annotated schemas and statements from a seed.

use crate::model::{Action, EdgeId, ForeignKey, Kind, RowId, Rule, Schema, State, Statement, Table, Value};
use std::collections::BTreeSet;

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("smaller than a usize")
    }
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

/// Up to eight tables. Mostly well formed; the server refuses the others.
pub fn schema(random: &mut Random) -> Schema {
    let count = 2 + random.below(7);
    // Ownership leads from high ranks to low ones.
    let mut rank: Vec<usize> = (0..count).collect();
    for index in (1..count).rev() {
        rank.swap(index, random.below(index + 1));
    }
    let mut schema = Schema { tables: Vec::new() };
    for index in 0..count {
        let subject = rank[index] == 0 || random.chance(15);
        let table = table(random, &schema, index, subject, &rank);
        schema.tables.push(table);
    }
    for edge in schema.edges() {
        for get in [true, false] {
            if !random.chance(if edge.id.0 == edge.near { 35 } else { 20 })
                || edge.near_columns.len() > 1
                || edge.far_columns.len() > 1
            {
                continue;
            }
            let anon = rule_columns(random, &schema, edge.near, edge.id, get);
            let delete = random.chance(25) && (get || !schema.tables[edge.near].subject);
            if delete {
                schema.tables[edge.near].rules.push(Rule { get, edge: edge.id, anon: None });
            } else if !anon.is_empty() {
                schema.tables[edge.near].rules.push(Rule { get, edge: edge.id, anon: Some(anon) });
            }
        }
    }
    schema
}

fn rule_columns(random: &mut Random, schema: &Schema, near: usize, edge: EdgeId, get: bool) -> Vec<usize> {
    let table = &schema.tables[near];
    let other_ownership = |column: usize| {
        table.foreign_keys.iter().enumerate().any(|(position, key)| {
            key.columns.contains(&column)
                && matches!(key.kind, Some(Kind::OwnedBy | Kind::Owns))
                && (near, position) != edge
        })
    };
    (0..table.columns.len())
        .filter(|column| {
            let key = table.primary.contains(column) || table.columns[*column] == "u" || other_ownership(*column);
            (get || !key) && random.chance(40)
        })
        .collect()
}

fn table(random: &mut Random, schema: &Schema, index: usize, subject: bool, rank: &[usize]) -> Table {
    let mut table = Table {
        columns: Vec::new(),
        not_null: BTreeSet::new(),
        unique: Vec::new(),
        primary: Vec::new(),
        subject,
        foreign_keys: Vec::new(),
        rules: Vec::new(),
    };
    let junction = !subject && index >= 2 && random.chance(15);
    if !junction {
        let names: &[&str] = if random.chance(20) { &["ka", "kb"] } else { &["k"] };
        table.columns.extend(names.iter().map(|name| (*name).to_string()));
        table.primary = (0..names.len()).collect();
    }
    if random.chance(25) {
        table.unique.push(vec![table.columns.len()]);
        table.columns.push("u".into());
    }
    let keys =
        if junction { 2 + random.below(2) } else { random.below(4) + usize::from(!subject && random.chance(70)) };
    for number in 0..keys {
        let in_primary = junction && number < 2;
        let target = if in_primary { random.below(index) } else { random.below(index + 1) };
        let targets = if target == index { &table } else { &schema.tables[target] };
        let mut target_columns = targets.primary.clone();
        if let Some(unique) = targets.unique.first()
            && random.chance(25)
        {
            target_columns.clone_from(unique);
        }
        if in_primary && target_columns.len() > 1 || target_columns.is_empty() {
            return self::table(random, schema, index, subject, rank);
        }
        let kind = kind(random, rank, index, target);
        let single = target_columns.len() == 1 && !in_primary;
        let (on_delete, on_update) = actions(random, single);
        let columns: Vec<usize> = target_columns
            .iter()
            .enumerate()
            .map(|(part, _)| {
                let column = table.columns.len();
                table.columns.push(if target_columns.len() == 1 {
                    format!("f{number}")
                } else {
                    format!("f{number}_{part}")
                });
                column
            })
            .collect();
        if in_primary {
            table.primary.extend(&columns);
        } else if random.chance(20) {
            table.not_null.extend(&columns);
        }
        table.foreign_keys.push(ForeignKey { columns, target, target_columns, kind, on_delete, on_update });
    }
    table.columns.push("v".into());
    table.not_null.extend(table.primary.clone());
    table
}

/// ON DELETE and ON UPDATE.
fn actions(random: &mut Random, single: bool) -> (Action, Action) {
    let action = |random: &mut Random, single: bool| match random.below(10) {
        0..=3 => Action::NoAction,
        4..=6 => Action::Cascade,
        7 | 8 => Action::SetNull,
        _ if single => Action::SetDefault(i64::try_from(random.below(4)).expect("small")),
        _ => Action::NoAction,
    };
    let on_delete = action(random, single);
    // A column has one default.
    let on_update = match action(random, false) {
        Action::SetNull if matches!(on_delete, Action::SetDefault(_)) => Action::Cascade,
        action => action,
    };
    (on_delete, on_update)
}

fn kind(random: &mut Random, rank: &[usize], index: usize, target: usize) -> Option<Kind> {
    let owning = if index == target {
        random.pick(&[Kind::OwnedBy, Kind::Owns])
    } else if rank[index] > rank[target] {
        Kind::OwnedBy
    } else {
        Kind::Owns
    };
    match random.below(10) {
        0..=4 => Some(owning),
        5 => Some(Kind::AccessedBy),
        6 => Some(Kind::Accesses),
        _ => None,
    }
}

/// The schema as DDL, one query string.
pub fn ddl(schema: &Schema) -> String {
    let mut sql = String::new();
    let mut later = String::new();
    for (index, table) in schema.tables.iter().enumerate() {
        let list = |table: usize, columns: &[usize]| {
            columns.iter().map(|column| schema.tables[table].columns[*column].clone()).collect::<Vec<_>>().join(", ")
        };
        let mut parts: Vec<String> = Vec::new();
        for (column, name) in table.columns.iter().enumerate() {
            let mut part = format!("{name} INT");
            if table.not_null.contains(&column) && !table.primary.contains(&column) {
                part += " NOT NULL";
            }
            if table.unique.contains(&vec![column]) {
                part += " UNIQUE";
            }
            if let Some(key) = table.foreign_keys.iter().find(|key| key.columns == [column]) {
                if let Action::SetDefault(value) = key.on_delete {
                    part += &format!(" DEFAULT {value}");
                }
                part += &reference(key, &list(key.target, &key.target_columns));
            }
            parts.push(part);
        }
        parts.push(format!("PRIMARY KEY ({})", list(index, &table.primary)));
        for key in table.foreign_keys.iter().filter(|key| key.columns.len() > 1) {
            let target = reference(key, &list(key.target, &key.target_columns));
            parts.push(format!("FOREIGN KEY ({}){target}", list(index, &key.columns)));
        }
        for rule in &table.rules {
            let event = if rule.get { "GET" } else { "DEL" };
            let edge = list(rule.edge.0, &schema.tables[rule.edge.0].foreign_keys[rule.edge.1].columns);
            let action = match &rule.anon {
                Some(columns) => format!("ANON ({})", list(index, columns)),
                None => "DELETE_ROW".into(),
            };
            let kind = schema.tables[rule.edge.0].foreign_keys[rule.edge.1].kind;
            if rule.edge.0 == index && matches!(kind, Some(Kind::OwnedBy | Kind::AccessedBy)) {
                parts.push(format!("ON {event} {edge} {action}"));
            } else {
                later += &format!("ALTER TABLE t{index} ADD ON {event} t{}({edge}) {action};\n", rule.edge.0);
            }
        }
        let subject = if table.subject { "DATA_SUBJECT " } else { "" };
        sql += &format!("CREATE {subject}TABLE t{index} ({});\n", parts.join(", "));
    }
    sql + &later
}

fn reference(key: &ForeignKey, columns: &str) -> String {
    let word = match key.kind {
        Some(Kind::OwnedBy) => "OWNED_BY",
        Some(Kind::Owns) => "OWNS",
        Some(Kind::AccessedBy) => "ACCESSED_BY",
        Some(Kind::Accesses) => "ACCESSES",
        None => "REFERENCES",
    };
    let action = |event: &str, action: Action| match action {
        Action::NoAction => String::new(),
        Action::Cascade => format!(" ON {event} CASCADE"),
        Action::SetNull => format!(" ON {event} SET NULL"),
        Action::SetDefault(_) => format!(" ON {event} SET DEFAULT"),
    };
    format!(" {word} t{}({columns}){}{}", key.target, action("DELETE", key.on_delete), action("UPDATE", key.on_update))
}

/// A statement that mostly makes sense in this state.
pub fn statement(random: &mut Random, schema: &Schema, state: &State) -> Statement {
    let index = random.below(schema.tables.len());
    let table = &schema.tables[index];
    let own: Vec<&crate::model::Row> = state.rows.values().filter(|row| row.table == index).collect();
    let condition = |random: &mut Random| {
        let column = if random.chance(80) { table.primary[0] } else { random.below(table.columns.len()) };
        let value = match own.get(random.below(own.len().max(1))).and_then(|row| row.values[column]) {
            Some(value) => value,
            None => i64::try_from(random.below(7)).expect("small"),
        };
        (column, value)
    };
    match random.below(if own.len() > 8 { 16 } else { 10 }) {
        0..=5 => {
            let rows = (0..=random.below(2)).map(|_| new_row(random, schema, state, index)).collect();
            Statement::Insert(index, rows)
        }
        6..=8 => {
            let column = random.below(table.columns.len());
            let fresh = new_row(random, schema, state, index);
            Statement::Update(index, condition(random), column, fresh[column])
        }
        _ => Statement::Delete(index, condition(random)),
    }
}

fn new_row(random: &mut Random, schema: &Schema, state: &State, index: usize) -> Vec<Value> {
    let table = &schema.tables[index];
    let small = |random: &mut Random| Some(i64::try_from(random.below(7)).expect("small"));
    let mut values: Vec<Value> = table.columns.iter().map(|_| small(random)).collect();
    for key in &table.foreign_keys {
        let targets: Vec<(&RowId, &crate::model::Row)> =
            state.rows.iter().filter(|(_, row)| row.table == key.target).collect();
        let in_primary = key.columns.iter().any(|column| table.primary.contains(column));
        let null = !in_primary && random.chance(20);
        let target = if targets.is_empty() { None } else { Some(random.pick(&targets)) };
        for (column, target_column) in key.columns.iter().zip(&key.target_columns) {
            values[*column] = match target {
                _ if null => None,
                Some((_, row)) if !random.chance(3) => row.values[*target_column],
                Some(_) | None if table.not_null.contains(column) || random.chance(10) => small(random),
                Some(_) | None => None,
            };
        }
    }
    values
}

/// As SQL.
pub fn sql(schema: &Schema, statement: &Statement) -> String {
    let text = |value: &Value| value.map_or("NULL".into(), |value| value.to_string());
    match statement {
        Statement::Insert(table, rows) => {
            let rows: Vec<String> =
                rows.iter().map(|row| format!("({})", row.iter().map(text).collect::<Vec<_>>().join(", "))).collect();
            format!("INSERT INTO t{table} VALUES {}", rows.join(", "))
        }
        Statement::Update(table, (column, value), set, new) => {
            let columns = &schema.tables[*table].columns;
            format!("UPDATE t{table} SET {} = {} WHERE {} = {value}", columns[*set], text(new), columns[*column])
        }
        Statement::Delete(table, (column, value)) => {
            format!("DELETE FROM t{table} WHERE {} = {value}", schema.tables[*table].columns[*column])
        }
    }
}
