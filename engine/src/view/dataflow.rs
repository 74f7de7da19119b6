//! One view as a dataflow of its own.
//!
//! ```text
//! feeds ──▶ DeltaJoin … (chains) ──▶ joins, groups, top-k … ──▶ ArrangeView (one per index) ──▶ published batches
//!                                                          └──▶ errors, counted
//! ```
//!
//! Its times are its own: a tick for each feed, so that hydration is a series of small ticks before the first
//! commit group. A feed is done when the probe has passed its tick; nothing is awaited by idleness.

use super::published::{Arrangement, Stage, ViewState};
use crate::SqlError;
use crate::one_shot::QueryLimits;
use crate::one_shot::watch::Watch;
use crate::protocol::CancelFlag;
use crate::reader::Reader;
use crate::render::arrangement::metered;
use crate::render::context::{Bundle, Context, NodeId};
use crate::render::delta::{self, Feed};
use crate::render::shared::{ViewBatch, ViewBatcher, ViewBuilder, ViewChunker, ViewSpine};
use crate::render::top_k::{OrderedRow, group_key};
use crate::render::{Meter, children, render};
use differential_dataflow::operators::arrange::TraceAgent;
use differential_dataflow::operators::arrange::arrangement::arrange_core;
use differential_dataflow::trace::{BatchReader, TraceReader};
use planner::catalog::Catalog;
use planner::delta::{Entry, Pipeline, pipelines};
use planner::plan::Plan;
use planner::scalar::{EvalContext, Order};
use repr::{IndexId, RelationId, ValueError};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::InputHandle;
use timely::dataflow::channels::pact::Pipeline as Local;
use timely::dataflow::operators::generic::Operator;
use timely::dataflow::operators::probe::Handle;
use timely::dataflow::operators::{Input, Probe};
use timely::progress::Antichain;
use timely::worker::Worker;

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

/// A running view.
pub struct ViewDataflow {
    /// What it is.
    pub definition: Definition,
    /// Its chains' pipelines, for hydration.
    pub chains: Vec<Vec<Pipeline>>,
    /// The tables and views that it reads.
    pub reads: BTreeSet<RelationId>,
    feeds: InputHandle<u64, CapacityContainerBuilder<Vec<Feed>>>,
    done: Handle<u64>,
    tick: u64,
    arrangements: Vec<(ArrangedBy, TraceAgent<ViewSpine>)>,
    /// New batches of the first arrangement, since they were last taken.
    fresh: Rc<RefCell<Vec<ViewBatch>>>,
    errors: Rc<RefCell<BTreeMap<ValueError, isize>>>,
    watch: Arc<Watch>,
    meter: Rc<Meter>,
}

impl ViewDataflow {
    /// Renders a view into a worker.
    pub fn build(
        worker: &mut Worker,
        definition: Definition,
        catalog: &Arc<Catalog>,
        eval: EvalContext,
        memory_bytes_max: usize,
    ) -> Result<Self, SqlError> {
        let plan = definition.plan.clone();
        let mut found: Vec<(NodeId, Vec<Pipeline>)> = Vec::new();
        find_chains(&plan, catalog, &mut found)?;
        let mut reads = BTreeSet::new();
        for (_, pipelines) in &found {
            relations(pipelines, &mut reads);
        }
        let watch = Arc::new(Watch::new(QueryLimits {
            cancel: Arc::new(CancelFlag::default()),
            deadline: None,
            memory_bytes_max,
            ended: Arc::new(|| None),
        }));
        let meter = Rc::new(Meter::default());
        let fresh = Rc::new(RefCell::new(Vec::new()));
        let errors = Rc::new(RefCell::new(BTreeMap::new()));
        let mut done = Handle::new();
        let chains: Vec<Vec<Pipeline>> = found.iter().map(|(_, pipelines)| pipelines.clone()).collect();
        let name = format!("View {}", definition.name);
        let (feeds, arrangements) = worker.dataflow_named::<u64, _, _>(&name, |scope| -> Result<_, SqlError> {
            let (feeds, stream) = scope.new_input::<Vec<Feed>>();
            let mut context = Context {
                scope,
                sources: HashMap::new(),
                locals: BTreeMap::new(),
                readers: Rc::new(|_, _| -> Arc<dyn Reader> {
                    unreachable!("a maintained plan has no lookup outside its chains")
                }),
                eval,
                watch: watch.clone(),
                meter: meter.clone(),
                rendered: None,
            };
            for (chain, (node, pipelines)) in found.into_iter().enumerate() {
                let rows = delta::render(&context, stream.clone(), chain, pipelines);
                context.sources.insert(node, rows);
            }
            let bundle = render(&mut context, &plan)?;
            let arrangements = definition
                .arrangements
                .iter()
                .enumerate()
                .map(|(position, by)| {
                    let fresh = (position == 0).then(|| fresh.clone());
                    (by.clone(), arrange(&context, &bundle, by, fresh, &done))
                })
                .collect::<Vec<_>>();
            count_errors(bundle, &errors, &mut done);
            Ok((feeds, arrangements))
        })?;
        Ok(ViewDataflow {
            definition,
            chains,
            reads,
            feeds,
            done,
            tick: 0,
            arrangements,
            fresh,
            errors,
            watch,
            meter,
        })
    }

