//! The tables of Lobsters (`benches/apps/lobsters/schema.sql`) as each system takes them.
//!
//! One text for all: Dogwood gets it as it is, PostgreSQL without the annotations, MariaDB besides without foreign keys (MyRocks has
//! none) and in its own words. All have the same keys and indexes; what ownership indexes by itself in Dogwood is an index by statement elsewhere.

use std::collections::BTreeSet;

const ANNOTATED: &str = include_str!("../../../../apps/lobsters/schema.sql");
/// What whoever looks at the pages' slowest queries adds, in every system.
const ADDED: &str = "CREATE INDEX stories_merged ON stories(merged_story_id);\n";

/// As it is.
pub fn annotated() -> String {
    format!("{ANNOTATED}\n{ADDED}")
}

/// For PostgreSQL: plain foreign keys, an index on each of them.
pub fn plain() -> String {
    let text = without_rules(ANNOTATED)
        .replace("CREATE DATA_SUBJECT TABLE", "CREATE TABLE")
        .replace("REFERENCES ONLY", "REFERENCES")
        .replace("OWNED_BY", "REFERENCES")
        .replace("ACCESSES", "REFERENCES");
    text + ADDED + &indexes_on_references()
}

/// For MariaDB with ANSI quotes.
pub fn mariadb() -> String {
    let mut text = String::new();
    for line in plain().lines() {
        let line = match line.find(" REFERENCES ") {
            Some(at) if line.ends_with(',') => format!("{},", &line[..at]),
            Some(at) => line[..at].to_string(),
            None => line.to_string(),
        };
        text += &line
            .replace("SERIAL PRIMARY KEY", "INT AUTO_INCREMENT PRIMARY KEY")
            .replace("  key VARCHAR", "  \"key\" VARCHAR")
            .replace("TIMESTAMP", "DATETIME(6)")
            .replace("now()", "now(6)");
        text.push('\n');
    }
    text
}

/// The tables of a script.
pub fn tables() -> Vec<&'static str> {
    let lines = ANNOTATED.lines().filter_map(|line| line.split_once("TABLE "));
    lines.map(|(_, rest)| rest.trim_end_matches(" (")).collect()
}

/// The statements of a script.
pub fn statements(script: &str) -> impl Iterator<Item = String> {
    let lines: Vec<&str> = script.lines().filter(|line| !line.starts_with("--")).collect();
    let text = lines.join("\n");
    let all: Vec<String> = text.split(';').map(|one| one.trim().to_string()).filter(|one| !one.is_empty()).collect();
    all.into_iter()
}

/// Takes the rules ON DEL out of the tables' bodies.
fn without_rules(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("ON DEL ") {
            continue;
        }
        if line.starts_with(')')
            && let Some(last) = lines.last_mut()
        {
            *last = last.trim_end_matches(',').into();
        }
        lines.push(line.into());
    }
    lines.join("\n") + "\n"
}

/// An index on each column that refers to a table and begins no index yet.
fn indexes_on_references() -> String {
    let mut begun = BTreeSet::new();
    let mut wanted = Vec::new();
    let mut table = "";
    for line in ANNOTATED.lines() {
        if let Some((_, rest)) = line.split_once(" ON ").filter(|_| line.contains("INDEX")) {
            let mut words = rest.split(['(', ',', ')']);
            begun.insert((words.next().unwrap_or_default(), words.next().unwrap_or_default()));
        } else if let Some((_, rest)) = line.split_once("TABLE ") {
            table = rest.trim_end_matches(" (");
        } else if [" OWNED_BY ", " ACCESSES ", " REFERENCES "].iter().any(|word| line.contains(word)) {
            wanted.push((table, line.split_whitespace().next().unwrap_or_default()));
        }
    }
    wanted.retain(|place| !begun.contains(place));
    wanted
        .iter()
        .map(|(table, column)| format!("CREATE INDEX {table}_{column}_reference ON {table}({column});\n"))
        .collect()
}
