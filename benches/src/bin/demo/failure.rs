//! Why the demo ends early: the server refused, a file could not be used, or a claim did not hold.

use std::fmt;

/// What ends the demo with exit status 1.
#[derive(Debug)]
pub enum Failure {
    /// The server refused a statement, or the connection broke.
    Database(postgres::Error),
    /// The operating system refused.
    File(std::io::Error),
    /// The demo claims something that is not so.
    Claim(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Database(error) => match error.as_db_error() {
                Some(refusal) => write!(f, "the server refused: {} ({})", refusal.message(), refusal.code().code()),
                None => write!(f, "the connection failed: {error}"),
            },
            Failure::File(error) => write!(f, "{error}"),
            Failure::Claim(claim) => f.write_str(claim),
        }
    }
}

impl From<postgres::Error> for Failure {
    fn from(error: postgres::Error) -> Failure {
        Failure::Database(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::File(error)
    }
}
