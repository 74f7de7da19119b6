//! RAISE: what a body says to the client, and the error that it may end with.

use super::frame::Frame;
use super::steps::context_line;
use crate::session::Session;
use planner::plpgsql::{Raise, RaiseLevel, RaiseOption, code_of, filled};
use state::SqlError;
use state::error::EXEC_STMT_RAISE;
use state::notice::Notice;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

impl Session {
    pub(super) fn raise(&mut self, frame: &mut Frame, raise: &Raise, line: u32) -> Result<(), SqlError> {
        let Some(level) = raise.level else {
            return Err(frame.handled.clone().unwrap_or_else(|| {
                SqlError::new("0Z002", "RAISE without parameters cannot be used outside an exception handler")
            }));
        };
        let mut values = Vec::with_capacity(raise.values.len());
        for value in &raise.values {
            values.push(self.text_value(frame, value)?);
        }
        let mut options: Vec<(RaiseOption, String)> = Vec::new();
        for (option, value) in &raise.options {
            if options.iter().any(|(known, _)| known == option) {
                let word = option.word().to_uppercase();
                return Err(SqlError::new("42601", format!("RAISE option already specified: {word}")));
            }
            let Some(text) = self.text_value(frame, value)? else {
                return Err(SqlError::new("22004", "RAISE statement option cannot be null"));
            };
            options.push((*option, text));
        }
        let said =
            |wanted: RaiseOption| options.iter().find(|(option, _)| *option == wanted).map(|(_, text)| text.clone());
        let written = said(RaiseOption::Code).or_else(|| raise.condition.clone());
        let code = match &written {
            Some(written) => {
                let code = code_of(written)
                    .ok_or_else(|| SqlError::new("42704", format!("unrecognized exception condition \"{written}\"")))?;
                interned(&code)?
            }
            None if level == RaiseLevel::Exception => "P0001",
            None if level == RaiseLevel::Warning => "01000",
            None => "00000",
        };
        let message = match (&raise.format, said(RaiseOption::Message)) {
            (Some(_), Some(_)) => {
                return Err(SqlError::new("42601", "RAISE option already specified: MESSAGE"));
            }
            (Some(format), None) => filled(format, &values),
            (None, Some(message)) => message,
            (None, None) => written.unwrap_or_else(|| code.to_owned()),
        };
        let (detail, hint) = (said(RaiseOption::Detail), said(RaiseOption::Hint));
        let routine = Some(&EXEC_STMT_RAISE);
        let Some(severity) = severity(level) else {
            let mut error = SqlError { detail, hint, routine, ..SqlError::new(code, message) };
            error.object.schema = said(RaiseOption::Schema);
            error.object.table = said(RaiseOption::Table);
            error.object.column = said(RaiseOption::Column);
            error.object.constraint = said(RaiseOption::Constraint);
            error.object.datatype = said(RaiseOption::DataType);
            return Err(error);
        };
        let context = Some(context_line(frame, line, "RAISE"));
        let notice = Notice { detail, hint, context, routine, ..Notice::new(severity, code, message) };
        self.client.notices.push(notice);
        Ok(())
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

/// So many SQLSTATEs of people's own are told apart.
const CODES_MAX: usize = 1_000;

/// A SQLSTATE that somebody made up, which errors have for good.
fn interned(written: &str) -> Result<&'static str, SqlError> {
    static CODES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
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
