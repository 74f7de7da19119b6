//! Sizes: of relations, databases and values, and how they are written. What has not reached a file yet is not counted.

use super::super::arguments::{integer, numeric, oid, string, text};
use super::super::{FunctionDefinition, lenient, strict};
use super::{Answer, EvalContext, database};
use crate::catalog::{Class, DatabaseId};
use crate::system::schemas::TABLESPACES;
use repr::{Datum, IndexId, Numeric, RelationId, ValueError};

/// Bytes with a unit: `8192 bytes`, `16 kB`.
fn size_pretty(size: i128) -> String {
    const UNITS: [&str; 5] = ["bytes", "kB", "MB", "GB", "TB"];
    let mut value = size;
    let mut half = false;
    for (index, unit) in UNITS.iter().enumerate() {
        let limit = if index == 0 { 10 * 1024 } else { 20 * 1024 - 1 };
        let last = index == UNITS.len() - 1;
        if value.abs() < limit || last {
            // From kB on, values carry one more bit to round by.
            let shown = if half { i128::midpoint(value, value.signum()) } else { value };
            return format!("{shown} {unit}");
        }
        value /= if half { 1024 } else { 512 };
        half = true;
    }
    format!("{value} {}", UNITS[4])
}

/// The other way round, as PostgreSQL reads it: a number, and perhaps a unit.
fn size_bytes(written: &str) -> Result<i64, ValueError> {
    let invalid = || ValueError::new("22023", format!("invalid size: \"{written}\""));
    let trimmed = written.trim_ascii();
    let is_number = |place: &(usize, char)| place.1.is_ascii_digit() || matches!(place.1, '.' | '+' | '-' | 'e' | 'E');
    let mut end = trimmed.char_indices().take_while(is_number).last().map_or(0, |(at, _)| at + 1);
    // `1e` is one exabyte, or nothing that is known; only digits make an exponent of it.
    if trimmed[..end].ends_with(['e', 'E']) {
        end -= 1;
    }
    let (number, unit) = trimmed.split_at(end);
    let number: Numeric = number.parse().map_err(|_| invalid())?;
    let factor = match &*unit.trim_ascii().to_ascii_lowercase() {
        "" | "b" | "bytes" => 1_i64,
        "kb" => 1 << 10,
        "mb" => 1 << 20,
        "gb" => 1 << 30,
        "tb" => 1 << 40,
        "pb" => 1 << 50,
        unit => {
            return Err(ValueError {
                detail: Some(format!("Invalid size unit: \"{unit}\".")),
                hint: Some("Valid units are \"bytes\", \"B\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".".into()),
                ..invalid()
            });
        }
    };
    number.mul(&Numeric::from(factor))?.to_i64()
}

fn size(bytes: i64) -> Answer {
    Ok(Datum::Int8(bytes))
}

/// Of a relation with that OID its own size and that of all its indexes, of an index its own.
fn sizes(ctx: &EvalContext, arg: &Datum) -> Result<Option<(i64, i64)>, ValueError> {
    let id = oid(arg)?;
    let environment = &ctx.environment;
    Ok(match environment.catalog().class_by_oid(id) {
        Some(Class::Relation(table)) => {
            let indexes = table.indexes.iter().map(|index| environment.index_size(index.id));
            Some((environment.relation_size(RelationId(id)), indexes.fold(0, i64::saturating_add)))
        }
        Some(Class::Index(..)) => Some((environment.index_size(IndexId(id)), 0)),
        Some(Class::Sequence(_) | Class::Composite(_) | Class::System(_)) => Some((0, 0)),
        None => None,
    })
}

fn relation_size(ctx: &EvalContext, arg: &Datum) -> Answer {
    sizes(ctx, arg)?.map_or(Ok(Datum::Null), |(own, _)| size(own))
}

fn indexes_size(ctx: &EvalContext, arg: &Datum) -> Answer {
    sizes(ctx, arg)?.map_or(Ok(Datum::Null), |(_, indexes)| size(indexes))
}

fn total_size(ctx: &EvalContext, arg: &Datum) -> Answer {
    sizes(ctx, arg)?.map_or(Ok(Datum::Null), |(own, indexes)| size(own.saturating_add(indexes)))
}

fn database_size(ctx: &EvalContext, arg: &Datum) -> Answer {
    Ok(database(ctx, arg)?.map_or(Datum::Null, |id| Datum::Int8(ctx.environment.database_size(id))))
}

/// All databases stand in one tablespace, `pg_default`.
fn tablespace_size(ctx: &EvalContext, is_default: bool) -> Answer {
    let ids = ctx.environment.catalog().databases.keys().copied().chain([DatabaseId::FIRST]);
    let all = ids.map(|id| ctx.environment.database_size(id)).fold(0, i64::saturating_add);
    size(if is_default { all } else { 0 })
}

fn tablespace_named(ctx: &EvalContext, arg: &Datum) -> Answer {
    let name = text(arg)?;
    if !TABLESPACES.iter().any(|(known, _)| *known == name) {
        return Err(ValueError::new("42704", format!("tablespace \"{name}\" does not exist")));
    }
    tablespace_size(ctx, name == "pg_default")
}

fn tablespace_numbered(ctx: &EvalContext, arg: &Datum) -> Answer {
    let id = oid(arg)?;
    match TABLESPACES.iter().find(|(_, known)| *known == id) {
        Some((name, _)) => tablespace_size(ctx, *name == "pg_default"),
        None => Ok(Datum::Null),
    }
}

pub(in super::super) const SIZES: &[FunctionDefinition] = &[
    strict("pg_relation_size(regclass, text?) int8", |ctx, a, _| relation_size(ctx, &a[0])).volatile(),
    strict("pg_total_relation_size(regclass) int8", |ctx, a, _| total_size(ctx, &a[0])).volatile(),
    strict("pg_table_size(regclass) int8", |ctx, a, _| relation_size(ctx, &a[0])).volatile(),
    strict("pg_database_size(name) int8", |ctx, a, _| database_size(ctx, &a[0])).volatile(),
    strict("pg_database_size(oid) int8", |ctx, a, _| database_size(ctx, &a[0])).volatile(),
    strict("pg_size_pretty(int8) text", |_, a, _| string(size_pretty(i128::from(integer(&a[0])?)))),
    strict("pg_size_pretty(numeric) text", |_, a, _| string(size_pretty(numeric(&a[0])?.trunc(0)?.to_i128()?))),
    strict("pg_column_size(any) int4", |_, a, _| {
        let mut packed = Vec::new();
        repr::row::write_datum(&mut packed, &a[0]);
        Ok(Datum::Int4(i32::try_from(packed.len()).unwrap_or(i32::MAX)))
    }),
    strict("pg_indexes_size(regclass) int8", |ctx, a, _| indexes_size(ctx, &a[0])).volatile(),
    strict("pg_tablespace_size(name) int8", |ctx, a, _| tablespace_named(ctx, &a[0])).volatile(),
    strict("pg_tablespace_size(oid) int8", |ctx, a, _| tablespace_numbered(ctx, &a[0])).volatile(),
    strict("pg_size_bytes(text) int8", |_, a, _| size(size_bytes(text(&a[0])?)?)),
    // No value is compressed by itself.
    lenient("pg_column_compression(any) text", |_, _, _| Ok(Datum::Null)).stable(),
];
