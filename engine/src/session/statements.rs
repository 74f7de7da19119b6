//! What a session keeps of its prepared statements, in one namespace, bounded in bytes.

use crate::session::plan::Prepared;
use parking_lot::Mutex;
use planner::hir::OutputColumn;
use planner::parse::{Statement, literals};
use planner::scalar::ListedStatement;
use repr::{Datum, ScalarType};
use state::{SqlError, clock};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What all named statements of a session may hold together.
const STATEMENTS_BYTES_MAX: usize = 512 << 20;
/// What a statement's tree and plan hold, measured: so much the least of them, and so much for each word and each byte of text.
const STATEMENT_BYTES: usize = 32 << 10;
const WORD_BYTES: usize = 480;
const TEXT_BYTES: usize = 3;
/// Of a literal in a long list, and of each byte of its text.
const LITERAL_BYTES: usize = 80;
const LITERAL_TEXT_BYTES: usize = 4;
/// A statement that is kept. The protocol's unnamed one is such a statement, too.
pub struct Stored {
    /// Nothing, of an empty text.
    pub prepared: Option<Arc<Prepared>>,
    /// What stands for all of its parameters, of a statement that is known by its shape: the client has none to give.
    pub literals: Option<Arc<[Datum]>>,
    made_at: i64,
    from_sql: bool,
    executions: AtomicU64,
    bytes: usize,
    /// Of a statement whose columns others may change: those that the client was told of last.
    told: Mutex<Option<Option<Arc<[OutputColumn]>>>>,
}

/// See the module.
#[derive(Default)]
pub struct Statements {
    named: BTreeMap<String, Arc<Stored>>,
    unnamed: Option<Arc<Stored>>,
    bytes: usize,
}

impl Stored {
    pub(super) fn new(prepared: Option<Arc<Prepared>>, from_sql: bool) -> Self {
        Stored {
            bytes: prepared.as_ref().map_or(0, |prepared| held_bytes(prepared.source())),
            prepared,
            literals: None,
            made_at: clock::now_micros(),
            from_sql,
            executions: AtomicU64::new(0),
            told: Mutex::default(),
        }
    }

    /// The types of the parameters that a client gives.
    pub fn param_types(&self) -> &[ScalarType] {
        if self.literals.is_some() {
            return &[];
        }
        self.prepared.as_ref().map_or(&[], |prepared| &prepared.param_types)
    }

    /// The OIDs of these, as clients are told them.
    pub fn param_oids(&self) -> &[u32] {
        if self.literals.is_some() {
            return &[];
        }
        self.prepared.as_ref().map_or(&[], |prepared| &prepared.param_oids)
    }

    /// Whether other statements may change its columns: EXECUTE and FETCH.
    pub fn is_late(&self) -> bool {
        self.prepared.as_ref().is_some_and(|prepared| is_late(&prepared.statement))
    }

    /// The client is told of these columns, or that there are none.
    pub fn tell(&self, columns: Option<Arc<[OutputColumn]>>) {
        *self.told.lock() = Some(columns);
    }

    /// What it was told of, if anything.
    pub fn told(&self) -> Option<Option<Arc<[OutputColumn]>>> {
        self.told.lock().clone()
    }

    /// Counts an execution, for `pg_prepared_statements`.
    pub fn count(&self) {
        self.executions.fetch_add(1, Ordering::Relaxed);
    }
}

impl Statements {
    pub(super) fn get(&self, name: &str) -> Option<&Arc<Stored>> {
        if name.is_empty() { self.unnamed.as_ref() } else { self.named.get(name) }
    }

    /// Keeps one; in place of the unnamed one, if it is that.
    pub(super) fn keep(&mut self, name: &str, stored: Stored) -> Result<(), SqlError> {
        if name.is_empty() {
            self.keep_unnamed(stored);
            return Ok(());
        }
        if self.named.contains_key(name) {
            return Err(SqlError::new("42P05", format!("prepared statement \"{name}\" already exists")));
        }
        let bytes = self.bytes + stored.bytes;
        if bytes > STATEMENTS_BYTES_MAX {
            return Err(SqlError::new("53200", "out of memory for the prepared statements of this session")
                .detail(format!(
                    "{} statements hold {} bytes, of at most {STATEMENTS_BYTES_MAX}.",
                    self.named.len(),
                    self.bytes
                ))
                .hint("Close or DEALLOCATE those that are no longer needed."));
        }
        self.bytes = bytes;
        self.named.insert(name.to_string(), Arc::new(stored));
        Ok(())
    }

    /// One at a time: it costs what running it costs.
    pub(super) fn keep_unnamed(&mut self, stored: Stored) {
        self.unnamed = Some(Arc::new(stored));
    }

