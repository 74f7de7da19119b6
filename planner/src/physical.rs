//! MIR → plan: how each table is read, in which order joins happen, and which side is looked up.
//!
//! Last step of planning. Where large tables have statistics, sizes follow from these (`sizes`, `join_order`). Else, and in
//! what is maintained, tables count as `TABLE_ROWS` rows, and what matters is where constants and parameters enter: a view's
//! plan says the same whatever is in its tables. Never changes what rows come out.

mod access;
mod alternatives;
mod bounds;
mod by_reference;
mod chain;
pub mod costs;
mod estimate;
pub mod expected;
mod finish;
mod index_expressions;
mod inverted;
mod join;
mod join_order;
mod late_materialization;
mod matching;
mod order;
mod range;
mod row_keys;
mod sizes;
mod sooner;

use crate::catalog::Catalog;
use crate::delta;
use crate::error::PlanError;
use crate::lower::MirQuery;
use crate::mir::Mir;
use crate::ownership::{KeyForm, key_form};
use crate::plan::{Counting, Finishing, LocalId, MatchKind, Plan, Query};
use crate::scalar::{Mfp, Order, ScalarExpr};
use crate::statistics::TableStatistics;
use crate::temporal;
pub(crate) use access::same_class;
pub use bounds::wanted_values;
use chain::Chain;
use late_materialization::First;
use repr::{Datum, RelationId, Row, poll};
use sizes::Sizes;
use std::collections::BTreeMap;

/// How a relation is stored, and what is known of it.
pub trait KeyForms {
    /// Whether its keys and indexes stand in SQL order (`ownership::graph::key_form`): true for impersonal tables without a
    /// path to a data subject.
    fn ordered(&self, relation: RelationId) -> bool;
    /// What its statistics say that whoever asks may know.
    fn statistics(&self, _relation: RelationId) -> Option<&TableStatistics> {
        None
    }
}

impl<F: Fn(RelationId) -> bool> KeyForms for F {
    fn ordered(&self, relation: RelationId) -> bool {
        self(relation)
    }
}

/// What the ownership graph says.
impl KeyForms for Catalog {
    fn ordered(&self, relation: RelationId) -> bool {
        key_form(self, relation) == KeyForm::Ordered
    }
}

/// Plans an optimized query.
pub fn query(query: MirQuery, catalog: &Catalog, forms: &dyn KeyForms) -> Result<Query, PlanError> {
    let mut planner = Planner {
        catalog,
        forms,
        next_local: query.next_local,
        locals: BTreeMap::new(),
        sizes: Sizes::of(&query.relation, forms),
        maintained: false,
        recursions: 0,
    };
    // Row locks name columns of the relation as it is.
    let (relation, finishing) = if query.locks.is_empty() {
        finish::lift_limit(query.relation, query.finishing)
    } else {
        (query.relation, query.finishing)
    };
    let plan = planner.plan(&relation)?;
    let (plan, finishing) = finish::order_from_access(plan, finishing, catalog, forms);
    let (columns, locks) = (query.columns, query.locks);
    Ok(finish::defer_volatile(Query {
        plan,
        finishing,
        columns,
        locks,
        locking: Vec::new(),
        acts: false,
        calls: false,
        constants: Vec::new(),
    }))
}

/// Plans an optimized query as a view that is maintained. The plan's rows are the result's: projected, and cut
/// by LIMIT. The order that is given back is the result's ORDER BY, as far as its columns are among the output.
pub fn maintained(query: MirQuery, catalog: &Catalog) -> Result<MaintainedPlan, PlanError> {
    let never = |_: RelationId| false;
    let mut planner = Planner {
        catalog,
        forms: &never,
        next_local: query.next_local,
        locals: BTreeMap::new(),
        sizes: None,
        maintained: true,
        recursions: 0,
    };
    let Finishing { order_by, limit, offset, late: _, project } = query.finishing;
    let place = |column: usize| project.iter().position(|projected| *projected == column);
    let order = order_by.iter().map_while(|order| Some(Order { column: place(order.column)?, ..*order })).collect();
    let mut relation = match (&limit, &offset) {
        (None, None) => query.relation,
        _ => {
            let (input, counting) = (Box::new(query.relation), Counting::Rows);
            Mir::TopK { input, keys: Vec::new(), order: order_by, limit, offset, counting }
        }
    };
    temporal::set_apart(&mut relation)?;
    let plan = planner.plan(&relation.project(project))?;
    Ok(MaintainedPlan { plan, order })
}

