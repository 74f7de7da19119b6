//! `jsonb`: parsed JSON with PostgreSQL's key order, equality and text form.
//!
//! The value and its order; text is in `jsonb::codec`, what operators and functions do in `jsonb::operators`.

mod assign;
mod codec;
mod layout;
mod operators;

pub(crate) use codec::validate_json;
pub use codec::write_string;

use crate::{Numeric, ValueError};
use std::cmp::Ordering;
use std::sync::Arc;

/// A JSON value. Object keys are unique and sorted as PostgreSQL sorts them (length, then bytes).
#[derive(Clone, Debug, PartialEq)]
pub enum Jsonb {
    /// null
    Null,
    /// true or false
    Bool(bool),
    /// A number, exact.
    Number(Numeric),
    /// A string.
    String(Arc<str>),
    /// An array.
    Array(Arc<[Jsonb]>),
    /// An object.
    Object(Arc<[(Arc<str>, Jsonb)]>),
}

/// How deep JSON (and packed values) may nest; deeper text is refused with 54001.
pub(crate) const MAX_DEPTH: usize = 1000;

/// The order in which objects keep their keys.
pub(crate) fn key_order(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.as_bytes().cmp(b.as_bytes()))
}

impl Jsonb {
    /// An object of pairs in any order; of equal keys the last one counts.
    pub fn object(mut pairs: Vec<(Arc<str>, Jsonb)>) -> Jsonb {
        // Stable, so that equal keys stay in the order written.
        pairs.sort_by(|(a, _), (b, _)| key_order(a, b));
        let mut unique: Vec<(Arc<str>, Jsonb)> = Vec::with_capacity(pairs.len());
        for pair in pairs {
            match unique.last_mut() {
                Some(last) if last.0 == pair.0 => *last = pair,
                _ => unique.push(pair),
            }
        }
        Jsonb::Object(Arc::from(unique))
    }

    /// How deep containers nest; 0 for scalars.
    pub fn depth(&self) -> usize {
        match self {
            Jsonb::Array(elements) => 1 + elements.iter().map(Jsonb::depth).max().unwrap_or(0),
            Jsonb::Object(pairs) => 1 + pairs.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
            Jsonb::Null | Jsonb::Bool(_) | Jsonb::Number(_) | Jsonb::String(_) => 0,
        }
    }

    /// Refuses what nests too deep to be stored: for every function that puts JSON into JSON.
    ///
    /// # Errors
    /// 54001 for that.
    pub fn check_depth(self) -> Result<Jsonb, ValueError> {
        if self.depth() <= MAX_DEPTH {
            return Ok(self);
        }
        Err(ValueError {
            hint: Some(format!("JSON values may nest {MAX_DEPTH} levels deep.")),
            ..ValueError::new("54001", "stack depth limit exceeded")
        })
    }

    /// An array.
    pub fn array(elements: Vec<Jsonb>) -> Jsonb {
        Jsonb::Array(Arc::from(elements))
    }

    /// A string.
    pub fn string(text: impl AsRef<str>) -> Jsonb {
        Jsonb::String(Arc::from(text.as_ref()))
    }

    /// SQL order, PostgreSQL's: null < string < number < boolean < array < object, shorter containers first.
    pub fn sql_cmp(&self, other: &Jsonb) -> Ordering {
        match (self.is_empty_array(), other.is_empty_array()) {
            (true, true) => Ordering::Equal,
            // A scalar at the top counts as an array of one, so the empty array comes before it.
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.value_cmp(other),
        }
    }

    fn is_empty_array(&self) -> bool {
        matches!(self, Jsonb::Array(elements) if elements.is_empty())
    }

    fn rank(&self) -> u8 {
        match self {
            Jsonb::Null => 0,
            Jsonb::String(_) => 1,
            Jsonb::Number(_) => 2,
            Jsonb::Bool(_) => 3,
            Jsonb::Array(_) => 4,
            Jsonb::Object(_) => 5,
        }
    }

    fn value_cmp(&self, other: &Jsonb) -> Ordering {
        match (self, other) {
            (Jsonb::String(a), Jsonb::String(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Jsonb::Number(a), Jsonb::Number(b)) => a.sql_cmp(b),
            (Jsonb::Bool(a), Jsonb::Bool(b)) => a.cmp(b),
            (Jsonb::Array(a), Jsonb::Array(b)) => a.len().cmp(&b.len()).then_with(|| {
                let mut orders = a.iter().zip(b.iter()).map(|(x, y)| x.value_cmp(y));
                orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            }),
            (Jsonb::Object(a), Jsonb::Object(b)) => a.len().cmp(&b.len()).then_with(|| {
                let mut orders = a
                    .iter()
                    .zip(b.iter())
                    .map(|((ka, va), (kb, vb))| ka.as_bytes().cmp(kb.as_bytes()).then_with(|| va.value_cmp(vb)));
                orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            }),
            // Different kinds, or two nulls.
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}
