//! The second rung as text.

use super::{Text, columns, expr, order_items};
use crate::mir::Mir;
use crate::plan::MatchKind;

impl Text<'_> {
    /// A relation and its inputs.
    pub(super) fn mir(&mut self, mir: &Mir) {
        let column = |column: &usize| format!("#{column}");
        let line = match mir {
            Mir::Constant { rows, types } => format!("Constant ({} rows of {} columns)", rows.len(), types.len()),
            Mir::Get { relation, with_key, .. } => {
                format!("Get {}{}", self.relation(*relation), if *with_key { " with row key" } else { "" })
            }
            Mir::GetLocal { id, .. } => format!("Get l{}", id.0),
            Mir::Map { exprs, .. } => format!("Map ({})", expr::scalars(exprs)),
            Mir::Filter { predicates, .. } => format!("Filter {}", expr::all(predicates)),
            Mir::Project { columns: chosen, .. } => format!("Project {}", columns(chosen)),
            Mir::Join { on, same, .. } => format!("Join{}", conditions(on, same)),
            Mir::Match { kind, on, same, .. } => format!("{} join{}", kind_name(*kind), conditions(on, same)),
            Mir::TableFunction { functions, ordinality, .. } => {
                let calls: Vec<String> = functions
                    .iter()
                    .map(|(function, args, _)| format!("{}({})", function.name, expr::scalars(args)))
                    .collect();
                format!("TableFunction {}{}", calls.join(", "), if *ordinality { " with ordinality" } else { "" })
            }
            Mir::Reduce { keys, aggregates, .. } if aggregates.is_empty() => {
                format!("Distinct ({})", expr::scalars(keys))
            }
            Mir::Reduce { keys, aggregates, .. } => {
                let calls: Vec<String> = aggregates.iter().map(|call| expr::aggregate(call, &column)).collect();
                format!("Reduce by ({}) to ({})", expr::scalars(keys), calls.join(", "))
            }
            Mir::TopK { keys, order, limit, offset, .. } => {
                format!(
                    "TopK by {} order ({}){}",
                    columns(keys),
                    order_items(order),
                    bounds(limit.as_ref(), offset.as_ref())
                )
            }
            Mir::Window { partition, order, calls, .. } => {
                let calls: Vec<String> = calls.iter().map(|call| expr::window(call, &column)).collect();
                format!("Window {} by {} order ({})", calls.join(", "), columns(partition), order_items(order))
            }
            Mir::AtMostOne { keys, .. } => format!("AtMostOne by {}", columns(keys)),
            Mir::Union(_) => "Union".to_owned(),
            Mir::Negate(_) => "Negate".to_owned(),
            Mir::Threshold(_) => "Threshold".to_owned(),
            Mir::Let { id, .. } => format!("Let l{}", id.0),
            Mir::LetRec { id, distinct, .. } => {
                format!("LetRec l{} {}", id.0, if *distinct { "union" } else { "union all" })
            }
        };
        self.line(format_args!("{line}"));
        self.nested(|text| mir.children().into_iter().for_each(|child| text.mir(child)));
    }
}

/// The name of a kind of match.
pub(super) fn kind_name(kind: MatchKind) -> &'static str {
    match kind {
        MatchKind::Inner => "Inner",
        MatchKind::Left => "Left",
        MatchKind::Semi => "Semi",
        MatchKind::Anti => "Anti",
    }
}

/// LIMIT and OFFSET.
pub(super) fn bounds(limit: Option<&crate::scalar::ScalarExpr>, offset: Option<&crate::scalar::ScalarExpr>) -> String {
    let limit = limit.map(|limit| format!(" limit {}", expr::scalar(limit))).unwrap_or_default();
    let offset = offset.map(|offset| format!(" offset {}", expr::scalar(offset))).unwrap_or_default();
    limit + &offset
}

fn conditions(on: &[crate::scalar::ScalarExpr], same: &[(usize, usize)]) -> String {
    let mut parts: Vec<String> = same.iter().map(|(left, right)| format!("#{left} same as #{right}")).collect();
    parts.extend(on.iter().map(expr::scalar));
    if parts.is_empty() { String::new() } else { format!(" on {}", parts.join(" AND ")) }
}
