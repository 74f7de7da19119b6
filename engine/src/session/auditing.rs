//! What a session's statements leave in the audit log.
//!
//! ```text
//! begin ─▶ ReadObserver ─▶ statement ─┬─ wrote      ─▶ its entry goes with the transaction
//!                                     ├─ gives rows ─▶ AuditedRows: its entry when they are given, or each second
//!                                     └─ the rest   ─▶ its entry now
//! ```
//! A statement that touches nothing personal, defines nothing and was not refused leaves nothing.

use crate::response::{Response, RowStream, RowTag};
use crate::session::Session;
use crate::session::audit_entries::{AuditSink, Deliveries, EntryHead, OwedRound, WAITING_MAX};
use crate::session::audited_rows::AuditedRows;
use crate::session::plan::{CachedPlan, Prepared};
use planner::Planned;
use planner::parse::Statement;
use planner::plan::{Plan, WithPart, WritePlan};
use planner::resolve::GdprRequest;
use repr::{CommitTime, MicroDbId, RelationId};
use state::SqlError;
use state::answer::QueryRows;
use state::audit::{AuditMode, ReadBy, ReadObserver};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use storage::audit::{AuditActor, AuditOperation, AuditScope};
use transactions::database::Database;

/// What is recorded of a session, and of the statement that it runs.
#[derive(Default)]
pub(super) struct SessionAudit {
    /// From where the client comes, if not by a socket of the machine's own.
    pub address: Option<IpAddr>,
    /// Who acts.
    actor: Arc<AuditActor>,
    /// Of a statement before, to be used again.
    spare: Option<Arc<ReadObserver>>,
    /// What the client's answer follows in the strict mode.
    pub owed: Arc<OwedRound>,
    /// Whether the statement under way may leave that to who answers.
    pub may_owe: bool,
    /// Of the statement under way.
    pub statement: StatementAudit,
    /// The tables of the last entry of a write.
    tables: Arc<[RelationId]>,
}

/// What is recorded of a statement.
#[derive(Default)]
pub(super) struct StatementAudit {
    /// What it reads; none while nothing is recorded, and where it cannot read anybody's rows.
    pub observer: Option<Arc<ReadObserver>>,
    mode: AuditMode,
    /// What it does, and by which text: of EXECUTE, what that executes.
    what: Option<(AuditOperation, Arc<Prepared>)>,
    /// The personal tables that it writes.
    writes: Vec<RelationId>,
    /// Whose data it is about.
    pub subject: Option<MicroDbId>,
}

impl StatementAudit {
    /// Whether its entry is durable before its answer.
    pub(super) fn is_strict(&self) -> bool {
        self.mode == AuditMode::Strict
    }

    /// Whether it looks for what has expired, as the server does all the time.
    fn purges(&self) -> bool {
        self.what.as_ref().is_some_and(|(_, prepared)| matches!(prepared.statement, Statement::GdprPurge(..)))
    }
}

impl SessionAudit {
    /// Of a session whose client comes from there.
    pub(super) fn of(address: Option<IpAddr>) -> SessionAudit {
        SessionAudit { address, ..SessionAudit::default() }
    }
}

impl Session {
    /// Before a statement.
    pub(super) fn audit_begins(&mut self) {
        let mode = self.state.lock().everyday().audit;
        self.audit.statement = StatementAudit { mode, ..StatementAudit::default() };
        if let Some(active) = &mut self.transaction.active {
            // The one before has ended.
            active.transaction.observe(None);
        }
    }

    /// What the statement reads is noted from here on.
    fn audit_observes(&mut self) {
        if self.audit.statement.observer.is_some() {
            return;
        }
        let joint = self.database.published.load().schema.joint_tables().clone();
        let mut spare = self.audit.spare.take();
        let observer = match spare.as_mut().and_then(Arc::get_mut) {
            Some(unused) => {
                unused.renew(joint);
                spare.expect("it was looked at")
            }
            // Its rows are still read.
            None => Arc::new(ReadObserver::new(joint)),
        };
        self.audit.spare = Some(observer.clone());
        self.audit.statement.observer = Some(observer);
        let actor = self.audit_actor();
        self.audit_transaction_of(&actor);
    }

