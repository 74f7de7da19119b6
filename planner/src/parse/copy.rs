//! Reads COPY: its old and new option spellings, queries and subscriptions as its source.

use super::grammar::Grammar;
use super::statement::Statement;
use super::subject::boolean;
use super::utility::{Copy, CopyDirection, CopyHeader, CopyLayout, CopyOptions, CopySource};
use crate::error::PlanError;
use sqlparser::tokenizer::Token;

impl Grammar<'_, '_> {
    /// What follows COPY.
    pub(super) fn copy(&mut self) -> Result<Statement, PlanError> {
        let mut options = CopyOptions {
            format: CopyLayout::Text,
            delimiter: None,
            null: None,
            header: CopyHeader::Absent,
            quote: None,
            escape: None,
            force_quote: None,
            force_not_null: Vec::new(),
            force_null: Vec::new(),
            encoding: None,
            default: None,
            condition: None,
        };
        let mut given = Given::default();
        if self.eat(&["BINARY"]) {
            options.format = CopyLayout::Binary;
            given.once("format", self.position())?;
        }
        let source = self.copy_source()?;
        let position = self.position();
        let from = match self.eat_one_of(&["FROM", "TO"]) {
            Some(word) => word == "FROM",
            None => return Err(self.unexpected()),
        };
        if from && matches!(source, CopySource::Statement(..)) {
            return Err(PlanError::new("42601", "syntax error at or near \"FROM\"").at(Some(position)));
        }
        let direction = self.copy_direction(from)?;
        if self.words_are(&["DELIMITERS"]) || self.words_are(&["USING", "DELIMITERS"]) {
            given.once("delimiter", self.position())?;
        }
        if self.eat(&["DELIMITERS"]) || self.words_are(&["USING", "DELIMITERS"]) {
            self.eat(&["USING", "DELIMITERS"]);
            options.delimiter = Some(self.string()?);
        }
        self.eat(&["WITH"]);
        if self.next_is(&Token::LParen) {
            self.copy_option_list(&mut options, given)?;
        } else {
            self.copy_legacy_options(&mut options, given)?;
        }
        let position = self.position();
        if self.eat(&["WHERE"]) {
            if !from {
                return Err(PlanError::new("42601", "WHERE clause not allowed with COPY TO").at(Some(position)));
            }
            options.condition = Some(self.run(|parser| parser.parse_expr())?);
        }
        Ok(Statement::Copy(Box::new(Copy { source, direction, options })))
    }

    /// A table with its columns, or a statement in parentheses.
    fn copy_source(&mut self) -> Result<CopySource, PlanError> {
        Ok(if self.next_is(&Token::LParen) {
            self.expect_token(&Token::LParen)?;
            let position = self.position();
            let (statement, text) = self.statement_with_text()?;
            self.expect_token(&Token::RParen)?;
            match statement {
                Statement::Sql(_)
                | Statement::Subscribe(_)
                | Statement::GdprGet { .. }
                | Statement::GdprExport { .. } => CopySource::Statement(Box::new(statement), text),
                _ => {
                    return Err(
                        PlanError::new("42601", "this statement cannot be the source of COPY").at(Some(position))
                    );
                }
            }
        } else {
            let table = self.object_name()?;
            CopySource::Table(table, self.optional_columns()?)
        })
    }

    /// Who sends or takes the rows.
    fn copy_direction(&mut self, from: bool) -> Result<CopyDirection, PlanError> {
        Ok(if self.eat(&["PROGRAM"]) {
            self.string()?;
            CopyDirection::Server("COPY with a program".to_string())
        } else if matches!(self.parser.peek_token_ref().token, Token::Word(_)) {
            // As in PostgreSQL, STDIN and STDOUT mean the client whichever way rows go.
            if self.eat_one_of(&["STDIN", "STDOUT"]).is_none() {
                return Err(self.unexpected());
            }
            if from { CopyDirection::FromStdin } else { CopyDirection::ToStdout }
        } else {
            self.string()?;
            CopyDirection::Server("COPY with a file on the server".to_string())
        })
    }

