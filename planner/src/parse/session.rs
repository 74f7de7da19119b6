//! Reads session statements: transactions, settings, prepared statements, cursors, COPY's beginning.

use super::definition::StartChange;
use super::grammar::{Grammar, is_reserved};
use super::statement::{DiscardTarget, Statement};
use super::utility::{
    Begin, DeclareCursor, Fetch, FetchDirection, IsolationLevel, Set, SetValue, Show, TransactionModes,
};
use crate::error::PlanError;
use repr::Interval;
use repr::interval::IntervalStyle;
use repr::types::encode_interval_modifier;
use sqlparser::tokenizer::Token;

impl Grammar<'_, '_> {
    /// A statement inside PREPARE, EXPLAIN, COPY or DECLARE.
    pub(super) fn statement_within(&mut self) -> Result<Statement, PlanError> {
        // Statements that hold statements do not nest, which keeps this recursion to one level.
        if ["PREPARE", "EXPLAIN", "COPY", "DECLARE"].iter().any(|word| self.word_is(0, word)) {
            return Err(self.unexpected());
        }
        self.statement()
    }

    /// BEGIN, COMMIT, SET, SHOW, PREPARE, DECLARE, FETCH, COPY, …
    pub(super) fn session_statement(&mut self) -> Result<Option<Statement>, PlanError> {
        if let Some(statement) = self.transaction_statement()? {
            return Ok(Some(statement));
        }
        if self.eat(&["SET"]) {
            return self.set().map(Some);
        }
        if self.eat(&["RESET"]) {
            let name = if self.eat(&["ALL"]) { None } else { Some(self.setting_name()?) };
            return Ok(Some(Statement::Reset(name)));
        }
        if self.eat(&["SHOW"]) {
            let show = if self.eat(&["ALL"]) { Show::All } else { Show::Setting(self.setting_name()?) };
            return Ok(Some(Statement::Show(show)));
        }
        if self.eat(&["DISCARD"]) {
            let target = match self.eat_one_of(&["ALL", "PLANS", "SEQUENCES", "TEMP", "TEMPORARY"]) {
                Some("ALL") => DiscardTarget::All,
                Some("PLANS") => DiscardTarget::Plans,
                Some("SEQUENCES") => DiscardTarget::Sequences,
                Some(_) => DiscardTarget::Temp,
                None => return Err(self.unexpected()),
            };
            return Ok(Some(Statement::Discard(target)));
        }
        if self.eat(&["PREPARE"]) {
            return self.prepare().map(Some);
        }
        if self.eat(&["EXECUTE"]) {
            let name = self.identifier()?.name;
            let arguments = if self.next_is(&Token::LParen) {
                self.parenthesized(|grammar| grammar.run(|parser| parser.parse_expr()))?
            } else {
                Vec::new()
            };
            return Ok(Some(Statement::Execute { name, arguments }));
        }
        if self.eat(&["DEALLOCATE"]) {
            self.eat(&["PREPARE"]);
            let name = if self.eat(&["ALL"]) { None } else { Some(self.identifier()?.name) };
            return Ok(Some(Statement::Deallocate(name)));
        }
        if self.eat(&["DECLARE"]) {
            return self.declare().map(Some);
        }
        if self.word_is(0, "FETCH") || self.word_is(0, "MOVE") {
            let is_move = self.eat_one_of(&["FETCH", "MOVE"]) == Some("MOVE");
            return self.fetch(is_move).map(Some);
        }
        if self.eat(&["CLOSE"]) {
            let name = if self.eat(&["ALL"]) { None } else { Some(self.identifier()?.name) };
            return Ok(Some(Statement::Close(name)));
        }
        if self.eat(&["COPY"]) {
            return self.copy().map(Some);
        }
        if self.eat(&["LISTEN"]) {
            return Ok(Some(Statement::Listen(self.identifier()?.name)));
        }
        if self.eat(&["UNLISTEN"]) {
            let name = if self.eat_token(&Token::Mul) { None } else { Some(self.identifier()?.name) };
            return Ok(Some(Statement::Unlisten(name)));
        }
        if self.eat(&["NOTIFY"]) {
            let channel = self.identifier()?.name;
            let payload = if self.eat_token(&Token::Comma) { self.string()? } else { String::new() };
            return Ok(Some(Statement::Notify { channel, payload }));
        }
        Ok(None)
    }

