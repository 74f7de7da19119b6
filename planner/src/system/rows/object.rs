//! pg_class, pg_attribute, pg_attrdef, pg_index, pg_sequence, pg_description, pg_depend, pg_rewrite.

use super::super::comments::{comments, shared_comments};
use super::super::extension;
use super::super::schemas::{DOGWOOD, INFORMATION_SCHEMA};
use super::{HEAP, OWNER, PG_CATALOG, Rows, Source, array, flag, small, text, vector};
use crate::catalog::composite::class_of;
use crate::catalog::own_tables::is_own;
use crate::catalog::{Column, DefaultValue, Index, IndexMethod, Table, dropped_name};
use crate::ownership::blanking;
use crate::resolve::ddl::index_key::key_names;
use crate::scalar::collation;
use crate::system::definition_text::DefinitionText;
use crate::system::{SystemRelation, access_list, builtin, opclass, relations};
use repr::id::is_temporary;
use repr::{ColumnIndex, ColumnType, Datum, RelationId, ScalarType};

/// OID of the relation pg_class, of things that hang on tables.
pub(super) const PG_CLASS: u32 = 1259;

/// OID of the relation pg_attrdef.
const PG_ATTRDEF: u32 = 2604;

/// OID of the relation pg_namespace.
const PG_NAMESPACE: u32 = 2615;

/// OID of the relation pg_extension.
pub(super) const PG_EXTENSION: u32 = 3079;

/// OID of the relation pg_rewrite.
const PG_REWRITE: u32 = 2618;

/// The OID of the rule that makes a view, which has none in the catalog.
pub(super) fn rule_id(view: &Table) -> u32 {
    0x4000_0000 | view.id.0
}

/// A default's own OID: it has none in the catalog, so that of its table and column serves.
fn default_id(table: &Table, column: usize) -> u32 {
    // Above all OIDs that are handed out one by one, and stable.
    0x8000_0000 | (table.id.0 << 11) | (column as u32 & 0x7ff)
}

pub(super) fn schema_id(relation: &SystemRelation) -> u32 {
    match relation.schema {
        "pg_catalog" => PG_CATALOG,
        "information_schema" => INFORMATION_SCHEMA,
        _ => DOGWOOD,
    }
}

/// The OID of a collation by its name, or else of the column's own.
fn collation(named: Option<&str>, column: &ColumnType) -> u32 {
    match named.and_then(collation::named) {
        Some(found) => found.0,
        None if column.collation.is_default() => column.scalar.collation(),
        None => column.collation.0,
    }
}

pub(super) fn storage(scalar: &ScalarType) -> &'static str {
    match scalar {
        ScalarType::Numeric => "m",
        other if other.length() == -1 => "x",
        _ => "p",
    }
}

fn options(table: &Table) -> Datum {
    let view = table.view.iter().flat_map(|view| &view.options).map(|(name, value)| format!("{name}={value}"));
    let lag = (table.max_lag_ms > 0).then(|| format!("max_lag={}", table.max_lag_ms));
    let all: Vec<Datum> = view.chain(lag).map(|option| text(&option)).collect();
    if all.is_empty() { Datum::Null } else { array(all) }
}

