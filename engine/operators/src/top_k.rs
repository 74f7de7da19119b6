//! Rows chosen within groups by order: the first ones (`TopK`), or the only one (`AtMostOne`).
//!
//! ```text
//! once    without groups and order the first that come; else each group's first rows so far, and no others, are held
//! kept    the order is in the arranged bytes: see `OrderedRow`
//! ```
//! Ties fall by the row's bytes. With a bound on a rank the peers of the last row come along: see `Ranks`.

use crate::context::{Bundle, Context, RenderTime};
use crate::groups::Outcome;
use crate::once::{OneShot, Pull};
use crate::ordered_groups::{OrderedGrouping, OrderedRows, reduce_in_order};
use arrangements::arrangement::{Bytes, FlatBytes, metered};
use arrangements::key_columns::KeyColumns;
use arrangements::ordered_row::{OrderedRow, encode_order, group_key};
use planner::plan::Counting;
use planner::scalar::{EvalContext, Order, ScalarExpr};
use repr::hash::HashSet;
use repr::row::RowIter;
use repr::{Datum, Row, ValueError, poll};
use state::SqlError;
use state::interrupt::Ticker;
use std::collections::btree_map::IntoValues;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;

/// The first rows that come, once, after some.
pub struct FirstRows<'p> {
    input: Box<dyn Pull + 'p>,
    skip: usize,
    left: Option<usize>,
}

impl<'p> FirstRows<'p> {
    /// As many as LIMIT says, after as many as OFFSET says.
    pub fn new(
        input: Box<dyn Pull + 'p>,
        limit_expression: Option<&ScalarExpr>,
        offset_expression: Option<&ScalarExpr>,
        shot: &OneShot,
    ) -> Result<Self, SqlError> {
        let (skip, left) = (offset(offset_expression, &shot.eval)?, limit(limit_expression, &shot.eval)?);
        Ok(FirstRows { input, skip, left })
    }
}

impl Pull for FirstRows<'_> {
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

/// The first rows of each group, once: in the order of the groups' keys.
pub struct TopKRows<'p> {
    first: FirstRows<'p>,
    keys: &'p [usize],
    order: &'p [Order],
    counting: Counting,
    groups: Option<IntoValues<Vec<u8>, FirstOfGroup>>,
    /// What is left of the group at hand.
    group: std::vec::IntoIter<Row>,
    shot: OneShot,
}

impl<'p> TopKRows<'p> {
    /// As many of each group as there are to be in all, by an order.
    pub fn new(
        first: FirstRows<'p>,
        keys: &'p [usize],
        order: &'p [Order],
        counting: Counting,
        shot: &OneShot,
    ) -> Self {
        let group = Vec::new().into_iter();
        TopKRows { first, keys, order, counting, groups: None, group, shot: shot.clone() }
    }

    fn groups(&mut self) -> Result<BTreeMap<Vec<u8>, FirstOfGroup>, SqlError> {
        let mut groups: BTreeMap<Vec<u8>, FirstOfGroup> = BTreeMap::new();
        let kept_max = self.first.left.map_or(usize::MAX, |left| left.saturating_add(self.first.skip));
        if self.first.left == Some(0) {
            return Ok(groups);
        }
        let (mut ticker, mut datums) = (Ticker::default(), Vec::new());
        while self.first.input.next(&mut datums)? {
            ticker.tick(&self.shot.watch)?;
            let row = OrderedRow::make(self.order, &datums, &Row::pack(&datums));
            let group = groups.entry(group_key(self.keys, &datums));
            let group = group.or_insert_with(|| FirstOfGroup::new(self.counting, self.order, kept_max));
            group.add(row)?;
        }
        Ok(groups)
    }

