//! A batch: sealed puts and deletes that become visible and durable together.
//!
//! Built on any thread, sealed while it is built, so that the commit thread only copies bytes. Audit records join it
//! unlinked: `Store::write` gives them their place in the log, in commit order. What is put into it sealed: see
//! `sealing`.

use std::collections::BTreeSet;
use std::sync::Arc;

use repr::hash::HashMap;
use repr::{MicroDbId, RelationId, RowKey};

use crate::arrivals::{Arrivals, RowEnd};
use crate::audit::PendingAudit;
use crate::keyspace;
use crate::rocks::{FAMILIES, Family};
use crate::side_files::SideFiles;

/// A list of operations, in order; later ones win.
///
/// ```text
/// kind and family(1) ‖ key length(4) ‖ key ‖ value length(4) ‖ value      (a range's value is its end)
/// ```
#[derive(Default)]
pub struct Batch {
    operations: Vec<u8>,
    count: usize,
    pub(crate) audit: Vec<PendingAudit>,
    pub(crate) commit_time: Option<u64>,
    /// When a definition erased, in microseconds since 2000-01-01 UTC: see `mark_erasing`.
    pub(crate) erases: Option<i64>,
    /// Where else what it replaces stands in files: see `Store::finish_key_renewal`.
    pub(crate) owes: BTreeSet<(u8, u32)>,
    /// Operations that stand in files already: see `Store::set_aside`.
    pub(crate) side_files: Option<SideFiles>,
    /// Which of the rows that it puts are new, and what they say.
    pub(crate) arrivals: Arrivals,
}

/// One operation of a batch.
pub(crate) enum Operation<'a> {
    /// Writes a value.
    Put(Family, &'a [u8], &'a [u8]),
    /// Deletes a key.
    Delete(Family, &'a [u8]),
    /// Deletes from the first key up to before the second.
    DeleteRange(Family, &'a [u8], &'a [u8]),
}

impl<'a> Operation<'a> {
    /// Where it is; of a range where that begins.
    pub(crate) fn place(&self) -> (Family, &'a [u8]) {
        match self {
            Operation::Put(family, key, _)
            | Operation::Delete(family, key)
            | Operation::DeleteRange(family, key, _) => (*family, *key),
        }
    }
}

/// Beside a row: its place, its seal, and the operations that mostly come with it.
const ROOM_BYTES: usize = 384;

/// What is added to a transaction's operations when they are in order.
const ADDED_BYTES: usize = 1 << 10;

const PUT: u8 = 0x00;
const DELETE: u8 = 0x10;
const DELETE_RANGE: u8 = 0x20;
const FAMILY_MASK: u8 = 0x0f;

impl Batch {
    /// Nothing yet, with room for operations of so many bytes.
    pub fn with_room(bytes: usize) -> Batch {
        Batch { operations: Vec::with_capacity(bytes), ..Batch::default() }
    }

    /// Deletes one owner's copy of a personal row.
    pub fn delete_copy(&mut self, relation: RelationId, key: &RowKey, owner: MicroDbId) {
        self.delete(Family::Rows, &keyspace::personal_row(relation, owner, key));
    }

    /// Deletes a row that is nobody's.
    pub fn delete_impersonal(&mut self, relation: RelationId, key: &RowKey) {
        self.delete(Family::Rows, &keyspace::impersonal_row(relation, key.bytes()));
    }

    /// Whether it leads to less on the disk, sooner or later: an erasure, or one that writes neither rows nor index entries.
    pub(crate) fn makes_room(&self) -> bool {
        let erases = self.audit.iter().any(|pending| matches!(pending, PendingAudit::Receipt { .. }));
        let fills = |operation| matches!(operation, Operation::Put(Family::Rows | Family::Index, ..));
        erases || !self.operations().any(fills)
    }

    /// What it deletes and overwrites is to leave every file and log, as at an erasure: a table is dropped, emptied, rewritten or
    /// annotated. The moment is in microseconds since 2000-01-01 UTC.
    pub fn mark_erasing(&mut self, time_us: i64) {
        self.erases = Some(time_us);
    }

