//! A view's query as `pg_get_viewdef` writes it: PostgreSQL's lines, and a name before each column.
//!
//! ```text
//!  SELECT people.id,
//!     count(*) AS many
//!    FROM (people
//!      JOIN notes ON ((notes.author = people.id)))
//!   WHERE (people.id > 10)
//!   GROUP BY people.id;
//! ```
//! What it writes is read again, and shown only if it means what is kept; what has no form here is shown as it is kept.

use super::definition_text::DefinitionText;
use crate::catalog::{Catalog, Scope, View};
use crate::deparse::{Spelling, is_function, shown};
use crate::hir::{HirColumn, HirExpr, JoinKind};
use crate::resolve::{ShownItem, ShownJoin, ShownNames, ShownQuery, same_query, shown_definition, shown_query};
use crate::scalar::aggregate::AggregateKind;
use crate::scalar::func::quote_identifier;
use crate::scalar::{AggregateCall, ScalarExpr};
use repr::{ColumnType, Datum, ScalarType};
use std::cell::Cell;

/// By how much a SELECT indents its clauses.
const STEP: usize = 8;
/// Indentation grows slowly from here on.
const INDENT_MAX: usize = 40;

/// A view's query as a session reads it; `pretty` leaves out parentheses that nobody needs.
pub(crate) fn view_text(view: &View, catalog: &Catalog, definition: &DefinitionText, pretty: bool) -> String {
    let (kept, reader) = (Scope::from(catalog), definition.scope());
    let written = shown_query(&view.query, kept).and_then(|query| {
        let mut writer = ViewWriter { definition, pretty, out: String::new(), indent: 0 };
        writer.query(&query)?;
        Some(writer.out)
    });
    let read = |text: &str, to: &ColumnType| definition.read(text, to);
    match written {
        Some(text) if same_query((&view.query, kept), (&text, reader), &read) => format!("{text};"),
        Some(_) | None => shown_definition(view, reader),
    }
}

struct ViewWriter<'a> {
    definition: &'a DefinitionText,
    pretty: bool,
    out: String,
    indent: usize,
}

