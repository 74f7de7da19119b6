//! Scalar functions and operators: what each one is.
//!
//! One `Function` per overload, made once by the registry from the families' definitions and then `'static`.
//! A function sees values of exactly the types its signature says; it must never panic on any of them.

pub(crate) mod arguments;
mod arithmetic;
mod array;
pub(crate) mod bits;
pub(crate) mod bound;
mod bytes;
pub(crate) mod citext;
mod clock;
mod collate;
mod compare;
mod crypto;
mod date;
mod degrees;
mod enumeration;
mod geometry;
mod hash;
pub(crate) mod hstore;
mod in_range;
mod json;
mod jsonb;
pub(crate) mod jsonpath;
mod mac_address;
mod math;
mod money;
mod network;
mod password;
mod pattern;
pub(crate) mod range;
mod record_image;
pub(crate) mod routine;
mod sample;
mod send;
mod sequence;
mod session;
mod system;
mod text;
pub(crate) mod text_search;
mod to_char;
mod trigram;
pub(super) mod unsigned;

pub use compare::Comparison;
pub(super) use system::access_list::read_all as read_access_list;
pub(super) use system::identity::{Identity, identity};
pub(super) use system::object_address::object_address;

use super::EvalContext;
use repr::{Datum, ScalarType, ValueError, poll};

/// Functions that are stable only because they read the session's time zone: in a maintained view the database's, UTC.
pub(crate) const ZONED: [&str; 9] =
    ["+", "-", "date_part", "date_trunc", "extract", "make_timestamptz", "timezone", "to_char", "to_timestamp"];

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

/// What runs: arguments in, value out. The type is the call's result type.
pub type Evaluate = fn(&EvalContext, &[Datum], &ScalarType) -> Result<Datum, ValueError>;

/// One overload of a function or operator. All are `static`; identity is the address.
pub struct Function {
    /// SQL name; an operator's symbol for operators.
    pub name: &'static str,
    /// Whether NULL in gives NULL out without a call.
    pub strict: bool,
    /// See `Volatility`.
    pub volatility: Volatility,
    /// How it is evaluated.
    pub kind: FunctionKind,
    /// For a function that was called by a form of SQL's own (`AT TIME ZONE`): the form, and the function itself.
    pub written: Option<(&'static str, &'static Function)>,
}

