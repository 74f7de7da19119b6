//! EXPLAIN: indented text for the rungs of a query, stable enough for golden tests.
//!
//! One operator a line, inputs indented below. Columns go by the names that the query has for them (`f.owner`), qualified
//! where it reads more than one relation; what is computed is shown as what computes it, or by its name: the query's
//! (`total`), or where it has none and needs one, `computed` or, of a row that is looked for, `found`. A row key is `ctid`.
//! Expressions are written as PostgreSQL writes them. Shows no value that the user did not write, and no stored row.

mod column;
mod conflict;
mod document;
mod expression;
mod hir;
mod mir;
mod plan;
pub mod report;

use crate::catalog::Catalog;
use crate::hir::{CteId, HirQuery, OutputColumn};
use crate::lift::{KeyValues, Lifted, RankEnd, RankRange};
use crate::lower::MirQuery;
use crate::names::Names;
use crate::plan::{Finishing, InsertPlan, LocalId, LockingQuery, Plan, Query, WithPart, WithPlan, WritePlan};
use column::{Columns, Leaf, all_over, chosen, ordered, over};
use expression::{Phrase, Piece, Voice};
use mir::bounds;
use report::OperatorLine;
use repr::{IndexId, RelationId};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The first rung: names and types resolved, subqueries inside.
pub fn hir(query: &HirQuery, catalog: &Catalog) -> String {
    let mut text = Text::new(catalog);
    let columns: Vec<String> = query.columns.iter().map(|column| column.name.clone()).collect();
    let line = text.open();
    text.lines[line].phrase = Phrase::of(format!("Query ({})", columns.join(", ")));
    let finished = !query.order_by.is_empty() || query.limit.is_some() || query.offset.is_some();
    text.nested(|text| {
        let line = finished.then(|| text.open());
        let columns = text.hir(&query.relation, &[]);
        Columns::outputs(chosen(&columns, &query.project).iter().zip(labels(&query.columns)));
        if let Some(line) = line {
            let phrase = by_order(Phrase::of("Finish"), &columns, &query.order_by);
            text.lines[line].phrase = text.hir_bounds(phrase, query.limit.as_ref(), query.offset.as_ref(), &[]);
        }
    });
    joined(&text.operators())
}

