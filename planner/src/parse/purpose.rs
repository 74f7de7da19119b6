//! CREATE, DROP, GRANT and REVOKE PURPOSE.

use super::grammar::Grammar;
use super::rights::{PurposeStatement, RightsStatement};
use super::statement::Statement;
use crate::error::PlanError;

fn purpose(statement: PurposeStatement) -> Statement {
    Statement::Rights(Box::new(RightsStatement::Purpose(statement)))
}

impl Grammar<'_, '_> {
    /// Behind CREATE PURPOSE.
    pub(super) fn create_purpose(&mut self) -> Result<Statement, PlanError> {
        let if_not_exists = self.eat(&["IF", "NOT", "EXISTS"]);
        let name = self.identifier()?;
        let by_consent = self.eat(&["BY", "CONSENT"]);
        Ok(purpose(PurposeStatement::Create { if_not_exists, name, by_consent }))
    }

    /// Behind DROP PURPOSE.
    pub(super) fn drop_purposes(&mut self) -> Result<Statement, PlanError> {
        let if_exists = self.eat(&["IF", "EXISTS"]);
        let names = self.list(Self::identifier)?;
        self.behavior();
        Ok(purpose(PurposeStatement::Drop { if_exists, names }))
    }

    /// Behind GRANT PURPOSE and REVOKE PURPOSE. A role may be called so, too: then TO or a comma stands behind it.
    pub(super) fn grant_purposes(&mut self, grants: bool) -> Result<Statement, PlanError> {
        let purposes = self.list(Self::identifier)?;
        self.expect(&[if grants { "TO" } else { "FROM" }])?;
        let grantees = self.list(Self::grantee)?;
        Ok(purpose(PurposeStatement::Grant { grants, purposes, grantees }))
    }
}
