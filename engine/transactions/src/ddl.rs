//! Definitions carried out: the planner's new catalog, and what it asks of stored rows, in the transaction.
//!
//! One DDL transaction at a time holds the catalog lock; every table that it touches is locked against
//! writers. All changes go through the overlay, so DDL rolls back and commits like data.
//!
//! Tables whose row keys, key form or owners change are laid anew: all rows read under the old shape, the
//! stored table dropped, all rows written under the new one. Their dependents in the ownership graph are
//! laid anew with them; so are tables whose rows are rewritten and more than memory holds.

mod index_filling;
mod lay_anew;
mod rows_anew;

use crate::index_builds;
use crate::transaction::Transaction;
use crate::writer::Writer;
use lay_anew::{laid_anew, rows_to_lay};
use planner::catalog::{Catalog, Scope, Table, TemporaryObjects};
use planner::parse::Statement;
use planner::resolve::ddl::{
    DdlEffect, DdlPlan, DomainCondition, DomainValidation, Labels, RewriteColumn, RewriteValue, ValueChange,
};
use planner::scalar::{EvalContext, Volatility};
use repr::id::FIRST_TEMPORARY_ID;
use repr::{ColumnIndex, Datum, Id, IndexId, RelationId, Row, RowKey, poll};
use rows_anew::RowsAnew;
use state::SqlError;
use state::locks::{LockKey, LockMode, Patience};
use state::notice::Notice;
use state::overlay::held_rows::KeyedRows;
use state::reader::Reader;
use state::shape::{Schema, TableShape};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What the client hears.
pub struct Done {
    /// The command tag.
    pub tag: String,
    /// Notices.
    pub notices: Vec<Notice>,
    /// Tables of people's rows that it has emptied or dropped.
    pub emptied: Vec<RelationId>,
}

/// No one definition takes so many ids.
const IDS_LEFT_MIN: Id = 1 << 20;

/// Plans and carries out one definition.
pub fn execute(
    transaction: &mut Transaction,
    statement: &Statement,
    context: EvalContext,
    patience: &Patience,
    restoring: bool,
) -> Result<Done, SqlError> {
    if let Some(done) = define_temporary(transaction, statement, &context, patience)? {
        return Ok(done);
    }
    lock_catalog(transaction, patience)?;
    // The plan is made after the lock: the catalog cannot move on any more.
    let old_schema = transaction.latest_snapshot().schema().clone();
    let labels = if restoring { Labels::Wait } else { Labels::TakeEffect };
    let path = context.search_path(old_schema.catalog());
    let plan = planner::plan_definition(statement, Scope { catalog: old_schema.catalog(), path: &path }, labels)?;
    // Whether the graph is well formed is asked at COMMIT: until then its tables may come in any order.
    transaction.define_while_restoring(restoring);
    carry_out(transaction, old_schema, plan, context, patience).map(|(done, _)| done)
}

fn lock_catalog(transaction: &mut Transaction, patience: &Patience) -> Result<(), SqlError> {
    transaction.lock(LockKey::Catalog, LockMode::Exclusive, patience)?;
    index_builds::await_others(transaction.database(), transaction.id(), patience)
}

