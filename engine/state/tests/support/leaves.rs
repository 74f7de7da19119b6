//! Stored rows and what is published of them: a store in a folder that goes away, a catalog made of definitions.

use crate::folder::Folder;
use parking_lot::Mutex;
use planner::catalog::Catalog;
use planner::ownership::graph::KeyForm;
use planner::resolve::ddl::Labels;
use repr::{CommitTime, Datum, MicroDbId, Row, RowKey};
use state::layered_snapshot::LayeredSnapshot;
use state::overlay::Owners;
use state::published::Published;
use state::shape::{Schema, TableShape};
use state::view_states::Views;
use std::sync::Arc;
use storage::{Batch, OwnerSet, Store};

/// One row of numbers, the key first.
pub type Numbers = Vec<Option<i32>>;

pub fn datums(row: &[Option<i32>]) -> Vec<Datum> {
    row.iter().map(|value| value.map_or(Datum::Null, Datum::Int4)).collect()
}

pub fn numbers(shape: &TableShape, row: &Row) -> Numbers {
    let number = |datum: &Datum| match datum {
        Datum::Null => None,
        Datum::Int4(number) => Some(*number),
        other => panic!("a column of numbers holds {other:?}"),
    };
    shape.unpack(row).iter().map(number).collect()
}

/// What is stored, before any overlay.
pub struct Leaves {
    pub store: Store,
    pub schema: Arc<Schema>,
    published: Mutex<Arc<Published>>,
    _folder: Folder,
}

impl Leaves {
    pub fn new(name: &str, definitions: &str) -> Leaves {
        let folder = Folder::new(name);
        let store = folder.open();
        let mut catalog = Catalog::empty(1, repr::id::FIRST_USER_ID);
        for parsed in planner::parse::parse(definitions).expect("parses") {
            let plan = planner::plan_definition(&parsed.statement, &catalog, Labels::TakeEffect).expect("is planned");
            catalog = plan.catalog;
        }
        let schema = Arc::new(Schema::new(Arc::new(catalog)));
        let published = Mutex::new(published(&store, &schema));
        Leaves { store, schema, published, _folder: folder }
    }

    pub fn shape(&self, table: &str) -> Arc<TableShape> {
        let id = self.schema.catalog().table_by_name(table).expect("the table is defined").id;
        self.schema.shape(id).expect("the table is compiled").clone()
    }

    pub fn key(&self, shape: &TableShape, key: i32) -> RowKey {
        shape.key_of(&self.store, &[Datum::Int4(key)])
    }

    /// Stores rows with their index entries; personal ones with these owners.
    pub fn put(&self, shape: &TableShape, rows: &[(Numbers, Owners)]) {
        let mut batch = Batch::default();
        for (row, owners) in rows {
            let (key, packed) = (self.key(shape, row[0].expect("a key")), Row::pack(&datums(row)));
            if shape.personal {
                let set = OwnerSet::new(owners.iter().map(|(owner, _)| *owner)).expect("an owner");
                batch.put_personal(&self.store, shape.id(), &key, &packed, &set, 1).expect("seals");
                owners.iter().for_each(|(owner, number)| batch.put_owner(shape.id(), &key, *owner, *number));
            } else {
                batch.put_impersonal(&self.store, shape.id(), &key, &packed, 1).expect("seals");
            }
            for index in &shape.table().indexes {
                let Some(value) = shape.index_value_of(index, &packed) else { continue };
                match shape.key_form {
                    KeyForm::Hashed => {
                        let locator = owners.iter().map(|(owner, _)| *owner).min();
                        batch.put_index_hashed(index.id, &self.store.hash_index(index.id, &value), &key, locator);
                    }
                    KeyForm::Ordered => batch.put_index_ordered(index.id, &value, &key),
                }
            }
        }
        self.write(batch);
    }

    /// Says which µDB a subject's row is.
    pub fn put_subject(&self, shape: &TableShape, key: i32, microdb: MicroDbId) {
        let mut batch = Batch::default();
        batch.put_subject(shape.id(), &self.key(shape, key), microdb);
        self.write(batch);
    }

    pub fn write(&self, batch: Batch) {
        self.store.write(batch).expect("writes");
        *self.published.lock() = published(&self.store, &self.schema);
    }

    /// What is stored now.
    pub fn snapshot(&self) -> LayeredSnapshot {
        LayeredSnapshot::new(self.store.clone(), self.published.lock().clone())
    }
}

fn published(store: &Store, schema: &Arc<Schema>) -> Arc<Published> {
    let snapshot = store.snapshot();
    Arc::new(Published {
        clock: 0,
        time: CommitTime(snapshot.sequence()),
        schema: schema.clone(),
        kept: snapshot.keeping(),
        snapshot,
        probes: Arc::default(),
        views: Views::default(),
        usage: Arc::default(),
    })
}