    fn transaction_statement(&mut self) -> Result<Option<Statement>, PlanError> {
        if self.eat(&["BEGIN"]) {
            self.work_or_transaction();
            return Ok(Some(Statement::Begin(Begin { tag: "BEGIN", modes: self.transaction_modes()? })));
        }
        if self.eat(&["START", "TRANSACTION"]) {
            return Ok(Some(Statement::Begin(Begin { tag: "START TRANSACTION", modes: self.transaction_modes()? })));
        }
        if self.words_are(&["PREPARE", "TRANSACTION"])
            || self.words_are(&["COMMIT", "PREPARED"])
            || self.words_are(&["ROLLBACK", "PREPARED"])
        {
            self.parser.advance_token();
            self.parser.advance_token();
            self.string()?;
            return Ok(Some(Statement::TwoPhaseCommit));
        }
        if self.eat(&["COMMIT"]) || self.eat(&["END"]) {
            self.work_or_transaction();
            return Ok(Some(Statement::Commit { chain: self.chain()? }));
        }
        if self.eat(&["ROLLBACK"]) || self.eat(&["ABORT"]) {
            self.work_or_transaction();
            if self.eat(&["TO"]) {
                self.eat(&["SAVEPOINT"]);
                return Ok(Some(Statement::RollbackToSavepoint(self.identifier()?.name)));
            }
            return Ok(Some(Statement::Rollback { chain: self.chain()? }));
        }
        if self.eat(&["SAVEPOINT"]) {
            return Ok(Some(Statement::Savepoint(self.identifier()?.name)));
        }
        if self.eat(&["RELEASE"]) {
            self.eat(&["SAVEPOINT"]);
            return Ok(Some(Statement::ReleaseSavepoint(self.identifier()?.name)));
        }
        Ok(None)
    }

    fn work_or_transaction(&mut self) {
        self.eat_one_of(&["WORK", "TRANSACTION"]);
    }

    fn chain(&mut self) -> Result<bool, PlanError> {
        if !self.eat(&["AND"]) {
            return Ok(false);
        }
        let no = self.eat(&["NO"]);
        self.expect(&["CHAIN"])?;
        Ok(!no)
    }

    fn transaction_modes(&mut self) -> Result<TransactionModes, PlanError> {
        let mut modes = TransactionModes::default();
        let mut first = true;
        while !self.at_end() {
            if !first {
                self.eat_token(&Token::Comma);
            }
            first = false;
            if self.eat(&["ISOLATION", "LEVEL"]) {
                modes.isolation = Some(if self.eat(&["SERIALIZABLE"]) {
                    IsolationLevel::Serializable
                } else if self.eat(&["REPEATABLE", "READ"]) {
                    IsolationLevel::RepeatableRead
                } else if self.eat(&["READ", "COMMITTED"]) {
                    IsolationLevel::ReadCommitted
                } else if self.eat(&["READ", "UNCOMMITTED"]) {
                    IsolationLevel::ReadUncommitted
                } else {
                    return Err(self.unexpected());
                });
            } else if self.eat(&["READ", "ONLY"]) {
                modes.read_only = Some(true);
            } else if self.eat(&["READ", "WRITE"]) {
                modes.read_only = Some(false);
            } else if self.eat(&["DEFERRABLE"]) {
                modes.deferrable = Some(true);
            } else if self.eat(&["NOT", "DEFERRABLE"]) {
                modes.deferrable = Some(false);
            } else {
                return Err(self.unexpected());
            }
        }
        Ok(modes)
    }

