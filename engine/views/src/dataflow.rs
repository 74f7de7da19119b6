//! One view as a dataflow of its own.
//!
//! ```text
//! feeds ──▶ DeltaJoin … (chains) ──▶ joins, groups, top-k … ──▶ ArrangeView (one per index) ──▶ published batches
//!                                                          └──▶ errors, counted
//! ```
//!
//! Its times are its own: a tick for each feed, so that hydration is a series of small ticks before the first
//! commit group. A feed is done when all arrangements are sealed up to its tick and no error of it can come any more;
//! nothing is awaited by idleness. What the dataflow has still to tell of its progress then, the next feed's steps do.

use crate::bound::{Bound, Cuts};
use crate::driver::Driver;
use arrangements::arrangement::{Key, metered};
use arrangements::inner::InnerArrangement;
use arrangements::merging::{self, Extent, Merged};
use arrangements::meter::{Arranged, Meter};
use arrangements::ordered_row::{OrderedRow, group_key};
use arrangements::shared::{ViewBatch, ViewBuilder, ViewSpine};
use differential_dataflow::operators::arrange::TraceAgent;
use differential_dataflow::trace::{BatchReader, TraceReader};
use operators::context::{Bundle, Context, Follow, NodeId};
use operators::delta::{self, Feed};
use operators::plan::children;
use operators::render::render;
use operators::rendered::Rendered;
use operators::temporal::DueRows;
use planner::catalog::{Catalog, Table};
use planner::delta::{Pipeline, PipelineEntry, pipelines};
use planner::plan::Plan;
use planner::scalar::{EvalContext, Order};
use repr::{IndexId, RelationId, Row, ValueError};
use state::SqlError;
use state::account::Account;
use state::clock::ClockSpan;
use state::interrupt::QueryLimits;
use state::interrupt::{Ticker, Watch};
use state::time_budget::TimeBudget;
use state::view_states::{Arrangement, Stage, ViewState};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::InputHandle;
use timely::dataflow::channels::pact::Pipeline as Local;
use timely::dataflow::operators::Input;
use timely::dataflow::operators::generic::Operator;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
use timely::progress::Antichain;

/// What a view reads that has temporal filters, beside tables and views: no relation has this id.
pub const CLOCK: RelationId = RelationId(u32::MAX);

/// A tick that makes no more than this is not looked after before its end.
const SMALL_TICK_BYTES: usize = 1 << 20;

/// What a view is.
#[derive(Clone)]
pub struct Definition {
    /// Its id.
    pub id: RelationId,
    /// Its name, for operators and messages.
    pub name: String,
    /// Gives its rows.
    pub plan: Arc<Plan>,
    /// The ways in which its rows are arranged.
    pub arrangements: Vec<ArrangedBy>,
    /// How many rows of a key are held; none: all.
    pub bound: Option<Bound>,
    /// Relations that it was planned over, as they were then.
    pub planned_over: Vec<Arc<Table>>,
}

/// One way to arrange rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrangedBy {
    /// The index that it stands for.
    pub index: IndexId,
    /// The columns of the key.
    pub key: Vec<usize>,
    /// The order within a key.
    pub order: Vec<Order>,
}

/// So long a view works at most before others have their turn, by its processor time, and longer by so much for each row that
/// it was fed: a recursion that comes to no end would hold them for ever, and a row that brings ten million for long.
const WORK: Duration = Duration::from_secs(2);
const PATIENCE_A_ROW: Duration = Duration::from_millis(1);
/// By the clock, on a machine that has other work, where nobody can have a turn.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running view.
pub struct ViewDataflow {
    /// What it is.
    pub definition: Definition,
    /// Its chains' pipelines, for hydration.
    pub chains: Vec<Vec<Pipeline>>,
    /// The tables and views that it reads.
    pub reads: BTreeSet<RelationId>,
    input: Fed,
    /// Its operators in the worker.
    pub(super) placed: Placed,
    output: Output,
    watch: Arc<Watch>,
    pub(super) meter: Rc<Meter>,
}

