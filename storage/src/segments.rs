//! What was told of parts of a relation, in memory until a row of the part is written: counting a relation anew reads the parts
//! that were written to since.
//!
//! ```text
//! rows of a relation, by µDB id:   | 0 | 1 | 2 | … | 4095 |      a person's copies stand in one segment
//! segment:  ── changed ──────── read_at ───────▶ sequence numbers     what is told is good for every snapshot from `since` on
//! ```
//! As in the cache of rows: a segment knows when the last write to it was done, and takes nothing that was read before that; a
//! write takes what is told out before it begins. So nothing of a row that is erased is here when its erasure is acknowledged.
//! Of a relation that was empty when many rows came the same is known of what came since: see `arrived`.

pub(crate) mod arrived;

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use repr::RelationId;
use repr::hash::HashMap;

use self::arrived::{Arrived, ArrivedCopies, Arriving};
use crate::arrivals::{ArrivingCopies, PackedCopies};
use crate::batch::{Batch, Operation};
use crate::keyspace::{ROW_PREFIX_BYTES, relation_of};
use crate::microdb::{MICRODB_BYTES, SEGMENT_BITS, SEGMENTS};
use crate::rocks::Family;

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
    /// How many relations were begun to be known from empty on.
    begun: u64,
}

#[derive(Default)]
struct Relation {
    /// The sequence number after the last write.
    changed: u64,
    /// Writes under way.
    writing: u32,
    /// None while nothing was told.
    segments: Option<Box<[Segment]>>,
    /// What came since it was empty, if that is known. Only with segments.
    arrived: Option<Arrived>,
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
pub(crate) type Touched = Vec<TouchedRelation>;

/// Where in one relation.
pub(crate) struct TouchedRelation {
    relation: RelationId,
    numbers: Vec<u16>,
    arriving: Option<Arriving>,
}

/// A write that may change what is told, until dropped.
pub(crate) struct Writing<'a, L: Fn() -> u64> {
    segments: &'a Segments,
    touched: Touched,
    latest: L,
    is_written: bool,
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
        if relation.writing == 0 && state.bytes + EMPTY_BYTES <= BYTES_MAX && relation.make_segments() {
            state.bytes += EMPTY_BYTES;
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

    /// What came into a relation of which all is known, to a snapshot with this sequence number: of segments of which nothing is
    /// told, if it is spelled in this form.
    pub(crate) fn arrived(&self, relation: RelationId, at: u64, form: &[u8]) -> Option<ArrivedCopies> {
        let state = self.state.lock();
        let relation = state.relations.get(&relation)?;
        let (segments, arrived) = (relation.segments.as_ref()?, relation.arrived.as_ref()?);
        let holds = |number: &usize| {
            let segment = &segments[*number];
            segment.writing == 0 && segment.changed <= at && !(segment.told.is_some() && segment.since <= at)
        };
        arrived.known(form, (0..SEGMENTS).filter(holds))
    }

    /// Lets go of what came into segments that are told, and were last written to up to a sequence number; of all of them, if
    /// nothing will be told.
    pub(crate) fn settle(&self, relation: RelationId, written_until: u64, is_told: bool) {
        let mut state = self.state.lock();
        let Some(relation) = state.relations.get_mut(&relation) else { return };
        let (Some(segments), Some(arrived)) = (&relation.segments, &mut relation.arrived) else { return };
        for (number, segment) in segments.iter().enumerate() {
            let rests = segment.writing == 0 && segment.changed <= written_until;
            if !is_told || rests && segment.told.is_some() {
                arrived.forget(number);
            }
        }
        if arrived.knows_none() {
            relation.arrived = None;
        }
    }

    /// Whether what came into a relation is known.
    pub(crate) fn knows_arrived(&self, relation: RelationId) -> bool {
        self.state.lock().relations.get(&relation).is_some_and(|relation| relation.arrived.is_some())
    }

    /// Says that a batch is being written. `latest` gives the sequence number after it, and `is_empty` says whether no row of a
    /// relation is stored.
    pub(crate) fn writing<L: Fn() -> u64>(
        &self,
        batch: &Batch,
        latest: L,
        is_empty: &dyn Fn(RelationId) -> bool,
    ) -> Writing<'_, L> {
        Writing { segments: self, touched: self.begin_writing(batch, is_empty), latest, is_written: false }
    }

    /// The same, until `end_writing`.
    pub(crate) fn begin_writing(&self, batch: &Batch, is_empty: &dyn Fn(RelationId) -> bool) -> Touched {
        let rows = rows_of(batch);
        let mut state = self.state.lock();
        let begun = rows.into_iter().map(|rows| state.begin(rows, batch, is_empty)).collect::<Vec<_>>();
        if begun.iter().all(|(_, begun)| begun.is_none()) {
            return begun.into_iter().map(|(touched, _)| touched).collect();
        }
        // Many copies take a while, in which others begin to write.
        drop(state);
        let packed = begun.into_iter().map(|(touched, begun)| {
            let arriving = batch.arrivals.of(touched.relation).filter(|_| begun.is_some());
            (touched, begun, arriving.map(ArrivingCopies::packed))
        });
        let packed: Vec<_> = packed.collect();
        let mut state = self.state.lock();
        let take = |(mut touched, begun, packed): (TouchedRelation, Option<u64>, Option<PackedCopies>)| {
            touched.arriving = packed.and_then(|packed| state.take_arriving(touched.relation, begun, packed));
            touched
        };
        packed.into_iter().map(take).collect()
    }

