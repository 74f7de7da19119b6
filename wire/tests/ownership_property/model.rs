//! The naive model: SEMANTICS sections 3 to 6 by brute force over all rows, with nothing kept between steps.

use std::collections::{BTreeMap, BTreeSet};

/// A value: all columns are INT.
pub type Value = Option<i64>;
/// A row's identity in the model; it survives changes of the primary key.
pub type RowId = usize;
/// An edge: the table and position of its foreign key.
pub type EdgeId = (usize, usize);

/// What an annotation says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    OwnedBy,
    Owns,
    AccessedBy,
    Accesses,
}

/// ON DELETE, ON UPDATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::enum_variant_names, reason = "NO ACTION is SQL's word")]
pub enum Action {
    NoAction,
    Cascade,
    SetNull,
    /// To this value.
    SetDefault(i64),
}

#[derive(Clone, Debug)]
pub struct ForeignKey {
    pub columns: Vec<usize>,
    pub target: usize,
    pub target_columns: Vec<usize>,
    pub kind: Option<Kind>,
    pub on_delete: Action,
    pub on_update: Action,
}

#[derive(Clone, Debug)]
pub struct Rule {
    pub get: bool,
    pub edge: EdgeId,
    /// `None` is DELETE_ROW.
    pub anon: Option<Vec<usize>>,
}

#[derive(Clone, Debug)]
pub struct Table {
    pub columns: Vec<String>,
    pub not_null: BTreeSet<usize>,
    pub unique: Vec<Vec<usize>>,
    pub primary: Vec<usize>,
    pub subject: bool,
    pub foreign_keys: Vec<ForeignKey>,
    pub rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
pub struct Schema {
    pub tables: Vec<Table>,
}

/// An edge towards a data subject: near rows gain holders from far rows.
#[derive(Clone, Debug)]
pub struct Edge {
    pub id: EdgeId,
    pub kind: Kind,
    pub near: usize,
    pub near_columns: Vec<usize>,
    pub far: usize,
    pub far_columns: Vec<usize>,
}

impl Edge {
    pub fn owns(&self) -> bool {
        matches!(self.kind, Kind::OwnedBy | Kind::Owns)
    }
    pub fn along_foreign_key(&self) -> bool {
        matches!(self.kind, Kind::OwnedBy | Kind::AccessedBy)
    }
}

impl Schema {
    pub fn edges(&self) -> Vec<Edge> {
        let mut edges = Vec::new();
        for (index, table) in self.tables.iter().enumerate() {
            for (position, key) in table.foreign_keys.iter().enumerate() {
                let Some(kind) = key.kind else { continue };
                let (here, there) = ((index, key.columns.clone()), (key.target, key.target_columns.clone()));
                let along = matches!(kind, Kind::OwnedBy | Kind::AccessedBy);
                let (near, far) = if along { (here, there) } else { (there, here) };
                edges.push(Edge {
                    id: (index, position),
                    kind,
                    near: near.0,
                    near_columns: near.1,
                    far: far.0,
                    far_columns: far.1,
                });
            }
        }
        edges
    }

    pub fn personal(&self, table: usize) -> bool {
        self.tables[table].subject || self.edges().iter().any(|edge| edge.owns() && edge.near == table)
    }

    fn list(&self, table: usize, columns: &[usize]) -> String {
        columns.iter().map(|column| self.tables[table].columns[*column].clone()).collect::<Vec<_>>().join(", ")
    }

