//! CREATE, ALTER and DROP DATABASE, and what sessions start with.

use super::definition::{
    AlterDatabase, AlterStart, CreateDatabase, DatabaseOption, DropDatabase, StartChange, StartRole,
};
use super::grammar::Grammar;
use super::rights::RightsStatement;
use super::statement::Statement;
use crate::error::PlanError;
use sqlparser::tokenizer::Token;

impl Grammar<'_, '_> {
    /// Behind CREATE DATABASE. What an option means, who carries it out says.
    pub(super) fn create_database(&mut self) -> Result<Statement, PlanError> {
        let name = self.identifier()?;
        self.eat(&["WITH"]);
        let mut options: Vec<DatabaseOption> = Vec::new();
        while !self.at_end() {
            let position = self.position();
            let mut name = self.any_word()?;
            if name == "connection" {
                self.expect(&["LIMIT"])?;
                "connection_limit".clone_into(&mut name);
            }
            let value = self.option_value()?.ok_or_else(|| self.unexpected())?;
            if options.iter().any(|option| option.name == name) {
                return Err(PlanError::new("42601", "conflicting or redundant options").at(Some(position)));
            }
            options.push(DatabaseOption { name, value, position });
        }
        Ok(Statement::CreateDatabase(Box::new(CreateDatabase { name, options })))
    }

    /// Behind ALTER DATABASE: names, owners and settings; what else there is, is refused.
    pub(super) fn alter_database(&mut self) -> Result<Statement, PlanError> {
        let name = self.identifier()?;
        if self.eat(&["RENAME", "TO"]) {
            return Ok(Statement::AlterDatabase(AlterDatabase { name, new_name: self.identifier()? }));
        }
        if self.eat(&["OWNER", "TO"]) {
            let owner = self.role_name()?;
            return Ok(Statement::Rights(Box::new(RightsStatement::ChangeDatabaseOwner(name, owner))));
        }
        if let Some(change) = self.start_change()? {
            let alter = AlterStart { role: StartRole::All, database: Some(name), change };
            return Ok(Statement::AlterStart(Box::new(alter)));
        }
        Ok(self.unsupported("this form of ALTER DATABASE"))
    }

    /// SET and RESET of an ALTER, if that is what follows.
    pub(super) fn start_change(&mut self) -> Result<Option<StartChange>, PlanError> {
        if self.eat(&["RESET", "ALL"]) {
            return Ok(Some(StartChange::ResetAll));
        }
        if self.eat(&["RESET"]) {
            return self.setting_name().map(|name| Some(StartChange::Reset(name)));
        }
        if !self.word_is(0, "SET") || self.word_is(1, "TABLESPACE") {
            return Ok(None);
        }
        self.eat(&["SET"]);
        self.assigned_setting().map(Some)
    }

    /// Behind DROP DATABASE.
    pub(super) fn drop_database(&mut self) -> Result<Statement, PlanError> {
        let if_exists = self.eat(&["IF", "EXISTS"]);
        let name = self.identifier()?;
        let with = self.eat(&["WITH"]);
        let mut force = false;
        if self.eat_token(&Token::LParen) {
            self.expect(&["FORCE"])?;
            while self.eat_token(&Token::Comma) {
                self.expect(&["FORCE"])?;
            }
            self.expect_token(&Token::RParen)?;
            force = true;
        } else if with {
            return Err(self.unexpected());
        }
        Ok(Statement::DropDatabase(DropDatabase { if_exists, name, force }))
    }
}
