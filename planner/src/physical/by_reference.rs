//! A table that a join knows by a part of a foreign key is found through the table that this refers to.
//!
//! ```text
//!   part ⋈ line  on line.part = part.id           line (part, supplier) refers to stock (part, supplier)
//!
//!   part ⋈ stock on stock.part = part.id ⋈ line on (line.part, line.supplier) = (stock.part, stock.supplier)
//!   ∪ part ⋈ line on line.part = part.id and line.supplier IS NULL
//! ```
//! Keys of people's tables are hashed as a whole: a part of one finds nothing. A row of `line` without NULLs has one row of `stock`, as the
//! foreign key is checked and what it refers to is unique; erasure may blank columns that are declared NOT NULL, so the others are asked for,
//! too. Both give the same rows. Only where statistics say that it takes less.

use super::Planner;
use super::access::same_class;
use super::chain::Chain;
use super::costs::{BETTER_SHARE, LOOKUP_COST};
use super::join::Pending;
use super::join_order::JoinOrder;
use crate::catalog::{ForeignKey, Table};
use crate::mir::{Mir, expr};
use crate::names::{ItemName, Names};
use crate::plan::Lookup;
use crate::scalar::{Mfp, ScalarExpr};
use crate::transform::shape;
use repr::{ColumnIndex, ColumnType};
use std::sync::Arc;

/// A join of two inputs, the one of which refers to a third.
struct ByReference {
    /// With the columns of the key behind those that are wanted.
    referring: Mir,
    /// Where the key's columns are among these.
    places: Vec<usize>,
    /// The one of them that the join does not know.
    unknown: usize,
    /// Rows of a value of what it knows, of which the other is NULL.
    null_rows: f64,
    referenced: Mir,
    /// What makes referring and referenced columns equal.
    types: Vec<(ColumnType, ColumnType)>,
}

impl Planner<'_> {
    /// A join of two inputs by way of what one of them refers to, if that is better than that order.
    pub(super) fn by_reference(
        &mut self,
        pending: &Pending<'_>,
        same: &[(usize, usize)],
        order: &JoinOrder,
    ) -> Option<Mir> {
        let [first, second] = pending.inputs else { return None };
        if !same.is_empty() {
            return None;
        }
        for (number, (input, other)) in [(first, second), (second, first)].into_iter().enumerate() {
            let Mir::Get { relation, with_key: false, .. } = Chain::of(input, false).core else { continue };
            let Some(table) = self.catalog.table(*relation).filter(|table| table.is_stored()) else { continue };
            if self.forms.ordered(table.id) || reads(other, table.id) {
                continue;
            }
            for key in &table.foreign_keys {
                let Some(found) = self.reference(pending, number, (table, key)) else { continue };
                let around = self.estimate(other).rows;
                let nulls = around * (1.0 + (1.0 + found.null_rows) * LOOKUP_COST);
                let wider = found.inputs(number, other.clone());
                let on = found.conditions(pending, number)?;
                let wider_order = self.join_order(&Pending::new(&wider, &on, &[], self), &[]);
                if wider_order.is_some_and(|wider| wider.cost + nulls < order.cost * BETTER_SHARE) {
                    return self.united(pending, number, &found);
                }
            }
        }
        None
    }

    /// The one way and the other, over what is joined with the table, which is computed once.
    fn united(&mut self, pending: &Pending<'_>, number: usize, found: &ByReference) -> Option<Mir> {
        let other = &pending.inputs[1 - number];
        let id = self.fresh();
        let local = Mir::GetLocal { id, types: other.types().into(), names: Names::default() };
        let wanted: Vec<usize> = (0..pending.types.len()).map(|column| found.moved(pending, number, column)).collect();
        let on = found.conditions(pending, number)?;
        let own = on[..pending.on.len()].to_vec();
        let through = Mir::Join { inputs: found.inputs(number, local.clone()), on, same: Vec::new() };
        let unknown = ScalarExpr::Column(found.places[found.unknown]);
        let is_null = shape::is_null(&unknown, &found.referring.types()).ok()?;
        let mut inputs = [local.clone(), local];
        inputs[number] = found.referring.clone().filter(vec![is_null]);
        let nulls = Mir::Join { inputs: inputs.into(), on: own, same: Vec::new() };
        let ways = vec![through.project(wanted.clone()), nulls.project(wanted)];
        let body = Mir::Union(ways, Names::default());
        Some(Mir::Let { id, value: Box::new(other.clone()), body: Box::new(body) })
    }

    /// What a key of one of two inputs refers to, if the join knows all of its columns but one.
    fn reference(
        &self,
        pending: &Pending<'_>,
        number: usize,
        (table, key): (&Table, &ForeignKey),
    ) -> Option<ByReference> {
        let target = self.catalog.table(key.target).filter(|target| target.is_stored())?;
        // What is read besides what the query names must be nobody's.
        if key.constraint.deferrable || key.constraint.not_valid || !self.forms.ordered(target.id) {
            return None;
        }
        let is_unique = target.whole_indexes().any(|index| {
            let certain = index.unique && index.constraint.as_ref().is_none_or(|constraint| !constraint.deferrable);
            certain && index.columns.iter().all(|column| key.target_columns.contains(column))
        });
        if !is_unique || !self.has_nulls(table, Lookup::Index(key.index)) {
            return None;
        }
        let (referring, places) = with_columns(&pending.inputs[number], &key.columns)?;
        let range = &pending.ranges[number];
        let is_known = |place: &usize| {
            let column = range.start + place;
            range.contains(&column) && is_tied(pending, column)
        };
        let mut unknown = (0..places.len()).filter(|at| !is_known(&places[*at]));
        let (Some(unknown), None) = (unknown.next(), unknown.next()) else { return None };
        if places.len() < 2 {
            return None;
        }
        let mut types = Vec::with_capacity(places.len());
        for (own, other) in key.columns.iter().zip(&key.target_columns) {
            let of = |table: &Table, column: &ColumnIndex| Some(table.columns.get(*column)?.column_type.clone());
            let (own, other) = (of(table, own)?, of(target, other)?);
            if !same_class(&own.scalar, &other.scalar) {
                return None;
            }
            types.push((own, other));
        }
        let each = self.lookup_rows(table, Lookup::Index(key.index), places.len());
        let null_rows = each * self.times_null(table, &[key.columns[unknown]]);
        let referenced = keys_of(target, &key.target_columns);
        Some(ByReference { referring, places, unknown, null_rows, referenced, types })
    }
}

