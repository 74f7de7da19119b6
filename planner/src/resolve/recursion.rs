//! Where the name of a recursive query may stand in its recursive term: once, and where more of its rows take none away.
//!
//! Subqueries of expressions are refused where they are resolved: see `Bar`.

use super::scope::fold;
use crate::error::PlanError;
use sqlparser::ast::{
    Ident, JoinOperator, Query, SetExpr, SetOperator, SetQuantifier, Statement, TableFactor, TableWithJoins,
    UpdateTableFromKind,
};
use sqlparser::tokenizer::Span;
use std::collections::BTreeSet;

/// Why the name of a WITH query may not stand everywhere in FROM: that of a recursive one, while it is being resolved itself.
#[derive(Clone, Copy)]
pub(super) enum Bar {
    /// It does not have the form of a recursive query; the name stands there.
    Malformed(Option<u32>),
    /// It stands in one of the terms, within so many subqueries of expressions or more.
    Term { recursive: bool, sublinks: usize },
    /// It writes, and has no RETURNING.
    ReturnsNothing,
}

impl Bar {
    /// Why the name may not stand within that many subqueries of expressions.
    pub(super) fn refusal(self, name: &str, sublinks: usize) -> Option<PlanError> {
        match self {
            Bar::Malformed(position) => Some(malformed(name).at(position)),
            Bar::Term { sublinks: around, .. } if sublinks > around => Some(misplaced(name, "a subquery")),
            Bar::Term { recursive: false, .. } => Some(misplaced(name, "its non-recursive term")),
            Bar::Term { recursive: true, .. } => None,
            Bar::ReturnsNothing => {
                Some(PlanError::new("0A000", format!("WITH query \"{name}\" does not have a RETURNING clause")))
            }
        }
    }
}

pub(super) fn malformed(name: &str) -> PlanError {
    PlanError::new(
        "42P19",
        format!("recursive query \"{name}\" does not have the form non-recursive-term UNION [ALL] recursive-term"),
    )
}

fn misplaced(name: &str, place: &str) -> PlanError {
    PlanError::new("42P19", format!("recursive reference to query \"{name}\" must not appear within {place}"))
}

/// Whether a query reads a relation of that name in FROM.
pub(super) fn mentions(query: &Query, name: &str) -> bool {
    let mut references = References { name, found: 0, refused: None, named: BTreeSet::new() };
    references.query(query, None);
    references.found > 0
}

/// What stands in a query's FROM clauses by a name alone, be it what it may.
pub(super) fn named(query: &Query) -> BTreeSet<String> {
    let mut references = References { name: "", found: 0, refused: None, named: BTreeSet::new() };
    references.query(query, None);
    references.named
}

/// Whether the FROM clauses of a recursive term name the query as they may.
pub(super) fn check_recursive_term(body: &SetExpr, name: &str) -> Result<(), (PlanError, Span)> {
    let mut references = References { name, found: 0, refused: None, named: BTreeSet::new() };
    references.body(body, None);
    references.refused.map_or(Ok(()), Err)
}

/// The references to a name in FROM, in the order of the text.
struct References<'n> {
    name: &'n str,
    found: usize,
    refused: Option<(PlanError, Span)>,
    named: BTreeSet<String>,
}

/// Where fewer rows may come of more: an outer join's side that may be missing, EXCEPT, INTERSECT.
type Around = Option<&'static str>;

impl References<'_> {
    fn query(&mut self, query: &Query, around: Around) {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.query(&cte.query, around);
            // From here on the name is another query's.
            if fold(&cte.alias.name) == self.name {
                return;
            }
        }
        self.body(&query.body, around);
    }

    fn body(&mut self, body: &SetExpr, around: Around) {
        match body {
            SetExpr::Select(select) => select.from.iter().for_each(|item| self.joined(item, around)),
            SetExpr::Query(query) => self.query(query, around),
            SetExpr::SetOperation { left, op, set_quantifier, right } => {
                let all = matches!(set_quantifier, SetQuantifier::All);
                let (of_left, of_right) = match op {
                    SetOperator::Intersect if all => (Some("INTERSECT"), Some("INTERSECT")),
                    SetOperator::Except | SetOperator::Minus if all => (Some("EXCEPT"), Some("EXCEPT")),
                    SetOperator::Except | SetOperator::Minus => (around, Some("EXCEPT")),
                    SetOperator::Intersect | SetOperator::Union => (around, around),
                };
                self.body(left, of_left);
                self.body(right, of_right);
            }
            SetExpr::Insert(write) | SetExpr::Update(write) | SetExpr::Delete(write) => self.write(write, around),
            SetExpr::Values(_) | SetExpr::Merge(_) | SetExpr::Table(_) => {}
        }
    }

    /// What a write reads beside its target.
    fn write(&mut self, write: &Statement, around: Around) {
        let items = match write {
            Statement::Insert(insert) => {
                insert.source.iter().for_each(|query| self.query(query, around));
                return;
            }
            Statement::Update(update) => match &update.from {
                Some(UpdateTableFromKind::AfterSet(items)) => items.as_slice(),
                Some(UpdateTableFromKind::BeforeSet(_)) | None => &[],
            },
            Statement::Delete(delete) => delete.using.as_deref().unwrap_or_default(),
            _ => &[],
        };
        items.iter().for_each(|item| self.joined(item, around));
    }

    fn joined(&mut self, item: &TableWithJoins, around: Around) {
        const OUTER: Around = Some("an outer join");
        // What stands left of a RIGHT or FULL join may be missing in it, all of it.
        let missing = item.joins.iter().rposition(|join| {
            matches!(
                join.join_operator,
                JoinOperator::Right(_) | JoinOperator::RightOuter(_) | JoinOperator::FullOuter(_)
            )
        });
        self.factor(&item.relation, if missing.is_some() { OUTER } else { around });
        for (place, join) in item.joins.iter().enumerate() {
            let optional = matches!(
                join.join_operator,
                JoinOperator::Left(_) | JoinOperator::LeftOuter(_) | JoinOperator::FullOuter(_)
            );
            let outer = optional || missing.is_some_and(|missing| place < missing);
            self.factor(&join.relation, if outer { OUTER } else { around });
        }
    }

    fn factor(&mut self, item: &TableFactor, around: Around) {
        match item {
            TableFactor::Table { name, args: None, .. } => {
                if let [part] = name.0.as_slice()
                    && let Some(ident) = part.as_ident()
                {
                    let name = fold(ident);
                    if name == self.name {
                        self.reference(ident, around);
                    }
                    self.named.insert(name);
                }
            }
            TableFactor::Derived { subquery, .. } => self.query(subquery, around),
            TableFactor::NestedJoin { table_with_joins, .. } => self.joined(table_with_joins, around),
            _ => {}
        }
    }

    fn reference(&mut self, ident: &Ident, around: Around) {
        self.found += 1;
        let refusal = match around {
            Some(place) => misplaced(self.name, place),
            None if self.found > 1 => PlanError::new(
                "42P19",
                format!("recursive reference to query \"{}\" must not appear more than once", self.name),
            ),
            None => return,
        };
        self.refused.get_or_insert((refusal, ident.span));
    }
}
