//! What was told of parts of a relation, in memory until a row of the part is written: counting a relation anew reads the parts
//! that were written to since.
//!
//! ```text
//! rows of a relation, by µDB id:   | 0 | 1 | 2 | … | 4095 |      a person's copies stand in one segment
//! segment:  ── changed ──────── read_at ───────▶ sequence numbers     what is told is good for every snapshot from `since` on
//! ```
//! As in the cache of rows: a segment knows when the last write to it was done, and takes nothing that was read before that; a
//! write takes what is told out before it begins. So nothing of a row that is erased is here when its erasure is acknowledged.

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use repr::{MicroDbId, RelationId};

use crate::batch::{Batch, Operation};
use crate::keyspace::{ROW_PREFIX_BYTES, relation_of};
use crate::microdb::{self, MICRODB_BYTES};
use crate::rocks::Family;

/// Parts of a relation, by the first bits of µDB ids.
pub const SEGMENTS: usize = 1 << SEGMENT_BITS;
const SEGMENT_BITS: u32 = 12;
/// What may be told in all.
pub(crate) const BYTES_MAX: usize = 32 << 20;

/// Ahead of who asks no more than that.
const AHEAD_BYTES_MAX: usize = BYTES_MAX / 4 * 3;

/// What a relation's segments take of which nothing is told.
const EMPTY_BYTES: usize = SEGMENTS * size_of::<Segment>();

/// What is told of a segment.
pub type ToldPart = Arc<dyn Any + Send + Sync>;

/// See the module.
#[derive(Default)]
pub(crate) struct Segments {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    relations: BTreeMap<RelationId, Relation>,
    /// Of all that is told.
    bytes: usize,
}

#[derive(Default)]
struct Relation {
    /// The sequence number after the last write.
    changed: u64,
    /// Writes under way.
    writing: u32,
    /// None while nothing was told.
    segments: Option<Box<[Segment]>>,
}

#[derive(Default)]
struct Segment {
    changed: u64,
    writing: u32,
    told: Option<(ToldPart, usize)>,
    /// From when on it is told.
    since: u64,
}

/// Where something is being written.
pub(crate) type Touched = Vec<(RelationId, Vec<u16>)>;

/// A write that may change what is told, until dropped.
pub(crate) struct Writing<'a, L: Fn() -> u64> {
    segments: &'a Segments,
    touched: Touched,
    latest: L,
}

impl Segments {
    /// What is told of a relation's segments to a snapshot with this sequence number, in their order.
    pub(crate) fn told(&self, relation: RelationId, at: u64) -> Vec<Option<ToldPart>> {
        let state = self.state.lock();
        let known = state.relations.get(&relation).and_then(|relation| relation.segments.as_ref());
        let Some(segments) = known else { return vec![None; SEGMENTS] };
        let told =
            |segment: &Segment| segment.told.as_ref().filter(|_| segment.since <= at).map(|(told, _)| told.clone());
        segments.iter().map(told).collect()
    }

    /// Whether anything was written to a relation since the start, or asked of it.
    pub(crate) fn has_heard_of(&self, relation: RelationId) -> bool {
        self.state.lock().relations.contains_key(&relation)
    }

    /// Segments of which nothing is told, and that were last written to up to a sequence number. None while there is little room.
    pub(crate) fn untold_at_rest(&self, relation: RelationId, written_until: u64) -> Vec<usize> {
        let state = self.state.lock();
        let rests = |writing: u32, changed: u64| writing == 0 && changed <= written_until;
        let all = (0..SEGMENTS).filter(|_| state.bytes <= AHEAD_BYTES_MAX);
        match state.relations.get(&relation) {
            None => all.collect(),
            Some(Relation { segments: Some(segments), .. }) => {
                let is_untold = |segment: &Segment| segment.told.is_none() && rests(segment.writing, segment.changed);
                all.filter(|number| is_untold(&segments[*number])).collect()
            }
            Some(relation) => all.filter(|_| rests(relation.writing, relation.changed)).collect(),
        }
    }

    /// Notes what a snapshot with this sequence number tells of segments, which takes so many bytes each.
    pub(crate) fn tell(&self, relation: RelationId, at: u64, told: Vec<(usize, ToldPart, usize)>) {
        let state = &mut *self.state.lock();
        let relation = state.relations.entry(relation).or_default();
        // Segments that are made while something is written would not know of it.
        if relation.segments.is_none() && relation.writing == 0 && state.bytes + EMPTY_BYTES <= BYTES_MAX {
            state.bytes += EMPTY_BYTES;
            let unwritten = || Segment { changed: relation.changed, ..Segment::default() };
            relation.segments = Some((0..SEGMENTS).map(|_| unwritten()).collect());
        }
        let Some(segments) = &mut relation.segments else { return };
        for (number, told, bytes) in told {
            let segment = &mut segments[number];
            if segment.writing > 0 || segment.changed > at {
                continue;
            }
            segment.clear(&mut state.bytes);
            if state.bytes + bytes <= BYTES_MAX {
                state.bytes += bytes;
                segment.told = Some((told, bytes));
                segment.since = segment.changed;
            }
        }
    }

