//! A subject request at work: the operators of its plan, over all rows of a round at once.
//!
//! ```text
//! owned      read a µDB's table ─▶ edge join in memory ─┐
//! accessed   far rows ─▶ edge join by an index ─────────┴▶ witness ─▶ the next join
//! ```
//! Only once, pushing whole rounds through operators on the caller's thread, as queries pull rows: a timely dataflow costs more
//! to build than a request takes. The rows stored in a µDB are exactly those that the person owns (invariant 1), so that no
//! index is asked for them; only a reader with changes of its own, whose owners are not derived yet, looks them up as well.
//! Every far row passes each of its joins once: what a component that leads to itself found in one round, it passes on in the
//! next. An erasure finds with the same operators what is owned, and goes on by what the rules say.

use crate::edge_join::EdgeJoins;
use crate::request_profile::{Counted, RequestProfile};
use crate::witness::{UNREACHED, Witness};
use planner::ownership::traversal::{Component, Join, NodeId, Relation, SUBJECT_NODE, TraversalPlan};
use repr::hash::HashMap;
use repr::{MicroDbId, Row, RowKey};
use state::SqlError;
use state::interrupt::Watch;
use state::layered_snapshot::{LayeredSnapshot, MicroDb};
use state::reader::Reader;
use state::shape::TableShape;
use std::sync::Arc;

/// A data subject that exists.
#[derive(Clone)]
pub struct Subject {
    /// Its table.
    pub shape: Arc<TableShape>,
    /// Its row.
    pub row_key: RowKey,
    /// Its µDB.
    pub microdb: MicroDbId,
}

/// Everything that a person owns or may access. 57014 or why the snapshot ended, if the `watch` says so between rounds.
pub fn find(
    snapshot: &LayeredSnapshot,
    subject: &Subject,
    watch: &Watch,
    profile: &mut RequestProfile,
) -> Result<Witness, SqlError> {
    let mut traversal = Traversal::new(snapshot, subject)?;
    let by_microdb = !snapshot.has_changes();
    for component in &traversal.plan.components {
        watch.check()?;
        match component.role(traversal.plan) {
            Relation::Owner if by_microdb => traversal.own(component, watch, profile)?,
            Relation::Owner | Relation::Accessor => traversal.look_up(component, watch, profile)?,
        }
    }
    Ok(traversal.witness)
}

/// The plan of requests about rows of a data-subject table.
pub fn plan<'v>(snapshot: &'v LayeredSnapshot, subject: &TableShape) -> Result<&'v TraversalPlan, SqlError> {
    let plan = snapshot.schema().traversal(subject.id());
    plan.ok_or_else(|| SqlError::new("XX000", "a data-subject table without a plan of its traversal"))
}

/// What was found so far.
pub struct Traversal<'a> {
    snapshot: &'a LayeredSnapshot,
    subject: &'a Subject,
    plan: &'a TraversalPlan,
    witness: Witness,
    /// The rows of each node.
    found: Vec<Vec<usize>>,
    joins: EdgeJoins,
    microdb: Option<MicroDb>,
}

impl<'a> Traversal<'a> {
    /// Reads the subject's own row.
    pub fn new(snapshot: &'a LayeredSnapshot, subject: &'a Subject) -> Result<Self, SqlError> {
        let plan = plan(snapshot, &subject.shape)?;
        let row = snapshot
            .get(subject.shape.table(), &subject.row_key)?
            .ok_or_else(|| SqlError::new("XX001", "a data subject's own row is not there"))?;
        let mut found = vec![Vec::new(); plan.nodes.len()];
        found[SUBJECT_NODE].push(Witness::SUBJECT);
        Ok(Traversal {
            snapshot,
            subject,
            plan,
            witness: Witness::of((subject.shape.id(), subject.row_key.clone()), row),
            found,
            joins: EdgeJoins::default(),
            microdb: None,
        })
    }

    /// What was found, and each row once.
    pub fn into_witness(self) -> Witness {
        self.witness
    }

    /// The rows of a node.
    pub fn rows(&self, node: NodeId) -> impl Iterator<Item = &Row> {
        self.found[node].iter().map(|number| &self.witness.row(*number).row)
    }

    /// Reads a table of the µDB: the rows of a node that are owned. How many there are.
    pub fn read(&mut self, node: NodeId) -> Result<usize, SqlError> {
        let Traversal { snapshot, subject, plan, witness, found, microdb, .. } = self;
        let relation = plan.nodes[node].relation;
        let (own, sought) = (relation == subject.shape.id(), plan.accesses(relation));
        let microdb = microdb.get_or_insert_with(|| snapshot.microdb(subject.microdb));
        microdb.rows(relation, |row_key, row| {
            if own && row_key == subject.row_key {
                return;
            }
            let place = (relation, row_key);
            found[node].push(match sought {
                true => witness.add(place, Relation::Owner, row, UNREACHED),
                false => witness.add_unsought(place, Relation::Owner, row, UNREACHED),
            });
        })?;
        Ok(found[node].len())
    }