    /// Adds another batch's operations and audit records after this one's.
    pub fn append(&mut self, other: Batch) {
        let erases = self.erases.max(other.erases);
        if self.operations.is_empty() && self.audit.is_empty() && self.side_files.is_none() {
            *self = other;
            self.erases = erases;
            return;
        }
        assert!(other.side_files.is_none(), "a batch with files is written by itself");
        self.erases = erases;
        self.operations.extend_from_slice(&other.operations);
        self.count += other.count;
        self.audit.extend(other.audit);
        self.commit_time = self.commit_time.max(other.commit_time);
        self.owes.extend(other.owes);
        self.arrivals.append(other.arrivals);
    }

    /// Tells of a new row that is put, whose owners these are, the first one the canonical: what it says, spelled in a form by which
    /// whoever counts asks for it, and when it ends.
    pub fn note_arrival(
        &mut self,
        relation: RelationId,
        form: &Arc<[u8]>,
        says: (&[u8], RowEnd),
        owners: impl Iterator<Item = MicroDbId>,
    ) {
        self.arrivals.add(relation, form, says, owners);
    }

    /// Puts the operations in the order of their keys, which RocksDB's write buffers take several times as fast. For all but
    /// small batches: it copies them. A batch that deletes ranges is left as it is, and so is one of gigabytes.
    pub fn sort(&mut self) {
        if u32::try_from(self.operations.len()).is_err() {
            return;
        }
        // Of one table's or index's operations most come in order already, or differ in the first bytes after its number.
        let mut groups: HashMap<(u8, u32), Vec<Standing>> = HashMap::default();
        let mut rest = self.operations.as_slice();
        while let Some((&tag, after)) = rest.split_first() {
            if tag & !FAMILY_MASK == DELETE_RANGE {
                return;
            }
            let start = self.operations.len() - rest.len();
            rest = after;
            let key = take_part(&mut rest);
            take_part(&mut rest);
            let (group, first) = beginning(key);
            let end = self.operations.len() - rest.len();
            groups.entry((tag & FAMILY_MASK, group)).or_default().push(Standing {
                first,
                start: start as u32,
                end: end as u32,
            });
        }
        let mut order: Vec<(u8, u32)> = groups.keys().copied().collect();
        order.sort_unstable();
        // A commit adds its time, and an erasure its receipt.
        let mut sorted = Vec::with_capacity(self.operations.len() + ADDED_BYTES);
        for group in order {
            let standing = groups.get_mut(&group).expect("listed above");
            // Stable: of two operations on one key the later stays the later.
            standing.sort_by(|one, other| {
                one.first.cmp(&other.first).then_with(|| self.key_at(one.start).cmp(self.key_at(other.start)))
            });
            standing.iter().for_each(|one| {
                sorted.extend_from_slice(&self.operations[one.start as usize..one.end as usize]);
            });
        }
        self.operations = sorted;
    }

    /// Whether its rows stand in files already.
    pub fn is_set_aside(&self) -> bool {
        self.side_files.is_some()
    }

    /// Takes out what is written to and deleted from these families, sorted, but for what a later deletion of a range takes
    /// away. Deletions of ranges stay: they come first.
    pub(crate) fn take_large(&mut self, of: impl Fn(Family) -> bool) -> Batch {
        let arrivals = std::mem::take(&mut self.arrivals);
        if let Some(mut large) = self.take_tail(&of) {
            large.arrivals = arrivals;
            if !large.is_sorted() {
                large.sort();
            }
            return large;
        }
        let (mut large, mut rest) = (Batch::with_room(self.operations.len()), Batch::default());
        let ranges: Vec<(usize, Family, &[u8], &[u8])> = self
            .operations()
            .enumerate()
            .filter_map(|(place, operation)| match operation {
                Operation::DeleteRange(family, from, to) => Some((place, family, from, to)),
                Operation::Put(..) | Operation::Delete(..) => None,
            })
            .collect();
        let goes = |place: usize, family: Family, key: &[u8]| {
            let covers = |(at, of, from, to): &(usize, Family, &[u8], &[u8])| {
                *at > place && *of == family && *from <= key && key < *to
            };
            ranges.iter().any(covers)
        };
        for (place, operation) in self.operations().enumerate() {
            match operation {
                Operation::Put(family, key, value) if of(family) => {
                    if !goes(place, family, key) {
                        large.put(family, key, value);
                    }
                }
                Operation::Delete(family, key) if of(family) => {
                    if !goes(place, family, key) {
                        large.delete(family, key);
                    }
                }
                Operation::Put(family, key, value) => rest.put(family, key, value),
                Operation::Delete(family, key) => rest.delete(family, key),
                Operation::DeleteRange(family, from, to) => rest.delete_range(family, from, to),
            }
        }
        (self.operations, self.count) = (rest.operations, rest.count);
        large.arrivals = arrivals;
        if !large.is_sorted() {
            large.sort();
        }
        large
    }

