//! Reads DROP of functions, and extensions: what applications drop or create whether or not it is there.

use super::definition::CreateSchema;
use super::definition::{RoutineKind, RoutineName};
use super::grammar::Grammar;
use super::statement::{Identifier, ObjectName, Statement, TypeName};
use super::type_definition::DropRoutines;
use crate::error::PlanError;
use sqlparser::tokenizer::Token;

impl Grammar<'_, '_> {
    /// Behind DROP: FUNCTION, PROCEDURE, ROUTINE, AGGREGATE, TRIGGER, EXTENSION.
    pub(super) fn drop_routine(&mut self) -> Result<Option<Statement>, PlanError> {
        if self.eat(&["TRIGGER"]) {
            return self.drop_trigger().map(Some);
        }
        if self.eat(&["EXTENSION"]) {
            let if_exists = self.eat(&["IF", "EXISTS"]);
            let names = self.list(Self::identifier)?;
            self.behavior();
            return Ok(Some(Statement::DropExtension { if_exists, names }));
        }
        let kind = match self.eat_one_of(&["FUNCTION", "PROCEDURE", "ROUTINE", "AGGREGATE"]) {
            Some("FUNCTION") => RoutineKind::Function,
            Some("PROCEDURE") => RoutineKind::Procedure,
            Some("ROUTINE") => RoutineKind::Routine,
            Some(_) => RoutineKind::Aggregate,
            None => return Ok(None),
        };
        let if_exists = self.eat(&["IF", "EXISTS"]);
        let routines = self.list(Self::routine_name)?;
        let behavior = self.behavior();
        Ok(Some(Statement::DropRoutines(Box::new(DropRoutines { kind, if_exists, routines, behavior }))))
    }

    pub(super) fn routine_name(&mut self) -> Result<RoutineName, PlanError> {
        let name: ObjectName = self.object_name()?;
        if !self.next_is(&Token::LParen) {
            return Ok(RoutineName { name, arguments: None });
        }
        self.expect_token(&Token::LParen)?;
        let mut arguments = Vec::new();
        if !self.eat_token(&Token::Mul) && !self.next_is(&Token::RParen) {
            arguments = self.list(Self::routine_argument)?.into_iter().flatten().collect();
        }
        self.expect_token(&Token::RParen)?;
        Ok(RoutineName { name, arguments: Some(arguments) })
    }

    /// `[mode] [name] [mode] type`; none for what only comes out.
    fn routine_argument(&mut self) -> Result<Option<TypeName>, PlanError> {
        const MODES: [&str; 4] = ["IN", "OUT", "INOUT", "VARIADIC"];
        let mut mode = self.eat_one_of(&MODES);
        let position = self.position();
        let alone = self.parser.maybe_parse(|parser| {
            let data_type = parser.parse_data_type()?;
            match parser.peek_token_ref().token {
                Token::Comma | Token::RParen => Ok(data_type),
                _ => parser.expected_ref("the end of an argument", parser.peek_token_ref()),
            }
        });
        let argument = match alone.map_err(|error| self.error(&error))? {
            Some(data_type) => TypeName { data_type, position },
            None => {
                self.identifier()?;
                mode = mode.or_else(|| self.eat_one_of(&MODES));
                self.type_name()?
            }
        };
        Ok(Some(argument).filter(|_| mode != Some("OUT")))
    }

    /// Behind CREATE EXTENSION.
    pub(super) fn create_extension(&mut self) -> Result<Statement, PlanError> {
        let if_not_exists = self.eat(&["IF", "NOT", "EXISTS"]);
        let name = self.identifier()?;
        self.eat(&["WITH"]);
        let (mut schema, mut version): (Option<Identifier>, Option<String>) = (None, None);
        while !self.at_end() {
            if self.eat(&["SCHEMA"]) {
                schema = Some(self.identifier()?);
            } else if self.eat(&["VERSION"]) {
                let written = matches!(self.parser.peek_token_ref().token, Token::Word(_));
                version = Some(if written { self.identifier()?.name } else { self.string()? });
            } else if !self.eat(&["CASCADE"]) {
                return Err(self.unexpected());
            }
        }
        Ok(Statement::CreateExtension { if_not_exists, name, schema, version })
    }

    /// Behind CREATE SCHEMA.
    pub(super) fn create_schema(&mut self) -> Result<Statement, PlanError> {
        let if_not_exists = self.eat(&["IF", "NOT", "EXISTS"]);
        let name = if self.word_is(0, "AUTHORIZATION") { None } else { Some(self.identifier()?) };
        let owner = if self.eat(&["AUTHORIZATION"]) { self.owner()? } else { None };
        let mut elements = Vec::new();
        while !self.at_end() {
            let position = self.position();
            if if_not_exists {
                return Err(PlanError::new("0A000", "CREATE SCHEMA IF NOT EXISTS cannot include schema elements")
                    .at(Some(position)));
            }
            if self.word_is(0, "GRANT") {
                return Ok(self.unsupported("GRANT in CREATE SCHEMA"));
            }
            match if self.word_is(0, "CREATE") { self.create()? } else { None } {
                Some(
                    element @ (Statement::CreateTable(_)
                    | Statement::CreateView(_)
                    | Statement::CreateIndex(_)
                    | Statement::CreateSequence { .. }),
                ) => elements.push(element),
                Some(Statement::Unsupported { command }) => return Ok(Statement::Unsupported { command }),
                Some(_) | None => return Err(self.unexpected()),
            }
        }
        Ok(Statement::CreateSchema(Box::new(CreateSchema { if_not_exists, name, owner, elements })))
    }

    /// A role; none for whoever asks.
    fn owner(&mut self) -> Result<Option<Identifier>, PlanError> {
        const ASKING: [&str; 3] = ["CURRENT_USER", "CURRENT_ROLE", "SESSION_USER"];
        if self.eat_one_of(&ASKING).is_some() { Ok(None) } else { self.identifier().map(Some) }
    }
}
