//! `dogwood check`: whether a data folder is what it must be, looked at while no server has it open.
//!
//! First storage's own check (seals, files, the log); if that finds nothing, what only the schema can say: keys,
//! index entries, foreign keys, and the owners of every row, derived anew from all rows and edges by brute force.
//! Writes nothing, unless it is told to repair. Findings name tables and numbers, never keys, values or people.

use planner::catalog::{Index, Table};
use planner::ownership::{Edge, KeyForm};
use repr::{CommitTime, IndexId, MicroDbId, RelationId, RowKey, key};
use state::SqlError;
use state::layered_snapshot::LayeredSnapshot;
use state::overlay::Owners;
use state::published::Published;
use state::reader::Reader;
use state::shape::{Schema, TableShape};
use state::view_states::Views;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use storage::check::{CheckedRelation, PROBLEMS_MAX, Problem};
use storage::{Mode, RootKeySource, Snapshot, Store, StoreOptions};
use transactions::commit::META_TIME;
use transactions::database::{open_stopped, stored_catalog};
use transactions::ownership::{far_value, near_value};

/// Checks a data folder. What is wrong with it, as sentences; nothing if all is well.
pub fn run(data: &Path, root_key: &RootKeySource) -> Result<Vec<String>, SqlError> {
    let store = open_stopped(data, root_key, Mode::Check)?;
    let leaves = store.snapshot();
    let catalog = Arc::new(stored_catalog(&leaves)?);
    let schema = Arc::new(Schema::new(catalog));
    let found = stored(&leaves, &schema);
    if !found.is_empty() {
        return Ok(found);
    }
    let mut findings = Findings::default();
    let time = match leaves.meta(META_TIME)?.map(<[u8; 8]>::try_from) {
        Some(Ok(bytes)) => CommitTime(u64::from_be_bytes(bytes)),
        Some(Err(_)) => {
            findings.add("the commit time cannot be read".to_string());
            CommitTime(0)
        }
        None => CommitTime(0),
    };
    let snapshot = LayeredSnapshot::new(
        store,
        Arc::new(Published {
            clock: state::clock::now_micros(),
            time,
            schema: schema.clone(),
            // What stands on disk is wanted.
            kept: leaves.clone(),
            snapshot: leaves.clone(),
            probes: Arc::default(),
            views: Views::default(),
            usage: Arc::default(),
        }),
    );
    for shape in schema.shapes().values() {
        check_keys(&snapshot, shape, &mut findings)?;
        for index in shape.table().indexes.iter().filter(|index| shape.table().primary_key != Some(index.id)) {
            check_index(&snapshot, &leaves, shape, index, &mut findings)?;
        }
    }
    for shape in schema.shapes().values() {
        check_foreign_keys(&snapshot, shape, &mut findings)?;
    }
    check_subjects(&snapshot, &leaves, &mut findings)?;
    let mut owners = DerivedOwners::new();
    for relation in schema.order() {
        let shape = snapshot.shape(*relation)?.clone();
        let derived = derive(&snapshot, &shape, &owners, &mut findings)?;
        compare_owners(&snapshot, &shape, &derived, &mut findings)?;
        owners.insert(*relation, derived);
    }
    Ok(findings.sentences())
}

/// Repairs of a data folder what can be without losing or guessing anything. What was repaired, as sentences.
pub fn repair(data: &Path, root_key: &RootKeySource) -> Result<Vec<String>, SqlError> {
    let repairs = Store::repair(&StoreOptions { root_key: root_key.clone(), ..StoreOptions::new(data) })?;
    Ok(repairs.iter().map(ToString::to_string).collect())
}

/// Findings with how often each was made, in the order of the first.
#[derive(Default)]
struct Findings {
    order: Vec<String>,
    counts: HashMap<String, usize>,
}

impl Findings {
    fn add(&mut self, finding: String) {
        let count = self.counts.entry(finding).or_insert_with_key(|finding| {
            self.order.push(finding.clone());
            0
        });
        *count += 1;
    }

    fn table(&mut self, table: &Table, finding: &str) {
        self.add(format!("table \"{}\": {finding}", table.name));
    }

    fn index(&mut self, table: &Table, index: &Index, finding: &str) {
        self.add(format!("index \"{}\" of table \"{}\": {finding}", index.name, table.name));
    }

    fn sentences(self) -> Vec<String> {
        let sentence = |finding: &String| match self.counts[finding] {
            1 => finding.clone(),
            count => format!("{finding} ({count} times)"),
        };
        self.order.iter().map(sentence).collect()
    }
}

