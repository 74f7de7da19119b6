//! GDPR FORGET … IN: the person stays, and what they own of some tables goes, as it would go with them.
//!
//! ```text
//! rows of the tables in the person's µDB ─┬─ nobody else's: they go, and what they lead to falls as in a whole erasure
//!                                         └─ others', too:  the edges to the person's own row fire, as if that had gone
//! rows of which columns are named         ──  nobody else's: these are blank; others', too: those that a rule blanks
//! ```
//! At the end no row of a table that was named whole is the person's. What is so by way of a table that was not named is refused.

use super::{Eraser, locked_subject};
use crate::disposition::{self, Disposition};
use operators::request_profile::{Counted, RequestProfile};
use operators::traversal::Subject;
use operators::witness::Place;
use planner::ownership::Edge;
use planner::resolve::ErasedPart;
use repr::{ColumnIndex, Datum, RelationId, Row};
use state::SqlError;
use state::layered_snapshot::LayeredSnapshot;
use state::reader::Reader;
use state::shape::TableShape;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use transactions::ownership;
use transactions::writer::Writer;

/// Rows that keep columns which were named, by table: they are others', too.
pub type KeptByOthers = BTreeMap<String, u64>;

/// Erases a part of what a subject owns in a transaction's overlay; nothing is committed.
pub fn erase_part(
    writer: &mut Writer<'_>,
    subject: &Subject,
    parts: &[ErasedPart],
    profile: &mut RequestProfile,
) -> Result<KeptByOthers, SqlError> {
    writer.transaction.keep_reads();
    let outcome = erase_recalling(writer, subject, parts, profile);
    writer.transaction.forget_reads();
    outcome
}

/// As receipts, the book of requests and messages name parts.
pub fn named(snapshot: &LayeredSnapshot, parts: &[ErasedPart]) -> Result<Vec<String>, SqlError> {
    let name = |part: &ErasedPart| {
        let shape = snapshot.shape(part.table)?;
        let columns: Vec<&str> =
            part.columns.iter().map(|column| shape.table().columns[*column].name.as_str()).collect();
        Ok(match columns.as_slice() {
            [] => shape.server_name().to_owned(),
            columns => format!("{} ({})", shape.server_name(), columns.join(", ")),
        })
    };
    parts.iter().map(name).collect()
}

fn erase_recalling(
    writer: &mut Writer<'_>,
    subject: &Subject,
    parts: &[ErasedPart],
    profile: &mut RequestProfile,
) -> Result<KeptByOthers, SqlError> {
    let own_row = locked_subject(writer, subject)?;
    let since = writer.transaction.committed_snapshot().time();
    let mut eraser = Eraser::new(writer, since, profile);
    let mut kept = KeptByOthers::new();
    let mut whole: Vec<(Arc<TableShape>, Place)> = Vec::new();
    for part in parts {
        let shape = eraser.committed().shape(part.table)?.clone();
        eraser.writer.lock_table(part.table)?;
        let started = eraser.profile.start();
        let places = eraser.locked(|eraser| owned(&eraser.committed(), subject, part.table))?;
        eraser.profile.stop(Counted::MicroDb, started, places.len());
        for place in places {
            if part.columns.is_empty() {
                eraser.take_from(subject, &own_row, &shape, &place)?;
                whole.push((shape.clone(), place));
            } else if !eraser.blank_asked(subject, &own_row, (&shape, place), &part.columns)? {
                *kept.entry(shape.full_name().to_owned()).or_default() += 1;
            }
        }
    }
    eraser.fire_all(None)?;
    refuse_left(eraser.writer, subject, &whole)?;
    Ok(kept)
}

/// What a person owns of a table.
fn owned(snapshot: &LayeredSnapshot, subject: &Subject, relation: RelationId) -> Result<Vec<Place>, SqlError> {
    let mut places = Vec::new();
    snapshot.microdb(subject.microdb).rows(relation, |row_key, _| places.push((relation, row_key)))?;
    Ok(places)
}

impl Eraser<'_, '_> {
    fn is_sole_owner(&mut self, subject: &Subject, shape: &TableShape, place: &Place) -> Result<bool, SqlError> {
        if shape.one_owner {
            return Ok(true);
        }
        let owners = self.committed().owners_of(place.0, &place.1)?;
        Ok(matches!(owners.as_slice(), [(only, _)] if *only == subject.microdb))
    }

