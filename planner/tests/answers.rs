//! Whole planning against PostgreSQL's answers: SQL is parsed, resolved, lowered, transformed, planned and run
//! by the interpreter; rows must be those that PostgreSQL gave (`answers/record.sh`), in any order.

mod support;

use planner::lower::plan_query;
use planner::parse;
use planner::resolve::{Resolved, SessionInfo, resolve};
use planner::scalar::EvalContext;
use repr::text::{self, TextContext};
use repr::{Datum, RelationId, ScalarType};
use std::collections::BTreeMap;
use support::catalog::{TABLES, catalog, table_id};
use support::interpreter::{Database, run};

const DATA: &str = include_str!("answers/data.sql");
const EXPECTED: &str = include_str!("answers/expected.txt");

/// The rows of `data.sql`, by planning its VALUES lists.
fn database() -> Database {
    let mut rows = BTreeMap::new();
    for line in DATA.lines().filter(|line| line.starts_with("INSERT INTO")) {
        let (name, values) = line["INSERT INTO ".len()..].split_once(' ').expect("a table and its rows");
        let at = TABLES.iter().position(|table| table.0 == name).expect("the table is in the catalog");
        let types: Vec<&ScalarType> = TABLES[at].1.iter().map(|(_, scalar)| scalar).collect();
        let values = values.trim_start_matches("VALUES (").trim_end_matches(");");
        let parsed = values
            .split("), (")
            .map(|row| row.split(", ").zip(&types).map(|(value, scalar)| datum(value, scalar)).collect());
        rows.insert(table_id(at), parsed.collect());
    }
    Database { rows, catalog: catalog(), context: EvalContext::immutable() }
}

fn datum(value: &str, scalar: &ScalarType) -> Datum {
    if value == "NULL" {
        return Datum::Null;
    }
    text::parse(scalar, -1, value.trim_matches('\''), &TextContext::default()).expect("test data parse")
}

fn answer(sql: &str, database: &Database, ordered: bool) -> Result<Vec<String>, String> {
    let plan = || {
        let parsed = parse::parse(sql)?;
        let (resolved, _) = resolve(&parsed[0], &database.catalog, &SessionInfo::default(), &[])?;
        let Resolved::Query(hir) = resolved else { panic!("only queries: {sql}") };
        let forms = |relation: RelationId| ordered && [3, 7].map(table_id).contains(&relation);
        plan_query(&hir, &database.catalog, &forms)
    };
    let query = plan().map_err(|error| format!("error {} ({error})", error.code))?;
    let rows = run(&query, database).map_err(|error| format!("error {} ({error})", error.code))?;
    let show = |row: &Vec<Datum>| {
        let values = row.iter().zip(&query.columns).map(|(value, column)| match value {
            Datum::Null => "~".to_owned(),
            value => text::format(value, &column.column_type.scalar, &TextContext::default()),
        });
        values.collect::<Vec<_>>().join("|")
    };
    let mut lines: Vec<String> = rows.iter().map(show).collect();
    lines.sort();
    Ok(lines)
}

#[test]
fn agrees_with_postgresql() {
    let database = database();
    let mut wrong = Vec::new();
    for block in EXPECTED.split("\n\n").map(|block| block.trim_matches('\n')).filter(|block| !block.is_empty()) {
        let mut lines = block.lines();
        let sql = lines.next().expect("a block begins with its query");
        let expected: Vec<String> = lines.map(str::to_owned).collect();
        for ordered in [false, true] {
            let actual = answer(sql, &database, ordered).unwrap_or_else(|error| vec![error]);
            let same_error =
                expected.len() == 1 && expected[0].starts_with("error") && actual[0].starts_with(&expected[0]);
            if actual != expected && !same_error {
                wrong.push(format!("{sql}\n  expected {expected:?}\n  actual   {actual:?}"));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} queries differ:\n{}", wrong.len(), wrong.join("\n"));
}
