//! Row policies: made, changed, dropped; and whether a table has them.

use super::change::DefinitionChange;
use super::rewrite;
use crate::catalog::{Catalog, Policy, RoleId, RowSecurity};
use crate::error::PlanError;
use crate::parse::rights::{AlterPolicy, CreatePolicy, PolicyStatement, RoleName, RowSecurityChange};
use crate::parse::statement::{Identifier, ObjectName, SqlText};
use crate::resolve::policy::check_policy;
use repr::{ColumnIndex, RelationId};

impl DefinitionChange<'_> {
    pub(super) fn policy(&mut self, statement: &PolicyStatement) -> Result<&'static str, PlanError> {
        match statement {
            PolicyStatement::Create(create) => self.create_policy(create),
            PolicyStatement::Alter(alter) => self.alter_policy(alter),
            PolicyStatement::Rename { name, table, new } => self.rename_policy(name, table, new),
            PolicyStatement::Drop { if_exists, name, table } => self.drop_policy(*if_exists, name, table),
        }
    }

    fn policed_table(&self, name: &ObjectName) -> Result<RelationId, PlanError> {
        let id = self.table(name)?;
        self.require_owner(id.0, "table", &name.name)?;
        Ok(id)
    }

    fn security(&mut self, table: RelationId) -> &mut RowSecurity {
        self.catalog.rights_mut().row_security.entry(table).or_default()
    }

    fn create_policy(&mut self, create: &CreatePolicy) -> Result<&'static str, PlanError> {
        let table = self.policed_table(&create.table)?;
        let name = &create.name.name;
        if self.security(table).policies.iter().any(|policy| policy.name == *name) {
            let message = format!("policy \"{name}\" for table \"{}\" already exists", create.table.name);
            return Err(PlanError::new("42710", message));
        }
        let roles = self.policy_roles(&create.roles)?;
        let using = self.policy_text(table, create.using.as_ref())?;
        let check = self.policy_text(table, create.check.as_ref())?;
        let id = self.next_id();
        let CreatePolicy { permissive, command, .. } = *create;
        let policy = Policy { id, name: name.clone(), permissive, command, roles, using, check };
        let policies = &mut self.security(table).policies;
        policies.push(policy);
        policies.sort_by(|one, other| one.name.cmp(&other.name));
        Ok("CREATE POLICY")
    }

    fn policy_roles(&self, names: &[RoleName]) -> Result<Vec<Option<RoleId>>, PlanError> {
        let role = |name: &RoleName| match name {
            RoleName::Public(_) => Ok(None),
            name => self.role(name).map(Some),
        };
        let roles: Vec<Option<RoleId>> = names.iter().map(role).collect::<Result<_, _>>()?;
        Ok(if roles.is_empty() || roles.contains(&None) { vec![None] } else { roles })
    }

    /// A condition as it is kept.
    fn policy_text(&self, table: RelationId, text: Option<&SqlText>) -> Result<Option<String>, PlanError> {
        let Some(text) = text else { return Ok(None) };
        check_policy(&self.catalog, &self.path, self.get(table), &text.text).map_err(|error| {
            let position = error.position.map_or(text.position, |at| at + text.position.saturating_sub(1));
            error.at(Some(position))
        })?;
        let kept = self.kept(&text.text);
        let elsewhere = |_: PlanError| {
            PlanError::unsupported("this policy with this search path")
                .hint("write the schemas of the tables that it reads")
        };
        check_policy(&self.catalog, crate::catalog::SearchPath::kept(), self.get(table), &kept).map_err(elsewhere)?;
        Ok(Some(kept))
    }

    fn policy_named(&mut self, table: RelationId, name: &Identifier) -> Result<&mut Policy, PlanError> {
        let table_name = self.get(table).name.clone();
        let found = self.security(table).policies.iter_mut().find(|policy| policy.name == name.name);
        found.ok_or_else(|| no_policy(&name.name, &table_name))
    }

    fn alter_policy(&mut self, alter: &AlterPolicy) -> Result<&'static str, PlanError> {
        let table = self.policed_table(&alter.table)?;
        let command = self.policy_named(table, &alter.name)?.command;
        use crate::catalog::PolicyCommand as Command;
        if command == Command::Insert && alter.using.is_some() {
            return Err(PlanError::new("42601", "only WITH CHECK expression allowed for INSERT"));
        }
        if matches!(command, Command::Select | Command::Delete) && alter.check.is_some() {
            return Err(PlanError::new("42601", "only USING expression allowed for SELECT, DELETE"));
        }
        let roles = alter.roles.as_deref().map(|names| self.policy_roles(names)).transpose()?;
        let using = self.policy_text(table, alter.using.as_ref())?;
        let check = self.policy_text(table, alter.check.as_ref())?;
        let policy = self.policy_named(table, &alter.name)?;
        if let Some(roles) = roles {
            policy.roles = roles;
        }
        policy.using = using.or(policy.using.take());
        policy.check = check.or(policy.check.take());
        Ok("ALTER POLICY")
    }

    fn rename_policy(
        &mut self,
        name: &Identifier,
        table: &ObjectName,
        new: &Identifier,
    ) -> Result<&'static str, PlanError> {
        let id = self.policed_table(table)?;
        self.policy_named(id, name)?;
        if self.security(id).policies.iter().any(|policy| policy.name == new.name) {
            let message = format!("policy \"{}\" for table \"{}\" already exists", new.name, table.name);
            return Err(PlanError::new("42710", message));
        }
        self.policy_named(id, name)?.name.clone_from(&new.name);
        Ok("ALTER POLICY")
    }

    fn drop_policy(
        &mut self,
        if_exists: bool,
        name: &Identifier,
        table: &ObjectName,
    ) -> Result<&'static str, PlanError> {
        const TAG: &str = "DROP POLICY";
        if if_exists && self.is_missing(table)? {
            return Ok(TAG);
        }
        let id = self.policed_table(table)?;
        let policies = &mut self.security(id).policies;
        let before = policies.len();
        policies.retain(|policy| policy.name != name.name);
        if policies.len() == before {
            if !if_exists {
                return Err(no_policy(&name.name, &table.name));
            }
            let message = format!("policy \"{}\" for relation \"{}\" does not exist, skipping", name.name, table.name);
            self.notice("00000", message);
        }
        Ok(TAG)
    }

    /// ALTER TABLE … ROW LEVEL SECURITY
    pub(super) fn change_row_security(&mut self, table: RelationId, change: RowSecurityChange) {
        let security = self.security(table);
        match change {
            RowSecurityChange::Enable => security.enabled = true,
            RowSecurityChange::Disable => security.enabled = false,
            RowSecurityChange::Force => security.forced = true,
            RowSecurityChange::NoForce => security.forced = false,
        }
    }

    /// A column's new name in its table's policies.
    pub(super) fn rename_in_policies(&mut self, table: RelationId, old: &str, new: &str) {
        if !self.catalog.rights.row_security.contains_key(&table) {
            return;
        }
        for policy in &mut self.security(table).policies {
            for text in policy.using.iter_mut().chain(&mut policy.check) {
                *text = rewrite::rename_column(text, old, new);
            }
        }
    }

    /// DROP COLUMN … CASCADE: the policies of its table that read it go, too.
    pub(super) fn drop_policies_of_column(&mut self, table: RelationId, column: ColumnIndex) {
        if !self.catalog.rights.row_security.contains_key(&table) {
            return;
        }
        let found = self.get(table).clone();
        let reads = |policy: &Policy| {
            policy.using.iter().chain(&policy.check).any(|text| rewrite::columns_named(text, &found).contains(&column))
        };
        let (gone, kept) = std::mem::take(&mut self.security(table).policies).into_iter().partition(reads);
        self.security(table).policies = kept;
        for policy in gone {
            self.notice("00000", format!("drop cascades to policy {} on table {}", policy.name, found.name));
        }
    }

    /// The end of a definition: what has gone has no policies, and every policy says what it said. 2BP01 else.
    pub(super) fn settle_policies(&mut self, old: &Catalog) -> Result<(), PlanError> {
        if self.catalog.rights.row_security.is_empty() {
            return Ok(());
        }
        let there = |catalog: &Catalog, table: RelationId| catalog.relations.contains_key(&table);
        let is_kept = |table: &RelationId, security: &RowSecurity, catalog: &Catalog| {
            there(catalog, *table) && !security.is_nothing()
        };
        if self.catalog.rights.row_security.iter().any(|(table, found)| !is_kept(table, found, &self.catalog)) {
            let tables: Vec<RelationId> = self.catalog.relations.keys().copied().collect();
            let security = &mut self.catalog.rights_mut().row_security;
            security.retain(|table, found| tables.binary_search(table).is_ok() && !found.is_nothing());
        }
        for (table, security) in &self.catalog.rights.row_security {
            let Some(found) = self.catalog.table(*table).filter(|_| there(old, *table)) else { continue };
            for policy in &security.policies {
                for text in policy.using.iter().chain(&policy.check) {
                    let kept = crate::catalog::SearchPath::kept();
                    check_policy(&self.catalog, kept, found, text).map_err(|error| {
                        let message = format!(
                            "policy \"{}\" of table \"{}\" depends on what this statement changes",
                            policy.name, found.name
                        );
                        PlanError::new("2BP01", message)
                            .detail(format!("Its condition would fail: {}.", error.message))
                            .hint("Drop the policy, make the change, and create the policy again.")
                    })?;
                }
            }
        }
        Ok(())
    }
}

fn no_policy(name: &str, table: &str) -> PlanError {
    PlanError::new("42704", format!("policy \"{name}\" for table \"{table}\" does not exist"))
}
