//! Joins of two arranged inputs.
//!
//! ```text
//! left  ── key ──▶ arranged ─┬───────────────▶ join ──▶ inner
//! right ── key ──▶ arranged ─┘
//! right ── key ──▶ distinct keys ── join left ──▶ semi;   anti = left - semi;   left = inner + padded anti
//! ```
//!
//! A NULL in a key matches nothing unless the join is null-safe; such rows never enter an arrangement.
//! Differential's join yields after some two million pairs, so cross joins stay interruptible.

use crate::render::context::{Bundle, Context, Errors, Rows, both, split_operator};
use crate::render::groups::split;
use crate::render::{RenderTime, mfp};
use arrangements::arrangement::{Bytes, FlatBytes, RowsByKey, arrange, concatenate, distinct_keys, metered};
use arrangements::meter::Meter;
use differential_dataflow::consolidation::ConsolidatingContainerBuilder;
use differential_dataflow::operators::join::join_traces;
use differential_dataflow::{AsCollection, Data, VecCollection};
use planner::plan::MatchKind;
use planner::scalar::{EvalContext, Mfp, ScalarExpr};
use repr::row::RowIter;
use repr::{Datum, Row, ValueError, key};
use state::SqlError;
use state::interrupt::Ticker;
use timely::container::PushInto;

/// One input of a join.
pub struct Side<'s, 'p, T: RenderTime> {
    /// Its rows.
    pub rows: Bundle<'s, T>,
    /// Its key.
    pub key: &'p [ScalarExpr],
    /// Its width.
    pub arity: usize,
}

/// Renders a `Join`.
pub fn render<'s, T: RenderTime>(
    context: &Context<'s, T>,
    left: Side<'s, '_, T>,
    right: Side<'s, '_, T>,
    kind: MatchKind,
    null_safe: bool,
    mfp: &Mfp,
) -> Bundle<'s, T> {
    let right_arity = right.arity;
    let left_rows = left.rows.oks.clone();
    let (left_keyed, left_errs) = arrange_side(context, left, null_safe, "ArrangeJoinLeft");
    let (right_keyed, right_errs) = arrange_side(context, right, null_safe, "ArrangeJoinRight");
    let errs = both(left_errs, right_errs);
    let joined = match kind {
        MatchKind::Inner => inner(context, left_keyed, right_keyed, mfp),
        MatchKind::Semi => {
            let semi = semi(&context.meter, left_keyed, right_keyed);
            mfp::render(context, Bundle::infallible(semi), mfp)
        }
        MatchKind::Anti => {
            let anti = left_rows.concat(semi(&context.meter, left_keyed, right_keyed).negate());
            mfp::render(context, Bundle::infallible(anti), mfp)
        }
        MatchKind::Left => {
            let matched = inner(context, left_keyed.clone(), right_keyed.clone(), mfp);
            let anti = left_rows.concat(semi(&context.meter, left_keyed, right_keyed).negate());
            let nulls = Row::pack(&vec![Datum::Null; right_arity]);
            let padded = anti.map(move |row| concatenate(row.bytes(), nulls.bytes()));
            let unmatched = mfp::render(context, Bundle::infallible(padded), mfp);
            Bundle { oks: matched.oks.concat(unmatched.oks), errs: both(matched.errs, unmatched.errs) }
        }
    };
    joined.with_errs(errs)
}

/// Arranges one side by its key.
fn arrange_side<'s, T: RenderTime>(
    context: &Context<'s, T>,
    side: Side<'s, '_, T>,
    null_safe: bool,
    name: &str,
) -> (RowsByKey<'s, T>, Option<Errors<'s, T>>) {
    let expressions = side.key.to_vec();
    let (eval, watch, meter) = (context.eval.clone(), context.watch.clone(), context.meter.clone());
    let mut ticker = Ticker::default();
    let mut datums = Vec::new();
    let fallible = expressions.iter().any(|expression| !matches!(expression, ScalarExpr::Column(_)));
    let split = split_operator(side.rows.oks, "JoinKey", move |updates, oks, errs| {
        let _joined = watch.join();
        for (row, time, diff) in updates.drain(..) {
            if ticker.stops(&watch) {
                return;
            }
            if !expressions.is_empty() {
                row.unpack_into(&mut datums);
            }
            match encode_key(&expressions, &datums, null_safe, &eval) {
                Ok(Some(key)) => oks.push((metered(&meter, key, row), time, diff)),
                Ok(None) => {}
                Err(error) => errs.push((error, time, diff)),
            }
        }
    });
    let errs = if fallible { both(Some(split.errs), side.rows.errs) } else { side.rows.errs };
    (arrange(&context.meter, split.oks, name), errs)
}

