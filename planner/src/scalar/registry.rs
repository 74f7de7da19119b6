//! Which functions exist, and which overload a call means, by PostgreSQL's rules.
//!
//! The registry is made once from the families' signatures. `resolve` asks it for a match by name and
//! argument types and builds the call with `Match::call`; after that nothing is looked up by name.

mod candidates;
mod listed;
mod names;
mod operator_functions;
mod rivals;
mod signature;

pub use names::type_name;

#[cfg(test)]
pub(crate) use listed::callable_names;
pub(crate) use listed::{has_cast, has_operator, is_callable, signatures};
pub(crate) use rivals::{Rival, choose_rival};

use super::func::{self, FunctionDefinition, FunctionKind};
use super::{Aggregate, Function, ScalarExpr, TableFunction, WindowFunction};
use crate::error::PlanError;
use crate::scalar::cast::{self, Cast, CastContext, CastMethod};
use candidates::{Chosen, Failure, choose};
use repr::{ColumnType, Datum, ScalarType};
use signature::Signature;
use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

/// The overload that a call means.
#[derive(Clone, Debug, PartialEq)]
pub struct Match<F: 'static> {
    /// The implementation.
    pub function: &'static F,
    /// The type each argument must have; variadic parameters are expanded.
    pub arg_casts: Vec<ScalarType>,
    /// Arguments that are converted in a way of their own (`to_json` of anything), instead of by `plan_cast`.
    pub conversions: Vec<Option<CastMethod>>,
    /// The result type, polymorphism resolved.
    pub result: ScalarType,
}

/// A scalar function or operator.
pub type FunctionMatch = Match<Function>;
/// An aggregate.
pub type AggregateMatch = Match<Aggregate>;
/// A window function proper.
pub type WindowMatch = Match<WindowFunction>;

/// A set-returning function and the columns it gives.
#[derive(Clone, Debug, PartialEq)]
pub struct TableMatch {
    /// The implementation.
    pub function: &'static TableFunction,
    /// As in `Match`.
    pub arg_casts: Vec<ScalarType>,
    /// As in `Match`.
    pub conversions: Vec<Option<CastMethod>>,
    /// Output columns. A lone column takes the function's alias in FROM.
    pub columns: Vec<(String, ScalarType)>,
}

struct Overload<F: 'static> {
    signature: Signature,
    function: &'static F,
    /// For a variadic function: the same, its last argument given as an array.
    spread: Option<&'static F>,
}

type Overloads<F> = BTreeMap<&'static str, Vec<Overload<F>>>;

struct Registry {
    functions: Overloads<Function>,
    operators: Overloads<Function>,
    quantified: BTreeMap<usize, (&'static Function, &'static Function)>,
    aggregates: Overloads<Aggregate>,
    windows: Overloads<WindowFunction>,
    table_functions: Overloads<TableFunction>,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::build);

/// The function that a call means. `variadic`: the last argument was written VARIADIC.
/// A type's name over one argument is a cast, as in PostgreSQL.
pub(crate) fn resolve_function(
    name: &str,
    arg_types: &[ScalarType],
    variadic: bool,
) -> Result<FunctionMatch, PlanError> {
    let overloads = REGISTRY.functions.get(name);
    if let Some(overloads) = overloads {
        match choose(overloads.iter().map(|overload| &overload.signature), arg_types, variadic) {
            Ok(chosen) => {
                let overload = &overloads[chosen.index];
                let function = if variadic { overload.spread.unwrap_or(overload.function) } else { overload.function };
                return Ok(made(function, chosen));
            }
            Err(failure) => return Err(function_error(name, arg_types, failure)),
        }
    }
    Err(function_error(name, arg_types, Failure::None))
}

/// What a routine takes, as far as a call gives it.
pub(crate) struct RoutineShape {
    /// The types of its parameters.
    pub(crate) types: Vec<ScalarType>,
    /// Whether the last of them is an array of the rest.
    pub(crate) variadic: bool,
}

/// The routine that a call means.
pub(crate) struct RoutineMatch {
    /// Which of them.
    pub(crate) index: usize,
    /// As in `Match`.
    pub(crate) arg_casts: Vec<ScalarType>,
    /// As in `Match`.
    pub(crate) conversions: Vec<Option<CastMethod>>,
}

