//! Golden scripts of views: definitions, what becomes of them, and what queries over them resolve to.
//! `UPDATE_GOLDEN=1` writes them anew.
//!
//! Blocks are separated by empty lines; statements stand before `----`, each on lines of its own, and run in order over
//! one catalog that begins as `BASE`. `\view v` shows what is kept of a view, `\kept v` how it is maintained, `\plan` and
//! `\expand` the plan of a query that reads or expands maintained views, `\session` what the query depends on, `\lifted` what is
//! kept for a query that is asked often.

use planner::catalog::Catalog;
use planner::error::PlanError;
use planner::parse::parse;
use planner::plan::{Finishing, Plan, Query};
use planner::resolve::ddl::Labels;
use planner::resolve::{Resolved, SessionInfo, resolve};
use planner::statistics::KnownStatistics;
use planner::{
    MaintainedViewUse, Planned, check_maintainable, depends_on_session, explain, plan_definition, plan_lifted,
    plan_statement, plan_view,
};
use std::fmt::Write;

const BASE: &str = "CREATE DATA_SUBJECT TABLE users (id int PRIMARY KEY, name text);
    CREATE TABLE stories (id int PRIMARY KEY, title text, author int NOT NULL OWNED_BY users(id), at timestamptz);
    CREATE TABLE votes (story int REFERENCES stories(id), points int, PRIMARY KEY (story, points));
    CREATE TABLE plain (a int, b text, c numeric(8, 2));";

fn define(catalog: &mut Catalog, sql: &str, out: &mut String) -> Result<(), PlanError> {
    for parsed in parse(sql)? {
        let plan = plan_definition(&parsed.statement, &*catalog, Labels::TakeEffect)?;
        planner::ownership::check(&plan.catalog, false)?;
        for notice in &plan.notices {
            let detail =
                notice.detail.as_ref().map_or_else(String::new, |detail| format!(" ({})", detail.replace('\n', "; ")));
            let _ = writeln!(out, "notice: {}{detail}", notice.message);
        }
        let _ = writeln!(out, "{}", plan.tag);
        // What is stored is what comes back.
        *catalog = Catalog::decode(&plan.catalog.encode()).expect("a catalog can be read again");
    }
    Ok(())
}

fn show_view(catalog: &Catalog, name: &str, out: &mut String) {
    let Some((table, view)) = catalog.table_by_name(name).and_then(|table| Some((table, table.view.as_ref()?))) else {
        let _ = writeln!(out, "no view {name}");
        return;
    };
    let _ = writeln!(out, "{}: {}", table.kind(), view.query);
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|column| format!("{} {}", column.name, column.column_type.scalar.format_type(column.column_type.modifier)))
        .collect();
    let _ = writeln!(out, "columns: {}", columns.join(", "));
    let reads: Vec<String> = view
        .reads
        .iter()
        .map(|(relation, columns)| {
            let read = catalog.table(*relation).expect("what is read exists");
            let names: Vec<&str> = columns.iter().map(|&column| read.columns[column].name.as_str()).collect();
            format!("{}({})", read.name, names.join(", "))
        })
        .collect();
    let _ = writeln!(out, "reads: {}", reads.join(", "));
    for index in &table.indexes {
        let names: Vec<&str> = index.columns.iter().map(|&column| table.columns[column].name.as_str()).collect();
        let name = if index.automatic { "automatic" } else { &index.name };
        let _ = writeln!(out, "index {name}: {}", names.join(", "));
    }
}

fn rung(catalog: &Catalog, sql: &str, views: MaintainedViewUse, out: &mut String) -> Result<(), PlanError> {
    let planned = plan_statement(&parse(sql)?[0], catalog, &[], views, KnownStatistics::none())?;
    let read: Vec<&str> =
        planned.views.iter().map(|view| catalog.table(*view).expect("it is read").name.as_str()).collect();
    let _ = writeln!(out, "views: {}", read.join(", "));
    match &planned.planned {
        Planned::Query(query) => out.push_str(&explain::plan(query, catalog)),
        Planned::Write(write) => out.push_str(&explain::write(write, catalog)),
        _ => out.push_str("something else\n"),
    }
    Ok(())
}

