//! Constant folding over a whole relation. What fails while folding is left for the rows that reach it.

use crate::error::PlanError;
use crate::mir::Mir;
use crate::scalar::{AggregateCall, EvalContext};
use repr::Datum;

/// Folds every expression.
pub fn fold(mir: &mut Mir) {
    mir.exprs_mut().into_iter().for_each(|expr| expr.fold());
    mir.children_mut().into_iter().for_each(fold);
}

/// What an aggregate gives for an empty group.
pub(crate) fn aggregate_over_nothing<C>(call: &AggregateCall<C>) -> Result<Datum, PlanError> {
    let ctx = EvalContext::immutable();
    Ok(call.function.evaluate(&ctx, &mut std::iter::empty(), &call.result)?)
}
