//! How many fields structs have: the lines between the braces, one level in, that name one.

/// (name, fields) of each struct with named fields on lines of their own.
pub fn fields(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        let Some(name) = name(line) else { continue };
        if line.ends_with([';', '}']) {
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let within = lines[first + 1..].iter().take_while(|line| !line.starts_with(&format!("{indent}}}")));
        let count = within.filter(|line| line.strip_prefix(indent).is_some_and(is_field)).count();
        found.push((name.to_string(), count));
    }
    found
}

/// What follows `pub`, `pub(crate)` and the like.
fn without_visibility(text: &str) -> &str {
    let Some(public) = text.strip_prefix("pub") else { return text };
    let scope = public.strip_prefix('(').and_then(|scope| scope.split_once(')'));
    scope.map_or(public, |(_, rest)| rest).trim_start()
}

fn identifier(text: &str) -> &str {
    text.split(|other: char| !other.is_alphanumeric() && other != '_').next().unwrap_or_default()
}

/// The name of the struct that a line begins.
fn name(line: &str) -> Option<&str> {
    Some(identifier(without_visibility(line.trim_start()).strip_prefix("struct ")?))
}

/// The name of the type that a line declares, if it stands at a file's outermost level.
pub fn type_name(line: &str) -> Option<&str> {
    let line = without_visibility(line);
    let declared = ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| line.strip_prefix(kind))?;
    Some(identifier(declared)).filter(|name| !name.is_empty())
}

/// Whether a line, without the struct's own indent, is a field of it.
fn is_field(line: &str) -> bool {
    let Some(line) = line.strip_prefix("    ").filter(|line| !line.starts_with([' ', '/', '#'])) else { return false };
    let field = without_visibility(line);
    let name = identifier(field);
    !name.is_empty() && field[name.len()..].starts_with(": ")
}

#[test]
fn fields_are_counted() {
    let text = "struct Unit;\npub struct Row<'a> {\n    /// Text: of it.\n    pub(crate) one: &'a str,\n    #[serde(default)]\n    two: Vec<(\n        u8,\n    )>,\n}\nstruct Pair(u8, u8);\n";
    assert_eq!(fields(text), [("Row".to_string(), 2)]);
}

#[test]
fn types_are_found_by_name() {
    let found: Vec<&str> =
        "pub(crate) enum One<'a> {\nstruct Two(u8);\n    type Inner = u8;\ntype Three<T> = T;\nstructure"
            .lines()
            .filter_map(type_name)
            .collect();
    assert_eq!(found, ["One", "Two", "Three"]);
}
