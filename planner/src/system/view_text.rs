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
use crate::catalog::{Catalog, Scope, Table, View};
use crate::deparse::{Spelling, across, is_function, shown};
use crate::hir::{Hir, HirColumn, HirExpr, JoinKind};
use crate::resolve::{
    ShownBody, ShownCall, ShownItem, ShownJoin, ShownNames, ShownQuery, ShownSelect, ShownSet, ShownWindow, ShownWith,
    Subqueries, compared_with, same_query, shown_definition, shown_query,
};
use crate::scalar::aggregate::AggregateKind;
use crate::scalar::func::quote_identifier;
use crate::scalar::{AggregateCall, FrameBound, FrameExclusion, FrameUnit, ScalarExpr, WindowFrame};
use repr::{ColumnType, Datum, ScalarType};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// By how much a SELECT indents its clauses.
const STEP: usize = 8;
/// Indentation grows slowly from here on.
const INDENT_MAX: usize = 40;

/// A view's query as a session reads it; `pretty` leaves out parentheses that nobody needs.
pub(crate) fn view_text(view: &View, catalog: &Catalog, definition: &DefinitionText, pretty: bool) -> String {
    let (kept, reader) = (Scope::from(catalog), definition.scope());
    let written = shown_query(&view.query, kept).and_then(|(query, subqueries)| {
        let mut writer = ViewWriter {
            definition,
            subqueries: &subqueries,
            pretty,
            is_condition: false,
            out: String::new(),
            indent: 0,
            taken: BTreeSet::new(),
        };
        let columns = query.columns();
        writer.query(&query, Outputs { columns: Some(&columns), visible: true }, None)?;
        Some(writer.out)
    });
    let read = |text: &str, to: &ColumnType| definition.read(text, to);
    match written {
        Some(text) if same_query((&view.query, kept), (&text, reader), &read) => format!("{text};"),
        Some(_) | None => shown_definition(view, reader),
    }
}

/// A condition over a table's rows that reads other tables, as a policy has it: columns of the row stand without the table's name,
/// but in a subquery. None where something in it has no form.
pub(crate) fn condition_text(
    (table, text): (&Table, &str),
    scope: Scope<'_>,
    definition: &DefinitionText,
    pretty: bool,
) -> Option<String> {
    let over = |scope: Scope<'_>, text: &str| format!("SELECT 1 FROM {} WHERE {text}", scope.spelled_table(table));
    let kept = over(scope, text);
    let (query, subqueries) = shown_query(&kept, scope)?;
    let ShownBody::Select(select) = &query.body else { return None };
    let taken = BTreeSet::from([table.name.clone()]);
    let (out, indent) = (String::new(), 0);
    let writer = ViewWriter { definition, subqueries: &subqueries, pretty, is_condition: true, out, indent, taken };
    let names = Names { own: &select.names, renamed: &BTreeMap::new(), around: None };
    let written = writer.text(select.filter.as_ref()?, &names, false)?;
    let reader = definition.scope();
    let read = |text: &str, to: &ColumnType| definition.read(text, to);
    same_query((&kept, scope), (&over(reader, &written), reader), &read).then_some(written)
}

/// What a query's columns are called.
#[derive(Clone, Copy)]
struct Outputs<'n> {
    /// Other names than its own.
    columns: Option<&'n [String]>,
    /// Whether somebody sees them.
    visible: bool,
}

/// The names of a row, and of those around it.
struct Names<'n> {
    own: &'n ShownNames,
    /// Relations under another name than their own, which a query around this one has given away.
    renamed: &'n BTreeMap<String, String>,
    around: Option<&'n Names<'n>>,
}

/// The rows around a query, and which of its relations have other names.
type Around<'n> = (Option<&'n Names<'n>>, &'n BTreeMap<String, String>);

struct ViewWriter<'a> {
    definition: &'a DefinitionText,
    subqueries: &'a Subqueries,
    pretty: bool,
    /// Whether it is no query, but a condition over a table's row.
    is_condition: bool,
    out: String,
    indent: usize,
    /// The names of relations in the queries around.
    taken: BTreeSet<String>,
}

