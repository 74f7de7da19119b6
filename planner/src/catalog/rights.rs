//! Rights: who owns what, and what was granted to whom.
//!
//! By PostgreSQL's rules. What has no entry here is the first role's, with the privileges that its class begins with. What a
//! role may in the end, `Catalog::privileges` alone says, whatever the path by which it is asked.

use super::own_tables::{self, is_own};
use super::{Catalog, DatabaseId, DefaultValue, NamespaceId, Purpose, RoleId, RowSecurity, Table};
use repr::id::is_temporary;
use repr::{ColumnIndex, Id, RelationId, SequenceId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What may be done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Privilege {
    /// INSERT
    Insert,
    /// SELECT
    Select,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
    /// TRUNCATE
    Truncate,
    /// REFERENCES
    References,
    /// TRIGGER
    Trigger,
    /// EXECUTE
    Execute,
    /// USAGE
    Usage,
    /// CREATE
    Create,
    /// TEMPORARY
    Temporary,
    /// CONNECT
    Connect,
    /// GDPR GET, of the people of a data-subject table.
    GdprGet,
    /// GDPR EXPORT
    GdprExport,
    /// GDPR FORGET
    GdprForget,
}

impl Privilege {
    /// All of them, in the order in which access lists show them.
    pub const ALL: [Privilege; 15] = [
        Privilege::Insert,
        Privilege::Select,
        Privilege::Update,
        Privilege::Delete,
        Privilege::Truncate,
        Privilege::References,
        Privilege::Trigger,
        Privilege::Execute,
        Privilege::Usage,
        Privilege::Create,
        Privilege::Temporary,
        Privilege::Connect,
        Privilege::GdprGet,
        Privilege::GdprExport,
        Privilege::GdprForget,
    ];

    /// As GRANT says it.
    pub fn name(self) -> &'static str {
        match self {
            Privilege::Insert => "INSERT",
            Privilege::Select => "SELECT",
            Privilege::Update => "UPDATE",
            Privilege::Delete => "DELETE",
            Privilege::Truncate => "TRUNCATE",
            Privilege::References => "REFERENCES",
            Privilege::Trigger => "TRIGGER",
            Privilege::Execute => "EXECUTE",
            Privilege::Usage => "USAGE",
            Privilege::Create => "CREATE",
            Privilege::Temporary => "TEMPORARY",
            Privilege::Connect => "CONNECT",
            Privilege::GdprGet => "GDPR GET",
            Privilege::GdprExport => "GDPR EXPORT",
            Privilege::GdprForget => "GDPR FORGET",
        }
    }

    /// As GRANT says it, or by the short name that it has too.
    pub fn by_name(name: &str) -> Option<Privilege> {
        let name = name.trim();
        if name.eq_ignore_ascii_case("TEMP") {
            return Some(Privilege::Temporary);
        }
        Privilege::ALL.into_iter().find(|privilege| privilege.name().eq_ignore_ascii_case(name))
    }

    /// Its letter in an `aclitem`. Subject requests are nothing that PostgreSQL's tools could read there.
    pub fn letter(self) -> Option<char> {
        match self {
            Privilege::Insert => Some('a'),
            Privilege::Select => Some('r'),
            Privilege::Update => Some('w'),
            Privilege::Delete => Some('d'),
            Privilege::Truncate => Some('D'),
            Privilege::References => Some('x'),
            Privilege::Trigger => Some('t'),
            Privilege::Execute => Some('X'),
            Privilege::Usage => Some('U'),
            Privilege::Create => Some('C'),
            Privilege::Temporary => Some('T'),
            Privilege::Connect => Some('c'),
            Privilege::GdprGet | Privilege::GdprExport | Privilege::GdprForget => None,
        }
    }
}

/// A set of privileges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Privileges(u16);

impl Privileges {
    /// None.
    pub const NONE: Privileges = Privileges(0);

