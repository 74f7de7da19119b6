//! Temporal filters: rows that come and go as the clock goes on.
//!
//! ```text
//! once    the conditions, at the reader's own now()
//!
//! kept    rows  ─▶ when does each begin, when end? ─┬─ now ────▶ rows, errors
//!         clock ─▶ all that is due by it ◀── DueRows ┴─ later
//! ```
//! A row stands among the due ones at most once, at the next moment at which it comes or goes; what takes it back before that
//! takes it from there, so that a row that waits to come in is gone when its row is. The clock comes with whatever is fed, and
//! never goes back: a feed whose clock is behind changes nothing.
//!
//! Rows that are kept are those of a *span* of moments, not of one: from the last moment at which anything came or went up to
//! the next. Whoever's `now()` is within it may read them; nobody else may. So readers need not apply conditions again, which
//! they could not over groups, and a tick is needed only when something is due.

use crate::context::{Bundle, Context, RenderTime, both};
use crate::delta::slices::Slices;
use crate::delta::{Changes, Feed};
use crate::once::{OneShot, Pull};
use differential_dataflow::AsCollection;
use planner::scalar::{EvalContext, ScalarExpr};
use planner::temporal::{ClockCondition, Turn};
use repr::datetime::DAY_MICROS;
use repr::{Datum, Row, ValueError};
use state::SqlError;
use state::clock::ClockSpan;
use state::interrupt::{Ticker, Watch};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::Pipeline as Local;
use timely::dataflow::operators::Capability;
use timely::dataflow::operators::generic::OutputBuilder;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;

/// Moments are looked for between 1970 and about 3000: what turns before has turned, what turns after never does.
const FIRST: i64 = -10_957 * DAY_MICROS;
const LAST: i64 = 365_000 * DAY_MICROS;

/// Rows for which conditions hold.
pub struct TemporalRows<'p> {
    input: Box<dyn Pull + 'p>,
    conditions: &'p [ClockCondition],
    eval: EvalContext,
    watch: Arc<Watch>,
    ticker: Ticker,
}

impl<'p> TemporalRows<'p> {
    /// `input` through `conditions`.
    pub fn new(input: Box<dyn Pull + 'p>, conditions: &'p [ClockCondition], shot: &OneShot) -> Self {
        let (eval, watch) = (shot.eval.clone(), shot.watch.clone());
        TemporalRows { input, conditions, eval, watch, ticker: Ticker::default() }
    }
}

impl Pull for TemporalRows<'_> {
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool, SqlError> {
        'rows: while self.input.next(row)? {
            self.ticker.tick(&self.watch)?;
            for ClockCondition { condition, .. } in self.conditions {
                if !holds(condition, row, &self.eval)? {
                    continue 'rows;
                }
            }
            return Ok(true);
        }
        Ok(false)
    }
}

fn holds(condition: &ScalarExpr, row: &[Datum], eval: &EvalContext) -> Result<bool, ValueError> {
    Ok(matches!(condition.eval(row, eval)?, Datum::Bool(true)))
}

/// What becomes of a row when its moment comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Comes,
    Goes,
}

/// The rows of one temporal filter that are still to come or to go, by when; and where its clock is.
pub struct DueRows {
    rows: RefCell<BTreeMap<(i64, Due, Row), isize>>,
    bytes: Cell<usize>,
    clock: Cell<i64>,
    /// The last moment at which a row came or went, or would have.
    last: Cell<i64>,
}

impl Default for DueRows {
    fn default() -> Self {
        let (clock, last) = (Cell::new(i64::MIN), Cell::new(i64::MIN));
        DueRows { rows: RefCell::default(), bytes: Cell::new(0), clock, last }
    }
}

impl DueRows {
    /// The moments for which what came out is right.
    pub fn span(&self) -> ClockSpan {
        let next = self.rows.borrow().first_key_value().map(|((moment, ..), _)| *moment);
        ClockSpan { from: self.last.get(), until: next.unwrap_or(i64::MAX) }
    }

