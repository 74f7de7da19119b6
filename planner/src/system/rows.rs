//! The rows of catalog relations, computed from the catalog.
//!
//! One builder fills columns by name; what a relation does not say of its columns is false, 0 or NULL,
//! as PostgreSQL would have it. Relations without rows here are those of features that we do not have.

mod constraint;
mod counters;
mod domain;
mod governance;
mod grant;
mod information;
mod making;
mod object;
mod operator;
mod policy;
mod recorded;
mod role;
mod routine;
mod search;
mod server;
mod statistics;
mod trigger;
mod types;
mod view;

use super::asker::Asker;
use super::definition_text::DefinitionText;
use super::schemas::{DOGWOOD, INFORMATION_SCHEMA, PG_CATALOG, PUBLIC};
use super::view_text::view_text;
use super::{SystemRelation, access_list, find_by_id};
use crate::catalog::{Acl, Actor, Catalog, NamespaceId, ObjectClass, RoleId, Table, View};
use crate::scalar::Environment;
pub use making::WantedValues;
use making::{Rows, WantedTables};
use repr::{Array, ColumnIndex, Datum, Id, RelationId, Row};
use std::sync::Arc;

/// OID of the role that what the system has is of.
pub(super) const OWNER: u32 = RoleId::FIRST.0;
/// OID of the access method `heap`.
pub(super) const HEAP: u32 = 2;

/// All rows of a catalog relation that have these values, and maybe others, in no particular order; none for an unknown one.
pub fn rows(relation: RelationId, catalog: &Catalog, environment: &dyn Environment, wanted: &WantedValues) -> Vec<Row> {
    let Some(found) = find_by_id(relation) else { return Vec::new() };
    let mut table = Rows::new(found, wanted);
    let wanted = WantedTables::of(found, wanted);
    let source = Source { catalog, environment, actor: environment.actor(), wanted };
    match (found.schema, found.name) {
        ("pg_catalog", "pg_class") => source.classes(&mut table),
        ("pg_catalog", "pg_attribute") => source.attributes(&mut table),
        ("pg_catalog", "pg_attrdef") => source.defaults(&mut table),
        ("pg_catalog", "pg_index") => source.indexes(&mut table),
        ("pg_catalog", "pg_opclass") => source.operator_classes(&mut table),
        ("pg_catalog", "pg_operator") => source.operators(&mut table),
        ("pg_catalog", name) if RECORDED.contains(&name) => source.recorded(&mut table),
        ("pg_catalog", "pg_sequence") => source.sequences(&mut table),
        ("pg_catalog", "pg_shdescription") => source.shared_descriptions(&mut table),
        ("pg_catalog", "pg_description") => source.descriptions(&mut table),
        ("pg_catalog", "pg_depend") => source.dependencies(&mut table),
        ("pg_catalog", "pg_rewrite") => source.rewrites(&mut table),
        ("pg_catalog", "pg_views") => source.views(&mut table),
        ("pg_catalog", "pg_matviews") => source.materialized_views(&mut table),
        ("pg_catalog", "pg_constraint") => source.constraints(&mut table),
        ("pg_catalog", "pg_seclabels") => source.labels(&mut table),
        ("pg_catalog", "pg_type") => source.types(&mut table),
        ("pg_catalog", "pg_enum") => source.enum_labels(&mut table),
        ("pg_catalog", "pg_namespace") => source.namespaces(&mut table),
        ("pg_catalog", "pg_extension") => source.extensions(&mut table),
        ("pg_catalog", name) if name.starts_with("pg_available_extension") => source.available_extensions(&mut table),
        ("pg_catalog", "pg_am") => source.access_methods(&mut table),
        ("pg_catalog", "pg_collation") => source.collations(&mut table),
        ("pg_catalog", "pg_database") => source.databases(&mut table),
        ("pg_catalog", "pg_db_role_setting") => source.start_settings(&mut table),
        ("pg_catalog", "pg_tablespace") => source.tablespaces(&mut table),
        ("pg_catalog", "pg_roles" | "pg_authid") => source.roles(&mut table),
        ("pg_catalog", "pg_user" | "pg_shadow") => source.users(&mut table),
        ("pg_catalog", "pg_group") => source.groups(&mut table),
        ("pg_catalog", "pg_auth_members") => source.memberships(&mut table),
        ("pg_catalog", "pg_default_acl") => source.default_privileges(&mut table),
        ("pg_catalog", "pg_init_privs") => source.first_privileges(&mut table),
        ("pg_catalog", "pg_language") => source.languages(&mut table),
        ("pg_catalog", "pg_settings") => source.settings(&mut table),
        ("pg_catalog", "pg_proc") => source.functions(&mut table),
        ("pg_catalog", "pg_prepared_statements") => source.prepared_statements(&mut table),
        ("pg_catalog", "pg_locks") => source.locks(&mut table),
        ("pg_catalog", "pg_cursors") => source.cursors(&mut table),
        ("pg_catalog", "pg_policy") => source.policies(&mut table),
        ("pg_catalog", "pg_policies") => source.policies_view(&mut table),
        ("pg_catalog", "pg_trigger") => source.triggers(&mut table),
        ("pg_catalog", "pg_tables" | "pg_stats") => source.about_tables(&mut table),
        ("pg_catalog", "pg_indexes") => source.indexes_view(&mut table),
        ("pg_catalog", "pg_sequences") => source.sequences_view(&mut table),
        ("pg_catalog", name) if name.starts_with("pg_stat_") || name.starts_with("pg_statio_") => {
            source.statistics(name, &mut table);
        }
        ("pg_catalog", "pg_timezone_names" | "pg_timezone_abbrevs") => source.time_zones(&mut table),
        ("pg_catalog", "pg_ts_config") => source.search_configurations(&mut table),
        ("pg_catalog", "pg_ts_config_map") => source.search_configuration_maps(&mut table),
        ("pg_catalog", "pg_ts_dict") => source.search_dictionaries(&mut table),
        ("pg_catalog", "pg_ts_parser") => source.search_parsers(&mut table),
        ("pg_catalog", "pg_ts_template") => source.search_templates(&mut table),
        ("dogwood", name) => source.governance(name, &mut table),
        ("information_schema", name) => source.information_schema(name, &mut table),
        (_, _) => {}
    }
    table.finish()
}

