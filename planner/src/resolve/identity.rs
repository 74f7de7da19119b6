//! What tells the rows of a relation apart, and so the one order of rows that ORDER BY leaves equal.
//!
//! ```text
//! table                     its primary key; without one, its whole row
//! join                      that of each side, in the order of FROM
//! groups, DISTINCT          the keys of the groups, the columns but for those that are made of the others
//! DISTINCT ON               its expressions
//! functions, VALUES         the number of the row
//! subquery, WITH, view      what tells its rows apart, if that is among its columns; else its whole row
//! set operations            the whole row
//! ```
//! Decided here, over what the query says: every path to its rows is planned below, and sees the same order. Rows that
//! are alike in all of this are alike in everything that the query can show. Catalog relations are left as they come.

use super::levels::{Step, rewrite_expr};
use super::view::view_query;
use super::{Resolver, SessionInfo, ViewUse};
use crate::catalog::{Catalog, Table};
use crate::error::PlanError;
use crate::hir::{CteId, Hir, HirColumn, HirExpr, HirNode, HirQuery, JoinKind};
use crate::mir::expr::visit_columns;
use crate::scalar::{Order, Volatility};
use crate::system;
use repr::{ColumnType, Datum, RelationId, ScalarType, poll};
use std::collections::BTreeMap;

/// The columns that tell the rows of common table expressions apart.
pub(super) type CteIdentities = BTreeMap<CteId, Vec<usize>>;

/// Whether no two rows of a maintained view are alike in these columns, whatever rows its tables have.
pub(super) fn tells_rows_apart(catalog: &Catalog, view: RelationId, columns: &[usize]) -> Result<bool, PlanError> {
    let session = SessionInfo::default();
    let identity = Resolver::new(catalog, &session, "", &[]).identity_of_relation(view)?;
    Ok(identity.is_some_and(|identity| identity.iter().all(|column| columns.contains(column))))
}

