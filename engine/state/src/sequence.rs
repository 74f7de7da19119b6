//! Sequences and hidden row ids: counters outside transactions, never going back.
//!
//! Values are handed out from a block that is reserved durably beforehand: a crash leaves a gap, never a
//! value twice. A sequence that is made or restarted counts by a new counter, whose number stands in the catalog: while
//! that is not committed nobody else counts by it, and when it is rolled back the one before goes on. A number is never
//! given twice, so that what a rolled-back or lost transaction has counted is nobody's.

use crate::SqlError;
use parking_lot::Mutex;
use planner::catalog::Sequence;
use repr::SequenceId;
use std::collections::BTreeMap;
use storage::{Batch, Store};

// A block costs one flush.
const BLOCK_VALUES: i64 = 256;
const ROW_ID_BLOCK: u64 = 65_536;
const META_ROW_ID: &[u8] = b"row_id";

/// All counters.
pub struct Sequences {
    store: Store,
    counters: Mutex<BTreeMap<CounterId, Counter>>,
    row_id: Mutex<RowId>,
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
}

impl Counter {
    /// Whether the sequence goes on behind this value after a crash.
    fn covers(&self, value: i64, increment: i64) -> bool {
        let Some(ahead) = self.ahead.filter(|_| self.called) else { return false };
        if increment > 0 { self.value < value && value <= ahead } else { ahead <= value && value < self.value }
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
    pub fn next_value(&self, sequence: &Sequence) -> Result<i64, SqlError> {
        let mut counters = self.counters.lock();
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
        counters.insert(counter_id(sequence), Counter { value, called: true, ahead });
        Ok(value)
    }

    /// `setval`.
    pub fn set_value(&self, sequence: &Sequence, value: i64, called: bool) -> Result<(), SqlError> {
        if value < sequence.min_value || value > sequence.max_value {
            return Err(SqlError::new(
                "22003",
                format!(
                    "setval: value {value} is out of bounds for sequence \"{}\" ({}..{})",
                    sequence.name, sequence.min_value, sequence.max_value
                ),
            ));
        }
        let mut counters = self.counters.lock();
        self.store_counter(counter_id(sequence), value, called)?;
        keep(&mut counters, counter_id(sequence), Counter { value, called, ahead: None });
        Ok(())
    }

    /// The last value given, or the first to come; and which of the two.
    pub fn state(&self, sequence: &Sequence) -> Result<(i64, bool), SqlError> {
        let counter = self.counter(&mut self.counters.lock(), sequence)?;
        Ok((counter.value, counter.called))
    }

    fn counter(&self, counters: &mut BTreeMap<CounterId, Counter>, sequence: &Sequence) -> Result<Counter, SqlError> {
        let id = counter_id(sequence);
        if let Some(counter) = counters.get(&id) {
            return Ok(*counter);
        }
        let stored = self.store.snapshot().meta(&meta_key(id))?;
        let counter = match stored.as_deref() {
            Some([called, value @ ..]) if value.len() == 8 => Counter {
                value: i64::from_be_bytes(value.try_into().expect("eight bytes")),
                called: *called == 1,
                ahead: None,
            },
            _ => Counter { value: sequence.first.unwrap_or(sequence.start), called: false, ahead: None },
        };
        keep(counters, id, counter);
        Ok(counter)
    }

    fn store_counter(&self, counter: CounterId, value: i64, called: bool) -> Result<(), SqlError> {
        let mut bytes = vec![u8::from(called)];
        bytes.extend(value.to_be_bytes());
        self.persist(&meta_key(counter), &bytes)
    }

    fn persist(&self, key: &[u8], value: &[u8]) -> Result<(), SqlError> {
        let mut batch = Batch::default();
        batch.put_meta(&self.store, key, value);
        self.store.write(batch)?;
        Ok(self.store.flush()?)
    }
}

/// Keeps a counter in memory, and few older ones of its sequence: one that is asked for again is read again, a block later.
fn keep(counters: &mut BTreeMap<CounterId, Counter>, id: CounterId, counter: Counter) {
    counters.insert(id, counter);
    while counters.range((id.0, 0)..=(id.0, u64::MAX)).count() > COUNTERS_MAX {
        let oldest = counters.range((id.0, 0)..=(id.0, u64::MAX)).map(|(oldest, _)| *oldest).find(|other| *other != id);
        oldest.map(|oldest| counters.remove(&oldest));
    }
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