    /// How many rows are due by a moment.
    pub fn due_by(&self, moment: i64) -> usize {
        self.rows.borrow().keys().take_while(|(due, ..)| *due <= moment).count()
    }

    /// How many rows wait.
    pub fn len(&self) -> usize {
        self.rows.borrow().len()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.rows.borrow().is_empty()
    }

    /// Bytes that they hold.
    pub fn bytes(&self) -> usize {
        self.bytes.get()
    }

    fn add(&self, moment: i64, due: Due, row: Row, diff: isize) {
        if moment == i64::MAX {
            return;
        }
        let row_bytes = held_bytes(&row);
        let mut rows = self.rows.borrow_mut();
        let key = (moment, due, row);
        let before = rows.get(&key).copied().unwrap_or(0);
        match before + diff {
            0 => {
                rows.remove(&key);
                self.bytes.set(self.bytes.get() - row_bytes);
            }
            after => {
                rows.insert(key, after);
                self.bytes.set(self.bytes.get() + if before == 0 { row_bytes } else { 0 });
            }
        }
    }

    fn pop(&self, clock: i64) -> Option<(i64, Due, Row, isize)> {
        let mut rows = self.rows.borrow_mut();
        let first = rows.first_entry().filter(|first| first.key().0 <= clock)?;
        let ((moment, due, row), diff) = first.remove_entry();
        self.bytes.set(self.bytes.get() - held_bytes(&row));
        Some((moment, due, row, diff))
    }

    fn passed(&self, moment: i64) {
        self.last.set(self.last.get().max(moment));
    }

    /// A row that is in from one moment until another.
    fn arrive(&self, row: Row, (from, until): (i64, i64), diff: isize, changes: &mut Changes) {
        let clock = self.clock.get();
        if clock < from {
            self.add(from, Due::Comes, row, diff);
        } else if clock < until {
            self.passed(from);
            self.add(until, Due::Goes, row.clone(), diff);
            changes.push(row, diff);
        } else {
            self.passed(until);
        }
    }
}

/// What a row holds that waits: an entry of a tree is about as large again.
fn held_bytes(row: &Row) -> usize {
    row.bytes().len() + 2 * size_of::<((i64, Due, Row), isize)>()
}

/// A temporal filter at work.
struct TemporalFilter {
    due: Rc<DueRows>,
    lives: Lives,
    watch: Arc<Watch>,
    ticker: Ticker,
}

impl TemporalFilter {
    /// The clock goes on to this moment, unless it is there already.
    fn advance(&mut self, clock: i64, changes: &mut Changes) {
        if clock <= self.due.clock.get() {
            return;
        }
        self.due.clock.set(clock);
        while let Some((moment, due, row, diff)) = self.due.pop(clock) {
            if self.ticker.stops(&self.watch) {
                return;
            }
            self.due.passed(moment);
            match due {
                Due::Goes => changes.push(row, -diff),
                Due::Comes => self.arrive(row, diff, changes),
            }
        }
    }

    fn arrive(&mut self, row: Row, diff: isize, changes: &mut Changes) {
        match self.lives.of(&row) {
            Ok(Some(life)) => self.due.arrive(row, life, diff, changes),
            Ok(None) => {}
            Err(error) => changes.errs.push((error, diff)),
        }
    }

    fn tick(&mut self, Tick { clock, rows, .. }: &mut Tick<impl RenderTime>, changes: &mut Changes) {
        if let Some(clock) = *clock {
            self.advance(clock, changes);
        }
        for (row, diff) in rows.drain(..) {
            if self.ticker.stops(&self.watch) {
                return;
            }
            self.arrive(row, diff, changes);
        }
    }
}

/// Finds out from when until when rows are in.
struct Lives {
    conditions: Vec<ClockCondition>,
    eval: EvalContext,
    moment: Arc<AtomicI64>,
    row: Vec<Datum>,
}

impl Lives {
    fn new(conditions: Vec<ClockCondition>, eval: &EvalContext) -> Self {
        let moment = Arc::<AtomicI64>::default();
        let eval = EvalContext::at_moments(eval.environment.catalog().clone(), moment.clone());
        Lives { conditions, eval, moment, row: Vec::new() }
    }