    /// A row of a table that was named whole.
    fn take_from(
        &mut self,
        subject: &Subject,
        own_row: &Row,
        shape: &Arc<TableShape>,
        place: &Place,
    ) -> Result<(), SqlError> {
        if self.is_sole_owner(subject, shape, place)? {
            return self.remove(shape, place.clone());
        }
        for edge in self.edges_to(subject, own_row, shape, place)? {
            match disposition::at_edge(shape, &edge) {
                Disposition::Erase => self.remove(shape, place.clone())?,
                // What ties it is in the person's own row, which stays.
                Disposition::Blank(_) if !edge.along_foreign_key() => {}
                Disposition::Blank(columns) => self.blank(shape, place.clone(), &columns)?,
                Disposition::Default(_) => return Err(SqlError::new("XX000", "an edge has no default")),
            }
        }
        Ok(())
    }

    /// The edges by which a row leads to the person's own.
    fn edges_to(
        &mut self,
        subject: &Subject,
        own_row: &Row,
        shape: &TableShape,
        place: &Place,
    ) -> Result<Vec<Edge>, SqlError> {
        let Some(row) = self.committed().get(shape.table(), &place.1)? else { return Ok(Vec::new()) };
        let leads = |edge: &&Edge| {
            let far = || ownership::far_value(&subject.shape, edge, own_row);
            edge.far == subject.shape.id()
                && ownership::near_value(shape, edge, &row).is_some_and(|near| far() == Some(near))
        };
        Ok(shape.owner_edges.iter().filter(leads).cloned().collect())
    }

    /// A row of a table of which columns were named; whether all of these are blank now.
    fn blank_asked(
        &mut self,
        subject: &Subject,
        own_row: &Row,
        (shape, place): (&Arc<TableShape>, Place),
        asked: &[ColumnIndex],
    ) -> Result<bool, SqlError> {
        let mut columns: BTreeSet<ColumnIndex> = asked.iter().copied().collect();
        let is_own = place == (subject.shape.id(), subject.row_key.clone());
        if !is_own && !self.is_sole_owner(subject, shape, &place)? {
            let mut ruled = BTreeSet::new();
            for edge in self.edges_to(subject, own_row, shape, &place)? {
                if let Disposition::Blank(blanked) = disposition::at_edge(shape, &edge) {
                    ruled.extend(blanked);
                }
            }
            columns.retain(|column| ruled.contains(column));
        }
        let Some(row) = self.committed().get(shape.table(), &place.1)? else { return Ok(true) };
        let before = shape.unpack(&row);
        let mut after = before.clone();
        columns.iter().for_each(|column| after[*column] = Datum::Null);
        let checks = self.writer.row_checks(shape)?;
        // A row that stays is one that could be written.
        self.writer.complete(shape, &checks, &mut after, Some(&before))?;
        self.blank(shape, place, &columns)?;
        Ok(columns.len() == asked.len())
    }
}

/// DG006 where a row is the person's still: by way of rows of tables that were not named, or of the person's own.
fn refuse_left(writer: &mut Writer<'_>, subject: &Subject, whole: &[(Arc<TableShape>, Place)]) -> Result<(), SqlError> {
    let no_owners = || SqlError::new("XX000", "an erasure was planned without its owners");
    let derived = writer.transaction.take_derived().ok_or_else(no_owners)?;
    for (shape, (relation, row_key)) in whole {
        let change = derived.overlay.table(*relation).and_then(|changes| changes.rows.get(row_key));
        if change.is_some_and(|change| change.after.is_none()) {
            continue;
        }
        let owners = derived.derivation.tables.get(relation).and_then(|rows| rows.get(row_key)).map(|row| &row.new);
        if owners.is_none_or(|owners| owners.iter().any(|(owner, _)| *owner == subject.microdb)) {
            return Err(stays(writer, subject, shape)?);
        }
    }
    writer.transaction.keep_derived(derived);
    Ok(())
}

fn stays(writer: &mut Writer<'_>, subject: &Subject, shape: &TableShape) -> Result<SqlError, SqlError> {
    let snapshot = writer.transaction.committed_snapshot();
    let mut by: BTreeSet<String> = BTreeSet::new();
    for edge in shape.owner_edges.iter().filter(|edge| edge.far != subject.shape.id() || !edge.along_foreign_key()) {
        by.insert(snapshot.shape(edge.far)?.full_name().to_owned());
    }
    let by: Vec<String> = by.into_iter().collect();
    let message = format!("rows of table \"{}\" stay this person's, who shares them with others", shape.full_name());
    Ok(SqlError::new("DG006", message)
        .detail(format!("They are so by way of rows of: {}.", by.join(", ")))
        .hint("Name these tables, too, or end what ties the person to such rows first.")
        .on(shape.place(), None))
}