    /// Says that a batch is being written. `latest` gives the sequence number after it.
    pub(crate) fn writing<L: Fn() -> u64>(&self, batch: &Batch, latest: L) -> Writing<'_, L> {
        Writing { segments: self, touched: self.begin_writing(batch), latest }
    }

    /// The same, until `end_writing`.
    pub(crate) fn begin_writing(&self, batch: &Batch) -> Touched {
        let rows = rows_of(batch);
        let state = &mut *self.state.lock();
        let begin = |rows: TouchedRows| {
            let relation = state.relations.entry(rows.relation).or_default();
            relation.writing += 1;
            if rows.all {
                relation.forget(&mut state.bytes);
            }
            let Some(segments) = &mut relation.segments else { return (rows.relation, Vec::new()) };
            for number in &rows.numbers {
                let segment = &mut segments[usize::from(*number)];
                segment.writing += 1;
                segment.clear(&mut state.bytes);
            }
            (rows.relation, rows.numbers)
        };
        rows.into_iter().map(begin).collect()
    }

    /// What was begun is over, done or not, with this sequence number.
    pub(crate) fn end_writing(&self, touched: &Touched, latest: u64) {
        let mut state = self.state.lock();
        for (id, numbers) in touched {
            let relation = state.relations.entry(*id).or_default();
            relation.writing -= 1;
            relation.changed = relation.changed.max(latest);
            for number in numbers {
                // Another write may have taken them away.
                if let Some(segments) = &mut relation.segments {
                    let segment = &mut segments[usize::from(*number)];
                    segment.writing -= 1;
                    segment.changed = segment.changed.max(latest);
                }
            }
        }
    }

    /// What is held, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.state.lock().bytes as u64
    }
}

impl Relation {
    /// Segments are made again when somebody asks and nothing is written.
    fn forget(&mut self, bytes: &mut usize) {
        let Some(segments) = self.segments.take() else { return };
        *bytes -= EMPTY_BYTES;
        segments.into_iter().for_each(|mut segment| segment.clear(bytes));
    }
}

impl Segment {
    fn clear(&mut self, bytes: &mut usize) {
        if let Some((_, held)) = self.told.take() {
            *bytes -= held;
        }
    }
}

impl<L: Fn() -> u64> Drop for Writing<'_, L> {
    fn drop(&mut self) {
        if !self.touched.is_empty() {
            self.segments.end_writing(&self.touched, (self.latest)());
        }
    }
}

/// Rows of a relation that a batch writes.
struct TouchedRows {
    relation: RelationId,
    /// Each once.
    numbers: Vec<u16>,
    /// The whole relation goes.
    all: bool,
}

fn rows_of(batch: &Batch) -> Vec<TouchedRows> {
    let mut touched: Vec<TouchedRows> = Vec::new();
    for operation in batch.operations() {
        let (key, all) = match operation {
            Operation::Put(Family::Rows, key, _) | Operation::Delete(Family::Rows, key) => (key, false),
            Operation::DeleteRange(Family::Rows, key, _) => (key, true),
            Operation::Put(..) | Operation::Delete(..) | Operation::DeleteRange(..) => continue,
        };
        let Some(relation) = relation_of(key) else { continue };
        let place = match touched.last() {
            Some(last) if last.relation == relation => touched.len() - 1,
            _ => touched.iter().position(|known| known.relation == relation).unwrap_or_else(|| {
                touched.push(TouchedRows { relation, numbers: Vec::new(), all: false });
                touched.len() - 1
            }),
        };
        let rows = &mut touched[place];
        rows.all |= all;
        rows.numbers.extend(number_of(key).filter(|number| rows.numbers.last() != Some(number)));
    }
    for rows in &mut touched {
        rows.numbers.sort_unstable();
        rows.numbers.dedup();
    }
    touched
}

/// In which segment a personal row stands.
fn number_of(key: &[u8]) -> Option<u16> {
    let [_, _, _, _, first, second, ..] = *key else { return None };
    (key.len() >= ROW_PREFIX_BYTES).then(|| u16::from_be_bytes([first, second]) >> (16 - SEGMENT_BITS))
}

/// The segment of a person's rows.
pub fn segment_of(microdb: MicroDbId) -> usize {
    let [first, second, ..] = microdb::stored(microdb);
    usize::from(u16::from_be_bytes([first, second]) >> (16 - SEGMENT_BITS))
}