/// The second rung, before or after `transform`.
pub fn mir(query: &MirQuery, catalog: &Catalog) -> String {
    let mut text = Text::new(catalog);
    let line = text.open();
    let columns = text.nested(|text| text.mir(&query.relation));
    text.finish(line, &query.finishing, &query.columns, columns);
    joined(&text.operators())
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
pub fn query_operators(query: &Query, catalog: &Catalog) -> Vec<OperatorLine> {
    let mut text = Text::new(catalog);
    text.query(query, &query.columns);
    text.operators()
}

/// The same of a write.
pub fn write_operators(write: &WritePlan, catalog: &Catalog) -> Vec<OperatorLine> {
    let mut text = Text::new(catalog);
    let (verb, table) = match write {
        WritePlan::Insert(insert) => ("Insert into", insert.table),
        WritePlan::Update(update) => ("Update", update.table),
        WritePlan::Delete(delete) => ("Delete from", delete.table),
        WritePlan::Merge(merge) => ("Merge on", merge.table),
    };
    let line = text.open();
    text.lines[line].relation = Some(text.relation_name(table));
    // What is stored has the table's names, not the source's.
    text.nested(|text| text.query(write.source(), &[]));
    let mut besides = Vec::new();
    for beside in write.besides() {
        let line = text.open();
        text.lines[line].phrase = Phrase::of(format!("Beside rows_at_hand({})", beside.number));
        besides.push((beside.number, text.nested(|text| text.query(&beside.query, &beside.query.columns))));
    }
    let phrase = Phrase::of(format!("{verb} {}", text.spelled(table)));
    text.lines[line].phrase = match write {
        WritePlan::Insert(InsertPlan { on_conflict: Some(conflict), .. }) => {
            text.conflict(phrase, table, conflict, &besides)
        }
        WritePlan::Insert(_) | WritePlan::Update(_) | WritePlan::Delete(_) | WritePlan::Merge(_) => phrase,
    };
    text.operators()
}

/// The same of a statement whose WITH writes: part by part, in the order in which they are run.
pub fn with_operators(with: &WithPlan, catalog: &Catalog) -> Vec<OperatorLine> {
    let mut operators = Vec::new();
    for part in &with.parts {
        match part {
            WithPart::Query(query) => operators.extend(query_operators(query, catalog)),
            WithPart::Main(write) => operators.extend(write_operators(write, catalog)),
            WithPart::Write { number, plan, .. } => {
                let mut write = write_operators(plan, catalog);
                if let Some(line) = write.first_mut() {
                    line.text += &format!(" giving returned_rows({number})");
                }
                operators.extend(write);
            }
        }
    }
    operators
}

/// A plan, operator by operator.
pub fn plan_operators(plan: &Plan, catalog: &Catalog) -> Vec<OperatorLine> {
    let mut text = Text::new(catalog);
    text.plan(plan);
    text.operators()
}

/// A maintained plan, and how its rows are asked for.
pub struct ViewRead {
    /// Its operators.
    pub operators: Vec<OperatorLine>,
    /// What its key's columns are called.
    pub keys: Vec<String>,
}

/// How a query whose result has these columns reads a view.
pub fn view_read(lifted: &Lifted, columns: &[OutputColumn], view: &str, catalog: &Catalog) -> ViewRead {
    let mut text = Text::new(catalog);
    let finish = text.open();
    let leaves = text.nested(|text| {
        if !lifted.distinct {
            return text.read_view(lifted, view);
        }
        let line = text.open();
        text.lines[line].phrase = Phrase::of("Distinct");
        text.nested(|text| text.read_view(lifted, view))
    });
    let keys: Vec<Phrase> =
        chosen(&leaves, &lifted.key).into_iter().map(|leaf| Phrase(vec![Piece::Name(leaf)])).collect();
    text.finish(finish, &lifted.finishing, columns, leaves);
    let voice = text.voice();
    let keys = keys.iter().map(|key| voice.phrase(key)).collect();
    ViewRead { operators: text.operators(), keys }
}

/// Which keys are asked for: `t.g = $1 and t.x = $2`.
fn asked(lifted: &Lifted, key: &[Leaf]) -> Option<Phrase> {
    let mut phrase = Phrase::default();
    for asked in &lifted.asked {
        let mut word = if phrase.0.is_empty() { "" } else { " or " };
        for (leaf, values) in key.iter().zip(asked) {
            let named = |phrase: Phrase, word: &str| phrase.text(word).piece(Piece::Name(leaf.clone()));
            phrase = match values {
                KeyValues::One(value) => named(phrase, word).text(" = ").piece(Piece::Expr(over(value, &[]))),
                KeyValues::Several(values) => {
                    let values = all_over(values, &[]).into_iter().map(Piece::Expr);
                    named(phrase, word).text(" in (").list(values).text(")")
                }
                KeyValues::Elements(array) => {
                    named(phrase, word).text(" = any (").piece(Piece::Expr(over(array, &[]))).text(")")
                }
                KeyValues::Ranks(RankRange { first, last, held: _ }) => {
                    let ranks = |phrase: Phrase, word: &str, sign: &str, end: &RankEnd| {
                        let sign = if end.inclusive { format!(" {sign}= ") } else { format!(" {sign} ") };
                        named(phrase, word).text(sign).piece(Piece::Expr(over(&end.value, &[])))
                    };
                    match first {
                        Some(first) if first == last => ranks(phrase, word, "", last),
                        Some(first) => ranks(ranks(phrase, word, ">", first), " and ", "<", last),
                        None => ranks(phrase, word, "<", last),
                    }
                }
                KeyValues::Absent => continue,
            };
            word = " and ";
        }
    }
    (!phrase.0.is_empty()).then_some(phrase)
}

fn joined(operators: &[OperatorLine]) -> String {
    let mut out = String::new();
    for operator in operators {
        let _ = writeln!(out, "{}{}", "  ".repeat(operator.depth), operator.text);
    }
    out
}

fn labels(columns: &[OutputColumn]) -> impl Iterator<Item = &str> {
    columns.iter().map(|column| column.name.as_str())
}

fn by_order(phrase: Phrase, columns: &[Leaf], order: &[crate::scalar::Order]) -> Phrase {
    match ordered(columns, order).as_slice() {
        [] => phrase,
        order => phrase.text(" order by ").order(order),
    }
}

/// A line whose columns may get their names yet.
struct Line {
    depth: usize,
    phrase: Phrase,
    /// The plan that it is of.
    node: Option<usize>,
    /// The relation that it is about.
    relation: Option<String>,
    /// The FROM item that this relation is.
    item: Option<usize>,
}

/// Text in the making.
struct Text<'a> {
    catalog: &'a Catalog,
    columns: Columns<'a>,
    depth: usize,
    lines: Vec<Line>,
    /// The columns of locals in scope.
    locals: BTreeMap<LocalId, Vec<Leaf>>,
    /// The columns of common table expressions in scope.
    ctes: BTreeMap<CteId, Vec<Leaf>>,
}

