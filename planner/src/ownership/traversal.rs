//! The plan of a traversal: the reversed ownership graph of one data-subject table, as a dataflow over the leaves.
//!
//! ```text
//!   subject ──▶ own stories ──▶ own taggings ─ ─▶ accessed tags        ──▶ ownership edge, by a join
//!      │                            │                                  ─ ─▶ access edge
//!      └─ ─▶ accessed comments ◀────┘
//!               ▲   │
//!               └───┘  a component that leads to itself is iterated: rounds over what the last one found
//! ```
//! A node is a table in a role, since rows that are owned lead on otherwise than those that may be accessed. Made once a
//! catalog and data-subject table. Its algebra: reads of a µDB, joins along edges, iteration of a component, and a witness over
//! all, which is DISTINCT that keeps the edges. How a join reads is the late step's: what is owned is read with the µDB, unless
//! the reader has changes. `operators::traversal` runs it.

use super::graph::{Dog, Edge};
use repr::RelationId;
use std::collections::{BTreeMap, HashMap};

/// How the subject came to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// The subject owns it.
    Owner,
    /// The subject may access it.
    Accessor,
}

/// A node's place in the plan.
pub type NodeId = usize;
/// An operator's place in what is told of a plan.
pub type OperatorId = usize;

/// The subject's own row.
pub const SUBJECT_NODE: NodeId = 0;

/// A table in a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The table.
    pub relation: RelationId,
    /// What its rows are to the subject.
    pub role: Relation,
}

/// Leads from the rows of one node to rows of another, over an edge.
#[derive(Debug)]
pub struct Join {
    /// Where its rows are counted.
    pub operator: OperatorId,
    /// Over which edge.
    pub edge: Edge,
    /// Whence.
    pub far: NodeId,
    /// Whither.
    pub near: NodeId,
}

/// Nodes that are found together: one, or several that lead to each other.
#[derive(Debug)]
pub struct Component {
    /// Where its rows and rounds are counted, if it is iterated.
    pub operator: OperatorId,
    /// The nodes, each with the operator that reads its rows from the µDB.
    pub nodes: Vec<(NodeId, OperatorId)>,
    /// Joins from nodes of earlier components.
    pub entering: Vec<Join>,
    /// Joins within.
    pub inner: Vec<Join>,
}

impl Component {
    /// What its rows are to the subject.
    pub fn role(&self, plan: &TraversalPlan) -> Relation {
        plan.nodes[self.nodes[0].0].role
    }
}

/// How everything that a person owns or may access is found.
#[derive(Debug)]
pub struct TraversalPlan {
    /// The nodes; the first is the subject's own row.
    pub nodes: Vec<Node>,
    /// Each after all that lead to it; what is owned before what may be accessed.
    pub components: Vec<Component>,
    /// How many operators are counted.
    pub operators: usize,
}

impl TraversalPlan {
    /// Of a data-subject table.
    pub fn new(dog: &Dog, subjects: RelationId) -> TraversalPlan {
        let mut graph = Graph {
            dog,
            nodes: vec![Node { relation: subjects, role: Relation::Owner }],
            known: HashMap::new(),
            edges: Vec::new(),
        };
        graph.follow(SUBJECT_NODE);
        graph.plan()
    }

    /// The tables in which a person may own rows, that of its own row first; none twice.
    pub fn owned(&self) -> Vec<RelationId> {
        let mut owned = Vec::new();
        for node in self.nodes.iter().filter(|node| node.role == Relation::Owner) {
            if !owned.contains(&node.relation) {
                owned.push(node.relation);
            }
        }
        owned
    }

    /// Whether rows of a table may be reached by access edges.
    pub fn accesses(&self, relation: RelationId) -> bool {
        self.nodes.iter().any(|node| node.role == Relation::Accessor && node.relation == relation)
    }
}

struct Graph<'a> {
    dog: &'a Dog,
    nodes: Vec<Node>,
    known: HashMap<Node, NodeId>,
    edges: Vec<(NodeId, NodeId, Edge)>,
}

