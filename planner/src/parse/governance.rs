//! What is done about people's requests, behind GDPR: their book, erasures that may be taken back, restriction, breaches.

use super::grammar::Grammar;
use super::request::{Forget, ForgetPart, RequestKind, RequestStatement};
use super::rights::{HoldStatement, RightsStatement};
use super::statement::Statement;
use crate::error::PlanError;

fn hold(statement: HoldStatement) -> Statement {
    Statement::Rights(Box::new(RightsStatement::Hold(statement)))
}

impl Grammar<'_, '_> {
    /// Behind GDPR FORGET.
    pub(super) fn forget(&mut self) -> Result<Forget, PlanError> {
        let subject = self.subject_reference()?;
        let parts = if self.eat(&["IN"]) { self.parenthesized(Self::forget_part)? } else { Vec::new() };
        Ok(Forget { subject, parts, grace: self.string_behind("GRACE")? })
    }

    fn forget_part(&mut self) -> Result<ForgetPart, PlanError> {
        Ok(ForgetPart { table: self.object_name()?, columns: self.optional_columns()? })
    }

    /// Behind GDPR; none if it is another statement.
    pub(super) fn governance(&mut self) -> Result<Option<Statement>, PlanError> {
        let words = [
            "UNFORGET",
            "RESTRICT",
            "UNRESTRICT",
            "REKEY",
            "REQUEST",
            "ANSWER",
            "EXTEND",
            "NOTIFIED",
            "DISCARD",
            "VERIFY",
            "BREACH",
        ];
        let statement = match self.eat_one_of(&words) {
            Some("UNFORGET") => RequestStatement::Unforget(self.subject_reference()?),
            Some("RESTRICT") => RequestStatement::Restrict { subject: self.subject_reference()?, begins: true },
            Some("UNRESTRICT") => RequestStatement::Restrict { subject: self.subject_reference()?, begins: false },
            Some("REKEY") => RequestStatement::Rekey(self.subject_reference()?),
            Some("REQUEST") => {
                let words = RequestKind::ALL.map(RequestKind::word);
                let word = self.eat_one_of(&words).ok_or_else(|| {
                    self.unexpected().hint(format!("A request is for one of these: {}.", words.join(", ")))
                })?;
                let kind = RequestKind::ALL.into_iter().find(|kind| kind.word() == word);
                let kind = kind.expect("it is one of these words");
                let subject = self.subject_reference()?;
                RequestStatement::Enter { kind, subject, received: self.string_behind("RECEIVED")? }
            }
            Some("ANSWER") => {
                let request = self.integer()?;
                let text = if self.at_end() { None } else { Some(self.string()?) };
                RequestStatement::Answer { request, text, extends: false }
            }
            Some("EXTEND") => {
                let request = self.integer()?;
                self.expect(&["FOR"])?;
                RequestStatement::Answer { request, text: Some(self.string()?), extends: true }
            }
            Some("NOTIFIED") => {
                let notice = self.integer()?;
                let how = if self.at_end() { None } else { Some(self.string()?) };
                RequestStatement::Notified { notice, how }
            }
            Some("DISCARD") => RequestStatement::Discard(self.integer()?),
            Some("VERIFY") => {
                self.expect(&["DELETION"])?;
                RequestStatement::Verify(self.string()?)
            }
            Some(_) => {
                self.expect(&["BETWEEN"])?;
                let from = self.string()?;
                self.expect(&["AND"])?;
                let to = self.string()?;
                let role = if self.eat(&["ROLE"]) { Some(self.identifier()?) } else { None };
                RequestStatement::Breach { from, to, role, people: self.eat(&["PEOPLE"]) }
            }
            None => return Ok(None),
        };
        Ok(Some(Statement::Request(statement)))
    }

    /// Behind CREATE HOLD.
    pub(super) fn create_hold(&mut self) -> Result<Statement, PlanError> {
        let name = self.identifier()?;
        self.expect(&["ON"])?;
        let table = self.object_name()?;
        let condition = if self.eat(&["WHERE"]) { Some(self.expression()?) } else { None };
        let reason = if self.eat(&["REASON"]) { Some(self.string()?) } else { None };
        Ok(hold(HoldStatement::Create { name, table, condition, reason }))
    }

    /// Behind DROP HOLD.
    pub(super) fn drop_holds(&mut self) -> Result<Statement, PlanError> {
        let if_exists = self.eat(&["IF", "EXISTS"]);
        Ok(hold(HoldStatement::Drop { if_exists, names: self.list(Self::identifier)? }))
    }

    fn string_behind(&mut self, word: &str) -> Result<Option<(String, u32)>, PlanError> {
        if !self.eat(&[word]) {
            return Ok(None);
        }
        let position = self.position();
        Ok(Some((self.string()?, position)))
    }
}
