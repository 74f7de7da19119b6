//! Aggregates: what each one is.

use super::EvalContext;
use repr::{Datum, ScalarType, ValueError};

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
    pub evaluate: fn(&EvalContext, &mut dyn Iterator<Item = (&[Datum], u64)>, &ScalarType) -> Result<Datum, ValueError>,
    /// For aggregates that are sums of differences (count, sum and avg of exact types, bool_and, bool_or):
    /// how a row contributes and how the sums become the value. `None` for the rest.
    pub accumulable: Option<Accumulable>,
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

/// All aggregates with their signatures.
pub(crate) fn definitions() -> Vec<(&'static str, Aggregate)> {
    Vec::new()
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
