//! What a view's dataflow is made of, what it holds and what it took: found by a view worker when it is asked.

use crate::dataflow::ViewDataflow;
use arrangements::log::HeldUpdates;
use arrangements::meter::Arranged;
use planner::catalog::Catalog;
use planner::explain::plan_operators;
use planner::explain::report::OperatorLine;
use planner::plan::Plan;
use repr::RelationId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// An operator as a view worker has it: what it says of it in words, whoever asks finds out.
pub struct InspectedOperator {
    view: RelationId,
    plan: Arc<Plan>,
    operator: usize,
    name: String,
    /// The innermost plan that it renders, by its place in memory.
    node: Option<usize>,
    elapsed: Duration,
    invocations: u64,
    arranged: Option<Arranged>,
}

/// One operator of one view.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// The view.
    pub view: RelationId,
    /// Its plan.
    pub plan: Arc<Plan>,
    /// Its number, unique among all views.
    pub operator: usize,
    /// What the dataflow calls it.
    pub name: String,
    /// The line of the view's plan that it renders.
    pub renders: String,
    /// Which line that is; none for what stands between the plan and the published rows.
    pub line: Option<usize>,
    /// Time in it since the view was made.
    pub elapsed: Duration,
    /// How often it ran.
    pub invocations: u64,
    /// What it holds, if it is an arrangement.
    pub arranged: Option<Arranged>,
}

/// With the lines of the plans that they render.
pub fn in_words(found: Vec<InspectedOperator>, catalog: &Catalog) -> Vec<Inspected> {
    let mut lines: BTreeMap<RelationId, Vec<OperatorLine>> = BTreeMap::new();
    found
        .into_iter()
        .map(|found| {
            let InspectedOperator { view, plan, operator, name, node, elapsed, invocations, arranged } = found;
            let lines = lines.entry(view).or_insert_with(|| plan_operators(&plan, catalog));
            let line = node.and_then(|node| lines.iter().position(|line| line.node == Some(node)));
            let renders = line.map_or_else(|| "the view's rows".to_string(), |line| lines[line].text.clone());
            Inspected { view, plan, operator, name, renders, line, elapsed, invocations, arranged }
        })
        .collect()
}

impl ViewDataflow {
    /// All operators, in the order in which they were made.
    pub fn inspect(&self) -> Vec<InspectedOperator> {
        let plans = self.placed.rendered.plans();
        let held = self.placed.driver.arrangements.within(self.placed.operators.clone());
        let logged = self.placed.driver.operators.within(self.placed.operators.clone());
        logged
            .into_iter()
            .map(|(operator, logged)| {
                let plans = plans.iter().filter(|plan| plan.operators.contains(&operator));
                let innermost = plans.min_by_key(|plan| plan.operators.len()).map(|plan| plan.node);
                let held = held.iter().find(|(held, _)| *held == operator).map(|(_, held)| *held);
                InspectedOperator {
                    view: self.definition.id,
                    plan: self.definition.plan.clone(),
                    operator,
                    name: logged.name,
                    node: innermost,
                    elapsed: logged.elapsed,
                    invocations: logged.invocations,
                    arranged: self
                        .published(operator)
                        .or_else(|| self.meter.arrangement(operator))
                        .or_else(|| held.map(|held| self.estimated(held))),
                }
            })
            .collect()
    }

    fn estimated(&self, held: HeldUpdates) -> Arranged {
        Arranged {
            updates: held.records(),
            batches: usize::try_from(held.batches).unwrap_or(0),
            bytes: self.meter.bytes(held.records()),
        }
    }
}
