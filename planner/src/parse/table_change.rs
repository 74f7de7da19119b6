//! Reads ALTER TABLE, annotation forms included.

use super::definition::{AlterTable, AlterTableAction, RetentionDefinition, SequenceOptions};
use super::grammar::Grammar;
use super::statement::{Identifier, ObjectKind, Statement};
use super::table::EDGE_WORDS;
use crate::catalog::EdgeKind;
use crate::error::PlanError;
use sqlparser::tokenizer::Token;

impl Grammar<'_, '_> {
    /// What follows ALTER TABLE.
    pub(super) fn alter_table(&mut self) -> Result<Statement, PlanError> {
        let if_exists = self.eat(&["IF", "EXISTS"]);
        self.eat(&["ONLY"]);
        let name = self.object_name()?;
        self.eat_token(&Token::Mul);
        let actions = if self.eat(&["RENAME"]) { vec![self.rename()?] } else { self.list(Self::table_action)? };
        Ok(Statement::AlterTable(Box::new(AlterTable { kind: ObjectKind::Table, name, if_exists, actions })))
    }

    fn rename(&mut self) -> Result<AlterTableAction, PlanError> {
        if self.eat(&["TO"]) {
            return Ok(AlterTableAction::RenameTable(self.identifier()?));
        }
        let constraint = self.eat(&["CONSTRAINT"]);
        if !constraint {
            self.eat(&["COLUMN"]);
        }
        let old = self.identifier()?;
        self.expect(&["TO"])?;
        let new = self.identifier()?;
        Ok(if constraint {
            AlterTableAction::RenameConstraint(old, new)
        } else {
            AlterTableAction::RenameColumn(old, new)
        })
    }

    pub(super) fn table_action(&mut self) -> Result<AlterTableAction, PlanError> {
        if self.eat(&["ADD"]) {
            return self.add();
        }
        if self.eat(&["DROP"]) {
            return self.drop_from_table();
        }
        if self.eat(&["ALTER", "CONSTRAINT"]) {
            return self.alter_constraint();
        }
        if self.eat(&["ALTER"]) {
            self.eat(&["COLUMN"]);
            let column = self.identifier()?;
            return self.alter_column(column);
        }
        if self.eat(&["VALIDATE", "CONSTRAINT"]) {
            return Ok(AlterTableAction::ValidateConstraint(self.identifier()?));
        }
        if self.eat(&["SET", "DATA_SUBJECT"]) {
            return Ok(AlterTableAction::SetDataSubject);
        }
        self.storage_action()
    }

    fn add(&mut self) -> Result<AlterTableAction, PlanError> {
        if self.word_is(0, "ON") && (self.word_is(1, "DEL") || self.word_is(1, "GET")) {
            return Ok(AlterTableAction::AddRule(self.rule(true)?));
        }
        if !self.word_is(0, "COLUMN")
            && let Some(constraint) = self.table_constraint()?
        {
            return Ok(AlterTableAction::AddConstraint(constraint));
        }
        self.eat(&["COLUMN"]);
        let if_not_exists = self.eat(&["IF", "NOT", "EXISTS"]);
        Ok(AlterTableAction::AddColumn { if_not_exists, column: self.column_definition()? })
    }

    fn drop_from_table(&mut self) -> Result<AlterTableAction, PlanError> {
        if self.word_is(0, "ON") && (self.word_is(1, "DEL") || self.word_is(1, "GET")) {
            return Ok(AlterTableAction::DropRule(self.rule(false)?));
        }
        if self.eat(&["CONSTRAINT"]) {
            let if_exists = self.eat(&["IF", "EXISTS"]);
            let name = self.identifier()?;
            return Ok(AlterTableAction::DropConstraint { name, if_exists, behavior: self.behavior() });
        }
        // A column may be called data_subject: then DROP COLUMN says so.
        if self.eat(&["DATA_SUBJECT"]) {
            return Ok(AlterTableAction::DropDataSubject);
        }
        self.eat(&["COLUMN"]);
        let if_exists = self.eat(&["IF", "EXISTS"]);
        let column = self.identifier()?;
        Ok(AlterTableAction::DropColumn { if_exists, column, behavior: self.behavior() })
    }

    fn alter_constraint(&mut self) -> Result<AlterTableAction, PlanError> {
        let name = self.identifier()?;
        if let Some(set) = self.eat_one_of(&["SET", "DROP"]) {
            let kind = self.edge_kind()?;
            let new = if set == "SET" { Some(kind) } else { None };
            return Ok(AlterTableAction::AnnotateConstraint(name, new, kind));
        }
        Ok(AlterTableAction::AlterConstraint(name, self.timing()?))
    }

    fn edge_kind(&mut self) -> Result<EdgeKind, PlanError> {
        let Some((_, kind)) = EDGE_WORDS.iter().find(|(word, _)| self.word_is(0, word)) else {
            return Err(self.unexpected());
        };
        self.take(1);
        Ok(*kind)
    }

