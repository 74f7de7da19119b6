//! The schemas, the one extension and what else is there of itself, by their OIDs.

/// `pg_catalog`
pub(crate) const PG_CATALOG: u32 = 11;
/// `public`
pub(crate) const PUBLIC: u32 = 2200;
/// `information_schema`
pub(crate) const INFORMATION_SCHEMA: u32 = 13_223;
/// `dogwood`: relations of our own.
pub(crate) const DOGWOOD: u32 = 15_000;

/// The schemas that are the system's own, with their OIDs.
pub(crate) const SYSTEM: [(&str, u32); 4] =
    [("pg_catalog", PG_CATALOG), ("pg_toast", 99), ("information_schema", INFORMATION_SCHEMA), ("dogwood", DOGWOOD)];

/// What functions are written in.
pub(crate) const LANGUAGES: [(&str, u32); 3] =
    [("internal", 12), ("sql", 14), ("plpgsql", super::extension::PLPGSQL_LANGUAGE)];

/// The places that PostgreSQL's tools look for.
pub(crate) const TABLESPACES: [(&str, u32); 2] = [("pg_default", 1663), ("pg_global", 1664)];