    /// These.
    pub const fn of(privileges: &[Privilege]) -> Privileges {
        let (mut bits, mut index) = (0, 0);
        while index < privileges.len() {
            bits |= 1 << privileges[index] as u16;
            index += 1;
        }
        Privileges(bits)
    }

    /// Whether it is one of them.
    pub fn has(self, privilege: Privilege) -> bool {
        self.0 & Privileges::from(privilege).0 != 0
    }

    /// Whether all of the others are among them.
    pub fn contains(self, others: Privileges) -> bool {
        self.0 & others.0 == others.0
    }

    /// All of both.
    #[must_use]
    pub fn and(self, others: Privileges) -> Privileges {
        Privileges(self.0 | others.0)
    }

    /// Those that both have.
    #[must_use]
    pub fn within(self, others: Privileges) -> Privileges {
        Privileges(self.0 & others.0)
    }

    /// Without the others.
    #[must_use]
    pub fn without(self, others: Privileges) -> Privileges {
        Privileges(self.0 & !others.0)
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Privilege> {
        Privilege::ALL.into_iter().filter(move |privilege| self.has(*privilege))
    }
}

impl From<Privilege> for Privileges {
    fn from(privilege: Privilege) -> Self {
        Privileges(1 << privilege as u16)
    }
}

/// What kinds of objects have rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ObjectClass {
    /// Tables and views.
    Table,
    /// Sequences.
    Sequence,
    /// Databases.
    Database,
    /// Schemas.
    Schema,
    /// Types.
    Type,
    /// Functions: of those that default privileges speak of none can be created.
    Function,
}

const ON_COLUMNS: Privileges =
    Privileges::of(&[Privilege::Insert, Privilege::Select, Privilege::Update, Privilege::References]);

/// The subject requests.
pub const REQUESTS: Privileges = Privileges::of(&[Privilege::GdprGet, Privilege::GdprExport, Privilege::GdprForget]);

impl ObjectClass {
    /// What there is to grant.
    pub fn privileges(self) -> Privileges {
        match self {
            ObjectClass::Table => ON_COLUMNS
                .and(Privileges::of(&[Privilege::Delete, Privilege::Truncate, Privilege::Trigger]))
                .and(REQUESTS),
            ObjectClass::Sequence => Privileges::of(&[Privilege::Select, Privilege::Update, Privilege::Usage]),
            ObjectClass::Database => Privileges::of(&[Privilege::Create, Privilege::Temporary, Privilege::Connect]),
            ObjectClass::Schema => Privileges::of(&[Privilege::Usage, Privilege::Create]),
            ObjectClass::Type => Privilege::Usage.into(),
            ObjectClass::Function => Privilege::Execute.into(),
        }
    }

    /// What there is to grant on a column.
    pub fn of_columns() -> Privileges {
        ON_COLUMNS
    }

    /// What everybody has at first.
    fn of_all(self) -> Privileges {
        match self {
            ObjectClass::Table | ObjectClass::Sequence | ObjectClass::Schema => Privileges::NONE,
            ObjectClass::Database => Privileges::of(&[Privilege::Temporary, Privilege::Connect]),
            ObjectClass::Type => Privilege::Usage.into(),
            ObjectClass::Function => Privilege::Execute.into(),
        }
    }

    /// In a message.
    pub fn noun(self) -> &'static str {
        match self {
            ObjectClass::Table => "table",
            ObjectClass::Sequence => "sequence",
            ObjectClass::Database => "database",
            ObjectClass::Schema => "schema",
            ObjectClass::Type => "type",
            ObjectClass::Function => "function",
        }
    }

    /// Its letter in `pg_default_acl`.
    pub fn letter(self) -> &'static str {
        match self {
            ObjectClass::Table => "r",
            ObjectClass::Sequence => "S",
            ObjectClass::Function => "f",
            ObjectClass::Type => "T",
            ObjectClass::Schema => "n",
            ObjectClass::Database => "d",
        }
    }
}