    fn set(&mut self) -> Result<Statement, PlanError> {
        if self.eat(&["TRANSACTION"]) {
            if self.eat(&["SNAPSHOT"]) {
                return Ok(Statement::SetTransactionSnapshot(self.string()?));
            }
            return Ok(Statement::SetTransaction { modes: self.transaction_modes()?, session: false });
        }
        if self.eat(&["SESSION", "CHARACTERISTICS", "AS", "TRANSACTION"]) {
            return Ok(Statement::SetTransaction { modes: self.transaction_modes()?, session: true });
        }
        if self.eat(&["CONSTRAINTS"]) {
            let names = if self.eat(&["ALL"]) { None } else { Some(self.list(Self::object_name)?) };
            let deferred = match self.eat_one_of(&["DEFERRED", "IMMEDIATE"]) {
                Some(word) => word == "DEFERRED",
                None => return Err(self.unexpected()),
            };
            return Ok(Statement::SetConstraints { names, deferred });
        }
        let local = self.eat(&["LOCAL"]);
        if local && self.eat(&["TRANSACTION", "SNAPSHOT"]) {
            return Err(PlanError::new("0A000", "SET LOCAL TRANSACTION SNAPSHOT is not implemented"));
        }
        if !local && self.word_is(0, "SESSION") && !self.word_is(1, "AUTHORIZATION") {
            self.eat(&["SESSION"]);
        }
        if self.eat(&["TIME", "ZONE"]) {
            let value = self.zone_value()?;
            return Ok(Statement::Set(Set {
                local,
                name: "timezone".to_string(),
                values: value.map(|value| vec![value]),
            }));
        }
        if self.eat(&["NAMES"]) {
            let values = if self.at_end() || self.eat(&["DEFAULT"]) { None } else { Some(vec![self.text_value()?]) };
            return Ok(Statement::Set(Set { local, name: "client_encoding".to_string(), values }));
        }
        if self.eat(&["SCHEMA"]) {
            let values = Some(vec![self.text_value()?]);
            return Ok(Statement::Set(Set { local, name: "search_path".to_string(), values }));
        }
        if self.word_is(0, "CATALOG") && !self.is_assigned(1) {
            let position = self.position();
            self.eat(&["CATALOG"]);
            self.string()?;
            return Err(PlanError::new("0A000", "current database cannot be changed").at(Some(position)));
        }
        if self.eat(&["XML", "OPTION"]) {
            let values = match self.eat_one_of(&["DOCUMENT", "CONTENT"]) {
                Some(word) => Some(vec![SetValue::Text(word.to_lowercase())]),
                None => return Err(self.unexpected()),
            };
            return Ok(Statement::Set(Set { local, name: "xmloption".to_string(), values }));
        }
        if self.word_is(0, "ROLE") && !self.is_assigned(1) {
            self.eat(&["ROLE"]);
            let values = Some(vec![self.word_value()?]);
            return Ok(Statement::Set(Set { local, name: "role".to_string(), values }));
        }
        if self.eat(&["SESSION", "AUTHORIZATION"]) {
            let values = if self.eat(&["DEFAULT"]) { None } else { Some(vec![self.word_value()?]) };
            return Ok(Statement::Set(Set { local, name: "session_authorization".to_string(), values }));
        }
        let name = self.setting_name()?;
        let values = self.setting_values()?;
        Ok(Statement::Set(Set { local, name, values }))
    }

    /// What a setting is set to; none for DEFAULT.
    pub(super) fn setting_values(&mut self) -> Result<Option<Vec<SetValue>>, PlanError> {
        if !self.eat(&["TO"]) && !self.eat_token(&Token::Eq) {
            return Err(self.unexpected());
        }
        if self.eat(&["DEFAULT"]) { Ok(None) } else { self.list(Self::setting_value).map(Some) }
    }

    /// Behind SET of ALTER DATABASE and ALTER ROLE.
    pub(super) fn assigned_setting(&mut self) -> Result<StartChange, PlanError> {
        let is_zone = self.word_is(0, "TIME") && self.word_is(1, "ZONE");
        let name = self.setting_name()?;
        if self.eat(&["FROM", "CURRENT"]) {
            return Ok(StartChange::FromCurrent(name));
        }
        let values = match is_zone && !self.is_assigned(0) {
            true => self.zone_value()?.map(|value| vec![value]),
            false => self.setting_values()?,
        };
        Ok(match values {
            Some(values) => StartChange::Set(name, values),
            None => StartChange::Reset(name),
        })
    }

    /// Whether the word at this place is what a value is assigned with.
    fn is_assigned(&mut self, place: usize) -> bool {
        self.word_is(place, "TO") || self.parser.peek_nth_token_ref(place).token == Token::Eq
    }

