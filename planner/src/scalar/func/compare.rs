//! Comparison operators of all types, by `Datum::sql_cmp`; and tests for NULL and truth.

use super::arguments::{boolean, text, truth};
use super::{FunctionDefinition, FunctionKind, Volatility, lenient, strict};
use repr::{Datum, ValueError};
use std::cmp::Ordering;

/// What a comparison asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// IS DISTINCT FROM: sees NULLs.
    Distinct,
    /// IS NOT DISTINCT FROM: sees NULLs.
    NotDistinct,
}

impl Comparison {
    /// Whether it holds between two values (not NULL, but for the last two).
    pub fn holds(self, left: &Datum, right: &Datum) -> bool {
        self.accepts(left.sql_cmp(right))
    }

    /// Whether it holds between two values that stand so.
    #[inline]
    pub fn accepts(self, order: Ordering) -> bool {
        match self {
            Comparison::Equal | Comparison::NotDistinct => order == Ordering::Equal,
            Comparison::NotEqual | Comparison::Distinct => order != Ordering::Equal,
            Comparison::Less => order == Ordering::Less,
            Comparison::LessOrEqual => order != Ordering::Greater,
            Comparison::Greater => order == Ordering::Greater,
            Comparison::GreaterOrEqual => order != Ordering::Less,
        }
    }

    /// The comparison with its sides exchanged.
    #[must_use]
    pub(crate) fn commuted(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            same @ (Comparison::Equal | Comparison::NotEqual | Comparison::Distinct | Comparison::NotDistinct) => same,
        }
    }
}

/// Symbols of comparisons; the last two are how `IS [NOT] DISTINCT FROM` is looked up.
const SYMBOLS: [(&str, Comparison); 8] = [
    ("=", Comparison::Equal),
    ("<>", Comparison::NotEqual),
    ("<", Comparison::Less),
    ("<=", Comparison::LessOrEqual),
    (">", Comparison::Greater),
    (">=", Comparison::GreaterOrEqual),
    ("IS DISTINCT FROM", Comparison::Distinct),
    ("IS NOT DISTINCT FROM", Comparison::NotDistinct),
];

/// Pairs that are compared as they are; all others by way of implicit casts.
const TYPES: [(&str, &str); 40] = [
    ("bool", "bool"),
    ("int2", "int2"),
    ("int4", "int4"),
    ("int8", "int8"),
    ("oid", "oid"),
    ("float4", "float4"),
    ("float8", "float8"),
    ("float4", "float8"),
    ("float8", "float4"),
    ("numeric", "numeric"),
    ("text", "text"),
    ("bpchar", "bpchar"),
    ("citext", "citext"),
    ("name", "name"),
    ("char", "char"),
    ("bytea", "bytea"),
    ("date", "date"),
    ("time", "time"),
    ("timetz", "timetz"),
    ("timestamp", "timestamp"),
    ("timestamptz", "timestamptz"),
    ("interval", "interval"),
    ("inet", "inet"),
    ("macaddr", "macaddr"),
    ("macaddr8", "macaddr8"),
    ("bit", "bit"),
    ("varbit", "varbit"),
    ("money", "money"),
    ("xid8", "xid8"),
    ("pg_lsn", "pg_lsn"),
    ("tid", "tid"),
    ("uuid", "uuid"),
    ("tsvector", "tsvector"),
    ("tsquery", "tsquery"),
    ("jsonb", "jsonb"),
    ("oidvector", "oidvector"),
    ("anyarray", "anyarray"),
    ("anyenum", "anyenum"),
    ("anyrange", "anyrange"),
    ("anymultirange", "anymultirange"),
];

