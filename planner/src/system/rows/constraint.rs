//! pg_constraint, and pg_seclabels with the annotations of tables and columns.

use super::{PUBLIC, Rows, Source, array, flag, small, text};
use crate::catalog::{ConstraintName, EdgeKind, ForeignKey, ReferentialAction, Rule, RuleAction, RuleEvent, Table};
use crate::ownership::{foreign_key, quote_identifier};
use repr::{ColumnIndex, Datum};
use std::collections::BTreeMap;

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
        ("connamespace", Datum::Oid(PUBLIC)),
        ("contype", text(kind)),
        ("condeferrable", flag(constraint.deferrable)),
        ("condeferred", flag(constraint.initially_deferred)),
        ("convalidated", flag(true)),
        ("conrelid", Datum::Oid(table.id.0)),
        ("conislocal", flag(true)),
        ("connoinherit", flag(kind != "c")),
    ]
}

impl Source<'_> {
    pub(super) fn constraints(&self, rows: &mut Rows) {
        for table in self.catalog.relations.values() {
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
                values.push(("conbin", text(&check.expression)));
                values.extend(NO_ACTIONS.map(|name| (name, text(" "))));
                rows.add(&values);
            }
            for key in &table.foreign_keys {
                let mut values = base(table, &key.constraint, "f");
                let target = self.catalog.table(key.target);
                let index = target.and_then(|target| target.indexes.iter().find(|index| index.unique && same(&index.columns, &key.target_columns)));
                values.extend([
                    ("conindid", Datum::Oid(index.map_or(0, |index| index.id.0))),
                    ("confrelid", Datum::Oid(key.target.0)),
                    ("confupdtype", text(action(key.on_update))),
                    ("confdeltype", text(action(key.on_delete))),
                    ("confmatchtype", text("s")),
                    ("conkey", numbers(&key.columns)),
                    ("confkey", numbers(&key.target_columns)),
                ]);
                rows.add(&values);
            }
        }
    }

    /// Labels that give the same annotations when they are run, as pg_dump does.
    pub(super) fn labels(&self, rows: &mut Rows) {
        for table in self.catalog.relations.values() {
            let mut whole = Vec::new();
            if table.data_subject {
                whole.push("DATA_SUBJECT".to_owned());
            }
            let mut columns: BTreeMap<ColumnIndex, Vec<String>> = BTreeMap::new();
            for key in &table.foreign_keys {
                let Some(annotation) = self.annotation(key) else { continue };
                match key.columns.as_slice() {
                    [column] => columns.entry(*column).or_default().push(annotation),
                    composite => whole.push(format!("FOREIGN KEY ({}) {annotation}", names(table, composite))),
                }
            }
            whole.extend(table.rules.iter().filter_map(|rule| self.rule(table, rule)));
            if !whole.is_empty() {
                label(rows, table, 0, "table", &quote_identifier(&table.name), &whole.join("; "));
            }
            for (column, annotations) in columns {
                let name = format!("{}.{}", quote_identifier(&table.name), names(table, &[column]));
                label(rows, table, column + 1, "column", &name, &annotations.join("; "));
            }
        }
    }

    fn annotation(&self, key: &ForeignKey) -> Option<String> {
        let word = match key.annotation {
            Some(EdgeKind::OwnedBy) => "OWNED_BY",
            Some(EdgeKind::Owns) => "OWNS",
            Some(EdgeKind::AccessedBy) => "ACCESSED_BY",
            Some(EdgeKind::Accesses) => "ACCESSES",
            None if key.only => "REFERENCES ONLY",
            None => return None,
        };
        let target = self.catalog.table(key.target)?;
        Some(format!("{word} {}({})", quote_identifier(&target.name), names(target, &key.target_columns)))
    }

    fn rule(&self, table: &Table, rule: &Rule) -> Option<String> {
        let event = match rule.event {
            RuleEvent::Get => "GET",
            RuleEvent::Del => "DEL",
        };
        let (holder, key) = foreign_key(self.catalog, rule.edge)?;
        let columns = names(holder, &key.columns);
        let edge = match key.columns.as_slice() {
            _ if holder.id != table.id => format!("{}({columns})", quote_identifier(&holder.name)),
            [_] => columns,
            _ => format!("({columns})"),
        };
        Some(match &rule.action {
            RuleAction::Anon(blanked) => format!("ON {event} {edge} ANON ({})", names(table, blanked)),
            RuleAction::DeleteRow => format!("ON {event} {edge} DELETE_ROW"),
        })
    }
}

fn names(table: &Table, columns: &[ColumnIndex]) -> String {
    columns.iter().map(|&column| quote_identifier(&table.columns[column].name)).collect::<Vec<_>>().join(", ")
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
        ("objnamespace", Datum::Oid(PUBLIC)),
        ("objname", text(name)),
        ("provider", text("dogwood")),
        ("label", text(label)),
    ]);
}