/// What one role has granted another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AclItem {
    /// To whom; everybody, if none.
    pub grantee: Option<RoleId>,
    /// By whom.
    pub grantor: RoleId,
    /// What.
    pub privileges: Privileges,
    /// Of that, what may be granted on.
    pub grantable: Privileges,
}

/// An access list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Acl {
    /// Its entries.
    pub items: Vec<AclItem>,
}

impl Acl {
    /// What an object of a class begins with.
    pub fn at_first(class: ObjectClass, owner: RoleId) -> Acl {
        let mut acl = Acl::default();
        acl.grant(None, owner, class.of_all(), false);
        acl.grant(Some(owner), owner, class.privileges(), false);
        acl
    }

    /// Adds to what a role has from another.
    pub fn grant(&mut self, grantee: Option<RoleId>, grantor: RoleId, privileges: Privileges, with_option: bool) {
        if privileges.is_empty() {
            return;
        }
        let grantable = if with_option { privileges } else { Privileges::NONE };
        self.add(AclItem { grantee, grantor, privileges, grantable });
    }

    /// Adds to what stands between the same two.
    pub(crate) fn add(&mut self, item: AclItem) {
        let same = |other: &&mut AclItem| other.grantee == item.grantee && other.grantor == item.grantor;
        match self.items.iter_mut().find(same) {
            Some(other) => {
                other.privileges = other.privileges.and(item.privileges);
                other.grantable = other.grantable.and(item.grantable);
            }
            None => self.items.push(item),
        }
    }

    /// Takes away what a role has from another, or its option to grant that on alone. What others have by that option goes with
    /// it if `cascade`; else, if there is such, nothing is changed and the answer is false.
    pub fn revoke(&mut self, grantee: Option<RoleId>, grantor: RoleId, what: Revoked) -> bool {
        let Some(item) = self.items.iter_mut().find(|item| item.grantee == grantee && item.grantor == grantor) else {
            return true;
        };
        let lost = item.grantable.within(what.privileges);
        item.grantable = item.grantable.without(what.privileges);
        if !what.option_only {
            item.privileges = item.privileges.without(what.privileges);
        }
        self.items.retain(|item| !item.privileges.is_empty());
        let Some(grantee) = grantee.filter(|_| !lost.is_empty()) else { return true };
        // It may have the option from somebody else still.
        let lost = lost.without(self.grantable(&BTreeSet::from([grantee])));
        let below: Vec<(Option<RoleId>, Privileges)> = self
            .items
            .iter()
            .filter(|item| item.grantor == grantee && item.grantee != Some(grantee))
            .map(|item| (item.grantee, item.privileges.within(lost)))
            .filter(|(_, privileges)| !privileges.is_empty())
            .collect();
        if !below.is_empty() && !what.cascade {
            return false;
        }
        below.into_iter().all(|(below, privileges)| {
            self.revoke(below, grantee, Revoked { privileges, option_only: false, cascade: true })
        })
    }

    /// What these roles have together, and everybody.
    pub fn held(&self, roles: &BTreeSet<RoleId>) -> Privileges {
        let items = self.items.iter().filter(|item| item.grantee.is_none_or(|grantee| roles.contains(&grantee)));
        items.fold(Privileges::NONE, |all, item| all.and(item.privileges))
    }

    /// What these roles may grant on.
    pub fn grantable(&self, roles: &BTreeSet<RoleId>) -> Privileges {
        let items = self.items.iter().filter(|item| item.grantee.is_some_and(|grantee| roles.contains(&grantee)));
        items.fold(Privileges::NONE, |all, item| all.and(item.grantable))
    }

    /// Whether a role has granted or been granted something.
    pub fn names(&self, role: RoleId) -> bool {
        self.items.iter().any(|item| item.grantor == role || item.grantee == Some(role))
    }