    /// As GET's path names it.
    pub fn describe(&self, edge: EdgeId) -> String {
        let key = &self.tables[edge.0].foreign_keys[edge.1];
        let word = match key.kind {
            Some(Kind::OwnedBy) => "OWNED_BY",
            Some(Kind::Owns) => "OWNS",
            Some(Kind::AccessedBy) => "ACCESSED_BY",
            Some(Kind::Accesses) => "ACCESSES",
            None => "REFERENCES",
        };
        let (from, to) = (self.list(edge.0, &key.columns), self.list(key.target, &key.target_columns));
        format!("t{}.{from} {word} t{}({to})", edge.0, key.target)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub table: usize,
    pub values: Vec<Value>,
}

pub fn key_of(row: &Row, columns: &[usize]) -> Option<Vec<i64>> {
    columns.iter().map(|column| row.values[*column]).collect()
}

/// All rows.
#[derive(Clone, Debug, Default)]
pub struct State {
    pub rows: BTreeMap<RowId, Row>,
    pub next: RowId,
}

/// SQLSTATEs: of these one must come, or one of those may.
#[derive(Clone, Debug, Default)]
pub struct Refusal {
    pub must: BTreeSet<&'static str>,
    pub may: BTreeSet<&'static str>,
}

#[derive(Clone, Debug)]
pub enum Statement {
    Insert(usize, Vec<Vec<Value>>),
    /// Table, rows where this column has this value, column, new value.
    Update(usize, (usize, i64), usize, Value),
    Delete(usize, (usize, i64)),
}

impl State {
    fn matching(&self, table: usize, columns: &[usize], key: &[i64]) -> Vec<RowId> {
        self.rows
            .iter()
            .filter(|(_, row)| row.table == table && key_of(row, columns).as_deref() == Some(key))
            .map(|(id, _)| *id)
            .collect()
    }

    /// Runs a statement; the state is as after it, if nothing is refused.
    pub fn run(&mut self, schema: &Schema, statement: &Statement) -> Refusal {
        let mut refusal = Refusal::default();
        match statement {
            Statement::Insert(table, rows) => {
                for values in rows {
                    let row = Row { table: *table, values: values.clone() };
                    if schema.tables[*table].not_null.iter().any(|column| row.values[*column].is_none()) {
                        refusal.must.insert("23502");
                    }
                    self.rows.insert(self.next, row);
                    self.next += 1;
                }
            }
            Statement::Update(table, (column, value), set, new) => {
                for id in self.matching(*table, &[*column], &[*value]) {
                    let before = self.rows[&id].clone();
                    let row = self.rows.get_mut(&id).expect("matched");
                    row.values[*set] = *new;
                    if new.is_none() && before.values[*set].is_some() && schema.tables[*table].not_null.contains(set) {
                        refusal.must.insert("23502");
                    }
                    self.moved(schema, &before, id, &mut refusal, 0);
                }
            }
            Statement::Delete(table, (column, value)) => {
                let ids = self.matching(*table, &[*column], &[*value]);
                let gone: Vec<Row> = ids.iter().filter_map(|id| self.rows.remove(id)).collect();
                for row in gone {
                    self.gone(schema, &row, &mut refusal);
                }
            }
        }
        self.constraints(schema, &mut refusal);
        refusal
    }

    fn gone(&mut self, schema: &Schema, row: &Row, refusal: &mut Refusal) {
        for (table, position) in referrers(schema, row.table) {
            let key = &schema.tables[table].foreign_keys[position];
            let Some(old) = key_of(row, &key.target_columns) else { continue };
            for id in self.matching(table, &key.columns, &old) {
                match key.on_delete {
                    Action::NoAction => {}
                    Action::Cascade => {
                        if let Some(gone) = self.rows.remove(&id) {
                            self.gone(schema, &gone, refusal);
                        }
                    }
                    Action::SetNull => self.assign(schema, id, key, &vec![None; old.len()], refusal, 0),
                    Action::SetDefault(value) => self.assign(schema, id, key, &[Some(value)], refusal, 0),
                }
            }
        }
    }

    fn assign(
        &mut self,
        schema: &Schema,
        id: RowId,
        key: &ForeignKey,
        new: &[Value],
        refusal: &mut Refusal,
        depth: usize,
    ) {
        let Some(before) = self.rows.get(&id).cloned() else { return };
        for (column, value) in key.columns.iter().zip(new) {
            self.rows.get_mut(&id).expect("there").values[*column] = *value;
            if value.is_none() && schema.tables[before.table].not_null.contains(column) {
                refusal.may.insert("23502");
            }
        }
        self.moved(schema, &before, id, refusal, depth);
    }