impl Resolver<'_> {
    /// Appends to a query's ORDER BY, if it has one, what decides between rows that it leaves equal.
    pub(super) fn with_ties_ordered(&self, query: HirQuery) -> Result<HirQuery, PlanError> {
        if query.order_by.is_empty() || (query.locks.is_empty() && shows_no_ties(&query)) {
            return Ok(query);
        }
        let HirQuery { relation, order_by, .. } = query;
        let (relation, order_by) = self.completed(relation, order_by)?;
        Ok(HirQuery { relation, order_by, ..query })
    }

    /// An order completed, and the relation with what it needs for that behind its columns.
    pub(super) fn completed(&self, relation: Hir, mut order: Vec<Order>) -> Result<(Hir, Vec<Order>), PlanError> {
        // Definitions are compared by what was written.
        if self.session.views == ViewUse::Opaque {
            return Ok((relation, order));
        }
        let by_key = self.identity(&relation, &self.ctes.identities)?.is_some();
        let (relation, identity) = self.identified(relation, &self.ctes.identities)?;
        // In the direction of what was written last: whoever reads an index backwards reads all of it backwards.
        let descending = order.last().is_some_and(|last| last.descending);
        for column in identity {
            // Of a whole row each writing of a value counts, though it was ordered by the value.
            let settled = by_key || relation.types[column].scalar.has_one_writing();
            if !settled || !order.iter().any(|item| item.column == column) {
                // What is numbered as it comes is never read backwards.
                let descending = descending && !is_row_number(&relation, column);
                order.push(Order { column, descending, nulls_first: descending, tie: true });
            }
        }
        Ok((relation, order))
    }

    /// The columns of a relation that tell its rows apart, if there are such.
    pub(super) fn identity(&self, hir: &Hir, ctes: &CteIdentities) -> Result<Option<Vec<usize>>, PlanError> {
        poll::step()?;
        Ok(match &hir.node {
            HirNode::Constant(rows, _) => (rows.len() <= 1).then(Vec::new),
            HirNode::Get { relation, .. } => self.identity_of_relation(*relation)?,
            HirNode::GetCte(id, _) => ctes.get(id).cloned(),
            HirNode::Map(input, _) | HirNode::Filter(input, _) | HirNode::Window { input, .. } => {
                self.identity(input, ctes)?
            }
            HirNode::Project(input, columns) => {
                let identity = self.identity(input, ctes)?;
                identity.and_then(|identity| places(&identity, columns))
            }
            HirNode::Join { left, right, .. } => {
                let (left_identity, right_identity) = (self.identity(left, ctes)?, self.identity(right, ctes)?);
                left_identity.zip(right_identity).map(|(mut identity, of_right)| {
                    identity.extend(of_right.into_iter().map(|column| left.arity() + column));
                    identity
                })
            }
            HirNode::TableFunction { input, ordinality, .. } => {
                let identity = self.identity(input, ctes)?.filter(|_| *ordinality);
                identity.map(|identity| identity.into_iter().chain([hir.arity() - 1]).collect())
            }
            HirNode::Reduce { keys, .. } => {
                let varies = |key: &usize| !matches!(keys[*key], HirExpr::Literal(..));
                Some((0..keys.len()).filter(varies).collect())
            }
            HirNode::Distinct(input) => Some(not_made_of_others(input)),
            HirNode::TopK { input, keys, .. } if keys.is_empty() => self.identity(input, ctes)?,
            HirNode::TopK { keys, .. } => Some(keys.clone()),
            HirNode::Union(..) | HirNode::Except { .. } | HirNode::Intersect { .. } => None,
            HirNode::Let { id, value, body, .. } => {
                let mut ctes = ctes.clone();
                if let Some(identity) = self.identity(value, &ctes)? {
                    ctes.insert(*id, identity);
                }
                self.identity(body, &ctes)?
            }
            HirNode::LetRec { body, .. } => self.identity(body, ctes)?,
        })
    }

    /// Of a stored relation: a maintained view's rows are told apart as those of its query are, for a transaction may read
    /// either.
    fn identity_of_relation(&self, relation: RelationId) -> Result<Option<Vec<usize>>, PlanError> {
        let Some(table) = self.catalog.table(relation) else {
            return Ok(system::find_by_id(relation).map(|_| Vec::new()));
        };
        if !table.is_maintained() {
            return Ok(table.primary_key_columns().map(<[usize]>::to_vec));
        }
        let query = view_query(self.catalog, relation)?;
        let identity = self.identity(&query.relation, &CteIdentities::new())?;
        Ok(identity.and_then(|identity| places(&identity, &query.project)))
    }

    /// A relation with what tells its rows apart among its columns, its own being the first.
    fn identified(&self, hir: Hir, ctes: &CteIdentities) -> Result<(Hir, Vec<usize>), PlanError> {
        if let Some(identity) = self.identity(&hir, ctes)? {
            return Ok((hir, identity));
        }
        let plain = hir.types.clone();
        Ok(match hir.node {
            HirNode::Filter(input, predicates) => {
                let (input, identity) = self.identified(*input, ctes)?;
                (input.filter(predicates), identity)
            }
            HirNode::TopK { input, keys, order, limit, offset } => {
                let (input, identity) = self.identified(*input, ctes)?;
                (input.top_k(keys, order, limit, offset), identity)
            }
            HirNode::Map(input, exprs) => {
                let width = input.arity();
                let input = self.identified(*input, ctes)?;
                appended(input, width, plain[width..].to_vec(), |input| HirNode::Map(input, exprs))
            }
            HirNode::Window { input, partition, order, calls } => {
                let width = input.arity();
                let input = self.identified(*input, ctes)?;
                let node = |input| HirNode::Window { input, partition, order, calls };
                let (windowed, mut identity) = appended(input, width, plain[width..].to_vec(), node);
                // Its calls may tell rows apart that are alike.
                identity.extend(width..plain.len());
                (windowed, identity)
            }
            HirNode::TableFunction { input, functions, ordinality, names } => {
                let width = input.arity();
                let input = self.identified(*input, ctes)?;
                let mut added = plain[width..].to_vec();
                if !ordinality {
                    added.push(number(ScalarType::Int8));
                }
                let at = width + added.len() - 1;
                let node = |input| HirNode::TableFunction { input, functions, ordinality: true, names };
                let (numbered, mut identity) = appended(input, width, added, node);
                identity.push(at);
                (numbered, identity)
            }
            HirNode::Join { left, right, kind, on, lateral } => {
                self.identified_join((*left, *right), kind, (on, lateral), ctes)?
            }
            HirNode::Constant(rows, names) => {
                let place = |at: usize| Datum::Int4(i32::try_from(at).unwrap_or(i32::MAX));
                let numbered = |(at, row): (usize, Vec<Datum>)| row.into_iter().chain([place(at)]).collect();
                let rows = rows.into_iter().enumerate().map(numbered).collect();
                let (at, mut types) = (plain.len(), plain);
                types.push(number(ScalarType::Int4));
                (Hir { node: HirNode::Constant(rows, names), types }, vec![at])
            }
            HirNode::Get { relation, .. } => {
                let whole = match self.catalog.table(relation) {
                    Some(table) => table.live_columns().map(|(column, _)| column).collect(),
                    None => (0..plain.len()).collect(),
                };
                (Hir { node: hir.node, types: plain }, whole)
            }
            node => {
                let whole = (0..plain.len()).collect();
                (Hir { node, types: plain }, whole)
            }
        })
    }

    fn identified_join(
        &self,
        (left, right): (Hir, Hir),
        kind: JoinKind,
        (mut on, lateral): (HirExpr, bool),
        ctes: &CteIdentities,
    ) -> Result<(Hir, Vec<usize>), PlanError> {
        let (left_width, right_width) = (left.arity(), right.arity());
        let (left, identity) = self.identified(left, ctes)?;
        let (right, of_right) = self.identified(right, ctes)?;
        let (start, end) = (left.arity(), left.arity() + right.arity());
        moved(&mut on, left_width, start - left_width)?;
        let columns: Vec<usize> = (0..left_width)
            .chain(start..start + right_width)
            .chain(left_width..start)
            .chain(start + right_width..end)
            .collect();
        let all = identity.into_iter().chain(of_right.into_iter().map(|column| start + column));
        let all: Vec<usize> = all.collect();
        let identity = places(&all, &columns).unwrap_or_default();
        Ok((left.join(right, kind, on, lateral).project(columns), identity))
    }
}

