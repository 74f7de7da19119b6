//! Arguments by name: `make_interval(days => 10)`, or `days := 10`. They become arguments by position, and what is left out before the last
//! of them is what PostgreSQL has for it.

use super::scope::fold;
use crate::error::PlanError;
use crate::parse::parse_expression;
use crate::system::builtin::function;
use sqlparser::ast::{BinaryOperator, Expr, FunctionArg, FunctionArgExpr};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What functions of PostgreSQL's have for arguments that are left out, by the text that it is written as.
static DEFAULTS: LazyLock<BTreeMap<&'static str, Expr>> = LazyLock::new(|| {
    let texts = function::all().iter().flat_map(function::Function::named_parameters);
    let defaults = texts.filter_map(|(_, default)| default);
    defaults.filter_map(|text| Some((text, parse_expression(text).ok()?))).collect()
});

/// The name and the value of an argument that has one.
pub(super) fn named(arg: &FunctionArg) -> Option<(String, &Expr)> {
    match arg {
        FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => Some((fold(name), value)),
        FunctionArg::ExprNamed { name: Expr::Identifier(name), arg: FunctionArgExpr::Expr(value), .. } => {
            Some((fold(name), value))
        }
        // `name := value`
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::BinaryOp { left, op: BinaryOperator::Assignment, right })) => {
            match &**left {
                Expr::Identifier(name) => Some((fold(name), right)),
                _ => None,
            }
        }
        FunctionArg::Named { .. } | FunctionArg::ExprNamed { .. } | FunctionArg::Unnamed(_) => None,
    }
}

/// An argument by position behind one by name.
pub(super) fn behind_named() -> PlanError {
    PlanError::new("42601", "positional argument cannot follow named argument")
}

/// Adds arguments with names to those before them.
pub(super) fn add_named<'q>(
    called: &str,
    args: &mut Vec<&'q Expr>,
    named: &[(String, &'q Expr)],
) -> Result<(), PlanError> {
    if named.is_empty() {
        return Ok(());
    }
    for (place, (name, _)) in named.iter().enumerate() {
        if named[..place].iter().any(|(other, _)| other == name) {
            return Err(PlanError::new("42601", format!("argument name \"{name}\" used more than once")));
        }
    }
    for candidate in function::by_name(called) {
        if let Some(placed) = placed(&candidate.named_parameters(), args, named) {
            *args = placed;
            return Ok(());
        }
    }
    let shown = named.iter().map(|(name, _)| format!("{name} =>")).collect::<Vec<_>>().join(", ");
    Err(PlanError::new("42883", format!("function {called}({shown}) does not exist"))
        .hint("No function matches the given name and argument types. You might need to add explicit type casts."))
}

/// The arguments of a function with these parameters; none if it has not all of the names, or needs more.
fn placed<'q>(
    parameters: &[(&'static str, Option<&'static str>)],
    args: &[&'q Expr],
    named: &[(String, &'q Expr)],
) -> Option<Vec<&'q Expr>> {
    let place = |name: &str| parameters.iter().position(|(parameter, _)| *parameter == name);
    let mut given: Vec<Option<&'q Expr>> = args.iter().copied().map(Some).collect();
    given.resize(parameters.len().max(args.len()), None);
    let mut end = args.len();
    for (name, value) in named {
        let place = place(name).filter(|place| *place >= args.len())?;
        given[place] = Some(value);
        end = end.max(place + 1);
    }
    // What is left out behind them is left out there, too.
    if parameters.get(end..)?.iter().any(|(_, default)| default.is_none()) {
        return None;
    }
    let missing = |place: usize| parameters[place].1.and_then(|text| DEFAULTS.get(text));
    given.into_iter().take(end).enumerate().map(|(place, value)| value.or_else(|| missing(place))).collect()
}
