//! Names of functions, operators, collations, and what texts are searched by: regproc, regprocedure, regoper, regoperator,
//! regcollation, regconfig, regdictionary.
//!
//! All of them are in pg_catalog, which is always searched.

use crate::catalog::{Operator, Qualifier, Scope};
use crate::scalar::collation;
use crate::scalar::func::text_search::configuration::{
    CONFIGURATIONS, DICTIONARIES, configuration_named, dictionary_named,
};
use crate::scalar::func::{builtin_name, parse_identifier, quote_identifier};
use crate::system::builtin::{self, FIRST_OF_EXTENSIONS, function, type_name};
use repr::{Collation, Id, ScalarType, ValueError};

/// How such a type writes the object with that OID.
pub(super) fn name(kind: &ScalarType, oid: Id) -> Option<String> {
    match kind {
        ScalarType::Regproc => {
            let found = function::by_id(oid)?;
            let name = quote_identifier(found.name);
            let schema = if found.of_extension { "public" } else { "pg_catalog" };
            let alike = function::all().iter().filter(|function| function.name == found.name).count();
            Some(if alike == 1 { name } else { format!("{schema}.{name}") })
        }
        ScalarType::Regprocedure => function::by_id(oid).map(function::Function::signature),
        ScalarType::Regoper => {
            let name = builtin::operators().get(&oid)?.text("oprname");
            if oid >= FIRST_OF_EXTENSIONS {
                return Some(format!("public.{name}"));
            }
            Some(if builtin::operators_of(name).len() == 1 { name.to_owned() } else { format!("pg_catalog.{name}") })
        }
        ScalarType::Regoperator => {
            let operator = builtin::operators().get(&oid)?;
            let operand = |column| match operator.id(column) {
                0 => Some("NONE".to_owned()),
                id => type_name(id),
            };
            Some(format!("{}({},{})", operator.text("oprname"), operand("oprleft")?, operand("oprright")?))
        }
        ScalarType::Regconfig => {
            CONFIGURATIONS.iter().find(|found| found.oid() == oid).map(|found| found.name().to_owned())
        }
        ScalarType::Regdictionary => {
            DICTIONARIES.iter().find(|found| found.oid() == oid).map(|found| found.name().to_owned())
        }
        ScalarType::Regcollation => collation::name(Collation(oid)).map(quote_identifier),
        _ => None,
    }
}

/// The object that such a type reads by that name; `type_oid` finds the types of arguments.
///
/// # Errors
/// 42725 for a name that several have, 22P02 where arguments are missing.
pub(super) fn oid(
    kind: &ScalarType,
    name: &str,
    type_oid: &dyn Fn(&str) -> Option<Id>,
) -> Result<Option<Id>, ValueError> {
    match kind {
        ScalarType::Regproc => {
            let Some(name) = builtin_name(name) else { return Ok(None) };
            let found = function::by_name(&name).map(|function| function.oid);
            only(found, || format!("more than one function named \"{name}\""))
        }
        ScalarType::Regprocedure => {
            let (name, types) = with_types(name, type_oid)?;
            let Some(name) = builtin_name(name) else { return Ok(None) };
            Ok(function::by_name(&name).find(|function| function.arguments == types).map(|function| function.oid))
        }
        ScalarType::Regoper => {
            let name = unqualified_operator(name);
            let found = builtin::operators_of(name).iter().map(|(_, id)| *id);
            only(found, || format!("more than one operator named {name}"))
        }
        ScalarType::Regoperator => {
            let (name, types) = with_types(name, type_oid)?;
            let name = unqualified_operator(name);
            let [left, right] = types.as_slice() else {
                return Err(match types.len() {
                    0 | 1 => ValueError {
                        hint: Some("Use NONE to denote the missing argument of a unary operator.".to_owned()),
                        ..ValueError::new("42P02", "missing argument")
                    },
                    _ => ValueError {
                        hint: Some("Provide two argument types for operator.".to_owned()),
                        ..ValueError::new("54023", "too many arguments")
                    },
                });
            };
            Ok(builtin::operator_over(name, (*left, *right)))
        }
        ScalarType::Regconfig => Ok(configuration_named(name)),
        ScalarType::Regdictionary => Ok(dictionary_named(name)),
        ScalarType::Regcollation => {
            let wanted = builtin_name(name);
            Ok(wanted.as_deref().and_then(collation::named).map(|found| found.0))
        }
        _ => Ok(None),
    }
}

