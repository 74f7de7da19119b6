//! RAISE in a `DO` block: what it says to the client, and the error that it may end with.

use crate::response::Response;
use crate::session::{Session, plan};
use planner::hir::OutputColumn;
use planner::parse::statement::ParsedStatement;
use planner::parse::utility::{Raise, RaiseLevel, RaiseOption};
use repr::Datum;
use state::SqlError;
use state::error::EXEC_STMT_RAISE;
use state::notice::Notice;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

impl Session {
    pub(super) fn raise(&mut self, raises: &[Raise]) -> Result<Response, SqlError> {
        for raise in raises {
            self.raise_one(raise)?;
        }
        Ok(Response::Complete("DO".to_owned()))
    }

    fn raise_one(&mut self, raise: &Raise) -> Result<(), SqlError> {
        let mut values = match &raise.values {
            Some(query) => self.texts_of(query)?,
            None => Vec::new(),
        };
        let options = values.split_off(values.len().saturating_sub(raise.options.len()));
        let said = |wanted: RaiseOption| {
            let place = raise.options.iter().position(|option| *option == wanted)?;
            options.get(place).cloned().flatten()
        };
        if let Some(place) = options.iter().position(Option::is_none) {
            let message = format!("RAISE statement option {} cannot be null", shown(raise.options[place]));
            return Err(SqlError::new("22004", message));
        }
        let code = match said(RaiseOption::Code) {
            Some(written) => interned(&written)?,
            None if raise.level == RaiseLevel::Exception => "P0001",
            None if raise.level == RaiseLevel::Warning => "01000",
            None => "00000",
        };
        let message = raise.format.as_deref().map(|format| filled(format, &values));
        let message = message.or_else(|| said(RaiseOption::Message)).unwrap_or_else(|| code.to_owned());
        let (detail, hint) = (said(RaiseOption::Detail), said(RaiseOption::Hint));
        let context = Some(format!("PL/pgSQL function inline_code_block line {} at RAISE", raise.line));
        let routine = Some(&EXEC_STMT_RAISE);
        let Some(severity) = severity(raise.level) else {
            let mut error = SqlError { detail, hint, context, routine, ..SqlError::new(code, message) };
            error.object.schema = said(RaiseOption::Schema);
            error.object.table = said(RaiseOption::Table);
            error.object.column = said(RaiseOption::Column);
            error.object.constraint = said(RaiseOption::Constraint);
            return Err(error);
        };
        let notice = Notice { detail, hint, context, routine, ..Notice::new(severity, code, message) };
        self.client.notices.push(notice);
        Ok(())
    }

    /// The one row of a query, as text; NULL is none.
    fn texts_of(&mut self, query: &ParsedStatement) -> Result<Vec<Option<String>>, SqlError> {
        let query = Arc::new(plan::prepare(query.clone(), &self.seen(), &[])?);
        let answer = self.nested(|session| session.run(&query, Arc::from([]), true));
        let Response::Rows(mut answer) = answer.map_err(|error| SqlError { position: None, ..error })? else {
            return Err(SqlError::new("XX000", "expressions without an answer"));
        };
        let row = answer.rows.next().transpose()?.unwrap_or_default();
        let context = self.text_context();
        let text = |(value, column): (&Datum, &OutputColumn)| {
            (!value.is_null()).then(|| repr::text::format(value, &column.column_type.scalar, &context))
        };
        Ok(row.iter().zip(answer.columns.iter()).map(text).collect())
    }
}

/// None is an error.
fn severity(level: RaiseLevel) -> Option<&'static str> {
    match level {
        RaiseLevel::Debug => Some("DEBUG"),
        RaiseLevel::Log => Some("LOG"),
        RaiseLevel::Info => Some("INFO"),
        RaiseLevel::Notice => Some("NOTICE"),
        RaiseLevel::Warning => Some("WARNING"),
        RaiseLevel::Exception => None,
    }
}

fn shown(option: RaiseOption) -> &'static str {
    match option {
        RaiseOption::Code => "ERRCODE",
        RaiseOption::Message => "MESSAGE",
        RaiseOption::Detail => "DETAIL",
        RaiseOption::Hint => "HINT",
        RaiseOption::Column => "COLUMN",
        RaiseOption::Constraint => "CONSTRAINT",
        RaiseOption::Table => "TABLE",
        RaiseOption::Schema => "SCHEMA",
    }
}

/// The format with a value for each `%`; `%%` is one.
fn filled(format: &str, values: &[Option<String>]) -> String {
    let mut values = values.iter();
    let parts = format.split("%%").map(|part| {
        let mut pieces = part.split('%');
        let mut text = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            text.push_str(values.next().and_then(Option::as_deref).unwrap_or("<NULL>"));
            text.push_str(piece);
        }
        text
    });
    parts.collect::<Vec<_>>().join("%")
}

/// So many SQLSTATEs of people's own are told apart.
const CODES_MAX: usize = 1_000;

/// A SQLSTATE that somebody made up, which errors have for good.
fn interned(written: &str) -> Result<&'static str, SqlError> {
    static CODES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let is_code = written.len() == 5 && written.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    if !is_code {
        return Err(SqlError::new("42704", format!("unrecognized exception condition \"{written}\"")));
    }
    let mut codes = CODES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = codes.get(written) {
        return Ok(known);
    }
    if codes.len() >= CODES_MAX {
        return Err(SqlError::new("54000", "too many different SQLSTATEs were raised"));
    }
    let code: &'static str = Box::leak(written.to_owned().into_boxed_str());
    codes.insert(code);
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::filled;

    #[test]
    fn formats_are_filled_in_their_order() {
        let values = [Some("a%".to_owned()), None];
        assert_eq!(filled("100%% of % and %%%", &values), "100% of a% and %<NULL>");
        assert_eq!(filled("none", &[]), "none");
    }
}
