//! Definitions → a new catalog, and what the engine must do to stored data so that it fits.
//!
//! Stands beside `query` and `dml` on the trip, after `parse`. Works on a copy of the catalog: a refusal
//! leaves nothing. Pure: never sees rows; what only rows can tell (emptiness, validity, orphans) is left to
//! the engine as an effect.

mod alter;
mod annotate;
mod change;
mod column;
mod column_type_change;
mod composite;
mod constraint;
mod create;
mod created_routine;
mod database;
mod dependents;
mod description;
mod domain;
mod drop;
mod enum_type;
mod extension;
mod finish;
mod grant;
mod hold;
mod index;
pub(crate) mod index_key;
mod kept_uses;
mod label;
mod like;
mod names;
mod opclass;
mod operator;
mod owner;
mod permission;
mod policy;
mod property;
mod purpose;
mod range;
mod retention;
mod rewrite;
mod role;
mod routine;
mod row_type;
mod schema;
mod sequence;
mod trigger;
mod validity;
mod view;

pub use finish::pending_tables;
pub use label::{SecurityLabelRow, security_labels};
pub(crate) use rewrite::columns_named;
pub use role::{SCRAM, other_hash};
pub use sequence::check_sequence_position;

use crate::catalog::{Catalog, Column, DatabaseId, Scope, SearchPath, Table};
use crate::error::PlanError;
use crate::parse::Statement;
use crate::parse::rights::RightsStatement;
use crate::resolve::{SessionInfo, check_expression, statement};
use change::DefinitionChange;
use repr::id::is_temporary;
use repr::{Array, ColumnIndex, ColumnType, Datum, Id, IndexId, RelationId, ScalarType, SequenceId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A definition, ready to be carried out.
#[derive(Clone, Debug)]
pub struct DdlPlan {
    /// The catalog after it, one version on.
    pub catalog: Catalog,
    /// What must happen to stored data, in this order, in the same commit.
    pub effects: Vec<DdlEffect>,
    /// The command tag.
    pub tag: String,
    /// Notices for the client.
    pub notices: Vec<DdlNotice>,
}

/// A NOTICE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DdlNotice {
    /// SQLSTATE.
    pub code: &'static str,
    /// The message.
    pub message: String,
    /// DETAIL.
    pub detail: Option<String>,
}

/// One thing that the engine must do to stored data. Ids are those of the new catalog, and of the old one
/// for what is dropped.
#[derive(Clone, Debug, PartialEq)]
pub enum DdlEffect {
    /// A new, empty table.
    CreateTable(RelationId),
    /// Its rows, index entries and µDB copies go.
    DropTable(RelationId),
    /// All rows of these tables go.
    Truncate(Vec<RelationId>),
    /// Entries for every row; of a unique index: 23505 if two rows agree.
    BuildIndex {
        /// The table.
        table: RelationId,
        /// The index.
        index: IndexId,
    },
    /// Its entries go.
    DropIndex {
        /// The table, which stays.
        table: RelationId,
        /// The index.
        index: IndexId,
    },
    /// 23514 if a row makes the expression false.
    ValidateCheck {
        /// The table.
        table: RelationId,
        /// The constraint's name.
        name: String,
        /// The expression as SQL.
        expression: String,
    },
    /// 23502 if a row has NULL there.
    ValidateNotNull {
        /// The table.
        table: RelationId,
        /// The column.
        column: ColumnIndex,
    },
    /// 23503 if a row names a missing one.
    ValidateForeignKey {
        /// The referencing table.
        table: RelationId,
        /// `ForeignKey::constraint.id`.
        foreign_key: Id,
    },
    /// Every row gets new values in some columns, all computed from the row as it was.
    RewriteTable {
        /// The table.
        table: RelationId,
        /// The columns and what they become.
        columns: Vec<RewriteColumn>,
    },
    /// A new sequence at its start.
    CreateSequence(SequenceId),
    /// Its state goes.
    DropSequence(SequenceId),
    /// It counts by a new counter.
    RenewSequence {
        /// The sequence.
        sequence: SequenceId,
        /// What `nextval` gives next; none goes on from where it stands.
        next: Option<i64>,
    },
    /// 23502 or 23514 if a value is none of the column's domain.
    ValidateDomain(DomainValidation),
    /// Values of a created type are made otherwise.
    Remake(ValueChange),
    /// Ownership, or the form of keys, changes: rows of these tables are placed anew, and every row must
    /// have an owner then (DG001 else).
    Replace(Vec<RelationId>),
    /// Refuse with this error if the table has rows.
    RequireEmpty {
        /// The table.
        table: RelationId,
        /// What to answer.
        error: PlanError,
    },
}

