//! A view worker follows the catalog: views are made, made anew and dropped, and those that are tied go together.

use crate::component::Component;
use crate::dataflow::{Definition, ViewDataflow};
use crate::hydrate::PATIENCE;
use crate::maintained::{Maintained, definition};
use crate::publication::{ComponentId, Pace, Passed};
use crate::sources::{SourceChange, change};
use crate::subscription::Deltas;
use crate::worker::ViewWorker;
use planner::catalog::{Catalog, Table};
use planner::scalar::EvalContext;
use repr::RelationId;
use state::SqlError;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl ViewWorker {
    /// Makes, remakes and drops views until they are those of the catalog.
    pub(super) fn follow_catalog(&mut self, deltas: &mut Deltas) {
        let catalog = self.at.state.catalog().clone();
        self.end_ordered(&catalog);
        let (mut stale, mut improvable) = (BTreeSet::new(), Vec::new());
        for (id, view) in &self.views {
            let gone = !view.automatic && !catalog.table(*id).is_some_and(|table| self.keeps(table));
            let changes = view.sources.iter().map(|source| (source.id, change(source, catalog.table(source.id))));
            let worst = changes.map(|(source, change)| if source == *id { change.of_itself() } else { change }).max();
            if gone || worst == Some(SourceChange::Other) {
                stale.insert(*id);
            } else if worst == Some(SourceChange::MoreIndexes) {
                improvable.push(*id);
            }
        }
        // A new index may make a better plan, for which nobody's subscription is to end.
        for id in improvable {
            let mut concerned = self.readers_of(&BTreeSet::from([id]));
            concerned.insert(id);
            if !concerned.iter().any(|view| self.around.subscriptions.is_watched(*view)) {
                stale.insert(id);
            }
        }
        stale.extend(self.readers_of(&stale));
        for id in stale {
            let Some(view) = self.forget(id) else { continue };
            if view.automatic {
                // Queries plan again after DDL, and ask for what they need.
                self.around.automatic.ended(id);
            }
            let ended = SqlError::new("55000", "the view that is subscribed to was dropped or defined anew");
            deltas.end(id, ended.hint("Subscribe again."));
        }
        // In the order of their ids: views read those of lower ids.
        for table in catalog.relations.values() {
            if self.keeps(table) && !self.views.contains_key(&table.id) {
                self.create(table, &catalog);
            }
        }
    }

    pub(super) fn create(&mut self, table: &Arc<Table>, catalog: &Arc<Catalog>) {
        let mut view = Maintained::new(vec![table.clone()], false, self.at.state.time);
        match definition(table, catalog) {
            Ok(definition) => self.start(&mut view, definition),
            Err(error) => self.fail(table.id, &mut view, error),
        }
        self.known.overview = None;
        self.place(table.id, view);
    }

    pub(super) fn create_automatic(&mut self, definition: Definition) {
        let id = definition.id;
        let catalog = self.at.state.catalog();
        if definition.planned_over.iter().any(|table| change(table, catalog.table(table.id)) == SourceChange::Other) {
            // Planned before DDL and asked for after it.
            self.around.automatic.ended(id);
            return;
        }
        let mut view = Maintained::new(Vec::new(), true, self.at.state.time);
        self.start(&mut view, definition);
        self.known.overview = None;
        self.place(id, view);
    }

    /// Renders a view, and begins to hydrate it if all that it reads is there.
    pub(super) fn start(&mut self, view: &mut Maintained, definition: Definition) {
        let id = definition.id;
        self.known.overview = None;
        let catalog = self.at.state.catalog().clone();
        let eval = EvalContext::without_session(catalog.clone());
        match ViewDataflow::build(definition, &catalog, eval, self.hold_up()) {
            Err(error) => self.fail(id, view, error),
            Ok(flow) => {
                if view.component == ComponentId::ORDERED {
                    view.component = self.component_over(&flow.reads);
                }
                self.around.statistics.created(id);
                view.sources.extend(flow.reads.iter().filter_map(|id| catalog.table(*id).cloned()));
                view.flow = Some(flow);
                self.begin(id, view);
            }
        }
    }

    /// A view stands where it was put.
    fn place(&mut self, id: RelationId, view: Maintained) {
        self.views.insert(id, view);
    }

    /// Why an operator that holds up an erasure for too long goes no further.
    fn hold_up(&self) -> Arc<dyn Fn() -> Option<SqlError> + Send + Sync> {
        let (publication, dealt_with) = (self.around.publication.clone(), self.at.given_up.clone());
        Arc::new(move || {
            let given_up = publication.given_up().0 > dealt_with.load(Ordering::Relaxed);
            given_up.then(|| SqlError::new("54000", "an erasure does not wait for a view any longer"))
        })
    }

    /// The component of a view that reads these: that of the views among them, which become one.
    fn component_over(&mut self, reads: &BTreeSet<RelationId>) -> ComponentId {
        let below: BTreeSet<ComponentId> =
            reads.iter().filter_map(|id| self.views.get(id)).map(|view| view.component).collect();
        let Some(first) = below.first().copied() else { return self.new_component() };
        // All have to stand at the newest commit: what it reads besides may not have been there before.
        for id in &below {
            while self.components.of.get(id).is_some_and(Component::is_pending) {
                self.go_through(*id, PATIENCE);
            }
        }
        if below.len() > 1 {
            for id in below.into_iter().filter(|id| *id != first) {
                self.tell(id, None, Deltas::default());
                self.views.values_mut().filter(|view| view.component == id).for_each(|view| view.component = first);
                self.merge_components(id, first);
            }
            self.tell(first, None, Deltas::default());
        }
        first
    }

    fn merge_components(&mut self, gone: ComponentId, into: ComponentId) {
        let pace = self.components.of.remove(&gone).map_or_else(Pace::default, |component| component.pace);
        let own = &mut self.components.of.entry(into).or_default().pace;
        own.filling = own.filling.max(pace.filling);
        self.retire(gone);
    }

    /// A component has no views any more.
    pub(super) fn retire(&mut self, id: ComponentId) {
        self.pass(Passed {
            time: self.at.state.time,
            component: Some(id),
            after: None,
            pace: Pace::default(),
            retired: true,
            views: Vec::new(),
            deltas: Deltas::default(),
        });
    }

    pub(super) fn new_component(&mut self) -> ComponentId {
        self.components.made += 1;
        ComponentId::new(self.place.number, self.components.made)
    }

    /// Whether this is a view of the catalog that is kept here.
    fn keeps(&self, table: &Table) -> bool {
        table.is_maintained() && self.place.placed.is_at(table.id, self.place.number)
    }

    /// Views are kept elsewhere from now on, with all that they are tied to.
    pub(super) fn release(&mut self, views: &BTreeSet<RelationId>) {
        for id in views {
            if self.forget(*id).is_some_and(|view| view.automatic) {
                // Its query asks again for what it needs.
                self.around.automatic.ended(*id);
            }
        }
        let mut deltas = Deltas::default();
        for id in views {
            let ended = SqlError::new("55000", "the view that is subscribed to is tied to others now, and filled anew");
            deltas.end(*id, ended.hint("Subscribe again."));
        }
        self.pass(Passed::only(self.at.state.time, deltas));
    }
}
