//! sequence functions.

use super::Definition;

pub(crate) const FUNCTIONS: &[Definition] = &[];
pub(crate) const OPERATORS: &[Definition] = &[];
