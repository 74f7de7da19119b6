//! Names of catalog objects as reg* values, enums and error texts need them.

use crate::catalog::Catalog;
use crate::scalar::func::{parse_identifier, quote_identifier};
use repr::text::TextCatalog;
use repr::{Id, RelationId, ScalarType, SequenceId};
use std::sync::Arc;

/// OIDs of the schemas.
pub(crate) const SCHEMAS: [(&str, Id); 4] =
    [("pg_catalog", 11), ("pg_toast", 99), ("public", 2200), ("information_schema", 13_360)];

/// Catalog relations with fixed OIDs in PostgreSQL: 'pg_class'::regclass is compared with `classoid` columns.
const SYSTEM_RELATIONS: [(&str, Id); 34] = [
    ("pg_am", 2601),
    ("pg_attrdef", 2604),
    ("pg_attribute", 1249),
    ("pg_auth_members", 1261),
    ("pg_authid", 1260),
    ("pg_cast", 2605),
    ("pg_class", 1259),
    ("pg_collation", 3456),
    ("pg_constraint", 2606),
    ("pg_conversion", 2607),
    ("pg_database", 1262),
    ("pg_depend", 2608),
    ("pg_description", 2609),
    ("pg_enum", 3501),
    ("pg_event_trigger", 3466),
    ("pg_extension", 3079),
    ("pg_foreign_server", 1417),
    ("pg_index", 2610),
    ("pg_inherits", 2611),
    ("pg_language", 2612),
    ("pg_namespace", 2615),
    ("pg_opclass", 2616),
    ("pg_operator", 2617),
    ("pg_opfamily", 2753),
    ("pg_policy", 3256),
    ("pg_proc", 1255),
    ("pg_publication", 6104),
    ("pg_range", 3541),
    ("pg_rewrite", 2618),
    ("pg_sequence", 2224),
    ("pg_shdescription", 2396),
    ("pg_statistic_ext", 3381),
    ("pg_tablespace", 1213),
    ("pg_trigger", 2620),
];

/// `pg_type` stands apart: its OID is also used for types' comments.
const PG_TYPE: (&str, Id) = ("pg_type", 1247);

/// The catalog behind text forms.
pub(crate) struct CatalogNames(pub(crate) Arc<Catalog>);

impl CatalogNames {
    /// The OID of a relation, index or sequence named as in SQL.
    pub(crate) fn class_oid(&self, name: &str) -> Option<Id> {
        let parts = parse_identifier(name, true).ok()?;
        let (schema, name) = match parts.as_slice() {
            [name] => (None, name.as_str()),
            [schema, name] => (Some(schema.as_str()), name.as_str()),
            _ => return None,
        };
        let system = || system_relations().find(|(known, _)| *known == name).map(|(_, oid)| *oid);
        match schema {
            None => system().or_else(|| self.public_class(name)),
            Some("pg_catalog") => system(),
            Some("public") => self.public_class(name),
            Some(_) => None,
        }
    }

    fn public_class(&self, name: &str) -> Option<Id> {
        let catalog = &self.0;
        if let Some(table) = catalog.relation_names.get(name) {
            return Some(table.0);
        }
        if let Some(sequence) = catalog.sequence_names.get(name) {
            return Some(sequence.0);
        }
        catalog.relations.values().flat_map(|table| &table.indexes).find(|index| index.name == name).map(|index| index.id.0)
    }

    /// The name of a relation, index or sequence.
    pub(crate) fn class_name(&self, oid: Id) -> Option<String> {
        let catalog = &self.0;
        if let Some(table) = catalog.table(RelationId(oid)) {
            return Some(table.name.clone());
        }
        if let Some(sequence) = catalog.sequences.get(&SequenceId(oid)) {
            return Some(sequence.name.clone());
        }
        if let Some((name, _)) = system_relations().find(|(_, known)| *known == oid) {
            return Some((*name).to_owned());
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
        if let Some(found) = self.0.enums.get(&oid) {
            return Some(quote_identifier(&found.name));
        }
        // An enum's array type has the next OID.
        let element = self.0.enums.get(&oid.checked_sub(1)?)?;
        Some(format!("{}[]", quote_identifier(&element.name)))
    }

    /// The OID of a type named as in SQL.
    pub(crate) fn type_oid(&self, name: &str) -> Option<Id> {
        let name = name.trim();
        let (bare, is_array) = name.strip_suffix("[]").map_or((name, false), |bare| (bare.trim_end(), true));
        let bare = bare.strip_prefix("pg_catalog.").unwrap_or(bare);
        let unmodified = match (bare.find('('), bare.find(')')) {
            (Some(open), Some(close)) if open < close => format!("{}{}", bare[..open].trim_end(), &bare[close + 1..]),
            _ => bare.to_owned(),
        };
        let scalar = ScalarType::from_name(&unmodified.to_lowercase()).or_else(|| {
            let parts = parse_identifier(&unmodified, true).ok()?;
            let wanted = match parts.as_slice() {
                [name] => name,
                [schema, name] if schema == "public" => name,
                _ => return None,
            };
            let found = self.0.enums.values().find(|candidate| candidate.name == *wanted)?;
            Some(ScalarType::Enum(found.id))
        })?;
        Some(if is_array { scalar.array_oid() } else { scalar.oid() })
    }
}

fn system_relations() -> impl Iterator<Item = &'static (&'static str, Id)> {
    SYSTEM_RELATIONS.iter().chain(std::iter::once(&PG_TYPE))
}

impl TextCatalog for CatalogNames {
    fn enum_name(&self, id: Id) -> Option<String> {
        self.0.enums.get(&id).map(|found| found.name.clone())
    }

    fn enum_position(&self, id: Id, label: &str) -> Option<u32> {
        let labels = &self.0.enums.get(&id)?.labels;
        labels.iter().position(|candidate| candidate == label).and_then(|position| u32::try_from(position).ok())
    }

    fn object_name(&self, kind: &ScalarType, oid: Id) -> Option<String> {
        match kind {
            ScalarType::Regclass => self.class_name(oid).map(|name| quote_identifier(&name)),
            ScalarType::Regtype => self.type_name(oid, -1),
            ScalarType::Regnamespace => {
                SCHEMAS.iter().find(|(_, known)| *known == oid).map(|(name, _)| (*name).to_owned())
            }
            _ => None,
        }
    }

    fn object_oid(&self, kind: &ScalarType, name: &str) -> Option<Id> {
        match kind {
            ScalarType::Regclass => self.class_oid(name),
            ScalarType::Regtype => self.type_oid(name),
            ScalarType::Regnamespace => {
                let parts = parse_identifier(name, true).ok()?;
                let [wanted] = parts.as_slice() else { return None };
                SCHEMAS.iter().find(|(known, _)| known == wanted).map(|(_, oid)| *oid)
            }
            _ => None,
        }
    }
}
