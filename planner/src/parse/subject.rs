//! Reads subject requests and what surrounds queries: GDPR, CTX, EXPLAIN, labels, comments.
//!
//! Every first word here is free for other uses: it counts only at the start of a statement.

use super::definition::RoutineKind;
use super::grammar::{Grammar, RestrictedPrecedence};
use super::request::{ExportFormat, Purge, SubjectReference};
use super::statement::{
    ComplianceFormat, CtxCommand, ExplainFormat, ExplainOptions, LabelledObject, ObjectKind, Rung, Statement,
};
use crate::error::PlanError;
use sqlparser::ast::Expr;
use sqlparser::tokenizer::Token;

impl Grammar<'_, '_> {
    /// GDPR …, CTX …, SUBSCRIBE …, EXPLAIN …, SECURITY LABEL …, COMMENT ON …
    pub(super) fn subject_statement(&mut self) -> Result<Option<Statement>, PlanError> {
        if self.eat(&["GDPR"]) {
            return self.gdpr().map(Some);
        }
        if self.eat(&["CTX"]) {
            let command = match self.eat_one_of(&["START", "COMMIT", "ROLLBACK"]) {
                Some("START") => CtxCommand::Start,
                Some("COMMIT") => CtxCommand::Commit,
                Some(_) => CtxCommand::Rollback,
                None => return Err(self.unexpected()),
            };
            return Ok(Some(Statement::Ctx(command)));
        }
        if self.word_is(0, "SUBSCRIBE") {
            return Ok(Some(Statement::Subscribe(self.subscribe()?)));
        }
        if self.eat(&["EXPLAIN"]) {
            return self.explain().map(Some);
        }
        if self.eat(&["SECURITY", "LABEL"]) {
            return self.security_label().map(Some);
        }
        if self.eat(&["COMMENT", "ON"]) {
            let object = self.labelled_object()?;
            self.expect(&["IS"])?;
            let text = self.string_or_null()?;
            return Ok(Some(Statement::Comment { object, text }));
        }
        Ok(None)
    }

    fn gdpr(&mut self) -> Result<Statement, PlanError> {
        if self.eat(&["PURGE"]) {
            let table = self.object_name()?;
            let basis = if self.eat(&["BASIS"]) { Some(self.identifier()?) } else { None };
            let without_owner = self.eat(&["WITHOUT", "OWNER"]);
            return Ok(Statement::GdprPurge(Purge { table, basis, without_owner }));
        }
        if let Some(statement) = self.governance()? {
            return Ok(statement);
        }
        match self.eat_one_of(&["GET", "FORGET", "EXPORT"]) {
            Some("GET") => {
                let subject = self.subject_reference()?;
                Ok(Statement::GdprGet { subject, audit: self.eat(&["WITH", "AUDIT"]) })
            }
            Some("FORGET") => Ok(Statement::GdprForget(self.forget()?)),
            Some(_) => {
                let subject = self.subject_reference()?;
                let format = if self.eat(&["FORMAT"]) {
                    match self.eat_one_of(&["JSON", "CSV"]) {
                        Some("JSON") => ExportFormat::Json,
                        Some(_) => ExportFormat::Csv,
                        None => return Err(self.unexpected()),
                    }
                } else {
                    ExportFormat::Json
                };
                Ok(Statement::GdprExport { subject, format, audit: self.eat(&["WITH", "AUDIT"]) })
            }
            None => Err(self.unexpected()),
        }
    }

    pub(super) fn subject_reference(&mut self) -> Result<SubjectReference, PlanError> {
        let table = self.object_name()?;
        // An IN behind the key is the statement's.
        let key = match self.run(|parser| parser.parse_subexpr(parser.dialect_precedence_of_in()))? {
            Expr::Tuple(parts) => parts,
            Expr::Nested(inner) => vec![*inner],
            key => vec![key],
        };
        Ok(SubjectReference { table, key })
    }

