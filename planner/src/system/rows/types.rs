//! pg_type, pg_enum, and what pg_range says of created ranges.

use super::super::builtin;
use super::super::builtin::function;
use super::super::definition_text::DefinitionText;
use super::object::storage;
use super::{Rows, Source, flag, text};
use crate::catalog::composite::class_of;
use crate::catalog::{ArrayNames, CreatedType, Domain, NamespaceId};
use repr::types::RangeType;
use repr::{Datum, ScalarType};

impl Source<'_> {
    pub(super) fn types(&self, rows: &mut Rows) {
        self.recorded(rows);
        let arrays = self.catalog.array_names();
        for found in self.catalog.types.values() {
            if let Some(domain) = found.domain() {
                self.domain_type(rows, found, domain, &arrays);
                continue;
            }
            let Some(scalar) = found.scalar() else { continue };
            let owner = ("typowner", self.owner(found.id));
            let acl = ("typacl", self.acl(found.id));
            one(rows, &scalar, (found.namespace, &found.name), &[owner.clone(), acl]);
            one(rows, &scalar.array(), (found.namespace, &arrays.of(found.id, &found.name)), &[owner]);
        }
        for table in self.catalog.relations.values() {
            let Some(row) = table.row_type().map(ScalarType::Record) else { continue };
            let owner = [("typowner", self.owner(table.id.0))];
            one(rows, &row, (table.namespace, &table.name), &owner);
            one(rows, &row.array(), (table.namespace, &arrays.of(table.id.0, &table.name)), &owner);
        }
    }

    fn domain_type(&self, rows: &mut Rows, found: &CreatedType, domain: &Domain, arrays: &ArrayNames) {
        let scalar = &domain.base.scalar;
        let below = if domain.base.domain == 0 { scalar.oid() } else { domain.base.domain };
        let modifier = if domain.base.domain == 0 { domain.base.modifier } else { -1 };
        let collation = if domain.base.collation.is_default() { scalar.collation() } else { domain.base.collation.0 };
        let function = |name: &str| Datum::Oid(function::by_name(name).next().map_or(0, |function| function.oid));
        let own = builtin::type_by_id(scalar.oid());
        let of_base = |column: &str| own.as_ref().map_or(Datum::Oid(0), |row| Datum::Oid(row.id(column)));
        let align = own.as_ref().map_or("i", |row| row.text("typalign"));
        let default = DefinitionText::new(self.environment).domain_default(domain);
        let mut values = vec![
            ("oid", Datum::Oid(found.id)),
            ("typname", text(&found.name)),
            ("typnamespace", Datum::Oid(found.namespace.0)),
            ("typowner", self.owner(found.id)),
            ("typacl", self.acl(found.id)),
            ("typlen", Datum::Int2(scalar.length())),
            ("typbyval", flag((1..=8).contains(&scalar.length()))),
            ("typtype", text("d")),
            ("typcategory", text(&scalar.category().to_string())),
            ("typispreferred", flag(false)),
            ("typisdefined", flag(true)),
            ("typdelim", text(",")),
            ("typinput", function("domain_in")),
            ("typoutput", of_base("typoutput")),
            ("typreceive", function("domain_recv")),
            ("typsend", of_base("typsend")),
            ("typalign", text(align)),
            ("typstorage", text(storage(scalar))),
            ("typarray", Datum::Oid(if scalar.is_array() { 0 } else { found.id + 1 })),
            ("typnotnull", flag(domain.not_null)),
            ("typbasetype", Datum::Oid(below)),
            ("typtypmod", Datum::Int4(modifier)),
            ("typndims", Datum::Int4(i32::from(scalar.is_array()))),
            ("typcollation", Datum::Oid(collation)),
        ];
        if let Some(default) = &default {
            values.extend([("typdefault", text(default)), ("typdefaultbin", text(default))]);
        }
        rows.add(&values);
        if !scalar.is_array() {
            let of_array = TypeRow::of(&scalar.array());
            let align = if align == "d" { "d" } else { "i" };
            let mut array = of_array.functions();
            array.extend([
                ("oid", Datum::Oid(found.id + 1)),
                ("typname", text(&arrays.of(found.id, &found.name))),
                ("typnamespace", Datum::Oid(found.namespace.0)),
                ("typowner", self.owner(found.id)),
                ("typlen", Datum::Int2(-1)),
                ("typbyval", flag(false)),
                ("typtype", text(of_array.letter)),
                ("typcategory", text("A")),
                ("typispreferred", flag(false)),
                ("typisdefined", flag(true)),
                ("typdelim", text(&scalar.delimiter().to_string())),
                ("typelem", Datum::Oid(found.id)),
                ("typalign", text(align)),
                ("typstorage", text("x")),
                ("typtypmod", Datum::Int4(-1)),
                ("typcollation", Datum::Oid(collation)),
            ]);
            rows.add(&array);
        }
    }

    /// pg_range of created ranges.
    pub(super) fn ranges(&self, rows: &mut Rows) {
        for range in self.catalog.types.values().filter_map(|found| found.range()) {
            rows.add(&[
                ("rngtypid", Datum::Oid(range.of.id)),
                ("rngsubtype", Datum::Oid(range.of.subtype().oid())),
                ("rngmultitypid", Datum::Oid(range.of.multirange_id())),
                ("rngcollation", Datum::Oid(range.collation.0)),
                ("rngsubopc", Datum::Oid(range.operator_class)),
                ("rngcanonical", Datum::Oid(0)),
                ("rngsubdiff", Datum::Oid(range.difference)),
            ]);
        }
    }

    pub(super) fn enum_labels(&self, rows: &mut Rows) {
        for found in self.catalog.types.values() {
            for label in found.enumeration().iter().flat_map(|found| &found.labels) {
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

/// What PostgreSQL calls a kind of created types, and the beginning of its functions' names.
struct TypeRow {
    letter: &'static str,
    functions: &'static str,
    analyze: &'static str,
    align: &'static str,
}

impl TypeRow {
    fn of(scalar: &ScalarType) -> TypeRow {
        let kind = |letter, functions, analyze, align| TypeRow { letter, functions, analyze, align };
        // Whatever a range is over stands within it where it would stand by itself.
        let align = |range: &RangeType| match builtin::type_by_id(range.subtype().oid()).map(|own| own.text("typalign"))
        {
            Some("d") => "d",
            Some(_) => "i",
            None => TypeRow::of(range.subtype().unarrayed()).align,
        };
        match scalar {
            ScalarType::Array(element) => kind("b", "array", "array_typanalyze", TypeRow::of(element).align),
            ScalarType::Record(_) => kind("c", "record", "", "d"),
            ScalarType::Range(range) => kind("r", "range", "range_typanalyze", align(range)),
            ScalarType::Multirange(range) => kind("m", "multirange", "multirange_typanalyze", align(range)),
            _ => kind("e", "enum", "", "i"),
        }
    }

    fn functions(&self) -> Vec<(&'static str, Datum)> {
        let called = |name: &str| Datum::Oid(function::by_name(name).next().map_or(0, |function| function.oid));
        let function = |what: &str| called(&format!("{}_{what}", self.functions));
        vec![
            ("typsubscript", if self.letter == "b" { called("array_subscript_handler") } else { Datum::Oid(0) }),
            ("typinput", function("in")),
            ("typoutput", function("out")),
            ("typreceive", function("recv")),
            ("typsend", function("send")),
            ("typanalyze", called(self.analyze)),
        ]
    }
}

/// An enumeration, a composite or a table's rows, a range or a multirange, or its array.
fn one(rows: &mut Rows, scalar: &ScalarType, (namespace, name): (NamespaceId, &str), rights: &[(&'static str, Datum)]) {
    let element = scalar.element();
    let is_array = element.is_some();
    let record = scalar.composite();
    let kind = TypeRow::of(scalar);
    let length = scalar.length();
    let mut row = rights.to_vec();
    row.extend(kind.functions());
    row.extend([
        ("oid", Datum::Oid(scalar.oid())),
        ("typname", text(name)),
        ("typnamespace", Datum::Oid(namespace.0)),
        ("typlen", Datum::Int2(length)),
        ("typbyval", flag((1..=8).contains(&length))),
        ("typtype", text(kind.letter)),
        ("typrelid", Datum::Oid(record.map_or(0, |record| class_of(record.id)))),
        ("typcategory", text(&scalar.category().to_string())),
        ("typispreferred", flag(scalar.is_preferred())),
        ("typisdefined", flag(true)),
        ("typdelim", text(",")),
        ("typelem", Datum::Oid(element.map_or(0, |element| element.oid()))),
        ("typarray", Datum::Oid(if is_array { 0 } else { scalar.array_oid() })),
        ("typalign", text(kind.align)),
        ("typstorage", text(storage(scalar))),
        ("typtypmod", Datum::Int4(-1)),
        ("typcollation", Datum::Oid(scalar.collation())),
    ]);
    rows.add(&row);
}
