//! The functions beneath operators, by their names: `int4pl(1, 2)` is `1 + 2`.
//!
//! Which they are follows from what PostgreSQL says of its operators, of B-tree orders, of `min` and `max`, and of types. Each is
//! what the operator is here, over the types that the operator takes.

use super::{Overload, Overloads, Registry, Signature, leak, operator_in};
use crate::scalar::func::{Function, FunctionKind, Volatility, in_range, is_sent, send};
use crate::system::builtin::{Record, recorded};
use repr::{Datum, Id, ScalarType, ValueError};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Types whose order PostgreSQL tells by -1, 0 and 1: of others it tells how far values are apart, or what the C library says.
const ORDERED: [ScalarType; 18] = [
    ScalarType::Bool,
    ScalarType::Int4,
    ScalarType::Int8,
    ScalarType::Oid,
    ScalarType::Float4,
    ScalarType::Float8,
    ScalarType::Numeric,
    ScalarType::Date,
    ScalarType::Time,
    ScalarType::Timestamp,
    ScalarType::Timestamptz,
    ScalarType::Interval,
    ScalarType::MacAddr,
    ScalarType::MacAddr8,
    ScalarType::Money,
    ScalarType::Xid8,
    ScalarType::PgLsn,
    ScalarType::Tid,
];

type Procedures = BTreeMap<Id, Record>;

/// Puts them beside the functions that there are, in whose place none of them stands.
pub(super) fn add(registry: &mut Registry) {
    let procedures: Procedures = recorded("pg_proc").map(|row| (row.id("oid"), row)).collect();
    let mut found = operators(&registry.operators, &procedures);
    found.extend(orders(&registry.operators, &procedures));
    found.extend(extremes(&procedures));
    found.extend(ranges(&procedures));
    found.extend(sent(&procedures));
    for overload in found {
        let overloads = registry.functions.entry(overload.signature.name).or_default();
        let types = overload.signature.declared_arguments();
        if !overloads.iter().any(|known| known.signature.is_declared(&types)) {
            overloads.push(overload);
        }
    }
}

/// What `pg_operator.oprcode` names.
fn operators(operators: &Overloads<Function>, procedures: &Procedures) -> Vec<Overload<Function>> {
    let of_row = |row: Record| {
        let name = procedures.get(&row.id("oprcode"))?.text("proname");
        let operands: Vec<Id> = [row.id("oprleft"), row.id("oprright")].into_iter().filter(|id| *id != 0).collect();
        let known = operators.get(row.text("oprname"))?;
        if let Some(same) = known.iter().find(|overload| overload.signature.declared_arguments() == operands) {
            return Some(Overload {
                signature: same.signature.clone().named(name),
                function: same.function,
                spread: None,
            });
        }
        let types = operands.iter().map(|id| ScalarType::from_oid(*id)).collect::<Option<Vec<_>>>()?;
        let found = match types.as_slice() {
            [right] => operator_in(operators, row.text("oprname"), None, right),
            [left, right] => operator_in(operators, row.text("oprname"), Some(left), right),
            _ => return None,
        };
        let found = found.ok().filter(|found| found.conversions.iter().all(Option::is_none))?;
        let signature = Signature::exact(name, found.arg_casts, found.result);
        Some(Overload { signature, function: found.function, spread: None })
    };
    recorded("pg_operator").filter_map(of_row).collect()
}

/// What B-trees order by: the first support function of each pair of types.
fn orders(operators: &Overloads<Function>, procedures: &Procedures) -> Vec<Overload<Function>> {
    let is_btree = |row: &Record| procedures.get(&row.id("amproc")).is_some_and(|row| row.text("prorettype") == "23");
    let of_row = |row: Record| {
        let procedure = procedures.get(&row.id("amproc"))?;
        let operands = [row.id("amproclefttype"), row.id("amprocrighttype")];
        let named: Vec<Id> = procedure.text("proargtypes").split(' ').filter_map(|id| id.parse().ok()).collect();
        if named != operands {
            return None;
        }
        let [left, right] = operands.map(ScalarType::from_oid);
        let found = operator_in(operators, "<", Some(&left?), &right?).ok()?;
        let evaluate = match found.arg_casts.as_slice() {
            [ScalarType::Int2, ScalarType::Int2] => distance,
            casts if casts.iter().all(|scalar| ORDERED.contains(scalar)) => order,
            _ => return None,
        };
        let signature = Signature::exact(procedure.text("proname"), found.arg_casts, ScalarType::Int4);
        Some(Overload { function: strict(&signature, evaluate), signature, spread: None })
    };
    recorded("pg_amproc").filter(|row| row.text("amprocnum") == "1" && is_btree(row)).filter_map(of_row).collect()
}

