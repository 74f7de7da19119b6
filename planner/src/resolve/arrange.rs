//! By which of its columns a maintained view is arranged at first. A wrong guess costs speed only.

use crate::catalog::Catalog;
use crate::hir::{CteId, Hir, HirColumn, HirExpr, HirNode, HirQuery};
use repr::{ColumnIndex, RelationId};
use std::collections::BTreeMap;

/// The output columns by which rows are most likely asked for: what the view groups by; else the first column that is
/// a key of a table it reads; else the first that has an equality.
pub(super) fn arrangement_columns(catalog: &Catalog, query: &HirQuery) -> Vec<ColumnIndex> {
    let walk = Walk { catalog };
    if let Some(columns) = walk.grouped_outputs(query) {
        return columns;
    }
    let definitions = BTreeMap::new();
    let is_key = |output: &ColumnIndex| {
        let source = source(&query.relation, query.project[*output], &definitions);
        source.is_some_and(|(relation, column)| walk.is_key(relation, column))
    };
    let comparable = |output: &ColumnIndex| query.columns[*output].column_type.scalar.is_ordered();
    let outputs = 0..query.project.len();
    let chosen = outputs.clone().filter(comparable).find(is_key).or_else(|| outputs.clone().find(comparable));
    vec![chosen.unwrap_or_default()]
}

struct Walk<'a> {
    catalog: &'a Catalog,
}

type Definitions<'h> = BTreeMap<CteId, &'h Hir>;

/// The stored column that a column is by simple reference.
fn source<'h>(hir: &'h Hir, column: usize, definitions: &Definitions<'h>) -> Option<(RelationId, usize)> {
    match &hir.node {
        HirNode::Get { relation, .. } => Some((*relation, column)),
        HirNode::GetCte(id, _) => source(definitions.get(id)?, column, definitions),
        HirNode::Join { left, right, .. } => match column.checked_sub(left.types.len()) {
            None => source(left, column, definitions),
            Some(column) => source(right, column, definitions),
        },
        HirNode::Let { id, value, body, .. } => {
            let mut definitions = definitions.clone();
            definitions.insert(*id, value);
            source(body, column, &definitions)
        }
        HirNode::Reduce { input, keys, .. } => match keys.get(column)? {
            HirExpr::Column(HirColumn::Column { level: 0, index }) => source(input, *index, definitions),
            _ => None,
        },
        _ => {
            let (input, column) = passed_on(hir, column)?;
            source(input, column, definitions)
        }
    }
}

/// The input of an operator that passes a column on, and where the column stands there.
fn passed_on(hir: &Hir, column: usize) -> Option<(&Hir, usize)> {
    match &hir.node {
        HirNode::Map(input, exprs) => match column.checked_sub(input.types.len()) {
            None => Some((input, column)),
            Some(added) => match exprs.get(added)? {
                HirExpr::Column(HirColumn::Column { level: 0, index }) => Some((input, *index)),
                _ => None,
            },
        },
        HirNode::Project(input, columns) => Some((input, *columns.get(column)?)),
        HirNode::Filter(input, _) | HirNode::TopK { input, .. } | HirNode::Distinct(input) => Some((input, column)),
        HirNode::Window { input, .. } | HirNode::TableFunction { input, .. } => {
            (column < input.types.len()).then_some((&**input, column))
        }
        HirNode::Let { body, .. } | HirNode::LetRec { body, .. } => Some((body, column)),
        HirNode::Constant(..)
        | HirNode::Get { .. }
        | HirNode::GetCte(..)
        | HirNode::Join { .. }
        | HirNode::Reduce { .. }
        | HirNode::Union(..)
        | HirNode::Except { .. }
        | HirNode::Intersect { .. } => None,
    }
}

impl Walk<'_> {
    /// The outputs that are the keys of the outermost GROUP BY: all of them, or those of a table's primary key if the query
    /// groups by that and by columns that depend on it.
    fn grouped_outputs(&self, query: &HirQuery) -> Option<Vec<ColumnIndex>> {
        let mut outputs_of_key: BTreeMap<usize, ColumnIndex> = BTreeMap::new();
        let mut reduce = None;
        for (output, &column) in query.project.iter().enumerate() {
            let (mut hir, mut column) = (&query.relation, column);
            while let Some((input, at)) = passed_on(hir, column) {
                (hir, column) = (input, at);
            }
            if let HirNode::Reduce { keys, scalar: false, .. } = &hir.node {
                reduce = Some((hir, keys));
                if column < keys.len() {
                    outputs_of_key.entry(column).or_insert(output);
                }
            }
        }
        let (hir, keys) = reduce?;
        let HirNode::Reduce { input, .. } = &hir.node else { return None };
        let definitions = BTreeMap::new();
        let sources: Vec<Option<(RelationId, usize)>> = keys
            .iter()
            .map(|key| match key {
                HirExpr::Column(HirColumn::Column { level: 0, index }) => source(input, *index, &definitions),
                _ => None,
            })
            .collect();
        for (relation, _) in sources.iter().flatten() {
            let Some(primary_key) = self.catalog.table(*relation).and_then(|table| table.primary_key_columns()) else {
                continue;
            };
            let of_key: Option<Vec<ColumnIndex>> = primary_key
                .iter()
                .map(|column| {
                    let key = sources.iter().position(|source| *source == Some((*relation, *column)))?;
                    outputs_of_key.get(&key).copied()
                })
                .collect();
            if let Some(columns) = of_key {
                return Some(columns);
            }
        }
        (!keys.is_empty() && outputs_of_key.len() == keys.len()).then(|| outputs_of_key.into_values().collect())
    }

    /// Whether a stored column is in a key, or a maintained view is arranged by it.
    fn is_key(&self, relation: RelationId, column: ColumnIndex) -> bool {
        self.catalog.table(relation).is_some_and(|table| {
            table.primary_key_columns().is_some_and(|key| key.contains(&column))
                || table.foreign_keys.iter().any(|key| key.columns.contains(&column))
                || (table.is_maintained() && table.indexes.iter().any(|index| index.columns.contains(&column)))
        })
    }
}