/// What somebody created under that name, if a type of functions means it.
///
/// # Errors
/// As for `oid`.
pub(super) fn created(
    scope: Scope<'_>,
    kind: &ScalarType,
    name: &str,
    type_oid: &dyn Fn(&str) -> Option<Id>,
) -> Result<Option<Id>, ValueError> {
    let (name, types) = match kind {
        ScalarType::Regprocedure => {
            let (name, types) = with_types(name, type_oid)?;
            (name, Some(types))
        }
        _ => (name, None),
    };
    let Ok(parts) = parse_identifier(name, true) else { return Ok(None) };
    let Some((last, before)) = parts.split_last() else { return Ok(None) };
    let found = scope.routines(Qualifier::of(before), last);
    let mut found = found.into_iter().filter(|found| types.as_ref().is_none_or(|types| found.input_types() == *types));
    only(found.by_ref().map(|found| found.id), || format!("more than one function named \"{last}\""))
}

/// The operator that somebody created under that name, if a type of operators means it.
///
/// # Errors
/// As for `oid`.
pub(super) fn created_operator(
    scope: Scope<'_>,
    kind: &ScalarType,
    name: &str,
    type_oid: &dyn Fn(&str) -> Option<Id>,
) -> Result<Option<Id>, ValueError> {
    let (name, types) = match kind {
        ScalarType::Regoperator => {
            let (name, types) = with_types(name, type_oid)?;
            let [left, right] = types.as_slice() else { return Ok(None) };
            (name, Some((*left, *right)))
        }
        _ => (name, None),
    };
    let (before, symbol) =
        name.trim().rsplit_once('.').map_or((None, name.trim()), |(before, symbol)| (Some(before), symbol));
    let Ok(before) = before.map_or(Ok(Vec::new()), |before| parse_identifier(before, true)) else { return Ok(None) };
    let found = scope.operators(Qualifier::of(&before), symbol);
    let is_hidden = |operator: &Operator| {
        before.is_empty()
            && !scope.is_before_built_in(operator.namespace)
            && builtin::operator_over(symbol, operator.operands()).is_some()
    };
    let found =
        found.into_iter().filter(|found| types.is_none_or(|types| found.operands() == types) && !is_hidden(found));
    let built_in = types.is_none() && before.is_empty();
    let built_in = builtin::operators_of(symbol).iter().filter(|_| built_in).map(|(_, id)| *id);
    let created: Vec<Id> = found.map(|found| found.id).collect();
    let all = created.clone().into_iter().chain(built_in.filter(|_| !created.is_empty()));
    only(all, || format!("more than one operator named {symbol}"))
}

fn only(mut found: impl Iterator<Item = Id>, several: impl FnOnce() -> String) -> Result<Option<Id>, ValueError> {
    let first = found.next();
    if found.next().is_some() { Err(ValueError::new("42725", several())) } else { Ok(first) }
}

fn unqualified_operator(name: &str) -> &str {
    let name = name.trim();
    name.strip_prefix("pg_catalog.").unwrap_or(name)
}

/// `name(types)` as its name and types.
fn with_types<'a>(text: &'a str, type_oid: &dyn Fn(&str) -> Option<Id>) -> Result<(&'a str, Vec<Id>), ValueError> {
    let Some((name, rest)) = text.split_once('(') else {
        return Err(ValueError::new("22P02", "expected a left parenthesis"));
    };
    let Some(inner) = rest.trim_end().strip_suffix(')') else {
        return Err(ValueError::new("22P02", "expected a right parenthesis"));
    };
    let mut types = Vec::new();
    for written in split_types(inner) {
        types.push(match written.to_ascii_lowercase().as_str() {
            "none" => 0,
            _ => type_oid(written)
                .ok_or_else(|| ValueError::new("42704", format!("type \"{written}\" does not exist")))?,
        });
    }
    Ok((name, types))
}

/// Between commas that are in no parentheses: `numeric(4,1)` is one type.
fn split_types(inner: &str) -> Vec<&str> {
    let (mut types, mut depth, mut start) = (Vec::new(), 0_u32, 0);
    for (place, character) in inner.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                types.push(inner[start..place].trim());
                start = place + 1;
            }
            _ => {}
        }
    }
    types.push(inner[start..].trim());
    if types == [""] { Vec::new() } else { types }
}
