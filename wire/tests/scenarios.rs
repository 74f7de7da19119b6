//! The compliance scenarios: scripts in `scenarios/`, each family a file, run against a database in this process.
//!
//! ```text
//! === a scenario, with a database of its own
//! CREATE TABLE …;          any statements, up to an empty line; the last one's outcome is compared
//! ----
//! 1 | two | NULL           its rows, in any order; or `error DG001 words of the message, detail or hint`
//!
//! get users 1              GDPR GET in short: relation, table, values; NULL is `-`, what is hidden `*`
//! ----
//! owner users 1 Ann
//!
//! @other BEGIN             on another session
//! ```
//! Without `----` a statement must succeed. At the end of every scenario the folder must pass `dogwood check`.

mod support {
    pub mod database;
}

use engine::session::Session;
use std::collections::BTreeMap;
use support::database::{Answer, TestDatabase, run};

macro_rules! families {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            family(stringify!($name), include_str!(concat!("scenarios/", stringify!($name), ".sql")));
        })*
    };
}

families! { placement integrity access erasure declaration }

fn family(name: &str, script: &str) {
    let mut problems = Vec::new();
    for scenario in script.split("\n=== ").skip(1) {
        let (title, body) = scenario.split_once('\n').expect("a scenario has steps");
        let database = TestDatabase::open(name);
        let mut sessions: BTreeMap<String, Session> = BTreeMap::new();
        for step in body.split("\n\n").map(str::trim).filter(|step| !step.is_empty()) {
            if let Some(problem) = run_step(&database, &mut sessions, step) {
                problems.push(format!("{name}: {title}\n{problem}"));
            }
        }
        drop(sessions);
        let findings = database.close();
        if !findings.is_empty() {
            problems.push(format!("{name}: {title}\ndogwood check: {findings:#?}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

/// What is wrong with a step's outcome, if anything is.
fn run_step(database: &TestDatabase, sessions: &mut BTreeMap<String, Session>, step: &str) -> Option<String> {
    let (statement, expected) = match step.split_once("\n----") {
        Some((statement, expected)) => (statement, Some(expected.trim())),
        None => (step, None),
    };
    let (name, sql) = match statement.strip_prefix('@').and_then(|rest| rest.split_once(' ')) {
        Some((name, sql)) => (name, sql),
        None => ("", statement),
    };
    let lines: Vec<&str> = sql.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
    let sql = lines.join("\n");
    let session = sessions.entry(name.to_string()).or_insert_with(|| database.session());
    let got = if let Some(subject) = sql.strip_prefix("get ") {
        run(session, &format!("GDPR GET {subject}")).map(|answer| answer.rows.iter().map(|row| short(row)).collect())
    } else {
        run(session, &sql).map(lines_of)
    };
    let mut problem = match (got, expected) {
        (Ok(_), None) => return None,
        (Err(error), expected) => {
            let all = format!(
                "{} {} {} {}",
                error.code,
                error.message,
                error.detail.as_deref().unwrap_or_default(),
                error.hint.as_deref().unwrap_or_default()
            );
            let wanted = expected.and_then(|expected| expected.strip_prefix("error "));
            if wanted.is_some_and(|wanted| {
                let (code, words) = wanted.split_once(' ').unwrap_or((wanted, ""));
                error.code == code && all.contains(words)
            }) {
                return None;
            }
            format!("error {all}")
        }
        (Ok(mut rows), Some(expected)) => {
            let mut wanted: Vec<String> = expected.lines().map(|line| line.trim().to_string()).collect();
            rows.sort();
            wanted.sort();
            if rows == wanted {
                return None;
            }
            rows.join("\n")
        }
    };
    problem = format!("--- step\n{step}\n--- got\n{problem}");
    Some(problem)
}

fn lines_of(answer: Answer) -> Vec<String> {
    let cell = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "NULL".into());
    answer.rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join(" | ")).collect()
}

/// `owner messages 1 - *`
fn short(row: &[Option<String>]) -> String {
    let cell = |position: usize| row[position].as_deref().unwrap_or_default();
    let hidden: Vec<&str> = cell(4).trim_matches(['{', '}']).split(',').collect();
    let mut line = format!("{} {}", cell(1), cell(0));
    for (name, value) in members(cell(3)) {
        line.push(' ');
        match value.as_str() {
            "null" if hidden.contains(&name.as_str()) => line.push('*'),
            _ if hidden.contains(&name.as_str()) => panic!("hidden column {name} shows"),
            "null" => line.push('-'),
            value => line.push_str(value.trim_matches('"')),
        }
    }
    line
}

/// The members of a flat JSON object, in order; the scripts' values hold no commas or quotes.
fn members(object: &str) -> Vec<(String, String)> {
    let inner = object.trim().trim_start_matches('{').trim_end_matches('}');
    inner
        .split(", ")
        .map(|member| {
            let (name, value) = member.split_once(": ").expect("a member has a value");
            (name.trim_matches('"').to_string(), value.to_string())
        })
        .collect()
}
