//! Ownership as dataflow: changes of rows in, changes of owner sets out.
//!
//! One operator per annotated edge, run in topological order from the data subjects outwards. For a table R
//! whose rows are owned through an edge by the holders H of another table,
//!
//! ```text
//!   Δowners(R) = ΔR ⋈ H(after)  +  R(before) ⋈ ΔH
//! ```
//!
//! with multiplicity: the stored number is that of derivations (edge and far row) that give the owner, so
//! that losing one path is a decrement. The operators keep no state: they read the state before, and the
//! same under the transaction's own layer, and a refused transaction leaves nothing. Self-references of a
//! table that is not a subject's own are not counted, since mutual support would never die: what was
//! reachable through them is derived again (`self_reference`).
//!
//! Reads indexes and owner sets; never writes.

mod newcomers;
pub mod orphan;
pub mod placement;
mod self_reference;
mod spilled;

use planner::ownership::Edge;
use repr::hash::HashMap;
use repr::{ColumnIndex, IndexId, MicroDbId, RelationId, Row, RowKey, poll};
use state::SqlError;
use state::layered_snapshot::LayeredSnapshot;
use state::overlay::{Change, Overlay, Owners, TableChanges};
use state::reader::Reader;
use state::shape::TableShape;
use state::validation::{Mark, Marks};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One row whose content or owners change.
#[derive(Clone, Debug)]
pub struct RowDelta {
    /// The row before; equal to `after` if only its owners change.
    pub before: Option<Row>,
    /// The row after.
    pub after: Option<Row>,
    /// Owners before.
    pub old: Owners,
    /// Owners after; of a row that goes none.
    pub new: Owners,
}

impl RowDelta {
    /// Who has it no more, of a row that stays.
    pub(crate) fn disowned(&self) -> impl Iterator<Item = MicroDbId> {
        let has = |owner: &MicroDbId| self.new.iter().any(|(has, _)| has == owner);
        let owners = self.old.iter().map(|(owner, _)| *owner);
        owners.filter(move |owner| self.after.is_some() && !has(owner))
    }
}

/// Changes of personal tables, by table and row.
pub type RowDeltas = BTreeMap<RelationId, BTreeMap<RowKey, RowDelta>>;

/// All changes of personal tables.
#[derive(Debug, Default)]
pub struct Derivation {
    /// Those of rows in memory.
    pub tables: RowDeltas,
    /// Whose the rows are that stand on the disk.
    pub spilled: BTreeMap<RelationId, BTreeSet<MicroDbId>>,
    /// Whose those were that go.
    pub left: BTreeMap<RelationId, BTreeSet<MicroDbId>>,
    /// What was looked at.
    pub reads: Marks,
    /// What a commit of this changes.
    pub writes: Marks,
}

impl Derivation {
    /// With what was found of a table's rows on the disk.
    pub(crate) fn add(&mut self, found: spilled::PlacedRows) {
        let spilled::PlacedRows { reads, writes, owners, left } = found;
        self.reads.extend(&reads);
        self.writes.extend(&writes);
        self.writes.settle();
        self.spilled.extend(owners);
        self.left.extend(left);
    }

    /// Whether somebody of these owns a row after it that it changes.
    pub(crate) fn gives_to(&self, is_one: impl Fn(MicroDbId) -> bool) -> bool {
        let mut rows = self.tables.values().flat_map(|rows| rows.values()).filter(|row| row.after.is_some());
        rows.any(|row| row.new.iter().any(|(owner, _)| is_one(*owner)))
            || self.spilled.values().flatten().any(|owner| is_one(*owner))
    }
}

/// The two states between which owners are derived.
pub struct Between<'a> {
    /// Before the transaction (under earlier ones of the group).
    pub old: &'a LayeredSnapshot,
    /// The same under the transaction's overlay.
    pub new: &'a LayeredSnapshot,
    /// The transaction's overlay.
    pub overlay: &'a Overlay,
}

