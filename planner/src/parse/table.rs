//! Reads CREATE TABLE with annotations: columns, constraints, edges and rules.
//!
//! `ON DEL|GET` cannot be a column, because ON is reserved; OWNED_BY and its kin stand only where
//! PostgreSQL allows a column constraint or REFERENCES. So nothing that PostgreSQL accepts changes.

use super::definition::{
    ColumnConstraint, ColumnConstraintKind, ColumnDefinition, CreateTable, CreateTableAs, LikeClause, LikeParts,
    References, RetentionDefinition, TableConstraint, TableConstraintKind, Timing,
};
use super::grammar::Grammar;
use super::statement::{Identifier, Statement};
use crate::catalog::{EdgeKind, OnCommit, ReferentialAction};
use crate::error::PlanError;
use sqlparser::tokenizer::Token;

/// The annotations' words.
pub(super) const EDGE_WORDS: [(&str, EdgeKind); 4] = [
    ("OWNED_BY", EdgeKind::OwnedBy),
    ("OWNS", EdgeKind::Owns),
    ("ACCESSED_BY", EdgeKind::AccessedBy),
    ("ACCESSES", EdgeKind::Accesses),
];

/// PostgreSQL's limit on a table's columns.
const COLUMNS_AHEAD_MAX: usize = 1_600;

impl Grammar<'_, '_> {
    /// What follows CREATE … TABLE.
    pub(super) fn create_table(&mut self, temporary: bool, data_subject: bool) -> Result<Statement, PlanError> {
        let if_not_exists = self.eat(&["IF", "NOT", "EXISTS"]);
        let name = self.object_name()?;
        if self.word_is(0, "AS") || self.words_are(&["ON", "COMMIT"]) || self.is_column_list_of_query() {
            if data_subject {
                return Err(PlanError::unsupported("CREATE DATA_SUBJECT TABLE … AS")
                    .hint("create the table with its primary key, then INSERT … SELECT"));
            }
            return self.create_table_as(name, if_not_exists, temporary);
        }
        let mut create = CreateTable {
            name,
            if_not_exists,
            temporary,
            data_subject,
            columns: Vec::new(),
            constraints: Vec::new(),
            likes: Vec::new(),
            rules: Vec::new(),
            refused: None,
            on_commit: None,
            retention: RetentionDefinition::default(),
        };
        if self.eat(&["PARTITION", "OF"]) || self.eat(&["OF"]) {
            self.unsupported("partitions");
            create.refused = Some("CREATE TABLE … PARTITION OF and OF type".to_string());
            return Ok(Statement::CreateTable(Box::new(create)));
        }
        self.expect_token(&Token::LParen)?;
        if !self.next_is(&Token::RParen) {
            self.list(|grammar| grammar.table_element(&mut create))?;
        }
        self.expect_token(&Token::RParen)?;
        self.table_options(&mut create)?;
        Ok(Statement::CreateTable(Box::new(create)))
    }

    /// Whether `(a, b) AS` follows, not column definitions.
    fn is_column_list_of_query(&self) -> bool {
        if !self.next_is(&Token::LParen) {
            return false;
        }
        let mut n = 1;
        // Looking n tokens ahead costs n steps: no farther than a table has columns.
        while n < 2 * COLUMNS_AHEAD_MAX {
            let word = matches!(self.parser.peek_nth_token_ref(n).token, Token::Word(_));
            match (word, &self.parser.peek_nth_token_ref(n + 1).token) {
                (true, Token::Comma) => n += 2,
                (true, Token::RParen) => return self.word_is(n + 2, "AS"),
                _ => return false,
            }
        }
        false
    }

    fn create_table_as(
        &mut self,
        name: super::statement::ObjectName,
        if_not_exists: bool,
        temporary: bool,
    ) -> Result<Statement, PlanError> {
        let columns = self.optional_columns()?;
        let on_commit = if self.eat(&["ON", "COMMIT"]) { Some(self.on_commit()?) } else { None };
        self.expect(&["AS"])?;
        if self.word_is(0, "EXECUTE") {
            return Err(PlanError::unsupported("CREATE TABLE AS EXECUTE")
                .hint("Write the query in place of the statement's name.")
                .at(Some(self.position())));
        }
        let (query, text) = self.query()?;
        let with_data = if self.eat(&["WITH", "NO", "DATA"]) {
            false
        } else {
            self.eat(&["WITH", "DATA"]);
            true
        };
        Ok(Statement::CreateTableAs(Box::new(CreateTableAs {
            name,
            if_not_exists,
            temporary,
            columns,
            query,
            text,
            with_data,
            on_commit,
        })))
    }