/// What it is fed.
struct Fed {
    feeds: InputHandle<u64, CapacityContainerBuilder<Vec<Feed>>>,
    tick: u64,
    /// Rows that it was last fed.
    rows: usize,
    /// What had been made when it was last fed.
    made_before_bytes: usize,
    /// What waits for the clock in its temporal filters.
    due: Vec<Rc<DueRows>>,
}

/// Where a view stands in its worker.
pub(super) struct Placed {
    /// Its number among the worker's dataflows.
    dataflow: usize,
    /// The numbers of its operators.
    pub(super) operators: Range<usize>,
    pub(super) rendered: Rc<Rendered>,
    pub(super) driver: Driver,
}

/// What comes out of it.
struct Output {
    arrangements: Vec<Arranging>,
    /// New batches of the first arrangement, since they were last taken.
    fresh: Rc<RefCell<Vec<ViewBatch>>>,
    errors: Errors,
}

/// The errors of its rows.
#[derive(Clone, Default)]
struct Errors {
    counts: Rc<RefCell<BTreeMap<ValueError, isize>>>,
    /// Whether others fail since that was last asked.
    changed: Rc<Cell<bool>>,
    /// No error of an earlier tick can come any more.
    until: Rc<Cell<u64>>,
}

/// One way in which its rows are arranged, at work.
struct Arranging {
    by: ArrangedBy,
    trace: TraceAgent<ViewSpine>,
    /// The number of its operator.
    operator: usize,
    /// Keys that have more rows than it holds.
    cuts: Option<Rc<RefCell<Cuts>>>,
}

impl ViewDataflow {
    /// Renders a view into a worker of its own.
    /// `ended` says why it may go no further, if so.
    pub fn build(
        definition: Definition,
        catalog: &Arc<Catalog>,
        eval: EvalContext,
        ended: Arc<dyn Fn() -> Option<SqlError> + Send + Sync>,
    ) -> Result<Self, SqlError> {
        let mut driver = Driver::default();
        let (operators, worker) = (driver.operators.clone(), &mut driver.worker);
        let plan = definition.plan.clone();
        let mut found: Vec<(NodeId, Vec<Pipeline>)> = Vec::new();
        let mut reads = BTreeSet::new();
        find_chains(&plan, catalog, false, &mut found, &mut reads)?;
        for (_, pipelines) in &found {
            relations(pipelines, &mut reads);
        }
        let watch =
            Arc::new(Watch::new(QueryLimits { account: Account::new(Arc::default(), None, usize::MAX), ended }));
        let meter = Rc::new(Meter::of_view());
        let fresh = Rc::new(RefCell::new(Vec::new()));
        let errors = Errors::default();
        let chains: Vec<Vec<Pipeline>> = found.iter().map(|(_, pipelines)| pipelines.clone()).collect();
        let name = format!("View {}", definition.name);
        let rendered = Rc::new(Rendered::default());
        let due = Rc::<RefCell<Vec<Rc<DueRows>>>>::default();
        let (dataflow, first) = (worker.next_dataflow_index(), worker.peek_identifier());
        let built = worker.dataflow_named::<u64, _, _>(&name, |scope| -> Result<_, SqlError> {
            let (feeds, stream) = scope.new_input::<Vec<Feed>>();
            let mut context = Context {
                scope,
                sources: HashMap::new(),
                locals: BTreeMap::new(),
                eval,
                watch: watch.clone(),
                meter: meter.clone(),
                follow: Some(Follow { feeds: stream.clone(), catalog: catalog.clone(), due: due.clone() }),
                rendered: Some(rendered.clone()),
            };
            for (chain, (node, pipelines)) in found.into_iter().enumerate() {
                let first = scope.worker().peek_identifier();
                let rows = delta::render(&context, stream.clone(), chain, pipelines);
                rendered.note(node, first..scope.worker().peek_identifier());
                context.sources.insert(node, rows);
            }
            let bundle = render(&mut context, &plan)?;
            let arrangements = definition.arrangements.iter().enumerate().map(|(position, by)| {
                let fresh = (position == 0).then(|| fresh.clone());
                let cuts = definition.bound.map(|bound| Rc::new(RefCell::new(Cuts::new(bound))));
                arrange(&context, &bundle, by, fresh, cuts)
            });
            let arrangements = arrangements.collect::<Vec<_>>();
            count_errors(bundle, &errors);
            // Only now: channels, which exist already, would log every message.
            operators.listen(scope.worker());
            Ok((feeds, arrangements))
        });
        operators.listen_no_more(worker);
        let (feeds, arrangements) = built?;
        if !due.borrow().is_empty() {
            reads.insert(CLOCK);
        }
        let input = Fed { feeds, tick: 0, rows: 0, made_before_bytes: 0, due: due.take() };
        let placed = Placed { dataflow, operators: first..worker.peek_identifier(), rendered, driver };
        let output = Output { arrangements, fresh, errors };
        Ok(ViewDataflow { definition, chains, reads, input, placed, output, watch, meter })
    }

