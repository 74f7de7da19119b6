//! `dogwood.requests`: what people asked for, by when it is due, and who answered.
//!
//! A request that is answered at once is entered and answered by the same statement. One that came by letter is entered by GDPR
//! REQUEST, is due a month later, and is answered by what answers it, or by GDPR ANSWER.

use planner::catalog::own_tables::{REQUEST_ANSWERED_AT as ANSWERED_AT, REQUESTS_MADE};
use planner::parse::request::RequestKind;
use repr::{Datum, Interval, RowKey};
use state::SqlError;
use state::layered_snapshot::LayeredSnapshot;
use state::locks::LockMode;
use state::reader::Reader;
use state::settled_people::SettledPeople;
use state::shape::TableShape;
use state::unwritten_requests::UnwrittenRequest;
use std::sync::Arc;
use transactions::writer::{RowUpdate, Writer};

const KIND: usize = 1;
const RECEIVED_AT: usize = 4;
const DUE_AT: usize = 5;
const EXTENDED_FOR: usize = 6;
const ANSWERED_BY: usize = 8;
const ANSWER: usize = 9;

/// Art. 12(3): without undue delay and in any event within one month, extended by two further months where necessary.
const MONTHS: i32 = 1;
const MONTHS_MORE: i32 = 2;

/// Whose request it is, and of which table that person is.
pub struct Asking<'a> {
    /// The data-subject table, as reports name it.
    pub table: &'a str,
    /// The person, as the audit log names them.
    pub subject: &'a str,
}

/// What was answered, by whom and when.
#[derive(Clone, Copy)]
pub struct Answered<'a> {
    /// When.
    pub now: i64,
    /// The role.
    pub by: &'a str,
    /// What; none is what the request asks for.
    pub answer: Option<&'a str>,
}

/// Enters a request. Its number, and by when it is due.
pub fn enter(
    writer: &mut Writer<'_>,
    asking: &Asking<'_>,
    kind: RequestKind,
    (received, now): (i64, i64),
) -> Result<(i64, i64), SqlError> {
    if received > now {
        return Err(SqlError::new("22008", "a request cannot have been received in the future"));
    }
    let due = later(received, MONTHS)?;
    let id = insert(writer, asking, kind, (received, due), None)?;
    Ok((id, due))
}

/// Whether a person has asked for one of these kinds and waits for it. Who waits for nothing is noted, so that the next one need not look.
pub fn is_open(
    snapshot: &LayeredSnapshot,
    settled: &SettledPeople,
    subject: &str,
    kinds: &[RequestKind],
) -> Result<bool, SqlError> {
    // A transaction may have entered some itself.
    let is_committed = !snapshot.changes(REQUESTS_MADE);
    if is_committed && settled.is_settled(subject) {
        return Ok(false);
    }
    let open = open_requests(snapshot, subject)?;
    if is_committed && open.is_empty() {
        settled.note(subject, snapshot.time());
    }
    Ok(!of_kinds(open, kinds).is_empty())
}

/// What a person has asked for and waits for: of which kind each.
fn open_requests(snapshot: &LayeredSnapshot, subject: &str) -> Result<Vec<(RowKey, Datum)>, SqlError> {
    let shape = snapshot.shape(REQUESTS_MADE)?;
    let mut found = snapshot.index(shape.table(), &shape.table().indexes[1], &[Datum::text(subject)])?;
    found.retain(|(_, row)| shape.datum(row, ANSWERED_AT) == Datum::Null);
    Ok(found.into_iter().map(|(key, row)| (key, shape.datum(&row, KIND))).collect())
}

fn of_kinds(open: Vec<(RowKey, Datum)>, kinds: &[RequestKind]) -> Vec<RowKey> {
    let names: Vec<Datum> = kinds.iter().map(|kind| Datum::text(kind.name())).collect();
    open.into_iter().filter(|(_, kind)| names.contains(kind)).map(|(key, _)| key).collect()
}

/// Enters what was answered some moments ago.
pub fn write_answered(writer: &mut Writer<'_>, requests: &[UnwrittenRequest]) -> Result<(), SqlError> {
    for UnwrittenRequest { kind, table, subject, by, at } in requests {
        let answered = Answered { now: *at, by, answer: None };
        insert(writer, &Asking { table, subject }, *kind, (*at, later(*at, MONTHS)?), Some(answered))?;
    }
    Ok(())
}

/// Answers what a person has asked for of these kinds; enters it as answered if nothing was open.
pub fn answer_all(
    writer: &mut Writer<'_>,
    asking: &Asking<'_>,
    kinds: &[RequestKind],
    answered: Answered<'_>,
) -> Result<(), SqlError> {
    let open = of_kinds(open_requests(&writer.transaction.latest_snapshot(), asking.subject)?, kinds);
    if open.is_empty()
        && let Some(kind) = kinds.first()
    {
        insert(writer, asking, *kind, (answered.now, later(answered.now, MONTHS)?), Some(answered))?;
        return Ok(());
    }
    writer.lock_table(REQUESTS_MADE)?;
    let shape = writer.shape(REQUESTS_MADE)?;
    for row_key in open {
        // Somebody else may have answered it meanwhile.
        if let Some(row) =
            writer.lock_row(&shape, &row_key, LockMode::Exclusive)?.filter(|row| row[ANSWERED_AT] == Datum::Null)
        {
            close(writer, &shape, row_key, row, answered)?;
        }
    }
    Ok(())
}

