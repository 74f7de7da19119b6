//! `dogwood.erasures`: when the bytes of each erasure had left what.

use crate::system::Catalogs;
use operators::once::{FoundRows, NumberRange};
use repr::{Datum, Row};
use state::clock::now_micros;
use storage::backup::HeldByBackups;
use storage::hexadecimal;
use storage::{ErasureRecord, Moments};

impl Catalogs {
    /// The erasures of a range of numbers.
    pub(super) fn erasures(&self, numbers: &NumberRange) -> FoundRows {
        let now = now_micros();
        let snapshot = self.database.store.snapshot();
        let held = match snapshot.held_by_backups() {
            Ok(held) => held,
            Err(error) => return Box::new(std::iter::once(Err(error.into()))),
        };
        let erasures = snapshot.erasures(numbers.first..=numbers.last, numbers.reverse);
        Box::new(erasures.map(move |erasure| {
            let mut erasure = erasure?;
            // A definition destroys no key, and neither does an erasure in part.
            let receipt = erasure.receipt.map(|(_, id)| snapshot.receipt(&id)).transpose()?.flatten();
            let is_whole = receipt.is_some_and(|found| found.microdb.is_some());
            erasure.moments.keys = erasure.moments.keys.filter(|_| is_whole);
            Ok(row(&erasure, now, &in_backups(&erasure, is_whole, &held)))
        }))
    }
}

/// Of backups: since when none is from before, and until when a key is kept that opens those that are.
fn in_backups(erasure: &ErasureRecord, is_whole: bool, held: &HeldByBackups) -> [Option<i64>; 2] {
    let Some((receipt, _)) = erasure.receipt else { return [None; 2] };
    let clean = held.clean_at(receipt, erasure.time_us);
    [clean, if clean.is_none() && is_whole { held.keys_until(erasure.time_us) } else { None }]
}

fn row(erasure: &ErasureRecord, now: i64, in_backups: &[Option<i64>; 2]) -> Row {
    let number = |number: u64| Datum::Int8(i64::try_from(number).unwrap_or(i64::MAX));
    let moment = |moment: Option<i64>| moment.map_or(Datum::Null, Datum::Timestamptz);
    let ErasureRecord { time_us, receipt, moments, bytes, .. } = erasure;
    let Moments { keys, arrangements, readers, log, indexes, rows, caches, memory, checkpoints } = *moments;
    let (receipt_number, receipt_id) = match receipt {
        Some((receipt, id)) => (number(*receipt), Datum::Text(hexadecimal(id).into())),
        None => (Datum::Null, Datum::Null),
    };
    let of_pass = [keys, arrangements, readers, log, indexes, rows].map(moment);
    let mut all = vec![number(erasure.number), receipt_number, receipt_id, Datum::Timestamptz(*time_us)];
    all.extend(of_pass);
    all.push(pending(moments).map_or(Datum::Null, |pending| Datum::Text(pending.into())));
    all.push(Datum::Int8(rows.unwrap_or(now).saturating_sub(*time_us)));
    all.push(bytes.map_or(Datum::Null, number));
    all.extend([caches, memory, checkpoints].into_iter().chain(in_backups.iter().copied()).map(moment));
    Row::pack(&all)
}

/// What is waited for next.
fn pending(moments: &Moments) -> Option<&'static str> {
    let Moments { readers, log, indexes, rows, .. } = moments;
    let stages = [("readers", readers), ("log", log), ("indexes", indexes), ("rows", rows)];
    stages.into_iter().find(|(_, moment)| moment.is_none()).map(|(stage, _)| stage)
}
