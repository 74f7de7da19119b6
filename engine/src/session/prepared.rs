//! The prepared statements of a session: PREPARE's and those of the protocol's Parse, in one namespace as in PostgreSQL.
//!
//! Whoever runs one keeps it alive, so that DEALLOCATE may come at any time. What a session keeps is bounded in bytes.

use crate::protocol::Prepared;
use crate::session::Session;
use crate::session::statement::{self, CachedPlan};
use parking_lot::Mutex;
use planner::hir::OutputColumn;
use planner::parse::statement::TypeName;
use planner::parse::{Expr, ParsedStatement, Statement};
use planner::scalar::ListedStatement;
use repr::{Datum, ScalarType};
use state::{SqlError, clock};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What all named statements of a session may hold together.
const STATEMENTS_BYTES_MAX: usize = 512 << 20;
/// What a statement's tree and plan hold, measured: so much the least of them, and so much for each word and each byte of text.
const STATEMENT_BYTES: usize = 32 << 10;
const WORD_BYTES: usize = 480;
const TEXT_BYTES: usize = 3;
/// EXECUTE of a statement that is EXECUTE itself, and so on: no deeper than this.
const NESTED_MAX: usize = 32;

/// A statement that is kept. The protocol's unnamed one is such a statement, too.
pub struct Stored {
    /// Nothing, of an empty text.
    pub prepared: Option<Arc<Prepared>>,
    made_at: i64,
    from_sql: bool,
    executions: AtomicU64,
    bytes: usize,
    /// Of a statement whose columns others may change: those that the client was told of last.
    told: Mutex<Option<Option<Arc<[OutputColumn]>>>>,
}

/// The columns of a result, and what was made of them for the client.
#[derive(Debug)]
pub struct ResultColumns {
    /// The columns.
    pub list: Arc<[OutputColumn]>,
    /// The message that describes them if all are text, and if all are binary: most clients ask with every execution.
    pub described: [OnceLock<Box<[u8]>>; 2],
}

/// See the module.
#[derive(Default)]
pub struct Statements {
    named: BTreeMap<String, Arc<Stored>>,
    unnamed: Option<Arc<Stored>>,
    bytes: usize,
}

impl ResultColumns {
    /// Of a result, not yet described.
    pub fn new(list: Arc<[OutputColumn]>) -> Self {
        ResultColumns { list, described: Default::default() }
    }
}

impl Stored {
    fn new(prepared: Option<Arc<Prepared>>, from_sql: bool) -> Self {
        Stored {
            bytes: prepared.as_ref().map_or(0, |prepared| held_bytes(prepared.source())),
            prepared,
            made_at: clock::now_micros(),
            from_sql,
            executions: AtomicU64::new(0),
            told: Mutex::default(),
        }
    }