/// Derives the owners of every row that a transaction changes or affects.
pub fn derive(between: &Between<'_>) -> Result<Derivation, SqlError> {
    let mut derivation = Derivation::default();
    derivation.reads.note(&Mark::Catalog);
    // Whose copies their entries name was looked up beside the transaction.
    between.overlay.filled().for_each(|(relation, _)| derivation.reads.note(&Mark::Placed(relation)));
    for relation in between.new.schema().order() {
        let shape = between.new.shape(*relation)?;
        if may_change(shape, between.overlay, &derivation) {
            TableDerivation { between, shape: shape.clone(), deltas: Vec::new() }.run(&mut derivation)?;
        }
    }
    note_writes(between, &mut derivation)?;
    Ok(derivation)
}

/// Whether a transaction can change the owners of a table's rows: it changes these, or what their edges lead to.
fn may_change(shape: &TableShape, overlay: &Overlay, derivation: &Derivation) -> bool {
    let changes = |relation: RelationId| overlay.table(relation).is_some() || derivation.tables.contains_key(&relation);
    changes(shape.id()) || shape.owner_edges.iter().any(|edge| changes(edge.far))
}

struct TableDerivation<'a> {
    between: &'a Between<'a>,
    shape: Arc<TableShape>,
    /// Row, owner, and a change of its number of derivations; in any order, those of one edge mostly in that of the rows.
    deltas: Vec<(Cow<'a, RowKey>, MicroDbId, i64)>,
}

/// Owners and changes of their numbers of derivations, in any order; an owner may stand more than once.
type Deltas = Vec<(MicroDbId, i64)>;

/// A far row's part in an edge: the value that it is met by, and who holds it.
struct HeldValue {
    value: Option<Vec<u8>>,
    /// None twice.
    holders: Vec<MicroDbId>,
}

impl<'a> TableDerivation<'a> {
    fn run(mut self, derivation: &mut Derivation) -> Result<(), SqlError> {
        let relation = self.shape.id();
        let between = self.between;
        let changes = between.overlay.table(relation);
        let shape = self.shape.clone();
        let counted = |edge: &&Edge| !edge.is_self() || shape.table().data_subject;
        for edge in shape.owner_edges.iter().filter(counted) {
            // Many rows meet the same few holders.
            let mut met: HashMap<Vec<u8>, Vec<MicroDbId>> = HashMap::default();
            for (row_key, change) in changes.into_iter().flat_map(|changes| &changes.rows) {
                // Who a row that goes is left with, nobody asks.
                if change.after.is_some() {
                    let (before, after) = (change.before.as_ref(), change.after.as_ref());
                    self.row_against_holders(edge, row_key, before, after, &mut met, derivation)?;
                }
            }
            self.holders_against_rows(edge, derivation)?;
        }
        if shape.table().data_subject {
            for (row_key, change) in changes.into_iter().flat_map(|changes| &changes.rows) {
                if change.after.is_none() {
                    continue;
                }
                if change.before.is_some()
                    && let Some(own) = between.old.subject(relation, row_key)?
                {
                    self.add(Cow::Borrowed(row_key), own, -1);
                }
                if let Some(own) = between.new.subject(relation, row_key)? {
                    self.add(Cow::Borrowed(row_key), own, 1);
                }
            }
        }
        let mut rows = self.apply_deltas(derivation)?;
        if shape.owner_edges.iter().any(Edge::is_self) && !shape.table().data_subject {
            self_reference::derive(between, &shape, &mut rows, derivation)?;
        }
        for (row_key, row) in &mut rows {
            if row.before.is_none() && row.after.is_none() {
                // Nobody has locked it: others may write it meanwhile, and its new copies are to be of what they wrote.
                derivation.reads.note(&Mark::Row(relation, row_key));
                let stored = between.new.get(shape.table(), row_key)?;
                row.before.clone_from(&stored);
                row.after = stored;
            }
        }
        rows.retain(|_, row| row.before.is_some() || row.after.is_some());
        if !rows.is_empty() {
            derivation.tables.insert(relation, rows);
        }
        Ok(())
    }