    /// Feeds it, in one tick, and steps the worker until that has gone through. 53200 if it holds more than the budget,
    /// 54000 if it takes longer than it may.
    pub fn apply(&mut self, feeds: Vec<Feed>, budget_bytes: usize) -> Result<(), SqlError> {
        self.feed(feeds);
        self.go_on(None, Instant::now() + PATIENCE, budget_bytes).map(|_through| ())
    }

    /// Feeds it, in one tick.
    pub fn feed(&mut self, feeds: impl IntoIterator<Item = Feed>) {
        self.input.rows = 0;
        for feed in feeds {
            let clock = feed.clock();
            self.input.rows += feed.rows() + self.input.due.iter().map(|due| due.due_by(clock)).sum::<usize>();
            self.input.feeds.send(feed);
        }
        self.input.tick += 1;
        self.input.feeds.advance_to(self.input.tick);
        self.input.made_before_bytes = self.meter.made_bytes();
    }

    /// Steps the worker until what was fed has gone through (true) or the slice is over: others have their turn then, but
    /// not within a step. 54000 past `until`, or if a step takes too long; 53200 if it holds more than the budget.
    pub fn advance(&mut self, slice: Duration, until: Instant, budget_bytes: usize) -> Result<bool, SqlError> {
        self.go_on(Some(slice), until, budget_bytes)
    }

    fn go_on(&mut self, slice: Option<Duration>, until: Instant, budget_bytes: usize) -> Result<bool, SqlError> {
        let for_rows = PATIENCE_A_ROW * u32::try_from(self.input.rows).unwrap_or(u32::MAX);
        let patience = TimeBudget::new(WORK + for_rows, until + for_rows);
        let account = self.watch.account();
        account.end();
        account.set_bytes_max(budget_bytes);
        account.set_patience(Some(patience));
        let through = self.step_through(slice, budget_bytes);
        // It may be stepped to merge, too.
        self.watch.account().set_bytes_max(usize::MAX);
        self.watch.account().set_patience(None);
        through.map_err(|error| match error.code {
            "53200" => over_budget(&self.definition.name, budget_bytes),
            "54000" => too_slow(&self.definition.name),
            _ => error,
        })
    }

    fn step_through(&mut self, slice: Option<Duration>, budget_bytes: usize) -> Result<bool, SqlError> {
        let started = Instant::now();
        self.watch.check()?;
        while !self.is_done() {
            if slice.is_some_and(|slice| started.elapsed() >= slice) {
                return Ok(false);
            }
            self.placed.driver.worker.step();
            self.watch.check()?;
            // An explosion is noticed while it grows: one tick may be all of it.
            if self.meter.made_bytes() - self.input.made_before_bytes > SMALL_TICK_BYTES {
                self.check_budget(budget_bytes)?;
            }
        }
        let now = Antichain::from_elem(self.input.tick);
        for arranging in &mut self.output.arrangements {
            arranging.trace.set_logical_compaction(now.borrow());
            arranging.trace.set_physical_compaction(now.borrow());
        }
        self.check_budget(budget_bytes)?;
        Ok(true)
    }

