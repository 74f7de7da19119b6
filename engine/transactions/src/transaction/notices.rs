//! `dogwood.notices`: what was corrected, erased or restricted of rows that were shared, for each with whom they were (Art. 19).
//!
//! ```text
//! changes of a table with SHARED_WITH or RECIPIENT ─▶ rows before ─▶ recipients × owners × what happened ─▶ a notice each, with a count
//! ```
//! Written with the changes, before their owners are derived. Names people as the audit log does, and has nothing of the rows. Other
//! tables pay a look at what their shape says.

use super::Transaction;
use planner::catalog::Property;
use planner::catalog::own_tables::NOTICES;
use repr::id::is_temporary;
use repr::{ColumnIndex, Datum, MicroDbId, RelationId, Row, RowKey, poll};
use state::SqlError;
use state::layered_snapshot::LayeredSnapshot;
use state::overlay::TableChanges;
use state::reader::Reader;
use state::shape::TableShape;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What happened to rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happened {
    Corrected,
    Erased,
    Restricted,
    Released,
}

impl Happened {
    fn name(self) -> &'static str {
        match self {
            Happened::Corrected => "corrected",
            Happened::Erased => "erased",
            Happened::Restricted => "restricted",
            Happened::Released => "released",
        }
    }
}

/// Who is to be told of what: the recipient, the table, the person, what happened; and of how many rows.
type Notices = BTreeMap<(Box<str>, RelationId, MicroDbId, Happened), u64>;

impl Transaction {
    /// Writes down whom the transaction's changes oblige to tell; once.
    pub(super) fn note_recipients(&mut self) -> Result<(), SqlError> {
        let concerns = |shape: &&Arc<TableShape>| !shape.recipients.is_empty() && !is_temporary(shape.id().0);
        let schema = self.overlay.schema().clone();
        let is_shared = |relation: RelationId| schema.shape(relation).as_ref().is_some_and(concerns);
        let says = |property| self.overlay.dropped_tables().iter().any(|table| table.property(property).is_some());
        let dropped = says(Property::SharedWith) || says(Property::Recipient);
        if self.at_commit.has_noted || !(dropped || self.overlay.tables().any(|(relation, _)| is_shared(relation))) {
            return Ok(());
        }
        self.at_commit.has_noted = true;
        let committed = self.committed_snapshot();
        let erased = self.erased_people(&committed)?;
        // Whose rows they are was seen as they were found, mostly.
        let committed = committed.knowing(Arc::new(self.reads.owners_seen.hints()));
        let mut noting = Noting { erased, committed, notices: Notices::new() };
        let overlay = self.overlay.clone();
        for (relation, changes) in overlay.tables().filter(|(relation, _)| is_shared(*relation)) {
            let Some(shape) = schema.shape(relation) else { continue };
            noting.table(shape, changes)?;
        }
        for table in overlay.dropped_tables().iter().filter(|table| !is_temporary(table.id.0)) {
            if let Some(shape) = noting.committed.schema().shape(table.id).filter(concerns).cloned() {
                noting.all(&shape)?;
            }
        }
        drop(overlay);
        let Noting { notices, committed, .. } = noting;
        self.write_notices(&committed, notices)
    }

    /// Whom the transaction erases, or a part of their data.
    fn erased_people(&self, committed: &LayeredSnapshot) -> Result<BTreeSet<MicroDbId>, SqlError> {
        let mut erased: BTreeSet<MicroDbId> = self.overlay.erased_in_part().iter().map(|part| part.microdb).collect();
        for ((relation, row_key), _) in self.overlay.subjects().filter(|(_, now)| now.is_none()) {
            erased.extend(committed.subject(*relation, row_key)?);
        }
        Ok(erased)
    }

    fn write_notices(&mut self, committed: &LayeredSnapshot, notices: Notices) -> Result<(), SqlError> {
        let shape = self.overlay.schema().shape(NOTICES).cloned();
        let shape = shape.ok_or_else(|| SqlError::new("XX000", "the server has no table of notices"))?;
        let now = Datum::Timestamptz(self.begun.at);
        for ((recipient, relation, person, happened), count) in notices {
            let id = self.database.sequences.next_row_id()?;
            let id = Datum::Int8(i64::try_from(id).unwrap_or(i64::MAX));
            let name = committed.shape(relation)?.server_name().to_owned();
            let pseudonym = committed.store().pseudonym(person);
            let pseudonym: String = pseudonym.iter().map(|byte| format!("{byte:02x}")).collect();
            let mut row = vec![id.clone(), Datum::text(&*recipient), Datum::text(happened.name()), Datum::text(name)];
            row.extend([Datum::text(pseudonym), Datum::Int8(i64::try_from(count).unwrap_or(i64::MAX)), now.clone()]);
            row.resize(shape.table().columns.len(), Datum::Null);
            let row_key = shape.key_of(&self.database.store, &[id]);
            self.overlay_mut().set(&shape, row_key, None, Some(Row::pack(&row)));
        }
        Ok(())
    }
}

struct Noting {
    committed: LayeredSnapshot,
    /// People whose erasure this is; others' part in the same rows is not concerned.
    erased: BTreeSet<MicroDbId>,
    notices: Notices,
}

