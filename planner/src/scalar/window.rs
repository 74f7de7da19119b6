//! Window functions proper, and the evaluation of a sorted partition.

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