    fn moved(&mut self, schema: &Schema, before: &Row, id: RowId, refusal: &mut Refusal, depth: usize) {
        if depth > 20 {
            refusal.may.insert("54001");
            return;
        }
        for (table, position) in referrers(schema, before.table) {
            let key = &schema.tables[table].foreign_keys[position];
            let Some(row) = self.rows.get(&id) else { return };
            let (Some(old), new) = (key_of(before, &key.target_columns), key_of(row, &key.target_columns)) else {
                continue;
            };
            if new.as_ref() == Some(&old) {
                continue;
            }
            let values: Vec<Value> = key.target_columns.iter().map(|column| row.values[*column]).collect();
            for near in self.matching(table, &key.columns, &old) {
                match key.on_update {
                    Action::NoAction => {}
                    Action::Cascade => self.assign(schema, near, key, &values, refusal, depth + 1),
                    Action::SetNull => self.assign(schema, near, key, &vec![None; old.len()], refusal, depth + 1),
                    Action::SetDefault(value) => self.assign(schema, near, key, &[Some(value)], refusal, depth + 1),
                }
            }
        }
    }

    fn constraints(&self, schema: &Schema, refusal: &mut Refusal) {
        for (index, table) in schema.tables.iter().enumerate() {
            let rows = || self.rows.values().filter(move |row| row.table == index);
            for columns in table.unique.iter().chain([&table.primary]) {
                let mut seen = BTreeSet::new();
                if rows().filter_map(|row| key_of(row, columns)).any(|key| !seen.insert(key)) {
                    refusal.must.insert("23505");
                }
            }
            for key in &table.foreign_keys {
                let dangling = rows()
                    .filter_map(|row| key_of(row, &key.columns))
                    .any(|value| self.matching(key.target, &key.target_columns, &value).is_empty());
                if dangling {
                    refusal.must.insert("23503");
                }
            }
        }
    }

    /// Owners of every row: the least fixpoint.
    pub fn owners(&self, schema: &Schema) -> BTreeMap<RowId, BTreeSet<RowId>> {
        self.fixpoint(schema, true, &BTreeMap::new())
    }

    /// Accessors of every row, given its owners.
    pub fn accessors(
        &self,
        schema: &Schema,
        owners: &BTreeMap<RowId, BTreeSet<RowId>>,
    ) -> BTreeMap<RowId, BTreeSet<RowId>> {
        self.fixpoint(schema, false, owners)
    }

    fn fixpoint(
        &self,
        schema: &Schema,
        owning: bool,
        owners: &BTreeMap<RowId, BTreeSet<RowId>>,
    ) -> BTreeMap<RowId, BTreeSet<RowId>> {
        let edges = schema.edges();
        let subject = |id: &RowId| schema.tables[self.rows[id].table].subject;
        let mut sets: BTreeMap<RowId, BTreeSet<RowId>> = self
            .rows
            .keys()
            .map(|id| (*id, if owning && subject(id) { BTreeSet::from([*id]) } else { BTreeSet::new() }))
            .collect();
        let links = self.links(&edges);
        loop {
            let mut changed = false;
            for (edge, far, near) in &links {
                let edge = &edges[*edge];
                // holders(b) and viewers(b)
                let holders = |owners: &BTreeMap<RowId, BTreeSet<RowId>>| {
                    if subject(far) { BTreeSet::from([*far]) } else { owners[far].clone() }
                };
                let mut gain = BTreeSet::new();
                if owning {
                    if edge.owns() {
                        gain = holders(&sets);
                    }
                } else {
                    if !subject(far) {
                        gain.extend(sets[far].clone());
                    }
                    if !edge.owns() {
                        gain.extend(holders(owners));
                    }
                }
                let set = sets.get_mut(near).expect("every row has a set");
                let size = set.len();
                set.extend(gain);
                changed |= set.len() > size;
            }
            if !changed {
                return sets;
            }
        }
    }

    /// Every pair of rows that an edge ties: edge, far row, near row.
    fn links(&self, edges: &[Edge]) -> Vec<(usize, RowId, RowId)> {
        let mut links = Vec::new();
        for (index, edge) in edges.iter().enumerate() {
            for (far, row) in self.rows.iter().filter(|(_, row)| row.table == edge.far) {
                let Some(key) = key_of(row, &edge.far_columns) else { continue };
                links.extend(
                    self.matching(edge.near, &edge.near_columns, &key).into_iter().map(|near| (index, *far, near)),
                );
            }
        }
        links
    }