    /// The transaction's statements are observed from here on.
    pub(super) fn audit_transaction(&mut self) {
        if self.transaction.active.is_some() {
            let actor = self.audit_actor();
            self.audit_transaction_of(&actor);
        }
    }

    fn audit_transaction_of(&mut self, actor: &Arc<AuditActor>) {
        if let Some(active) = &mut self.transaction.active {
            active.transaction.observe(self.audit.statement.observer.clone());
            active.transaction.act_as(actor);
        }
    }

    /// Who acts.
    pub(super) fn audit_actor(&mut self) -> Arc<AuditActor> {
        let catalog = self.catalog();
        let path = self.search_path(&catalog);
        let role = path.actor().role.0;
        let declared = path.actor().purpose.as_deref();
        let purpose = declared.and_then(|purpose| catalog.rights.purposes.get(purpose)).map(|found| found.id);
        let (login, address) = (self.client.login.role.0, self.audit.address);
        let known = &self.audit.actor;
        if known.role != role || known.login != login || known.address != address || known.purpose != purpose {
            self.audit.actor = Arc::new(AuditActor { login, role, purpose, address });
        }
        self.audit.actor.clone()
    }

    /// What the statement does is known.
    pub(super) fn audit_plan(&mut self, prepared: &Arc<Prepared>, cached: &CachedPlan) {
        if self.audit.statement.mode == AuditMode::Off {
            // Erasures are recorded all the same, and by whom.
            if !matches!(cached.planned, Planned::Query(_)) {
                self.audit_transaction();
            }
            return;
        }
        let operation = operation(&cached.planned);
        self.audit.statement.what = Some((operation, prepared.clone()));
        if self.reads_nobody(prepared, cached) {
            return;
        }
        self.audit_observes();
        let written: Vec<RelationId> = match &cached.planned {
            Planned::Write(plan) => vec![plan.table()],
            Planned::With(plan) => plan.tables(),
            Planned::CopyIn(plan, _) => vec![plan.insert.table],
            _ => return,
        };
        let published = self.database.published.load();
        let is_personal = |id: &RelationId| published.schema.shape(*id).is_some_and(|shape| shape.personal);
        self.audit.statement.writes = written.into_iter().filter(is_personal).collect();
    }

    /// Whether a statement cannot read anybody's rows, as far as that is seen at a glance: it begins or ends a transaction, or
    /// reads rows of one shared table.
    fn reads_nobody(&self, prepared: &Prepared, cached: &CachedPlan) -> bool {
        match &cached.planned {
            Planned::Other => {
                prepared.statement.ends_or_begins_transaction()
                    || matches!(prepared.statement, Statement::Set(_) | Statement::Show(_))
            }
            Planned::Query(query) if !query.locks_rows() => match read_alone(&query.plan) {
                Some(relation) => {
                    let published = self.database.published.load();
                    published.schema.shape(relation).is_some_and(|shape| !shape.personal)
                }
                None => matches!(&query.plan, Plan::Constant { .. }),
            },
            _ => false,
        }
    }

    /// A definition was carried out.
    pub(super) fn audit_defined(&mut self, statement: &Statement, emptied: Vec<RelationId>) {
        let operation = match statement {
            Statement::Rights(_) => AuditOperation::Grant,
            Statement::Truncate { .. } => AuditOperation::Truncate,
            _ => AuditOperation::Define,
        };
        if let Some((what, _)) = &mut self.audit.statement.what {
            *what = operation;
            self.audit.statement.writes.extend(emptied);
        }
    }

