//! Which operators of a dataflow render which plan, and what they took.
//!
//! ```text
//! render(plan)  ──▶ operators 17 … 23            a plan's operators have neighbouring numbers: its inputs' and its own
//! timely's log  ──▶ operator 18 ran 4 times, 80 µs
//! ```
//!
//! Only there where somebody asks: a dataflow that nobody looks at logs nothing.

use super::RenderTime;
use super::context::{Bundle, Context, NodeId};
use crate::SqlError;
use planner::plan::Plan;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;
use timely::logging::{StartStop, TimelyEvent, TimelyEventBuilder};
use timely::worker::Worker;

/// The plans of one dataflow and their operators.
#[derive(Default)]
pub struct Rendered {
    plans: RefCell<Vec<RenderedPlan>>,
    /// Plans whose rows come from outside, in the order in which they were met.
    sources: RefCell<Vec<usize>>,
    /// Rows are counted where they come out of a plan.
    counts_rows: bool,
}

/// One plan.
#[derive(Clone)]
pub struct RenderedPlan {
    /// Its place in memory while it was rendered.
    pub node: usize,
    /// The numbers of its operators, those of its inputs among them.
    pub operators: Range<usize>,
    /// The plans below it whose rows come from outside, by their places in memory.
    pub sources: Vec<usize>,
    /// Rows that came out, less those taken back; none where rows are not counted.
    pub rows: Option<Rc<Cell<isize>>>,
}

impl Rendered {
    /// One that counts rows too: a further operator for each plan.
    pub fn counting() -> Self {
        Rendered { counts_rows: true, ..Rendered::default() }
    }

    /// Notes what `render` makes of a plan.
    pub fn around<'s, T: RenderTime>(
        &self,
        context: &mut Context<'s, T>,
        plan: &Plan,
        render: impl FnOnce(&mut Context<'s, T>) -> Result<Bundle<'s, T>, SqlError>,
    ) -> Result<Bundle<'s, T>, SqlError> {
        let node = std::ptr::from_ref(plan).addr();
        if context.sources.contains_key(&NodeId::of(plan)) {
            self.sources.borrow_mut().push(node);
            return render(context);
        }
        let worker = context.scope.worker();
        let first = worker.peek_identifier();
        let met = self.sources.borrow().len();
        let mut bundle = render(context)?;
        let rows = self.counts_rows.then(|| {
            let rows = Rc::new(Cell::new(0));
            let counted = rows.clone();
            bundle.oks = bundle.oks.clone().inspect(move |(_row, _time, diff)| counted.set(counted.get() + diff));
            rows
        });
        self.plans.borrow_mut().push(RenderedPlan {
            node,
            operators: first..worker.peek_identifier(),
            sources: self.sources.borrow()[met..].to_vec(),
            rows,
        });
        Ok(bundle)
    }

    /// Notes operators that were made for a plan elsewhere.
    pub fn note(&self, plan: &Plan, operators: Range<usize>) {
        let node = std::ptr::from_ref(plan).addr();
        self.plans.borrow_mut().push(RenderedPlan { node, operators, sources: Vec::new(), rows: None });
    }

    /// All plans, inputs before what reads them.
    pub fn plans(&self) -> Vec<RenderedPlan> {
        self.plans.borrow().clone()
    }
}

/// What the operators of a worker took, by their numbers.
#[derive(Default)]
pub struct OperatorLog {
    operators: RefCell<BTreeMap<usize, Logged>>,
    /// Operators that have ended are forgotten.
    forgets: bool,
}

/// One operator.
#[derive(Clone, Debug, Default)]
pub struct Logged {
    /// As timely calls it.
    pub name: String,
    /// Where it stands: the places of the scopes around it, then its own.
    pub address: Vec<usize>,
    /// Time in it; for a scope, in all that it holds.
    pub elapsed: Duration,
    /// How often it ran.
    pub invocations: u64,
    started: Duration,
}

impl OperatorLog {
    /// Listens to a worker that runs one dataflow to its end.
    pub fn listen(worker: &Worker) -> Rc<OperatorLog> {
        OperatorLog::default().attach(worker)
    }

    /// Listens to a worker whose dataflows come and go.
    pub fn listen_on(worker: &Worker) -> Rc<OperatorLog> {
        OperatorLog { forgets: true, ..OperatorLog::default() }.attach(worker)
    }

    fn attach(self, worker: &Worker) -> Rc<OperatorLog> {
        let log = Rc::new(self);
        if let Some(mut register) = worker.log_register() {
            let heard = log.clone();
            register.insert::<TimelyEventBuilder, _>("timely", move |_time, events| {
                let mut operators = heard.operators.borrow_mut();
                for (at, event) in events.iter_mut().flat_map(|events| events.drain(..)) {
                    match event {
                        TimelyEvent::Operates(made) => {
                            let logged = operators.entry(made.id).or_default();
                            (logged.name, logged.address) = (made.name, made.addr);
                        }
                        TimelyEvent::Schedule(ran) => {
                            let Some(logged) = operators.get_mut(&ran.id) else { continue };
                            match ran.start_stop {
                                StartStop::Start => logged.started = at,
                                StartStop::Stop => {
                                    logged.elapsed += at.saturating_sub(logged.started);
                                    logged.invocations += 1;
                                }
                            }
                        }
                        TimelyEvent::Shutdown(gone) if heard.forgets => {
                            operators.remove(&gone.id);
                        }
                        _ => {}
                    }
                }
            });
        }
        log
    }

    /// The operators with these numbers that hold no others, in order.
    pub fn within(&self, numbers: Range<usize>) -> Vec<(usize, Logged)> {
        let operators = self.operators.borrow();
        let found: Vec<(usize, Logged)> = operators.range(numbers).map(|(id, logged)| (*id, logged.clone())).collect();
        let scopes: BTreeSet<&[usize]> =
            found.iter().filter_map(|(_, logged)| Some(logged.address.split_last()?.1)).collect();
        let holds = |logged: &Logged| scopes.contains(logged.address.as_slice());
        found.iter().filter(|(_, logged)| !holds(logged)).cloned().collect()
    }

    /// Time in the operators with these numbers.
    pub fn elapsed(&self, numbers: Range<usize>) -> Duration {
        self.within(numbers).iter().map(|(_, logged)| logged.elapsed).sum()
    }
}
