//! One statement: planned, planned again when the catalog has moved on, and sent down its path.

use super::Session;
use super::copy::{self, CopyInto};
use super::cursor::Cursor;
use super::view::Automatic;
use crate::SqlError;
use crate::answer::QueryRows;
use crate::layered::Layered;
use crate::locks::{LockKey, LockMode};
use crate::one_shot;
use crate::protocol::{CopyFormat, Prepared, Response, RowStream, RowTag};
use crate::reader::Reader;
use crate::system::Catalogs;
use crate::transaction::{Isolation, Transaction};
use crate::view::automatic::Entry;
use crate::write::dml::Written;
use crate::write::{Writer, dml};
use planner::catalog::Catalog;
use planner::hir::{LockWait, OutputColumn};
use planner::parse::utility::{CopyOptions, DeclareCursor};
use planner::parse::{ParsedStatement, Statement};
use planner::plan::{Query, WritePlan};
use planner::resolve::GdprRequest;
use planner::{MaintainedViews, Planned, PlannedStatement, SubscribePlan};
use repr::{Datum, RelationId, RowKey, ScalarType};
use std::sync::{Arc, OnceLock};

/// A plan and the catalog version that it is for.
pub struct CachedPlan {
    pub(super) version: u64,
    pub(super) planned: Planned,
    /// The maintained views that it reads.
    pub(super) views: Vec<RelationId>,
    /// These, and those that they are made of.
    pub(super) maintained: OnceLock<Vec<RelationId>>,
    /// The same with these views computed rather than read.
    pub(super) expanded: OnceLock<Arc<CachedPlan>>,
    /// Whether the query may be a view by its parameters.
    pub(super) automatic: OnceLock<Automatic>,
    /// The ordered indexes that it reads where they are in memory.
    pub(super) orders: OnceLock<Vec<Arc<Entry>>>,
}

impl CachedPlan {
    /// A plan for a version of the catalog.
    pub(super) fn new(version: u64, planned: Planned, views: Vec<RelationId>) -> Self {
        CachedPlan {
            version,
            planned,
            views,
            maintained: OnceLock::new(),
            expanded: OnceLock::new(),
            automatic: OnceLock::new(),
            orders: OnceLock::new(),
        }
    }
}

/// Whether a statement is planned, so that all it does is in its result or its transaction.
pub(super) fn is_repeatable(prepared: &Prepared) -> bool {
    fn reads_or_writes(planned: &Planned) -> bool {
        match planned {
            Planned::Query(_) | Planned::Write(_) | Planned::CreateTableAs(..) => true,
            Planned::Gdpr(request, ..) => matches!(request, GdprRequest::Get | GdprRequest::ExplainForget),
            Planned::CopyOut(what, _) => reads_or_writes(what),
            Planned::CopyIn(..)
            | Planned::Cursor(..)
            | Planned::Subscribe(_)
            | Planned::SubscribeCursor(..)
            | Planned::Explain(_)
            | Planned::Other => false,
        }
    }
    reads_or_writes(&prepared.plan.load().planned)
}

/// Plans a statement.
pub fn prepare(
    parsed: ParsedStatement,
    catalog: &Arc<Catalog>,
    param_types: &[Option<ScalarType>],
) -> Result<Prepared, SqlError> {
    let planned = planner::plan_statement(&parsed, catalog, param_types, MaintainedViews::Read)?;
    let PlannedStatement { planned, params, views } = planned;
    let columns = result_columns(&parsed.statement, &planned);
    // COPY's rows fill the parameters of its plan; the client has none to give.
    let params = if matches!(planned, Planned::CopyIn(..)) { Vec::new() } else { params };
    Ok(Prepared {
        text: parsed.text.as_str().into(),
        offset: parsed.offset,
        parsed: parsed.clone(),
        statement: parsed.statement,
        param_types: params,
        columns,
        plan: arc_swap::ArcSwap::from_pointee(CachedPlan::new(catalog.version, planned, views)),
    })
}

fn result_columns(statement: &Statement, planned: &Planned) -> Option<Arc<[OutputColumn]>> {
    match planned {
        Planned::Query(query) => Some(query.columns.as_slice().into()),
        Planned::Write(plan) => returning(plan).map(Into::into),
        Planned::Explain(explained) => Some(super::explain::columns(explained)),
        Planned::Gdpr(GdprRequest::Get, ..) => Some(crate::sar::access::columns()),
        Planned::Gdpr(GdprRequest::Forget | GdprRequest::ExplainForget, ..) => Some(super::gdpr::forget_columns()),
        Planned::Other => super::utility::columns(statement),
        Planned::Gdpr(GdprRequest::Export(_), ..)
        | Planned::CopyIn(..)
        | Planned::CopyOut(..)
        | Planned::CreateTableAs(..)
        | Planned::Subscribe(_)
        | Planned::SubscribeCursor(..)
        | Planned::Cursor(..) => None,
    }
}

