//! Which queries a dataflow can keep up to date: those whose result changes only when rows of tables do.

use crate::error::PlanError;
use crate::hir::walk::Visitor;
use crate::hir::{Hir, HirExpr, HirNode, HirQuery};
use crate::scalar::func::ZONED;
use crate::scalar::func::routine::ROWS;
use crate::scalar::{Function, ScalarExpr, Volatility};
use crate::system;
use crate::temporal;
use repr::{Datum, ScalarType};

/// Whether a dataflow can maintain the query.
///
/// # Errors
/// 0A000 naming what changes without a table changing: a function, a catalog relation.
pub fn check_maintainable(query: &HirQuery) -> Result<(), PlanError> {
    if !query.locks.is_empty() || !query.locking.is_empty() {
        return Err(PlanError::unsupported("FOR UPDATE in a view").hint("lock the rows where they are read"));
    }
    let (mut relation, mut expression) = (None, None);
    Visitor {
        operator: &mut |hir| relation = relation.take().or_else(|| refused_relation(hir)),
        expression: &mut |expr| expression = expression.take().or_else(|| refused_expression(expr)),
    }
    .query(query);
    relation.or(expression).map_or(Ok(()), Err)
}

/// Whether anything in the query, be it a cast, may give another result in another session or at another time.
pub fn depends_on_session(query: &HirQuery) -> bool {
    let (mut operators, mut expressions) = (false, false);
    Visitor {
        operator: &mut |hir| operators |= reads_catalog(hir).is_some() || calls_zoned_series(hir),
        expression: &mut |expr| expressions |= expr.own_volatility() > Volatility::Immutable,
    }
    .query(query);
    operators || expressions
}

/// Whether anything in the query depends on the styles in which a session reads and writes values, its time zone first. The clock
/// alone does not.
pub(crate) fn depends_on_styles(query: &HirQuery) -> bool {
    let (mut operators, mut expressions) = (false, false);
    Visitor {
        operator: &mut |hir| operators |= calls_zoned_series(hir) || writes_times(hir),
        expression: &mut |expr| {
            expressions |= expr.own_volatility() > Volatility::Immutable && !temporal::is_of_any_zone(expr);
        },
    }
    .query(query);
    operators || expressions
}

/// Whether an aggregate makes text of what it is given.
fn writes_times(hir: &Hir) -> bool {
    let HirNode::Reduce { input, aggregates, .. } = &hir.node else { return false };
    let is_json = |name: &str| name.starts_with("json");
    aggregates.iter().any(|call| is_json(call.function.name))
        && input.types.iter().any(|own| own.scalar.reads_settings())
}

fn reads_catalog(hir: &Hir) -> Option<&'static system::SystemRelation> {
    match &hir.node {
        HirNode::Get { relation, .. } => system::find_by_id(*relation),
        _ => None,
    }
}

fn calls_zoned_series(hir: &Hir) -> bool {
    matches!(&hir.node, HirNode::TableFunction { functions, .. }
    if functions.iter().any(|(function, _, columns)| {
        **function == ROWS || columns.iter().any(|column| column.scalar == ScalarType::Timestamptz)
    }))
}

fn refused_relation(hir: &Hir) -> Option<PlanError> {
    if let Some(relation) = reads_catalog(hir) {
        return Some(
            PlanError::unsupported(format!("a materialized view over {}.{}", relation.schema, relation.name))
                .hint("use a plain view"),
        );
    }
    if let HirNode::Window { calls, .. } = &hir.node
        && let Some(number) = calls.iter().find_map(|call| call.frame.parameter())
    {
        return Some(no_parameter(number));
    }
    let HirNode::TableFunction { functions, .. } = &hir.node else { return None };
    functions
        .iter()
        .find(|(function, ..)| function.name.starts_with("pg_") || **function == ROWS)
        .map(|(function, ..)| refused(function.name))
}

fn no_parameter(number: usize) -> PlanError {
    PlanError::new("42P02", format!("there is no parameter ${}", number + 1))
}

fn refused_expression(expr: &HirExpr) -> Option<PlanError> {
    match expr {
        ScalarExpr::Param(number, _) => Some(no_parameter(*number)),
        // Of a time of day alone, the offset is today's.
        ScalarExpr::Call { function, result: ScalarType::TimeTz, .. }
            if function.name == "timezone" && function.volatility > Volatility::Immutable =>
        {
            Some(refused(function.name))
        }
        ScalarExpr::Call { function, args, .. } if !is_maintainable(function, args.len()) => {
            Some(refused(function.name))
        }
        ScalarExpr::Cast { expr, cast, to } => {
            if names_objects(&cast.from) || names_objects(&to.scalar) {
                return (cast.from != to.scalar).then(|| {
                    PlanError::unsupported(format!(
                        "a cast from {} to {} in a materialized view",
                        cast.from.name(),
                        to.scalar.name()
                    ))
                    .hint("the names of objects change without any row changing: use a plain view")
                });
            }
            let is_time = matches!(
                to.scalar,
                ScalarType::Date
                    | ScalarType::Time
                    | ScalarType::TimeTz
                    | ScalarType::Timestamp
                    | ScalarType::Timestamptz
            );
            match expr.as_literal() {
                Some(Datum::Text(text)) if is_time && names_moment(text) => {
                    Some(PlanError::unsupported(format!("'{}' in a materialized view", text.trim())).hint(HINT))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

const HINT: &str = "its value changes without any row changing: use a plain view, or compute it where the view is read";

fn refused(function: &str) -> PlanError {
    if function == ROWS.name {
        return PlanError::unsupported("a function that is more than one SELECT in a materialized view")
            .hint("Use a plain view, or write the function in LANGUAGE sql as one query.");
    }
    if function.starts_with("TABLESAMPLE") {
        return PlanError::unsupported("TABLESAMPLE in a materialized view").hint(HINT);
    }
    PlanError::unsupported(format!("function {function}() in a materialized view")).hint(HINT)
}

fn is_maintainable(function: &Function, arguments: usize) -> bool {
    match function.volatility {
        Volatility::Immutable => true,
        Volatility::Volatile => false,
        // age() of one argument counts from today.
        // Where a clock may stand is known once conditions have moved to where they belong: `temporal`.
        Volatility::Stable => {
            ZONED.contains(&function.name) || (function.name == "age" && arguments == 2) || temporal::is_clock(function)
        }
    }
}

fn names_objects(scalar: &ScalarType) -> bool {
    match scalar {
        ScalarType::Array(element) => names_objects(element),
        other => *other == ScalarType::AclItem || other.is_reg(),
    }
}

/// Words of date and time input that say when it is read.
fn names_moment(text: &str) -> bool {
    const WORDS: [&str; 4] = ["now", "today", "tomorrow", "yesterday"];
    text.split_whitespace().any(|word| WORDS.iter().any(|moment| word.eq_ignore_ascii_case(moment)))
}