    /// The same without copying them, where all that stays comes first, as mostly.
    fn take_tail(&mut self, of: &impl Fn(Family) -> bool) -> Option<Batch> {
        let mut rest = self.operations.as_slice();
        let (mut staying, mut end, mut is_behind) = (0, 0, false);
        while let Some((&tag, after)) = rest.split_first() {
            rest = after;
            take_part(&mut rest);
            take_part(&mut rest);
            match tag & !FAMILY_MASK != DELETE_RANGE && of(FAMILIES[usize::from(tag & FAMILY_MASK)]) {
                true => is_behind = true,
                false if is_behind => return None,
                false => (staying, end) = (staying + 1, self.operations.len() - rest.len()),
            }
        }
        let first = self.operations[..end].to_vec();
        let mut operations = std::mem::replace(&mut self.operations, first);
        operations.drain(..end);
        let count = std::mem::replace(&mut self.count, staying) - staying;
        Some(Batch { operations, count, ..Batch::default() })
    }

    /// Takes the room of a batch that is written down elsewhere for its own operations, if they are few: what is freed is wiped, and
    /// what is made anew is zeroed by the system, a page at a time.
    pub(crate) fn take_room_of(&mut self, other: Batch) {
        let mut room = other.operations;
        if self.operations.len() < room.capacity() / 2 && self.operations.capacity() < room.capacity() {
            room.clear();
            room.extend_from_slice(&self.operations);
            self.operations = room;
        }
    }

    fn is_sorted(&self) -> bool {
        self.operations().is_sorted_by(|one, other| {
            let ((family, key), (later, later_key)) = (one.place(), other.place());
            (family as u8, key) <= (later as u8, later_key)
        })
    }

    /// The operations of a family in a batch that is sorted, of each key the last.
    pub(crate) fn last_operations(&self, family: Family) -> impl Iterator<Item = Operation<'_>> {
        let mut operations = self.operations().filter(move |operation| operation.place().0 == family).peekable();
        std::iter::from_fn(move || {
            let mut last = operations.next()?;
            while let Some(later) = operations.next_if(|later| later.place() == last.place()) {
                last = later;
            }
            Some(last)
        })
    }

    /// The key of the operation that begins there.
    fn key_at(&self, start: u32) -> &[u8] {
        take_part(&mut &self.operations[start as usize + 1..])
    }

    /// Gives back the memory of the operations, once they are written down elsewhere.
    pub(crate) fn forget_operations(&mut self) {
        (self.operations, self.count) = (Vec::new(), 0);
    }

    /// How many operations and audit records.
    pub fn len(&self) -> usize {
        self.count + self.audit.len()
    }

    /// Whether it does nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held, near what the write-ahead log will take.
    pub fn bytes(&self) -> usize {
        self.operations.len() + self.audit.iter().map(PendingAudit::bytes).sum::<usize>()
    }

    /// For a row of so many bytes, its seal, and the operations that mostly come with it.
    pub(crate) fn make_room(&mut self, row_bytes: usize) {
        self.operations.reserve(row_bytes + ROOM_BYTES);
    }

    pub(crate) fn put(&mut self, family: Family, key: &[u8], value: &[u8]) {
        self.start(PUT, family, key);
        self.part(value);
    }

    /// Puts a value that is written in place; nothing is put when that fails.
    pub(crate) fn put_with<E>(
        &mut self,
        family: Family,
        key: &[u8],
        value: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let before = self.operations.len();
        self.start(PUT, family, key);
        let length_at = self.operations.len();
        self.operations.extend_from_slice(&[0; 4]);
        if let Err(error) = value(&mut self.operations) {
            self.operations.truncate(before);
            self.count -= 1;
            return Err(error);
        }
        let length = length(self.operations.len() - length_at - 4);
        self.operations[length_at..length_at + 4].copy_from_slice(&length);
        Ok(())
    }

    pub(crate) fn delete(&mut self, family: Family, key: &[u8]) {
        self.start(DELETE, family, key);
        self.part(&[]);
    }

    pub(crate) fn delete_range(&mut self, family: Family, from: &[u8], to: &[u8]) {
        self.start(DELETE_RANGE, family, from);
        self.part(to);
    }

    fn start(&mut self, kind: u8, family: Family, key: &[u8]) {
        self.operations.push(kind | family as u8);
        self.part(key);
        self.count += 1;
    }

    fn part(&mut self, bytes: &[u8]) {
        self.operations.extend_from_slice(&length(bytes.len()));
        self.operations.extend_from_slice(bytes);
    }

    /// The operations, in order.
    pub(crate) fn operations(&self) -> impl Iterator<Item = Operation<'_>> {
        let mut rest = self.operations.as_slice();
        std::iter::from_fn(move || {
            let (&tag, after) = rest.split_first()?;
            rest = after;
            let key = take_part(&mut rest);
            let value = take_part(&mut rest);
            let family = FAMILIES[usize::from(tag & FAMILY_MASK)];
            Some(match tag & !FAMILY_MASK {
                PUT => Operation::Put(family, key, value),
                DELETE => Operation::Delete(family, key),
                _ => Operation::DeleteRange(family, key, value),
            })
        })
    }
}

