//! What stands around an erasure: the book of requests, erasures that may be taken back, holds that keep rows of it.

use crate::response::{Response, RowStream, RowTag};
use crate::session::Session;
use crate::session::result_columns::column;
use operators::traversal::Subject;
use planner::catalog::{RetentionEnd, RoleKind};
use planner::hir::OutputColumn;
use planner::parse::Statement;
use planner::parse::request::{RequestKind, RequestStatement};
use planner::parse::rights::{HoldStatement, RightsStatement};
use planner::parse::statement::ObjectName;
use planner::resolve::Forgetting;
use planner::scalar::ScalarExpr;
use repr::{Datum, Interval, RelationId, ScalarType, poll};
use state::SqlError;
use state::answer::QueryRows;
use state::interrupt::Watch;
use state::layered_snapshot::LayeredSnapshot;
use state::notice::Notice;
use state::reader::Reader;
use state::unwritten_requests::UnwrittenRequest;
use std::sync::Arc;
use subject_requests::book::{self, Answered, Asking};
use subject_requests::{notices, restrict, retain};
use transactions::writer::Writer;

/// The columns of GDPR REQUEST, ANSWER and EXTEND.
pub(crate) fn request_columns() -> Arc<[OutputColumn]> {
    Arc::from([column("request", ScalarType::Int8), column("due_at", ScalarType::Timestamptz)])
}

/// The columns of GDPR RESTRICT and UNRESTRICT.
pub(crate) fn restrict_columns() -> Arc<[OutputColumn]> {
    Arc::from([column("table_name", ScalarType::Text), column("rows", ScalarType::Int8)])
}

/// The columns of GDPR UNFORGET.
pub(crate) fn unforget_columns() -> Arc<[OutputColumn]> {
    Arc::from([
        column("restored", ScalarType::Int8),
        column("reattached", ScalarType::Int8),
        column("gone", ScalarType::Int8),
    ])
}

impl Session {
    /// The role that acts, as the book of requests has it.
    fn acting_name(&self) -> String {
        let catalog = self.catalog();
        let role = self.actor(&catalog).role;
        catalog.role_name(role).map_or_else(|| role.0.to_string(), std::borrow::Cow::into_owned)
    }

    /// A person as reports name them.
    fn named(snapshot: &LayeredSnapshot, subject: &Subject) -> (String, String) {
        (subject.shape.server_name().to_owned(), retain::pseudonym(snapshot, subject.microdb))
    }

    /// Whether requests are entered: nothing is where nothing may be written.
    fn keeps_book(&self) -> bool {
        !self.is_read_only() && !self.database.store.is_read_only()
    }

