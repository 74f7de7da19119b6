//! Keys of several columns that a predicate lists: `(a, b) IN ((1, 2), ($1, $2))`, `(a = 1 AND b = 2) OR (a = 3 AND b = 4)`.
//!
//! Each term of the OR says what a key is; columns of the key that it does not name have one value by another predicate.

use super::Planner;
use super::access::{Fixed, Merit, column_and_constant, lookups};
use super::costs::KEYS_MAX;
use crate::catalog::Table;
use crate::plan::{Access, Besides};
use crate::scalar::ScalarExpr;
use crate::transform::shape;
use repr::ColumnIndex;

/// The keys, and the predicates that they answer.
type RowKeys = (Vec<Vec<ScalarExpr>>, Vec<usize>);

impl Planner<'_> {
    /// The best lookup of keys that one predicate lists.
    pub(super) fn row_lookup(
        &self,
        table: &Table,
        predicates: &[&ScalarExpr],
        fixed: &[Fixed],
    ) -> Option<(Merit, Access, Vec<usize>)> {
        let mut best: Option<(Merit, Access, Vec<usize>)> = None;
        for (at, predicate) in predicates.iter().enumerate() {
            let Some(terms) = terms(table, predicate) else { continue };
            for (lookup, columns) in lookups(table).filter(|(_, columns)| columns.len() > 1) {
                let Some((keys, used)) = row_keys(columns, &terms, fixed, at) else { continue };
                let rows = self.lookup_rows(table, lookup, columns.len());
                let merit = Merit::lookup(lookup, rows, columns.len(), keys.len());
                if best.as_ref().is_none_or(|(most, ..)| merit.beats(most)) {
                    best = Some((merit, Access::Lookup { lookup, keys, besides: Besides::None }, used));
                }
            }
        }
        best
    }
}

/// A term's columns with what they equal, and whether it says more than that.
struct Term<'e> {
    equal: Vec<(ColumnIndex, &'e ScalarExpr)>,
    says_more: bool,
}

/// The terms of an OR of ANDs.
fn terms<'e>(table: &Table, predicate: &'e ScalarExpr) -> Option<Vec<Term<'e>>> {
    let ScalarExpr::Or(terms) = predicate else { return None };
    if terms.len() > KEYS_MAX {
        return None;
    }
    let term = |term: &'e ScalarExpr| {
        let ScalarExpr::And(parts) = term else { return None };
        let mut equal: Vec<(ColumnIndex, &ScalarExpr)> = Vec::with_capacity(parts.len());
        for part in parts {
            let Some((left, right)) = shape::equality(part) else { continue };
            let found = column_and_constant(table, left, right);
            let found = found.or_else(|| column_and_constant(table, right, left));
            equal.extend(found.filter(|(column, _)| equal.iter().all(|(other, _)| other != column)));
        }
        Some(Term { says_more: equal.len() < parts.len(), equal })
    };
    terms.iter().map(term).collect()
}

/// A key for each term; none if one of them leaves a column open. The predicate stays where a term says more than its key.
fn row_keys(columns: &[ColumnIndex], terms: &[Term<'_>], fixed: &[Fixed], at: usize) -> Option<RowKeys> {
    let (mut keys, mut used) = (Vec::with_capacity(terms.len()), Vec::new());
    let mut says_more = false;
    for term in terms {
        let mut key = Vec::with_capacity(columns.len());
        let mut own = 0;
        for wanted in columns {
            match term.equal.iter().find(|(column, _)| column == wanted) {
                Some((_, value)) => {
                    key.push((*value).clone());
                    own += 1;
                }
                None => {
                    let fixed = fixed.iter().find(|fixed| fixed.column == *wanted && fixed.value().is_some())?;
                    key.push(fixed.value()?.clone());
                    if !used.contains(&fixed.predicate) {
                        used.push(fixed.predicate);
                    }
                }
            }
        }
        says_more |= term.says_more || own < term.equal.len();
        keys.push(key);
    }
    // A column that only some terms name is still to be what the other predicate says.
    let mixed = |fixed: &&Fixed| terms.iter().any(|term| term.equal.iter().any(|(column, _)| *column == fixed.column));
    used.retain(|predicate| !fixed.iter().filter(|fixed| fixed.predicate == *predicate).any(|fixed| mixed(&fixed)));
    if !says_more {
        used.push(at);
    }
    Some((keys, used))
}
