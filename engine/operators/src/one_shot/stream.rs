//! Plans without state as chains of pull iterators: what runs on the connection's own thread.
//!
//! ```text
//! Get ─▶ Mfp ─▶ LookupJoin ─▶ TableFunction ─▶ Union …      one row at a time, in one reused buffer
//! Join, Reduce                                              one side, or the groups, held while the rest streams
//! ```
//!
//! Lazy from end to end: a LIMIT above stops the storage iterators below. Never starts a thread. What
//! needs more state (ordered groups, windows, recursion …) is `render`'s; such a plan below a chain, as the
//! step of a recursion, is run to completion where it stands.

use crate::one_shot::expand::{LookupJoinStream, TableFunctionStream};
use crate::one_shot::group::GroupStream;
use crate::one_shot::hash_join::{HashJoin, HashJoinStream};
use crate::one_shot::packed::{MfpStream, PackedPull, Whole};
use crate::one_shot::range_join::{RangeJoin, RangeJoinStream};
use crate::one_shot::rounds::RoundsStream;
use crate::one_shot::{OneShot, get};
use crate::render::arity;
use crate::render::recursive::is_additive;
use crate::render::source::run_to_completion;
use crate::render::top_k::{limit, more_than_one_row, offset};
use planner::plan::{LocalId, Plan};
use planner::scalar::Mfp;
use repr::{Datum, Row, poll};
use state::SqlError;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows one after another.
pub trait Pull: Send {
    /// Replaces `row` with the next row; false, and `row` is nothing, at the end.
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError>;
    /// Who gives the same rows packed, if they stand so. Always the same; once asked, rows are pulled from there only.
    fn packed(&mut self) -> Option<&mut dyn PackedPull> {
        None
    }
}

/// What `GetLocal` means in a chain.
#[derive(Clone)]
pub enum Local<'p> {
    /// Rows at hand.
    Bag(Arc<Vec<Row>>),
    /// A plan that is streamed where it is used; the locals are those of its own place.
    Plan(&'p Plan, Arc<Locals<'p>>),
    /// A recursion, streamed where it is used.
    Recursion(crate::render::recursive::Recursion<'p>, Arc<Locals<'p>>),
}

/// Locals in scope.
pub type Locals<'p> = BTreeMap<LocalId, Local<'p>>;

/// Whether the plan is a chain, given locals.
pub fn streams(plan: &Plan, known: &dyn Fn(LocalId) -> bool) -> bool {
    chains(plan, known, true)
}

/// Whether the plan is a chain, with or without operators that hold rows.
fn chains(plan: &Plan, known: &dyn Fn(LocalId) -> bool, holding: bool) -> bool {
    match plan {
        Plan::Constant { .. } | Plan::Get { .. } => true,
        Plan::GetLocal { id, .. } => known(*id),
        Plan::Mfp(input, _) | Plan::TableFunction { input, .. } | Plan::LookupJoin { input, .. } => {
            chains(input, known, holding)
        }
        Plan::Union(inputs, _) => inputs.iter().all(|input| chains(input, known, holding)),
        Plan::TopK { input, keys, order, .. } => keys.is_empty() && order.is_empty() && chains(input, known, holding),
        Plan::AtMostOne { input, keys } => keys.is_empty() && chains(input, known, holding),
        Plan::Let { id, value, body } => {
            chains(value, known, holding) && chains(body, &|local| local == *id || known(local), holding)
        }
        Plan::LetRec { id, base, step, body, .. } => {
            by_rounds(base, step, *id, known) && chains(body, &|local| local == *id || known(local), holding)
        }
        Plan::Join { left, right, .. } => holding && chains(left, known, holding) && chains(right, known, holding),
        Plan::Reduce { input, .. } => holding && chains(input, known, holding),
        Plan::Window { .. } | Plan::Negate(_) | Plan::Threshold(_) => false,
    }
}