impl ByReference {
    /// Where a column of the two inputs is, now that one of them has more.
    fn moved(&self, pending: &Pending<'_>, number: usize, column: usize) -> usize {
        let range = &pending.ranges[number];
        if column < range.end { column } else { column + self.referring.arity() - range.len() }
    }

    /// What is joined, beside the other input.
    fn inputs(&self, number: usize, other: Mir) -> Vec<Mir> {
        let mut inputs = vec![other; 2];
        inputs[number] = self.referring.clone();
        inputs.push(self.referenced.clone());
        inputs
    }

    /// The join's own conditions, then those of the key.
    fn conditions(&self, pending: &Pending<'_>, number: usize) -> Option<Vec<ScalarExpr>> {
        let total = self.moved(pending, number, pending.types.len());
        let start = pending.ranges[number].start;
        let moved = |column: usize| self.moved(pending, number, column);
        let mut on: Vec<ScalarExpr> = pending.on.iter().map(|on| expr::renumber(on, moved)).collect();
        for (at, (place, (own, other))) in self.places.iter().zip(&self.types).enumerate() {
            on.push(shape::equal((start + place, &own.scalar), (total + at, &other.scalar)).ok()?);
        }
        Some(on)
    }
}

/// Whether a column equals one of another input.
fn is_tied(pending: &Pending<'_>, column: usize) -> bool {
    let home = |column: usize| pending.ranges.partition_point(|range| range.end <= column);
    pending.on.iter().any(|on| {
        let Some((one, other)) = shape::equality(on) else { return false };
        match (shape::relabelled(one), shape::relabelled(other)) {
            (ScalarExpr::Column(one), ScalarExpr::Column(other)) => {
                (*one == column || *other == column) && home(*one) != home(*other)
            }
            _ => false,
        }
    })
}

/// A table's rows with these of its columns, and where they stand; none if one of these columns is asked for NULL.
fn with_columns(input: &Mir, wanted: &[ColumnIndex]) -> Option<(Mir, Vec<usize>)> {
    let Chain { core, mfp: Mfp { input_arity, map, mut filter, project: mut columns } } = Chain::of(input, false);
    let asked = |predicate: &ScalarExpr| match shape::null_test(predicate) {
        Some(ScalarExpr::Column(column)) => wanted.contains(column),
        _ => false,
    };
    if filter.iter().any(|(_, predicate)| asked(predicate)) {
        return None;
    }
    // Each condition as soon as its columns are there.
    filter.sort_by_key(|(columns, _)| *columns);
    let (mut rows, mut mapped) = (core.clone(), 0);
    for same in filter.chunk_by(|(one, _), (other, _)| one == other) {
        let until = same[0].0.saturating_sub(input_arity).max(mapped);
        let conditions = same.iter().map(|(_, predicate)| predicate.clone()).collect();
        rows = rows.map(map[mapped..until].to_vec()).filter(conditions);
        mapped = until;
    }
    rows = rows.map(map[mapped..].to_vec());
    let mut places = Vec::with_capacity(wanted.len());
    for column in wanted {
        places.push(columns.iter().position(|other| other == column).unwrap_or_else(|| {
            columns.push(*column);
            columns.len() - 1
        }));
    }
    Some((rows.project(columns), places))
}

fn reads(mir: &Mir, table: repr::RelationId) -> bool {
    match mir {
        Mir::Get { relation, .. } => *relation == table,
        other => other.children().into_iter().any(|child| reads(child, table)),
    }
}

/// Some columns of a table's rows.
fn keys_of(table: &Table, columns: &[ColumnIndex]) -> Mir {
    let types: Vec<ColumnType> = table.columns.iter().map(|column| column.column_type.clone()).collect();
    let mut names = Names::bare(table.columns.iter().map(|column| column.name.as_str()));
    names.call(&Arc::new(ItemName { name: table.name.clone(), place: None }));
    Mir::Get { relation: table.id, with_key: false, types: types.into(), names }.project(columns.to_vec())
}