/// Whether a column that tells rows apart is the number of a function's row, or of one of VALUES.
fn is_row_number(hir: &Hir, column: usize) -> bool {
    poll::step_or_unwind();
    match &hir.node {
        HirNode::Constant(..) => true,
        HirNode::TableFunction { input, .. } => column >= input.arity() || is_row_number(input, column),
        HirNode::Map(input, _)
        | HirNode::Filter(input, _)
        | HirNode::Window { input, .. }
        | HirNode::TopK { input, .. } => column < input.arity() && is_row_number(input, column),
        HirNode::Project(input, columns) => columns.get(column).is_some_and(|column| is_row_number(input, *column)),
        HirNode::Join { left, right, .. } => match column.checked_sub(left.arity()) {
            Some(column) => is_row_number(right, column),
            None => is_row_number(left, column),
        },
        HirNode::Get { .. }
        | HirNode::GetCte(..)
        | HirNode::Reduce { .. }
        | HirNode::Distinct(_)
        | HirNode::Union(..)
        | HirNode::Except { .. }
        | HirNode::Intersect { .. }
        | HirNode::Let { .. }
        | HirNode::LetRec { .. } => false,
    }
}

/// Whether rows that are equal in what ORDER BY says look alike: it says all that comes out, and of each value there is one
/// writing only.
fn shows_no_ties(query: &HirQuery) -> bool {
    query.project.iter().all(|column| {
        query.relation.types[*column].scalar.has_one_writing()
            && query.order_by.iter().any(|item| item.column == *column)
    })
}

/// The rows of a maintained view in place of the view: told apart by its columns alone, as the view's are.
pub(super) fn behind_its_columns(view: &Table, hir: Hir) -> Hir {
    if !view.is_maintained() {
        return hir;
    }
    let types = hir.types.clone();
    let columns = (0..types.len()).collect();
    Hir { node: HirNode::Project(Box::new(hir), columns), types }
}

/// The columns of DISTINCT but for those that are computed of others: where these are equal, so is what is made of them.
/// Only of values that have one writing, as 1.0 and 1.00 are equal and make two texts.
fn not_made_of_others(input: &Hir) -> Vec<usize> {
    let whole = (0..input.arity()).collect();
    let HirNode::Project(mapped, columns) = &input.node else { return whole };
    let HirNode::Map(base, exprs) = &mapped.node else { return whole };
    let tells = |column: &HirColumn| {
        let HirColumn::Column { level: 0, index } = column else { return false };
        base.types.get(*index).is_some_and(|of| of.scalar.has_one_writing()) && columns.contains(index)
    };
    let made = |at: &usize| {
        let Some(expr) = columns[*at].checked_sub(base.arity()).map(|computed| &exprs[computed]) else { return false };
        let mut settled = expr.volatility() < Volatility::Volatile;
        visit_columns(expr, &mut |column| settled &= tells(column));
        settled
    };
    (0..columns.len()).filter(|at| !made(at)).collect()
}

/// Where columns are among others, if all of them are.
fn places(columns: &[usize], among: &[usize]) -> Option<Vec<usize>> {
    columns.iter().map(|column| among.iter().position(|other| other == column)).collect()
}

fn number(scalar: ScalarType) -> ColumnType {
    ColumnType::not_null(scalar)
}

/// An operator that appends columns of types `added` to an input that itself had `width` columns and has got more behind
/// them: what the operator appends stands before those.
fn appended(
    (input, mut identity): (Hir, Vec<usize>),
    width: usize,
    added: Vec<ColumnType>,
    node: impl FnOnce(Box<Hir>) -> HirNode,
) -> (Hir, Vec<usize>) {
    let (start, count) = (input.arity(), added.len());
    let types = input.types.iter().cloned().chain(added).collect();
    let over = Hir { node: node(Box::new(input)), types };
    identity.iter_mut().filter(|column| **column >= width).for_each(|column| *column += count);
    let columns = (0..width).chain(start..start + count).chain(width..start).collect();
    (over.project(columns), identity)
}

/// A join condition whose right columns, from `from` on, have moved.
fn moved(on: &mut HirExpr, from: usize, by: usize) -> Result<(), PlanError> {
    if by == 0 {
        return Ok(());
    }
    rewrite_expr(on, 0, &mut |expr, depth| {
        Ok(match expr {
            HirExpr::Column(HirColumn::Column { level, index }) if *level == depth && *index >= from => {
                Step::Replace(HirExpr::Column(HirColumn::Column { level: *level, index: index + by }))
            }
            _ => Step::Descend,
        })
    })
}
