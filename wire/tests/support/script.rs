//! Scripts of scenarios: statements on sessions of a database of their own, each with what is expected of it.
//!
//! ```text
//! === a scenario
//! SELECT …                 any statements, up to an empty line
//! ----
//! …                        what is expected; without `----` they must succeed
//!
//! @other BEGIN             on another session
//!
//! eventually SELECT …      asked again until it is as expected
//! ```
//! What fits what is expected is each suite's own matter. At the end the folder must pass `dogwood check`.

use crate::database::TestDatabase;
use engine::session::Session;
use std::collections::BTreeMap;

/// One step of a scenario.
#[allow(dead_code, reason = "each suite is a crate of its own, and looks at what it needs")]
pub struct Step<'s> {
    /// All of it.
    pub text: &'s str,
    /// The session's name.
    pub who: &'s str,
    /// The statements.
    pub sql: &'s str,
    /// Whether they may be asked again.
    pub eventually: bool,
    /// What stands behind `----`.
    pub expected: Option<&'s str>,
}

impl<'s> Step<'s> {
    fn of(text: &'s str) -> Step<'s> {
        let (statement, expected) = match text.split_once("\n----") {
            Some((statement, expected)) => (statement, Some(expected.trim())),
            None => (text, None),
        };
        let (eventually, statement) = match statement.strip_prefix("eventually ") {
            Some(statement) => (true, statement),
            None => (false, statement),
        };
        let (who, sql) = match statement.strip_prefix('@') {
            Some(addressed) => addressed.split_once(' ').expect("a session and a statement"),
            None => ("", statement),
        };
        Step { text, who, sql, eventually, expected }
    }
}

/// Runs every scenario of a script. `run_step` says what is wrong with a step's outcome, if anything is.
pub fn run_script(
    name: &str,
    script: &str,
    run_step: impl Fn(&TestDatabase, &mut Session, &Step<'_>) -> Option<String>,
) {
    let mut problems = Vec::new();
    for scenario in script.split("\n=== ").skip(1) {
        let (title, body) = scenario.split_once('\n').expect("a scenario has steps");
        let database = TestDatabase::open(name);
        let mut sessions: BTreeMap<&str, Session> = BTreeMap::new();
        for step in body.split("\n\n").map(str::trim).filter(|step| !step.is_empty()) {
            let step = Step::of(step);
            let session = sessions.entry(step.who).or_insert_with(|| database.session());
            if let Some(problem) = run_step(&database, session, &step) {
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
