//! SELECT … FOR UPDATE and its kind: rows are locked, and looked at again until they stand still.
//!
//! ```text
//! snapshot ─▶ subqueries that lock ─▶ the query itself      over the same snapshot
//!    ▲            each row locked as it comes: held, skipped, or waited for
//!    └── somebody had one of them, or has changed it meanwhile ◀──┘
//! ```
//! A limit counts the rows that are locked, not those that are skipped. Nobody waits with a snapshot in hand: whoever is
//! waited for may take long, and a FORGET waits for old ones. In REPEATABLE READ a row that has changed is 40001.

use crate::session::Session;
use operators::top_k;
use planner::hir::{LockGroups, LockStrength, LockWait};
use planner::plan::{LockingQuery, Query};
use planner::scalar::table_func::GivenRows;
use planner::scalar::{EvalContext, ScalarExpr};
use repr::{ColumnType, Datum, RelationId, RowKey, ScalarType};
use state::SqlError;
use state::answer::QueryRows;
use state::layered_snapshot::LayeredSnapshot;
use state::locks::{LockKey, LockMode};
use state::reader::Reader;
use std::sync::Arc;
use transactions::transaction::Transaction;

// How many times as many rows are asked for when too many of them were skipped.
const NEXT_PAGE: usize = 4;

/// Rows that are locked and stand still.
struct Settled {
    /// In what they were found.
    snapshot: LayeredSnapshot,
    /// With the rows that subqueries have locked.
    context: EvalContext,
    /// The query's own, if it locks them.
    rows: Option<Vec<Vec<Datum>>>,
}

/// One attempt to lock all rows of a statement.
struct LockAttempt<'v> {
    snapshot: &'v LayeredSnapshot,
    locked: Vec<(RelationId, RowKey)>,
    /// What somebody else has.
    taken: Option<(LockKey, LockMode)>,
}

impl Session {
    /// The rows of a query that locks some, itself or in subqueries.
    pub(super) fn locked_rows(&mut self, query: &Arc<Query>, params: &Arc<[Datum]>) -> Result<QueryRows, SqlError> {
        let Settled { snapshot, context, rows } = self.stand_still(query, params)?;
        match rows {
            Some(rows) => Ok(QueryRows::new(rows.into_iter().map(Ok))),
            None => self.rows_with(query, snapshot, context),
        }
    }

    /// What the subqueries of a write that lock rows have given.
    pub(super) fn locked_for(&mut self, source: &Query, params: &Arc<[Datum]>) -> Result<GivenRows, SqlError> {
        if source.locking.is_empty() {
            return Ok(GivenRows::default());
        }
        Ok(self.stand_still(source, params)?.context.given)
    }

    fn stand_still(&mut self, query: &Query, params: &Arc<[Datum]>) -> Result<Settled, SqlError> {
        if self.is_read_only() {
            self.refuse_read_only(&format!("SELECT {}", clause(query)))?;
        }
        let patience = self.patience();
        for relation in tables(query) {
            self.transaction().lock(LockKey::Table(relation), LockMode::Shared, &patience)?;
        }
        loop {
            let snapshot = self.transaction().statement_snapshot()?;
            let mut attempt = LockAttempt { snapshot: &snapshot, locked: Vec::new(), taken: None };
            let found = self.attempt(query, params, &mut attempt)?;
            let LockAttempt { locked, taken, .. } = attempt;
            if let Some((name, mode)) = taken {
                drop((snapshot, found));
                self.transaction().lock(name, mode, &patience)?;
                continue;
            }
            let transaction = self.transaction();
            if !changed_since(transaction, &snapshot, &locked)? {
                let (context, rows) = found;
                return Ok(Settled { snapshot, context, rows });
            }
            if transaction.modes.isolation.is_of_one_snapshot() {
                return Err(SqlError::new("40001", "could not serialize access due to concurrent update")
                    .hint("retry the transaction"));
            }
        }
    }

