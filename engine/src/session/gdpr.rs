//! Subject requests and compliance reports as statements.

use crate::key_renewal;
use crate::response::{Response, RowStream, RowTag};
use crate::session::Session;
use crate::session::env::RESTORING;
use crate::session::result_columns::{column, compliance_columns, forget_columns, rekey_columns};
use crate::system::audit::AuditReader;
use operators::request_profile::{Counted, RequestProfile};
use operators::traversal::{self, Subject};
use planner::catalog::{Role, RoleId, own_tables};
use planner::hir::OutputColumn;
use planner::ownership::{compliance, dot, json};
use planner::parse::request::{ExportFormat, RequestKind};
use planner::parse::rights::{RightsStatement, RoleOptionKind};
use planner::parse::statement::ComplianceFormat;
use planner::parse::{ParsedStatement, Statement};
use planner::resolve::{Forgetting, GdprRequest};
use planner::scalar::{EvalContext, ScalarExpr};
use planner::{MaintainedViewUse, Planned};
use repr::id::is_temporary;
use repr::{Datum, Jsonb, MicroDbId, RelationId, ScalarType};
use state::SqlError;
use state::answer::QueryRows;
use state::interrupt::Watch;
use state::layered_snapshot::LayeredSnapshot;
use state::locks::{LockKey, LockMode, Patience};
use state::overlay::ErasedInPart;
use state::reader::Reader;
use std::sync::Arc;
use std::time::Instant;
use subject_requests::access::{AccessAnswer, AccessRows};
use subject_requests::erase::KeptByOthers;
use subject_requests::own::{self, OwnRows};
use subject_requests::{access, erase};
use transactions::ddl;
use transactions::ownership::Between;
use transactions::receipt::{self, Counts};
use transactions::transaction::Derived;
use transactions::writer::Writer;

/// A person's table and key; and what of them is to be forgotten.
pub(super) type Whom<'a> = (RelationId, &'a [ScalarExpr], &'a Forgetting);

/// Whoever is forgotten waits for nothing else any more.
const FORGET_ANSWERS: [RequestKind; 6] = [
    RequestKind::Erasure,
    RequestKind::Access,
    RequestKind::Rectification,
    RequestKind::Restriction,
    RequestKind::Portability,
    RequestKind::Objection,
];

/// What is written beside an erasure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeps {
    /// Answered requests, and what must be kept of it.
    All,
    /// It is only to be told what it would do.
    Nothing,
}

// Each attempt that fails, another transaction has won.
const FORGET_ATTEMPTS_MAX: usize = 20;

impl Session {
    pub(super) fn subject_request(
        &mut self,
        request: &GdprRequest,
        table: RelationId,
        key: &[ScalarExpr],
        params: Arc<[Datum]>,
    ) -> Result<Response, SqlError> {
        self.refuse_restoring()?;
        match request {
            GdprRequest::Get(audit) => {
                let (rows, subject) = self.access_rows(table, key, params, &[RequestKind::Access])?;
                let mut rows = QueryRows::of(AccessAnswer::new(rows));
                if *audit {
                    let told = self.told_of(&subject)?.map(|entry| Ok(access::audit_row(&entry?)));
                    rows = QueryRows::new(rows.chain(told));
                }
                Ok(Response::Rows(RowStream { columns: access::columns(), rows, tag: RowTag::Counted("SELECT") }))
            }
            GdprRequest::Forget(forgetting) => {
                let counts = self.forget((table, key, forgetting), &params, &mut RequestProfile::default())?;
                Ok(self.forget_rows(&counts, "GDPR FORGET"))
            }
            GdprRequest::Unforget => self.unforget(table, key, &params),
            GdprRequest::Restrict(begins) => self.restrict(*begins, table, key, params),
            GdprRequest::Rekey => self.rekey(table, key, params),
            GdprRequest::Enter(kind, received) => self.enter_request((*kind, *received), table, key, params),
            GdprRequest::ExplainForget(parts) => {
                self.transaction();
                let mark = self.transaction().mark();
                let counts = self.plan_forget((table, key, &Forgetting { grace: None, parts: parts.clone() }), &params);
                self.transaction().roll_back_to(mark);
                Ok(self.forget_rows(&counts?, "EXPLAIN"))
            }
            GdprRequest::Export(..) => {
                Err(SqlError::new("0A000", "GDPR EXPORT is read through COPY")
                    .hint("write COPY (GDPR EXPORT …) TO STDOUT"))
            }
        }
    }

