//! One-shots: what feeds a dataflow, steps it to its end, and takes its rows out.
//!
//! ```text
//! chain (one_shot::stream) ─ 4,096 rows ─▶ input ─▶ rendered plan ─▶ sink ─▶ emit
//!                 └──────── step, look at the limits, emit ────────┘
//! ```
//!
//! The largest chains in a plan are its sources: they need no dataflow. All is at time 0; an input's end
//! closes it. One worker on the thread that calls; it is dropped, finished or not, before this returns.

use crate::one_shot::OneShot;
use crate::one_shot::rounds::RoundsStream;
use crate::one_shot::stream::{
    Local, Locals, Pull, by_rounds, closed, materialise, needs_rows, nothing, rows, stream, streams, with,
};
use crate::render::context::{Bundle, Context, NodeId};
use crate::render::recursive::Recursion;
use crate::render::rendered::{OperatorLog, Rendered};
use crate::render::{RenderTime, children, may_retract, render};
use arrangements::meter::Meter;
use differential_dataflow::AsCollection;
use differential_dataflow::consolidation::consolidate;
use differential_dataflow::input::{Input, InputSession};
use planner::plan::Plan;
use repr::{Row, ValueError, poll};
use state::SqlError;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use timely::WorkerConfig;
use timely::communication::Allocator;
use timely::communication::allocator::thread::Thread;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::ToStream;
use timely::dataflow::operators::generic::Operator;
use timely::dataflow::operators::probe::Handle;
use timely::worker::Worker;

/// Rows that go in between two steps.
const FEED_ROWS: usize = 4_096;

/// Takes rows out of a dataflow: each batch with multiplicities above 0.
pub type Emit<'e> = &'e mut dyn FnMut(Vec<(Row, isize)>) -> Result<(), SqlError>;

/// Rows known while rendering.
pub fn constant<'s, T: RenderTime>(context: &Context<'s, T>, rows: Vec<Row>) -> Bundle<'s, T> {
    let updates = rows.into_iter().map(|row| (row, T::minimum(), 1));
    Bundle::infallible(updates.to_stream(context.scope).as_collection())
}

/// Runs a plan on this thread and gives its rows, each as often as it occurs.
pub fn run_to_completion(plan: &Plan, shot: &OneShot, locals: &Arc<Locals<'_>>) -> Result<Vec<Row>, SqlError> {
    let mut rows = Vec::new();
    run(plan, shot, locals, &mut |batch| {
        for (row, copies) in batch {
            for _ in 0..copies {
                poll::bytes(row.bytes().len())?;
                rows.push(row.clone());
            }
        }
        Ok(())
    })?;
    Ok(rows)
}

/// Runs a plan on this thread as a dataflow.
pub fn run<'p>(plan: &'p Plan, shot: &OneShot, locals: &Arc<Locals<'p>>, emit: Emit<'_>) -> Result<(), SqlError> {
    let allocator = Allocator::Thread(Thread::default());
    let mut worker = Worker::new(WorkerConfig::default(), allocator, Some(Instant::now()));
    let meter = Rc::new(Meter::default());
    let profiled = shot.profile.as_ref().map(|profile| {
        let log = OperatorLog::new(&worker);
        if profile.timing {
            log.listen(&worker);
        }
        (profile, Rc::new(Rendered::counting()), log)
    });
    let mut feeds = Vec::new();
    find_feeds(plan, shot, locals, &mut feeds)?;
    let output = Rc::new(Output::default());
    let mut done = Handle::new();
    let inputs = worker.dataflow_named::<u64, _, _>(
        "OneShot",
        |scope| -> Result<Vec<InputSession<u64, Row, isize>>, SqlError> {
            let mut inputs = Vec::with_capacity(feeds.len());
            let mut sources = HashMap::with_capacity(feeds.len());
            for feed in &feeds {
                let (input, rows) = scope.new_collection();
                inputs.push(input);
                sources.insert(feed.node, Bundle::infallible(rows));
            }
            let reader = shot.reader.clone();
            let mut context = Context {
                scope,
                sources,
                locals: BTreeMap::new(),
                readers: Rc::new(move |_relation, _time| reader.clone()),
                eval: shot.eval.clone(),
                watch: shot.watch.clone(),
                meter: meter.clone(),
                follow: None,
                rendered: profiled.as_ref().map(|(_, rendered, _)| rendered.clone()),
            };
            let bundle = render(&mut context, plan)?;
            output.attach(bundle, &mut done);
            Ok(inputs)
        },
    )?;
    let mut pump = Pump { worker, done, output, shot, emit, consolidates: may_retract(plan), pending: Vec::new() };
    let result = pump.run(feeds, inputs);
    if let Some((profile, rendered, log)) = profiled {
        profile.take(&rendered, &log);
    }
    drop(pump);
    // What storage said matters more than what followed from it.
    match (shot.watch.check(), result) {
        (Err(error), _) | (Ok(()), Err(error)) => Err(error),
        (Ok(()), Ok(())) => Ok(()),
    }
}

/// A source of the dataflow.
struct Feed<'p> {
    node: NodeId,
    rows: Box<dyn Pull + 'p>,
}

