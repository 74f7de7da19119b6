//! Reads CREATE, ALTER and DROP OPERATOR, and the names of operators.

use super::grammar::Grammar;
use super::operator_symbol::{first_symbol, is_symbol};
use super::statement::{Identifier, ObjectName, Statement};
use super::type_definition::{
    AlterOperator, CreateOperator, OperatorArguments, OperatorAttribute, OperatorChange, OperatorName,
    OperatorStatement,
};
use crate::error::PlanError;
use sqlparser::tokenizer::Token;

impl Grammar<'_, '_> {
    /// `[schema.]symbol`
    fn symbol_name(&mut self) -> Result<ObjectName, PlanError> {
        let position = self.position();
        let mut before = Vec::new();
        while matches!(self.parser.peek_token_ref().token, Token::Word(_)) {
            before.push(self.identifier()?.name);
            self.expect_token(&Token::Period)?;
        }
        let symbol = self.parser.peek_token_ref().token.to_string();
        if !is_symbol(&symbol) || first_symbol(&symbol) != symbol || symbol == "=>" || before.len() > 2 {
            return Err(self.unexpected());
        }
        self.parser.advance_token();
        let schema = before.pop();
        Ok(ObjectName { database: before.pop(), schema, name: symbol, position })
    }

    /// `[schema.]symbol (left, right)`
    pub(super) fn operator_name(&mut self) -> Result<OperatorName, PlanError> {
        let name = self.symbol_name()?;
        self.expect_token(&Token::LParen)?;
        let left = self.operand()?;
        if !self.eat_token(&Token::Comma) {
            let position = self.position();
            return match self.next_is(&Token::RParen) {
                true => Err(PlanError::new("42601", "missing argument")
                    .hint("Use NONE to denote the missing argument of a unary operator.")
                    .at(Some(position))),
                false => Err(self.unexpected()),
            };
        }
        let right = self.operand()?;
        self.expect_token(&Token::RParen)?;
        Ok(OperatorName { name, arguments: OperatorArguments { left, right } })
    }

    fn operand(&mut self) -> Result<Option<super::statement::TypeName>, PlanError> {
        if self.eat(&["NONE"]) { Ok(None) } else { self.type_name().map(Some) }
    }

    /// Behind CREATE OPERATOR; nothing of CLASS and FAMILY.
    pub(super) fn create_operator(&mut self) -> Result<Statement, PlanError> {
        let name = self.symbol_name()?;
        let mut create = CreateOperator::named(name);
        self.expect_token(&Token::LParen)?;
        loop {
            self.operator_attribute(&mut create)?;
            if !self.eat_token(&Token::Comma) {
                break;
            }
        }
        self.expect_token(&Token::RParen)?;
        Ok(Statement::Operator(Box::new(OperatorStatement::Create(create))))
    }

    fn operator_attribute(&mut self, create: &mut CreateOperator) -> Result<(), PlanError> {
        let attribute = self.any_word()?;
        let has_value = self.eat_token(&Token::Eq);
        match attribute.as_str() {
            "hashes" => create.joins.hashes = self.truth(has_value)?,
            "merges" => create.joins.merges = self.truth(has_value)?,
            // Of old: they say that it merges.
            "sort1" | "sort2" | "ltcmp" | "gtcmp" if has_value => {
                self.symbol_name()?;
                create.joins.merges = true;
            }
            "leftarg" | "rightarg" if has_value => {
                if self.eat(&["SETOF"]) {
                    return Err(PlanError::new("42P13", "SETOF type not allowed for operator argument"));
                }
                // NONE is a word like others here.
                let place =
                    if attribute == "leftarg" { &mut create.arguments.left } else { &mut create.arguments.right };
                *place = Some(self.type_name()?);
            }
            "function" | "procedure" if has_value => create.function = Some(self.object_name()?),
            "commutator" if has_value => create.commutator = Some(self.linked_operator()?),
            "negator" if has_value => create.negator = Some(self.linked_operator()?),
            "restrict" if has_value => create.estimators.restrict = Some(self.object_name()?),
            "join" if has_value => create.estimators.join = Some(self.object_name()?),
            _ => {
                create.unknown.push(attribute);
                if has_value {
                    self.parser.advance_token();
                }
            }
        }
        Ok(())
    }

    /// A symbol, or `OPERATOR(schema.symbol)`.
    fn linked_operator(&mut self) -> Result<ObjectName, PlanError> {
        if !self.eat(&["OPERATOR"]) {
            return self.symbol_name();
        }
        self.expect_token(&Token::LParen)?;
        let name = self.symbol_name()?;
        self.expect_token(&Token::RParen)?;
        Ok(name)
    }

    fn truth(&mut self, has_value: bool) -> Result<bool, PlanError> {
        if !has_value {
            return Ok(true);
        }
        match self.any_word()?.as_str() {
            "true" | "on" => Ok(true),
            "false" | "off" => Ok(false),
            _ => Err(self.unexpected()),
        }
    }

    /// Behind ALTER OPERATOR.
    pub(super) fn alter_operator(&mut self) -> Result<Statement, PlanError> {
        let operator = self.operator_name()?;
        let change = if self.eat(&["OWNER", "TO"]) {
            OperatorChange::Owner(self.role_name()?)
        } else if self.eat(&["SET", "SCHEMA"]) {
            OperatorChange::Schema(self.identifier()?)
        } else {
            self.expect(&["SET"])?;
            self.expect_token(&Token::LParen)?;
            let attributes = self.list(Self::estimator)?;
            self.expect_token(&Token::RParen)?;
            OperatorChange::Estimators(attributes)
        };
        Ok(Statement::Operator(Box::new(OperatorStatement::Alter(AlterOperator { operator, change }))))
    }

    /// `RESTRICT = function`, `JOIN = NONE`
    fn estimator(&mut self) -> Result<OperatorAttribute, PlanError> {
        let name = self.any_word()?;
        let mut function: Option<ObjectName> = None;
        if self.eat_token(&Token::Eq) && !self.eat(&["NONE"]) {
            function = Some(self.object_name()?);
        }
        Ok(OperatorAttribute { name: Identifier { name, position: self.position() }, function })
    }

    /// Behind DROP OPERATOR.
    pub(super) fn drop_operators(&mut self) -> Result<Statement, PlanError> {
        let if_exists = self.eat(&["IF", "EXISTS"]);
        let operators = self.list(Self::operator_name)?;
        let behavior = self.behavior();
        Ok(Statement::Operator(Box::new(OperatorStatement::Drop { if_exists, operators, behavior })))
    }

    /// Whether a class or a family of operators is next, of which nobody creates any.
    pub(super) fn is_operator_class(&self, n: usize) -> bool {
        self.word_is(n, "OPERATOR") && (self.word_is(n + 1, "CLASS") || self.word_is(n + 1, "FAMILY"))
    }
}
