//! SQL arrays: any number of dimensions, with lower bounds.
use crate::Datum;

/// An array value. No dimensions means the empty array.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// (length, lower bound) of each dimension, outermost first.
    pub dimensions: Vec<(usize, i32)>,
    /// The elements in row-major order.
    pub elements: Vec<Datum>,
}

impl Array {
    /// A one-dimensional array with lower bound 1.
    pub fn vector(elements: Vec<Datum>) -> Self {
        let dimensions = if elements.is_empty() { Vec::new() } else { vec![(elements.len(), 1)] };
        Array { dimensions, elements }
    }
}
