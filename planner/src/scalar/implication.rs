//! Whether what is known of a row says that it stands in a partial index.
//!
//! ```text
//! known                         wanted
//! status = 'open' AND n > 7     status = 'open'      said as such
//! n > 7, n = 7, n = 7 OR n = 8  n > 5                each value that is left passes
//! n > 7, name LIKE 'a%'         n IS NOT NULL        a strict condition is not true of NULL
//! ```
//!
//! What is not seen here is not implied: then the index is not used, and nothing else happens.

use super::ScalarExpr;
use super::func::Comparison;
use repr::Datum;
use std::cmp::Ordering;

/// Whether each row for which all of `known` is true has `wanted` true.
pub(crate) fn implies<C: PartialEq>(known: &[&ScalarExpr<C>], wanted: &ScalarExpr<C>) -> bool {
    match wanted {
        ScalarExpr::And(all) => all.iter().all(|part| implies(known, part)),
        ScalarExpr::Or(any) => {
            known.iter().any(|known| says(known, wanted)) || any.iter().any(|part| implies(known, part))
        }
        _ => known.iter().any(|known| says(known, wanted)),
    }
}

fn says<C: PartialEq>(known: &ScalarExpr<C>, wanted: &ScalarExpr<C>) -> bool {
    if known == wanted {
        return true;
    }
    match known {
        ScalarExpr::And(all) => return all.iter().any(|part| says(part, wanted)),
        // Whichever of them is true.
        ScalarExpr::Or(any) => return any.iter().all(|part| implies(&[part], wanted)),
        _ => {}
    }
    if let Some(column) = tested_for_a_value(wanted) {
        return is_strict_in(known, column);
    }
    let (Some(known), Some(wanted)) = (ComparedColumn::of(known), ComparedColumn::of(wanted)) else { return false };
    known.column == wanted.column && known.is_within(&wanted)
}

/// A column compared with a value.
struct ComparedColumn<'e, C> {
    column: &'e C,
    by: Comparison,
    value: &'e Datum,
}

impl<'e, C> ComparedColumn<'e, C> {
    fn of(expr: &'e ScalarExpr<C>) -> Option<ComparedColumn<'e, C>> {
        let ScalarExpr::Call { function, args, .. } = expr else { return None };
        let by = function.comparison()?;
        match args.as_slice() {
            [ScalarExpr::Column(column), ScalarExpr::Literal(value, _)] if !value.is_null() => {
                Some(ComparedColumn { column, by, value })
            }
            [ScalarExpr::Literal(value, _), ScalarExpr::Column(column)] if !value.is_null() => {
                Some(ComparedColumn { column, by: by.commuted(), value })
            }
            _ => None,
        }
    }

    /// Whether each value that passes this passes the other.
    fn is_within(&self, other: &ComparedColumn<'_, C>) -> bool {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        // Of one type, or how they compare is for the operator to say.
        if std::mem::discriminant(self.value) != std::mem::discriminant(other.value) {
            return false;
        }
        let order = self.value.sql_cmp(other.value);
        match (self.by, other.by) {
            (Equal, Equal) => order == Ordering::Equal,
            (Equal, NotEqual) => order != Ordering::Equal,
            (Greater, Greater | NotEqual) => order != Ordering::Less,
            (Equal, Greater) | (GreaterOrEqual, Greater | NotEqual) => order == Ordering::Greater,
            (Equal | Greater | GreaterOrEqual, GreaterOrEqual) => order != Ordering::Less,
            (Less, Less | NotEqual) => order != Ordering::Greater,
            (Equal, Less) | (LessOrEqual, Less | NotEqual) => order == Ordering::Less,
            (Equal | Less | LessOrEqual, LessOrEqual) => order != Ordering::Greater,
            _ => false,
        }
    }
}

/// The column of `column IS NOT NULL`.
fn tested_for_a_value<C>(expr: &ScalarExpr<C>) -> Option<&C> {
    match expr {
        ScalarExpr::Call { function, args, .. } if function.name == "IS NOT NULL" => match args.as_slice() {
            [ScalarExpr::Column(column)] => Some(column),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a condition is not true where the column is NULL.
fn is_strict_in<C: PartialEq>(expr: &ScalarExpr<C>, column: &C) -> bool {
    match expr {
        ScalarExpr::Column(own) => own == column,
        ScalarExpr::Call { function, args, .. } => function.strict && args.iter().any(|arg| is_strict_in(arg, column)),
        ScalarExpr::Cast { expr, .. } => is_strict_in(expr, column),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::registry;
    use repr::{ColumnType, ScalarType};

    fn compare(operator: &str, column: usize, value: i32) -> ScalarExpr {
        let int4 = ScalarType::Int4;
        let found = registry::resolve_operator(operator, Some(&int4), &int4).expect("integers are compared");
        let literal = ScalarExpr::Literal(Datum::Int4(value), ColumnType::nullable(ScalarType::Int4));
        ScalarExpr::Call {
            function: found.function,
            args: vec![ScalarExpr::Column(column), literal],
            result: ScalarType::Bool,
        }
    }

    #[test]
    fn what_is_implied_holds_for_every_value() {
        let operators = ["=", "<>", "<", "<=", ">", ">="];
        let holds = |operator: &str, value: i32, bound: i32| match operator {
            "=" => value == bound,
            "<>" => value != bound,
            "<" => value < bound,
            "<=" => value <= bound,
            ">" => value > bound,
            _ => value >= bound,
        };
        for (known, wanted) in operators.iter().flat_map(|known| operators.iter().map(move |wanted| (*known, *wanted)))
        {
            for (of, bound) in (-2..=2).flat_map(|of| (-2..=2).map(move |bound| (of, bound))) {
                let implied = implies(&[&compare(known, 0, of)], &compare(wanted, 0, bound));
                // Over the integers between the bounds and some beyond.
                let always = (-9..=9).all(|value| !holds(known, value, of) || holds(wanted, value, bound));
                assert!(!implied || always, "a {known} {of} does not imply a {wanted} {bound}");
                // What is not seen is what only whole numbers imply: a > 1 and a >= 2, a > 1 and a <> 1 and the like.
                let dense = (-18..=18).all(|half| !holds(known, half, 2 * of) || holds(wanted, half, 2 * bound));
                assert_eq!(implied, dense, "a {known} {of}, a {wanted} {bound}");
                assert!(!implies(&[&compare(known, 1, of)], &compare(wanted, 0, bound)), "another column says nothing");
            }
        }
    }
}
