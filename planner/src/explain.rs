//! EXPLAIN: indented text for the rungs of a query, stable enough for golden tests.
//!
//! One operator a line, inputs indented below. Columns are `#n`, parameters `$n`; tables, columns and
//! indexes go by name. Shows no value that the user did not write, and no stored row.

mod expr;
mod hir;
mod mir;
mod plan;
pub mod report;

use crate::catalog::Catalog;
use crate::hir::HirQuery;
use crate::lift::{KeyValues, Lifted};
use crate::lower::MirQuery;
use crate::plan::{Finishing, Plan, Query, WritePlan};
use crate::scalar::Order;
use report::Operator;
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
    text.joined()
}

/// The second rung, before or after `transform`.
pub fn mir(query: &MirQuery, catalog: &Catalog) -> String {
    let mut text = Text::new(catalog);
    text.finish(&query.finishing);
    text.nested(|text| text.mir(&query.relation));
    text.joined()
}

/// The last rung: what runs.
pub fn plan(query: &Query, catalog: &Catalog) -> String {
    joined(&query_operators(query, catalog))
}

/// A write's last rung: the target, and the plan of its source.
pub fn write(write: &WritePlan, catalog: &Catalog) -> String {
    joined(&write_operators(write, catalog))
}

/// The last rung, operator by operator.
pub fn query_operators(query: &Query, catalog: &Catalog) -> Vec<Operator> {
    let mut text = Text::new(catalog);
    text.query(query);
    text.operators
}

/// The same of a write.
pub fn write_operators(write: &WritePlan, catalog: &Catalog) -> Vec<Operator> {
    let mut text = Text::new(catalog);
    let (verb, table) = match write {
        WritePlan::Insert(insert) => ("Insert into", insert.table),
        WritePlan::Update(update) => ("Update", update.table),
        WritePlan::Delete(delete) => ("Delete from", delete.table),
    };
    let table = text.relation(table);
    text.about = Some(table.clone());
    text.line(format_args!("{verb} {table}"));
    text.nested(|text| text.query(write.source()));
    text.operators
}

/// A plan, operator by operator.
pub fn plan_operators(plan: &Plan, catalog: &Catalog) -> Vec<Operator> {
    let mut text = Text::new(catalog);
    text.plan(plan);
    text.operators
}

/// A maintained plan, and how its rows are asked for.
pub fn read_operators(lifted: &Lifted, view: &str, catalog: &Catalog) -> Vec<Operator> {
    let mut text = Text::new(catalog);
    text.finish(&lifted.finishing);
    text.nested(|text| {
        if lifted.distinct {
            text.line(format_args!("Distinct"));
            text.nested(|text| text.read_view(lifted, view));
        } else {
            text.read_view(lifted, view);
        }
    });
    text.operators
}

impl Lifted {
    /// Which keys are asked for: `t.g = $1 and t.x = $2`.
    pub fn asked(&self) -> Option<String> {
        let one = |asked: &Vec<KeyValues>| {
            let named = self.key_names.iter().zip(asked).filter_map(|(name, values)| match values {
                KeyValues::One(value) => Some(format!("{name} = {}", expr::scalar(value))),
                KeyValues::Several(values) => Some(format!("{name} in ({})", expr::scalars(values))),
                KeyValues::Elements(array) => Some(format!("{name} = any ({})", expr::scalar(array))),
                KeyValues::Absent => None,
            });
            named.collect::<Vec<_>>().join(" and ")
        };
        let asked: Vec<String> = self.asked.iter().map(one).filter(|asked| !asked.is_empty()).collect();
        (!asked.is_empty()).then(|| asked.join(" or "))
    }
}

fn joined(operators: &[Operator]) -> String {
    let mut out = String::new();
    for operator in operators {
        let _ = writeln!(out, "{}{}", "  ".repeat(operator.depth), operator.text);
    }
    out
}

/// Text in the making.
struct Text<'a> {
    catalog: &'a Catalog,
    depth: usize,
    operators: Vec<Operator>,
    /// The plan that the next line is of.
    node: Option<usize>,
    /// The relation that the next line is about.
    about: Option<String>,
}

impl<'a> Text<'a> {
    fn new(catalog: &'a Catalog) -> Self {
        Text { catalog, depth: 0, operators: Vec::new(), node: None, about: None }
    }

    fn read_view(&mut self, lifted: &Lifted, view: &str) {
        self.about = Some(view.to_string());
        let keys = lifted.asked().map_or_else(String::new, |keys| format!(" by {keys}"));
        self.line(format_args!("Read view {view}{keys}"));
        self.nested(|text| text.plan(&lifted.view.plan));
    }

    fn line(&mut self, line: std::fmt::Arguments) {
        self.operators.push(Operator {
            depth: self.depth,
            text: line.to_string(),
            node: self.node.take(),
            relation: self.about.take(),
            actual: None,
            held: Vec::new(),
        });
    }

    fn joined(self) -> String {
        joined(&self.operators)
    }

    fn query(&mut self, query: &Query) {
        for (number, locking) in &query.locking {
            self.line(format_args!("First, as locked_rows({number})"));
            self.nested(|text| text.query(locking));
        }
        self.finish(&query.finishing);
        for lock in &query.locks {
            let table = self.relation(lock.table);
            let clause = lock.strength.words();
            self.nested(|text| text.line(format_args!("Lock {table} for {clause} by #{}", lock.key_column)));
        }
        self.nested(|text| text.plan(&query.plan));
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
        if !finishing.late.is_empty() {
            let _ = write!(notes, " then map ({})", expr::scalars(&finishing.late));
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
    match (catalog.table(id), crate::system::find_by_id(id)) {
        (Some(table), _) => table.name.clone(),
        (None, Some(relation)) => format!("{}.{}", relation.schema, relation.name),
        (None, None) => format!("relation {id}"),
    }
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
