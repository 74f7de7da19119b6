//! Every statement that real clients were seen to send must parse.

use planner::parse::parse;
use std::fs;
use std::path::Path;

fn captured(name: &str, text: &str) -> Vec<String> {
    if name == "dump.sql" {
        return dump_statements(text);
    }
    text.lines()
        .filter_map(|line| line.strip_prefix("- ").or_else(|| line.strip_prefix("N ")).map(|sql| (line, sql)))
        // pgbench's numbers were captured as N.
        .map(|(line, sql)| if line.starts_with("N ") { replace_numbers(sql) } else { sql.to_string() })
        // Line ends were captured as blanks, which these two comments of pgcli's cannot bear.
        .map(|sql| {
            sql.replace("-- non-composite types ", "")
                .replace("-- composite type, but not a table ", "")
                .replace("-- ignore array types ", "")
        })
        .collect()
}

fn replace_numbers(sql: &str) -> String {
    sql.replace("(N)", "(1)").replace("=N)", "=1)").replace(" N", " 1").replace(",N", ",1").replace("(N,", "(1,")
}

/// A plain dump without psql's own commands and COPY's data.
fn dump_statements(text: &str) -> Vec<String> {
    let mut kept = String::new();
    let mut in_data = false;
    for line in text.lines() {
        if in_data {
            in_data = line != "\\.";
        } else if !line.starts_with('\\') {
            in_data = line.starts_with("COPY ") && line.ends_with("FROM stdin;");
            kept.push_str(line);
            kept.push('\n');
        }
    }
    vec![kept]
}

#[test]
fn captured_statements_parse() {
    let folder = Path::new("tests/clients");
    let mut failures = Vec::new();
    let mut count = 0;
    let mut files: Vec<_> = fs::read_dir(folder).expect("fixtures").map(|entry| entry.expect("entry").path()).collect();
    files.sort();
    for file in files {
        let name = file.file_name().expect("a file").to_string_lossy().to_string();
        for sql in captured(&name, &fs::read_to_string(&file).expect("readable")) {
            match parse(&sql) {
                Ok(statements) => count += statements.len(),
                Err(error) => {
                    let at = error.position.unwrap_or(1) as usize - 1;
                    let near: String = sql.chars().skip(at.saturating_sub(60)).take(120).collect();
                    failures.push(format!("{name}: {error} … {near}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of {count} fail:\n{}", failures.len(), failures.join("\n"));
    assert!(count > 400, "the fixtures are missing: only {count} statements");
}
