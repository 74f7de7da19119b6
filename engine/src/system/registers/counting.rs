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
use repr::{ColumnIndex, Datum, MicroDbId, Row, poll};
use state::SqlError;
use state::answer::{Stored, datum};
use state::shape::TableShape;
use std::collections::{BTreeMap, BTreeSet};
use storage::Snapshot;

/// Values that are told apart of a property in a table; what others there are is told together.
const VALUES_MAX: usize = 1_000;
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

/// What rows are used for one purpose.
#[derive(Debug, Default)]
pub(super) struct Activity {
    pub(super) count: Count,
    /// What they say of themselves, by property.
    pub(super) said: BTreeMap<Property, BTreeSet<Box<str>>>,
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
    pub(super) activities: BTreeMap<Option<Box<str>>, Activity>,
    pub(super) ends: Ends,
}

/// Counts a table as it was committed, at this moment.
pub(super) fn counted(snapshot: &Snapshot, shape: &TableShape, now: i64) -> Result<Counted, SqlError> {
    let table = shape.table();
    let mut counting = Counting::of(table, now);
    if !shape.personal {
        for row in snapshot.scan_once(table.id, false) {
            counting.row(&row?.1, Copy { owner: None, is_row: true })?;
        }
    } else if counting.properties.is_empty() {
        for holder in snapshot.scan_holders(table.id) {
            poll::step()?;
            let (owner, is_row) = holder?;
            counting.counted.all.add(Copy { owner: Some(owner), is_row });
        }
        let activity = Activity { count: counting.counted.all, said: BTreeMap::new() };
        counting.counted.activities.insert(None, activity);
    } else {
        for copy in snapshot.scan_copies_once(table.id) {
            let copy = copy?;
            counting.row(&copy.row, Copy { owner: Some(copy.owner), is_row: copy.canonical })?;
        }
    }
    Ok(counting.counted)
}

struct Counting<'t> {
    table: &'t Table,
    now: i64,
    /// In the order of their columns.
    properties: Vec<(ColumnIndex, Property)>,
    counted: Counted,
}

impl<'t> Counting<'t> {
    fn of(table: &'t Table, now: i64) -> Self {
        let properties = table.live_columns().filter_map(|(index, column)| Some((index, column.property?))).collect();
        Counting { table, now, properties, counted: Counted::default() }
    }

    fn row(&mut self, row: &Row, copy: Copy) -> Result<(), SqlError> {
        poll::step()?;
        self.counted.all.add(copy);
        let stored = Stored { bytes: row.bytes(), later: &self.table.columns };
        let mut columns = Columns::over(row.bytes());
        let mut said: BTreeMap<Property, BTreeSet<Box<str>>> = BTreeMap::new();
        for (column, property) in &self.properties {
            let value = datum(stored.value(&mut columns, *column));
            match property {
                Property::Expires => self.counted.ends.add(&value, copy, self.now),
                Property::Purposes
                | Property::Objections
                | Property::Origin
                | Property::SharedWith
                | Property::Decisions
                | Property::Region
                | Property::Category
                | Property::Basis
                | Property::Recipient => {
                    said.insert(*property, words(&value, property.is_list()));
                }
            }
        }
        for (property, words) in &said {
            let counts = self.counted.values.entry(*property).or_default();
            if words.is_empty() {
                counts.entry(None).or_default().add(copy);
            }
            words.iter().for_each(|word| of(counts, word).add(copy));
        }
        self.activities(said, copy);
        Ok(())
    }

    /// For what the row may be used: its purposes, but for those to which somebody objects.
    fn activities(&mut self, mut said: BTreeMap<Property, BTreeSet<Box<str>>>, copy: Copy) {
        let objections = said.remove(&Property::Objections).unwrap_or_default();
        let purposes = said.remove(&Property::Purposes).unwrap_or_default();
        let mut used = purposes.difference(&objections).peekable();
        if used.peek().is_none() {
            self.counted.activities.entry(None).or_default().add(&said, copy);
        }
        for purpose in used {
            of(&mut self.counted.activities, purpose).add(&said, copy);
        }
    }
}

impl Activity {
    fn add(&mut self, said: &BTreeMap<Property, BTreeSet<Box<str>>>, copy: Copy) {
        self.count.add(copy);
        for (property, words) in said {
            let known = self.said.entry(*property).or_default();
            for word in words {
                if known.len() < VALUES_MAX {
                    if !known.contains(word) {
                        known.insert(word.clone());
                    }
                } else if !known.contains(word) {
                    known.insert(OTHERS.into());
                }
            }
        }
    }
}

impl Ends {
    fn add(&mut self, value: &Datum, copy: Copy, now: i64) {
        if !copy.is_row {
            return;
        }
        let end = match value {
            Datum::Timestamptz(at) | Datum::Timestamp(at) => *at,
            Datum::Date(days) => i64::from(*days).saturating_mul(MICROSECONDS_A_DAY),
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

/// The entry of a word, or of the others where there are too many.
fn of<'m, T: Default>(entries: &'m mut BTreeMap<Option<Box<str>>, T>, word: &str) -> &'m mut T {
    let key = Some(Box::from(word));
    let known = entries.len() < VALUES_MAX || entries.contains_key(&key);
    entries.entry(if known { key } else { Some(OTHERS.into()) }).or_default()
}

/// What a column says: the elements of an array, or of a text with commas.
fn words(value: &Datum, is_list: bool) -> BTreeSet<Box<str>> {
    let word = |text: &str| Some(text.trim()).filter(|text| !text.is_empty()).map(Box::from);
    match value {
        Datum::Text(text) if is_list => text.split(',').filter_map(word).collect(),
        Datum::Text(text) => word(text).into_iter().collect(),
        Datum::Array(array) => array
            .elements
            .iter()
            .flat_map(|element| match element {
                // What an array says is compared as it is.
                Datum::Text(text) => Some(Box::from(&**text)),
                _ => None,
            })
            .collect(),
        _ => BTreeSet::new(),
    }
}
