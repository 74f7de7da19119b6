//! Window functions proper, and the evaluation of a sorted partition.

mod frame;
mod partition;

pub use partition::evaluate_partition;

/// One window function (aggregates over frames are `Aggregate`s).
pub struct WindowFunction {
    /// SQL name.
    pub name: &'static str,
    /// Which one.
    pub kind: WindowFunctionKind,
}

/// The window functions of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowFunctionKind {
    /// row_number()
    RowNumber,
    /// rank()
    Rank,
    /// dense_rank()
    DenseRank,
    /// percent_rank()
    PercentRank,
    /// cume_dist()
    CumeDist,
    /// ntile(n)
    Ntile,
    /// lag(value [, offset [, default]])
    Lag,
    /// lead(value [, offset [, default]])
    Lead,
    /// first_value(value)
    FirstValue,
    /// last_value(value)
    LastValue,
    /// nth_value(value, n)
    NthValue,
}

/// All window functions with their signatures.
pub(crate) const DEFINITIONS: &[(&str, WindowFunctionKind)] = &[
    ("row_number() int8", WindowFunctionKind::RowNumber),
    ("rank() int8", WindowFunctionKind::Rank),
    ("dense_rank() int8", WindowFunctionKind::DenseRank),
    ("percent_rank() float8", WindowFunctionKind::PercentRank),
    ("cume_dist() float8", WindowFunctionKind::CumeDist),
    ("ntile(int4) int4", WindowFunctionKind::Ntile),
    ("lag(anyelement) anyelement", WindowFunctionKind::Lag),
    ("lag(anyelement, int4) anyelement", WindowFunctionKind::Lag),
    ("lag(anycompatible, int4, anycompatible) anycompatible", WindowFunctionKind::Lag),
    ("lead(anyelement) anyelement", WindowFunctionKind::Lead),
    ("lead(anyelement, int4) anyelement", WindowFunctionKind::Lead),
    ("lead(anycompatible, int4, anycompatible) anycompatible", WindowFunctionKind::Lead),
    ("first_value(anyelement) anyelement", WindowFunctionKind::FirstValue),
    ("last_value(anyelement) anyelement", WindowFunctionKind::LastValue),
    ("nth_value(anyelement, int4) anyelement", WindowFunctionKind::NthValue),
];

impl PartialEq for WindowFunction {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl std::fmt::Debug for WindowFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
