//! `dogwood lint`: reads a schema as PostgreSQL dumps it, and says what annotations it is missing, each with its line.
//!
//! ```text
//! pg_dump's text ─▶ dump ─▶ statement ─▶ engine::lint::LintedSchema ─▶ remarks ─▶ text, or JSON
//!                      └──▶ rows of COPY: passed over
//! ```
//! Needs no server and no folder, and writes nothing. What is not understood is named. Where that is a table, or what ties one to
//! others, the schema counts as not read.

use crate::import::Source;
use crate::import::dump::{Dump, Piece};
use crate::import::left_out::{DumpedObject, LeftOut, missing_type, with_type};
use engine::SqlError;
use engine::lint::{LintedSchema, Remark, Severity};
use repr::Jsonb;
use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::io::{self, BufRead};
use std::path::PathBuf;
use std::sync::Arc;

/// A table has no more columns than that, and so no more types that are not here.
const TYPES_MAX: usize = 1_600;
/// What says nothing of what tables there are, and may be long.
const PASSED_OVER: [&str; 18] = [
    "ANALYZE", "BEGIN", "CLUSTER", "COMMIT", "COPY", "DELETE", "END", "GRANT", "INSERT", "LOCK", "REFRESH", "REVOKE",
    "ROLLBACK", "SELECT", "START", "TRUNCATE", "UPDATE", "VACUUM",
];
/// Types of extensions that have more in parentheses than a number of letters.
const MODIFIED: [&str; 5] = ["geometry", "geography", "halfvec", "sparsevec", "vector"];
/// Commands of psql that change nothing of the schema.
const COMMANDS: [&str; 12] = [
    "\\restrict",
    "\\unrestrict",
    "\\encoding",
    "\\set",
    "\\unset",
    "\\echo",
    "\\qecho",
    "\\pset",
    "\\timing",
    "\\x",
    "\\q",
    "\\.",
];

/// What is to be looked at, and how it is told.
#[derive(Debug, PartialEq, Eq)]
pub struct Lint {
    /// As JSON, rather than as text.
    pub json: bool,
    /// Tables whose columns look personal and are not, as somebody has judged.
    pub impersonal: BTreeSet<String>,
    /// The dump: text, an archive or a folder of pg_dump; `-` is standard input.
    pub file: PathBuf,
}

/// How it came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No annotation is missing.
    Clean,
    /// Some are.
    Missing,
    /// A table could not be read.
    Unread,
}

/// A statement that is not understood.
struct Unread {
    line: u64,
    subject: DumpedObject,
    why: String,
    /// It makes a table, or ties it to others.
    matters: bool,
}

/// What was found.
pub struct Findings {
    file: String,
    tables: usize,
    personal: usize,
    remarks: Vec<Remark>,
    unread: Vec<Unread>,
    /// Of the command line, and of no table.
    unknown: Vec<String>,
}

/// Reads the file.
///
/// # Errors
/// Why it cannot be read.
pub fn run(lint: &Lint) -> Result<Findings, String> {
    let mut source = Source::open(&lint.file)?;
    let mut reader = Reader::default();
    let failed = |error: io::Error| format!("could not read \"{}\": {error}", lint.file.display());
    reader.read(&mut Dump::new(&mut source.text)).map_err(failed)?;
    source.end()?;
    let Reader { schema, unread, .. } = reader;
    let is_impersonal = |name: &String| lint.impersonal.contains(name);
    let mut remarks = schema.remarks();
    let tables: BTreeSet<String> = remarks.iter().map(|remark| remark.row.table_name.clone()).collect();
    remarks.retain(|remark| {
        let is_judged = is_impersonal(&remark.row.table_name) && remark.is_missing;
        remark.row.severity != Severity::Info && !is_judged
    });
    remarks.sort_by_key(|remark| (remark.line, remark.row.severity));
    let (count, personal) = schema.counts();
    let unknown = lint.impersonal.iter().filter(|name| !tables.contains(*name)).cloned().collect();
    Ok(Findings { file: lint.file.display().to_string(), tables: count, personal, remarks, unread, unknown })
}

