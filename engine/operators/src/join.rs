//! Joins of two inputs.
//!
//! ```text
//! once    the right side is held by key, the left streams past it                            `hashed`
//!         or it is held in order besides, for joins by BETWEEN and the like                   `by_range`
//!
//! kept    left  ── key ──▶ arranged ─┬───────────────▶ join ──▶ inner
//!         right ── key ──▶ arranged ─┘
//!         right ── key ──▶ rows counted by key ──▶ distinct keys ── join left ──▶ semi
//!         anti = left - semi;   left = inner + padded anti
//! ```
//! Whether a key has rows is told by how many it has: its rows are not looked at.
//!
//! A NULL in a key matches nothing unless the join is null-safe; such rows are never held. Once, what is held is charged to
//! the query. Kept, a join yields after a million rows, in the middle of a key, too, so that cross joins stay interruptible.

pub mod by_range;
pub mod hashed;
mod held;
mod pairs;

use crate::context::{Bundle, Context, Errors, RenderTime, Rows, both, split_operator};
use crate::groups::split;
use crate::mfp;
use arrangements::arrangement::{Bytes, FlatBytes, Key, RowsByKey, arrange, concatenate, distinct_keys, metered};
use arrangements::meter::Meter;
use differential_dataflow::operators::join::join_with_tactic;
use differential_dataflow::{AsCollection, Data, VecCollection};
use pairs::PairsTactic;
use planner::plan::MatchKind;
use planner::scalar::{EvalContext, Mfp, ScalarExpr};
use repr::row::RowIter;
use repr::{Datum, Row, ValueError, key};
use state::SqlError;
use state::interrupt::Ticker;

/// The join, borrowed from its plan node.
#[derive(Clone, Copy)]
pub struct HashJoin<'p> {
    /// Over the left's columns.
    pub left_key: &'p [ScalarExpr],
    /// Over the right's columns.
    pub right_key: &'p [ScalarExpr],
    /// How many columns the right has.
    pub right_arity: usize,
    /// NULLs match each other.
    pub null_safe: bool,
    /// Which left rows come out.
    pub kind: MatchKind,
    /// Of an inner join: what is called left here stands behind the right in the rows that come out.
    pub swapped: bool,
    /// Applied to what comes out.
    pub mfp: &'p Mfp,
}

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
    let (left_keyed, left_errs) = keyed(context, left, null_safe);
    let (right_keyed, right_errs) = keyed(context, right, null_safe);
    let left_keyed = arrange(&context.meter, left_keyed, "ArrangeJoinLeft");
    let errs = both(left_errs, right_errs);
    let arrange_right = |right| arrange(&context.meter, right, "ArrangeJoinRight");
    let joined = match kind {
        MatchKind::Inner => inner(context, left_keyed, arrange_right(right_keyed), mfp),
        MatchKind::Semi => {
            let semi = semi(&context.meter, left_keyed, right_keyed);
            mfp::render(context, Bundle::infallible(semi), mfp)
        }
        MatchKind::Anti => {
            let anti = left_rows.concat(semi(&context.meter, left_keyed, right_keyed).negate());
            mfp::render(context, Bundle::infallible(anti), mfp)
        }
        MatchKind::Left => {
            let matched = inner(context, left_keyed.clone(), arrange_right(right_keyed.clone()), mfp);
            let anti = left_rows.concat(semi(&context.meter, left_keyed, right_keyed).negate());
            let nulls = Row::pack(&vec![Datum::Null; right_arity]);
            let padded = anti.map(move |row| concatenate(row.bytes(), nulls.bytes()));
            let unmatched = mfp::render(context, Bundle::infallible(padded), mfp);
            Bundle { oks: matched.oks.concat(unmatched.oks), errs: both(matched.errs, unmatched.errs) }
        }
    };
    joined.with_errs(errs)
}

/// Rows with their keys.
type Keyed<'s, T> = VecCollection<'s, T, (Key, Row), isize>;

/// Gives one side's rows their keys.
fn keyed<'s, T: RenderTime>(
    context: &Context<'s, T>,
    side: Side<'s, '_, T>,
    null_safe: bool,
) -> (Keyed<'s, T>, Option<Errors<'s, T>>) {
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
        // Nobody's row is kept until the next one comes.
        datums.clear();
    });
    let errs = if fallible { both(Some(split.errs), side.rows.errs) } else { side.rows.errs };
    (split.oks, errs)
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
        let paired = mfp.evaluate(&mut datums, &eval).map(|holds| holds.then(|| Row::pack(&datums)));
        // Nobody's row is kept until the next one comes.
        datums.clear();
        paired
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
    let pairing = move |left: Bytes<'_>, right: Bytes<'_>, left_copies: isize, right_copies: isize| {
        let copies = left_copies.checked_mul(right_copies).filter(|copies| copies.unsigned_abs() <= COPIES_MAX);
        let Some(copies) = copies else {
            watch.fail(too_many_copies());
            return None;
        };
        Some((logic(left, right)?, copies))
    };
    join_with_tactic(left, right, PairsTactic::new(pairing)).as_collection()
}

/// So many copies of a row are no more counted: some 10^12.
pub(crate) const COPIES_MAX: usize = 1 << 40;

/// 54000.
pub(crate) fn too_many_copies() -> SqlError {
    SqlError::new("54000", "a row comes too many times")
        .hint("Make rows distinct before they are joined; in a recursive query use UNION instead of UNION ALL.")
}

/// Left rows that have a match, with their own multiplicities.
fn semi<'s, T: RenderTime>(meter: &Meter, left: RowsByKey<'s, T>, right: Keyed<'s, T>) -> Rows<'s, T> {
    let counted = arrange(meter, right.map(|(key, _row)| (key, Row::default())), "CountJoinRight");
    left.join_core(distinct_keys(meter, counted, "JoinKeys"), |_key, left: Bytes<'_>, _unit: Bytes<'_>| {
        Some(Row::copy_from(left.0))
    })
}
