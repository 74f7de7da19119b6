//! What the registers count of a table: its rows, whose they are, and what columns with properties say of them.
//!
//! ```text
//! copies by µDB id ──▶ rows: those that scans read      people: each change of the id
//! ```
//! A person's copies stand together, so that people are counted without a list of them. No row is opened of a table whose columns
//! hold no property: that is counted by headers alone. Of what is counted nothing is kept but numbers, and the values of
//! those columns.

use planner::catalog::{Property, Table};
use repr::row::Columns;
use repr::{ColumnIndex, Datum, MicroDbId, Row, Value, poll};
use state::SqlError;
use state::answer::{Stored, datum};
use state::shape::TableShape;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use storage::Snapshot;

/// Values that are told apart of a property in a table; what others there are is told together.
const VALUES_MAX: usize = 1_000;
/// Different things that rows of a table may say and that are kept to know them again.
const KNOWN_MAX: usize = 65_536;
/// What stands for the others.
const OTHERS: &str = "…";
const MICROSECONDS_A_DAY: i64 = 86_400_000_000;

/// How many rows, and of how many people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) rows: u64,
    pub(super) people: u64,
    /// Whose copy was counted last.
    last: Option<MicroDbId>,
}

/// A copy that is counted: whose it is, and whether it stands for its row.
#[derive(Clone, Copy)]
struct Copy {
    owner: Option<MicroDbId>,
    is_row: bool,
}

impl Count {
    fn add(&mut self, copy: Copy) {
        self.rows += u64::from(copy.is_row);
        if copy.owner.is_some() && copy.owner != self.last {
            self.people += 1;
            self.last = copy.owner;
        }
    }
}

/// What rows say of themselves, by property.
pub(super) type ValuesSaid = BTreeMap<Property, BTreeSet<Box<str>>>;

/// What rows are used for one purpose.
#[derive(Debug, Default)]
pub(super) struct ProcessingActivity {
    pub(super) count: Count,
    /// What they say of themselves.
    pub(super) said: ValuesSaid,
}

/// When rows end. Times are microseconds since 2000-01-01 UTC.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) without: u64,
    pub(super) ended: u64,
    pub(super) first: Option<i64>,
    pub(super) last: Option<i64>,
}

/// What was counted of one table.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) all: Count,
    /// By property and value; those without a value stand under none.
    pub(super) values: BTreeMap<Property, BTreeMap<Option<Box<str>>, Count>>,
    /// By purpose; those that may be used for none stand under none.
    pub(super) activities: BTreeMap<Option<Box<str>>, ProcessingActivity>,
    pub(super) ends: Ends,
}

/// Counts a table as it was committed, at this moment.
pub(super) fn counted(snapshot: &Snapshot, shape: &TableShape, now: i64) -> Result<Counted, SqlError> {
    let table = shape.table();
    let mut counting = Counting::of(table, now);
    let mut key = Vec::new();
    if !shape.personal {
        for row in snapshot.scan_once(table.id, false) {
            counting.row(&row?.1, Copy { owner: None, is_row: true }, &mut key)?;
        }
    } else if counting.properties.is_empty() {
        let mut all = Count::default();
        for holder in snapshot.scan_holders(table.id) {
            poll::step()?;
            let (owner, is_row) = holder?;
            all.add(Copy { owner: Some(owner), is_row });
        }
        let activities = BTreeMap::from([(None, ProcessingActivity { count: all, said: ValuesSaid::new() })]);
        return Ok(Counted { all, activities, ..Counted::default() });
    } else {
        for copy in snapshot.scan_copies_once(table.id) {
            let copy = copy?;
            counting.row(&copy.row, Copy { owner: Some(copy.owner), is_row: copy.canonical }, &mut key)?;
        }
    }
    Ok(counting.counted())
}

/// Counts a table's rows. What rows say repeats: rows that say the same go to the same counts, and are looked at once.
struct Counting<'t> {
    table: &'t Table,
    now: i64,
    /// In the order of their columns.
    properties: Vec<(ColumnIndex, Property)>,
    /// Where in `counts` the rows go that say this.
    known: HashMap<Box<[u8]>, Arc<[usize]>>,
    counts: Vec<Count>,
    /// Where in `counts` they stand.
    places: BTreeMap<CountedBy, usize>,
    /// What is said of rows for a purpose.
    said: BTreeMap<Option<Box<str>>, ValuesSaid>,
    ends: Ends,
}

/// What a count is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CountedBy {
    Value(Property, Option<Box<str>>),
    Purpose(Option<Box<str>>),
}

impl<'t> Counting<'t> {
    fn of(table: &'t Table, now: i64) -> Self {
        let properties = table.live_columns().filter_map(|(index, column)| Some((index, column.property?))).collect();
        Counting {
            table,
            now,
            properties,
            known: HashMap::new(),
            // The first is of all.
            counts: vec![Count::default()],
            places: BTreeMap::new(),
            said: BTreeMap::new(),
            ends: Ends::default(),
        }
    }

    fn row(&mut self, row: &Row, copy: Copy, key: &mut Vec<u8>) -> Result<(), SqlError> {
        poll::step()?;
        key.clear();
        let stored = Stored { bytes: row.bytes(), later: &self.table.columns };
        let mut columns = Columns::over(row.bytes());
        for (column, property) in &self.properties {
            let value = stored.value(&mut columns, *column);
            if *property == Property::Expires {
                self.ends.add(&value, copy, self.now);
            } else {
                spell(&value, key);
            }
        }
        let places = match self.known.get(key.as_slice()) {
            Some(places) => places.clone(),
            None => self.learned(row, key)?,
        };
        self.counts[0].add(copy);
        places.iter().for_each(|place| self.counts[*place].add(copy));
        Ok(())
    }