impl ViewWriter<'_> {
    /// None where something in it has no form.
    fn query(&mut self, query: &ShownQuery, outputs: Outputs<'_>, around: Option<&Names<'_>>) -> Option<()> {
        let (before, taken) = (self.indent, self.taken.clone());
        let renamed = match &query.body {
            ShownBody::Select(select) => self.take_names(&select.from),
            ShownBody::Set(_) => BTreeMap::new(),
        };
        if let Some(with) = &query.with {
            self.with(with, around)?;
        }
        match &query.body {
            ShownBody::Select(select) => self.select(select, outputs, (around, &renamed))?,
            ShownBody::Set(set) => {
                self.set(set, outputs, around)?;
                if !set.order.is_empty() {
                    self.clause(" ORDER BY ", 1);
                    let order = self.listed(&set.order, |_, (column, descending, nulls_first)| {
                        Some(format!("{column}{}", direction(*descending, *nulls_first)))
                    })?;
                    self.out.push_str(&order);
                }
            }
        }
        for (word, bound) in [(" OFFSET ", &query.offset), (" LIMIT ", &query.limit)] {
            if let Some(bound) = bound {
                self.clause(word, 0);
                self.expr(bound, &Names { own: &ShownNames::default(), renamed: &renamed, around }, false)?;
            }
        }
        (self.indent, self.taken) = (before, taken);
        Some(())
    }

    /// Names the relations of a FROM clause, those whose names are taken with a number behind.
    fn take_names(&mut self, items: &[ShownItem]) -> BTreeMap<String, String> {
        let mut names = Vec::new();
        items.iter().for_each(|item| item.names(&mut names));
        let mut renamed = BTreeMap::new();
        for name in names {
            let numbered = (1..).map(|number| format!("{name}_{number}"));
            let free = std::iter::once(name.clone()).chain(numbered).find(|name| !self.taken.contains(name));
            let Some(free) = free else { continue };
            self.taken.insert(free.clone());
            if free != name {
                renamed.insert(name, free);
            }
        }
        renamed
    }

    fn with(&mut self, with: &ShownWith, around: Option<&Names<'_>>) -> Option<()> {
        self.indent += STEP;
        self.out.push(' ');
        for (place, cte) in with.queries.iter().enumerate() {
            self.out.push_str(match (place, with.is_recursive) {
                (0, true) => "WITH RECURSIVE ",
                (0, false) => "WITH ",
                _ => ", ",
            });
            self.out.push_str(&quote_identifier(&cte.name));
            self.columns(&cte.columns);
            self.out.push_str(match cte.materialized {
                None => " AS (",
                Some(true) => " AS MATERIALIZED (",
                Some(false) => " AS NOT MATERIALIZED (",
            });
            self.line(self.indent);
            self.query(&cte.query, Outputs { columns: None, visible: true }, around)?;
            self.line(self.indent);
            self.out.push(')');
        }
        self.indent -= STEP;
        self.line(self.indent);
        Some(())
    }

    /// Other names of columns, if there are any.
    fn columns(&mut self, columns: &[String]) {
        if !columns.is_empty() {
            let columns: Vec<String> = columns.iter().map(|column| quote_identifier(column)).collect();
            self.out.push_str(&format!("({})", columns.join(", ")));
        }
    }

    fn set(&mut self, set: &ShownSet, outputs: Outputs<'_>, around: Option<&Names<'_>>) -> Option<()> {
        let is_like = |other: &ShownSet| other.operator == set.operator && other.all == set.all;
        let apart = nested_set(&set.left).is_some_and(|left| !is_like(left));
        self.operand(&set.left, apart, outputs, around)?;
        if !apart {
            self.line(self.indent);
        }
        self.out.push_str(set.operator);
        self.out.push_str(if set.all { " ALL " } else { " " });
        let outputs = Outputs { visible: false, ..outputs };
        if nested_set(&set.right).is_some() {
            return self.operand(&set.right, true, outputs, around);
        }
        self.line(self.indent);
        self.operand(&set.right, false, outputs, around)
    }

    /// A side of a set operation; another one stands `apart` further in.
    fn operand(
        &mut self,
        query: &ShownQuery,
        apart: bool,
        outputs: Outputs<'_>,
        around: Option<&Names<'_>>,
    ) -> Option<()> {
        if let Some(set) = nested_set(query) {
            if !apart {
                return self.set(set, outputs, around);
            }
            self.out.push('(');
            self.indent += STEP;
            self.line(self.indent);
            self.set(set, outputs, around)?;
            self.indent -= STEP;
            self.line(self.indent);
            self.out.push_str(") ");
            return Some(());
        }
        self.out.push_str(if query.is_finished() { "(" } else { "" });
        self.query(query, outputs, around)?;
        self.out.push_str(if query.is_finished() { ")" } else { "" });
        Some(())
    }

    fn select(
        &mut self,
        select: &ShownSelect,
        outputs: Outputs<'_>,
        (around, renamed): (Option<&Names<'_>>, &BTreeMap<String, String>),
    ) -> Option<()> {
        let names = &Names { own: &select.names, renamed, around };
        self.indent += STEP;
        self.out.push_str(" SELECT");
        match select.distinct.as_deref() {
            None => {}
            Some([]) => self.out.push_str(" DISTINCT"),
            Some(on) => {
                let on = self.listed(on, |writer, expr| writer.sort_key(expr, names))?;
                self.out.push_str(&format!(" DISTINCT ON ({on})"));
            }
        }
        self.outputs(select, outputs, names)?;
        self.from(&select.from, (around, renamed))?;
        if let Some(filter) = &select.filter {
            self.clause(" WHERE ", 1);
            self.expr(filter, names, false)?;
        }
        if !select.group.is_empty() {
            self.clause(" GROUP BY ", 1);
            let keys = self.listed(&select.group, |writer, expr| writer.sort_key(expr, names))?;
            self.out.push_str(&keys);
        }
        if let Some(having) = &select.having {
            self.clause(" HAVING ", 0);
            self.expr(having, names, false)?;
        }
        if !select.order.is_empty() {
            self.clause(" ORDER BY ", 1);
            let order = self.order(&select.order, names)?;
            self.out.push_str(&order);
        }
        Some(())
    }

    fn outputs(&mut self, select: &ShownSelect, outputs: Outputs<'_>, names: &Names<'_>) -> Option<()> {
        for (place, (expr, own)) in select.outputs.iter().enumerate() {
            self.out.push_str(if place > 0 { ", " } else { " " });
            let mut text = self.text(expr, names, true)?;
            let said = match expr {
                ScalarExpr::Column(column @ HirColumn::Column { .. }) => column_name(column, names),
                _ => None,
            };
            let name = outputs.columns.and_then(|columns| columns.get(place)).unwrap_or(own);
            if said.or((!outputs.visible).then_some("?column?")) != Some(name) {
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

    fn from(&mut self, items: &[ShownItem], around: Around<'_>) -> Option<()> {
        for (place, item) in items.iter().enumerate() {
            if place == 0 {
                self.clause(" FROM ", 2);
                self.from_item(item, around)?;
                continue;
            }
            self.out.push_str(", ");
            let before = std::mem::take(&mut self.out);
            self.from_item(item, around)?;
            let text = std::mem::replace(&mut self.out, before);
            self.item(&text, true);
        }
        Some(())
    }

    fn from_item(&mut self, item: &ShownItem, around: Around<'_>) -> Option<()> {
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
            ShownItem::Cte { name, called } => {
                self.out.push_str(&quote_identifier(name));
                called
            }
            ShownItem::Subquery { query, called } => {
                self.out.push('(');
                self.query(query, Outputs { columns: None, visible: true }, around.0)?;
                self.out.push(')');
                called
            }
            ShownItem::Join { left, right, kind, by, called } => {
                let apart = !self.pretty || called.alias.is_some();
                self.out.push_str(if apart { "(" } else { "" });
                self.join((left, right), *kind, by, around)?;
                self.out.push_str(if apart { ")" } else { "" });
                called
            }
        };
        let own = item.name();
        let other = own.and_then(|own| around.1.get(own));
        if let Some(alias) = other.or(called.alias.as_ref()) {
            self.out.push_str(&format!(" {}", quote_identifier(alias)));
        }
        self.columns(&called.columns);
        Some(())
    }

    fn join(
        &mut self,
        (left, right): (&ShownItem, &ShownItem),
        kind: JoinKind,
        by: &ShownJoin,
        around: Around<'_>,
    ) -> Option<()> {
        self.from_item(left, around)?;
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
        let apart = self.pretty && matches!(right, ShownItem::Join { called, .. } if called.alias.is_none());
        if apart {
            self.out.push('(');
        }
        self.from_item(right, around)?;
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
                self.expr(condition, &Names { own: names, renamed: around.1, around: around.0 }, false)?;
                self.out.push_str(if self.pretty { "" } else { ")" });
            }
        }
        Some(())
    }

    fn order(&self, order: &[(HirExpr, bool, bool)], names: &Names<'_>) -> Option<String> {
        self.listed(order, |writer, (expr, descending, nulls_first)| {
            Some(format!("{}{}", writer.sort_key(expr, names)?, direction(*descending, *nulls_first)))
        })
    }

    fn listed<T>(&self, items: &[T], text: impl Fn(&Self, &T) -> Option<String>) -> Option<String> {
        let items: Option<Vec<String>> = items.iter().map(|item| text(self, item)).collect();
        Some(items?.join(", "))
    }

    /// What rows are sorted or grouped by: what could be taken for something else is in parentheses.
    fn sort_key(&self, expr: &HirExpr, names: &Names<'_>) -> Option<String> {
        let text = self.text(expr, names, true)?;
        let bare = match expr {
            ScalarExpr::Column(column @ HirColumn::Column { .. }) => column_name(column, names).is_some(),
            ScalarExpr::Literal(..) => true,
            other => !self.pretty && !is_function(other),
        };
        Some(if bare { text } else { format!("({text})") })
    }

    /// A word that begins a line, `plus` blanks further in than the SELECT.
    fn clause(&mut self, word: &str, plus: usize) {
        self.line_plus(self.indent.saturating_sub(STEP), plus);
        self.out.push_str(word);
    }

    fn line(&mut self, level: usize) {
        self.line_plus(level, 0);
    }

    fn line_plus(&mut self, level: usize, plus: usize) {
        let level = if level < INDENT_MAX { level } else { (INDENT_MAX + (level - INDENT_MAX) / 4) % INDENT_MAX };
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', level + plus));
    }

    fn expr(&mut self, expr: &HirExpr, names: &Names<'_>, implicit: bool) -> Option<()> {
        let text = self.text(expr, names, implicit)?;
        self.item(&text, false);
        Some(())
    }

    fn text(&self, expr: &HirExpr, names: &Names<'_>, implicit: bool) -> Option<String> {
        let row = QueryRow { writer: self, names, is_unwritten: Cell::new(false) };
        let text = shown(expr, &row, (self.pretty, implicit), self.indent);
        (!row.is_unwritten.get()).then_some(text)
    }

    fn aggregate(&self, call: &AggregateCall<HirColumn>, names: &Names<'_>) -> Option<String> {
        match call.function.kind {
            AggregateKind::Summed(_) | AggregateKind::Extreme { .. } | AggregateKind::Listed(_) => {}
            AggregateKind::Placed(_) | AggregateKind::MostFrequent => return None,
        }
        let distinct = if call.distinct { "DISTINCT " } else { "" };
        let args = self.args(&call.args, call.function.name == "count", names)?;
        let mut text = format!("{}({distinct}{args}", quote_identifier(call.function.name));
        if !call.order_by.is_empty() {
            text.push_str(&format!(" ORDER BY {}", self.order(&call.order_by, names)?));
        }
        text.push(')');
        text.push_str(&self.filter(call.filter.as_ref(), names)?);
        Some(text)
    }

    fn window(&self, call: &ShownWindow, names: &Names<'_>) -> Option<String> {
        let args = self.args(&call.args, call.name == "count", names)?;
        let filter = self.filter(call.filter.as_ref(), names)?;
        let mut parts = Vec::new();
        if !call.partition.is_empty() {
            let keys = self.listed(&call.partition, |writer, key| writer.sort_key(key, names))?;
            parts.push(format!("PARTITION BY {keys}"));
        }
        if !call.order.is_empty() {
            parts.push(format!("ORDER BY {}", self.order(&call.order, names)?));
        }
        let frame = &call.frame;
        let is_usual = frame.unit == FrameUnit::Range
            && frame.start == FrameBound::UnboundedPreceding
            && frame.end == FrameBound::CurrentRow
            && frame.exclude == FrameExclusion::NoOthers;
        if !is_usual {
            parts.push(frame_text(frame)?);
        }
        Some(format!("{}({args}){filter} OVER ({})", quote_identifier(call.name), parts.join(" ")))
    }

    fn args(&self, args: &[HirExpr], counts: bool, names: &Names<'_>) -> Option<String> {
        match args {
            [] if counts => Some("*".to_owned()),
            args => self.listed(args, |writer, arg| writer.text(arg, names, true)),
        }
    }

    fn filter(&self, filter: Option<&HirExpr>, names: &Names<'_>) -> Option<String> {
        match filter {
            None => Some(String::new()),
            Some(filter) => Some(format!(" FILTER (WHERE {})", self.text(filter, names, false)?)),
        }
    }

    /// A subquery of an expression.
    fn subquery(&self, opening: &str, meaning: &Hir, names: &Names<'_>) -> Option<String> {
        let (_, query) = self.subqueries.iter().find(|(known, _)| known == meaning)?;
        let mut writer = ViewWriter { out: String::new(), taken: self.taken.clone(), ..*self };
        writer.query(query, Outputs { columns: None, visible: false }, Some(names))?;
        Some(format!("{opening}({})", writer.out))
    }
}