/// The largest chains of the plan, and the recursions that run by rounds.
fn find_feeds<'p>(
    plan: &'p Plan,
    shot: &OneShot,
    locals: &Arc<Locals<'p>>,
    feeds: &mut Vec<Feed<'p>>,
) -> Result<(), SqlError> {
    let known = |id| locals.contains_key(&id);
    if streams(plan, &known) {
        feeds.push(Feed { node: NodeId::of(plan), rows: stream(plan, shot, locals)? });
        return Ok(());
    }
    // The dataflow's join would look at all pairs.
    if matches!(plan, Plan::Join { range: Some(_), .. }) && closed(plan, &known) {
        feeds.push(Feed { node: NodeId::of(plan), rows: stream(plan, shot, locals)? });
        return Ok(());
    }
    // What a recursion by rounds, or such a join, reads must be rows when it starts: the dataflow has none yet.
    if let Plan::Let { id, value, body } = plan
        && needs_rows(body)
    {
        let bag = Local::Bag(Arc::new(materialise(&mut *rows(value, shot, locals)?, shot)?));
        feeds.push(Feed { node: NodeId::of(value), rows: nothing() });
        return find_feeds(body, shot, &with(locals, *id, bag), feeds);
    }
    if let Plan::LetRec { id, base, step, distinct, body } = plan
        && needs_rows(body)
    {
        let recursion = Recursion { id: *id, base, step, distinct: *distinct };
        let mut rounds = RoundsStream::new(recursion, shot, locals)?;
        let bag = Local::Bag(Arc::new(materialise(&mut rounds, shot)?));
        feeds.push(Feed { node: NodeId::recursion(plan), rows: nothing() });
        return find_feeds(body, shot, &with(locals, *id, bag), feeds);
    }
    if let Plan::LetRec { id, base, step, distinct, body } = plan
        && by_rounds(base, step, *id, &known)
    {
        let recursion = Recursion { id: *id, base, step, distinct: *distinct };
        let rows = Box::new(RoundsStream::new(recursion, shot, locals)?);
        feeds.push(Feed { node: NodeId::recursion(plan), rows });
        return find_feeds(body, shot, locals, feeds);
    }
    for child in children(plan) {
        find_feeds(child, shot, locals, feeds)?;
    }
    Ok(())
}

/// What has come out of the dataflow and was not taken yet.
#[derive(Default)]
struct Output {
    rows: RefCell<Vec<(Row, isize)>>,
    errors: RefCell<BTreeMap<ValueError, isize>>,
}

impl Output {
    fn attach(self: &Rc<Self>, bundle: Bundle<'_, u64>, done: &mut Handle<u64>) {
        let output = self.clone();
        bundle.oks.probe_with(done).inner.sink(Pipeline, "Rows", move |(input, _frontier)| {
            input.for_each(|_time, updates| {
                output.rows.borrow_mut().extend(updates.drain(..).map(|(row, _time, diff)| (row, diff)));
            });
        });
        let Some(errs) = bundle.errs else { return };
        let output = self.clone();
        errs.probe_with(done).inner.sink(Pipeline, "Errors", move |(input, _frontier)| {
            input.for_each(|_time, updates| {
                let mut errors = output.errors.borrow_mut();
                for (error, _time, diff) in updates.drain(..) {
                    *errors.entry(error).or_insert(0) += diff;
                }
            });
        });
    }
}

/// Drives the worker.
struct Pump<'r> {
    worker: Worker,
    done: Handle<u64>,
    output: Rc<Output>,
    shot: &'r OneShot,
    emit: Emit<'r>,
    /// Rows are held back until nothing can take them back.
    consolidates: bool,
    pending: Vec<(Row, isize)>,
}

impl Pump<'_> {
    fn run(&mut self, feeds: Vec<Feed<'_>>, inputs: Vec<InputSession<u64, Row, isize>>) -> Result<(), SqlError> {
        // Inputs not fed yet stay open until their turn, and close on an error with all else.
        let mut inputs = inputs.into_iter();
        for mut feed in feeds {
            let Some(mut input) = inputs.next() else { break };
            let mut datums = Vec::new();
            loop {
                let mut fed = 0;
                while fed < FEED_ROWS && feed.rows.next(&mut datums)? {
                    input.insert(Row::pack(&datums));
                    fed += 1;
                }
                input.flush();
                self.step()?;
                if fed < FEED_ROWS {
                    break;
                }
            }
        }
        while !self.done.done() {
            self.step()?;
        }
        self.finish()
    }

    fn step(&mut self) -> Result<(), SqlError> {
        self.worker.step();
        self.shot.watch.check()?;
        let rows = std::mem::take(&mut *self.output.rows.borrow_mut());
        if self.consolidates {
            let grown = self.pending.len() + rows.len() > 2 * self.pending.len().max(FEED_ROWS);
            self.pending.extend(rows);
            if grown {
                self.consolidate()?;
            }
            Ok(())
        } else if rows.is_empty() {
            Ok(())
        } else {
            self.give(rows)
        }
    }

    fn finish(&mut self) -> Result<(), SqlError> {
        let errors = std::mem::take(&mut *self.output.errors.borrow_mut());
        if let Some((error, _)) = errors.into_iter().find(|(_, diff)| *diff != 0) {
            return Err(error.into());
        }
        self.consolidate()?;
        let rows = std::mem::take(&mut self.pending);
        self.give(rows)
    }

    /// What has been sorted before is consolidated in no time.
    fn consolidate(&mut self) -> Result<(), SqlError> {
        poll::sort_by(&mut self.pending, |(left, _), (right, _)| left.cmp(right))?;
        consolidate(&mut self.pending);
        Ok(())
    }

    fn give(&mut self, rows: Vec<(Row, isize)>) -> Result<(), SqlError> {
        if rows.iter().any(|(_, copies)| *copies < 0) {
            return Err(SqlError::new("XX000", "a dataflow gave a row a negative number of times"));
        }
        (self.emit)(rows)
    }
}