    fn apply_deltas(&mut self, derivation: &mut Derivation) -> Result<BTreeMap<RowKey, RowDelta>, SqlError> {
        let mut deltas = std::mem::take(&mut self.deltas);
        deltas.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        let mut deltas = deltas.into_iter().peekable();
        let changes = self.between.overlay.table(self.shape.id());
        let mut changes = changes.into_iter().flat_map(|changes| &changes.rows).peekable();
        // Both are in the order of the rows, and so is what comes of them.
        let mut rows: Vec<(RowKey, RowDelta)> = Vec::with_capacity(changes.size_hint().0.max(deltas.len()));
        loop {
            let row_key = match (changes.peek(), deltas.peek()) {
                (None, None) => break,
                (Some((changed, _)), None) => Cow::Borrowed(*changed),
                (None, Some((derived, ..))) => derived.clone(),
                (Some((changed, _)), Some((derived, ..))) if *changed <= derived.as_ref() => Cow::Borrowed(*changed),
                (Some(_), Some((derived, ..))) => derived.clone(),
            };
            let change = changes.next_if(|(changed, _)| *changed == row_key.as_ref()).map(|(_, change)| change);
            let mut of_row = Deltas::new();
            while let Some((_, owner, delta)) = deltas.next_if(|(derived, ..)| *derived == row_key) {
                of_row.push((owner, delta));
            }
            if let Some(row) = self.row_delta(&row_key, change, merged(of_row), derivation)? {
                rows.push((row_key.into_owned(), row));
            }
        }
        Ok(rows.into_iter().collect())
    }

    /// A row's change by its own content, if that changed, and by what changes its owners.
    fn row_delta(
        &self,
        row_key: &RowKey,
        change: Option<&Change>,
        mut deltas: Deltas,
        derivation: &mut Derivation,
    ) -> Result<Option<RowDelta>, SqlError> {
        poll::step()?;
        let mut unchanged = deltas.iter().all(|(_, delta)| *delta == 0);
        let on_disk = match change {
            None if !unchanged => self.on_disk(row_key)?,
            Some(_) | None => None,
        };
        if let Some(Change { before: Some(before), after: Some(after), .. }) = &on_disk
            && !self.shape.keeps_owners(before, after)
        {
            // Nothing else asks for those that its own change leads to.
            for edge in &self.shape.owner_edges {
                deltas.extend(self.of_holders(
                    edge,
                    (Some(before), Some(after)),
                    &mut HashMap::default(),
                    derivation,
                )?);
            }
            deltas = merged(deltas);
            unchanged = false;
        }
        let mut row = match change.or(on_disk.as_ref()) {
            // A row that the transaction both made and removed was never there.
            Some(change) if change.before.is_some() || change.after.is_some() => {
                let old = if change.before.is_some() { self.old_owners(row_key, derivation)? } else { Owners::new() };
                let new = if change.after.is_some() { old.clone() } else { Owners::new() };
                RowDelta { before: change.before.clone(), after: change.after.clone(), old, new }
            }
            Some(_) | None if unchanged => return Ok(None),
            Some(_) | None => {
                let old = self.old_owners(row_key, derivation)?;
                RowDelta { before: None, after: None, new: old.clone(), old }
            }
        };
        let goes = row.before.is_some() && row.after.is_none();
        if !unchanged && !goes {
            row.new = self.apply(&row.new, deltas)?;
        }
        Ok(Some(row))
    }

    /// The row's change, if it stands on the disk and was there before.
    fn on_disk(&self, row_key: &RowKey) -> Result<Option<Change>, SqlError> {
        let changes = self.between.overlay.table(self.shape.id()).filter(|changes| changes.covers());
        changes.map_or(Ok(None), |changes| changes.spilled_change(row_key))
    }

