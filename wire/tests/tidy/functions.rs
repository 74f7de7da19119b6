//! How long functions are: from `fn` to the brace that ends it, which rustfmt puts below its beginning.

/// (name, lines) of each function with a body of its own lines.
pub fn lengths(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        let Some(name) = name(line) else { continue };
        if line.ends_with([';', '}']) {
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let ends = |line: &&str| {
            line.strip_prefix(indent)
                .is_some_and(|rest| rest.starts_with('}') || rest.ends_with(';') && !rest.starts_with(' '))
        };
        let length = lines[first + 1..].iter().position(ends).map_or(0, |last| last + 2);
        found.push((name.to_string(), length));
    }
    found
}

/// The name of the function that a line begins.
fn name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    if let Some(public) = rest.strip_prefix("pub") {
        rest = public
            .strip_prefix('(')
            .and_then(|scope| scope.split_once(')'))
            .map_or(public, |(_, rest)| rest)
            .trim_start();
    }
    for word in ["const ", "async ", "unsafe "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let name = rest.strip_prefix("fn ")?;
    name.split(|other: char| !other.is_alphanumeric() && other != '_').next()
}

#[test]
fn functions_are_measured() {
    let text =
        "fn one() {}\nimpl X {\n    pub(crate) const fn two(\n        a: u8,\n    ) -> u8 {\n        a\n    }\n}\n";
    assert_eq!(lengths(text), [("two".to_string(), 5)]);
}