/// What storage finds by itself.
fn stored(snapshot: &Snapshot, schema: &Schema) -> Vec<String> {
    let checked = |shape: &Arc<TableShape>| {
        let table = shape.table();
        let indexes = table.indexes.iter().map(|index| index.id).filter(|index| table.primary_key != Some(*index));
        let (hashed, ordered) = match shape.key_form {
            KeyForm::Hashed => (indexes.collect(), Vec::new()),
            KeyForm::Ordered => (Vec::new(), indexes.collect()),
        };
        CheckedRelation { relation: shape.id(), personal: shape.personal, hashed, ordered }
    };
    let relations: Vec<CheckedRelation> = schema.shapes().values().map(checked).collect();
    let report = storage::check::check(snapshot, &relations);
    let full = report.problems.len() >= PROBLEMS_MAX;
    let mut findings = Findings::default();
    for problem in &report.problems {
        findings.add(sentence(problem, schema));
    }
    let mut sentences = findings.sentences();
    if full {
        sentences.push(format!("there may be more: the check stops counting at {PROBLEMS_MAX} problems"));
    }
    sentences
}

fn sentence(problem: &Problem, schema: &Schema) -> String {
    let of_table = |relation: &RelationId, finding: &str| match schema.catalog().table(*relation) {
        Some(table) => format!("table \"{}\": {finding}", table.name),
        None => format!("relation {relation}: {finding}"),
    };
    let of_index = |id: &IndexId, finding: &str| {
        let mut tables = schema.catalog().relations.values();
        match tables.find_map(|table| Some((table, table.index(*id)?))) {
            Some((table, index)) => format!("index \"{}\" of table \"{}\": {finding}", index.name, table.name),
            None => format!("index {id}: {finding}"),
        }
    };
    match problem {
        Problem::Unreadable { relation: Some(relation), error } => {
            of_table(relation, &format!("reading stopped: {error}"))
        }
        Problem::Unreadable { relation: None, error } => format!("reading stopped: {error}"),
        Problem::CopyWithoutOwner(relation) => of_table(relation, "a copy of a row has no ownership entry"),
        Problem::OwnerWithoutCopy(relation) => of_table(relation, "an ownership entry has no copy of the row"),
        Problem::CanonicalMark(relation) => of_table(relation, "the wrong copy of a row is marked as canonical"),
        Problem::CopiesDiffer(relation) => of_table(relation, "the copies of a row differ"),
        Problem::DanglingIndexEntry(index) => of_index(index, "an entry points to no row"),
        Problem::DanglingLocator(index) => of_index(index, "an entry points to a µDB that has no copy of the row"),
        Problem::UnknownIndex(index) => of_index(index, "it has entries, and no table has such an index"),
        Problem::UnknownRelation(relation) => of_table(relation, "it has rows, and there is no such table"),
        Problem::SubjectSides => "a data subject is found from its row or from its µDB only".to_string(),
        Problem::SubjectWithoutKey => "the key of a data subject's µDB is gone".to_string(),
        Problem::DamagedKeyCopy => {
            "one of the two copies of a data subject's key is damaged, \"dogwood check --repair\" \
             writes it anew from the other"
                .to_string()
        }
        Problem::Notice(notice) => notice.clone(),
        Problem::DamagedFile(path) => format!("file {} is damaged", path.display()),
        Problem::Audit(error) => format!("audit log: {error}"),
        Problem::Postings(record) => {
            format!("audit log: questions by person, role or table may miss entries of record {record} and later ones")
        }
    }
}

/// Every row stands under the key that its values make.
fn check_keys(snapshot: &LayeredSnapshot, shape: &TableShape, findings: &mut Findings) -> Result<(), SqlError> {
    if shape.table().primary_key.is_none() {
        return Ok(());
    }
    for item in snapshot.scan(shape.table())? {
        let (row_key, row) = item?;
        if shape.row_key(snapshot.store(), &shape.unpack(&row), 0) != row_key {
            findings.table(shape.table(), "a row is stored under another key than its primary key");
        }
    }
    Ok(())
}

