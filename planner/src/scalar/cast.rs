//! Casts: which exist, in which context, and how they are evaluated.

/// How a value of one type becomes one of another (the helper who owns `scalar` fills this in).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cast {
    /// Same representation.
    Relabel,
}

/// When a cast may be applied without being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CastContext {
    /// In expressions.
    Implicit,
    /// When a value is stored in a column.
    Assignment,
    /// Only where written: CAST or `::`.
    Explicit,
}