    /// ΔR ⋈ H(after), for one changed row.
    fn row_against_holders(
        &mut self,
        edge: &Edge,
        row_key: &'a RowKey,
        before: Option<&Row>,
        after: Option<&Row>,
        met: &mut HashMap<Vec<u8>, Vec<MicroDbId>>,
        derivation: &mut Derivation,
    ) -> Result<(), SqlError> {
        poll::step()?;
        let deltas = self.of_holders(edge, (before, after), met, derivation)?;
        deltas.into_iter().for_each(|(holder, sign)| self.add(Cow::Borrowed(row_key), holder, sign));
        Ok(())
    }

    /// What an edge gives a row and takes from it, as that has changed.
    fn of_holders(
        &self,
        edge: &Edge,
        (before, after): (Option<&Row>, Option<&Row>),
        met: &mut HashMap<Vec<u8>, Vec<MicroDbId>>,
        derivation: &mut Derivation,
    ) -> Result<Deltas, SqlError> {
        let value = |row: Option<&Row>| row.and_then(|row| near_value(&self.shape, edge, row));
        let (before, after) = (value(before), value(after));
        let mut deltas = Deltas::new();
        if before == after {
            return Ok(deltas);
        }
        for (value, sign) in [(before, -1), (after, 1)] {
            let Some(value) = value else { continue };
            if let Some(holder) = known_holder(self.between, edge, &value, &mut derivation.reads) {
                deltas.push((holder, sign));
                continue;
            }
            if !met.contains_key(&value) {
                let mut holding = Vec::new();
                for far_key in far_keys(self.between.new, edge, &value, &mut derivation.reads)? {
                    let Derivation { tables, reads, .. } = &mut *derivation;
                    holding.extend(holders(self.between, edge.far, &far_key, tables, reads)?);
                }
                met.insert(value.clone(), holding);
            }
            deltas.extend(met[&value].iter().map(|holder| (*holder, sign)));
        }
        Ok(deltas)
    }

    /// R(before) ⋈ ΔH
    fn holders_against_rows(&mut self, edge: &Edge, derivation: &mut Derivation) -> Result<(), SqlError> {
        if self.between.overlay.table(self.shape.id()).is_some_and(|changes| changes.truncated) {
            return Ok(());
        }
        let by_primary_key = self.between.new.shape(edge.far)?.table().primary_key == Some(edge.far_index);
        let known =
            far_changes(self.between, edge)?.into_iter().chain(derived_changes(self.between, edge, derivation)?);
        for (old, new) in known {
            // No stored row can refer to a primary key that was not there: integrity spares the look-up. Another
            // unique value may have passed from row to row.
            if old.value.is_none() && edge.along_foreign_key() && by_primary_key {
                continue;
            }
            self.holder_against_rows(edge, (old, new), derivation)?;
        }
        // Those on the disk: rows that have changed there are held as before, and hold as before.
        let far = self.between.new.shape(edge.far)?.clone();
        let spilled = self.between.overlay.table(edge.far).filter(|changes| changes.covers());
        for row in spilled.into_iter().flat_map(TableChanges::spilled) {
            let (row_key, change) = row?;
            let is_derived = derivation.tables.get(&edge.far).is_some_and(|rows| rows.contains_key(&row_key));
            if let Change { before: Some(before), after: None, .. } = change
                && !is_derived
                && let Some(value) = far_value(&far, edge, &before)
            {
                derivation.reads.note(&Mark::Owners(edge.far, &row_key));
                let owners = self.between.old.owners_of(edge.far, &row_key)?;
                let holders = owners.into_iter().map(|(owner, _)| owner).collect();
                let gone = HeldValue { value: None, holders: Vec::new() };
                self.holder_against_rows(edge, (HeldValue { value: Some(value), holders }, gone), derivation)?;
            }
        }
        Ok(())
    }

