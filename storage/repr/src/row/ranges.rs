//! Ranges within packed rows.

use super::{PackedReader, write_datum};
use crate::range::Bound;
use crate::{Datum, Range};

const EMPTY: u8 = 1;
const LOWER_INCLUSIVE: u8 = 2;
const UPPER_INCLUSIVE: u8 = 4;

/// Whether it is empty and which bounds are within, then the bounds, NULL where there is none.
pub(super) fn write_range(out: &mut Vec<u8>, range: &Range) {
    let Some((from, to)) = range.bounds() else { return out.push(EMPTY) };
    out.push((LOWER_INCLUSIVE * u8::from(from.inclusive)) | (UPPER_INCLUSIVE * u8::from(to.inclusive)));
    for bound in [from, to] {
        write_datum(out, bound.value.as_ref().unwrap_or(&Datum::Null));
    }
}

impl PackedReader<'_> {
    pub(super) fn range(&mut self) -> Option<Range> {
        let flags = self.byte()?;
        if flags == EMPTY {
            return Some(Range::EMPTY);
        }
        let (from, to) = (self.datum()?, self.datum()?);
        Range::new(Bound::new(from, flags & LOWER_INCLUSIVE != 0), Bound::new(to, flags & UPPER_INCLUSIVE != 0)).ok()
    }
}
