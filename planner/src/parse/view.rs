//! Reads CREATE VIEW, CREATE MATERIALIZED VIEW and REFRESH. The query is kept as text; sqlparser has read it once.

use super::definition::CreateView;
use super::grammar::Grammar;
use super::statement::{Identifier, SqlText, Statement};
use crate::error::PlanError;
use crate::ownership::quote_identifier;

impl Grammar<'_, '_> {
    /// CREATE [OR REPLACE] [MATERIALIZED | RECURSIVE] VIEW; `None`, and no token taken, if it is something else.
    pub(super) fn create_view(&mut self) -> Result<Option<Statement>, PlanError> {
        let or_replace = self.words_are(&["CREATE", "OR", "REPLACE"]);
        let mut ahead = if or_replace { 3 } else { 1 };
        let mut temporary = false;
        while ["TEMP", "TEMPORARY", "LOCAL", "GLOBAL"].iter().any(|word| self.word_is(ahead, word)) {
            temporary |= self.word_is(ahead, "TEMP") || self.word_is(ahead, "TEMPORARY");
            ahead += 1;
        }
        let materialized = self.word_is(ahead, "MATERIALIZED");
        let recursive = self.word_is(ahead, "RECURSIVE");
        ahead += usize::from(materialized || recursive);
        if !self.word_is(ahead, "VIEW") {
            return Ok(None);
        }
        self.take(ahead + 1);
        let if_not_exists = materialized && self.eat(&["IF", "NOT", "EXISTS"]);
        let name = self.object_name()?;
        let columns = self.optional_columns()?;
        if recursive && columns.is_empty() {
            return Err(self.unexpected());
        }
        if self.word_is(0, "USING") && materialized {
            self.take(1);
            self.identifier()?;
        }
        if self.eat(&["WITH"]) {
            self.view_options(materialized)?;
        }
        if materialized && self.eat(&["TABLESPACE"]) {
            self.identifier()?;
        }
        self.expect(&["AS"])?;
        let position = self.position();
        let mut query = SqlText { text: self.view_query()?, position };
        if recursive {
            query.text = recursion(&name.name, &columns, &query.text);
        }
        let with_data = !(materialized && self.eat(&["WITH", "NO", "DATA"]));
        if materialized {
            if with_data {
                self.eat(&["WITH", "DATA"]);
            }
        } else if self.eat(&["WITH"]) {
            self.eat_one_of(&["LOCAL", "CASCADED"]);
            self.expect(&["CHECK", "OPTION"])?;
            return Err(check_option());
        }
        let create = CreateView { name, columns, query, materialized, with_data, or_replace, if_not_exists, temporary };
        Ok(Some(Statement::CreateView(Box::new(create))))
    }

    /// A view's query; `TABLE t` as the SELECT that it stands for, whose columns can be written out.
    fn view_query(&mut self) -> Result<String, PlanError> {
        if !self.eat(&["TABLE"]) {
            return self.query().map(|(_, text)| text);
        }
        let name = self.object_name()?;
        let schema = name.schema.map_or_else(String::new, |schema| format!("{}.", quote_identifier(&schema)));
        Ok(format!("SELECT * FROM {schema}{}", quote_identifier(&name.name)))
    }

    /// `(name [= value], …)`: who may look through a view is a question of roles, which there are not.
    fn view_options(&mut self, materialized: bool) -> Result<(), PlanError> {
        if materialized {
            return self.storage_parameters();
        }
        let options = self.parenthesized(|grammar| {
            let position = grammar.position();
            Ok((grammar.any_word()?, grammar.option_value()?, position))
        })?;
        for (name, _, position) in options {
            match name.as_str() {
                "security_barrier" | "security_invoker" => {}
                "check_option" => return Err(check_option().at(Some(position))),
                _ => {
                    return Err(
                        PlanError::new("22023", format!("unrecognized parameter \"{name}\"")).at(Some(position))
                    );
                }
            }
        }
        Ok(())
    }

    /// What follows REFRESH.
    pub(super) fn refresh(&mut self) -> Result<Statement, PlanError> {
        self.expect(&["REFRESH", "MATERIALIZED", "VIEW"])?;
        let concurrently = self.eat(&["CONCURRENTLY"]);
        let name = self.object_name()?;
        let no_data = self.eat(&["WITH", "NO", "DATA"]);
        if !no_data {
            self.eat(&["WITH", "DATA"]);
        }
        if concurrently && no_data {
            return Err(PlanError::new("42601", "CONCURRENTLY and WITH NO DATA options cannot be used together"));
        }
        Ok(Statement::RefreshView { name, with_data: !no_data })
    }
}

/// CREATE RECURSIVE VIEW's query as PostgreSQL writes it out.
fn recursion(name: &str, columns: &[Identifier], text: &str) -> String {
    let name = quote_identifier(name);
    let columns: Vec<String> = columns.iter().map(|column| quote_identifier(&column.name)).collect();
    let columns = columns.join(", ");
    format!("WITH RECURSIVE {name} ({columns}) AS ({text}) SELECT {columns} FROM {name}")
}

fn check_option() -> PlanError {
    PlanError::unsupported("WITH CHECK OPTION").hint("views cannot be written: put a CHECK constraint on the table")
}