/// Carries out a definition that concerns nothing but what the session has for itself: nobody waits for it. None if it is no such.
fn define_temporary(
    transaction: &mut Transaction,
    statement: &Statement,
    context: &EvalContext,
    patience: &Patience,
) -> Result<Option<Done>, SqlError> {
    let path = context.search_path(transaction.seen_schema().catalog());
    let makes = statement.makes_temporary(&path);
    if !makes && !transaction.temporary().in_use() {
        return Ok(None);
    }
    transaction.temporary().begin_use();
    let old_schema = transaction.latest_snapshot().schema().clone();
    let old = old_schema.catalog();
    let path = context.search_path(old);
    let planned = {
        let mut next = transaction.database().sessions.numbers.temporary_ids.lock();
        let mut numbered = Catalog::clone(old);
        numbered.next_id = *next;
        let planned =
            planner::plan_definition(statement, Scope { catalog: &numbered, path: &path }, Labels::TakeEffect);
        if let Ok(plan) = &planned {
            let more = plan.catalog.next_id.max(FIRST_TEMPORARY_ID);
            // Those with the first ids have long gone.
            *next = if more > Id::MAX - IDS_LEFT_MIN { FIRST_TEMPORARY_ID } else { more };
        }
        planned
    };
    let mut plan = match planned {
        Ok(plan) => plan,
        Err(error) if makes => return Err(error.into()),
        // It may be another behind the lock.
        Err(_) => return Ok(None),
    };
    plan.catalog.next_id = old.next_id;
    let objects = TemporaryObjects::of(&plan.catalog);
    let same = TemporaryObjects::of(old).is_same(&objects);
    let concerns_own = plan.effects.iter().all(DdlEffect::is_temporary) && (makes || !same || !plan.effects.is_empty());
    if !concerns_own || !objects.are_in_place() || !plan.catalog.shares_all_with(old) {
        return Ok(None);
    }
    carry_out(transaction, old_schema, plan, context.clone(), patience).map(|(done, _)| Some(done))
}

/// The end of a restore: labels take effect and rows find their places, all in one definition, with all checks.
/// Gives the tables that were laid anew.
pub fn end_restoring(
    transaction: &mut Transaction,
    context: EvalContext,
    patience: &Patience,
) -> Result<BTreeSet<RelationId>, SqlError> {
    lock_catalog(transaction, patience)?;
    let snapshot = transaction.latest_snapshot();
    let old_schema = snapshot.schema().clone();
    let database = transaction.database_id();
    let plan = planner::plan_restored(old_schema.catalog(), database)?;
    let own = Catalog::of_database(&Arc::new(plan.catalog.clone()), database);
    planner::ownership::check(&own, false)?;
    transaction.define_while_restoring(false);
    for waiting in planner::resolve::ddl::pending_tables(&own) {
        if snapshot.scan(snapshot.shape(waiting.table)?.table())?.next().is_some() {
            return Err(waiting.error.into());
        }
    }
    drop(snapshot);
    carry_out(transaction, old_schema, plan, context, patience).map(|(_, laid_anew)| laid_anew)
}

fn carry_out(
    transaction: &mut Transaction,
    old_schema: Arc<Schema>,
    plan: DdlPlan,
    mut context: EvalContext,
    patience: &Patience,
) -> Result<(Done, BTreeSet<RelationId>), SqlError> {
    let DdlPlan { mut catalog, mut effects, tag, notices } = plan;
    renew_sequences(transaction, &old_schema, &mut catalog, &effects)?;
    fill_in(&old_schema, &mut catalog, &mut effects, &context)?;
    let is_own = transaction.temporary().in_use() && catalog.shares_all_with(old_schema.catalog());
    let catalog = Arc::new(catalog);
    let new_schema = Arc::new(if is_own { old_schema.under(catalog) } else { Schema::new(catalog) });
    // A new column may count by a sequence that is made with it.
    if let Some(environment) = context.environment.over(new_schema.catalog().clone()) {
        context.environment = environment;
    }
    let laid_anew = laid_anew(&old_schema, &new_schema, &effects);
    for relation in touched(&old_schema, &new_schema).union(&laid_anew) {
        transaction.lock(LockKey::Table(*relation), LockMode::Exclusive, patience)?;
    }
    for effect in &effects {
        if let DdlEffect::Truncate(relations) = effect {
            // In one order, so that two of them do not wait for each other.
            for relation in relations.iter().collect::<BTreeSet<_>>() {
                transaction.lock(LockKey::Table(*relation), LockMode::Exclusive, patience)?;
            }
        }
    }
    let stored = rows_to_lay(transaction, (&old_schema, &new_schema), &laid_anew)?;
    let emptied = emptied(&old_schema, &effects);
    transaction.define(&old_schema, new_schema.clone());
    let writer = Writer::new(transaction, context, patience.clone());
    let mut change =
        SchemaChange { writer, old_schema, new_schema, stored, rekeyed: BTreeSet::new(), new_indexes: Vec::new() };
    for effect in &effects {
        change.carry_out(effect)?;
    }
    change.lay_anew()?;
    let notices = notices.into_iter().map(|notice| Notice {
        detail: notice.detail,
        ..Notice::new(
            if notice.code.starts_with("01") || notice.code == "3D000" { "WARNING" } else { "NOTICE" },
            notice.code,
            notice.message,
        )
    });
    Ok((Done { tag, notices: notices.collect(), emptied }, laid_anew))
}