/// By what `max` and `min` keep the one of two values; not of texts, whose order is their collation's.
fn extremes(procedures: &Procedures) -> Vec<Overload<Function>> {
    let of_row = |row: Record| {
        let evaluate = match procedures.get(&row.id("aggfnoid"))?.text("proname") {
            "max" => larger,
            "min" => smaller,
            _ => return None,
        };
        let procedure = procedures.get(&row.id("aggtransfn"))?;
        let kept = ScalarType::from_oid(procedure.id("prorettype")).filter(|scalar| scalar.collation() == 0)?;
        let signature = Signature::exact(procedure.text("proname"), vec![kept.clone(), kept.clone()], kept);
        Some(Overload { function: strict(&signature, evaluate), signature, spread: None })
    };
    recorded("pg_aggregate").filter_map(of_row).collect()
}

/// What windows' frames ask, the third support function of B-trees.
fn ranges(procedures: &Procedures) -> Vec<Overload<Function>> {
    let of_row = |row: Record| {
        let procedure = procedures.get(&row.id("amproc"))?;
        let [value, distance] = [row.id("amproclefttype"), row.id("amprocrighttype")].map(ScalarType::from_oid);
        let (value, distance) = (value?, distance?);
        let args = vec![value.clone(), value, distance, ScalarType::Bool, ScalarType::Bool];
        let signature = Signature::exact(procedure.text("proname"), args, ScalarType::Bool);
        Some(Overload { function: strict(&signature, in_range), signature, spread: None })
    };
    recorded("pg_amproc").filter(|row| row.text("amprocnum") == "3").filter_map(of_row).collect()
}

/// What types are sent by: `pg_type.typsend`.
fn sent(procedures: &Procedures) -> Vec<Overload<Function>> {
    let of_row = |row: Record| {
        let procedure = procedures.get(&row.id("typsend"))?;
        let given = ScalarType::from_oid(procedure.id("proargtypes")).filter(is_sent)?;
        let signature = Signature::exact(procedure.text("proname"), vec![given], ScalarType::Bytea);
        Some(Overload { function: strict(&signature, send), signature, spread: None })
    };
    recorded("pg_type").filter_map(of_row).collect()
}

fn strict(signature: &Signature, evaluate: crate::scalar::func::Evaluate) -> &'static Function {
    leak(Function {
        name: signature.name,
        strict: true,
        volatility: Volatility::Immutable,
        kind: FunctionKind::Native(evaluate),
        written: None,
    })
}

fn order(_: &crate::scalar::EvalContext, args: &[Datum], _: &ScalarType) -> Result<Datum, ValueError> {
    Ok(Datum::Int4(match args[0].sql_cmp(&args[1]) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }))
}

/// How far apart two smallints are.
fn distance(_: &crate::scalar::EvalContext, args: &[Datum], _: &ScalarType) -> Result<Datum, ValueError> {
    let [left, right] = [&args[0], &args[1]].map(|arg| arg.as_i64().and_then(|value| i32::try_from(value).ok()));
    Ok(match (left, right) {
        (Some(left), Some(right)) => Datum::Int4(left - right),
        _ => Datum::Null,
    })
}

/// Of two that are equal, the second.
fn larger(_: &crate::scalar::EvalContext, args: &[Datum], _: &ScalarType) -> Result<Datum, ValueError> {
    Ok(args[usize::from(args[0].sql_cmp(&args[1]) != Ordering::Greater)].clone())
}

fn smaller(_: &crate::scalar::EvalContext, args: &[Datum], _: &ScalarType) -> Result<Datum, ValueError> {
    Ok(args[usize::from(args[0].sql_cmp(&args[1]) != Ordering::Less)].clone())
}