    /// Joins what was found of two nodes. `meet` is told of each far row, with its value and what it leads to; how many pairs
    /// there are.
    pub fn join(
        &mut self,
        join: &Join,
        meet: impl FnMut(&mut Witness, usize, &[u8], &[usize]),
    ) -> Result<usize, SqlError> {
        let Traversal { snapshot, witness, found, joins, .. } = self;
        joins.in_memory(snapshot, join, witness, (&found[join.far], &found[join.near]), meet)
    }

    /// What is owned: read as it is stored, and joined in memory. XX001 if a row is there that no edge leads to.
    fn own(&mut self, component: &Component, watch: &Watch, profile: &mut RequestProfile) -> Result<(), SqlError> {
        for (node, operator) in &component.nodes {
            let started = profile.start();
            let rows = self.read(*node)?;
            profile.stop(Counted::Operator(*operator), started, rows);
        }
        for join in &component.entering {
            let started = profile.start();
            let pairs = self.join(join, |witness, far, _, nears| {
                for near in nears {
                    witness.step(join.edge.reference, far, *near);
                    witness.come_nearer(far, *near);
                }
            })?;
            profile.stop(Counted::Operator(join.operator), started, pairs);
        }
        if !component.inner.is_empty() {
            self.iterate(component, watch, profile)?;
        }
        let mut rows = component.nodes.iter().flat_map(|(node, _)| &self.found[*node]);
        if rows.any(|number| !self.witness.is_measured(*number)) {
            return Err(SqlError::new("XX001", "a data subject's rows hold one that no ownership edge leads to")
                .hint("stop the server and run \"dogwood check\""));
        }
        Ok(())
    }

    /// Rows of a component that leads to itself: pairs at once, and in rounds which of them hang together with the subject.
    fn iterate(&mut self, component: &Component, watch: &Watch, profile: &mut RequestProfile) -> Result<(), SqlError> {
        let whole = profile.start();
        let mut nears: HashMap<usize, Vec<usize>> = HashMap::default();
        for join in &component.inner {
            let started = profile.start();
            let pairs = self.join(join, |witness, far, _, met| {
                met.iter().for_each(|near| witness.step(join.edge.reference, far, *near));
                nears.entry(far).or_default().extend(met);
            })?;
            profile.stop(Counted::Operator(join.operator), started, pairs);
        }
        let rows = component.nodes.iter().flat_map(|(node, _)| &self.found[*node]).copied();
        let mut round: Vec<usize> = rows.filter(|number| self.witness.is_measured(*number)).collect();
        let mut gained = 0;
        while !round.is_empty() {
            watch.check()?;
            let mut next = Vec::new();
            for far in round {
                for near in nears.get(&far).into_iter().flatten() {
                    if !self.witness.is_measured(*near) {
                        self.witness.come_nearer(far, *near);
                        next.push(*near);
                    }
                }
            }
            profile.round(Counted::Operator(component.operator));
            gained += next.len();
            round = next;
        }
        profile.stop_rounds(Counted::Operator(component.operator), whole, gained);
        Ok(())
    }

    /// What may be accessed, or is owned in a state with changes: by the indexes of the near tables, in rounds.
    fn look_up(&mut self, component: &Component, watch: &Watch, profile: &mut RequestProfile) -> Result<(), SqlError> {
        let whole = profile.start();
        let before: Vec<usize> = self.sizes(component);
        for join in &component.entering {
            self.join_by_index(join, 0..self.found[join.far].len(), profile)?;
        }
        if component.inner.is_empty() {
            return Ok(());
        }
        let mut passed = before.clone();
        loop {
            watch.check()?;
            let there = self.sizes(component);
            if there == passed {
                break;
            }
            for join in &component.inner {
                let position = component.nodes.iter().position(|(node, _)| *node == join.far);
                let position = position.expect("an inner join comes from a node of its component");
                self.join_by_index(join, passed[position]..there[position], profile)?;
            }
            profile.round(Counted::Operator(component.operator));
            passed = there;
        }
        let gained = passed.iter().sum::<usize>() - before.iter().sum::<usize>();
        profile.stop_rounds(Counted::Operator(component.operator), whole, gained);
        Ok(())
    }

    fn sizes(&self, component: &Component) -> Vec<usize> {
        component.nodes.iter().map(|(node, _)| self.found[*node].len()).collect()
    }

    /// From some rows of the far node, asked for together.
    fn join_by_index(
        &mut self,
        join: &Join,
        which: std::ops::Range<usize>,
        profile: &mut RequestProfile,
    ) -> Result<(), SqlError> {
        if which.is_empty() {
            return Ok(());
        }
        let Traversal { snapshot, plan, witness, found, joins, .. } = self;
        let started = profile.start();
        let role = plan.nodes[join.near].role;
        let fars = found[join.far][which].to_vec();
        let pairs = joins.by_index(snapshot, (join, role), witness, &fars, &mut found[join.near])?;
        profile.stop(Counted::Operator(join.operator), started, pairs);
        Ok(())
    }
}
