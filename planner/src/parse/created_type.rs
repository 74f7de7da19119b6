//! CREATE TYPE and ALTER TYPE: enumerations, composites and ranges.

use super::grammar::Grammar;
use super::statement::{ObjectKind, ObjectName, Statement};
use super::type_definition::{
    AddEnumValue, AlterComposite, AttributeChange, AttributeDefinition, CreateComposite, CreateRange,
};
use crate::error::PlanError;
use sqlparser::tokenizer::Token;

impl Grammar<'_, '_> {
    /// What follows CREATE TYPE.
    pub(super) fn create_type(&mut self) -> Result<Statement, PlanError> {
        let name = self.object_name()?;
        if self.eat(&["AS", "ENUM"]) {
            self.expect_token(&Token::LParen)?;
            let labels = if self.next_is(&Token::RParen) { Vec::new() } else { self.list(Self::string)? };
            self.expect_token(&Token::RParen)?;
            return Ok(Statement::CreateEnum { name, labels });
        }
        if self.eat(&["AS", "RANGE"]) {
            return self.range_type(name);
        }
        if self.eat(&["AS"]) && self.next_is(&Token::LParen) {
            self.expect_token(&Token::LParen)?;
            let none = self.next_is(&Token::RParen);
            let attributes = if none { Vec::new() } else { self.list(Self::attribute)? };
            self.expect_token(&Token::RParen)?;
            return Ok(Statement::CreateComposite(Box::new(CreateComposite { name, attributes })));
        }
        Ok(self.unsupported("CREATE TYPE of a base type"))
    }

    fn range_type(&mut self, name: ObjectName) -> Result<Statement, PlanError> {
        let mut create = CreateRange {
            name,
            subtype: None,
            operator_class: None,
            collation: None,
            difference: None,
            multirange: None,
        };
        self.expect_token(&Token::LParen)?;
        loop {
            let position = self.position();
            let option = self.any_word()?;
            self.expect_token(&Token::Eq)?;
            let again = match option.as_str() {
                "subtype" => create.subtype.replace(self.type_name()?).is_some(),
                "subtype_opclass" => create.operator_class.replace(self.object_name()?).is_some(),
                "collation" => create.collation.replace(self.object_name()?).is_some(),
                "subtype_diff" => create.difference.replace(self.object_name()?).is_some(),
                "multirange_type_name" => create.multirange.replace(self.object_name()?).is_some(),
                "canonical" => return Ok(self.unsupported("CREATE TYPE … AS RANGE with CANONICAL")),
                other => {
                    let message = format!("type attribute \"{other}\" not recognized");
                    return Err(PlanError::new("42601", message));
                }
            };
            if again {
                return Err(PlanError::new("42601", "conflicting or redundant options").at(Some(position)));
            }
            if !self.eat_token(&Token::Comma) {
                break;
            }
        }
        self.expect_token(&Token::RParen)?;
        Ok(Statement::CreateRange(Box::new(create)))
    }

    pub(super) fn alter_type(&mut self) -> Result<Statement, PlanError> {
        let name = self.object_name()?;
        if self.eat(&["ADD", "VALUE"]) {
            let if_not_exists = self.eat(&["IF", "NOT", "EXISTS"]);
            let label = self.string()?;
            let neighbour = match self.eat_one_of(&["BEFORE", "AFTER"]) {
                Some(word) => Some((word == "BEFORE", self.string()?)),
                None => None,
            };
            return Ok(Statement::AddEnumValue(Box::new(AddEnumValue { name, if_not_exists, label, neighbour })));
        }
        if self.eat(&["RENAME", "VALUE"]) {
            let old = self.string()?;
            self.expect(&["TO"])?;
            return Ok(Statement::RenameEnumValue { name, old, new: self.string()? });
        }
        if self.word_is(1, "ATTRIBUTE") {
            let changes = self.attribute_changes()?;
            return Ok(Statement::AlterComposite(Box::new(AlterComposite { name, changes })));
        }
        if let Some(statement) = self.rename_or_nothing(ObjectKind::Type, false, &name)? {
            return Ok(statement);
        }
        Ok(self.unsupported("this form of ALTER TYPE"))
    }

    fn attribute(&mut self) -> Result<AttributeDefinition, PlanError> {
        let name = self.identifier()?;
        let type_name = self.type_name()?;
        let collation = if self.eat(&["COLLATE"]) { Some(self.object_name()?) } else { None };
        Ok(AttributeDefinition { name, type_name, collation })
    }

    fn attribute_changes(&mut self) -> Result<Vec<AttributeChange>, PlanError> {
        if self.eat(&["RENAME", "ATTRIBUTE"]) {
            let old = self.identifier()?;
            self.expect(&["TO"])?;
            let new = self.identifier()?;
            self.behavior();
            return Ok(vec![AttributeChange::Rename { old, new }]);
        }
        self.list(Self::attribute_change)
    }

    fn attribute_change(&mut self) -> Result<AttributeChange, PlanError> {
        let change = if self.eat(&["ADD", "ATTRIBUTE"]) {
            AttributeChange::Add(self.attribute()?)
        } else if self.eat(&["DROP", "ATTRIBUTE"]) {
            let if_exists = self.eat(&["IF", "EXISTS"]);
            AttributeChange::Drop { name: self.identifier()?, if_exists }
        } else {
            self.expect(&["ALTER", "ATTRIBUTE"])?;
            let name = self.identifier()?;
            self.eat(&["SET", "DATA"]);
            self.expect(&["TYPE"])?;
            let type_name = self.type_name()?;
            let collation = if self.eat(&["COLLATE"]) { Some(self.object_name()?) } else { None };
            AttributeChange::Retype(AttributeDefinition { name, type_name, collation })
        };
        // What CASCADE reaches are typed tables, of which there are none.
        self.behavior();
        Ok(change)
    }
}