    /// Whether a row of a personal table has no owner.
    pub fn has_orphan(&self, schema: &Schema) -> bool {
        let owners = self.owners(schema);
        self.rows.iter().any(|(id, row)| schema.personal(row.table) && owners[id].is_empty())
    }

    /// GDPR GET: lines of table, relation, path, values, hidden columns.
    pub fn get(&self, schema: &Schema, subject: RowId) -> Vec<String> {
        let edges = schema.edges();
        let links = self.links(&edges);
        let owners = self.owners(schema);
        let accessors = self.accessors(schema, &owners);
        let mut lines = Vec::new();
        for (id, row) in &self.rows {
            let relation = if owners[id].contains(&subject) {
                "owner"
            } else if accessors[id].contains(&subject) {
                "accessor"
            } else {
                continue;
            };
            let mut through: BTreeSet<EdgeId> = BTreeSet::new();
            if *id != subject {
                let reached = self.reached(schema, &links, subject, *id);
                for (edge, far, near) in &links {
                    if near == id && far != id && reached.contains(far) && self.leads_on(schema, subject, *far) {
                        through.insert(edges[*edge].id);
                    }
                }
            }
            let table = &schema.tables[row.table];
            let mut hidden: BTreeSet<usize> = (0..table.columns.len()).collect();
            let mut dropped = !through.is_empty();
            if through.is_empty() {
                hidden.clear();
            }
            for edge in &through {
                let rules = || table.rules.iter().filter(|rule| rule.get && rule.edge == *edge);
                let deletes = rules().any(|rule| rule.anon.is_none());
                dropped &= deletes;
                if !deletes {
                    let anon: BTreeSet<usize> =
                        rules().flat_map(|rule| rule.anon.clone().unwrap_or_default()).collect();
                    hidden = hidden.intersection(&anon).copied().collect();
                }
            }
            if dropped {
                continue;
            }
            let mut path: Vec<String> = through.iter().map(|edge| schema.describe(*edge)).collect();
            path.sort();
            let cells: Vec<String> = (0..table.columns.len())
                .map(|column| match row.values[column] {
                    _ if hidden.contains(&column) => format!("{}=*", table.columns[column]),
                    None => format!("{}=-", table.columns[column]),
                    Some(value) => format!("{}={value}", table.columns[column]),
                })
                .collect();
            lines.push(format!("t{} {relation} [{}] {}", row.table, path.join(", "), cells.join(" ")));
        }
        lines.sort();
        lines
    }

    fn leads_on(&self, schema: &Schema, subject: RowId, id: RowId) -> bool {
        id == subject || !schema.tables[self.rows[&id].table].subject
    }

    fn reached(
        &self,
        schema: &Schema,
        links: &[(usize, RowId, RowId)],
        subject: RowId,
        avoided: RowId,
    ) -> BTreeSet<RowId> {
        let mut reached = BTreeSet::from([subject]);
        loop {
            let size = reached.len();
            for (_, far, near) in links {
                if *near != avoided && reached.contains(far) && self.leads_on(schema, subject, *far) {
                    reached.insert(*near);
                }
            }
            if reached.len() == size {
                return reached;
            }
        }
    }

    /// GDPR FORGET: the state after, and the result's lines.
    pub fn forget(&self, schema: &Schema, subject: RowId) -> (State, Vec<String>) {
        let edges = schema.edges();
        let mut erased: BTreeSet<RowId> = BTreeSet::from([subject]);
        let mut now = self.clone();
        loop {
            let before = (erased.clone(), now.rows.clone());
            now.rows.retain(|id, _| !erased.contains(id));
            for id in erased.clone() {
                self.fire(schema, &edges, &self.rows[&id], &mut now, &mut erased);
            }
            now.rows.retain(|id, _| !erased.contains(id));
            let owners = now.owners(schema);
            erased.extend(
                now.rows
                    .iter()
                    .filter(|(id, row)| schema.personal(row.table) && owners[*id].is_empty())
                    .map(|(id, _)| *id),
            );
            now.rows.retain(|id, _| !erased.contains(id));
            if before == (erased.clone(), now.rows.clone()) {
                break;
            }
        }
        let mut dangling = Refusal::default();
        now.constraints(schema, &mut dangling);
        assert!(dangling.must.is_empty(), "the model itself leaves {dangling:?}");
        let (old, new) = (self.owners(schema), now.owners(schema));
        let mut counts: BTreeMap<usize, [u64; 3]> = BTreeMap::new();
        for (id, row) in &self.rows {
            let counts = counts.entry(row.table).or_default();
            match now.rows.get(id) {
                None => counts[0] += 1,
                Some(after) => {
                    counts[1] += u64::from(after != row);
                    counts[2] += u64::from(old[id].contains(&subject) && !new[id].contains(&subject));
                }
            }
        }
        let lines = counts
            .into_iter()
            .filter(|(_, counts)| *counts != [0; 3])
            .map(|(table, [deleted, anonymized, disowned])| format!("t{table} {deleted} {anonymized} {disowned}"))
            .collect();
        (now, lines)
    }

