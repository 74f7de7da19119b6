//! Copies that come into a relation which was empty, with what their rows say: while they are known, nobody has to open what was
//! just written.
//!
//! ```text
//! batch: copies, what each says ─▶ BEGIN: packed, 8 bytes a copy ─▶ written ─▶ of the segment
//!           │                        │                       └ not: gone    └─▶ counted when the relation rests: gone
//!           │                        └ operations on rows of a segment that are not all told of here: nothing more is known of it
//!           └ many, and nothing stands in the relation: it begins
//! ```
//! What is known of a segment is all of its copies, or nothing. What rows say is spelled by whoever writes and whoever asks, and is
//! held once, as long as a copy says it: so with a person's copies goes what they alone have said.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use repr::MicroDbId;

use crate::arrivals::{
    ArrivedPart, ArrivingCopies, CANONICAL, ID_BITS, PackedCopies, SAYING_BITS, SAYING_MASK, SAYINGS_MAX, saying_of,
};
use crate::microdb::{self, MICRODB_BYTES, SEGMENTS};

/// What all of it may take.
pub(crate) const BYTES_MAX: usize = 32 << 20;

/// What a saying takes beside its bytes.
const SAYING_BYTES: usize = 96;

/// What rows of a relation say, each once.
#[derive(Default)]
struct Sayings {
    numbers: HashMap<Arc<[u8]>, u32>,
    known: Vec<Option<Arc<[u8]>>>,
    /// How many copies say it.
    copies: Vec<u32>,
    free: Vec<u32>,
    bytes: usize,
}

impl Sayings {
    /// The number of a saying, for so many copies more. None where there are too many.
    fn take(&mut self, saying: &[u8], copies: u32) -> Option<u32> {
        if let Some(number) = self.numbers.get(saying) {
            self.copies[*number as usize] += copies;
            return Some(*number);
        }
        let saying: Arc<[u8]> = saying.into();
        let number = match self.free.pop() {
            Some(number) => number,
            None if self.known.len() < SAYINGS_MAX => {
                self.known.push(None);
                self.copies.push(0);
                u32::try_from(self.known.len() - 1).ok()?
            }
            None => return None,
        };
        self.bytes += saying.len() + SAYING_BYTES;
        self.known[number as usize] = Some(saying.clone());
        self.copies[number as usize] = copies;
        self.numbers.insert(saying, number);
        Some(number)
    }

    /// Copies that have said it are gone.
    fn release(&mut self, number: u32, copies: u32) {
        let said = &mut self.copies[number as usize];
        *said -= copies;
        if *said == 0
            && let Some(saying) = self.known[number as usize].take()
        {
            self.bytes -= saying.len() + SAYING_BYTES;
            self.numbers.remove(&saying);
            self.free.push(number);
        }
    }
}

impl ArrivedPart {
    fn release(&mut self, sayings: &mut Sayings) {
        std::mem::take(&mut self.copies).into_iter().for_each(|copy| sayings.release(saying_of(copy), 1));
    }
}

/// All that is known of a relation.
pub(super) struct Arrived {
    /// Which of all that were begun: numbers of another's sayings mean nothing here.
    begun: u64,
    form: Arc<[u8]>,
    sayings: Sayings,
    /// None of segments of which not all copies are known.
    parts: Box<[Option<ArrivedPart>]>,
    /// Packed copies, those included that are not written yet.
    copies: usize,
}

/// What one batch adds, from when it begins until it is written.
pub(super) struct Arriving {
    begun: u64,
    /// In the order of segments.
    parts: Vec<(u16, ArrivedPart)>,
}

impl Arrived {
    /// Of a relation in which nothing stands.
    pub(super) fn new(begun: u64, arriving: &ArrivingCopies) -> Arrived {
        let parts = (0..SEGMENTS).map(|_| Some(ArrivedPart::default())).collect();
        Arrived { begun, form: arriving.form.clone(), sayings: Sayings::default(), parts, copies: 0 }
    }

    /// Which of all that were begun this is.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// Takes what begins to be written. None where it cannot be known.
    pub(super) fn begin(&mut self, packed: PackedCopies) -> Option<Arriving> {
        if packed.form != self.form {
            return None;
        }
        let sayings = packed.sayings.iter();
        let numbers: Option<Vec<u32>> = sayings.map(|(saying, copies)| self.sayings.take(saying, *copies)).collect();
        let (numbers, mut parts) = (numbers?, packed.parts);
        for (_, part) in &mut parts {
            self.copies += part.copies.len();
            for copy in &mut part.copies {
                let number = u64::from(numbers[saying_of(*copy) as usize]);
                *copy = *copy & !SAYING_MASK | number << 1;
            }
        }
        Some(Arriving { begun: self.begun, parts })
    }

