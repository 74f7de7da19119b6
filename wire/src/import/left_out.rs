//! What a dump has that is not here: which object a statement is about, and what leans on one that was left out.

use std::collections::{BTreeMap, BTreeSet};

/// Objects that were left out, by their names as they may be written.
#[derive(Default)]
pub struct LeftOut {
    names: BTreeSet<String>,
    /// Domains that were left out, by name: the types that they are made of.
    domains: BTreeMap<String, String>,
}

/// What a statement is about.
#[derive(Debug, PartialEq, Eq)]
pub struct DumpedObject {
    /// `CREATE TABLE`
    pub command: String,
    /// The object's name, without quotes.
    pub name: String,
}

/// Words between a command and the name of what it is about.
const BETWEEN: [&str; 8] = ["IF", "NOT", "EXISTS", "ONLY", "CONCURRENTLY", "OR", "REPLACE", "UNIQUE"];
/// Kinds of objects of two words, by the first.
const TWO_WORDS: [(&str, &str); 7] = [
    ("MATERIALIZED", "VIEW"),
    ("LARGE", "OBJECT"),
    ("FOREIGN", "TABLE"),
    ("EVENT", "TRIGGER"),
    ("TEXT", "SEARCH"),
    ("DEFAULT", "PRIVILEGES"),
    ("ACCESS", "METHOD"),
];

impl DumpedObject {
    /// Of a statement's text.
    pub fn of(statement: &str) -> DumpedObject {
        let words: Vec<&str> = statement.split_whitespace().take(16).collect();
        let upper = |at: usize| words.get(at).map(|word| word.to_ascii_uppercase()).unwrap_or_default();
        let mut command = vec![upper(0)];
        let mut at = 1;
        if ["CREATE", "ALTER", "DROP", "COMMENT", "GRANT", "REVOKE", "SECURITY"].contains(&command[0].as_str()) {
            while BETWEEN.contains(&upper(at).as_str())
                || ["TEMP", "TEMPORARY", "UNLOGGED", "ON", "LABEL"].contains(&upper(at).as_str())
            {
                at += 1;
            }
            if let "GRANT" | "REVOKE" = command[0].as_str() {
                while at < words.len() && upper(at) != "ON" {
                    at += 1;
                }
                at += 1;
            } else {
                command.push(upper(at));
                at += 1;
                if TWO_WORDS.iter().any(|(one, two)| *one == command[1] && *two == upper(at)) {
                    command.push(upper(at));
                    at += 1;
                }
            }
        }
        while BETWEEN.contains(&upper(at).as_str()) {
            at += 1;
        }
        let name = words.get(at).map(|word| bare(word)).unwrap_or_default();
        DumpedObject { command: command.join(" "), name }
    }
}

impl LeftOut {
    /// This statement was left out.
    pub fn add(&mut self, statement: &str) {
        let DumpedObject { command, name } = DumpedObject::of(statement);
        if !command.starts_with("CREATE") || name.is_empty() {
            return;
        }
        if command == "CREATE DOMAIN"
            && let Some(base) = base_of_domain(statement)
        {
            self.domains.insert(name.clone(), base);
        }
        // An extension brings the type of its name.
        self.names.insert(name);
    }

    /// Which of them an error is about, if it is about one.
    pub fn named_in(&self, message: &str) -> Option<&str> {
        quoted(message).find_map(|name| self.names.iter().find(|known| may_be(known, &bare(name)))).map(String::as_str)
    }

    /// The type that a column has in the place of one that is not here: text, or what a domain is made of.
    pub fn instead_of(&self, name: &str) -> &str {
        self.domains.iter().find(|(known, _)| may_be(known, name)).map_or("text", |(_, base)| base)
    }
}

/// Whether two names may be one object's: of one that has no schema the last part counts.
fn may_be(one: &str, other: &str) -> bool {
    fn last(name: &str) -> Option<&str> {
        name.rsplit('.').next()
    }
    one == other || ((!one.contains('.') || !other.contains('.')) && last(one) == last(other))
}

/// What stands between double quotes.
fn quoted(message: &str) -> impl Iterator<Item = &str> {
    message.split('"').skip(1).step_by(2)
}

/// A name without its quotes, and without what stands right behind it.
fn bare(word: &str) -> String {
    let mut name = String::new();
    let mut inside = false;
    for character in word.chars() {
        match character {
            '"' => inside = !inside,
            '(' | ';' | ',' if !inside => break,
            _ => name.push(character),
        }
    }
    name
}