    fn explain(&mut self) -> Result<Statement, PlanError> {
        let mut written = WrittenExplain::new();
        // `EXPLAIN (SELECT 1)` is a query in parentheses.
        let has_options = self.next_is(&Token::LParen)
            && !["SELECT", "VALUES", "WITH", "TABLE"].iter().any(|word| self.word_is(1, word))
            && self.parser.peek_nth_token_ref(1).token != Token::LParen;
        if has_options {
            let list = self.parenthesized(|grammar| {
                let position = grammar.position();
                let name = grammar.any_word()?;
                Ok((name, grammar.option_value()?, position))
            })?;
            for (name, value, position) in list {
                written.option(&name, value.as_deref(), position)?;
            }
        } else {
            written.options.analyze = self.eat(&["ANALYZE"]) || self.eat(&["ANALYSE"]);
            written.options.verbose = self.eat(&["VERBOSE"]);
        }
        let WrittenExplain { mut options, timing, summary, compliance_format, dot, plans_only } = written;
        if let Some((on, position)) = timing {
            if on && !options.analyze {
                return Err(PlanError::new("22023", "EXPLAIN option TIMING requires ANALYZE").at(Some(position)));
            }
            options.timing = on;
        }
        options.summary = summary.unwrap_or(options.analyze);
        if plans_only.is_some() && (self.word_is(0, "COMPLIANCE") || self.word_is(0, "DATAFLOW")) {
            return Err(PlanError::unsupported("EXPLAIN (FORMAT XML|YAML) of the graph")
                .hint("use FORMAT TEXT, FORMAT JSON or FORMAT DOT")
                .at(plans_only));
        }
        if self.eat(&["COMPLIANCE"]) {
            return Ok(Statement::ExplainCompliance { format: compliance_format });
        }
        if self.eat(&["DATAFLOW"]) {
            return Ok(Statement::ExplainDataflow { format: compliance_format });
        }
        if dot.is_some() {
            return Err(PlanError::new("22023", "unrecognized value for EXPLAIN option \"format\": \"dot\"")
                .hint("FORMAT DOT belongs to EXPLAIN (FORMAT DOT) COMPLIANCE and EXPLAIN (FORMAT DOT) DATAFLOW")
                .at(dot));
        }
        // With options, as for other statements, its operators; without, what it would do to whom it names.
        if !has_options && !options.analyze && !options.verbose && self.words_are(&["GDPR", "FORGET"]) {
            self.eat(&["GDPR", "FORGET"]);
            return Ok(Statement::ExplainGdprForget(self.forget()?));
        }
        let position = self.position();
        let statement = self.statement_within()?;
        match statement {
            Statement::Sql(_)
            | Statement::Execute { .. }
            | Statement::CreateTableAs(_)
            | Statement::GdprGet { .. }
            | Statement::GdprForget(_)
            | Statement::GdprPurge(..)
            | Statement::Subscribe(_) => Ok(Statement::Explain { options, statement: Box::new(statement) }),
            _ => Err(PlanError::new("42601", "syntax error: this statement has no plan to explain").at(Some(position))),
        }
    }

    /// `[=] value` of an option in parentheses, or nothing.
    pub(super) fn option_value(&mut self) -> Result<Option<String>, PlanError> {
        let needed = self.eat_token(&Token::Eq);
        match &self.parser.peek_token_ref().token {
            Token::Word(_) => self.any_word().map(Some),
            Token::Number(..) | Token::Minus | Token::Plus => self.number_text().map(Some),
            Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_) | Token::DollarQuotedString(_) => {
                self.string().map(Some)
            }
            _ if needed => Err(self.unexpected()),
            _ => Ok(None),
        }
    }

    /// A number as it is written, perhaps signed.
    pub(super) fn number_text(&mut self) -> Result<String, PlanError> {
        let sign = if self.eat_token(&Token::Minus) {
            "-"
        } else {
            self.eat_token(&Token::Plus);
            ""
        };
        let Token::Number(digits, _) = &self.parser.peek_token_ref().token else {
            return Err(self.unexpected());
        };
        let text = format!("{sign}{digits}");
        self.parser.advance_token();
        Ok(text)
    }

    fn security_label(&mut self) -> Result<Statement, PlanError> {
        let provider = if self.eat(&["FOR"]) {
            Some(if matches!(self.parser.peek_token_ref().token, Token::Word(_)) {
                self.any_word()?
            } else {
                self.string()?
            })
        } else {
            None
        };
        self.expect(&["ON"])?;
        let object = self.labelled_object()?;
        self.expect(&["IS"])?;
        let position = self.position();
        let label = self.string_or_null()?;
        Ok(Statement::SecurityLabel { provider, object, label, position })
    }

    fn string_or_null(&mut self) -> Result<Option<String>, PlanError> {
        if self.eat(&["NULL"]) { Ok(None) } else { self.string().map(Some) }
    }

    fn labelled_object(&mut self) -> Result<LabelledObject, PlanError> {
        if self.eat(&["COLUMN"]) {
            let (table, column) = self.column_name()?;
            return Ok(LabelledObject::Column(table, column));
        }
        if self.eat(&["CONSTRAINT"]) {
            let name = self.identifier()?;
            self.expect(&["ON"])?;
            if self.eat(&["DOMAIN"]) {
                return Ok(LabelledObject::DomainConstraint(name, self.object_name()?));
            }
            return Ok(LabelledObject::Constraint(name, self.object_name()?));
        }
        if self.eat(&["EXTENSION"]) {
            return Ok(LabelledObject::Extension(self.identifier()?));
        }
        if self.eat(&["DATABASE"]) {
            return Ok(LabelledObject::Database(self.identifier()?.name));
        }
        if self.word_is(0, "ROLE") && !self.word_is(1, "IS") {
            self.take(1);
            return Ok(LabelledObject::Role(self.identifier()?));
        }
        if let Some(kind) = self.object_kind() {
            return Ok(LabelledObject::Object(kind, self.object_name()?));
        }
        const ROUTINES: [(&str, RoutineKind); 3] = [
            ("FUNCTION", RoutineKind::Function),
            ("PROCEDURE", RoutineKind::Procedure),
            ("ROUTINE", RoutineKind::Routine),
        ];
        if let Some((_, kind)) = ROUTINES.into_iter().find(|(word, _)| self.word_is(0, word)) {
            self.take(1);
            return Ok(LabelledObject::Routine(kind, self.routine_name()?));
        }
        if !self.is_operator_class(0) && self.eat(&["OPERATOR"]) {
            return Ok(LabelledObject::Operator(Box::new(self.operator_name()?)));
        }
        // LANGUAGE, TABLESPACE, …: `kind name` up to IS.
        let kind = self.any_word()?;
        while !self.word_is(0, "IS") {
            if self.at_end() {
                return Err(self.unexpected());
            }
            self.parser.advance_token();
        }
        Ok(LabelledObject::Other(kind))
    }

    /// TABLE, VIEW, MATERIALIZED VIEW, INDEX, SEQUENCE, TYPE, DOMAIN or SCHEMA, if it is next.
    pub(super) fn object_kind(&mut self) -> Option<ObjectKind> {
        if self.eat(&["MATERIALIZED", "VIEW"]) {
            return Some(ObjectKind::MaterializedView);
        }
        match self.eat_one_of(&["TABLE", "VIEW", "INDEX", "SEQUENCE", "TYPE", "DOMAIN", "SCHEMA"])? {
            "TABLE" => Some(ObjectKind::Table),
            "VIEW" => Some(ObjectKind::View),
            "INDEX" => Some(ObjectKind::Index),
            "SEQUENCE" => Some(ObjectKind::Sequence),
            "TYPE" => Some(ObjectKind::Type),
            "DOMAIN" => Some(ObjectKind::Domain),
            _ => Some(ObjectKind::Schema),
        }
    }
}