    fn fire(&self, schema: &Schema, edges: &[Edge], far: &Row, now: &mut State, erased: &mut BTreeSet<RowId>) {
        for edge in edges.iter().filter(|edge| edge.far == far.table) {
            let Some(key) = key_of(far, &edge.far_columns) else { continue };
            for near in self.matching(edge.near, &edge.near_columns, &key) {
                let table = &schema.tables[edge.near];
                let rules = || table.rules.iter().filter(|rule| !rule.get && rule.edge == edge.id);
                if rules().any(|rule| rule.anon.is_none()) {
                    erased.insert(near);
                    continue;
                }
                let mut blanked: BTreeSet<usize> =
                    rules().flat_map(|rule| rule.anon.clone().unwrap_or_default()).collect();
                if edge.along_foreign_key() && !edge.near_columns.iter().any(|column| blanked.contains(column)) {
                    match blankable(table, &edge.near_columns) {
                        Some(columns) => blanked.extend(columns),
                        None => {
                            erased.insert(near);
                        }
                    }
                }
                if let Some(row) = now.rows.get_mut(&near) {
                    blanked.iter().for_each(|column| row.values[*column] = None);
                }
            }
        }
        for (index, position) in referrers(schema, far.table) {
            let table = &schema.tables[index];
            let key = &table.foreign_keys[position];
            let Some(value) = key_of(far, &key.target_columns) else { continue };
            if matches!(key.kind, Some(Kind::OwnedBy | Kind::AccessedBy)) {
                continue;
            }
            if key.kind.is_none() && key.on_delete == Action::Cascade && !table.subject {
                erased.extend(self.matching(index, &key.columns, &value));
                continue;
            }
            for id in now.matching(index, &key.columns, &value) {
                let keyed = table
                    .unique
                    .iter()
                    .chain([&table.primary])
                    .any(|unique| unique.iter().any(|column| key.columns.contains(column)));
                let default = match key.on_delete {
                    Action::SetDefault(default) if !keyed && key.kind.is_none() => Some(default).filter(|default| {
                        now.matching(key.target, &key.target_columns, &[*default]).iter().any(|id| !erased.contains(id))
                    }),
                    _ => None,
                };
                let row = now.rows.get_mut(&id).expect("matched");
                match (default, blankable(table, &key.columns)) {
                    (Some(default), _) => row.values[key.columns[0]] = Some(default),
                    (None, Some(columns)) => columns.iter().for_each(|column| row.values[*column] = None),
                    (None, None) => {
                        erased.insert(id);
                    }
                }
            }
        }
    }
}

fn blankable(table: &Table, columns: &[usize]) -> Option<Vec<usize>> {
    let outside: Vec<usize> = columns.iter().copied().filter(|column| !table.primary.contains(column)).collect();
    let users = |column: &usize| table.foreign_keys.iter().filter(|key| key.columns.contains(column)).count();
    let alone: Vec<usize> = outside.iter().copied().filter(|column| users(column) <= 1).collect();
    if !alone.is_empty() {
        return Some(alone);
    }
    if outside.is_empty() { None } else { Some(outside) }
}

fn referrers(schema: &Schema, target: usize) -> Vec<EdgeId> {
    let mut found = Vec::new();
    for (index, table) in schema.tables.iter().enumerate() {
        for (position, key) in table.foreign_keys.iter().enumerate() {
            if key.target == target {
                found.push((index, position));
            }
        }
    }
    found
}