/// `CREATE DOMAIN d AS type [COLLATE …] [DEFAULT …] [constraint …]`
fn base_of_domain(statement: &str) -> Option<String> {
    let (_, behind) = statement.split_once(" AS ")?;
    let ends = ["COLLATE", "DEFAULT", "CONSTRAINT", "NOT", "NULL", "CHECK"];
    let words = behind.split_whitespace().take_while(|word| !ends.iter().any(|end| word.starts_with(end)));
    Some(words.collect::<Vec<_>>().join(" ")).filter(|base| !base.is_empty())
}

/// The type that is not here, if that is what an error says.
pub fn missing_type(message: &str) -> Option<String> {
    if let Some(name) = message.strip_prefix("type \"").and_then(|rest| rest.strip_suffix("\" does not exist")) {
        return Some(bare(name));
    }
    message.strip_prefix("type ")?.strip_suffix(" is not supported").map(str::to_owned)
}

/// A statement with another type in the place of that one; none if it is not there.
pub fn with_type(statement: &str, missing: &str, other: &str) -> Option<String> {
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '.' | '"');
    let (mut out, mut rest, mut changed) = (String::new(), statement, false);
    while let Some(start) = rest.find(is_part) {
        let end = rest[start..].find(|character| !is_part(character)).map_or(rest.len(), |length| start + length);
        let word = &rest[start..end];
        out.push_str(&rest[..start]);
        let is_column = out.trim_end().ends_with(['(', ',', '\'']);
        let name = bare(word);
        let is_it = name == missing
            || (!missing.contains('.') && name.rsplit('.').next() == Some(missing) && name.contains('.'));
        if is_it && !is_column {
            out.push_str(other);
            changed = true;
        } else {
            out.push_str(word);
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_about_something() {
        for (statement, command, name) in [
            ("CREATE TABLE public.users (\n id integer)", "CREATE TABLE", "public.users"),
            ("CREATE UNIQUE INDEX \"a b\" ON t (x)", "CREATE INDEX", "a"),
            ("CREATE OR REPLACE FUNCTION public.touch() RETURNS trigger", "CREATE FUNCTION", "public.touch"),
            ("CREATE EXTENSION IF NOT EXISTS citext WITH SCHEMA public", "CREATE EXTENSION", "citext"),
            ("CREATE MATERIALIZED VIEW public.mv AS SELECT 1", "CREATE MATERIALIZED VIEW", "public.mv"),
            ("ALTER TABLE ONLY public.users ADD CONSTRAINT x", "ALTER TABLE", "public.users"),
            ("COMMENT ON COLUMN public.users.name IS 'x'", "COMMENT COLUMN", "public.users.name"),
            ("GRANT SELECT ON TABLE public.users TO app", "GRANT", "TABLE"),
            ("COPY public.users (id, name) FROM stdin", "COPY", "public.users"),
        ] {
            let found = DumpedObject::of(statement);
            assert_eq!((found.command.as_str(), found.name.as_str()), (command, name), "{statement}");
        }
    }

    #[test]
    fn what_leans_on_it_is_found() {
        let mut left = LeftOut::default();
        left.add("CREATE TABLE public.users (id integer)");
        left.add("CREATE DOMAIN public.small AS integer\n\tCONSTRAINT c CHECK ((VALUE > 0))");
        assert_eq!(left.named_in("relation \"public.users\" does not exist"), Some("public.users"));
        assert_eq!(left.named_in("relation \"users\" does not exist"), Some("public.users"));
        assert_eq!(left.named_in("relation \"other.users\" does not exist"), None);
        assert_eq!(left.instead_of("public.small"), "integer");
        assert_eq!(left.instead_of("tsvector"), "text");
        left.add("CREATE DOMAIN other.small AS character varying(5)");
        assert_eq!(left.instead_of("public.small"), "integer");
        assert_eq!(left.instead_of("other.small"), "character varying(5)");
    }

    #[test]
    fn types_are_replaced_where_they_are_types() {
        let text = "CREATE TABLE t (\n tsvector tsvector,\n x public.citext[] DEFAULT ''::public.citext)";
        assert_eq!(
            with_type(text, "tsvector", "text").as_deref(),
            Some("CREATE TABLE t (\n tsvector text,\n x public.citext[] DEFAULT ''::public.citext)")
        );
        let changed = with_type(text, "public.citext", "text").unwrap();
        assert!(changed.ends_with("x text[] DEFAULT ''::text)"), "{changed}");
        assert_eq!(with_type(text, "money", "text"), None);
        assert_eq!(missing_type("type tsvector is not supported").as_deref(), Some("tsvector"));
        assert_eq!(missing_type("type \"public.citext\" does not exist").as_deref(), Some("public.citext"));
    }
}
