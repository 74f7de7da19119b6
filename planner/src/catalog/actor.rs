//! In whose name a statement runs.

use super::Catalog;
use super::role::{CONTROLLER, RoleId};
use std::borrow::Cow;
use std::sync::Arc;

/// Who has logged in, and as whom they act: `session_user` and `current_user`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// As whom.
    pub role: RoleId,
    /// What that is called.
    pub name: Arc<str>,
    /// Who has logged in.
    pub login: RoleId,
    /// By what name.
    pub login_name: Arc<str>,
    /// For which purpose: `dogwood.purpose`.
    pub purpose: Option<Arc<str>>,
}

/// Nobody's session: what the server does by itself.
impl Default for Actor {
    fn default() -> Self {
        Actor::of_login(RoleId::FIRST, CONTROLLER.into())
    }
}

impl Actor {
    /// One that acts as itself.
    pub fn of_login(login: RoleId, name: Arc<str>) -> Actor {
        Actor { role: login, name: name.clone(), login, login_name: name, purpose: None }
    }

    /// What its session calls the first role, which has no name of its own.
    pub fn first_name(&self) -> &str {
        if self.login == RoleId::FIRST { &self.login_name } else { CONTROLLER }
    }

    /// The role of that name, to its session.
    pub fn find(&self, catalog: &Catalog, name: &str) -> Option<RoleId> {
        let found = if name == self.first_name() { Some(RoleId::FIRST) } else { catalog.role_by_name(name) };
        found.filter(|role| self.knows(catalog, *role))
    }

    /// What its session calls a role.
    pub fn name_of<'a>(&'a self, catalog: &'a Catalog, role: RoleId) -> Option<Cow<'a, str>> {
        if role == RoleId::FIRST {
            return Some(Cow::Borrowed(self.first_name()));
        }
        catalog.role_name(role).filter(|_| self.knows(catalog, role))
    }

    /// Whether a role is there to its session: to a person's own login other people's are not.
    pub fn knows(&self, catalog: &Catalog, role: RoleId) -> bool {
        let is_own = || role == self.role || role == self.login;
        catalog.person_of(self.role).is_none() || catalog.person_of(role).is_none() || is_own()
    }
}
