//! Receipts: the signed word that a person's rows and key are gone, in the commit that makes it true.

mod shares;

use crate::ownership::{Between, Derivation};
use planner::catalog::own_tables;
use repr::{CommitTime, MicroDbId, RelationId, RowKey};
use state::overlay::Change;
use state::{SqlError, clock};
use std::collections::{BTreeMap, BTreeSet};
use storage::Batch;
use storage::audit::{AuditEntry, AuditOperation, AuditScope, Receipt, ReceiptRequest, ReceiptTable};
use storage::backup::BlankedRow;

/// What an erasure does to one table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableCounts {
    /// Rows erased.
    pub deleted: u64,
    /// Survivors with a blanked column.
    pub anonymized: u64,
    /// Survivors that lost this subject's copy.
    pub disowned: u64,
}

impl TableCounts {
    /// Counts a row that goes, or stays and is another.
    fn count(&mut self, change: &Change) {
        match (&change.before, &change.after) {
            (Some(_), None) => self.deleted += 1,
            (Some(before), Some(after)) if before != after => self.anonymized += 1,
            (Some(_) | None, Some(_)) | (None, None) => {}
        }
    }
}

/// The outcome, by table name.
pub type Counts = BTreeMap<String, TableCounts>;

/// An erasure: whose, what is said of it, and what it did.
pub struct Erasure {
    /// The µDB.
    pub microdb: MicroDbId,
    /// The signed word.
    pub receipt: Receipt,
    /// By table.
    pub counts: Counts,
    /// Of what it was.
    pub of: Erased,
}

impl Erasure {
    /// Whose key goes with it.
    pub(crate) fn doomed(&self) -> Option<MicroDbId> {
        (self.of != Erased::Part).then_some(self.microdb)
    }
}

/// What was erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erased {
    /// A person, whose key dies.
    Person,
    /// What was kept of somebody else's erasure: its key dies, too, but it is no person.
    Case,
    /// A part of a person's data: they stay, and so does their key.
    Part,
}

/// A receipt for every person whose row the transaction removes, by GDPR FORGET or plain DELETE, and for the one of whom it erases
/// a part; in its batch.
pub(crate) fn issue(
    between: &Between<'_>,
    derivation: &Derivation,
    batch: &mut Batch,
) -> Result<Vec<Erasure>, SqlError> {
    let mut erasures = Vec::new();
    let removed = removed(between)?;
    let people = || removed.iter().filter(|(_, relation, _)| *relation != own_tables::RETAINED).map(|(one, ..)| *one);
    // Of several each has their own rows in it. Where one goes all that the commit does is theirs.
    let mut shares = (people().count() > 1).then(|| shares::by_person(between, derivation, people())).transpose()?;
    let store = between.new.store();
    for (microdb, relation, row_key) in &removed {
        let (of, counts) = match &mut shares {
            _ if *relation == own_tables::RETAINED => (Erased::Case, Counts::new()),
            Some(shares) => (Erased::Person, shares.remove(microdb).unwrap_or_default()),
            None => (Erased::Person, counts(between, derivation, *microdb)?),
        };
        let erasure = receipt(between, derivation, batch, (*microdb, of, counts))?;
        batch.put_meta(store, &store.forgotten_key(*relation, row_key), erasure.receipt.id_text().as_bytes());
        erasures.push(erasure);
    }
    if let Some(part) = between.overlay.erased_in_part() {
        let counts = counts(between, derivation, part.microdb)?;
        erasures.push(receipt(between, derivation, batch, (part.microdb, Erased::Part, counts))?);
    }
    // A restore that carries them out again does so with all of the commit's: what they leave is noted once.
    let part = erasures.iter().find(|erasure| erasure.of == Erased::Part);
    if let Some(one) = part.or(erasures.first())
        && store.is_backed_up()?
    {
        batch.put_blanked(store, &one.receipt.id(), &left(between, part.is_some())?);
    }
    Ok(erasures)
}