/// Whether a recursion runs by rounds rather than by iteration in a dataflow: if it is all chains, which then
/// come out lazily, or if its step looks at a round as a whole.
pub fn by_rounds(base: &Plan, step: &Plan, id: LocalId, known: &dyn Fn(LocalId) -> bool) -> bool {
    let known: &dyn Fn(LocalId) -> bool = &|local| local == id || known(local);
    // A join would be held anew in every round: iteration arranges its other side once.
    let lazy = chains(base, known, false) && chains(step, known, false);
    (lazy || !is_additive(step, id)) && closed(base, known) && closed(step, known)
}

/// Whether the plan reads no other locals than known ones.
pub fn closed(plan: &Plan, known: &dyn Fn(LocalId) -> bool) -> bool {
    match plan {
        Plan::GetLocal { id, .. } => known(*id),
        Plan::Let { id, value, body } => closed(value, known) && closed(body, &|local| local == *id || known(local)),
        Plan::LetRec { id, base, step, body, .. } => {
            let known = |local| local == *id || known(local);
            closed(base, &known) && closed(step, &known) && closed(body, &known)
        }
        _ => crate::render::children(plan).into_iter().all(|child| closed(child, known)),
    }
}

/// The plan's rows, whatever the plan: streamed if it is a chain, else computed here when first asked for.
pub fn rows<'p>(plan: &'p Plan, shot: &OneShot, locals: &Arc<Locals<'p>>) -> Result<Box<dyn Pull + 'p>, SqlError> {
    if streams(plan, &|id| locals.contains_key(&id)) {
        return stream(plan, shot, locals);
    }
    Ok(Box::new(Whole::new(Computed { plan, shot: shot.clone(), locals: locals.clone(), rows: None })))
}

/// The rows of a plan that `streams`.
pub fn stream<'p>(plan: &'p Plan, shot: &OneShot, locals: &Arc<Locals<'p>>) -> Result<Box<dyn Pull + 'p>, SqlError> {
    let rows = operator(plan, shot, locals)?;
    Ok(match &shot.profile {
        Some(profile) => profile.counted(plan, rows),
        None => rows,
    })
}

