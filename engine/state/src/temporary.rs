//! What a session has for itself: temporary objects and their rows, in memory, seen by nobody else, gone with it.
//!
//! ```text
//! published catalog ─┐                          published leaves ─┐
//! its objects ───────┴─▶ the schema it sees      its rows ─────────┼─▶ what its statements read
//!                                               its transaction ──┘
//! ```
//! Its transaction's changes come apart at COMMIT: what is temporary comes here, and never to the pipeline. A table that
//! was filled by a statement that read personal rows is *tainted*: a FORGET of whomever empties it.

use crate::layered_snapshot::LayeredSnapshot;
use crate::overlay::{Overlay, TableChanges};
use crate::shape::Schema;
use parking_lot::{Mutex, MutexGuard};
use planner::catalog::{DatabaseId, OnCommit, Table, TemporaryObjects};
use repr::{IndexId, RelationId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The temporary objects of a session, and their rows.
pub struct TemporarySpace {
    /// What its schema is called.
    name: String,
    /// The database that the session has opened.
    database: DatabaseId,
    in_use: AtomicBool,
    contents: Mutex<Contents>,
}

#[derive(Default)]
struct Contents {
    objects: Arc<TemporaryObjects>,
    /// Rows of its tables; none before there are tables.
    rows: Option<Arc<Overlay>>,
    tainted: Arc<BTreeSet<RelationId>>,
    /// Names of tables that an erasure has emptied, of which the client was not told yet.
    emptied: BTreeSet<String>,
    seen: Option<SchemaOfTwo>,
}

/// The schema that was made of two parts last.
struct SchemaOfTwo {
    shared: Arc<Schema>,
    objects: Arc<TemporaryObjects>,
    schema: Arc<Schema>,
}

/// What a transaction has done to temporary objects.
#[derive(Default)]
pub struct TemporaryChanges {
    /// The objects as it leaves them, if they are others.
    pub objects: Option<Arc<TemporaryObjects>>,
    /// Changed rows.
    pub tables: BTreeMap<RelationId, TableChanges>,
    /// The schema that these are of.
    pub schema: Option<Arc<Schema>>,
    /// Tables that it has filled from personal rows.
    pub tainted: BTreeSet<RelationId>,
}

/// Whether a statement has read what an erasure may take back.
#[derive(Default)]
pub struct PersonalReads {
    found: AtomicBool,
    tainted: Arc<BTreeSet<RelationId>>,
}

/// Each schema that is put together has a version of its own, beyond those of the shared catalog.
static VERSIONS: AtomicU64 = AtomicU64::new(1);
const SHARED_VERSION_BITS: u32 = 32;

impl PersonalReads {
    /// With these tables tainted.
    pub fn new(tainted: Arc<BTreeSet<RelationId>>) -> PersonalReads {
        PersonalReads { found: AtomicBool::new(false), tainted }
    }

    /// A table is read.
    pub(crate) fn note(&self, relation: RelationId, personal: bool) {
        if personal || self.tainted.contains(&relation) {
            self.found.store(true, Ordering::Relaxed);
        }
    }

    /// Whether it has.
    pub fn found(&self) -> bool {
        self.found.load(Ordering::Relaxed)
    }
}

impl TemporarySpace {
    /// Of the session of this number, in a database.
    pub fn new(backend: i32, database: DatabaseId) -> TemporarySpace {
        let (name, in_use) = (format!("pg_temp_{backend}"), AtomicBool::new(false));
        TemporarySpace { name, database, in_use, contents: Mutex::default() }
    }

    /// Whether anything is or was about to be in it: only then it is asked for more.
    pub fn in_use(&self) -> bool {
        self.in_use.load(Ordering::Relaxed)
    }

    /// Something is to be put in it.
    pub fn begin_use(&self) {
        self.in_use.store(true, Ordering::Relaxed);
    }

    /// The schema of what all share and of temporary objects: those of the transaction, or else the session's.
    pub fn schema(&self, shared: &Arc<Schema>, own: Option<&Arc<TemporaryObjects>>) -> Arc<Schema> {
        let mut contents = self.contents.lock();
        let objects = own.unwrap_or(&contents.objects).clone();
        if let Some(seen) = &contents.seen
            && Arc::ptr_eq(&seen.shared, shared)
            && Arc::ptr_eq(&seen.objects, &objects)
        {
            return seen.schema.clone();
        }
        let number = VERSIONS.fetch_add(1, Ordering::Relaxed);
        let version = (number << SHARED_VERSION_BITS) | shared.catalog().version;
        let schema =
            Arc::new(shared.under(Arc::new(objects.over(shared.catalog(), (&self.name, self.database), version))));
        contents.seen = Some(SchemaOfTwo { shared: shared.clone(), objects, schema: schema.clone() });
        schema
    }

    /// A snapshot as the session sees it: with its rows, and with the schema that its transaction sees.
    pub fn under(&self, snapshot: LayeredSnapshot, schema: &Arc<Schema>) -> LayeredSnapshot {
        let rows = self.contents.lock().rows.clone();
        let snapshot = match rows {
            Some(rows) => snapshot.under(rows),
            None => snapshot,
        };
        snapshot.seeing(schema.clone())
    }

    /// The objects, as they are committed.
    pub fn objects(&self) -> Arc<TemporaryObjects> {
        self.contents.lock().objects.clone()
    }

    /// Tables that an erasure would empty.
    pub fn tainted(&self) -> Arc<BTreeSet<RelationId>> {
        self.contents.lock().tainted.clone()
    }

    /// A transaction has committed. What has gone with it: objects of which nothing is known any more.
    pub fn absorb(&self, changes: TemporaryChanges) -> Arc<TemporaryObjects> {
        let mut contents = self.contents.lock();
        let before = contents.objects.clone();
        let mut objects = changes.objects.unwrap_or_else(|| before.clone());
        if objects.relations.values().any(|table| table.on_commit == OnCommit::Drop) {
            Arc::make_mut(&mut objects).drop_at_commit();
        }
        let Some(schema) = changes.schema else {
            self.keep(contents, objects);
            return before;
        };
        let mut rows = contents.rows.take().unwrap_or_else(|| Arc::new(Overlay::new(schema.clone())));
        // A cursor that holds them has its own copy from here on.
        Arc::make_mut(&mut rows).absorb_temporary(schema, &objects, changes.tables);
        contents.rows = Some(rows);
        let tainted = contents.tainted.iter().chain(&changes.tainted).copied();
        contents.tainted = Arc::new(tainted.filter(|id| objects.relations.contains_key(id)).collect());
        self.keep(contents, objects);
        before
    }

    fn keep(&self, mut contents: MutexGuard<'_, Contents>, objects: Arc<TemporaryObjects>) {
        self.in_use.store(!objects.is_empty(), Ordering::Relaxed);
        if objects.is_empty() {
            let emptied = std::mem::take(&mut contents.emptied);
            *contents = Contents { emptied, ..Contents::default() };
        } else {
            contents.objects = objects;
        }
    }

    /// The session ends: what it had.
    pub fn clear(&self) -> Arc<TemporaryObjects> {
        let contents = std::mem::take(&mut *self.contents.lock());
        self.in_use.store(false, Ordering::Relaxed);
        contents.objects
    }

    /// A data subject was forgotten: what may be of them goes.
    pub fn forget(&self) {
        if !self.in_use() {
            return;
        }
        let mut contents = self.contents.lock();
        let tainted = std::mem::take(&mut contents.tainted);
        if tainted.is_empty() {
            return;
        }
        if let Some(rows) = &mut contents.rows {
            Arc::make_mut(rows).empty_temporary(&tainted);
        }
        let names = tainted.iter().filter_map(|id| Some(contents.objects.relations.get(id)?.name.clone()));
        let names: Vec<String> = names.collect();
        contents.emptied.extend(names);
    }

    /// Names of tables of a transaction that an erasure has emptied.
    pub fn tell_emptied(&self, names: impl IntoIterator<Item = String>) {
        self.contents.lock().emptied.extend(names);
    }

    /// Names of tables that an erasure has emptied, to be told once.
    pub fn take_emptied(&self) -> Vec<String> {
        if !self.in_use() {
            return Vec::new();
        }
        std::mem::take(&mut self.contents.lock().emptied).into_iter().collect()
    }
}

/// Whether the rows of a table are to go at COMMIT.
pub(crate) fn goes_at_commit(table: &Table) -> bool {
    table.on_commit == OnCommit::DeleteRows
}

/// What of dropped tables and indexes is shared.
pub(crate) fn is_shared_index(index: &IndexId) -> bool {
    !repr::id::is_temporary(index.0)
}
