//! What a statement must be allowed: collected while its names are resolved, asked before it runs.
//!
//! A plan is the same whoever runs it; whether they may is asked of the rights of the moment, once for a role and a version of
//! the catalog. What stands below a view is asked of the view's owner.

use super::Resolver;
use crate::catalog::{Catalog, DatabaseId, ObjectClass, Privilege, Privileges, RoleId, Table};
use crate::error::PlanError;
use crate::system;
use repr::id::is_temporary;
use repr::{ColumnIndex, Id, RelationId, SequenceId};
use std::collections::{BTreeMap, BTreeSet};

/// What is needed of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Need {
    /// On the object; of those that may be granted on columns, on these columns alone if there are any.
    privileges: Privileges,
    columns: BTreeMap<ColumnIndex, Privileges>,
}

/// What a statement needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Of each object, by who must have it: the role that runs the statement, or the owner of a view.
    objects: BTreeMap<(Option<RelationId>, Id), Need>,
    /// Relations of the system that not everybody reads.
    secrets: BTreeSet<RelationId>,
    /// A table whose policies bind whoever runs it: not for one who will not have that.
    bound_by: Option<String>,
    /// Rows are kept from whoever runs it: by a policy, a purpose, a restriction.
    hides_rows: bool,
    /// Of tables that are written by a view: what the role must have, once it has the rest.
    through: BTreeMap<Id, Need>,
}

impl Needs {
    /// Whether anybody may run it.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.secrets.is_empty()
    }

    fn of(&mut self, object: Id) -> &mut Need {
        self.objects.entry((None, object)).or_default()
    }

    /// One more, on an object as a whole.
    pub(super) fn add(&mut self, object: Id, privilege: Privilege) {
        let need = self.of(object);
        need.privileges = need.privileges.and(privilege.into());
    }

    /// One more, on a column.
    pub(super) fn add_on(&mut self, relation: RelationId, column: ColumnIndex, privilege: Privilege) {
        let need = self.of(relation.0);
        need.privileges = need.privileges.and(privilege.into());
        let of_column = need.columns.entry(column).or_default();
        *of_column = of_column.and(privilege.into());
    }

    /// Without what is read.
    pub(super) fn keep_changes(&mut self) {
        let read = Privileges::from(Privilege::Select);
        for need in self.objects.values_mut() {
            need.privileges = need.privileges.without(read);
            need.columns.values_mut().for_each(|of_column| *of_column = of_column.without(read));
            need.columns.retain(|_, of_column| !of_column.is_empty());
        }
        self.objects.retain(|_, need| !need.privileges.is_empty());
    }

    /// A relation of the system.
    pub(super) fn system(&mut self, relation: RelationId) {
        let found = system::find_by_id(relation).filter(|found| found.is_secret());
        self.secrets.extend(found.map(|found| found.id));
    }

    /// Policies of a table have a say.
    pub(super) fn bind(&mut self, table: &str) {
        self.bound_by.get_or_insert_with(|| table.to_owned());
        self.hide_rows();
    }

    /// Not all rows are for whoever runs it.
    pub(super) fn hide_rows(&mut self) {
        self.hides_rows = true;
    }

    /// Whether rows are kept from whoever runs it.
    pub fn hides_rows(&self) -> bool {
        self.hides_rows
    }

    /// 42501 where policies have a say and `row_security` is off.
    ///
    /// # Errors
    /// See above.
    pub fn check_unbound(&self) -> Result<(), PlanError> {
        let Some(table) = &self.bound_by else { return Ok(()) };
        let message = format!("query would be affected by row-level security policy for table \"{table}\"");
        Err(PlanError::new("42501", message))
    }

    /// Those of another text, by the same who.
    pub(super) fn add_all(&mut self, needs: Needs) {
        for (key, need) in needs.objects {
            self.objects.entry(key).or_default().add(need);
        }
        for (object, need) in needs.through {
            self.through.entry(object).or_default().add(need);
        }
        self.secrets.extend(needs.secrets);
        self.bound_by = self.bound_by.take().or(needs.bound_by);
        self.hides_rows |= needs.hides_rows;
    }

    /// What stands below a view: its owner must have it, or whoever asks if the view says so.
    pub(super) fn below_view(&mut self, view: &Table, needs: Needs) {
        match &view.view {
            Some(definition) if definition.is_of_invoker() => self.add_all(needs),
            Some(_) | None => self.below(view.id, needs),
        }
    }

    /// What a write does to the table below a view: the role must have it itself, as it must on the view.
    pub(super) fn through_view(&mut self, needs: Needs) {
        for ((_, object), need) in needs.objects {
            self.through.entry(object).or_default().add(need);
        }
    }

    /// The same. What is temporary is its session's.
    pub(super) fn below(&mut self, view: RelationId, needs: Needs) {
        let as_owner = (!is_temporary(view.0)).then_some(view);
        for ((of, object), need) in needs.objects {
            self.objects.entry((of.or(as_owner), object)).or_default().add(need);
        }
        self.secrets.extend(needs.secrets);
        self.bound_by = self.bound_by.take().or(needs.bound_by);
        self.hides_rows |= needs.hides_rows;
    }

    /// What the rows of a maintained view are made of.
    pub(crate) fn of_maintained(catalog: &Catalog, view: RelationId) -> Needs {
        let mut needs = Needs::default();
        let (mut seen, mut open) = (BTreeSet::new(), vec![view]);
        while let Some(view) = open.pop() {
            let Some(definition) = catalog.table(view).and_then(|table| table.view.as_ref()) else { continue };
            if !seen.insert(view) {
                continue;
            }
            let mut below = Needs::default();
            for (base, columns) in &definition.reads {
                below.add(base.0, Privilege::Select);
                columns.iter().for_each(|column| below.add_on(*base, *column, Privilege::Select));
                open.push(*base);
            }
            needs.below(view, below);
        }
        needs
    }

    /// 42501 for a role that has not all of it, in PostgreSQL's words.
    ///
    /// # Errors
    /// See above.
    pub fn check(&self, catalog: &Catalog, role: RoleId, home: DatabaseId) -> Result<(), PlanError> {
        if role == RoleId::FIRST && self.objects.keys().all(|(of, _)| of.is_none()) {
            return Ok(());
        }
        for ((view, object), need) in &self.objects {
            let role = view.map_or(role, |view| catalog.owner(view.0));
            need.check(catalog, role, *object, home)?;
        }
        for (object, need) in &self.through {
            need.check(catalog, role, *object, home)?;
        }
        let is_kept = |secret: &system::SystemRelation| match () {
            () if secret.is_register() => !catalog.reads_registers(role),
            () if secret.is_for_auditors() => !catalog.reads_audit(role),
            () => !catalog.is_controller(role),
        };
        let kept = self.secrets.iter().filter_map(|secret| system::find_by_id(*secret)).find(|secret| is_kept(secret));
        kept.map_or(Ok(()), |secret| Err(PlanError::denied("table", secret.name)))
    }
}