/// Chooses among routines, each with the types that the call gives it in its order. The error says whether several fit.
pub(crate) fn choose_routine(
    candidates: &[(&RoutineShape, Vec<ScalarType>)],
    as_array: bool,
) -> Result<RoutineMatch, bool> {
    let signature = |shape: &RoutineShape| Signature::of_routine(shape.types.clone(), shape.variadic);
    let matched = |index: usize, chosen: Chosen| RoutineMatch {
        index,
        arg_casts: chosen.arg_casts,
        conversions: chosen.conversions,
    };
    let same_types = candidates.windows(2).all(|pair| pair[0].1 == pair[1].1);
    if let (true, Some((_, types))) = (same_types, candidates.first()) {
        let signatures: Vec<Signature> = candidates.iter().map(|(shape, _)| signature(shape)).collect();
        return match choose(&signatures, types, as_array) {
            Ok(chosen) => Ok(matched(chosen.index, chosen)),
            Err(failure) => Err(failure == Failure::Ambiguous),
        };
    }
    let mut found = Vec::new();
    for (index, (shape, types)) in candidates.iter().enumerate() {
        if let Ok(chosen) = choose([&signature(shape)], types, as_array) {
            let is_exact = chosen.arg_casts == *types;
            found.push((is_exact, matched(index, chosen)));
        }
    }
    if found.iter().filter(|(is_exact, _)| *is_exact).count() == 1 {
        found.retain(|(is_exact, _)| *is_exact);
    }
    match <[_; 1]>::try_from(found) {
        Ok([(_, only)]) => Ok(only),
        Err(several) => Err(!several.is_empty()),
    }
}

/// Whether PostgreSQL has anything that is called so.
pub(crate) fn is_known(name: &str) -> bool {
    is_function(name) || is_aggregate(name) || is_window_function(name) || is_table_function(name)
}

/// `expr IS NULL`
pub(crate) fn null_test<C>(expr: ScalarExpr<C>, scalar: &ScalarType) -> ScalarExpr<C> {
    let found = resolve_function("IS NULL", std::slice::from_ref(scalar), false);
    let function = found.expect("every type has the test").function;
    ScalarExpr::Call { function, args: vec![expr], result: ScalarType::Bool }
}

/// What a call of a type of ranges or multiranges by its name makes.
pub(crate) fn resolve_range(
    name: &str,
    scalar: &ScalarType,
    arg_types: &[ScalarType],
    variadic: bool,
) -> Result<FunctionMatch, PlanError> {
    let signatures = Signature::constructors(scalar);
    let chosen = choose(&signatures, arg_types, variadic);
    let chosen = chosen.map_err(|failure| function_error(name, arg_types, failure))?;
    let [of_several, of_one] = func::range::MAKE_MULTIRANGE;
    let maker = match signatures[chosen.index].args.as_slice() {
        _ if scalar.multirange_range().is_none() => func::range::MAKE_RANGE,
        [_] if !signatures[chosen.index].variadic => of_one,
        _ => of_several,
    };
    let overload = &REGISTRY.functions[maker][0];
    let function = if variadic { overload.spread.unwrap_or(overload.function) } else { overload.function };
    Ok(made(function, chosen))
}

/// The operator that an expression means; `left` is `None` for prefix operators.
pub(crate) fn resolve_operator(
    symbol: &str,
    left: Option<&ScalarType>,
    right: &ScalarType,
) -> Result<FunctionMatch, PlanError> {
    operator_in(&REGISTRY.operators, symbol, left, right)
}

fn operator_in(
    operators: &Overloads<Function>,
    symbol: &str,
    left: Option<&ScalarType>,
    right: &ScalarType,
) -> Result<FunctionMatch, PlanError> {
    let symbol = if symbol == "!=" { "<>" } else { symbol };
    let types: Vec<ScalarType> = left.into_iter().chain([right]).cloned().collect();
    let Some(overloads) = operators.get(symbol) else {
        return Err(operator_error(symbol, left, right, Failure::None));
    };
    // One unknown side is first taken to be of the other side's type.
    if let Some(left) = left
        && let Some(assumed) = assumed_same(left, right)
    {
        let exact =
            overloads.iter().position(|overload| overload.signature.is_exactly(&[assumed.clone(), assumed.clone()]));
        if let Some(index) = exact {
            let both = [assumed.clone(), assumed.clone()];
            if let Ok(mut chosen) = choose([&overloads[index].signature], &both, false) {
                chosen.index = index;
                return Ok(made(overloads[index].function, chosen));
            }
        }
    }
    match choose(overloads.iter().map(|overload| &overload.signature), &types, false) {
        Ok(chosen) => Ok(made(overloads[chosen.index].function, chosen)),
        Err(failure) => Err(operator_error(symbol, left, right, failure)),
    }
}