    /// The same of one far row.
    fn holder_against_rows(
        &mut self,
        edge: &Edge,
        (old, new): (HeldValue, HeldValue),
        derivation: &mut Derivation,
    ) -> Result<(), SqlError> {
        let deltas = |holders: Vec<MicroDbId>, sign| holders.into_iter().map(move |holder| (holder, sign));
        let by_value: Vec<(Vec<u8>, Deltas)> = match (old.value, new.value) {
            (Some(old_value), Some(new_value)) if old_value == new_value => {
                vec![(old_value, merged(deltas(old.holders, -1).chain(deltas(new.holders, 1)).collect()))]
            }
            (old_value, new_value) => {
                let old_part = old_value.map(|value| (value, deltas(old.holders, -1).collect()));
                let new_part = new_value.map(|value| (value, deltas(new.holders, 1).collect()));
                old_part.into_iter().chain(new_part).collect()
            }
        };
        for (value, deltas) in by_value {
            if deltas.iter().all(|(_, delta)| *delta == 0) {
                continue;
            }
            poll::step()?;
            for row_key in near_keys(self.between.old, &self.shape, edge, &value, &mut derivation.reads)? {
                // Who a row that goes is left with, nobody asks.
                if self.goes(&row_key)? {
                    continue;
                }
                for (holder, delta) in &deltas {
                    self.add(Cow::Owned(row_key.clone()), *holder, *delta);
                }
            }
        }
        Ok(())
    }

    /// Whether the transaction takes a stored row away.
    fn goes(&self, row_key: &RowKey) -> Result<bool, SqlError> {
        let Some(changes) = self.between.overlay.table(self.shape.id()) else { return Ok(false) };
        match changes.rows.get(row_key) {
            Some(change) => Ok(change.after.is_none()),
            None => Ok(self.on_disk(row_key)?.is_some_and(|change| change.after.is_none())),
        }
    }

    fn add(&mut self, row_key: Cow<'a, RowKey>, owner: MicroDbId, delta: i64) {
        self.deltas.push((row_key, owner, delta));
    }

    fn old_owners(&self, row_key: &RowKey, derivation: &mut Derivation) -> Result<Owners, SqlError> {
        let relation = self.shape.id();
        derivation.reads.note(&Mark::Owners(relation, row_key));
        if self.between.overlay.table(relation).is_some_and(|changes| changes.truncated) {
            return Ok(Owners::new());
        }
        self.between.old.owners_of(relation, row_key)
    }

    fn apply(&self, owners: &Owners, deltas: Deltas) -> Result<Owners, SqlError> {
        let before = owners.iter().map(|(owner, count)| (*owner, i64::from(*count)));
        let counts = merged(before.chain(deltas).collect());
        let mut result = Owners::with_capacity(counts.len());
        for (owner, count) in counts {
            let count = u32::try_from(count).map_err(|_| {
                SqlError::new("XX001", format!("owners of table \"{}\" do not add up", self.shape.table().name))
                    .hint("stop the server and run \"dogwood check\"")
            })?;
            // An owner by self-reference alone stands with 0; whether it still does is derived there.
            if count > 0 || owners.contains(&(owner, 0)) {
                result.push((owner, count));
            }
        }
        Ok(result)
    }
}

/// One entry an owner, in their order.
fn merged(mut deltas: Deltas) -> Deltas {
    deltas.sort_by_key(|(owner, _)| *owner);
    deltas.dedup_by(|(later, delta), (owner, sum)| {
        let same = later == owner;
        if same {
            *sum += *delta;
        }
        same
    });
    deltas
}

/// What a near row is met by. Values of an edge travel as canonical bytes in the order of the edge's columns.
pub fn near_value(shape: &TableShape, edge: &Edge, row: &Row) -> Option<Vec<u8>> {
    shape.value_of(&edge.near_columns, row)
}

