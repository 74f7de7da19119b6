//! What psql, drivers and ORMs ask of the catalog: every statement must resolve.

#[path = "resolve_support/catalog.rs"]
mod catalog;

use planner::parse::parse;
use planner::resolve::{SessionInfo, resolve};

/// Statements about tables or functions that those clients' test schemas had and we have not are left out.
fn failures(file: &str) -> Vec<String> {
    let path = format!("tests/clients/{file}");
    let text = std::fs::read_to_string(&path).expect("the client's statements are part of the repository");
    let catalog = catalog::catalog();
    let mut failures = Vec::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("- ")) {
        let Ok(statements) = parse(line) else { continue };
        for statement in &statements {
            if let Err(error) = resolve(statement, &catalog, &SessionInfo::default(), &[]) {
                failures.push(format!(
                    "{} {}\n    {}",
                    error.code,
                    error.message,
                    statement.text.chars().take(300).collect::<String>()
                ));
            }
        }
    }
    failures
}

#[test]
fn psql() {
    let failures = failures("psql.txt");
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn pg_dump() {
    let failures = failures("pg_dump.txt");
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
}
