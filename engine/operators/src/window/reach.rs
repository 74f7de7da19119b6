//! How far a row's values depend on others: what moves when one of them comes or goes.

use planner::scalar::window::WindowFunctionKind;
use planner::scalar::{FrameBound, FrameExclusion, FrameUnit, ScalarExpr, WindowCall, WindowKind};

/// More rows than this are no neighbourhood.
const ROWS_MAX: i64 = 1_000;

/// The rows on which a row's values depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// So many before it, and so many after it.
    Rows { before: usize, after: usize },
    /// All before it, and its peers.
    Running,
}

impl Reach {
    /// That of some calls; none if one depends on rows however far behind.
    pub(super) fn of(calls: &[WindowCall]) -> Option<Reach> {
        calls.iter().map(of_call).try_fold(Reach::Rows { before: 0, after: 0 }, |reach, call| match (reach, call?) {
            (Reach::Rows { before, after }, Reach::Rows { before: more_before, after: more_after }) => {
                Some(Reach::Rows { before: before.max(more_before), after: after.max(more_after) })
            }
            // Where some look ahead and others at everything before, what a row sees has no end.
            (Reach::Running, Reach::Running | Reach::Rows { after: 0, .. })
            | (Reach::Rows { after: 0, .. }, Reach::Running) => Some(Reach::Running),
            (Reach::Running, Reach::Rows { .. }) | (Reach::Rows { .. }, Reach::Running) => None,
        })
    }
}

fn of_call(call: &WindowCall) -> Option<Reach> {
    let WindowKind::Function(function) = call.function else { return of_frame(call) };
    let offset = match call.args.get(1) {
        None => Some(1),
        Some(ScalarExpr::Literal(offset, _)) => offset.as_i64(),
        Some(_) => None,
    };
    match function.kind {
        WindowFunctionKind::Lag => offset?.checked_neg().and_then(|at| between(at, at)),
        WindowFunctionKind::Lead => offset.and_then(|at| between(at, at)),
        WindowFunctionKind::FirstValue | WindowFunctionKind::LastValue | WindowFunctionKind::NthValue => of_frame(call),
        WindowFunctionKind::RowNumber | WindowFunctionKind::Rank | WindowFunctionKind::DenseRank => {
            Some(Reach::Running)
        }
        WindowFunctionKind::PercentRank | WindowFunctionKind::CumeDist | WindowFunctionKind::Ntile => None,
    }
}

/// From the first to the last row that is seen, counted from the own one.
fn between(first: i64, last: i64) -> Option<Reach> {
    let rows =
        |count: i64| usize::try_from(count.clamp(0, ROWS_MAX + 1)).ok().filter(|count| *count <= ROWS_MAX as usize);
    Some(Reach::Rows { before: rows(first.checked_neg()?)?, after: rows(last)? })
}

fn of_frame(call: &WindowCall) -> Option<Reach> {
    let frame = &call.frame;
    if !matches!(frame.exclude, FrameExclusion::NoOthers | FrameExclusion::CurrentRow) {
        return None;
    }
    let bound = |bound: &FrameBound| match bound {
        FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing => None,
        FrameBound::CurrentRow => Some(0),
        FrameBound::Preceding(offset) => offset.as_i64()?.checked_neg(),
        FrameBound::Following(offset) => offset.as_i64(),
    };
    if frame.unit == FrameUnit::Rows
        && let (Some(first), Some(last)) = (bound(&frame.start), bound(&frame.end))
        && let Some(reach) = between(first, last)
    {
        return Some(reach);
    }
    // What is no count of rows may turn out to lie ahead.
    let is_behind = |bound: &FrameBound| match bound {
        FrameBound::UnboundedPreceding | FrameBound::CurrentRow => true,
        FrameBound::Preceding(offset) => offset.as_i64().is_some_and(|offset| offset >= 0),
        FrameBound::Following(_) | FrameBound::UnboundedFollowing => false,
    };
    (is_behind(&frame.start) && is_behind(&frame.end)).then_some(Reach::Running)
}