fn operator<'p>(plan: &'p Plan, shot: &OneShot, locals: &Arc<Locals<'p>>) -> Result<Box<dyn Pull + 'p>, SqlError> {
    match plan {
        Plan::Constant { rows, .. } => Ok(Box::new(RowsStream { rows: rows.iter() })),
        Plan::Get { relation, access, with_key, mfp, .. } => {
            let rows = get::stream(*relation, access, *with_key, mfp, shot)?;
            Ok(through(rows, mfp, shot))
        }
        Plan::GetLocal { id, .. } => match locals.get(id) {
            Some(Local::Bag(rows)) => Ok(Box::new(BagStream { rows: rows.clone(), position: 0 })),
            Some(Local::Plan(value, locals)) => stream(value, shot, locals),
            Some(Local::Recursion(recursion, locals)) => Ok(Box::new(RoundsStream::new(*recursion, shot, locals)?)),
            None => Err(SqlError::new("XX000", format!("local relation {} is used outside its scope", id.0))),
        },
        Plan::Mfp(input, mfp) => Ok(through(stream(input, shot, locals)?, mfp, shot)),
        Plan::TableFunction { input, functions, ordinality, .. } => {
            let input = stream(input, shot, locals)?;
            Ok(Box::new(TableFunctionStream::new(input, functions, *ordinality, shot)))
        }
        Plan::LookupJoin { input, relation, lookup, key, kind, condition, with_key, mfp, .. } => {
            let input = stream(input, shot, locals)?;
            let join = crate::render::lookup_join::LookupJoin { key, kind: *kind, condition, with_key: *with_key, mfp };
            Ok(Box::new(LookupJoinStream::new(input, *relation, *lookup, join, shot)?))
        }
        Plan::Union(inputs, _) => {
            let inputs = inputs.iter().map(|input| stream(input, shot, locals)).collect::<Result<Vec<_>, _>>()?;
            Ok(Box::new(UnionStream { inputs: inputs.into_iter(), current: None }))
        }
        Plan::TopK { input, limit: limit_expression, offset: offset_expression, .. } => Ok(Box::new(LimitStream {
            input: stream(input, shot, locals)?,
            skip: offset(offset_expression.as_ref(), &shot.eval)?,
            left: limit(limit_expression.as_ref(), &shot.eval)?,
        })),
        Plan::AtMostOne { input, .. } => {
            Ok(Box::new(AtMostOneStream { input: stream(input, shot, locals)?, ended: false }))
        }
        Plan::Let { id, value, body } => {
            let local = if uses(body, *id) > 1 {
                Local::Bag(Arc::new(materialise(&mut *stream(value, shot, locals)?, shot)?))
            } else {
                Local::Plan(value, locals.clone())
            };
            stream(body, shot, &with(locals, *id, local))
        }
        Plan::LetRec { id, base, step, distinct, body } => {
            let recursion = crate::render::recursive::Recursion { id: *id, base, step, distinct: *distinct };
            let local = if uses(body, *id) > 1 {
                let mut rows = RoundsStream::new(recursion, shot, locals)?;
                Local::Bag(Arc::new(materialise(&mut rows, shot)?))
            } else {
                Local::Recursion(recursion, locals.clone())
            };
            stream(body, shot, &with(locals, *id, local))
        }
        Plan::Join { left, right, left_key, right_key, null_safe, range: Some(range), mfp, .. } => {
            let join = RangeJoin { left_key, right_key, null_safe: *null_safe, range, mfp };
            let (left, right) = (rows(left, shot, locals)?, rows(right, shot, locals)?);
            Ok(Box::new(RangeJoinStream::new(left, right, join, shot)))
        }
        Plan::Join { left, right, left_key, right_key, null_safe, kind, range: None, mfp } => {
            let join =
                HashJoin { left_key, right_key, right_arity: arity(right), null_safe: *null_safe, kind: *kind, mfp };
            let (left, right) = (stream(left, shot, locals)?, stream(right, shot, locals)?);
            Ok(Box::new(HashJoinStream::new(left, right, join, shot)))
        }
        Plan::Reduce { input, keys, aggregates, scalar } => {
            let input = stream(input, shot, locals)?;
            Ok(Box::new(Whole::new(GroupStream::new(input, keys, aggregates, *scalar, shot))))
        }
        Plan::Window { .. } | Plan::Negate(_) | Plan::Threshold(_) => rows(plan, shot, locals),
    }
}

/// Locals with one more.
pub fn with<'p>(locals: &Arc<Locals<'p>>, id: LocalId, local: Local<'p>) -> Arc<Locals<'p>> {
    let mut locals = Locals::clone(locals);
    locals.insert(id, local);
    Arc::new(locals)
}

/// How often a plan reads a local; inside the step of a recursion counts as often.
pub fn uses(plan: &Plan, id: LocalId) -> usize {
    match plan {
        Plan::GetLocal { id: local, .. } => usize::from(*local == id),
        Plan::LetRec { base, step, body, .. } => uses(base, id) + 2 * uses(step, id) + uses(body, id),
        _ => crate::render::children(plan).into_iter().map(|child| uses(child, id)).sum(),
    }
}

/// All rows of a chain.
pub fn materialise(input: &mut dyn Pull, shot: &OneShot) -> Result<Vec<Row>, SqlError> {
    let (mut rows, mut row) = (Vec::new(), Vec::new());
    let mut ticker = state::interrupt::Ticker::default();
    while input.next(&mut row)? {
        ticker.tick(&shot.watch)?;
        let packed = Row::pack(&row);
        poll::bytes(packed.bytes().len())?;
        rows.push(packed);
    }
    Ok(rows)
}