/// Signs one, and has the log vouch for it.
fn receipt(
    between: &Between<'_>,
    derivation: &Derivation,
    batch: &mut Batch,
    (microdb, of, counts): (MicroDbId, Erased, Counts),
) -> Result<Erasure, SqlError> {
    let store = between.new.store();
    let time_us = clock::now_micros();
    let tables = counts.iter().map(|(table, counts)| ReceiptTable {
        table: table.clone(),
        deleted: counts.deleted,
        anonymized: counts.anonymized,
        disowned: counts.disowned,
    });
    let part = between.overlay.erased_in_part().filter(|_| of == Erased::Part);
    let request = ReceiptRequest {
        time_us,
        subject: microdb,
        parts: part.map_or_else(Vec::new, |part| part.parts.clone()),
        tables: tables.collect(),
        // What the erasure was planned by: the annotated schema, as it stands in the catalog.
        plan: between.new.schema().content_hash(),
    };
    let receipt = store.sign_receipt(&request);
    let entry = AuditEntry {
        time_us,
        // That which it will be in.
        commit: CommitTime(u64::MAX),
        actor: between.overlay.actor().clone(),
        operation: AuditOperation::Forget,
        statement: [0; 8],
        tables: derivation.tables.keys().copied().collect(),
        key: None,
        subjects: vec![microdb],
        scope: AuditScope::default(),
        rows: counts.values().map(|table| table.deleted + table.anonymized).sum(),
        payload: None,
    };
    batch.append_receipt(store, &receipt, &entry)?;
    Ok(Erasure { microdb, receipt, counts, of })
}

/// Rows that stay and whose columns changed, and of an erasure in part those that went: a restore of an older backup does the same again.
fn left(between: &Between<'_>, in_part: bool) -> Result<Vec<BlankedRow>, SqlError> {
    let mut rows = Vec::new();
    for (relation, changes) in between.overlay.tables() {
        let Some(shape) = between.new.schema().shape(relation) else { continue };
        changes.each(|row_key, change| {
            if in_part && shape.personal && change.before.is_some() && change.after.is_none() {
                rows.push(BlankedRow { relation, key: row_key.clone(), columns: Vec::new() });
            }
            let (Some(before), Some(after)) = (&change.before, &change.after) else { return Ok(()) };
            let (before, after) = (shape.unpack(before), shape.unpack(after));
            let changed = |column: &usize| before[*column] != after[*column];
            let columns: Vec<u32> = (0..after.len()).filter(changed).map(|column| column as u32).collect();
            if !columns.is_empty() {
                rows.push(BlankedRow { relation, key: row_key.clone(), columns });
            }
            Ok(())
        })?;
    }
    Ok(rows)
}

/// The id that `forgotten_key` leads to.
pub fn id_of_text(text: &[u8]) -> Option<[u8; 16]> {
    let mut id = [0; 16];
    if text.len() != 2 * id.len() {
        return None;
    }
    for (byte, digits) in id.iter_mut().zip(text.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(id)
}

/// µDBs that no subject's row has any more, and the rows that had them.
fn removed<'a>(between: &Between<'a>) -> Result<Vec<(MicroDbId, RelationId, &'a RowKey)>, SqlError> {
    let kept: BTreeSet<MicroDbId> = between.overlay.subjects().filter_map(|(_, now)| *now).collect();
    let mut removed = Vec::new();
    for ((relation, row_key), now) in between.overlay.subjects() {
        // Another person may stand under the same key by now.
        if let Some(microdb) = between.old.subject(*relation, row_key)?
            && *now != Some(microdb)
            && !kept.contains(&microdb)
        {
            removed.push((microdb, *relation, row_key));
        }
    }
    Ok(removed)
}

/// Counts rows by what became of them.
pub fn counts(between: &Between<'_>, derivation: &Derivation, subject: MicroDbId) -> Result<Counts, SqlError> {
    let mut by_relation: BTreeMap<RelationId, TableCounts> = BTreeMap::new();
    for (relation, changes) in between.overlay.tables().filter(|(relation, _)| is_of_people(*relation)) {
        let counts = by_relation.entry(relation).or_default();
        changes.each(|_, change| {
            counts.count(change);
            Ok(())
        })?;
    }
    for (relation, rows) in derivation.tables.iter().filter(|(relation, _)| is_of_people(**relation)) {
        let counts = by_relation.entry(*relation).or_default();
        counts.disowned += rows.values().filter(|row| row.disowned().any(|owner| owner == subject)).count() as u64;
    }
    Ok(by_name(between, by_relation))
}

/// What the server keeps for itself is no part of what was asked.
fn is_of_people(relation: RelationId) -> bool {
    !own_tables::is_own(relation.0)
}

fn by_name(between: &Between<'_>, by_relation: BTreeMap<RelationId, TableCounts>) -> Counts {
    let mut all = Counts::new();
    for (relation, counts) in by_relation {
        if counts != TableCounts::default()
            && let Some(shape) = between.new.schema().shape(relation)
        {
            let of_name = all.entry(shape.server_name().to_owned()).or_default();
            of_name.deleted += counts.deleted;
            of_name.anonymized += counts.anonymized;
            of_name.disowned += counts.disowned;
        }
    }
    all
}
