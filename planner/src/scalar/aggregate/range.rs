//! range_agg and range_intersect_agg: what is in any of the ranges, or in all of them.

use super::{AggregateDefinition, ArgumentRows, listed};
use crate::scalar::Answer;
use crate::scalar::func::arguments::ranges;
use crate::scalar::func::range::{made, made_of};
use repr::range::{intersection, of_ranges};
use repr::{Datum, Range, ValueError, poll};

fn all(rows: ArgumentRows<'_, '_>) -> Answer {
    let mut found: Option<Vec<Range>> = None;
    for (args, _) in rows {
        poll::bytes(args[0].bytes())?;
        found.get_or_insert_default().extend_from_slice(ranges(&args[0])?);
    }
    found.map_or(Ok(Datum::Null), |found| made_of(of_ranges(found)))
}

/// What is in all that are not NULL; none where there are none.
fn common(rows: ArgumentRows<'_, '_>) -> Result<Option<Vec<Range>>, ValueError> {
    let mut found: Option<Vec<Range>> = None;
    for (args, _) in rows {
        let own = ranges(&args[0])?;
        found = Some(match found {
            None => own.to_vec(),
            Some(found) => intersection(&found, own),
        });
    }
    Ok(found)
}

pub(super) const AGGREGATES: &[AggregateDefinition] = &[
    listed("range_agg(anyrange) anymultirange", |_, rows, _| all(rows)),
    listed("range_agg(anymultirange) anymultirange", |_, rows, _| all(rows)),
    listed("range_intersect_agg(anyrange) anyrange", |_, rows, _| {
        common(rows)?.map_or(Ok(Datum::Null), |found| made(found.into_iter().next().unwrap_or(Range::EMPTY)))
    }),
    listed("range_intersect_agg(anymultirange) anymultirange", |_, rows, _| {
        common(rows)?.map_or(Ok(Datum::Null), made_of)
    }),
];