    /// Rows that are read later, as a cursor's are.
    pub(super) fn audited(&mut self, rows: QueryRows) -> QueryRows {
        match self.audit.statement.observer.take() {
            Some(observer) => {
                let owed = (self.audit.may_owe && self.audit.statement.is_strict()).then(|| self.audit.owed.clone());
                let sink = AuditSink { owed, ..self.audit_sink() };
                AuditedRows::over(rows, observer, self.audit_head(), sink, self.about())
            }
            None => rows,
        }
    }

    fn audit_sink(&self) -> AuditSink {
        let (database, mode) = (self.database.clone(), self.audit.statement.mode);
        AuditSink { database, session: self.control.holder.session.0, mode, owed: None }
    }

    fn audit_head(&self) -> EntryHead {
        let actor = self.audit.actor.clone();
        match &self.audit.statement.what {
            Some((operation, prepared)) => {
                let statement = prepared.audited_as(&self.database.audit, || self.catalog());
                EntryHead { actor, operation: *operation, statement }
            }
            None => EntryHead { actor, operation: AuditOperation::Select, statement: [0; 8] },
        }
    }

    /// What a statement gave, once what it did is recorded or will be.
    pub(super) fn audit_ends(&mut self, response: Result<Response, SqlError>) -> Result<Response, SqlError> {
        let Some(observer) = self.audit.statement.observer.take() else {
            if let Err(error) = &response {
                self.audit_failed(None, error)?;
            }
            return response;
        };
        match response {
            Err(error) => {
                self.audit_failed(Some(&observer), &error)?;
                Err(error)
            }
            Ok(Response::Rows(RowStream { columns, rows, tag })) if !self.has_written() => {
                self.audit.statement.observer = Some(observer);
                let rows = self.audited(rows);
                Ok(Response::Rows(RowStream { columns, rows, tag }))
            }
            Ok(Response::CopyOut(RowStream { columns, rows, tag }, format)) if !self.has_written() => {
                self.audit.statement.observer = Some(observer);
                let rows = self.audited(rows);
                Ok(Response::CopyOut(RowStream { columns, rows, tag }, format))
            }
            Ok(response) => {
                self.audit_done(&observer, &response)?;
                Ok(response)
            }
        }
    }

    fn has_written(&self) -> bool {
        let operation = self.audit.statement.what.as_ref().map(|(operation, _)| *operation);
        !self.audit.statement.writes.is_empty() || operation.is_some_and(defines)
    }

    /// Whose data the statement is about, if it is a subject request.
    fn about(&self) -> Option<MicroDbId> {
        self.audit.statement.subject
    }

