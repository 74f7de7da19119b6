//! Whose data was touched in a time: what the audit log says, put together for GDPR BREACH.
//!
//! ```text
//! entries ─▶ of people's rows ─┬─▶ by table, role and operation: statements, people
//!                              └─▶ by person: tables, roles, operations
//! ```
//! Every entry is read once, and nothing is held of one but the people that it names.

use crate::system::audit::{role_name, table_name};
use operators::once::FoundRows;
use planner::catalog::Catalog;
use repr::hash::{HashMap, HashSet};
use repr::row::write_datum;
use repr::{Array, Datum, RelationId, Row, poll};
use state::SqlError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use storage::audit::{LoggedEntry, Pseudonym};
use storage::hexadecimal;

/// What the log says.
type ReadEntries<'e> = Box<dyn Iterator<Item = Result<LoggedEntry, SqlError>> + 'e>;

/// What was done to people's rows: by which role, and how.
type Act = (u32, &'static str);

/// Times of the first and the last entry, in microseconds since 2000-01-01 UTC.
#[derive(Clone, Copy)]
struct Span {
    first: i64,
    last: i64,
}

impl Span {
    fn at(time: i64) -> Span {
        Span { first: time, last: time }
    }

    fn extend(&mut self, time: i64) {
        self.first = self.first.min(time);
        self.last = self.last.max(time);
    }
}

/// Whether an entry is of somebody's rows: what touched nobody's is no breach of anybody's data.
fn touches(entry: &LoggedEntry) -> bool {
    entry.subjects_total > 0 || entry.scope.may_be_more
}

/// The tables of an entry, but for the server's own.
fn tables<'e>(entry: &'e LoggedEntry, names: &'e TableNames) -> impl Iterator<Item = RelationId> + 'e {
    let tables: BTreeSet<RelationId> = entry.tables.iter().copied().collect();
    tables.into_iter().filter(|table| !names.of(*table).starts_with("dogwood."))
}

/// Tables as the log's readers call them.
struct TableNames {
    catalog: Arc<Catalog>,
    known: std::cell::RefCell<HashMap<RelationId, Arc<str>>>,
}

impl TableNames {
    fn of(&self, table: RelationId) -> Arc<str> {
        let name = || table_name(&self.catalog, table).into();
        self.known.borrow_mut().entry(table).or_insert_with(name).clone()
    }
}

fn names(catalog: &Arc<Catalog>) -> TableNames {
    TableNames { catalog: catalog.clone(), known: std::cell::RefCell::default() }
}

/// What was done to a table by one role and in one way.
struct TouchedTable {
    statements: u64,
    people: HashSet<Pseudonym>,
    /// The most that one statement touched, of whom it does not name all.
    unnamed: u64,
    may_be_more: bool,
    span: Span,
}

/// By table, role and operation.
pub(super) fn by_table(entries: ReadEntries<'_>, catalog: &Arc<Catalog>) -> Result<FoundRows, SqlError> {
    let names = names(catalog);
    let mut touched: BTreeMap<(RelationId, Act), TouchedTable> = BTreeMap::new();
    for entry in entries {
        let entry = entry?;
        poll::step()?;
        if !touches(&entry) {
            continue;
        }
        let act = (entry.actor.role, entry.operation.name());
        for table in tables(&entry, &names) {
            let new = || TouchedTable {
                statements: 0,
                people: HashSet::default(),
                unnamed: 0,
                may_be_more: false,
                span: Span::at(entry.time_us),
            };
            let found = touched.entry((table, act)).or_insert_with(new);
            poll::steps(entry.subjects.len())?;
            found.statements += 1;
            found.people.extend(&entry.subjects);
            if (entry.subjects.len() as u64) < entry.subjects_total {
                found.unnamed = found.unnamed.max(entry.subjects_total);
            }
            found.may_be_more |= entry.scope.may_be_more || (entry.subjects.len() as u64) < entry.subjects_total;
            found.span.extend(entry.time_us);
        }
    }
    let mut rows: Vec<_> = touched
        .into_iter()
        .map(|((table, (role, operation)), found)| (names.of(table), role_name(catalog, role), operation, found))
        .collect();
    // As ORDER BY has it: whoever is no role stands last.
    rows.sort_by(|one, other| {
        let key = |(table, role, operation, _): &(Arc<str>, Option<String>, &'static str, TouchedTable)| {
            (table.clone(), role.is_none(), role.clone(), *operation)
        };
        key(one).cmp(&key(other))
    });
    Ok(Box::new(rows.into_iter().map(|(table, role, operation, found)| {
        let people = (found.people.len() as u64).max(found.unnamed);
        Ok(Row::pack(&[
            Datum::text(&table),
            role.as_deref().map_or(Datum::Null, Datum::text),
            Datum::text(operation.to_lowercase()),
            count(found.statements),
            count(people),
            Datum::Bool(found.may_be_more),
            Datum::Timestamptz(found.span.first),
            Datum::Timestamptz(found.span.last),
        ]))
    })))
}

/// What was done in one way: of persons only its number is noted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct TouchingAct {
    tables: Vec<RelationId>,
    act: Act,
}