/// The tables of people's rows that are emptied or dropped.
fn emptied(schema: &Schema, effects: &[DdlEffect]) -> Vec<RelationId> {
    let tables = effects.iter().flat_map(|effect| match effect {
        DdlEffect::DropTable(relation) => std::slice::from_ref(relation),
        DdlEffect::Truncate(relations) => relations.as_slice(),
        _ => &[],
    });
    let is_personal = |relation: &RelationId| schema.shape(*relation).is_some_and(|shape| shape.personal);
    tables.copied().filter(is_personal).collect()
}

/// New sequences and those that are changed or restarted count by a new counter.
fn renew_sequences(
    transaction: &Transaction,
    old: &Schema,
    catalog: &mut Catalog,
    effects: &[DdlEffect],
) -> Result<(), SqlError> {
    let counters = &transaction.database().sequences;
    let committed = transaction.database().latest();
    for effect in effects {
        let (id, next) = match effect {
            DdlEffect::CreateSequence(id) => (id, None),
            DdlEffect::RenewSequence { sequence, next } => (sequence, *next),
            _ => continue,
        };
        let Some(sequence) = catalog.sequences.get_mut(id) else { continue };
        let sequence = Arc::make_mut(sequence);
        let generation = counters.next_generation()?;
        let continued = old.catalog().sequences.get(id).filter(|_| next.is_none());
        (sequence.first, sequence.continues) = (next, None);
        if let Some(before) = continued {
            let stands = committed.catalog().sequences.get(id);
            let stands = stands.is_some_and(|committed| committed.generation == before.generation);
            let value = counters.continue_by(generation, before, stands)?;
            planner::resolve::ddl::check_sequence_position(sequence, value)?;
            sequence.first = before.first.filter(|_| !stands);
            sequence.continues = Some(before.generation);
        }
        sequence.generation = generation;
    }
    Ok(())
}

/// New columns whose default is one value for all rows: the catalog holds it, and no row is written.
fn fill_in(
    old: &Schema,
    catalog: &mut Catalog,
    effects: &mut Vec<DdlEffect>,
    context: &EvalContext,
) -> Result<(), SqlError> {
    let mut filled = Vec::new();
    for effect in &*effects {
        if let DdlEffect::RewriteTable { table: relation, columns } = effect
            && let [RewriteColumn { column, value: RewriteValue::Default(_), .. }] = columns.as_slice()
            && is_only_rewrite(effects, *relation, *column)
            && let Some(before) = old.catalog().table(*relation)
            && *column >= before.columns.len()
            && let Some(table) = catalog.table(*relation)
        {
            let rewrites = planner::plan_rewrite(columns, old.catalog(), before, catalog, table)?;
            let [rewrite] = rewrites.as_slice() else { continue };
            if rewrite.expr.volatility() < Volatility::Volatile {
                filled.push((*relation, *column, rewrite.expr.eval(&[], context)?));
            }
        }
    }
    for (relation, column, value) in filled {
        effects.retain(|effect| match effect {
            DdlEffect::RewriteTable { table, columns } => {
                *table != relation || columns.iter().all(|rewrite| rewrite.column != column)
            }
            DdlEffect::ValidateNotNull { table, column: checked } => {
                *table != relation || *checked != column || value.is_null()
            }
            _ => true,
        });
        if let Some(table) = catalog.relations.get_mut(&relation) {
            Arc::make_mut(table).columns[column].missing = Some(value);
        }
    }
    Ok(())
}