/// Whether the plan has a recursion that runs by rounds in its own right, or a join by order: its locals must then be at hand
/// as rows.
pub fn needs_rows(plan: &Plan) -> bool {
    let here = match plan {
        Plan::LetRec { id, step, .. } => !is_additive(step, *id),
        Plan::Join { range, .. } => range.is_some(),
        _ => false,
    };
    here || crate::render::children(plan).into_iter().any(needs_rows)
}

/// No rows.
pub fn nothing<'p>() -> Box<dyn Pull + 'p> {
    Box::new(RowsStream { rows: [].iter() })
}

/// Rows at hand.
pub(super) fn bag<'p>(rows: Vec<Row>) -> Box<dyn Pull + 'p> {
    Box::new(Whole::new(rows.into_iter().map(Ok)))
}

/// `input` through an `Mfp`, unless that changes nothing.
pub(super) fn through<'p>(input: Box<dyn Pull + 'p>, mfp: &'p Mfp, shot: &OneShot) -> Box<dyn Pull + 'p> {
    if mfp.is_identity() {
        return input;
    }
    Box::new(MfpStream::new(input, mfp, &shot.eval, &shot.watch))
}

struct RowsStream<'p> {
    rows: std::slice::Iter<'p, Row>,
}

impl Pull for RowsStream<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        let Some(next) = self.rows.next() else { return Ok(false) };
        next.unpack_into(row);
        Ok(true)
    }
}

struct BagStream {
    rows: Arc<Vec<Row>>,
    position: usize,
}

impl Pull for BagStream {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        let Some(next) = self.rows.get(self.position) else { return Ok(false) };
        self.position += 1;
        next.unpack_into(row);
        Ok(true)
    }
}

struct UnionStream<'p> {
    inputs: std::vec::IntoIter<Box<dyn Pull + 'p>>,
    current: Option<Box<dyn Pull + 'p>>,
}

impl Pull for UnionStream<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        loop {
            if let Some(current) = &mut self.current
                && current.next(row)?
            {
                return Ok(true);
            }
            self.current = self.inputs.next();
            if self.current.is_none() {
                return Ok(false);
            }
        }
    }
}

struct LimitStream<'p> {
    input: Box<dyn Pull + 'p>,
    skip: usize,
    left: Option<usize>,
}

impl Pull for LimitStream<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        if self.left == Some(0) {
            return Ok(false);
        }
        while self.skip > 0 {
            if !self.input.next(row)? {
                return Ok(false);
            }
            self.skip -= 1;
        }
        self.left = self.left.map(|left| left - 1);
        self.input.next(row)
    }
}

struct AtMostOneStream<'p> {
    input: Box<dyn Pull + 'p>,
    ended: bool,
}

impl Pull for AtMostOneStream<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        if self.ended || !self.input.next(row)? {
            return Ok(false);
        }
        self.ended = true;
        if self.input.next(&mut Vec::new())? {
            return Err(more_than_one_row().into());
        }
        Ok(true)
    }
}

/// A plan that is no chain, run by a dataflow on the thread that asks.
struct Computed<'p> {
    plan: &'p Plan,
    shot: OneShot,
    locals: Arc<Locals<'p>>,
    rows: Option<std::vec::IntoIter<Row>>,
}

impl Computed<'_> {
    fn rows(&mut self) -> Result<&mut std::vec::IntoIter<Row>, SqlError> {
        let rows = match self.rows.take() {
            Some(rows) => rows,
            None => run_to_completion(self.plan, &self.shot, &self.locals)?.into_iter(),
        };
        Ok(self.rows.insert(rows))
    }
}

impl Iterator for Computed<'_> {
    type Item = Result<Row, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.rows() {
            Ok(rows) => rows.next().map(Ok),
            Err(error) => Some(Err(error)),
        }
    }
}
