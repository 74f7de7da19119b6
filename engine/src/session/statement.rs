//! One statement: planned, planned again when the catalog has moved on, and sent down its path.

use crate::response::{Response, RowStream, RowTag};
use crate::session::Session;
use crate::session::copy;
use crate::session::copy::{CopyFormat, CopyIn};
use crate::session::cursor::{Cursor, Declared, RowsOf};
use crate::session::ordered_indexes::source;
use crate::session::plan::{CachedPlan, MadeFor, Prepared};
use crate::session::result_columns::{ResultColumns, differ, result_changed, result_columns, returning};
use crate::session::statement_path::StatementPath;
use crate::system::Catalogs;
use operators::once::SystemRows;
use operators::query;
use planner::catalog::Catalog;
use planner::parse::Statement;
use planner::parse::utility::{CopyOptions, DeclareCursor};
use planner::plan::{Query, WritePlan};
use planner::resolve::GdprRequest;
use planner::resolve::positioned::CursorTables;
use planner::scalar::EvalContext;
use planner::{CopyInPlan, MaintainedViewUse, Planned, PlannedStatement, SubscribePlan};
use repr::id::is_temporary;
use repr::{Datum, RelationId};
use state::SqlError;
use state::answer::QueryRows;
use state::even_answer::{self, Even};
use state::interrupt::QueryLimits;
use state::layered_snapshot::LayeredSnapshot;
use state::locks::{LockKey, LockMode};
use state::overlay::UndoPosition;
use state::reader::Reader;
use state::temporary::PersonalReads;
use std::sync::Arc;
use std::time::Instant;
use transactions::writer::dml::{Evaluation, Written};
use transactions::writer::{Writer, dml};

impl Session {
    pub(super) fn run(
        &mut self,
        prepared: &Arc<Prepared>,
        params: Arc<[Datum]>,
        in_script: bool,
    ) -> Result<Response, SqlError> {
        if self.client.is_forgotten {
            return Err(SqlError::new("57P01", "terminating connection because its person was forgotten").fatal());
        }
        if self.temporary().in_use() {
            self.tell_emptied();
        }
        let response = self.run_pinned(prepared, params, in_script);
        // Rows that are still to come hold what they read by themselves; an erasure waits for nothing else.
        self.pin(None);
        response
    }

    /// A statement, which may choose the state that it reads.
    fn run_pinned(
        &mut self,
        prepared: &Arc<Prepared>,
        params: Arc<[Datum]>,
        in_script: bool,
    ) -> Result<Response, SqlError> {
        self.statement.log.path = StatementPath::Other;
        let cached = self.current_plan(prepared)?;
        self.permitted(&cached)?;
        let cached = self.readable_plan(prepared, cached)?;
        let permitted = cached.clone();
        let cached = self.plan_under_locks(prepared, cached)?;
        if !Arc::ptr_eq(&permitted, &cached) {
            // It was waited for, and rights may be others since.
            self.permitted(&cached)?;
        }
        if self.statement.log.min_duration.is_some() {
            self.statement.log.path = StatementPath::of(&cached);
        }
        self.take_styles(&cached)?;
        self.run_permitted(prepared, &cached, params, in_script)
    }