impl ViewWriter<'_> {
    /// None where something in it has no form.
    fn query(&mut self, query: &ShownQuery) -> Option<()> {
        let names = &query.names;
        self.indent += STEP;
        self.out.push_str(" SELECT");
        match query.distinct.as_deref() {
            None => {}
            Some([]) => self.out.push_str(" DISTINCT"),
            Some(on) => {
                let on = self.listed(on, |writer, expr| writer.sort_key(expr, names))?;
                self.out.push_str(&format!(" DISTINCT ON ({on})"));
            }
        }
        self.outputs(query)?;
        self.from(&query.from)?;
        if let Some(filter) = &query.filter {
            self.clause(" WHERE ", 1);
            self.expr(filter, names, false)?;
        }
        if !query.group.is_empty() {
            self.clause(" GROUP BY ", 1);
            let keys = self.listed(&query.group, |writer, expr| writer.sort_key(expr, names))?;
            self.out.push_str(&keys);
        }
        if let Some(having) = &query.having {
            self.clause(" HAVING ", 0);
            self.expr(having, names, false)?;
        }
        if !query.order.is_empty() {
            self.clause(" ORDER BY ", 1);
            let order = self.order(&query.order, names)?;
            self.out.push_str(&order);
        }
        for (word, bound) in [(" OFFSET ", &query.offset), (" LIMIT ", &query.limit)] {
            if let Some(bound) = bound {
                self.clause(word, 0);
                self.expr(bound, &ShownNames::default(), false)?;
            }
        }
        self.indent -= STEP;
        Some(())
    }

    fn outputs(&mut self, query: &ShownQuery) -> Option<()> {
        for (place, (expr, name)) in query.outputs.iter().enumerate() {
            self.out.push_str(if place > 0 { ", " } else { " " });
            let mut text = self.text(expr, &query.names, true)?;
            let own = match expr {
                ScalarExpr::Column(HirColumn::Column { level: 0, index }) => query.names.column(*index),
                _ => None,
            };
            if own.is_none_or(|(_, own, _)| own != name) {
                text.push_str(&format!(" AS {}", quote_identifier(name)));
            }
            self.item(&text, place > 0);
        }
        Some(())
    }

    /// An item of a list: on a line of its own, unless it is the first or begins one itself.
    fn item(&mut self, text: &str, breaks: bool) {
        if text.starts_with('\n') {
            self.out.truncate(self.out.trim_end_matches(' ').len());
        } else if breaks {
            self.clause("", 4);
        }
        self.out.push_str(text);
    }

    fn from(&mut self, items: &[ShownItem]) -> Option<()> {
        for (place, item) in items.iter().enumerate() {
            if place == 0 {
                self.clause(" FROM ", 2);
                self.from_item(item)?;
                continue;
            }
            self.out.push_str(", ");
            let before = std::mem::take(&mut self.out);
            self.from_item(item)?;
            let text = std::mem::replace(&mut self.out, before);
            self.item(&text, true);
        }
        Some(())
    }

    fn from_item(&mut self, item: &ShownItem) -> Option<()> {
        let called = match item {
            ShownItem::Relation { id, name, schema, called } => {
                let name = match (self.definition.relation(*id), schema.as_deref()) {
                    (Some(spelled), _) => spelled,
                    (None, None | Some("pg_catalog")) => quote_identifier(name),
                    (None, Some(schema)) => format!("{}.{}", quote_identifier(schema), quote_identifier(name)),
                };
                self.out.push_str(&name);
                called
            }
            ShownItem::Subquery { query, called } => {
                self.out.push('(');
                self.query(query)?;
                self.out.push(')');
                called
            }
            ShownItem::Join { left, right, kind, by } => return self.join(left, right, *kind, by),
        };
        if let Some(alias) = &called.alias {
            self.out.push_str(&format!(" {}", quote_identifier(alias)));
        }
        if !called.columns.is_empty() {
            let columns: Vec<String> = called.columns.iter().map(|column| quote_identifier(column)).collect();
            self.out.push_str(&format!("({})", columns.join(", ")));
        }
        Some(())
    }

    fn join(&mut self, left: &ShownItem, right: &ShownItem, kind: JoinKind, by: &ShownJoin) -> Option<()> {
        if !self.pretty {
            self.out.push('(');
        }
        self.from_item(left)?;
        self.clause(
            match (kind, by) {
                (JoinKind::Inner, ShownJoin::Cross) => " CROSS JOIN ",
                (JoinKind::Inner, ShownJoin::Using(_) | ShownJoin::On(..)) => " JOIN ",
                (JoinKind::Left, _) => " LEFT JOIN ",
                (JoinKind::Right, _) => " RIGHT JOIN ",
                (JoinKind::Full, _) => " FULL JOIN ",
            },
            4,
        );
        let apart = self.pretty && matches!(right, ShownItem::Join { .. });
        if apart {
            self.out.push('(');
        }
        self.from_item(right)?;
        if apart {
            self.out.push(')');
        }
        match by {
            ShownJoin::Cross => {}
            ShownJoin::Using(names) => {
                let names: Vec<String> = names.iter().map(|name| quote_identifier(name)).collect();
                self.out.push_str(&format!(" USING ({})", names.join(", ")));
            }
            ShownJoin::On(condition, names) => {
                self.out.push_str(if self.pretty { " ON " } else { " ON (" });
                self.expr(condition, names, false)?;
                self.out.push_str(if self.pretty { "" } else { ")" });
            }
        }
        if !self.pretty {
            self.out.push(')');
        }
        Some(())
    }

    fn order(&self, order: &[(HirExpr, bool, bool)], names: &ShownNames) -> Option<String> {
        self.listed(order, |writer, (expr, descending, nulls_first)| {
            let key = writer.sort_key(expr, names)?;
            let direction = if *descending { " DESC" } else { "" };
            let nulls = match (*descending, *nulls_first) {
                (false, true) => " NULLS FIRST",
                (true, false) => " NULLS LAST",
                (false, false) | (true, true) => "",
            };
            Some(format!("{key}{direction}{nulls}"))
        })
    }

    fn listed<T>(&self, items: &[T], text: impl Fn(&Self, &T) -> Option<String>) -> Option<String> {
        let items: Option<Vec<String>> = items.iter().map(|item| text(self, item)).collect();
        Some(items?.join(", "))
    }

    /// What rows are sorted or grouped by: what could be taken for something else is in parentheses.
    fn sort_key(&self, expr: &HirExpr, names: &ShownNames) -> Option<String> {
        let text = self.text(expr, names, true)?;
        let bare = match expr {
            ScalarExpr::Column(HirColumn::Column { level: 0, index }) => names.aggregate(*index).is_none(),
            ScalarExpr::Literal(..) => true,
            other => !self.pretty && !is_function(other),
        };
        Some(if bare { text } else { format!("({text})") })
    }

    /// A word that begins a line, `plus` blanks further in than the SELECT.
    fn clause(&mut self, word: &str, plus: usize) {
        let level = self.indent.saturating_sub(STEP);
        let level = if level < INDENT_MAX { level } else { (INDENT_MAX + (level - INDENT_MAX) / 4) % INDENT_MAX };
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', level + plus));
        self.out.push_str(word);
    }

    fn expr(&mut self, expr: &HirExpr, names: &ShownNames, implicit: bool) -> Option<()> {
        let text = self.text(expr, names, implicit)?;
        self.item(&text, false);
        Some(())
    }

    fn text(&self, expr: &HirExpr, names: &ShownNames, implicit: bool) -> Option<String> {
        let row = QueryRow { writer: self, names, is_unwritten: Cell::new(false) };
        let text = shown(expr, &row, (self.pretty, implicit), self.indent);
        (!row.is_unwritten.get()).then_some(text)
    }

    fn aggregate(&self, call: &AggregateCall<HirColumn>, names: &ShownNames) -> Option<String> {
        match call.function.kind {
            AggregateKind::Summed(_) | AggregateKind::Extreme { .. } | AggregateKind::Listed(_) => {}
            AggregateKind::Placed(_) | AggregateKind::MostFrequent => return None,
        }
        let args = match call.args.is_empty() {
            true => "*".to_owned(),
            false => self.listed(&call.args, |writer, arg| writer.text(arg, names, true))?,
        };
        let distinct = if call.distinct { "DISTINCT " } else { "" };
        let mut text = format!("{}({distinct}{args}", quote_identifier(call.function.name));
        if !call.order_by.is_empty() {
            text.push_str(&format!(" ORDER BY {}", self.order(&call.order_by, names)?));
        }
        text.push(')');
        if let Some(filter) = &call.filter {
            text.push_str(&format!(" FILTER (WHERE {})", self.text(filter, names, false)?));
        }
        Some(text)
    }
}

