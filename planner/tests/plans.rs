//! Golden plans: SQL, and the rungs that planning it goes through. `UPDATE_GOLDEN=1` rewrites the files.
//!
//! A file is a series of cases: a line `-- rungs` (any of hir, mir, optimized, plan; view: how a view by key is read), the
//! statement, a line `----`, the expected text, an empty line.

#[path = "support/catalog.rs"]
mod catalog;

use planner::lower::{lower_query, plan_query, plan_write};
use planner::resolve::{Resolved, SessionInfo, resolve};
use planner::{explain, parse, transform};
use repr::RelationId;
use std::fmt::Write;

fn rungs(sql: &str, wanted: &str) -> Result<String, planner::error::PlanError> {
    let catalog = catalog::catalog();
    let parsed = parse::parse(sql)?;
    let (resolved, _) = resolve(&parsed[0], &catalog, &SessionInfo::default(), &[])?;
    // Tags and shelves are impersonal: their keys stand in order.
    let forms = |relation: RelationId| [3, 7].map(catalog::table_id).contains(&relation);
    let hir = match resolved {
        Resolved::Query(hir) => hir,
        Resolved::Write(write) => return Ok(explain::write(&plan_write(&write, &catalog, &forms)?, &catalog)),
        _ => panic!("the golden files hold queries and writes only: {sql}"),
    };
    let mut out = String::new();
    for rung in wanted.split_whitespace() {
        match rung {
            "hir" => out += &explain::hir(&hir, &catalog),
            "mir" => out += &explain::mir(&lower_query(&hir, &catalog)?, &catalog),
            "optimized" => {
                out += &explain::mir(&transform::optimize(lower_query(&hir, &catalog)?, &catalog)?, &catalog);
            }
            "plan" => out += &explain::plan(&plan_query(&hir, &catalog, &forms)?, &catalog),
            "view" => match planner::plan_lifted(&parsed[0], &catalog, &[], planner::lift::RANKS_HELD[0])? {
                Some(Ok(lifted)) => {
                    let read = explain::view_read(&lifted, &hir.columns, "v", &catalog);
                    for operator in read.operators {
                        let _ = writeln!(out, "{}{}", "  ".repeat(operator.depth), operator.text);
                    }
                    let _ = writeln!(out, "keyed by ({})", read.keys.join(", "));
                }
                Some(Err(reason)) => _ = writeln!(out, "no view: {reason}"),
                None => panic!("no query: {sql}"),
            },
            other => panic!("no such rung: {other}"),
        }
    }
    Ok(out)
}

fn check(path: &str) {
    let file = format!("tests/plans/{path}");
    let text = std::fs::read_to_string(&file).expect("the golden file is there");
    let mut actual = String::new();
    for case in text.split("\n\n").map(str::trim).filter(|case| !case.is_empty()) {
        let (head, _) = case.split_once("\n----").unwrap_or((case, ""));
        let (wanted, sql) = head.split_once('\n').expect("a case has rungs and a statement");
        let wanted = wanted.trim_start_matches("--");
        let shown = rungs(sql, wanted).unwrap_or_else(|error| format!("error {}: {error}\n", error.code));
        let _ = write!(actual, "{head}\n----\n{shown}\n");
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, actual).expect("the golden file can be written");
        return;
    }
    assert_eq!(text, actual, "plans differ; see UPDATE_GOLDEN in this file's head");
}

#[test]
fn access_paths() {
    check("access.golden");
}

#[test]
fn joins() {
    check("joins.golden");
}

#[test]
fn subqueries() {
    check("subqueries.golden");
}

#[test]
fn names() {
    check("names.golden");
}

#[test]
fn everything_else() {
    check("other.golden");
}

#[test]
fn ranks() {
    check("ranks.golden");
}
