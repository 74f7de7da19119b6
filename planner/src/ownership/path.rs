//! Paths of the DOG from a table to the people who own or may access its rows.

use super::graph::{Dog, Edge};
use crate::catalog::Catalog;
use repr::RelationId;

/// More paths than this are not listed: graphs can have exponentially many.
const PATHS_MAX: usize = 256;

/// Steps of one search: dense graphs have exponentially many dead ends too.
const STEPS_MAX: usize = 20_000;

/// A path to a data-subject table, edge by edge; empty for a subject's own row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnershipPath {
    /// The edges, from the table outwards to the person.
    pub edges: Vec<Edge>,
    /// The data-subject table at its end.
    pub subject: RelationId,
}

impl OwnershipPath {
    /// Whether it gives ownership: no access edge on it.
    pub(crate) fn is_ownership(&self) -> bool {
        self.edges.iter().all(Edge::is_ownership)
    }

    /// Edges on which one row may lead to many: each multiplies the people at the end.
    pub(crate) fn variable_edges(&self) -> usize {
        self.edges.iter().filter(|edge| !edge.along_foreign_key()).count()
    }

    /// `taggings.story_id OWNED_BY stories(id) → stories.author OWNED_BY users(id)`
    pub fn describe(&self, catalog: &Catalog) -> String {
        let edges: Vec<String> =
            self.edges.iter().map(|edge| super::describe_edge_ref(catalog, edge.reference)).collect();
        edges.join(" → ")
    }
}

impl Dog {
    /// The ownership paths of a table: each ends at the first person it meets. Self-references are left out.
    pub fn ownership_paths(&self, table: RelationId) -> Vec<OwnershipPath> {
        let mut paths = Vec::new();
        self.extend(table, &mut Vec::new(), true, &mut paths, &mut 0);
        paths
    }

    /// The access paths of a table: those with an access edge somewhere on them.
    pub fn access_paths(&self, table: RelationId) -> Vec<OwnershipPath> {
        let mut paths = Vec::new();
        self.extend(table, &mut Vec::new(), false, &mut paths, &mut 0);
        paths.retain(|path| !path.is_ownership());
        paths
    }

    fn extend(
        &self,
        table: RelationId,
        trail: &mut Vec<Edge>,
        ownership_only: bool,
        paths: &mut Vec<OwnershipPath>,
        steps: &mut usize,
    ) {
        *steps += 1;
        if paths.len() >= PATHS_MAX || *steps > STEPS_MAX {
            return;
        }
        // Ownership and access stop at a person; the table itself may be one and be owned by another.
        if self.is_subject(table) && !trail.is_empty() {
            paths.push(OwnershipPath { edges: trail.clone(), subject: table });
            return;
        }
        for edge in self.outgoing(table) {
            let visited = edge.is_self() || trail.iter().any(|before| before.near == edge.far);
            if visited || (ownership_only && !edge.is_ownership()) {
                continue;
            }
            trail.push(edge.clone());
            self.extend(edge.far, trail, ownership_only, paths, steps);
            trail.pop();
        }
    }
}
