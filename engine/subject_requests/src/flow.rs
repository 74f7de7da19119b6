//! A traversal at work: each operator of a plan, over all rows of a round at once.
//!
//! ```text
//! owned      Read a µDB's table ─▶ Join in memory ─┐
//! accessed   far rows ─▶ values ─▶ index ─▶ rows ──┴▶ Distinct by place ─▶ the next join
//! ```
//! Pushes whole rounds through operators on the caller's thread, as one-shots pull rows: a timely dataflow costs more to build
//! than a request takes. The rows stored in a µDB are exactly those that the person owns (invariant 1), so that no index is
//! asked for them; only a reader with changes of its own, whose owners are not derived yet, looks them up as well. Every far row
//! passes each of its joins once: what a component that leads to itself found in one round, it passes on in the next.

use crate::Subject;
use crate::profile::{Counted, Profile};
use crate::traverse::{Traversal, UNREACHED};
use repr::hash::HashMap;
use repr::{IndexId, RowKey};
use state::SqlError;
use state::interrupt::Watch;
use state::layered_snapshot::{LayeredSnapshot, Located};
use state::reader::Reader;
use state::traversal::{Component, Join, NodeId, OperatorId, Relation, SUBJECT_NODE, TraversalPlan};
use std::collections::hash_map::Entry;
use storage::MicroDbProbe;

/// Finds all rows of a subject.
pub fn run(
    view: &LayeredSnapshot,
    subject: &Subject,
    plan: &TraversalPlan,
    watch: &Watch,
    profile: &mut Profile,
) -> Result<Traversal, SqlError> {
    let row = view
        .get(subject.shape.table(), &subject.row_key)?
        .ok_or_else(|| SqlError::new("XX001", "a data subject's own row is not there"))?;
    let mut flow = Flow {
        view,
        subject,
        plan,
        watch,
        traversal: Traversal::of((subject.shape.id(), subject.row_key.clone()), row),
        found: vec![Vec::new(); plan.nodes.len()],
        met: Met::default(),
        fars: Fars::default(),
        probe: None,
        profile,
    };
    flow.found[SUBJECT_NODE].push(Traversal::SUBJECT);
    let by_microdb = !view.has_changes();
    for component in &plan.components {
        watch.check()?;
        match component.role(plan) {
            Relation::Owner if by_microdb => flow.read(component)?,
            Relation::Owner | Relation::Accessor => flow.look_up(component)?,
        }
    }
    Ok(flow.traversal)
}

/// The near rows that a value meets in an index, for all far rows that have it: by number.
type Met = HashMap<IndexId, HashMap<Vec<u8>, Vec<usize>>>;
/// The rows of a node by the value that a join meets them by.
type Fars = HashMap<(NodeId, IndexId), HashMap<Vec<u8>, Vec<usize>>>;

struct Flow<'a> {
    view: &'a LayeredSnapshot,
    subject: &'a Subject,
    plan: &'a TraversalPlan,
    watch: &'a Watch,
    traversal: Traversal,
    /// The rows of each node.
    found: Vec<Vec<usize>>,
    met: Met,
    fars: Fars,
    probe: Option<MicroDbProbe>,
    profile: &'a mut Profile,
}

