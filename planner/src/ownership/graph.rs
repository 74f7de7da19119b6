//! The DOG: tables are vertices, annotated foreign keys are edges, all pointing one step towards a person.
//!
//! An `OWNED_BY` or `ACCESSED_BY` edge leaves the table that has the foreign key; an `OWNS` or `ACCESSES` edge
//! leaves the referenced one. Built anew for each catalog version; never sees rows.

use crate::catalog::{Catalog, EdgeKind, EdgeRef};
use repr::{ColumnIndex, RelationId};
use std::collections::{BTreeMap, BTreeSet};

/// One annotated foreign key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Which foreign key.
    pub reference: EdgeRef,
    /// Its annotation.
    pub kind: EdgeKind,
    /// The far table: one step away from people.
    pub from: RelationId,
    /// The columns of `from` that the edge joins by.
    pub from_columns: Vec<ColumnIndex>,
    /// The near table: one step closer to people.
    pub to: RelationId,
    /// The columns of `to` that the edge joins by.
    pub to_columns: Vec<ColumnIndex>,
}

impl Edge {
    /// OWNED_BY or OWNS, as against ACCESSED_BY or ACCESSES.
    pub(crate) fn is_ownership(&self) -> bool {
        matches!(self.kind, EdgeKind::OwnedBy | EdgeKind::Owns)
    }

    /// Whether one row of `from` may have many rows of `to`: OWNS and ACCESSES.
    pub(crate) fn is_variable(&self) -> bool {
        matches!(self.kind, EdgeKind::Owns | EdgeKind::Accesses)
    }

    /// Whether both ends are one table.
    pub(crate) fn is_self_reference(&self) -> bool {
        self.from == self.to
    }

    /// The columns of the table `from` that hold the foreign key, if it stands there.
    pub(crate) fn own_columns(&self) -> &[ColumnIndex] {
        if self.is_variable() { &[] } else { &self.from_columns }
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
            for key in &table.foreign_keys {
                let Some(kind) = key.annotation else { continue };
                let reference = EdgeRef { table: table.id, foreign_key: key.constraint.id };
                let (holder, target) = ((table.id, key.columns.clone()), (key.target, key.target_columns.clone()));
                let (from, to) = match kind {
                    EdgeKind::OwnedBy | EdgeKind::AccessedBy => (holder, target),
                    EdgeKind::Owns | EdgeKind::Accesses => (target, holder),
                };
                let edge = Edge { reference, kind, from: from.0, from_columns: from.1, to: to.0, to_columns: to.1 };
                dog.incoming.entry(edge.to).or_default().push(edge.clone());
                dog.outgoing.entry(edge.from).or_default().push(edge);
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

    /// All tables with the near end of each ownership edge before its far end (self-references aside).
    ///
    /// # Errors
    /// The edges of a cycle between different tables.
    pub fn ownership_order(&self) -> Result<Vec<RelationId>, Vec<Edge>> {
        let mut order = Vec::new();
        let mut done = BTreeSet::new();
        for table in self.tables() {
            self.visit(table, &mut Vec::new(), &mut done, &mut order)?;
        }
        Ok(order)
    }

    fn visit(
        &self,
        table: RelationId,
        trail: &mut Vec<Edge>,
        done: &mut BTreeSet<RelationId>,
        order: &mut Vec<RelationId>,
    ) -> Result<(), Vec<Edge>> {
        if done.contains(&table) {
            return Ok(());
        }
        if let Some(start) = trail.iter().position(|edge| edge.from == table) {
            return Err(trail.split_off(start));
        }
        for edge in self.ownership(table).filter(|edge| !edge.is_self_reference()) {
            trail.push(edge.clone());
            self.visit(edge.to, trail, done, order)?;
            trail.pop();
        }
        done.insert(table);
        order.push(table);
        Ok(())
    }

    /// Tables from which some path of ownership edges leads to a person; `through_access` allows any edges.
    pub(crate) fn reaching_subjects(&self, through_access: bool) -> BTreeSet<RelationId> {
        let mut reaching = self.subjects.clone();
        let mut frontier: Vec<RelationId> = reaching.iter().copied().collect();
        while let Some(table) = frontier.pop() {
            for edge in self.incoming(table).iter().filter(|edge| through_access || edge.is_ownership()) {
                if reaching.insert(edge.from) {
                    frontier.push(edge.from);
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
                if found.insert(edge.from) {
                    frontier.push(edge.from);
                }
            }
        }
        found
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

/// Ordered only for impersonal tables without any foreign-key path to a data-subject table; a view has no stored keys.
pub fn key_form(catalog: &Catalog, table: RelationId) -> KeyForm {
    let dog = Dog::new(catalog);
    if dog.is_personal(table) || catalog.table(table).is_some_and(|table| !table.is_stored()) {
        return KeyForm::Hashed;
    }
    let mut seen = BTreeSet::from([table]);
    let mut frontier = vec![table];
    while let Some(next) = frontier.pop() {
        if dog.is_subject(next) {
            return KeyForm::Hashed;
        }
        let keys = catalog.table(next).map(|table| table.foreign_keys.as_slice()).unwrap_or_default();
        frontier.extend(keys.iter().map(|key| key.target).filter(|target| seen.insert(*target)));
    }
    KeyForm::Ordered
}