    /// As far as it comes without waiting.
    fn attempt(
        &mut self,
        query: &Query,
        params: &Arc<[Datum]>,
        attempt: &mut LockAttempt<'_>,
    ) -> Result<(EvalContext, Option<Vec<Vec<Datum>>>), SqlError> {
        let mut context = self.eval_context(params.clone(), attempt.snapshot.catalog());
        for LockingQuery { number, query, groups } in &query.locking {
            // EXPLAIN ANALYZE counts the operators of the query around it.
            let profile = self.statement.profile.take();
            let rows = match groups {
                None => self.lock_rows(query, &context, attempt),
                Some(groups) => self.lock_groups(query, groups, &context, attempt),
            };
            self.statement.profile = profile;
            let rows = rows?;
            if attempt.taken.is_some() {
                return Ok((context, None));
            }
            context.given = context.given.with(*number, rows);
        }
        let rows = if query.locks.is_empty() { None } else { Some(self.lock_rows(query, &context, attempt)?) };
        Ok((context, rows))
    }

    /// Locks the rows of a LATERAL subquery, for each of those that they stand beside the first ones.
    fn lock_groups(
        &mut self,
        query: &Query,
        groups: &LockGroups,
        context: &EvalContext,
        attempt: &mut LockAttempt<'_>,
    ) -> Result<Vec<Vec<Datum>>, SqlError> {
        let rows = self.rows_with(&Arc::new(with_keys(query, None)), attempt.snapshot.clone(), context.clone())?;
        let transaction = self.transaction();
        let mut kept = Vec::new();
        let mut group: Option<LateralGroup> = None;
        for row in rows {
            let (mut row, keys) = parted(row?, query);
            let bounds = row.split_off(groups.outputs + groups.drivers);
            let drivers = &row[groups.outputs..];
            let group = match &mut group {
                Some(known) if known.drivers == drivers => known,
                _ => group.insert(LateralGroup::begun(drivers, &bounds, groups, context)?),
            };
            if group.is_full() {
                continue;
            }
            match lock_keys(transaction, query, &keys, &mut attempt.locked)? {
                RowLockOutcome::Held => {
                    group.held += 1;
                    if group.held > group.skip {
                        kept.push(row);
                    }
                }
                RowLockOutcome::Skipped => {}
                RowLockOutcome::Taken(name, mode) => {
                    attempt.taken = Some((name, mode));
                    return Ok(Vec::new());
                }
            }
        }
        Ok(kept)
    }

    /// Locks the rows of one query, from OFFSET's first to LIMIT's last.
    fn lock_rows(
        &mut self,
        query: &Query,
        context: &EvalContext,
        attempt: &mut LockAttempt<'_>,
    ) -> Result<Vec<Vec<Datum>>, SqlError> {
        let skip = top_k::offset(query.finishing.offset.as_ref(), context)?;
        let limit = top_k::limit(query.finishing.limit.as_ref(), context)?;
        if limit == Some(0) {
            return Ok(Vec::new());
        }
        let wanted = limit.map(|limit| limit.saturating_add(skip));
        let mut page = wanted;
        loop {
            let asked = Arc::new(with_keys(query, page));
            let rows = self.rows_with(&asked, attempt.snapshot.clone(), context.clone())?;
            let (mut kept, mut seen) = (Vec::new(), 0);
            let transaction = self.transaction();
            for row in rows {
                let (mut row, keys) = parted(row?, query);
                seen += 1;
                match lock_keys(transaction, query, &keys, &mut attempt.locked)? {
                    RowLockOutcome::Held => kept.push(std::mem::take(&mut row)),
                    RowLockOutcome::Skipped => {}
                    RowLockOutcome::Taken(name, mode) => {
                        attempt.taken = Some((name, mode));
                        return Ok(Vec::new());
                    }
                }
                if wanted.is_some_and(|wanted| kept.len() >= wanted) {
                    break;
                }
            }
            // All there are, or enough. The rows that are held already are held when they come again.
            if wanted.is_none_or(|wanted| kept.len() >= wanted) || page.is_none_or(|page| seen < page) {
                kept.drain(..skip.min(kept.len()));
                return Ok(kept);
            }
            page = page.map(|page| page.saturating_mul(NEXT_PAGE));
        }
    }
}

/// The group at hand of a LATERAL subquery's rows.
struct LateralGroup {
    /// For whom its rows are.
    drivers: Vec<Datum>,
    skip: usize,
    /// How many are locked at most, those that are skipped over included.
    wanted: Option<usize>,
    held: usize,
}

