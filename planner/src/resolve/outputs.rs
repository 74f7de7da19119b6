//! What a query is resolved for: its columns by themselves, or among others.

use repr::ColumnType;

/// What becomes of output columns that no context has typed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outputs<'t> {
    /// They are text.
    Settled,
    /// They stay unknown: the caller finds a common type and asks again.
    Kept,
    /// They take these types.
    Hinted(&'t [ColumnType]),
}

/// What of a subquery's rows matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limits {
    /// Which they are; order only where LIMIT needs it.
    Rows,
    /// Their order too.
    Ordered,
}
