//! A window under a bound on a rank: of each partition no more is numbered than the first rows.
//!
//! ```text
//! Filter row_number() <= 3          Window by p order o
//!   Window by p order o        ─▶     TopK by p order o limit 3
//!     …                                 …
//!
//! row_number   limit 3                the rows themselves
//! rank         limit 3 with peers     whoever is equal to the last of them comes along
//! dense_rank   limit 3 groups of peers
//! ```
//! Ranks of first rows are the same whatever comes behind. A window whose other calls look behind the bound stays whole. The
//! condition goes where the limit says the same; a bound that is known later stays above.

use super::shape;
use crate::mir::{Mir, expr};
use crate::plan::Counting;
use crate::scalar::func::Comparison;
use crate::scalar::window::WindowFunctionKind;
use crate::scalar::{
    FrameBound, FrameExclusion, FrameUnit, Order, ScalarExpr, WindowCall, WindowFrame, WindowKind, registry,
};
use repr::{Datum, ScalarType};

/// A window under predicates over its columns.
pub(super) fn window(
    input: Mir,
    (partition, order): (Vec<usize>, Vec<Order>),
    calls: Vec<WindowCall>,
    mut predicates: Vec<ScalarExpr>,
) -> Mir {
    let input = match first(input.arity(), &calls, &predicates) {
        // Without any order the first rows are those that come, which a limit does not tell from others.
        Some(first) if !(partition.is_empty() && order.is_empty()) => {
            if first.says_the_same {
                predicates.remove(first.predicate);
            }
            let (input, limit, counting) = (Box::new(input), Some(first.limit), first.counting);
            Mir::TopK { input, keys: partition.clone(), order: order.clone(), limit, offset: None, counting }
        }
        Some(_) | None => input,
    };
    Mir::Window { input: Box::new(input), partition, order, calls }.filter(predicates)
}

/// The kind of rank that a column is, if it is one of a window.
pub fn of_column(mir: &Mir, column: usize) -> Option<Counting> {
    match mir {
        Mir::Window { input, calls, .. } => match column.checked_sub(input.arity()) {
            Some(call) => calls.get(call).and_then(counted),
            None => of_column(input, column),
        },
        Mir::Project { input, columns } => of_column(input, *columns.get(column)?),
        Mir::Filter { input, .. } => of_column(input, column),
        Mir::Join { inputs, .. } => {
            let mut start = 0;
            inputs.iter().find_map(|input| {
                let own = column.checked_sub(start).filter(|own| *own < input.arity());
                start += input.arity();
                of_column(input, own?)
            })
        }
        Mir::Map { input, exprs } => match column.checked_sub(input.arity()) {
            None => of_column(input, column),
            Some(mapped) => match exprs.get(mapped)? {
                ScalarExpr::Column(before) if *before < column => of_column(mir, *before),
                _ => None,
            },
        },
        _ => None,
    }
}

/// What a rank counts; none of any other call.
fn counted(call: &WindowCall) -> Option<Counting> {
    let WindowKind::Function(function) = call.function else { return None };
    match function.kind {
        WindowFunctionKind::RowNumber => Some(Counting::Rows),
        WindowFunctionKind::Rank => Some(Counting::RowsWithPeers),
        WindowFunctionKind::DenseRank => Some(Counting::PeerGroups),
        WindowFunctionKind::PercentRank
        | WindowFunctionKind::CumeDist
        | WindowFunctionKind::Ntile
        | WindowFunctionKind::Lag
        | WindowFunctionKind::Lead
        | WindowFunctionKind::FirstValue
        | WindowFunctionKind::LastValue
        | WindowFunctionKind::NthValue => None,
    }
}

/// The first rows of each partition that a predicate lets through.
struct First {
    /// Its place.
    predicate: usize,
    limit: ScalarExpr,
    counting: Counting,
    /// The predicate holds for all of them.
    says_the_same: bool,
}

fn first(arity: usize, calls: &[WindowCall], predicates: &[ScalarExpr]) -> Option<First> {
    let sees_peers = calls.iter().map(sees).collect::<Option<Vec<_>>>()?.contains(&Sees::Peers);
    predicates.iter().enumerate().find_map(|(predicate, condition)| {
        let RankBound { column, limit, exact } = bound(condition)?;
        let counting = counted(calls.get(column.checked_sub(arity)?)?)?;
        Some(match counting {
            Counting::Rows if sees_peers => {
                First { predicate, limit, counting: Counting::RowsWithPeers, says_the_same: false }
            }
            counting => First { predicate, limit, counting, says_the_same: exact },
        })
    })
}

/// What the value of a call depends on, besides the rows before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sees {
    /// Nothing.
    Before,
    /// The row's peers.
    Peers,
}