/// A plan that is kept up to date.
#[derive(Clone, Debug, PartialEq)]
pub struct MaintainedPlan {
    /// Gives the result's rows.
    pub plan: Plan,
    /// The order in which readers want them, within a key.
    pub order: Vec<Order>,
}

/// A plan in the making.
struct Planner<'a> {
    catalog: &'a Catalog,
    forms: &'a dyn KeyForms,
    next_local: usize,
    /// Estimated rows of locals in scope.
    locals: BTreeMap<LocalId, f64>,
    /// What statistics say, where a large table has any.
    sizes: Option<Sizes>,
    /// The plan is kept up to date: tables are looked up wherever their changes can be followed back, and read
    /// as a whole otherwise.
    maintained: bool,
    /// Steps of recursions around what is planned: what they look up must be a chain.
    recursions: usize,
}

impl Planner<'_> {
    fn fresh(&mut self) -> LocalId {
        let id = LocalId(self.next_local);
        self.next_local += 1;
        id
    }

    /// Whether the rows of a maintained plan can be found by what another table's rows look like, in the leaves; if not, and
    /// outside recursions, they can be held in memory by the key.
    fn may_look_up(&self, input: &Plan, key: &[ScalarExpr]) -> bool {
        self.recursions == 0 || delta::can_look_up(input, key, self.catalog)
    }

    /// Plans a relation.
    fn plan(&mut self, mir: &Mir) -> Result<Plan, PlanError> {
        self.chain(Chain::of(mir, self.maintained))
    }

    /// Plans an operator and the map, filter, project over it.
    fn chain(&mut self, Chain { core, mfp }: Chain) -> Result<Plan, PlanError> {
        let plan = match core {
            Mir::Get { relation, with_key, names, .. } => return self.get(*relation, *with_key, names, mfp),
            Mir::Join { inputs, on, same } => return self.join(inputs, on, same, mfp),
            Mir::Match { left, right, kind, on, same } => {
                return self.matching((left, right), *kind, on, same, mfp);
            }
            Mir::Constant { rows, types, names } => {
                Plan::Constant { rows: packed(rows)?, arity: types.len(), names: names.clone() }
            }
            Mir::GetLocal { id, types, names } => Plan::GetLocal { id: *id, arity: types.len(), names: names.clone() },
            Mir::TableFunction { input, functions, ordinality, names } => Plan::TableFunction {
                input: Box::new(self.plan(input)?),
                functions: functions
                    .iter()
                    .map(|(function, args, types)| {
                        (*function, args.clone(), types.iter().map(|column| column.scalar.clone()).collect())
                    })
                    .collect(),
                ordinality: *ordinality,
                names: names.clone(),
            },
            Mir::Reduce { input, keys, aggregates, scalar } => Plan::Reduce {
                input: Box::new(self.plan_for_groups(input, keys, aggregates)?),
                keys: keys.clone(),
                aggregates: aggregates.clone(),
                scalar: *scalar,
            },
            Mir::TopK { input, keys, order, limit, offset, counting } => {
                let first = First { limit: limit.clone(), offset: offset.clone(), counting: *counting };
                let input = self.plan_for_first(input, keys, order, &first)?;
                self.first_rows(input, keys.clone(), order.clone(), first)
            }
            Mir::Window { input, partition, order, calls } => Plan::Window {
                input: Box::new(self.plan(input)?),
                partition: partition.clone(),
                order: order.clone(),
                calls: calls.clone(),
            },
            Mir::AtMostOne { input, keys } => {
                Plan::AtMostOne { input: Box::new(self.plan(input)?), keys: keys.clone() }
            }
            Mir::Union(inputs, names) => {
                let inputs = inputs.iter().map(|input| self.plan(input)).collect::<Result<_, _>>()?;
                Plan::Union(inputs, names.clone())
            }
            Mir::Negate(input) => Plan::Negate(Box::new(self.plan(input)?)),
            Mir::Threshold(input) => Plan::Threshold(Box::new(self.plan(input)?)),
            Mir::Let { id, value, body } => {
                self.locals.insert(*id, self.estimate(value).rows);
                self.know_local(*id, value);
                Plan::Let { id: *id, value: Box::new(self.plan(value)?), body: Box::new(self.plan(body)?) }
            }
            Mir::LetRec { id, base, step, distinct, body } => {
                let (base, step) = self.recursion(*id, base, step)?;
                Plan::LetRec { id: *id, base, step, distinct: *distinct, body: Box::new(self.plan(body)?) }
            }
            Mir::Filter { input, predicates } => Plan::Temporal {
                conditions: temporal::conditions(predicates, &input.types())?,
                input: Box::new(self.plan(input)?),
            },
            Mir::Map { .. } | Mir::Project { .. } => {
                return Err(PlanError::new("XX000", "a chain of projections has no end"));
            }
        };
        Ok(through(plan, mfp))
    }

    /// The rows that a recursion begins with, and its step.
    fn recursion(&mut self, id: LocalId, base: &Mir, step: &Mir) -> Result<(Box<Plan>, Box<Plan>), PlanError> {
        let base_rows = self.estimate(base).rows;
        self.locals.insert(id, base_rows * costs::RECURSION_GROWTH);
        let base = Box::new(self.plan(base)?);
        self.recursions += 1;
        let step = self.plan(step);
        self.recursions -= 1;
        Ok((base, Box::new(step?)))
    }
}