/// `left symbol ANY (array)`, or ALL: a call of two arguments, the second of an array type.
pub(crate) fn resolve_any_all(
    symbol: &str,
    left: &ScalarType,
    array: &ScalarType,
    all: bool,
) -> Result<FunctionMatch, PlanError> {
    let element = match array {
        ScalarType::Array(element) => (**element).clone(),
        ScalarType::Int2Vector => ScalarType::Int2,
        ScalarType::OidVector => ScalarType::Oid,
        ScalarType::Unknown => ScalarType::Unknown,
        _ => return Err(PlanError::new("42809", "op ANY/ALL (array) requires array on right side")),
    };
    let found = resolve_operator(symbol, Some(left), &element)?;
    if found.result != ScalarType::Bool {
        return Err(PlanError::new("42809", "op ANY/ALL (array) requires operator to yield boolean"));
    }
    let (any, every) = REGISTRY.quantified[&(std::ptr::from_ref(found.function) as usize)];
    let right = found.arg_casts[1].clone();
    Ok(Match {
        function: if all { every } else { any },
        arg_casts: vec![found.arg_casts[0].clone(), ScalarType::Array(Box::new(right))],
        conversions: vec![None, None],
        result: ScalarType::Bool,
    })
}

/// `(a, b) IN ((1, 2), …)`: see `FunctionKind::AmongRows`.
pub(crate) fn among_rows() -> &'static Function {
    static AMONG_ROWS: Function = Function {
        name: "IN",
        strict: false,
        volatility: func::Volatility::Immutable,
        kind: FunctionKind::AmongRows,
        written: None,
    };
    &AMONG_ROWS
}

/// Whether an aggregate of that name exists.
pub(crate) fn is_aggregate(name: &str) -> bool {
    REGISTRY.aggregates.contains_key(name)
}

/// Whether an aggregate of that name is over an ordered set: `WITHIN GROUP`.
pub(crate) fn is_of_ordered_set(name: &str) -> bool {
    const NAMES: [&str; 3] = ["mode", "percentile_cont", "percentile_disc"];
    NAMES.contains(&name)
}

/// Whether a window function (not an aggregate) of that name exists.
pub(crate) fn is_window_function(name: &str) -> bool {
    REGISTRY.windows.contains_key(name)
}

/// Whether a set-returning function of that name exists.
pub(crate) fn is_table_function(name: &str) -> bool {
    REGISTRY.table_functions.contains_key(name)
}

/// Whether a scalar function of that name exists.
pub(crate) fn is_function(name: &str) -> bool {
    REGISTRY.functions.contains_key(name)
}

/// The aggregate that a call means; `count(*)` has no argument types. For ordered-set aggregates
/// (`percentile_cont(0.5) WITHIN GROUP (ORDER BY x)`) the types are the direct arguments', then the
/// sort expression's.
pub fn resolve_aggregate(name: &str, arg_types: &[ScalarType]) -> Result<AggregateMatch, PlanError> {
    let name = match (name, arg_types) {
        // The text has lines then, as PostgreSQL writes it.
        ("json_agg", [ScalarType::Record(_) | ScalarType::Array(_)]) => "JSON_AGG OF ROWS",
        _ => name,
    };
    resolve_in(&REGISTRY.aggregates, name, arg_types)
}

/// The window function that a call means.
pub fn resolve_window(name: &str, arg_types: &[ScalarType]) -> Result<WindowMatch, PlanError> {
    resolve_in(&REGISTRY.windows, name, arg_types)
}

/// The set-returning function that a call means.
pub(crate) fn resolve_table_function(name: &str, arg_types: &[ScalarType]) -> Result<TableMatch, PlanError> {
    let overloads = REGISTRY.table_functions.get(name).map(Vec::as_slice).unwrap_or_default();
    match choose(overloads.iter().map(|overload| &overload.signature), arg_types, false) {
        Ok(chosen) => {
            let columns = overloads[chosen.index].signature.columns(&chosen.binding);
            Ok(TableMatch {
                function: overloads[chosen.index].function,
                arg_casts: chosen.arg_casts,
                conversions: chosen.conversions,
                columns,
            })
        }
        Err(failure) => Err(function_error(name, arg_types, failure)),
    }
}

fn resolve_in<F>(overloads: &Overloads<F>, name: &str, arg_types: &[ScalarType]) -> Result<Match<F>, PlanError> {
    let overloads = overloads.get(name).map(Vec::as_slice).unwrap_or_default();
    match choose(overloads.iter().map(|overload| &overload.signature), arg_types, false) {
        Ok(chosen) => Ok(made(overloads[chosen.index].function, chosen)),
        Err(failure) => Err(function_error(name, arg_types, failure)),
    }
}