impl DdlEffect {
    /// Whether it concerns nothing but what a session has for itself.
    pub fn is_temporary(&self) -> bool {
        match self {
            DdlEffect::CreateTable(id) | DdlEffect::DropTable(id) => is_temporary(id.0),
            DdlEffect::Truncate(tables) | DdlEffect::Replace(tables) => tables.iter().all(|id| is_temporary(id.0)),
            DdlEffect::CreateSequence(id) | DdlEffect::DropSequence(id) => is_temporary(id.0),
            DdlEffect::RenewSequence { sequence, .. } => is_temporary(sequence.0),
            DdlEffect::Remake(change) => is_temporary(change.table.0),
            DdlEffect::ValidateDomain(validation) => is_temporary(validation.table.0),
            DdlEffect::BuildIndex { table, .. }
            | DdlEffect::DropIndex { table, .. }
            | DdlEffect::ValidateCheck { table, .. }
            | DdlEffect::ValidateNotNull { table, .. }
            | DdlEffect::ValidateForeignKey { table, .. }
            | DdlEffect::RewriteTable { table, .. }
            | DdlEffect::RequireEmpty { table, .. } => is_temporary(table.0),
        }
    }
}

/// A column that is computed anew for every row.
#[derive(Clone, Debug, PartialEq)]
pub struct RewriteColumn {
    /// The column, by its position in the new catalog (which is its position in the old one, if it was there).
    pub column: ColumnIndex,
    /// Its value.
    pub value: RewriteValue,
    /// What the value is cast to (an assignment cast).
    pub column_type: ColumnType,
}

/// Where a rewritten column's value comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum RewriteValue {
    /// An expression over the row and table as they were before this statement: USING, or the column itself.
    Using(String),
    /// A default, evaluated for each row.
    Default(String),
    /// The next value of a new sequence, row by row.
    NextValue(SequenceId),
    /// A generated column's expression, over the row as it becomes.
    Generated(String),
}

/// What is asked of the values of a column that is of a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainValidation {
    /// The table.
    pub table: RelationId,
    /// The column.
    pub column: ColumnIndex,
    /// What they must pass.
    pub condition: DomainCondition,
}

/// What values must pass that are there already.
#[derive(Clone, Debug, PartialEq)]
pub enum DomainCondition {
    /// All of their domain.
    Whole,
    /// That none is NULL.
    NotNull,
    /// An expression over VALUE, of this domain.
    Check(Id, String),
}

/// What the values of a created type become in one table.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueChange {
    /// The table.
    pub table: RelationId,
    /// Its columns whose values are made of the type, and what they were.
    pub columns: Vec<(ColumnIndex, ScalarType)>,
    /// The type.
    pub of: Id,
    /// What becomes of it.
    pub becomes: Becomes,
    /// Whether keys change with the values.
    pub moves: bool,
}

/// What becomes of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Becomes {
    /// Of an enumeration's, by the place that it holds: its new place and label.
    Labels(Arc<BTreeMap<u32, (u32, Arc<str>)>>),
    /// Of a composite's: where each field stood. New ones are NULL.
    Fields(Arc<[Option<usize>]>),
}

impl ValueChange {
    /// What a value of a type becomes, itself or in what it is made of.
    pub fn apply(&self, value: &Datum, scalar: &ScalarType) -> Datum {
        match (value, scalar) {
            (Datum::Enum { position, .. }, ScalarType::Enum(id)) if *id == self.of => match &self.becomes {
                Becomes::Labels(labels) => match labels.get(position) {
                    Some((position, label)) => Datum::Enum { position: *position, label: Arc::clone(label) },
                    None => value.clone(),
                },
                Becomes::Fields(_) => value.clone(),
            },
            (Datum::Array(array), ScalarType::Array(element)) => {
                let elements = array.elements.iter().map(|item| self.apply(item, element)).collect();
                Datum::Array(Arc::new(Array::new(array.dimensions.clone(), elements)))
            }
            // Labels keep their order, and composites that ranges are over their fields.
            (Datum::Range(range), ScalarType::Range(of)) => {
                Datum::Range(Arc::new(range.with_values(|bound| self.apply(bound, of.subtype()))))
            }
            (Datum::Multirange(ranges), ScalarType::Multirange(of)) => {
                let apply = |range: &repr::Range| range.with_values(|bound| self.apply(bound, of.subtype()));
                Datum::Multirange(ranges.iter().map(apply).collect())
            }
            (Datum::Record(fields), ScalarType::Record(record)) => {
                let inner = fields.iter().zip(record.iter()).map(|(field, (_, scalar))| self.apply(field, scalar));
                let inner: Vec<Datum> = inner.collect();
                match &self.becomes {
                    Becomes::Fields(from) if record.id == self.of => {
                        let field = |place: &Option<usize>| place.and_then(|place| inner.get(place).cloned());
                        Datum::Record(from.iter().map(|place| field(place).unwrap_or(Datum::Null)).collect())
                    }
                    Becomes::Fields(_) | Becomes::Labels(_) => Datum::Record(inner.into()),
                }
            }
            _ => value.clone(),
        }
    }
}