    fn copy_option_list(&mut self, options: &mut CopyOptions, mut given: Given) -> Result<(), PlanError> {
        self.expect_token(&Token::LParen)?;
        loop {
            let position = self.position();
            let name = self.any_word()?;
            given.once(&name, position)?;
            match name.as_str() {
                "format" => {
                    options.format = match self.option_value()?.as_deref() {
                        Some("text") => CopyLayout::Text,
                        Some("csv") => CopyLayout::Csv,
                        Some("binary") => CopyLayout::Binary,
                        other => {
                            return Err(PlanError::new(
                                "22023",
                                format!("COPY format \"{}\" not recognized", other.unwrap_or_default()),
                            )
                            .at(Some(position)));
                        }
                    }
                }
                "freeze" => {
                    boolean(&name, self.option_value()?.as_deref())?;
                }
                "delimiter" => options.delimiter = Some(self.string()?),
                "null" => options.null = Some(self.string()?),
                "default" => options.default = Some(self.string()?),
                "header" => {
                    options.header = header(self.option_value()?.as_deref())?;
                }
                "quote" => options.quote = Some(self.string()?),
                "escape" => options.escape = Some(self.string()?),
                "encoding" => options.encoding = Some(self.string()?),
                "force_quote" => {
                    options.force_quote =
                        Some(if self.eat_token(&Token::Mul) { Vec::new() } else { self.column_names()? });
                }
                "force_not_null" | "force_null" if self.next_is(&Token::Mul) => {
                    let message = format!("argument to option \"{name}\" must be a list of column names");
                    return Err(PlanError::new("22023", message).at(Some(position)));
                }
                "force_not_null" => options.force_not_null = self.column_names()?,
                "force_null" => options.force_null = self.column_names()?,
                _ => {
                    let message = format!("option \"{name}\" not recognized");
                    return Err(PlanError::new("42601", message).at(Some(position)));
                }
            }
            if !self.eat_token(&Token::Comma) {
                break;
            }
        }
        self.expect_token(&Token::RParen)
    }

    fn copy_legacy_options(&mut self, options: &mut CopyOptions, mut given: Given) -> Result<(), PlanError> {
        const OPTIONS: [(&[&str], &str); 11] = [
            (&["BINARY"], "format"),
            (&["CSV"], "format"),
            (&["HEADER"], "header"),
            (&["FREEZE"], "freeze"),
            (&["DELIMITER"], "delimiter"),
            (&["NULL"], "null"),
            (&["QUOTE"], "quote"),
            (&["ESCAPE"], "escape"),
            (&["ENCODING"], "encoding"),
            (&["FORCE", "QUOTE"], "force_quote"),
            (&["FORCE", "NULL"], "force_null"),
        ];
        loop {
            if let Some((_, name)) = OPTIONS.iter().find(|(words, _)| self.words_are(words)) {
                given.once(name, self.position())?;
            }
            if self.eat(&["BINARY"]) {
                options.format = CopyLayout::Binary;
            } else if self.eat(&["CSV"]) {
                options.format = CopyLayout::Csv;
            } else if self.eat(&["HEADER"]) {
                options.header = CopyHeader::Present;
            } else if self.eat(&["FREEZE"]) {
                // Advice about visibility that has no meaning here.
            } else if self.eat(&["DELIMITER"]) {
                self.eat(&["AS"]);
                options.delimiter = Some(self.string()?);
            } else if self.eat(&["NULL"]) {
                self.eat(&["AS"]);
                options.null = Some(self.string()?);
            } else if self.eat(&["QUOTE"]) {
                self.eat(&["AS"]);
                options.quote = Some(self.string()?);
            } else if self.eat(&["ESCAPE"]) {
                self.eat(&["AS"]);
                options.escape = Some(self.string()?);
            } else if self.eat(&["ENCODING"]) {
                options.encoding = Some(self.string()?);
            } else if self.eat(&["FORCE", "QUOTE"]) {
                options.force_quote = Some(if self.eat_token(&Token::Mul) {
                    Vec::new()
                } else {
                    self.list(|grammar| Ok(grammar.identifier()?.name))?
                });
            } else if self.words_are(&["FORCE", "NOT", "NULL"]) {
                given.once("force_not_null", self.position())?;
                self.eat(&["FORCE", "NOT", "NULL"]);
                options.force_not_null = self.list(|grammar| Ok(grammar.identifier()?.name))?;
            } else if self.eat(&["FORCE", "NULL"]) {
                options.force_null = self.list(|grammar| Ok(grammar.identifier()?.name))?;
            } else {
                return Ok(());
            }
        }
    }

    fn column_names(&mut self) -> Result<Vec<String>, PlanError> {
        Ok(self.columns()?.into_iter().map(|column| column.name).collect())
    }
}

/// The options that were given so far.
#[derive(Default)]
struct Given {
    names: Vec<String>,
}

impl Given {
    /// Notes an option at a place; 42601 if it was given before.
    fn once(&mut self, name: &str, position: u32) -> Result<(), PlanError> {
        if self.names.iter().any(|given| given == name) {
            return Err(PlanError::new("42601", "conflicting or redundant options").at(Some(position)));
        }
        self.names.push(name.to_string());
        Ok(())
    }
}

fn header(value: Option<&str>) -> Result<CopyHeader, PlanError> {
    if value.is_some_and(|value| value.eq_ignore_ascii_case("match")) {
        return Ok(CopyHeader::Match);
    }
    match boolean("header", value) {
        Ok(true) => Ok(CopyHeader::Present),
        Ok(false) => Ok(CopyHeader::Absent),
        Err(_) => Err(PlanError::new("42601", "header requires a Boolean value or \"match\"")),
    }
}
