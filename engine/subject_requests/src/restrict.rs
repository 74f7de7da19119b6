//! Restriction of processing: what a person owns is marked, and is then there for controllers alone.

use operators::request_profile::RequestProfile;
use operators::traversal::{self, Subject};
use planner::catalog::Property;
use planner::ownership::traversal::Relation;
use repr::Datum;
use state::SqlError;
use state::interrupt::Watch;
use state::layered_snapshot::LayeredSnapshot;
use state::locks::LockMode;
use std::collections::{BTreeMap, BTreeSet};
use transactions::writer::{RowUpdate, Writer};

/// What was done, by table.
#[derive(Debug, Default)]
pub struct Restricted {
    /// How many rows are marked otherwise than before.
    pub rows: BTreeMap<String, u64>,
    /// Tables with rows of the person that have no column for it.
    pub without: BTreeSet<String>,
}

/// Marks what a person owns, or takes the marks away.
pub fn restrict(
    writer: &mut Writer<'_>,
    (snapshot, subject): (&LayeredSnapshot, &Subject),
    begins: bool,
    watch: &Watch,
) -> Result<Restricted, SqlError> {
    let mut done = Restricted::default();
    let witness = traversal::find(snapshot, subject, watch, &mut RequestProfile::default())?;
    for number in witness.ordered() {
        let reached = witness.row(number);
        if !matches!(reached.relation, Relation::Owner) {
            continue;
        }
        let (relation, row_key) = reached.place.clone();
        let shape = snapshot.shape(relation)?;
        let Some(column) = shape.table().property(Property::Restricted) else {
            done.without.insert(shape.full_name().to_owned());
            continue;
        };
        writer.lock_table(relation)?;
        let count = done.rows.entry(shape.full_name().to_owned()).or_default();
        // It may have gone meanwhile.
        let Some(before) = writer.lock_row(shape, &row_key, LockMode::Exclusive)? else { continue };
        if (before[column] == Datum::Bool(true)) == begins {
            continue;
        }
        let mut after = before.clone();
        after[column] = Datum::Bool(begins);
        let checks = writer.row_checks(shape)?;
        writer.complete(shape, &checks, &mut after, Some(&before))?;
        writer.update_rows(shape, &[RowUpdate { row_key, before, after }])?;
        *count += 1;
    }
    writer.finish()?;
    Ok(done)
}