impl Need {
    fn add(&mut self, other: Need) {
        self.privileges = self.privileges.and(other.privileges);
        for (column, privileges) in other.columns {
            let of_column = self.columns.entry(column).or_default();
            *of_column = of_column.and(privileges);
        }
    }

    fn check(&self, catalog: &Catalog, role: RoleId, object: Id, home: DatabaseId) -> Result<(), PlanError> {
        let relation = RelationId(object);
        let sequence = catalog.sequences.get(&SequenceId(object));
        let routine = catalog.routines.get(&object);
        let class = match (sequence, routine) {
            (Some(_), _) => ObjectClass::Sequence,
            (None, Some(_)) => ObjectClass::Function,
            (None, None) => ObjectClass::Table,
        };
        let missing = self.privileges.without(catalog.privileges(role, class, object, home));
        if missing.is_empty() {
            return Ok(());
        }
        let has = |column: ColumnIndex, privilege: Privilege| {
            catalog.column_privileges(role, (relation, column), home).has(privilege)
        };
        let is_had = |privilege: Privilege| {
            let mut wanted = self.columns.iter().filter(|(_, of_column)| of_column.has(privilege)).peekable();
            match wanted.peek() {
                Some(_) => wanted.all(|(column, _)| has(*column, privilege)),
                None => {
                    let table = catalog.table(relation);
                    table.is_some_and(|table| table.live_columns().any(|(column, _)| has(column, privilege)))
                }
            }
        };
        if class == ObjectClass::Table && missing.iter().all(is_had) {
            return Ok(());
        }
        let (kind, name) = match (catalog.table(relation), sequence) {
            (Some(table), _) => (table.kind(), &table.name),
            (None, Some(sequence)) => ("sequence", &sequence.name),
            (None, None) => match routine {
                Some(routine) => (routine.noun(), &routine.name),
                None => return Ok(()),
            },
        };
        Err(PlanError::denied(kind, name))
    }
}

impl Resolver<'_> {
    /// A column of FROM is read, by whatever name.
    pub(super) fn needs_column(&mut self, origin: Option<(RelationId, usize)>) {
        if let Some((relation, column)) = origin
            && self.catalog.table(relation).is_some()
        {
            self.needs.add_on(relation, column, Privilege::Select);
        }
    }
}
