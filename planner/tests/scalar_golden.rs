//! Every expression in `tests/scalar/*.golden` gives what PostgreSQL 15 gave for it: text form, NULL, or error.
//!
//! `tests/scalar/generate.py` asked PostgreSQL, with TimeZone Europe/Berlin. Expressions pass through the parser and
//! `resolve`, then are evaluated as they stand and once more folded.

use planner::catalog::Catalog;
use planner::error::PlanError;
use planner::hir::{Hir, HirColumn, HirExpr, HirNode};
use planner::parse::parse;
use planner::resolve::{Resolved, SessionInfo, resolve};
use planner::scalar::{Environment, EvalContext, ScalarExpr};
use repr::{Datum, RelationId, SequenceId, ValueError};
use std::sync::Arc;

struct TestEnvironment {
    catalog: Arc<Catalog>,
}

impl Environment for TestEnvironment {
    fn transaction_timestamp(&self) -> i64 {
        // 2024-06-15 12:00 UTC
        771_768_000_000_000
    }
    fn statement_timestamp(&self) -> i64 {
        self.transaction_timestamp()
    }
    fn clock_timestamp(&self) -> i64 {
        self.transaction_timestamp()
    }
    fn setting(&self, name: &str) -> Option<String> {
        match name {
            "timezone" => Some("Europe/Berlin".to_owned()),
            "datestyle" => Some("ISO, MDY".to_owned()),
            _ => None,
        }
    }
    fn set_setting(&self, _: &str, _: &str, _: bool) -> Result<(), ValueError> {
        Ok(())
    }
    fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }
    fn session_user(&self) -> String {
        "postgres".to_owned()
    }
    fn database(&self) -> String {
        "postgres".to_owned()
    }
    fn backend_pid(&self) -> i32 {
        1
    }
    fn next_value(&self, _: SequenceId) -> Result<i64, ValueError> {
        Ok(1)
    }
    fn current_value(&self, _: SequenceId) -> Result<i64, ValueError> {
        Ok(1)
    }
    fn last_value(&self) -> Result<i64, ValueError> {
        Ok(1)
    }
    fn set_value(&self, _: SequenceId, _: i64, _: bool) -> Result<(), ValueError> {
        Ok(())
    }
    fn sequence_state(&self, _: SequenceId) -> Result<(i64, bool), ValueError> {
        Ok((1, true))
    }
    fn random_bytes(&self, buffer: &mut [u8]) {
        buffer.fill(7);
    }
    fn sleep(&self, _duration: std::time::Duration) -> Result<(), ValueError> {
        Ok(())
    }
    fn relation_size(&self, _: RelationId) -> i64 {
        8192
    }
}

fn context() -> EvalContext {
    EvalContext::within(Arc::from([]), Arc::new(TestEnvironment { catalog: Arc::default() }))
}

/// The expression behind the one output column of a SELECT without FROM.
fn only_column(relation: &Hir, column: usize) -> Option<HirExpr> {
    match &relation.node {
        HirNode::Project(input, columns) => only_column(input, columns[column]),
        HirNode::Map(input, exprs) => match column.checked_sub(input.types.len()) {
            Some(place) => Some(exprs[place].clone()),
            None => only_column(input, column),
        },
        HirNode::Constant(rows, _) => {
            let value = rows.first()?.get(column)?.clone();
            Some(HirExpr::Literal(value, relation.types[column].clone()))
        }
        _ => None,
    }
}

fn evaluate(expression: &str, folded: bool) -> Result<Datum, PlanError> {
    let statements = parse(&format!("SELECT ({expression})::text"))?;
    let (resolved, _) = resolve(&statements[0], &Catalog::default(), &SessionInfo::default(), &[])?;
    let Resolved::Query(query) = resolved else { panic!("{expression} is not a query") };
    let expr = only_column(&query.relation, query.project[0]).expect("a SELECT without FROM is a Map over a constant");
    let mut expr: ScalarExpr<usize> = expr.try_map_columns(&mut |column: HirColumn| {
        Err(PlanError::new("XX000", format!("a column in a constant expression: {column:?}")))
    })?;
    if folded {
        expr.fold();
    }
    Ok(expr.eval(&[], &context())?)
}

fn shown(outcome: Result<Datum, PlanError>) -> String {
    match outcome {
        Ok(Datum::Null) => "null".to_owned(),
        Ok(value) => {
            let text = value.as_str().expect("the expression is cast to text");
            format!("={}", text.replace('\\', "\\\\").replace('\n', "\\n"))
        }
        Err(error) => format!("!{} {}", error.code, error.message),
    }
}

fn check(golden: &str) {
    let mut failures = Vec::new();
    let mut count = 0;
    for line in golden.lines() {
        let (expression, expected) = line.split_once('\t').expect("a golden line has a tab");
        count += 1;
        for folded in [false, true] {
            let ours = shown(evaluate(expression, folded));
            if ours != expected {
                failures.push(format!(
                    "{expression}\n    PostgreSQL {expected}\n    ours{}       {ours}",
                    if folded { " folded" } else { "" }
                ));
                break;
            }
        }
    }
    assert!(failures.is_empty(), "{} of {count} differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn arithmetic() {
    check(include_str!("scalar/arithmetic.golden"));
}

#[test]
fn array() {
    check(include_str!("scalar/array.golden"));
}

#[test]
fn cast() {
    check(include_str!("scalar/cast.golden"));
}

#[test]
fn date() {
    check(include_str!("scalar/date.golden"));
}

#[test]
fn json() {
    check(include_str!("scalar/json.golden"));
}

#[test]
fn math() {
    check(include_str!("scalar/math.golden"));
}

#[test]
fn system() {
    check(include_str!("scalar/system.golden"));
}

#[test]
fn text() {
    check(include_str!("scalar/text.golden"));
}

#[test]
fn text_search() {
    check(include_str!("scalar/text_search.golden"));
}
