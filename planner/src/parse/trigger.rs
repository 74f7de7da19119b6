//! CREATE TRIGGER, DROP TRIGGER, and which of a table's triggers are called.

use super::definition::AlterTableAction;
use super::grammar::Grammar;
use super::statement::Statement;
use super::type_definition::{CreateTrigger, TriggerStatement};
use crate::error::PlanError;
use sqlparser::tokenizer::Token;

impl Grammar<'_, '_> {
    /// CREATE [OR REPLACE] TRIGGER. What is no AFTER INSERT FOR EACH ROW is refused by name.
    pub(super) fn create_trigger(&mut self) -> Result<Option<Statement>, PlanError> {
        let or_replace = self.words_are(&["CREATE", "OR", "REPLACE"]);
        let kind = if or_replace { 3 } else { 1 };
        if self.word_is(kind, "CONSTRAINT") && self.word_is(kind + 1, "TRIGGER") {
            return Ok(Some(self.unsupported("CREATE CONSTRAINT TRIGGER")));
        }
        if !self.word_is(kind, "TRIGGER") {
            return Ok(None);
        }
        self.take(kind + 1);
        let name = self.identifier()?;
        match self.eat_one_of(&["AFTER", "BEFORE", "INSTEAD"]) {
            Some("AFTER") => {}
            Some("BEFORE") => return Ok(Some(self.unsupported("a BEFORE trigger"))),
            Some(_) => return Ok(Some(self.unsupported("an INSTEAD OF trigger"))),
            None => return Err(self.unexpected()),
        }
        if ["UPDATE", "DELETE", "TRUNCATE"].iter().any(|event| self.word_is(0, event)) {
            return Ok(Some(self.unsupported("a trigger of UPDATE, DELETE or TRUNCATE")));
        }
        self.expect(&["INSERT"])?;
        if self.word_is(0, "OR") {
            return Ok(Some(self.unsupported("a trigger of UPDATE, DELETE or TRUNCATE")));
        }
        self.expect(&["ON"])?;
        let table = self.object_name()?;
        if self.word_is(0, "REFERENCING") {
            return Ok(Some(self.unsupported("a trigger with transition tables")));
        }
        let for_each_row = self.eat(&["FOR"]) && {
            self.eat(&["EACH"]);
            if !self.word_is(0, "ROW") && !self.word_is(0, "STATEMENT") {
                return Err(self.unexpected());
            }
            self.eat(&["ROW"])
        };
        if !for_each_row {
            return Ok(Some(self.unsupported("a trigger FOR EACH STATEMENT")));
        }
        if self.word_is(0, "WHEN") {
            return Ok(Some(self.unsupported("a trigger with WHEN")));
        }
        self.expect(&["EXECUTE"])?;
        if self.eat_one_of(&["FUNCTION", "PROCEDURE"]).is_none() {
            return Err(self.unexpected());
        }
        let function = self.object_name()?;
        let arguments = self.trigger_arguments()?;
        let create = CreateTrigger { or_replace, name, table, function, arguments };
        Ok(Some(Statement::Trigger(Box::new(TriggerStatement::Create(create)))))
    }

    /// `('text', 1, word)`
    fn trigger_arguments(&mut self) -> Result<Vec<String>, PlanError> {
        self.expect_token(&Token::LParen)?;
        if self.eat_token(&Token::RParen) {
            return Ok(Vec::new());
        }
        let arguments = self.list(|grammar| {
            let token = grammar.parser.peek_token_ref().token.clone();
            match token {
                Token::Number(digits, _) => {
                    grammar.parser.advance_token();
                    Ok(digits)
                }
                Token::Word(_) => grammar.any_word(),
                _ => grammar.string(),
            }
        })?;
        self.expect_token(&Token::RParen)?;
        Ok(arguments)
    }

    /// Behind DROP TRIGGER.
    pub(super) fn drop_trigger(&mut self) -> Result<Statement, PlanError> {
        let (if_exists, name, table) = self.dropped_of_table()?;
        Ok(Statement::Trigger(Box::new(TriggerStatement::Drop { if_exists, name, table })))
    }

    /// ENABLE TRIGGER and DISABLE TRIGGER of ALTER TABLE. DISABLE … ALL would end foreign keys.
    pub(super) fn enabled_triggers(&mut self) -> Result<Option<AlterTableAction>, PlanError> {
        let enabled = self.words_are(&["ENABLE", "TRIGGER"]);
        let disabled = self.words_are(&["DISABLE", "TRIGGER"]) && !self.word_is(2, "ALL");
        if !enabled && !disabled {
            return Ok(None);
        }
        self.take(2);
        let name = if self.eat_one_of(&["ALL", "USER"]).is_some() { None } else { Some(self.identifier()?) };
        Ok(Some(AlterTableAction::EnableTriggers { name, enabled }))
    }
}
