//! Map, filter, project over collections.
//!
//! A row is unpacked once into a reused buffer, evaluated there, and packed once.

use crate::render::RenderTime;
use crate::render::context::{Bundle, Context, split_operator};
use planner::scalar::Mfp;
use repr::Row;
use state::interrupt::Ticker;

/// Renders an `Mfp`.
pub fn render<'s, T: RenderTime>(context: &Context<'s, T>, input: Bundle<'s, T>, mfp: &Mfp) -> Bundle<'s, T> {
    if mfp.is_identity() {
        return input;
    }
    let fallible = can_fail(mfp);
    let (mfp, eval, watch) = (mfp.clone(), context.eval.clone(), context.watch.clone());
    let mut ticker = Ticker::default();
    let mut datums = Vec::new();
    let split = split_operator(input.oks, "Mfp", move |updates, oks, errs| {
        let _joined = watch.join();
        for (row, time, diff) in updates.drain(..) {
            if ticker.stops(&watch) {
                return;
            }
            row.unpack_into(&mut datums);
            match mfp.evaluate(&mut datums, &eval) {
                Ok(true) => oks.push((Row::pack(&datums), time, diff)),
                Ok(false) => {}
                Err(error) => errs.push((error, time, diff)),
            }
        }
    });
    if fallible { split.with_errs(input.errs) } else { Bundle { oks: split.oks, errs: input.errs } }
}

/// Whether evaluation can give an error at all: a projection cannot.
pub fn can_fail(mfp: &Mfp) -> bool {
    !(mfp.map.is_empty() && mfp.filter.is_empty())
}
