//! New copies that a batch writes, with what their rows say: see `segments::arrived` for what becomes of them.
//!
//! What rows say is spelled by whoever writes and whoever asks.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use repr::{MicroDbId, RelationId};

use crate::microdb::{self, MICRODB_BYTES, SEGMENT_BITS, segment_of};

/// Of fewer copies nothing is begun: their rows are opened as fast as this takes room.
const BEGUN_COPIES_MIN: usize = 1_000;

/// An id without the bits that name the segment.
pub(crate) const ID_BITS: u32 = 8 * MICRODB_BYTES as u32 - SEGMENT_BITS;
pub(crate) const CANONICAL: u64 = 1;
pub(crate) const SAYING_BITS: u32 = 63 - ID_BITS;
pub(crate) const SAYINGS_MAX: usize = 1 << SAYING_BITS;
pub(crate) const SAYING_MASK: u64 = (SAYINGS_MAX as u64 - 1) << 1;

/// When a row ends, in microseconds since 2000-01-01 UTC, if one of its columns says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowEnd {
    /// No column does, or the copy does not stand for its row.
    Unsaid,
    /// It is NULL.
    Without,
    /// Then.
    At(i64),
}

/// When rows end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowEnds {
    /// How many without.
    pub without: u64,
    /// The first and the last of the others.
    pub span: Option<(i64, i64)>,
}

impl RowEnds {
    pub(crate) fn add(&mut self, end: RowEnd) {
        match end {
            RowEnd::Unsaid => {}
            RowEnd::Without => self.without += 1,
            RowEnd::At(at) => self.extend((at, at)),
        }
    }

    fn extend(&mut self, (from, to): (i64, i64)) {
        let (first, last) = self.span.unwrap_or((from, to));
        self.span = Some((first.min(from), last.max(to)));
    }

    pub(crate) fn merge(&mut self, other: &RowEnds) {
        self.without += other.without;
        other.span.into_iter().for_each(|span| self.extend(span));
    }
}

/// Copies of new rows that a batch writes.
#[derive(Default)]
pub(crate) struct Arrivals(BTreeMap<RelationId, ArrivingCopies>);

/// Those of one relation.
#[derive(Default)]
pub(crate) struct ArrivingCopies {
    /// By what it is spelled.
    pub(crate) form: Arc<[u8]>,
    sayings: Vec<Box<[u8]>>,
    numbers: HashMap<Box<[u8]>, u32>,
    copies: Vec<ArrivingCopy>,
}

struct ArrivingCopy {
    owner: [u8; MICRODB_BYTES],
    canonical: bool,
    saying: u32,
    end: RowEnd,
}

impl Arrivals {
    /// A new row's copies with these owners, the first of which stands for it.
    pub(crate) fn add(
        &mut self,
        relation: RelationId,
        form: &Arc<[u8]>,
        (saying, end): (&[u8], RowEnd),
        owners: impl Iterator<Item = MicroDbId>,
    ) {
        let arriving =
            self.0.entry(relation).or_insert_with(|| ArrivingCopies { form: form.clone(), ..Default::default() });
        // Of another form it is no longer told of as many as are written.
        if arriving.form != *form {
            return;
        }
        let saying = arriving.number(saying);
        for (place, owner) in owners.enumerate() {
            let (canonical, owner) = (place == 0, microdb::stored(owner));
            let end = if canonical { end } else { RowEnd::Unsaid };
            arriving.copies.push(ArrivingCopy { owner, canonical, saying, end });
        }
    }

    /// Adds another batch's.
    pub(crate) fn append(&mut self, other: Arrivals) {
        for (relation, mut other) in other.0 {
            let Some(known) = self.0.get_mut(&relation) else {
                self.0.insert(relation, other);
                continue;
            };
            if known.form != other.form {
                continue;
            }
            let numbers: Vec<u32> = other.sayings.iter().map(|saying| known.number(saying)).collect();
            other.copies.iter_mut().for_each(|copy| copy.saying = numbers[copy.saying as usize]);
            known.copies.append(&mut other.copies);
        }
    }

    pub(crate) fn of(&self, relation: RelationId) -> Option<&ArrivingCopies> {
        self.0.get(&relation)
    }
}

impl ArrivingCopies {
    fn number(&mut self, saying: &[u8]) -> u32 {
        if let Some(number) = self.numbers.get(saying) {
            return *number;
        }
        let number = u32::try_from(self.sayings.len()).expect("a batch holds fewer rows");
        self.sayings.push(saying.into());
        self.numbers.insert(saying.into(), number);
        number
    }

    pub(crate) fn are_many(&self) -> bool {
        self.copies.len() >= BEGUN_COPIES_MIN
    }

    /// Packed by segment, with their own numbers of what they say: for whoever holds up nobody.
    pub(crate) fn packed(&self) -> PackedCopies {
        let mut sayings: Vec<(Box<[u8]>, u32)> = self.sayings.iter().map(|saying| (saying.clone(), 0)).collect();
        let mut packed: Vec<(u16, u64, RowEnd)> = Vec::with_capacity(self.copies.len());
        for copy in &self.copies {
            sayings[copy.saying as usize].1 += 1;
            let mut bytes = [0; 8];
            bytes[8 - MICRODB_BYTES..].copy_from_slice(&copy.owner);
            let id = u64::from_be_bytes(bytes);
            let place = (id & ((1 << ID_BITS) - 1)) << (SAYING_BITS + 1);
            let copy_of = place | u64::from(copy.saying) << 1 | if copy.canonical { CANONICAL } else { 0 };
            packed.push(((id >> ID_BITS) as u16, copy_of, copy.end));
        }
        packed.sort_unstable_by_key(|(segment, copy, _)| (*segment, *copy));
        let parts = packed.chunk_by(|one, next| one.0 == next.0).map(|some| {
            let copies = some.iter().map(|(_, copy, _)| *copy).collect();
            let mut part = ArrivedPart { copies, ends: RowEnds::default() };
            some.iter().for_each(|(_, _, end)| part.ends.add(*end));
            (some[0].0, part)
        });
        PackedCopies { form: self.form.clone(), sayings, parts: parts.collect() }
    }

    /// How many there are of each segment.
    pub(crate) fn by_segment(&self) -> impl Iterator<Item = usize> {
        self.copies.iter().map(|copy| segment_of(microdb::loaded(copy.owner)))
    }
}

/// Copies that begin to be written.
pub(crate) struct PackedCopies {
    pub(crate) form: Arc<[u8]>,
    /// Each with the number of copies that say it.
    pub(crate) sayings: Vec<(Box<[u8]>, u32)>,
    /// In the order of segments.
    pub(crate) parts: Vec<(u16, ArrivedPart)>,
}

/// What is known of a segment: all its copies.
#[derive(Clone, Default)]
pub struct ArrivedPart {
    /// id ‖ number of what it says ‖ whether it stands for its row.
    pub(crate) copies: Vec<u64>,
    /// When its rows end.
    pub ends: RowEnds,
}

/// The number of what it says.
pub(crate) fn saying_of(copy: u64) -> u32 {
    u32::try_from((copy & SAYING_MASK) >> 1).expect("numbers have fewer bits")
}