    /// A statement that its role may run.
    fn run_permitted(
        &mut self,
        prepared: &Arc<Prepared>,
        cached: &Arc<CachedPlan>,
        params: Arc<[Datum]>,
        in_script: bool,
    ) -> Result<Response, SqlError> {
        self.audit_plan(prepared, cached);
        self.statement.deadlines.even_since = cached.permission.needs.hides_rows().then(Instant::now);
        if let Some(query) = source(&cached.planned).filter(|query| !query.constants.is_empty()) {
            let context = self.eval_context(params.clone(), &self.catalog());
            query.constants.iter().try_for_each(|constant| constant.eval(&[], &context).map(drop))?;
        }
        match &cached.planned {
            Planned::Query(query) => {
                // A lone read needs no transaction: one snapshot, no locks.
                if in_script || query.needs_transaction() {
                    self.transaction();
                }
                let rows = match self.rows_by_view(prepared, cached, query, &params)? {
                    Some(rows) => {
                        self.statement.log.path = StatementPath::AutomaticView;
                        rows
                    }
                    None => {
                        self.ask_for_orders(cached)?;
                        self.query_rows(query, params)?
                    }
                };
                let columns = match &cached.columns {
                    Some(columns) => columns.list.clone(),
                    None => query.columns.as_slice().into(),
                };
                Ok(Response::Rows(RowStream { columns, rows, tag: RowTag::Counted("SELECT") }))
            }
            Planned::Write(plan) => {
                self.ask_for_orders(cached)?;
                let response = self.write(plan, params)?;
                if matches!(prepared.statement, Statement::GdprPurge(..)) {
                    self.hand_over(plan.table())?;
                }
                Ok(response)
            }
            Planned::With(plan) => {
                self.ask_for_orders(cached)?;
                self.write_with(plan, params)
            }
            Planned::CopyIn(plan, options) => self.begin_copy_in(plan, options),
            Planned::CopyOut(what, options) => {
                let format = copy::format(options, copy::CopyWay::Out)?;
                self.ask_for_orders(cached)?;
                self.copy_out((cached, what), options, format, params)
            }
            Planned::CreateTableAs(create, query) => self.create_table_as(create, query, params),
            Planned::Described(verb, query) => self.write_descriptions(*verb, query, params),
            Planned::Cursor(declare, query, tables) => {
                self.ask_for_orders(cached)?;
                self.declare(declare, (query, tables), params, prepared.source())
            }
            Planned::Subscribe(plan) => {
                Ok(Response::Subscribed(Box::new(self.subscribe(self.permit(cached), plan, params)?), None))
            }
            Planned::SubscribeCursor(declare, plan) => self.declare_subscription(cached, declare, plan, params),
            Planned::Gdpr(request, table, key) => self.subject_request(request, *table, key, params),
            Planned::Call(query) => self.call_procedure(query, params),
            Planned::Explain(explained) => self.explain(explained, prepared, params, in_script),
            Planned::Other => self.utility(prepared, params, in_script),
        }
    }

    fn begin_copy_in(&mut self, plan: &Arc<CopyInPlan>, options: &CopyOptions) -> Result<Response, SqlError> {
        if !is_temporary(plan.insert.table.0) {
            self.refuse_read_only("COPY FROM")?;
        }
        let since = self.transaction().mark();
        let copy = CopyIn::new(plan.clone(), options, &self.control.holder.activity.progress, since)?;
        Ok(Response::CopyIn(Box::new(copy)))
    }

    /// The plan once the tables that it writes, or whose rows it locks, stay what they are: a definition that was waited for
    /// may have made them others.
    fn plan_under_locks(
        &mut self,
        prepared: &Prepared,
        mut cached: Arc<CachedPlan>,
    ) -> Result<Arc<CachedPlan>, SqlError> {
        loop {
            let (targets, source) = match &cached.planned {
                Planned::Write(plan) => (vec![plan.table()], Some(plan.source())),
                Planned::With(plan) => (plan.tables(), Some(plan.main().source())),
                Planned::CopyIn(plan, _) => (vec![plan.insert.table], None),
                Planned::Query(query) if query.locks_rows() => (Vec::new(), Some(&**query)),
                _ => return Ok(cached),
            };
            let patience = self.patience();
            for relation in source.map(crate::session::locking::tables).into_iter().flatten().chain(targets) {
                self.transaction().lock(LockKey::Table(relation), LockMode::Shared, &patience)?;
            }
            if cached.is_for(&self.seen()) {
                return Ok(cached);
            }
            let fresh = self.current_plan(prepared)?;
            cached = self.readable_plan(prepared, fresh)?;
        }
    }

    pub(super) fn current_plan(&self, prepared: &Prepared) -> Result<Arc<CachedPlan>, SqlError> {
        let seen = self.seen();
        let cached = prepared.plan.load_full();
        if matches!(cached.planned, Planned::Other) || cached.is_for(&seen) {
            return Ok(cached);
        }
        let known: Vec<_> = prepared.param_types.iter().cloned().map(Some).collect();
        let planned =
            planner::plan_statement(&prepared.parsed, seen.scope(), &known, MaintainedViewUse::Read, &seen.statistics)?;
        let PlannedStatement { planned, views, needs, of_role, styled, .. } = planned;
        let columns = result_columns(&prepared.statement, &planned);
        if prepared.fixed_result && differ(prepared.columns.as_deref(), columns.as_deref()) {
            return Err(result_changed());
        }
        let columns = columns.map(|columns| Arc::new(ResultColumns::new(columns)));
        let fresh = CachedPlan::new(MadeFor::of(&seen, of_role), planned, columns, (views, Arc::new(needs)));
        let fresh = Arc::new(fresh.computing(styled));
        prepared.plan.store(fresh.clone());
        Ok(fresh)
    }