fn is_only_rewrite(effects: &[DdlEffect], relation: RelationId, column: ColumnIndex) -> bool {
    let rewrites = |effect: &&DdlEffect| {
        matches!(effect, DdlEffect::RewriteTable { table, columns }
            if *table == relation && columns.iter().any(|rewrite| rewrite.column == column))
    };
    effects.iter().filter(rewrites).count() == 1
}

/// Tables that change, old and new.
fn touched(old: &Schema, new: &Schema) -> BTreeSet<RelationId> {
    let mut touched = BTreeSet::new();
    for (relation, table) in &old.catalog().relations {
        if new.catalog().table(*relation).is_none_or(|now| !Arc::ptr_eq(now, table)) {
            touched.insert(*relation);
        }
    }
    touched.extend(new.catalog().relations.keys().filter(|id| old.catalog().table(**id).is_none()));
    touched
}

/// A row as wide as the table is now. What its last columns were before, if the change takes their old value from the catalog.
fn widened(row: &Row, shape: &TableShape, before: Option<&Arc<Table>>) -> Vec<Datum> {
    let mut datums = row.unpack();
    for (index, column) in shape.table().columns.iter().enumerate().skip(datums.len()) {
        let was = before.and_then(|before| before.columns.get(index)).and_then(|column| column.missing.clone());
        datums.push(column.missing.clone().or(was).unwrap_or(Datum::Null));
    }
    datums
}

struct SchemaChange<'a> {
    writer: Writer<'a>,
    old_schema: Arc<Schema>,
    new_schema: Arc<Schema>,
    /// Rows of the tables that are laid anew, as they will be written.
    stored: BTreeMap<RelationId, RowsAnew>,
    /// Those among them whose keys are of other values.
    rekeyed: BTreeSet<RelationId>,
    /// Indexes of theirs that are made or made anew.
    new_indexes: Vec<(RelationId, IndexId)>,
}

