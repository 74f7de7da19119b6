//! What the catalog lists: which of PostgreSQL's functions, operators and casts can be called here.

use super::signature::Signature;
use super::{FORMS, Overload, Overloads, REGISTRY, resolve_function, resolve_operator};
use crate::scalar::cast::{CastContext, plan_cast};
use repr::{ColumnType, Id, ScalarType};

/// Whether a call of that function with arguments of just these types is answered.
pub(crate) fn is_callable(name: &str, types: &[Id]) -> bool {
    let registry = &*REGISTRY;
    is_declared(&registry.functions, name, types)
        || is_declared(&registry.aggregates, name, types)
        || is_declared(&registry.windows, name, types)
        || is_declared(&registry.table_functions, name, types)
        || concrete(types).is_some_and(|types| resolve_function(name, &types, false).is_ok())
}

/// Whether there is an operator of that name over just these types.
pub(crate) fn has_operator(symbol: &str, types: &[Id]) -> bool {
    is_declared(&REGISTRY.operators, symbol, types)
        || concrete(types).is_some_and(|types| match types.as_slice() {
            [right] => resolve_operator(symbol, None, right).is_ok(),
            [left, right] => resolve_operator(symbol, Some(left), right).is_ok(),
            _ => false,
        })
}

/// Whether a value of the one type can be cast to the other.
pub(crate) fn has_cast(from: Id, to: Id) -> bool {
    match (ScalarType::from_oid(from), ScalarType::from_oid(to)) {
        (Some(from), Some(to)) => plan_cast(&from, &ColumnType::nullable(to), CastContext::Explicit).is_some(),
        _ => false,
    }
}

/// The names of all that can be called like functions.
#[cfg(test)]
pub(crate) fn callable_names() -> impl Iterator<Item = &'static str> {
    let registry = &*REGISTRY;
    let names = registry.functions.keys().chain(registry.aggregates.keys());
    names.chain(registry.windows.keys()).chain(registry.table_functions.keys()).copied()
}

/// Every signature: the name, the types of the arguments, and the result's.
pub(crate) fn signatures() -> impl Iterator<Item = (&'static str, Vec<Id>, Id)> {
    fn of<F>(overloads: &'static Overloads<F>) -> impl Iterator<Item = &'static Signature> {
        let named = overloads.iter().filter(|(name, _)| !FORMS.iter().any(|(form, _)| form == *name));
        named.flat_map(|(_, overloads)| overloads).map(|overload: &Overload<F>| &overload.signature)
    }
    let registry = &*REGISTRY;
    of(&registry.functions)
        .chain(of(&registry.table_functions))
        .map(|signature| (signature.name, signature.declared_arguments(), signature.declared_result()))
}

fn is_declared<F>(overloads: &Overloads<F>, name: &str, types: &[Id]) -> bool {
    overloads.get(name).is_some_and(|overloads| overloads.iter().any(|overload| overload.signature.is_declared(types)))
}

/// The types, if each of them is one that has values.
fn concrete(types: &[Id]) -> Option<Vec<ScalarType>> {
    types.iter().map(|id| ScalarType::from_oid(*id).filter(|scalar| !scalar.is_pseudo())).collect()
}
