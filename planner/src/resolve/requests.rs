//! What stands around people's requests: terms, moments, and whom a breach concerns.

use super::Resolver;
use super::statement::{GdprRequest, Resolved};
use crate::error::PlanError;
use crate::parse::Statement;
use crate::parse::request::RequestStatement;
use crate::parse::statement::Identifier;
use repr::text::{TextContext, parse};
use repr::{Datum, Interval, ScalarType};

/// Longer than an erasure may wait at all.
const GRACE_DAYS_MAX: i64 = 92;

/// For how long an erasure may be taken back. 22023 if that is no time at all, or more than three months.
pub(super) fn grace_period((text, position): &(String, u32)) -> Result<Interval, PlanError> {
    let read = parse(&ScalarType::Interval, -1, text, &TextContext::default());
    let at = |error: PlanError| error.at(Some(*position));
    let Datum::Interval(grace) = read.map_err(|error| at(error.into()))? else {
        return Err(PlanError::new("XX000", "an interval is read as something else"));
    };
    let days = i64::from(grace.months) * 31 + i64::from(grace.days) + grace.micros / 86_400_000_000;
    let is_positive = grace.months >= 0 && grace.days >= 0 && grace.micros >= 0 && grace != Interval::default();
    if !is_positive || days > GRACE_DAYS_MAX {
        return Err(at(PlanError::new("22023", format!("an erasure cannot be taken back for \"{text}\""))
            .hint("It is a time of up to three months: GRACE '30 days'.")));
    }
    Ok(grace)
}

/// When a request came. 22008 for a moment to come.
fn moment((text, position): &(String, u32)) -> Result<i64, PlanError> {
    let read = parse(&ScalarType::Timestamptz, -1, text, &TextContext::default());
    match read.map_err(|error| PlanError::from(error).at(Some(*position)))? {
        Datum::Timestamptz(moment) => Ok(moment),
        _ => Err(PlanError::new("XX000", "a moment is read as something else")),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

impl Resolver<'_> {
    /// A statement about people's requests; what names nobody is the session's.
    pub(super) fn request(&mut self, request: &RequestStatement, statement: &Statement) -> Result<Resolved, PlanError> {
        match request {
            RequestStatement::Unforget(subject) => self.gdpr(GdprRequest::Unforget, subject),
            RequestStatement::Restrict { subject, begins } => self.gdpr(GdprRequest::Restrict(*begins), subject),
            RequestStatement::Rekey(subject) => self.gdpr(GdprRequest::Rekey, subject),
            RequestStatement::Enter { kind, subject, received } => {
                let received = received.as_ref().map(moment).transpose()?;
                self.gdpr(GdprRequest::Enter(*kind, received), subject)
            }
            RequestStatement::Answer { .. } | RequestStatement::Notified { .. } | RequestStatement::Discard(_) => {
                Ok(Resolved::Other(Box::new(statement.clone())))
            }
            RequestStatement::Verify(receipt) => self.verify_deletion(receipt),
            RequestStatement::Breach { from, to, role, people } => self.breach((from, to), role.as_ref(), *people),
        }
    }

    /// GDPR VERIFY DELETION: what an erasure still has to clear away. No row for a receipt that was never given.
    fn verify_deletion(&mut self, receipt: &str) -> Result<Resolved, PlanError> {
        self.query_text(&format!(
            "SELECT receipt_id, erased_at, keys_at AS key_destroyed_at, pending IS NULL AS complete, pending \
             FROM dogwood.erasures WHERE receipt_id = {}",
            quoted(receipt)
        ))
    }

    fn query_text(&mut self, query: &str) -> Result<Resolved, PlanError> {
        let parsed = crate::parse::parse(query)?;
        match parsed.first().map(|found| &found.statement) {
            Some(Statement::Sql(query)) => self.sql(query),
            _ => Err(PlanError::new("XX000", "a query of the server's own is read as something else")),
        }
    }

    /// GDPR BREACH: a query over the audit log, by the rights of whoever reads that.
    fn breach(
        &mut self,
        (from, to): (&str, &str),
        role: Option<&Identifier>,
        people: bool,
    ) -> Result<Resolved, PlanError> {
        let (from, to) = (format!("{}::timestamptz", quoted(from)), format!("{}::timestamptz", quoted(to)));
        let asked = role.map_or_else(String::new, |role| format!("{}, ", quoted(&role.name)));
        let query = if people {
            format!("SELECT * FROM audit_touched_people({asked}{from}, {to})")
        } else {
            format!(
                "SELECT table_name, role, operation, \
                 (SELECT array_agg(DISTINCT p.property || ' ' || p.column_name ORDER BY p.property || ' ' || \
                 p.column_name) FROM dogwood.properties p WHERE p.table_name = touched.table_name) AS properties, \
                 statements, people, may_be_more, first_at, last_at \
                 FROM audit_touched({asked}{from}, {to}) AS touched ORDER BY 1, 2, 3"
            )
        };
        self.query_text(&query)
    }
}
