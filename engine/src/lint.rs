//! `dogwood lint`: what annotations a schema in a file is missing. Needs no data: a catalog in memory takes the definitions, and
//! EXPLAIN COMPLIANCE is asked of it.
//!
//! ```text
//! definition ─▶ parse ─▶ plan_ddl ─▶ catalog ─▶ compliance ─▶ remarks, each with the line of what it is about
//! ```
//! Expressions are not looked at: of what functions a default consists, says nothing about whose a row is.

use planner::catalog::{Actor, Catalog, Class, Column, DatabaseId, ForeignKey, RoleId, Scope, SearchPath, Table};
use planner::ownership::{About, ComplianceRow, Dog, compliance};
use planner::parse::statement::{ObjectName, Statement};
use planner::parse::utility::{Set, SetValue};
use planner::resolve::ddl::{Labels, plan_ddl, plan_restored};
use repr::id::FIRST_USER_ID;
use repr::{ColumnIndex, Id, RelationId};
use state::SqlError;
use std::collections::BTreeMap;
use std::sync::Arc;

pub use planner::ownership::Severity;

/// What became of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The schema has it.
    Defined,
    /// It says nothing about whose rows are.
    PassedOver,
}

/// Something that the report says of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The line of the column, the foreign key or the table that it is about.
    pub line: u64,
    /// An annotation is missing.
    pub is_missing: bool,
    /// The remark itself.
    pub row: ComplianceRow,
}

/// A schema as far as it has been read.
pub struct LintedSchema {
    catalog: Catalog,
    labels: Labels,
    search_path: String,
    lines: DefinedOn,
}

/// On which lines of the text things are defined.
#[derive(Default)]
struct DefinedOn {
    tables: BTreeMap<RelationId, u64>,
    columns: BTreeMap<(RelationId, ColumnIndex), u64>,
    foreign_keys: BTreeMap<Id, u64>,
}

impl Default for LintedSchema {
    fn default() -> Self {
        LintedSchema {
            catalog: Catalog::empty(0, FIRST_USER_ID),
            labels: Labels::TakeEffect,
            search_path: "public".to_owned(),
            lines: DefinedOn::default(),
        }
    }
}

impl LintedSchema {
    /// One of a whole dump, whose annotations come before what they name: they wait for `settle`.
    pub fn of_dump() -> LintedSchema {
        LintedSchema { labels: Labels::Wait, ..LintedSchema::default() }
    }

    /// What has waited takes effect.
    ///
    /// # Errors
    /// Those of the annotations.
    pub fn settle(&mut self) -> Result<(), SqlError> {
        self.catalog = plan_restored(&self.catalog, DatabaseId::FIRST, &|_expression| Ok(()))?.catalog;
        Ok(())
    }

    /// Takes a statement that begins on this line.
    ///
    /// # Errors
    /// Why it is not understood. The schema stays as it was.
    pub fn read(&mut self, line: u64, text: &str) -> Result<Read, SqlError> {
        let mut read = Read::PassedOver;
        for parsed in planner::parse::parse(text)? {
            if let Statement::Set(set) = &parsed.statement {
                self.set(set);
            }
            if let Statement::Reset(name) = &parsed.statement
                && name.as_ref().is_none_or(|name| name.eq_ignore_ascii_case("search_path"))
            {
                self.search("public");
            }
            if is_definition(&parsed.statement) {
                self.define(line, text, &parsed.statement)?;
                read = Read::Defined;
            }
        }
        Ok(read)
    }

    /// Where bare names are looked for from here on, as `search_path` has it.
    pub fn search(&mut self, path: &str) {
        path.clone_into(&mut self.search_path);
    }

    fn set(&mut self, set: &Set) {
        if set.name.eq_ignore_ascii_case("search_path") {
            let values = set.values.iter().flatten().filter_map(|value| match value {
                SetValue::Text(text) => Some(text.as_str()),
                SetValue::Number(_) => None,
            });
            self.search_path = values.collect::<Vec<_>>().join(", ");
        }
    }

    fn define(&mut self, line: u64, text: &str, statement: &Statement) -> Result<(), SqlError> {
        let path = self.path();
        let scope = Scope { catalog: &self.catalog, path: &path };
        let planned = plan_ddl(statement, scope, self.labels, &|_expression| Ok(()))?;
        self.lines.note(&self.catalog, &planned.catalog, line, text);
        self.catalog = planned.catalog;
        Ok(())
    }

