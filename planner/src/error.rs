//! What is wrong with a statement: SQLSTATE, message, detail, hint, position.

use repr::ValueError;
use std::fmt;

/// A refusal for the user, in PostgreSQL's form (lower case, no full stop, quoted identifiers).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// Five-character SQLSTATE.
    pub code: &'static str,
    /// The primary message.
    pub message: String,
    /// DETAIL.
    pub detail: Option<String>,
    /// HINT.
    pub hint: Option<String>,
    /// 1-based character position in the statement's text.
    pub position: Option<u32>,
}

impl PlanError {
    /// An error with a message only.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        PlanError { code, message: message.into(), detail: None, hint: None, position: None }
    }
    /// 0A000: understood, and not supported; the hint says what to do instead.
    pub fn unsupported(what: impl fmt::Display) -> Self {
        PlanError::new("0A000", format!("{what} is not supported"))
    }
    /// 42501: the role has not the privilege that this takes.
    pub fn denied(kind: &str, name: impl fmt::Display) -> Self {
        PlanError::new("42501", format!("permission denied for {kind} {name}"))
    }
    /// Adds a DETAIL.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
    /// Adds a HINT.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
    /// Adds a position, unless one is set.
    #[must_use]
    pub fn at(mut self, position: Option<u32>) -> Self {
        self.position = self.position.or(position);
        self
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PlanError {}

impl From<ValueError> for PlanError {
    fn from(error: ValueError) -> Self {
        PlanError { code: error.code, message: error.message, detail: error.detail, hint: error.hint, position: None }
    }
}
