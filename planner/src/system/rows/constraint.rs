//! pg_constraint, and pg_seclabels with the annotations of tables and columns.

use super::{Rows, Source, array, flag, small, text};
use crate::catalog::{ConstraintName, ReferentialAction, Table};
use crate::ownership::quote_identifier;
use crate::resolve::ddl::{columns_named, security_labels};
use crate::scalar::env::names::CatalogNames;
use crate::system::definition_text::DefinitionText;
use repr::{ColumnIndex, Datum};

fn action(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::NoAction => "a",
        ReferentialAction::Restrict => "r",
        ReferentialAction::Cascade => "c",
        ReferentialAction::SetNull => "n",
        ReferentialAction::SetDefault => "d",
    }
}

/// Blank where a constraint is no foreign key.
const NO_ACTIONS: [&str; 3] = ["confupdtype", "confdeltype", "confmatchtype"];

fn numbers(columns: &[ColumnIndex]) -> Datum {
    array(columns.iter().map(|&column| small(column + 1)).collect())
}

fn base(table: &Table, constraint: &ConstraintName, kind: &str) -> Vec<(&'static str, Datum)> {
    vec![
        ("oid", Datum::Oid(constraint.id)),
        ("conname", text(&constraint.name)),
        ("connamespace", Datum::Oid(table.namespace.0)),
        ("contype", text(kind)),
        ("condeferrable", flag(constraint.deferrable)),
        ("condeferred", flag(constraint.initially_deferred)),
        ("convalidated", flag(!constraint.not_valid)),
        ("conrelid", Datum::Oid(table.id.0)),
        ("conislocal", flag(true)),
        ("connoinherit", flag(kind != "c")),
    ]
}

impl Source<'_> {
    pub(super) fn constraints(&self, rows: &mut Rows) {
        let shown = DefinitionText::new(self.environment);
        for table in self.tables() {
            for index in &table.indexes {
                let Some(constraint) = &index.constraint else { continue };
                let kind = if table.primary_key == Some(index.id) { "p" } else { "u" };
                let mut values = base(table, constraint, kind);
                values.extend([("conindid", Datum::Oid(index.id.0)), ("conkey", numbers(&index.columns))]);
                values.extend(NO_ACTIONS.map(|name| (name, text(" "))));
                rows.add(&values);
            }
            for check in &table.checks {
                let mut values = base(table, &check.constraint, "c");
                let columns = columns_named(&check.expression, table);
                if !columns.is_empty() {
                    values.push(("conkey", numbers(&columns)));
                }
                values.push(("conbin", text(&shown.expression(table, &check.expression, false))));
                values.extend(NO_ACTIONS.map(|name| (name, text(" "))));
                rows.add(&values);
            }
            for key in &table.foreign_keys {
                let mut values = base(table, &key.constraint, "f");
                let [columns, target_columns] = key.as_written();
                let target = self.catalog.table(key.target);
                let index = target.and_then(|target| {
                    target.whole_indexes().find(|index| index.unique && same(&index.columns, &key.target_columns))
                });
                values.extend([
                    ("conindid", Datum::Oid(index.map_or(0, |index| index.id.0))),
                    ("confrelid", Datum::Oid(key.target.0)),
                    ("confupdtype", text(action(key.on_update))),
                    ("confdeltype", text(action(key.on_delete))),
                    ("confmatchtype", text(if key.match_full { "f" } else { "s" })),
                    ("conkey", numbers(&columns)),
                    ("confkey", numbers(&target_columns)),
                ]);
                rows.add(&values);
            }
        }
        self.constraints_of_domains(rows);
    }

    /// Those of domains.
    fn constraints_of_domains(&self, rows: &mut Rows) {
        let shown = DefinitionText::new(self.environment);
        for found in self.catalog.types.values() {
            let Some(domain) = found.domain() else { continue };
            for check in &domain.checks {
                let constraint = &check.constraint;
                let mut values = vec![
                    ("oid", Datum::Oid(constraint.id)),
                    ("conname", text(&constraint.name)),
                    ("connamespace", Datum::Oid(found.namespace.0)),
                    ("contype", text("c")),
                    ("condeferrable", flag(false)),
                    ("condeferred", flag(false)),
                    ("convalidated", flag(!constraint.not_valid)),
                    ("contypid", Datum::Oid(found.id)),
                    ("conislocal", flag(true)),
                    ("connoinherit", flag(false)),
                    ("conbin", text(&shown.domain_condition(domain, check, false))),
                ];
                values.extend(NO_ACTIONS.map(|name| (name, text(" "))));
                rows.add(&values);
            }
        }
    }

    /// Labels that give the same annotations when they are run, as pg_dump does.
    pub(super) fn labels(&self, rows: &mut Rows) {
        let names = CatalogNames::of_session(self.environment);
        for found in security_labels(names.scope()) {
            let Some(table) = self.catalog.table(found.table) else { continue };
            let name = names.spelled(table);
            match found.column {
                None => label(rows, table, 0, "table", &name, &found.label),
                Some(column) => {
                    let name = format!("{name}.{}", quote_identifier(&table.columns[column].name));
                    label(rows, table, column + 1, "column", &name, &found.label);
                }
            }
        }
    }
}

fn same(left: &[ColumnIndex], right: &[ColumnIndex]) -> bool {
    left.len() == right.len() && left.iter().all(|column| right.contains(column))
}

fn label(rows: &mut Rows, table: &Table, number: usize, kind: &str, name: &str, label: &str) {
    rows.add(&[
        ("objoid", Datum::Oid(table.id.0)),
        ("classoid", Datum::Oid(1259)),
        ("objsubid", Datum::Int4(i32::try_from(number).unwrap_or(i32::MAX))),
        ("objtype", text(kind)),
        ("objnamespace", Datum::Oid(table.namespace.0)),
        ("objname", text(name)),
        ("provider", text("dogwood")),
        ("label", text(label)),
    ]);
}