fn made<F>(function: &'static F, chosen: Chosen) -> Match<F> {
    Match { function, arg_casts: chosen.arg_casts, conversions: chosen.conversions, result: chosen.result }
}

/// Casts arguments as a match asks.
pub(crate) fn convert_args<C>(
    args: Vec<ScalarExpr<C>>,
    arg_types: &[ScalarType],
    arg_casts: &[ScalarType],
    conversions: &[Option<CastMethod>],
) -> Result<Vec<ScalarExpr<C>>, PlanError> {
    let mut converted = Vec::with_capacity(args.len());
    for (index, arg) in args.into_iter().enumerate() {
        let (from, to) = (&arg_types[index], &arg_casts[index]);
        converted.push(match &conversions[index] {
            Some(method) => ScalarExpr::Cast {
                expr: Box::new(arg),
                cast: Cast { from: from.clone(), method: method.clone(), explicit: false },
                to: ColumnType::nullable(to.clone()),
            },
            None => coerce(arg, from, &ColumnType::nullable(to.clone()), CastContext::Implicit).ok_or_else(|| {
                PlanError::new("42846", format!("cannot cast type {} to {}", type_name(from), type_name(to)))
            })?,
        });
    }
    Ok(converted)
}

impl FunctionMatch {
    /// The call, arguments cast.
    pub fn call<C>(self, args: Vec<ScalarExpr<C>>, arg_types: &[ScalarType]) -> Result<ScalarExpr<C>, PlanError> {
        let args = convert_args(args, arg_types, &self.arg_casts, &self.conversions)?;
        Ok(ScalarExpr::Call { function: self.function, args, result: self.result })
    }
}

/// An expression of type `from` as one of type `to`, or `None` if there is no such cast in that context.
/// Nothing is wrapped that need not be; an unknown literal that becomes a string stays a literal.
pub(crate) fn coerce<C>(
    expr: ScalarExpr<C>,
    from: &ScalarType,
    to: &ColumnType,
    context: CastContext,
) -> Option<ScalarExpr<C>> {
    if *from == to.scalar && to.modifier == -1 {
        return Some(expr);
    }
    let cast = cast::plan_cast(from, to, context)?;
    if let ScalarExpr::Literal(value, _) = &expr
        && *from == ScalarType::Unknown
        && to.modifier == -1
        && (matches!(value, Datum::Null) || matches!(to.scalar, ScalarType::Text | ScalarType::Varchar))
    {
        return Some(ScalarExpr::Literal(value.clone(), to.clone()));
    }
    if let ScalarExpr::Param(index, ScalarType::Unknown) = &expr {
        let param = ScalarExpr::Param(*index, to.scalar.clone());
        if to.modifier == -1 {
            return Some(param);
        }
        let cast = cast::plan_cast(&to.scalar, to, context)?;
        return Some(ScalarExpr::Cast { expr: Box::new(param), cast, to: to.clone() });
    }
    Some(ScalarExpr::Cast { expr: Box::new(expr), cast, to: to.clone() })
}

fn assumed_same<'a>(left: &'a ScalarType, right: &'a ScalarType) -> Option<&'a ScalarType> {
    match (left == &ScalarType::Unknown, right == &ScalarType::Unknown) {
        (true, false) => Some(right),
        (false, true) => Some(left),
        (true, true) | (false, false) => None,
    }
}

/// Functions that SQL calls by forms of its own, which are shown as they were written.
const FORMS: [(&str, &str); 10] = [
    ("AT TIME ZONE", "timezone"),
    ("TRIM BOTH", "btrim"),
    ("TRIM LEADING", "ltrim"),
    ("TRIM TRAILING", "rtrim"),
    ("SUBSTRING FROM", "substring"),
    ("OVERLAY PLACING", "overlay"),
    ("CURRENT_ROLE", "current_user"),
    ("USER", "current_user"),
    ("CURRENT_CATALOG", "current_database"),
    ("CURRENT_SCHEMA", "current_schema"),
];

fn function_error(name: &str, arg_types: &[ScalarType], failure: Failure) -> PlanError {
    let name = FORMS.iter().find(|(form, _)| *form == name).map_or(name, |(_, plain)| plain);
    let types: Vec<String> = arg_types.iter().map(type_name).collect();
    let call = format!("function {name}({})", types.join(", "));
    match failure {
        Failure::None => PlanError::new("42883", format!("{call} does not exist"))
            .hint("No function matches the given name and argument types. You might need to add explicit type casts."),
        Failure::Ambiguous => PlanError::new("42725", format!("{call} is not unique"))
            .hint("Could not choose a best candidate function. You might need to add explicit type casts."),
        Failure::Undetermined => undetermined(),
    }
}

