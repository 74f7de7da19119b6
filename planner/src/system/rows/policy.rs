//! pg_policy and pg_policies.

use super::{Rows, Source, array, flag, optional, text};
use crate::catalog::{CONTROLLER, Policy, RoleId, RowSecurity, Table};
use crate::system::definition_text::DefinitionText;
use repr::{Array, Datum, RelationId};
use std::sync::Arc;

impl Source<'_> {
    fn each_policy(&self) -> impl Iterator<Item = (&Arc<Table>, &Policy)> {
        let security = self.catalog.rights.row_security.iter();
        let here = security.filter_map(|(table, found)| Some((self.catalog.table(*table)?, &found.policies)));
        here.flat_map(|(table, policies)| policies.iter().map(move |policy| (table, policy)))
    }

    /// What a table has of row security.
    pub(super) fn security(&self, table: RelationId) -> Option<&RowSecurity> {
        self.catalog.rights.row_security.get(&table)
    }

    pub(super) fn policies(&self, rows: &mut Rows) {
        let shown = DefinitionText::new(self.environment);
        for (table, policy) in self.each_policy() {
            let condition = |kept: &Option<String>| {
                let written = kept.as_ref().map(|kept| shown.expression(table, kept, false));
                optional(written.as_deref())
            };
            let roles = policy.roles.iter().map(|role| Datum::Oid(role.map_or(0, |role| role.0))).collect();
            rows.add(&[
                ("oid", Datum::Oid(policy.id)),
                ("polname", text(&policy.name)),
                ("polrelid", Datum::Oid(table.id.0)),
                ("polcmd", text(policy.command.names().1)),
                ("polpermissive", flag(policy.permissive)),
                ("polroles", Datum::Array(Arc::new(Array::vector(roles)))),
                ("polqual", condition(&policy.using)),
                ("polwithcheck", condition(&policy.check)),
            ]);
        }
    }

    pub(super) fn policies_view(&self, rows: &mut Rows) {
        let shown = DefinitionText::new(self.environment);
        let actor = self.environment.actor();
        let called = |role: RoleId| {
            actor.name_of(self.catalog, role).map_or_else(|| CONTROLLER.to_owned(), std::borrow::Cow::into_owned)
        };
        for (table, policy) in self.each_policy() {
            let condition = |kept: &Option<String>| {
                let written = kept.as_ref().map(|kept| shown.expression(table, kept, false));
                optional(written.as_deref())
            };
            let roles = policy.roles.iter().map(|role| text(&role.map_or_else(|| "public".to_owned(), called)));
            rows.add(&[
                ("schemaname", self.schema(table.namespace)),
                ("tablename", text(&table.name)),
                ("policyname", text(&policy.name)),
                ("permissive", text(if policy.permissive { "PERMISSIVE" } else { "RESTRICTIVE" })),
                ("roles", array(roles.collect())),
                ("cmd", text(policy.command.names().0)),
                ("qual", condition(&policy.using)),
                ("with_check", condition(&policy.check)),
            ]);
        }
    }
}
