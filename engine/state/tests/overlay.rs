//! A transaction's changes over what is stored, against a map of rows: after each random step all ways to read give what
//! the map says, through however many layers.
//!
//! ```text
//! stored rows ─▶ layer of the commit group (overlays absorbed one after another) ─▶ own overlay, with savepoints
//! ```

#[path = "../../../storage/tests/support/folder.rs"]
mod folder;
#[path = "support/leaves.rs"]
mod leaves;
#[path = "support/random.rs"]
mod random;

use leaves::{Leaves, Numbers, datums, numbers};
use planner::catalog::Index;
use planner::ownership::graph::KeyForm;
use planner::resolve::ddl::Labels;
use random::Random;
use repr::{Datum, MicroDbId, Row, RowKey, key};
use state::layered_snapshot::LayeredSnapshot;
use state::overlay::{Overlay, Owners, UndoPosition};
use state::reader::{KeyRange, Reader};
use state::shape::{Schema, TableShape};
use std::collections::BTreeMap;
use std::sync::Arc;
use storage::Batch;

const DEFINITIONS: &str = "
    CREATE TABLE cities (id INT PRIMARY KEY, a INT, b INT);
    CREATE INDEX cities_ab ON cities (a, b);
    CREATE INDEX cities_b ON cities (b);
    CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY);
    CREATE TABLE notes (id INT PRIMARY KEY, a INT OWNED_BY people(id), b INT);
    CREATE INDEX notes_ab ON notes (a, b);
    CREATE INDEX notes_b ON notes (b);";
/// Made and taken back within a transaction: each time it has the same number.
const DEFINED_LATER: &str = "CREATE INDEX cities_a ON cities (a); CREATE INDEX notes_a ON notes (a);";
const KEYS: usize = 10;
const VALUES: usize = 4;
const STEPS: usize = 150;
const SEEDS: u64 = 12;

/// What should be read.
#[derive(Clone, Default)]
struct Model {
    /// Of each table, by key.
    rows: [BTreeMap<i32, Numbers>; 2],
    subjects: BTreeMap<i32, MicroDbId>,
    /// Of notes.
    owners: BTreeMap<i32, Owners>,
}

struct Case {
    leaves: Leaves,
    /// With the indexes that are defined later.
    defined: Arc<Schema>,
    tables: [Arc<TableShape>; 2],
    people: Arc<TableShape>,
    group: Overlay,
    own: Overlay,
    now: Model,
    savepoints: Vec<(UndoPosition, Model)>,
    /// A copy is sealed by its owner's key.
    microdbs: Vec<MicroDbId>,
    random: Random,
}

#[test]
fn layered_reads_see_the_newest_of_every_row() {
    let mut read = 0;
    for seed in 1..=SEEDS {
        let mut case = Case::new(seed);
        for step in 0..STEPS {
            let did = case.step();
            read += case.compare(&format!("seed {seed}, step {step}: {did}"));
        }
    }
    assert!(read > 10_000, "rows were read: {read}");
}

impl Case {
    fn new(seed: u64) -> Case {
        let leaves = Leaves::new(&format!("overlay-{seed}"), DEFINITIONS);
        let tables = [leaves.shape("cities"), leaves.shape("notes")];
        let people = leaves.shape("people");
        let overlay = Overlay::new(leaves.schema.clone());
        let microdbs = (0..9).map(|_| leaves.store.allocate_microdb().expect("a key")).collect();
        let defined = defined_over(&leaves.schema, DEFINED_LATER);
        let mut case = Case {
            leaves,
            defined,
            tables,
            people,
            group: overlay.clone(),
            own: overlay,
            now: Model::default(),
            savepoints: Vec::new(),
            microdbs,
            random: Random(seed),
        };
        for table in 0..2 {
            let mut stored = Vec::new();
            for key in (0..KEYS as i32).step_by(2) {
                let row = case.row(key);
                let owners: Owners =
                    if table == 0 { Owners::new() } else { vec![(*case.random.pick(&case.microdbs), 1)] };
                case.now.rows[table].insert(key, row.clone());
                if table == 1 {
                    case.now.owners.insert(key, owners.clone());
                }
                stored.push((row, owners));
            }
            case.leaves.put(&case.tables[table], &stored);
        }
        for key in 0..3 {
            let microdb = case.microdbs[key as usize];
            case.leaves.put_subject(&case.people, key, microdb);
            case.now.subjects.insert(key, microdb);
        }
        case
    }

