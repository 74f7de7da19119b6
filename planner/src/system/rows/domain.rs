//! Domains in information_schema and pg_type.

use super::information::{digits, length_max, number, time_parts, yes};
use super::object::PG_CLASS;
use super::{Rows, Source, optional, text};
use crate::catalog::row_type::relation_of;
use crate::catalog::{Check, CreatedType, Domain, TypeKind};
use crate::resolve::domain::{of_elements, value_table};
use crate::scalar::collation;
use crate::system::builtin::PG_TYPE;
use crate::system::definition_text::DefinitionText;
use repr::Datum;
use std::collections::BTreeSet;

impl Source<'_> {
    fn all_domains(&self) -> impl Iterator<Item = (&CreatedType, &Domain)> {
        self.catalog.types.values().filter_map(|found| Some((&**found, found.domain()?)))
    }

    /// What a domain is over: the name of the type, the schema that it stands in, and its name there.
    fn information_below(&self, domain: &Domain) -> (String, &str, String) {
        if let Some(below) = self.catalog.types.get(&domain.base.domain) {
            let schema = self.catalog.namespace_name(below.namespace).unwrap_or_default();
            return ("USER-DEFINED".to_owned(), schema, below.name.clone());
        }
        let (data_type, schema, udt) = self.information_type(&domain.base.scalar);
        // Where PostgreSQL tells of columns it says no more than that they are arrays.
        let data_type = if domain.base.scalar.is_array() { domain.base.scalar.format_type(-1) } else { data_type };
        (data_type, schema, udt)
    }

    pub(super) fn domains(&self, database: &str, rows: &mut Rows) {
        let shown = DefinitionText::new(self.environment);
        for (found, domain) in self.all_domains() {
            let (scalar, modifier) = (&domain.base.scalar, domain.base.modifier);
            let (data_type, schema, udt) = self.information_below(domain);
            let below = domain.base.domain != 0;
            let collation = Some(domain.base.collation).filter(|own| !own.is_default()).and_then(collation::name);
            let (interval_type, fraction) = time_parts(scalar, modifier);
            let [precision, radix, scale] = if below { [const { Datum::Null }; 3] } else { digits(scalar, modifier) };
            let length = if below { Datum::Null } else { length_max(scalar, modifier) };
            rows.add(&[
                ("domain_catalog", text(database)),
                ("domain_schema", self.schema(found.namespace)),
                ("domain_name", text(&found.name)),
                ("data_type", text(&data_type)),
                ("character_maximum_length", length),
                ("collation_catalog", optional(collation.map(|_| database))),
                ("collation_schema", optional(collation.map(|_| "pg_catalog"))),
                ("collation_name", optional(collation)),
                ("numeric_precision", precision),
                ("numeric_precision_radix", radix),
                ("numeric_scale", scale),
                ("datetime_precision", fraction.map_or(Datum::Null, Datum::Int4)),
                ("interval_type", optional(interval_type.as_deref())),
                ("domain_default", optional(shown.domain_default(domain).as_deref())),
                ("udt_catalog", text(database)),
                ("udt_schema", text(schema)),
                ("udt_name", text(&udt)),
                ("dtd_identifier", text(&number(1).as_i64().unwrap_or(1).to_string())),
            ]);
        }
    }

    pub(super) fn domain_constraints(&self, database: &str, rows: &mut Rows) {
        for (found, domain) in self.all_domains() {
            for check in &domain.checks {
                rows.add(&[
                    ("constraint_catalog", text(database)),
                    ("constraint_schema", self.schema(found.namespace)),
                    ("constraint_name", text(&check.constraint.name)),
                    ("domain_catalog", text(database)),
                    ("domain_schema", self.schema(found.namespace)),
                    ("domain_name", text(&found.name)),
                    ("is_deferrable", yes(false)),
                    ("initially_deferred", yes(false)),
                ]);
            }
        }
    }

    /// A domain or a range needs the created type that it is over, a composite those of its attributes: pg_dump makes these first.
    /// A multirange belongs to its range.
    pub(super) fn type_dependencies(&self, rows: &mut Rows) {
        for found in self.catalog.types.values() {
            if let TypeKind::Multirange(of) = &found.kind {
                rows.add(&[
                    ("classid", Datum::Oid(PG_TYPE)),
                    ("objid", Datum::Oid(found.id)),
                    ("refclassid", Datum::Oid(PG_TYPE)),
                    ("refobjid", Datum::Oid(of.id)),
                    ("deptype", text("i")),
                ]);
            }
            let of_domain = found.domain().into_iter().filter_map(|domain| match domain.base.domain {
                0 => domain.base.scalar.unarrayed().created(),
                other => Some(other),
            });
            let attributes = found.composite().into_iter().flat_map(|composite| &composite.attributes);
            let of_attributes = attributes.filter_map(|own| match own.column_type.domain {
                0 => own.column_type.scalar.unarrayed().created(),
                domain => Some(domain),
            });
            let of_range = found.range().and_then(|range| range.of.subtype().unarrayed().created());
            let below = of_domain.chain(of_attributes).chain(of_range);
            let below = below.map(|id| of_elements(self.catalog, id).unwrap_or(id));
            for below in below.collect::<BTreeSet<_>>() {
                rows.add(&[
                    ("classid", Datum::Oid(PG_TYPE)),
                    ("objid", Datum::Oid(found.id)),
                    ("refclassid", Datum::Oid(PG_TYPE)),
                    ("refobjid", Datum::Oid(below)),
                    ("deptype", text("n")),
                ]);
            }
        }
    }

    /// A column of a table's rows needs their type, and that its table.
    pub(super) fn row_type_dependencies(&self, rows: &mut Rows) {
        let mut used = BTreeSet::new();
        for table in self.catalog.stored_tables() {
            for (place, column) in table.live_columns() {
                let row = column.column_type.scalar.unarrayed().created().filter(|id| relation_of(*id).is_some());
                let Some(row) = row else { continue };
                used.insert(row);
                rows.add(&[
                    ("classid", Datum::Oid(PG_CLASS)),
                    ("objid", Datum::Oid(table.id.0)),
                    ("objsubid", Datum::Int4(i32::try_from(place + 1).unwrap_or(i32::MAX))),
                    ("refclassid", Datum::Oid(PG_TYPE)),
                    ("refobjid", Datum::Oid(row)),
                    ("deptype", text("n")),
                ]);
            }
        }
        for row in used {
            rows.add(&[
                ("classid", Datum::Oid(PG_TYPE)),
                ("objid", Datum::Oid(row)),
                ("refclassid", Datum::Oid(PG_CLASS)),
                ("refobjid", Datum::Oid(relation_of(row).map_or(0, |table| table.0))),
                ("deptype", text("i")),
            ]);
        }
    }

    /// Of `check_constraints` those of domains.
    pub(super) fn domain_checks(&self, database: &str, rows: &mut Rows) {
        if rows.relation.name != "check_constraints" {
            return;
        }
        let shown = DefinitionText::new(self.environment);
        for (found, domain) in self.all_domains() {
            for check in &domain.checks {
                let clause = format!("({})", shown.domain_condition(domain, check, false));
                rows.add(&[
                    ("constraint_catalog", text(database)),
                    ("constraint_schema", self.schema(found.namespace)),
                    ("constraint_name", text(&check.constraint.name)),
                    ("check_clause", text(&clause)),
                ]);
            }
        }
    }

    pub(super) fn domain_types(&self, database: &str, rows: &mut Rows) {
        for (found, domain) in self.all_domains() {
            let (_, schema, udt) = self.information_below(domain);
            rows.add(&[
                ("udt_catalog", text(database)),
                ("udt_schema", text(schema)),
                ("udt_name", text(&udt)),
                ("domain_catalog", text(database)),
                ("domain_schema", self.schema(found.namespace)),
                ("domain_name", text(&found.name)),
            ]);
        }
    }

    pub(super) fn domain_columns(&self, database: &str, rows: &mut Rows) {
        for table in self.catalog.relations.values().filter(|table| !table.is_maintained()) {
            for (_, column) in table.live_columns() {
                let Some(found) = self.catalog.types.get(&column.column_type.domain) else { continue };
                rows.add(&[
                    ("domain_catalog", text(database)),
                    ("domain_schema", self.schema(found.namespace)),
                    ("domain_name", text(&found.name)),
                    ("table_catalog", text(database)),
                    ("table_schema", self.schema(table.namespace)),
                    ("table_name", text(&table.name)),
                    ("column_name", text(&column.name)),
                ]);
            }
        }
    }
}

impl DefinitionText {
    /// A domain's default, as it is shown.
    pub(crate) fn domain_default(&self, domain: &Domain) -> Option<String> {
        let table = value_table(&domain.base);
        let column = crate::catalog::Column {
            default: Some(crate::catalog::DefaultValue::Expr(domain.default.clone()?)),
            ..table.columns.first()?.clone()
        };
        self.default(&table, &column)
    }

    /// A condition of a domain, as it is shown.
    pub(crate) fn domain_condition(&self, domain: &Domain, check: &Check, pretty: bool) -> String {
        self.expression(&value_table(&domain.base), &check.expression, pretty)
    }
}