    fn advance(&mut self) -> Result<Option<Row>, SqlError> {
        if self.groups.is_none() {
            self.groups = Some(self.groups()?.into_values());
        }
        loop {
            if let Some(row) = self.group.next() {
                return Ok(Some(Row::copy_from(OrderedRow::row(row.bytes()))));
            }
            let Some(group) = self.groups.as_mut().and_then(Iterator::next) else { return Ok(None) };
            let mut rows = group.into_sorted()?;
            rows.drain(..self.first.skip.min(rows.len()));
            self.group = rows.into_iter();
        }
    }
}

impl Iterator for TopKRows<'_> {
    type Item = Result<Row, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

/// The first rows of a group so far, by their order.
enum FirstOfGroup {
    /// No more than are wanted.
    Rows { heap: BinaryHeap<Row>, kept_max: usize },
    /// Up to a rank. Now and then those are cut off that have come to stand behind it.
    Ranked { rows: Vec<Row>, cut_at: usize, ranks: Ranks },
}

/// Ranked rows are cut once there are so many more than were left of the last cut, or twice as many.
const CUT_AFTER: usize = 64;

impl FirstOfGroup {
    fn new(counting: Counting, order: &[Order], kept_max: usize) -> FirstOfGroup {
        match Ranks::new(counting, order, kept_max) {
            None => FirstOfGroup::Rows { heap: BinaryHeap::new(), kept_max },
            Some(ranks) => FirstOfGroup::Ranked { rows: Vec::new(), cut_at: CUT_AFTER, ranks },
        }
    }

    fn add(&mut self, row: Row) -> Result<(), ValueError> {
        match self {
            FirstOfGroup::Rows { heap, kept_max } if heap.len() < *kept_max => {
                poll::bytes(row.bytes().len())?;
                heap.push(row);
            }
            FirstOfGroup::Rows { heap, .. } => {
                if let Some(mut last) = heap.peek_mut()
                    && row < *last
                {
                    *last = row;
                }
            }
            FirstOfGroup::Ranked { rows, cut_at, ranks } => {
                poll::bytes(row.bytes().len())?;
                rows.push(row);
                if rows.len() >= *cut_at {
                    ranks.cut(rows)?;
                    *cut_at = rows.len() * 2 + CUT_AFTER;
                }
            }
        }
        Ok(())
    }

    fn into_sorted(self) -> Result<Vec<Row>, ValueError> {
        match self {
            FirstOfGroup::Rows { heap, .. } => {
                let mut rows = heap.into_vec();
                poll::sort_by(&mut rows, Row::cmp)?;
                Ok(rows)
            }
            FirstOfGroup::Ranked { mut rows, mut ranks, .. } => {
                ranks.cut(&mut rows)?;
                Ok(rows)
            }
        }
    }
}

/// Follows the rows of a group in their order up to a rank or dense rank.
///
/// ```text
/// order bytes    a a a b c c      of what was written: rows that begin alike are peers
/// rank           1 1 1 4 5 5      one more than the rows before the peers
/// dense rank     1 1 1 2 3 3      one more than the groups before
/// ```
#[derive(Clone)]
struct Ranks {
    counting: Counting,
    /// What was written of the order.
    order: Vec<Order>,
    last: usize,
    rows: usize,
    groups: usize,
    /// How the rows of the peers at hand begin.
    codes: Vec<u8>,
}

impl Ranks {
    /// None if rows are counted, whoever their peers are.
    fn new(counting: Counting, order: &[Order], last: usize) -> Option<Ranks> {
        match counting {
            Counting::Rows => None,
            Counting::RowsWithPeers | Counting::PeerGroups => {
                let order = Order::written(order).to_vec();
                Some(Ranks { counting, order, last, rows: 0, groups: 0, codes: Vec::new() })
            }
        }
    }

    /// Before the first row of a group.
    fn begin(&mut self) {
        (self.rows, self.groups) = (0, 0);
    }

