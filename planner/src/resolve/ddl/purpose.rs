//! Purposes: made, dropped, granted.

use super::change::DefinitionChange;
use crate::catalog::Purpose;
use crate::error::PlanError;
use crate::parse::rights::PurposeStatement;
use crate::parse::statement::Identifier;
use std::collections::BTreeSet;

impl DefinitionChange<'_> {
    /// 42501 for who is no controller.
    pub(super) fn purpose(&mut self, statement: &PurposeStatement) -> Result<&'static str, PlanError> {
        if !self.catalog.is_controller(self.path.actor().role) {
            return Err(PlanError::new("42501", "permission denied to change purposes")
                .hint("Only a controller says for what data may be used."));
        }
        match statement {
            PurposeStatement::Create { if_not_exists, name, by_consent } => {
                self.create_purpose(*if_not_exists, name, *by_consent)
            }
            PurposeStatement::Drop { if_exists, names } => self.drop_purposes(*if_exists, names),
            PurposeStatement::Grant { grants, purposes, grantees } => {
                let grantees = self.grantees(grantees)?;
                for purpose in purposes {
                    let found = self.purpose_named(purpose)?;
                    for grantee in &grantees {
                        match grants {
                            true => found.grantees.insert(*grantee),
                            false => found.grantees.remove(grantee),
                        };
                    }
                }
                Ok(if *grants { "GRANT PURPOSE" } else { "REVOKE PURPOSE" })
            }
        }
    }

    fn create_purpose(
        &mut self,
        if_not_exists: bool,
        name: &Identifier,
        by_consent: bool,
    ) -> Result<&'static str, PlanError> {
        if name.name.is_empty() || name.name.contains(',') {
            return Err(PlanError::new("42602", format!("invalid name for a purpose: \"{}\"", name.name))
                .hint("Lists of purposes in a text are divided by commas.")
                .at(Some(name.position)));
        }
        if self.catalog.rights.purposes.contains_key(&name.name) {
            let message = format!("purpose \"{}\" already exists", name.name);
            if if_not_exists {
                self.notice("42710", format!("{message}, skipping"));
                return Ok("CREATE PURPOSE");
            }
            return Err(PlanError::new("42710", message).at(Some(name.position)));
        }
        let id = self.next_id();
        let purpose = Purpose { id, grantees: BTreeSet::new(), by_consent };
        self.catalog.rights_mut().purposes.insert(name.name.clone(), purpose);
        Ok("CREATE PURPOSE")
    }

    fn drop_purposes(&mut self, if_exists: bool, names: &[Identifier]) -> Result<&'static str, PlanError> {
        for name in names {
            if !if_exists {
                self.purpose_named(name)?;
            } else if !self.catalog.rights.purposes.contains_key(&name.name) {
                self.notice("00000", format!("purpose \"{}\" does not exist, skipping", name.name));
            }
            self.catalog.rights_mut().purposes.remove(&name.name);
        }
        Ok("DROP PURPOSE")
    }

    fn purpose_named(&mut self, name: &Identifier) -> Result<&mut Purpose, PlanError> {
        let found = self.catalog.rights_mut().purposes.get_mut(&name.name);
        found.ok_or_else(|| no_purpose(&name.name).at(Some(name.position)))
    }
}

fn no_purpose(name: &str) -> PlanError {
    PlanError::new("42704", format!("purpose \"{name}\" does not exist")).hint("CREATE PURPOSE makes one.")
}
