//! Golden scripts of the resolver: SQL, then its `hir` or its error. `UPDATE_GOLDEN=1` writes them anew.

#[path = "resolve_support/mod.rs"]
mod support;

use planner::hir::WriteHir;
use planner::parse::parse;
use planner::resolve::{Resolved, SessionInfo, resolve};
use std::fmt::Write;
use support::{catalog::catalog, print};

fn run(sql: &str) -> String {
    let catalog = catalog();
    let session = SessionInfo::default();
    let mut out = String::new();
    let statements = match parse(sql) {
        Ok(statements) => statements,
        Err(error) => return format!("parse error {}: {}\n", error.code, error.message),
    };
    for statement in &statements {
        match resolve(statement, &catalog, &session, &[]) {
            Ok((resolved, params)) => {
                match &resolved {
                    Resolved::Query(query) => print::query(query, 0, &mut out),
                    Resolved::Write(write) => match &**write {
                        WriteHir::Insert(insert) => print::insert(insert, &mut out),
                        WriteHir::Update(update) => print::update(update, &mut out),
                        WriteHir::Delete(delete) => print::delete(delete, &mut out),
                        WriteHir::Merge(merge) => {
                            writeln!(out, "{merge:?}").expect("writing to a string does not fail");
                        }
                    },
                    other => writeln!(out, "{other:?}").expect("writing to a string does not fail"),
                }
                if !params.is_empty() {
                    let types: Vec<String> = params.iter().map(|param| param.scalar.type_name()).collect();
                    writeln!(out, "params: {}", types.join(", ")).expect("writing to a string does not fail");
                }
            }
            Err(error) => {
                let position = error.position.map_or_else(String::new, |position| format!(" at {position}"));
                writeln!(out, "error {}{position}: {}", error.code, error.message)
                    .expect("writing to a string does not fail");
                for (word, text) in [("detail", &error.detail), ("hint", &error.hint)] {
                    if let Some(text) = text {
                        writeln!(out, "{word}: {text}").expect("writing to a string does not fail");
                    }
                }
            }
        }
    }
    out
}

/// Blocks are separated by empty lines; within one, SQL lines stand before `----`.
fn script(name: &str) {
    let path = format!("tests/resolve/{name}.txt");
    let text = std::fs::read_to_string(&path).expect("the script is part of the repository");
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut renewed = String::new();
    let mut wrong = Vec::new();
    for block in text.split("\n\n").filter(|block| !block.trim().is_empty()) {
        let block = block.trim_end();
        let (sql, expected) = block.split_once("\n----\n").unwrap_or((block.trim_end_matches("\n----"), ""));
        let got = run(sql);
        let got = got.trim_end();
        if got != expected.trim_end() {
            wrong.push(format!("{sql}\n---- expected\n{expected}\n---- got\n{got}\n"));
        }
        write!(renewed, "{sql}\n----\n{got}\n\n").expect("writing to a string does not fail");
    }
    if update {
        std::fs::write(&path, renewed).expect("the script can be written");
    } else {
        assert!(wrong.is_empty(), "{} of {name} differ:\n{}", wrong.len(), wrong.join("\n"));
    }
}

#[test]
fn queries() {
    script("queries");
}

#[test]
fn grouping() {
    script("grouping");
}

#[test]
fn subqueries() {
    script("subqueries");
}

#[test]
fn writes() {
    script("writes");
}

#[test]
fn errors() {
    script("errors");
}

#[test]
fn parameters() {
    script("parameters");
}
