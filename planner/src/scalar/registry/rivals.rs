//! Operators that somebody created, beside PostgreSQL's of the same symbol: PostgreSQL's `oper` and `left_oper`.

use super::candidates::{Failure, choose};
use super::signature::{Pattern, Signature};
use super::{RoutineMatch, assumed_same, operator_error};
use crate::error::PlanError;
use crate::system::builtin;
use repr::{Id, ScalarType};

/// An operator that somebody created, as it stands beside others.
pub(crate) struct Rival {
    /// The types of its operands.
    pub(crate) types: Vec<ScalarType>,
    /// Whether its schema is searched before PostgreSQL's own.
    pub(crate) first: bool,
}

/// The created operator that is meant between two operands, or before one; none where PostgreSQL's is, or no operator at all.
/// `among_all`: PostgreSQL's are looked at, too.
///
/// # Errors
/// 42725 where several fit.
pub(crate) fn choose_rival(
    symbol: &str,
    (left, right): (Option<&ScalarType>, &ScalarType),
    rivals: &[Rival],
    among_all: bool,
) -> Result<Option<RoutineMatch>, PlanError> {
    let types: Vec<ScalarType> = left.into_iter().chain([right]).cloned().collect();
    let assumed = left.and_then(|left| assumed_same(left, right));
    // One unknown side is first taken to be of the other side's type.
    let exact = assumed.map_or_else(|| types.clone(), |assumed| vec![assumed.clone(); 2]);
    let built_in = || among_all && builtin::operator_over(symbol, operands(&exact)).is_some();
    if let Some(index) = rivals.iter().position(|rival| rival.types == exact) {
        if !rivals[index].first && built_in() {
            return Ok(None);
        }
        return Ok(matched(index, &rivals[index], &exact));
    }
    if built_in() {
        return Ok(None);
    }
    let mut signatures: Vec<(Option<usize>, Signature)> = Vec::new();
    for (index, rival) in rivals.iter().enumerate() {
        if rival.first || !among_all || builtin::operator_over(symbol, operands(&rival.types)).is_none() {
            signatures.push((Some(index), Signature::of_routine(rival.types.clone(), false)));
        }
    }
    if among_all {
        let hidden =
            |operands: (Id, Id)| rivals.iter().any(|rival| rival.first && self::operands(&rival.types) == operands);
        let own = builtin::operators_of(symbol).iter().map(|(operands, _)| *operands);
        let own = own.filter(|of| (of.0 == 0) == left.is_none() && !hidden(*of));
        signatures.extend(own.filter_map(|of| Some((None, built_in_signature(of)?))));
    }
    match choose(signatures.iter().map(|(_, signature)| signature), &types, false) {
        Ok(chosen) => Ok(signatures[chosen.index].0.and_then(|index| matched(index, &rivals[index], &types))),
        Err(Failure::Ambiguous) => Err(operator_error(symbol, left, right, Failure::Ambiguous)),
        Err(Failure::None | Failure::Undetermined) => Ok(None),
    }
}

fn operands(types: &[ScalarType]) -> (Id, Id) {
    match types {
        [left, right] => (left.oid(), right.oid()),
        [right] => (0, right.oid()),
        _ => (0, 0),
    }
}

fn matched(index: usize, rival: &Rival, types: &[ScalarType]) -> Option<RoutineMatch> {
    let chosen = choose([&Signature::of_routine(rival.types.clone(), false)], types, false).ok()?;
    Some(RoutineMatch { index, arg_casts: chosen.arg_casts, conversions: chosen.conversions })
}

/// What an operator of PostgreSQL's takes; none if there are no values of that here.
fn built_in_signature((left, right): (Id, Id)) -> Option<Signature> {
    let of = [left, right].into_iter().filter(|id| *id != 0);
    let args = of.map(Pattern::of_type).collect::<Option<Vec<_>>>()?;
    Some(Signature::of_patterns(args))
}