/// None if it depends on rows behind the row and its peers.
fn sees(call: &WindowCall) -> Option<Sees> {
    let frame = |frame: &WindowFrame| match (frame.unit, &frame.end, frame.exclude) {
        (FrameUnit::Rows, FrameBound::CurrentRow | FrameBound::Preceding(_), FrameExclusion::NoOthers) => {
            Some(Sees::Before)
        }
        (_, FrameBound::CurrentRow | FrameBound::Preceding(_), _) => Some(Sees::Peers),
        (_, FrameBound::UnboundedPreceding | FrameBound::Following(_) | FrameBound::UnboundedFollowing, _) => None,
    };
    let WindowKind::Function(function) = call.function else { return frame(&call.frame) };
    match function.kind {
        WindowFunctionKind::RowNumber | WindowFunctionKind::Rank | WindowFunctionKind::DenseRank => Some(Sees::Before),
        WindowFunctionKind::Lag => match call.args.get(1) {
            None => Some(Sees::Before),
            Some(ScalarExpr::Literal(offset, _)) if offset.as_i64().is_some_and(|offset| offset >= 0) => {
                Some(Sees::Before)
            }
            Some(_) => None,
        },
        WindowFunctionKind::FirstValue | WindowFunctionKind::LastValue | WindowFunctionKind::NthValue => {
            frame(&call.frame)
        }
        WindowFunctionKind::Lead
        | WindowFunctionKind::PercentRank
        | WindowFunctionKind::CumeDist
        | WindowFunctionKind::Ntile => None,
    }
}

/// A column that a condition lets be so much at most.
struct RankBound {
    column: usize,
    /// A bigint, not negative, over no columns.
    limit: ScalarExpr,
    /// Every value from 1 to there passes.
    exact: bool,
}

/// What a condition says of a column's greatest value, if it does.
fn bound(condition: &ScalarExpr) -> Option<RankBound> {
    if let ScalarExpr::Or(terms) = condition {
        return any_of(terms);
    }
    if let Some((column, array)) = shape::equal_to_any(condition) {
        let (column, shift) = shifted(column)?;
        let ScalarExpr::Literal(Datum::Array(array), _) = array else { return None };
        let greatest = array.elements.iter().filter_map(Datum::as_i64).max().unwrap_or(0);
        let is_all = array.elements.iter().all(|element| element.is_null() || element.as_i64().is_some());
        return is_all.then_some(known(column, greatest.checked_add(shift)?, false));
    }
    let (comparison, left, right) = shape::compared(condition)?;
    let (comparison, (column, shift), value) = match (shifted(left), shifted(right)) {
        (Some(column), None) => (comparison, column, right),
        (None, Some(column)) => (comparison.commuted(), column, left),
        (Some(_), Some(_)) | (None, None) => return None,
    };
    let within = match comparison {
        Comparison::LessOrEqual | Comparison::Equal => 0,
        Comparison::Less => 1,
        Comparison::NotEqual
        | Comparison::Greater
        | Comparison::GreaterOrEqual
        | Comparison::Distinct
        | Comparison::NotDistinct => return None,
    };
    if let ScalarExpr::Literal(value, _) = value {
        let limit = value.as_i64()?.checked_add(shift)?.checked_sub(within)?;
        return Some(known(column, limit, comparison != Comparison::Equal || limit <= 1));
    }
    let is_known_later = expr::is_constant(value) && !expr::is_volatile(value) && shift == 0;
    let scalar = expr::scalar_type(value, &[]);
    if !is_known_later || !matches!(scalar, ScalarType::Int2 | ScalarType::Int4 | ScalarType::Int8) {
        return None;
    }
    let function = registry::resolve_function("rows_up_to", std::slice::from_ref(&scalar), false).ok()?.function;
    let limit = ScalarExpr::Call { function, args: vec![value.clone()], result: ScalarType::Int8 };
    Some(RankBound { column, limit, exact: false })
}

fn known(column: usize, limit: i64, exact: bool) -> RankBound {
    RankBound { column, limit: expr::bigint(limit.max(0)), exact }
}

/// The greatest of several bounds of one column, all of them known.
fn any_of(terms: &[ScalarExpr]) -> Option<RankBound> {
    let mut greatest: Option<(usize, i64)> = None;
    for term in terms {
        let RankBound { column, limit: ScalarExpr::Literal(limit, _), .. } = bound(term)? else { return None };
        let (first, so_far) = *greatest.get_or_insert((column, 0));
        if first != column {
            return None;
        }
        greatest = Some((column, so_far.max(limit.as_i64()?)));
    }
    greatest.map(|(column, limit)| known(column, limit, false))
}

/// A column, or one less a constant: what is to be added to a bound of it.
fn shifted(side: &ScalarExpr) -> Option<(usize, i64)> {
    match shape::relabelled(side) {
        ScalarExpr::Column(column) => Some((*column, 0)),
        ScalarExpr::Call { function, args, .. } if function.name == "-" => match args.as_slice() {
            [column, ScalarExpr::Literal(less, _)] => match shape::relabelled(column) {
                ScalarExpr::Column(column) => Some((*column, less.as_i64()?)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}