impl Source<'_> {
    /// A row of pg_class.
    fn class(&self, rows: &mut Rows, (id, name, schema): (u32, &str, u32), kind: &str, more: &[(&'static str, Datum)]) {
        let mut values = vec![
            ("oid", Datum::Oid(id)),
            ("relname", text(name)),
            ("relnamespace", Datum::Oid(schema)),
            ("relfilenode", Datum::Oid(id)),
            ("reltuples", self.rows_of(RelationId(id))),
            ("relpersistence", text(if is_temporary(id) { "t" } else { "p" })),
            ("relkind", text(kind)),
            ("relispopulated", flag(true)),
            ("relreplident", text(if matches!(kind, "r" | "m") { "d" } else { "n" })),
        ];
        values.extend(more.iter().cloned());
        rows.add(&values);
    }

    pub(super) fn classes(&self, rows: &mut Rows) {
        for relation in relations().iter().filter(|relation| self.wanted.has(relation.id.0, relation.name)) {
            let kind = if relation.is_view { "v" } else { "r" };
            let more = [
                ("relnatts", small(relation.columns.len())),
                ("relam", Datum::Oid(if relation.is_view { 0 } else { HEAP })),
                ("relowner", Datum::Oid(OWNER)),
                ("relacl", self.written(&access_list::of_system(relation))),
            ];
            self.class(rows, (relation.id.0, relation.name, schema_id(relation)), kind, &more);
        }
        let referenced: std::collections::BTreeSet<_> =
            self.catalog.relations.values().flat_map(|table| table.foreign_keys.iter().map(|key| key.target)).collect();
        for table in self.tables() {
            // psql asks for foreign keys, both ways, only of a table with triggers.
            let keys = !table.foreign_keys.is_empty() || referenced.contains(&table.id);
            let (kind, method) = match &table.view {
                None => ("r", HEAP),
                Some(view) if view.materialized => ("m", HEAP),
                Some(_) => ("v", 0),
            };
            let more = [
                ("relnatts", small(table.columns.len())),
                ("relam", Datum::Oid(method)),
                ("reltype", Datum::Oid(table.row_type().map_or(0, |row| row.id))),
                ("relhasrules", flag(!table.is_stored())),
                ("relhasindex", flag(shown_indexes(table).next().is_some())),
                ("relchecks", small(table.checks.len())),
                ("relhastriggers", flag(keys || !table.triggers.is_empty())),
                ("relrowsecurity", flag(self.security(table.id).is_some_and(|found| found.enabled))),
                ("relforcerowsecurity", flag(self.security(table.id).is_some_and(|found| found.forced))),
                ("reloptions", options(table)),
                ("relowner", self.owner(table.id.0)),
                ("relacl", self.acl(table.id.0)),
            ];
            self.class(rows, (table.id.0, &table.name, table.namespace.0), kind, &more);
            for index in shown_indexes(table) {
                let columns = index.columns.len() + index.declared.include.len();
                let (method, _) = index.declared.method.oids();
                let more =
                    [("relnatts", small(columns)), ("relam", Datum::Oid(method)), ("relowner", self.owner(table.id.0))];
                self.class(rows, (index.id.0, &index.name, table.namespace.0), "i", &more);
            }
        }
        self.composite_classes(rows);
        for sequence in self.catalog.sequences.values() {
            let more =
                [("relnatts", small(3)), ("relowner", self.owner(sequence.id.0)), ("relacl", self.acl(sequence.id.0))];
            self.class(rows, (sequence.id.0, &sequence.name, sequence.namespace.0), "S", &more);
        }
    }

    fn composite_classes(&self, rows: &mut Rows) {
        for found in self.catalog.types.values() {
            let Some(composite) = found.composite() else { continue };
            let more = [
                ("relnatts", small(composite.attributes.len())),
                ("reltype", Datum::Oid(found.id)),
                ("relowner", self.owner(found.id)),
            ];
            self.class(rows, (class_of(found.id), &found.name, found.namespace.0), "c", &more);
        }
    }

    pub(super) fn attributes(&self, rows: &mut Rows) {
        self.composite_attributes(rows);
        let shown = DefinitionText::new(self.environment);
        for relation in relations().iter().filter(|relation| self.wanted.has(relation.id.0, relation.name)) {
            for (place, column) in relation.columns.iter().enumerate() {
                attribute(rows, relation.id.0, place, column.name, &ColumnType::nullable(column.scalar.clone()), &[]);
            }
        }
        let blanked = blanking::all_blanked(self.catalog);
        for table in self.tables() {
            for (place, column) in table.columns.iter().enumerate() {
                let nullable = column.column_type.nullable || blanked.contains(&(table.id, place));
                // Nobody knows of the keys of indexes on expressions, and the numbers have no gaps.
                let dropped = column.dropped || column.hidden;
                let mut more = vec![
                    ("attnotnull", flag(!nullable && !dropped)),
                    ("attisdropped", flag(dropped)),
                    ("atthasmissing", flag(column.missing.is_some())),
                    ("attacl", self.column_acl(table.id, place)),
                ];
                if !column.column_type.collation.is_default() {
                    more.push(("attcollation", Datum::Oid(collation(None, &column.column_type))));
                }
                if dropped {
                    more.push(("atttypid", Datum::Oid(0)));
                }
                if column.hidden {
                    attribute(rows, table.id.0, place, &dropped_name(place), &column.column_type, &more);
                    continue;
                }
                match &column.default {
                    Some(DefaultValue::Identity { always, .. }) => {
                        more.push(("attidentity", text(if *always { "a" } else { "d" })));
                    }
                    Some(DefaultValue::Generated(_)) => more.push(("attgenerated", text("s"))),
                    Some(DefaultValue::Expr(_) | DefaultValue::Serial(_)) | None => {}
                }
                more.push(("atthasdef", flag(shown.default(table, column).is_some())));
                attribute(rows, table.id.0, place, &column.name, &column.column_type, &more);
            }
            for index in shown_indexes(table) {
                let keys = index.declared.all_columns(&index.columns);
                for (place, (&column, name)) in keys.iter().zip(key_names(table, &keys)).enumerate() {
                    attribute(rows, index.id.0, place, &name, &table.columns[column].column_type, &[]);
                }
            }
        }
    }

    fn composite_attributes(&self, rows: &mut Rows) {
        for found in self.catalog.types.values() {
            for (place, own) in found.composite().iter().flat_map(|found| &found.attributes).enumerate() {
                let collated = ("attcollation", Datum::Oid(collation(None, &own.column_type)));
                attribute(rows, class_of(found.id), place, &own.name, &own.column_type, &[collated]);
            }
        }
    }

    pub(super) fn defaults(&self, rows: &mut Rows) {
        let shown = DefinitionText::new(self.environment);
        for table in self.tables() {
            for (place, column) in table.live_columns() {
                if let Some(expression) = shown.default(table, column) {
                    rows.add(&[
                        ("oid", Datum::Oid(default_id(table, place))),
                        ("adrelid", Datum::Oid(table.id.0)),
                        ("adnum", small(place + 1)),
                        ("adbin", text(&expression)),
                    ]);
                }
            }
        }
    }

    pub(super) fn indexes(&self, rows: &mut Rows) {
        let shown = DefinitionText::new(self.environment);
        for table in self.tables() {
            for index in shown_indexes(table) {
                let primary = table.primary_key == Some(index.id);
                let columns: Vec<&Column> = index.columns.iter().map(|&column| &table.columns[column]).collect();
                let all = index.declared.all_columns(&index.columns);
                // An expression has no number.
                let number = |column: ColumnIndex| if table.columns[column].hidden { 0 } else { column + 1 };
                let by_column = |value: &dyn Fn(usize, &Column) -> Datum| {
                    vector(columns.iter().enumerate().map(|(place, column)| value(place, column)).collect())
                };
                let option = |place: usize, _: &Column| {
                    let declared = index.declared.column(place);
                    Datum::Int2(i16::from(declared.descending) + 2 * i16::from(declared.nulls_first))
                };
                let class = |place: usize, column: &Column| {
                    let method = index.declared.method.name();
                    let found = match &index.declared.column(place).class {
                        Some(name) => opclass::find(method, name),
                        None => opclass::default(method, &column.column_type.scalar),
                    };
                    Datum::Oid(found.map_or(0, |found| found.oid))
                };
                let collated = |place: usize, column: &Column| {
                    let declared = index.declared.column(place);
                    Datum::Oid(collation(declared.collation.as_deref(), &column.column_type))
                };
                rows.add(&[
                    ("indexrelid", Datum::Oid(index.id.0)),
                    ("indrelid", Datum::Oid(table.id.0)),
                    ("indnatts", small(all.len())),
                    ("indnkeyatts", small(columns.len())),
                    ("indisunique", flag(index.unique)),
                    ("indnullsnotdistinct", flag(index.declared.nulls_not_distinct)),
                    ("indisprimary", flag(primary)),
                    ("indimmediate", flag(!index.constraint.as_ref().is_some_and(|constraint| constraint.deferrable))),
                    ("indisvalid", flag(true)),
                    ("indisready", flag(true)),
                    ("indislive", flag(true)),
                    ("indkey", vector(all.iter().map(|&column| small(number(column))).collect())),
                    ("indcollation", by_column(&collated)),
                    ("indclass", by_column(&class)),
                    ("indoption", by_column(&option)),
                    ("indexprs", Self::index_expressions(&shown, table, index)),
                    ("indpred", Self::index_predicate(&shown, table, index)),
                ]);
            }
        }
    }

    pub(super) fn operator_classes(&self, rows: &mut Rows) {
        for class in opclass::built_in() {
            rows.add(&[
                ("oid", Datum::Oid(class.oid)),
                ("opcmethod", Datum::Oid(IndexMethod::named(class.method).unwrap_or_default().oids().0)),
                ("opcname", text(class.name)),
                ("opcnamespace", Datum::Oid(PG_CATALOG)),
                ("opcowner", Datum::Oid(OWNER)),
                ("opcfamily", Datum::Oid(class.family)),
                ("opcintype", Datum::Oid(class.input)),
                ("opcdefault", flag(class.is_default)),
                ("opckeytype", Datum::Oid(class.key)),
            ]);
        }
        self.recorded_of_extensions(rows);
    }

    pub(super) fn sequences(&self, rows: &mut Rows) {
        for sequence in self.catalog.sequences.values() {
            rows.add(&[
                ("seqrelid", Datum::Oid(sequence.id.0)),
                ("seqtypid", Datum::Oid(sequence.data_type.oid())),
                ("seqstart", Datum::Int8(sequence.start)),
                ("seqincrement", Datum::Int8(sequence.increment)),
                ("seqmax", Datum::Int8(sequence.max_value)),
                ("seqmin", Datum::Int8(sequence.min_value)),
                ("seqcache", Datum::Int8(sequence.cache)),
                ("seqcycle", flag(sequence.cycle)),
            ]);
        }
    }

    pub(super) fn descriptions(&self, rows: &mut Rows) {
        for comment in comments(self.catalog) {
            rows.add(&[
                ("objoid", Datum::Oid(comment.object)),
                ("classoid", Datum::Oid(comment.class)),
                ("objsubid", Datum::Int4(i32::try_from(comment.number).unwrap_or(i32::MAX))),
                ("description", text(comment.text)),
            ]);
        }
        let named: std::collections::BTreeSet<(u32, u32, usize)> =
            comments(self.catalog).iter().map(|comment| (comment.object, comment.class, comment.number)).collect();
        for loose in &self.catalog.loose_comments {
            let key = loose.key;
            // Its object came later, and has a comment of its own.
            if usize::try_from(key.part).is_ok_and(|part| named.contains(&(key.object, key.class, part))) {
                continue;
            }
            rows.add(&[
                ("objoid", Datum::Oid(key.object)),
                ("classoid", Datum::Oid(key.class)),
                ("objsubid", Datum::Int4(key.part)),
                ("description", text(&loose.text)),
            ]);
        }
        for (class, object, description) in builtin::descriptions() {
            rows.add(&[
                ("objoid", Datum::Oid(object)),
                ("classoid", Datum::Oid(class)),
                ("description", text(description)),
            ]);
        }
    }

    /// Comments on roles and databases.
    pub(super) fn shared_descriptions(&self, rows: &mut Rows) {
        for comment in shared_comments(self.catalog, &self.actor) {
            rows.add(&[
                ("objoid", Datum::Oid(comment.object)),
                ("classoid", Datum::Oid(comment.class)),
                ("description", text(comment.text)),
            ]);
        }
    }

    /// What makes each view, as PostgreSQL shows it.
    pub(super) fn rewrites(&self, rows: &mut Rows) {
        for (table, _) in self.catalog.views() {
            rows.add(&[
                ("oid", Datum::Oid(rule_id(table))),
                ("rulename", text("_RETURN")),
                ("ev_class", Datum::Oid(table.id.0)),
                ("ev_type", text("1")),
                ("ev_enabled", text("O")),
                ("is_instead", flag(true)),
                ("ev_qual", text("<>")),
            ]);
        }
    }

    /// A view's rule hangs on the view, and on what its query reads.
    fn view_dependencies(&self, rows: &mut Rows) {
        for (table, view) in self.catalog.views() {
            let mut add = |relation: u32, column: usize, kind: &str| {
                rows.add(&[
                    ("classid", Datum::Oid(PG_REWRITE)),
                    ("objid", Datum::Oid(rule_id(table))),
                    ("refclassid", Datum::Oid(PG_CLASS)),
                    ("refobjid", Datum::Oid(relation)),
                    ("refobjsubid", Datum::Int4(i32::try_from(column).unwrap_or(i32::MAX))),
                    ("deptype", text(kind)),
                ]);
            };
            add(table.id.0, 0, "i");
            for (relation, columns) in &view.reads {
                if columns.is_empty() {
                    add(relation.0, 0, "n");
                }
                columns.iter().for_each(|column| add(relation.0, column + 1, "n"));
            }
        }
    }

    /// Sequences hang on the columns that own them: auto for serial, internal for identity. Views on what they read.
    pub(super) fn dependencies(&self, rows: &mut Rows) {
        self.view_dependencies(rows);
        let ours = relations().iter().filter(|relation| relation.schema == "dogwood");
        let stored = self.catalog.relations.keys().filter(|relation| is_own(relation.0));
        let ours = ours.map(|relation| &relation.id).chain(stored).map(|relation| (PG_CLASS, relation.0));
        for (class, id) in ours.chain([(PG_NAMESPACE, DOGWOOD)]) {
            rows.add(&[
                ("classid", Datum::Oid(class)),
                ("objid", Datum::Oid(id)),
                ("refclassid", Datum::Oid(PG_EXTENSION)),
                ("refobjid", Datum::Oid(extension::OF_DOGWOOD)),
                ("deptype", text("e")),
            ]);
        }
        self.dependencies_of_extensions(rows);
        self.default_dependencies(rows);
        self.type_dependencies(rows);
        self.routine_dependencies(rows);
        self.operator_dependencies(rows);
        self.row_type_dependencies(rows);
        for sequence in self.catalog.sequences.values() {
            let Some((table, column)) = sequence.owned_by else { continue };
            let identity = self.catalog.table(table).is_some_and(|table| {
                table
                    .columns
                    .get(column)
                    .is_some_and(|column| matches!(column.default, Some(DefaultValue::Identity { .. })))
            });
            rows.add(&[
                ("classid", Datum::Oid(PG_CLASS)),
                ("objid", Datum::Oid(sequence.id.0)),
                ("refclassid", Datum::Oid(PG_CLASS)),
                ("refobjid", Datum::Oid(table.0)),
                ("refobjsubid", Datum::Int4(i32::try_from(column + 1).unwrap_or(i32::MAX))),
                ("deptype", text(if identity { "i" } else { "a" })),
            ]);
        }
    }
}

impl Source<'_> {
    fn index_predicate(shown: &DefinitionText, table: &Table, index: &Index) -> Datum {
        let predicate = index.declared.predicate.as_ref();
        predicate.map_or(Datum::Null, |predicate| text(&shown.expression(table, &predicate.expression, false)))
    }

    fn index_expressions(shown: &DefinitionText, table: &Table, index: &Index) -> Datum {
        let expressions = table.expression_keys().filter(|(column, ..)| index.columns.contains(column));
        let expressions: Vec<String> = expressions.map(|(_, _, text)| shown.expression(table, text, false)).collect();
        if expressions.is_empty() { Datum::Null } else { text(&expressions.join(", ")) }
    }

    /// A default hangs on its column, and needs its sequence: pg_dump makes the three in that order.
    fn default_dependencies(&self, rows: &mut Rows) {
        let shown = DefinitionText::new(self.environment);
        for table in self.catalog.relations.values() {
            for (place, column) in table.columns.iter().enumerate() {
                if shown.default(table, column).is_none() {
                    continue;
                }
                let mut row = |relation: u32, number: usize, kind: &str| {
                    rows.add(&[
                        ("classid", Datum::Oid(PG_ATTRDEF)),
                        ("objid", Datum::Oid(default_id(table, place))),
                        ("refclassid", Datum::Oid(PG_CLASS)),
                        ("refobjid", Datum::Oid(relation)),
                        ("refobjsubid", Datum::Int4(i32::try_from(number).unwrap_or(i32::MAX))),
                        ("deptype", text(kind)),
                    ]);
                };
                row(table.id.0, place + 1, "a");
                if let Some(DefaultValue::Serial(sequence)) = &column.default {
                    row(sequence.0, 0, "n");
                }
            }
        }
    }
}