/// What a far row is met by.
pub fn far_value(shape: &TableShape, edge: &Edge, row: &Row) -> Option<Vec<u8>> {
    shape.value_of(&edge.far_columns, row)
}

/// Keys of the far rows that a value meets.
pub(crate) fn far_keys(
    reader: &LayeredSnapshot,
    edge: &Edge,
    value: &[u8],
    reads: &mut Marks,
) -> Result<Vec<RowKey>, SqlError> {
    reads.note(&Mark::Index(edge.far_index, value));
    let shape = reader.shape(edge.far)?.clone();
    reader.keys_by_value(&shape, edge.far_index, value)
}

/// Keys of the near rows that a value meets.
pub fn near_keys(
    reader: &LayeredSnapshot,
    shape: &TableShape,
    edge: &Edge,
    value: &[u8],
    reads: &mut Marks,
) -> Result<Vec<RowKey>, SqlError> {
    reads.note(&Mark::Index(edge.near_index, value));
    reader.keys_by_value(shape, edge.near_index, value)
}

/// The data subject that a value refers to by a foreign key, where the transaction has found and locked it already. Noted as if
/// it were looked up.
fn known_holder(between: &Between<'_>, edge: &Edge, value: &[u8], reads: &mut Marks) -> Option<MicroDbId> {
    if !edge.along_foreign_key() {
        return None;
    }
    let (far_key, holder) = between.old.known()?.parent(edge.reference.foreign_key, value)?;
    let holder = holder?;
    let far_changes = between.overlay.table(edge.far);
    if far_changes.is_some_and(|changes| changes.truncated || changes.rows.contains_key(far_key) || changes.covers())
        || between.overlay.subject(edge.far, far_key).is_some()
    {
        return None;
    }
    reads.note(&Mark::Index(edge.far_index, value));
    reads.note(&Mark::Subject(edge.far, far_key));
    Some(holder)
}

/// Who holds a far row after the transaction: a subject's row itself, another row's owners.
fn holders(
    between: &Between<'_>,
    relation: RelationId,
    row_key: &RowKey,
    derived: &RowDeltas,
    reads: &mut Marks,
) -> Result<Vec<MicroDbId>, SqlError> {
    if between.new.shape(relation)?.table().data_subject {
        reads.note(&Mark::Subject(relation, row_key));
        return Ok(between.new.subject(relation, row_key)?.into_iter().collect());
    }
    let holders = |owners: Owners| owners.into_iter().map(|(owner, _)| owner).collect();
    if let Some(row) = derived.get(&relation).and_then(|rows| rows.get(row_key)) {
        return Ok(holders(row.new.clone()));
    }
    if let Some(owners) = spilled::owners_of(between, relation, row_key, derived, reads)? {
        return Ok(holders(owners));
    }
    reads.note(&Mark::Owners(relation, row_key));
    Ok(holders(between.old.owners_of(relation, row_key)?))
}

/// ΔH where the far table is of data subjects: their rows, each held by itself alone.
fn far_changes(between: &Between<'_>, edge: &Edge) -> Result<Vec<(HeldValue, HeldValue)>, SqlError> {
    let far = between.new.shape(edge.far)?.clone();
    let mut changes = Vec::new();
    if !far.table().data_subject {
        return Ok(changes);
    }
    for (row_key, change) in between.overlay.table(edge.far).into_iter().flat_map(|changes| &changes.rows) {
        let held = |row: &Option<Row>, reader: &LayeredSnapshot| -> Result<HeldValue, SqlError> {
            let value = row.as_ref().and_then(|row| far_value(&far, edge, row));
            let holders = if row.is_some() { reader.subject(edge.far, row_key)? } else { None };
            Ok(HeldValue { value, holders: holders.into_iter().collect() })
        };
        changes.push((held(&change.before, between.old)?, held(&change.after, between.new)?));
    }
    Ok(changes)
}

