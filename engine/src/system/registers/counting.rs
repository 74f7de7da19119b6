//! What the registers count of a table: its rows, whose they are, and what columns with properties say of them.
//!
//! ```text
//! copies by µDB id ─▶ segments ─┬ written to since ─▶ counted, on several threads ─▶ told to who counts next
//!                               └ else             ─▶ as told ───────────────────────────────┬─▶ added up
//!   rows: those that scans read      people: each change of the id                           ┘
//! ```
//! What came into a table since it was empty is counted by what was noted as it came, until the table rests: nothing is read of it.
//! A person's copies stand together, in one segment: so people are counted without a list of them, and counts of segments add up.
//! No row is opened of a table whose columns hold no property: that is counted by headers alone. Nothing is kept but numbers, and
//! the values of those columns; not where a table has too many.

mod segment;
mod words;

use parking_lot::Mutex;
use planner::catalog::Property;
use repr::{RelationId, poll};
use segment::{Counting, SegmentCounts};
use state::row_sayings::{PropertyColumns, ValuesSaid};
use state::shape::TableShape;
use state::{SqlError, parallel};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use storage::{ArrivedCopies, RowEnd, SEGMENTS, Snapshot};
use words::{CountedBy, SaidWord, Words};

/// A smaller table is counted anew each time, and takes no memory.
pub(super) const TOLD_ROWS_MIN: u64 = 10_000;
/// Segments that are counted ahead at once.
const AHEAD_AT_ONCE: usize = 8;
/// Parts of a count, of which each thread takes one after another.
const PARTS: usize = 32;

/// How many rows, and of how many people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) rows: u64,
    pub(super) people: u64,
}

impl Count {
    fn add(&mut self, other: Count) {
        self.rows += other.rows;
        self.people += other.people;
    }
}

/// What rows are used for one purpose.
#[derive(Debug, Default)]
pub(super) struct ProcessingActivity {
    pub(super) count: Count,
    /// What they say of themselves.
    pub(super) said: ValuesSaid,
}

/// When rows end. Times are microseconds since 2000-01-01 UTC.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ends {
    pub(super) without: u64,
    pub(super) ended: u64,
    pub(super) first: Option<i64>,
    pub(super) last: Option<i64>,
    /// The first that is to come.
    next: Option<i64>,
}

impl Ends {
    fn row(&mut self, end: RowEnd, now: i64) {
        let at = match end {
            RowEnd::Unsaid => return,
            RowEnd::Without => None,
            RowEnd::At(at) => Some(at),
        };
        let is_over = at.is_some_and(|at| at <= now);
        let (without, ended) = (u64::from(at.is_none()), u64::from(is_over));
        self.add(&Ends { without, ended, first: at, last: at, next: at.filter(|_| !is_over) });
    }

    fn add(&mut self, other: &Ends) {
        self.without += other.without;
        self.ended += other.ended;
        self.first = [self.first, other.first].into_iter().flatten().min();
        self.last = self.last.max(other.last);
        self.next = [self.next, other.next].into_iter().flatten().min();
    }
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
    let (columns, words) = (Arc::new(PropertyColumns::of(shape.table())), Arc::new(Words::default()));
    if !shape.personal {
        let mut counting = Counting::new(columns.clone(), words, now);
        for row in snapshot.scan_once(shape.id(), false) {
            counting.row(&row?.1, None)?;
        }
        return Ok(Counted::of(&[Arc::new(counting.finish()?)], &columns));
    }
    // Their values are told apart, as were those of rows that are counted now.
    let mut told = told(snapshot, shape, &columns, now);
    if !told.iter().flatten().all(|counts| words.knows(counts)) {
        told = vec![None; SEGMENTS];
        words.forget();
    }
    let untold: Vec<usize> = (0..SEGMENTS).filter(|number| told[*number].is_none()).collect();
    let counted = count_segments(snapshot, shape, untold, (&columns, &words, now))?;
    let all: Vec<Arc<SegmentCounts>> =
        told.into_iter().flatten().chain(counted.iter().map(|(_, counts)| counts.clone())).collect();
    let table = Counted::of(&all, &columns);
    if table.all.rows >= TOLD_ROWS_MIN && !words.are_too_many() {
        tell(snapshot, shape, counted);
    }
    Ok(table)
}