    /// A statement that gives no rows that are still to be read.
    fn audit_done(&mut self, observer: &ReadObserver, response: &Response) -> Result<(), SqlError> {
        let read = observer.take()?;
        let head = self.audit_head();
        // An erasure's entry vouches for its receipt, and stands in its commit; that of a replaced key stood before it began.
        if matches!(head.operation, AuditOperation::Forget | AuditOperation::Rekey)
            || matches!(response, Response::CopyIn(_))
        {
            return Ok(());
        }
        let writes = std::mem::take(&mut self.audit.statement.writes);
        if read.is_none() && writes.is_empty() && !defines(head.operation) {
            return Ok(());
        }
        let rows = match response {
            Response::Complete(tag) => tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0),
            Response::Rows(RowStream { tag: RowTag::Fixed(tag), .. }) => {
                tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
            }
            _ => 0,
        };
        if rows == 0 && self.audit.statement.purges() {
            return Ok(());
        }
        self.audit_written(&head, read.unwrap_or_default(), writes, rows)
    }

    /// A person's key is about to be replaced, whatever becomes of the session: the entry is durable before.
    pub(super) fn audit_rekey(&mut self, table: RelationId) -> Result<(), SqlError> {
        if self.audit.statement.mode == AuditMode::Off {
            return Ok(());
        }
        let published = self.database.published.load_full();
        let subjects = self.about().into_iter().collect();
        let read = ReadBy { tables: [table].into(), subjects, ..ReadBy::default() };
        let entry = self.audit_head().entry(read, 0, published.time);
        self.database.pipeline.record(&self.database.store, &published.schema, &entry)
    }

    /// COPY FROM has taken all its rows.
    pub(super) fn audit_copied(&mut self, table: RelationId, rows: u64) -> Result<(), SqlError> {
        let is_personal = self.database.published.load().schema.shape(table).is_some_and(|shape| shape.personal);
        if self.audit.statement.mode == AuditMode::Off || !is_personal {
            return Ok(());
        }
        self.audit_actor();
        let head = self.audit_head();
        self.audit_written(&head, ReadBy::default(), vec![table], rows)
    }

    fn audit_written(
        &mut self,
        head: &EntryHead,
        mut read: ReadBy,
        writes: Vec<RelationId>,
        rows: u64,
    ) -> Result<(), SqlError> {
        read.tables = self.tables_of(&read.tables, writes);
        match &mut self.transaction.active {
            Some(active) => {
                // It is of the commit that it will make.
                active.transaction.audit(head.entry(read, rows, CommitTime(u64::MAX)));
                Ok(())
            }
            None => {
                let commit = self.database.published.load().time;
                self.audit_sink().put(head.entry(read, rows, commit))
            }
        }
    }

    /// Tables that were read, and then those that were written: as the write before had them, mostly.
    fn tables_of(&mut self, read: &Arc<[RelationId]>, mut writes: Vec<RelationId>) -> Arc<[RelationId]> {
        writes.retain(|table| !read.contains(table));
        if writes.is_empty() {
            return read.clone();
        }
        let is_same = |last: &[RelationId]| last.strip_prefix(&**read) == Some(writes.as_slice());
        if !is_same(&self.audit.tables) {
            self.audit.tables = read.iter().copied().chain(writes).collect();
        }
        self.audit.tables.clone()
    }

    /// A statement that failed: what it read all the same, or that it was refused.
    fn audit_failed(&mut self, observer: Option<&ReadObserver>, error: &SqlError) -> Result<(), SqlError> {
        if self.audit.statement.mode == AuditMode::Off {
            return Ok(());
        }
        let read = observer.map(ReadObserver::take).transpose()?.flatten();
        let refused = error.code == "42501" || error.code.starts_with("0L");
        if read.is_none() && !refused {
            return Ok(());
        }
        self.audit_actor();
        let mut head = self.audit_head();
        if refused {
            head.operation = AuditOperation::Refuse;
        }
        let commit = self.database.published.load().time;
        self.audit_sink().put(head.entry(read.unwrap_or_default(), 0, commit))
    }

    /// The session begins.
    pub(super) fn audit_connected(&mut self) -> Result<(), SqlError> {
        let mode = self.state.lock().everyday().audit;
        self.audit_actor();
        if mode == AuditMode::Off {
            return Ok(());
        }
        let head = EntryHead { actor: self.audit.actor.clone(), operation: AuditOperation::Connect, statement: [0; 8] };
        self.audit.statement.mode = mode;
        let commit = self.database.published.load().time;
        self.audit_sink().put(head.entry(ReadBy::default(), 0, commit))
    }

    /// A view that a query has earned is read, by a key or by several; `reads` is what it is made of.
    pub(super) fn audit_view(&self, view: RelationId, reads: &BTreeSet<RelationId>, keys: &[Vec<u8>]) {
        let Some(observer) = &self.audit.statement.observer else { return };
        let schema = self.database.published.load().schema.clone();
        let below: Vec<RelationId> = reads.iter().flat_map(|id| schema.personal_below(*id).to_vec()).collect();
        if below.is_empty() {
            return;
        }
        let key = match keys {
            [key] => Some(self.database.store.audit_key(view, key)),
            _ => None,
        };
        observer.note_view(view, &below, key);
    }

    /// For what a subscription to a view will be given; none if nothing of it is personal.
    pub(super) fn audit_subscription(
        &self,
        view: RelationId,
        reads: &BTreeSet<RelationId>,
        keys: &[Vec<u8>],
    ) -> Result<Option<Deliveries>, SqlError> {
        self.audit_view(view, reads, keys);
        let Some(read) = self.audit.statement.observer.as_ref().map(|observer| observer.take()).transpose()?.flatten()
        else {
            return Ok(None);
        };
        let (head, sink) = (self.audit_head(), self.audit_sink());
        let commit = self.database.published.load().time;
        sink.put(head.entry(read.clone(), 0, commit))?;
        Ok(Some(Deliveries::of(head, sink, read)))
    }
}