    /// What was begun is over.
    pub(super) fn end(&mut self, arriving: Arriving, is_written: bool) {
        if arriving.begun != self.begun {
            return;
        }
        for (segment, mut arriving) in arriving.parts {
            match &mut self.parts[usize::from(segment)] {
                Some(part) if is_written => {
                    part.copies.reserve_exact(arriving.copies.len());
                    part.copies.append(&mut arriving.copies);
                    part.ends.merge(&arriving.ends);
                }
                _ => {
                    self.copies -= arriving.copies.len();
                    arriving.release(&mut self.sayings);
                }
            }
        }
    }

    /// Nothing more is known of a segment.
    pub(super) fn forget(&mut self, segment: usize) {
        if let Some(mut part) = self.parts[segment].take() {
            self.copies -= part.copies.len();
            part.release(&mut self.sayings);
        }
    }

    pub(super) fn knows_none(&self) -> bool {
        self.parts.iter().all(Option::is_none)
    }

    pub(super) fn bytes(&self) -> usize {
        SEGMENTS * size_of::<Option<ArrivedPart>>() + self.copies * size_of::<u64>() + self.sayings.bytes
    }

    /// For whoever counts: of these segments, if they are spelled in this form.
    pub(super) fn known(&self, form: &[u8], segments: impl Iterator<Item = usize>) -> Option<ArrivedCopies> {
        if *self.form != *form {
            return None;
        }
        let known = segments.filter_map(|number| Some((number, self.parts[number].clone()?))).collect();
        Some(ArrivedCopies { sayings: self.sayings.known.clone(), parts: known })
    }
}

/// All copies of some segments.
pub struct ArrivedCopies {
    sayings: Vec<Option<Arc<[u8]>>>,
    parts: BTreeMap<usize, ArrivedPart>,
}

impl ArrivedCopies {
    /// What is known of a segment.
    pub fn part(&self, segment: usize) -> Option<&ArrivedPart> {
        self.parts.get(&segment)
    }

    /// What stands under a number.
    pub fn saying(&self, number: u32) -> &[u8] {
        self.sayings.get(number as usize).and_then(Option::as_deref).expect("held while a copy says it")
    }