/// Counts some segments for who will ask, as far as it goes on. False if a property has too many values for that.
pub(super) fn count_ahead(
    snapshot: &Snapshot,
    shape: &TableShape,
    now: i64,
    numbers: &[usize],
    goes_on: &dyn Fn() -> bool,
) -> Result<bool, SqlError> {
    if numbers.is_empty() {
        return Ok(true);
    }
    let (columns, words) = (Arc::new(PropertyColumns::of(shape.table())), Arc::new(Words::default()));
    if !told(snapshot, shape, &columns, now).iter().flatten().all(|counts| words.knows(counts)) {
        return Ok(false);
    }
    let copies = Copies::of(snapshot, shape, &columns);
    let mut counting = Counting::new(columns, words.clone(), now);
    for some in numbers.chunks(AHEAD_AT_ONCE).take_while(|_| goes_on()) {
        let mut counted = Vec::with_capacity(some.len());
        copies.count(some, &mut counting, &mut counted)?;
        if words.are_too_many() {
            return Ok(false);
        }
        tell(snapshot, shape, counted);
    }
    Ok(true)
}

/// Tells who counts next.
fn tell(snapshot: &Snapshot, shape: &TableShape, counted: Vec<(usize, Arc<SegmentCounts>)>) {
    let told = counted.into_iter().map(|(number, counts)| {
        let bytes = counts.bytes();
        (number, counts as storage::ToldPart, bytes)
    });
    snapshot.tell(shape.id(), told.collect());
}

/// What is told of each segment, and holds for a table with these columns at this moment.
fn told(
    snapshot: &Snapshot,
    shape: &TableShape,
    columns: &PropertyColumns,
    now: i64,
) -> Vec<Option<Arc<SegmentCounts>>> {
    let told = snapshot.told(shape.id()).into_iter();
    let holds =
        |told: storage::ToldPart| told.downcast::<SegmentCounts>().ok().filter(|counts| counts.hold(columns, now));
    told.map(|told| told.and_then(holds)).collect()
}

/// Counts some segments, which are in order.
fn count_segments(
    snapshot: &Snapshot,
    shape: &TableShape,
    numbers: Vec<usize>,
    (columns, words, now): (&Arc<PropertyColumns>, &Arc<Words>, i64),
) -> Result<Vec<(usize, Arc<SegmentCounts>)>, SqlError> {
    let part = numbers.len().div_ceil(PARTS).max(1);
    let (copies, numbers) = (Copies::of(snapshot, shape, columns), Arc::new(numbers));
    let parts = numbers.len().div_ceil(part);
    let (columns, words) = (columns.clone(), words.clone());
    let idle: Mutex<Vec<Counting>> = Mutex::default();
    let work = move |number: usize| {
        let numbers = numbers.chunks(part).nth(number).unwrap_or_default();
        // What was learned for one part is known for the next.
        let known = idle.lock().pop();
        let mut counting = known.unwrap_or_else(|| Counting::new(columns.clone(), words.clone(), now));
        let mut counted = Vec::with_capacity(numbers.len());
        copies.count(numbers, &mut counting, &mut counted)?;
        idle.lock().push(counting);
        Ok(counted)
    };
    let counted: Result<Vec<Vec<_>>, SqlError> = parallel::begin(parts, work).finish().into_iter().collect();
    Ok(counted?.into_iter().flatten().collect())
}

/// The copies of a table's rows: those that came into it lately are known, the others are stored.
struct Copies {
    snapshot: Snapshot,
    relation: RelationId,
    arrived: Option<ArrivedCopies>,
}

