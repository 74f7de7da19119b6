//! The catalog compiled for execution: how keys are made, who refers to a table, its ownership operators.
//!
//! Made once per catalog version. It holds no state of rows; an edge is a description that `ownership` evaluates over readers.

use crate::locks::LockMode;
use parking_lot::RwLock;
use planner::catalog::{Catalog, EdgeKind, ForeignKey, Index, Property, Table, with_tables_below};
use planner::ownership::traversal::TraversalPlan;
use planner::ownership::{Dog, Edge, KeyForm};
use planner::scalar::{EvalContext, ScalarExpr, inverted};
use repr::hash::HashMap;
use repr::id::is_temporary;
use repr::{ColumnIndex, Datum, IndexId, RelationId, Row, RowKey, key};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, OnceLock};
use storage::Store;

/// A foreign key that refers to a table, seen from that table.
#[derive(Clone, Debug)]
pub struct Referrer {
    /// The referencing table.
    pub table: RelationId,
    /// The foreign key.
    pub foreign_key: ForeignKey,
}

impl Referrer {
    /// Whether it is an edge whose near rows stand in the referencing table (OWNED_BY, ACCESSED_BY).
    pub fn is_near_end(&self) -> bool {
        matches!(self.foreign_key.annotation, Some(EdgeKind::OwnedBy | EdgeKind::AccessedBy))
    }
}

/// One table, compiled.
#[derive(Debug)]
pub struct TableShape {
    table: Arc<Table>,
    /// What reports call it in its database, and in the whole server; its schema's name.
    full_name: Box<str>,
    server_name: Box<str>,
    schema_name: Box<str>,
    /// Whether its rows live in µDBs.
    pub personal: bool,
    /// How row keys and index values are made.
    pub key_form: KeyForm,
    /// Edges through which its rows gain owners.
    pub owner_edges: Vec<Edge>,
    /// Edges through which its rows gain accessors.
    pub access_edges: Vec<Edge>,
    /// Ownership edges whose far end it is.
    pub owner_dependents: Vec<Edge>,
    /// Access edges whose far end it is.
    pub access_dependents: Vec<Edge>,
    /// Foreign keys that refer to it.
    pub referrers: Vec<Referrer>,
    /// Each of its rows has one owner, by one way: the row that its one edge leads to is a person or has one owner itself.
    pub one_owner: bool,
    /// The columns that say with whom its rows are shared.
    pub recipients: Vec<ColumnIndex>,
    partial: PartialIndexes,
}

/// Which rows stand in a table's partial indexes.
struct PartialIndexes {
    predicates: Vec<(IndexId, ScalarExpr)>,
    context: EvalContext,
}

impl std::fmt::Debug for PartialIndexes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.predicates.iter().map(|(index, _)| index)).finish()
    }
}

impl PartialIndexes {
    fn of(catalog: &Arc<Catalog>, table: &Table) -> Self {
        // Each was planned when it was defined, and since then whenever what it names was altered.
        let predicates = planner::index_predicates(catalog, table).unwrap_or_default();
        PartialIndexes { predicates, context: EvalContext::without_session(catalog.clone()) }
    }

    /// Whether a row stands in an index on disk, where no inverted one is. One whose condition fails was refused when it was written.
    fn hold(&self, index: &Index, row: impl Fn() -> Vec<Datum>) -> bool {
        if index.is_inverted() {
            return false;
        }
        index.is_whole()
            || self.predicates.iter().any(|(id, predicate)| {
                *id == index.id && matches!(predicate.eval(&row(), &self.context), Ok(Datum::Bool(true)))
            })
    }
}

/// Canonical bytes of a stored row's columns, for one who asks for the same columns again and again: whatever names a row mostly does
/// so by its primary key.
pub struct RowValues<'a> {
    shape: &'a TableShape,
    row: &'a Row,
    /// The columns that were asked for last, and whether none of them is NULL.
    last: Option<(&'a [ColumnIndex], bool)>,
    value: Vec<u8>,
}

impl<'a> RowValues<'a> {
    /// Of this row.
    pub fn new(shape: &'a TableShape, row: &'a Row) -> Self {
        RowValues { shape, row, last: None, value: Vec::new() }
    }

    /// See `TableShape::value_of`.
    pub fn of(&mut self, columns: &'a [ColumnIndex]) -> Option<&[u8]> {
        let there = match self.last {
            Some((last, there)) if last == columns => there,
            Some(_) | None => self.shape.value_into(columns, self.row, &mut self.value),
        };
        self.last = Some((columns, there));
        there.then_some(self.value.as_slice())
    }
}