    fn row(&mut self, key: i32) -> Numbers {
        let mut value = || (!self.random.chance(5)).then(|| self.random.below(VALUES) as i32);
        vec![Some(key), value(), value()]
    }

    /// Something happens; what.
    fn step(&mut self) -> &'static str {
        let (table, key) = (self.random.below(2), self.random.below(KEYS) as i32);
        match self.random.below(24) {
            0..8 => {
                let row = self.row(key);
                self.set(table, key, Some(row));
                "set"
            }
            8..12 => {
                self.set(table, key, None);
                "delete"
            }
            12 => {
                let shape = self.people.clone();
                let subject = (!self.random.chance(3)).then(|| *self.random.pick(&self.microdbs));
                self.own.set_subject(shape.id(), self.leaves.key(&shape, key), subject);
                match subject {
                    Some(subject) => self.now.subjects.insert(key, subject),
                    None => self.now.subjects.remove(&key),
                };
                "subject"
            }
            13 if self.random.chance(4) => {
                self.own.truncate(self.tables[table].id());
                self.now.rows[table].clear();
                "truncate"
            }
            13..16 => {
                self.savepoints.push((self.own.mark(), self.now.clone()));
                "savepoint"
            }
            16..18 if !self.savepoints.is_empty() => {
                // To any of them; it stays, those after it go.
                let place = self.random.below(self.savepoints.len());
                self.savepoints.truncate(place + 1);
                let (mark, model) = self.savepoints[place].clone();
                self.own.roll_back(mark);
                self.now = model;
                "roll back"
            }
            18 => {
                self.absorb();
                "absorb"
            }
            19 if self.random.chance(2) => {
                // More than is taken back one by one.
                for _ in 0..300 {
                    let (table, key) = (self.random.below(2), self.random.below(KEYS) as i32);
                    let row = (!self.random.chance(3)).then(|| self.row(key));
                    self.set(table, key, row);
                }
                "many changes"
            }
            20..23 => self.define(),
            23 if self.random.chance(3) => {
                let relation = self.tables[table].id();
                self.own.drop_table(&self.own.schema().shape(relation).expect("is there").table().clone());
                // As it stands in a definition that lays it anew.
                self.own.truncate(relation);
                self.now.rows[table].clear();
                "drop"
            }
            _ => "nothing",
        }
    }

    /// Indexes are built: every row is written.
    fn define(&mut self) -> &'static str {
        if self.own.schema().catalog().version != self.leaves.schema.catalog().version {
            return "nothing";
        }
        self.own.set_schema(self.defined.clone());
        for table in 0..2 {
            let shape = self.shape(table);
            let index = shape.table().indexes.last().expect("the new one").id;
            self.own.reindex(shape.id(), index);
            for row in self.now.rows[table].clone().into_values() {
                self.set(table, row[0].expect("a key"), Some(row));
            }
        }
        "define"
    }

    /// As the transaction sees it.
    fn shape(&self, table: usize) -> Arc<TableShape> {
        self.own.schema().shape(self.tables[table].id()).expect("the table is compiled").clone()
    }

    fn set(&mut self, table: usize, key: i32, row: Option<Numbers>) {
        let shape = self.shape(table);
        let row_key = self.leaves.key(&shape, key);
        let below = self.below().get(shape.table(), &row_key).expect("reads");
        self.own.set(&shape, row_key, below, row.as_ref().map(|row| Row::pack(&datums(row))));
        match row {
            Some(row) => self.now.rows[table].insert(key, row),
            None => self.now.rows[table].remove(&key),
        };
    }

    /// The transaction is committed in the group, another begins.
    fn absorb(&mut self) {
        let notes = self.tables[1].clone();
        let mut derived = Vec::new();
        for key in 0..KEYS as i32 {
            // Whether or not the transaction has written the row: owners follow what others write, too.
            if self.random.chance(4) {
                let owners: Owners = vec![(*self.random.pick(&self.microdbs), 1 + self.random.below(3) as u32)];
                self.now.owners.insert(key, owners.clone());
                derived.push(((notes.id(), self.leaves.key(&notes, key)), owners));
            }
        }
        self.group.absorb(&self.own, derived);
        self.own = Overlay::new(self.group.schema().clone());
        self.savepoints.clear();
    }

    fn below(&self) -> LayeredSnapshot {
        self.leaves.snapshot().under(Arc::new(self.group.clone()))
    }

    /// How many rows were read.
    fn compare(&mut self, at: &str) -> usize {
        let snapshot = self.below().under(Arc::new(self.own.clone()));
        let mut read = 0;
        for table in 0..2 {
            let shape = self.shape(table);
            let rows = &self.now.rows[table];
            let name = format!("{at}: {}", shape.table().name);
            for key in 0..KEYS as i32 {
                let row_key = self.leaves.key(&shape, key);
                let found = snapshot.get(shape.table(), &row_key).expect("reads");
                assert_eq!(
                    found.as_ref().map(|row| numbers(&shape, row)).as_ref(),
                    rows.get(&key),
                    "{name}: get {key}"
                );
                assert_eq!(
                    snapshot.exists(&shape, &row_key).expect("reads"),
                    rows.contains_key(&key),
                    "{name}: exists {key}"
                );
            }
            let all: Vec<Numbers> = rows.values().cloned().collect();
            assert_eq!(
                sorted(&shape, snapshot.scan(shape.table()).expect("reads").map(|row| row.expect("reads"))),
                all,
                "{name}: scan"
            );
            for index in shape.table().indexes.iter().filter(|index| shape.table().primary_key != Some(index.id)) {
                read += compare_index(&snapshot, &shape, index, &all, &name);
            }
            if shape.key_form == KeyForm::Ordered {
                for _ in 0..6 {
                    read += compare_range(&snapshot, &shape, &all, &mut self.random, &name);
                }
            }
        }
        for key in 0..KEYS as i32 {
            let row_key = self.leaves.key(&self.people, key);
            let subject = snapshot.subject(self.people.id(), &row_key).expect("reads");
            assert_eq!(subject, self.now.subjects.get(&key).copied(), "{at}: subject {key}");
            let note = self.leaves.key(&self.tables[1], key);
            let owners = snapshot.owners(self.tables[1].table(), &note).expect("reads");
            assert_eq!(owners, self.now.owners.get(&key).cloned().unwrap_or_default(), "{at}: owners {key}");
        }
        read
    }
}

