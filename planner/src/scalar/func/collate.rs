//! Keys of collations, which nobody calls by name: see `scalar::collation`.

use super::arguments::{bytea, text};
use super::{FunctionDefinition, strict};
use crate::scalar::collation;
use repr::{Collation, Datum, ValueError};

pub(super) const FUNCTIONS: &[FunctionDefinition] = &[
    // What was written, where that is told by more than the type.
    strict("COLLATE(anycompatible, oid) anycompatible", |_, a, _| Ok(a[0].clone())),
    strict("COLLATION KEY(text, oid) bytea", |_, a, _| {
        let Datum::Oid(id) = &a[1] else { return Err(ValueError::new("XX000", "a collation is an OID")) };
        Ok(Datum::Bytea(collation::key(Collation(*id), text(&a[0])?)?.into()))
    }),
    strict("COLLATED TEXT(bytea) text", |_, a, _| {
        let found = collation::text_of(bytea(&a[0])?);
        found.map(|text| Datum::Text(text.into())).ok_or_else(|| ValueError::new("XX000", "this is no collation's key"))
    }),
];