    /// The first moment, and the first that is too late; none if there is no moment between them.
    fn of(&mut self, row: &Row) -> Result<Option<(i64, i64)>, ValueError> {
        row.unpack_into(&mut self.row);
        let span = self.span();
        // Nobody's row is kept until the next one comes.
        self.row.clear();
        span
    }

    /// The same of the row at hand.
    fn span(&self) -> Result<Option<(i64, i64)>, ValueError> {
        let (mut from, mut until) = (i64::MIN, i64::MAX);
        for condition in &self.conditions {
            match (self.turns(condition)?, condition.turn) {
                (Turns::Never(true), _) => {}
                (Turns::Never(false), _) => return Ok(None),
                (Turns::At(moment), Turn::Begins) => from = from.max(moment),
                (Turns::At(moment), Turn::Ends) => until = until.min(moment),
            }
        }
        Ok((from < until).then_some((from, until)))
    }

    fn holds(&self, ClockCondition { condition, .. }: &ClockCondition, moment: i64) -> Result<bool, ValueError> {
        self.moment.store(moment, Ordering::Relaxed);
        holds(condition, &self.row, &self.eval)
    }

    /// When a condition turns.
    fn turns(&self, condition: &ClockCondition) -> Result<Turns, ValueError> {
        let turned = condition.turn == Turn::Begins;
        if let Some(guess) = self.guess(condition)? {
            let at = self.holds(condition, guess)? == turned;
            if at && self.holds(condition, guess - 1)? != turned {
                return Ok(Turns::At(guess));
            }
            if !at && self.holds(condition, guess + 1)? == turned {
                return Ok(Turns::At(guess + 1));
            }
        }
        let step = condition.step_us;
        let (mut before, mut after) = (FIRST / step, LAST / step);
        let (first, last) = (self.holds(condition, before * step)?, self.holds(condition, after * step)?);
        if first == last {
            return Ok(Turns::Never(first));
        }
        // It has not turned before, and has after.
        while after - before > 1 {
            let middle = before + (after - before) / 2;
            let has_turned = self.holds(condition, middle * step)? == turned;
            *(if has_turned { &mut after } else { &mut before }) = middle;
        }
        Ok(Turns::At(after * step))
    }

    /// Where the clock's side of a comparison is what the row's side is, if the clock's goes on as the clock does.
    fn guess(&self, ClockCondition { sides, .. }: &ClockCondition) -> Result<Option<i64>, ValueError> {
        let Some((clock, row)) = sides else { return Ok(None) };
        self.moment.store(0, Ordering::Relaxed);
        let (Some(ahead), Some(at)) =
            (micros(&clock.eval(&self.row, &self.eval)?), micros(&row.eval(&self.row, &self.eval)?))
        else {
            return Ok(None);
        };
        Ok(at.checked_sub(ahead).filter(|guess| FIRST < *guess && *guess < LAST))
    }
}

fn micros(moment: &Datum) -> Option<i64> {
    match moment {
        Datum::Timestamp(micros) | Datum::Timestamptz(micros) => Some(*micros),
        _ => None,
    }
}

/// When a condition turns.
enum Turns {
    /// It is this at all times.
    Never(bool),
    /// It has turned from this moment on.
    At(i64),
}

/// What came at one time.
struct Tick<T: RenderTime> {
    clock: Option<i64>,
    rows: Vec<(Row, isize)>,
    capabilities: [Capability<T>; 2],
}

impl<T: RenderTime> Tick<T> {
    fn new(capabilities: [Capability<T>; 2]) -> Self {
        Tick { clock: None, rows: Vec::new(), capabilities }
    }
}

