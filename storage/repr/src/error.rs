//! Errors of values: parsing, ranges, arithmetic. They become rows' errors and then the client's.

use std::fmt;

/// A value that cannot be had, with PostgreSQL's SQLSTATE and message.
///
/// Never carries a stored row's value; text that the client itself just sent may be quoted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueError {
    /// Five-character SQLSTATE, e.g. "22012".
    pub code: &'static str,
    /// PostgreSQL's wording, lower case, no full stop.
    pub message: String,
    /// PostgreSQL's DETAIL, where it has one.
    pub detail: Option<String>,
    /// PostgreSQL's HINT, where it has one.
    pub hint: Option<String>,
    /// The type whose condition the value does not meet, where it is one's.
    pub of_type: Option<Box<TypeAtFault>>,
}

/// A type of the catalog that refuses a value, as drivers are told.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeAtFault {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Which of its constraints, if that has a name.
    pub constraint: Option<String>,
}

impl ValueError {
    /// An error with a message only.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        ValueError { code, message: message.into(), detail: None, hint: None, of_type: None }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ValueError {}
