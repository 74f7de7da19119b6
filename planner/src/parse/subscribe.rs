//! Reads SUBSCRIBE.
//!
//! ```text
//! SUBSCRIBE [TO] (query) | relation
//!     [ENVELOPE UPSERT (KEY (column, …)) | ENVELOPE DEBEZIUM (KEY (column, …)) | WITHIN TIMESTAMP ORDER BY column [ASC | DESC] …]
//!     [WITH (snapshot [= bool], progress [= bool], as_of = time, up_to = time)] [AS OF time] [UP TO time]
//! ```
//! The form may stand at the end, too.

use super::grammar::Grammar;
use super::parse_query;
use super::statement::{Identifier, Subscribe, SubscribeForm, SubscribeOrder, SubscribeTerms};
use super::subject::{boolean, unknown_option};
use crate::error::PlanError;
use repr::CommitTime;
use sqlparser::tokenizer::Token;

/// WITH's options, and the clauses that say the same.
#[derive(Default)]
struct SubscribeOptions {
    snapshot: Option<bool>,
    progress: bool,
    as_of: Option<CommitTime>,
    up_to: Option<CommitTime>,
}

impl Grammar<'_, '_> {
    /// SUBSCRIBE and all that follows it.
    pub(super) fn subscribe(&mut self) -> Result<Subscribe, PlanError> {
        self.expect(&["SUBSCRIBE"])?;
        self.eat(&["TO"]);
        let (query, text) = if self.eat_token(&Token::LParen) {
            let query = self.query()?;
            self.expect_token(&Token::RParen)?;
            query
        } else {
            let (_, name) = self.run_with_text(|parser| parser.parse_object_name(false))?;
            let text = format!("TABLE {name}");
            (parse_query(&text)?, text)
        };
        let early = self.subscribe_form()?;
        let mut options = SubscribeOptions::default();
        if self.eat(&["WITH"]) {
            self.subscribe_options(&mut options)?;
        }
        if self.eat(&["AS", "OF"]) {
            if self.words_are(&["AT", "LEAST"]) {
                return Err(PlanError::unsupported("SUBSCRIBE … AS OF AT LEAST")
                    .hint("AS OF takes a dogwood_time that an earlier subscription has told.")
                    .at(Some(self.position())));
            }
            options.as_of = Some(self.subscribe_time("AS OF")?);
        }
        if self.eat(&["UP", "TO"]) {
            options.up_to = Some(self.subscribe_time("UP TO")?);
        }
        let form = match early {
            Some(form) => form,
            None => self.subscribe_form()?.unwrap_or(SubscribeForm::Diffs),
        };
        let SubscribeOptions { snapshot, progress, as_of, up_to } = options;
        if as_of.is_some() && snapshot == Some(true) {
            return Err(PlanError::unsupported("SUBSCRIBE with both snapshot and as_of")
                .hint("Leave out as_of to begin with the rows as they are, or snapshot to go on from a time."));
        }
        let terms = SubscribeTerms { snapshot: snapshot.unwrap_or(as_of.is_none()), progress, as_of, up_to };
        Ok(Subscribe { query, text, terms, form })
    }

    fn subscribe_options(&mut self, options: &mut SubscribeOptions) -> Result<(), PlanError> {
        let list = self.parenthesized(|grammar| {
            let position = grammar.position();
            let name = grammar.any_word()?;
            Ok((name, grammar.option_value()?, position))
        })?;
        for (name, value, position) in list {
            let value = value.as_deref();
            let time = || commit_time(&name, value).map_err(|error| error.at(Some(position)));
            match name.as_str() {
                "snapshot" => options.snapshot = Some(boolean(&name, value)?),
                "progress" => options.progress = boolean(&name, value)?,
                "as_of" => options.as_of = Some(time()?),
                "up_to" => options.up_to = Some(time()?),
                _ => return Err(unknown_option("SUBSCRIBE", &name).at(Some(position))),
            }
        }
        Ok(())
    }

    /// The number behind AS OF or UP TO.
    fn subscribe_time(&mut self, clause: &str) -> Result<CommitTime, PlanError> {
        let position = self.position();
        let Token::Number(digits, _) = &self.parser.peek_token_ref().token else {
            return commit_time(clause, None).map_err(|error| error.at(Some(position)));
        };
        let time = commit_time(clause, Some(digits)).map_err(|error| error.at(Some(position)))?;
        self.parser.advance_token();
        Ok(time)
    }

    fn subscribe_form(&mut self) -> Result<Option<SubscribeForm>, PlanError> {
        if self.eat(&["ENVELOPE", "UPSERT"]) {
            return Ok(Some(SubscribeForm::Upsert(self.subscribe_key()?)));
        }
        if self.eat(&["ENVELOPE", "DEBEZIUM"]) {
            return Ok(Some(SubscribeForm::Debezium(self.subscribe_key()?)));
        }
        if self.words_are(&["ENVELOPE"]) {
            return Err(PlanError::unsupported("SUBSCRIBE with this envelope")
                .hint("The envelopes are UPSERT (KEY (…)) and DEBEZIUM (KEY (…)).")
                .at(Some(self.position())));
        }
        if !self.eat(&["WITHIN", "TIMESTAMP", "ORDER", "BY"]) {
            return Ok(None);
        }
        let order = self.list(|grammar| {
            let column = grammar.identifier()?;
            let descending = grammar.eat_one_of(&["ASC", "DESC"]) == Some("DESC");
            let nulls_first = match grammar.eat(&["NULLS"]) {
                true => match grammar.eat_one_of(&["FIRST", "LAST"]) {
                    Some(place) => place == "FIRST",
                    None => return Err(grammar.unexpected()),
                },
                false => descending,
            };
            Ok(SubscribeOrder { column, descending, nulls_first })
        })?;
        Ok(Some(SubscribeForm::Ordered(order)))
    }

    /// `(KEY (column, …))`
    fn subscribe_key(&mut self) -> Result<Vec<Identifier>, PlanError> {
        self.expect_token(&Token::LParen)?;
        self.expect(&["KEY"])?;
        let columns = self.columns()?;
        self.expect_token(&Token::RParen)?;
        Ok(columns)
    }
}

/// A `dogwood_time` that a subscription has told.
fn commit_time(name: &str, value: Option<&str>) -> Result<CommitTime, PlanError> {
    let time = value.and_then(|value| value.parse().ok()).filter(|time| i64::try_from(*time).is_ok());
    time.map(CommitTime)
        .ok_or_else(|| PlanError::new("42601", format!("{name} requires a dogwood_time, which is a whole number")))
}