    /// Puts a role in another's place.
    fn change_role(&mut self, from: RoleId, to: RoleId) {
        let items = std::mem::take(&mut self.items);
        for mut item in items {
            if item.grantee == Some(from) {
                item.grantee = Some(to);
            }
            if item.grantor == from {
                item.grantor = to;
            }
            self.add(item);
        }
    }
}

/// What REVOKE takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revoked {
    /// The privileges.
    pub privileges: Privileges,
    /// GRANT OPTION FOR
    pub option_only: bool,
    /// CASCADE
    pub cascade: bool,
}

/// ALTER DEFAULT PRIVILEGES: what later objects of a role begin with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefaultAcl {
    /// `pg_default_acl.oid`
    pub id: Id,
    /// Who makes them.
    pub role: RoleId,
    /// In which schema; in all, if none.
    pub namespace: Option<NamespaceId>,
    /// Of what class they are.
    pub class: ObjectClass,
    /// In all schemas the whole list; in one what is added to it.
    pub acl: Acl,
}

/// Who owns what, and what was granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// By the objects' OIDs; what is not here is the first role's.
    pub owners: BTreeMap<Id, RoleId>,
    /// By the objects' OIDs; what is not here is as it was at first.
    pub acls: BTreeMap<Id, Acl>,
    /// Of columns.
    pub columns: BTreeMap<RelationId, BTreeMap<ColumnIndex, Acl>>,
    /// ALTER DEFAULT PRIVILEGES
    pub defaults: Vec<DefaultAcl>,
    /// Policies, and whether tables have them.
    #[serde(default)]
    pub row_security: BTreeMap<RelationId, RowSecurity>,
    /// For what data may be used, by name.
    #[serde(default)]
    pub purposes: BTreeMap<String, Purpose>,
}

impl Rights {
    /// Whether a role owns something, has granted or was granted something.
    pub fn names(&self, role: RoleId) -> bool {
        self.owners.values().any(|owner| *owner == role)
            || self.acls.values().chain(self.columns.values().flat_map(BTreeMap::values)).any(|acl| acl.names(role))
            || self.defaults.iter().any(|found| found.role == role || found.acl.names(role))
            || self
                .row_security
                .values()
                .flat_map(|found| &found.policies)
                .any(|policy| policy.roles.contains(&Some(role)))
            || self.purposes.values().any(|purpose| purpose.grantees.contains(&Some(role)))
    }

    /// Gives an object another owner, who has what the one before had.
    pub fn change_owner(&mut self, object: Id, from: RoleId, to: RoleId) {
        self.owners.insert(object, to);
        let columns = self.columns.get_mut(&RelationId(object));
        for acl in self.acls.get_mut(&object).into_iter().chain(columns.into_iter().flat_map(BTreeMap::values_mut)) {
            acl.change_role(from, to);
        }
    }
}

impl Table {
    /// What there is to grant on it: subject requests are made of people.
    pub fn privileges(&self) -> Privileges {
        let all = ObjectClass::Table.privileges();
        if self.data_subject { all } else { all.without(REQUESTS) }
    }
}

impl Catalog {
    /// Who owns an object.
    pub fn owner(&self, object: Id) -> RoleId {
        if NamespaceId(object) == NamespaceId::PUBLIC && !self.rights.owners.contains_key(&object) {
            return RoleId::DATABASE_OWNER;
        }
        self.rights.owners.get(&object).copied().unwrap_or(RoleId::FIRST)
    }

    /// An object's access list.
    pub fn acl(&self, class: ObjectClass, object: Id) -> Acl {
        match self.rights.acls.get(&object) {
            Some(acl) => acl.clone(),
            None => self.acl_at_first(class, object),
        }
    }

    fn acl_at_first(&self, class: ObjectClass, object: Id) -> Acl {
        let owner = self.owner(object);
        let mut acl = Acl::at_first(class, owner);
        let is_public = class == ObjectClass::Schema
            && self.namespaces.get(&NamespaceId(object)).is_some_and(|found| found.name == "public");
        if is_public || class == ObjectClass::Schema && !self.namespaces.contains_key(&NamespaceId(object)) {
            // `public`, and what the system has.
            acl.grant(None, owner, Privilege::Usage.into(), false);
        }
        acl
    }