/// A schema that is read from a dump.
#[derive(Default)]
pub(crate) struct Reader {
    pub(crate) schema: LintedSchema,
    left_out: LeftOut,
    unread: Vec<Unread>,
    /// What columns are of whose type is not here, and no domain; else text.
    pub(crate) stand_in: Option<&'static str>,
}

impl Reader {
    /// Reads all of it.
    pub(crate) fn read(&mut self, dump: &mut Dump<impl BufRead>) -> io::Result<()> {
        while let Some(piece) = dump.next()? {
            match piece {
                Piece::Command(line, command) => {
                    let word = command.split_whitespace().next().unwrap_or_default();
                    if !COMMANDS.contains(&word) {
                        let subject = DumpedObject { command: word.to_owned(), name: String::new() };
                        self.unread(line, subject, "psql's own, and passed over".to_owned(), false);
                    }
                }
                Piece::Statement(line, text) => {
                    self.statement(line, &text);
                    if crate::import::is_copy_in(&text) {
                        while dump.row()?.is_some() {}
                    }
                }
            }
        }
        Ok(())
    }

    fn statement(&mut self, line: u64, text: &str) {
        let subject = DumpedObject::of(text);
        if let Some(path) = search_path(text) {
            self.schema.search(path);
        }
        if is_passed_over(text, &subject) {
            return;
        }
        let mut text = without_modifiers(text);
        for _ in 0..TYPES_MAX {
            let Err(error) = self.schema.read(line, &text) else { return };
            // Of which type a column is does not matter here: again, with one that is.
            let changed = missing_type(&error.message).and_then(|missing| {
                let other = match (self.left_out.instead_of(&missing), self.stand_in) {
                    ("text", Some(other)) => other.to_owned(),
                    (other, _) => other.to_owned(),
                };
                with_type(&text, &missing, &other)
            });
            match changed {
                Some(changed) => text = changed,
                None => return self.failed(line, &text, subject, &error),
            }
        }
    }

    fn failed(&mut self, line: u64, text: &str, subject: DumpedObject, error: &SqlError) {
        let upper = text.to_ascii_uppercase();
        let ties = ["FOREIGN KEY", "PRIMARY KEY", "UNIQUE", "ADD COLUMN", "ATTACH", "INHERIT", "RENAME", "SET SCHEMA"];
        let matters = match subject.command.as_str() {
            "CREATE TABLE" | "CREATE SCHEMA" => true,
            "ALTER TABLE" => ties.iter().any(|tie| upper.contains(tie)),
            "COMMENT COLUMN" | "COMMENT TABLE" => text.contains('@'),
            command => command.starts_with("SECURITY"),
        };
        self.left_out.add(text);
        let hint = error.hint.as_ref().map_or_else(String::new, |hint| format!(" ({hint})"));
        self.unread(line, subject, format!("{}{hint}", error.message), matters);
    }

    /// What of it would have to be known, and is not.
    pub(crate) fn needed(&self) -> impl Iterator<Item = String> {
        let needed = self.unread.iter().filter(|unread| unread.matters);
        needed.map(|Unread { line, subject, why, .. }| {
            format!("line {line}: {} {}: {why}", subject.command, subject.name)
        })
    }

    fn unread(&mut self, line: u64, subject: DumpedObject, why: String, matters: bool) {
        self.unread.push(Unread { line, subject, why, matters });
    }
}

/// Whether a statement says nothing about what tables there are and how they hang together.
fn is_passed_over(text: &str, subject: &DumpedObject) -> bool {
    let DumpedObject { command, .. } = subject;
    let first = command.split(' ').next().unwrap_or_default();
    let rest = &command[first.len()..];
    let is_view = rest.trim_start().starts_with("VIEW") || rest.trim_start().starts_with("MATERIALIZED VIEW");
    let is_remark = first == "COMMENT" && !matches!(rest.trim(), "TABLE" | "COLUMN");
    PASSED_OVER.contains(&first) || is_view || is_remark || text.contains(" OWNER TO ")
}

