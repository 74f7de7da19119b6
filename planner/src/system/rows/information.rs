//! information_schema: tables, columns, constraints, schemata, sequences.

use super::{Rows, Source, optional, text};
use crate::catalog::{
    Catalog, CheckOption, Column, ConstraintName, DefaultValue, ForeignKey, NamespaceId, ObjectClass,
    ReferentialAction, Sequence, Table,
};
use crate::ownership::blanking;
use crate::resolve::domain::{chain, of_elements};
use crate::resolve::updatable::{updatable_columns, writes_of};
use crate::scalar::collation;
use crate::system::asker::Asker;
use crate::system::definition_text::DefinitionText;
use crate::system::schemas::{INFORMATION_SCHEMA, PG_CATALOG};
use repr::id::is_temporary;
use repr::{ColumnType, Datum, Id, ScalarType, SequenceId};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) fn yes(value: bool) -> Datum {
    text(if value { "YES" } else { "NO" })
}

pub(super) fn number(value: usize) -> Datum {
    Datum::Int4(i32::try_from(value).unwrap_or(i32::MAX))
}

fn rule(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::NoAction => "NO ACTION",
        ReferentialAction::Restrict => "RESTRICT",
        ReferentialAction::Cascade => "CASCADE",
        ReferentialAction::SetNull => "SET NULL",
        ReferentialAction::SetDefault => "SET DEFAULT",
    }
}