/// PostgreSQL's reading of a boolean option; no value is true.
pub(super) fn boolean(name: &str, value: Option<&str>) -> Result<bool, PlanError> {
    match value.map(str::to_ascii_lowercase).as_deref() {
        None | Some("true" | "on" | "1") => Ok(true),
        Some("false" | "off" | "0") => Ok(false),
        Some(_) => Err(PlanError::new("42601", format!("{name} requires a Boolean value"))),
    }
}

pub(super) fn unknown_option(command: &str, name: &str) -> PlanError {
    PlanError::new("42601", format!("unrecognized {command} option \"{name}\""))
}

/// What is written between EXPLAIN and what it explains.
struct WrittenExplain {
    options: ExplainOptions,
    /// TIMING, and where it stands.
    timing: Option<(bool, u32)>,
    summary: Option<bool>,
    compliance_format: ComplianceFormat,
    /// Where FORMAT DOT stands.
    dot: Option<u32>,
    /// Where FORMAT XML or FORMAT YAML stands.
    plans_only: Option<u32>,
}

impl WrittenExplain {
    fn new() -> Self {
        let options = ExplainOptions {
            rung: Rung::Physical,
            analyze: false,
            verbose: false,
            costs: true,
            timing: true,
            summary: false,
            format: ExplainFormat::Text,
        };
        let compliance_format = ComplianceFormat::Text;
        WrittenExplain { options, timing: None, summary: None, compliance_format, dot: None, plans_only: None }
    }

    /// A form that plans alone are shown in.
    fn document(&mut self, format: ExplainFormat, position: u32) {
        self.options.format = format;
        self.plans_only = Some(position);
    }

    /// One option in parentheses.
    fn option(&mut self, name: &str, value: Option<&str>, position: u32) -> Result<(), PlanError> {
        match name {
            "resolved" => self.options.rung = Rung::Resolved,
            "lowered" => self.options.rung = Rung::Lowered,
            "optimized" => self.options.rung = Rung::Optimized,
            "physical" => self.options.rung = Rung::Physical,
            "analyze" => self.options.analyze = boolean(name, value)?,
            "verbose" => self.options.verbose = boolean(name, value)?,
            "costs" => self.options.costs = boolean(name, value)?,
            // Shown or not, they change nothing in a plan without costs.
            "settings" | "buffers" | "wal" | "generic_plan" => {
                boolean(name, value)?;
            }
            "timing" => self.timing = Some((boolean(name, value)?, position)),
            "summary" => self.summary = Some(boolean(name, value)?),
            "format" => match value.map(str::to_ascii_lowercase).as_deref() {
                Some("text") => {}
                Some("json") => {
                    self.options.format = ExplainFormat::Json;
                    self.compliance_format = ComplianceFormat::Json;
                }
                Some("dot") => {
                    self.compliance_format = ComplianceFormat::Dot;
                    self.dot = Some(position);
                }
                Some("xml") => self.document(ExplainFormat::Xml, position),
                Some("yaml") => self.document(ExplainFormat::Yaml, position),
                other => {
                    return Err(PlanError::new(
                        "22023",
                        format!("unrecognized value for EXPLAIN option \"format\": \"{}\"", other.unwrap_or_default()),
                    )
                    .at(Some(position)));
                }
            },
            _ => return Err(unknown_option("EXPLAIN", name).at(Some(position))),
        }
        Ok(())
    }
}
