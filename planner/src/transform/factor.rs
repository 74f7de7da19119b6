//! What every arm of an OR says is said once, beside it; what an OR over several relations says of one is told to that one.
//!
//! ```text
//! (a AND b) OR (a AND c)                    a AND (b OR c)
//! a OR (a AND b)                            a
//! (t.x = 1 AND u.y = 2) OR (t.x = 3 AND …)  … AND (t.x = 1 OR t.x = 3), over t alone
//! ```
//! AND and OR of three values are a distributive lattice, so both sides are NULL for the same rows, too. Nothing volatile is
//! touched. What is told to one relation is made of comparisons alone: it cannot fail where the OR would not have.

use crate::mir::{Mir, expr};
use crate::scalar::{Function, FunctionKind, ScalarExpr};
use crate::transform::shape;
use repr::{Row, poll};

/// Takes the common factors out of every predicate of a relation: of WHERE, HAVING and ON.
pub(super) fn factor(mir: &mut Mir) {
    match mir {
        Mir::Filter { predicates: conditions, .. }
        | Mir::Join { on: conditions, .. }
        | Mir::Match { on: conditions, .. } => {
            for condition in conditions {
                if has_or(condition) && !expr::is_volatile(condition) {
                    let whole = std::mem::replace(condition, expr::boolean(true));
                    *condition = factored(whole);
                }
            }
        }
        Mir::Constant { .. }
        | Mir::Get { .. }
        | Mir::GetLocal { .. }
        | Mir::Map { .. }
        | Mir::Project { .. }
        | Mir::TableFunction { .. }
        | Mir::Reduce { .. }
        | Mir::TopK { .. }
        | Mir::Window { .. }
        | Mir::AtMostOne { .. }
        | Mir::Union(..)
        | Mir::Negate(_)
        | Mir::Threshold(_)
        | Mir::Let { .. }
        | Mir::LetRec { .. } => {}
    }
    mir.children_mut().into_iter().for_each(factor);
}

/// What a predicate says of the relation whose columns are within, if it is an OR over it and others: whichever arm is true,
/// one of these conditions is.
pub(super) fn implied(predicate: &ScalarExpr, within: &impl Fn(usize) -> bool) -> Option<ScalarExpr> {
    let ScalarExpr::Or(arms) = predicate else { return None };
    if expr::is_volatile(predicate) || expr::reads_only(predicate, within) {
        return None;
    }
    let mut said = Vec::with_capacity(arms.len());
    for arm in arms {
        let mut conjuncts = Vec::new();
        expr::conjuncts(arm, &mut conjuncts);
        let mut own: Vec<ScalarExpr> = conjuncts
            .into_iter()
            .filter_map(|conjunct| {
                poll::step_or_unwind();
                let speaks = !expr::is_constant(&conjunct) && expr::reads_only(&conjunct, within);
                if speaks && cannot_fail(&conjunct) { Some(conjunct) } else { implied(&conjunct, within) }
            })
            .collect();
        match own.len() {
            0 => return None,
            1 => said.append(&mut own),
            _ => said.push(ScalarExpr::And(own)),
        }
    }
    Some(ScalarExpr::Or(said))
}

/// Whether a condition is made of comparisons of columns, constants and parameters.
fn cannot_fail(condition: &ScalarExpr) -> bool {
    let compares = |function: &Function| match function.kind {
        FunctionKind::Compare(_) | FunctionKind::AmongRows => true,
        FunctionKind::Any(operator) | FunctionKind::All(operator) => operator.comparison().is_some(),
        FunctionKind::Native(_) | FunctionKind::Spread(_) => {
            matches!(
                function.name,
                "IS NULL" | "IS NOT NULL" | "NOT" | "IS TRUE" | "IS NOT TRUE" | "IS FALSE" | "IS NOT FALSE"
            )
        }
    };
    match shape::relabelled(condition) {
        ScalarExpr::Column(_) | ScalarExpr::Literal(..) | ScalarExpr::Param(..) => true,
        ScalarExpr::And(args) | ScalarExpr::Or(args) => args.iter().all(cannot_fail),
        ScalarExpr::Call { function, args, .. } => compares(function) && args.iter().all(cannot_fail),
        ScalarExpr::Array(args, _) => args.iter().all(cannot_fail),
        ScalarExpr::Cast { .. }
        | ScalarExpr::Case { .. }
        | ScalarExpr::Coalesce(..)
        | ScalarExpr::Record(..)
        | ScalarExpr::Once { .. }
        | ScalarExpr::Tested { .. }
        | ScalarExpr::Operand(_) => false,
    }
}