fn returning(plan: &WritePlan) -> Option<&[OutputColumn]> {
    let returning = match plan {
        WritePlan::Insert(plan) => &plan.returning,
        WritePlan::Update(plan) => &plan.returning,
        WritePlan::Delete(plan) => &plan.returning,
    };
    returning.as_ref().map(|returning| returning.columns.as_slice())
}

impl Session {
    pub(super) fn run(
        &mut self,
        prepared: &Arc<Prepared>,
        params: Arc<[Datum]>,
        in_script: bool,
    ) -> Result<Response, SqlError> {
        let cached = self.current_plan(prepared)?;
        let cached = self.readable_plan(prepared, cached)?;
        match &cached.planned {
            Planned::Query(query) => {
                // A lone read needs no transaction: one snapshot, no locks.
                if in_script || !query.locks.is_empty() {
                    self.transaction();
                }
                let rows = match self.rows_by_view(prepared, &cached, query, &params)? {
                    Some(rows) => rows,
                    None => {
                        self.ask_for_orders(&cached);
                        self.query_rows(query, params)?
                    }
                };
                // A plan that is made anew keeps the result's columns.
                let columns = prepared.columns.clone().unwrap_or_else(|| query.columns.as_slice().into());
                Ok(Response::Rows(RowStream { columns, rows, tag: RowTag::Counted("SELECT") }))
            }
            Planned::Write(plan) => {
                self.ask_for_orders(&cached);
                self.write(plan, params)
            }
            Planned::CopyIn(plan, options) => {
                self.refuse_read_only("COPY FROM")?;
                self.transaction();
                Ok(Response::CopyIn(Box::new(CopyInto::new(plan.clone(), options)?)))
            }
            Planned::CopyOut(what, options) => {
                let format = copy::format(options)?;
                self.ask_for_orders(&cached);
                self.copy_out(what, options, format, params)
            }
            Planned::CreateTableAs(create, query) => self.create_table_as(create, query, params),
            Planned::Cursor(declare, query) => {
                self.ask_for_orders(&cached);
                self.declare(declare, query, params)
            }
            Planned::Subscribe(_) => Err(SqlError::unsupported("SUBSCRIBE as a statement of its own")
                .hint("use COPY (SUBSCRIBE (query)) TO STDOUT, or DECLARE a cursor for it and FETCH")),
            Planned::SubscribeCursor(declare, plan) => self.declare_subscription(declare, plan, params),
            Planned::Gdpr(request, table, key) => self.subject_request(*request, *table, key, params),
            Planned::Explain(explained) => self.explain(explained, prepared, params, in_script),
            Planned::Other => self.utility(prepared, params, in_script),
        }
    }

    pub(super) fn current_plan(&self, prepared: &Prepared) -> Result<Arc<CachedPlan>, SqlError> {
        let catalog = self.catalog();
        let cached = prepared.plan.load_full();
        if cached.version == catalog.version || matches!(cached.planned, Planned::Other) {
            return Ok(cached);
        }
        let known: Vec<_> = prepared.param_types.iter().cloned().map(Some).collect();
        let planned = planner::plan_statement(&prepared.parsed, &catalog, &known, MaintainedViews::Read)?;
        let PlannedStatement { planned, views, .. } = planned;
        let columns = result_columns(&prepared.statement, &planned);
        let types = |columns: &Option<Arc<[OutputColumn]>>| {
            let column = |column: &OutputColumn| (column.name.clone(), column.column_type.scalar.clone());
            columns.as_ref().map(|columns| columns.iter().map(column).collect::<Vec<_>>())
        };
        if types(&columns) != types(&prepared.columns) {
            return Err(SqlError::new("0A000", "cached plan must not change result type"));
        }
        let fresh = Arc::new(CachedPlan::new(catalog.version, planned, views));
        prepared.plan.store(fresh.clone());
        Ok(fresh)
    }

    /// What a read sees: the published state, or the transaction's view.
    pub(super) fn view(&mut self) -> Result<Layered, SqlError> {
        match &mut self.active {
            Some(active) => active.transaction.statement_view(),
            None => {
                let (base, hold) = self.database.held(&self.holder);
                Ok(Layered::new(self.database.store.clone(), base).held(Arc::new(hold)).keeping())
            }
        }
    }

    pub(super) fn query_rows(&mut self, query: &Arc<Query>, params: Arc<[Datum]>) -> Result<QueryRows, SqlError> {
        if !query.locks.is_empty() {
            return self.locked_rows(query, params);
        }
        let view = self.view()?;
        self.rows_over(query, view, params)
    }

