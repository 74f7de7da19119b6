//! Calls over a query's rows as a whole, as they wait to be computed: aggregates, windows, sets in the select list.

use super::Typed;
use crate::hir::{HirColumn, HirExpr};
use crate::scalar::{AggregateCall, FrameExclusion, FrameUnit, TableFunction, WindowFrame, WindowKind};
use repr::{ColumnType, ScalarType};

/// Columns that stand for calls until the query's operators are built: this and the call's number.
pub(super) const VIRTUAL: usize = usize::MAX / 2;

/// A call that is computed over a query's rows as a whole.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Call {
    /// An aggregate of the group.
    Aggregate(AggregateCall<HirColumn>),
    /// GROUPING(…).
    Grouping(Vec<HirExpr>),
    /// A call with OVER.
    Window(Box<WindowedCall>),
    /// A set-returning function in the select list.
    Set { function: &'static TableFunction, args: Vec<HirExpr>, columns: Vec<ColumnType> },
}

/// A window call and its window.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WindowedCall {
    pub(super) function: WindowKind,
    pub(super) args: Vec<HirExpr>,
    pub(super) filter: Option<HirExpr>,
    pub(super) frame: WindowFrame,
    pub(super) result: ScalarType,
    pub(super) partition: Vec<Typed>,
    /// (expression, descending, nulls first)
    pub(super) order: Vec<(Typed, bool, bool)>,
}

impl WindowedCall {
    /// Whether the order of peers decides what it gives.
    pub(super) fn tells_peers_apart(&self) -> bool {
        const BY_PEERS: [&str; 4] = ["rank", "dense_rank", "percent_rank", "cume_dist"];
        match self.function {
            WindowKind::Function(function) => !BY_PEERS.contains(&function.name),
            WindowKind::Aggregate(aggregate) => {
                aggregate.is_ordered()
                    || self.frame.unit == FrameUnit::Rows
                    || matches!(self.frame.exclude, FrameExclusion::CurrentRow | FrameExclusion::Ties)
            }
        }
    }
}