/// Relations that say what PostgreSQL's say.
const RECORDED: [&str; 6] = ["pg_aggregate", "pg_amop", "pg_amproc", "pg_cast", "pg_opfamily", "pg_range"];

/// What rows are computed from.
struct Source<'a> {
    catalog: &'a Catalog,
    environment: &'a dyn Environment,
    /// Who asks.
    actor: Actor,
    /// Which tables and indexes it is asked about.
    wanted: WantedTables<'a>,
}

impl<'a> Source<'a> {
    /// Whether whoever asks may.
    fn asker(&self) -> Asker<'a> {
        Asker::new(self.catalog, self.actor.role, self.environment.database_id())
    }
}

impl Source<'_> {
    /// The tables that rows may be wanted of, or of their indexes.
    fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.catalog.relations.values().filter(|table| self.wanted.has_table(table))
    }

    /// The name of an object's schema.
    fn schema(&self, namespace: NamespaceId) -> Datum {
        text(self.catalog.namespace_name(namespace).unwrap_or_default())
    }

    /// What a role is called, if it is there.
    fn named(&self, role: RoleId) -> Option<String> {
        self.actor.name_of(self.catalog, role).map(std::borrow::Cow::into_owned)
    }

    /// What access lists call a role.
    fn called(&self, role: RoleId) -> String {
        self.named(role).unwrap_or_else(|| role.0.to_string())
    }

    /// What columns that name a role call it.
    fn role_name(&self, role: RoleId) -> String {
        self.named(role).unwrap_or_else(|| format!("unknown (OID={role})", role = role.0))
    }

    /// Whose an object is.
    fn owner(&self, object: Id) -> Datum {
        Datum::Oid(self.catalog.owner(object).0)
    }

    /// What that is called.
    fn owner_name(&self, object: Id) -> Datum {
        text(&self.role_name(self.catalog.owner(object)))
    }

    /// An access list as its column has it.
    fn written(&self, acl: &Acl) -> Datum {
        if !self.is_persons() {
            return array(access_list::entries(acl, &|role| self.called(role)));
        }
        let known = |role: RoleId| self.actor.knows(self.catalog, role);
        let mut acl = acl.clone();
        acl.items.retain(|item| item.grantee.is_none_or(known) && known(item.grantor));
        array(access_list::entries(&acl, &|role| self.called(role)))
    }

    /// Whether a person's own login asks.
    fn is_persons(&self) -> bool {
        self.catalog.person_of(self.actor.role).is_some()
    }

    /// An object's access list; NULL where nothing was granted or revoked.
    fn acl(&self, object: Id) -> Datum {
        self.catalog.rights.acls.get(&object).map_or(Datum::Null, |acl| self.written(acl))
    }

    /// A column's. One that is empty again is as if it had never been.
    fn column_acl(&self, relation: RelationId, column: ColumnIndex) -> Datum {
        let acl = self.catalog.rights.columns.get(&relation).and_then(|columns| columns.get(&column));
        acl.filter(|acl| !acl.items.is_empty()).map_or(Datum::Null, |acl| self.written(acl))
    }

    /// A schema's. `public` and what the system has begin with one that is written down, as in PostgreSQL.
    fn schema_acl(&self, schema: Id) -> Datum {
        let is_public = self.catalog.namespaces.get(&NamespaceId(schema)).is_some_and(|found| found.name == "public");
        match is_public || [PG_CATALOG, INFORMATION_SCHEMA, DOGWOOD].contains(&schema) {
            true => self.written(&self.catalog.acl(ObjectClass::Schema, schema)),
            false => self.acl(schema),
        }
    }

    /// The schema `public` of the database at hand.
    fn public(&self) -> Id {
        let mut namespaces = self.catalog.namespaces.iter();
        namespaces.find(|(_, found)| found.name == "public").map_or(PUBLIC, |(id, _)| id.0)
    }

    /// A view's query, as the session reads it.
    fn view_definition(&self, view: &View) -> Datum {
        text(&view_text(view, self.catalog, &DefinitionText::new(self.environment), false))
    }
}

fn text(content: &str) -> Datum {
    Datum::Text(content.into())
}

fn optional(content: Option<&str>) -> Datum {
    content.map_or(Datum::Null, text)
}

fn flag(value: bool) -> Datum {
    Datum::Bool(value)
}

fn small(value: usize) -> Datum {
    Datum::Int2(i16::try_from(value).unwrap_or(i16::MAX))
}

/// int2vector and oidvector count from 0.
fn vector(elements: Vec<Datum>) -> Datum {
    let dimensions = if elements.is_empty() { Vec::new() } else { vec![(elements.len(), 0)] };
    Datum::Array(Arc::new(Array::new(dimensions, elements)))
}

fn array(elements: Vec<Datum>) -> Datum {
    Datum::Array(Arc::new(Array::vector(elements)))
}

/// Settings as `setconfig` has them.
fn assignments(values: &[(String, String)]) -> Datum {
    array(values.iter().map(|(name, value)| text(&format!("{name}={value}"))).collect())
}