/// Where an operation stands among the others.
struct Standing {
    /// See `beginning`.
    first: u64,
    start: u32,
    end: u32,
}

/// The first four bytes of a key and the eight after them as numbers, in the order of keys; what is shorter is filled up with
/// zeros.
fn beginning(key: &[u8]) -> (u32, u64) {
    let mut first = [0; 12];
    let bytes = key.len().min(first.len());
    first[..bytes].copy_from_slice(&key[..bytes]);
    let [a, b, c, d, rest @ ..] = first;
    (u32::from_be_bytes([a, b, c, d]), u64::from_be_bytes(rest))
}

fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).expect("rows are bounded far below 4 GiB").to_le_bytes()
}

fn take_part<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let (length, after) = rest.split_first_chunk::<4>().expect("written by `part`");
    let (part, after) = after.split_at(u32::from_le_bytes(*length) as usize);
    *rest = after;
    part
}

#[cfg(test)]
mod tests {
    use super::Batch;
    use crate::rocks::Family;

    #[test]
    fn rows_and_index_entries_make_no_room() {
        for (family, makes_room) in [(Family::Rows, false), (Family::Index, false), (Family::Meta, true)] {
            let mut batch = Batch::default();
            batch.delete(Family::Rows, b"key");
            assert!(batch.makes_room());
            batch.put(family, b"key", b"value");
            assert_eq!(batch.makes_room(), makes_room, "{family:?}");
        }
    }

    fn keys(batch: &Batch) -> Vec<(u8, Vec<u8>)> {
        batch.operations().map(|operation| (operation.place().0 as u8, operation.place().1.to_vec())).collect()
    }

    #[test]
    fn what_is_large_is_taken_wherever_it_stands() {
        let is_large = |family: Family| matches!(family, Family::Rows | Family::Index);
        // By letters: what stays, a range, rows and entries.
        for order in ["", "m", "r", "mr", "rm", "mdrir", "drmir", "rirm", "mdm", "irrir"] {
            let mut batch = Batch::default();
            for (number, kind) in order.bytes().enumerate() {
                let key = [b'k', 200 - number as u8];
                match kind {
                    b'm' => batch.put(Family::Meta, &key, b"value"),
                    b'd' => batch.delete_range(Family::Rows, b"a", b"b"),
                    b'i' => batch.delete(Family::Index, &key),
                    _ => batch.put(Family::Rows, &key, b"value"),
                }
            }
            let all = keys(&batch);
            let large = batch.take_large(is_large);
            let is_taken = |letter: u8| matches!(letter, b'r' | b'i');
            let (mut taken, stays): (Vec<_>, Vec<_>) =
                all.into_iter().zip(order.bytes()).partition(|(_, letter)| is_taken(*letter));
            taken.sort();
            assert_eq!(keys(&large), taken.into_iter().map(|(key, _)| key).collect::<Vec<_>>(), "{order}");
            assert_eq!(keys(&batch), stays.into_iter().map(|(key, _)| key).collect::<Vec<_>>(), "{order}");
            assert_eq!((large.len(), batch.len()), (keys(&large).len(), keys(&batch).len()), "{order}");
            batch.take_room_of(large);
            assert_eq!(batch.len(), keys(&batch).len(), "{order}");
        }
    }
}