/// The set operation that a side of another one is.
fn nested_set(query: &ShownQuery) -> Option<&ShownSet> {
    match &query.body {
        ShownBody::Set(set) if !query.is_finished() => Some(set),
        ShownBody::Set(_) | ShownBody::Select(_) => None,
    }
}

fn direction(descending: bool, nulls_first: bool) -> &'static str {
    match (descending, nulls_first) {
        (false, false) => "",
        (false, true) => " NULLS FIRST",
        (true, true) => " DESC",
        (true, false) => " DESC NULLS LAST",
    }
}

/// The frame of a window; none where its ends are no whole numbers.
fn frame_text(frame: &WindowFrame) -> Option<String> {
    let unit = match frame.unit {
        FrameUnit::Rows => "ROWS",
        FrameUnit::Range => "RANGE",
        FrameUnit::Groups => "GROUPS",
    };
    let bound = |bound: &FrameBound| {
        Some(match bound {
            FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING".to_owned(),
            FrameBound::Preceding(offset) => format!("{} PRECEDING", offset.as_i64()?),
            FrameBound::CurrentRow => "CURRENT ROW".to_owned(),
            FrameBound::Following(offset) => format!("{} FOLLOWING", offset.as_i64()?),
            FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING".to_owned(),
        })
    };
    let exclude = match frame.exclude {
        FrameExclusion::NoOthers => "",
        FrameExclusion::CurrentRow => " EXCLUDE CURRENT ROW",
        FrameExclusion::Group => " EXCLUDE GROUP",
        FrameExclusion::Ties => " EXCLUDE TIES",
    };
    Some(format!("{unit} BETWEEN {} AND {}{exclude}", bound(&frame.start)?, bound(&frame.end)?))
}

