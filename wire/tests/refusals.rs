//! `benches/REFUSALS.md`: everything that is refused with 0A000, read from the sources that refuse it.
//!
//! A refusal is `unsupported("…")` or an error `"0A000"` with its message, perhaps with a hint behind it. Words that are put into
//! it at run time stand in a `const REFUSED` above the call. `DOGWOOD_REFUSALS=write` (what `make refusals` says) makes the page
//! anew; without it the test fails where the page is not what the sources say.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms that refuse, and where their sources stand.
const ROOMS: [(&str, &[&str]); 5] = [
    ("planner", &["planner/src"]),
    (
        "engine",
        &[
            "engine/arrangements/src",
            "engine/operators/src",
            "engine/src",
            "engine/state/src",
            "engine/subject_requests/src",
            "engine/transactions/src",
            "engine/views/src",
        ],
    ),
    ("wire", &["wire/src"]),
    ("storage", &["storage/src"]),
    ("repr", &["storage/repr/src"]),
];

/// Calls that hand on what another one has said, by file and argument.
const HANDED_ON: [(&str, &str); 7] = [
    ("engine/src/session/utility.rs", "command"),
    ("planner/src/parse/created_routine.rs", "refused"),
    ("planner/src/resolve/ddl.rs", "command"),
    ("planner/src/resolve/ddl/alter.rs", "what"),
    ("planner/src/resolve/ddl/create.rs", "refused"),
    ("planner/src/resolve/maintainable.rs", "what"),
    ("planner/src/resolve/statement.rs", "words.join(\" \")"),
];

/// One refusal: its message, and what to do instead.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Refusal {
    message: String,
    hint: Option<String>,
}

fn root() -> PathBuf {
    std::env::current_dir()
        .expect("cargo runs tests in the crate")
        .parent()
        .expect("the crate stands in the project")
        .to_path_buf()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the room's sources can be read") {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
}

/// The string literal that a text begins with, and what follows it.
fn literal(text: &str) -> Option<(String, &str)> {
    let (mut value, mut rest) = (String::new(), text.strip_prefix('"')?);
    loop {
        let at = rest.find(['"', '\\'])?;
        value.push_str(&rest[..at]);
        let (special, after) = (&rest[at..=at], &rest[at + 1..]);
        if special == "\"" {
            return Some((value, after));
        }
        let escaped = after.chars().next()?;
        rest = &after[escaped.len_utf8()..];
        match escaped {
            // A line that goes on.
            '\n' => rest = rest.trim_start(),
            other => value.push(other),
        }
    }
}

/// What stands in the parentheses that have just been opened, and what follows them.
fn enclosed(text: &str) -> (&str, &str) {
    let (mut depth, mut at) = (1, 0);
    while at < text.len() {
        let rest = &text[at..];
        if let Some((_, after)) = literal(rest) {
            at = text.len() - after.len();
            continue;
        }
        let character = rest.chars().next().expect("there is more");
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (&text[..at], &text[at + 1..]);
        }
        at += character.len_utf8();
    }
    (text, "")
}

/// The literal that an argument is or is made from; `None` if it is made elsewhere.
fn said(argument: &str, source: &str, before: &str) -> Option<String> {
    let argument = argument.trim().trim_start_matches('&');
    for macro_name in ["format!(", "format_args!("] {
        if let Some(rest) = argument.strip_prefix(macro_name) {
            return literal(rest.trim_start()).map(|(text, _)| text);
        }
    }
    if argument.starts_with('"') {
        return literal(argument).map(|(text, _)| text);
    }
    let name = argument.split(|character: char| !character.is_ascii_alphanumeric() && character != '_').next()?;
    let declared = source.split_once(&format!("const {name}: &str ="));
    if let Some((_, declared)) = declared {
        return literal(declared.trim_start()).map(|(text, _)| text);
    }
    let (_, made) = before.rsplit_once(&format!("let {name} = "))?;
    if made.starts_with(['"', 'f']) { said(made, "", "") } else { None }
}

/// The items of the last `const REFUSED` before a place: of pairs the second.
fn words_above(before: &str) -> Vec<String> {
    let Some((_, list)) = before.rsplit_once("const REFUSED") else { return Vec::new() };
    let list = list.split_once("= [").map_or("", |(_, list)| list);
    let list = list.split_once("];").map_or("", |(list, _)| list);
    let mut rest = list.trim_start();
    let mut words = Vec::new();
    while !rest.is_empty() {
        if let Some(pair) = rest.strip_prefix('(') {
            let (pair, after) = enclosed(pair);
            words.extend(pair.rsplit_once(", ").and_then(|(_, second)| literal(second.trim()).map(|(text, _)| text)));
            rest = after;
        } else if let Some((word, after)) = literal(rest) {
            words.push(word);
            rest = after;
        }
        let next = rest.find(['"', '(']).unwrap_or(rest.len());
        rest = &rest[next..];
    }
    words
}