    /// What follows ALTER COLUMN name.
    fn alter_column(&mut self, column: Identifier) -> Result<AlterTableAction, PlanError> {
        if self.eat(&["TYPE"]) || self.eat(&["SET", "DATA", "TYPE"]) {
            let type_name = self.type_name()?;
            let collation = if self.eat(&["COLLATE"]) { Some(self.object_name()?) } else { None };
            let using = if self.eat(&["USING"]) { Some(self.expression()?) } else { None };
            return Ok(AlterTableAction::AlterType { column, type_name, collation, using });
        }
        if self.eat(&["SET", "DEFAULT"]) {
            return Ok(AlterTableAction::SetDefault(column, self.expression()?));
        }
        if self.eat(&["DROP", "DEFAULT"]) {
            return Ok(AlterTableAction::DropDefault(column));
        }
        if self.eat(&["SET", "NOT", "NULL"]) {
            return Ok(AlterTableAction::SetNotNull(column));
        }
        if self.eat(&["DROP", "NOT", "NULL"]) {
            return Ok(AlterTableAction::DropNotNull(column));
        }
        if self.eat(&["DROP", "EXPRESSION"]) {
            return Ok(AlterTableAction::DropExpression { column, if_exists: self.eat(&["IF", "EXISTS"]) });
        }
        if self.eat(&["DROP", "IDENTITY"]) {
            return Ok(AlterTableAction::DropIdentity { column, if_exists: self.eat(&["IF", "EXISTS"]) });
        }
        if self.eat(&["ADD", "GENERATED"]) {
            let always = self.always_or_by_default()?;
            self.expect(&["AS", "IDENTITY"])?;
            let options = self.optional_sequence_options()?;
            return Ok(AlterTableAction::AddIdentity { column, always, options });
        }
        if self.words_are(&["SET", "STATISTICS"]) {
            self.take(2);
            self.integer()?;
            return Ok(AlterTableAction::Nothing);
        }
        if self.words_are(&["SET", "STORAGE"]) || self.words_are(&["SET", "COMPRESSION"]) {
            self.take(2);
            self.any_word()?;
            return Ok(AlterTableAction::Nothing);
        }
        if let Some((_, kind)) = EDGE_WORDS.iter().find(|(word, _)| self.word_is(1, word)) {
            if self.eat(&["SET"]) {
                return match self.references()? {
                    Some(references) => Ok(AlterTableAction::SetAnnotation(column, references)),
                    None => Err(self.unexpected()),
                };
            }
            if self.eat(&["DROP"]) {
                self.take(1);
                return Ok(AlterTableAction::DropAnnotation(column, *kind));
            }
        }
        if let Some(property) = self.property_at(1) {
            if self.eat(&["SET"]) {
                self.take(1);
                return Ok(AlterTableAction::SetProperty(column, property));
            }
            if self.eat(&["DROP"]) {
                self.take(1);
                return Ok(AlterTableAction::DropProperty(column, property));
            }
        }
        if self.word_is(0, "RESTART") || self.word_is(0, "SET") {
            return self.set_identity(column);
        }
        Err(self.unexpected())
    }

    /// { SET GENERATED … | SET sequence option | RESTART [WITH n] } …
    fn set_identity(&mut self, column: Identifier) -> Result<AlterTableAction, PlanError> {
        if self.word_is(0, "SET") && self.parser.peek_nth_token_ref(1).token == Token::LParen {
            self.take(1);
            self.skip_parenthesized()?;
            return Ok(AlterTableAction::Nothing);
        }
        let mut always = None;
        let mut options = SequenceOptions::default();
        loop {
            if self.eat(&["SET", "GENERATED"]) {
                always = Some(self.always_or_by_default()?);
            } else if self.eat(&["SET"]) {
                if !self.sequence_option(&mut options)? {
                    return Err(self.unexpected());
                }
            } else if self.word_is(0, "RESTART") {
                self.sequence_option(&mut options)?;
            } else {
                return Ok(AlterTableAction::SetIdentity { column, always, options });
            }
        }
    }

    /// Whose a table is, and what says how PostgreSQL should store it.
    fn storage_action(&mut self) -> Result<AlterTableAction, PlanError> {
        if self.eat(&["OWNER", "TO"]) {
            return self.role_name().map(AlterTableAction::OwnerTo);
        }
        if self.eat(&["CLUSTER", "ON"]) || self.eat(&["SET", "ACCESS", "METHOD"]) || self.eat(&["SET", "TABLESPACE"]) {
            self.identifier()?;
            return Ok(AlterTableAction::Nothing);
        }
        if self.eat(&["SET", "SCHEMA"]) {
            return Ok(AlterTableAction::SetSchema(self.identifier()?));
        }
        if self.eat(&["SET", "WITHOUT"]) {
            self.any_word()?;
            return Ok(AlterTableAction::Nothing);
        }
        if self.eat(&["SET", "LOGGED"]) || self.eat(&["SET", "UNLOGGED"]) {
            return Ok(AlterTableAction::Nothing);
        }
        if self.eat(&["SET"]) {
            let written = self.table_parameters()?;
            let says_nothing = written == RetentionDefinition::default();
            return Ok(if says_nothing { AlterTableAction::Nothing } else { AlterTableAction::SetRetention(written) });
        }
        if self.eat(&["RESET"]) {
            return self.reset_parameters();
        }
        if self.eat(&["REPLICA", "IDENTITY"]) {
            if self.eat(&["USING", "INDEX"]) {
                self.identifier()?;
            } else {
                self.any_word()?;
            }
            return Ok(AlterTableAction::Nothing);
        }
        if let Some(action) = self.enabled_triggers()? {
            return Ok(action);
        }
        if let Some(action) = self.row_security() {
            return Ok(action);
        }
        const REFUSED: [(&str, &str); 7] = [
            ("DISABLE", "disabling triggers or rules"),
            ("ENABLE", "triggers and rules"),
            ("INHERIT", "table inheritance"),
            ("ATTACH", "table partitioning"),
            ("DETACH", "table partitioning"),
            ("OF", "a typed table"),
            ("NOT", "a typed table"),
        ];
        match REFUSED.iter().find(|(word, _)| self.word_is(0, word)) {
            Some((_, what)) => {
                self.unsupported(what);
                Ok(AlterTableAction::Refused((*what).to_string()))
            }
            None => Err(self.unexpected()),
        }
    }
}
