//! pg_type and pg_enum.

use super::object::storage;
use super::{OWNER, PG_CATALOG, PUBLIC, Rows, Source, flag, text};
use repr::{Datum, ScalarType};

/// `array_in`, by which clients tell arrays.
const ARRAY_IN: u32 = 750;

impl Source<'_> {
    pub(super) fn types(&self, rows: &mut Rows) {
        for scalar in ScalarType::all_built_in() {
            let name = scalar.type_name();
            let kind = if scalar.is_pseudo() { "p" } else { "b" };
            one(rows, &scalar, &name, PG_CATALOG, kind);
            if scalar.array_oid() != 0 && !matches!(scalar, ScalarType::Array(_)) {
                one(rows, &scalar.array(), &format!("_{name}"), PG_CATALOG, "b");
            }
        }
        for found in self.catalog.enums.values() {
            let scalar = ScalarType::Enum(found.id);
            one(rows, &scalar, &found.name, PUBLIC, "e");
            one(rows, &scalar.array(), &format!("_{}", found.name), PUBLIC, "b");
        }
    }

    pub(super) fn enum_labels(&self, rows: &mut Rows) {
        for found in self.catalog.enums.values() {
            for (place, label) in found.labels.iter().enumerate() {
                // Labels have no OIDs of their own in the catalog.
                let id = 0xC000_0000 | (found.id << 12) | (place as u32 & 0xfff);
                rows.add(&[
                    ("oid", Datum::Oid(id)),
                    ("enumtypid", Datum::Oid(found.id)),
                    ("enumsortorder", Datum::Float4(place as f32 + 1.0)),
                    ("enumlabel", text(label)),
                ]);
            }
        }
    }
}

fn one(rows: &mut Rows, scalar: &ScalarType, name: &str, schema: u32, kind: &str) {
    let element = scalar.element();
    let is_array = matches!(scalar, ScalarType::Array(_));
    let id = scalar.oid();
    let length = scalar.length();
    rows.add(&[
        ("oid", Datum::Oid(id)),
        ("typname", text(name)),
        ("typnamespace", Datum::Oid(schema)),
        ("typowner", Datum::Oid(OWNER)),
        ("typlen", Datum::Int2(length)),
        ("typbyval", flag((1..=8).contains(&length))),
        ("typtype", text(kind)),
        ("typcategory", text(&scalar.category().to_string())),
        ("typispreferred", flag(scalar.is_preferred())),
        ("typisdefined", flag(true)),
        ("typdelim", text(",")),
        ("typelem", Datum::Oid(element.map_or(0, |element| element.oid()))),
        ("typarray", Datum::Oid(if is_array { 0 } else { scalar.array_oid() })),
        // Clients only look whether there are binary functions, and whether a type is an array.
        ("typinput", Datum::Oid(if is_array { ARRAY_IN } else { id })),
        ("typoutput", Datum::Oid(id)),
        ("typreceive", Datum::Oid(id)),
        ("typsend", Datum::Oid(id)),
        ("typalign", text("i")),
        ("typstorage", text(storage(scalar))),
        ("typtypmod", Datum::Int4(-1)),
        ("typcollation", Datum::Oid(scalar.collation())),
    ]);
}
