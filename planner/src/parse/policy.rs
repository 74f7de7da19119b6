//! CREATE, ALTER and DROP POLICY, and a table's ROW LEVEL SECURITY.

use super::definition::AlterTableAction;
use super::grammar::Grammar;
use super::rights::{AlterPolicy, CreatePolicy, PolicyStatement, RightsStatement, RowSecurityChange};
use super::statement::{SqlText, Statement};
use crate::catalog::PolicyCommand;
use crate::error::PlanError;

fn policy(statement: PolicyStatement) -> Statement {
    Statement::Rights(Box::new(RightsStatement::Policy(statement)))
}

impl Grammar<'_, '_> {
    /// Behind CREATE POLICY.
    pub(super) fn create_policy(&mut self) -> Result<Statement, PlanError> {
        let name = self.identifier()?;
        self.expect(&["ON"])?;
        let table = self.object_name()?;
        let mut permissive = true;
        if self.eat(&["AS"]) {
            let position = self.position();
            let word = self.any_word()?;
            permissive = match &*word {
                "permissive" => true,
                "restrictive" => false,
                _ => {
                    return Err(PlanError::new("42601", format!("unrecognized row security option \"{word}\""))
                        .hint("Only PERMISSIVE or RESTRICTIVE policies are supported currently.")
                        .at(Some(position)));
                }
            };
        }
        let command = match self.eat(&["FOR"]) {
            false => PolicyCommand::All,
            true => match self.eat_one_of(&["ALL", "SELECT", "INSERT", "UPDATE", "DELETE"]) {
                Some("ALL") => PolicyCommand::All,
                Some("SELECT") => PolicyCommand::Select,
                Some("INSERT") => PolicyCommand::Insert,
                Some("UPDATE") => PolicyCommand::Update,
                Some(_) => PolicyCommand::Delete,
                None => return Err(self.unexpected()),
            },
        };
        let roles = if self.eat(&["TO"]) { self.list(Self::role_name)? } else { Vec::new() };
        let (using, check) = self.policy_conditions()?;
        if command == PolicyCommand::Insert && using.is_some() {
            return Err(PlanError::new("42601", "only WITH CHECK expression allowed for INSERT"));
        }
        if matches!(command, PolicyCommand::Select | PolicyCommand::Delete) && check.is_some() {
            return Err(PlanError::new("42601", "WITH CHECK cannot be applied to SELECT or DELETE"));
        }
        let create = CreatePolicy { name, table, permissive, command, roles, using, check };
        Ok(policy(PolicyStatement::Create(create)))
    }

    fn policy_conditions(&mut self) -> Result<(Option<SqlText>, Option<SqlText>), PlanError> {
        let using = if self.eat(&["USING"]) { Some(self.parenthesized_expression()?) } else { None };
        let check = if self.eat(&["WITH", "CHECK"]) { Some(self.parenthesized_expression()?) } else { None };
        Ok((using, check))
    }

    /// Behind ALTER POLICY.
    pub(super) fn alter_policy(&mut self) -> Result<Statement, PlanError> {
        let name = self.identifier()?;
        self.expect(&["ON"])?;
        let table = self.object_name()?;
        if self.eat(&["RENAME", "TO"]) {
            return Ok(policy(PolicyStatement::Rename { name, table, new: self.identifier()? }));
        }
        let roles = if self.eat(&["TO"]) { Some(self.list(Self::role_name)?) } else { None };
        let (using, check) = self.policy_conditions()?;
        Ok(policy(PolicyStatement::Alter(AlterPolicy { name, table, roles, using, check })))
    }

    /// Behind DROP POLICY.
    pub(super) fn drop_policy(&mut self) -> Result<Statement, PlanError> {
        let (if_exists, name, table) = self.dropped_of_table()?;
        Ok(policy(PolicyStatement::Drop { if_exists, name, table }))
    }

    /// ENABLE, DISABLE, FORCE, NO FORCE ROW LEVEL SECURITY, if that is next.
    pub(super) fn row_security(&mut self) -> Option<AlterTableAction> {
        const FORMS: [(&[&str], RowSecurityChange); 4] = [
            (&["ENABLE", "ROW", "LEVEL", "SECURITY"], RowSecurityChange::Enable),
            (&["DISABLE", "ROW", "LEVEL", "SECURITY"], RowSecurityChange::Disable),
            (&["FORCE", "ROW", "LEVEL", "SECURITY"], RowSecurityChange::Force),
            (&["NO", "FORCE", "ROW", "LEVEL", "SECURITY"], RowSecurityChange::NoForce),
        ];
        FORMS.iter().find(|(words, _)| self.eat(words)).map(|(_, change)| AlterTableAction::RowSecurity(*change))
    }
}
