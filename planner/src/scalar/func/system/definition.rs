//! pg_get_*: objects of the catalog as the SQL that makes them. Unknown OIDs give NULL, as in PostgreSQL.

use super::super::arguments::{integer, oid, string, text};
use super::super::text::quote_identifier;
use super::super::{FunctionDefinition, strict};
use super::{Answer, EvalContext};
use crate::catalog::{Catalog, Class, ConstraintName, DefaultValue, ForeignKey, Index, ReferentialAction, Table};
use crate::parse::backslashes::with_backslashes_doubled;
use crate::system::trigger_text::TriggerText;
use crate::system::view_text::view_text;
use crate::system::{self, definition_text::DefinitionText};
use repr::{ColumnIndex, Datum, IndexId, RelationId, SequenceId, ValueError};

fn column_list(table: &Table, columns: &[ColumnIndex]) -> String {
    let names = columns.iter().filter_map(|column| table.columns.get(*column));
    names.map(|column| quote_identifier(&column.name)).collect::<Vec<_>>().join(", ")
}

fn timing(constraint: &ConstraintName) -> &'static str {
    match (constraint.deferrable, constraint.initially_deferred) {
        (_, true) => " DEFERRABLE INITIALLY DEFERRED",
        (true, false) => " DEFERRABLE",
        (false, false) => "",
    }
}

fn validity(constraint: &ConstraintName) -> &'static str {
    if constraint.not_valid { " NOT VALID" } else { "" }
}

fn action(event: &str, action: ReferentialAction) -> String {
    match action {
        ReferentialAction::NoAction => String::new(),
        ReferentialAction::Restrict => format!(" {event} RESTRICT"),
        ReferentialAction::Cascade => format!(" {event} CASCADE"),
        ReferentialAction::SetNull => format!(" {event} SET NULL"),
        ReferentialAction::SetDefault => format!(" {event} SET DEFAULT"),
    }
}

fn foreign_key(ctx: &EvalContext, table: &Table, key: &ForeignKey) -> String {
    let [own, referenced] = key.as_written();
    let (name, columns) = match ctx.environment.catalog().table(key.target) {
        Some(target) => (ctx.names().spelled(target), column_list(target, &referenced)),
        None => (key.target.to_string(), String::new()),
    };
    format!(
        "FOREIGN KEY ({}) REFERENCES {name}({columns}){}{}{}{}{}",
        column_list(table, &own),
        if key.match_full { " MATCH FULL" } else { "" },
        action("ON UPDATE", key.on_update),
        action("ON DELETE", key.on_delete),
        timing(&key.constraint),
        validity(&key.constraint)
    )
}

/// The constraint with that OID, written as in ALTER TABLE … ADD CONSTRAINT.
fn constraint(ctx: &EvalContext, id: u32, pretty: bool) -> Option<String> {
    let catalog = ctx.environment.catalog();
    for table in catalog.relations.values() {
        for index in &table.indexes {
            if let Some(constraint) = index.constraint.as_ref().filter(|constraint| constraint.id == id) {
                let kind = if table.primary_key == Some(index.id) { "PRIMARY KEY" } else { "UNIQUE" };
                let include = match index.declared.include.as_slice() {
                    [] => String::new(),
                    columns => format!(" INCLUDE ({})", column_list(table, columns)),
                };
                let nulls = if index.declared.nulls_not_distinct { " NULLS NOT DISTINCT" } else { "" };
                let columns = column_list(table, &index.columns);
                return Some(format!("{kind}{nulls} ({columns}){include}{}", timing(constraint)));
            }
        }
        if let Some(check) = table.checks.iter().find(|check| check.constraint.id == id) {
            let shown = DefinitionText::new(&*ctx.environment);
            let expression = shown.expression(table, &check.expression, pretty);
            return Some(format!("CHECK ({expression}){}", validity(&check.constraint)));
        }
        if let Some(key) = table.foreign_keys.iter().find(|key| key.constraint.id == id) {
            return Some(foreign_key(ctx, table, key));
        }
    }
    let shown = DefinitionText::new(&*ctx.environment);
    catalog.types.values().find_map(|found| {
        let domain = found.domain()?;
        let check = domain.checks.iter().find(|check| check.constraint.id == id)?;
        let expression = shown.domain_condition(domain, check, pretty);
        Some(format!("CHECK ({expression}){}", validity(&check.constraint)))
    })
}

fn find_index(catalog: &Catalog, id: IndexId) -> Option<(&Table, &Index)> {
    catalog.relations.values().find_map(|table| table.index(id).map(|index| (table.as_ref(), index)))
}

/// CREATE INDEX, or one of its columns.
fn index(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let Some((table, index)) = find_index(ctx.environment.catalog(), IndexId(oid(&args[0])?)) else {
        return Ok(Datum::Null);
    };
    let column = args.get(1).map_or(Ok(0), integer)?;
    if column != 0 {
        let columns = index.declared.all_columns(&index.columns);
        let place = usize::try_from(column - 1).ok().and_then(|place| columns.get(place).copied());
        let shown = DefinitionText::new(&*ctx.environment);
        let pretty = is_pretty(args.get(2));
        return string(place.map(|column| shown.index_key(table, column, pretty)).unwrap_or_default());
    }
    string(DefinitionText::new(&*ctx.environment).index(table, index, is_pretty(args.get(2))))
}

fn trigger(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let id = oid(&args[0])?;
    let Some((table, trigger)) = ctx.environment.catalog().triggers().find(|(_, trigger)| trigger.id == id) else {
        return Ok(Datum::Null);
    };
    let shown = DefinitionText::new(&*ctx.environment);
    string(TriggerText { table, trigger, shown: &shown }.definition(is_pretty(args.get(1))))
}

