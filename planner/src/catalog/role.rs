//! Roles: who may log in, who is whose member, and the kinds that Dogwood knows of itself.
//!
//! Nobody bypasses anything: there is no superuser. What the first login may do, it may as the *controller*, by the same rules
//! as everybody else.

use super::Catalog;
use repr::{Id, RelationId};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// A role's OID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RoleId(pub Id);

impl RoleId {
    /// The controller that is there without being created: the first login, and on a server without passwords whoever has no
    /// role of their own.
    pub const FIRST: RoleId = RoleId(10);
    /// Every owner of the database at hand.
    pub const DATABASE_OWNER: RoleId = RoleId(6171);
    /// Reads all tables.
    pub const READ_ALL_DATA: RoleId = RoleId(6181);
    /// Writes all tables.
    pub const WRITE_ALL_DATA: RoleId = RoleId(6182);
    /// Sees what other sessions run.
    pub const READ_ALL_STATS: RoleId = RoleId(3375);
    /// Cancels and ends other roles' sessions.
    pub const SIGNAL_BACKEND: RoleId = RoleId(4200);
    const MONITOR: RoleId = RoleId(3373);
}

impl Default for RoleId {
    fn default() -> Self {
        RoleId::FIRST
    }
}

/// What the first role is called where no session calls it otherwise.
pub const CONTROLLER: &str = "controller";

/// What a member of one of Dogwood's own roles is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoleKind {
    /// All of the schema, and all personal data.
    Controller,
    /// Databases, roles, keys; no row of a table.
    Operator,
    /// What it was granted.
    Processor,
    /// A person's own login.
    Subject,
    /// Metadata, receipts and the audit log; no row of a table.
    Regulator,
}

impl RoleKind {
    /// All of them.
    pub const ALL: [RoleKind; 5] =
        [RoleKind::Controller, RoleKind::Operator, RoleKind::Processor, RoleKind::Subject, RoleKind::Regulator];

    /// The role whose members are of this kind.
    pub fn role(self) -> RoleId {
        RoleId(match self {
            RoleKind::Controller => 16_310,
            RoleKind::Operator => 16_311,
            RoleKind::Processor => 16_312,
            RoleKind::Subject => 16_313,
            RoleKind::Regulator => 16_314,
        })
    }

    /// In a sentence.
    pub fn name(self) -> &'static str {
        match self {
            RoleKind::Controller => "controller",
            RoleKind::Operator => "operator",
            RoleKind::Processor => "processor",
            RoleKind::Subject => "subject",
            RoleKind::Regulator => "regulator",
        }
    }

    /// Whether rows of tables are kept from it, whatever it is granted.
    pub fn is_without_rows(self) -> bool {
        matches!(self, RoleKind::Operator | RoleKind::Regulator)
    }
}

/// Roles that are there without being created, by name. Nobody logs in as one.
pub const PREDEFINED: [(&str, RoleId); 17] = [
    ("pg_database_owner", RoleId::DATABASE_OWNER),
    ("pg_read_all_data", RoleId::READ_ALL_DATA),
    ("pg_write_all_data", RoleId::WRITE_ALL_DATA),
    ("pg_monitor", RoleId::MONITOR),
    ("pg_read_all_settings", RoleId(3374)),
    ("pg_read_all_stats", RoleId::READ_ALL_STATS),
    ("pg_stat_scan_tables", RoleId(3377)),
    ("pg_read_server_files", RoleId(4569)),
    ("pg_write_server_files", RoleId(4570)),
    ("pg_execute_server_program", RoleId(4571)),
    ("pg_signal_backend", RoleId::SIGNAL_BACKEND),
    ("pg_checkpoint", RoleId(4544)),
    ("dogwood_controller", RoleId(16_310)),
    ("dogwood_operator", RoleId(16_311)),
    ("dogwood_processor", RoleId(16_312)),
    ("dogwood_subject", RoleId(16_313)),
    ("dogwood_regulator", RoleId(16_314)),
];

/// Of what roles predefined ones are members.
const PREDEFINED_MEMBERS: [(RoleId, RoleId); 3] =
    [(RoleId::MONITOR, RoleId(3374)), (RoleId::MONITOR, RoleId::READ_ALL_STATS), (RoleId::MONITOR, RoleId(3377))];

