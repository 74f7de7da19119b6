//! The late step of planning: which way the rows of a table are found, now that sizes and what is in memory are known.
//!
//! ```text
//! planner ─▶ Access: a way, and what stands beside it ─▶ here, once for each run ─▶ get and sweep read as it says
//! ```
//! Weighs by `planner::physical::costs`. Asks the reader for sizes and index entries, never for a row. Nobody below chooses
//! again: what turns out while rows are read is bounded here. What is chosen is told to the profile, and so to EXPLAIN.

use crate::leaf::Leaf;
use crate::once::OneShot;
use planner::physical::costs::{ENTRIES_A_ROW, LOOKUP_ROWS, MISSES_A_ROW, NARROWED_ROWS_MIN, SMALL_TABLE_ROWS};
use planner::plan::{Access, Besides, Plan, Way};
use planner::scalar::inverted::{Asked, Wanted};
use planner::scalar::{EvalContext, ScalarExpr};
use repr::hash::HashSet;
use repr::{Datum, IndexId, Row, RowKey, ValueError, key};
use state::SqlError;
use state::reader::{KeyRange, Located, OrderSizes, RangeRows, RowIterator};
use state::view_states::Arrangement;

/// How rows are found, and what reading them begins with.
pub(crate) enum Chosen {
    /// All rows.
    AllRows,
    /// All rows, if they are no more than these; else key by key.
    AllRowsUpTo(usize),
    /// Each key by itself.
    KeyByKey,
    /// From where index entries say that they are.
    FromPlaces(Places),
    /// A maintained view's, where they stand.
    Standing(Arrangement),
    /// In an order, as long as they are no more than these; else all rows.
    InOrder(RowIterator, Option<usize>),
    /// None can be one of them.
    NoRow,
}

/// Where the rows of a lookup are.
pub(crate) struct Places {
    located: Vec<Located>,
    /// The keys, if rows have to be asked whether they have one.
    keys: Option<HashSet<Vec<u8>>>,
}

impl Places {
    /// The rows.
    pub(crate) fn read(self, leaf: &Leaf, shot: &OneShot) -> Result<Vec<(RowKey, Row)>, SqlError> {
        let mut rows = shot.reader.read_located(leaf.table(), self.located)?;
        if let (Some(keys), Some(index)) = (self.keys, leaf.index()) {
            let column = |row: &Row, column: usize| {
                let missing = || leaf.table().columns[column].missing.clone().unwrap_or(Datum::Null);
                row.get(column).unwrap_or_else(missing)
            };
            rows.retain(|(_, row)| {
                let values: Vec<Datum> = index.columns.iter().map(|at| column(row, *at)).collect();
                keys.contains(&key::encode_all(&values))
            });
        }
        Ok(rows)
    }
}

/// The way for a `Get` of a stored table or a view, of which no more than `wanted` rows are, if that is known.
pub(crate) fn choose(plan: &Plan, leaf: &Leaf, wanted: Option<usize>, shot: &OneShot) -> Result<Chosen, SqlError> {
    let Plan::Get { access, with_key, .. } = plan else {
        return Err(SqlError::new("XX000", "what reads a table is no leaf"));
    };
    let (way, chosen) = match access {
        // A join looks first whether it has few keys.
        Access::Scan | Access::Met { .. } => return Ok(Chosen::AllRows),
        Access::Listed { values, .. } => (Way::AllRows, Chosen::AllRowsUpTo(values.elements.len() / MISSES_A_ROW)),
        Access::Lookup { keys, besides, .. } => {
            if !with_key && let Some(arrangement) = shot.reader.arranged(leaf.table(), leaf.index())? {
                return Ok(Chosen::Standing(arrangement));
            }
            let found = match besides {
                Besides::None => return Ok(Chosen::KeyByKey),
                Besides::Narrowing(others) => narrowed(leaf, keys, others, shot)?,
                Besides::InCommon { place, index } => few_in_common(leaf, keys, (*place, *index), shot)?,
            };
            found.map_or((Way::KeyByKey, Chosen::KeyByKey), |(way, places)| (way, Chosen::FromPlaces(places)))
        }
        Access::Inverted { conditions, .. } => match inverted(leaf, conditions, shot)? {
            Some(RangeRows { rows, in_memory: Some(sizes) }) => match ordered(sizes, None, rows) {
                (_, Chosen::InOrder(rows, _)) => (Way::Inverted, Chosen::InOrder(rows, None)),
                otherwise => otherwise,
            },
            Some(_) | None => (Way::AllRows, Chosen::AllRows),
        },
        Access::Range { prefix, lower, upper, reverse, in_order, .. } => {
            let Some(range) = range(prefix, lower.as_ref(), upper.as_ref(), *reverse, shot)? else {
                return Ok(Chosen::NoRow);
            };
            let range = KeyRange { columns: in_order.columns(), ..range };
            match shot.reader.range(leaf.table(), leaf.index(), &range)? {
                None => (Way::AllRows, Chosen::AllRows),
                Some(range) => match range.in_memory {
                    None => return Ok(Chosen::InOrder(range.rows, None)),
                    Some(sizes) => ordered(sizes, wanted, range.rows),
                },
            }
        }
    };
    tell(plan, way, shot);
    Ok(chosen)
}