/// With what is put in at run time left open; `{word}` is each of the words.
fn written_out(message: &str, words: &[String]) -> Vec<String> {
    let Some((before, after)) = message.split_once('{') else { return vec![message.to_owned()] };
    let Some((name, after)) = after.split_once('}') else { return vec![message.to_owned()] };
    let choices = if words.is_empty() || name != "word" { vec!["…".to_owned()] } else { words.to_vec() };
    choices.iter().flat_map(|word| written_out(&format!("{before}{word}{after}"), &[])).collect()
}

/// The hint in a chain of calls behind an error.
fn hint(mut rest: &str) -> Option<String> {
    loop {
        rest = rest.trim_start().strip_prefix('.')?;
        let (name, arguments) = rest.split_once('(')?;
        let (argument, after) = enclosed(arguments);
        if name == "hint" {
            return said(argument, "", "").map(|text| written_out(&text, &[]).remove(0));
        }
        rest = after;
    }
}

/// All refusals of one source; panics where one cannot be read, so that none is left out.
fn refusals(name: &str, source: &str, into: &mut BTreeSet<Refusal>) {
    let source = source.split("\n#[cfg(test)]").next().unwrap_or(source);
    let starts = ["unsupported(", "new(\"0A000\",", "refused = Some(", "Action::Refused("];
    for start in starts {
        for (at, _) in source.match_indices(start) {
            let line = &source[source[..at].rfind('\n').map_or(0, |end| end + 1)..at];
            // Comments, definitions, patterns.
            let is_pattern = start == "Action::Refused(" && source[at + start.len()..].starts_with("what)");
            let own = line.ends_with("::") || line.ends_with('.') || start != "unsupported(";
            if line.trim_start().starts_with("//") || line.contains("fn ") || is_pattern || !own {
                continue;
            }
            let (arguments, after) = enclosed(&source[at + start.len()..]);
            let words = words_above(&source[..at]);
            let messages = match said(arguments, source, &source[..at]) {
                Some(message) => written_out(&message, if line.contains("self.") { &words } else { &[] }),
                None if HANDED_ON.contains(&(name, arguments.trim())) || source.contains("fn unsupported(") => continue,
                None if !words.is_empty() => words,
                None => panic!("{name}: put the words of {start}{arguments}) into a const REFUSED above it"),
            };
            for message in messages {
                let message = if start == "new(\"0A000\"," { message } else { format!("{message} is not supported") };
                // What is all made at run time says nothing here.
                if message.contains(char::is_alphabetic) && message != "… is not supported" {
                    into.insert(Refusal { message, hint: hint(after) });
                }
            }
        }
    }
}

fn page() -> String {
    let root = root();
    let mut page = String::from(
        "# What is refused\n\nEverything that answers SQLSTATE `0A000`, by the room that refuses it, with its hint. Made from the \
         sources by `make refusals`;\na test (`wire/tests/refusals.rs`) holds it to them. `…` is what the statement said.\n",
    );
    for (room, folders) in ROOMS {
        let (mut files, mut found) = (Vec::new(), BTreeSet::new());
        folders.iter().for_each(|folder| sources(&root.join(folder), &mut files));
        for path in files {
            let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
            refusals(&name, &fs::read_to_string(&path).expect("a source is text"), &mut found);
        }
        if found.is_empty() {
            continue;
        }
        page.push_str(&format!("\n## {room}\n\n"));
        for Refusal { message, hint } in found {
            let hint = hint.map(|hint| format!(": {hint}")).unwrap_or_default();
            page.push_str(&format!("- {message}{hint}\n"));
        }
    }
    page
}

#[test]
fn the_page_says_what_the_sources_refuse() {
    let (path, page) = (root().join("benches/REFUSALS.md"), page());
    assert!(page.lines().count() > 100, "the refusals were found");
    if std::env::var_os("DOGWOOD_REFUSALS").is_some() {
        fs::write(&path, &page).expect("the page can be written");
    }
    let stands = fs::read_to_string(&path).unwrap_or_default();
    let gone: Vec<&str> = stands.lines().filter(|line| !page.lines().any(|other| other == *line)).collect();
    let new: Vec<&str> = page.lines().filter(|line| !stands.lines().any(|other| other == *line)).collect();
    assert!(
        stands == page,
        "benches/REFUSALS.md is not up to date: run `make refusals`.\ngone {gone:#?}\nnew {new:#?}"
    );
}

#[test]
fn refusals_are_read_from_sources() {
    let source = r#"
        // PlanError::unsupported("a comment")
        return Err(PlanError::unsupported("a partial index").hint("index the column \"plain\""));
        Err(PlanError::new("0A000", format!("{word} cannot be applied to \"{name}\"")).at(position))
        const REFUSED: [(&str, &str); 2] = [("A", "one thing"), ("B", "another")];
        self.unsupported(what);
        create.refused = Some("inheritance".to_string());
        #[cfg(test)]
    "#;
    let mut found = BTreeSet::new();
    refusals("x.rs", source, &mut found);
    let shown: Vec<String> = found.iter().map(|found| format!("{}|{:?}", found.message, found.hint)).collect();
    assert_eq!(
        shown,
        [
            "a partial index is not supported|Some(\"index the column \\\"plain\\\"\")",
            "another is not supported|None",
            "inheritance is not supported|None",
            "one thing is not supported|None",
            "… cannot be applied to \"…\"|None",
        ]
    );
}