    /// What the definitions have made so far.
    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// A column as `dogwood mask` calls it.
    pub(crate) fn full_name(&self, table: &Table, column: &Column) -> String {
        format!("{}.{}", self.catalog.full_name(table), column.name)
    }

    /// The table of that name. 42P01 if it was not defined.
    pub(crate) fn table(&self, name: &ObjectName) -> Result<Arc<Table>, SqlError> {
        let path = self.path();
        let scope = Scope { catalog: &self.catalog, path: &path };
        match scope.class((None, name.schema.as_deref()), &name.name) {
            Some(Class::Relation(table)) => Ok(Arc::clone(table)),
            _ => Err(SqlError::new("42P01", format!("table \"{}\" is not known", name.name))),
        }
    }

    /// Whether a CHECK asks for values of a column.
    pub(crate) fn is_checked(&self, table: &Table, column: &Column) -> bool {
        let is_in = |text: &str| {
            let mut words = text.split(|other: char| !other.is_alphanumeric() && other != '_');
            words.any(|word| word == column.name) || text.contains(&format!("\"{}\"", column.name))
        };
        table.checks.iter().any(|check| is_in(&check.expression))
    }

    fn path(&self) -> SearchPath {
        let actor = Actor::of_login(RoleId::FIRST, "controller".into());
        SearchPath::of(&self.search_path, actor, ("postgres", DatabaseId::FIRST), &self.catalog)
    }

    /// How many tables there are, and how many hold rows of people.
    pub fn counts(&self) -> (usize, usize) {
        let dog = Dog::new(&self.catalog);
        let tables = self.catalog.stored_tables();
        (self.catalog.stored_tables().count(), tables.filter(|table| dog.is_personal(table.id)).count())
    }

    /// What EXPLAIN COMPLIANCE says of it, in its order.
    pub fn remarks(&self) -> Vec<Remark> {
        let rows = compliance(&self.catalog).into_iter();
        rows.map(|row| Remark { line: self.lines.of(&row.about), is_missing: row.about.is_missing, row }).collect()
    }
}

/// Whether a statement defines tables, or what they are made of. Whatever else there is says nothing about whose rows are.
fn is_definition(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::CreateTable(_)
            | Statement::CreateTableAs(_)
            | Statement::AlterTable(_)
            | Statement::CreateIndex(_)
            | Statement::Rename { .. }
            | Statement::SetSchema { .. }
            | Statement::Drop { .. }
            | Statement::CreateSequence { .. }
            | Statement::AlterSequence { .. }
            | Statement::CreateDomain(_)
            | Statement::AlterDomain(_)
            | Statement::CreateEnum { .. }
            | Statement::CreateComposite(_)
            | Statement::AlterComposite(_)
            | Statement::AddEnumValue(_)
            | Statement::RenameEnumValue { .. }
            | Statement::CreateSchema(_)
            | Statement::CreateExtension { .. }
            | Statement::DropExtension { .. }
            | Statement::Comment { .. }
            | Statement::SecurityLabel { .. }
            | Statement::CreateRoutine(_)
            | Statement::AlterRoutine(_)
            | Statement::DropRoutines(_)
            | Statement::Operator(_)
            | Statement::Descriptions(_)
            | Statement::Do(_)
            | Statement::Unsupported { .. }
    )
}

impl DefinedOn {
    /// What a statement has made, by what is there after it and was not before.
    fn note(&mut self, before: &Catalog, after: &Catalog, line: u64, text: &str) {
        for table in after.stored_tables() {
            let old = before.table(table.id).map(AsRef::as_ref);
            if old.is_none() {
                self.tables.insert(table.id, line);
            }
            let known = old.map_or(0, |old| old.columns.len());
            for (index, column) in table.live_columns().filter(|(index, _)| *index >= known) {
                self.columns.insert((table.id, index), line + line_of(text, &column.name));
            }
            let is_new = |key: &&ForeignKey| !old.is_some_and(|old| has(old, key.constraint.id));
            for key in table.foreign_keys.iter().filter(is_new) {
                let of_column = key.columns.first().and_then(|column| self.columns.get(&(table.id, *column)));
                // One that stands at its column, in the same statement.
                let own = of_column.copied().filter(|at| *at >= line).unwrap_or(line);
                self.foreign_keys.insert(key.constraint.id, own);
            }
        }
    }