    /// What a read sees: the published state, or the transaction's view.
    pub(super) fn snapshot(&mut self) -> Result<LayeredSnapshot, SqlError> {
        match &mut self.transaction.active {
            Some(active) => active.transaction.statement_snapshot(),
            None => {
                let (base, hold) = match &self.transaction.pinned {
                    Some(pinned) => pinned.clone(),
                    None => {
                        let (base, hold) = self.database.held(&self.control.holder);
                        (base, Arc::new(hold))
                    }
                };
                let shared = base.schema.clone();
                let snapshot = LayeredSnapshot::new(self.database.store.clone(), base).held(hold).keeping();
                let snapshot = snapshot.observed(self.audit.statement.observer.clone());
                Ok(match self.temporary().in_use() {
                    true => self.temporary().under(snapshot, &self.temporary().schema(&shared, None)),
                    false => snapshot,
                })
            }
        }
    }

    pub(super) fn query_rows(&mut self, query: &Arc<Query>, params: Arc<[Datum]>) -> Result<QueryRows, SqlError> {
        if query.needs_transaction() {
            self.transaction();
        }
        if query.calls {
            let rows = self.rows_of_calls(query, params)?;
            return Ok(QueryRows::new(rows.into_iter().map(Ok)));
        }
        if query.locks_rows() {
            return self.locked_rows(query, &params);
        }
        let snapshot = self.snapshot()?;
        self.rows_over(query, snapshot, params)
    }

    pub(super) fn rows_over(
        &self,
        query: &Arc<Query>,
        snapshot: LayeredSnapshot,
        params: Arc<[Datum]>,
    ) -> Result<QueryRows, SqlError> {
        let context = match query.acts {
            true => self.acting_context(params, &snapshot),
            false => self.context_over(params, &snapshot),
        };
        self.rows_with(query, snapshot, context)
    }

    /// As `rows_over`, with what expressions are evaluated with.
    pub(super) fn rows_with(
        &self,
        query: &Arc<Query>,
        snapshot: LayeredSnapshot,
        context: EvalContext,
    ) -> Result<QueryRows, SqlError> {
        let limits = self.limits_at(&snapshot);
        self.rows_within(query, snapshot, context, limits)
    }

    /// What ends a statement that reads a snapshot.
    pub(super) fn limits_at(&self, snapshot: &LayeredSnapshot) -> QueryLimits {
        self.limits(snapshot.time())
    }

    /// As `rows_with`, within these limits.
    pub(super) fn rows_within(
        &self,
        query: &Arc<Query>,
        snapshot: LayeredSnapshot,
        context: EvalContext,
        limits: QueryLimits,
    ) -> Result<QueryRows, SqlError> {
        let snapshot = self.readable(snapshot);
        let system = Arc::new(Catalogs::new(&self.database, snapshot.catalog(), &context));
        let profile = self.statement.profile.clone();
        let rows = query::run_with_system(query.clone(), snapshot, context, limits, system, profile)?;
        Ok(match self.statement.deadlines.even_since {
            Some(since) => QueryRows::of(Even::new(rows, since)),
            None => rows,
        })
    }

    /// A snapshot with the orders in memory that the session may read.
    pub(super) fn readable(&self, snapshot: LayeredSnapshot) -> Arc<LayeredSnapshot> {
        Arc::new(if self.auto_views() { snapshot } else { snapshot.without_orders() })
    }

    fn write(&mut self, plan: &Arc<WritePlan>, params: Arc<[Datum]>) -> Result<Response, SqlError> {
        let written = self.written(plan, params)?;
        Ok(written_response(plan, written))
    }

    pub(super) fn written(&mut self, plan: &Arc<WritePlan>, params: Arc<[Datum]>) -> Result<Written, SqlError> {
        if !is_temporary(plan.table().0) {
            self.refuse_read_only(verb(plan))?;
        }
        self.may_write()?;
        let mark = self.transaction().mark();
        let called = self.with_called_rows(plan, &params)?;
        let plan = called.as_ref().unwrap_or(plan);
        let targets = [plan.table()];
        let what = Writes { locking: plan.source(), targets: &targets, parts: vec![plan] };
        let written = self.writing(&what, &params, |writer, evaluation| dml::execute(writer, plan, evaluation));
        let written = written.and_then(|written| self.triggered(written));
        self.conclude(&written, mark);
        written
    }

