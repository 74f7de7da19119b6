//! Window functions, per partition.

use super::RenderTime;
use super::context::{Bundle, Context};
use crate::SqlError;
use planner::scalar::{Order, WindowCall};

/// Renders a `Window`.
pub fn render<'s, T: RenderTime>(
    _context: &Context<'s, T>,
    _input: Bundle<'s, T>,
    _partition: &[usize],
    _order: &[Order],
    _calls: &[WindowCall],
) -> Result<Bundle<'s, T>, SqlError> {
    Err(SqlError::unsupported("a window function"))
}