    /// What was begun is over, done or not, with this sequence number.
    pub(crate) fn end_writing(&self, touched: Touched, latest: u64, is_written: bool) {
        let mut state = self.state.lock();
        for TouchedRelation { relation, numbers, arriving } in touched {
            let relation = state.relations.entry(relation).or_default();
            relation.writing -= 1;
            relation.changed = relation.changed.max(latest);
            for number in numbers {
                // Another write may have taken them away.
                if let Some(segments) = &mut relation.segments {
                    let segment = &mut segments[usize::from(number)];
                    segment.writing -= 1;
                    segment.changed = segment.changed.max(latest);
                }
            }
            if let (Some(arrived), Some(arriving)) = (&mut relation.arrived, arriving) {
                arrived.end(arriving, is_written);
            }
        }
    }

    /// What is held, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let state = self.state.lock();
        (state.bytes + state.arrived_bytes()) as u64
    }
}

impl State {
    /// Begins to write rows of a relation. By which number what comes into it is known, where the batch tells of that.
    fn begin(
        &mut self,
        rows: TouchedRows,
        batch: &Batch,
        is_empty: &dyn Fn(RelationId) -> bool,
    ) -> (TouchedRelation, Option<u64>) {
        let arriving = batch.arrivals.of(rows.relation);
        if let Some(arriving) = arriving.filter(|arriving| arriving.are_many() && !rows.all) {
            self.begin_knowing(rows.relation, arriving, is_empty);
        }
        let relation = self.relations.entry(rows.relation).or_default();
        relation.writing += 1;
        if rows.all {
            relation.forget(&mut self.bytes);
        }
        let mut begun = None;
        if let Some(arrived) = &mut relation.arrived {
            // Of segments to whose rows anything else is done nothing is known from now on.
            rows.otherwise.iter().for_each(|number| arrived.forget(usize::from(*number)));
            begun = arriving.map(|_| arrived.begun());
        }
        let mut touched = TouchedRelation { relation: rows.relation, numbers: Vec::new(), arriving: None };
        if let Some(segments) = &mut relation.segments {
            for number in &rows.numbers {
                let segment = &mut segments[usize::from(*number)];
                segment.writing += 1;
                segment.clear(&mut self.bytes);
            }
            touched.numbers = rows.numbers;
        }
        (touched, begun)
    }

    /// Takes copies that come into a relation which is known by that number. What there is no room for is known no more.
    fn take_arriving(&mut self, id: RelationId, begun: Option<u64>, packed: PackedCopies) -> Option<Arriving> {
        let relation = self.relations.get_mut(&id)?;
        let arrived = relation.arrived.as_mut().filter(|arrived| Some(arrived.begun()) == begun)?;
        let arriving = arrived.begin(packed);
        if arriving.is_none() || self.arrived_bytes() > arrived::BYTES_MAX {
            self.relations.get_mut(&id)?.arrived = None;
        }
        arriving
    }

    /// Begins to know what comes into a relation, if nothing stands in it and nobody writes to it.
    fn begin_knowing(&mut self, id: RelationId, arriving: &ArrivingCopies, is_empty: &dyn Fn(RelationId) -> bool) {
        let is_full = self.bytes + EMPTY_BYTES > BYTES_MAX || self.arrived_bytes() + EMPTY_BYTES > arrived::BYTES_MAX;
        let relation = self.relations.entry(id).or_default();
        if relation.arrived.is_some() || relation.writing > 0 || is_full || !is_empty(id) {
            return;
        }
        if relation.make_segments() {
            self.bytes += EMPTY_BYTES;
        }
        self.begun += 1;
        relation.arrived = Some(Arrived::new(self.begun, arriving));
    }

    fn arrived_bytes(&self) -> usize {
        self.relations.values().filter_map(|relation| relation.arrived.as_ref()).map(Arrived::bytes).sum()
    }
}

impl Relation {
    /// Whether there were none.
    fn make_segments(&mut self) -> bool {
        if self.segments.is_some() {
            return false;
        }
        let unwritten = || Segment { changed: self.changed, ..Segment::default() };
        self.segments = Some((0..SEGMENTS).map(|_| unwritten()).collect());
        true
    }

    /// Segments are made again when somebody asks and nothing is written.
    fn forget(&mut self, bytes: &mut usize) {
        self.arrived = None;
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

impl<L: Fn() -> u64> Writing<'_, L> {
    /// It is done.
    pub(crate) fn written(&mut self) {
        self.is_written = true;
    }
}

impl<L: Fn() -> u64> Drop for Writing<'_, L> {
    fn drop(&mut self) {
        if !self.touched.is_empty() {
            self.segments.end_writing(std::mem::take(&mut self.touched), (self.latest)(), self.is_written);
        }
    }
}