    /// Before its labels take effect a restored row belongs to nobody yet.
    pub(super) fn refuse_restoring(&self) -> Result<(), SqlError> {
        if self.state.lock().settings.is_on(RESTORING) {
            return Err(SqlError::new("55000", "subject requests wait until what is restored has its owners")
                .hint("SET dogwood.restoring = off first"));
        }
        Ok(())
    }

    pub(super) fn subject(
        &mut self,
        snapshot: &LayeredSnapshot,
        table: RelationId,
        key: &[ScalarExpr],
        params: Arc<[Datum]>,
    ) -> Result<Subject, SqlError> {
        let context = self.eval_context(params, snapshot.catalog());
        let key = key.iter().map(|expr| expr.eval(&[], &context)).collect::<Result<Vec<_>, _>>()?;
        let shape = snapshot.shape(table)?;
        let catalog = self.catalog();
        if let Some(person) = catalog.person_of(self.actor(&catalog).role) {
            // To a person's own login others are as if they were not there.
            let is_own = || own::is_called(person, table, &shape.key_of(snapshot.store(), &key));
            let found = match shape.table().data_subject && !is_own() {
                true => Err(subject_requests::absent(shape)),
                false => subject_requests::find(snapshot, shape, &key),
            };
            return match found {
                Ok(subject) if subject.microdb.0 == person.microdb => Ok(subject),
                Err(error) if error.code != "DG003" => Err(error),
                Ok(_) | Err(_) => Err(subject_requests::absent(shape)),
            };
        }
        subject_requests::find(snapshot, shape, &key)
    }

    /// What expressions are evaluated with over a snapshot: to a person's own login, with that person's rows.
    pub(super) fn context_over(&self, params: Arc<[Datum]>, snapshot: &LayeredSnapshot) -> EvalContext {
        let catalog = self.catalog();
        let context = self.eval_context(params, snapshot.catalog());
        let Some(person) = catalog.person_of(self.actor(&catalog).role) else { return context };
        let watch = Watch::new(self.limits(snapshot.time()));
        let own = OwnRows::new(person.clone(), snapshot.clone(), watch);
        let mut environment = self.environment(snapshot.catalog());
        environment.acting.own = Some(own);
        EvalContext { environment: Arc::new(environment), ..context }
    }

    /// A statement that makes a person's login, with that person in the place of the key; none if it is no such. DG003 if there is
    /// no such person.
    pub(super) fn with_person(&mut self, statement: &Statement) -> Result<Option<Statement>, SqlError> {
        let Statement::Rights(rights) = statement else { return Ok(None) };
        let RightsStatement::CreateRole(create) = &**rights else { return Ok(None) };
        let Some(place) = create.options.iter().position(|option| matches!(option.kind, RoleOptionKind::For(_))) else {
            return Ok(None);
        };
        let RoleOptionKind::For(reference) = create.options[place].kind.clone() else { return Ok(None) };
        self.refuse_restoring()?;
        let text = Statement::GdprGet { subject: reference, audit: false };
        let parsed = ParsedStatement { statement: text, text: String::new(), offset: 0, variables: None };
        let seen = self.seen();
        let planned = planner::plan_statement(&parsed, seen.scope(), &[], MaintainedViewUse::Read, &seen.statistics)?;
        let Planned::Gdpr(_, table, key) = planned.planned else {
            return Err(SqlError::new("XX000", "a person's login without a person"));
        };
        planned.needs.check(&self.catalog(), self.actor(&self.catalog()).role, self.client.database_id)?;
        let snapshot = self.transaction().latest_snapshot();
        let subject = self.subject(&snapshot, table, &key, Arc::from([]))?;
        let mut create = create.clone();
        create.options[place].kind = RoleOptionKind::Person(own::person(&subject));
        Ok(Some(Statement::Rights(Box::new(RightsStatement::CreateRole(create)))))
    }