/// Sets of ways: most people were touched in the same ones, so of a person the set's number is noted.
#[derive(Default)]
struct WaySets {
    /// In the order of ways, each once.
    sets: Vec<Arc<[u32]>>,
    numbers: HashMap<Arc<[u32]>, u32>,
    /// By set and way.
    grown: HashMap<(u32, u32), u32>,
}

impl WaySets {
    /// The set of a way alone.
    fn of(&mut self, way: u32) -> u32 {
        self.number([way].into())
    }

    /// A set with one more way.
    fn with(&mut self, set: u32, way: u32) -> u32 {
        if let Some(grown) = self.grown.get(&(set, way)) {
            return *grown;
        }
        let ways: BTreeSet<u32> = self.sets[set as usize].iter().copied().chain([way]).collect();
        let grown = self.number(ways.into_iter().collect());
        self.grown.insert((set, way), grown);
        grown
    }

    fn number(&mut self, set: Arc<[u32]>) -> u32 {
        let next = self.sets.len() as u32;
        *self.numbers.entry(set).or_insert_with_key(|set| {
            self.sets.push(set.clone());
            next
        })
    }
}

struct TouchedPerson {
    ways: u32,
    span: Span,
}

/// By person.
pub(super) fn by_person(entries: ReadEntries<'_>, catalog: &Arc<Catalog>) -> Result<FoundRows, SqlError> {
    let names = names(catalog);
    let mut ways: BTreeMap<TouchingAct, u32> = BTreeMap::new();
    let mut sets = WaySets::default();
    let mut people: HashMap<Pseudonym, TouchedPerson> = HashMap::default();
    for entry in entries {
        let entry = entry?;
        poll::step()?;
        let tables: Vec<RelationId> = tables(&entry, &names).collect();
        if !touches(&entry) || tables.is_empty() {
            continue;
        }
        let next = ways.len() as u32;
        let act = (entry.actor.role, entry.operation.name());
        let way = *ways.entry(TouchingAct { tables, act }).or_insert(next);
        let alone = sets.of(way);
        poll::steps(entry.subjects.len())?;
        for person in &entry.subjects {
            let new = || TouchedPerson { ways: alone, span: Span::at(entry.time_us) };
            let found = people.entry(*person).or_insert_with(new);
            found.span.extend(entry.time_us);
            if found.ways != alone {
                found.ways = sets.with(found.ways, way);
            }
        }
    }
    let told = told_of(&sets.sets, ways, &names)?;
    let mut people: Vec<(Pseudonym, TouchedPerson)> = people.into_iter().collect();
    poll::sort_by(&mut people, |(one, _), (other, _)| one.cmp(other))?;
    let mut bytes = Vec::new();
    Ok(Box::new(people.into_iter().map(move |(person, found)| {
        bytes.clear();
        write_datum(&mut bytes, &Datum::text(hexadecimal(&person)));
        bytes.extend_from_slice(&told[found.ways as usize]);
        write_datum(&mut bytes, &Datum::Timestamptz(found.span.first));
        write_datum(&mut bytes, &Datum::Timestamptz(found.span.last));
        Ok(Row::from_bytes(bytes.as_slice().into()))
    })))
}

/// Of each set of ways the tables, roles and operations, as they stand in a row.
fn told_of(
    sets: &[Arc<[u32]>],
    ways: BTreeMap<TouchingAct, u32>,
    names: &TableNames,
) -> Result<Vec<Box<[u8]>>, SqlError> {
    let mut by_number: Vec<TouchingAct> = vec![TouchingAct { tables: Vec::new(), act: (0, "") }; ways.len()];
    ways.into_iter().for_each(|(way, number)| by_number[number as usize] = way);
    let told = sets.iter().map(|set| {
        poll::step()?;
        let ways = || set.iter().map(|number| &by_number[*number as usize]);
        let tables = ways().flat_map(|way| &way.tables).map(|table| Some(names.of(*table).to_string()));
        let roles = ways().map(|way| role_name(&names.catalog, way.act.0));
        let operations = ways().map(|way| Some(way.act.1.to_lowercase()));
        let mut bytes = Vec::new();
        [listed(tables), listed(roles), listed(operations)].iter().for_each(|told| write_datum(&mut bytes, told));
        Ok(bytes.into_boxed_slice())
    });
    told.collect()
}

/// Each once, in order, NULL last.
fn listed(values: impl Iterator<Item = Option<String>>) -> Datum {
    let values: BTreeSet<(bool, Option<String>)> = values.map(|value| (value.is_none(), value)).collect();
    let texts = values.into_iter().map(|(_, value)| value.as_deref().map_or(Datum::Null, Datum::text));
    Datum::Array(Arc::new(Array::vector(texts.collect())))
}

fn count(value: u64) -> Datum {
    Datum::Int8(i64::try_from(value).unwrap_or(i64::MAX))
}