    /// The counts that rows which say this go to.
    fn learned(&mut self, row: &Row, key: &[u8]) -> Result<Arc<[usize]>, SqlError> {
        let stored = Stored { bytes: row.bytes(), later: &self.table.columns };
        let mut columns = Columns::over(row.bytes());
        let mut said = ValuesSaid::new();
        for (column, property) in self.properties.iter().filter(|(_, property)| *property != Property::Expires) {
            let value = datum(stored.value(&mut columns, *column));
            said.insert(*property, property.words(&value));
        }
        let mut places = Vec::new();
        for (property, words) in &said {
            if words.is_empty() {
                places.push(self.place(CountedBy::Value(*property, None)));
            }
            for word in words {
                places.push(self.place(CountedBy::Value(*property, Some(word.clone()))));
            }
        }
        for purpose in used(&mut said) {
            let place = CountedBy::Purpose(purpose);
            let at = self.place(place.clone());
            places.push(at);
            let known = if self.places.contains_key(&place) { place } else { CountedBy::Purpose(Some(OTHERS.into())) };
            if let CountedBy::Purpose(purpose) = known {
                add(self.said.entry(purpose).or_default(), &said);
            }
        }
        // Several of too many values go to one count, and count there once.
        places.sort_unstable();
        places.dedup();
        let places: Arc<[usize]> = places.into();
        if self.known.len() < KNOWN_MAX {
            poll::room(key.len() + places.len() * size_of::<usize>())?;
            self.known.insert(key.into(), places.clone());
        }
        Ok(places)
    }

    /// Where that is counted: among the others, where there are too many.
    fn place(&mut self, place: CountedBy) -> usize {
        if let Some(at) = self.places.get(&place) {
            return *at;
        }
        let (others, count) = match &place {
            CountedBy::Value(property, _) => {
                let same = |place: &CountedBy| matches!(place, CountedBy::Value(of, _) if of == property);
                (
                    CountedBy::Value(*property, Some(OTHERS.into())),
                    self.places.keys().filter(|place| same(place)).count(),
                )
            }
            CountedBy::Purpose(_) => {
                let same = |place: &&CountedBy| matches!(place, CountedBy::Purpose(_));
                (CountedBy::Purpose(Some(OTHERS.into())), self.places.keys().filter(same).count())
            }
        };
        let place = if count < VALUES_MAX { place } else { others };
        let counts = &mut self.counts;
        *self.places.entry(place).or_insert_with(|| {
            counts.push(Count::default());
            counts.len() - 1
        })
    }

    fn counted(mut self) -> Counted {
        let mut counted = Counted { all: self.counts[0], ends: self.ends, ..Counted::default() };
        for (place, at) in self.places {
            match place {
                CountedBy::Value(property, value) => {
                    counted.values.entry(property).or_default().insert(value, self.counts[at]);
                }
                CountedBy::Purpose(purpose) => {
                    let said = self.said.remove(&purpose).unwrap_or_default();
                    counted.activities.insert(purpose, ProcessingActivity { count: self.counts[at], said });
                }
            }
        }
        counted
    }
}

/// For what rows may be used that say this: their purposes, but for those to which somebody objects. None, for none.
fn used(said: &mut ValuesSaid) -> Vec<Option<Box<str>>> {
    let objections = said.remove(&Property::Objections).unwrap_or_default();
    let purposes = said.remove(&Property::Purposes).unwrap_or_default();
    let used: Vec<_> = purposes.difference(&objections).cloned().map(Some).collect();
    if used.is_empty() { vec![None] } else { used }
}

/// Adds what some rows say.
fn add(all: &mut ValuesSaid, said: &ValuesSaid) {
    for (property, words) in said {
        let known = all.entry(*property).or_default();
        for word in words.iter().filter(|word| !word.is_empty()) {
            if known.contains(word) {
                continue;
            }
            known.insert(if known.len() < VALUES_MAX { word.clone() } else { OTHERS.into() });
        }
    }
}

/// A value so that no two are spelled the same.
fn spell(value: &Value<'_>, key: &mut Vec<u8>) {
    let mut text = |tag: u8, bytes: &[u8]| {
        key.push(tag);
        key.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        key.extend_from_slice(bytes);
    };
    match value {
        Value::Text(bytes) => text(1, bytes),
        Value::Array(array) => {
            for element in &array.elements {
                match element {
                    Datum::Text(element) => text(2, element.as_bytes()),
                    _ => text(3, &[]),
                }
            }
            text(4, &[]);
        }
        _ => text(0, &[]),
    }
}

impl Ends {
    fn add(&mut self, value: &Value<'_>, copy: Copy, now: i64) {
        if !copy.is_row {
            return;
        }
        let end = match value {
            Value::Timestamptz(at) | Value::Timestamp(at) => *at,
            Value::Date(days) => i64::from(*days).saturating_mul(MICROSECONDS_A_DAY),
            _ => {
                self.without += 1;
                return;
            }
        };
        self.ended += u64::from(end <= now);
        self.first = Some(self.first.map_or(end, |first| first.min(end)));
        self.last = Some(self.last.map_or(end, |last| last.max(end)));
    }
}
