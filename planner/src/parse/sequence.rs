//! Reads sequence options, which PostgreSQL allows in any order.

use super::definition::SequenceOptions;
use super::grammar::Grammar;
use super::statement::Statement;
use crate::error::PlanError;
use sqlparser::tokenizer::Token;

impl Grammar<'_, '_> {
    /// What follows CREATE [TEMP] SEQUENCE.
    pub(super) fn create_sequence(&mut self, temporary: bool) -> Result<Statement, PlanError> {
        let if_not_exists = self.eat(&["IF", "NOT", "EXISTS"]);
        let name = self.object_name()?;
        let options = self.sequence_options()?;
        Ok(Statement::CreateSequence { if_not_exists, temporary, name, options })
    }

    /// `(options)` or nothing, as after AS IDENTITY.
    pub(super) fn optional_sequence_options(&mut self) -> Result<SequenceOptions, PlanError> {
        if !self.eat_token(&Token::LParen) {
            return Ok(SequenceOptions::default());
        }
        let options = self.sequence_options()?;
        self.expect_token(&Token::RParen)?;
        Ok(options)
    }

    /// Options up to the first word that is none.
    pub(super) fn sequence_options(&mut self) -> Result<SequenceOptions, PlanError> {
        let mut options = SequenceOptions::default();
        while self.sequence_option(&mut options)? {}
        Ok(options)
    }

    /// One option; false if the next word begins none.
    pub(super) fn sequence_option(&mut self, options: &mut SequenceOptions) -> Result<bool, PlanError> {
        let position = self.position();
        let set_twice = || PlanError::new("42601", "conflicting or redundant options").at(Some(position));
        fn once<T>(slot: &mut Option<T>, value: T, set_twice: impl Fn() -> PlanError) -> Result<(), PlanError> {
            if slot.replace(value).is_some() { Err(set_twice()) } else { Ok(()) }
        }
        if self.eat(&["AS"]) {
            let data_type = self.type_name()?;
            once(&mut options.data_type, data_type, set_twice)?;
        } else if self.eat(&["START"]) {
            self.eat(&["WITH"]);
            let start = self.integer()?;
            once(&mut options.start, start, set_twice)?;
        } else if self.eat(&["INCREMENT"]) {
            self.eat(&["BY"]);
            let increment = self.integer()?;
            once(&mut options.increment, increment, set_twice)?;
        } else if self.eat(&["NO", "MINVALUE"]) {
            once(&mut options.min_value, None, set_twice)?;
        } else if self.eat(&["NO", "MAXVALUE"]) {
            once(&mut options.max_value, None, set_twice)?;
        } else if self.eat(&["NO", "CYCLE"]) {
            once(&mut options.cycle, false, set_twice)?;
        } else if self.eat(&["MINVALUE"]) {
            let value = self.integer()?;
            once(&mut options.min_value, Some(value), set_twice)?;
        } else if self.eat(&["MAXVALUE"]) {
            let value = self.integer()?;
            once(&mut options.max_value, Some(value), set_twice)?;
        } else if self.eat(&["CYCLE"]) {
            once(&mut options.cycle, true, set_twice)?;
        } else if self.eat(&["CACHE"]) {
            let cache = self.integer()?;
            once(&mut options.cache, cache, set_twice)?;
        } else if self.eat(&["OWNED", "BY"]) {
            let owner = if self.eat(&["NONE"]) { None } else { Some(self.column_name()?) };
            once(&mut options.owned_by, owner, set_twice)?;
        } else if self.eat(&["RESTART"]) {
            let with = self.eat(&["WITH"]);
            let number = matches!(self.parser.peek_token_ref().token, Token::Number(..) | Token::Minus | Token::Plus);
            let value = if with || number { Some(self.integer()?) } else { None };
            once(&mut options.restart, value, set_twice)?;
        } else if self.eat(&["SEQUENCE", "NAME"]) {
            let name = self.object_name()?;
            once(&mut options.name, name, set_twice)?;
        } else if self.eat(&["LOGGED"]) || self.eat(&["UNLOGGED"]) {
            // Says how the sequence is journalled; ours always are.
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}
