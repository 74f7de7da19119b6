//! Reads CREATE INDEX.

use super::definition::{CreateIndex, IndexElement, IndexKey};
use super::grammar::Grammar;
use super::statement::{SqlText, Statement};
use super::subject::boolean;
use crate::error::PlanError;
use sqlparser::tokenizer::Token;

/// What is said of how long a table's rows are kept: nothing that may be read elsewhere and forgotten.
pub(super) const RETENTION: [&str; 3] = ["retain", "retain_basis", "then"];

impl Grammar<'_, '_> {
    /// What follows CREATE [UNIQUE] INDEX.
    pub(super) fn create_index(&mut self, unique: bool) -> Result<Statement, PlanError> {
        let concurrently = self.eat(&["CONCURRENTLY"]);
        let if_not_exists = self.eat(&["IF", "NOT", "EXISTS"]);
        let name = if self.word_is(0, "ON") && !if_not_exists { None } else { Some(self.identifier()?) };
        self.expect(&["ON"])?;
        self.eat(&["ONLY"]);
        let table = self.object_name()?;
        let method = if self.eat(&["USING"]) { Some(self.identifier()?.name) } else { None };
        let elements = self.parenthesized(Self::index_element)?;
        let include = if self.eat(&["INCLUDE"]) { self.columns()? } else { Vec::new() };
        let nulls_not_distinct = if self.eat(&["NULLS", "NOT", "DISTINCT"]) {
            true
        } else {
            self.eat(&["NULLS", "DISTINCT"]);
            false
        };
        if self.eat(&["WITH"]) {
            self.skip_parenthesized()?;
        }
        if self.eat(&["TABLESPACE"]) {
            self.identifier()?;
        }
        let predicate = if self.eat(&["WHERE"]) { Some(self.expression()?) } else { None };
        Ok(Statement::CreateIndex(Box::new(CreateIndex {
            name,
            if_not_exists,
            unique,
            concurrently,
            table,
            method,
            elements,
            include,
            nulls_not_distinct,
            predicate,
        })))
    }

    fn index_element(&mut self) -> Result<IndexElement, PlanError> {
        let position = self.position();
        let key = if self.next_is(&Token::LParen) {
            IndexKey::Expression(self.parenthesized_expression()?)
        } else if self.parser.peek_nth_token_ref(1).token == Token::LParen {
            let (_, text) = self.run_with_text(|parser| parser.parse_expr())?;
            IndexKey::Expression(SqlText { text, position })
        } else {
            IndexKey::Column(self.identifier()?)
        };
        let collation = if self.eat(&["COLLATE"]) { Some(self.object_name()?) } else { None };
        let ends = |grammar: &Self| {
            grammar.next_is(&Token::Comma)
                || grammar.next_is(&Token::RParen)
                || ["ASC", "DESC", "NULLS"].iter().any(|word| grammar.word_is(0, word))
        };
        let class = if ends(self) { None } else { Some(self.object_name()?) };
        if let Some(class) = &class
            && self.next_is(&Token::LParen)
        {
            return Err(PlanError::new("22023", format!("operator class {} has no options", class.name))
                .at(Some(self.position())));
        }
        let descending = self.eat_one_of(&["ASC", "DESC"]) == Some("DESC");
        let nulls_first = match self.eat(&["NULLS"]) {
            false => None,
            true => match self.eat_one_of(&["FIRST", "LAST"]) {
                Some(word) => Some(word == "FIRST"),
                None => return Err(self.unexpected()),
            },
        };
        Ok(IndexElement { key, descending, nulls_first, collation, class })
    }

    /// `(name = value, …)` storage parameters: read, and of no effect.
    pub(super) fn storage_parameters(&mut self) -> Result<(), PlanError> {
        self.parameters().map(|_| ())
    }

    /// The same, for who knows some of them, with where they stand.
    pub(super) fn parameters(&mut self) -> Result<Vec<(String, Option<String>, Option<u32>)>, PlanError> {
        let parameters = self.written_parameters()?;
        match parameters.iter().find(|(name, ..)| RETENTION.contains(&name.as_str())) {
            None => Ok(parameters),
            Some((name, _, position)) => Err(PlanError::new("22023", format!("unrecognized parameter \"{name}\""))
                .hint("It is said of a table: CREATE TABLE … WITH (retain = …).")
                .at(*position)),
        }
    }

    /// The same, of tables.
    pub(super) fn written_parameters(&mut self) -> Result<Vec<(String, Option<String>, Option<u32>)>, PlanError> {
        let parameters = self.parenthesized(|grammar| {
            let position = grammar.position();
            let mut name = grammar.any_word()?;
            if grammar.eat_token(&Token::Period) {
                name = grammar.any_word()?;
            }
            Ok((name, grammar.option_value()?, Some(position)))
        })?;
        for (name, value, _) in &parameters {
            if name == "oids" && boolean(name, value.as_deref())? {
                return Err(PlanError::new("0A000", "tables declared WITH OIDS are not supported"));
            }
        }
        Ok(parameters)
    }
}
