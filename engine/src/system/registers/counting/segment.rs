//! Counts of one segment of a table: rows that say the same go to the same counts, and are looked at once.

use super::words::{CountedBy, SaidWord, Words};
use super::{Count, Ends};
use planner::catalog::Property;
use repr::{MicroDbId, Row, poll};
use state::SqlError;
use state::row_sayings::{PropertyColumns, ValuesSaid};
use std::collections::HashMap;
use std::sync::Arc;
use storage::{ArrivedCopies, RowEnd};

/// Different things that rows of a table may say and that are kept to know them again.
const KNOWN_MAX: usize = 65_536;

/// What was counted of a segment.
pub(super) struct SegmentCounts {
    columns: Arc<PropertyColumns>,
    pub(super) all: Count,
    /// In no order, each once.
    pub(super) counts: Vec<(Arc<CountedBy>, Count)>,
    pub(super) said: Vec<Arc<SaidWord>>,
    pub(super) ends: Ends,
    /// When it was counted.
    counted_at: i64,
}

impl SegmentCounts {
    /// Whether they hold at this moment, by these columns, if no row was written since.
    pub(super) fn hold(&self, columns: &PropertyColumns, now: i64) -> bool {
        let is_same_moment = self.counted_at <= now && self.ends.next.is_none_or(|end| end > now);
        is_same_moment && self.columns.say_the_same(columns)
    }

    /// What it takes in memory: values, which segments have in common, as if each were its own.
    pub(super) fn bytes(&self) -> usize {
        const SHARED_BYTES: usize = 24;
        let counts = self.counts.len() * (size_of::<(Arc<CountedBy>, Count)>() + SHARED_BYTES);
        size_of::<SegmentCounts>() + counts + self.said.len() * (size_of::<Arc<SaidWord>>() + SHARED_BYTES)
    }
}

/// Counts segments, one after another.
pub(super) struct Counting {
    columns: Arc<PropertyColumns>,
    words: Arc<Words>,
    now: i64,
    /// By what rows say, which class of rows they are.
    known: HashMap<Box<[u8]>, Arc<Class>>,
    /// Where in `tallies` it is counted.
    places: HashMap<usize, usize>,
    tallies: Vec<Tally>,
    key: Vec<u8>,
    segment: Segment,
}

/// Rows that say the same.
struct Class {
    number: usize,
    /// Which of `tallies` they go to.
    tallies: Vec<usize>,
    said: Vec<Arc<SaidWord>>,
}

/// A count that goes on.
struct Tally {
    of: Arc<CountedBy>,
    count: Count,
    /// Whose copy was counted last.
    last: Option<MicroDbId>,
}

/// What was found in the segment so far.
#[derive(Default)]
struct Segment {
    all: Count,
    last: Option<MicroDbId>,
    /// Tallies that counted.
    counted: Vec<usize>,
    /// By the numbers of classes.
    classes: HashMap<usize, Arc<Class>>,
    /// What others say, that are not known again.
    said: Vec<Arc<SaidWord>>,
    ends: Ends,
}

impl Counting {
    pub(super) fn new(columns: Arc<PropertyColumns>, words: Arc<Words>, now: i64) -> Self {
        Counting {
            columns,
            words,
            now,
            known: HashMap::new(),
            places: HashMap::new(),
            tallies: Vec::new(),
            key: Vec::new(),
            segment: Segment::default(),
        }
    }

    /// Whether rows say anything.
    pub(super) fn opens_rows(&self) -> bool {
        !self.columns.say_nothing()
    }

    /// Counts a copy of a row that says nothing.
    pub(super) fn copy(&mut self, owner: MicroDbId, canonical: bool) {
        let segment = &mut self.segment;
        segment.all.add(counts_of(Some((owner, canonical)), &mut segment.last));
    }

    /// Counts a copy: whose, and whether it stands for its row. One that is nobody's is its row.
    pub(super) fn row(&mut self, row: &Row, copy: Option<(MicroDbId, bool)>) -> Result<(), SqlError> {
        poll::step()?;
        self.key.clear();
        let end = self.columns.spell(row, &mut self.key);
        if end != RowEnd::Unsaid && copy.is_none_or(|(_, canonical)| canonical) {
            self.segment.ends.row(end, self.now);
        }
        let key = std::mem::take(&mut self.key);
        let counted = self.saying(&key, copy);
        self.key = key;
        counted
    }

    /// Counts what came into the segment, of which that is all. Whether it can be told: not where rows that came have ended.
    pub(super) fn arrived(&mut self, copies: &ArrivedCopies, segment: usize) -> Result<bool, SqlError> {
        let Some(part) = copies.part(segment) else { return Ok(false) };
        let span = part.ends.span;
        if span.is_some_and(|(first, _)| first <= self.now) {
            return Ok(false);
        }
        self.segment.ends.add(&Ends {
            without: part.ends.without,
            ended: 0,
            first: span.map(|(first, _)| first),
            last: span.map(|(_, last)| last),
            next: span.map(|(first, _)| first),
        });
        for (owner, saying, canonical) in copies.copies(segment) {
            poll::step()?;
            match self.opens_rows() {
                true => self.saying(copies.saying(saying), Some((owner, canonical)))?,
                false => self.copy(owner, canonical),
            }
        }
        Ok(true)
    }

