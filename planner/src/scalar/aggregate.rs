//! Aggregates: what each one is.
//!
//! An aggregate sees the rows of one group, each with its multiplicity, and gives one value. Those that are
//! sums of differences also say how a row contributes, so that a maintained view never looks at the group again.

mod boolean;
mod collect;
mod extreme;
mod ordered_set;
mod statistics;
mod sum;

use super::EvalContext;
use repr::{Datum, ScalarType, ValueError, poll};

/// One overload of an aggregate.
pub struct Aggregate {
    /// SQL name.
    pub name: &'static str,
    /// Whether rows with a NULL argument are left out before `evaluate` sees them.
    pub skips_nulls: bool,
    /// Whether the answer depends on the order of the input (string_agg, array_agg).
    pub ordered: bool,
    /// The value over a group: each item is (arguments, multiplicity > 0), in the call's order where it
    /// has one; DISTINCT and FILTER are already applied. The group may be empty.
    pub evaluate: EvaluateGroup,
    /// For aggregates that are sums of differences (count, sum and avg of exact types, bool_and, bool_or):
    /// how a row contributes and how the sums become the value. `None` for the rest.
    pub accumulable: Option<Accumulable>,
    /// For min and max: whether the greatest value is wanted.
    pub prefers_greater: Option<bool>,
}

/// An aggregate as a vector of sums, which differential dataflow carries as differences.
#[derive(Clone, Copy)]
pub struct Accumulable {
    /// The contribution of one row with multiplicity 1; exact sums do not overflow silently: the parts
    /// are (count of non-NULL, sum as i128 scaled by 10^`scale`).
    pub contribution: fn(&[Datum]) -> Result<Contribution, ValueError>,
    /// The value from the total.
    pub finish: fn(Contribution, &ScalarType) -> Result<Datum, ValueError>,
}

/// What one row, or a whole group, adds up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contribution {
    /// Rows counted.
    pub count: i64,
    /// Exact sum.
    pub sum: i128,
}

/// The rows of a group: (arguments, multiplicity).
pub(crate) type Rows<'a, 'b> = &'a mut dyn Iterator<Item = (&'b [Datum], u64)>;

/// What computes an aggregate over a group.
#[allow(clippy::type_complexity, reason = "this is the name for the complex type")]
pub type EvaluateGroup =
    fn(&EvalContext, &mut dyn Iterator<Item = (&[Datum], u64)>, &ScalarType) -> Result<Datum, ValueError>;

/// One aggregate with its signature, as a family declares it.
pub(crate) struct AggregateDefinition {
    signature: &'static str,
    skips_nulls: bool,
    ordered: bool,
    evaluate: EvaluateGroup,
    accumulable: Option<Accumulable>,
    prefers_greater: Option<bool>,
}

/// An aggregate that leaves out rows with NULL arguments and does not care for their order.
const fn plain(signature: &'static str, evaluate: EvaluateGroup) -> AggregateDefinition {
    AggregateDefinition {
        signature,
        skips_nulls: true,
        ordered: false,
        evaluate,
        accumulable: None,
        prefers_greater: None,
    }
}

impl AggregateDefinition {
    const fn accumulable(mut self, accumulable: Accumulable) -> Self {
        self.accumulable = Some(accumulable);
        self
    }
    const fn ordered(mut self) -> Self {
        self.ordered = true;
        self
    }
    const fn sees_nulls(mut self) -> Self {
        self.skips_nulls = false;
        self
    }
}

impl Aggregate {
    /// The value over a group, given up when the statement ends.
    ///
    /// # Errors
    /// The aggregate's own, and why the statement ends.
    pub fn evaluate(
        &self,
        ctx: &EvalContext,
        rows: &mut dyn Iterator<Item = (&[Datum], u64)>,
        result: &ScalarType,
    ) -> Result<Datum, ValueError> {
        // An aggregate that hears of no more rows ends, and what it gives then is not looked at.
        let mut ended = Ok(());
        let mut heard = rows.map_while(|row| {
            ended = poll::step();
            ended.is_ok().then_some(row)
        });
        let value = (self.evaluate)(ctx, &mut heard, result);
        ended.and(value)
    }
}

/// All aggregates with their signatures.
pub(crate) fn definitions() -> Vec<(&'static str, Aggregate)> {
    let families: [&'static [AggregateDefinition]; 6] = [
        boolean::AGGREGATES,
        collect::AGGREGATES,
        extreme::AGGREGATES,
        ordered_set::AGGREGATES,
        statistics::AGGREGATES,
        sum::AGGREGATES,
    ];
    let named = families.into_iter().flatten().chain(statistics::SPREADS.iter().flatten()).map(|definition| {
        let name = definition.signature.split('(').next().unwrap_or_default();
        let aggregate = Aggregate {
            name,
            skips_nulls: definition.skips_nulls,
            ordered: definition.ordered,
            evaluate: definition.evaluate,
            accumulable: definition.accumulable,
            prefers_greater: definition.prefers_greater,
        };
        (definition.signature, aggregate)
    });
    named.collect()
}

impl PartialEq for Aggregate {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl std::fmt::Debug for Aggregate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
