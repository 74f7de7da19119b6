//! A person's own login: every table that it names is what GET would give the person of it.
//!
//! ```text
//! FROM stories           ─▶   subject_rows(stories, current_user)        found once a statement, by one traversal
//! UPDATE users SET name  ─▶   the same, of rows that are the person's alone to change
//! ```
//!
//! No right to a table is asked for reading, no policy and no shared view has a part in it. It changes what it owns where it was
//! granted UPDATE, but keys and references never; all else it may not write.

use super::write_subquery::given_rows;
use super::{PolicyUse, Resolver, Typed};
use crate::catalog::{Catalog, Table};
use crate::error::PlanError;
use crate::hir::{Hir, HirNode};
use crate::names::Names;
use crate::scalar::table_func::SUBJECT_ROWS;
use crate::system::schemas::DOGWOOD;
use crate::system::{self, SystemRelation};
use repr::{ColumnIndex, ColumnType, Datum, ScalarType};

impl Resolver<'_> {
    /// Whether a person's own login runs it. What it becomes is then for that login alone.
    pub(super) fn is_subject(&mut self) -> bool {
        let role = self.session.path.actor().role;
        let is = self.session.policies == PolicyUse::Apply && self.catalog.person_of(role).is_some();
        self.of_role |= is;
        is
    }

    /// The person's rows of a table: its physical columns, and their keys behind them.
    pub(super) fn subject_rows(&mut self, table: &Table, with_key: bool, owned: bool) -> Result<Hir, PlanError> {
        let mut types: Vec<ColumnType> =
            table.columns.iter().map(|column| ColumnType { nullable: true, ..column.column_type.clone() }).collect();
        let width = types.len();
        types.push(ColumnType::nullable(ScalarType::Bytea));
        let mut hir = given_rows(&SUBJECT_ROWS, 0, types, Names::default(), false);
        let who = self.call_named("current_user", Vec::new(), None)?.expr;
        if let HirNode::TableFunction { functions, .. } = &mut hir.node {
            let table = Typed::literal(Datum::Oid(table.id.0), ScalarType::Oid).expr;
            let owned = Typed::literal(Datum::Bool(owned), ScalarType::Bool).expr;
            functions[0].1 = vec![table, who, owned];
        }
        Ok(if with_key { hir } else { hir.project((0..width).collect()) })
    }

    /// 42501 for what the server tells of itself and of others. Of the audit log and the receipts it tells a person what is about them.
    pub(super) fn refuse_for_subject(&mut self, schema: Option<&str>, name: &str) -> Result<(), PlanError> {
        let is_own = crate::system::schemas::SYSTEM.iter().any(|(own, id)| *id == DOGWOOD && Some(*own) == schema);
        let found = schema.and_then(|schema| system::find(schema, name));
        let is_told = found.is_some_and(SystemRelation::is_told_to_persons);
        match is_own && !is_told && self.is_subject() {
            true => Err(PlanError::denied("view", name)),
            false => Ok(()),
        }
    }
}

/// 42501: a person's login adds and deletes nothing.
pub(super) fn may_not_write(table: &str) -> PlanError {
    PlanError::denied("table", table)
        .hint("A person's own login reads, corrects with UPDATE what it was granted, and forgets with GDPR FORGET.")
}

/// 42501 for keys and references.
pub(super) fn refuse_keys(
    catalog: &Catalog,
    table: &Table,
    assigned: impl IntoIterator<Item = ColumnIndex>,
) -> Result<(), PlanError> {
    let referring = || catalog.relations.values().flat_map(|other| &other.foreign_keys);
    for column in assigned {
        let is_key = table.primary_key_columns().unwrap_or_default().contains(&column)
            || table.foreign_keys.iter().any(|key| key.columns.contains(&column))
            || referring().any(|key| key.target == table.id && key.target_columns.contains(&column));
        if is_key {
            let name = &table.columns[column].name;
            return Err(PlanError::new(
                "42501",
                format!("permission denied for column {name} of table {}", table.name),
            )
            .hint("A person's own login changes neither keys nor references."));
        }
    }
    Ok(())
}
