//! What the text of a view names, and where: what it depends on, and how its names can be qualified or renamed.
//!
//! Kept only while a view is defined. A mention is a hint for rewriting a text; the rewritten text counts
//! only if it resolves to the same relation.

use super::scope::{Frame, Visible};
use super::{Resolver, Typed};
use crate::hir::{HirColumn, HirExpr};
use crate::ownership::quote_identifier;
use repr::{ColumnIndex, RelationId};
use sqlparser::ast::Ident;
use sqlparser::tokenizer::Span;
use std::collections::{BTreeMap, BTreeSet};

/// What a query names.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// Names in the text, in no particular order, some twice.
    pub(super) mentions: Vec<Mention>,
    /// Tables and views with the physical columns that are used.
    pub(super) reads: BTreeMap<RelationId, BTreeSet<ColumnIndex>>,
    /// Tables by whose primary key the query groups, with columns that depend on it.
    pub(super) primary_keys: BTreeSet<RelationId>,
}

impl Trace {
    /// What a text within reads is read by this one.
    pub(super) fn reads_more(&mut self, other: Trace) {
        for (relation, columns) in other.reads {
            self.reads.entry(relation).or_default().extend(columns);
        }
        self.primary_keys.extend(other.primary_keys);
    }
}

/// A name in the text.
#[derive(Clone, Debug)]
pub(super) struct Mention {
    /// Where.
    pub(super) span: Span,
    /// What it means.
    pub(super) meaning: Meaning,
}

/// What a name means.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    /// A table or view in FROM; without an alias it names its columns too. `whole` is the name with all that stands before it.
    Relation { id: RelationId, aliased: bool, whole: Span },
    /// A column. `origin` is set where a table's own name for it was written; `qualifier` where none was.
    Column { name: String, origin: Option<(RelationId, ColumnIndex)>, qualifier: Option<String>, is_output: bool },
    /// `*`, and the columns that it stands for, as they can be written.
    Star(Vec<String>),
    /// A table before a column, with its schema before it; its name.
    Qualifier(String),
}

impl Resolver<'_> {
    /// A relation of FROM, by its name.
    pub(super) fn trace_relation(&mut self, span: Span, whole: Span, id: RelationId, aliased: bool) {
        if let Some(trace) = &mut self.trace {
            trace.reads.entry(id).or_default();
            trace.mentions.push(Mention { span, meaning: Meaning::Relation { id, aliased, whole } });
        }
    }

    /// A stored column that is used, by whatever name.
    pub(super) fn trace_read(&mut self, origin: Option<(RelationId, usize)>) {
        if let (Some(trace), Some((relation, column))) = (&mut self.trace, origin)
            && let Some(columns) = trace.reads.get_mut(&relation)
        {
            columns.insert(column);
        }
    }

    /// A column by its unqualified (`is_bare`) or qualified name.
    pub(super) fn trace_column(&mut self, ident: &Ident, name: &str, column: &Typed, is_bare: bool) {
        if self.trace.is_none() {
            return;
        }
        let HirExpr::Column(HirColumn::Column { level, index }) = column.expr else { return };
        let Some(frame) = self.frames.iter().rev().nth(level) else { return };
        let (table, origin) = holder(frame, name, index);
        let qualifier = if is_bare { table } else { None };
        let meaning = Meaning::Column { name: name.to_owned(), origin, qualifier, is_output: false };
        if let Some(trace) = &mut self.trace {
            trace.mentions.push(Mention { span: ident.span, meaning });
        }
    }

    /// `schema.table` before a column.
    pub(super) fn trace_qualifier(&mut self, qualifier: &[Ident], table: &str) {
        if let (Some(trace), [first, .., last]) = (&mut self.trace, qualifier) {
            let meaning = Meaning::Qualifier(table.to_owned());
            trace.mentions.push(Mention { span: Span::new(first.span.start, last.span.end), meaning });
        }
    }

    /// The column that was just traced is an output by itself, and names it.
    pub(super) fn trace_output(&mut self) {
        if let Some(trace) = &mut self.trace
            && let Some(Mention { meaning: Meaning::Column { is_output, .. }, .. }) = trace.mentions.last_mut()
        {
            *is_output = true;
        }
    }

    /// `*` or `table.*` over the innermost frame.
    pub(super) fn trace_star(&mut self, span: Span, columns: &[Visible]) {
        let Some(frame) = self.frames.last() else { return };
        if self.trace.is_none() {
            return;
        }
        let written = columns
            .iter()
            .map(|column| {
                let name = quote_identifier(&column.name);
                holder(frame, &column.name, column.index)
                    .0
                    .map_or(name.clone(), |table| format!("{}.{name}", quote_identifier(&table)))
            })
            .collect();
        if let Some(trace) = &mut self.trace {
            trace.mentions.push(Mention { span, meaning: Meaning::Star(written) });
        }
    }

    /// `(row).*`, at that place, as its fields can be written.
    pub(super) fn trace_expanded(&mut self, span: Span, fields: &[(String, Typed)]) {
        let Some(trace) = &mut self.trace else { return };
        let whole = self.positions.text(span);
        let row = whole.trim_end_matches('*').trim_end().trim_end_matches('.');
        let written = fields.iter().map(|(name, _)| format!("{row}.{}", quote_identifier(name))).collect();
        // What is named within is written with each field.
        let within = |other: &Span| span.start <= other.start && other.end <= span.end;
        trace.mentions.retain(|mention| !within(&mention.span));
        trace.mentions.push(Mention { span, meaning: Meaning::Star(written) });
    }

    /// A primary key on which columns of a grouped query depend.
    pub(super) fn trace_primary_key(&mut self, table: RelationId) {
        if let Some(trace) = &mut self.trace {
            trace.primary_keys.insert(table);
        }
    }
}

/// The relation of a frame that has a column of that name at that place, and the stored column that it is, if
/// the relation is itself a table or view.
fn holder(frame: &Frame, name: &str, index: usize) -> (Option<String>, Option<(RelationId, ColumnIndex)>) {
    for table in frame.tables.iter().filter(|table| !table.is_scalar) {
        if let Some(column) = table.columns.iter().find(|column| column.index == index && column.name == name) {
            return (Some(table.name.clone()), column.origin.filter(|(id, _)| table.relation == Some(*id)));
        }
    }
    (None, None)
}