    /// The types of its parameters.
    pub fn param_types(&self) -> &[ScalarType] {
        self.prepared.as_ref().map_or(&[], |prepared| &prepared.param_types)
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
    fn get(&self, name: &str) -> Option<&Arc<Stored>> {
        if name.is_empty() { self.unnamed.as_ref() } else { self.named.get(name) }
    }

    /// Keeps one; in place of the unnamed one, if it is that.
    fn keep(&mut self, name: &str, stored: Stored) -> Result<(), SqlError> {
        if name.is_empty() {
            // One at a time: it costs what running it costs.
            self.unnamed = Some(Arc::new(stored));
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

    fn remove(&mut self, name: &str) -> bool {
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

impl Session {
    /// As `prepare`, for a statement that is kept: its result may be described before it runs, and stays what it is. `source`: what
    /// the client sent, of one that has a name.
    pub fn prepare_to_keep(
        &mut self,
        parsed: ParsedStatement,
        param_types: &[Option<ScalarType>],
        source: Option<&str>,
    ) -> Result<Arc<Prepared>, SqlError> {
        let mut prepared = self.planned(parsed, param_types)?;
        prepared.fixed_result = true;
        prepared.source = source.map(Arc::from);
        if is_late(&prepared.statement) {
            prepared.columns = self.late_columns(&prepared.statement);
        }
        Ok(Arc::new(prepared))
    }

    /// Keeps what Parse has prepared, or nothing for an empty text. 42P05 if there is one of that name.
    pub fn keep_statement(&mut self, name: &str, prepared: Option<Arc<Prepared>>) -> Result<(), SqlError> {
        self.state.lock().statements.keep(name, Stored::new(prepared, false))
    }

    /// Lets go of a statement, if there is one of that name.
    pub fn close_statement(&mut self, name: &str) -> bool {
        self.state.lock().statements.remove(name)
    }

    /// The statement of that name. 26000 if there is none.
    pub fn stored_statement(&self, name: &str) -> Result<Arc<Stored>, SqlError> {
        self.state.lock().statements.get(name).cloned().ok_or_else(|| no_statement(name))
    }

    /// The columns of a kept statement's result, as it is now: none if it has no rows. 0A000 if they are others than when it
    /// was prepared, and whatever is wrong with it since.
    pub fn result_columns(&self, prepared: &Prepared) -> Result<Option<Arc<ResultColumns>>, SqlError> {
        Ok(match is_late(&prepared.statement) {
            true => self.late_columns(&prepared.statement).map(|list| Arc::new(ResultColumns::new(list))),
            false => self.kept_plan(prepared)?.columns.clone(),
        })
    }

    /// What Bind does before it looks at the parameters: 25P02 in a failed block, but for what ends it; 0A000 and its kind if the
    /// statement is no longer what it was.
    pub fn bind_columns(&self, stored: &Stored) -> Result<Option<Arc<ResultColumns>>, SqlError> {
        let Some(prepared) = &stored.prepared else {
            return if self.is_failed() { Err(crate::session::block_failed()) } else { Ok(None) };
        };
        self.refuse_failed(&prepared.statement)?;
        let columns = self.result_columns(prepared)?;
        stored.count();
        Ok(columns)
    }

    /// In a failed block a statement is not planned again: it would not run.
    fn kept_plan(&self, prepared: &Prepared) -> Result<Arc<CachedPlan>, SqlError> {
        if self.is_failed() { Ok(prepared.plan.load_full()) } else { self.current_plan(prepared) }
    }

    /// The columns of EXECUTE and FETCH, as long as the statement or cursor that they name stays.
    pub fn late_columns(&self, statement: &Statement) -> Option<Arc<[OutputColumn]>> {
        self.nested_columns(statement, 0)
    }

    fn nested_columns(&self, statement: &Statement, depth: usize) -> Option<Arc<[OutputColumn]>> {
        match statement {
            Statement::Execute { name, .. } => {
                let stored = self.stored_statement(name).ok()?;
                let prepared = stored.prepared.as_ref()?;
                match is_late(&prepared.statement) && depth < NESTED_MAX {
                    true => self.nested_columns(&prepared.statement, depth + 1),
                    false => prepared.columns.clone(),
                }
            }
            Statement::Fetch(fetch) if !fetch.is_move => match self.subscribed.get(&fetch.cursor) {
                Some(subscribed) => Some(subscribed.columns().clone()),
                None => Some(self.cursors.get(&fetch.cursor)?.columns().clone()),
            },
            _ => None,
        }
    }

    pub(super) fn sql_prepare(
        &mut self,
        name: &str,
        types: &[TypeName],
        statement: &Statement,
        text: &str,
        source: Arc<str>,
    ) -> Result<(), SqlError> {
        self.may_keep()?;
        let catalog = self.catalog();
        let types = types.iter().map(|name| Ok(Some(planner::plan_type(name, &catalog)?.scalar)));
        let types = types.collect::<Result<Vec<_>, SqlError>>()?;
        let parsed = ParsedStatement { statement: statement.clone(), text: text.to_string(), offset: 0, bulk: None };
        let mut prepared = statement::prepare(parsed, &catalog, &types)?;
        prepared.fixed_result = true;
        prepared.source = Some(source);
        self.state.lock().statements.keep(name, Stored::new(Some(Arc::new(prepared)), true))
    }

    /// The statement that EXECUTE names, and the values of its parameters.
    pub(super) fn executed(
        &self,
        name: &str,
        arguments: &[Expr],
        params: &Arc<[Datum]>,
    ) -> Result<(Arc<Prepared>, Arc<[Datum]>), SqlError> {
        let stored = self.stored_statement(name)?;
        let Some(prepared) = &stored.prepared else {
            return Err(SqlError::unsupported("EXECUTE of an empty statement"));
        };
        let catalog = self.catalog();
        let context = self.eval_context(params.clone(), &catalog);
        let exprs = planner::plan_arguments(name, arguments, &prepared.param_types, &catalog)?;
        let values = exprs.iter().map(|expr| expr.eval(&[], &context)).collect::<Result<Vec<_>, _>>()?;
        stored.count();
        Ok((prepared.clone(), values.into()))
    }

    /// Goes one EXECUTE deeper. 54001 where statements execute each other without an end.
    pub(super) fn nested<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T, SqlError>) -> Result<T, SqlError> {
        if self.nested >= NESTED_MAX {
            return Err(SqlError::new("54001", "stack depth limit exceeded")
                .hint("A prepared statement executes one that executes it."));
        }
        self.nested += 1;
        let outcome = run(self);
        self.nested -= 1;
        outcome
    }
}

/// Whether only the session knows the statement's columns, as other statements may change them.
fn is_late(statement: &Statement) -> bool {
    match statement {
        Statement::Execute { .. } => true,
        Statement::Fetch(fetch) => !fetch.is_move,
        _ => false,
    }
}

/// Whether two results differ for a client that was told of the first: in number, names or types of their columns.
pub fn differ(told: Option<&[OutputColumn]>, found: Option<&[OutputColumn]>) -> bool {
    match (told, found) {
        (Some(told), Some(found)) => {
            let same = |(told, found): (&OutputColumn, &OutputColumn)| {
                let (one, other) = (&told.column_type, &found.column_type);
                told.name == found.name && one.scalar == other.scalar && one.modifier == other.modifier
            };
            told.len() != found.len() || !told.iter().zip(found).all(same)
        }
        (None, None) => false,
        (Some(_), None) | (None, Some(_)) => true,
    }
}

/// 0A000 with PostgreSQL's words and routine: drivers that keep statements prepare it again when they read them.
pub fn result_changed() -> SqlError {
    SqlError::new("0A000", "cached plan must not change result type").routine("RevalidateCachedQuery")
}

fn no_statement(name: &str) -> SqlError {
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
    let (mut words, mut quoted, mut in_word) = (0, None, false);
    for byte in text.bytes() {
        if let Some(quote) = quoted {
            quoted = (byte != quote).then_some(quote);
            continue;
        }
        let continues = byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
        words += usize::from(!byte.is_ascii_whitespace() && !(continues && in_word));
        in_word = continues;
        quoted = matches!(byte, b'\'' | b'"').then_some(byte);
    }
    STATEMENT_BYTES + words * WORD_BYTES + text.len() * TEXT_BYTES
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
    }
}
