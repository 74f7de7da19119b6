//! SQL arrays: any number of dimensions, with lower bounds.
mod members;
mod rows;

pub use members::Membership;
pub use rows::{ROW_FIELDS_MAX, find_row};

use crate::{Datum, ValueError};
use members::Members;

/// An array value. No dimensions means the empty array.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// (length, lower bound) of each dimension, outermost first.
    pub dimensions: Vec<(usize, i32)>,
    /// The elements in row-major order.
    pub elements: Vec<Datum>,
    members: Members,
}

impl Array {
    /// A one-dimensional array with lower bound 1.
    pub fn vector(elements: Vec<Datum>) -> Self {
        let dimensions = if elements.is_empty() { Vec::new() } else { vec![(elements.len(), 1)] };
        Array::new(dimensions, elements)
    }

    /// An array of these dimensions.
    pub fn new(dimensions: Vec<(usize, i32)>, elements: Vec<Datum>) -> Self {
        Array { dimensions, elements, members: Members::default() }
    }

    /// Whether an element equals a value that is not NULL, by `=`: quickly for arrays that are asked again and again.
    ///
    /// # Errors
    /// Why the statement ends.
    pub fn find(&self, value: &Datum) -> Result<Membership, ValueError> {
        self.members.find(&self.elements, value)
    }
}
