//! Reads maintenance statements: VACUUM, ANALYZE, CHECKPOINT, LOCK TABLE, REINDEX, CLUSTER.

use super::grammar::Grammar;
use super::statement::{ObjectName, Statement};
use super::subject::{boolean, unknown_option};
use super::utility::{LockTable, ReindexNames, TableLockMode, Vacuum};
use crate::error::PlanError;
use sqlparser::tokenizer::Token;

impl Grammar<'_, '_> {
    /// VACUUM, ANALYZE, CHECKPOINT, LOCK, REINDEX, CLUSTER
    pub(super) fn maintenance_statement(&mut self) -> Result<Option<Statement>, PlanError> {
        if self.eat(&["VACUUM"]) {
            return self.vacuum().map(|vacuum| Some(Statement::Vacuum(vacuum)));
        }
        if self.eat(&["ANALYZE"]) || self.eat(&["ANALYSE"]) {
            return self.vacuum().map(|analyze| Some(Statement::Analyze(analyze)));
        }
        if self.eat(&["CHECKPOINT"]) {
            return Ok(Some(Statement::Checkpoint));
        }
        if self.eat(&["LOCK"]) {
            return self.lock_table().map(Some);
        }
        if self.eat(&["REINDEX"]) {
            return self.reindex().map(Some);
        }
        if self.eat(&["CLUSTER"]) {
            if !self.eat(&["VERBOSE"]) && self.next_is(&Token::LParen) {
                self.skip_parenthesized()?;
            }
            let all = self.at_end();
            self.skip_rest();
            return Ok(Some(Statement::Cluster { all }));
        }
        Ok(None)
    }

    /// What follows REINDEX.
    fn reindex(&mut self) -> Result<Statement, PlanError> {
        let mut concurrently = false;
        if self.next_is(&Token::LParen) {
            let options = self.parenthesized(|grammar| Ok((grammar.any_word()?, grammar.option_value()?)))?;
            for (name, value) in options {
                if name == "concurrently" {
                    concurrently = boolean(&name, value.as_deref())?;
                }
            }
        }
        let of = self.eat_one_of(&["SCHEMA", "DATABASE", "SYSTEM", "TABLE", "INDEX"]);
        let Some(of) = of else { return Err(self.unexpected()) };
        concurrently |= self.eat(&["CONCURRENTLY"]);
        let mut names = ReindexNames::default();
        match of {
            "TABLE" | "INDEX" => names.relation = Some(self.object_name()?),
            "SCHEMA" => names.schema = Some(self.identifier()?),
            _ => self.skip_rest(),
        }
        let alone = match of {
            "TABLE" | "INDEX" => concurrently.then_some("CONCURRENTLY"),
            whole => Some(whole),
        };
        Ok(Statement::Reindex { alone, names })
    }

    fn skip_rest(&mut self) {
        while !self.at_end() {
            self.parser.advance_token();
        }
    }

    fn vacuum(&mut self) -> Result<Vacuum, PlanError> {
        let mut vacuum = Vacuum { tables: Vec::new(), full: false, analyze: false };
        if self.next_is(&Token::LParen) {
            let options = self.parenthesized(|grammar| {
                let position = grammar.position();
                Ok((grammar.any_word()?, grammar.option_value()?, position))
            })?;
            for (name, value, position) in options {
                match name.as_str() {
                    "full" => vacuum.full = boolean(&name, value.as_deref())?,
                    "analyze" | "analyse" => vacuum.analyze = boolean(&name, value.as_deref())?,
                    // Advice to PostgreSQL's heap, which has no counterpart here.
                    "freeze"
                    | "verbose"
                    | "disable_page_skipping"
                    | "skip_locked"
                    | "index_cleanup"
                    | "process_toast"
                    | "process_main"
                    | "truncate"
                    | "parallel"
                    | "buffer_usage_limit"
                    | "skip_database_stats"
                    | "only_database_stats" => {}
                    _ => return Err(unknown_option("VACUUM", &name).at(Some(position))),
                }
            }
        } else {
            loop {
                match self.eat_one_of(&["FULL", "FREEZE", "VERBOSE", "ANALYZE", "ANALYSE"]) {
                    Some("FULL") => vacuum.full = true,
                    Some("ANALYZE" | "ANALYSE") => vacuum.analyze = true,
                    Some(_) => {}
                    None => break,
                }
            }
        }
        if !self.at_end() {
            vacuum.tables = self.list(|grammar| {
                let table = grammar.object_name()?;
                grammar.optional_columns()?;
                Ok(table)
            })?;
        }
        Ok(vacuum)
    }

    /// `[ONLY] name [*]`: no table has children, so both mean the table.
    pub(super) fn table_with_children(&mut self) -> Result<ObjectName, PlanError> {
        self.eat(&["ONLY"]);
        let table = self.object_name()?;
        self.eat_token(&Token::Mul);
        Ok(table)
    }

    fn lock_table(&mut self) -> Result<Statement, PlanError> {
        self.eat(&["TABLE"]);
        let tables = self.list(Self::table_with_children)?;
        let mut mode = TableLockMode::AccessExclusive;
        if self.eat(&["IN"]) {
            const MODES: [(&[&str], TableLockMode); 8] = [
                (&["ACCESS", "SHARE"], TableLockMode::AccessShare),
                (&["ROW", "SHARE"], TableLockMode::RowShare),
                (&["ROW", "EXCLUSIVE"], TableLockMode::RowExclusive),
                (&["SHARE", "UPDATE", "EXCLUSIVE"], TableLockMode::ShareUpdateExclusive),
                (&["SHARE", "ROW", "EXCLUSIVE"], TableLockMode::ShareRowExclusive),
                (&["SHARE"], TableLockMode::Share),
                (&["EXCLUSIVE"], TableLockMode::Exclusive),
                (&["ACCESS", "EXCLUSIVE"], TableLockMode::AccessExclusive),
            ];
            let found = MODES.iter().find(|(words, _)| self.words_are(words));
            let Some((words, named)) = found else { return Err(self.unexpected()) };
            self.eat(words);
            mode = *named;
            self.expect(&["MODE"])?;
        }
        let no_wait = self.eat(&["NOWAIT"]);
        Ok(Statement::LockTable(LockTable { tables, mode, no_wait }))
    }
}