    /// What stands behind SET TIME ZONE; none for LOCAL and DEFAULT.
    fn zone_value(&mut self) -> Result<Option<SetValue>, PlanError> {
        if self.eat(&["LOCAL"]) || self.eat(&["DEFAULT"]) {
            return Ok(None);
        }
        if !self.eat(&["INTERVAL"]) {
            let is_number =
                matches!(self.parser.peek_token_ref().token, Token::Number(..) | Token::Minus | Token::Plus);
            return if is_number { self.setting_value() } else { self.word_value() }.map(Some);
        }
        let precision = if self.next_is(&Token::LParen) { self.parenthesized(Self::integer)?.pop() } else { None };
        let (text, position) = (self.string()?, self.position());
        let fields = if self.eat(&["HOUR", "TO", "MINUTE"]) {
            "hour to minute"
        } else if self.word_is(0, "HOUR") && !self.word_is(1, "TO") {
            self.eat(&["HOUR"]);
            "hour"
        } else if ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"].iter().any(|word| self.word_is(0, word)) {
            let message = "time zone interval must be HOUR or HOUR TO MINUTE";
            return Err(PlanError::new("42601", message).at(Some(position)));
        } else {
            ""
        };
        let precision = precision.map(|precision| i32::try_from(precision).unwrap_or(i32::MAX));
        let modifier = encode_interval_modifier(fields, precision).map_err(|_| self.unexpected())?;
        let interval = Interval::parse(&text, modifier, IntervalStyle::default())?;
        Ok(Some(SetValue::Text(format!("INTERVAL '{interval}'"))))
    }

    /// A setting's name, with PostgreSQL's several-word forms.
    pub(super) fn setting_name(&mut self) -> Result<String, PlanError> {
        if self.eat(&["TIME", "ZONE"]) {
            return Ok("timezone".to_string());
        }
        if self.eat(&["TRANSACTION", "ISOLATION", "LEVEL"]) {
            return Ok("transaction_isolation".to_string());
        }
        if self.eat(&["SESSION", "AUTHORIZATION"]) {
            return Ok("session_authorization".to_string());
        }
        let mut name = self.setting_name_part()?;
        while self.eat_token(&Token::Period) {
            name.push('.');
            name.push_str(&self.setting_name_part()?);
        }
        Ok(name)
    }

    fn setting_name_part(&mut self) -> Result<String, PlanError> {
        match &self.parser.peek_token_ref().token {
            Token::Word(word) if word.quote_style.is_none() && is_reserved(&word.value) => Err(self.unexpected()),
            _ => self.any_word(),
        }
    }

    /// A string, a word that is not reserved, a Boolean, or a number.
    fn setting_value(&mut self) -> Result<SetValue, PlanError> {
        match &self.parser.peek_token_ref().token {
            Token::Number(..) | Token::Minus | Token::Plus => self.number_text().map(SetValue::Number),
            Token::Word(word)
                if word.quote_style.is_none()
                    && ["true", "false", "on"].iter().any(|boolean| word.value.eq_ignore_ascii_case(boolean)) =>
            {
                self.any_word().map(SetValue::Text)
            }
            _ => self.word_value(),
        }
    }

    /// A string, or a word that is not reserved.
    fn word_value(&mut self) -> Result<SetValue, PlanError> {
        match &self.parser.peek_token_ref().token {
            Token::Word(word) if word.quote_style.is_none() && is_reserved(&word.value) => Err(self.unexpected()),
            Token::Word(_) => self.any_word().map(SetValue::Text),
            _ => self.text_value(),
        }
    }

    /// A string.
    fn text_value(&mut self) -> Result<SetValue, PlanError> {
        self.string().map(SetValue::Text)
    }

    fn prepare(&mut self) -> Result<Statement, PlanError> {
        let name = self.identifier()?.name;
        let types = if self.next_is(&Token::LParen) { self.parenthesized(Self::type_name)? } else { Vec::new() };
        self.expect(&["AS"])?;
        let position = self.position();
        let is_creation = self.word_is(0, "CREATE");
        let (statement, text) = self.statement_with_text()?;
        match statement {
            // SELECT … INTO is a query to the grammar.
            Statement::CreateTableAs(_) if !is_creation => {
                Ok(Statement::Prepare { name, types, statement: Box::new(statement), text })
            }
            Statement::Sql(_) => Ok(Statement::Prepare { name, types, statement: Box::new(statement), text }),
            _ => Err(PlanError::new("42601", "only SELECT, VALUES, INSERT, UPDATE and DELETE can be prepared")
                .at(Some(position))),
        }
    }

    /// A statement and its text.
    pub(super) fn statement_with_text(&mut self) -> Result<(Statement, String), PlanError> {
        let start = self.parser.peek_token_ref().span.start;
        let statement = self.statement_within()?;
        let end = self.parser.get_current_token().span.end;
        Ok((statement, self.lines.slice(start, end).to_string()))
    }

    /// DECLARE name [BINARY] [INSENSITIVE] [[NO] SCROLL] CURSOR [WITH|WITHOUT HOLD] FOR query
    fn declare(&mut self) -> Result<Statement, PlanError> {
        let name = self.identifier()?.name;
        let (mut binary, mut scroll) = (false, None);
        while !self.eat(&["CURSOR"]) {
            if self.eat(&["BINARY"]) {
                binary = true;
            } else if self.eat(&["NO", "SCROLL"]) {
                scroll = Some(false);
            } else if self.eat(&["SCROLL"]) {
                scroll = Some(true);
            } else if self.eat_one_of(&["INSENSITIVE", "ASENSITIVE"]).is_none() {
                return Err(self.unexpected());
            }
        }
        let hold = if self.eat(&["WITH"]) {
            self.expect(&["HOLD"])?;
            true
        } else {
            if self.eat(&["WITHOUT"]) {
                self.expect(&["HOLD"])?;
            }
            false
        };
        self.expect(&["FOR"])?;
        let position = self.position();
        let (statement, text) = self.statement_with_text()?;
        match &statement {
            Statement::Sql(sql) if matches!(**sql, sqlparser::ast::Statement::Query(_)) => {}
            Statement::Subscribe(_) | Statement::GdprGet { .. } => {}
            _ => return Err(PlanError::new("42601", "a cursor needs a query").at(Some(position))),
        }
        Ok(Statement::DeclareCursor(Box::new(DeclareCursor {
            name,
            binary,
            scroll,
            hold,
            statement: Box::new(statement),
            text,
        })))
    }

    /// [direction] [FROM|IN] cursor [WITH (timeout = '…')]
    fn fetch(&mut self, is_move: bool) -> Result<Statement, PlanError> {
        let direction = self.fetch_direction()?;
        if self.eat_one_of(&["FROM", "IN"]).is_none() && self.at_end() {
            return Err(self.unexpected());
        }
        let cursor = self.identifier()?.name;
        let mut timeout = None;
        if self.eat(&["WITH"]) {
            let options = self.parenthesized(|grammar| {
                let position = grammar.position();
                Ok((grammar.any_word()?, grammar.option_value()?, position))
            })?;
            for (name, value, position) in options {
                match (name.as_str(), value) {
                    ("timeout", Some(value)) => timeout = Some(value),
                    _ => return Err(super::subject::unknown_option("FETCH", &name).at(Some(position))),
                }
            }
        }
        Ok(Statement::Fetch(Fetch { cursor, direction, is_move, timeout }))
    }

    fn fetch_direction(&mut self) -> Result<FetchDirection, PlanError> {
        // A direction's word alone at the end is a cursor's name: `FETCH next`.
        let is_last = matches!(self.parser.peek_nth_token_ref(1).token, Token::EOF);
        if is_last {
            return Ok(FetchDirection::Forward(1));
        }
        if matches!(self.parser.peek_token_ref().token, Token::Number(..) | Token::Minus | Token::Plus) {
            return Ok(FetchDirection::Forward(self.integer()?));
        }
        let words = ["NEXT", "PRIOR", "FIRST", "LAST", "ABSOLUTE", "RELATIVE", "ALL", "FORWARD", "BACKWARD"];
        Ok(match self.eat_one_of(&words) {
            Some("NEXT") | None => FetchDirection::Forward(1),
            Some("PRIOR") => FetchDirection::Forward(-1),
            Some("FIRST") => FetchDirection::Absolute(1),
            Some("LAST") => FetchDirection::Absolute(-1),
            Some("ABSOLUTE") => FetchDirection::Absolute(self.integer()?),
            Some("RELATIVE") => FetchDirection::Relative(self.integer()?),
            Some("ALL") => FetchDirection::ForwardAll,
            Some(word) => {
                let forward = word == "FORWARD";
                if self.eat(&["ALL"]) {
                    if forward { FetchDirection::ForwardAll } else { FetchDirection::BackwardAll }
                } else {
                    let number =
                        matches!(self.parser.peek_token_ref().token, Token::Number(..) | Token::Minus | Token::Plus);
                    let count = if number { self.integer()? } else { 1 };
                    FetchDirection::Forward(if forward { count } else { count.saturating_neg() })
                }
            }
        })
    }
}