    fn table_options(&mut self, create: &mut CreateTable) -> Result<(), PlanError> {
        loop {
            if self.eat(&["WITH"]) {
                create.retention = self.table_parameters()?;
            } else if self.eat(&["WITHOUT", "OIDS"]) {
            } else if self.eat(&["TABLESPACE"]) || self.eat(&["USING"]) {
                self.identifier()?;
            } else if self.eat(&["ON", "COMMIT"]) {
                create.on_commit = Some(self.on_commit()?);
            } else if self.eat(&["INHERITS"]) {
                self.skip_parenthesized()?;
                create.refused = Some("table inheritance".to_string());
            } else if self.eat(&["PARTITION", "BY"]) {
                self.identifier()?;
                self.skip_parenthesized()?;
                create.refused = Some("table partitioning".to_string());
            } else {
                return Ok(());
            }
        }
    }

    /// What follows ON COMMIT.
    fn on_commit(&mut self) -> Result<OnCommit, PlanError> {
        if self.eat(&["PRESERVE", "ROWS"]) {
            return Ok(OnCommit::PreserveRows);
        }
        if self.eat(&["DELETE", "ROWS"]) {
            return Ok(OnCommit::DeleteRows);
        }
        self.expect(&["DROP"])?;
        Ok(OnCommit::Drop)
    }

    fn table_element(&mut self, create: &mut CreateTable) -> Result<(), PlanError> {
        if self.word_is(0, "ON") && (self.word_is(1, "DEL") || self.word_is(1, "GET")) {
            create.rules.push(self.rule(true)?);
        } else if self.eat(&["LIKE"]) {
            let like = self.like_clause(create.columns.len())?;
            create.likes.push(like);
        } else if let Some(constraint) = self.table_constraint()? {
            create.constraints.push(constraint);
        } else {
            create.columns.push(self.column_definition()?);
        }
        Ok(())
    }

    /// What follows LIKE.
    fn like_clause(&mut self, before: usize) -> Result<LikeClause, PlanError> {
        let table = self.object_name()?;
        let mut parts = LikeParts::default();
        while let Some(word) = self.eat_one_of(&["INCLUDING", "EXCLUDING"]) {
            let on = word == "INCLUDING";
            const PARTS: [&str; 10] = [
                "COMMENTS",
                "CONSTRAINTS",
                "DEFAULTS",
                "GENERATED",
                "IDENTITY",
                "INDEXES",
                "ALL",
                "COMPRESSION",
                "STATISTICS",
                "STORAGE",
            ];
            match self.eat_one_of(&PARTS) {
                Some("COMMENTS") => parts.comments = on,
                Some("CONSTRAINTS") => parts.constraints = on,
                Some("DEFAULTS") => parts.defaults = on,
                Some("GENERATED") => parts.generated = on,
                Some("IDENTITY") => parts.identity = on,
                Some("INDEXES") => parts.indexes = on,
                Some("ALL") => {
                    let all = LikeParts {
                        comments: on,
                        constraints: on,
                        defaults: on,
                        generated: on,
                        identity: on,
                        indexes: on,
                    };
                    parts = all;
                }
                Some(_) => {}
                None => return Err(self.unexpected()),
            }
        }
        Ok(LikeClause { table, before, parts })
    }

    /// `name type constraints…`
    pub(super) fn column_definition(&mut self) -> Result<ColumnDefinition, PlanError> {
        let name = self.identifier()?;
        let type_name = self.type_name()?;
        let mut constraints = Vec::new();
        while let Some(constraint) = self.column_constraint()? {
            constraints.push(constraint);
        }
        Ok(ColumnDefinition { name, type_name, constraints })
    }

