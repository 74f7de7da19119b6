//! Names of catalog objects as reg* values, enums and error texts need them.

mod routine;

pub(crate) use routine::COLLATIONS;

use super::Environment;
use crate::catalog::Catalog;
use crate::scalar::func::{parse_identifier, quote_identifier};
use crate::system::schemas::{DOGWOOD, INFORMATION_SCHEMA, PG_CATALOG, PUBLIC};
use crate::system::{self, builtin};
use repr::text::TextCatalog;
use repr::{Id, RelationId, ScalarType, SequenceId, ValueError};
use std::sync::Arc;

/// OIDs of the schemas.
pub(crate) const SCHEMAS: [(&str, Id); 5] = [
    ("pg_catalog", PG_CATALOG),
    ("pg_toast", 99),
    ("public", PUBLIC),
    ("information_schema", INFORMATION_SCHEMA),
    ("dogwood", DOGWOOD),
];

/// The catalog behind text forms, and whether names of `public` go without their schema.
pub(crate) struct CatalogNames {
    catalog: Arc<Catalog>,
    public_is_searched: bool,
    /// Where there is a session, its login and its database. By name only: sessions keep this, so it must keep none of them.
    session: Option<SessionNames>,
}

struct SessionNames {
    login: String,
    database: String,
}

/// OID of the one login role, as in PostgreSQL.
const OWNER: Id = 10;

impl CatalogNames {
    /// As a session with this search path sees it; without a session, the usual one.
    pub(crate) fn new(catalog: Arc<Catalog>, search_path: Option<&str>) -> CatalogNames {
        CatalogNames {
            catalog,
            public_is_searched: search_path.is_none_or(|path| searched(path).any(|name| name == "public")),
            session: None,
        }
    }

    /// As that session knows its login and its database.
    pub(crate) fn of_session(self, session: &Arc<dyn Environment>) -> CatalogNames {
        let (login, database) = (session.session_user(), session.database());
        CatalogNames { session: Some(SessionNames { login, database }), ..self }
    }

    /// Whether names of `public` are found without their schema.
    pub(crate) fn public_is_searched(&self) -> bool {
        self.public_is_searched
    }

    /// A name of `public` as SQL must spell it to be found.
    pub(crate) fn spelled(&self, name: &str) -> String {
        let name = quote_identifier(name);
        if self.public_is_searched { name } else { format!("public.{name}") }
    }

    /// Whether `public` has an enum of that name.
    pub(crate) fn has_enum(&self, name: &str) -> bool {
        self.catalog.enums.values().any(|found| found.name == name)
    }

    /// Whether `public` has a relation, index or sequence that SQL names so.
    pub(crate) fn has_public_class(&self, name: &str) -> bool {
        parse_identifier(name, true)
            .is_ok_and(|parts| matches!(parts.as_slice(), [name] if self.public_class(name).is_some()))
    }

    /// The name of a relation, index or sequence as SQL must spell it to be found.
    fn spelled_class(&self, oid: Id) -> Option<String> {
        match system::find_by_id(RelationId(oid)) {
            Some(relation) if relation.schema == "pg_catalog" => Some(quote_identifier(relation.name)),
            Some(relation) => Some(format!("{}.{}", relation.schema, quote_identifier(relation.name))),
            None => self.class_name(oid).map(|name| self.spelled(&name)),
        }
    }

    /// The OID of a relation, index or sequence named as in SQL.
    pub(crate) fn class_oid(&self, name: &str) -> Option<Id> {
        let parts = parse_identifier(name, true).ok()?;
        let (schema, name) = match parts.as_slice() {
            [name] => (None, name.as_str()),
            [schema, name] => (Some(schema.as_str()), name.as_str()),
            [database, schema, name] if self.session.as_ref().is_none_or(|session| session.database == *database) => {
                (Some(schema.as_str()), name.as_str())
            }
            _ => return None,
        };
        let system = |schema: &str| system::find(schema, name).map(|relation| relation.id.0);
        match schema {
            None => {
                system("pg_catalog").or_else(|| if self.public_is_searched { self.public_class(name) } else { None })
            }
            Some("public") => self.public_class(name),
            Some(schema) => system(schema),
        }
    }

    fn public_class(&self, name: &str) -> Option<Id> {
        let catalog = &self.catalog;
        if let Some(table) = catalog.relation_names.get(name) {
            return Some(table.0);
        }
        if let Some(sequence) = catalog.sequence_names.get(name) {
            return Some(sequence.0);
        }
        catalog
            .relations
            .values()
            .flat_map(|table| &table.indexes)
            .find(|index| index.name == name)
            .map(|index| index.id.0)
    }

