//! EXPLAIN: indented text for the rungs of a query, stable enough for golden tests.
//!
//! One operator a line, inputs indented below. Columns are `#n`, parameters `$n`; tables, columns and
//! indexes go by name. Shows no value that the user did not write, and no stored row.

mod expr;
mod hir;
mod mir;
mod plan;

use crate::catalog::Catalog;
use crate::hir::HirQuery;
use crate::lower::MirQuery;
use crate::plan::{Finishing, Query, WritePlan};
use crate::scalar::Order;
use repr::{IndexId, RelationId};
use std::fmt::Write;

/// The first rung: names and types resolved, subqueries inside.
pub fn hir(query: &HirQuery, catalog: &Catalog) -> String {
    let mut text = Text::new(catalog);
    let columns: Vec<String> = query.columns.iter().map(|column| column.name.clone()).collect();
    text.line(format_args!("Query ({})", columns.join(", ")));
    let mut notes = order_note(&query.order_by);
    for (word, bound) in [("limit", &query.limit), ("offset", &query.offset)] {
        if let Some(bound) = bound {
            let _ = write!(notes, " {word} {}", expr::hir(bound));
        }
    }
    text.nested(|text| {
        if !notes.is_empty() {
            text.line(format_args!("Finish{notes}"));
        }
        text.hir(&query.relation);
    });
    text.out
}

/// The second rung, before or after `transform`.
pub fn mir(query: &MirQuery, catalog: &Catalog) -> String {
    let mut text = Text::new(catalog);
    text.finish(&query.finishing);
    text.nested(|text| text.mir(&query.relation));
    text.out
}

/// The last rung: what runs.
pub fn plan(query: &Query, catalog: &Catalog) -> String {
    let mut text = Text::new(catalog);
    text.finish(&query.finishing);
    for lock in &query.locks {
        let mode = if lock.exclusive { "exclusively" } else { "shared" };
        let table = text.relation(lock.table);
        text.nested(|text| text.line(format_args!("Lock {table} {mode} by #{}", lock.key_column)));
    }
    text.nested(|text| text.plan(&query.plan));
    text.out
}

/// A write's last rung: the target, and the plan of its source.
pub fn write(write: &WritePlan, catalog: &Catalog) -> String {
    let (verb, table, source) = match write {
        WritePlan::Insert(insert) => ("Insert into", insert.table, &insert.source),
        WritePlan::Update(update) => ("Update", update.table, &update.source),
        WritePlan::Delete(delete) => ("Delete from", delete.table, &delete.source),
    };
    let mut out = format!("{verb} {}\n", relation_name(catalog, table));
    for line in plan(source, catalog).lines() {
        let _ = writeln!(out, "  {line}");
    }
    out
}

/// Text in the making.
struct Text<'a> {
    catalog: &'a Catalog,
    depth: usize,
    out: String,
}

impl<'a> Text<'a> {
    fn new(catalog: &'a Catalog) -> Self {
        Text { catalog, depth: 0, out: String::new() }
    }

    fn line(&mut self, line: std::fmt::Arguments) {
        for _ in 0..self.depth {
            self.out.push_str("  ");
        }
        let _ = writeln!(self.out, "{line}");
    }

    fn nested(&mut self, body: impl FnOnce(&mut Self)) {
        self.depth += 1;
        body(self);
        self.depth -= 1;
    }

    fn finish(&mut self, finishing: &Finishing) {
        let mut notes = order_note(&finishing.order_by);
        for (word, bound) in [("limit", &finishing.limit), ("offset", &finishing.offset)] {
            if let Some(bound) = bound {
                let _ = write!(notes, " {word} {}", expr::scalar(bound));
            }
        }
        let _ = write!(notes, " output {}", columns(&finishing.project));
        self.line(format_args!("Finish{notes}"));
    }

    fn relation(&self, id: RelationId) -> String {
        relation_name(self.catalog, id)
    }

    fn index(&self, table: RelationId, id: IndexId) -> String {
        let index = self.catalog.table(table).and_then(|table| table.index(id));
        index.map_or_else(|| format!("index {id}"), |index| format!("index {}", index.name))
    }
}

fn relation_name(catalog: &Catalog, id: RelationId) -> String {
    catalog.table(id).map_or_else(|| format!("relation {id}"), |table| table.name.clone())
}

fn order_note(order: &[Order]) -> String {
    if order.is_empty() {
        return String::new();
    }
    format!(" order by {}", order_items(order))
}

fn order_items(order: &[Order]) -> String {
    let item = |order: &Order| {
        let direction = if order.descending { " desc" } else { "" };
        let nulls = match (order.descending, order.nulls_first) {
            (false, true) => " nulls first",
            (true, false) => " nulls last",
            (false, false) | (true, true) => "",
        };
        format!("#{}{direction}{nulls}", order.column)
    };
    order.iter().map(item).collect::<Vec<_>>().join(", ")
}

fn columns(columns: &[usize]) -> String {
    let columns: Vec<String> = columns.iter().map(|column| format!("#{column}")).collect();
    format!("({})", columns.join(", "))
}