/// A statement without what extensions' types have in parentheses, which no type that stands for them has.
fn without_modifiers(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    let next = |rest: &str| MODIFIED.iter().filter_map(|name| Some((rest.find(name)?, name.len()))).min();
    while let Some((start, length)) = next(rest) {
        let (before, behind) = rest.split_at(start + length);
        out.push_str(before);
        let is_whole = !rest[..start].ends_with(|before: char| before.is_alphanumeric() || before == '_');
        let end = behind.strip_prefix('(').filter(|_| is_whole).and_then(|inside| inside.find(')'));
        rest = end.map_or(behind, |end| &behind[end + 2..]);
    }
    out + rest
}

/// `SELECT pg_catalog.set_config('search_path', '…', false)`, as pg_dump writes it.
fn search_path(text: &str) -> Option<&str> {
    let (before, rest) = text.split_once("set_config('search_path',")?;
    let (path, _) = rest.trim_start().strip_prefix('\'')?.split_once('\'')?;
    before.trim_start().get(..6)?.eq_ignore_ascii_case("SELECT").then_some(path)
}

impl Findings {
    /// How it came out.
    pub fn verdict(&self) -> Verdict {
        match () {
            () if self.remarks.iter().any(|remark| remark.is_missing) => Verdict::Missing,
            () if !self.unknown.is_empty() || self.unread.iter().any(|unread| unread.matters) => Verdict::Unread,
            () => Verdict::Clean,
        }
    }

    /// How many tables lack an annotation.
    fn missing(&self) -> usize {
        let missing = self.remarks.iter().filter(|remark| remark.is_missing);
        missing.map(|remark| &remark.row.table_name).collect::<BTreeSet<_>>().len()
    }

    /// Remarks that ask for none.
    fn others(&self) -> usize {
        self.remarks.iter().filter(|remark| !remark.is_missing).count()
    }

    /// One object, on one line.
    pub fn json(&self) -> String {
        let remark = |remark: &Remark| {
            let row = &remark.row;
            let hint = row.hint.as_deref().map_or(Jsonb::Null, Jsonb::string);
            let is_statement = row.severity == Severity::Proposal;
            let (hint, statement) = if is_statement { (Jsonb::Null, hint) } else { (hint, Jsonb::Null) };
            object([
                ("line", number(remark.line)),
                ("severity", Jsonb::string(row.severity.name())),
                ("missing", Jsonb::Bool(remark.is_missing)),
                ("table", Jsonb::string(&row.table_name)),
                ("subject", row.subject.as_deref().map_or(Jsonb::Null, Jsonb::string)),
                ("path", row.path.as_deref().map_or(Jsonb::Null, Jsonb::string)),
                ("message", Jsonb::string(&row.message)),
                ("hint", hint),
                ("statement", statement),
            ])
        };
        let unread = |unread: &Unread| {
            object([
                ("line", number(unread.line)),
                ("command", Jsonb::string(&unread.subject.command)),
                ("name", Jsonb::string(&unread.subject.name)),
                ("message", Jsonb::string(&unread.why)),
                ("matters", Jsonb::Bool(unread.matters)),
            ])
        };
        let whole = object([
            ("file", Jsonb::string(&self.file)),
            ("tables", number(self.tables as u64)),
            ("personal", number(self.personal as u64)),
            ("missing", number(self.missing() as u64)),
            ("remarks", array(self.remarks.iter().map(remark))),
            ("not_understood", array(self.unread.iter().map(unread))),
            ("unknown_tables", array(self.unknown.iter().map(Jsonb::string))),
        ]);
        whole.to_string()
    }
}

fn number(value: u64) -> Jsonb {
    value.to_string().parse().map_or(Jsonb::Null, Jsonb::Number)
}

fn array(items: impl Iterator<Item = Jsonb>) -> Jsonb {
    Jsonb::Array(items.collect())
}