    /// Whether the next row is within, by its ordered bytes and datums.
    fn admits(&mut self, bytes: &[u8], copies: usize, datums: impl FnOnce() -> Vec<Datum>) -> bool {
        if self.groups == 0 || !bytes.starts_with(&self.codes) {
            let before = match self.counting {
                Counting::Rows | Counting::RowsWithPeers => self.rows,
                Counting::PeerGroups => self.groups,
            };
            if before >= self.last {
                return false;
            }
            self.groups += 1;
            self.codes.clear();
            encode_order(&mut self.codes, &self.order, &datums());
        }
        self.rows = self.rows.saturating_add(copies);
        true
    }

    /// Sorts rows, and leaves those that are within.
    fn cut(&mut self, rows: &mut Vec<Row>) -> Result<(), ValueError> {
        poll::sort_by(rows, Row::cmp)?;
        self.begin();
        let datums = |row: &Row| RowIter::over(OrderedRow::row(row.bytes())).collect();
        let within = rows.iter().take_while(|row| self.admits(row.bytes(), 1, || datums(row))).count();
        rows.truncate(within);
        Ok(())
    }
}

/// The only row of each group, once. 21000 at a second one.
pub struct AtMostOneRows<'p> {
    input: Box<dyn Pull + 'p>,
    keys: &'p [usize],
    /// Groups that have given their row.
    given: HashSet<Vec<u8>>,
}

impl<'p> AtMostOneRows<'p> {
    /// Of these groups; of all rows if there are no keys.
    pub fn new(input: Box<dyn Pull + 'p>, keys: &'p [usize]) -> Self {
        AtMostOneRows { input, keys, given: HashSet::default() }
    }
}

impl Pull for AtMostOneRows<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        if self.keys.is_empty() {
            if !self.given.is_empty() || !self.input.next(row)? {
                return Ok(false);
            }
            self.given.insert(Vec::new());
            // Nobody wants it unless it is the only one.
            return if self.input.next(&mut Vec::new())? { Err(more_than_one_row().into()) } else { Ok(true) };
        }
        if !self.input.next(row)? {
            return Ok(false);
        }
        let key = group_key(self.keys, row);
        poll::bytes(key.len())?;
        if self.given.insert(key) { Ok(true) } else { Err(more_than_one_row().into()) }
    }
}

/// The value of a LIMIT; none if it is absent or NULL. 2201W if negative.
pub fn limit(expression: Option<&ScalarExpr>, eval: &EvalContext) -> Result<Option<usize>, ValueError> {
    count(expression, eval, "2201W", "LIMIT")
}

/// The value of an OFFSET. 2201X if negative.
pub fn offset(expression: Option<&ScalarExpr>, eval: &EvalContext) -> Result<usize, ValueError> {
    Ok(count(expression, eval, "2201X", "OFFSET")?.unwrap_or(0))
}

fn count(
    expression: Option<&ScalarExpr>,
    eval: &EvalContext,
    code: &'static str,
    clause: &str,
) -> Result<Option<usize>, ValueError> {
    let Some(expression) = expression else { return Ok(None) };
    let value = expression.eval(&[], eval)?;
    if value.is_null() {
        return Ok(None);
    }
    let value = value.as_i64().ok_or_else(|| ValueError::new("XX000", format!("{clause} is not an integer")))?;
    usize::try_from(value).map(Some).map_err(|_| ValueError::new(code, format!("{clause} must not be negative")))
}

/// What a scalar subquery that gave several rows is told.
pub(crate) fn more_than_one_row() -> ValueError {
    ValueError::new("21000", "more than one row returned by a subquery used as an expression")
}

/// How many rows of a group are the first ones.
#[derive(Clone, Copy)]
pub struct First<'p> {
    /// LIMIT.
    pub limit: Option<&'p ScalarExpr>,
    /// OFFSET.
    pub offset: Option<&'p ScalarExpr>,
    /// What LIMIT counts.
    pub counting: Counting,
}