/// An index has one entry for every row with a value, and no other.
fn check_index(
    snapshot: &LayeredSnapshot,
    leaves: &Snapshot,
    shape: &TableShape,
    index: &Index,
    findings: &mut Findings,
) -> Result<(), SqlError> {
    let mut entries: HashMap<(Vec<u8>, RowKey), Option<MicroDbId>> = HashMap::new();
    match shape.key_form {
        KeyForm::Hashed => {
            for entry in leaves.scan_index_hashed_all(index.id) {
                let (hash, row_key, locator) = entry?;
                entries.insert((hash.to_vec(), row_key), locator);
            }
        }
        KeyForm::Ordered => {
            for entry in leaves.scan_index_ordered_all(index.id) {
                entries.insert(entry?, None);
            }
        }
    }
    let mut values: HashSet<Vec<u8>> = HashSet::new();
    for item in snapshot.scan(shape.table())? {
        let (row_key, row) = item?;
        let datums = shape.unpack(&row);
        let Some(value) = shape.index_value(index, &datums) else { continue };
        if shape.is_unique_in(index, &datums) && !values.insert(value.clone()) {
            findings.index(shape.table(), index, "two rows have one value, though it is unique");
        }
        let stored = match shape.key_form {
            KeyForm::Hashed => snapshot.store().hash_index(index.id, &value).to_vec(),
            KeyForm::Ordered => value,
        };
        let canonical = match shape.personal {
            true => leaves.canonical_owner(shape.id(), &row_key)?,
            false => None,
        };
        match entries.remove(&(stored, row_key)) {
            None => findings.index(shape.table(), index, "a row has no entry"),
            Some(locator) if locator != canonical => {
                findings.index(shape.table(), index, "an entry leads to another copy than the canonical one");
            }
            Some(_) => {}
        }
    }
    for _ in &entries {
        findings.index(shape.table(), index, "an entry has another value than its row");
    }
    Ok(())
}

/// Every reference without NULL leads to a row.
fn check_foreign_keys(snapshot: &LayeredSnapshot, shape: &TableShape, findings: &mut Findings) -> Result<(), SqlError> {
    let table = shape.table();
    let mut targets = Vec::with_capacity(table.foreign_keys.len());
    for foreign_key in table.foreign_keys.iter().filter(|key| !key.constraint.not_valid) {
        let target = snapshot.shape(foreign_key.target)?.clone();
        let name = &foreign_key.constraint.name;
        match target.unique_index(&foreign_key.target_columns).map(|index| index.id) {
            Some(index) => targets.push((foreign_key, target, index)),
            None => findings.table(table, &format!("foreign key \"{name}\" refers to columns without unique index")),
        }
    }
    if targets.is_empty() {
        return Ok(());
    }
    for item in snapshot.scan(table)? {
        let (_, row) = item?;
        let datums = shape.unpack(&row);
        for (foreign_key, target, index) in &targets {
            let Some(values) = shape.values(&foreign_key.columns, &datums) else { continue };
            if snapshot.keys_by_value(target, *index, &key::encode_all(&values))?.is_empty() {
                let name = &foreign_key.constraint.name;
                findings.table(table, &format!("a row's foreign key \"{name}\" leads to no row"));
            }
        }
    }
    Ok(())
}

/// Every data subject has its row.
fn check_subjects(snapshot: &LayeredSnapshot, leaves: &Snapshot, findings: &mut Findings) -> Result<(), SqlError> {
    for subject in leaves.scan_subjects() {
        let (relation, row_key, _) = subject?;
        match snapshot.schema().shape(relation).filter(|shape| shape.table().data_subject).cloned() {
            Some(shape) if snapshot.exists(&shape, &row_key)? => {}
            Some(shape) => findings.table(shape.table(), "a data subject's µDB is there, its row is not"),
            None => findings.add("a data subject belongs to no data-subject table".to_string()),
        }
    }
    Ok(())
}

type TableOwners = BTreeMap<RowKey, Owners>;
type DerivedOwners = HashMap<RelationId, TableOwners>;

/// The owners of a table's rows, as its edges and the owners of the tables before it make them. Reads no index.
fn derive(
    snapshot: &LayeredSnapshot,
    shape: &TableShape,
    derived: &DerivedOwners,
    findings: &mut Findings,
) -> Result<TableOwners, SqlError> {
    let table = shape.table();
    let mut edges = Vec::with_capacity(shape.owner_edges.len());
    for edge in &shape.owner_edges {
        edges.push((edge, far_rows(snapshot, edge)?));
    }
    let mut counts: BTreeMap<RowKey, BTreeMap<MicroDbId, u32>> = BTreeMap::new();
    // Of references within a table that is not of data subjects: from a row to the rows that it gives owners to.
    let mut flows: HashMap<RowKey, Vec<RowKey>> = HashMap::new();
    for item in snapshot.scan(table)? {
        let (row_key, row) = item?;
        let mut own: BTreeMap<MicroDbId, u32> = BTreeMap::new();
        for (edge, far_rows) in &edges {
            let Some(value) = near_value(shape, edge, &row) else { continue };
            for far_key in far_rows.get(&value).into_iter().flatten() {
                if edge.is_self() && !table.data_subject {
                    flows.entry(far_key.clone()).or_default().push(row_key.clone());
                    continue;
                }
                for holder in holders(snapshot, edge.far, far_key, derived)? {
                    *own.entry(holder).or_default() += 1;
                }
            }
        }
        if table.data_subject {
            match snapshot.subject(shape.id(), &row_key)? {
                Some(microdb) => *own.entry(microdb).or_default() += 1,
                None => findings.table(table, "a data subject's row has no µDB"),
            }
        }
        counts.insert(row_key, own);
    }
    flow(&mut counts, &flows);
    Ok(counts.into_iter().map(|(row_key, owners)| (row_key, owners.into_iter().collect())).collect())
}

