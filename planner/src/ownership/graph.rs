//! The DOG: tables are vertices, annotated foreign keys are edges, all pointing one step towards a person.
//!
//! An `OWNED_BY` or `ACCESSED_BY` edge leaves the table that has the foreign key; an `OWNS` or `ACCESSES` edge
//! leaves the referenced one. Built anew for each catalog version; never sees rows.

use crate::catalog::{Catalog, EdgeKind, EdgeRef, ForeignKey, Table};
use repr::{ColumnIndex, IndexId, RelationId};
use std::collections::{BTreeMap, BTreeSet};

/// A step of ownership or access: one annotated foreign key, seen from the table whose rows gain holders through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The annotated foreign key.
    pub reference: EdgeRef,
    /// Which annotation.
    pub kind: EdgeKind,
    /// The table whose rows are owned (or accessed).
    pub near: RelationId,
    /// Columns of the near table that must equal `far_columns`.
    pub near_columns: Vec<ColumnIndex>,
    /// The near table's index over `near_columns`.
    pub near_index: IndexId,
    /// The table one step towards the data subject.
    pub far: RelationId,
    /// Columns of the far table.
    pub far_columns: Vec<ColumnIndex>,
    /// The far table's index over `far_columns`.
    pub far_index: IndexId,
}

impl Edge {
    /// Of a foreign key, if it is annotated.
    fn of(catalog: &Catalog, table: &Table, key: &ForeignKey) -> Option<Edge> {
        let kind = key.annotation?;
        // DDL keeps foreign keys in the column order of the key they refer to: one value looks up either side.
        let target_index = catalog
            .table(key.target)
            .and_then(|target| target.whole_indexes().find(|index| index.unique && index.columns == key.target_columns))
            .expect("a foreign key lists the columns of a unique index of its target, in order");
        let reference = EdgeRef { table: table.id, foreign_key: key.constraint.id };
        let holder = (table.id, key.columns.clone(), key.index);
        let target = (key.target, key.target_columns.clone(), target_index.id);
        let (near, far) = match kind {
            EdgeKind::OwnedBy | EdgeKind::AccessedBy => (holder, target),
            EdgeKind::Owns | EdgeKind::Accesses => (target, holder),
        };
        Some(Edge {
            reference,
            kind,
            near: near.0,
            near_columns: near.1,
            near_index: near.2,
            far: far.0,
            far_columns: far.1,
            far_index: far.2,
        })
    }

    /// OWNED_BY or OWNS, as against ACCESSED_BY or ACCESSES.
    pub fn is_ownership(&self) -> bool {
        matches!(self.kind, EdgeKind::OwnedBy | EdgeKind::Owns)
    }

    /// Whether the foreign key stands in the near table, so that a near row has one far row: OWNED_BY and ACCESSED_BY. By the
    /// others it may have many.
    pub fn along_foreign_key(&self) -> bool {
        matches!(self.kind, EdgeKind::OwnedBy | EdgeKind::AccessedBy)
    }

    /// Whether both ends are one table.
    pub fn is_self(&self) -> bool {
        self.near == self.far
    }

    /// The columns of the near table that hold the foreign key, if it stands there.
    pub(crate) fn own_columns(&self) -> &[ColumnIndex] {
        if self.along_foreign_key() { &self.near_columns } else { &[] }
    }
}

/// The data ownership graph of one catalog version.
#[derive(Clone, Debug, Default)]
pub struct Dog {
    subjects: BTreeSet<RelationId>,
    tables: BTreeSet<RelationId>,
    outgoing: BTreeMap<RelationId, Vec<Edge>>,
    incoming: BTreeMap<RelationId, Vec<Edge>>,
}

impl Dog {
    /// Reads the graph from the catalog.
    pub fn new(catalog: &Catalog) -> Dog {
        let mut dog = Dog::default();
        for table in catalog.stored_tables() {
            dog.tables.insert(table.id);
            if table.data_subject {
                dog.subjects.insert(table.id);
            }
            for edge in table.foreign_keys.iter().filter_map(|key| Edge::of(catalog, table, key)) {
                dog.incoming.entry(edge.far).or_default().push(edge.clone());
                dog.outgoing.entry(edge.near).or_default().push(edge);
            }
        }
        dog
    }

    /// Every table, whether or not it has edges.
    pub fn tables(&self) -> impl Iterator<Item = RelationId> {
        self.tables.iter().copied()
    }

    /// The data-subject tables.
    pub fn subjects(&self) -> impl Iterator<Item = RelationId> {
        self.subjects.iter().copied()
    }

