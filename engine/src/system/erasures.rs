//! `dogwood.erasures`: when the bytes of each erasure had left what.

use crate::system::{Catalogs, hexadecimal};
use operators::once::{FoundRows, NumberRange};
use repr::{Datum, Row};
use state::clock::now_micros;
use storage::{ErasureRecord, Moments};

impl Catalogs {
    /// The erasures of a range of numbers.
    pub(super) fn erasures(&self, numbers: &NumberRange) -> FoundRows {
        let now = now_micros();
        let snapshot = self.database.store.snapshot();
        let erasures = snapshot.erasures(numbers.first..=numbers.last, numbers.reverse);
        Box::new(erasures.map(move |erasure| {
            let mut erasure = erasure?;
            // A definition destroys no key, and neither does an erasure in part.
            let receipt = erasure.receipt.filter(|_| erasure.moments.keys.is_some());
            let receipt = receipt.map(|(_, id)| snapshot.receipt(&id)).transpose()?.flatten();
            erasure.moments.keys =
                erasure.moments.keys.filter(|_| receipt.is_some_and(|found| found.microdb.is_some()));
            Ok(row(&erasure, now))
        }))
    }
}

fn row(erasure: &ErasureRecord, now: i64) -> Row {
    let number = |number: u64| Datum::Int8(i64::try_from(number).unwrap_or(i64::MAX));
    let moment = |moment: Option<i64>| moment.map_or(Datum::Null, Datum::Timestamptz);
    let ErasureRecord { time_us, receipt, moments, bytes, .. } = erasure;
    let Moments { keys, arrangements, readers, log, indexes, rows } = *moments;
    let (receipt_number, receipt_id) = match receipt {
        Some((receipt, id)) => (number(*receipt), Datum::Text(hexadecimal(id).into())),
        None => (Datum::Null, Datum::Null),
    };
    Row::pack(&[
        number(erasure.number),
        receipt_number,
        receipt_id,
        Datum::Timestamptz(*time_us),
        moment(keys),
        moment(arrangements),
        moment(readers),
        moment(log),
        moment(indexes),
        moment(rows),
        pending(moments).map_or(Datum::Null, |pending| Datum::Text(pending.into())),
        Datum::Int8(rows.unwrap_or(now).saturating_sub(*time_us)),
        bytes.map_or(Datum::Null, number),
    ])
}

/// What is waited for next.
fn pending(moments: &Moments) -> Option<&'static str> {
    let Moments { readers, log, indexes, rows, keys: _, arrangements: _ } = moments;
    let stages = [("readers", readers), ("log", log), ("indexes", indexes), ("rows", rows)];
    stages.into_iter().find(|(_, moment)| moment.is_none()).map(|(stage, _)| stage)
}