/// Renders a `TopK`.
pub fn render<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    keys: &[usize],
    order: &[Order],
    first: First<'_>,
) -> Result<Bundle<'s, T>, SqlError> {
    let limit = limit(first.limit, &context.eval)?;
    let offset = offset(first.offset, &context.eval)?;
    // The rows of a group are all alike in what makes its key.
    let order: Vec<Order> = order.iter().filter(|item| !keys.contains(&item.column)).copied().collect();
    let mut ranks = Ranks::new(first.counting, &order, limit.unwrap_or(usize::MAX));
    let (keys, meter) = (keys.to_vec(), context.meter.clone());
    let mut datums = Vec::new();
    let told = Rc::new(KeyColumns::new(keys.clone()));
    let tells = told.clone();
    let keyed = move |rows: &mut Vec<(Row, T, isize)>, updates: &mut Vec<_>, _: &mut Vec<_>| {
        for (row, time, diff) in rows.drain(..) {
            row.unpack_into(&mut datums);
            let ordered = OrderedRow::make(&order, &datums, &tells.value(&datums, row));
            updates.push((metered(&meter, group_key(&keys, &datums), ordered), time, diff));
        }
        // Nobody's row is kept until the next one comes.
        datums.clear();
    };
    let watch = context.watch.clone();
    let mut ticker = Ticker::default();
    let grouping = OrderedGrouping { name: "TopK", keyed, phantom: None };
    let mut bundle = reduce_in_order(context, input.oks, grouping, move |key, rows, output| {
        if ticker.stops(&watch) {
            return;
        }
        if let Some(ranks) = &mut ranks {
            return up_to_rank(ranks, rows, |bytes| told.row(key, OrderedRow::parts(bytes).1), output);
        }
        let (mut skip, mut left) = (offset, limit.unwrap_or(usize::MAX));
        while left > 0
            && let Some((bytes, diff)) = rows.next()
        {
            // A negative count is a transient of incremental input; such a row is not there.
            let copies = usize::try_from(diff).unwrap_or(0);
            let skipped = copies.min(skip);
            skip -= skipped;
            let taken = (copies - skipped).min(left);
            left -= taken;
            if taken > 0 {
                let row = told.row(key, OrderedRow::parts(bytes).1);
                output.push((Ok(row), taken.cast_signed()));
            }
        }
    });
    bundle.errs = input.errs;
    Ok(bundle)
}

/// The rows of a group up to a rank.
fn up_to_rank(
    ranks: &mut Ranks,
    rows: OrderedRows<'_, isize>,
    row_of: impl Fn(Bytes<'_>) -> Row,
    output: &mut Vec<(Outcome, isize)>,
) {
    ranks.begin();
    for (bytes, diff) in rows {
        let copies = usize::try_from(diff).unwrap_or(0);
        if copies == 0 {
            continue;
        }
        let row = row_of(bytes);
        if !ranks.admits(bytes.0, copies, || row.unpack()) {
            return;
        }
        output.push((Ok(row), diff));
    }
}

/// Renders an `AtMostOne`.
pub(crate) fn render_at_most_one<'s, T: RenderTime>(
    context: &Context<'s, T>,
    input: Bundle<'s, T>,
    keys: &[usize],
) -> Bundle<'s, T> {
    let (keys, meter) = (keys.to_vec(), context.meter.clone());
    let mut datums = Vec::new();
    let keyed = move |rows: &mut Vec<(Row, T, isize)>, updates: &mut Vec<_>, _: &mut Vec<_>| {
        for (row, time, diff) in rows.drain(..) {
            row.unpack_into(&mut datums);
            updates.push((metered(&meter, group_key(&keys, &datums), row), time, diff));
        }
        // Nobody's row is kept until the next one comes.
        datums.clear();
    };
    let grouping = OrderedGrouping { name: "AtMostOne", keyed, phantom: None };
    reduce_in_order(context, input.oks, grouping, |_key, rows, output| match (rows.next(), rows.next()) {
        (None, _) => {}
        (Some((row, 1)), None) => output.push((Ok(Row::copy_from(row.0)), 1)),
        _ => output.push((Err(more_than_one_row()), 1)),
    })
    .with_errs(input.errs)
}