    /// A segment's copies by person: whose, the number of what it says, and whether it stands for its row.
    pub fn copies(&self, segment: usize) -> impl Iterator<Item = (MicroDbId, u32, bool)> {
        let mut copies = self.parts.get(&segment).map(|part| part.copies.clone()).unwrap_or_default();
        copies.sort_unstable();
        copies.into_iter().map(move |copy| {
            let id = (segment as u64) << ID_BITS | copy >> (SAYING_BITS + 1);
            let owner = *id.to_be_bytes().last_chunk::<MICRODB_BYTES>().expect("eight are more");
            (microdb::loaded(owner), saying_of(copy), copy & CANONICAL != 0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::RowEnd;
    use crate::batch::Batch;
    use crate::microdb::segment_of;
    use crate::segments::Segments;
    use repr::{RelationId, RowKey};

    const TABLE: RelationId = RelationId(7);
    const EMPTY: &dyn Fn(RelationId) -> bool = &|_| true;

    fn person(number: u16) -> MicroDbId {
        let [first, second] = number.to_be_bytes();
        microdb::loaded([first, second, 0, 0, 0, 1])
    }

    /// Rows of some people, who each say their number's last digit.
    fn rows(people: std::ops::Range<u16>) -> Batch {
        let (mut batch, form): (Batch, Arc<[u8]>) = (Batch::default(), b"form".as_slice().into());
        for number in people {
            batch.put(crate::rocks::Family::Rows, &at(number), b"sealed");
            let says = ([(number % 10) as u8], RowEnd::At(i64::from(number)));
            batch.note_arrival(TABLE, &form, (&says.0, says.1), std::iter::once(person(number)));
        }
        batch
    }

    fn at(number: u16) -> Vec<u8> {
        let mut batch = Batch::default();
        batch.delete_copy(TABLE, &RowKey::new(&[1; 16]), person(number));
        let key = batch.operations().next().map(|operation| operation.place().1.to_vec());
        key.expect("one was added")
    }

    /// Segments that are known, their copies, and the last digits that these say.
    fn known(segments: &Segments, at: u64) -> (usize, usize, BTreeMap<u8, usize>) {
        let Some(arrived) = segments.arrived(TABLE, at, b"form") else { return (0, 0, BTreeMap::new()) };
        let mut digits = BTreeMap::new();
        let mut copies = 0;
        for segment in 0..SEGMENTS {
            for (owner, saying, canonical) in arrived.copies(segment) {
                assert!(segment_of(owner) == segment && canonical);
                *digits.entry(arrived.saying(saying)[0]).or_default() += 1;
                copies += 1;
            }
        }
        (arrived.parts.len(), copies, digits)
    }

    fn write(segments: &Segments, batch: &Batch, latest: u64) {
        segments.writing(batch, || latest, EMPTY).written();
    }

    #[test]
    fn what_comes_into_an_empty_relation_is_known_until_something_else_is_done() {
        let segments = Segments::default();
        write(&segments, &rows(0..2_000), 10);
        assert_eq!(known(&segments, 9), (SEGMENTS - 125, 0, BTreeMap::new()), "written later");
        let (parts, copies, digits) = known(&segments, 10);
        assert_eq!((parts, copies, digits.get(&3)), (SEGMENTS, 2_000, Some(&200)));
        // Small ones add to it.
        write(&segments, &rows(2_000..2_010), 20);
        assert_eq!(known(&segments, 20).1, 2_010);
        {
            let _under_way = segments.writing(&rows(2_010..2_020), || 30, EMPTY);
            assert_eq!(known(&segments, 20).1, 2_000, "while it is being written nothing of the segment is known");
        }
        assert_eq!(known(&segments, 30).1, 2_010, "what was not written has not come");
        let mut gone = Batch::default();
        gone.delete_copy(TABLE, &RowKey::new(&[1; 16]), person(5));
        write(&segments, &gone, 40);
        assert_eq!((known(&segments, 40).0, known(&segments, 40).1), (SEGMENTS - 1, 2_010 - 16));
        write(&segments, &rows(0..10), 50);
        assert_eq!(known(&segments, 50).1, 2_010 - 16, "what was forgotten is not begun again");
        assert!(segments.arrived(TABLE, 50, b"another form").is_none());
        let mut all = Batch::default();
        all.delete_range(crate::rocks::Family::Rows, &7_u32.to_be_bytes(), &8_u32.to_be_bytes());
        write(&segments, &all, 60);
        assert_eq!((known(&segments, 60).0, segments.bytes()), (0, 0));
    }

    #[test]
    fn nothing_is_known_of_rows_that_are_not_told_of() {
        for change in 0..4 {
            let segments = Segments::default();
            write(&segments, &rows(0..1_600), 10);
            assert_eq!(known(&segments, 10).1, 1_600);
            let (mut more, form): (Batch, Arc<[u8]>) = (rows(1_600..1_610), b"form".as_slice().into());
            match change {
                // A row that was there is written again, one is put twice, one goes, and one is told of that is not put.
                0 => more.put(crate::rocks::Family::Rows, &at(1_611), b"sealed"),
                1 => more.put(crate::rocks::Family::Rows, &at(1_609), b"sealed"),
                2 => more.delete(crate::rocks::Family::Rows, &at(1_601)),
                _ => more.note_arrival(TABLE, &form, (b"3", RowEnd::Unsaid), std::iter::once(person(1_612))),
            }
            write(&segments, &more, 20);
            let (parts, copies, _) = known(&segments, 20);
            assert_eq!((parts, copies), (SEGMENTS - 1, 1_600), "change {change}");
        }
    }

    #[test]
    fn it_begins_with_many_rows_of_an_empty_relation_to_which_nobody_writes() {
        let segments = Segments::default();
        write(&segments, &rows(0..500), 10);
        assert_eq!(known(&segments, 10).0, 0, "few");
        drop(segments.writing(&rows(0..2_000), || 20, &|_| false));
        assert_eq!(known(&segments, 20).0, 0, "some rows are there");
        {
            let _under_way = segments.writing(&rows(3_000..3_001), || 30, EMPTY);
            write(&segments, &rows(0..2_000), 30);
            assert_eq!(known(&segments, 30).0, 0, "a row may be there at any moment");
        }
        write(&segments, &rows(0..2_000), 40);
        assert_eq!(known(&segments, 40).1, 2_000);
    }

    #[test]
    fn what_nobody_says_any_more_is_gone() {
        let segments = Segments::default();
        write(&segments, &rows(0..1_600), 10);
        let mut only = Batch::default();
        let form: Arc<[u8]> = b"form".as_slice().into();
        only.put(crate::rocks::Family::Rows, &at(9_000), b"sealed");
        only.note_arrival(TABLE, &form, (b"unheard of", RowEnd::Unsaid), std::iter::once(person(9_000)));
        write(&segments, &only, 20);
        let says = |segments: &Segments| {
            let arrived = segments.arrived(TABLE, 100, b"form").expect("it is known");
            arrived.sayings.iter().flatten().filter(|saying| &***saying == b"unheard of").count()
        };
        assert_eq!(says(&segments), 1);
        let mut gone = Batch::default();
        gone.delete(crate::rocks::Family::Rows, &at(9_000));
        write(&segments, &gone, 30);
        assert_eq!(says(&segments), 0);
        let held = segments.bytes();
        segments.tell(
            TABLE,
            30,
            (0..SEGMENTS).map(|number| (number, Arc::new(()) as crate::segments::ToldPart, 1)).collect(),
        );
        segments.settle(TABLE, 9, true);
        assert!(segments.knows_arrived(TABLE), "what was written since does not rest");
        segments.settle(TABLE, 30, true);
        assert!(!segments.knows_arrived(TABLE) && segments.bytes() < held + SEGMENTS as u64);
    }
}