/// The µDB ids of some segments as bounds: the first, and the first that is none of theirs.
pub(crate) fn bounds(segments: &Range<usize>) -> ([u8; MICRODB_BYTES], Option<[u8; MICRODB_BYTES]>) {
    let first = |number: usize| {
        let mut bytes = [0; MICRODB_BYTES];
        let number = u16::try_from(number << (16 - SEGMENT_BITS)).ok()?;
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        Some(bytes)
    };
    (first(segments.start).unwrap_or([0xff; MICRODB_BYTES]), first(segments.end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use repr::RowKey;
    use std::cell::Cell;

    const TABLE: RelationId = RelationId(7);

    fn told(segments: &Segments, at: u64) -> Vec<(usize, u8)> {
        let told = segments.told(TABLE, at).into_iter().enumerate();
        told.filter_map(|(number, told)| Some((number, *told?.downcast_ref::<u8>()?))).collect()
    }

    fn tell(segments: &Segments, at: u64, number: usize, value: u8) {
        segments.tell(TABLE, at, vec![(number, Arc::new(value), 100)]);
    }

    fn batch(first: u8) -> Batch {
        let mut batch = Batch::default();
        batch.delete_copy(TABLE, &RowKey::new(&[1; 16]), microdb::loaded([first, 0, 0, 0, 0, 1]));
        batch
    }

    #[test]
    fn what_is_told_holds_until_a_row_of_the_segment_is_written() {
        let (segments, now) = (Segments::default(), Cell::new(10));
        assert_eq!(told(&segments, 10), []);
        tell(&segments, 10, 0, 1);
        tell(&segments, 10, 16, 2);
        assert_eq!(told(&segments, 10), [(0, 1), (16, 2)]);
        {
            let _writing = segments.writing(&batch(1), || now.get());
            assert_eq!(told(&segments, 10), [(0, 1)]);
            // An older snapshot still tells it, and must not leave it here.
            tell(&segments, 10, 16, 2);
            now.set(12);
        }
        tell(&segments, 11, 16, 2);
        assert_eq!(told(&segments, 12), [(0, 1)]);
        tell(&segments, 12, 16, 3);
        assert_eq!(told(&segments, 11), [(0, 1)], "it holds from then on");
        assert_eq!(told(&segments, 12), [(0, 1), (16, 3)]);
        let asked = segments.bytes();
        let mut drop_all = Batch::default();
        drop_all.delete_range(Family::Rows, &7_u32.to_be_bytes(), &8_u32.to_be_bytes());
        drop(segments.writing(&drop_all, || 20));
        assert_eq!((segments.bytes(), asked > 200), (0, true));
        assert_eq!(told(&segments, 20), []);
        tell(&segments, 19, 0, 4);
        assert_eq!(told(&segments, 20), [], "read before the relation was emptied");
    }

    #[test]
    fn what_rests_is_counted_ahead() {
        let segments = Segments::default();
        assert_eq!(segments.untold_at_rest(TABLE, 0).len(), SEGMENTS, "nothing was written");
        drop(segments.writing(&batch(1), || 15));
        assert!(segments.untold_at_rest(TABLE, 14).is_empty(), "written to since");
        assert_eq!(segments.untold_at_rest(TABLE, 15).len(), SEGMENTS);
        tell(&segments, 15, 3, 1);
        assert_eq!(segments.untold_at_rest(TABLE, 15).len(), SEGMENTS - 1);
        let _writing = segments.writing(&batch(1), || 20);
        assert_eq!(segments.untold_at_rest(TABLE, 20).len(), SEGMENTS - 2);
        segments.tell(TABLE, 15, vec![(4, Arc::new(1_u8), AHEAD_BYTES_MAX)]);
        assert!(segments.untold_at_rest(TABLE, 20).is_empty(), "the rest is for who asks");
    }

    #[test]
    fn segments_are_not_made_beside_a_write() {
        let segments = Segments::default();
        {
            let _writing = segments.writing(&batch(1), || 15);
            tell(&segments, 9, 16, 1);
            assert_eq!(told(&segments, 9), []);
        }
        tell(&segments, 9, 16, 1);
        assert_eq!(told(&segments, 15), [], "read before that write was done");
        tell(&segments, 15, 16, 1);
        assert_eq!(told(&segments, 15), [(16, 1)]);
    }

    #[test]
    fn bounds_divide_all_people() {
        let whole = bounds(&(0..SEGMENTS));
        assert_eq!(whole, ([0; MICRODB_BYTES], None));
        for number in 0..SEGMENTS {
            let (from, to) = bounds(&(number..number + 1));
            assert_eq!(segment_of(microdb::loaded(from)), number);
            assert_eq!(to, (number + 1 < SEGMENTS).then(|| bounds(&(number + 1..number + 2)).0));
        }
    }
}