    /// The roles whose privileges count for a role; those that own the database at hand own what that owner owns.
    pub fn counted(&self, role: RoleId, database: DatabaseId) -> BTreeSet<RoleId> {
        let mut roles = self.inherited(role);
        if roles.contains(&self.owner(database.0)) {
            roles.insert(RoleId::DATABASE_OWNER);
        }
        roles
    }

    /// Whether a role owns an object, itself or as a member.
    pub fn owns(&self, role: RoleId, object: Id, database: DatabaseId) -> bool {
        // What the server writes itself nobody changes.
        !is_own(object)
            && (is_temporary(object)
                || self.is_controller(role)
                || self.counted(role, database).contains(&self.owner(object)))
    }

    /// What a role may do with an object: on all of its columns, if it is a table.
    pub fn privileges(&self, role: RoleId, class: ObjectClass, object: Id, database: DatabaseId) -> Privileges {
        if is_temporary(object) {
            return class.privileges();
        }
        if is_own(object) {
            let tells = own_tables::is_for_auditors(object) && self.reads_audit(role) && self.person_of(role).is_none();
            return if self.is_controller(role) || tells { Privilege::Select.into() } else { Privileges::NONE };
        }
        let held = if self.is_controller(role) {
            class.privileges()
        } else {
            let roles = self.counted(role, database);
            let held = match self.rights.acls.get(&object) {
                Some(acl) => acl.held(&roles),
                None => self.acl_at_first(class, object).held(&roles),
            };
            held.and(of_all_data(&roles, class))
        };
        self.with_rows_kept(role, class, held)
    }

    /// What a role may do with a column beyond what it may with the table.
    pub fn column_privileges(
        &self,
        role: RoleId,
        (relation, column): (RelationId, ColumnIndex),
        database: DatabaseId,
    ) -> Privileges {
        let acl = self.rights.columns.get(&relation).and_then(|columns| columns.get(&column));
        let held = acl.map_or(Privileges::NONE, |acl| acl.held(&self.counted(role, database)));
        self.with_rows_kept(role, ObjectClass::Table, held)
    }

    /// Operators and regulators have no rows, whatever was granted to them or to everybody.
    fn with_rows_kept(&self, role: RoleId, class: ObjectClass, held: Privileges) -> Privileges {
        let keeps = class == ObjectClass::Table && !held.is_empty() && self.kind_without_rows(role).is_some();
        if keeps { Privileges::NONE } else { held }
    }

    /// Whether a role may do one of these with a sequence. One that stands behind an identity column counts for whoever may
    /// insert there.
    pub fn may_count(&self, role: RoleId, sequence: SequenceId, any: Privileges, database: DatabaseId) -> bool {
        let held = self.privileges(role, ObjectClass::Sequence, sequence.0, database);
        if !held.within(any).is_empty() {
            return true;
        }
        let column = self.sequences.get(&sequence).and_then(|found| found.owned_by);
        let Some((table, column)) = column else { return false };
        let identity = self.table(table).and_then(|table| table.columns.get(column)).is_some_and(|column| {
            matches!(column.default, Some(DefaultValue::Identity { sequence: behind, .. }) if behind == sequence)
        });
        let inserts = || {
            let of_columns = self.rights.columns.get(&table);
            let roles = self.counted(role, database);
            let on_a_column =
                of_columns.is_some_and(|columns| columns.values().any(|acl| acl.held(&roles).has(Privilege::Insert)));
            self.privileges(role, ObjectClass::Table, table.0, database).has(Privilege::Insert) || on_a_column
        };
        any.has(Privilege::Usage) && identity && inserts()
    }

