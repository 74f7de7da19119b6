//! The part of the graph that stands on the disk: tables, their indexes, and how it is found whose a row is.

use super::{GraphOperator, OperatorKind, index_id, table_id};
use planner::catalog::own_tables::is_own;
use planner::catalog::{Catalog, EdgeKind};
use planner::ownership::traversal::TraversalPlan;
use planner::ownership::{Edge, edge_word};
use repr::RelationId;
use state::shape::{Schema, TableShape};
use transactions::database::Database;

/// Of every table.
pub(super) fn operators(database: &Database, schema: &Schema) -> Vec<GraphOperator> {
    let mut operators = Vec::new();
    let mut shapes = schema.shapes();
    // What the server keeps for itself is nobody's query.
    shapes.retain(|relation, _| !is_own(relation.0));
    for shape in shapes.values() {
        let table = shape.table();
        let bytes = usize::try_from(database.store.approximate_size(table.id)).ok();
        operators.push(
            GraphOperator::new(table_id(table.id), OperatorKind::Table, &table.name, table.id).holding(None, bytes),
        );
        for index in &table.indexes {
            let arranged = GraphOperator::new(index_id(index.id), OperatorKind::Index, &index.name, table.id);
            operators.push(arranged.reading([table_id(table.id)]));
        }
    }
    let graph = Graph { schema, catalog: schema.catalog() };
    for relation in schema.order() {
        let Some(shape) = shapes.get(relation) else { continue };
        operators.extend(shape.owner_edges.iter().map(|edge| graph.edge(edge, OperatorKind::Ownership)));
        operators.push(graph.owners(shape));
    }
    for shape in shapes.values() {
        operators.extend(shape.access_edges.iter().map(|edge| graph.edge(edge, OperatorKind::Access)));
    }
    let subjects = shapes.values().filter(|shape| shape.table().data_subject);
    operators.extend(subjects.filter_map(|shape| Some(graph.requests(shape, schema.traversal(shape.table().id)?))));
    operators
}

struct Graph<'a> {
    schema: &'a Schema,
    catalog: &'a Catalog,
}

impl Graph<'_> {
    /// One annotated foreign key: the rows that gain holders by it, joined with the holders of those it leads to.
    fn edge(&self, edge: &Edge, kind: OperatorKind) -> GraphOperator {
        let holders = match self.schema.shape(edge.far) {
            Some(far) if far.personal => owners_id(edge.far),
            Some(_) | None => index_id(edge.far_index),
        };
        let accessors = match (kind, self.schema.shape(edge.far)) {
            (OperatorKind::Access, Some(far)) => far.access_edges.iter().map(edge_id).collect(),
            _ => Vec::new(),
        };
        let own = GraphOperator::new(edge_id(edge), kind, self.edge_name(edge), edge.near);
        own.reading([index_id(edge.near_index), holders].into_iter().chain(accessors))
    }

    /// `posts (author) OWNED_BY users`
    fn edge_name(&self, edge: &Edge) -> String {
        let table = self.catalog.table(edge.reference.table);
        let key = table.and_then(|table| {
            table
                .foreign_keys
                .iter()
                .find(|key| key.constraint.id == edge.reference.foreign_key)
                .map(|key| (table, key))
        });
        let Some((table, key)) = key else { return edge_word(edge.kind).to_string() };
        let columns: Vec<&str> = key.columns.iter().map(|column| table.columns[*column].name.as_str()).collect();
        let target = self.catalog.table(key.target).map_or("", |target| target.name.as_str());
        format!("{} ({}) {} {target}", table.name, columns.join(", "), edge_word(edge.kind))
    }

    /// Rows of data subjects are their own; others are whose the edges say.
    fn owners(&self, shape: &TableShape) -> GraphOperator {
        let table = shape.table();
        let own = table.data_subject.then(|| table_id(table.id));
        let named = GraphOperator::new(
            owners_id(table.id),
            OperatorKind::Owners,
            format!("owners of {}", table.name),
            table.id,
        );
        named.reading(own.into_iter().chain(shape.owner_edges.iter().map(edge_id)))
    }

    /// What requests of these data subjects read.
    fn requests(&self, shape: &TableShape, plan: &TraversalPlan) -> GraphOperator {
        let owned = plan.owned().into_iter().map(owners_id);
        let joins = plan.components.iter().flat_map(|component| component.entering.iter().chain(&component.inner));
        let accessed = joins.map(|join| &join.edge).filter(|edge| is_access(edge)).map(edge_id);
        let table = shape.table();
        let name = format!("requests of {}", table.name);
        let own = GraphOperator::new(format!("requests:{}", table.id), OperatorKind::SubjectRequests, name, table.id);
        own.reading(owned.chain(accessed))
    }
}

fn is_access(edge: &Edge) -> bool {
    matches!(edge.kind, EdgeKind::AccessedBy | EdgeKind::Accesses)
}

fn owners_id(table: RelationId) -> String {
    format!("owners:{table}")
}

fn edge_id(edge: &Edge) -> String {
    let kind = if is_access(edge) { "access" } else { "ownership" };
    format!("{kind}:{}", edge.reference.foreign_key)
}
