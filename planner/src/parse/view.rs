//! Reads CREATE VIEW, CREATE MATERIALIZED VIEW and REFRESH. The query is kept as text; sqlparser has read it once.

use super::definition::{AlterTable, CreateView, ViewOptionsChange, ViewUpkeep};
use super::grammar::Grammar;
use super::statement::{Identifier, ObjectKind, ObjectName, SqlText, Statement};
use crate::error::PlanError;
use crate::ownership::quote_identifier;
use sqlparser::tokenizer::Token;

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
        let (mut max_lag_ms, mut options) = (None, Vec::new());
        if self.eat(&["WITH"]) {
            match materialized {
                true => max_lag_ms = self.maintained_options()?,
                false => options = self.view_options()?,
            }
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
            options.push(self.check_option(recursive, &options)?);
        }
        let upkeep = ViewUpkeep { with_data, max_lag_ms: max_lag_ms.unwrap_or(0), options };
        Ok(Some(Statement::CreateView(Box::new(CreateView {
            name,
            columns,
            query,
            materialized,
            or_replace,
            if_not_exists,
            temporary,
            upkeep,
        }))))
    }

    /// [LOCAL | CASCADED] CHECK OPTION
    fn check_option(&mut self, recursive: bool, others: &[(String, String)]) -> Result<(String, String), PlanError> {
        let position = self.position();
        let local = self.eat(&["LOCAL"]);
        if !local {
            self.eat(&["CASCADED"]);
        }
        self.expect(&["CHECK", "OPTION"])?;
        if recursive {
            let message = "WITH CHECK OPTION not supported on recursive views";
            return Err(PlanError::new("0A000", message).at(Some(position)));
        }
        if others.iter().any(|(name, _)| name == "check_option") {
            return Err(PlanError::new("42601", "parameter \"check_option\" specified more than once"));
        }
        Ok(("check_option".to_owned(), if local { "local" } else { "cascaded" }.to_owned()))
    }

    /// A view's query; `TABLE t` as the SELECT that it stands for, whose columns can be written out.
    fn view_query(&mut self) -> Result<String, PlanError> {
        if !self.eat(&["TABLE"]) {
            return self.query().map(|(_, text)| text.trim_end().to_owned());
        }
        let name = self.object_name()?;
        let schema = name.schema.map_or_else(String::new, |schema| format!("{}.", quote_identifier(&schema)));
        Ok(format!("SELECT * FROM {schema}{}", quote_identifier(&name.name)))
    }

    /// `(name [= value], …)`
    fn view_options(&mut self) -> Result<Vec<(String, String)>, PlanError> {
        let written = self.parenthesized(|grammar| Ok((grammar.any_word()?, grammar.option_value()?)))?;
        let mut options: Vec<(String, String)> = Vec::with_capacity(written.len());
        for (name, value) in written {
            let value = view_option(&name, value)?;
            if options.iter().any(|(other, _)| *other == name) {
                return Err(PlanError::new("22023", format!("parameter \"{name}\" specified more than once")));
            }
            options.push((name, value));
        }
        Ok(options)
    }

    /// ALTER VIEW … SET (…), RESET (…); none, and no token taken, if it is something else.
    fn alter_view_options(&mut self) -> Result<Option<ViewOptionsChange>, PlanError> {
        if self.parser.peek_nth_token_ref(1).token != Token::LParen {
            return Ok(None);
        }
        let mut change = ViewOptionsChange { set: Vec::new(), reset: Vec::new() };
        if self.eat(&["RESET"]) {
            change.reset = self.parenthesized(Grammar::any_word)?;
        } else if self.eat(&["SET"]) {
            change.set = self.view_options()?;
        } else {
            return Ok(None);
        }
        Ok(Some(change))
    }

    /// What ALTER [MATERIALIZED] VIEW alone does; none, and no token taken, if it is something else.
    pub(super) fn alter_view(
        &mut self,
        materialized: bool,
        if_exists: bool,
        name: &ObjectName,
    ) -> Result<Option<Statement>, PlanError> {
        let name = name.clone();
        if self.word_is(0, "RENAME") && !self.word_is(1, "TO") {
            self.take(1);
            self.eat(&["COLUMN"]);
            let column = self.identifier()?;
            self.expect(&["TO"])?;
            let new_name = self.identifier()?;
            return Ok(Some(Statement::RenameViewColumn { materialized, if_exists, name, column, new_name }));
        }
        if ["ALTER", "ADD", "DROP"].iter().any(|word| self.word_is(0, word)) {
            let kind = if materialized { ObjectKind::MaterializedView } else { ObjectKind::View };
            let actions = self.list(Self::table_action)?;
            return Ok(Some(Statement::AlterTable(Box::new(AlterTable { kind, name, if_exists, actions }))));
        }
        if materialized {
            let max_lag_ms = self.alter_max_lag()?;
            return Ok(max_lag_ms.map(|max_lag_ms| Statement::SetMaxLag { if_exists, name, max_lag_ms }));
        }
        Ok(self.alter_view_options()?.map(|change| Statement::SetViewOptions { if_exists, name, change }))
    }

    /// Of a materialized view: `max_lag`, and PostgreSQL's storage parameters, which have no effect.
    fn maintained_options(&mut self) -> Result<Option<u64>, PlanError> {
        let mut max_lag_ms = None;
        for (name, value, position) in self.parameters()? {
            if name == "max_lag" {
                max_lag_ms = Some(max_lag(value.as_deref()).map_err(|error| error.at(position))?);
            }
        }
        Ok(max_lag_ms)
    }

    /// ALTER MATERIALIZED VIEW … SET (max_lag = …), RESET (max_lag); none, and no token taken, if it is something else.
    fn alter_max_lag(&mut self) -> Result<Option<u64>, PlanError> {
        let is_lag = self.parser.peek_nth_token_ref(1).token == Token::LParen && self.word_is(2, "max_lag");
        if is_lag && self.eat(&["RESET"]) {
            self.parenthesized(Grammar::any_word)?;
            return Ok(Some(0));
        }
        if is_lag && self.eat(&["SET"]) { self.maintained_options() } else { Ok(None) }
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

/// A time as settings have it: milliseconds, unless there is a unit.
fn max_lag(value: Option<&str>) -> Result<u64, PlanError> {
    let invalid = || {
        PlanError::new("22023", format!("invalid value for parameter \"max_lag\": \"{}\"", value.unwrap_or("")))
            .hint("A time: milliseconds, or a number with \"ms\", \"s\", \"min\", \"h\" or \"d\".")
    };
    let text = value.map(str::trim).ok_or_else(invalid)?;
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text[..digits].parse().map_err(|_| invalid())?;
    let unit_ms = match text[digits..].trim_start() {
        "" | "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(invalid()),
    };
    number.checked_mul(unit_ms).filter(|ms| *ms <= MAX_LAG_MS).ok_or_else(invalid)
}

/// A year.
const MAX_LAG_MS: u64 = 366 * 86_400_000;

/// CREATE RECURSIVE VIEW's query as PostgreSQL writes it out.
fn recursion(name: &str, columns: &[Identifier], text: &str) -> String {
    let name = quote_identifier(name);
    let columns: Vec<String> = columns.iter().map(|column| quote_identifier(&column.name)).collect();
    let columns = columns.join(", ");
    format!("WITH RECURSIVE {name} ({columns}) AS ({text}) SELECT {columns} FROM {name}")
}

/// An option's value, if it is one.
fn view_option(name: &str, value: Option<String>) -> Result<String, PlanError> {
    let value = value.unwrap_or_else(|| "true".to_owned());
    let invalid = |kind: &str| PlanError::new("22023", format!("invalid value for {kind} option \"{name}\": {value}"));
    match name {
        "security_barrier" | "security_invoker" => match value.to_ascii_lowercase().as_str() {
            "true" | "false" | "on" | "off" | "yes" | "no" | "1" | "0" | "t" | "f" => Ok(value),
            _ => Err(invalid("boolean")),
        },
        "check_option" => match value.as_str() {
            "local" | "cascaded" => Ok(value),
            _ => Err(invalid("enum").detail("Valid values are \"local\" and \"cascaded\".")),
        },
        _ => Err(PlanError::new("22023", format!("unrecognized parameter \"{name}\""))),
    }
}
