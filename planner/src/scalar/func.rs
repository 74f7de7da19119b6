//! Scalar functions and operators: what each one is.

use super::EvalContext;
use repr::{Datum, ScalarType, ValueError};

/// How often a function may be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volatility {
    /// A function of its arguments alone: folded while planning.
    Immutable,
    /// Constant within a statement (`now()`, settings, catalog look-ups): not in maintained views.
    Stable,
    /// Anything else (`random()`, `nextval`).
    Volatile,
}

/// One overload of a function or operator. All are `static`; identity is the address.
pub struct Function {
    /// SQL name; an operator's symbol for operators.
    pub name: &'static str,
    /// Whether NULL in gives NULL out without a call.
    pub strict: bool,
    /// See `Volatility`.
    pub volatility: Volatility,
    /// Argument types; `AnyElement`-like patterns are the registry's matter.
    pub evaluate: fn(&EvalContext, &[Datum], &ScalarType) -> Result<Datum, ValueError>,
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