impl LateralGroup {
    fn begun(
        drivers: &[Datum],
        bounds: &[Datum],
        groups: &LockGroups,
        context: &EvalContext,
    ) -> Result<LateralGroup, SqlError> {
        let bound = |place: usize| ScalarExpr::Literal(bounds[place].clone(), ColumnType::nullable(ScalarType::Int8));
        let (limit, offset) = (groups.limit.then(|| bound(0)), groups.offset.then(|| bound(usize::from(groups.limit))));
        let skip = top_k::offset(offset.as_ref(), context)?;
        let limit = top_k::limit(limit.as_ref(), context)?;
        let wanted = limit.map(|limit| if limit == 0 { 0 } else { limit.saturating_add(skip) });
        Ok(LateralGroup { drivers: drivers.to_vec(), skip, wanted, held: 0 })
    }

    fn is_full(&self) -> bool {
        self.wanted.is_some_and(|wanted| self.held >= wanted)
    }
}

/// The query with the row keys that it locks by behind its columns, and the first rows of all.
fn with_keys(query: &Query, rows_max: Option<usize>) -> Query {
    let mut asked = Query::clone(query);
    asked.finishing.project.extend(query.locks.iter().map(|lock| lock.key_column));
    asked.finishing.offset = None;
    asked.finishing.limit = rows_max.map(|rows_max| {
        let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
        ScalarExpr::Literal(Datum::Int8(rows_max), ColumnType::nullable(ScalarType::Int8))
    });
    asked
}

fn parted(mut row: Vec<Datum>, query: &Query) -> (Vec<Datum>, Vec<Datum>) {
    let keys = row.split_off(query.columns.len());
    (row, keys)
}

/// The tables whose rows are locked: they stay what they are meanwhile.
pub(super) fn tables(query: &Query) -> Vec<RelationId> {
    let mut tables: Vec<RelationId> = query.locking.iter().flat_map(|locking| tables(&locking.query)).collect();
    tables.extend(query.locks.iter().map(|lock| lock.table));
    tables.sort_unstable();
    tables.dedup();
    tables
}

/// The clause by which a query locks rows, or a subquery of it.
pub(super) fn clause(query: &Query) -> String {
    let strength = query.locks.first().map(|lock| lock.strength);
    let below = || query.locking.iter().flat_map(|locking| &locking.query.locks).next().map(|lock| lock.strength);
    strength.or_else(below).unwrap_or(LockStrength::Update).clause()
}

/// What came of the locks that one result row asks for.
enum RowLockOutcome {
    Held,
    /// SKIP LOCKED leaves it out.
    Skipped,
    /// Another transaction has this one: it must be waited for.
    Taken(LockKey, LockMode),
}

/// Takes the row locks that one result row asks for, as far as they are free.
fn lock_keys(
    transaction: &Transaction,
    query: &Query,
    keys: &[Datum],
    locked: &mut Vec<(RelationId, RowKey)>,
) -> Result<RowLockOutcome, SqlError> {
    for (lock, key) in query.locks.iter().zip(keys) {
        // The NULL side of an outer join has no row to lock.
        let Datum::Bytea(key) = key else { continue };
        let row_key = RowKey::new(key);
        let mode = LockMode::from(lock.strength);
        let name = LockKey::Row(lock.table, row_key.clone());
        if !transaction.database().sessions.locks.try_lock(transaction.asker(), &name, mode) {
            return match lock.wait {
                LockWait::Wait => Ok(RowLockOutcome::Taken(name, mode)),
                LockWait::NoWait => {
                    let catalog = transaction.overlay().catalog();
                    let table = catalog.table(lock.table).map_or("", |table| table.name.as_str());
                    Err(SqlError::new("55P03", format!("could not obtain lock on row in relation \"{table}\"")))
                }
                LockWait::SkipLocked => Ok(RowLockOutcome::Skipped),
            };
        }
        locked.push((lock.table, row_key));
    }
    Ok(RowLockOutcome::Held)
}

/// Whether one of these rows is no longer what the view showed.
fn changed_since(
    transaction: &mut Transaction,
    snapshot: &LayeredSnapshot,
    rows: &[(RelationId, RowKey)],
) -> Result<bool, SqlError> {
    let latest = transaction.latest_snapshot();
    if latest.time() == snapshot.time() {
        return Ok(false);
    }
    for (relation, row_key) in rows {
        let table = snapshot.shape(*relation)?.table();
        if snapshot.get(table, row_key)? != latest.get(table, row_key)? {
            return Ok(true);
        }
    }
    Ok(false)
}