    /// Counts a copy that says this.
    fn saying(&mut self, key: &[u8], copy: Option<(MicroDbId, bool)>) -> Result<(), SqlError> {
        self.segment.all.add(counts_of(copy, &mut self.segment.last));
        let class = match self.known.get(key) {
            Some(class) => class.clone(),
            None => self.learned(key)?,
        };
        for place in &class.tallies {
            let tally = &mut self.tallies[*place];
            if tally.count == Count::default() {
                self.segment.counted.push(*place);
            }
            tally.count.add(counts_of(copy, &mut tally.last));
        }
        if !class.said.is_empty() && !self.segment.classes.contains_key(&class.number) {
            self.segment.classes.insert(class.number, class);
        }
        Ok(())
    }

    /// The class of rows that say this.
    fn learned(&mut self, key: &[u8]) -> Result<Arc<Class>, SqlError> {
        let mut said = self.columns.read(key);
        let mut places = Vec::new();
        for (property, words) in &said {
            if words.is_empty() {
                places.push(CountedBy::Value(*property, None));
            }
            places.extend(words.iter().map(|word| CountedBy::Value(*property, Some(word.clone()))));
        }
        let mut for_purposes = Vec::new();
        for purpose in used(&mut said) {
            let place = self.words.place(CountedBy::Purpose(purpose));
            if let CountedBy::Purpose(purpose) = &*place {
                let words = said.iter().flat_map(|(property, words)| words.iter().map(|word| (*property, word)));
                for (property, word) in words.filter(|(_, word)| !word.is_empty()) {
                    let said = SaidWord { purpose: purpose.clone(), property, word: word.clone() };
                    for_purposes.push(self.words.said(said));
                }
            }
            places.push((*place).clone());
        }
        // Several of too many values go to one count, and count there once.
        let mut tallies: Vec<usize> = places.into_iter().map(|place| self.tally(place)).collect();
        tallies.sort_unstable();
        tallies.dedup();
        poll::room(key.len() + tallies.len() * size_of::<usize>() + size_of::<Class>())?;
        let number = self.known.len();
        if number >= KNOWN_MAX {
            self.segment.said.extend(for_purposes);
            return Ok(Arc::new(Class { number, tallies, said: Vec::new() }));
        }
        let class = Arc::new(Class { number, tallies, said: for_purposes });
        self.known.insert(key.into(), class.clone());
        Ok(class)
    }

    fn tally(&mut self, place: CountedBy) -> usize {
        let place = self.words.place(place);
        let tallies = &mut self.tallies;
        *self.places.entry(Arc::as_ptr(&place).addr()).or_insert_with(|| {
            tallies.push(Tally { of: place, count: Count::default(), last: None });
            tallies.len() - 1
        })
    }

    /// The segment is over; the next begins.
    pub(super) fn finish(&mut self) -> Result<SegmentCounts, SqlError> {
        let segment = std::mem::take(&mut self.segment);
        let mut counts = Vec::with_capacity(segment.counted.len());
        for place in segment.counted {
            let tally = &mut self.tallies[place];
            counts.push((tally.of.clone(), std::mem::take(&mut tally.count)));
            tally.last = None;
        }
        let mut said = segment.said;
        segment.classes.values().for_each(|class| said.extend(class.said.iter().cloned()));
        said.sort_unstable_by_key(|said| Arc::as_ptr(said).addr());
        said.dedup_by(|one, other| Arc::ptr_eq(one, other));
        poll::room(counts.len() * size_of::<(Arc<CountedBy>, Count)>())?;
        let Segment { all, ends, .. } = segment;
        Ok(SegmentCounts { columns: self.columns.clone(), all, counts, said, ends, counted_at: self.now })
    }
}

/// What a copy adds to a count that counted whose copy last.
fn counts_of(copy: Option<(MicroDbId, bool)>, last: &mut Option<MicroDbId>) -> Count {
    let Some((owner, canonical)) = copy else { return Count { rows: 1, people: 0 } };
    let is_another = *last != Some(owner);
    *last = Some(owner);
    Count { rows: u64::from(canonical), people: u64::from(is_another) }
}

/// For what rows may be used that say this: their purposes, but for those to which somebody objects. None, for none.
fn used(said: &mut ValuesSaid) -> Vec<Option<Box<str>>> {
    let objections = said.remove(&Property::Objections).unwrap_or_default();
    let purposes = said.remove(&Property::Purposes).unwrap_or_default();
    let used: Vec<_> = purposes.difference(&objections).cloned().map(Some).collect();
    if used.is_empty() { vec![None] } else { used }
}