    /// What failed is taken back; what wrote nothing is answered at the end of a step where rows are hidden.
    pub(super) fn conclude(&mut self, written: &Result<Written, SqlError>, mark: UndoPosition) {
        match written {
            Err(_) => self.transaction().undo_failed(mark),
            Ok(written) if written.rows == 0 => {
                self.statement.deadlines.even_since.into_iter().for_each(even_answer::wait);
            }
            Ok(_) => {}
        }
    }

    /// Before a write: its changes stay in memory until the transaction ends.
    pub(super) fn may_write(&mut self) -> Result<(), SqlError> {
        if self.transaction.active.as_ref().is_some_and(|active| active.block) {
            self.may_keep()?;
        }
        self.transaction();
        Ok(())
    }

    /// Gives a write what it needs, once the rows stand still that subqueries lock; the tables that it writes.
    pub(super) fn writing<T>(
        &mut self,
        what: &Writes<'_>,
        params: &Arc<[Datum]>,
        write: impl FnOnce(&mut Writer<'_>, &Evaluation<'_>) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let patience = self.patience();
        let given = self.locked_for(what.locking, params)?;
        let given = self.current_rows(&what.parts, given)?;
        let catalog = self.catalog();
        let context = match catalog.person_of(self.actor(&catalog).role).is_some() {
            true => {
                let snapshot = self.snapshot()?;
                self.context_over(params.clone(), &snapshot)
            }
            false => self.eval_context(params.clone(), &catalog),
        };
        let context = EvalContext { given, ..context };
        let limits = self.limits(self.database.published.load().time);
        let profile = self.statement.profile.clone();
        let database = self.database.clone();
        let system = |catalog: &Arc<Catalog>, context: &EvalContext| -> Arc<dyn SystemRows> {
            Arc::new(Catalogs::new(&database, catalog, context))
        };
        let evaluation = Evaluation { limits: &limits, system: &system, profile: profile.as_ref() };
        let noted =
            what.targets.iter().any(|target| is_temporary(target.0)).then(|| self.transaction().note_personal());
        let mut writer = Writer::new(self.transaction(), context, patience);
        let written = write(&mut writer, &evaluation);
        self.taint(what.targets, noted);
        written
    }

    /// A statement has filled a temporary table; maybe from what is personal.
    pub(super) fn taint(&mut self, targets: &[RelationId], noted: Option<Arc<PersonalReads>>) {
        let Some(noted) = noted else { return };
        let transaction = self.transaction();
        transaction.forget_noted();
        if noted.found() {
            targets.iter().filter(|target| is_temporary(target.0)).for_each(|target| transaction.taint(*target));
        }
    }

    fn declare(
        &mut self,
        declare: &DeclareCursor,
        (query, tables): (&Arc<Query>, &CursorTables),
        params: Arc<[Datum]>,
        text: &str,
    ) -> Result<Response, SqlError> {
        let in_block = self.transaction.active.as_ref().is_some_and(|active| active.block);
        if !in_block && !declare.hold {
            return Err(SqlError::new("25P01", "DECLARE CURSOR can only be used in transaction blocks"));
        }
        if self.cursors.open.contains_key(&declare.name) || self.cursors.subscribed.contains_key(&declare.name) {
            return Err(SqlError::new("42P03", format!("cursor \"{}\" already exists", declare.name)));
        }
        if query.locks_rows() && (declare.hold || declare.scroll == Some(true)) {
            let (words, kind) =
                if declare.hold { ("CURSOR WITH HOLD", "Holdable") } else { ("SCROLL CURSOR", "Scrollable") };
            let clause = crate::session::locking::clause(query);
            return Err(SqlError::new("0A000", format!("DECLARE {words} ... {clause} is not supported"))
                .detail(format!("{kind} cursors must be READ ONLY.")));
        }
        self.may_keep()?;
        self.transaction();
        let opened_at = self.database.published.load().time;
        let rows = self.query_rows(query, params)?;
        let columns = query.columns[..query.columns.len() - tables.tables.len()].into();
        let rows_of = RowsOf { tables: tables.clone(), moved_before: self.transaction().pending.moved.len() };
        let declared = Declared {
            text: text.into(),
            scroll: declare.scroll == Some(true),
            hold: declare.hold,
            held: false,
            binary: declare.binary,
            at: self.statement.started,
        };
        let rows = self.audited(rows);
        let cursor = Cursor::new(columns, rows, declared, opened_at).of_tables(rows_of);
        self.transaction().pending.cursors.push(declare.name.clone());
        self.cursors.open.insert(declare.name.clone(), cursor);
        Ok(Response::Complete("DECLARE CURSOR".into()))
    }

