//! Which operators of a dataflow render which plan, and what they took.
//!
//! ```text
//! render(plan)  ──▶ operators 17 … 23            a plan's operators have neighbouring numbers: its inputs' and its own
//! timely's log  ──▶ operator 18 ran 4 times, 80 µs
//! ```
//!
//! A view always logs, as little as can be: that its operators ran, not the messages between them.

use crate::context::{Bundle, Context, NodeId, RenderTime};
use planner::plan::Plan;
use state::SqlError;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;
use std::time::{Duration, Instant};
use timely::logging::{StartStop, TimelyEvent, TimelyEventBuilder};
use timely::logging_core::Logger;
use timely::worker::Worker;

/// The plans of one dataflow and their operators.
#[derive(Default)]
pub struct Rendered {
    plans: RefCell<Vec<RenderedPlan>>,
}

/// One plan.
#[derive(Clone)]
pub struct RenderedPlan {
    /// Its place in memory while it was rendered.
    pub node: usize,
    /// The numbers of its operators, those of its inputs among them.
    pub operators: Range<usize>,
}

impl Rendered {
    /// Notes what `render` makes of a plan.
    pub fn around<'s, T: RenderTime>(
        &self,
        context: &mut Context<'s, T>,
        plan: &Plan,
        render: impl FnOnce(&mut Context<'s, T>) -> Result<Bundle<'s, T>, SqlError>,
    ) -> Result<Bundle<'s, T>, SqlError> {
        if context.sources.contains_key(&NodeId::of(plan)) {
            return render(context);
        }
        let worker = context.scope.worker();
        let first = worker.peek_identifier();
        let bundle = render(context)?;
        let node = std::ptr::from_ref(plan).addr();
        self.plans.borrow_mut().push(RenderedPlan { node, operators: first..worker.peek_identifier() });
        Ok(bundle)
    }

    /// Notes operators that were made for a plan's rows elsewhere.
    pub fn note(&self, plan: NodeId, operators: Range<usize>) {
        let (NodeId::Rows(node) | NodeId::Recursion(node)) = plan;
        self.plans.borrow_mut().push(RenderedPlan { node, operators });
    }

    /// All plans, inputs before what reads them.
    pub fn plans(&self) -> Vec<RenderedPlan> {
        self.plans.borrow().clone()
    }
}

/// What the operators of a worker took, by their numbers.
pub struct OperatorLog {
    operators: Rc<RefCell<BTreeMap<usize, Logged>>>,
    logger: Logger<TimelyEventBuilder>,
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

const LOG: &str = "timely";

impl OperatorLog {
    /// For a worker; hears nothing before it listens.
    pub fn new(worker: &Worker) -> OperatorLog {
        let operators: Rc<RefCell<BTreeMap<usize, Logged>>> = Rc::default();
        let heard = operators.clone();
        let hear = move |_time: &Duration, events: &mut Option<Vec<(Duration, TimelyEvent)>>| {
            let mut operators = heard.borrow_mut();
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
                    _ => {}
                }
            }
        };
        let started = worker.timer().unwrap_or_else(Instant::now);
        OperatorLog { operators, logger: Logger::new(started, Duration::ZERO, hear) }
    }

    /// From here on operators that are put to work are heard.
    pub fn listen(&self, worker: &Worker) {
        if let Some(mut register) = worker.log_register() {
            register.insert_logger(LOG, self.logger.clone());
        }
    }

    /// Those that are put to work from here on are not.
    pub fn listen_no_more(&self, worker: &Worker) {
        if let Some(mut register) = worker.log_register() {
            register.remove(LOG);
        }
    }

    /// Operators that are no more.
    pub fn forget(&self, numbers: Range<usize>) {
        self.logger.flush();
        self.operators.borrow_mut().retain(|operator, _| !numbers.contains(operator));
    }

    /// The operators with these numbers that hold no others, in order.
    pub fn within(&self, numbers: Range<usize>) -> Vec<(usize, Logged)> {
        self.logger.flush();
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