impl SchemaChange<'_> {
    fn shape(&self, relation: RelationId) -> Result<Arc<TableShape>, SqlError> {
        let shape = self.new_schema.shape(relation).cloned();
        shape.ok_or_else(|| SqlError::new("42P01", format!("relation with OID {relation} does not exist")))
    }

    /// Looks at all rows of a table, as wide as it is now, one after the other. Whoever writes some does so afterwards: what is
    /// read is not to be copied.
    fn each_row(
        &mut self,
        relation: RelationId,
        mut look: impl FnMut(&mut Self, RowKey, Vec<Datum>) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let shape = self.shape(relation)?;
        if let Some(rows) = self.stored.remove(&relation) {
            let outcome = rows.each(|row_key, row| look(self, row_key, shape.unpack(&row)));
            self.stored.insert(relation, rows);
            return outcome;
        }
        let old_catalog = self.old_schema.catalog().clone();
        let before = old_catalog.table(relation);
        let snapshot = self.writer.transaction.latest_snapshot();
        for item in snapshot.scan_once(shape.table())? {
            let (row_key, row) = item?;
            poll::step()?;
            look(self, row_key, widened(&row, &shape, before))?;
        }
        Ok(())
    }

    fn carry_out(&mut self, effect: &DdlEffect) -> Result<(), SqlError> {
        match effect {
            // Nothing is stored under a new id; what is laid anew was found already, and sequences begin in the catalog.
            DdlEffect::CreateTable(_)
            | DdlEffect::CreateSequence(_)
            | DdlEffect::DropSequence(_)
            | DdlEffect::RenewSequence { .. }
            | DdlEffect::Replace(_) => Ok(()),
            DdlEffect::DropTable(relation) => self.drop_table(*relation),
            DdlEffect::Truncate(relations) => self.truncate_all(relations),
            DdlEffect::BuildIndex { table, index } => self.build_index(*table, *index),
            DdlEffect::DropIndex { index, .. } => {
                self.writer.transaction.overlay_mut().drop_index(*index);
                Ok(())
            }
            DdlEffect::ValidateCheck { table, name, .. } => self.validate_check(*table, name),
            DdlEffect::ValidateNotNull { table, column } => self.validate_not_null(*table, *column),
            DdlEffect::ValidateForeignKey { table, foreign_key } => {
                let shape = self.shape(*table)?;
                self.each_row(*table, |change, _, row| {
                    change.writer.need_parent(&shape, *foreign_key, &row);
                    Ok(())
                })?;
                // While tables are being laid anew their rows are not there: they are looked up at the end.
                if self.stored.is_empty() { self.writer.finish() } else { Ok(()) }
            }
            DdlEffect::RewriteTable { table, columns } => self.rewrite(*table, columns),
            DdlEffect::Remake(change) => self.remake(change),
            DdlEffect::ValidateDomain(validation) => self.validate_domain(validation),
            DdlEffect::RequireEmpty { table, error } => {
                let empty = match (self.stored.get(table), self.old_schema.shape(*table)) {
                    (Some(rows), _) => rows.are_none()?,
                    (None, Some(shape)) => {
                        self.writer.transaction.latest_snapshot().scan(shape.table())?.next().is_none()
                    }
                    (None, None) => true,
                };
                if empty { Ok(()) } else { Err(error.clone().into()) }
            }
        }
    }

    fn drop_table(&mut self, relation: RelationId) -> Result<(), SqlError> {
        let Some(shape) = self.old_schema.shape(relation).cloned() else { return Ok(()) };
        if shape.table().data_subject {
            let below = self.writer.transaction.database().latest_snapshot();
            if below.schema().shape(relation).is_some() {
                for item in below.scan(shape.table())? {
                    self.writer.transaction.overlay_mut().set_subject(relation, item?.0, None);
                }
            }
            // Those whom the transaction has made, too.
            let overlay = self.writer.transaction.overlay_mut();
            let is_there = |(of, _): &(RelationId, RowKey), now: &Option<_>| *of == relation && now.is_some();
            let made = overlay.subjects().filter(|(subject, now)| is_there(subject, now));
            let made: Vec<RowKey> = made.map(|((_, row_key), _)| row_key.clone()).collect();
            made.into_iter().for_each(|row_key| overlay.set_subject(relation, row_key, None));
        }
        self.writer.transaction.overlay_mut().drop_table(shape.table());
        Ok(())
    }

    fn truncate_all(&mut self, relations: &[RelationId]) -> Result<(), SqlError> {
        let shapes = relations.iter().map(|relation| self.shape(*relation)).collect::<Result<Vec<_>, _>>()?;
        let with_people = shapes.iter().any(|shape| shape.table().data_subject);
        for shape in &shapes {
            // Receipts count people's rows.
            if shape.owner_dependents.is_empty() && !(shape.personal && with_people) {
                self.writer.transaction.overlay_mut().truncate(shape.id());
            } else {
                self.remove_all(shape)?;
            }
        }
        Ok(())
    }

    fn remove_all(&mut self, shape: &Arc<TableShape>) -> Result<(), SqlError> {
        let relation = shape.id();
        // Owners of other rows may follow from these: they go one by one. References were the planner's matter.
        let mut row_keys = Vec::new();
        self.each_row(relation, |_, row_key, _| {
            row_keys.push(row_key);
            Ok(())
        })?;
        for row_key in row_keys {
            self.writer.set(shape, &row_key, None)?;
            if shape.table().data_subject {
                self.writer.transaction.overlay_mut().set_subject(relation, row_key, None);
            }
        }
        Ok(())
    }

    fn validate_check(&mut self, relation: RelationId, name: &str) -> Result<(), SqlError> {
        let shape = self.shape(relation)?;
        let checks = self.writer.row_checks(&shape)?;
        let Some((_, expression)) = checks.checks.iter().find(|(check, _)| check == name) else { return Ok(()) };
        self.each_row(relation, |change, _, row| {
            if matches!(expression.eval(&row, &change.writer.context)?, Datum::Bool(false)) {
                let table = &shape.table().name;
                let message = format!("check constraint \"{name}\" of relation \"{table}\" is violated by some row");
                return Err(SqlError::new("23514", message).on(shape.place(), Some(name)));
            }
            Ok(())
        })
    }

    fn validate_not_null(&mut self, relation: RelationId, column: ColumnIndex) -> Result<(), SqlError> {
        let shape = self.shape(relation)?;
        self.each_row(relation, |_, _, row| {
            if row[column].is_null() {
                let (table, name) = (&shape.table().name, &shape.table().columns[column].name);
                let message = format!("column \"{name}\" of relation \"{table}\" contains null values");
                return Err(SqlError::new("23502", message).on(shape.place(), None));
            }
            Ok(())
        })
    }

    fn validate_domain(&mut self, validation: &DomainValidation) -> Result<(), SqlError> {
        let DomainValidation { table: relation, column, condition } = validation;
        let shape = self.shape(*relation)?;
        let (table, of) = (shape.table().clone(), &shape.table().columns[*column]);
        let catalog = self.new_schema.catalog().clone();
        let expression = planner::plan_domain_condition(&catalog, &of.column_type, condition)?;
        self.each_row(*relation, |change, _, mut row| {
            let value = std::mem::replace(&mut row[*column], Datum::Null);
            let Some(expression) = &expression else {
                if value.is_null() {
                    let message = format!("column \"{}\" of table \"{}\" contains null values", of.name, table.name);
                    return Err(SqlError::new("23502", message).on(shape.place(), None));
                }
                return Ok(());
            };
            let passed = expression.eval(&[value], &change.writer.context)?;
            if matches!(condition, DomainCondition::Check(..)) && passed == Datum::Bool(false) {
                let message = format!(
                    "column \"{}\" of table \"{}\" contains values that violate the new constraint",
                    of.name, table.name
                );
                return Err(SqlError::new("23514", message).on(shape.place(), None));
            }
            Ok(())
        })
    }

    fn no_rows(&self, relation: RelationId) -> KeyedRows {
        KeyedRows::new(&self.writer.transaction.database().store, relation)
    }

    fn rewrite(&mut self, relation: RelationId, columns: &[RewriteColumn]) -> Result<(), SqlError> {
        let shape = self.shape(relation)?;
        let old_catalog = self.old_schema.catalog().clone();
        let old_table = old_catalog.table(relation).unwrap_or_else(|| shape.table());
        let rewrites =
            planner::plan_rewrite(columns, &old_catalog, old_table, self.new_schema.catalog(), shape.table())?;
        let mut rows = self.no_rows(relation);
        self.each_row(relation, |change, row_key, mut row| {
            for over_new_row in [false, true] {
                let seen = row.clone();
                for rewrite in rewrites.iter().filter(|rewrite| rewrite.over_new_row == over_new_row) {
                    row[rewrite.column] = rewrite.expr.eval(&seen, &change.writer.context)?;
                }
            }
            rows.push(row_key, Row::pack(&row))
        })?;
        self.keep(&shape, rows)
    }

    fn remake(&mut self, change: &ValueChange) -> Result<(), SqlError> {
        let shape = self.shape(change.table)?;
        let mut rows = self.no_rows(change.table);
        self.each_row(change.table, |_, row_key, mut row| {
            for (column, scalar) in &change.columns {
                row[*column] = change.apply(&row[*column], scalar);
            }
            rows.push(row_key, Row::pack(&row))
        })?;
        if change.moves {
            self.rekeyed.insert(change.table);
        }
        self.keep(&shape, rows)
    }
}