    /// Ordered only for impersonal tables without any foreign-key path to a data-subject table; a view has no stored keys.
    /// `catalog` is the one that this was read from.
    pub fn key_form(&self, catalog: &Catalog, table: RelationId) -> KeyForm {
        if self.is_personal(table) || catalog.table(table).is_some_and(|table| !table.is_stored()) {
            return KeyForm::Hashed;
        }
        let keys_of = |table| catalog.table(table).map(|table| table.foreign_keys.as_slice()).unwrap_or_default();
        if keys_of(table).is_empty() {
            return KeyForm::Ordered;
        }
        let mut seen = BTreeSet::from([table]);
        let mut frontier = vec![table];
        while let Some(next) = frontier.pop() {
            if self.is_subject(next) {
                return KeyForm::Hashed;
            }
            let keys = keys_of(next);
            frontier.extend(keys.iter().map(|key| key.target).filter(|target| seen.insert(*target)));
        }
        KeyForm::Ordered
    }

    /// Whether a table's rows are people.
    pub fn is_subject(&self, table: RelationId) -> bool {
        self.subjects.contains(&table)
    }

    /// All edges, by the table they leave.
    pub fn edges(&self) -> impl Iterator<Item = &Edge> {
        self.outgoing.values().flatten()
    }

    /// The edge of a foreign key.
    pub fn edge(&self, reference: EdgeRef) -> Option<&Edge> {
        self.edges().find(|edge| edge.reference == reference)
    }

    /// The edges that leave a table towards people.
    pub fn outgoing(&self, table: RelationId) -> &[Edge] {
        self.outgoing.get(&table).map(Vec::as_slice).unwrap_or_default()
    }

    /// The edges that arrive at a table from what it owns or accesses.
    pub fn incoming(&self, table: RelationId) -> &[Edge] {
        self.incoming.get(&table).map(Vec::as_slice).unwrap_or_default()
    }

    /// The ownership edges that leave a table.
    pub fn ownership(&self, table: RelationId) -> impl Iterator<Item = &Edge> {
        self.outgoing(table).iter().filter(|edge| edge.is_ownership())
    }

    /// The access edges that leave a table.
    pub fn access(&self, table: RelationId) -> impl Iterator<Item = &Edge> {
        self.outgoing(table).iter().filter(|edge| !edge.is_ownership())
    }

    /// Whether a table's rows stand in µDBs: it is a data-subject table, or an ownership edge leaves it.
    pub fn is_personal(&self, table: RelationId) -> bool {
        self.is_subject(table) || self.ownership(table).next().is_some()
    }

    /// All tables with the far end of each ownership edge before its near end (self-references aside), and the edges of a cycle
    /// between different tables, if there is one: its tables then stand in no order.
    pub fn ownership_order(&self) -> (Vec<RelationId>, Option<Vec<Edge>>) {
        let mut search =
            OrderSearch { dog: self, trail: Vec::new(), done: BTreeSet::new(), order: Vec::new(), cycle: None };
        for table in self.tables() {
            search.visit(table);
        }
        (search.order, search.cycle)
    }

    /// Tables from which some path of ownership edges leads to a person; `through_access` allows any edges.
    pub(crate) fn reaching_subjects(&self, through_access: bool) -> BTreeSet<RelationId> {
        let mut reaching = self.subjects.clone();
        let mut frontier: Vec<RelationId> = reaching.iter().copied().collect();
        while let Some(table) = frontier.pop() {
            for edge in self.incoming(table).iter().filter(|edge| through_access || edge.is_ownership()) {
                if reaching.insert(edge.near) {
                    frontier.push(edge.near);
                }
            }
        }
        reaching
    }

    /// Tables whose rows' owners depend on rows of `table`, itself included; a person's own rows end the search.
    pub(crate) fn owned_through(&self, table: RelationId) -> BTreeSet<RelationId> {
        let mut found = BTreeSet::from([table]);
        let mut frontier = vec![table];
        while let Some(table) = frontier.pop() {
            for edge in self.incoming(table).iter().filter(|edge| edge.is_ownership()) {
                if found.insert(edge.near) {
                    frontier.push(edge.near);
                }
            }
        }
        found
    }
}

struct OrderSearch<'a> {
    dog: &'a Dog,
    /// From the table that the search began with to the one that it stands at.
    trail: Vec<Edge>,
    done: BTreeSet<RelationId>,
    order: Vec<RelationId>,
    cycle: Option<Vec<Edge>>,
}

impl OrderSearch<'_> {
    fn visit(&mut self, table: RelationId) {
        if self.done.contains(&table) {
            return;
        }
        if let Some(start) = self.trail.iter().position(|edge| edge.near == table) {
            self.cycle.get_or_insert_with(|| self.trail[start..].to_vec());
            return;
        }
        for edge in self.dog.ownership(table).filter(|edge| !edge.is_self()) {
            self.trail.push(edge.clone());
            self.visit(edge.far);
            self.trail.pop();
        }
        self.done.insert(table);
        self.order.push(table);
    }
}

/// How the keys of a table's rows stand on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForm {
    /// Keyed hashes, so that no personal key stands in clear: no ranges in the leaves.
    Hashed,
    /// Order-preserving keys and index entries.
    Ordered,
}

/// Of one table; of several a `Dog` is asked.
pub fn key_form(catalog: &Catalog, table: RelationId) -> KeyForm {
    Dog::new(catalog).key_form(catalog, table)
}
