//! What EXPLAIN shows of subject requests: the operators of a traversal, and what an erasure does along which edges.
//!
//! ```text
//! GDPR GET users
//!   Witness by place
//!     Subject users by id
//!     Read own comments of the µDB
//!     Own comments by author from users.id                       joined in memory
//!     Iterate comments by parent                                 loops: rounds
//!       Access comments by parent from own comments.id           joined by an index
//!       Access comments by parent from accessed comments.id
//! ```
//! Named after the schema alone: no key, and no value of a row.

use crate::disposition::{self, Disposition};
use operators::request_profile::{Counted, RequestProfile};
use planner::catalog::{EdgeKind, EdgeRef, Table};
use planner::explain::report::{Foreseen, OperatorLine};
use planner::ownership::Edge;
use planner::ownership::traversal::{Component, Join, Node, NodeId, Relation, SUBJECT_NODE, TraversalPlan};
use planner::resolve::ErasedPart;
use repr::{ColumnIndex, RelationId};
use state::shape::{Referrer, Schema, TableShape};
use std::collections::{BTreeSet, VecDeque};

/// The operators of an access: the answer, then what finds its rows. `by_microdb`: what is owned is read as it is stored.
pub fn access(schema: &Schema, plan: &TraversalPlan, by_microdb: bool, profile: &RequestProfile) -> Vec<OperatorLine> {
    let mut shown = Shown { schema, profile, operators: Vec::new() };
    let root = plan.nodes[SUBJECT_NODE].relation;
    shown.line(0, format!("GDPR GET {}", shown.name(root)), Some(root), None);
    shown.line(1, "Witness by place".into(), None, None);
    shown.subject(2, root);
    for component in &plan.components {
        shown.component(plan, component, by_microdb);
    }
    shown.operators
}

/// The operators of an erasure.
pub fn erasure(schema: &Schema, plan: &TraversalPlan, profile: &RequestProfile) -> Vec<OperatorLine> {
    let mut shown = Shown { schema, profile, operators: Vec::new() };
    let root = plan.nodes[SUBJECT_NODE].relation;
    shown.line(0, format!("GDPR FORGET {}", shown.name(root)), Some(root), None);
    shown.line(1, "Commit destroys the key and signs a receipt".into(), None, Some(Counted::Commit));
    shown.line(2, "Derive owners, erase rows without one".into(), None, Some(Counted::Owners));
    shown.line(3, "Iterate rows that go".into(), None, Some(Counted::Rounds));
    shown.subject(4, root);
    let owned: Vec<String> = plan.owned().into_iter().map(|relation| shown.name(relation)).collect();
    shown.line(4, format!("Read {} of the µDB", owned.join(", ")), None, Some(Counted::MicroDb));
    shown.all_falls([root]);
    shown.operators
}

/// The operators of an erasure of these parts, which have these names, of somebody in that table.
pub fn erasure_in_part(
    schema: &Schema,
    root: RelationId,
    (parts, names): (&[ErasedPart], &[String]),
    profile: &RequestProfile,
) -> Vec<OperatorLine> {
    let mut shown = Shown { schema, profile, operators: Vec::new() };
    shown.line(0, format!("GDPR FORGET {} IN ({})", shown.name(root), names.join(", ")), Some(root), None);
    shown.line(1, "Commit signs a receipt".into(), None, Some(Counted::Commit));
    shown.line(2, "Derive owners, erase rows without one".into(), None, Some(Counted::Owners));
    shown.line(3, "Iterate rows that go".into(), None, Some(Counted::Rounds));
    shown.subject(4, root);
    let tables: Vec<String> = parts.iter().map(|part| shown.name(part.table)).collect();
    shown.line(4, format!("Read {} of the µDB", tables.join(", ")), None, Some(Counted::MicroDb));
    for (part, table) in parts.iter().zip(tables) {
        let columns = shown.columns(part.table, &part.columns);
        let text = match part.columns.as_slice() {
            [] => format!("Part {table}: erase if nobody else owns it, else as by its edges to {}", shown.name(root)),
            _ => format!("Part {table}: blank ({columns}) if nobody else owns it, else what rules blank"),
        };
        shown.line(4, text, Some(part.table), None);
    }
    shown.all_falls(parts.iter().filter(|part| part.columns.is_empty()).map(|part| part.table));
    shown.operators
}

struct Shown<'a> {
    schema: &'a Schema,
    profile: &'a RequestProfile,
    operators: Vec<OperatorLine>,
}