/// A whole catalog, compiled.
#[derive(Debug)]
pub struct Schema {
    catalog: Arc<Catalog>,
    dog: Arc<Dog>,
    shapes: HashMap<RelationId, Arc<TableShape>>,
    /// Personal tables, each after all tables that its owner edges (self-references apart) lead to.
    order: Vec<RelationId>,
    /// How all that hangs on a data subject is found, by its table.
    traversals: Arc<BTreeMap<RelationId, OnceLock<TraversalPlan>>>,
    content_hash: OnceLock<[u8; 32]>,
    audited: Audited,
}

/// What the audit log asks of a schema, found once.
#[derive(Debug, Default)]
struct Audited {
    /// Personal tables whose rows may have several owners.
    joint: OnceLock<Arc<HashSet<RelationId>>>,
    /// The personal tables of which relations are made.
    below: RwLock<HashMap<RelationId, Arc<[RelationId]>>>,
}

impl Schema {
    /// Compiles a catalog that `ownership::check` has passed.
    pub fn new(catalog: Arc<Catalog>) -> Self {
        let dog = Arc::new(Dog::new(&catalog));
        let mut shapes = shapes(&catalog, &dog, |_| true);
        let (mut order, _) = dog.ownership_order();
        order.retain(|table| dog.is_personal(*table));
        for relation in &order {
            let one_owner = has_one_owner(&shapes[relation], &shapes);
            shapes.entry(*relation).and_modify(|shape| shape.one_owner = one_owner);
        }
        let shapes = shapes.into_iter().map(|(id, shape)| (id, Arc::new(shape))).collect();
        let subjects = catalog.stored_tables().filter(|table| table.data_subject);
        let traversals = Arc::new(subjects.map(|table| (table.id, OnceLock::new())).collect());
        let (content_hash, audited) = (OnceLock::new(), Audited::default());
        Schema { catalog, dog, shapes, order, traversals, content_hash, audited }
    }

    /// The same with a session's temporary objects on top, whose rows are nobody's: all else stays as it is compiled.
    #[must_use]
    pub fn under(&self, catalog: Arc<Catalog>) -> Schema {
        let own = shapes(&catalog, &self.dog, |id| is_temporary(id.0));
        let mut all = self.shapes.clone();
        all.retain(|id, _| !is_temporary(id.0));
        all.extend(own.into_iter().map(|(id, shape)| (id, Arc::new(shape))));
        let (dog, order) = (self.dog.clone(), self.order.clone());
        let traversals = self.traversals.clone();
        let (content_hash, audited) = (OnceLock::new(), Audited::default());
        Schema { catalog, dog, shapes: all, order, traversals, content_hash, audited }
    }

    /// The catalog.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }
    /// The plan of the traversal from a data subject's row.
    pub fn traversal(&self, subjects: RelationId) -> Option<&TraversalPlan> {
        let plan = self.traversals.get(&subjects)?;
        Some(plan.get_or_init(|| TraversalPlan::new(&self.dog, subjects)))
    }
    /// The hash of the whole annotated schema, as it stands in the catalog.
    pub fn content_hash(&self) -> [u8; 32] {
        *self.content_hash.get_or_init(|| storage::content_hash(&self.catalog.encode()))
    }
    /// Personal tables whose rows may have several owners.
    pub fn joint_tables(&self) -> &Arc<HashSet<RelationId>> {
        let is_joint = |shape: &TableShape| {
            shape.personal && !shape.one_owner && !(shape.table.data_subject && shape.owner_edges.is_empty())
        };
        let joint = || self.shapes.values().filter(|shape| is_joint(shape)).map(|shape| shape.id()).collect();
        self.audited.joint.get_or_init(|| Arc::new(joint()))
    }
    /// The personal tables that a relation is, or is made of.
    pub fn personal_below(&self, relation: RelationId) -> Arc<[RelationId]> {
        if let Some(below) = self.audited.below.read().get(&relation) {
            return below.clone();
        }
        let below = with_tables_below(&self.catalog, [relation]);
        let is_personal = |id: &RelationId| self.shape(*id).is_some_and(|shape| shape.personal);
        let below: Arc<[RelationId]> = below.into_iter().filter(is_personal).collect();
        self.audited.below.write().insert(relation, below.clone());
        below
    }
    /// One table, compiled.
    pub fn shape(&self, relation: RelationId) -> Option<&Arc<TableShape>> {
        self.shapes.get(&relation)
    }
    /// Personal tables, subjects' side first.
    pub fn order(&self) -> &[RelationId] {
        &self.order
    }
    /// All tables.
    pub fn shapes(&self) -> BTreeMap<RelationId, Arc<TableShape>> {
        self.shapes.iter().map(|(id, shape)| (*id, shape.clone())).collect()
    }
    /// Tables that are in both and not as they were, before and after.
    pub fn changed_to<'a>(&'a self, new: &'a Schema) -> impl Iterator<Item = (&'a TableShape, &'a TableShape)> {
        let both = self.shapes.iter().filter_map(|(id, before)| Some((before, new.shape(*id)?)));
        both.filter(|(before, after)| !Arc::ptr_eq(before, after)).map(|(before, after)| (&**before, &**after))
    }
}