/// The rows for which all conditions may hold.
fn inverted(
    leaf: &Leaf,
    conditions: &[(usize, Asked, ScalarExpr)],
    shot: &OneShot,
) -> Result<Option<RangeRows>, SqlError> {
    let Some(index) = leaf.index() else { return Ok(None) };
    let mut every = Vec::with_capacity(conditions.len());
    for (place, asked, value) in conditions {
        // One that cannot be computed may never be come to.
        let Ok(value) = value.eval(&[], &shot.eval) else { return Ok(None) };
        every.push(asked.wanted(&value).of_column(*place));
    }
    shot.reader.inverted(leaf.table(), index, &Wanted::Every(every))
}

/// Says which way the rows of a plan were found.
pub(crate) fn tell(plan: &Plan, way: Way, shot: &OneShot) {
    if let Some(profile) = &shot.profile {
        profile.chose(plan, way);
    }
}

/// By the order in memory, unless it takes longer than all rows. Predicates may have more of its rows read than are wanted.
fn ordered(sizes: OrderSizes, wanted: Option<usize>, rows: RowIterator) -> (Way, Chosen) {
    let worth_rows = sizes.table_rows.max(SMALL_TABLE_ROWS) / LOOKUP_ROWS;
    if wanted.map_or(sizes.range_rows, |wanted| wanted.min(sizes.range_rows)) > worth_rows {
        return (Way::AllRows, Chosen::AllRows);
    }
    (Way::InOrder, Chosen::InOrder(rows, (sizes.range_rows > worth_rows).then_some(worth_rows)))
}

/// The places of one key's rows that stand in other indexes, too, as far as reading these is less than reading the rows.
fn narrowed(
    leaf: &Leaf,
    keys: &[Vec<ScalarExpr>],
    others: &[(IndexId, ScalarExpr)],
    shot: &OneShot,
) -> Result<Option<(Way, Places)>, SqlError> {
    let (Some(own), [key]) = (leaf.index(), keys) else { return Ok(None) };
    // A key that cannot be computed may never be come to.
    let Ok(Some(values)) = key_values(key, &shot.eval) else { return Ok(None) };
    let Some(mut located) = shot.reader.locate(leaf.table(), own, &values, usize::MAX)? else { return Ok(None) };
    let mut way = Way::KeyByKey;
    for (other, value) in others {
        if located.len() < NARROWED_ROWS_MIN {
            break;
        }
        let (Some(other), Ok(value)) = (leaf.table().index(*other), value.eval(&[], &shot.eval)) else { continue };
        let at_most = located.len() * ENTRIES_A_ROW;
        if !value.is_null()
            && let Some(entries) = shot.reader.locate(leaf.table(), other, &[value], at_most)?
        {
            let entries: HashSet<RowKey> = entries.into_iter().map(|(row_key, _)| row_key).collect();
            located.retain(|(row_key, _)| entries.contains(row_key));
            way = Way::WhereIndexesAgree;
        }
    }
    Ok(Some((way, Places { located, keys: None })))
}

/// The places of all rows with the value that all keys have in common, if they are few for so many keys.
fn few_in_common(
    leaf: &Leaf,
    keys: &[Vec<ScalarExpr>],
    (place, index): (usize, IndexId),
    shot: &OneShot,
) -> Result<Option<(Way, Places)>, SqlError> {
    let mut wanted = HashSet::default();
    let mut value = None;
    for key in keys {
        match key_values(key, &shot.eval) {
            Ok(Some(values)) => {
                wanted.insert(key::encode_all(&values));
                value = values.into_iter().nth(place);
            }
            Ok(None) => {}
            // It may never be come to.
            Err(_) => return Ok(None),
        }
    }
    let (Some(value), Some(index)) = (value.filter(|value| !value.is_null()), leaf.table().index(index)) else {
        return Ok(None);
    };
    let located = shot.reader.locate(leaf.table(), index, &[value], wanted.len() / MISSES_A_ROW)?;
    Ok(located.map(|located| (Way::ByValueInCommon, Places { located, keys: Some(wanted) })))
}

/// A key's values, unless it finds nothing: nothing equals NULL but by IS NULL, which is a literal.
pub(crate) fn key_values(key: &[ScalarExpr], eval: &EvalContext) -> Result<Option<Vec<Datum>>, ValueError> {
    let (mut values, mut compares) = (Vec::with_capacity(key.len()), true);
    for value in key {
        let datum = value.eval(&[], eval)?;
        compares &= !datum.is_null() || matches!(value, ScalarExpr::Literal(..));
        values.push(datum);
    }
    Ok(compares.then_some(values))
}

/// The range's values; none if one is NULL, which no row compares with.
pub(crate) fn range(
    prefix: &[ScalarExpr],
    lower: Option<&(ScalarExpr, bool)>,
    upper: Option<&(ScalarExpr, bool)>,
    reverse: bool,
    shot: &OneShot,
) -> Result<Option<KeyRange>, SqlError> {
    let bound = |bound: Option<&(ScalarExpr, bool)>| -> Result<Option<(Datum, bool)>, SqlError> {
        match bound {
            Some((expression, inclusive)) => Ok(Some((expression.eval(&[], &shot.eval)?, *inclusive))),
            None => Ok(None),
        }
    };
    let prefix = prefix.iter().map(|value| value.eval(&[], &shot.eval)).collect::<Result<Vec<_>, _>>()?;
    let (lower, upper) = (bound(lower)?, bound(upper)?);
    let is_null = |bound: &Option<(Datum, bool)>| bound.as_ref().is_some_and(|(value, _)| value.is_null());
    if prefix.iter().any(Datum::is_null) || is_null(&lower) || is_null(&upper) {
        return Ok(None);
    }
    Ok(Some(KeyRange { prefix, lower, upper, reverse, columns: None }))
}