    pub(super) fn remove(&mut self, name: &str) -> bool {
        if name.is_empty() {
            return self.unnamed.take().is_some();
        }
        let removed = self.named.remove(name);
        self.bytes -= removed.as_ref().map_or(0, |stored| stored.bytes);
        removed.is_some()
    }

    /// DEALLOCATE ALL, which the unnamed one outlives.
    pub(super) fn remove_all(&mut self) {
        self.named.clear();
        self.bytes = 0;
    }

    /// The named ones, by name.
    pub(super) fn list(&self) -> Vec<ListedStatement> {
        let types = |columns: &Arc<[OutputColumn]>| {
            columns.iter().map(|column| column.column_type.scalar.clone()).collect::<Vec<_>>()
        };
        let listed = self.named.iter().map(|(name, stored)| ListedStatement {
            name: name.clone(),
            text: stored.prepared.as_ref().map_or_else(String::new, |prepared| prepared.source().to_string()),
            made_at: stored.made_at,
            parameter_types: stored.param_types().to_vec(),
            result_types: stored.prepared.as_ref().and_then(|prepared| prepared.columns.as_ref()).map(types),
            from_sql: stored.from_sql,
            executions: i64::try_from(stored.executions.load(Ordering::Relaxed)).unwrap_or(i64::MAX),
        });
        listed.collect()
    }
}

/// Whether only the session knows the statement's columns, as other statements may change them.
pub(super) fn is_late(statement: &Statement) -> bool {
    match statement {
        Statement::Execute { .. } => true,
        Statement::Fetch(fetch) => !fetch.is_move,
        _ => false,
    }
}

/// 26000.
pub(super) fn no_statement(name: &str) -> SqlError {
    let message = match name {
        "" => "unnamed prepared statement does not exist".to_string(),
        name => format!("prepared statement \"{name}\" does not exist"),
    };
    SqlError::new("26000", message)
}

/// 26000 for DEALLOCATE of what there is not.
pub(super) fn deallocated(found: bool, name: &str) -> Result<(), SqlError> {
    if found { Ok(()) } else { Err(no_statement(name)) }
}

/// What a statement is charged for.
fn held_bytes(text: &str) -> usize {
    let (mut rest, mut at, mut literals) = (0, 0, 0);
    for (run, count) in literals::within(text) {
        rest += words(&text[at..run.start]);
        literals += count * LITERAL_BYTES + run.len() * LITERAL_TEXT_BYTES;
        at = run.end;
    }
    rest += words(&text[at..]);
    STATEMENT_BYTES + rest * WORD_BYTES + literals + text.len() * TEXT_BYTES
}

fn words(text: &str) -> usize {
    let (mut words, mut quoted, mut in_word) = (0, None, false);
    for byte in text.bytes() {
        if let Some(quote) = quoted {
            quoted = (byte != quote).then_some(quote);
            continue;
        }
        let continues = byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
        words += usize::from(!(byte.is_ascii_whitespace() || continues && in_word));
        in_word = continues;
        quoted = matches!(byte, b'\'' | b'"').then_some(byte);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{STATEMENT_BYTES, STATEMENTS_BYTES_MAX, Statements, Stored, TEXT_BYTES, WORD_BYTES, held_bytes};

    fn stored(bytes: usize) -> Stored {
        Stored { bytes, ..Stored::new(None, false) }
    }

    #[test]
    fn what_is_kept_is_bounded_and_given_back() {
        let mut statements = Statements::default();
        let third = STATEMENTS_BYTES_MAX / 3;
        for name in ["a", "", "b", "", "c"] {
            statements.keep(name, stored(third)).unwrap();
        }
        let refused = statements.keep("d", stored(third)).unwrap_err();
        assert_eq!(refused.code, "53200");
        assert_eq!(statements.keep("a", stored(1)).unwrap_err().code, "42P05");
        assert!(statements.remove("a") && !statements.remove("a"));
        statements.keep("d", stored(third)).unwrap();
        assert_eq!(statements.bytes, 3 * third);
        statements.remove_all();
        assert_eq!(statements.bytes, 0);
        assert!(statements.get("").is_some() && statements.get("d").is_none());
        assert!(statements.remove("") && !statements.remove(""));
    }

    #[test]
    fn words_are_charged_and_literals_are_their_bytes() {
        let words = |text: &str| (held_bytes(text) - STATEMENT_BYTES - text.len() * TEXT_BYTES) / WORD_BYTES;
        assert_eq!(words(""), 0);
        assert_eq!(words("SELECT a_1, 'x y z' FROM \"a b\" WHERE n>=12"), 11);
        assert_eq!(words(&format!("SELECT '{}'", "x ".repeat(1_000))), 2);
        let list = format!("SELECT a IN ({})", vec!["1234567"; 10_000].join(","));
        assert!(held_bytes(&list) < 2 << 20, "a long list is one word, and its literals");
    }
}
