//! Aggregates: what each one is.
//!
//! ```text
//! summed     count, sum, avg, statistics, bool_and, bit_or …   accumulators: rows come and go as differences
//! extreme    min, max                                          the first of the group in the order of the argument
//! placed     percentiles                                       rows at some places of their order
//! frequent   mode                                              the argument that comes most often
//! listed     string_agg, array_agg, JSON                       a value of all rows, in their order
//! ```
//! All but the last a maintained view keeps without looking at the whole group again. A list is put together again whenever a
//! row of the group changes: the value itself is as long as the group.

pub mod accumulators;
mod binary;
mod bits;
mod boolean;
mod collect;
mod exact;
mod extreme;
mod limbs;
mod ordered_set;
pub mod plain_sum;
mod range;
mod real;
mod statistics;
mod sum;

use super::EvalContext;
use accumulators::{Accumulators, Contribution, Total};
use plain_sum::PlainSum;
use repr::{Datum, ScalarType, ValueError, poll};

/// One overload of an aggregate.
pub struct Aggregate {
    /// SQL name.
    pub name: &'static str,
    /// Whether rows with a NULL argument are left out before it sees them.
    pub skips_nulls: bool,
    /// How its value comes about.
    pub kind: AggregateKind,
}

/// How the value of an aggregate comes about.
#[derive(Clone, Copy)]
pub enum AggregateKind {
    /// From sums of differences.
    Summed(Summed),
    /// It is the least or the greatest of its arguments.
    Extreme {
        /// The greatest.
        greatest: bool,
    },
    /// From all rows of the group in their order: each item is (arguments, multiplicity > 0), in the call's order where it
    /// has one; DISTINCT and FILTER are already applied. The group may be empty.
    Listed(EvaluateGroup),
    /// From the rows at some places in the order of the last argument.
    Placed(EvaluatePlaces),
    /// It is the argument that comes most often, the first of several in the call's order.
    MostFrequent,
}

/// The rows of a group in their order, of which some are looked at.
pub struct Places<'a> {
    /// How many there are.
    pub count: u64,
    /// The arguments of the row at a place, from 0 up to the count.
    pub row: &'a dyn Fn(u64) -> Vec<Datum>,
}

/// What computes an aggregate from places.
pub type EvaluatePlaces = fn(&Places<'_>) -> Result<Datum, ValueError>;

/// An aggregate as accumulators, which differential dataflow carries as differences.
#[derive(Clone, Copy)]
pub struct Summed {
    /// Adds what a row contributes.
    pub add: AddRow,
    /// The value of what has been added.
    pub value: fn(Total<'_>, &ScalarType) -> Result<Datum, ValueError>,
    /// What rows add where their arguments are plain, if that is known.
    pub plain: Option<PlainSum>,
}

/// Adds a row, by its arguments.
pub type AddRow = fn(&[Datum], &mut Contribution<'_>) -> Result<(), ValueError>;

/// The rows of a group: (arguments, multiplicity).
pub(crate) type ArgumentRows<'a, 'b> = &'a mut dyn Iterator<Item = (&'b [Datum], u64)>;

/// What computes an aggregate over a group.
#[allow(clippy::type_complexity, reason = "this is the name for the complex type")]
pub type EvaluateGroup =
    fn(&EvalContext, &mut dyn Iterator<Item = (&[Datum], u64)>, &ScalarType) -> Result<Datum, ValueError>;

/// One aggregate with its signature, as a family declares it.
pub(crate) struct AggregateDefinition {
    signature: &'static str,
    skips_nulls: bool,
    kind: AggregateKind,
}

/// An aggregate that leaves out rows with NULL arguments.
const fn definition(signature: &'static str, kind: AggregateKind) -> AggregateDefinition {
    AggregateDefinition { signature, skips_nulls: true, kind }
}

const fn summed(
    signature: &'static str,
    add: AddRow,
    value: fn(Total<'_>, &ScalarType) -> Result<Datum, ValueError>,
) -> AggregateDefinition {
    definition(signature, AggregateKind::Summed(Summed { add, value, plain: None }))
}

const fn placed(signature: &'static str, evaluate: EvaluatePlaces) -> AggregateDefinition {
    definition(signature, AggregateKind::Placed(evaluate))
}

const fn listed(signature: &'static str, evaluate: EvaluateGroup) -> AggregateDefinition {
    definition(signature, AggregateKind::Listed(evaluate))
}

impl AggregateDefinition {
    /// For one that adds up no more than this of a plain argument.
    const fn of_plain(mut self, plain: PlainSum) -> Self {
        if let AggregateKind::Summed(summed) = &mut self.kind {
            summed.plain = Some(plain);
        }
        self
    }

    const fn sees_nulls(mut self) -> Self {
        self.skips_nulls = false;
        self
    }
}

impl Aggregate {
    /// Whether the answer depends on the order of the input.
    pub fn is_ordered(&self) -> bool {
        match self.kind {
            AggregateKind::Summed(_) | AggregateKind::Extreme { .. } => false,
            AggregateKind::Listed(_) | AggregateKind::Placed(_) | AggregateKind::MostFrequent => true,
        }
    }

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
        let value = match self.kind {
            AggregateKind::Summed(summed) => summed.over(&mut heard, result),
            AggregateKind::Extreme { greatest } => Ok(extreme::extreme(heard.map(|(args, _)| &args[0]), greatest)),
            AggregateKind::Listed(evaluate) => evaluate(ctx, &mut heard, result),
            AggregateKind::Placed(evaluate) => ordered_set::placed_among(evaluate, &mut heard),
            AggregateKind::MostFrequent => Ok(ordered_set::mode(&mut heard)),
        };
        ended.and(value)
    }
}

impl Summed {
    fn over(&self, rows: ArgumentRows<'_, '_>, result: &ScalarType) -> Result<Datum, ValueError> {
        let mut sums = Accumulators::default();
        for (args, times) in rows {
            let times = i64::try_from(times).map_err(|_| ValueError::new("22003", "bigint out of range"))?;
            (self.add)(args, &mut sums.contribution(0, times))?;
        }
        (self.value)(sums.total(0), result)
    }
}

/// All aggregates with their signatures.
pub(crate) fn definitions() -> Vec<(&'static str, Aggregate)> {
    let families: [&'static [AggregateDefinition]; 8] = [
        bits::AGGREGATES,
        boolean::AGGREGATES,
        collect::AGGREGATES,
        extreme::AGGREGATES,
        ordered_set::AGGREGATES,
        range::AGGREGATES,
        statistics::AGGREGATES,
        sum::AGGREGATES,
    ];
    let named = families.into_iter().flatten().chain(statistics::SPREADS.iter().flatten()).map(|definition| {
        let name = definition.signature.split('(').next().unwrap_or_default();
        let aggregate = Aggregate { name, skips_nulls: definition.skips_nulls, kind: definition.kind };
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