/// A plan that is maintained.
fn show_kept(plan: Plan, columns: usize, catalog: &Catalog, out: &mut String) {
    let project = (0..columns).collect();
    let finishing = Finishing { order_by: Vec::new(), limit: None, offset: None, late: Vec::new(), project };
    let (columns, locks, locking) = (Vec::new(), Vec::new(), Vec::new());
    let query = Query { plan, finishing, columns, locks, locking, acts: false, calls: false, constants: Vec::new() };
    out.push_str(&explain::plan(&query, catalog));
}

fn kept(catalog: &Catalog, name: &str, out: &mut String) -> Result<(), PlanError> {
    let (table, _) = catalog.table_by_name(name).and_then(|table| Some((table, table.view.as_ref()?))).expect("a view");
    show_kept(plan_view(catalog, table.id)?.plan, table.columns.len(), catalog, out);
    Ok(())
}

fn lifted(catalog: &Catalog, sql: &str, out: &mut String) -> Result<(), PlanError> {
    match plan_lifted(&parse(sql)?[0], catalog, &[], 16)?.expect("a query") {
        Ok(lifted) => show_kept(lifted.view.plan, 1, catalog, out),
        Err(reason) => {
            let _ = writeln!(out, "none: {reason}");
        }
    }
    Ok(())
}

/// Whether a query depends on the session at all, and whether a dataflow can maintain it.
fn session(catalog: &Catalog, sql: &str, out: &mut String) -> Result<(), PlanError> {
    let (resolved, _) = resolve(&parse(sql)?[0], catalog, &SessionInfo::default(), &[])?;
    let Resolved::Query(query) = resolved else { panic!("a query: {sql}") };
    let depends = if depends_on_session(&query) { "depends on the session" } else { "the same in every session" };
    let maintained = match check_maintainable(&query) {
        Ok(()) => "maintainable".to_string(),
        Err(error) => error.message,
    };
    let _ = writeln!(out, "{depends}; {maintained}");
    Ok(())
}

fn run(statements: &str) -> String {
    let mut catalog = Catalog::default();
    let mut out = String::new();
    define(&mut catalog, BASE, &mut out).expect("the base is well formed");
    out.clear();
    for line in statements.lines() {
        let result = match line.split_once(' ') {
            Some(("\\view", name)) => {
                show_view(&catalog, name, &mut out);
                Ok(())
            }
            Some(("\\kept", name)) => kept(&catalog, name, &mut out),
            Some(("\\lifted", sql)) => lifted(&catalog, sql, &mut out),
            Some(("\\plan", sql)) => rung(&catalog, sql, MaintainedViewUse::Read, &mut out),
            Some(("\\session", sql)) => session(&catalog, sql, &mut out),
            Some(("\\expand", sql)) => rung(&catalog, sql, MaintainedViewUse::Expand, &mut out),
            _ => define(&mut catalog, line, &mut out),
        };
        if let Err(error) = result {
            let position = error.position.map_or_else(String::new, |position| format!(" at {position}"));
            let _ = writeln!(out, "error {}{position}: {}", error.code, error.message);
            for (word, text) in [("detail", &error.detail), ("hint", &error.hint)] {
                if let Some(text) = text {
                    let _ = writeln!(out, "{word}: {}", text.replace('\n', "; "));
                }
            }
        }
    }
    out
}

fn script(name: &str) {
    let path = format!("tests/views/{name}.txt");
    let text = std::fs::read_to_string(&path).expect("the script is part of the repository");
    let mut renewed = String::new();
    for block in text.split("\n\n").filter(|block| !block.trim().is_empty()) {
        let block = block.trim_end();
        let (statements, _) = block.split_once("\n----").unwrap_or((block, ""));
        let _ = write!(renewed, "{statements}\n----\n{}\n", run(statements));
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, renewed).expect("the script can be written");
    } else {
        assert_eq!(text, renewed, "{name} differs; see UPDATE_GOLDEN in this file's head");
    }
}

#[test]
fn definitions() {
    script("definitions");
}

#[test]
fn changes_underneath() {
    script("changes");
}

#[test]
fn refusals() {
    script("refusals");
}

#[test]
fn temporal_filters() {
    script("temporal");
}

#[test]
fn queries() {
    script("queries");
}