/// The far rows of an edge by the value that they are met by.
fn far_rows(snapshot: &LayeredSnapshot, edge: &Edge) -> Result<HashMap<Vec<u8>, Vec<RowKey>>, SqlError> {
    let far = snapshot.shape(edge.far)?.clone();
    let mut rows: HashMap<Vec<u8>, Vec<RowKey>> = HashMap::new();
    for item in snapshot.scan(far.table())? {
        let (row_key, row) = item?;
        if let Some(value) = far_value(&far, edge, &row) {
            rows.entry(value).or_default().push(row_key);
        }
    }
    Ok(rows)
}

/// Who holds a far row: a data subject's row itself, another row's owners.
fn holders(
    snapshot: &LayeredSnapshot,
    relation: RelationId,
    row_key: &RowKey,
    derived: &DerivedOwners,
) -> Result<Vec<MicroDbId>, SqlError> {
    if snapshot.shape(relation)?.table().data_subject {
        return Ok(snapshot.subject(relation, row_key)?.into_iter().collect());
    }
    let owners = derived.get(&relation).and_then(|rows| rows.get(row_key));
    Ok(owners.into_iter().flatten().map(|(owner, _)| *owner).collect())
}

/// The least fixpoint of owners along self-references; such owners stand with 0 derivations.
fn flow(owners: &mut BTreeMap<RowKey, BTreeMap<MicroDbId, u32>>, flows: &HashMap<RowKey, Vec<RowKey>>) {
    let mut open: Vec<RowKey> = flows.keys().cloned().collect();
    while let Some(far_key) = open.pop() {
        let (Some(near_keys), Some(far)) = (flows.get(&far_key), owners.get(&far_key)) else { continue };
        let given: Vec<MicroDbId> = far.keys().copied().collect();
        for near_key in near_keys {
            let near = owners.entry(near_key.clone()).or_default();
            let before = near.len();
            for owner in &given {
                near.entry(*owner).or_insert(0);
            }
            if near.len() > before {
                open.push(near_key.clone());
            }
        }
    }
}

/// No row without owner, and the stored owners are those derived.
fn compare_owners(
    snapshot: &LayeredSnapshot,
    shape: &TableShape,
    derived: &TableOwners,
    findings: &mut Findings,
) -> Result<(), SqlError> {
    let table = shape.table();
    for (row_key, owners) in derived {
        let stored = snapshot.owners_of(shape.id(), row_key)?;
        if owners.is_empty() {
            findings.table(table, "a row has no owner by the ownership edges");
        }
        if stored == *owners {
            continue;
        }
        let only_owners = |owners: &Owners| owners.iter().map(|(owner, _)| *owner).collect::<Vec<_>>();
        findings.table(
            table,
            match only_owners(&stored) == only_owners(owners) {
                true => "the number of derivations stored for a row's owner is wrong",
                false => "the owners stored for a row are not those that the ownership edges give",
            },
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Findings, flow};
    use repr::{MicroDbId, RowKey};
    use std::collections::{BTreeMap, HashMap};

    #[test]
    fn findings_are_counted_in_order() {
        let mut findings = Findings::default();
        for finding in ["b", "a", "b"] {
            findings.add(finding.to_string());
        }
        assert_eq!(findings.sentences(), ["b (2 times)", "a"]);
    }

    #[test]
    fn owners_flow_along_self_references_and_never_start_there() {
        let row_key = |number: u8| RowKey::new(&[number]);
        let owner = MicroDbId([7; 16]);
        // 1 is owned; 1 → 2 → 3 → 2; 4 → 5 → 4 have nobody.
        let mut owners: BTreeMap<RowKey, BTreeMap<MicroDbId, u32>> =
            (1..=5).map(|number| (row_key(number), BTreeMap::new())).collect();
        owners.insert(row_key(1), BTreeMap::from([(owner, 2)]));
        let flows = HashMap::from(
            [(1, 2), (2, 3), (3, 2), (4, 5), (5, 4)].map(|(far, near)| (row_key(far), vec![row_key(near)])),
        );
        flow(&mut owners, &flows);
        let counts: Vec<Option<u32>> = (1..=5).map(|number| owners[&row_key(number)].get(&owner).copied()).collect();
        assert_eq!(counts, [Some(2), Some(0), Some(0), None, None]);
    }
}
