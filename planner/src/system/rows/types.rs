//! pg_type and pg_enum.

use super::super::builtin::function;
use super::object::storage;
use super::{OWNER, Rows, Source, flag, text};
use crate::catalog::NamespaceId;
use repr::{Datum, ScalarType};

impl Source<'_> {
    pub(super) fn types(&self, rows: &mut Rows) {
        self.recorded(rows);
        for found in self.catalog.enums.values() {
            let scalar = ScalarType::Enum(found.id);
            one(rows, &scalar, found.namespace, &found.name);
            one(rows, &scalar.array(), found.namespace, &format!("_{}", found.name));
        }
    }

    pub(super) fn enum_labels(&self, rows: &mut Rows) {
        for found in self.catalog.enums.values() {
            for label in &found.labels {
                rows.add(&[
                    ("oid", Datum::Oid(label.id)),
                    ("enumtypid", Datum::Oid(found.id)),
                    ("enumsortorder", Datum::Float4(label.sort_order)),
                    ("enumlabel", text(&label.name)),
                ]);
            }
        }
    }
}

/// An enumeration, or its array.
fn one(rows: &mut Rows, scalar: &ScalarType, namespace: NamespaceId, name: &str) {
    let element = scalar.element();
    let is_array = element.is_some();
    let function = |of_enum: &str, of_array: &str| {
        let name = if is_array { of_array } else { of_enum };
        Datum::Oid(function::by_name(name).next().map_or(0, |function| function.oid))
    };
    let length = scalar.length();
    rows.add(&[
        ("oid", Datum::Oid(scalar.oid())),
        ("typname", text(name)),
        ("typnamespace", Datum::Oid(namespace.0)),
        ("typowner", Datum::Oid(OWNER)),
        ("typlen", Datum::Int2(length)),
        ("typbyval", flag((1..=8).contains(&length))),
        ("typtype", text(if is_array { "b" } else { "e" })),
        ("typcategory", text(&scalar.category().to_string())),
        ("typispreferred", flag(scalar.is_preferred())),
        ("typisdefined", flag(true)),
        ("typdelim", text(",")),
        ("typsubscript", function("", "array_subscript_handler")),
        ("typelem", Datum::Oid(element.map_or(0, |element| element.oid()))),
        ("typarray", Datum::Oid(if is_array { 0 } else { scalar.array_oid() })),
        ("typinput", function("enum_in", "array_in")),
        ("typoutput", function("enum_out", "array_out")),
        ("typreceive", function("enum_recv", "array_recv")),
        ("typsend", function("enum_send", "array_send")),
        ("typanalyze", function("", "array_typanalyze")),
        ("typalign", text("i")),
        ("typstorage", text(storage(scalar))),
        ("typtypmod", Datum::Int4(-1)),
        ("typcollation", Datum::Oid(scalar.collation())),
    ]);
}