    /// Whether a role may look for names in a schema.
    pub fn may_look_in(&self, role: RoleId, namespace: NamespaceId, database: DatabaseId) -> bool {
        !self.namespaces.contains_key(&namespace)
            || namespace == NamespaceId::PG_TEMP
            || self.is_controller(role)
            || self.privileges(role, ObjectClass::Schema, namespace.0, database).has(Privilege::Usage)
    }

    /// Changes what rights there are.
    pub fn rights_mut(&mut self) -> &mut Rights {
        Arc::make_mut(&mut self.rights)
    }
}

/// What members of `pg_read_all_data` and `pg_write_all_data` have.
fn of_all_data(roles: &BTreeSet<RoleId>, class: ObjectClass) -> Privileges {
    let mut all = Privileges::NONE;
    if roles.contains(&RoleId::READ_ALL_DATA) {
        all = all.and(match class {
            ObjectClass::Table | ObjectClass::Sequence => Privilege::Select.into(),
            ObjectClass::Schema => Privilege::Usage.into(),
            ObjectClass::Database | ObjectClass::Type | ObjectClass::Function => Privileges::NONE,
        });
    }
    if roles.contains(&RoleId::WRITE_ALL_DATA) {
        all = all.and(match class {
            ObjectClass::Table => Privileges::of(&[Privilege::Insert, Privilege::Update, Privilege::Delete]),
            ObjectClass::Sequence => Privilege::Update.into(),
            ObjectClass::Schema => Privilege::Usage.into(),
            ObjectClass::Database | ObjectClass::Type | ObjectClass::Function => Privileges::NONE,
        });
    }
    all
}

impl Catalog {
    /// The schema that an object is in.
    pub fn namespace_of(&self, object: Id) -> Option<NamespaceId> {
        let table = self.relations.get(&RelationId(object)).map(|table| table.namespace);
        let sequence = || self.sequences.get(&SequenceId(object)).map(|sequence| sequence.namespace);
        let created = || self.types.get(&object).map(|found| found.namespace);
        let routine = || self.routines.get(&object).map(|found| found.namespace);
        let operator = || self.operators.get(&object).map(|found| found.namespace);
        table.or_else(sequence).or_else(created).or_else(routine).or_else(operator)
    }

    /// Whether there is something of that OID that has an owner.
    pub(crate) fn has_object(&self, object: Id) -> bool {
        self.relations.contains_key(&RelationId(object))
            || self.sequences.contains_key(&SequenceId(object))
            || self.types.contains_key(&object)
            || self.routines.contains_key(&object)
            || self.operators.contains_key(&object)
            || self.namespaces.contains_key(&NamespaceId(object))
            || self.databases.contains_key(&DatabaseId(object))
    }

    /// Whether an object is in a database, or is that database.
    pub fn is_of_database(&self, object: Id, database: DatabaseId) -> bool {
        let namespace = self.namespace_of(object).unwrap_or(NamespaceId(object));
        match self.namespaces.get(&namespace) {
            Some(found) => found.database == database,
            None => object == database.0,
        }
    }

    /// Takes a role out of all access lists, and its default privileges away.
    pub(crate) fn forget_role(&mut self, role: RoleId) {
        let rights = self.rights_mut();
        for acl in rights.acls.values_mut().chain(rights.columns.values_mut().flat_map(BTreeMap::values_mut)) {
            acl.items.retain(|item| item.grantee != Some(role) && item.grantor != role);
        }
        for security in rights.row_security.values_mut() {
            security.policies.retain(|policy| policy.roles != [Some(role)]);
            security.policies.iter_mut().for_each(|policy| policy.roles.retain(|of| *of != Some(role)));
        }
        for purpose in rights.purposes.values_mut() {
            purpose.grantees.remove(&Some(role));
        }
        rights.defaults.retain(|found| found.role != role);
        rights.defaults.iter_mut().for_each(|found| found.acl.items.retain(|item| item.grantee != Some(role)));
    }
}