impl Source<'_> {
    pub(super) fn information_schema(&self, name: &str, rows: &mut Rows) {
        let database = self.environment.database();
        match name {
            "information_schema_catalog_name" => rows.add(&[("catalog_name", text(&database))]),
            "schemata" => self.information_schemata(&database, rows),
            "tables" => self.information_tables(&database, rows),
            "columns" => {
                let blanked = blanking::all_blanked(self.catalog);
                let shown = DefinitionText::new(self.environment);
                let asker = self.asker();
                for table in self.tables().filter(|table| !table.is_maintained()) {
                    let updatable = updatable_columns(self.catalog, table);
                    for (ordinal, (place, column)) in table.live_columns().enumerate() {
                        if !asker.sees_column(table, place) {
                            continue;
                        }
                        let required = || {
                            let mut levels = chain(self.catalog, column.column_type.domain);
                            levels.any(|(_, domain)| domain.not_null)
                        };
                        let nullable =
                            column.column_type.nullable && !required() || blanked.contains(&(table.id, place));
                        let default = shown.default(table, column);
                        self.information_column(
                            &database,
                            table,
                            ordinal,
                            (column, nullable, default, updatable.contains(&place)),
                            rows,
                        );
                    }
                }
            }
            "table_constraints"
            | "key_column_usage"
            | "constraint_column_usage"
            | "referential_constraints"
            | "check_constraints" => {
                for table in self.catalog.relations.values() {
                    self.information_constraints(&database, table, rows);
                }
                self.domain_checks(&database, rows);
            }
            "collations" | "collation_character_set_applicability" | "character_sets" => {
                self.information_texts(name, &database, rows);
            }
            "domains" => self.domains(&database, rows),
            "domain_constraints" => self.domain_constraints(&database, rows),
            "domain_udt_usage" => self.domain_types(&database, rows),
            "column_domain_usage" => self.domain_columns(&database, rows),
            "routines" => self.information_routines(&database, rows),
            "parameters" => self.information_parameters(&database, rows),
            "sequences" => self.information_sequences(&database, rows),
            "views" => self.information_views(&database, rows),
            "triggers" => self.information_triggers(&database, rows),
            "view_table_usage" | "view_column_usage" => self.view_usage(&database, rows),
            other => self.information_privileges(other, rows),
        }
    }

    /// How texts are written and ordered.
    fn information_texts(&self, view: &str, database: &str, rows: &mut Rows) {
        const CHARACTERS: &str = "UTF8";
        if view == "character_sets" {
            return rows.add(&[
                ("character_set_name", text(CHARACTERS)),
                ("character_repertoire", text("UCS")),
                ("form_of_use", text(CHARACTERS)),
                ("default_collate_catalog", text(database)),
                ("default_collate_schema", text("pg_catalog")),
                // Of those that order as the database does, the one of the longest name, as PostgreSQL has it.
                ("default_collate_name", text("ucs_basic")),
            ]);
        }
        for (_, known) in collation::all() {
            let mut values = vec![
                ("collation_catalog", text(database)),
                ("collation_schema", text("pg_catalog")),
                ("collation_name", text(&known.name)),
            ];
            values.push(match view {
                "collations" => ("pad_attribute", text("NO PAD")),
                _ => ("character_set_name", text(CHARACTERS)),
            });
            rows.add(&values);
        }
    }

    /// Those that whoever asks owns, or where they may find or make something.
    fn information_schemata(&self, database: &str, rows: &mut Rows) {
        let asker = self.asker();
        let created = self.catalog.namespaces.iter().map(|(id, found)| (found.name.as_str(), id.0));
        let system = [("pg_catalog", PG_CATALOG), ("information_schema", INFORMATION_SCHEMA)];
        for (name, id) in system.into_iter().chain(created) {
            let is_own = id == NamespaceId::PG_TEMP.0;
            if is_own || asker.owns(id) || !asker.on(ObjectClass::Schema, id).privileges.is_empty() {
                rows.add(&[
                    ("catalog_name", text(database)),
                    ("schema_name", text(name)),
                    ("schema_owner", self.owner_name(id)),
                ]);
            }
        }
    }

    fn information_sequences(&self, database: &str, rows: &mut Rows) {
        let asker = self.asker();
        let identities: BTreeSet<SequenceId> = self.catalog.relations.values().flat_map(identity_sequences).collect();
        let others = self.catalog.sequences.iter().filter(|(id, _)| !identities.contains(id));
        for (_, sequence) in others.filter(|(_, sequence)| asker.sees_sequence(sequence)) {
            let [precision, radix, scale] = digits(&sequence.data_type, -1);
            rows.add(&[
                ("sequence_catalog", text(database)),
                ("sequence_schema", self.schema(sequence.namespace)),
                ("sequence_name", text(&sequence.name)),
                ("data_type", text(&sequence.data_type.format_type(-1))),
                ("numeric_precision", precision),
                ("numeric_precision_radix", radix),
                ("numeric_scale", scale),
                ("start_value", text(&sequence.start.to_string())),
                ("minimum_value", text(&sequence.min_value.to_string())),
                ("maximum_value", text(&sequence.max_value.to_string())),
                ("increment", text(&sequence.increment.to_string())),
                ("cycle_option", yes(sequence.cycle)),
            ]);
        }
    }

    fn information_views(&self, database: &str, rows: &mut Rows) {
        let asker = self.asker();
        let views = self.catalog.views().filter(|(_, view)| !view.materialized);
        for (table, view) in views.filter(|(table, _)| asker.sees(table)) {
            // What it is made of is its owner's to know.
            let definition = if asker.owns(table.id.0) { self.view_definition(view) } else { Datum::Null };
            let check_option = match view.check_option() {
                None => "NONE",
                Some(CheckOption::Local) => "LOCAL",
                Some(CheckOption::Cascaded) => "CASCADED",
            };
            let writes = writes_of(self.catalog, table);
            rows.add(&[
                ("table_catalog", text(database)),
                ("table_schema", self.schema(table.namespace)),
                ("table_name", text(&table.name)),
                ("view_definition", definition),
                ("check_option", text(check_option)),
                ("is_updatable", yes(writes & 0b1_0100 == 0b1_0100)),
                ("is_insertable_into", yes(writes & 0b1000 == 0b1000)),
                ("is_trigger_updatable", yes(false)),
                ("is_trigger_deletable", yes(false)),
                ("is_trigger_insertable_into", yes(false)),
            ]);
        }
    }

    fn view_usage(&self, database: &str, rows: &mut Rows) {
        let (by_column, asker) = (rows.relation.name == "view_column_usage", self.asker());
        for (table, view) in self.catalog.views().filter(|(_, view)| !view.materialized) {
            for (relation, columns) in &view.reads {
                let Some(read) = self.catalog.table(*relation).filter(|read| asker.owns(read.id.0)) else { continue };
                let mut add = |more: Option<(&'static str, Datum)>| {
                    let mut values = vec![
                        ("view_catalog", text(database)),
                        ("view_schema", self.schema(table.namespace)),
                        ("view_name", text(&table.name)),
                        ("table_catalog", text(database)),
                        ("table_schema", self.schema(read.namespace)),
                        ("table_name", text(&read.name)),
                    ];
                    values.extend(more);
                    rows.add(&values);
                };
                if by_column {
                    columns.iter().for_each(|&column| add(Some(("column_name", text(&read.columns[column].name)))));
                } else {
                    add(None);
                }
            }
        }
    }

    fn information_tables(&self, database: &str, rows: &mut Rows) {
        let asker = self.asker();
        let system = crate::system::relations().iter().filter(|relation| asker.sees_system(relation));
        let system = system.map(|relation| {
            (relation.schema, relation.name, if relation.is_view { "VIEW" } else { "BASE TABLE" }, false)
        });
        // Materialized views are no part of the standard, and stay out.
        let ours = self.tables().filter(|table| !table.is_maintained());
        let ours = ours.filter(|table| asker.sees(table)).map(|table| {
            let schema = self.catalog.namespace_name(table.namespace).unwrap_or_default();
            let kind = match table.is_stored() {
                true if is_temporary(table.id.0) => "LOCAL TEMPORARY",
                true => "BASE TABLE",
                false => "VIEW",
            };
            (schema, table.name.as_str(), kind, writes_of(self.catalog, table) & 8 == 8)
        });
        for (schema, name, kind, insertable) in system.chain(ours) {
            rows.add(&[
                ("table_catalog", text(database)),
                ("table_schema", text(schema)),
                ("table_name", text(name)),
                ("table_type", text(kind)),
                ("is_insertable_into", yes(insertable)),
                ("is_typed", yes(false)),
            ]);
        }
    }

    fn information_column(
        &self,
        database: &str,
        table: &Table,
        ordinal: usize,
        (column, nullable, default, updatable): (&Column, bool, Option<String>, bool),
        rows: &mut Rows,
    ) {
        let scalar = &column.column_type.scalar;
        let modifier = column.column_type.modifier;
        let (data_type, schema, udt) = self.type_of_column(column);
        let (default, generated) = match &column.default {
            Some(DefaultValue::Generated(_)) => (None, default),
            Some(DefaultValue::Expr(_) | DefaultValue::Serial(_) | DefaultValue::Identity { .. }) | None => {
                (default, None)
            }
        };
        let identity = match &column.default {
            Some(DefaultValue::Identity { always, .. }) => Some(if *always { "ALWAYS" } else { "BY DEFAULT" }),
            Some(DefaultValue::Expr(_) | DefaultValue::Serial(_) | DefaultValue::Generated(_)) | None => None,
        };
        let (interval_type, fraction) = time_parts(scalar, modifier);
        let length = length_max(scalar, modifier);
        let [precision, radix, scale] = digits(scalar, modifier);
        let sequence = match &column.default {
            Some(DefaultValue::Identity { sequence, .. }) => self.catalog.sequences.get(sequence),
            Some(DefaultValue::Expr(_) | DefaultValue::Serial(_) | DefaultValue::Generated(_)) | None => None,
        };
        let counted =
            |value: fn(&Sequence) -> i64| sequence.map_or(Datum::Null, |sequence| text(&value(sequence).to_string()));
        let mut values = self.names_of_column(database, column);
        values.extend([
            ("table_catalog", text(database)),
            ("table_schema", self.schema(table.namespace)),
            ("table_name", text(&table.name)),
            ("column_name", text(&column.name)),
            ("ordinal_position", number(ordinal + 1)),
            ("column_default", optional(default.as_deref())),
            ("is_nullable", yes(nullable)),
            ("data_type", text(&data_type)),
            ("character_maximum_length", length),
            ("datetime_precision", fraction.map_or(Datum::Null, Datum::Int4)),
            ("interval_type", optional(interval_type.as_deref())),
            ("numeric_precision", precision),
            ("numeric_precision_radix", radix),
            ("numeric_scale", scale),
            ("udt_catalog", text(database)),
            ("udt_schema", text(schema)),
            ("udt_name", text(&udt)),
            ("dtd_identifier", text(&(ordinal + 1).to_string())),
            ("is_identity", yes(identity.is_some())),
            ("identity_generation", optional(identity)),
            ("identity_start", counted(|sequence| sequence.start)),
            ("identity_increment", counted(|sequence| sequence.increment)),
            ("identity_maximum", counted(|sequence| sequence.max_value)),
            ("identity_minimum", counted(|sequence| sequence.min_value)),
            ("identity_cycle", yes(sequence.is_some_and(|sequence| sequence.cycle))),
            ("is_generated", text(if generated.is_some() { "ALWAYS" } else { "NEVER" })),
            ("generation_expression", optional(generated.as_deref())),
            ("is_updatable", yes(updatable)),
        ]);
        rows.add(&values);
    }

    /// Its collation and its domain.
    fn names_of_column(&self, database: &str, column: &Column) -> Vec<(&'static str, Datum)> {
        let domain = self.catalog.types.get(&column.column_type.domain);
        let collation = Some(column.column_type.collation).filter(|own| !own.is_default()).and_then(collation::name);
        vec![
            ("collation_catalog", optional(collation.map(|_| database))),
            ("collation_schema", optional(collation.map(|_| "pg_catalog"))),
            ("collation_name", optional(collation)),
            ("domain_catalog", optional(domain.map(|_| database))),
            ("domain_schema", domain.map_or(Datum::Null, |found| self.schema(found.namespace))),
            ("domain_name", optional(domain.map(|found| found.name.as_str()))),
        ]
    }

    /// What `information_type` says of a column's type; of a domain, of what that is over.
    fn type_of_column(&self, column: &Column) -> (String, &str, String) {
        let ColumnType { scalar, domain, .. } = &column.column_type;
        let lowest = chain(self.catalog, *domain).last().map_or(*domain, |(_, lowest)| lowest.base.domain);
        match of_elements(self.catalog, lowest) {
            Some(element) => {
                let (schema, name) = self.created_array(element);
                ("ARRAY".to_owned(), schema, name)
            }
            None => self.information_type(scalar),
        }
    }

    /// The name of a type, the schema that it stands in, and its name there.
    pub(super) fn information_type(&self, scalar: &ScalarType) -> (String, &str, String) {
        match scalar {
            ScalarType::Array(element) => {
                let (schema, name) = match element.created() {
                    Some(id) => self.created_array(id),
                    None => (schema_of(scalar), scalar.type_name()),
                };
                ("ARRAY".to_owned(), schema, name)
            }
            other if other.extension().is_some() => ("USER-DEFINED".to_owned(), schema_of(other), other.type_name()),
            other => match other.created() {
                Some(id) => {
                    let (schema, name) = self.created_name(id);
                    ("USER-DEFINED".to_owned(), schema, name.to_owned())
                }
                None => (other.format_type(-1), "pg_catalog", other.type_name()),
            },
        }
    }

    /// The schema and name of a created type.
    fn created_name(&self, id: Id) -> (&str, &str) {
        let found = self.catalog.types.get(&id).map(|found| (found.namespace, found.name.as_str()));
        let row = || self.catalog.table_of_row_type(id).map(|table| (table.namespace, table.name.as_str()));
        let Some((namespace, name)) = found.or_else(row) else { return ("", "") };
        (self.catalog.namespace_name(namespace).unwrap_or_default(), name)
    }

    /// The schema of the array over a created type, and its name.
    fn created_array(&self, element: Id) -> (&str, String) {
        let (schema, name) = self.created_name(element);
        let relation = self.catalog.table_of_row_type(element).map_or(element, |table| table.id.0);
        (schema, self.catalog.array_names().of(relation, name).into_owned())
    }

    /// Every constraint of a table.
    fn information_constraints(&self, database: &str, table: &Table, rows: &mut Rows) {
        let asker = self.asker();
        let is_shown = match rows.relation.name {
            "check_constraints" => asker.owns(table.id.0),
            "key_column_usage" | "constraint_column_usage" => true,
            _ => asker.sees_constraints(table),
        };
        if !is_shown {
            return;
        }
        let mut rows = ConstraintRows { view: rows.relation.name, database, catalog: self.catalog, asker, table, rows };
        for index in &table.indexes {
            let Some(constraint) = &index.constraint else { continue };
            let kind = if table.primary_key == Some(index.id) { "PRIMARY KEY" } else { "UNIQUE" };
            match rows.view {
                "table_constraints" => {
                    let nulls_distinct = yes(!index.declared.nulls_not_distinct);
                    rows.of_table(constraint, kind, if kind == "UNIQUE" { nulls_distinct } else { Datum::Null });
                }
                "key_column_usage" | "constraint_column_usage" => {
                    rows.columns(&constraint.name, table, &index.columns, None);
                }
                _ => {}
            }
        }
        let shown = DefinitionText::new(self.environment);
        for check in &table.checks {
            match rows.view {
                "table_constraints" => rows.of_table(&check.constraint, "CHECK", Datum::Null),
                "check_constraints" => {
                    let clause = format!("({})", shown.expression(table, &check.expression, false));
                    rows.add(&check.constraint.name, &[("check_clause", text(&clause))]);
                }
                _ => {}
            }
        }
        for key in &table.foreign_keys {
            if let Some(target) = self.catalog.table(key.target) {
                rows.foreign_key(key, target);
            }
        }
    }
}