    pub(super) fn rows_over(
        &self,
        query: &Arc<Query>,
        view: Layered,
        params: Arc<[Datum]>,
    ) -> Result<QueryRows, SqlError> {
        let view = if self.auto_views() { view } else { view.without_orders() };
        let limits = self.limits(view.time());
        let context = self.eval_context(params, view.catalog());
        let system = Arc::new(Catalogs::new(&self.database, view.catalog(), &context));
        one_shot::run_with_system(query.clone(), Arc::new(view), context, limits, system, self.profile.clone())
    }

    /// FOR UPDATE/SHARE: rows are locked and looked at again until they stand still.
    fn locked_rows(&mut self, query: &Arc<Query>, params: Arc<[Datum]>) -> Result<QueryRows, SqlError> {
        let width = query.columns.len();
        let patience = self.patience();
        // The finishing hides the key columns; they are asked for beside the result's own.
        let mut with_keys = Query::clone(query);
        with_keys.finishing.project.extend(query.locks.iter().map(|lock| lock.key_column));
        let with_keys = Arc::new(with_keys);
        loop {
            let view = self.transaction().statement_view()?;
            let rows: Vec<Vec<Datum>> =
                self.rows_over(&with_keys, view.clone(), params.clone())?.collect::<Result<_, _>>()?;
            let transaction = self.transaction();
            let (mut kept, mut locked) = (Vec::with_capacity(rows.len()), Vec::new());
            let mut taken = None;
            for mut row in rows {
                let keys = row.split_off(width);
                match lock_keys(transaction, query, &keys, &mut locked)? {
                    RowLock::Held => kept.push(row),
                    RowLock::Skipped => {}
                    RowLock::Taken(name, mode) => {
                        taken = Some((name, mode));
                        break;
                    }
                }
            }
            if let Some((name, mode)) = taken {
                // Without a snapshot in hand: whoever is waited for may take long, and a FORGET waits for old ones.
                drop((view, kept));
                transaction.lock(name, mode, &patience)?;
                continue;
            }
            if !changed_since(transaction, &view, &locked)? {
                return Ok(QueryRows::new(kept.into_iter().map(Ok)));
            }
            if transaction.modes.isolation == Isolation::RepeatableRead {
                return Err(SqlError::new("40001", "could not serialize access due to concurrent update")
                    .hint("retry the transaction"));
            }
        }
    }

    fn write(&mut self, plan: &Arc<WritePlan>, params: Arc<[Datum]>) -> Result<Response, SqlError> {
        let written = self.written(plan, params)?;
        let tag = match verb(plan) {
            "INSERT" => format!("INSERT 0 {}", written.rows),
            verb => format!("{verb} {}", written.rows),
        };
        Ok(match returning(plan) {
            None => Response::Complete(tag),
            Some(columns) => Response::Rows(RowStream {
                columns: columns.into(),
                rows: QueryRows::new(written.returned.into_iter().map(Ok)),
                tag: RowTag::Fixed(tag),
            }),
        })
    }

    pub(super) fn written(&mut self, plan: &Arc<WritePlan>, params: Arc<[Datum]>) -> Result<Written, SqlError> {
        self.refuse_read_only(verb(plan))?;
        let patience = self.patience();
        self.transaction();
        let context = self.eval_context(params, &self.catalog());
        let limits = self.limits(self.database.published.load().time);
        let profile = self.profile.clone();
        let transaction = self.transaction();
        let mark = transaction.mark();
        let mut writer = Writer::new(transaction, context, patience);
        writer.profile = profile;
        let written = dml::execute(&mut writer, plan, &limits);
        if written.is_err() {
            self.transaction().roll_back_to(mark);
        }
        written
    }

    fn declare(
        &mut self,
        declare: &DeclareCursor,
        query: &Arc<Query>,
        params: Arc<[Datum]>,
    ) -> Result<Response, SqlError> {
        let in_block = self.active.as_ref().is_some_and(|active| active.block);
        if !in_block && !declare.hold {
            return Err(SqlError::new("25P01", "DECLARE CURSOR can only be used in transaction blocks"));
        }
        if self.cursors.contains_key(&declare.name) || self.subscribed.contains_key(&declare.name) {
            return Err(SqlError::new("42P03", format!("cursor \"{}\" already exists", declare.name)));
        }
        self.transaction();
        let opened_at = self.database.published.load().time;
        let rows = self.query_rows(query, params)?;
        let columns = query.columns.as_slice().into();
        let cursor = Cursor::new(columns, rows, declare.scroll == Some(true), declare.hold, opened_at);
        self.transaction().cursors.push(declare.name.clone());
        self.cursors.insert(declare.name.clone(), cursor);
        Ok(Response::Complete("DECLARE CURSOR".into()))
    }

