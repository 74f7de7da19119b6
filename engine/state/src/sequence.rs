//! Sequences and hidden row ids: counters outside transactions, never going back.
//!
//! Values are handed out from a block that is reserved durably beforehand: a crash leaves a gap, never a
//! value twice. A sequence that is made, restarted or changed counts by a new counter, whose number stands in the catalog:
//! while that is not committed nobody else counts by it, and when it is rolled back the one before goes on. A number is
//! never given twice, so that what a rolled-back or lost transaction has counted is nobody's.
//!
//! ```text
//! ALTER SEQUENCE s INCREMENT 5     generation 8 goes on from where 7 stands
//!     its own nextval              8 counts; others go on with 7
//!     ROLLBACK                     7 stands as it did
//!     COMMIT (`settle`)            8 is put behind what 7 gave meanwhile; who comes with 7 counts by 8 from now on
//! ```

use crate::SqlError;
use parking_lot::{Mutex, MutexGuard};
use planner::catalog::{Catalog, Sequence};
use repr::SequenceId;
use repr::id::is_temporary;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use storage::{Batch, Store};

// A block costs one flush.
const BLOCK_VALUES: i64 = 256;
const ROW_ID_BLOCK: u64 = 65_536;
const META_ROW_ID: &[u8] = b"row_id";

/// All counters.
pub struct Sequences {
    store: Store,
    counters: Mutex<Counters>,
    row_id: Mutex<RowId>,
}

#[derive(Default)]
struct Counters {
    by_id: BTreeMap<CounterId, Counter>,
    /// Sequences that were changed since the server began, as they are committed: a statement may know an older generation.
    changed: BTreeMap<SequenceId, Arc<Sequence>>,
    /// Where committed generations stood when a transaction went on from them.
    left: BTreeMap<CounterId, Counter>,
}

/// A sequence and its generation.
type CounterId = (SequenceId, u64);

// Of a sequence: the one that is committed, and those that a transaction and its savepoints have made of it.
const COUNTERS_MAX: usize = 16;

#[derive(Clone, Copy)]
struct Counter {
    /// The last value given, or the first to come if none was.
    value: i64,
    called: bool,
    /// Values on the way to this one may be given without another reservation.
    ahead: Option<i64>,
    /// By setval: what its generation goes on from does not matter any more.
    placed: bool,
}

impl Counter {
    /// Whether the sequence goes on behind this value after a crash.
    fn covers(&self, value: i64, increment: i64) -> bool {
        let Some(ahead) = self.ahead.filter(|_| self.called) else { return false };
        if increment > 0 { self.value < value && value <= ahead } else { ahead <= value && value < self.value }
    }

    /// Whether it has gone farther than another one.
    fn is_beyond(&self, other: &Counter, increment: i64) -> bool {
        let (value, than) = if increment > 0 { (self.value, other.value) } else { (other.value, self.value) };
        (value, self.called) > (than, other.called)
    }
}

struct RowId {
    next: u64,
    reserved_until: u64,
}

fn counter_id(sequence: &Sequence) -> CounterId {
    (sequence.id, sequence.generation)
}

fn meta_key((sequence, generation): CounterId) -> Vec<u8> {
    let generation = if generation == 0 { Vec::new() } else { generation.to_be_bytes().to_vec() };
    [b"sequence/".as_slice(), &sequence.0.to_be_bytes(), &generation].concat()
}

impl Sequences {
    /// Over a store.
    pub fn open(store: Store) -> Result<Sequences, SqlError> {
        let stored = store.snapshot().meta(META_ROW_ID)?;
        let next = stored.and_then(|bytes| Some(u64::from_be_bytes(bytes.try_into().ok()?))).unwrap_or(1);
        Ok(Sequences { store, counters: Mutex::default(), row_id: Mutex::new(RowId { next, reserved_until: next }) })
    }

    /// A row id that was never given before.
    pub fn next_row_id(&self) -> Result<u64, SqlError> {
        let mut row_id = self.row_id.lock();
        if row_id.next == row_id.reserved_until {
            let until = row_id.next + ROW_ID_BLOCK;
            self.persist(META_ROW_ID, &until.to_be_bytes())?;
            row_id.reserved_until = until;
        }
        row_id.next += 1;
        Ok(row_id.next - 1)
    }

    /// A number for a sequence that begins anew.
    pub fn next_generation(&self) -> Result<u64, SqlError> {
        self.next_row_id()
    }

