//! bit_and, bit_or and bit_xor of strings of bits.

use super::{AggregateDefinition, ArgumentRows, listed};
use crate::scalar::Answer;
use crate::scalar::func::arguments::bits;
use crate::scalar::func::bits::{and, or, xor};
use repr::{Bits, Datum, ValueError};

fn folded(rows: ArgumentRows<'_, '_>, combine: fn(&Bits, &Bits) -> Result<Bits, ValueError>) -> Answer {
    let mut found: Option<Bits> = None;
    for (args, _) in rows {
        let own = bits(&args[0])?;
        found = Some(match found {
            None => own.clone(),
            Some(found) => combine(&found, own)?,
        });
    }
    Ok(found.map_or(Datum::Null, Datum::Bits))
}

/// What comes twice is as if it were not there.
fn folded_xor(rows: ArgumentRows<'_, '_>) -> Answer {
    let mut found: Option<Bits> = None;
    for (args, times) in rows {
        let own = bits(&args[0])?;
        let once = if times % 2 == 1 { own.clone() } else { xor(own, own)? };
        found = Some(match found {
            None => once,
            Some(found) => xor(&found, &once)?,
        });
    }
    Ok(found.map_or(Datum::Null, Datum::Bits))
}

pub(super) const AGGREGATES: &[AggregateDefinition] = &[
    listed("bit_and(bit) bit", |_, rows, _| folded(rows, and)),
    listed("bit_or(bit) bit", |_, rows, _| folded(rows, or)),
    listed("bit_xor(bit) bit", |_, rows, _| folded_xor(rows)),
];