/// How a function is evaluated.
#[derive(Clone, Copy)]
pub enum FunctionKind {
    /// By its own code.
    Native(Evaluate),
    /// A comparison by SQL order: known, so that planning can use keys and evaluation needs no copies.
    Compare(Comparison),
    /// `left op ANY (array)`, over the operator.
    Any(&'static Function),
    /// `left op ALL (array)`, over the operator.
    All(&'static Function),
    /// A variadic function whose last argument was given as an array (VARIADIC).
    Spread(&'static Function),
    /// `(a, b) IN ((1, 2), …)`: the fields, then for each of them an array of what it is compared with.
    AmongRows,
}

/// What a family declares: a signature such as `left(text, int4) text` and how it is evaluated.
#[derive(Clone, Copy)]
pub(crate) struct FunctionDefinition {
    pub(crate) signature: &'static str,
    pub(crate) strict: bool,
    pub(crate) volatility: Volatility,
    pub(crate) kind: FunctionKind,
}

impl FunctionDefinition {
    const fn stable(mut self) -> Self {
        self.volatility = Volatility::Stable;
        self
    }
    const fn volatile(mut self) -> Self {
        self.volatility = Volatility::Volatile;
        self
    }
}

/// A function for which NULL in gives NULL out.
const fn strict(signature: &'static str, evaluate: Evaluate) -> FunctionDefinition {
    FunctionDefinition {
        signature,
        strict: true,
        volatility: Volatility::Immutable,
        kind: FunctionKind::Native(evaluate),
    }
}

/// A function that sees NULLs.
const fn lenient(signature: &'static str, evaluate: Evaluate) -> FunctionDefinition {
    FunctionDefinition {
        signature,
        strict: false,
        volatility: Volatility::Immutable,
        kind: FunctionKind::Native(evaluate),
    }
}

impl Function {
    /// Calls it on evaluated arguments.
    pub fn call(&self, ctx: &EvalContext, args: &[Datum], result: &ScalarType) -> Result<Datum, ValueError> {
        if self.strict && args.iter().any(|arg| matches!(arg, Datum::Null)) {
            return Ok(Datum::Null);
        }
        match self.kind {
            FunctionKind::Native(evaluate) => native(evaluate, ctx, args, result),
            FunctionKind::Compare(comparison) => Ok(Datum::Bool(comparison.holds(&args[0], &args[1]))),
            FunctionKind::Any(operator) => array::quantified(operator, ctx, args, true),
            FunctionKind::All(operator) => array::quantified(operator, ctx, args, false),
            FunctionKind::Spread(function) => array::spread(function, ctx, args, result),
            FunctionKind::AmongRows => array::among_rows(args),
        }
    }

    /// Whether it is an equality of two values by `Datum::sql_cmp` (usable for keys and hash joins).
    pub fn comparison(&self) -> Option<Comparison> {
        match self.kind {
            FunctionKind::Compare(comparison) => Some(comparison),
            FunctionKind::Native(_)
            | FunctionKind::Any(_)
            | FunctionKind::All(_)
            | FunctionKind::Spread(_)
            | FunctionKind::AmongRows => None,
        }
    }

    /// For `left = ANY (array)` and its kin: the operator that is applied to each element, and whether it is ANY.
    pub(crate) fn quantifier(&self) -> Option<(&'static Function, bool)> {
        match self.kind {
            FunctionKind::Any(operator) => Some((operator, true)),
            FunctionKind::All(operator) => Some((operator, false)),
            FunctionKind::Native(_) | FunctionKind::Compare(_) | FunctionKind::Spread(_) | FunctionKind::AmongRows => {
                None
            }
        }
    }
}

/// Most functions give no more than they are given: what makes more asks for room itself.
fn native(evaluate: Evaluate, ctx: &EvalContext, args: &[Datum], result: &ScalarType) -> Result<Datum, ValueError> {
    let (mut bytes, mut nested) = (0, false);
    for arg in args {
        bytes += arg.bytes();
        nested |= arg.is_nested();
    }
    poll::room(bytes.min(poll::VALUE_BYTES_MAX))?;
    // What is nested is written by what can give no error.
    if nested { poll::unwinds_to(|| evaluate(ctx, args, result)) } else { evaluate(ctx, args, result) }
}

/// Functions by name.
pub(crate) fn function_families() -> Vec<&'static [FunctionDefinition]> {
    let mut families = vec![
        array::FUNCTIONS,
        bits::FUNCTIONS,
        bytes::FUNCTIONS,
        citext::FUNCTIONS,
        clock::FUNCTIONS,
        collate::FUNCTIONS,
        compare::FUNCTIONS,
        compare::TESTS,
        crypto::FUNCTIONS,
        date::FUNCTIONS,
        degrees::FUNCTIONS,
        enumeration::FUNCTIONS,
        geometry::FUNCTIONS,
        hash::FUNCTIONS,
        hstore::FUNCTIONS,
        json::FUNCTIONS,
        json::NAMED_OPERATORS,
        jsonb::FUNCTIONS,
        jsonb::NAMED_OPERATORS,
        jsonpath::FUNCTIONS,
        mac_address::FUNCTIONS,
        math::FUNCTIONS,
        money::FUNCTIONS,
        network::FUNCTIONS,
        password::FUNCTIONS,
        trigram::FUNCTIONS,
        unsigned::FUNCTIONS,
        pattern::FUNCTIONS,
        range::FUNCTIONS,
        record_image::FUNCTIONS,
        sample::FUNCTIONS,
        sequence::FUNCTIONS,
        session::FUNCTIONS,
        system::FUNCTIONS,
        system::CONNECTIONS,
        system::SIZES,
        system::DEFINITIONS,
        system::IDENTITIES,
        system::ACCESS_LISTS,
        system::ROUTINES,
        system::STATISTICS,
        system::VISIBLE,
        text::FUNCTIONS,
        text::NORMAL_FORMS,
        text_search::CONFIGURED,
        text_search::FUNCTIONS,
        to_char::FUNCTIONS,
    ];
    families.extend(arithmetic::FUNCTIONS);
    families.extend(range::CONSTRUCTORS.iter().map(<[FunctionDefinition; 4]>::as_slice));
    families.extend(range::QUESTIONS.iter().map(<[FunctionDefinition; 2]>::as_slice));
    families.extend(system::PRIVILEGES);
    families.extend(date::FIELDS.iter().map(<[FunctionDefinition; 2]>::as_slice));
    families
}

/// Operators by symbol; prefix operators have one argument.
pub(crate) fn operator_families() -> Vec<&'static [FunctionDefinition]> {
    let mut families = vec![
        array::OPERATORS,
        system::ACCESS_LIST_OPERATORS,
        bits::OPERATORS,
        bytes::OPERATORS,
        citext::OPERATORS,
        date::OPERATORS,
        geometry::OPERATORS,
        hstore::OPERATORS,
        json::OPERATORS,
        jsonb::OPERATORS,
        jsonpath::OPERATORS,
        mac_address::OPERATORS,
        math::OPERATORS,
        money::OPERATORS,
        network::OPERATORS,
        pattern::OPERATORS,
        range::OPERATORS,
        record_image::OPERATORS,
        text::OPERATORS,
        text_search::OPERATORS,
        unsigned::OPERATORS,
        trigram::OPERATORS,
    ];
    families.extend(arithmetic::OPERATORS);
    families.extend(money::SCALINGS.iter().map(<[FunctionDefinition; 3]>::as_slice));
    families.extend(geometry::COMPARISONS.iter().map(<[FunctionDefinition; 4]>::as_slice));
    families.extend(geometry::PLACES.iter().map(<[FunctionDefinition; 4]>::as_slice));
    families.extend(geometry::CONTAINING.iter().map(<[FunctionDefinition; 2]>::as_slice));
    families.extend(range::PREDICATES.iter().map(<[FunctionDefinition; 4]>::as_slice));
    families
}

pub(crate) use compare::definitions as comparison_operators;
pub(crate) use date::shift_by;
pub(crate) use geometry::reshaped;
pub(crate) use in_range::{compare, in_range, is_nan};
pub(crate) use json::record::records;
pub(crate) use json::{append_json, append_json_string, document, to_jsonb};
pub(crate) use pattern::{all_groups, options, split_pieces};
pub(crate) use send::{is_sent, send};
pub(crate) use sequence::sequence as find_sequence;
pub(crate) use session::acts_in_transaction;
pub(crate) use system::connection_end;
pub use text::quote_identifier;
pub(crate) use text::{builtin_name, parse_identifier, split};

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        let itself = |function: &Self| function.written.map_or(std::ptr::from_ref(function), |(_, plain)| plain);
        std::ptr::eq(itself(self), itself(other))
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