impl Flow<'_> {
    /// What is owned: read as it is stored, and joined in memory. XX001 if a row is there that no edge leads to.
    fn read(&mut self, component: &Component) -> Result<(), SqlError> {
        for (node, operator) in &component.nodes {
            self.read_table(*node, *operator)?;
        }
        for join in &component.entering {
            let started = self.profile.start();
            let pairs = self.join_in_memory(join, |traversal, far, near| traversal.come_nearer(far, near))?;
            self.profile.stop(Counted::Operator(join.operator), started, pairs);
        }
        if !component.inner.is_empty() {
            self.iterate_in_memory(component)?;
        }
        let mut rows = component.nodes.iter().flat_map(|(node, _)| &self.found[*node]);
        if rows.any(|number| !self.traversal.is_measured(*number)) {
            return Err(SqlError::new("XX001", "a data subject's rows hold one that no ownership edge leads to")
                .hint("stop the server and run \"dogwood check\""));
        }
        Ok(())
    }

    fn read_table(&mut self, node: NodeId, operator: OperatorId) -> Result<(), SqlError> {
        let Flow { view, subject, plan, traversal, found, probe, .. } = self;
        let relation = plan.nodes[node].relation;
        let started = self.profile.start();
        let (own, looked_for) = (relation == subject.shape.id(), plan.accesses(relation));
        let probe = probe.get_or_insert_with(|| view.microdb_probe());
        probe.rows(relation, subject.microdb, |row_key, row| {
            if own && row_key == subject.row_key {
                return;
            }
            let place = (relation, row_key);
            found[node].push(match looked_for {
                true => traversal.add(place, Relation::Owner, row, UNREACHED),
                false => traversal.add_unsought(place, Relation::Owner, row, UNREACHED),
            });
        })?;
        self.profile.stop(Counted::Operator(operator), started, self.found[node].len());
        Ok(())
    }

    /// Rows of a component that leads to itself: pairs at once, and in rounds which of them hang together with the subject.
    fn iterate_in_memory(&mut self, component: &Component) -> Result<(), SqlError> {
        let whole = self.profile.start();
        let mut nears: HashMap<usize, Vec<usize>> = HashMap::default();
        for join in &component.inner {
            let started = self.profile.start();
            let pairs = self.join_in_memory(join, |_, far, near| nears.entry(far).or_default().push(near))?;
            self.profile.stop(Counted::Operator(join.operator), started, pairs);
        }
        let rows = component.nodes.iter().flat_map(|(node, _)| &self.found[*node]).copied();
        let mut round: Vec<usize> = rows.filter(|number| self.traversal.is_measured(*number)).collect();
        let mut gained = 0;
        while !round.is_empty() {
            self.watch.check()?;
            let mut next = Vec::new();
            for far in round {
                for near in nears.get(&far).into_iter().flatten() {
                    if !self.traversal.is_measured(*near) {
                        self.traversal.come_nearer(far, *near);
                        next.push(*near);
                    }
                }
            }
            self.profile.round(Counted::Operator(component.operator));
            gained += next.len();
            round = next;
        }
        self.profile.stop_rounds(Counted::Operator(component.operator), whole, gained);
        Ok(())
    }

    /// Notes for each row of the near node the rows of the far node that it meets. How many pairs there are.
    fn join_in_memory(
        &mut self,
        join: &Join,
        mut meet: impl FnMut(&mut Traversal, usize, usize),
    ) -> Result<usize, SqlError> {
        let Flow { view, traversal, found, fars, .. } = self;
        let (near_shape, far_shape) = (view.shape(join.edge.near)?, view.shape(join.edge.far)?);
        let mut pairs = 0;
        let mut value = Vec::new();
        if let [far] = found[join.far].as_slice() {
            // As it is with all that hangs on the person's own row.
            let Some(only) = far_shape.value_of(&join.edge.far_columns, &traversal.row(*far).row) else { return Ok(0) };
            for near in &found[join.near] {
                if near_shape.value_into(&join.edge.near_columns, &traversal.row(*near).row, &mut value)
                    && value == only
                {
                    traversal.step(join.edge.reference, *far, *near);
                    meet(traversal, *far, *near);
                    pairs += 1;
                }
            }
            return Ok(pairs);
        }
        let by_value = match fars.entry((join.far, join.edge.far_index)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let mut by_value: HashMap<Vec<u8>, Vec<usize>> = HashMap::default();
                for far in &found[join.far] {
                    if let Some(value) = far_shape.value_of(&join.edge.far_columns, &traversal.row(*far).row) {
                        by_value.entry(value).or_default().push(*far);
                    }
                }
                unknown.insert(by_value)
            }
        };
        for near in &found[join.near] {
            if near_shape.value_into(&join.edge.near_columns, &traversal.row(*near).row, &mut value)
                && let Some(met) = by_value.get(value.as_slice())
            {
                for far in met {
                    traversal.step(join.edge.reference, *far, *near);
                    meet(traversal, *far, *near);
                }
                pairs += met.len();
            }
        }
        Ok(pairs)
    }

    /// What may be accessed, or is owned in a state with changes: by the indexes of the near tables, in rounds.
    fn look_up(&mut self, component: &Component) -> Result<(), SqlError> {
        let whole = self.profile.start();
        let before: Vec<usize> = self.sizes(component);
        for join in &component.entering {
            self.join_by_index(join, 0..self.found[join.far].len())?;
        }
        if component.inner.is_empty() {
            return Ok(());
        }
        let mut passed = before.clone();
        loop {
            self.watch.check()?;
            let there = self.sizes(component);
            if there == passed {
                break;
            }
            for join in &component.inner {
                let position = component.nodes.iter().position(|(node, _)| *node == join.far);
                let position = position.expect("an inner join comes from a node of its component");
                self.join_by_index(join, passed[position]..there[position])?;
            }
            self.profile.round(Counted::Operator(component.operator));
            passed = there;
        }
        let gained = passed.iter().sum::<usize>() - before.iter().sum::<usize>();
        self.profile.stop_rounds(Counted::Operator(component.operator), whole, gained);
        Ok(())
    }

    fn sizes(&self, component: &Component) -> Vec<usize> {
        component.nodes.iter().map(|(node, _)| self.found[*node].len()).collect()
    }

    /// From some rows of the far node, asked for together.
    fn join_by_index(&mut self, join: &Join, which: std::ops::Range<usize>) -> Result<(), SqlError> {
        if which.is_empty() {
            return Ok(());
        }
        let started = self.profile.start();
        let (edge, view) = (&join.edge, self.view);
        let (near_shape, far_shape) = (view.shape(edge.near)?, view.shape(edge.far)?);
        let known = self.met.entry(edge.near_index).or_default();
        let mut pairs: Vec<(usize, Vec<u8>)> = Vec::with_capacity(which.len());
        let mut unmet: HashMap<Vec<u8>, usize> = HashMap::default();
        for far in &self.found[join.far][which] {
            if let Some(value) = far_shape.value_of(&edge.far_columns, &self.traversal.row(*far).row) {
                if !known.contains_key(&value) {
                    unmet.entry(value.clone()).or_insert(*far);
                }
                pairs.push((*far, value));
            }
        }
        let values: Vec<Vec<u8>> = unmet.keys().cloned().collect();
        let found = view.located_together(near_shape, edge.near_index, values)?;
        // Distinct by place: what was reached before is not read again.
        let mut first: HashMap<RowKey, usize> = HashMap::default();
        let mut unread: Vec<Located> = Vec::new();
        for (value, located) in &found {
            for located in located {
                if self.traversal.number(edge.near, &located.0).is_none() && !first.contains_key(&located.0) {
                    first.insert(located.0.clone(), unmet[value]);
                    unread.push(located.clone());
                }
            }
        }
        let role = self.plan.nodes[join.near].role;
        for ((row_key, _), row) in view.rows_together(near_shape, unread)? {
            let Some(row) = row else { continue };
            let level = self.traversal.row(first[&row_key]).level() + 1;
            self.found[join.near].push(self.traversal.add((edge.near, row_key), role, row, level));
        }
        let met = self.met.entry(edge.near_index).or_default();
        for (value, located) in found {
            let numbers = located.iter().filter_map(|(row_key, _)| self.traversal.number(edge.near, row_key));
            // What leads back to the subject's own row leads nowhere.
            met.insert(value, numbers.filter(|number| *number != Traversal::SUBJECT).collect());
        }
        let mut count = 0;
        for (far, value) in pairs {
            for near in &met[&value] {
                self.traversal.step(edge.reference, far, *near);
                count += 1;
            }
        }
        self.profile.stop(Counted::Operator(join.operator), started, count);
        Ok(())
    }
}