/// A role that was created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// What it may beside what it was granted.
    pub attributes: RoleAttributes,
    /// The roles whose member it is.
    pub member_of: BTreeMap<RoleId, Membership>,
    /// How it logs in.
    pub login: LoginTerms,
    /// Whose login it is: it sees that person's data and no other.
    #[serde(default)]
    pub person: Option<Person>,
}

/// A person with a login of their own. By keyed hashes alone: the catalog holds nothing that tells who it is.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The data-subject table.
    pub table: RelationId,
    /// The key of the person's row.
    pub row_key: Vec<u8>,
    /// The person's micro-database: whoever gets the same key later has another.
    pub microdb: [u8; 16],
}

impl std::fmt::Debug for Person {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Person(..)")
    }
}

/// What a role may, beside what it was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleAttributes {
    /// INHERIT: what the roles may whose member it is.
    pub inherit: bool,
    /// CREATEROLE
    pub create_role: bool,
    /// CREATEDB
    pub create_database: bool,
    /// LOGIN
    pub can_login: bool,
}

/// How a role logs in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginTerms {
    /// CONNECTION LIMIT; −1 is none.
    pub connection_limit: i32,
    /// VALID UNTIL, in microseconds since 2000-01-01 UTC.
    pub valid_until: Option<i64>,
    /// What its password is checked against, as PostgreSQL writes it: `SCRAM-SHA-256$iterations:salt$stored key:server key`.
    pub verifier: Option<String>,
}

impl LoginTerms {
    /// Whether its time is over, in microseconds since 2000-01-01 UTC.
    pub fn has_ended(&self, now: i64) -> bool {
        self.valid_until.is_some_and(|until| until <= now)
    }
}

/// Without password, end and limit.
impl Default for LoginTerms {
    fn default() -> Self {
        LoginTerms { connection_limit: -1, valid_until: None, verifier: None }
    }
}

/// One role in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// WITH ADMIN OPTION
    pub admin: bool,
    /// Who has given it.
    pub grantor: RoleId,
}

impl Catalog {
    /// The role of that name.
    pub fn role_by_name(&self, name: &str) -> Option<RoleId> {
        let predefined = PREDEFINED.iter().find(|(known, _)| *known == name).map(|(_, id)| *id);
        let created = || self.roles.iter().find(|(_, role)| role.name == name).map(|(id, _)| *id);
        predefined.or_else(created).or_else(|| (name == CONTROLLER).then_some(RoleId::FIRST))
    }