    /// Whoever was forgotten has no login any more, and no session.
    pub(super) fn end_logins(&mut self, microdb: MicroDbId) -> Result<(), SqlError> {
        let catalog = self.database.published.load().catalog().clone();
        let is = |role: &Role| role.person.as_ref().is_some_and(|person| person.microdb == microdb.0);
        let gone: Vec<RoleId> = catalog.roles.iter().filter(|(_, role)| is(role)).map(|(id, _)| *id).collect();
        if gone.is_empty() {
            return Ok(());
        }
        let patience = self.patience();
        let context = self.eval_context(Arc::from([]), &catalog);
        let statement = Statement::Rights(Box::new(RightsStatement::EndLogins(microdb.0)));
        ddl::execute(self.transaction(), &statement, context, &patience, false)?;
        self.complete()?;
        for session in self.database.sessions.holders.living() {
            if session.backend == self.client.backend {
                // Whoever has forgotten themselves is told so, and then it ends.
                self.client.is_forgotten = gone.contains(&session.activity.owner.role);
            } else if gone.contains(&session.activity.owner.role) {
                session.terminate();
            }
        }
        Ok(())
    }

    fn access_rows(
        &mut self,
        table: RelationId,
        key: &[ScalarExpr],
        params: Arc<[Datum]>,
        kinds: &[RequestKind],
    ) -> Result<(AccessRows, Subject), SqlError> {
        let snapshot = self.snapshot()?;
        let subject = self.subject(&snapshot, table, key, params.clone())?;
        self.audit.statement.subject = Some(subject.microdb);
        let limits = self.limits(snapshot.time());
        let watch = Watch::new(limits.clone());
        let found = traversal::find(&snapshot, &subject, &watch, &mut RequestProfile::default())?;
        self.note_answer(&snapshot, &subject, kinds)?;
        let context = self.eval_context(params, snapshot.catalog());
        Ok((AccessRows::new(found, snapshot, &context, limits.ended), subject))
    }

    /// Who did what with a person's data.
    fn told_of(
        &self,
        subject: &Subject,
    ) -> Result<impl Iterator<Item = Result<Jsonb, SqlError>> + Send + use<>, SqlError> {
        AuditReader::about_subject(&self.database, &self.catalog(), subject.microdb)
    }

    /// Erases a person; gives what was done, by table.
    pub(super) fn forget(
        &mut self,
        whom: Whom<'_>,
        params: &Arc<[Datum]>,
        profile: &mut RequestProfile,
    ) -> Result<Counts, SqlError> {
        self.refuse_others("GDPR FORGET")?;
        let insists_from = Instant::now() + self.state.lock().everyday().forget_wait;
        // What stands before it in the same string or pipeline goes with a failed attempt, and is not the request's to repeat.
        let alone = self.transaction.active.is_none();
        for _ in 1..FORGET_ATTEMPTS_MAX {
            match self.try_forget(whom, params, insists_from, profile) {
                // What it was planned from changed under it: rows lost their last other owner, or went themselves.
                Err(error) if alone && matches!(error.code, "DG001" | "DG002" | "40001" | "40P01") => self.fail(&error),
                Err(error) if error.code == "DG003" => {
                    self.fail(&error);
                    self.record_unknown(whom.0, whom.1, params.clone())?;
                    return Err(error);
                }
                outcome => return outcome,
            }
        }
        self.try_forget(whom, params, insists_from, profile)
    }

    /// Refuses a statement that commits by itself beside others.
    fn refuse_others(&mut self, statement: &'static str) -> Result<(), SqlError> {
        self.refuse_restoring()?;
        if self.transaction.active.as_ref().is_some_and(|active| active.block) {
            return Err(SqlError::new("25001", format!("{statement} cannot run inside a transaction block")));
        }
        // What becomes of rows is read as it is committed: of these that would be nothing.
        let may_stand = |relation: RelationId| own_tables::is_own(relation.0) || is_temporary(relation.0);
        if self.transaction.active.as_ref().is_some_and(|active| !active.transaction.overlay().changes_only(may_stand))
        {
            let message = format!("{statement} cannot run behind changes that are not committed");
            return Err(SqlError::new("25001", message).hint(
                "Send it by itself: what stands before it in the same query string or pipeline is one transaction with it.",
            ));
        }
        self.refuse_read_only(statement)
    }