/// The constraint views share their first columns; each keeps those that it has.
struct ConstraintRows<'r, 'w> {
    view: &'static str,
    database: &'r str,
    catalog: &'r Catalog,
    asker: Asker<'r>,
    table: &'r Table,
    rows: &'r mut Rows<'w>,
}

impl ConstraintRows<'_, '_> {
    /// What is said comes first: of two values of one column the first counts.
    fn add(&mut self, name: &str, more: &[(&'static str, Datum)]) {
        let mut values = more.to_vec();
        values.extend([
            ("constraint_catalog", text(self.database)),
            ("constraint_schema", self.schema(self.table)),
            ("constraint_name", text(name)),
            ("table_catalog", text(self.database)),
            ("table_schema", self.schema(self.table)),
        ]);
        self.rows.add(&values);
    }

    fn schema(&self, table: &Table) -> Datum {
        text(self.catalog.namespace_name(table.namespace).unwrap_or_default())
    }

    fn of_table(&mut self, constraint: &ConstraintName, kind: &str, nulls_distinct: Datum) {
        let values = [
            ("table_name", text(&self.table.name)),
            ("constraint_type", text(kind)),
            ("is_deferrable", yes(constraint.deferrable)),
            ("initially_deferred", yes(constraint.initially_deferred)),
            ("enforced", yes(true)),
            ("nulls_distinct", nulls_distinct),
        ];
        self.add(&constraint.name, &values);
    }

    fn columns(&mut self, name: &str, owner: &Table, columns: &[usize], positions: Option<&[usize]>) {
        for (place, &column) in columns.iter().enumerate() {
            let is_shown = match self.view {
                "constraint_column_usage" => self.asker.owns(owner.id.0),
                _ => self.asker.sees_column(owner, column),
            };
            if !is_shown {
                continue;
            }
            let position = positions.map_or(Datum::Null, |positions| number(positions[place]));
            let values = [
                ("table_schema", self.schema(owner)),
                ("table_name", text(&owner.name)),
                ("column_name", text(&owner.columns[column].name)),
                ("ordinal_position", number(place + 1)),
                ("position_in_unique_constraint", position),
            ];
            self.add(name, &values);
        }
    }

    fn foreign_key(&mut self, key: &ForeignKey, target: &Table) {
        let constraint = &key.constraint;
        let unique = target.whole_indexes().find(|index| {
            index.unique
                && index.columns.len() == key.target_columns.len()
                && key.target_columns.iter().all(|column| index.columns.contains(column))
        });
        match self.view {
            "table_constraints" => self.of_table(constraint, "FOREIGN KEY", Datum::Null),
            "key_column_usage" => {
                let place = |column: &usize| unique?.columns.iter().position(|other| other == column);
                let [columns, target_columns] = key.as_written();
                let positions = target_columns.iter().map(|column| place(column).map_or(1, |place| place + 1));
                let positions: Vec<usize> = positions.collect();
                self.columns(&constraint.name, self.table, &columns, Some(&positions));
            }
            "constraint_column_usage" => self.columns(&constraint.name, target, &key.target_columns, None),
            "referential_constraints" => {
                let unique = unique.and_then(|index| index.constraint.as_ref());
                let values = [
                    ("unique_constraint_catalog", text(self.database)),
                    ("unique_constraint_schema", self.schema(target)),
                    ("unique_constraint_name", optional(unique.map(|constraint| constraint.name.as_str()))),
                    ("match_option", text(if key.match_full { "FULL" } else { "NONE" })),
                    ("update_rule", text(rule(key.on_update))),
                    ("delete_rule", text(rule(key.on_delete))),
                ];
                self.add(&constraint.name, &values);
            }
            _ => {}
        }
    }
}

/// The schema of a type that nobody created by itself.
fn schema_of(scalar: &ScalarType) -> &'static str {
    if scalar.extension().is_some() { "public" } else { "pg_catalog" }
}

/// Which fields an interval has, where that is said, and how many digits stand behind its second, or a time's.
/// How many characters or bits a value of a type has at most, where that is said.
pub(super) fn length_max(scalar: &ScalarType, modifier: i32) -> Datum {
    match scalar {
        ScalarType::Varchar | ScalarType::Bpchar if modifier >= 4 => Datum::Int4(modifier - 4),
        ScalarType::Bit | ScalarType::VarBit if modifier >= 1 => Datum::Int4(modifier),
        _ => Datum::Null,
    }
}

/// Precision, its radix, and scale of a number's type.
pub(super) fn digits(scalar: &ScalarType, modifier: i32) -> [Datum; 3] {
    let known = |precision: i32, radix: i32, scale: Option<i32>| {
        [Datum::Int4(precision), Datum::Int4(radix), scale.map_or(Datum::Null, Datum::Int4)]
    };
    match scalar {
        ScalarType::Int2 => known(16, 2, Some(0)),
        ScalarType::Int4 => known(32, 2, Some(0)),
        ScalarType::Int8 => known(64, 2, Some(0)),
        ScalarType::Float4 => known(24, 2, None),
        ScalarType::Float8 => known(53, 2, None),
        ScalarType::Numeric => match repr::types::decode_numeric_modifier(modifier) {
            Some((precision, scale)) => known(precision, 10, Some(scale)),
            None => [Datum::Null, Datum::Int4(10), Datum::Null],
        },
        _ => [Datum::Null, Datum::Null, Datum::Null],
    }
}

/// The sequences of a table's identity columns.
fn identity_sequences(table: &Arc<Table>) -> impl Iterator<Item = SequenceId> {
    table.columns.iter().filter_map(|column| match &column.default {
        Some(DefaultValue::Identity { sequence, .. }) => Some(*sequence),
        Some(DefaultValue::Expr(_) | DefaultValue::Serial(_) | DefaultValue::Generated(_)) | None => None,
    })
}

pub(super) fn time_parts(scalar: &ScalarType, modifier: i32) -> (Option<String>, Option<i32>) {
    const MOST: i32 = 6;
    match scalar {
        ScalarType::Date => (None, Some(0)),
        ScalarType::Time | ScalarType::TimeTz | ScalarType::Timestamp | ScalarType::Timestamptz => {
            (None, Some(if modifier < 0 { MOST } else { modifier }))
        }
        ScalarType::Interval => {
            let named = scalar.format_type(modifier);
            let fields = named.strip_prefix("interval ").map(str::to_uppercase);
            (fields, Some(repr::types::decode_interval_modifier(modifier).1.unwrap_or(MOST)))
        }
        _ => (None, None),
    }
}