/// Renders a temporal filter over what is fed, which has the clock. Needs times in total order.
pub fn render<'s, T: RenderTime>(
    context: &Context<'s, T>,
    (feeds, due): (Stream<'s, T, Vec<Feed>>, Rc<DueRows>),
    input: Bundle<'s, T>,
    conditions: &[ClockCondition],
) -> Bundle<'s, T> {
    let watch = context.watch.clone();
    let lives = Lives::new(conditions.to_vec(), &context.eval);
    let mut filter = TemporalFilter { due, lives, watch: watch.clone(), ticker: Ticker::default() };
    let mut builder = OperatorBuilder::new("TemporalFilter".to_owned(), context.scope);
    let activator = context.scope.activator_for(builder.operator_info().address);
    let mut feeds = builder.new_input(feeds, Local);
    let mut rows = builder.new_input(input.oks.inner, Local);
    let (oks_output, oks) = builder.new_output::<Vec<(Row, T, isize)>>();
    let (errs_output, errs) = builder.new_output::<Vec<(ValueError, T, isize)>>();
    let mut oks_output = OutputBuilder::from(oks_output);
    let mut errs_output = OutputBuilder::from(errs_output);
    builder.build(move |_| {
        let mut ticks: BTreeMap<T, Tick<T>> = BTreeMap::new();
        let mut slices = Slices::new(activator, watch.clone());
        move |frontiers| {
            let mut oks_handle = oks_output.activate();
            let mut errs_handle = errs_output.activate();
            let joined = watch.join();
            feeds.for_each(|capability, some| {
                let tick = ticks.entry(capability.time().clone());
                let tick = tick.or_insert_with(|| Tick::new([capability.retain(0), capability.retain(1)]));
                tick.clock = tick.clock.max(some.drain(..).map(|feed| feed.clock()).max());
            });
            rows.for_each(|capability, some| {
                for (row, time, diff) in some.drain(..) {
                    let at = |output| capability.delayed(&time, output);
                    let tick = ticks.entry(time.clone()).or_insert_with(|| Tick::new([at(0), at(1)]));
                    tick.rows.push((row, diff));
                }
            });
            while let Some(first) = ticks.first_entry()
                && !frontiers.iter().any(|frontier| frontier.frontier().less_equal(first.key()))
            {
                let mut tick = first.remove();
                let mut changes = Changes::default();
                filter.tick(&mut tick, &mut changes);
                slices.push(changes, tick.capabilities);
            }
            drop(joined);
            slices.give(
                |capability, rows| oks_handle.session(capability).give_container(rows),
                |capability, errors| errs_handle.session(capability).give_container(errors),
            );
        }
    });
    Bundle { oks: oks.as_collection(), errs: both(Some(errs.as_collection()), input.errs) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use planner::catalog::Catalog;
    use planner::parse::parse;
    use planner::plan::Plan;
    use planner::resolve::ddl::Labels;
    use planner::{plan_definition, plan_view};
    use state::account::Account;
    use state::interrupt::QueryLimits;

    const WIDTH: usize = 4;

    /// A temporal filter over (id, starts, ends, day), and its conditions.
    fn filter(condition: &str) -> (TemporalFilter, Vec<ClockCondition>) {
        let sql = format!(
            "CREATE TABLE t (id int PRIMARY KEY, starts timestamptz, ends timestamptz, day date);
             CREATE MATERIALIZED VIEW v AS SELECT id, starts, ends, day FROM t WHERE {condition}"
        );
        let mut catalog = Catalog::default();
        for parsed in parse(&sql).expect("it parses") {
            catalog = plan_definition(&parsed.statement, &catalog, Labels::TakeEffect).expect("it is one").catalog;
        }
        let view = catalog.table_by_name("v").expect("it was made").id;
        let Plan::Temporal { conditions, .. } = plan_view(&catalog, view).expect("it is planned").plan else {
            panic!("no temporal filter: {condition}")
        };
        let limits = QueryLimits { account: Account::new(Arc::default(), None, usize::MAX), ended: Arc::new(|| None) };
        let lives = Lives::new(conditions.clone(), &EvalContext::without_session(Arc::new(catalog)));
        let watch = Arc::new(Watch::new(limits));
        (TemporalFilter { due: Rc::default(), lives, watch, ticker: Ticker::default() }, conditions)
    }

    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: i64) -> i64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) % sides.unsigned_abs()) as i64
        }

        fn row(&mut self, around: i64) -> Row {
            let moment = |dice: &mut Dice| match dice.roll(12) {
                0 => Datum::Null,
                1 => Datum::Timestamptz(i64::MAX),
                2 => Datum::Timestamptz(around - around % DAY_MICROS),
                _ => Datum::Timestamptz(around + dice.roll(8 * DAY_MICROS) - 4 * DAY_MICROS),
            };
            let (starts, ends) = (moment(self), moment(self));
            let day = i32::try_from(around / DAY_MICROS + self.roll(9) - 4).expect("a day of this century");
            let row: [Datum; WIDTH] = [Datum::Int4(self.roll(3) as i32), starts, ends, Datum::Date(day)];
            Row::pack(&row)
        }
    }

    /// The rows for which all conditions hold at a moment.
    fn at(
        moment: i64,
        rows: &BTreeMap<Row, isize>,
        conditions: &[ClockCondition],
        lives: &mut Lives,
    ) -> BTreeMap<Row, isize> {
        let mut found = BTreeMap::new();
        for (row, count) in rows {
            row.unpack_into(&mut lives.row);
            if conditions.iter().all(|condition| lives.holds(condition, moment).expect("it can be evaluated")) {
                found.insert(row.clone(), *count);
            }
        }
        found
    }

    #[test]
    fn what_came_out_is_what_holds_for_the_whole_span() {
        let conditions = [
            "starts <= now() AND now() < ends",
            "ends IS NULL OR ends > now() - interval '5 hours'",
            "day = current_date",
            "day > current_date - interval '1 month' AND NOT starts > now()",
            "starts >= date_trunc('day', now() - interval '90 minutes') - interval '1 day'",
            "(starts < now() OR id = 1) AND (id = 2 OR now()::date - day <= 2)",
            "extract(epoch FROM now()) < extract(epoch FROM ends) + 3600",
            "now() BETWEEN starts AND starts + interval '2 days' AND coalesce(ends, 'infinity') >= now()",
        ];
        for (seed, condition) in (1..).zip(conditions) {
            let (mut dice, (mut filter, conditions)) = (Dice(seed), filter(condition));
            let (mut rows, mut out) = (BTreeMap::<Row, isize>::new(), BTreeMap::<Row, isize>::new());
            let mut clock = 9_800 * DAY_MICROS;
            filter.advance(clock, &mut Changes::default());
            for turn in 0..400 {
                let mut changes = Changes::default();
                match dice.roll(4) {
                    0 => {
                        // Set back at times: then nothing happens.
                        let to = clock + dice.roll(DAY_MICROS) - DAY_MICROS / 4;
                        filter.advance(to, &mut changes);
                        assert!(to > clock || changes.oks.is_empty(), "{condition}: the clock went back");
                        clock = clock.max(to);
                    }
                    1 if !rows.is_empty() => {
                        let which = dice.roll(rows.len() as i64) as usize;
                        let row = rows.keys().nth(which).expect("there are so many").clone();
                        let count = rows.remove(&row).expect("it is there");
                        filter.arrive(row, -count, &mut changes);
                    }
                    _ => {
                        let row = dice.row(clock);
                        *rows.entry(row.clone()).or_default() += 1;
                        filter.arrive(row, 1, &mut changes);
                    }
                }
                assert!(changes.errs.is_empty(), "{condition}");
                for (row, diff) in changes.oks {
                    *out.entry(row).or_default() += diff;
                }
                out.retain(|_, count| *count != 0);
                let ClockSpan { from, until } = filter.due.span();
                assert!(from <= clock && clock < until, "{condition}: {from} <= {clock} < {until}");
                for moment in [from.max(0), clock, until.min(LAST) - 1] {
                    assert_eq!(out, at(moment, &rows, &conditions, &mut filter.lives), "{condition} {turn} {moment}");
                }
            }
            // Without rows nothing waits, and nothing is held.
            let mut changes = Changes::default();
            for (row, count) in rows {
                filter.arrive(row, -count, &mut changes);
            }
            assert_eq!((filter.due.len(), filter.due.bytes()), (0, 0), "{condition}");
        }
    }
}
