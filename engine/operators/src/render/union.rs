//! Bags: union, negation, threshold.

use crate::render::RenderTime;
use crate::render::context::{Bundle, Context, both};
use crate::render::groups::reduce;
use crate::render::source::constant;
use arrangements::arrangement::{FlatBytes, arrange, metered};
use repr::{Row, key};

/// UNION ALL.
pub fn union<'s, T: RenderTime>(context: &Context<'s, T>, inputs: Vec<Bundle<'s, T>>) -> Bundle<'s, T> {
    let mut errs = None;
    let mut oks = Vec::with_capacity(inputs.len());
    for input in inputs {
        oks.push(input.oks);
        errs = both(errs, input.errs);
    }
    match oks.pop() {
        None => constant(context, Vec::new()),
        Some(first) => Bundle { oks: first.concatenate(oks), errs },
    }
}

/// Every multiplicity times -1. Errors stay errors.
pub fn negate<'s, T: RenderTime>(input: Bundle<'s, T>) -> Bundle<'s, T> {
    Bundle { oks: input.oks.negate(), errs: input.errs }
}

/// Rows with a positive total, by that total; of SQL-equal representations the first ones by bytes.
pub fn threshold<'s, T: RenderTime>(context: &Context<'s, T>, input: Bundle<'s, T>) -> Bundle<'s, T> {
    let meter = context.meter.clone();
    let mut datums = Vec::new();
    let keyed = input.oks.map(move |row| {
        row.unpack_into(&mut datums);
        metered(&meter, key::encode_all(&datums), row)
    });
    let mut bundle = reduce(arrange(&context.meter, keyed, "ArrangeThreshold"), "Threshold", |_key, rows, output| {
        let mut total: isize = rows.iter().map(|(_, diff)| diff).sum();
        for (row, diff) in rows {
            if total > 0 && *diff > 0 {
                let taken = total.min(*diff);
                output.push((Ok(Row::copy_from(row.0)), taken));
                total -= taken;
            }
        }
    });
    bundle.errs = input.errs;
    bundle
}