/// Enters what was asked for and answered at once; what else the person waits for stays open.
pub fn enter_answered(
    writer: &mut Writer<'_>,
    asking: &Asking<'_>,
    kind: RequestKind,
    answered: Answered<'_>,
) -> Result<(), SqlError> {
    insert(writer, asking, kind, (answered.now, later(answered.now, MONTHS)?), Some(answered)).map(|_| ())
}

/// GDPR ANSWER
pub fn answer(writer: &mut Writer<'_>, number: i64, answered: Answered<'_>) -> Result<(), SqlError> {
    let (shape, row_key, row) = open_request(writer, number)?;
    close(writer, &shape, row_key, row, answered)
}

/// GDPR EXTEND: once, and before it is due. By when it is due now.
pub fn extend(writer: &mut Writer<'_>, number: i64, reason: &str, now: i64) -> Result<i64, SqlError> {
    let (shape, row_key, row) = open_request(writer, number)?;
    if row[EXTENDED_FOR] != Datum::Null {
        return Err(SqlError::new("DG006", format!("request {number} was extended already"))
            .hint("It may be extended once, by two months (Art. 12(3))."));
    }
    let (Datum::Timestamptz(received), Datum::Timestamptz(due)) = (&row[RECEIVED_AT], &row[DUE_AT]) else {
        return Err(SqlError::new("XX001", "a request has no time"));
    };
    if *due <= now {
        return Err(SqlError::new("DG006", format!("request {number} is overdue"))
            .hint("The person is told within a month that it takes longer (Art. 12(3)). Answer it."));
    }
    let due = later(*received, MONTHS + MONTHS_MORE)?;
    let mut after = row.clone();
    after[EXTENDED_FOR] = Datum::text(reason);
    after[DUE_AT] = Datum::Timestamptz(due);
    writer.update_rows(&shape, &[RowUpdate { row_key, before: row, after }])?;
    Ok(due)
}

fn open_request(writer: &mut Writer<'_>, number: i64) -> Result<(Arc<TableShape>, RowKey, Vec<Datum>), SqlError> {
    writer.lock_table(REQUESTS_MADE)?;
    let shape = writer.shape(REQUESTS_MADE)?;
    let row_key = shape.key_of(&writer.transaction.database().store, &[Datum::Int8(number)]);
    let Some(row) = writer.lock_row(&shape, &row_key, LockMode::Exclusive)? else {
        return Err(SqlError::new("42704", format!("there is no request {number}"))
            .hint("dogwood.requests lists them; GDPR REQUEST enters one."));
    };
    if row[ANSWERED_AT] != Datum::Null {
        return Err(SqlError::new("DG006", format!("request {number} was answered already")));
    }
    Ok((shape, row_key, row))
}

fn close(
    writer: &mut Writer<'_>,
    shape: &Arc<TableShape>,
    row_key: RowKey,
    row: Vec<Datum>,
    answered: Answered<'_>,
) -> Result<(), SqlError> {
    let mut after = row.clone();
    write(&mut after, answered);
    writer.update_rows(shape, &[RowUpdate { row_key, before: row, after }])
}

fn write(row: &mut [Datum], Answered { now, by, answer }: Answered<'_>) {
    row[ANSWERED_AT] = Datum::Timestamptz(now);
    row[ANSWERED_BY] = Datum::text(by);
    row[ANSWER] = Datum::text(answer.unwrap_or("done"));
}

fn insert(
    writer: &mut Writer<'_>,
    asking: &Asking<'_>,
    kind: RequestKind,
    (received, due): (i64, i64),
    answered: Option<Answered<'_>>,
) -> Result<i64, SqlError> {
    writer.lock_table(REQUESTS_MADE)?;
    let shape = writer.shape(REQUESTS_MADE)?;
    let number = writer.transaction.database().sequences.next_row_id()?;
    let number = i64::try_from(number).unwrap_or(i64::MAX);
    let mut row =
        vec![Datum::Int8(number), Datum::text(kind.name()), Datum::text(asking.table), Datum::text(asking.subject)];
    row.extend([Datum::Timestamptz(received), Datum::Timestamptz(due)]);
    row.resize(ANSWER + 1, Datum::Null);
    if let Some(answered) = answered {
        write(&mut row, answered);
    }
    writer.insert_rows(&shape, &[row])?;
    Ok(number)
}

fn later(moment: i64, months: i32) -> Result<i64, SqlError> {
    let interval = Interval { months, days: 0, micros: 0 };
    Ok(repr::datetime::arithmetic::timestamp_add(moment, &interval)?)
}
