//! What is said of queries and views, and that it is what happens: scripts in `explain/`, run against databases in
//! this process.
//!
//! ```text
//! === a scenario, with a database of its own
//! SELECT …                      any statements, up to an empty line; the last one's rows are compared, in order
//! ----
//! Path: one-shot                a row a line, cells parted by " | "; `#` stands for any number, `…` for any words
//!
//! SELECT … WHERE g = 4          repeated, as clients do, and given time: a view that is earned is filled
//! ---- five times
//!
//! @other BEGIN                  on another session
//! ```
//! `error 0A000 words` stands for an error that has them; notices stand behind the rows. Views that queries have
//! earned are waited for, and an EXPLAIN that meets one on its way is asked again. So is a statement after `eventually`.

#[path = "support/database.rs"]
mod database;
#[path = "support/script.rs"]
mod script;

use database::{TestDatabase, run};
use engine::session::Session;
use script::{Step, run_script};
use std::time::{Duration, Instant};

macro_rules! scripts {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run_script(stringify!($name), include_str!(concat!("explain/", stringify!($name), ".sql")), run_step);
        })*
    };
}

scripts! { paths ways analyze inside memory filling subject }

/// What is wrong with a step's outcome, if anything is.
fn run_step(database: &TestDatabase, session: &mut Session, step: &Step<'_>) -> Option<String> {
    let Step { sql, expected, eventually, .. } = *step;
    let times = if expected == Some("five times") { 5 } else { 1 };
    let mut shown = String::new();
    for _ in 0..times {
        shown = outcome(session, sql);
    }
    let until = Instant::now() + Duration::from_mins(1);
    let on_its_way = |shown: &str| {
        let passes = |word: &&str| shown.contains(*word) && !expected.is_some_and(|expected| expected.contains(*word));
        sql.starts_with("EXPLAIN") && ["was just asked for", "is being filled"].iter().any(passes)
    };
    let unfit = |shown: &str| eventually && !expected.is_some_and(|expected| fits(expected, shown));
    while (on_its_way(&shown) || unfit(&shown)) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(2));
        shown = outcome(session, sql);
    }
    let failed = shown.starts_with("error ");
    if times > 1 {
        wait_for_views(database);
    }
    match expected {
        None | Some("five times") if failed => Some(format!("{sql}\n{shown}")),
        None | Some("five times") => None,
        Some(expected) if fits(expected, &shown) => None,
        Some(expected) => Some(format!("{sql}\nexpected:\n{expected}\ngot:\n{shown}")),
    }
}

fn outcome(session: &mut Session, sql: &str) -> String {
    match run(session, sql) {
        Ok(answer) => {
            let cell = |cell: Option<String>| cell.unwrap_or_else(|| "NULL".into());
            let rows = answer.rows.into_iter();
            let mut lines: Vec<String> =
                rows.map(|row| row.into_iter().map(cell).collect::<Vec<_>>().join(" | ")).collect();
            lines.extend(session.take_notices().into_iter().map(|notice| {
                let more = [notice.detail, notice.hint].into_iter().flatten().map(|part| format!("; {part}"));
                format!("{} {} {}{}", notice.severity, notice.code, notice.message, more.collect::<String>())
            }));
            lines.join("\n")
        }
        Err(error) => {
            let more = [error.detail, error.hint].into_iter().flatten().map(|part| format!("; {part}"));
            format!("error {} {}{}", error.code, error.message, more.collect::<String>())
        }
    }
}

/// Whether lines are those expected, line by line.
fn fits(expected: &str, shown: &str) -> bool {
    let (expected, shown): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), shown.lines().collect());
    expected.len() == shown.len() && expected.iter().zip(&shown).all(|(pattern, line)| fits_line(pattern, line))
}

fn fits_line(pattern: &str, line: &str) -> bool {
    let Some(at) = pattern.find(['#', '…']) else { return pattern == line };
    let Some(rest) = line.strip_prefix(&pattern[..at]) else { return false };
    if pattern[at..].starts_with('#') {
        let digits = |text: &str| text.find(|next: char| !next.is_ascii_digit()).unwrap_or(text.len());
        let whole = digits(rest);
        let fraction = rest[whole..].strip_prefix('.').map_or(0, digits);
        let end = if fraction > 0 { whole + 1 + fraction } else { whole };
        return whole > 0 && fits_line(&pattern[at + 1..], &rest[end..]);
    }
    let after = &pattern[at + '…'.len_utf8()..];
    rest.char_indices().map(|(index, _)| index).chain([rest.len()]).any(|index| fits_line(after, &rest[index..]))
}

fn wait_for_views(database: &TestDatabase) {
    let mut session = database.session();
    let until = Instant::now() + Duration::from_mins(2);
    loop {
        let unfinished = "SELECT name FROM dogwood.views WHERE stage IN ('waiting', 'hydrating')";
        let answer = run(&mut session, unfinished).expect("dogwood.views can be read");
        if answer.rows.is_empty() {
            return;
        }
        assert!(Instant::now() < until, "views are not filled: {:?}", answer.rows);
        std::thread::sleep(Duration::from_millis(2));
    }
}