/// The names of the row that a column is of.
fn row_of<'n>(level: usize, names: &'n Names<'n>) -> Option<&'n Names<'n>> {
    (0..level).try_fold(names, |names, _| names.around)
}

/// What a column of a row is called, if it is one.
fn column_name<'n>(column: &HirColumn, names: &'n Names<'n>) -> Option<&'n str> {
    let HirColumn::Column { level, index } = column else { return None };
    row_of(*level, names)?.own.column(*index).map(|(_, name, _)| name)
}

/// The row that a query's expressions stand over.
struct QueryRow<'w, 'a> {
    writer: &'w ViewWriter<'a>,
    names: &'w Names<'w>,
    /// Whether something had no form.
    is_unwritten: Cell<bool>,
}

impl QueryRow<'_, '_> {
    fn column_text(&self, column: &HirColumn) -> Option<String> {
        match column {
            HirColumn::Column { level, index } => {
                let names = row_of(*level, self.names)?;
                match names.own.call(*index) {
                    Some(ShownCall::Aggregate(call)) => self.writer.aggregate(call, names),
                    Some(ShownCall::Window(call)) => self.writer.window(call, names),
                    Some(ShownCall::Other) => None,
                    None => {
                        let (table, name, _) = names.own.column(*index)?;
                        let is_bare = self.writer.is_condition && self.names.around.is_none();
                        let table = table.filter(|_| !is_bare);
                        let table = table.map(|table| names.renamed.get(table).map_or(table, String::as_str));
                        let table = table.map_or_else(String::new, |table| format!("{}.", quote_identifier(table)));
                        Some(format!("{table}{}", quote_identifier(name)))
                    }
                }
            }
            HirColumn::Exists(relation) => {
                Some(format!("({})", self.writer.subquery("EXISTS ", relation, self.names)?))
            }
            HirColumn::Scalar(relation) => self.writer.subquery("", relation, self.names),
            HirColumn::ArrayOf(relation, _) => self.writer.subquery("ARRAY", relation, self.names),
            HirColumn::Any { relation, condition } => {
                let (left, symbol) = compared_with(condition)?;
                let left = self.writer.text(across(symbol, &left), self.names, true)?;
                let opening = if symbol == "=" { " IN ".to_owned() } else { format!(" {symbol} ANY ") };
                Some(format!("({left}{})", self.writer.subquery(&opening, relation, self.names)?))
            }
        }
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

    fn is_subquery(&self, column: &HirColumn) -> bool {
        !matches!(column, HirColumn::Column { .. })
    }

    fn column_type(&self, column: &HirColumn) -> ScalarType {
        let (level, index) = match column {
            HirColumn::Column { level, index } => (*level, *index),
            HirColumn::Exists(_) | HirColumn::Any { .. } => return ScalarType::Bool,
            HirColumn::Scalar(relation) => {
                return relation.types.first().map_or(ScalarType::Unknown, |only| only.scalar.clone());
            }
            HirColumn::ArrayOf(_, element) => return ScalarType::Array(Box::new(element.clone())),
        };
        let Some(names) = row_of(level, self.names) else { return ScalarType::Unknown };
        match names.own.call(index) {
            Some(ShownCall::Aggregate(call)) => call.result.clone(),
            Some(ShownCall::Window(call)) => call.result.clone(),
            Some(ShownCall::Other) => ScalarType::Unknown,
            None => names.own.column(index).map_or(ScalarType::Unknown, |(_, _, scalar)| scalar.clone()),
        }
    }

    fn type_name(&self, column_type: &ColumnType) -> String {
        self.writer.definition.type_name(column_type)
    }

    fn routine_name(&self, oid: repr::Id) -> String {
        self.writer.definition.routine_name(oid)
    }

    fn operator_name(&self, oid: repr::Id) -> String {
        self.writer.definition.operator_name(oid)
    }

    fn value(&self, datum: &Datum, scalar: &ScalarType) -> String {
        self.writer.definition.value(datum, scalar)
    }

    fn read(&self, text: &str, to: &ColumnType) -> Option<Datum> {
        self.writer.definition.read(text, to)
    }
}