    fn column_constraint(&mut self) -> Result<Option<ColumnConstraint>, PlanError> {
        let name = if self.eat(&["CONSTRAINT"]) { Some(self.identifier()?) } else { None };
        let kind = if self.eat(&["NOT", "NULL"]) {
            ColumnConstraintKind::NotNull
        } else if self.eat(&["NULL"]) {
            ColumnConstraintKind::Null
        } else if self.eat(&["DEFAULT"]) {
            ColumnConstraintKind::Default(self.restricted_expression()?)
        } else if self.eat(&["PRIMARY", "KEY"]) {
            self.index_parameters()?;
            ColumnConstraintKind::PrimaryKey
        } else if self.eat(&["UNIQUE"]) {
            let nulls_not_distinct = self.nulls_not_distinct();
            self.index_parameters()?;
            ColumnConstraintKind::Unique { nulls_not_distinct }
        } else if self.eat(&["CHECK"]) {
            let check = self.parenthesized_expression()?;
            self.eat(&["NO", "INHERIT"]);
            ColumnConstraintKind::Check(check)
        } else if self.eat(&["COLLATE"]) {
            ColumnConstraintKind::Collate(self.object_name()?)
        } else if self.eat(&["GENERATED"]) {
            self.generated()?
        } else if let Some(references) = self.references()? {
            ColumnConstraintKind::References(references)
        } else if name.is_some() {
            return Err(self.unexpected());
        } else if let Some(property) = self.property() {
            ColumnConstraintKind::Property(property)
        } else {
            return Ok(None);
        };
        let timing = self.timing()?;
        Ok(Some(ColumnConstraint { name, kind, timing }))
    }

    /// What follows GENERATED.
    fn generated(&mut self) -> Result<ColumnConstraintKind, PlanError> {
        let always = self.always_or_by_default()?;
        self.expect(&["AS"])?;
        if self.eat(&["IDENTITY"]) {
            return Ok(ColumnConstraintKind::Identity { always, options: self.optional_sequence_options()? });
        }
        let position = self.position();
        if !always {
            return Err(PlanError::new("42601", "for a generated column, GENERATED ALWAYS must be specified")
                .at(Some(position)));
        }
        let expression = self.parenthesized_expression()?;
        self.expect(&["STORED"])?;
        Ok(ColumnConstraintKind::Generated(expression))
    }

    /// ALWAYS (true) or BY DEFAULT.
    pub(super) fn always_or_by_default(&mut self) -> Result<bool, PlanError> {
        if self.eat(&["ALWAYS"]) {
            return Ok(true);
        }
        self.expect(&["BY", "DEFAULT"])?;
        Ok(false)
    }

    /// NULLS [NOT] DISTINCT
    pub(super) fn nulls_not_distinct(&mut self) -> bool {
        if self.eat(&["NULLS", "NOT", "DISTINCT"]) {
            return true;
        }
        self.eat(&["NULLS", "DISTINCT"]);
        false
    }

    /// INCLUDE, WITH (…), USING INDEX TABLESPACE behind a key.
    fn index_parameters(&mut self) -> Result<Vec<Identifier>, PlanError> {
        let include = if self.eat(&["INCLUDE"]) { self.columns()? } else { Vec::new() };
        if self.word_is(0, "WITH") && self.parser.peek_nth_token_ref(1).token == Token::LParen {
            self.eat(&["WITH"]);
            self.storage_parameters()?;
        }
        if self.eat(&["USING", "INDEX", "TABLESPACE"]) {
            self.identifier()?;
        }
        Ok(include)
    }

    /// REFERENCES [ONLY] or an annotation, with target and actions.
    pub(super) fn references(&mut self) -> Result<Option<References>, PlanError> {
        let position = self.position();
        let annotation = if self.eat(&["REFERENCES"]) {
            None
        } else {
            match EDGE_WORDS.iter().find(|(word, _)| self.word_is(0, word)) {
                Some((_, kind)) => {
                    self.take(1);
                    Some(*kind)
                }
                None => return Ok(None),
            }
        };
        let only = annotation.is_none() && self.eat(&["ONLY"]);
        let table = self.object_name()?;
        let columns = self.optional_columns()?;
        let mut references = References {
            annotation,
            only,
            table,
            columns,
            on_delete: ReferentialAction::NoAction,
            on_update: ReferentialAction::NoAction,
            match_full: false,
            position,
        };
        loop {
            if self.eat(&["MATCH"]) {
                let position = self.position();
                match self.eat_one_of(&["SIMPLE", "FULL", "PARTIAL"]) {
                    Some("PARTIAL") => {
                        return Err(PlanError::new("0A000", "MATCH PARTIAL not yet implemented").at(Some(position)));
                    }
                    Some(word) => references.match_full = word == "FULL",
                    None => return Err(self.unexpected()),
                }
            } else if self.eat(&["ON", "DELETE"]) {
                references.on_delete = self.referential_action()?;
            } else if self.eat(&["ON", "UPDATE"]) {
                references.on_update = self.referential_action()?;
            } else {
                return Ok(Some(references));
            }
        }
    }

