//! Statements by their first words: those that decide what comes next, and what they are made of.

use super::lexer::WordKind;
use super::source::BodyReader;
use super::{BodyStep, Branch, Diagnostic, Direction, Expression, Loop, Opened, QuerySource, Steps};
use crate::error::PlanError;
use crate::parse::utility::FetchDirection;

impl BodyReader<'_> {
    pub(super) fn statement(&mut self) -> Result<BodyStep, PlanError> {
        let label = self.label()?;
        if self.is_word(0, "declare") || self.is_word(0, "begin") {
            let block = self.block(label)?;
            self.expect(";")?;
            return Ok(BodyStep::Block(Box::new(block)));
        }
        if let Some(found) = self.loop_statement(label.clone())? {
            return Ok(found);
        }
        if label.is_some() {
            return Err(self.unexpected());
        }
        if self.is_assignment() {
            let target = self.target()?;
            self.take(1);
            return Ok(BodyStep::Assign(target, self.to_semicolon()?));
        }
        match self.kind(0) {
            Some(WordKind::Word(word)) => {
                let word = word.clone();
                self.by_word(&word)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Whether a name is next, with fields and subscripts, and `:=` or `=` behind it.
    fn is_assignment(&self) -> bool {
        let is_name = |place: usize| matches!(self.kind(place), Some(WordKind::Word(_) | WordKind::Quoted(_)));
        let is_positional = matches!(self.kind(0), Some(WordKind::Number));
        if !is_name(0) && !is_positional {
            return false;
        }
        let mut place = 1;
        loop {
            if self.is_symbol(place, ".") && is_name(place + 1) {
                place += 2;
            } else if self.is_symbol(place, "[") {
                let mut depth = 0_usize;
                loop {
                    match self.kind(place) {
                        Some(WordKind::Symbol("[")) => depth += 1,
                        Some(WordKind::Symbol("]")) => depth -= 1,
                        Some(WordKind::Symbol(";")) | None => return false,
                        Some(_) => {}
                    }
                    place += 1;
                    if depth == 0 {
                        break;
                    }
                }
            } else {
                return self.is_symbol(place, ":=") || self.is_symbol(place, "=");
            }
        }
    }

    fn by_word(&mut self, word: &str) -> Result<BodyStep, PlanError> {
        match word {
            "if" => self.if_statement(),
            "case" => self.case_statement(),
            "exit" | "continue" => self.exit(word == "continue"),
            "return" => self.return_statement(),
            "raise" => {
                let line = self.line();
                self.take(1);
                self.raise(line).map(BodyStep::Raise)
            }
            "assert" => self.assert(),
            "perform" => self.perform(),
            "execute" => self.execute(),
            "get" => self.diagnostics(),
            "open" => self.open(),
            "fetch" | "move" => self.fetch(word == "move"),
            "close" => {
                self.take(1);
                let name = self.name()?;
                self.expect(";")?;
                Ok(BodyStep::Close(name))
            }
            "null" => {
                self.take(1);
                self.expect(";")?;
                Ok(BodyStep::Null)
            }
            "commit" | "rollback" => self.end_transaction(word == "commit"),
            "call" => {
                let text = self.statement_text()?;
                let expression = self.numbered(text);
                Ok(BodyStep::Call(expression))
            }
            "elsif" | "elseif" | "else" | "end" | "when" | "then" | "loop" | "exception" => Err(self.unexpected()),
            _ => self.sql_statement(),
        }
    }

    /// 0A000 when it runs; it may never.
    fn end_transaction(&mut self, commits: bool) -> Result<BodyStep, PlanError> {
        self.take(1);
        self.words(&["and", "no", "chain"]);
        self.words(&["and", "chain"]);
        self.expect(";")?;
        Ok(BodyStep::EndTransaction(if commits { "COMMIT" } else { "ROLLBACK" }))
    }

    fn if_statement(&mut self) -> Result<BodyStep, PlanError> {
        self.take(1);
        let is_then = |reader: &Self, place: usize| reader.is_word(place, "then");
        let mut branches: Vec<Branch> = Vec::new();
        loop {
            let condition = self.expression(is_then)?;
            self.expect_words(&["then"])?;
            branches.push((vec![condition], self.statements(&["elsif", "elseif", "else", "end"])?));
            if !self.words(&["elsif"]) && !self.words(&["elseif"]) {
                break;
            }
        }
        let otherwise = if self.words(&["else"]) { self.statements(&["end"])? } else { Vec::new() };
        self.expect_words(&["end", "if"])?;
        self.expect(";")?;
        Ok(BodyStep::If(branches, otherwise))
    }

    fn case_statement(&mut self) -> Result<BodyStep, PlanError> {
        self.take(1);
        let is_when = |reader: &Self, place: usize| reader.is_word(place, "when");
        let operand = if self.is_word(0, "when") { None } else { Some(self.expression(is_when)?) };
        let mut branches: Vec<Branch> = Vec::new();
        while self.words(&["when"]) {
            let mut conditions = Vec::new();
            loop {
                let several = operand.is_some();
                conditions.push(self.expression(|reader, place| {
                    reader.is_word(place, "then") || several && reader.is_symbol(place, ",")
                })?);
                if !self.symbol(",") {
                    break;
                }
            }
            self.expect_words(&["then"])?;
            branches.push((conditions, self.statements(&["when", "else", "end"])?));
        }
        if branches.is_empty() {
            return Err(self.unexpected());
        }
        let otherwise = if self.words(&["else"]) { Some(self.statements(&["end"])?) } else { None };
        self.expect_words(&["end", "case"])?;
        self.expect(";")?;
        Ok(BodyStep::Case { operand, branches, otherwise })
    }

    /// `LOOP statements END LOOP [label];`
    fn loop_body(&mut self, label: Option<String>) -> Result<Loop, PlanError> {
        self.expect_words(&["loop"])?;
        let statements = self.statements(&["end"])?;
        self.expect_words(&["end", "loop"])?;
        self.end_label(label.as_deref())?;
        self.expect(";")?;
        Ok(Loop { label, statements })
    }

    fn loop_statement(&mut self, label: Option<String>) -> Result<Option<BodyStep>, PlanError> {
        let is_loop = |reader: &Self, place: usize| reader.is_word(place, "loop");
        if self.is_word(0, "loop") {
            return self.loop_body(label).map(BodyStep::Loop).map(Some);
        }
        if self.words(&["while"]) {
            let condition = self.expression(is_loop)?;
            return Ok(Some(BodyStep::While(condition, self.loop_body(label)?)));
        }
        if self.words(&["foreach"]) {
            let targets = self.targets()?;
            let mut slice = 0;
            if self.words(&["slice"]) {
                slice = self.text_to(1)?.parse().map_err(|_| self.unexpected())?;
            }
            self.expect_words(&["in", "array"])?;
            let array = self.expression(is_loop)?;
            return Ok(Some(BodyStep::ForEach(targets, slice, array, self.loop_body(label)?)));
        }
        if self.words(&["for"]) {
            return self.for_loop(label).map(Some);
        }
        Ok(None)
    }

    fn for_loop(&mut self, label: Option<String>) -> Result<BodyStep, PlanError> {
        let is_loop = |reader: &Self, place: usize| reader.is_word(place, "loop");
        let targets = self.targets()?;
        self.expect_words(&["in"])?;
        if self.words(&["execute"]) {
            let source = self.dynamic(is_loop)?;
            return Ok(BodyStep::ForRows(targets, source, self.loop_body(label)?));
        }
        let reverse = self.words(&["reverse"]);
        let end = self.end_of(is_loop)?;
        let dots = self.end_of(|reader, place| place >= end || reader.is_symbol(place, ".."))?;
        if dots < end {
            let [variable] = <[super::Target; 1]>::try_from(targets)
                .map_err(|_| PlanError::new("42601", "integer FOR loop must have only one target variable"))?;
            let from = self.expression(|reader, place| reader.is_symbol(place, ".."))?;
            self.expect("..")?;
            let to = self.expression(|reader, place| reader.is_word(place, "by") || reader.is_word(place, "loop"))?;
            let by = if self.words(&["by"]) { Some(self.expression(is_loop)?) } else { None };
            let steps = Steps { from, to, by, reverse };
            let name = variable.path.into_iter().next().unwrap_or_default();
            return Ok(BodyStep::ForIntegers(name, steps, self.loop_body(label)?));
        }
        if reverse {
            return Err(PlanError::new("42601", "cannot specify REVERSE in query FOR loop"));
        }
        // A cursor's name alone, or with arguments.
        if self.is_cursor_call(end) {
            let name = self.name()?;
            let arguments = if self.is_symbol(0, "(") { self.arguments()? } else { Vec::new() };
            let row = targets.into_iter().next().and_then(|target| target.path.into_iter().next()).unwrap_or_default();
            return Ok(BodyStep::ForCursor(row, (name, arguments), self.loop_body(label)?));
        }
        let text = self.text_to(end)?.to_owned();
        crate::parse::check_query(&text)?;
        let query = self.numbered(text);
        Ok(BodyStep::ForRows(targets, QuerySource::Static(query), self.loop_body(label)?))
    }

    fn is_cursor_call(&self, end: usize) -> bool {
        let is_name = matches!(self.kind(0), Some(WordKind::Word(_) | WordKind::Quoted(_)));
        let is_query = ["select", "with", "values", "insert", "update", "delete", "table", "show", "explain", "fetch"];
        let is_query = is_query.iter().any(|word| self.is_word(0, word));
        is_name && !is_query && (end == 1 || self.is_symbol(1, "(") && self.is_symbol(end - 1, ")"))
    }

    fn exit(&mut self, continues: bool) -> Result<BodyStep, PlanError> {
        self.take(1);
        let has_label = !self.is_symbol(0, ";") && !self.is_word(0, "when");
        let label = if has_label { Some(self.name()?) } else { None };
        let condition = if self.words(&["when"]) {
            Some(self.to_semicolon()?)
        } else {
            self.expect(";")?;
            None
        };
        Ok(BodyStep::Exit { continues, label, condition })
    }

    fn return_statement(&mut self) -> Result<BodyStep, PlanError> {
        self.take(1);
        if self.words(&["next"]) {
            if self.symbol(";") {
                return Ok(BodyStep::ReturnNext(None));
            }
            return self.to_semicolon().map(|value| BodyStep::ReturnNext(Some(value)));
        }
        if self.words(&["query"]) {
            if self.words(&["execute"]) {
                let source = self.dynamic(|reader, place| reader.is_symbol(place, ";"))?;
                self.expect(";")?;
                return Ok(BodyStep::ReturnQuery(source));
            }
            return self.query_to_semicolon().map(|query| BodyStep::ReturnQuery(QuerySource::Static(query)));
        }
        if self.symbol(";") {
            return Ok(BodyStep::Return(None));
        }
        self.to_semicolon().map(|value| BodyStep::Return(Some(value)))
    }

    fn assert(&mut self) -> Result<BodyStep, PlanError> {
        self.take(1);
        let ends = |reader: &Self, place: usize| reader.is_symbol(place, ",") || reader.is_symbol(place, ";");
        let condition = self.expression(ends)?;
        let message = if self.symbol(",") { Some(self.expression(ends)?) } else { None };
        self.expect(";")?;
        Ok(BodyStep::Assert(condition, message))
    }

    fn diagnostics(&mut self) -> Result<BodyStep, PlanError> {
        self.take(1);
        let stacked = self.words(&["stacked"]);
        if !stacked {
            self.words(&["current"]);
        }
        self.expect_words(&["diagnostics"])?;
        let mut items = Vec::new();
        loop {
            let target = self.target()?;
            if !self.symbol(":=") && !self.symbol("=") {
                return Err(self.unexpected());
            }
            let word = self.word_text()?;
            let item = diagnostic(&word);
            let Some(item) = item else {
                return Err(PlanError::new("42601", "unrecognized GET DIAGNOSTICS item"));
            };
            let is_current = matches!(item, Diagnostic::RowCount | Diagnostic::RoutineOid);
            let is_either = item == Diagnostic::Context;
            if !is_either && is_current == stacked {
                let kind = if stacked { "STACKED" } else { "CURRENT" };
                let message =
                    format!("diagnostics item {} is not allowed in GET {kind} DIAGNOSTICS", word.to_uppercase());
                return Err(PlanError::new("42601", message));
            }
            items.push((target, item));
            if !self.symbol(",") {
                break;
            }
        }
        self.expect(";")?;
        Ok(BodyStep::GetDiagnostics { stacked, items })
    }

    fn open(&mut self) -> Result<BodyStep, PlanError> {
        self.take(1);
        let name = self.name()?;
        if self.is_symbol(0, "(") {
            let arguments = self.arguments()?;
            self.expect(";")?;
            return Ok(BodyStep::Open(name, Opened::Declared(arguments)));
        }
        if self.symbol(";") {
            return Ok(BodyStep::Open(name, Opened::Declared(Vec::new())));
        }
        let scroll = match () {
            () if self.words(&["no", "scroll"]) => Some(false),
            () if self.words(&["scroll"]) => Some(true),
            () => None,
        };
        self.expect_words(&["for"])?;
        if self.words(&["execute"]) {
            let source = self.dynamic(|reader, place| reader.is_symbol(place, ";"))?;
            self.expect(";")?;
            return Ok(BodyStep::Open(name, Opened::For(source, scroll)));
        }
        let query = self.query_to_semicolon()?;
        Ok(BodyStep::Open(name, Opened::For(QuerySource::Static(query), scroll)))
    }

    /// `(value, name := value, …)`
    pub(super) fn arguments(&mut self) -> Result<Vec<super::Argument>, PlanError> {
        self.expect("(")?;
        let mut arguments = Vec::new();
        while !self.symbol(")") {
            if !arguments.is_empty() {
                self.expect(",")?;
            }
            let named = self.is_symbol(1, ":=") || self.is_symbol(1, "=>");
            let name = if named { Some(self.name()?) } else { None };
            self.take(usize::from(named));
            let value = self.argument_value()?;
            arguments.push((name, value));
        }
        Ok(arguments)
    }

    fn argument_value(&mut self) -> Result<Expression, PlanError> {
        let mut depth = 0_usize;
        let mut end = 0;
        loop {
            match self.kind(end) {
                Some(WordKind::Symbol("," | ")")) if depth == 0 => break,
                Some(WordKind::Symbol("(" | "[")) => depth += 1,
                Some(WordKind::Symbol(")" | "]")) => depth = depth.saturating_sub(1),
                Some(WordKind::Symbol(";")) | None => return Err(self.unexpected()),
                Some(_) => {}
            }
            end += 1;
        }
        let text = format!("SELECT {}", self.text_to(end)?);
        crate::parse::check_query(&text)?;
        Ok(self.numbered(text))
    }

    fn fetch(&mut self, is_move: bool) -> Result<BodyStep, PlanError> {
        self.take(1);
        let direction = self.direction()?;
        if !self.words(&["from"]) {
            self.words(&["in"]);
        }
        let name = self.name()?;
        let targets = if is_move {
            None
        } else {
            self.expect_words(&["into"])?;
            Some(self.targets()?)
        };
        self.expect(";")?;
        let many = matches!(direction, Direction::To(FetchDirection::ForwardAll | FetchDirection::BackwardAll));
        if !is_move && many {
            return Err(PlanError::new("0A000", "FETCH statement cannot return multiple rows"));
        }
        Ok(BodyStep::Fetch(name, direction, targets))
    }

    fn direction(&mut self) -> Result<Direction, PlanError> {
        use FetchDirection::{Absolute, BackwardAll, Forward, ForwardAll};
        let fixed = [
            ("next", Forward(1)),
            ("prior", Forward(-1)),
            ("first", Absolute(1)),
            ("last", Absolute(-1)),
            ("all", ForwardAll),
        ];
        // A cursor may be called by such a word.
        let is_alone = |reader: &Self| reader.is_word(1, "into") || reader.is_symbol(1, ";");
        if is_alone(self) {
            return Ok(Direction::To(Forward(1)));
        }
        if let Some((_, direction)) = fixed.into_iter().find(|(word, _)| self.words(&[word])) {
            return Ok(Direction::To(direction));
        }
        let is_end = |reader: &Self, place: usize| reader.is_word(place, "from") || reader.is_word(place, "in");
        if self.words(&["absolute"]) {
            return self.expression(is_end).map(Direction::Absolute);
        }
        if self.words(&["relative"]) {
            return self.expression(is_end).map(Direction::Relative);
        }
        for (word, backward) in [("forward", false), ("backward", true)] {
            if !self.words(&[word]) {
                continue;
            }
            if self.words(&["all"]) {
                return Ok(Direction::To(if backward { BackwardAll } else { ForwardAll }));
            }
            if is_end(self, 0) {
                return Ok(Direction::To(Forward(if backward { -1 } else { 1 })));
            }
            let count = self.expression(is_end)?;
            return Ok(if backward { Direction::Backward(count) } else { Direction::Forward(count) });
        }
        Ok(Direction::To(Forward(1)))
    }
}

fn diagnostic(word: &str) -> Option<Diagnostic> {
    Some(match word {
        "row_count" => Diagnostic::RowCount,
        "pg_context" => Diagnostic::Context,
        "pg_routine_oid" => Diagnostic::RoutineOid,
        "returned_sqlstate" => Diagnostic::ReturnedCode,
        "message_text" => Diagnostic::Message,
        "pg_exception_detail" => Diagnostic::Detail,
        "pg_exception_hint" => Diagnostic::Hint,
        "pg_exception_context" => Diagnostic::ExceptionContext,
        "column_name" => Diagnostic::Column,
        "constraint_name" => Diagnostic::Constraint,
        "pg_datatype_name" => Diagnostic::DataType,
        "table_name" => Diagnostic::Table,
        "schema_name" => Diagnostic::Schema,
        _ => return None,
    })
}