    fn declare_subscription(
        &mut self,
        declare: &DeclareCursor,
        plan: &SubscribePlan,
        params: Arc<[Datum]>,
    ) -> Result<Response, SqlError> {
        if !self.active.as_ref().is_some_and(|active| active.block) {
            return Err(SqlError::new("25P01", "DECLARE CURSOR can only be used in transaction blocks"));
        }
        if declare.hold || declare.scroll == Some(true) {
            return Err(SqlError::unsupported("a subscription's cursor WITH HOLD or SCROLL"));
        }
        if self.cursors.contains_key(&declare.name) || self.subscribed.contains_key(&declare.name) {
            return Err(SqlError::new("42P03", format!("cursor \"{}\" already exists", declare.name)));
        }
        let subscribed = self.subscribe(plan, params)?;
        self.transaction().cursors.push(declare.name.clone());
        self.subscribed.insert(declare.name.clone(), subscribed);
        Ok(Response::Complete("DECLARE CURSOR".into()))
    }

    fn copy_out(
        &mut self,
        what: &Planned,
        options: &CopyOptions,
        mut format: CopyFormat,
        params: Arc<[Datum]>,
    ) -> Result<Response, SqlError> {
        let (columns, rows) = match what {
            Planned::Query(query) => (query.columns.as_slice().into(), self.query_rows(query, params)?),
            Planned::Write(plan) => match self.write(plan, params)? {
                Response::Rows(stream) => (stream.columns, stream.rows),
                _ => return Err(SqlError::new("0A000", "COPY query must have a RETURNING clause")),
            },
            Planned::Gdpr(request, table, key) => {
                if let GdprRequest::Export(export) = request {
                    format.raw = true;
                    self.export(*export, *table, key, params)?
                } else {
                    match self.subject_request(*request, *table, key, params)? {
                        Response::Rows(stream) => (stream.columns, stream.rows),
                        _ => return Err(SqlError::unsupported("COPY of this statement")),
                    }
                }
            }
            Planned::Subscribe(plan) => {
                let subscribed = self.subscribe(plan, params)?;
                format.force_quote = copy::force_quote(options, subscribed.columns())?;
                return Ok(Response::Subscribed(Box::new(subscribed), format));
            }
            _ => return Err(SqlError::unsupported("COPY of this statement")),
        };
        format.force_quote = copy::force_quote(options, &columns)?;
        let stream = RowStream { columns, rows, tag: RowTag::Counted("COPY") };
        Ok(Response::CopyOut(stream, format))
    }

    pub(super) fn refuse_read_only(&self, what: &str) -> Result<(), SqlError> {
        let read_only = match &self.active {
            Some(active) => active.transaction.modes.read_only,
            None => self.default_modes().read_only,
        };
        if read_only {
            return Err(SqlError::new("25006", format!("cannot execute {what} in a read-only transaction")));
        }
        Ok(())
    }
}

/// What came of the locks that one result row asks for.
enum RowLock {
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
) -> Result<RowLock, SqlError> {
    for (lock, key) in query.locks.iter().zip(keys) {
        // The NULL side of an outer join has no row to lock.
        let Datum::Bytea(key) = key else { continue };
        let row_key = RowKey::new(key);
        let mode = if lock.exclusive { LockMode::Exclusive } else { LockMode::Shared };
        let name = LockKey::Row(lock.table, row_key.clone());
        if !transaction.database().locks.try_lock(transaction.id(), &name, mode) {
            return match lock.wait {
                LockWait::Wait => Ok(RowLock::Taken(name, mode)),
                LockWait::NoWait => Err(SqlError::new("55P03", "could not obtain lock on row")),
                LockWait::SkipLocked => Ok(RowLock::Skipped),
            };
        }
        locked.push((lock.table, row_key));
    }
    Ok(RowLock::Held)
}

/// Whether one of these rows is no longer what the view showed.
fn changed_since(
    transaction: &mut Transaction,
    view: &Layered,
    rows: &[(RelationId, RowKey)],
) -> Result<bool, SqlError> {
    let latest = transaction.latest_view();
    if latest.time() == view.time() {
        return Ok(false);
    }
    for (relation, row_key) in rows {
        let table = view.shape(*relation)?.table();
        if view.get(table, row_key)? != latest.get(table, row_key)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn verb(plan: &WritePlan) -> &'static str {
    match plan {
        WritePlan::Insert(_) => "INSERT",
        WritePlan::Update(_) => "UPDATE",
        WritePlan::Delete(_) => "DELETE",
    }
}