    fn of(&self, about: &About) -> u64 {
        let key = about.foreign_key.and_then(|key| self.foreign_keys.get(&key));
        let column = || about.columns.first().and_then(|column| self.columns.get(&(about.table, *column)));
        key.or_else(column).or_else(|| self.tables.get(&about.table)).copied().unwrap_or_default()
    }
}

fn has(table: &Table, constraint: Id) -> bool {
    table.foreign_keys.iter().any(|key| key.constraint.id == constraint)
}

/// On which line of a statement a column is defined: the first that begins with its name, as pg_dump writes it. Else the first.
fn line_of(text: &str, column: &str) -> u64 {
    let begins = |line: &str| {
        let line = line.trim_start().trim_start_matches(['(', ',']).trim_start();
        let quoted = format!("\"{}\"", column.replace('"', "\"\""));
        let rest = line.strip_prefix(&quoted).or_else(|| {
            let bare = line.get(..column.len()).filter(|start| start.eq_ignore_ascii_case(column))?;
            Some(&line[bare.len()..])
        });
        rest.is_some_and(|rest| rest.starts_with(char::is_whitespace))
    };
    text.lines().position(begins).map_or(0, |line| line as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str =
        "CREATE TABLE public.users (\n    id integer NOT NULL,\n    \"E mail\" text DEFAULT nobody_knows()\n)";

    fn schema(statements: &[(u64, &str)]) -> LintedSchema {
        let mut schema = LintedSchema::default();
        for (line, text) in statements {
            schema.read(*line, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
        schema
    }

    #[test]
    fn remarks_name_the_line_of_what_they_are_about() {
        let mut schema = schema(&[
            (1, "SELECT pg_catalog.set_config('search_path', '', false)"),
            (10, SCHEMA),
            (20, "CREATE TABLE public.notes (id integer NOT NULL,\n author integer)"),
            (30, "ALTER TABLE ONLY public.users ADD CONSTRAINT users_pkey PRIMARY KEY (id)"),
            (40, "ALTER TABLE ONLY public.notes ADD CONSTRAINT f FOREIGN KEY (author) REFERENCES public.users(id)"),
        ]);
        assert_eq!(schema.counts(), (2, 0));
        let missing = |schema: &LintedSchema| -> Vec<(u64, Severity)> {
            schema
                .remarks()
                .iter()
                .filter(|remark| remark.is_missing)
                .map(|remark| (remark.line, remark.row.severity))
                .collect()
        };
        assert_eq!(missing(&schema), [(40, Severity::Proposal), (12, Severity::Severe), (10, Severity::Proposal)]);
        schema.read(50, "COMMENT ON TABLE public.users IS 'people @data_subject'").expect("a tag");
        assert_eq!(missing(&schema), [(40, Severity::Warning), (40, Severity::Proposal)]);
        schema
            .read(51, "SECURITY LABEL FOR dogwood ON COLUMN public.notes.author IS 'OWNED_BY public.users(id)'")
            .expect("a label");
        assert_eq!((missing(&schema), schema.counts()), (Vec::new(), (2, 2)));
    }

    #[test]
    fn what_is_not_understood_changes_nothing() {
        let mut schema = schema(&[(1, SCHEMA)]);
        assert_eq!(schema.read(9, "CREATE TABLE t (a nothing)").expect_err("an unknown type").code, "42704");
        assert_eq!(
            schema.read(9, "CREATE FUNCTION f() RETURNS int AS 'x' LANGUAGE c").expect_err("a function").code,
            "0A000"
        );
        assert_eq!(schema.read(9, "CREATE TABLE t (").expect_err("half a statement").code, "42601");
        assert_eq!(schema.read(9, "INSERT INTO users VALUES (1)"), Ok(Read::PassedOver));
        assert_eq!(schema.counts(), (1, 0));
        assert_eq!(schema.read(9, "CREATE SCHEMA app"), Ok(Read::Defined));
        assert_eq!(schema.read(9, "SET search_path = app, pg_catalog; CREATE TABLE users (id int)"), Ok(Read::Defined));
        assert_eq!(schema.counts(), (2, 0));
    }
}