impl Copies {
    fn of(snapshot: &Snapshot, shape: &TableShape, columns: &PropertyColumns) -> Copies {
        let arrived = snapshot.arrived(shape.id(), &columns.form());
        Copies { snapshot: snapshot.clone(), relation: shape.id(), arrived }
    }

    /// Counts some segments, which are in order.
    fn count(
        &self,
        numbers: &[usize],
        counting: &mut Counting,
        counted: &mut Vec<(usize, Arc<SegmentCounts>)>,
    ) -> Result<(), SqlError> {
        let mut stored = Vec::with_capacity(numbers.len());
        for number in numbers {
            match &self.arrived {
                Some(arrived) if counting.arrived(arrived, *number)? => {
                    counted.push((*number, Arc::new(counting.finish()?)));
                }
                _ => stored.push(*number),
            }
        }
        for together in stored.chunk_by(|one, next| one + 1 == *next) {
            self.count_stored(together[0]..together[0] + together.len(), counting, counted)?;
        }
        Ok(())
    }

    /// Counts segments that stand one after another.
    fn count_stored(
        &self,
        segments: Range<usize>,
        counting: &mut Counting,
        counted: &mut Vec<(usize, Arc<SegmentCounts>)>,
    ) -> Result<(), SqlError> {
        let mut at = segments.start;
        let mut reach = |counting: &mut Counting, segment: usize| {
            while at < segment {
                counted.push((at, Arc::new(counting.finish()?)));
                at += 1;
            }
            Ok::<(), SqlError>(())
        };
        if counting.opens_rows() {
            self.snapshot.visit_copies(self.relation, segments.clone(), |copy| {
                reach(counting, storage::segment_of(copy.owner))?;
                counting.row(&copy.row, Some((copy.owner, copy.canonical)))
            })?;
        } else {
            self.snapshot.visit_holders(self.relation, segments.clone(), |owner, canonical| {
                reach(counting, storage::segment_of(owner))?;
                poll::step()?;
                counting.copy(owner, canonical);
                Ok::<(), SqlError>(())
            })?;
        }
        reach(counting, segments.end)
    }
}

impl Counted {
    /// Of all segments.
    fn of(segments: &[Arc<SegmentCounts>], columns: &PropertyColumns) -> Counted {
        let mut counted = Counted::default();
        // Segments have in common what they say: most of it is known by where it stands.
        let mut at: HashMap<usize, (&CountedBy, Count)> = HashMap::new();
        let mut said_at: HashMap<usize, &SaidWord> = HashMap::new();
        for segment in segments {
            counted.all.add(segment.all);
            counted.ends.add(&segment.ends);
            for (place, count) in &segment.counts {
                at.entry(Arc::as_ptr(place).addr()).or_insert((place, Count::default())).1.add(*count);
            }
            said_at.extend(segment.said.iter().map(|said| (Arc::as_ptr(said).addr(), &**said)));
        }
        let (mut by, mut said) = (BTreeMap::new(), BTreeMap::new());
        for (place, count) in at.into_values() {
            by.entry(place).or_insert_with(Count::default).add(count);
        }
        for SaidWord { purpose, property, word } in said_at.into_values() {
            let words: &mut ValuesSaid = said.entry(purpose).or_default();
            words.entry(*property).or_default().insert(word.clone());
        }
        for (place, count) in by {
            match place {
                CountedBy::Value(property, value) => {
                    counted.values.entry(*property).or_default().insert(value.clone(), count);
                }
                CountedBy::Purpose(purpose) => {
                    let said = said.remove(purpose).unwrap_or_default();
                    counted.activities.insert(purpose.clone(), ProcessingActivity { count, said });
                }
            }
        }
        if columns.say_nothing() {
            counted.activities.insert(None, ProcessingActivity { count: counted.all, said: ValuesSaid::new() });
        }
        counted
    }
}