    /// `nextval`.
    pub fn next_value(&self, sequence: &Arc<Sequence>) -> Result<i64, SqlError> {
        let mut counters = self.counters.lock();
        let sequence = &*counters.newest(sequence);
        let counter = self.counter(&mut counters, sequence)?;
        let value = if counter.called { following(sequence, counter.value)? } else { counter.value };
        let mut ahead = counter.ahead;
        if !counter.covers(value, sequence.increment) {
            // After a crash the sequence goes on behind the whole block.
            let block = value.saturating_add(sequence.increment.saturating_mul(BLOCK_VALUES - 1));
            let block = block.clamp(sequence.min_value, sequence.max_value);
            self.store_counter(counter_id(sequence), block, true)?;
            ahead = Some(block);
        }
        counters.keep(counter_id(sequence), Counter { value, called: true, ahead, placed: counter.placed });
        Ok(value)
    }

    /// `setval`.
    pub fn set_value(&self, sequence: &Arc<Sequence>, value: i64, called: bool) -> Result<(), SqlError> {
        let mut counters = self.counters.lock();
        let sequence = &*counters.newest(sequence);
        if value < sequence.min_value || value > sequence.max_value {
            return Err(SqlError::new(
                "22003",
                format!(
                    "setval: value {value} is out of bounds for sequence \"{}\" ({}..{})",
                    sequence.name, sequence.min_value, sequence.max_value
                ),
            ));
        }
        self.store_counter(counter_id(sequence), value, called)?;
        counters.keep(counter_id(sequence), Counter { value, called, ahead: None, placed: true });
        Ok(())
    }

    /// A generation will go on from where a sequence stands, which is written down: the last value given. What is committed
    /// may count meanwhile.
    pub fn continue_by(&self, generation: u64, sequence: &Sequence, committed: bool) -> Result<i64, SqlError> {
        let mut counters = self.counters.lock();
        let counter = self.counter(&mut counters, sequence)?;
        let id = counter_id(sequence);
        if !committed {
            let id = (sequence.id, generation);
            self.store_counter(id, counter.value, counter.called)?;
            counters.keep(id, Counter { ahead: None, ..counter });
            return Ok(counter.value);
        }
        counters.left.insert(id, counter);
        if self.stored(id)?.is_none() {
            self.store_counter(id, counter.value, counter.called)?;
        }
        Ok(counter.value)
    }