impl Shown<'_> {
    fn line(&mut self, depth: usize, text: String, relation: Option<RelationId>, counted: Option<Counted>) {
        let relation = relation.map(|relation| self.name(relation));
        let actual = counted.and_then(|counted| self.profile.actual(counted));
        self.operators.push(OperatorLine {
            depth,
            text,
            node: None,
            relation,
            alias: None,
            foreseen: Foreseen::default(),
            actual,
            held: Vec::new(),
        });
    }

    fn table(&self, relation: RelationId) -> Option<&Table> {
        self.schema.shape(relation).map(|shape| &**shape.table())
    }

    fn name(&self, relation: RelationId) -> String {
        self.schema.shape(relation).map_or_else(String::new, |shape| shape.full_name().to_owned())
    }

    fn columns<'c>(&self, relation: RelationId, columns: impl IntoIterator<Item = &'c ColumnIndex>) -> String {
        let table = self.table(relation);
        let names = columns.into_iter().filter_map(|column| Some(table?.columns.get(*column)?.name.as_str()));
        names.collect::<Vec<_>>().join(", ")
    }

    /// `users.id`
    fn column(&self, relation: RelationId, columns: &[ColumnIndex]) -> String {
        match columns {
            [_] => format!("{}.{}", self.name(relation), self.columns(relation, columns)),
            _ => format!("{} ({})", self.name(relation), self.columns(relation, columns)),
        }
    }

    fn subject(&mut self, depth: usize, root: RelationId) {
        let key = self.table(root).and_then(Table::primary_key_columns).unwrap_or_default().to_vec();
        let text = format!("Subject {} by {}", self.name(root), self.columns(root, &key));
        self.line(depth, text, Some(root), None);
    }

    fn component(&mut self, plan: &TraversalPlan, component: &Component, by_microdb: bool) {
        let reads = by_microdb && component.role(plan) == Relation::Owner;
        if reads {
            for (node, operator) in &component.nodes {
                let relation = plan.nodes[*node].relation;
                let text = format!("Read own {} of the µDB", self.name(relation));
                self.line(2, text, Some(relation), Some(Counted::Operator(*operator)));
            }
        }
        let mut depth = 2;
        if !component.inner.is_empty() {
            let inner = component.inner.iter();
            let steps: BTreeSet<String> = inner.map(|join| self.near(&join.edge)).collect();
            let text = format!("Iterate {}", steps.into_iter().collect::<Vec<_>>().join(", "));
            self.line(2, text, None, Some(Counted::Operator(component.operator)));
            depth = 3;
        }
        for join in component.entering.iter().chain(&component.inner) {
            self.join(depth, plan, join, reads);
        }
    }

    fn near(&self, edge: &Edge) -> String {
        format!("{} by {}", self.name(edge.near), self.columns(edge.near, &edge.near_columns))
    }

    fn join(&mut self, depth: usize, plan: &TraversalPlan, join: &Join, in_memory: bool) {
        let edge = &join.edge;
        let word = match plan.nodes[join.near].role {
            Relation::Owner => "Own",
            Relation::Accessor => "Access",
        };
        let far = self.column(edge.far, &edge.far_columns);
        let mut text = format!("{word} {} from {}{far}", self.near(edge), role_of(plan, join.far));
        if !in_memory {
            let index = self.table(edge.near).and_then(|table| table.index(edge.near_index));
            text += &index.map_or_else(String::new, |index| format!(" using {}", index.name));
        }
        self.line(depth, text, Some(edge.near), Some(Counted::Operator(join.operator)));
    }

    /// What falls when rows of tables go, and what falls then.
    fn all_falls(&mut self, tables: impl IntoIterator<Item = RelationId>) {
        let mut goes: VecDeque<RelationId> = tables.into_iter().collect();
        let mut known: BTreeSet<RelationId> = goes.iter().copied().collect();
        while let Some(relation) = goes.pop_front() {
            let Some(shape) = self.schema.shape(relation) else { continue };
            for near in self.falls(shape) {
                if known.insert(near) {
                    goes.push_back(near);
                }
            }
        }
    }

    /// What falls when rows of a table go; the tables whose rows may go with them.
    fn falls(&mut self, shape: &TableShape) -> Vec<RelationId> {
        let mut goes = Vec::new();
        for edge in shape.owner_dependents.iter().chain(&shape.access_dependents) {
            let Some(near) = self.schema.shape(edge.near).cloned() else { continue };
            if disposition::fires_nothing(&near, edge) {
                continue;
            }
            let falls = disposition::at_edge(&near, edge);
            let word = match edge.kind {
                EdgeKind::OwnedBy | EdgeKind::Owns => "Own",
                EdgeKind::AccessedBy | EdgeKind::Accesses => "Access",
            };
            let mut what = self.disposition(near.id(), &falls);
            if near.personal && falls != Disposition::Erase {
                what = format!("erase if nobody else owns it, else {what}");
            }
            if near.personal || falls == Disposition::Erase {
                goes.push(near.id());
            }
            let far = self.column(edge.far, &edge.far_columns);
            let text = format!("{word} {} from {far}: {what}", self.near(edge));
            self.line(4, text, Some(near.id()), Some(Counted::Edge(edge.reference)));
        }
        for Referrer { table, foreign_key } in shape.referrers.iter().filter(|referrer| !referrer.is_near_end()) {
            let Some(naming) = self.schema.shape(*table).cloned() else { continue };
            let falls = disposition::at_foreign_key(&naming, foreign_key);
            if falls == Disposition::Erase {
                goes.push(*table);
            }
            let (columns, target) = (&foreign_key.columns, self.column(shape.id(), &foreign_key.target_columns));
            let text = format!(
                "Naming {} by {} from {target}: {}",
                self.name(*table),
                self.columns(*table, columns),
                self.disposition(*table, &falls)
            );
            let reference = EdgeRef { table: *table, foreign_key: foreign_key.constraint.id };
            self.line(4, text, Some(*table), Some(Counted::ForeignKey(reference)));
        }
        goes
    }

    fn disposition(&self, relation: RelationId, falls: &Disposition) -> String {
        match falls {
            Disposition::Erase => "erase".into(),
            Disposition::Blank(columns) if columns.is_empty() => "disown".into(),
            Disposition::Blank(columns) => format!("blank ({})", self.columns(relation, columns)),
            Disposition::Default(columns) => format!("default ({})", self.columns(relation, columns)),
        }
    }
}

/// As what the far rows of a join were found.
fn role_of(plan: &TraversalPlan, far: NodeId) -> &'static str {
    match plan.nodes[far] {
        _ if far == SUBJECT_NODE => "",
        Node { role: Relation::Owner, .. } => "own ",
        Node { role: Relation::Accessor, .. } => "accessed ",
    }
}
