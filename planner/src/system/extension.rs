//! Extensions: what CREATE EXTENSION knows, what is there without it, and what was created.

use crate::catalog::Catalog;
use repr::Id;

/// An extension that there can be.
pub(crate) struct Extension {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its version, as PostgreSQL 15's.
    pub(crate) version: &'static str,
    /// The schema that its objects are in.
    pub(crate) schema: Id,
    /// What it is.
    pub(crate) comment: &'static str,
}

/// What CREATE EXTENSION knows.
pub(crate) const KNOWN: &[Extension] = &[
    Extension {
        name: "plpgsql",
        version: "1.0",
        schema: super::schemas::PG_CATALOG,
        comment: "PL/pgSQL procedural language",
    },
    Extension { name: "pgcrypto", version: "1.3", schema: super::schemas::PUBLIC, comment: "cryptographic functions" },
    Extension {
        name: "uuid-ossp",
        version: "1.1",
        schema: super::schemas::PUBLIC,
        comment: "generate universally unique identifiers (UUIDs)",
    },
    Extension {
        name: "pg_trgm",
        version: "1.6",
        schema: super::schemas::PUBLIC,
        comment: "text similarity measurement and index searching based on trigrams",
    },
    Extension {
        name: "citext",
        version: "1.6",
        schema: super::schemas::PUBLIC,
        comment: "data type for case-insensitive character strings",
    },
    Extension {
        name: "hstore",
        version: "1.8",
        schema: super::schemas::PUBLIC,
        comment: "data type for storing sets of (key, value) pairs",
    },
    Extension {
        name: "unaccent",
        version: "1.1",
        schema: super::schemas::PUBLIC,
        comment: "text search dictionary that removes accents",
    },
];

/// OID of the language that it makes.
pub(crate) const PLPGSQL_LANGUAGE: Id = 13_571;

/// What is there without being created, and its OID.
const ALWAYS: (&str, Id) = ("plpgsql", 13_568);

/// What there is without being created, and is not listed: tools that write down which extensions a schema wants would have it made
/// where there is none.
pub(crate) const OWN: &str = "dogwood";

/// The extension that the schema `dogwood` counts as a part of, so that pg_dump leaves it out.
pub(crate) const OF_DOGWOOD: Id = ALWAYS.1;

/// The extension of that name.
pub(crate) fn named(name: &str) -> Option<&'static Extension> {
    KNOWN.iter().find(|extension| extension.name == name)
}

/// Those that are there, and the OIDs of their `pg_extension` rows.
pub(crate) fn installed(catalog: &Catalog) -> impl Iterator<Item = (Id, &'static Extension)> {
    KNOWN.iter().filter_map(|extension| Some((id(catalog, extension.name)?, extension)))
}

/// The OID of an extension that is there.
pub(crate) fn id(catalog: &Catalog, name: &str) -> Option<Id> {
    always(name).or_else(|| catalog.extensions.get(name).copied())
}

/// The OID of one that is there without being created.
pub(crate) fn always(name: &str) -> Option<Id> {
    (name == ALWAYS.0).then_some(ALWAYS.1)
}