    /// GDPR REKEY. What has begun is gone on with, whatever becomes of the session.
    fn rekey(&mut self, table: RelationId, key: &[ScalarExpr], params: Arc<[Datum]>) -> Result<Response, SqlError> {
        self.refuse_others("GDPR REKEY")?;
        let snapshot = self.transaction().latest_snapshot();
        let found = self.subject(&snapshot, table, key, params.clone());
        drop(snapshot);
        let subject = match found {
            Err(error) if error.code == "DG003" => {
                self.fail(&error);
                self.record_unknown(table, key, params)?;
                return Err(error);
            }
            found => found?.microdb,
        };
        self.audit.statement.subject = Some(subject);
        // The session is no reader from before, and what stands before it in a pipeline is not to wait for it.
        self.audit_rekey(table)?;
        self.complete()?;
        // Its account refuses nothing any more, as behind any commit.
        let (cancel, until) = (self.control.cancel.clone(), self.statement.deadlines.statement);
        let check = || match until {
            _ if cancel.is_cancelled() => Err("canceling statement due to user request"),
            Some(until) if Instant::now() >= until => Err("canceling statement due to statement timeout"),
            Some(_) | None => Ok(()),
        };
        let resealed = key_renewal::renew(&self.database, subject, &|| {
            check().map_err(|why| SqlError::new("57014", why).hint("The server goes on with it."))
        })?;
        let rows = vec![Ok(vec![Datum::Int8(i64::try_from(resealed).unwrap_or(i64::MAX))])];
        Ok(Response::Rows(RowStream {
            columns: rekey_columns(),
            rows: QueryRows::new(rows.into_iter()),
            tag: RowTag::Fixed("GDPR REKEY".into()),
        }))
    }

    /// A request that finds no one leaves nothing but a record of it.
    fn record_unknown(&mut self, table: RelationId, key: &[ScalarExpr], params: Arc<[Datum]>) -> Result<(), SqlError> {
        let snapshot = self.database.latest_snapshot();
        let context = self.eval_context(params, snapshot.catalog());
        let key = key.iter().map(|expr| expr.eval(&[], &context)).collect::<Result<Vec<_>, _>>()?;
        let row_key = snapshot.shape(table)?.key_of(snapshot.store(), &key);
        let actor = self.audit_actor();
        let entry = transactions::unknown_subject::audited(&snapshot, &actor, table, &row_key)?;
        self.database.pipeline.record(&self.database.store, snapshot.schema(), &entry)
    }

    fn try_forget(
        &mut self,
        whom: Whom<'_>,
        params: &Arc<[Datum]>,
        insists_from: Instant,
        profile: &mut RequestProfile,
    ) -> Result<Counts, SqlError> {
        let patience = Patience { insists_from: Some(insists_from), ..self.patience() };
        let transaction = self.transaction();
        transaction.shield();
        // A definition is carried out before it or after it, never upon rows that go.
        transaction.lock(LockKey::Catalog, LockMode::Shared, &patience)?;
        let (microdb, kept) = self.erase(whom, params, patience, (profile, Keeps::All))?;
        // The erasure stands before its rows are sent; nothing is left to commit at Sync.
        let started = profile.start();
        self.complete()?;
        profile.stop(Counted::Commit, started, 1);
        self.statement.stands = true;
        self.tell_kept(&kept);
        let erasure = self.transaction.committed.erasures.iter().find(|erasure| erasure.microdb == microdb);
        let erasure = erasure.ok_or_else(|| SqlError::new("XX000", "an erasure was committed without its receipt"))?;
        let counts = erasure.counts.clone();
        if whom.2.parts.is_empty() {
            self.end_logins(microdb)?;
        }
        Ok(counts)
    }

    /// Erases in the transaction's overlay; gives whom, and which rows keep columns that were named.
    fn erase(
        &mut self,
        (table, key, forgetting): Whom<'_>,
        params: &Arc<[Datum]>,
        patience: Patience,
        (profile, keeps): (&mut RequestProfile, Keeps),
    ) -> Result<(MicroDbId, KeptByOthers), SqlError> {
        let snapshot = self.transaction().latest_snapshot();
        let subject = self.subject(&snapshot, table, key, params.clone())?;
        let context = self.eval_context(params.clone(), snapshot.catalog());
        // Before: what is derived of the changes at the end stands for the commit.
        let parts = erase::named(&snapshot, &forgetting.parts)?;
        match (keeps, parts.is_empty()) {
            (Keeps::Nothing, _) => {}
            (Keeps::All, true) => self.answer_requests(&snapshot, &subject, &FORGET_ANSWERS)?,
            (Keeps::All, false) => self.enter_part(&snapshot, &subject, &parts)?,
        }
        drop(snapshot);
        let mut writer = Writer::new(self.transaction(), context, patience);
        let mut kept = KeptByOthers::new();
        if parts.is_empty() {
            erase::erase(&mut writer, &subject, profile)?;
        } else {
            kept = erase::erase_part(&mut writer, &subject, &forgetting.parts, profile)?;
        }
        if keeps == Keeps::All && self.keeps_of_erasures(forgetting.grace)? {
            self.keep_of_erasure(&subject, forgetting)?;
        }
        if keeps == Keeps::All && !parts.is_empty() {
            let erased = ErasedInPart { microdb: subject.microdb, parts };
            self.transaction().overlay_mut().erase_in_part(erased);
        }
        Ok((subject.microdb, kept))
    }