    fn declare_subscription(
        &mut self,
        cached: &CachedPlan,
        declare: &DeclareCursor,
        plan: &SubscribePlan,
        params: Arc<[Datum]>,
    ) -> Result<Response, SqlError> {
        if !self.transaction.active.as_ref().is_some_and(|active| active.block) {
            return Err(SqlError::new("25P01", "DECLARE CURSOR can only be used in transaction blocks"));
        }
        if declare.hold || declare.scroll == Some(true) {
            return Err(SqlError::unsupported("a subscription's cursor WITH HOLD or SCROLL"));
        }
        if self.cursors.open.contains_key(&declare.name) || self.cursors.subscribed.contains_key(&declare.name) {
            return Err(SqlError::new("42P03", format!("cursor \"{}\" already exists", declare.name)));
        }
        let subscribed = self.subscribe(self.permit(cached), plan, params)?;
        self.transaction().pending.cursors.push(declare.name.clone());
        self.cursors.subscribed.insert(declare.name.clone(), subscribed);
        Ok(Response::Complete("DECLARE CURSOR".into()))
    }

    fn copy_out(
        &mut self,
        (cached, what): (&CachedPlan, &Planned),
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
            Planned::With(plan) => match self.write_with(plan, params)? {
                Response::Rows(stream) => (stream.columns, stream.rows),
                _ => return Err(SqlError::new("0A000", "COPY query must have a RETURNING clause")),
            },
            Planned::Gdpr(request, table, key) => {
                if let GdprRequest::Export(export, audit) = request {
                    format.content.raw = true;
                    self.export((*export, *audit), (*table, key), params)?
                } else {
                    match self.subject_request(request, *table, key, params)? {
                        Response::Rows(stream) => (stream.columns, stream.rows),
                        _ => return Err(SqlError::unsupported("COPY of this statement")),
                    }
                }
            }
            Planned::Subscribe(plan) => {
                let subscribed = self.subscribe(self.permit(cached), plan, params)?;
                format.forced.quote = copy::force_quote(options, subscribed.columns())?;
                return Ok(Response::Subscribed(Box::new(subscribed), Some(format)));
            }
            _ => return Err(SqlError::unsupported("COPY of this statement")),
        };
        format.forced.quote = copy::force_quote(options, &columns)?;
        let stream = RowStream { columns, rows, tag: RowTag::Counted("COPY") };
        Ok(Response::CopyOut(stream, format))
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.transaction
            .active
            .as_ref()
            .map_or_else(|| self.default_modes(), |active| active.transaction.modes)
            .read_only
    }

    pub(super) fn refuse_read_only(&self, what: &str) -> Result<(), SqlError> {
        if self.is_read_only() {
            return Err(SqlError::new("25006", format!("cannot execute {what} in a read-only transaction")));
        }
        Ok(())
    }
}

/// What a statement writes.
pub(super) struct Writes<'w> {
    /// The query whose subqueries lock rows.
    pub(super) locking: &'w Query,
    /// The tables.
    pub(super) targets: &'w [RelationId],
    /// The writes that it is made of.
    pub(super) parts: Vec<&'w WritePlan>,
}

pub(super) fn verb(plan: &WritePlan) -> &'static str {
    match plan {
        WritePlan::Insert(_) => "INSERT",
        WritePlan::Update(_) => "UPDATE",
        WritePlan::Delete(_) => "DELETE",
        WritePlan::Merge(_) => "MERGE",
    }
}

/// What a write answers: its tag, and RETURNING's rows.
pub(super) fn written_response(plan: &WritePlan, written: Written) -> Response {
    let tag = match verb(plan) {
        "INSERT" => format!("INSERT 0 {}", written.rows),
        verb => format!("{verb} {}", written.rows),
    };
    match returning(plan) {
        None => Response::Complete(tag),
        Some(columns) => Response::Rows(RowStream {
            columns: columns.into(),
            rows: QueryRows::new(written.returned.into_rows()),
            tag: RowTag::Fixed(tag),
        }),
    }
}