    /// What a role is called.
    pub fn role_name(&self, role: RoleId) -> Option<Cow<'_, str>> {
        if role == RoleId::FIRST {
            return Some(Cow::Borrowed(CONTROLLER));
        }
        let predefined = PREDEFINED.iter().find(|(_, id)| *id == role).map(|(name, _)| *name);
        predefined.or_else(|| self.roles.get(&role).map(|role| &*role.name)).map(Cow::Borrowed)
    }

    /// How a role logs in, if it may and anything is said of that.
    pub fn login_terms(&self, role: RoleId) -> Option<&LoginTerms> {
        match role {
            RoleId::FIRST => self.first_login.as_ref(),
            role => self.roles.get(&role).filter(|role| role.attributes.can_login).map(|role| &role.login),
        }
    }

    /// All roles: the first, those that are there without being created, and those that were.
    pub fn all_roles(&self) -> impl Iterator<Item = RoleId> {
        let predefined = PREDEFINED.iter().map(|(_, id)| *id);
        std::iter::once(RoleId::FIRST).chain(predefined).chain(self.roles.keys().copied())
    }

    /// Each membership that was given, or is there without: the role, its member, and how.
    pub fn given_memberships(&self) -> impl Iterator<Item = (RoleId, RoleId, Membership)> {
        let by_first = Membership { admin: false, grantor: RoleId::FIRST };
        let predefined = PREDEFINED_MEMBERS.iter().map(move |(member, of)| (*of, *member, by_first));
        let created = self.roles.iter().flat_map(|(id, role)| role.member_of.iter().map(|(of, how)| (*of, *id, *how)));
        predefined.chain(created)
    }

    /// The role that a login acts as: its own, else the first.
    pub fn role_of_login(&self, login: &str) -> RoleId {
        self.roles.iter().find(|(_, role)| role.name == login).map_or(RoleId::FIRST, |(id, _)| *id)
    }

    /// The roles that a role is, by its own name or as a member, however far off.
    pub fn memberships(&self, role: RoleId) -> BTreeSet<RoleId> {
        self.reached(role, false)
    }

    /// Those whose privileges it has without SET ROLE.
    pub fn inherited(&self, role: RoleId) -> BTreeSet<RoleId> {
        self.reached(role, true)
    }

    /// Whose login a role is, if it is a person's.
    pub fn person_of(&self, role: RoleId) -> Option<&Person> {
        self.roles.get(&role)?.person.as_ref()
    }

    fn reached(&self, role: RoleId, by_inheritance: bool) -> BTreeSet<RoleId> {
        let (mut found, mut open) = (BTreeSet::new(), vec![role]);
        open.extend(self.person_of(role).map(|_| RoleKind::Subject.role()));
        while let Some(role) = open.pop() {
            if !found.insert(role) {
                continue;
            }
            open.extend(PREDEFINED_MEMBERS.iter().filter(|(member, _)| *member == role).map(|(_, of)| *of));
            if let Some(role) = self.roles.get(&role).filter(|role| role.attributes.inherit || !by_inheritance) {
                open.extend(role.member_of.keys());
            }
        }
        found
    }

    /// Whether it is the role, or its member.
    pub fn is_member(&self, role: RoleId, of: RoleId) -> bool {
        role == of || self.is_controller(role) || self.memberships(role).contains(&of)
    }

    /// Whether it reads the audit log: all of it, or a person's own login what is about that person.
    pub fn reads_audit(&self, role: RoleId) -> bool {
        self.reads_registers(role) || self.person_of(role).is_some()
    }

    /// Whether it reads the registers, and all of the audit log.
    pub fn reads_registers(&self, role: RoleId) -> bool {
        // Controllers are members of all.
        self.is_member(role, RoleKind::Regulator.role())
    }

    /// Whether a login may act as a role. A person's own acts as nobody else, and one that rows are kept from as no role that has them.
    pub fn may_act_as(&self, login: RoleId, role: RoleId) -> bool {
        let keeps = || self.kind_without_rows(login).is_none() || self.kind_without_rows(role).is_some();
        login == role || self.person_of(login).is_none() && self.is_member(login, role) && keeps()
    }

    /// Whether it has ADMIN OPTION for a role: it may make members of it.
    pub fn administers(&self, role: RoleId, of: RoleId) -> bool {
        self.is_controller(role)
            || self.memberships(role).iter().any(|member| {
                self.roles.get(member).and_then(|role| role.member_of.get(&of)).is_some_and(|found| found.admin)
            })
    }

    /// Whether it may do all that a controller may.
    pub fn is_controller(&self, role: RoleId) -> bool {
        let rules =
            |roles: &BTreeSet<RoleId>| roles.contains(&RoleId::FIRST) || roles.contains(&RoleKind::Controller.role());
        role == RoleId::FIRST || !self.roles.is_empty() && rules(&self.inherited(role))
    }

    /// Whether it operates the server, or controls it.
    pub fn may_operate(&self, role: RoleId) -> bool {
        self.is_controller(role) || self.inherited(role).contains(&RoleKind::Operator.role())
    }

    /// Whether rows of tables are kept from it: by what kind of role it is.
    pub fn kind_without_rows(&self, role: RoleId) -> Option<RoleKind> {
        let all = self.memberships(role);
        RoleKind::ALL.into_iter().find(|kind| kind.is_without_rows() && all.contains(&kind.role()))
    }

    /// Whether a role has an attribute. The first has all, and so have controllers; an operator makes databases and roles.
    pub fn has_attribute(&self, role: RoleId, attribute: impl Fn(&RoleAttributes) -> bool) -> bool {
        let operates = || self.inherited(role).contains(&RoleKind::Operator.role());
        self.is_controller(role) || operates() || self.roles.get(&role).is_some_and(|role| attribute(&role.attributes))
    }
}