/// Stored tables of a catalog, compiled, but for `one_owner`.
fn shapes(catalog: &Arc<Catalog>, dog: &Dog, wanted: impl Fn(RelationId) -> bool) -> HashMap<RelationId, TableShape> {
    let tables = || catalog.stored_tables().filter(|table| wanted(table.id));
    let mut referrers: HashMap<RelationId, Vec<Referrer>> = HashMap::default();
    for table in tables() {
        for foreign_key in &table.foreign_keys {
            let referrer = Referrer { table: table.id, foreign_key: foreign_key.clone() };
            referrers.entry(foreign_key.target).or_default().push(referrer);
        }
    }
    let alone = |table: &Arc<Table>| {
        let (owned, accessed) = dog.incoming(table.id).iter().cloned().partition(Edge::is_ownership);
        TableShape {
            table: table.clone(),
            full_name: catalog.full_name(table).into(),
            server_name: catalog.server_name(table).into(),
            schema_name: catalog.namespace_name(table.namespace).unwrap_or_default().into(),
            personal: dog.is_personal(table.id),
            key_form: dog.key_form(catalog, table.id),
            owner_edges: dog.ownership(table.id).cloned().collect(),
            access_edges: dog.access(table.id).cloned().collect(),
            owner_dependents: owned,
            access_dependents: accessed,
            referrers: Vec::new(),
            one_owner: false,
            recipients: [Property::SharedWith, Property::Recipient]
                .into_iter()
                .filter_map(|property| table.property(property))
                .collect(),
            partial: PartialIndexes::of(catalog, table),
        }
    };
    let mut shape =
        |table: &Arc<Table>| TableShape { referrers: referrers.remove(&table.id).unwrap_or_default(), ..alone(table) };
    tables().map(|table| table.id).zip(tables().map(&mut shape)).collect()
}

/// See `TableShape::one_owner`; known already of the tables that its edges lead to.
fn has_one_owner(shape: &TableShape, shapes: &HashMap<RelationId, TableShape>) -> bool {
    let [edge] = shape.owner_edges.as_slice() else { return false };
    let from_one = shapes.get(&edge.far).is_some_and(|far| far.table.data_subject || far.one_owner);
    from_one && edge.along_foreign_key() && !edge.is_self() && !shape.table.data_subject
}