/// A login that was refused, for the log.
pub fn rejected(database: &Database, login: &str, address: Option<IpAddr>) {
    let published = database.published.load();
    let role = published.catalog().role_by_name(login).map_or(0, |role| role.0);
    let actor = Arc::new(AuditActor { login: role, role, purpose: None, address });
    let head = EntryHead { actor, operation: AuditOperation::Reject, statement: [0; 8] };
    let entry = head.entry(ReadBy { scope: AuditScope::default(), ..ReadBy::default() }, 0, published.time);
    match database.audit_apart(0, entry) {
        Ok(waits) if waits.is_some_and(|waits| waits.entries > WAITING_MAX) => database.pipeline.record_soon(),
        Ok(_) => {}
        Err(error) => tracing::error!(target: "dogwood::audit", "a refused login could not be recorded: {error}"),
    }
}

/// The one relation whose rows a plan gives.
fn read_alone(plan: &Plan) -> Option<RelationId> {
    match plan {
        Plan::Get { relation, .. } => Some(*relation),
        Plan::Mfp(input, _) => read_alone(input),
        _ => None,
    }
}

fn defines(operation: AuditOperation) -> bool {
    matches!(operation, AuditOperation::Define | AuditOperation::Grant | AuditOperation::Truncate)
}

fn operation(planned: &Planned) -> AuditOperation {
    match planned {
        Planned::Write(plan) => verb(plan),
        Planned::With(plan) => plan.parts.iter().rev().find_map(writes).map_or(AuditOperation::Select, verb),
        Planned::CopyIn(..) => AuditOperation::Copy,
        Planned::CopyOut(what, _) => operation(what),
        Planned::Query(_)
        | Planned::Cursor(..)
        | Planned::CreateTableAs(..)
        | Planned::Described(..)
        | Planned::Explain(_) => AuditOperation::Select,
        Planned::Subscribe(_) | Planned::SubscribeCursor(..) => AuditOperation::Subscribe,
        Planned::Gdpr(GdprRequest::Get(_) | GdprRequest::ExplainForget(_), ..) => AuditOperation::Get,
        Planned::Gdpr(GdprRequest::Export(..), ..) => AuditOperation::Export,
        Planned::Gdpr(GdprRequest::Forget(_), ..) => AuditOperation::Forget,
        Planned::Gdpr(GdprRequest::Unforget, ..) => AuditOperation::Unforget,
        Planned::Gdpr(GdprRequest::Restrict(_), ..) => AuditOperation::Restrict,
        Planned::Gdpr(GdprRequest::Rekey, ..) => AuditOperation::Rekey,
        Planned::Gdpr(GdprRequest::Enter(..), ..) => AuditOperation::Request,
        Planned::Call(_) | Planned::Other => AuditOperation::Select,
    }
}

fn writes(part: &WithPart) -> Option<&WritePlan> {
    match part {
        WithPart::Write { plan, .. } | WithPart::Main(plan) => Some(plan),
        WithPart::Query(_) => None,
    }
}

fn verb(plan: &WritePlan) -> AuditOperation {
    match plan {
        WritePlan::Insert(_) => AuditOperation::Insert,
        WritePlan::Update(_) => AuditOperation::Update,
        WritePlan::Delete(_) => AuditOperation::Delete,
        WritePlan::Merge(_) => AuditOperation::Merge,
    }
}