/// The form of `\d`, rather than that of dumps.
fn is_pretty(arg: Option<&Datum>) -> bool {
    arg == Some(&Datum::Bool(true))
}

/// An expression of a catalog relation, which stands there as it is shown.
fn expression(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let shown = text(&args[0])?;
    match is_pretty(args.get(2)) {
        true => string(DefinitionText::new(&*ctx.environment).again(RelationId(oid(&args[1])?), shown)),
        false => string(shown.to_owned()),
    }
}

/// The sequence behind a serial or identity column, of any relation that the catalog lists.
fn serial_sequence(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let (table_name, column_name) = (text(&args[0])?, text(&args[1])?);
    let catalog = ctx.environment.catalog();
    let missing = || ValueError::new("42P01", format!("relation \"{table_name}\" does not exist"));
    let id = ctx.names().class(table_name)?.map(Class::oid).ok_or_else(missing)?;
    let no_column = |name: &str| {
        ValueError::new("42703", format!("column \"{column_name}\" of relation \"{name}\" does not exist"))
    };
    let Some(table) = catalog.table(RelationId(id)) else {
        let columns = system::find_by_id(RelationId(id)).map_or(&[][..], |relation| &relation.columns);
        return match columns.iter().any(|column| column.name == column_name) {
            true => Ok(Datum::Null),
            false => Err(no_column(&ctx.names().class_name(id).unwrap_or_default())),
        };
    };
    let (place, column) = table.column_by_name(column_name).ok_or_else(|| no_column(&table.name))?;
    let from_default: Option<SequenceId> = match &column.default {
        Some(DefaultValue::Serial(sequence) | DefaultValue::Identity { sequence, .. }) => Some(*sequence),
        Some(DefaultValue::Expr(_) | DefaultValue::Generated(_)) | None => None,
    };
    let sequence = from_default
        .and_then(|id| catalog.sequences.get(&id))
        .or_else(|| catalog.sequences.values().find(|sequence| sequence.owned_by == Some((table.id, place))));
    sequence.map_or(Ok(Datum::Null), |found| string(ctx.names().scope().qualified(found.namespace, &found.name)))
}

/// A view's query, by its OID or name; an empty text for what is no view.
fn view(ctx: &EvalContext, id: u32, pretty: bool) -> Answer {
    let catalog = ctx.environment.catalog();
    match catalog.table(RelationId(id)) {
        Some(table) => {
            let definition = DefinitionText::new(&*ctx.environment);
            let written = |view| view_text(view, catalog, &definition, pretty);
            string(table.view.as_ref().map_or_else(String::new, written))
        }
        None => Ok(Datum::Null),
    }
}

fn view_by_name(ctx: &EvalContext, name: &str, pretty: bool) -> Answer {
    let missing = || ValueError::new("42P01", format!("relation \"{name}\" does not exist"));
    view(ctx, ctx.names().class(name)?.map(Class::oid).ok_or_else(missing)?, pretty)
}

/// A definition as whoever reads it would write it.
fn written(ctx: &EvalContext, answer: Answer) -> Answer {
    match answer {
        Ok(Datum::Text(text))
            if text.contains('\\')
                && ctx.environment.setting("standard_conforming_strings").as_deref() == Some("off") =>
        {
            string(with_backslashes_doubled(&text))
        }
        other => other,
    }
}

fn nothing(_: &EvalContext, _: &[Datum], _: &repr::ScalarType) -> Answer {
    Ok(Datum::Null)
}

pub(in super::super) const DEFINITIONS: &[FunctionDefinition] = &[
    strict("pg_get_expr(text, oid, bool?) text", |ctx, a, _| written(ctx, expression(ctx, a))).stable(),
    strict("pg_get_constraintdef(oid, bool?) text", |ctx, a, _| {
        written(ctx, constraint(ctx, oid(&a[0])?, is_pretty(a.get(1))).map_or(Ok(Datum::Null), string))
    })
    .stable(),
    strict("pg_get_indexdef(oid) text", |ctx, a, _| written(ctx, index(ctx, a))).stable(),
    strict("pg_get_indexdef(oid, int4, bool) text", |ctx, a, _| written(ctx, index(ctx, a))).stable(),
    strict("pg_get_serial_sequence(text, text) text", |ctx, a, _| serial_sequence(ctx, a)).stable(),
    strict("pg_get_viewdef(oid, bool?) text", |ctx, a, _| written(ctx, view(ctx, oid(&a[0])?, is_pretty(a.get(1)))))
        .stable(),
    strict("pg_get_viewdef(oid, int4) text", |ctx, a, _| written(ctx, view(ctx, oid(&a[0])?, true))).stable(),
    strict("pg_get_viewdef(text, bool?) text", |ctx, a, _| {
        written(ctx, view_by_name(ctx, text(&a[0])?, is_pretty(a.get(1))))
    })
    .stable(),
    strict("pg_get_function_arg_default(oid, int4) text", nothing).stable(),
    strict("pg_get_triggerdef(oid, bool?) text", |ctx, a, _| written(ctx, trigger(ctx, a))).stable(),
    // There are no rules of users, partitions or extended statistics whose OID could be given.
    strict("pg_get_ruledef(oid, bool?) text", nothing).stable(),
    strict("pg_get_partkeydef(oid) text", nothing).stable(),
    strict("pg_get_partition_constraintdef(oid) text", nothing).stable(),
    strict("pg_get_statisticsobjdef(oid) text", nothing).stable(),
    strict("pg_get_statisticsobjdef_columns(oid) text", nothing).stable(),
    strict("pg_tablespace_location(oid) text", |_, _, _| string("")).stable(),
];