fn operator_error(symbol: &str, left: Option<&ScalarType>, right: &ScalarType, failure: Failure) -> PlanError {
    let operator = match left {
        Some(left) => format!("{} {symbol} {}", type_name(left), type_name(right)),
        None => format!("{symbol} {}", type_name(right)),
    };
    match failure {
        Failure::None if left.is_some() => PlanError::new("42883", format!("operator does not exist: {operator}"))
            .hint("No operator matches the given name and argument types. You might need to add explicit type casts."),
        Failure::None => PlanError::new("42883", format!("operator does not exist: {operator}"))
            .hint("No operator matches the given name and argument type. You might need to add an explicit type cast."),
        Failure::Ambiguous => PlanError::new("42725", format!("operator is not unique: {operator}"))
            .hint("Could not choose a best candidate operator. You might need to add explicit type casts."),
        Failure::Undetermined => undetermined(),
    }
}

fn undetermined() -> PlanError {
    PlanError::new("42804", "could not determine polymorphic type because input has type unknown")
}

impl Registry {
    fn build() -> Registry {
        let mut registry = Registry {
            functions: BTreeMap::new(),
            operators: BTreeMap::new(),
            quantified: BTreeMap::new(),
            aggregates: BTreeMap::new(),
            windows: BTreeMap::new(),
            table_functions: BTreeMap::new(),
        };
        for definition in func::function_families().into_iter().flatten() {
            add_function(&mut registry.functions, definition);
        }
        for (form, name) in FORMS {
            let plain = registry.functions.get(name).into_iter().flatten();
            let written: Vec<Overload<Function>> = plain
                .map(|overload| Overload {
                    signature: overload.signature.clone(),
                    function: leak(Function { written: Some((form, overload.function)), ..*overload.function }),
                    spread: None,
                })
                .collect();
            registry.functions.insert(form, written);
        }
        for definition in func::operator_families().into_iter().flatten() {
            add_function(&mut registry.operators, definition);
        }
        for definition in &func::comparison_operators() {
            add_function(&mut registry.operators, definition);
        }
        for overload in registry.operators.values().flatten() {
            let operator = overload.function;
            if overload.signature.args.len() == 2 {
                let any = leak(Function { kind: FunctionKind::Any(operator), strict: false, ..copied(operator) });
                let all = leak(Function { kind: FunctionKind::All(operator), strict: false, ..copied(operator) });
                registry.quantified.insert(std::ptr::from_ref(operator) as usize, (any, all));
            }
        }
        operator_functions::add(&mut registry);
        for (signature, aggregate) in super::aggregate::definitions() {
            add(&mut registry.aggregates, Signature::parse(signature), |_| aggregate);
        }
        for (signature, kind) in super::window::DEFINITIONS {
            add(&mut registry.windows, Signature::parse(signature), |name| WindowFunction { name, kind: *kind });
        }
        for (signature, evaluate) in super::table_func::definitions() {
            add(&mut registry.table_functions, Signature::parse(signature), |name| TableFunction { name, evaluate });
        }
        registry
    }
}

fn copied(function: &Function) -> Function {
    Function { written: None, ..*function }
}

fn add_function(overloads: &mut Overloads<Function>, definition: &FunctionDefinition) {
    let signature = Signature::parse(definition.signature);
    let function = leak(Function {
        name: signature.name,
        strict: definition.strict,
        volatility: definition.volatility,
        kind: definition.kind,
        written: None,
    });
    let spread = signature
        .variadic
        .then(|| leak(Function { kind: FunctionKind::Spread(function), strict: false, ..copied(function) }));
    overloads.entry(signature.name).or_default().push(Overload { signature, function, spread });
}

fn add<F>(overloads: &mut Overloads<F>, signature: Signature, make: impl FnOnce(&'static str) -> F) {
    let function = leak(make(signature.name));
    overloads.entry(signature.name).or_default().push(Overload { signature, function, spread: None });
}

/// The registry lives as long as the process, and functions are compared by address.
/// `current_setting` as a statement has it that sets settings.
pub(crate) fn unsettled_setting(function: &'static Function) -> &'static Function {
    static UNSETTLED: OnceLock<&Function> = OnceLock::new();
    UNSETTLED.get_or_init(|| leak(Function { volatility: func::Volatility::Volatile, ..copied(function) }))
}

fn leak<F>(value: F) -> &'static F {
    Box::leak(Box::new(value))
}