/// An expression that stands in a definition, given to the hook for validation.
#[derive(Clone, Copy, Debug)]
pub struct DefinitionExpression<'a> {
    /// What it is for.
    pub purpose: ExpressionPurpose<'a>,
    /// Its text.
    pub text: &'a str,
    /// The table whose columns it may name (not for defaults).
    pub table: &'a Table,
    /// The catalog in which names are looked up.
    pub catalog: &'a Catalog,
    /// Where bare names are looked for.
    pub path: &'a SearchPath,
}

/// What an expression in a definition is for.
#[derive(Clone, Copy, Debug)]
pub enum ExpressionPurpose<'a> {
    /// DEFAULT of this column: no columns; assignable to its type.
    Default(&'a Column),
    /// CHECK: boolean, over the table's columns.
    Check,
    /// WHERE of a hold: a CHECK that says the same of a row each time.
    Hold,
    /// WHERE of an index: boolean and immutable, over the table's columns.
    IndexPredicate,
    /// A key of an index: immutable, over the table's columns.
    IndexKey,
    /// GENERATED … STORED of this column: immutable, over the table's columns; assignable to its type.
    Generated(&'a Column),
    /// ALTER TYPE … USING: over the table's columns as they were; assignable to the type.
    Using(&'a ColumnType),
}

/// Validates an expression in a definition: the resolver's part.
pub type ExpressionHook<'a> = dyn Fn(&DefinitionExpression<'_>) -> Result<(), PlanError> + 'a;

/// The hook that the resolver gives: what the engine passes to `plan_ddl`.
pub fn resolver_hook(session: &SessionInfo) -> impl Fn(&DefinitionExpression<'_>) -> Result<(), PlanError> + '_ {
    move |expression| {
        let usage = match expression.purpose {
            ExpressionPurpose::Default(column) => statement::ExpressionUse::Default(column),
            ExpressionPurpose::Check => statement::ExpressionUse::Check,
            ExpressionPurpose::Hold => statement::ExpressionUse::Hold,
            ExpressionPurpose::IndexPredicate => statement::ExpressionUse::IndexPredicate,
            ExpressionPurpose::IndexKey => statement::ExpressionUse::IndexKey,
            ExpressionPurpose::Generated(column) => statement::ExpressionUse::Generated(column),
            ExpressionPurpose::Using(column_type) => statement::ExpressionUse::Using(column_type),
        };
        let session = SessionInfo { path: expression.path.clone(), ..session.clone() };
        check_expression(expression.text, expression.table, expression.catalog, &session, usage).map(|_| ())
    }
}

/// What becomes of a label, or a comment's tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    /// It takes effect as soon as what it names is there.
    TakeEffect,
    /// It waits, whatever is there: rows come before it (`dogwood.restoring`).
    Wait,
    /// What has waited takes effect: views that were made meanwhile are made anew by it.
    Settle,
}

/// Plans a definition.
///
/// `hook` resolves expressions; whether the ownership graph is well formed is
/// `ownership::check`'s question, asked when the transaction commits.
///
/// # Errors
/// PostgreSQL's for whatever is wrong with names, types and dependencies; 0A000 for what we do not have.
pub fn plan_ddl<'a>(
    statement: &Statement,
    scope: impl Into<Scope<'a>>,
    labels: Labels,
    hook: &ExpressionHook<'_>,
) -> Result<DdlPlan, PlanError> {
    let scope = scope.into();
    let mut change = DefinitionChange::new(scope, labels, hook);
    let tag = change.apply(statement)?;
    change.finish(scope.catalog, tag)
}

/// Plans the end of a restore: every label that waited takes effect, in one definition.
///
/// # Errors
/// Those of the labels.
pub fn plan_restored(catalog: &Catalog, database: DatabaseId, hook: &ExpressionHook<'_>) -> Result<DdlPlan, PlanError> {
    let path = SearchPath::within(database, catalog);
    DefinitionChange::new(Scope { catalog, path: &path }, Labels::Settle, hook).finish(catalog, "SET")
}