fn has_or(predicate: &ScalarExpr) -> bool {
    match predicate {
        ScalarExpr::Or(_) => true,
        ScalarExpr::And(args) => args.iter().any(has_or),
        _ => false,
    }
}

/// Factors from the inside out.
fn factored(predicate: ScalarExpr) -> ScalarExpr {
    poll::step_or_unwind();
    match predicate {
        ScalarExpr::And(args) => {
            let mut all = Vec::with_capacity(args.len());
            for arg in args {
                match factored(arg) {
                    ScalarExpr::And(inner) => all.extend(inner),
                    other => all.push(other),
                }
            }
            of_several(all, ScalarExpr::And)
        }
        ScalarExpr::Or(args) => {
            let mut arms = Vec::with_capacity(args.len());
            for arg in args {
                match factored(arg) {
                    ScalarExpr::Or(inner) => arms.extend(inner.into_iter().map(factors)),
                    other => arms.push(factors(other)),
                }
            }
            any_of(arms)
        }
        other => other,
    }
}

/// The factors of an arm.
fn factors(arm: ScalarExpr) -> Vec<ScalarExpr> {
    match arm {
        ScalarExpr::And(args) => args,
        other => vec![other],
    }
}

/// The OR of arms, common factors before it.
fn any_of(mut arms: Vec<Vec<ScalarExpr>>) -> ScalarExpr {
    let shortest = arms.iter().min_by_key(|arm| arm.len()).cloned().unwrap_or_default();
    let mut common: Vec<ScalarExpr> = Vec::new();
    for factor in shortest {
        let has = |within: &[ScalarExpr]| {
            poll::step_or_unwind();
            within.iter().any(|other| is_same(other, &factor))
        };
        if !has(&common) && arms.iter().all(|arm| has(arm)) {
            common.push(factor);
        }
    }
    if common.is_empty() {
        return ScalarExpr::Or(arms.into_iter().map(|arm| of_several(arm, ScalarExpr::And)).collect());
    }
    for arm in &mut arms {
        arm.retain(|factor| !common.iter().any(|other| is_same(other, factor)));
    }
    // An arm that says nothing more is true wherever any other is.
    if arms.iter().all(|arm| !arm.is_empty()) {
        common.push(ScalarExpr::Or(arms.into_iter().map(|arm| of_several(arm, ScalarExpr::And)).collect()));
    }
    of_several(common, ScalarExpr::And)
}

fn of_several(mut args: Vec<ScalarExpr>, all: impl FnOnce(Vec<ScalarExpr>) -> ScalarExpr) -> ScalarExpr {
    match args.len() {
        1 => args.remove(0),
        _ => all(args),
    }
}

/// Whether two expressions are the same to the bit: 0 and −0 are equal, and yet a function may tell them apart.
fn is_same(one: &ScalarExpr, other: &ScalarExpr) -> bool {
    one == other && constants(one) == constants(other)
}

fn constants(expr: &ScalarExpr) -> Vec<Row> {
    let mut found = Vec::new();
    expr.visit(&mut |part| {
        if let ScalarExpr::Literal(datum, _) = part {
            found.push(Row::pack([datum]));
        }
    });
    found
}
