//! What a client is told beside its answer.

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
}