    /// The name of a relation, index or sequence.
    pub(crate) fn class_name(&self, oid: Id) -> Option<String> {
        let catalog = &self.catalog;
        if let Some(table) = catalog.table(RelationId(oid)) {
            return Some(table.name.clone());
        }
        if let Some(sequence) = catalog.sequences.get(&SequenceId(oid)) {
            return Some(sequence.name.clone());
        }
        if let Some(relation) = system::find_by_id(RelationId(oid)) {
            return Some(relation.name.to_owned());
        }
        catalog
            .relations
            .values()
            .flat_map(|table| &table.indexes)
            .find(|index| index.id.0 == oid)
            .map(|index| index.name.clone())
    }

    /// The name of a type with its modifier: `format_type`.
    pub(crate) fn type_name(&self, oid: Id, modifier: i32) -> Option<String> {
        if let Some(scalar) = ScalarType::from_oid(oid) {
            return Some(scalar.format_type(modifier));
        }
        if let Some(found) = self.catalog.enums.get(&oid) {
            return Some(self.spelled(&found.name));
        }
        // An enum's array type has the next OID.
        match self.catalog.enums.get(&oid.checked_sub(1)?) {
            Some(element) => Some(format!("{}[]", self.spelled(&element.name))),
            None => builtin::type_name(oid),
        }
    }

    /// The OID of a type named as in SQL.
    pub(crate) fn type_oid(&self, name: &str) -> Option<Id> {
        let name = name.trim();
        let (bare, is_array) = name.strip_suffix("[]").map_or((name, false), |bare| (bare.trim_end(), true));
        let unqualified = bare.strip_prefix("pg_catalog.").unwrap_or(bare);
        let unmodified = match (unqualified.find('('), unqualified.find(')')) {
            (Some(open), Some(close)) if open < close => {
                format!("{}{}", unqualified[..open].trim_end(), &unqualified[close + 1..])
            }
            _ => unqualified.to_owned(),
        };
        let scalar = ScalarType::from_name(&unmodified.to_lowercase()).or_else(|| {
            let parts = parse_identifier(bare, true).ok()?;
            match parts.as_slice() {
                [name] => ScalarType::from_type_name(name).or_else(|| self.enum_named(name)),
                [schema, name] if schema == "pg_catalog" => ScalarType::from_type_name(name),
                [schema, name] if schema == "public" => self.enum_named(name),
                _ => None,
            }
        });
        match scalar {
            Some(scalar) => Some(if is_array { scalar.array_oid() } else { scalar.oid() }),
            None if is_array => None,
            None => builtin::pseudo_type(unqualified.trim_matches('"')),
        }
    }

    fn enum_named(&self, name: &str) -> Option<ScalarType> {
        self.catalog.enums.values().find(|candidate| candidate.name == name).map(|found| ScalarType::Enum(found.id))
    }
}

/// The schemas of a search path, as written.
pub(crate) fn searched(path: &str) -> impl Iterator<Item = &str> {
    path.split(',').map(|part| part.trim().trim_matches('"'))
}

impl TextCatalog for CatalogNames {
    fn enum_name(&self, id: Id) -> Option<String> {
        self.catalog.enums.get(&id).map(|found| found.name.clone())
    }

    fn enum_position(&self, id: Id, label: &str) -> Option<u32> {
        let labels = &self.catalog.enums.get(&id)?.labels;
        labels.iter().position(|candidate| candidate == label).and_then(|position| u32::try_from(position).ok())
    }

    fn object_name(&self, kind: &ScalarType, oid: Id) -> Option<String> {
        match kind {
            ScalarType::Regclass => self.spelled_class(oid),
            ScalarType::Regtype => self.type_name(oid, -1),
            ScalarType::Regnamespace => {
                SCHEMAS.iter().find(|(_, known)| *known == oid).map(|(name, _)| (*name).to_owned())
            }
            ScalarType::Regrole => {
                let session = self.session.as_ref().filter(|_| oid == OWNER)?;
                Some(quote_identifier(&session.login))
            }
            _ => routine::name(kind, oid),
        }
    }

    fn object_oid(&self, kind: &ScalarType, name: &str) -> Result<Option<Id>, ValueError> {
        let lone = || match parse_identifier(name, true).ok()?.as_slice() {
            [name] => Some(name.clone()),
            _ => None,
        };
        Ok(match kind {
            ScalarType::Regclass => self.class_oid(name),
            ScalarType::Regtype => self.type_oid(name),
            ScalarType::Regnamespace => {
                let wanted = lone();
                SCHEMAS.iter().find(|(known, _)| wanted.as_deref() == Some(*known)).map(|(_, oid)| *oid)
            }
            ScalarType::Regrole => {
                let is_own = |session: &&SessionNames| lone().as_ref() == Some(&session.login);
                self.session.as_ref().filter(|session| is_own(session)).map(|_| OWNER)
            }
            _ => routine::oid(kind, name, &|name| self.type_oid(name))?,
        })
    }
}
