//! Which columns of a relation are copies of each other.

use crate::mir::Mir;
use crate::plan::MatchKind;
use crate::scalar::ScalarExpr;

/// Where a column comes from: a node of the relation, and a column there. Those that come from the same one have the same
/// datum in each row, to the last digit.
pub fn source(mir: &Mir, column: usize) -> (*const Mir, usize) {
    let here = (std::ptr::from_ref(mir), column);
    match mir {
        Mir::Map { input, exprs } => match column.checked_sub(input.arity()) {
            None => source(input, column),
            Some(mapped) => match exprs.get(mapped) {
                // A mapped column sees those before it.
                Some(ScalarExpr::Column(before)) if *before < column => source(mir, *before),
                _ => here,
            },
        },
        Mir::Project { input, columns } => columns.get(column).map_or(here, |column| source(input, *column)),
        Mir::Filter { input, .. } | Mir::TopK { input, .. } | Mir::AtMostOne { input, .. } => source(input, column),
        Mir::Window { input, .. } | Mir::TableFunction { input, .. } if column < input.arity() => source(input, column),
        Mir::Join { inputs, .. } => {
            let mut start = 0;
            for input in inputs {
                if column < start + input.arity() {
                    return source(input, column - start);
                }
                start += input.arity();
            }
            here
        }
        Mir::Match { left, right, kind, .. } => match (column.checked_sub(left.arity()), kind) {
            (None, _) => source(left, column),
            (Some(column), MatchKind::Inner | MatchKind::Left) => source(right, column),
            (Some(_), MatchKind::Semi | MatchKind::Anti) => here,
        },
        Mir::Reduce { keys, .. } => match keys.get(column) {
            // All key columns of a group are those of one of its rows.
            Some(own @ ScalarExpr::Column(_)) => (here.0, keys.iter().position(|key| key == own).unwrap_or(column)),
            _ => here,
        },
        Mir::Let { body, .. } => source(body, column),
        Mir::Constant { .. }
        | Mir::Get { .. }
        | Mir::GetLocal { .. }
        | Mir::Window { .. }
        | Mir::TableFunction { .. }
        | Mir::Union(..)
        | Mir::Negate(_)
        | Mir::Threshold(_)
        | Mir::LetRec { .. } => here,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Names;
    use repr::{ColumnType, ScalarType};

    fn constant() -> Mir {
        let types = vec![ColumnType::nullable(ScalarType::Int4); 2].into();
        Mir::Constant { rows: Vec::new(), types, names: Names::default() }
    }

    #[test]
    fn copies_have_one_source() {
        let copy = |mir: &Mir, one: usize, other: usize| source(mir, one) == source(mir, other);
        let mapped = constant().map(vec![ScalarExpr::Column(0), ScalarExpr::Column(2)]);
        assert!(copy(&mapped, 0, 2) && copy(&mapped, 0, 3) && !copy(&mapped, 0, 1) && !copy(&mapped, 1, 3));
        let projected = mapped.project(vec![1, 3, 0]);
        assert!(copy(&projected, 1, 2) && !copy(&projected, 0, 1));
        // The same table twice has two rows.
        let inputs = vec![constant(), constant()];
        let joined = Mir::Join { inputs, on: Vec::new(), same: Vec::new() };
        assert!(!copy(&joined, 0, 2));
        let keys = vec![ScalarExpr::Column(1), ScalarExpr::Column(2), ScalarExpr::Column(1)];
        let reduced = Mir::Reduce { input: Box::new(joined), keys, aggregates: Vec::new(), scalar: false };
        assert!(copy(&reduced, 0, 2) && !copy(&reduced, 0, 1));
    }
}