/// The indexes that users made; automatic ones stay out of sight.
pub(super) fn shown_indexes(table: &Table) -> impl Iterator<Item = &Index> {
    // The server finds its own rows by indexes that are nobody else's concern.
    table.indexes.iter().filter(|index| !index.automatic && !is_own(table.id.0))
}

fn attribute(
    rows: &mut Rows,
    relation: u32,
    place: usize,
    name: &str,
    column_type: &ColumnType,
    more: &[(&'static str, Datum)],
) {
    let scalar = &column_type.scalar;
    let mut values: Vec<(&'static str, Datum)> = more.to_vec();
    values.extend([
        ("attrelid", Datum::Oid(relation)),
        ("attname", text(name)),
        ("atttypid", Datum::Oid(if column_type.domain == 0 { scalar.oid() } else { column_type.domain })),
        ("attstattarget", Datum::Int4(-1)),
        ("attlen", Datum::Int2(scalar.length())),
        ("attnum", small(place + 1)),
        ("attndims", Datum::Int4(i32::from(scalar.is_array()))),
        ("attcacheoff", Datum::Int4(-1)),
        // Of a domain it stands with the domain.
        ("atttypmod", Datum::Int4(if column_type.domain == 0 { column_type.modifier } else { -1 })),
        ("attbyval", flag((1..=8).contains(&scalar.length()))),
        ("attalign", text("i")),
        ("attstorage", text(storage(scalar))),
        ("attislocal", flag(true)),
        ("attcollation", Datum::Oid(scalar.collation())),
    ]);
    rows.add(&values);
}
