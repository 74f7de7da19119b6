//! What statements about roles and privileges say, before any name is looked up.

use super::definition::StartChange;
use super::definition::{RoutineKind, RoutineName};
use super::request::SubjectReference;
use super::statement::{DropBehavior, Identifier, ObjectKind, ObjectName, SqlText};
use crate::catalog::{ObjectClass, Person, PolicyCommand, Privilege};

/// A role as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleName {
    /// By its name.
    Named(Identifier),
    /// CURRENT_USER, CURRENT_ROLE
    CurrentUser,
    /// SESSION_USER
    SessionUser,
    /// PUBLIC: everybody.
    Public(u32),
}

/// CREATE ROLE, USER, GROUP
#[derive(Clone, Debug, PartialEq)]
pub struct CreateRole {
    /// Its name.
    pub name: Identifier,
    /// What it is.
    pub options: Vec<RoleOption>,
}

/// ALTER ROLE, USER
#[derive(Clone, Debug, PartialEq)]
pub struct AlterRole {
    /// Which.
    pub role: RoleName,
    /// What becomes of it.
    pub options: Vec<RoleOption>,
}

/// An attribute of a role.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleOption {
    /// What it says.
    pub kind: RoleOptionKind,
    /// 1-based character position in the statement.
    pub position: u32,
}

/// What an attribute of a role says.
#[derive(Clone, Debug, PartialEq)]
pub enum RoleOptionKind {
    /// SUPERUSER
    Superuser(bool),
    /// CREATEDB
    CreateDatabase(bool),
    /// CREATEROLE
    CreateRole(bool),
    /// INHERIT
    Inherit(bool),
    /// LOGIN
    Login(bool),
    /// REPLICATION
    Replication(bool),
    /// BYPASSRLS
    BypassPolicies(bool),
    /// CONNECTION LIMIT
    ConnectionLimit(i64),
    /// PASSWORD; none is NULL. A password in clear never gets further than the session, which puts its verifier in its place.
    Password(Option<String>),
    /// VALID UNTIL
    ValidUntil(String),
    /// IN ROLE
    InRole(Vec<RoleName>),
    /// ROLE, USER
    Members(Vec<RoleName>),
    /// ADMIN
    Administrators(Vec<RoleName>),
    /// SYSID, which says nothing.
    SystemId,
    /// CREATE USER … FOR table key: whose login it is. The session, which sees rows, puts the person in its place.
    For(SubjectReference),
    /// Whose login it is.
    Person(Person),
}

/// GRANT and REVOKE of roles.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantRoles {
    /// GRANT, rather than REVOKE.
    pub grants: bool,
    /// The roles.
    pub roles: Vec<Identifier>,
    /// Who becomes a member.
    pub members: Vec<RoleName>,
    /// WITH ADMIN OPTION, or ADMIN OPTION FOR.
    pub admin: bool,
    /// GRANTED BY
    pub grantor: Option<RoleName>,
    /// Of REVOKE.
    pub behavior: DropBehavior,
}

/// GRANT and REVOKE of privileges.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// GRANT, rather than REVOKE.
    pub grants: bool,
    /// What; none is ALL.
    pub privileges: Option<Vec<GrantedPrivilege>>,
    /// The columns of ALL (columns).
    pub all_columns: Vec<Identifier>,
    /// On what.
    pub objects: GrantedObjects,
    /// To whom.
    pub grantees: Vec<RoleName>,
    /// WITH GRANT OPTION, or GRANT OPTION FOR.
    pub option: bool,
    /// GRANTED BY
    pub grantor: Option<RoleName>,
    /// Of REVOKE.
    pub behavior: DropBehavior,
}

/// A privilege, perhaps on columns.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantedPrivilege {
    /// What.
    pub privilege: Privilege,
    /// On which columns; on the object, if none.
    pub columns: Vec<Identifier>,
}

/// What privileges are granted on.
#[derive(Clone, Debug, PartialEq)]
pub enum GrantedObjects {
    /// ON [TABLE] and what is like a table.
    Relations(Vec<ObjectName>),
    /// ON SEQUENCE
    Sequences(Vec<ObjectName>),
    /// ON DATABASE
    Databases(Vec<Identifier>),
    /// ON SCHEMA
    Schemas(Vec<Identifier>),
    /// ON TYPE
    Types(Vec<ObjectName>),
    /// ON FUNCTION, PROCEDURE, ROUTINE
    Routines(RoutineKind, Vec<RoutineName>),
    /// ON ALL … IN SCHEMA
    AllInSchemas(ObjectClass, Vec<Identifier>),
}

/// ALTER DEFAULT PRIVILEGES
#[derive(Clone, Debug, PartialEq)]
pub struct AlterDefaultPrivileges {
    /// FOR ROLE; whoever says so, if none.
    pub roles: Vec<RoleName>,
    /// IN SCHEMA
    pub schemas: Vec<Identifier>,
    /// ON TABLES, SEQUENCES, …
    pub class: ObjectClass,
    /// What is granted or revoked; its objects say nothing.
    pub privileges: Option<Vec<Privilege>>,
    /// GRANT, rather than REVOKE.
    pub grants: bool,
    /// To whom.
    pub grantees: Vec<RoleName>,
    /// WITH GRANT OPTION, or GRANT OPTION FOR.
    pub option: bool,
}