    /// Writes in the transaction as the server does.
    fn keeping<T>(&mut self, keep: impl FnOnce(&mut Writer<'_>) -> Result<T, SqlError>) -> Result<T, SqlError> {
        let patience = self.patience();
        let catalog = self.transaction().latest_snapshot().schema().catalog().clone();
        let context = self.eval_context(Arc::from([]), &catalog);
        keep(&mut Writer::new(self.transaction(), context, patience))
    }

    /// Writes into the book of requests that a person was answered; nothing where nothing may be written.
    fn enter_answer(
        &mut self,
        (snapshot, subject): (&LayeredSnapshot, &Subject),
        answer: Option<&str>,
        write: impl FnOnce(&mut Writer<'_>, &Asking<'_>, Answered<'_>) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        if !self.keeps_book() {
            return Ok(());
        }
        let (table, person) = Session::named(snapshot, subject);
        let (by, now) = (self.acting_name(), self.transaction_moment());
        let asking = Asking { table: &table, subject: &person };
        self.keeping(|writer| write(writer, &asking, Answered { now, by: &by, answer }))
    }

    /// A statement answers what a person has asked for.
    pub(super) fn answer_requests(
        &mut self,
        snapshot: &LayeredSnapshot,
        subject: &Subject,
        kinds: &[RequestKind],
    ) -> Result<(), SqlError> {
        self.enter_answer((snapshot, subject), None, |writer, asking, answered| {
            book::answer_all(writer, asking, kinds, answered)
        })
    }

    /// An erasure in part is entered as what it was; a request for a whole one stays open.
    pub(super) fn enter_part(
        &mut self,
        snapshot: &LayeredSnapshot,
        subject: &Subject,
        parts: &[String],
    ) -> Result<(), SqlError> {
        let answer = format!("in part: {}", parts.join(", "));
        self.enter_answer((snapshot, subject), Some(&answer), |writer, asking, answered| {
            book::enter_answered(writer, asking, RequestKind::Erasure, answered)
        })
    }

    /// The same of a statement that only reads: where nothing is open its answer does not wait for the book, which has it within a
    /// second; unless the audit log is strict. What becomes of a transaction that it is read in does not matter to the book.
    pub(super) fn note_answer(
        &mut self,
        snapshot: &LayeredSnapshot,
        subject: &Subject,
        kinds: &[RequestKind],
    ) -> Result<(), SqlError> {
        if self.database.store.is_read_only() {
            return Ok(());
        }
        let (table, person) = Session::named(snapshot, subject);
        let is_alone = self.transaction.active.as_ref().is_none_or(|active| !active.block);
        // Somebody whom the transaction has made itself is nobody if it is rolled back.
        let committed = self.database.latest_snapshot().subject(subject.shape.id(), &subject.row_key)?;
        let is_at_once = is_alone && self.audit.statement.is_strict()
            || committed != Some(subject.microdb)
            || book::is_open(snapshot, &self.database.audit.settled, &person, kinds)?;
        if self.keeps_book() && is_at_once {
            return self.answer_requests(snapshot, subject, kinds);
        }
        let Some(kind) = kinds.first() else { return Ok(()) };
        let (by, at) = (self.acting_name(), self.transaction_moment());
        let noted = UnwrittenRequest { kind: *kind, table, subject: person, by, at };
        match self.database.audit.requests.push(noted) {
            Ok(()) => Ok(()),
            Err(_) => self.answer_requests(snapshot, subject, kinds),
        }
    }

    /// What was noted so is written.
    pub(crate) fn write_requests(&mut self) -> Result<(), SqlError> {
        let noted = self.database.audit.requests.take();
        if noted.is_empty() {
            return Ok(());
        }
        let written = self.keeping(|writer| book::write_answered(writer, &noted)).and_then(|()| self.complete());
        if written.is_err() {
            self.database.audit.requests.put_back(noted);
        }
        written
    }

    /// GDPR REQUEST
    pub(super) fn enter_request(
        &mut self,
        (kind, received): (RequestKind, Option<i64>),
        table: RelationId,
        key: &[ScalarExpr],
        params: Arc<[Datum]>,
    ) -> Result<Response, SqlError> {
        self.refuse_read_only("GDPR REQUEST")?;
        let snapshot = self.transaction().latest_snapshot();
        let subject = self.subject(&snapshot, table, key, params)?;
        let ((table, person), now) = (Session::named(&snapshot, &subject), self.transaction_moment());
        let (number, due) = self.keeping(|writer| {
            let asking = Asking { table: &table, subject: &person };
            book::enter(writer, &asking, kind, (received.unwrap_or(now), now))
        })?;
        Ok(rows(request_columns(), vec![Datum::Int8(number), Datum::Timestamptz(due)], "GDPR REQUEST"))
    }

    /// A statement about requests that has no plan.
    pub(super) fn request_statement(&mut self, request: &RequestStatement) -> Result<Response, SqlError> {
        match request {
            RequestStatement::Answer { request, text, extends } => {
                self.answer_request(*request, text.as_deref(), *extends)
            }
            RequestStatement::Notified { notice, how } => self.notified(*notice, how.as_deref()),
            RequestStatement::Discard(number) => self.discard_case(*number),
            RequestStatement::Unforget(_)
            | RequestStatement::Restrict { .. }
            | RequestStatement::Rekey(_)
            | RequestStatement::Enter { .. }
            | RequestStatement::Verify(_)
            | RequestStatement::Breach { .. } => {
                Err(SqlError::new("XX000", "a request that has a plan is carried out without one"))
            }
        }
    }

    /// GDPR ANSWER, GDPR EXTEND
    pub(super) fn answer_request(
        &mut self,
        number: i64,
        text: Option<&str>,
        extends: bool,
    ) -> Result<Response, SqlError> {
        self.refuse_read_only(if extends { "GDPR EXTEND" } else { "GDPR ANSWER" })?;
        self.require_controller_or(RoleKind::Controller.role(), "answer requests")?;
        let (by, now) = (self.acting_name(), self.transaction_moment());
        if extends {
            let reason = text.unwrap_or_default();
            let due = self.keeping(|writer| book::extend(writer, number, reason, now))?;
            return Ok(rows(request_columns(), vec![Datum::Int8(number), Datum::Timestamptz(due)], "GDPR EXTEND"));
        }
        self.keeping(|writer| book::answer(writer, number, Answered { now, by: &by, answer: text }))?;
        Ok(Response::Complete("GDPR ANSWER".into()))
    }

    /// GDPR NOTIFIED
    fn notified(&mut self, notice: i64, how: Option<&str>) -> Result<Response, SqlError> {
        self.refuse_read_only("GDPR NOTIFIED")?;
        self.require_controller_or(RoleKind::Controller.role(), "say that recipients were told")?;
        let (by, now) = (self.acting_name(), self.transaction_moment());
        self.keeping(|writer| notices::told(writer, notice, (now, &by), how))?;
        Ok(Response::Complete("GDPR NOTIFIED".into()))
    }

    /// An erasure stands in the overlay: what must be kept of it is, before it is committed.
    pub(super) fn keep_of_erasure(&mut self, subject: &Subject, forgetting: &Forgetting) -> Result<(), SqlError> {
        let now = self.transaction_moment();
        let until = forgetting.grace.map(|grace| repr::datetime::arithmetic::timestamp_add(now, &grace)).transpose()?;
        let withheld = self.keeping(|writer| {
            // First, since what is kept from now on is this person's own.
            let whole = forgetting.parts.iter().filter(|part| part.columns.is_empty());
            let tables: Vec<RelationId> = whole.map(|part| part.table).collect();
            if forgetting.parts.is_empty() || !tables.is_empty() {
                retain::without(writer, subject.microdb, &tables)?;
            }
            let withheld = retain::for_holds(writer, subject, now)?;
            if let Some(until) = until {
                retain::for_grace(writer, subject, now, until)?;
            }
            Ok(withheld)
        })?;
        for (hold, count) in withheld {
            self.notice(
                "NOTICE",
                "00000",
                format!("{count} rows are withheld by hold \"{hold}\", for the controller alone"),
            );
        }
        Ok(())
    }

    /// Whether there is something to be kept of an erasure, or to be taken out of what is kept of others.
    pub(super) fn keeps_of_erasures(&mut self, grace: Option<Interval>) -> Result<bool, SqlError> {
        let snapshot = self.transaction().latest_snapshot();
        Ok(grace.is_some() || retain::is_in_use(&snapshot)?)
    }

    /// GDPR UNFORGET
    pub(super) fn unforget(
        &mut self,
        table: RelationId,
        key: &[ScalarExpr],
        params: &Arc<[Datum]>,
    ) -> Result<Response, SqlError> {
        self.refuse_read_only("GDPR UNFORGET")?;
        self.refuse_restoring()?;
        let snapshot = self.transaction().latest_snapshot();
        let context = self.eval_context(params.clone(), snapshot.schema().catalog());
        let key = key.iter().map(|expr| expr.eval(&[], &context)).collect::<Result<Vec<_>, _>>()?;
        let shape = snapshot.shape(table)?.clone();
        let row_key = shape.key_of(snapshot.store(), &key);
        drop(snapshot);
        let now = self.transaction_moment();
        let restored = self.keeping(|writer| retain::restore(writer, &shape, &row_key, now))?;
        let number = |count: u64| Datum::Int8(i64::try_from(count).unwrap_or(i64::MAX));
        let counts = vec![number(restored.rows), number(restored.columns), number(restored.gone)];
        Ok(rows(unforget_columns(), counts, "GDPR UNFORGET"))
    }

    /// GDPR RESTRICT, GDPR UNRESTRICT
    pub(super) fn restrict(
        &mut self,
        begins: bool,
        table: RelationId,
        key: &[ScalarExpr],
        params: Arc<[Datum]>,
    ) -> Result<Response, SqlError> {
        let tag = if begins { "GDPR RESTRICT" } else { "GDPR UNRESTRICT" };
        self.refuse_read_only(tag)?;
        self.refuse_restoring()?;
        let snapshot = self.transaction().latest_snapshot();
        let subject = self.subject(&snapshot, table, key, params)?;
        self.audit.statement.subject = Some(subject.microdb);
        let watch = Watch::new(self.limits(snapshot.time()));
        let done = self.keeping(|writer| restrict::restrict(writer, (&snapshot, &subject), begins, &watch))?;
        if done.rows.is_empty() {
            return Err(SqlError::new("55000", "no table with rows of this person can be restricted")
                .hint("ALTER TABLE … ADD COLUMN restricted BOOLEAN RESTRICTED"));
        }
        if !done.without.is_empty() {
            let tables: Vec<&str> = done.without.iter().map(String::as_str).collect();
            self.notice(
                "NOTICE",
                "00000",
                format!("without a RESTRICTED column, and as before: {}", tables.join(", ")),
            );
        }
        if begins {
            self.answer_requests(&snapshot, &subject, &[RequestKind::Restriction])?;
        }
        let rows: Vec<Result<Vec<Datum>, SqlError>> = done
            .rows
            .into_iter()
            .map(|(table, count)| Ok(vec![Datum::text(&table), Datum::Int8(i64::try_from(count).unwrap_or(i64::MAX))]))
            .collect();
        Ok(Response::Rows(RowStream {
            columns: restrict_columns(),
            rows: QueryRows::new(rows.into_iter()),
            tag: RowTag::Fixed(tag.into()),
        }))
    }

    /// GDPR PURGE of a table whose rows are handed over at their end: what it takes is kept before it is committed. None of others.
    pub(super) fn hand_over(&mut self, purged: RelationId) -> Result<(), SqlError> {
        let catalog = self.catalog();
        let Some(table) = catalog.table(purged).filter(|table| table.ends_by() == RetentionEnd::HandOver) else {
            return Ok(());
        };
        if self.transaction.active.as_ref().is_some_and(|active| active.block) {
            let message = format!("rows of table \"{}\" cannot be handed over inside a transaction block", table.name);
            return Err(SqlError::new("25001", message));
        }
        let basis = table.retention.as_ref().and_then(|retention| retention.basis.clone());
        let now = self.transaction_moment();
        self.keeping(|writer| retain::for_handing_over(writer, basis.as_deref(), now)).map(|_| ())
    }

    /// GDPR DISCARD
    pub(super) fn discard_case(&mut self, number: i64) -> Result<Response, SqlError> {
        self.refuse_read_only("GDPR DISCARD")?;
        self.require_controller_or(RoleKind::Controller.role(), "discard what was handed over")?;
        self.keeping(|writer| retain::discard(writer, number))?;
        Ok(Response::Complete("GDPR DISCARD".into()))
    }

    /// What a hold that a definition ended has kept of people who were forgotten goes in the same transaction; of one that it made
    /// is told if there is nothing to keep.
    pub(super) fn follow_hold(&mut self, statement: &Statement) -> Result<(), SqlError> {
        let Statement::Rights(rights) = statement else { return Ok(()) };
        match &**rights {
            RightsStatement::Hold(HoldStatement::Drop { names, .. }) => {
                names.iter().try_for_each(|name| self.end_hold(&name.name))
            }
            RightsStatement::Hold(HoldStatement::Create { name, table, .. }) => self.look_for_held(&name.name, table),
            _ => Ok(()),
        }
    }

    /// A condition that no row meets is more often mistaken than meant.
    fn look_for_held(&mut self, hold: &str, table: &ObjectName) -> Result<(), SqlError> {
        let catalog = self.catalog();
        let Some(table) = self.table_named(&catalog, table)? else { return Ok(()) };
        let keeps = self.keeping(|writer| {
            let shape = writer.shape(table.id)?;
            let snapshot = writer.transaction.latest_snapshot();
            for item in snapshot.scan_once(shape.table())? {
                poll::step()?;
                if writer.holds_of(&shape, &shape.unpack(&item?.1))?.iter().any(|keeping| keeping == hold) {
                    return Ok(true);
                }
            }
            Ok(false)
        })?;
        if !keeps {
            let message = format!("hold \"{hold}\" keeps no row of table \"{}\" yet", table.name);
            let hint = "It will keep what comes to meet its condition; if it is mistaken, DROP HOLD ends it.";
            let notice = Notice { hint: Some(hint.into()), ..Notice::new("WARNING", "02000", message) };
            self.client.notices.push(notice);
        }
        Ok(())
    }

    /// A hold ends: what it kept of people who were forgotten goes.
    fn end_hold(&mut self, name: &str) -> Result<(), SqlError> {
        let now = self.transaction_moment();
        self.keeping(|writer| retain::end(writer, Some(name), now)).map(|_| ())
    }

    /// Cases whose time is over go.
    pub(crate) fn end_cases(&mut self) -> Result<(), SqlError> {
        let now = state::clock::now_micros();
        self.keeping(|writer| retain::end(writer, None, now))?;
        self.complete()
    }
}

fn rows(columns: Arc<[OutputColumn]>, row: Vec<Datum>, tag: &'static str) -> Response {
    Response::Rows(RowStream {
        columns,
        rows: QueryRows::new(std::iter::once(Ok(row))),
        tag: RowTag::Fixed(tag.into()),
    })
}
