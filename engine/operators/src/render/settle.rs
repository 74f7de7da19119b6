//! Rows one by one, once they are certain: what stands below expressions that are volatile.
//!
//! ```text
//! rows ──▶ [arrange] ──▶ what they add up to at a time ──▶ each copy by itself
//! ```
//!
//! Within a time operators give rows and take them back, and equal rows travel as one with a multiplicity. To an
//! expression that has a value of its own each time (nextval, random) neither may happen: what was given could never be
//! taken back, and two rows would have one value.

use crate::render::RenderTime;
use crate::render::context::{Bundle, Context, split_operator};
use arrangements::arrangement::{FlatBytes, arrange, metered};
use planner::scalar::{ScalarExpr, Volatility};
use repr::{Row, poll};
use state::interrupt::Ticker;

/// The same rows, each copy an update of its own, and none of them taken back within its time.
pub fn settle<'s, T: RenderTime>(context: &Context<'s, T>, input: Bundle<'s, T>) -> Bundle<'s, T> {
    let meter = context.meter.clone();
    let keyed = input.oks.map(move |row| metered(&meter, Vec::new(), row));
    let settled = arrange(&context.meter, keyed, "ArrangeSettled").as_collection(|_key, row| Row::copy_from(row.0));
    let watch = context.watch.clone();
    let mut ticker = Ticker::default();
    let copies = split_operator(settled, "EachCopy", move |updates, oks, _errs| {
        for (row, time, diff) in updates.drain(..) {
            // These copies wait in memory until downstream operators run: there must be room for that.
            let bytes = row.bytes().len() + size_of::<(Row, T, isize)>();
            let held_bytes = bytes.saturating_mul(diff.unsigned_abs());
            if let Err(error) = poll::room(held_bytes) {
                watch.fail(error.into());
                return;
            }
            for _ in 0..diff.unsigned_abs() {
                if ticker.stops(&watch) {
                    return;
                }
                oks.push((row.clone(), time.clone(), diff.signum()));
            }
        }
    });
    Bundle { oks: copies.oks, errs: input.errs }
}

/// Whether an expression has a value of its own each time.
pub fn any_volatile<'e>(exprs: impl IntoIterator<Item = &'e ScalarExpr>) -> bool {
    exprs.into_iter().any(|expr| expr.volatility() == Volatility::Volatile)
}