impl<'a> Text<'a> {
    fn new(catalog: &'a Catalog) -> Self {
        let (columns, locals, ctes) = (Columns::new(catalog), BTreeMap::new(), BTreeMap::new());
        Text { catalog, columns, depth: 0, lines: Vec::new(), locals, ctes }
    }

    /// A line, whose words come when those below are known.
    fn open(&mut self) -> usize {
        let (depth, phrase) = (self.depth, Phrase::default());
        self.lines.push(Line { depth, phrase, node: None, relation: None, item: None });
        self.lines.len() - 1
    }

    fn nested<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        self.depth += 1;
        let made = body(self);
        self.depth -= 1;
        made
    }

    fn read_view(&mut self, lifted: &Lifted, view: &str) -> Vec<Leaf> {
        let line = self.open();
        let columns = self.nested(|text| text.plan(&lifted.view.plan));
        let phrase = Phrase::of(format!("Read view {view}"));
        self.lines[line].relation = Some(view.to_string());
        self.lines[line].phrase = match asked(lifted, &chosen(&columns, &lifted.key)) {
            Some(mut keys) => {
                let mut phrase = phrase.text(" by ");
                phrase.0.append(&mut keys.0);
                phrase
            }
            None => phrase,
        };
        columns
    }

    /// A query, and the columns of its result.
    fn query(&mut self, query: &Query, outputs: &[OutputColumn]) -> Vec<Leaf> {
        for LockingQuery { number, query, groups } in &query.locking {
            let line = self.open();
            let of_each = if groups.is_some() { " of each row" } else { "" };
            self.lines[line].phrase = Phrase::of(format!("First{of_each}, as locked_rows({number})"));
            self.nested(|text| text.query(query, &query.columns));
        }
        let finish = self.open();
        let locks: Vec<usize> = query.locks.iter().map(|_| self.nested(Self::open)).collect();
        let columns = self.nested(|text| text.plan(&query.plan));
        for (line, lock) in locks.into_iter().zip(&query.locks) {
            let words = format!("Lock {} for {} by ", self.spelled(lock.table), lock.strength.words());
            let key = chosen(&columns, &[lock.key_column]);
            self.lines[line].phrase = Phrase::of(words).list(key.into_iter().map(Piece::Name));
        }
        self.finish(finish, &query.finishing, outputs, columns)
    }

    /// Order, limits and projection of rows with these columns; what is left of them.
    fn finish(
        &mut self,
        line: usize,
        finishing: &Finishing,
        outputs: &[OutputColumn],
        mut columns: Vec<Leaf>,
    ) -> Vec<Leaf> {
        let arity = columns.len();
        for late in &finishing.late {
            let leaf = self.columns.mapped(over(late, &columns));
            columns.push(leaf);
        }
        let output = chosen(&columns, &finishing.project);
        Columns::outputs(output.iter().zip(labels(outputs)));
        let phrase = by_order(Phrase::of("Finish"), &columns, &finishing.order_by);
        let mut phrase = bounds(phrase, finishing.limit.as_ref(), finishing.offset.as_ref());
        if !finishing.late.is_empty() {
            phrase = phrase.text(" then map ").made(columns[arity..].iter().cloned().map(Piece::Made));
        }
        let mut labels = labels(outputs);
        let pieces = output.iter().cloned().map(|leaf| match labels.next() {
            Some(label) => Piece::Output(leaf, label.to_owned()),
            None => Piece::Name(leaf),
        });
        self.lines[line].phrase = phrase.text(" output ").made(pieces);
        output
    }

    /// A relation and, if it is another, the name of the FROM item that it is.
    fn relation(&mut self, (id, names): (RelationId, &Names), phrase: Phrase) -> Phrase {
        let item = self.columns.stored_item(id, names);
        let own = self.catalog.table(id).map_or_else(
            || crate::system::find_by_id(id).map_or_else(String::new, |system| system.name.to_owned()),
            |table| table.name.clone(),
        );
        phrase.text(self.spelled(id)).piece(Piece::Item(item, own))
    }

    /// What is no stored relation, under the name that the query has for it.
    fn called(&mut self, phrase: Phrase, names: &Names) -> Phrase {
        match self.columns.named_item(names) {
            Some(item) => phrase.piece(Piece::Item(item, String::new())),
            None => phrase,
        }
    }

    fn relation_name(&self, id: RelationId) -> String {
        shown_relation(self.catalog, id)
    }

    fn spelled(&self, id: RelationId) -> String {
        relation_name(self.catalog, id, crate::scalar::func::quote_identifier)
    }

    fn index(&self, table: RelationId, id: IndexId) -> String {
        let index = self.catalog.table(table).and_then(|table| table.index(id));
        let name = |index: &crate::catalog::Index| crate::scalar::func::quote_identifier(&index.name);
        index.map_or_else(|| format!("index {id}"), |index| format!("index {}", name(index)))
    }

    fn voice(&self) -> Voice<'a> {
        Voice::new(&self.columns, self.catalog)
    }

    /// The lines, now that all names are known.
    fn operators(self) -> Vec<OperatorLine> {
        let voice = self.voice();
        let operator = |line: &Line| OperatorLine {
            depth: line.depth,
            text: voice.phrase(&line.phrase),
            node: line.node,
            alias: line.item.and_then(|item| voice.item(item)).map(str::to_owned),
            relation: line.relation.clone(),
            foreseen: report::Foreseen::default(),
            actual: None,
            held: Vec::new(),
        };
        self.lines.iter().map(operator).collect()
    }
}

/// What an operator's relation is called.
pub fn shown_relation(catalog: &Catalog, id: RelationId) -> String {
    relation_name(catalog, id, str::to_owned)
}

fn relation_name(catalog: &Catalog, id: RelationId, write: impl Fn(&str) -> String) -> String {
    match (catalog.table(id), crate::system::find_by_id(id)) {
        (Some(table), _) => match catalog.namespaces.get(&table.namespace) {
            Some(found) if found.name != "public" => format!("{}.{}", write(&found.name), write(&table.name)),
            Some(_) | None => write(&table.name),
        },
        (None, Some(relation)) => format!("{}.{}", relation.schema, relation.name),
        (None, None) => format!("relation {id}"),
    }
}
