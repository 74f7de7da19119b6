//! What a client is told beside its answer.

use crate::error::Routine;

/// A message for the client that is not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// NOTICE, WARNING or INFO.
    pub severity: &'static str,
    /// SQLSTATE, 00000 mostly.
    pub code: &'static str,
    /// The message.
    pub message: String,
    /// DETAIL.
    pub detail: Option<String>,
    /// HINT.
    pub hint: Option<String>,
    /// Where it was said, if not by the statement itself.
    pub context: Option<String>,
    /// The routine of PostgreSQL's that says the same, where drivers tell of it.
    pub routine: Option<&'static Routine>,
}

impl Notice {
    /// A message alone.
    pub fn new(severity: &'static str, code: &'static str, message: impl Into<String>) -> Self {
        Notice { severity, code, message: message.into(), detail: None, hint: None, context: None, routine: None }
    }
}

/// The levels of messages in their order, as `client_min_messages` names them.
const LEVELS: [&str; 9] = ["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"];

/// Whether a client that asks for messages of a level and those above gets one; INFO always.
pub fn is_wanted(severity: &str, least: &str) -> bool {
    let level = match severity {
        "DEBUG" => "debug1".to_owned(),
        other => other.to_lowercase(),
    };
    let rank = |wanted: &str| LEVELS.iter().position(|level| *level == wanted);
    rank(&level).is_none_or(|rank_of_it| rank(least).is_none_or(|least| rank_of_it >= least))
}

#[cfg(test)]
mod tests {
    use super::is_wanted;

    #[test]
    fn less_than_what_is_asked_for_is_not_told() {
        assert!(is_wanted("NOTICE", "notice") && is_wanted("WARNING", "notice") && is_wanted("INFO", "error"));
        assert!(!is_wanted("NOTICE", "warning") && !is_wanted("DEBUG", "notice") && !is_wanted("LOG", "notice"));
        assert!(is_wanted("DEBUG", "debug1") && !is_wanted("DEBUG", "log"));
    }
}