impl Noting {
    fn table(&mut self, shape: &TableShape, changes: &TableChanges) -> Result<(), SqlError> {
        let Some(before) = self.committed.schema().shape(shape.id()).cloned() else { return Ok(()) };
        if changes.truncated {
            return self.gone(&before, shape, changes);
        }
        // A definition writes rows anew, and corrects nothing.
        let is_rewritten = shape.table().schema_version != before.table().schema_version;
        let mut changed = Vec::new();
        changes.each(|row_key, change| {
            poll::step()?;
            let Some(row) = &change.before else { return Ok(()) };
            let happened = match &change.after {
                None => vec![Happened::Erased],
                Some(_) if is_rewritten => return Ok(()),
                Some(after) => {
                    row.changed_columns(after, &mut changed);
                    if !tells(shape, &changed) {
                        return Ok(());
                    }
                    what_happened(shape, &before.unpack(row), &shape.unpack(after))
                }
            };
            self.row(&before, row_key, &before.unpack(row), &happened)
        })
    }

    /// Rows of a table that was emptied, but for those that stand there again: a definition has laid it anew.
    fn gone(&mut self, before: &Arc<TableShape>, shape: &TableShape, changes: &TableChanges) -> Result<(), SqlError> {
        if before.recipients.is_empty() {
            return Ok(());
        }
        let key = |of: &TableShape| of.table().primary_key_columns().map(<[ColumnIndex]>::to_vec);
        let alike = |column: &ColumnIndex| {
            let of = |shape: &TableShape| shape.table().columns.get(*column).map(|of| of.column_type.clone());
            of(before) == of(shape)
        };
        let as_before = key(shape).iter().flatten().all(alike);
        let keyed_alike = as_before && before.key_form == shape.key_form && key(before) == key(shape);
        let committed = self.committed.clone();
        for item in committed.scan_once(before.table())? {
            let (row_key, row) = item?;
            poll::step()?;
            let row = before.unpack(&row);
            let stands = if keyed_alike {
                changes.has(&row_key)?
            } else if as_before && shape.table().primary_key.is_some() {
                changes.has(&shape.row_key(committed.store(), &row, 0))?
            } else {
                // Which one it is nobody can tell.
                !changes.is_empty()
            };
            if !stands {
                self.row(before, &row_key, &row, &[Happened::Erased])?;
            }
        }
        Ok(())
    }

    /// All rows of a table go.
    fn all(&mut self, shape: &Arc<TableShape>) -> Result<(), SqlError> {
        let committed = self.committed.clone();
        for item in committed.scan(shape.table())? {
            let (row_key, row) = item?;
            poll::step()?;
            self.row(shape, &row_key, &shape.unpack(&row), &[Happened::Erased])?;
        }
        Ok(())
    }

    fn row(
        &mut self,
        shape: &TableShape,
        row_key: &RowKey,
        row: &[Datum],
        happened: &[Happened],
    ) -> Result<(), SqlError> {
        if happened.is_empty() || !shape.personal {
            return Ok(());
        }
        let recipients: BTreeSet<Box<str>> =
            shape.recipients.iter().flat_map(|column| Property::SharedWith.words(&row[*column])).collect();
        if recipients.is_empty() {
            return Ok(());
        }
        poll::step()?;
        let owners = self.committed.owners_of(shape.id(), row_key)?;
        let owners = || owners.iter().map(|(owner, _)| *owner);
        let of_erasure: Vec<MicroDbId> = owners().filter(|owner| self.erased.contains(owner)).collect();
        let people = if of_erasure.is_empty() { owners().collect() } else { of_erasure };
        for person in people {
            for recipient in &recipients {
                for happened in happened {
                    *self.notices.entry((recipient.clone(), shape.id(), person, *happened)).or_default() += 1;
                }
            }
        }
        Ok(())
    }
}

/// Whether a change of these columns may oblige to tell: they are not only what rows say of themselves.
fn tells(shape: &TableShape, changed: &[bool]) -> bool {
    let concerns = |property: Option<Property>| property.is_none_or(|property| property == Property::Restricted);
    let mut live = shape.table().live_columns();
    live.any(|(column, declared)| changed.get(column) == Some(&true) && concerns(declared.property))
}

/// What an update of a row does to what was shared of it. Of what rows say of themselves only a restriction counts.
fn what_happened(shape: &TableShape, before: &[Datum], after: &[Datum]) -> Vec<Happened> {
    let mut happened = Vec::new();
    let restricted = shape.table().property(Property::Restricted);
    let is_restricted = |row: &[Datum]| restricted.is_some_and(|column| row[column] == Datum::Bool(true));
    match (is_restricted(before), is_restricted(after)) {
        (false, true) => happened.push(Happened::Restricted),
        (true, false) => happened.push(Happened::Released),
        (false, false) | (true, true) => {}
    }
    let was = |column: ColumnIndex| before.get(column).unwrap_or(&Datum::Null);
    let changed: Vec<ColumnIndex> = shape
        .table()
        .live_columns()
        .filter(|(column, declared)| declared.property.is_none() && *was(*column) != after[*column])
        .map(|(column, _)| column)
        .collect();
    if changed.iter().any(|column| after[*column] != Datum::Null) {
        happened.push(Happened::Corrected);
    } else if !changed.is_empty() {
        happened.push(Happened::Erased);
    }
    happened
}