/// The catalog after more definitions.
fn defined_over(schema: &Schema, definitions: &str) -> Arc<Schema> {
    let mut catalog = (**schema.catalog()).clone();
    for parsed in planner::parse::parse(definitions).expect("parses") {
        catalog =
            planner::plan_definition(&parsed.statement, &catalog, Labels::TakeEffect).expect("is planned").catalog;
    }
    Arc::new(Schema::new(Arc::new(catalog)))
}

fn sorted(shape: &TableShape, rows: impl IntoIterator<Item = (RowKey, Row)>) -> Vec<Numbers> {
    let mut rows: Vec<Numbers> = rows.into_iter().map(|(_, row)| numbers(shape, &row)).collect();
    rows.sort();
    rows
}

/// Every value of an index, by all ways that ask for values.
fn compare_index(snapshot: &LayeredSnapshot, shape: &TableShape, index: &Index, all: &[Numbers], at: &str) -> usize {
    let mut read = 0;
    for number in 0..VALUES.pow(index.columns.len() as u32) {
        let values: Vec<i32> =
            (0..index.columns.len()).map(|place| (number / VALUES.pow(place as u32) % VALUES) as i32).collect();
        let matches =
            |row: &&Numbers| index.columns.iter().zip(&values).all(|(column, value)| row[*column] == Some(*value));
        let expected: Vec<Numbers> = all.iter().filter(matches).cloned().collect();
        let asked: Vec<Datum> = values.iter().map(|value| Datum::Int4(*value)).collect();
        let (at, bytes) = (format!("{at}: {} = {values:?}", index.name), key::encode_all(&asked));
        let found = snapshot.index(shape.table(), index, &asked).expect("reads");
        let mut keys: Vec<RowKey> = found.iter().map(|(row_key, _)| row_key.clone()).collect();
        assert_eq!(sorted(shape, found), expected, "{at}");
        let mut by_value = snapshot.keys_by_value(shape, index.id, &bytes).expect("reads");
        keys.sort();
        by_value.sort();
        assert_eq!(by_value, keys, "{at}: keys");
        assert_eq!(snapshot.index_any(shape.table(), index, &asked).expect("reads"), !expected.is_empty(), "{at}: any");
        let located = snapshot.located_by_value(shape, index.id, &bytes).expect("reads");
        let located =
            located.iter().map(|of| (of.0.clone(), snapshot.get_located(shape, of).expect("reads").expect("is there")));
        assert_eq!(sorted(shape, located), expected, "{at}: located");
        read += expected.len();
    }
    read
}