    /// Merges for a while what its arrangements hold.
    pub fn merge(&mut self, extent: Extent) -> Merged {
        let (arrangements, meter) = (&mut self.output.arrangements, &self.meter);
        self.placed.driver.merge(extent, || {
            arrangements.iter_mut().for_each(|arranging| merging::consider(&mut arranging.trace));
            meter.consider_merging();
        })
    }

    /// The moments for which its rows are right; none if it has no temporal filter.
    pub(crate) fn span(&self) -> Option<ClockSpan> {
        self.input.due.iter().map(|due| due.span()).reduce(ClockSpan::and)
    }

    /// Whether the last tick has gone through.
    fn is_done(&mut self) -> bool {
        let tick = self.input.tick;
        let mut upper = Antichain::new();
        let mut is_sealed = |arranging: &mut Arranging| {
            arranging.trace.read_upper(&mut upper);
            !upper.less_than(&tick)
        };
        self.output.errors.until.get() >= tick && self.output.arrangements.iter_mut().all(&mut is_sealed)
    }

    /// Ends it at once, whatever it has left to do.
    // The banned call: a view that failed may have years of a join before it, of which nobody wants to hear.
    // Nothing asks for its progress after this, and its worker has nothing else to do.
    #[allow(clippy::disallowed_methods)]
    pub fn end(self) {
        let ViewDataflow { input, output, placed: Placed { dataflow, mut driver, .. }, .. } = self;
        drop((input, output));
        driver.worker.drop_dataflow(dataflow);
    }

    /// What it holds: in published batches, and besides; what is in no arrangement that can be read is estimated.
    fn bytes(&self) -> (usize, usize) {
        let published =
            self.output.arrangements.iter().map(Arranging::published).fold(Arranged::default(), Arranged::and);
        let arranged = self.meter.arranged();
        let all = self.placed.driver.arrangements.records(self.placed.operators.clone());
        let rest = all.saturating_sub(published.updates + arranged.updates);
        let waiting: usize = self.input.due.iter().map(|due| due.bytes()).sum();
        (published.bytes, arranged.bytes + self.meter.bytes(rest) + waiting)
    }

    fn check_budget(&self, budget_bytes: usize) -> Result<(), SqlError> {
        let (published_bytes, dataflow_bytes) = self.bytes();
        if published_bytes + dataflow_bytes <= budget_bytes {
            return Ok(());
        }
        Err(over_budget(&self.definition.name, budget_bytes))
    }

    /// The published batches, if that is what an operator makes.
    pub(super) fn published(&self, operator: usize) -> Option<Arranged> {
        let held = self.placed.driver.arrangements.within(operator..operator + 1);
        let arranging = self.output.arrangements.iter().find(|arranging| arranging.operator == operator)?;
        (!held.is_empty()).then(|| arranging.published())
    }

    /// Whether keys have been left with fewer rows than readers may ask for: then it cannot be read.
    pub fn is_short(&self) -> bool {
        self.cuts().any(|cuts| cuts.borrow().are_short())
    }

    /// Whether it holds rows that the next tick takes back, as being beyond those that are held of a key.
    pub(crate) fn is_cutting(&self) -> bool {
        self.cuts().any(|cuts| cuts.borrow().pending)
    }

    fn cuts(&self) -> impl Iterator<Item = &RefCell<Cuts>> {
        self.output.arrangements.iter().filter_map(|arranging| arranging.cuts.as_deref())
    }

    /// The changes of its rows since they were last taken: batches of the first arrangement.
    pub fn take_fresh(&mut self) -> Vec<ViewBatch> {
        std::mem::take(&mut *self.output.fresh.borrow_mut())
    }

    /// Why a row of it could not be evaluated, if one could not.
    pub fn error(&self) -> Option<ValueError> {
        self.output.errors.counts.borrow().keys().next().cloned()
    }

