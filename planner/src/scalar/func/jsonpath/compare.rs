//! Comparisons of two items.

use super::value::View;
use crate::scalar::EvalContext;
use repr::datetime::Zone;
use repr::jsonpath::Operator;
use repr::{Jsonb, ValueError};
use std::cmp::Ordering;

/// Whether a comparison holds; none where items do not compare.
pub(super) fn compare(
    operator: Operator,
    left: View<'_>,
    right: View<'_>,
    ctx: &EvalContext,
    is_zoned: bool,
) -> Result<Option<bool>, ValueError> {
    let order = match (left, right) {
        (View::Json(Jsonb::Null), View::Json(Jsonb::Null)) => Ordering::Equal,
        // Null differs from all else, and is neither less nor greater.
        (View::Json(Jsonb::Null), _) | (_, View::Json(Jsonb::Null)) => {
            return Ok(Some(operator == Operator::NotEqual));
        }
        (View::Json(Jsonb::Bool(left)), View::Json(Jsonb::Bool(right))) => left.cmp(right),
        (View::Json(Jsonb::Number(left)), View::Json(Jsonb::Number(right))) => left.sql_cmp(right),
        (View::Json(Jsonb::String(left)), View::Json(Jsonb::String(right))) => left.as_bytes().cmp(right.as_bytes()),
        (View::Moment(left), View::Moment(right)) => {
            let zone = || -> (Zone, i64) { (ctx.zone(), ctx.environment.transaction_timestamp()) };
            match left.compare(right, if is_zoned { Some(&zone) } else { None })? {
                Some(order) => order,
                None => return Ok(None),
            }
        }
        (View::Json(_) | View::Moment(_), View::Json(_) | View::Moment(_)) => return Ok(None),
    };
    Ok(Some(match operator {
        Operator::NotEqual => order.is_ne(),
        Operator::Less => order.is_lt(),
        Operator::Greater => order.is_gt(),
        Operator::LessOrEqual => order.is_le(),
        Operator::GreaterOrEqual => order.is_ge(),
        Operator::Equal
        | Operator::StartsWith
        | Operator::Add
        | Operator::Subtract
        | Operator::Multiply
        | Operator::Divide
        | Operator::Modulo => order.is_eq(),
    }))
}