/// The key's bytes; none if it has a NULL that matches nothing.
fn encode_key(
    expressions: &[ScalarExpr],
    datums: &[Datum],
    null_safe: bool,
    eval: &EvalContext,
) -> Result<Option<Vec<u8>>, ValueError> {
    let mut bytes = Vec::with_capacity(expressions.len() * 12);
    for expression in expressions {
        let value = expression.operand(datums, eval)?;
        if value.is_null() && !null_safe {
            return Ok(None);
        }
        key::encode(&mut bytes, &value);
    }
    Ok(Some(bytes))
}

/// All pairs, through `mfp`.
fn inner<'s, T: RenderTime>(
    context: &Context<'s, T>,
    left: RowsByKey<'s, T>,
    right: RowsByKey<'s, T>,
    mfp: &Mfp,
) -> Bundle<'s, T> {
    let watch = context.watch.clone();
    let mut ticker = Ticker::default();
    if mfp.is_identity() {
        let pairs = pairs(context, left, right, move |left, right| {
            (!ticker.stops(&watch)).then(|| concatenate(left.0, right.0))
        });
        return Bundle::infallible(pairs);
    }
    let (mfp, eval) = (mfp.clone(), context.eval.clone());
    let fallible = mfp::can_fail(&mfp);
    let mut datums = Vec::new();
    let mut pair = move |left: Bytes<'_>, right: Bytes<'_>| -> Result<Option<Row>, ValueError> {
        if ticker.stops(&watch) {
            return Ok(None);
        }
        let _joined = watch.join();
        datums.clear();
        datums.extend(RowIter::over(left.0));
        datums.extend(RowIter::over(right.0));
        Ok(mfp.evaluate(&mut datums, &eval)?.then(|| Row::pack(&datums)))
    };
    if fallible {
        split(pairs(context, left, right, move |left, right| pair(left, right).transpose()))
    } else {
        Bundle::infallible(pairs(context, left, right, move |left, right| pair(left, right).ok().flatten()))
    }
}

/// What `logic` makes of each pair, as often as its rows' multiplicities say together. Bags of which a row has more copies
/// than anyone could read end the computation: from a few rows of many copies each it is not far to what no number holds.
fn pairs<'s, T: RenderTime, D: Data>(
    context: &Context<'s, T>,
    left: RowsByKey<'s, T>,
    right: RowsByKey<'s, T>,
    mut logic: impl FnMut(Bytes<'_>, Bytes<'_>) -> Option<D> + 'static,
) -> VecCollection<'s, T, D, isize> {
    let watch = context.watch.clone();
    join_traces::<_, _, _, _, ConsolidatingContainerBuilder<_>>(
        left,
        right,
        move |_key, left: Bytes<'_>, right: Bytes<'_>, time, left_copies, right_copies, updates| match left_copies
            .checked_mul(*right_copies)
            .filter(|copies| copies.unsigned_abs() <= COPIES_MAX)
        {
            Some(copies) => {
                if let Some(data) = logic(left, right) {
                    updates.push_into((data, time, copies));
                }
            }
            None => watch.fail(too_many_copies()),
        },
    )
    .as_collection()
}

/// So many copies of a row are no more counted: some 10^12.
pub const COPIES_MAX: usize = 1 << 40;

/// 54000.
pub fn too_many_copies() -> SqlError {
    SqlError::new("54000", "a row comes too many times")
        .hint("Make rows distinct before they are joined; in a recursive query use UNION instead of UNION ALL.")
}

/// Left rows that have a match, with their own multiplicities.
fn semi<'s, T: RenderTime>(meter: &Meter, left: RowsByKey<'s, T>, right: RowsByKey<'s, T>) -> Rows<'s, T> {
    left.join_core(distinct_keys(meter, right, "JoinKeys"), |_key, left: Bytes<'_>, _unit: Bytes<'_>| {
        Some(Row::copy_from(left.0))
    })
}