    /// Whether rows have come to fail, or fail no more, since this was last asked.
    pub(crate) fn take_errors_changed(&mut self) -> bool {
        self.output.errors.changed.take()
    }

    /// What readers get.
    pub fn state(&self, stage: Stage) -> ViewState {
        let rows_min = self.definition.bound.map(Bound::rows_min);
        let arrangements = self.output.arrangements.iter().map(|Arranging { by, trace, .. }| {
            let mut batches = Vec::new();
            trace.map_batches(|batch| {
                if batch.len() > 0 {
                    batches.push(batch.clone());
                }
            });
            Arrangement { index: by.index, ordered: !by.order.is_empty(), rows_min, batches: batches.into() }
        });
        let errors = self.output.errors.counts.borrow().values().filter(|count| **count != 0).count();
        ViewState {
            stage,
            arrangements: arrangements.collect(),
            errors,
            error: self.error(),
            dataflow_bytes: self.bytes().1,
            order: None,
            span: self.span(),
        }
    }
}

impl Arranging {
    fn published(&self) -> Arranged {
        let mut held = Arranged::default();
        self.trace.map_batches(|batch| {
            if batch.len() > 0 {
                held.updates += batch.len();
                held.batches += 1;
                held.bytes += batch.bytes();
            }
        });
        held
    }
}

/// Why a view that holds more than the budget is given up.
pub(super) fn over_budget(view: &str, budget_bytes: usize) -> SqlError {
    SqlError::new(
        "53200",
        format!("view \"{view}\" needs more memory than dogwood.view_memory allows ({budget_bytes} bytes)"),
    )
    .hint("Narrow its query, or raise dogwood.view_memory and REFRESH the view.")
}

/// Why a view that does not get through its changes is given up.
fn too_slow(view: &str) -> SqlError {
    SqlError::new("54000", format!("view \"{view}\" takes too long to keep up to date"))
        .detail("A recursion in it may come to no end, or one row may bring too many others.")
        .hint("Change its query or its rows, then REFRESH the view; until then it is computed by those who read it.")
}

fn arrange<'s>(
    context: &Context<'s, u64>,
    bundle: &Bundle<'s, u64>,
    by: &ArrangedBy,
    fresh: Option<Rc<RefCell<Vec<ViewBatch>>>>,
    cuts: Option<Rc<RefCell<Cuts>>>,
) -> Arranging {
    let ArrangedBy { key, order, .. } = by.clone();
    let (meter, watch, mut ticker) = (context.meter.clone(), context.watch.clone(), Ticker::default());
    let mut builder = OperatorBuilder::new("ArrangeView".to_owned(), context.scope);
    let operator = builder.operator_info();
    let number = operator.global_id;
    let mut input = builder.new_input(bundle.oks.clone().inner, Local);
    let (mut inner, trace) = InnerArrangement::<u64, isize, ViewSpine, ViewBuilder>::new(&context.scope, operator);
    let mut cutting = cuts.clone().map(|cuts| Cutting { cuts, trace: trace.clone() });
    builder.build(move |_| {
        let (mut datums, mut updates) = (Vec::new(), Vec::new());
        move |frontiers| {
            input.for_each(|capability, rows| {
                for (row, time, diff) in rows.drain(..) {
                    if ticker.stops(&watch) {
                        break;
                    }
                    row.unpack_into(&mut datums);
                    let bytes = if order.is_empty() { row } else { OrderedRow::make(&order, &datums, &row) };
                    let key = group_key(&key, &datums);
                    if cutting.as_ref().is_none_or(|cutting| cutting.holds(&key, &bytes, diff)) {
                        updates.push((metered(&meter, key, bytes), time, diff));
                    }
                }
                // Nobody's row is kept until the next one comes.
                datums.clear();
                inner.push(capability.time(), &mut updates);
                updates.clear();
            });
            if let Some(batch) = inner.seal(frontiers[0].frontier()) {
                if let Some(fresh) = fresh.as_ref().filter(|_| batch.len() > 0) {
                    fresh.borrow_mut().push(batch.clone());
                }
                inner.insert(batch.clone());
                // Nothing of later times has come: ticks go through one after the other.
                if let (Some(cutting), Some(now), None) = (&cutting, frontiers[0].frontier().first(), inner.earliest())
                {
                    cutting.cut(&batch, |row, diff| updates.push((row, *now, diff)));
                    if !updates.is_empty() {
                        inner.push(now, &mut updates);
                        updates.clear();
                    }
                }
            }
            if let Some(cutting) = &mut cutting {
                cutting.trace.set_logical_compaction(frontiers[0].frontier());
                cutting.trace.set_physical_compaction(frontiers[0].frontier());
            }
            inner.merge();
        }
    });
    Arranging { by: by.clone(), trace, operator: number, cuts }
}