fn object<const N: usize>(fields: [(&str, Jsonb); N]) -> Jsonb {
    Jsonb::object(fields.into_iter().map(|(key, value)| (Arc::from(key), value)).collect())
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = &self.file;
        for Remark { line, row, .. } in &self.remarks {
            let path = row.path.as_ref().map_or_else(String::new, |path| format!(" ({path})"));
            writeln!(f, "{file}:{line}: {}: {}: {}{path}", row.severity.name(), row.table_name, row.message)?;
            if let Some(hint) = &row.hint {
                writeln!(f, "    {hint}")?;
            }
        }
        for Unread { line, subject, why, matters } in &self.unread {
            let mut what = subject.command.clone();
            if !subject.name.is_empty() {
                write!(what, " {}", subject.name)?;
            }
            let weight = if *matters { "not understood, and needed" } else { "not understood" };
            writeln!(f, "{file}:{line}: {weight}: {what}: {why}")?;
        }
        for name in &self.unknown {
            writeln!(f, "{file}: there is no table \"{name}\" in it")?;
        }
        let counted = |count: usize, one: &str, more: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {more}"),
        };
        write!(
            f,
            "{}, {} with rows of people, {} without annotations that seem to be needed; {}, {} not understood",
            counted(self.tables, "table", "tables"),
            self.personal,
            self.missing(),
            counted(self.others(), "other remark", "other remarks"),
            counted(self.unread.len(), "statement", "statements"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Findings {
        let mut reader = Reader::default();
        reader.read(&mut Dump::new(text.as_bytes())).expect("it is read");
        let Reader { schema, unread, .. } = reader;
        let (tables, personal) = schema.counts();
        let remarks = schema.remarks().into_iter().filter(|remark| remark.row.severity != Severity::Info).collect();
        Findings { file: "x.sql".to_owned(), tables, personal, remarks, unread, unknown: Vec::new() }
    }

    #[test]
    fn dumps_are_read_with_what_is_not_here() {
        let found = findings(
            "SET statement_timeout = 0;\nSELECT pg_catalog.set_config('search_path', '', false);\n\\restrict abc\n\
             CREATE TABLE public.users (\n    id integer NOT NULL,\n    at public.geometry,\n    email public.citext DEFAULT f()\n);\n\
             ALTER TABLE public.users OWNER TO app;\nCOPY public.users (id) FROM stdin;\n1\n\\.\n\
             CREATE FUNCTION public.f() RETURNS int LANGUAGE c AS $$ f; $$;\nCREATE TABLE public.odd (a int) PARTITION BY RANGE (a);\n",
        );
        assert_eq!((found.tables, found.remarks.len(), found.verdict()), (1, 1, Verdict::Missing), "{found}");
        assert_eq!((found.remarks[0].line, found.unread.len()), (7, 2), "{found}");
        assert_eq!(
            found.unread.iter().map(|unread| (unread.line, unread.matters)).collect::<Vec<_>>(),
            [(13, false), (14, true)]
        );
        assert!(found.json().contains("\"line\": 7"), "{}", found.json());
    }

    #[test]
    fn the_outcome_says_whether_all_was_read() {
        assert_eq!(findings("CREATE TABLE t (a int);").verdict(), Verdict::Clean);
        assert_eq!(findings("CREATE TABLE t (a int); CREATE TABLE u (LIKE nowhere);").verdict(), Verdict::Unread);
        assert_eq!(findings("CREATE TRIGGER t BEFORE UPDATE ON x EXECUTE FUNCTION f();").verdict(), Verdict::Clean);
        assert_eq!(
            without_modifiers("a public.geometry(Point,4326) NOT NULL, my_vector(1), v vector(3)[], geometry text"),
            "a public.geometry NOT NULL, my_vector(1), v vector[], geometry text"
        );
        assert_eq!(search_path("SELECT pg_catalog.set_config('search_path', 'a, b', false)"), Some("a, b"));
    }
}