/// A statement about roles and privileges.
#[derive(Clone, Debug, PartialEq)]
pub enum RightsStatement {
    /// CREATE ROLE
    CreateRole(CreateRole),
    /// ALTER ROLE
    AlterRole(AlterRole),
    /// ALTER ROLE … RENAME TO
    RenameRole(Identifier, Identifier),
    /// DROP ROLE
    DropRoles {
        /// IF EXISTS
        if_exists: bool,
        /// Which.
        roles: Vec<RoleName>,
    },
    /// GRANT and REVOKE of roles.
    GrantRoles(GrantRoles),
    /// GRANT and REVOKE of privileges.
    Grant(Grant),
    /// ALTER DEFAULT PRIVILEGES
    AlterDefaultPrivileges(AlterDefaultPrivileges),
    /// ALTER … OWNER TO
    ChangeOwner {
        /// What kind of object the statement names.
        kind: ObjectKind,
        /// IF EXISTS
        if_exists: bool,
        /// The object.
        name: ObjectName,
        /// Its new owner.
        owner: RoleName,
    },
    /// ALTER DATABASE … OWNER TO
    ChangeDatabaseOwner(Identifier, RoleName),
    /// REASSIGN OWNED BY … TO
    ReassignOwned(Vec<RoleName>, RoleName),
    /// DROP OWNED BY
    DropOwned(Vec<RoleName>, DropBehavior),
    /// Policies.
    Policy(PolicyStatement),
    /// Purposes.
    Purpose(PurposeStatement),
    /// CREATE and DROP HOLD
    Hold(HoldStatement),
    /// No statement of a client's: the login of a person who was forgotten goes.
    EndLogins([u8; 16]),
}

/// `ALTER ROLE`: what it is, or what its sessions start with.
pub(super) enum RoleChange {
    Options(Vec<RoleOption>),
    Start(StartChange),
}

/// CREATE POLICY
#[derive(Clone, Debug, PartialEq)]
pub struct CreatePolicy {
    /// Its name.
    pub name: Identifier,
    /// Of which table.
    pub table: ObjectName,
    /// AS PERMISSIVE
    pub permissive: bool,
    /// FOR
    pub command: PolicyCommand,
    /// TO
    pub roles: Vec<RoleName>,
    /// USING
    pub using: Option<SqlText>,
    /// WITH CHECK
    pub check: Option<SqlText>,
}

/// ALTER POLICY
#[derive(Clone, Debug, PartialEq)]
pub struct AlterPolicy {
    /// Its name.
    pub name: Identifier,
    /// Of which table.
    pub table: ObjectName,
    /// TO
    pub roles: Option<Vec<RoleName>>,
    /// USING
    pub using: Option<SqlText>,
    /// WITH CHECK
    pub check: Option<SqlText>,
}

/// A statement about policies.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicyStatement {
    /// CREATE POLICY
    Create(CreatePolicy),
    /// ALTER POLICY
    Alter(AlterPolicy),
    /// ALTER POLICY … RENAME TO
    Rename {
        /// Its name.
        name: Identifier,
        /// Of which table.
        table: ObjectName,
        /// Its new name.
        new: Identifier,
    },
    /// DROP POLICY
    Drop {
        /// IF EXISTS
        if_exists: bool,
        /// Its name.
        name: Identifier,
        /// Of which table.
        table: ObjectName,
    },
}

/// A statement about purposes.
#[derive(Clone, Debug, PartialEq)]
pub enum PurposeStatement {
    /// CREATE PURPOSE
    Create {
        /// IF NOT EXISTS
        if_not_exists: bool,
        /// Its name.
        name: Identifier,
        /// BY CONSENT
        by_consent: bool,
    },
    /// DROP PURPOSE
    Drop {
        /// IF EXISTS
        if_exists: bool,
        /// Their names.
        names: Vec<Identifier>,
    },
    /// GRANT and REVOKE PURPOSE
    Grant {
        /// GRANT, rather than REVOKE.
        grants: bool,
        /// Which.
        purposes: Vec<Identifier>,
        /// To whom.
        grantees: Vec<RoleName>,
    },
}

/// A statement about holds.
#[derive(Clone, Debug, PartialEq)]
pub enum HoldStatement {
    /// CREATE HOLD
    Create {
        /// Its name.
        name: Identifier,
        /// ON
        table: ObjectName,
        /// WHERE
        condition: Option<SqlText>,
        /// REASON
        reason: Option<String>,
    },
    /// DROP HOLD
    Drop {
        /// IF EXISTS
        if_exists: bool,
        /// Their names.
        names: Vec<Identifier>,
    },
}

/// ALTER TABLE … ROW LEVEL SECURITY
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowSecurityChange {
    /// ENABLE
    Enable,
    /// DISABLE
    Disable,
    /// FORCE
    Force,
    /// NO FORCE
    NoForce,
}
