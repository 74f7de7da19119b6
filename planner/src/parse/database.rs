//! CREATE, ALTER and DROP DATABASE.

use super::definition::CreateDatabase;
use super::grammar::Grammar;
use super::statement::{Identifier, Statement};
use crate::error::PlanError;
use sqlparser::tokenizer::Token;

impl Grammar<'_, '_> {
    /// Behind CREATE DATABASE.
    pub(super) fn create_database(&mut self) -> Result<Statement, PlanError> {
        let mut create = CreateDatabase { name: self.identifier()?, template: None, encoding: None, locales: Vec::new() };
        self.eat(&["WITH"]);
        while !self.at_end() {
            let position = self.position();
            let option = self.any_word()?;
            if option == "connection" {
                self.expect(&["LIMIT"])?;
            }
            self.eat_token(&Token::Eq);
            let value = self.option_value()?;
            match &*option {
                "owner" | "connection" | "allow_connections" | "is_template" | "strategy" | "tablespace" | "oid" => {}
                "template" => create.template = Some(Identifier { name: value, position }),
                "encoding" => create.encoding = Some(value),
                "locale" | "lc_collate" | "lc_ctype" | "icu_locale" => create.locales.push(value),
                "locale_provider" | "collation_version" => {}
                other => {
                    let message = format!("option \"{other}\" not recognized");
                    return Err(PlanError::new("42601", message).at(Some(position)));
                }
            }
        }
        Ok(Statement::CreateDatabase(Box::new(create)))
    }

    fn option_value(&mut self) -> Result<String, PlanError> {
        match self.parser.peek_token_ref().token.clone() {
            Token::SingleQuotedString(text) => {
                self.take(1);
                Ok(text)
            }
            Token::Number(number, _) => {
                self.take(1);
                Ok(number)
            }
            Token::Minus => {
                self.take(1);
                Ok(format!("-{}", self.option_value()?))
            }
            _ => self.any_word(),
        }
    }

    /// Behind ALTER DATABASE: names and owners; what else there is, is refused.
    pub(super) fn alter_database(&mut self) -> Result<Statement, PlanError> {
        let name = self.identifier()?;
        if self.eat(&["RENAME", "TO"]) {
            return Ok(Statement::AlterDatabase { name, new_name: Some(self.identifier()?) });
        }
        if self.eat(&["OWNER", "TO"]) {
            self.any_word()?;
            return Ok(Statement::AlterDatabase { name, new_name: None });
        }
        Ok(self.unsupported("this form of ALTER DATABASE"))
    }

    /// Behind DROP DATABASE.
    pub(super) fn drop_database(&mut self) -> Result<Statement, PlanError> {
        let if_exists = self.eat(&["IF", "EXISTS"]);
        let name = self.identifier()?;
        let with = self.eat(&["WITH"]);
        let mut force = false;
        if self.eat_token(&Token::LParen) {
            self.expect(&["FORCE"])?;
            self.expect_token(&Token::RParen)?;
            force = true;
        } else if with {
            return Err(self.unexpected());
        }
        Ok(Statement::DropDatabase { if_exists, name, force })
    }
}