/// All comparison operators.
pub(crate) fn definitions() -> Vec<FunctionDefinition> {
    let mut definitions = Vec::new();
    for (symbol, comparison) in SYMBOLS {
        let is_strict = !matches!(comparison, Comparison::Distinct | Comparison::NotDistinct);
        let equality = matches!(
            comparison,
            Comparison::Equal | Comparison::NotEqual | Comparison::Distinct | Comparison::NotDistinct
        );
        let mut pairs: Vec<(&str, &str)> = TYPES.to_vec();
        pairs.push(("record", "record"));
        pairs.extend([("name", "text"), ("text", "name")]);
        if equality {
            pairs.extend([("xid", "xid"), ("hstore", "hstore")]);
        }
        if equality && comparison != Comparison::NotEqual {
            pairs.push(("aclitem", "aclitem"));
        }
        for (left, right) in pairs {
            // Once per process, for the registry.
            let signature: &'static str = Box::leak(format!("{symbol}({left}, {right}) bool").into_boxed_str());
            definitions.push(FunctionDefinition {
                signature,
                strict: is_strict,
                volatility: Volatility::Immutable,
                kind: FunctionKind::Compare(comparison),
            });
        }
    }
    definitions.extend_from_slice(TESTS);
    definitions
}

/// Tests, known both as functions and as prefix operators: `NOT`, `IS NULL`, `IS TRUE`, …
pub(super) const TESTS: &[FunctionDefinition] = &[
    strict("NOT(bool) bool", |_, a, _| truth(!boolean(&a[0])?)),
    lenient("BEHIND POLICIES(bool) bool", |_, a, _| Ok(a[0].clone())).volatile(),
    lenient("IS NULL(any) bool", |_, a, _| truth(is_null(&a[0]))),
    lenient("POLICY HOLDS(bool, text) bool", |_, a, _| match (&a[0], &a[1]) {
        (Datum::Bool(true), _) => truth(true),
        (_, message) => Err(ValueError::new("42501", text(message)?)),
    })
    .volatile(),
    lenient("IS NOT NULL(any) bool", |_, a, _| truth(is_not_null(&a[0]))),
    lenient("IS TRUE(bool) bool", |_, a, _| truth(a[0] == Datum::Bool(true))),
    lenient("IS NOT TRUE(bool) bool", |_, a, _| truth(a[0] != Datum::Bool(true))),
    lenient("IS FALSE(bool) bool", |_, a, _| truth(a[0] == Datum::Bool(false))),
    lenient("IS NOT FALSE(bool) bool", |_, a, _| truth(a[0] != Datum::Bool(false))),
    lenient("IS UNKNOWN(bool) bool", |_, a, _| truth(a[0].is_null())),
    lenient("IS NOT UNKNOWN(bool) bool", |_, a, _| truth(!a[0].is_null())),
];

/// A composite is null if all its fields are, and not null if none is.
fn is_null(value: &Datum) -> bool {
    match value {
        Datum::Record(fields) => fields.iter().all(Datum::is_null),
        other => other.is_null(),
    }
}

fn is_not_null(value: &Datum) -> bool {
    match value {
        Datum::Record(fields) => !fields.iter().any(Datum::is_null),
        other => !other.is_null(),
    }
}

/// Functions that compare.
pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    lenient("greatest(variadic anycompatiblearray) anycompatible", |_, a, _| Ok(extreme(a, Ordering::Greater))),
    lenient("least(variadic anycompatiblearray) anycompatible", |_, a, _| Ok(extreme(a, Ordering::Less))),
    lenient("num_nulls(variadic any) int4", |_, a, _| count(a, true)),
    lenient("num_nonnulls(variadic any) int4", |_, a, _| count(a, false)),
];

fn extreme(args: &[Datum], wanted: Ordering) -> Datum {
    let mut best = &Datum::Null;
    for arg in args.iter().filter(|arg| !arg.is_null()) {
        if best.is_null() || arg.sql_cmp(best) == wanted {
            best = arg;
        }
    }
    best.clone()
}

fn count(args: &[Datum], nulls: bool) -> Result<Datum, repr::ValueError> {
    let count = args.iter().filter(|arg| arg.is_null() == nulls).count();
    Ok(Datum::Int4(i32::try_from(count).unwrap_or(i32::MAX)))
}