impl DefinitionChange<'_> {
    pub(super) fn apply(&mut self, statement: &Statement) -> Result<&'static str, PlanError> {
        self.permit(statement)?;
        match statement {
            Statement::Rights(rights) => self.apply_rights(rights),
            Statement::CreateRoutine(create) => self.create_routine(create),
            Statement::AlterRoutine(alter) => self.alter_routine(alter),
            Statement::DropRoutines(drop) => self.drop_routines(drop),
            Statement::Operator(operator) => self.operator_statement(operator),
            Statement::Trigger(trigger) => self.trigger(trigger),
            Statement::CreateExtension { if_not_exists, name, schema, version } => {
                self.create_extension(*if_not_exists, name, schema.as_ref(), version.as_deref())
            }
            Statement::DropExtension { if_exists, names } => self.drop_extension(*if_exists, names),
            Statement::CreateSchema(create) => self.create_schema(create),
            Statement::CreateDatabase(create) => self.create_database(create),
            Statement::AlterDatabase(alter) => self.alter_database(alter),
            Statement::AlterStart(alter) => self.alter_start(alter),
            Statement::DropDatabase(drop) => self.drop_database(drop),
            Statement::SetSchema { kind, if_exists, name, schema } => self.set_schema(*kind, *if_exists, name, schema),
            Statement::CreateTable(create) => self.create_table(create),
            Statement::AlterTable(alter) => self.alter_table(alter),
            Statement::CreateIndex(create) => self.create_index(create),
            Statement::CreateView(create) => self.create_view(create),
            Statement::Rename { kind, if_exists, name, new_name } => self.rename(*kind, *if_exists, name, new_name),
            Statement::RenameViewColumn { materialized, if_exists, name, column, new_name } => {
                self.alter_view_column(*materialized, *if_exists, name, column, new_name)
            }
            Statement::SetMaxLag { if_exists, name, max_lag_ms } => self.set_max_lag(*if_exists, name, *max_lag_ms),
            Statement::SetViewOptions { if_exists, name, change } => self.set_view_options(*if_exists, name, change),
            Statement::AlterNothing { kind, if_exists, name } => self.alter_nothing(*kind, *if_exists, name),
            Statement::Drop { kind, if_exists, names, behavior, .. } => {
                self.drop_objects(*kind, *if_exists, names, *behavior)
            }
            Statement::CreateSequence { if_not_exists, temporary, name, options } => {
                self.create_sequence(*if_not_exists, *temporary, name, options)
            }
            Statement::AlterSequence { if_exists, name, options } => self.alter_sequence(*if_exists, name, options),
            Statement::CreateDomain(create) => self.create_domain(create),
            Statement::AlterDomain(alter) => self.alter_domain(alter),
            Statement::CreateComposite(create) => self.create_composite(create),
            Statement::CreateRange(create) => self.create_range(create),
            Statement::AlterComposite(alter) => self.alter_composite(alter),
            Statement::CreateEnum { name, labels } => self.create_enum(name, labels),
            Statement::AddEnumValue(add) => self.add_enum_value(add),
            Statement::RenameEnumValue { name, old, new } => self.rename_enum_value(name, old, new),
            Statement::Truncate { tables, restart_identity, behavior } => {
                self.truncate(tables, *restart_identity, *behavior)
            }
            Statement::Descriptions(changes) => self.change_descriptions(changes),
            Statement::Comment { object, text } => self.comment(object, text.as_deref()),
            Statement::SecurityLabel { provider, object, label, .. } => {
                self.security_label(provider.as_deref(), object, label.as_deref())
            }
            Statement::Unsupported { command } => Err(PlanError::unsupported(command)),
            other => Err(PlanError::unsupported("this statement as a definition")
                .detail(format!("{:?}", std::mem::discriminant(other)))),
        }
    }

    fn apply_rights(&mut self, rights: &RightsStatement) -> Result<&'static str, PlanError> {
        match rights {
            RightsStatement::CreateRole(create) => self.create_role(create),
            RightsStatement::AlterRole(alter) => self.alter_role(alter),
            RightsStatement::RenameRole(name, new) => self.rename_role(name, new),
            RightsStatement::DropRoles { if_exists, roles } => self.drop_roles(*if_exists, roles),
            RightsStatement::GrantRoles(grant) => self.grant_roles(grant),
            RightsStatement::Grant(grant) => self.grant(grant),
            RightsStatement::AlterDefaultPrivileges(alter) => self.alter_default_privileges(alter),
            RightsStatement::ChangeOwner { kind, if_exists, name, owner } => {
                self.change_owner(*kind, *if_exists, name, owner)
            }
            RightsStatement::ChangeDatabaseOwner(name, owner) => self.change_database_owner(name, owner),
            RightsStatement::ReassignOwned(from, to) => self.reassign_owned(from, to),
            RightsStatement::DropOwned(roles, behavior) => self.drop_owned(roles, *behavior),
            RightsStatement::Policy(policy) => self.policy(policy),
            RightsStatement::Purpose(purpose) => self.purpose(purpose),
            RightsStatement::Hold(hold) => self.hold(hold),
            RightsStatement::EndLogins(microdb) => Ok(self.end_logins(*microdb)),
        }
    }
}