    /// A catalog is to be committed behind another, by this batch: sequences that were changed are put behind what was given
    /// meanwhile. Nothing counts until the answer is dropped.
    pub fn settle<'s>(&'s self, old: &Catalog, new: &Catalog, batch: &mut Batch) -> Result<Settling<'s>, SqlError> {
        let mut counters = self.counters.lock();
        let mut settled = Vec::new();
        for (id, sequence) in &new.sequences {
            let Some(before) = old.sequences.get(id).filter(|before| before.generation != sequence.generation) else {
                continue;
            };
            let left = counters.left.remove(&counter_id(before));
            let goes_on = sequence.first.is_none() && sequence.continues.is_some();
            if goes_on && self.has_counted(&mut counters, sequence)? {
                let given = self.counter(&mut counters, before)?;
                let counter = self.counter(&mut counters, sequence)?;
                let moved = left.is_none_or(|left| (left.value, left.called) != (given.value, given.called));
                if moved && !counter.placed && given.is_beyond(&counter, sequence.increment) {
                    let counter = Counter { ahead: None, ..given };
                    batch.put_meta(
                        &self.store,
                        &meta_key(counter_id(sequence)),
                        &counter_bytes(counter.value, counter.called),
                    );
                    counters.keep(counter_id(sequence), counter);
                }
            }
            settled.push(sequence.clone());
        }
        Ok(Settling { counters, settled })
    }

    /// The last value given, or the first to come; and which of the two.
    pub fn state(&self, sequence: &Arc<Sequence>) -> Result<(i64, bool), SqlError> {
        let mut counters = self.counters.lock();
        let sequence = &*counters.newest(sequence);
        let counter = self.counter(&mut counters, sequence)?;
        Ok((counter.value, counter.called))
    }

    fn counter(&self, counters: &mut Counters, sequence: &Sequence) -> Result<Counter, SqlError> {
        let id = counter_id(sequence);
        if let Some(counter) = self.known(counters, id)? {
            return Ok(counter);
        }
        let continued = match sequence.continues {
            Some(generation) => self.known(counters, (sequence.id, generation))?,
            None => None,
        };
        // Not kept where it goes on: the one before may still count.
        Ok(match continued {
            Some(before) => Counter { ahead: None, placed: false, ..before },
            None => {
                let value = sequence.first.unwrap_or(sequence.start);
                Counter { value, called: false, ahead: None, placed: false }
            }
        })
    }

    fn known(&self, counters: &mut Counters, id: CounterId) -> Result<Option<Counter>, SqlError> {
        if let Some(counter) = counters.by_id.get(&id) {
            return Ok(Some(*counter));
        }
        let stored = self.stored(id)?;
        if let Some(counter) = stored {
            counters.keep(id, counter);
        }
        Ok(stored)
    }

    fn has_counted(&self, counters: &mut Counters, sequence: &Sequence) -> Result<bool, SqlError> {
        Ok(self.known(counters, counter_id(sequence))?.is_some())
    }

    /// Temporary sequences that have gone are not counted any more.
    pub fn forget(&self, gone: impl Iterator<Item = SequenceId>) {
        let gone: BTreeSet<SequenceId> = gone.collect();
        if !gone.is_empty() {
            self.counters.lock().by_id.retain(|(id, _), _| !gone.contains(id));
        }
    }

    fn stored(&self, id: CounterId) -> Result<Option<Counter>, SqlError> {
        if is_temporary(id.0.0) {
            return Ok(None);
        }
        let stored = self.store.snapshot().meta(&meta_key(id))?;
        let Some((called, value)) = stored.as_deref().and_then(|bytes| bytes.split_first()) else { return Ok(None) };
        let value = value.try_into().map(i64::from_be_bytes).ok();
        Ok(value.map(|value| Counter { value, called: *called == 1, ahead: None, placed: false }))
    }

    fn store_counter(&self, counter: CounterId, value: i64, called: bool) -> Result<(), SqlError> {
        if is_temporary(counter.0.0) {
            return Ok(());
        }
        self.persist(&meta_key(counter), &counter_bytes(value, called))
    }

    fn persist(&self, key: &[u8], value: &[u8]) -> Result<(), SqlError> {
        let mut batch = Batch::default();
        batch.put_meta(&self.store, key, value);
        self.store.write(batch)?;
        Ok(self.store.flush()?)
    }
}

impl Counters {
    /// Keeps a counter in memory, and few older ones of its sequence: one that is asked for again is read again, a block later.
    fn keep(&mut self, id: CounterId, counter: Counter) {
        if self.by_id.insert(id, counter).is_some() {
            return;
        }
        let all = (id.0, 0)..=(id.0, u64::MAX);
        while self.by_id.range(all.clone()).count() > COUNTERS_MAX {
            let oldest = self.by_id.range(all.clone()).map(|(oldest, _)| *oldest).find(|other| *other != id);
            oldest.map(|oldest| self.by_id.remove(&oldest));
        }
    }

    /// The sequence as it is committed, if that is newer than what a statement knows.
    fn newest(&self, sequence: &Arc<Sequence>) -> Arc<Sequence> {
        let newer = self.changed.get(&sequence.id).filter(|changed| changed.generation > sequence.generation);
        newer.unwrap_or(sequence).clone()
    }
}

/// Changed sequences whose commit is being written.
pub struct Settling<'s> {
    counters: MutexGuard<'s, Counters>,
    settled: Vec<Arc<Sequence>>,
}

impl Settling<'_> {
    /// It is written: everybody counts by them now.
    pub fn written(mut self) {
        let settled = std::mem::take(&mut self.settled);
        self.counters.changed.extend(settled.into_iter().map(|sequence| (sequence.id, sequence)));
    }
}

fn counter_bytes(value: i64, called: bool) -> Vec<u8> {
    let mut bytes = vec![u8::from(called)];
    bytes.extend(value.to_be_bytes());
    bytes
}

fn following(sequence: &Sequence, value: i64) -> Result<i64, SqlError> {
    let next = value.checked_add(sequence.increment);
    if let Some(next) = next.filter(|next| (sequence.min_value..=sequence.max_value).contains(next)) {
        return Ok(next);
    }
    let ascending = sequence.increment > 0;
    if sequence.cycle {
        return Ok(if ascending { sequence.min_value } else { sequence.max_value });
    }
    let (word, bound) = if ascending { ("maximum", sequence.max_value) } else { ("minimum", sequence.min_value) };
    Err(SqlError::new("2200H", format!("nextval: reached {word} value of sequence \"{}\" ({bound})", sequence.name)))
}