    /// Feeds it, in one tick, and steps the worker until that has gone through.
    pub fn apply(&mut self, worker: &mut Worker, feeds: impl IntoIterator<Item = Feed>) -> Result<(), SqlError> {
        feeds.into_iter().for_each(|feed| self.feeds.send(feed));
        self.tick += 1;
        self.feeds.advance_to(self.tick);
        while self.done.less_than(&self.tick) {
            worker.step();
            self.watch.check()?;
        }
        let now = Antichain::from_elem(self.tick);
        for (_, trace) in &mut self.arrangements {
            trace.set_logical_compaction(now.borrow());
            trace.set_physical_compaction(now.borrow());
        }
        self.watch.check_memory(self.meter.bytes())
    }

    /// The changes of its rows since they were last taken: batches of the first arrangement.
    pub fn take_fresh(&mut self) -> Vec<ViewBatch> {
        std::mem::take(&mut *self.fresh.borrow_mut())
    }

    /// Why a row of it could not be evaluated, if one could not.
    pub fn error(&self) -> Option<ValueError> {
        self.errors.borrow().keys().next().cloned()
    }

    /// What readers get.
    pub fn state(&self, stage: Stage) -> ViewState {
        let arrangements = self.arrangements.iter().map(|(by, trace)| {
            let mut batches = Vec::new();
            trace.map_batches(|batch| {
                if batch.len() > 0 {
                    batches.push(batch.clone());
                }
            });
            Arrangement { index: by.index, ordered: !by.order.is_empty(), batches: batches.into() }
        });
        let errors = self.errors.borrow().values().filter(|count| **count != 0).count();
        ViewState { stage, arrangements: arrangements.collect(), errors, dataflow_bytes: self.meter.bytes() }
    }
}

fn arrange<'s>(
    context: &Context<'s, u64>,
    bundle: &Bundle<'s, u64>,
    by: &ArrangedBy,
    fresh: Option<Rc<RefCell<Vec<ViewBatch>>>>,
    done: &Handle<u64>,
) -> TraceAgent<ViewSpine> {
    let ArrangedBy { key, order, .. } = by.clone();
    let meter = context.meter.clone();
    let mut datums = Vec::new();
    let keyed = bundle.oks.clone().map(move |row| {
        row.unpack_into(&mut datums);
        let bytes = if order.is_empty() { row } else { OrderedRow::make(&order, &datums, &row) };
        metered(&meter, group_key(&key, &datums), bytes)
    });
    let arranged = arrange_core::<_, _, ViewChunker, ViewBatcher, ViewBuilder, ViewSpine>(
        keyed.inner, Local, "ArrangeView",
    );
    let mut done = done.clone();
    arranged.stream.probe_with(&mut done).sink(Local, "ViewBatches", move |(input, _frontier)| {
        input.for_each(|_time, batches| {
            if let Some(fresh) = &fresh {
                fresh.borrow_mut().extend(batches.drain(..).filter(|batch| batch.len() > 0));
            }
        });
    });
    arranged.trace
}

fn count_errors(bundle: Bundle<'_, u64>, errors: &Rc<RefCell<BTreeMap<ValueError, isize>>>, done: &mut Handle<u64>) {
    let Some(errs) = bundle.errs else { return };
    let errors = errors.clone();
    errs.probe_with(done).inner.sink(Local, "ViewErrors", move |(input, _frontier)| {
        input.for_each(|_time, updates| {
            let mut errors = errors.borrow_mut();
            for (error, _time, diff) in updates.drain(..) {
                let count = errors.entry(error).or_insert(0);
                *count += diff;
            }
            errors.retain(|_, count| *count != 0);
        });
    });
}

/// The largest chains of a plan.
fn find_chains(plan: &Plan, catalog: &Catalog, found: &mut Vec<(NodeId, Vec<Pipeline>)>) -> Result<(), SqlError> {
    if let Some(pipelines) = pipelines(plan, catalog) {
        found.push((NodeId::of(plan), pipelines));
        return Ok(());
    }
    match plan {
        Plan::Get { .. } | Plan::LookupJoin { .. } => Err(SqlError::new(
            "XX000",
            "a maintained plan reads a table whose changes cannot be followed",
        )),
        _ => children(plan).into_iter().try_for_each(|child| find_chains(child, catalog, found)),
    }
}

/// Every relation that pipelines read.
fn relations(pipelines: &[Pipeline], reads: &mut BTreeSet<RelationId>) {
    for pipeline in pipelines {
        match &pipeline.entry {
            Entry::Constant(_) => {}
            Entry::Rows { relation, .. } => {
                reads.insert(*relation);
            }
            Entry::Match { join, .. } => {
                reads.insert(join.relation);
            }
        }
    }
}