/// The row that a query's expressions stand over.
struct QueryRow<'w, 'a> {
    writer: &'w ViewWriter<'a>,
    names: &'w ShownNames,
    /// Whether something had no form.
    is_unwritten: Cell<bool>,
}

impl QueryRow<'_, '_> {
    fn column_text(&self, column: &HirColumn) -> Option<String> {
        let HirColumn::Column { level: 0, index } = column else { return None };
        if let Some(call) = self.names.aggregate(*index) {
            return self.writer.aggregate(call, self.names);
        }
        let (table, name, _) = self.names.column(*index)?;
        let table = table.map_or_else(String::new, |table| format!("{}.", quote_identifier(table)));
        Some(format!("{table}{}", quote_identifier(name)))
    }
}

impl Spelling<HirColumn> for QueryRow<'_, '_> {
    fn column(&self, column: &HirColumn) -> String {
        let text = self.column_text(column);
        if text.is_none() {
            self.is_unwritten.set(true);
        }
        text.unwrap_or_default()
    }

    fn column_type(&self, column: &HirColumn) -> ScalarType {
        let HirColumn::Column { level: 0, index } = column else { return ScalarType::Unknown };
        match self.names.aggregate(*index) {
            Some(call) => call.result.clone(),
            None => self.names.column(*index).map_or(ScalarType::Unknown, |(_, _, scalar)| scalar.clone()),
        }
    }

    fn type_name(&self, column_type: &ColumnType) -> String {
        self.writer.definition.type_name(column_type)
    }

    fn value(&self, datum: &Datum, scalar: &ScalarType) -> String {
        self.writer.definition.value(datum, scalar)
    }

    fn read(&self, text: &str, to: &ColumnType) -> Option<Datum> {
        self.writer.definition.read(text, to)
    }
}