/// Some range, of the primary key or of an index.
fn compare_range(
    snapshot: &LayeredSnapshot,
    shape: &TableShape,
    all: &[Numbers],
    random: &mut Random,
    at: &str,
) -> usize {
    let indexes: Vec<&Index> = shape.table().indexes.iter().collect();
    let index = *random.pick(&indexes);
    let values = if index.columns[0] == 0 { KEYS } else { VALUES };
    let prefix: Vec<i32> = (0..random.below(index.columns.len())).map(|_| random.below(values) as i32).collect();
    let mut bound = || (!random.chance(3)).then(|| (random.below(values) as i32, random.chance(2)));
    let (lower, upper) = (bound(), bound());
    let reverse = random.chance(2);
    let column = index.columns[prefix.len()];
    let within = |row: &&Numbers| {
        let value = row[column];
        let is_prefix = prefix.iter().zip(&index.columns).all(|(value, column)| row[*column] == Some(*value));
        // NULL sorts last, and is within nothing that is bounded.
        let bounded = lower.is_some() || upper.is_some();
        is_prefix
            && (!bounded || value.is_some())
            && lower.is_none_or(|(bound, inclusive)| value > Some(bound) || inclusive && value == Some(bound))
            && upper.is_none_or(|(bound, inclusive)| value < Some(bound) || inclusive && value == Some(bound))
    };
    let mut expected: Vec<Numbers> = all.iter().filter(within).cloned().collect();
    let order = |value: Option<i32>| (value.is_none(), value);
    expected.sort_by_key(|row| (index.columns.iter().map(|column| order(row[*column])).collect::<Vec<_>>(), row[0]));
    if reverse {
        expected.reverse();
    }
    let datum = |(value, inclusive): (i32, bool)| (Datum::Int4(value), inclusive);
    let range = KeyRange {
        prefix: prefix.iter().map(|value| Datum::Int4(*value)).collect(),
        lower: lower.map(datum),
        upper: upper.map(datum),
        reverse,
        ..KeyRange::default()
    };
    let of = (shape.table().primary_key != Some(index.id)).then_some(index);
    let found = snapshot.range(shape.table(), of, &range).expect("reads").expect("keys stand in order");
    let found: Vec<Numbers> = found.rows.map(|row| numbers(shape, &row.expect("reads").1)).collect();
    assert_eq!(found, expected, "{at}: {} {range:?}", index.name);
    found.len()
}

/// What an index has below is not looked at once an overlay has made it anew, whatever stands there.
#[test]
fn a_reindexed_index_has_nothing_below() {
    let leaves = Leaves::new("reindexed", DEFINITIONS);
    for table in ["cities", "notes"] {
        let shape = leaves.shape(table);
        let owner = vec![(leaves.store.allocate_microdb().expect("a key"), 1)];
        let row = vec![Some(1), Some(2), Some(3)];
        leaves.put(&shape, &[(row.clone(), if shape.personal { owner.clone() } else { Owners::new() })]);
        let index = shape.table().indexes.iter().find(|index| index.columns == [2]).expect("an index on b");
        // What a build that was given up left behind: it leads nowhere.
        let (value, nowhere) = (key::encode_all(&[Datum::Int4(3)]), leaves.key(&shape, 9));
        let mut batch = Batch::default();
        match shape.key_form {
            KeyForm::Hashed => {
                let hash = leaves.store.hash_index(index.id, &value);
                batch.put_index_hashed(index.id, &hash, &nowhere, owner.first().map(|(owner, _)| *owner));
            }
            KeyForm::Ordered => batch.put_index_ordered(index.id, &value, &nowhere),
        }
        leaves.write(batch);
        let mut overlay = Overlay::new(leaves.schema.clone());
        let mark = overlay.mark();
        overlay.reindex(shape.id(), index.id);
        let stored = Some(Row::pack(&datums(&row)));
        overlay.set(&shape, leaves.key(&shape, 1), stored.clone(), stored);
        let read = |overlay: &Overlay| {
            let snapshot = leaves.snapshot().under(Arc::new(overlay.clone()));
            snapshot.index(shape.table(), index, &[Datum::Int4(3)]).map(|found| sorted(&shape, found))
        };
        assert_eq!(read(&overlay).expect("reads"), vec![row], "{table}");
        let mut absorbed = Overlay::new(leaves.schema.clone());
        absorbed.absorb(&overlay, []);
        assert_eq!(read(&absorbed).expect("reads").len(), 1, "{table}: in the group");
        overlay.roll_back(mark);
        assert!(overlay.is_empty(), "{table}: nothing is left");
        assert_eq!(read(&overlay).expect_err("what leads nowhere is told").code, "XX001", "{table}");
    }
}