impl TableShape {
    /// The table's id.
    pub fn id(&self) -> RelationId {
        self.table.id
    }
    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }
    /// Whether rows may stand on the disk before they are committed: who owns others does not follow from them, but by foreign
    /// keys that lead to them.
    pub fn spills(&self) -> bool {
        let by_key = |edge: &Edge| edge.along_foreign_key() && self.table.primary_key == Some(edge.far_index);
        !self.owner_edges.iter().any(Edge::is_self) && self.owner_dependents.iter().all(by_key)
    }
    /// Whether all that is stored of its rows are these themselves, in the order of their keys: they are nobody's, and no index has entries of
    /// them.
    pub fn stands_alone(&self) -> bool {
        let is_key = |index: &Index| self.table.primary_key == Some(index.id);
        !self.personal && self.key_form == KeyForm::Ordered && self.table.indexes.iter().all(is_key)
    }
    /// Whether a row that has changed has the owners that it had, and gives others those that it gave.
    pub fn keeps_owners(&self, before: &Row, after: &Row) -> bool {
        let is_same = |columns: &[ColumnIndex]| self.value_of(columns, before) == self.value_of(columns, after);
        self.owner_edges.iter().all(|edge| is_same(&edge.near_columns))
            && self.owner_dependents.iter().all(|edge| is_same(&edge.far_columns))
    }
    /// Whether nobody is owned by way of its rows, nor is one: who owns them concerns themselves alone.
    pub fn owns_nothing(&self) -> bool {
        !self.table.data_subject && self.owner_dependents.is_empty()
    }
    /// What reports call it in its database, whoever reads them.
    pub fn full_name(&self) -> &str {
        &self.full_name
    }
    /// What receipts call it, which are the whole server's.
    pub fn server_name(&self) -> &str {
        &self.server_name
    }
    /// The names of its schema and its own, for errors.
    pub fn place(&self) -> (&str, &str) {
        (&self.schema_name, &self.table.name)
    }
    /// All physical columns of a stored row; columns added later come from their defaults.
    pub fn unpack(&self, row: &Row) -> Vec<Datum> {
        let mut datums = Vec::with_capacity(self.table.columns.len());
        self.unpack_into(row, &mut datums);
        datums
    }
    /// As `unpack`, in place of what `datums` holds.
    pub fn unpack_into(&self, row: &Row, datums: &mut Vec<Datum>) {
        row.unpack_into(datums);
        for column in self.table.columns.iter().skip(datums.len()) {
            datums.push(column.missing.clone().unwrap_or(Datum::Null));
        }
    }
    /// The key under which a row is stored. `hidden` is the row id of a table without primary key.
    pub fn row_key(&self, store: &Store, datums: &[Datum], hidden: u64) -> RowKey {
        match self.table.primary_key_columns() {
            Some(columns) => {
                let values: Vec<Datum> = columns.iter().map(|column| datums[*column].clone()).collect();
                self.key_of(store, &values)
            }
            None => match self.key_form {
                KeyForm::Hashed => store.hash_key(self.id(), &hidden.to_be_bytes()),
                KeyForm::Ordered => RowKey::new(&hidden.to_be_bytes()),
            },
        }
    }
    /// The same of a packed row; none where the table has no primary key, or a value of it is NULL.
    pub fn packed_row_key(&self, store: &Store, row: &Row) -> Option<RowKey> {
        let canonical = self.value_of(self.table.primary_key_columns()?, row)?;
        Some(self.key_of_value(store, &canonical))
    }
    /// The key of the row with these primary key values.
    pub fn key_of(&self, store: &Store, primary_key: &[Datum]) -> RowKey {
        self.key_of_value(store, &key::encode_all(primary_key))
    }
    /// The key of the row with this canonical primary key.
    pub(crate) fn key_of_value(&self, store: &Store, canonical: &[u8]) -> RowKey {
        match self.key_form {
            KeyForm::Hashed => store.hash_key(self.id(), canonical),
            KeyForm::Ordered => RowKey::new(canonical),
        }
    }
    /// The canonical bytes under which a row stands in an index; `None` if it does not: hashed indexes leave
    /// out rows that are NULL in all of its columns, old ones in any. The primary key has no entries: it is the row key.
    pub fn index_value(&self, index: &Index, datums: &[Datum]) -> Option<Vec<u8>> {
        if !self.partial.hold(index, || datums.to_vec()) {
            return None;
        }
        self.entry_value(index, |bytes, column| {
            key::encode(bytes, &datums[column]);
            datums[column].is_null()
        })
    }

    /// Of columns that `encode` appends, and says whether they are NULL.
    fn entry_value(&self, index: &Index, mut encode: impl FnMut(&mut Vec<u8>, ColumnIndex) -> bool) -> Option<Vec<u8>> {
        if self.table.primary_key == Some(index.id) {
            return None;
        }
        let (mut bytes, mut nulls) = (Vec::with_capacity(index.columns.len() * 10), 0);
        for column in &index.columns {
            nulls += usize::from(encode(&mut bytes, *column));
            let left_out = !index.declared.nulls_not_distinct && (!index.nulls || nulls == index.columns.len());
            if nulls > 0 && self.key_form == KeyForm::Hashed && left_out {
                return None;
            }
        }
        Some(bytes)
    }

    /// The bytes by which a row stands in the order of so many columns of an index or of the primary key, NULLs included: rows
    /// that are equal in them by their primary keys, which stand last, if the table has one. Where those begin.
    pub(crate) fn order_value(&self, index: &Index, columns: usize, row: &Row) -> (Vec<u8>, Option<usize>) {
        let columns = &index.columns[..columns];
        let mut bytes = Vec::with_capacity(columns.len() * 10 + 16);
        let primary_key = self.table.primary_key_columns();
        let own = primary_key.and_then(|primary_key| columns.strip_suffix(primary_key)).unwrap_or(columns);
        own.iter().for_each(|column| key::encode(&mut bytes, &self.datum(row, *column)));
        let start = bytes.len();
        let last = primary_key.unwrap_or_default();
        last.iter().for_each(|column| key::encode(&mut bytes, &self.datum(row, *column)));
        (bytes, primary_key.map(|_| start))
    }
    /// The bytes by which a row stands in an inverted index, each with its primary key behind it, if the table has one; and
    /// where that begins.
    pub(crate) fn inverted_values(&self, index: &Index, row: &Row) -> Vec<(Vec<u8>, Option<usize>)> {
        let primary_key = self.table.primary_key_columns();
        let mut last = Vec::new();
        primary_key.unwrap_or_default().iter().for_each(|column| key::encode(&mut last, &self.datum(row, *column)));
        let columns = index.columns.iter().enumerate();
        let elements = columns.flat_map(|(place, column)| {
            inverted::elements(&self.datum(row, *column))
                .into_iter()
                .map(move |element| inverted::value(place, &element))
        });
        let with_key = |mut value: Vec<u8>| {
            let start = value.len();
            value.extend_from_slice(&last);
            (value, primary_key.map(|_| start))
        };
        elements.map(with_key).collect()
    }
    /// As `index_value`, of a stored row.
    pub fn index_value_of(&self, index: &Index, row: &Row) -> Option<Vec<u8>> {
        if !self.partial.hold(index, || self.unpack(row)) {
            return None;
        }
        self.entry_value(index, |bytes, column| {
            let datum = self.datum(row, column);
            key::encode(bytes, &datum);
            datum.is_null()
        })
    }

    /// Whether a change of these columns may change a row's entry in an index.
    pub fn concerns_index(&self, index: &Index, changed: &[bool]) -> bool {
        !index.is_whole() || index.columns.iter().any(|column| changed.get(*column) == Some(&true))
    }

    /// One column of a stored row; a column added later comes from its default.
    pub fn datum(&self, row: &Row, column: ColumnIndex) -> Datum {
        row.get(column).unwrap_or_else(|| self.table.columns[column].missing.clone().unwrap_or(Datum::Null))
    }
    /// The canonical bytes of these columns of a stored row, in their order; `None` if one is NULL.
    pub fn value_of(&self, columns: &[ColumnIndex], row: &Row) -> Option<Vec<u8>> {
        let mut value = Vec::with_capacity(columns.len() * 12);
        self.value_into(columns, row, &mut value).then_some(value)
    }
    /// The same in place of what `value` holds; false if one is NULL.
    pub fn value_into(&self, columns: &[ColumnIndex], row: &Row, value: &mut Vec<u8>) -> bool {
        value.clear();
        columns.iter().all(|column| {
            let datum = self.datum(row, *column);
            key::encode(value, &datum);
            !datum.is_null()
        })
    }
    /// The datums of these columns, or `None` if one is NULL.
    pub fn values(&self, columns: &[ColumnIndex], datums: &[Datum]) -> Option<Vec<Datum>> {
        columns
            .iter()
            .map(|column| match &datums[*column] {
                Datum::Null => None,
                datum => Some(datum.clone()),
            })
            .collect()
    }
    /// Whether an index lets no second row stand that is equal to this one in its columns.
    pub fn is_unique_in(&self, index: &Index, datums: &[Datum]) -> bool {
        let has_null = || index.columns.iter().any(|column| datums[*column].is_null());
        index.unique && (index.declared.nulls_not_distinct || !has_null())
    }
    /// One of the table's indexes.
    #[expect(clippy::should_implement_trait, reason = "an index of SQL, no place in a list")]
    pub fn index(&self, id: IndexId) -> &Index {
        self.table.index(id).expect("an edge or foreign key names an index of its table")
    }
    /// How strongly a row is locked of which these columns change: a key that others may refer to goes only from a row that
    /// nobody else has locked.
    pub fn update_mode(&self, columns: &[ColumnIndex]) -> LockMode {
        let mut keys = self.table.whole_indexes().filter(|index| index.unique);
        if keys.any(|index| index.columns.iter().any(|column| columns.contains(column))) {
            LockMode::Exclusive
        } else {
            LockMode::NoKeyUpdate
        }
    }
    /// The unique index over exactly these columns, in this order.
    pub fn unique_index(&self, columns: &[ColumnIndex]) -> Option<&Index> {
        self.table.whole_indexes().find(|index| index.unique && index.columns == columns)
    }
}
