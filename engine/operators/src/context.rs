//! What every render function gets, and the two-output operator that most of them are made of.
//!
//! A rendered plan is a `Bundle`: rows, and beside them the errors of rows that could not be evaluated.
//! Errors are data: they have times and differences, and can be retracted like rows.

use crate::delta::Feed;
use crate::plan::Recursion;
use crate::rendered::Rendered;
use crate::temporal::DueRows;
use arrangements::meter::Meter;
use arrangements::time::ArrangeTime;
use differential_dataflow::{AsCollection, VecCollection};
use planner::catalog::Catalog;
use planner::plan::{LocalId, Plan};
use planner::scalar::EvalContext;
use repr::{Row, ValueError};
use state::SqlError;
use state::interrupt::Watch;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::CapabilityTrait;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
use timely::dataflow::operators::generic::{OutputBuilder, OutputBuilderSession};
use timely::dataflow::{Scope, Stream};
use timely::progress::operate::FrontierInterest;

/// The times that plans are rendered at.
pub trait RenderTime: ArrangeTime {
    /// Renders a `LetRec` by iteration in a nested scope, where times allow nesting.
    fn render_recursion<'s>(
        context: &mut Context<'s, Self>,
        recursion: Recursion<'_>,
    ) -> Result<Bundle<'s, Self>, SqlError>;
}

/// Rows with their multiplicities.
pub type Rows<'s, T> = VecCollection<'s, T, Row, isize>;
/// Errors with theirs.
pub type Errors<'s, T> = VecCollection<'s, T, ValueError, isize>;

/// A plan's rows and errors.
#[derive(Clone)]
pub struct Bundle<'s, T: RenderTime> {
    /// The rows.
    pub oks: Rows<'s, T>,
    /// The errors; `None` where none can arise.
    pub errs: Option<Errors<'s, T>>,
}

impl<'s, T: RenderTime> Bundle<'s, T> {
    /// Rows that cannot fail.
    pub(crate) fn infallible(oks: Rows<'s, T>) -> Self {
        Bundle { oks, errs: None }
    }

    /// The same with an input's errors besides.
    #[must_use]
    pub fn with_errs(self, errs: Option<Errors<'s, T>>) -> Self {
        Bundle { oks: self.oks, errs: both(self.errs, errs) }
    }
}

/// Both collections of errors together.
pub fn both<'s, T: RenderTime>(left: Option<Errors<'s, T>>, right: Option<Errors<'s, T>>) -> Option<Errors<'s, T>> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.concat(right)),
        (Some(errs), None) | (None, Some(errs)) => Some(errs),
        (None, None) => None,
    }
}

/// A plan node by its place in memory: the plan is borrowed for as long as it is rendered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeId {
    /// The node's rows.
    Rows(usize),
    /// The value of the `LetRec` that the node is.
    Recursion(usize),
}

impl NodeId {
    /// Stands for the node's rows.
    pub fn of(plan: &Plan) -> Self {
        NodeId::Rows(std::ptr::from_ref(plan).addr())
    }

    /// Stands for the value of a `LetRec` node, where that is computed outside the dataflow.
    pub fn recursion(plan: &Plan) -> Self {
        NodeId::Recursion(std::ptr::from_ref(plan).addr())
    }
}

/// Where a plan is being rendered.
pub struct Context<'s, T: RenderTime> {
    /// The scope.
    pub scope: Scope<'s, T>,
    /// Nodes whose rows come from outside: the changes of a view's tables.
    pub sources: HashMap<NodeId, Bundle<'s, T>>,
    /// What `GetLocal` means here.
    pub locals: BTreeMap<LocalId, Bundle<'s, T>>,
    /// What expressions are evaluated with.
    pub eval: EvalContext,
    /// Asked inside long operators.
    pub watch: Arc<Watch>,
    /// Counts what is arranged.
    pub meter: Rc<Meter>,
    /// What a view's tables do, for lookup joins that have to follow it; none in a recursion's step.
    pub follow: Option<Follow<'s, T>>,
    /// Learns which operators stand for which plan, where somebody wants to know.
    pub rendered: Option<Rc<Rendered>>,
}

/// What a view follows.
#[derive(Clone)]
pub struct Follow<'s, T: RenderTime> {
    /// What enters its dataflow.
    pub feeds: Stream<'s, T, Vec<Feed>>,
    /// Its tables.
    pub catalog: Arc<Catalog>,
    /// What waits in its temporal filters.
    pub due: Rc<RefCell<Vec<Rc<DueRows>>>>,
}

/// A stateless operator: `logic` drains a batch of updates into updates of rows and of errors.
///
/// Output times must be the inputs' own. Nothing is consolidated.
pub(crate) fn split_operator<'s, T, D, D1, R1>(
    input: VecCollection<'s, T, D, isize>,
    name: &str,
    logic: impl FnMut(&mut Vec<(D, T, isize)>, &mut Vec<(D1, T, R1)>, &mut Vec<(ValueError, T, isize)>) + 'static,
) -> Split<'s, T, D1, R1>
where
    T: RenderTime,
    D: Clone + 'static,
    D1: Clone + 'static,
    R1: Clone + 'static,
{
    let mut logic = logic;
    let mut builder = OperatorBuilder::new(name.to_owned(), input.scope());
    let mut handle = builder.new_input(input.inner, Pipeline);
    builder.set_notify_for(0, FrontierInterest::Never);
    let (oks_output, oks) = builder.new_output::<Vec<(D1, T, R1)>>();
    let (errs_output, errs) = builder.new_output::<Vec<(ValueError, T, isize)>>();
    let mut oks_output = OutputBuilder::from(oks_output);
    let mut errs_output = OutputBuilder::from(errs_output);
    builder.build(move |_| {
        let (mut oks_buffer, mut errs_buffer) = (Vec::new(), Vec::new());
        move |_frontiers| {
            let mut oks_handle = oks_output.activate();
            let mut errs_handle = errs_output.activate();
            handle.for_each(|capability, updates| {
                logic(updates, &mut oks_buffer, &mut errs_buffer);
                give(&mut oks_handle, &capability, &mut oks_buffer);
                give(&mut errs_handle, &capability, &mut errs_buffer);
            });
        }
    });
    Split { oks: oks.as_collection(), errs: errs.as_collection() }
}

/// Gives what has come together to an output, at the time of a capability.
pub(crate) fn give<T: RenderTime, U: Clone + 'static>(
    output: &mut OutputBuilderSession<'_, T, CapacityContainerBuilder<Vec<U>>>,
    capability: &impl CapabilityTrait<T>,
    updates: &mut Vec<U>,
) {
    if !updates.is_empty() {
        output.session(capability).give_container(updates);
        updates.clear();
    }
}

/// What a `split_operator` gives.
pub struct Split<'s, T: RenderTime, D: 'static, R: 'static> {
    /// The first output.
    pub oks: VecCollection<'s, T, D, R>,
    /// The errors.
    pub errs: Errors<'s, T>,
}

impl<'s, T: RenderTime> Split<'s, T, Row, isize> {
    /// As a bundle, with an input's errors besides.
    pub fn with_errs(self, errs: Option<Errors<'s, T>>) -> Bundle<'s, T> {
        Bundle { oks: self.oks, errs: both(Some(self.errs), errs) }
    }
}