/// ΔH of any other far table: rows whose content or owners were found to change before.
fn derived_changes(
    between: &Between<'_>,
    edge: &Edge,
    derivation: &Derivation,
) -> Result<Vec<(HeldValue, HeldValue)>, SqlError> {
    let far = between.new.shape(edge.far)?;
    if far.table().data_subject {
        return Ok(Vec::new());
    }
    let rows = derivation.tables.get(&edge.far).into_iter().flat_map(BTreeMap::values);
    Ok(rows
        .map(|row| {
            let held = |version: &Option<Row>, owners: &Owners| HeldValue {
                value: version.as_ref().and_then(|row| far_value(far, edge, row)),
                holders: owners.iter().map(|(owner, _)| *owner).collect(),
            };
            (held(&row.before, &row.old), held(&row.after, &row.new))
        })
        .collect())
}

/// Marks for whatever another transaction's derivation may have read of what this one changes.
fn note_writes(between: &Between<'_>, derivation: &mut Derivation) -> Result<(), SqlError> {
    let mut writes = Marks::with_room();
    for (relation, rows) in &derivation.tables {
        let shape = between.new.shape(*relation)?;
        writes.note(&Mark::Placed(*relation));
        for (row_key, row) in rows {
            if row.before.is_some() != row.after.is_some() || row.old != row.new {
                writes.note(&Mark::Owners(*relation, row_key));
            }
            if row.before.is_some() && row.after.is_some() && row.before != row.after {
                writes.note(&Mark::Row(*relation, row_key));
            }
            for edge in &shape.owner_edges {
                note_value(&mut writes, edge.near_index, &edge.near_columns, shape, row);
            }
            for edge in &shape.owner_dependents {
                note_value(&mut writes, edge.far_index, &edge.far_columns, shape, row);
            }
        }
    }
    for ((relation, row_key), _) in between.overlay.subjects() {
        writes.note(&Mark::Subject(*relation, row_key));
    }
    if between.overlay.changes_schema() {
        writes.note(&Mark::Catalog);
    }
    note_for_statements(between, &mut writes)?;
    writes.settle();
    derivation.writes = writes;
    Ok(())
}

/// Whoever changes more rows tells of tables only.
const TOLD_ROWS_MAX: usize = 1_024;

/// Marks for whatever a SERIALIZABLE transaction may have read of what this one changes.
fn note_for_statements(between: &Between<'_>, writes: &mut Marks) -> Result<(), SqlError> {
    writes.note(&Mark::Anything);
    let told = between.overlay.len() <= TOLD_ROWS_MAX && !between.overlay.changes_schema();
    for table in between.overlay.dropped_tables() {
        writes.note(&Mark::Table(table.id));
        writes.note(&Mark::Untold(table.id));
    }
    for (relation, changes) in between.overlay.tables() {
        writes.note(&Mark::Table(relation));
        if !told || changes.truncated {
            writes.note(&Mark::Untold(relation));
            continue;
        }
        let shape = between.new.shape(relation)?;
        for (row_key, change) in &changes.rows {
            writes.note(&Mark::RowOf(relation, row_key));
            for index in &shape.table().indexes {
                let value = |row: &Option<Row>| row.as_ref().and_then(|row| shape.index_value_of(index, row));
                // A row of a value that stays may have become another.
                for value in [value(&change.before), value(&change.after)].into_iter().flatten() {
                    writes.note(&Mark::ValueOf(index.id, &value));
                }
            }
        }
    }
    Ok(())
}

fn note_value(writes: &mut Marks, index: IndexId, columns: &[ColumnIndex], shape: &TableShape, row: &RowDelta) {
    let value = |version: &Option<Row>| version.as_ref().and_then(|row| shape.value_of(columns, row));
    let (before, after) = (value(&row.before), value(&row.after));
    if before != after {
        for value in [before, after].into_iter().flatten() {
            writes.note(&Mark::Index(index, &value));
        }
    }
}