impl Graph<'_> {
    /// Adds what a node leads to.
    fn follow(&mut self, far: NodeId) {
        let Node { relation, role } = self.nodes[far];
        // Ownership and access stop at a person other than the subject.
        if far != SUBJECT_NODE && self.dog.is_subject(relation) {
            return;
        }
        // After the first access edge all is access, whatever edges follow.
        let near = self.dog.incoming(relation).iter();
        let owned = near.clone().filter(|edge| edge.is_ownership()).map(|edge| (edge, role));
        let accessed = near.filter(|edge| !edge.is_ownership()).map(|edge| (edge, Relation::Accessor));
        for (edge, role) in owned.chain(accessed) {
            let node = Node { relation: edge.near, role };
            let near = match self.known.get(&node) {
                Some(near) => *near,
                None => {
                    let near = self.nodes.len();
                    self.nodes.push(node);
                    self.known.insert(node, near);
                    self.follow(near);
                    near
                }
            };
            self.edges.push((far, near, edge.clone()));
        }
    }

    fn plan(self) -> TraversalPlan {
        let mut components = Components::new(&self).found;
        // Nothing owned is reached from what is accessed: either order of the two roles keeps each after what leads to it.
        components.sort_by_key(|nodes| self.nodes[nodes[0]].role == Relation::Accessor);
        let place: BTreeMap<NodeId, usize> = components
            .iter()
            .enumerate()
            .flat_map(|(place, nodes)| nodes.iter().map(move |node| (*node, place)))
            .collect();
        // The first stands for the subject's own row.
        let mut operators = 1;
        let mut operator = || {
            operators += 1;
            operators - 1
        };
        let mut planned: Vec<Component> = components
            .into_iter()
            .map(|nodes| Component {
                operator: operator(),
                nodes: nodes.into_iter().map(|node| (node, operator())).collect(),
                entering: Vec::new(),
                inner: Vec::new(),
            })
            .collect();
        for (far, near, edge) in self.edges {
            let join = Join { operator: operator(), edge, far, near };
            let component = &mut planned[place[&near]];
            match place.get(&far) == place.get(&near) {
                true => component.inner.push(join),
                false => component.entering.push(join),
            }
        }
        TraversalPlan { nodes: self.nodes, components: planned, operators }
    }
}

/// Tarjan's strongly connected components, each after all that lead to it. The subject's own row is in none.
struct Components {
    nears: Vec<Vec<NodeId>>,
    /// When a node was met, and the earliest that it leads back to.
    met: Vec<Option<(usize, usize)>>,
    open: Vec<NodeId>,
    count: usize,
    found: Vec<Vec<NodeId>>,
}

impl Components {
    fn new(graph: &Graph<'_>) -> Components {
        let mut nears = vec![Vec::new(); graph.nodes.len()];
        for (far, near, _) in &graph.edges {
            nears[*far].push(*near);
        }
        let met = vec![None; graph.nodes.len()];
        let mut components = Components { nears, met, open: Vec::new(), count: 0, found: Vec::new() };
        components.visit(SUBJECT_NODE);
        components.found.retain(|nodes| *nodes != [SUBJECT_NODE]);
        // Found last is what leads to all others.
        components.found.reverse();
        components
    }

    fn visit(&mut self, node: NodeId) -> usize {
        let order = self.count;
        self.count += 1;
        self.met[node] = Some((order, order));
        self.open.push(node);
        let mut low = order;
        // The last first: what is found is turned round in the end.
        for near in self.nears[node].clone().into_iter().rev() {
            match self.met[near] {
                None => low = low.min(self.visit(near)),
                Some((order, _)) if self.open.contains(&near) => low = low.min(order),
                Some(_) => {}
            }
        }
        if low == order {
            let start = self.open.iter().position(|open| *open == node).expect("it was opened above");
            let mut nodes = self.open.split_off(start);
            nodes.sort_unstable();
            self.found.push(nodes);
        }
        low
    }
}
