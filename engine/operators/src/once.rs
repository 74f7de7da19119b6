//! What operators that run once are given, and what they give: rows, pulled one by one.
//!
//! ```text
//! Pull      one row at a time, in the reader's buffer; or packed, as it stands, where nothing has to be unpacked
//! OneShot   what all operators of a query share: what is read, what expressions see, what may end it
//! Scope     what local relations mean, and what rounds of a recursion keep
//! ```
//! Lazy from end to end: a LIMIT above stops the storage iterators below. An operator does not know who drives it.

use crate::plan::Recursion;
use crate::profile::Profile;
use parking_lot::Mutex;
use planner::plan::{LocalId, Plan};
use planner::scalar::{EvalContext, Mfp};
use repr::{ColumnIndex, Datum, RelationId, Row, poll};
use state::SqlError;
use state::answer::Stored;
use state::interrupt::{Ticker, Watch};
use state::reader::Reader;
use std::any::Any;
use std::collections::{BTreeMap, HashMap, HashSet};
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

/// Rows one after another, packed.
pub trait PackedPull {
    /// Goes on to the next row; false at the end.
    fn advance(&mut self) -> Result<bool, SqlError>;
    /// The row that it stands on.
    fn row(&mut self) -> Stored<'_>;
    /// Where each column stands in the packed row; none if each stands where it is counted.
    fn places(&self) -> Option<&[usize]> {
        None
    }
}

/// Rows that come packed, with all their columns.
pub struct Whole<I> {
    rows: I,
    row: Row,
}

impl<I: Iterator<Item = Result<Row, SqlError>> + Send> Whole<I> {
    /// The same rows.
    pub fn new(rows: I) -> Self {
        Whole { rows, row: Row::default() }
    }
}

impl<I: Iterator<Item = Result<Row, SqlError>> + Send> Pull for Whole<I> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        let Some(next) = self.rows.next() else { return Ok(false) };
        next?.unpack_into(row);
        Ok(true)
    }
    fn packed(&mut self) -> Option<&mut dyn PackedPull> {
        Some(self)
    }
}

impl<I: Iterator<Item = Result<Row, SqlError>> + Send> PackedPull for Whole<I> {
    fn advance(&mut self) -> Result<bool, SqlError> {
        let Some(next) = self.rows.next() else { return Ok(false) };
        self.row = next?;
        Ok(true)
    }
    fn row(&mut self) -> Stored<'_> {
        Stored::whole(self.row.bytes())
    }
}

/// The rows of catalog relations, which no storage holds.
pub trait SystemRows: Send + Sync {
    /// All rows of a catalog relation that are wanted, and maybe others, of a numbered one those within the range, in its order;
    /// `None` if the relation is not one.
    fn rows(&self, relation: RelationId, wanted: WantedRows) -> Option<Result<FoundRows, SqlError>>;
}

/// Rows as they are found.
pub type FoundRows = Box<dyn Iterator<Item = Result<Row, SqlError>> + Send>;

/// Which rows of a catalog relation are wanted.
pub struct WantedRows {
    /// Of a numbered one.
    pub numbers: NumberRange,
    /// Values that they have, by column.
    pub values: Vec<(ColumnIndex, Datum)>,
    /// What is looked at of them.
    pub columns: WantedColumns,
}

/// Which columns of rows are looked at; the others may be NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedColumns {
    /// All.
    All,
    /// These.
    Some(HashSet<usize>),
}

impl WantedColumns {
    /// Those that an evaluation looks at.
    pub fn of(mfp: &Mfp) -> WantedColumns {
        match mfp.is_identity() {
            true => WantedColumns::All,
            false => WantedColumns::Some(mfp.columns().into_iter().collect()),
        }
    }

    /// Whether this is one of them.
    pub fn has(&self, column: usize) -> bool {
        match self {
            WantedColumns::All => true,
            WantedColumns::Some(columns) => columns.contains(&column),
        }
    }
}

/// Which rows of a numbered relation are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberRange {
    /// From this number on.
    pub first: u64,
    /// Up to this one.
    pub last: u64,
    /// From high to low.
    pub reverse: bool,
}

impl NumberRange {
    /// All, in order.
    pub const ALL: NumberRange = NumberRange { first: 0, last: u64::MAX, reverse: false };
    /// None.
    pub const NONE: NumberRange = NumberRange { first: u64::MAX, last: 0, reverse: false };
}

/// No catalog relations: for evaluations below the level of statements.
pub struct NoSystemRows;

impl SystemRows for NoSystemRows {
    fn rows(&self, _relation: RelationId, _wanted: WantedRows) -> Option<Result<FoundRows, SqlError>> {
        None
    }
}