/// To its beginning, many changes are undone at once: definitions, too.
#[test]
fn rolling_back_to_the_beginning_leaves_nothing() {
    let leaves = Leaves::new("beginning", DEFINITIONS);
    let cities = leaves.shape("cities");
    let mut overlay = Overlay::new(leaves.schema.clone());
    for again in 0..2 {
        overlay.set_schema(Arc::new(Schema::new(leaves.schema.catalog().clone())));
        for key in 0..1_000 {
            overlay.set(&cities, leaves.key(&cities, key), None, Some(Row::pack(&datums(&[Some(key), None, None]))));
        }
        overlay.set_schema(Arc::new(Schema::new(leaves.schema.catalog().clone())));
        assert_eq!(overlay.len(), 1_000, "{again}");
        overlay.roll_back(UndoPosition::default());
        assert!(overlay.is_empty() && !overlay.changes_schema() && overlay.tables().next().is_none(), "{again}");
        assert!(Arc::ptr_eq(overlay.schema(), &leaves.schema) && overlay.mark() == UndoPosition::default(), "{again}");
    }
}

/// Definitions are undone with what hangs on them.
#[test]
fn rolling_back_takes_definitions_along() {
    let leaves = Leaves::new("definitions", DEFINITIONS);
    let (cities, notes) = (leaves.shape("cities"), leaves.shape("notes"));
    let mut overlay = Overlay::new(leaves.schema.clone());
    let row = |key| Some(Row::pack(&datums(&[Some(key), None, None])));
    overlay.set(&cities, leaves.key(&cities, 1), None, row(1));
    let mark = overlay.mark();
    overlay.set_schema(Arc::new(Schema::new(leaves.schema.catalog().clone())));
    overlay.set(&notes, leaves.key(&notes, 1), None, row(1));
    overlay.drop_index(notes.table().indexes[1].id);
    overlay.drop_table(cities.table());
    overlay.set_subject(notes.id(), leaves.key(&notes, 2), Some(leaves.store.allocate_microdb().expect("a key")));
    assert!(overlay.changes_schema() && overlay.table(cities.id()).is_none());
    assert_eq!((overlay.dropped_tables().len(), overlay.dropped_indexes().len()), (1, 1));
    overlay.roll_back(mark);
    assert!(!overlay.changes_schema() && Arc::ptr_eq(overlay.schema(), &leaves.schema));
    assert_eq!(
        (overlay.dropped_tables().len(), overlay.dropped_indexes().len(), overlay.subjects().count()),
        (0, 0, 0)
    );
    assert_eq!(
        overlay.tables().map(|(table, changes)| (table, changes.rows.len())).collect::<Vec<_>>(),
        [(cities.id(), 1)]
    );
    assert_eq!(overlay.mark(), mark);
    overlay.roll_back(Overlay::new(leaves.schema.clone()).mark());
    assert!(overlay.is_empty());
}

/// An index that was made and taken back, and is made again with the same number: nothing is left of the first.
#[test]
fn an_index_made_again_has_no_values_of_before() {
    for many in [1, 600] {
        let leaves = Leaves::new(&format!("again-{many}"), DEFINITIONS);
        let (cities, defined) = (leaves.shape("cities"), defined_over(&leaves.schema, DEFINED_LATER));
        let anew = defined.shape(cities.id()).expect("the table is compiled");
        let index = anew.table().indexes.last().expect("the new one");
        let mut overlay = Overlay::new(leaves.schema.clone());
        let row = |key, a| Some(Row::pack(&datums(&[Some(key), Some(a), None])));
        overlay.set(&cities, leaves.key(&cities, 0), None, row(0, 1));
        let mark = overlay.mark();
        let define = |overlay: &mut Overlay, a: i32| {
            overlay.set_schema(defined.clone());
            overlay.reindex(cities.id(), index.id);
            (0..many).for_each(|key| overlay.set(anew, leaves.key(anew, key), None, row(key, a)));
        };
        define(&mut overlay, 1);
        overlay.roll_back(mark);
        assert_eq!((overlay.len(), overlay.changes_schema()), (1, false));
        overlay.set(&cities, leaves.key(&cities, 0), None, row(0, 2));
        define(&mut overlay, 2);
        let snapshot = leaves.snapshot().under(Arc::new(overlay));
        for (value, count) in [(1, 0), (2, many as usize)] {
            let found = snapshot.index(anew.table(), index, &[Datum::Int4(value)]).expect("reads");
            assert_eq!(found.len(), count, "{many} rows, value {value}");
        }
    }
}