fn packed(rows: &[Vec<Datum>]) -> Result<Vec<Row>, PlanError> {
    let mut packed = Vec::with_capacity(rows.len());
    for row in rows {
        poll::steps(row.len())?;
        packed.push(Row::pack(row));
    }
    Ok(packed)
}

/// A plan through a map, filter, project, unless that changes nothing.
fn through(plan: Plan, mfp: Mfp) -> Plan {
    if mfp.is_identity() {
        return plan;
    }
    match plan {
        Plan::Mfp(input, inner) => Plan::Mfp(input, inner.then(mfp)),
        Plan::Get { relation, access, with_key, names, mfp: inner } => {
            Plan::Get { relation, access, with_key, names, mfp: inner.then(mfp) }
        }
        Plan::LookupJoin { input, relation, lookup, key, kind, condition, with_key, names, mfp: inner } => {
            let mfp = inner.then(mfp);
            Plan::LookupJoin { input, relation, lookup, key, kind, condition, with_key, names, mfp }
        }
        Plan::Join { left, right, left_key, right_key, null_safe, kind, range, mfp: inner } => {
            Plan::Join { left, right, left_key, right_key, null_safe, kind, range, mfp: inner.then(mfp) }
        }
        other @ (Plan::Constant { .. }
        | Plan::GetLocal { .. }
        | Plan::TableFunction { .. }
        | Plan::Reduce { .. }
        | Plan::TopK { .. }
        | Plan::Window { .. }
        | Plan::AtMostOne { .. }
        | Plan::Union(..)
        | Plan::Negate(_)
        | Plan::Threshold(_)
        | Plan::Temporal { .. }
        | Plan::Let { .. }
        | Plan::LetRec { .. }) => Plan::Mfp(Box::new(other), mfp),
    }
}

/// Whether a join of this kind gives the right side's columns.
fn gives_right(kind: MatchKind) -> bool {
    match kind {
        MatchKind::Inner | MatchKind::Left => true,
        MatchKind::Semi | MatchKind::Anti => false,
    }
}