/// What all parts of one query share.
#[derive(Clone)]
pub struct OneShot {
    /// What is read.
    pub reader: Arc<dyn Reader>,
    /// Catalog relations.
    pub system: Arc<dyn SystemRows>,
    /// What expressions are evaluated with.
    pub eval: EvalContext,
    /// What may end the query.
    pub watch: Arc<Watch>,
    /// What counts its operators, under EXPLAIN ANALYZE.
    pub profile: Option<Arc<Profile>>,
}

/// What `GetLocal` means.
#[derive(Clone)]
pub enum Local<'p> {
    /// Rows at hand.
    Bag(Arc<Vec<Row>>),
    /// A plan that is opened where it is used; the scope is that of its own place.
    Plan(&'p Plan, Arc<Scope<'p>>),
    /// A recursion, opened where it is used.
    Recursion(Recursion<'p>, Arc<Scope<'p>>),
}

/// Where a plan stands.
#[derive(Clone, Default)]
pub struct Scope<'p> {
    locals: BTreeMap<LocalId, Local<'p>>,
    /// Within a recursion's step: the locals that are others in each round.
    varying: Vec<LocalId>,
    /// Within a recursion's step: what rounds keep.
    kept: Option<Arc<Kept>>,
}

impl<'p> Scope<'p> {
    /// What a local stands for.
    pub fn local(&self, id: LocalId) -> Option<&Local<'p>> {
        self.locals.get(&id)
    }

    /// With one local more, which is what this plan computes.
    pub fn with(self: &Arc<Self>, id: LocalId, local: Local<'p>, computed_by: &Plan) -> Arc<Scope<'p>> {
        let mut scope = Scope::clone(self);
        if self.varies(computed_by) {
            scope.varying.push(id);
        }
        scope.locals.insert(id, local);
        Arc::new(scope)
    }

    /// For the rounds of a recursion that keep these things.
    pub(crate) fn of_round(self: &Arc<Self>, id: LocalId, rows: Arc<Vec<Row>>, kept: &Arc<Kept>) -> Arc<Scope<'p>> {
        let mut scope = Scope { locals: self.locals.clone(), varying: vec![id], kept: Some(kept.clone()) };
        scope.locals.insert(id, Local::Bag(rows));
        Arc::new(scope)
    }

    /// Whether a plan gives other rows in each round.
    pub fn varies(&self, plan: &Plan) -> bool {
        self.varying.iter().any(|id| crate::plan::mentions(plan, *id))
    }

    /// Where what a join holds of a plan's rows is kept for the rounds to come, if it is.
    pub fn keeping(&self, plan: &Plan) -> Option<Keeping> {
        let kept = self.kept.as_ref().filter(|_| !self.varies(plan))?;
        Some(Keeping { kept: kept.clone(), place: std::ptr::from_ref(plan).addr() })
    }
}

/// What the joins in a recursion's step hold, by the plan that it is of.
#[derive(Default)]
pub struct Kept {
    held: Mutex<HashMap<usize, Arc<dyn Any + Send + Sync>>>,
}

/// The place of one of them.
pub struct Keeping {
    kept: Arc<Kept>,
    place: usize,
}

impl Keeping {
    /// Whether an earlier round has left something.
    pub fn is_filled(&self) -> bool {
        self.kept.held.lock().contains_key(&self.place)
    }

    /// What an earlier round has left.
    pub fn held<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.kept.held.lock().get(&self.place)?.clone().downcast().ok()
    }

    /// Leaves something for the rounds to come.
    pub fn keep<T: Any + Send + Sync>(&self, held: &Arc<T>) {
        self.kept.held.lock().insert(self.place, held.clone());
    }
}

/// All rows of an operator.
pub(crate) fn materialise(input: &mut dyn Pull, shot: &OneShot) -> Result<Vec<Row>, SqlError> {
    let (mut rows, mut row) = (Vec::new(), Vec::new());
    let mut ticker = Ticker::default();
    while input.next(&mut row)? {
        ticker.tick(&shot.watch)?;
        let packed = Row::pack(&row);
        poll::bytes(packed.bytes().len())?;
        rows.push(packed);
    }
    Ok(rows)
}

/// No rows.
pub fn nothing<'p>() -> Box<dyn Pull + 'p> {
    Box::new(Whole::new(std::iter::empty()))
}

/// Rows at hand.
pub fn bag<'p>(rows: Vec<Row>) -> Box<dyn Pull + 'p> {
    Box::new(Whole::new(rows.into_iter().map(Ok)))
}