/// What keeps an arrangement within a bound.
struct Cutting {
    cuts: Rc<RefCell<Cuts>>,
    trace: TraceAgent<ViewSpine>,
}

impl Cutting {
    fn holds(&self, key: &[u8], row: &Row, diff: isize) -> bool {
        self.cuts.borrow_mut().hold(key, row.bytes(), diff)
    }

    /// The rows that are to be taken back after a batch.
    fn cut(&self, batch: &ViewBatch, mut take_back: impl FnMut((Key, Row), isize)) {
        let mut all = Vec::new();
        self.trace.map_batches(|batch| {
            if batch.len() > 0 {
                all.push(batch.clone());
            }
        });
        self.cuts.borrow_mut().cut(batch, &all, |key, row, diff| {
            take_back((Key(key.into()), Row::from_bytes(row.into())), diff);
        });
    }
}

fn count_errors(bundle: Bundle<'_, u64>, errors: &Errors) {
    let Some(errs) = bundle.errs else { return errors.until.set(u64::MAX) };
    let Errors { counts, changed, until } = errors.clone();
    errs.inner.sink(Local, "ViewErrors", move |(input, frontier)| {
        input.for_each(|_time, updates| {
            let mut counts = counts.borrow_mut();
            changed.set(true);
            for (error, _time, diff) in updates.drain(..) {
                let count = counts.entry(error).or_insert(0);
                *count += diff;
            }
            counts.retain(|_, count| *count != 0);
        });
        until.set(frontier.frontier().first().copied().unwrap_or(u64::MAX));
    });
}

/// The largest chains of a plan, and the tables that are looked up over what is none.
fn find_chains(
    plan: &Plan,
    catalog: &Catalog,
    recursing: bool,
    found: &mut Vec<(NodeId, Vec<Pipeline>)>,
    looked_up: &mut BTreeSet<RelationId>,
) -> Result<(), SqlError> {
    if let Some(pipelines) = pipelines(plan, catalog) {
        found.push((NodeId::of(plan), pipelines));
        return Ok(());
    }
    match plan {
        // Within rounds, nothing is fed.
        Plan::LookupJoin { relation, with_key: false, .. } if !recursing => {
            looked_up.insert(*relation);
        }
        Plan::Get { .. } | Plan::LookupJoin { .. } => {
            return Err(SqlError::new("XX000", "a maintained plan reads a table whose changes cannot be followed"));
        }
        _ => {}
    }
    let recursing = |child: &Plan| match plan {
        Plan::LetRec { step, .. } => recursing || std::ptr::eq(child, step.as_ref()),
        _ => recursing,
    };
    children(plan).into_iter().try_for_each(|child| find_chains(child, catalog, recursing(child), found, looked_up))
}

/// Every relation that pipelines read.
fn relations(pipelines: &[Pipeline], reads: &mut BTreeSet<RelationId>) {
    for pipeline in pipelines {
        match &pipeline.entry {
            PipelineEntry::Constant(_) => {}
            PipelineEntry::Rows { relation, .. } => {
                reads.insert(*relation);
            }
            PipelineEntry::Match { join, .. } => {
                reads.insert(join.relation);
            }
        }
    }
}
