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

#[path = "support/database.rs"]
mod database;
#[path = "support/script.rs"]
mod script;

use database::{Answer, TestDatabase, run};
use engine::session::Session;
use script::{Step, run_script};

macro_rules! families {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run_script(stringify!($name), include_str!(concat!("scenarios/", stringify!($name), ".sql")), run_step);
        })*
    };
}

families! { placement integrity access erasure declaration concurrency }

/// What is wrong with a step's outcome, if anything is.
fn run_step(_: &TestDatabase, session: &mut Session, step: &Step<'_>) -> Option<String> {
    let Step { text, sql, expected, .. } = *step;
    let lines: Vec<&str> = sql.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
    let sql = lines.join("\n");
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
    problem = format!("--- step\n{text}\n--- got\n{problem}");
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

/// Writers, members that come and go, and erasures of joint owners, all at once: some are refused, and what is left must
/// be whole.
#[test]
fn erasures_among_writers() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 60;
    const REFUSALS: [&str; 7] = ["DG001", "DG002", "DG003", "23503", "23505", "40001", "40P01"];
    let database = TestDatabase::open("concurrency");
    let mut session = database.session();
    run(
        &mut session,
        "CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY);
         CREATE TABLE grps (gid INT PRIMARY KEY, admin INT OWNED_BY users(id));
         CREATE TABLE assoc (id INT PRIMARY KEY, user_id INT OWNED_BY users(id), group_id INT OWNS grps(gid));
         CREATE TABLE posts (id INT PRIMARY KEY, grp INT NOT NULL OWNED_BY grps(gid), ref INT REFERENCES posts(id));
         CREATE TABLE replies (id INT PRIMARY KEY, post INT OWNED_BY posts(id), author INT OWNED_BY users(id));
         INSERT INTO users VALUES (0), (1), (2), (3), (4), (5);
         INSERT INTO grps VALUES (0, 0), (1, 1), (2, 2)",
    )
    .expect("schema");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let database = &database;
            scope.spawn(move || {
                let mut session = database.session();
                for round in 0..ROUNDS {
                    let id = thread * 1_000_000 + round * 100;
                    let pick =
                        |salt: u64, bound: u64| (thread * 31 + round * 17 + salt * 7 + round * round * 13) % bound;
                    let (user, group) = (pick(1, 6), pick(2, 3));
                    let statements = match pick(3, 8) {
                        0 => vec![format!("GDPR FORGET users {user}")],
                        1 => vec![format!("INSERT INTO users VALUES ({user})")],
                        2 => vec![
                            "BEGIN".into(),
                            format!("INSERT INTO grps VALUES ({group}, {user})"),
                            format!("INSERT INTO assoc VALUES ({id}, {}, {group})", pick(4, 6)),
                            "COMMIT".into(),
                        ],
                        3 => vec![format!("INSERT INTO assoc VALUES ({id}, {user}, {group})")],
                        4 => vec![
                            "BEGIN".into(),
                            format!("INSERT INTO posts VALUES ({id}, {group}, NULL), ({}, {group}, {id})", id + 1),
                            format!("INSERT INTO replies VALUES ({id}, {id}, {user})"),
                            "COMMIT".into(),
                        ],
                        5 => vec![format!("DELETE FROM assoc WHERE user_id = {user}")],
                        6 => vec![format!("UPDATE grps SET admin = {user} WHERE gid = {group}")],
                        _ => vec![format!("DELETE FROM replies WHERE author = {user}")],
                    };
                    for sql in statements {
                        if let Err(error) = run(&mut session, &sql) {
                            assert!(REFUSALS.contains(&error.code), "{sql}: {} {error} {:?}", error.code, error.detail);
                            let _idle = run(&mut session, "ROLLBACK");
                            break;
                        }
                    }
                }
            });
        }
    });
    drop(session);
    assert_eq!(database.close(), Vec::<String>::new());
}