    /// Rows that keep columns which were named.
    fn tell_kept(&mut self, kept: &KeptByOthers) {
        for (table, count) in kept {
            let message =
                format!("{count} rows of table \"{table}\" are others', too, and keep columns that no rule blanks");
            self.notice("NOTICE", "00000", message);
        }
    }

    /// Erases in the transaction's overlay and counts what a commit of it would do.
    fn plan_forget(&mut self, whom: Whom<'_>, params: &Arc<[Datum]>) -> Result<Counts, SqlError> {
        let patience = self.patience();
        let (microdb, kept) = self.erase(whom, params, patience, (&mut RequestProfile::default(), Keeps::Nothing))?;
        self.tell_kept(&kept);
        let derived = self.transaction().take_derived();
        let Derived { old, overlay, derivation } =
            derived.ok_or_else(|| SqlError::new("XX000", "an erasure was planned without its owners"))?;
        let new = old.clone().under(overlay.clone());
        receipt::counts(&Between { old: &old, new: &new, overlay: &overlay }, &derivation, microdb)
    }

    /// GDPR EXPORT: one self-describing, signed document, a line at a time.
    pub(super) fn export(
        &mut self,
        (format, audit): (ExportFormat, bool),
        (table, key): (RelationId, &[ScalarExpr]),
        params: Arc<[Datum]>,
    ) -> Result<(Arc<[OutputColumn]>, QueryRows), SqlError> {
        self.refuse_restoring()?;
        let kinds = [RequestKind::Portability, RequestKind::Access];
        let (rows, subject) = self.access_rows(table, key, params, &kinds)?;
        let told = if audit { Some(self.told_of(&subject)?.collect::<Result<_, _>>()?) } else { None };
        let document = subject_requests::export::document(format, rows, told, &self.database.store);
        let rows = QueryRows::new(document.map(|line| line.map(|line| vec![Datum::Text(line.into())])));
        Ok((Arc::from([column("document", ScalarType::Text)]), rows))
    }

    fn forget_rows(&self, counts: &Counts, tag: &str) -> Response {
        let catalog = self.catalog();
        let number = |count: u64| Datum::Int8(i64::try_from(count).unwrap_or(i64::MAX));
        let rows = counts.iter().map(|(table, counts)| {
            Ok(vec![
                Datum::Text(self.own_name(&catalog, table).into()),
                number(counts.deleted),
                number(counts.anonymized),
                number(counts.disowned),
            ])
        });
        let rows: Vec<Result<Vec<Datum>, SqlError>> = rows.collect();
        Response::Rows(RowStream {
            columns: forget_columns(),
            rows: QueryRows::new(rows.into_iter()),
            tag: RowTag::Fixed(tag.into()),
        })
    }

    pub(super) fn explain_compliance(&mut self, format: ComplianceFormat) -> Result<Response, SqlError> {
        let catalog = self.own(&self.catalog());
        let text = |value: &str| Datum::Text(value.into());
        let optional = |value: &Option<String>| value.as_deref().map_or(Datum::Null, text);
        let rows: Vec<Vec<Datum>> = match format {
            ComplianceFormat::Text => compliance(&catalog)
                .into_iter()
                .map(|row| {
                    vec![
                        text(row.severity.name()),
                        text(&row.table_name),
                        optional(&row.subject),
                        optional(&row.path),
                        text(&row.message),
                        optional(&row.hint),
                    ]
                })
                .collect(),
            ComplianceFormat::Dot => vec![vec![text(&dot(&catalog))]],
            ComplianceFormat::Json => vec![vec![text(&json(&catalog))]],
        };
        Ok(Response::Rows(RowStream {
            columns: compliance_columns(format),
            rows: QueryRows::new(rows.into_iter().map(Ok)),
            tag: RowTag::Fixed("EXPLAIN".into()),
        }))
    }
}
