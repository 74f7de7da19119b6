//! Sequences and hidden row ids: counters outside transactions, never going back.
//!
//! Values are handed out from a block that is reserved durably beforehand: a crash leaves a gap, never a
//! value twice.

use crate::SqlError;
use parking_lot::Mutex;
use planner::catalog::Sequence;
use repr::SequenceId;
use std::collections::HashMap;
use storage::{Batch, Store};

// A block costs one flush.
const BLOCK_VALUES: i64 = 256;
const ROW_ID_BLOCK: u64 = 65_536;
const META_ROW_ID: &[u8] = b"row_id";

/// All counters.
pub struct Sequences {
    store: Store,
    counters: Mutex<HashMap<SequenceId, Counter>>,
    row_id: Mutex<RowId>,
}

#[derive(Clone, Copy)]
struct Counter {
    /// The last value given, or the start if none was.
    value: i64,
    called: bool,
    /// Values that may still be given without another reservation.
    reserved: i64,
}

struct RowId {
    next: u64,
    reserved_until: u64,
}

fn meta_key(sequence: SequenceId) -> Vec<u8> {
    [b"sequence/".as_slice(), &sequence.0.to_be_bytes()].concat()
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

    /// `nextval`.
    pub fn next_value(&self, sequence: &Sequence) -> Result<i64, SqlError> {
        let mut counters = self.counters.lock();
        let counter = self.counter(&mut counters, sequence)?;
        let value = if counter.called { following(sequence, counter.value)? } else { counter.value };
        let mut reserved = counter.reserved;
        if reserved == 0 {
            // After a crash the sequence goes on behind the whole block.
            let ahead = value.saturating_add(sequence.increment.saturating_mul(BLOCK_VALUES - 1));
            let ahead = ahead.clamp(sequence.min_value, sequence.max_value);
            self.store_counter(sequence.id, ahead, true)?;
            reserved = ahead.abs_diff(value) as i64 / sequence.increment.saturating_abs() + 1;
        }
        counters.insert(sequence.id, Counter { value, called: true, reserved: reserved - 1 });
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
        self.store_counter(sequence.id, value, called)?;
        counters.insert(sequence.id, Counter { value, called, reserved: 0 });
        Ok(())
    }

    /// The last value given, or the first to come; and which of the two.
    pub fn state(&self, sequence: &Sequence) -> Result<(i64, bool), SqlError> {
        let counter = self.counter(&mut self.counters.lock(), sequence)?;
        Ok((counter.value, counter.called))
    }

    fn counter(&self, counters: &mut HashMap<SequenceId, Counter>, sequence: &Sequence) -> Result<Counter, SqlError> {
        if let Some(counter) = counters.get(&sequence.id) {
            return Ok(*counter);
        }
        let stored = self.store.snapshot().meta(&meta_key(sequence.id))?;
        let counter = match stored.as_deref() {
            Some([called, value @ ..]) if value.len() == 8 => Counter {
                value: i64::from_be_bytes(value.try_into().expect("eight bytes")),
                called: *called == 1,
                reserved: 0,
            },
            _ => Counter { value: sequence.start, called: false, reserved: 0 },
        };
        counters.insert(sequence.id, counter);
        Ok(counter)
    }

    fn store_counter(&self, sequence: SequenceId, value: i64, called: bool) -> Result<(), SqlError> {
        let mut bytes = vec![u8::from(called)];
        bytes.extend(value.to_be_bytes());
        self.persist(&meta_key(sequence), &bytes)
    }

    fn persist(&self, key: &[u8], value: &[u8]) -> Result<(), SqlError> {
        let mut batch = Batch::default();
        batch.put_meta(&self.store, key, value);
        self.store.write(batch)?;
        Ok(self.store.flush()?)
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