    fn referential_action(&mut self) -> Result<ReferentialAction, PlanError> {
        let action = if self.eat(&["NO", "ACTION"]) {
            ReferentialAction::NoAction
        } else if self.eat(&["RESTRICT"]) {
            ReferentialAction::Restrict
        } else if self.eat(&["CASCADE"]) {
            ReferentialAction::Cascade
        } else if self.eat(&["SET", "NULL"]) {
            ReferentialAction::SetNull
        } else if self.eat(&["SET", "DEFAULT"]) {
            ReferentialAction::SetDefault
        } else {
            return Err(self.unexpected());
        };
        if matches!(action, ReferentialAction::SetNull | ReferentialAction::SetDefault) && self.next_is(&Token::LParen)
        {
            let position = self.position();
            return Err(PlanError::unsupported("SET NULL or SET DEFAULT with a column list").at(Some(position)));
        }
        Ok(action)
    }

    /// [NOT] DEFERRABLE, INITIALLY DEFERRED | IMMEDIATE
    pub(super) fn timing(&mut self) -> Result<Timing, PlanError> {
        let (mut timing, mut never) = (Timing::default(), false);
        loop {
            let position = self.position();
            if self.eat(&["DEFERRABLE"]) {
                timing.deferrable = true;
            } else if self.eat(&["NOT", "DEFERRABLE"]) {
                (timing.deferrable, never) = (false, true);
            } else if self.eat(&["INITIALLY", "DEFERRED"]) {
                (timing.deferrable, timing.initially_deferred) = (!never, true);
            } else if self.eat(&["INITIALLY", "IMMEDIATE"]) {
                timing.initially_deferred = false;
            } else if timing.initially_deferred && !timing.deferrable {
                return Err(PlanError::new("42601", "constraint declared INITIALLY DEFERRED must be DEFERRABLE")
                    .at(Some(position)));
            } else {
                return Ok(timing);
            }
        }
    }

    /// A table constraint, if one is next.
    pub(super) fn table_constraint(&mut self) -> Result<Option<TableConstraint>, PlanError> {
        let position = self.position();
        let name = if self.eat(&["CONSTRAINT"]) { Some(self.identifier()?) } else { None };
        let (mut include, mut nulls_not_distinct) = (Vec::new(), false);
        let kind = if self.eat(&["PRIMARY", "KEY"]) {
            self.key(true, &mut include)?
        } else if self.eat(&["UNIQUE"]) {
            nulls_not_distinct = self.nulls_not_distinct();
            self.key(false, &mut include)?
        } else if self.eat(&["CHECK"]) {
            let check = self.parenthesized_expression()?;
            self.eat(&["NO", "INHERIT"]);
            TableConstraintKind::Check(check)
        } else if self.eat(&["FOREIGN", "KEY"]) {
            let columns = self.columns()?;
            match self.references()? {
                Some(references) => TableConstraintKind::ForeignKey(columns, references),
                None => return Err(self.unexpected()),
            }
        } else if self.word_is(0, "EXCLUDE")
            && (name.is_some() || self.word_is(1, "USING") || self.parser.peek_nth_token_ref(1).token == Token::LParen)
        {
            return Err(PlanError::unsupported("an exclusion constraint").at(Some(position)));
        } else if name.is_some() {
            return Err(self.unexpected());
        } else {
            return Ok(None);
        };
        let mut timing = self.timing()?;
        let not_valid = self.eat(&["NOT", "VALID"]);
        if not_valid {
            timing = if timing == Timing::default() { self.timing()? } else { timing };
        }
        Ok(Some(TableConstraint { name, kind, timing, not_valid, include, nulls_not_distinct, position }))
    }

    fn key(&mut self, primary: bool, include: &mut Vec<Identifier>) -> Result<TableConstraintKind, PlanError> {
        if self.eat(&["USING", "INDEX"]) {
            return Ok(TableConstraintKind::UsingIndex(primary, self.identifier()?));
        }
        let columns: Vec<Identifier> = self.columns()?;
        *include = self.index_parameters()?;
        Ok(if primary { TableConstraintKind::PrimaryKey(columns) } else { TableConstraintKind::Unique(columns) })
    }
}