/// Rows of a relation that a batch writes.
struct TouchedRows {
    relation: RelationId,
    /// Each once.
    numbers: Vec<u16>,
    /// Those in which anything else is done than what is told of copies that arrive. None where nothing is told.
    otherwise: Vec<u16>,
    /// The whole relation goes.
    all: bool,
}

fn rows_of(batch: &Batch) -> Vec<TouchedRows> {
    let mut touched: Vec<(TouchedRows, PutCounts)> = Vec::new();
    let mut last = (Family::Meta, [].as_slice());
    for operation in batch.operations() {
        let before = std::mem::replace(&mut last, operation.place());
        let (key, all, puts) = match operation {
            Operation::Put(Family::Rows, key, _) => (key, false, true),
            Operation::Delete(Family::Rows, key) => (key, false, false),
            Operation::DeleteRange(Family::Rows, key, _) => (key, true, false),
            Operation::Put(..) | Operation::Delete(..) | Operation::DeleteRange(..) => continue,
        };
        let Some(relation) = relation_of(key) else { continue };
        let place = match touched.last() {
            Some((last, _)) if last.relation == relation => touched.len() - 1,
            _ => touched.iter().position(|(known, _)| known.relation == relation).unwrap_or_else(|| {
                let rows = TouchedRows { relation, numbers: Vec::new(), otherwise: Vec::new(), all: false };
                touched.push((rows, PutCounts::of(batch.arrivals.of(relation))));
                touched.len() - 1
            }),
        };
        let (rows, counted) = &mut touched[place];
        rows.all |= all;
        if let Some(number) = number_of(key) {
            counted.note(number, puts && before != last);
            if rows.numbers.last() != Some(&number) {
                rows.numbers.push(number);
            }
        }
    }
    let each = touched.into_iter().map(|(mut rows, counted)| {
        rows.numbers.sort_unstable();
        rows.numbers.dedup();
        rows.otherwise = rows.numbers.iter().copied().filter(|number| !counted.is_told(*number)).collect();
        rows
    });
    each.collect()
}

/// Of each segment that a batch writes to how many copies are put, less those that are told of; none where nothing is told of the
/// relation.
struct PutCounts(Option<HashMap<usize, i64>>);

impl PutCounts {
    fn of(arriving: Option<&ArrivingCopies>) -> PutCounts {
        PutCounts(arriving.map(|arriving| {
            let mut counts = HashMap::default();
            arriving.by_segment().for_each(|segment| *counts.entry(segment).or_default() -= 1);
            counts
        }))
    }

    /// A row of a segment is put, or something else is done.
    fn note(&mut self, number: u16, puts: bool) {
        if let Some(counts) = &mut self.0 {
            // Nothing makes up for what is not told.
            *counts.entry(usize::from(number)).or_default() += if puts { 1 } else { i64::from(u32::MAX) };
        }
    }

    fn is_told(&self, number: u16) -> bool {
        self.0.as_ref().is_some_and(|counts| counts.get(&usize::from(number)) == Some(&0))
    }
}

/// In which segment a personal row stands.
fn number_of(key: &[u8]) -> Option<u16> {
    let [_, _, _, _, first, second, ..] = *key else { return None };
    (key.len() >= ROW_PREFIX_BYTES).then(|| u16::from_be_bytes([first, second]) >> (16 - SEGMENT_BITS))
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
    use crate::microdb::{self, segment_of};
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
            let _writing = segments.writing(&batch(1), || now.get(), &|_| false);
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
        drop(segments.writing(&drop_all, || 20, &|_| false));
        assert_eq!((segments.bytes(), asked > 200), (0, true));
        assert_eq!(told(&segments, 20), []);
        tell(&segments, 19, 0, 4);
        assert_eq!(told(&segments, 20), [], "read before the relation was emptied");
    }

    #[test]
    fn what_rests_is_counted_ahead() {
        let segments = Segments::default();
        assert_eq!(segments.untold_at_rest(TABLE, 0).len(), SEGMENTS, "nothing was written");
        drop(segments.writing(&batch(1), || 15, &|_| false));
        assert!(segments.untold_at_rest(TABLE, 14).is_empty(), "written to since");
        assert_eq!(segments.untold_at_rest(TABLE, 15).len(), SEGMENTS);
        tell(&segments, 15, 3, 1);
        assert_eq!(segments.untold_at_rest(TABLE, 15).len(), SEGMENTS - 1);
        let _writing = segments.writing(&batch(1), || 20, &|_| false);
        assert_eq!(segments.untold_at_rest(TABLE, 20).len(), SEGMENTS - 2);
        segments.tell(TABLE, 15, vec![(4, Arc::new(1_u8), AHEAD_BYTES_MAX)]);
        assert!(segments.untold_at_rest(TABLE, 20).is_empty(), "the rest is for who asks");
    }

    #[test]
    fn segments_are_not_made_beside_a_write() {
        let segments = Segments::default();
        {
            let _writing = segments.writing(&batch(1), || 15, &|_| false);
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
