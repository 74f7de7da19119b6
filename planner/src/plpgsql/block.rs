//! Blocks: what they declare, do, and do when something fails.

use super::lexer::WordKind;
use super::source::BodyReader;
use super::{Block, Declaration, Declared, Handler, NumberedStep, VariableType, conditions};
use crate::error::PlanError;

impl BodyReader<'_> {
    /// `[DECLARE …] BEGIN … [EXCEPTION …] END [label]`
    pub(super) fn block(&mut self, label: Option<String>) -> Result<Block, PlanError> {
        let mut declarations = Vec::new();
        if self.words(&["declare"]) {
            while !self.is_word(0, "begin") {
                if self.words(&["declare"]) {
                    continue;
                }
                declarations.push(self.declaration()?);
            }
        }
        self.expect_words(&["begin"])?;
        let statements = self.statements(&["exception", "end"])?;
        let mut handlers = Vec::new();
        if self.words(&["exception"]) {
            while self.is_word(0, "when") {
                handlers.push(self.handler()?);
            }
            if handlers.is_empty() {
                return Err(self.unexpected());
            }
        }
        self.expect_words(&["end"])?;
        self.end_label(label.as_deref())?;
        Ok(Block { label, declarations, statements, handlers })
    }

    /// The label behind END, which must be that before the block.
    pub(super) fn end_label(&mut self, label: Option<&str>) -> Result<(), PlanError> {
        if !matches!(self.kind(0), Some(WordKind::Word(_) | WordKind::Quoted(_))) {
            return Ok(());
        }
        let end = self.name()?;
        match label {
            Some(label) if label == end => Ok(()),
            Some(label) => {
                Err(PlanError::new("42601", format!("end label \"{end}\" differs from block's label \"{label}\"")))
            }
            None => Err(PlanError::new("42601", format!("end label \"{end}\" specified for unlabeled block"))),
        }
    }

    /// Statements up to one of these words.
    pub(super) fn statements(&mut self, ends: &[&str]) -> Result<Vec<NumberedStep>, PlanError> {
        let mut lines = Vec::new();
        while !ends.iter().any(|end| self.is_word(0, end)) {
            let number = self.line();
            let statement = self.deeper(BodyReader::statement)?;
            lines.push(NumberedStep { number, statement });
        }
        Ok(lines)
    }

    fn handler(&mut self) -> Result<Handler, PlanError> {
        self.expect_words(&["when"])?;
        let mut codes = Vec::new();
        loop {
            if self.words(&["sqlstate"]) {
                let code = self.string().ok_or_else(|| self.unexpected())?;
                if code.len() != 5 {
                    return Err(PlanError::new("42601", "invalid SQLSTATE code"));
                }
                codes.push(code);
            } else {
                let name = self.word_text()?;
                if name == "others" {
                    codes.clear();
                    self.others(&mut codes)?;
                    break;
                }
                let found: Vec<&str> = conditions::conditions_named(&name).collect();
                if found.is_empty() {
                    return Err(PlanError::new("42704", format!("unrecognized exception condition \"{name}\"")));
                }
                codes.extend(found.into_iter().map(str::to_owned));
            }
            if !self.words(&["or"]) {
                break;
            }
        }
        self.expect_words(&["then"])?;
        let statements = self.statements(&["when", "end"])?;
        Ok(Handler { codes, statements })
    }

    /// Behind OTHERS what else is named says nothing more.
    fn others(&mut self, codes: &mut Vec<String>) -> Result<(), PlanError> {
        codes.clear();
        while self.words(&["or"]) {
            self.word_text()?;
            self.string();
        }
        Ok(())
    }

    fn declaration(&mut self) -> Result<Declaration, PlanError> {
        let line = self.line();
        let name = self.name()?;
        if self.words(&["alias", "for"]) {
            let target = match self.kind(0) {
                Some(WordKind::Number) => vec![self.text_to(1)?.to_owned()],
                _ => self.dotted()?,
            };
            self.expect(";")?;
            return Ok(Declaration { name, kind: Declared::Alias(target), line });
        }
        let scroll = match () {
            () if self.words(&["no", "scroll"]) => Some(false),
            () if self.words(&["scroll"]) => Some(true),
            () => None,
        };
        if self.words(&["cursor"]) {
            let kind = self.cursor(scroll)?;
            return Ok(Declaration { name, kind, line });
        }
        let constant = self.words(&["constant"]);
        let of = self.variable_type(|reader, place| {
            reader.is_symbol(place, ";")
                || reader.is_symbol(place, ":=")
                || reader.is_symbol(place, "=")
                || ["default", "not", "collate"].iter().any(|word| reader.is_word(place, word))
        })?;
        if self.words(&["collate"]) {
            return Err(PlanError::unsupported("COLLATE of a variable"));
        }
        let not_null = self.words(&["not", "null"]);
        let value = if self.symbol(";") {
            None
        } else if self.words(&["default"]) || self.symbol(":=") || self.symbol("=") {
            Some(self.to_semicolon()?)
        } else {
            return Err(self.unexpected());
        };
        if not_null && value.is_none() {
            let message = format!("variable \"{name}\" must have a default value, since it's declared NOT NULL");
            return Err(PlanError::new("22004", message));
        }
        Ok(Declaration { name, kind: Declared::Variable { of, constant, not_null, value }, line })
    }

    /// Behind CURSOR.
    fn cursor(&mut self, scroll: Option<bool>) -> Result<Declared, PlanError> {
        let mut parameters = Vec::new();
        if self.symbol("(") {
            loop {
                let name = self.name()?;
                let of =
                    self.variable_type(|reader, place| reader.is_symbol(place, ",") || reader.is_symbol(place, ")"))?;
                parameters.push((name, of));
                if !self.symbol(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        if !self.words(&["for"]) && !self.words(&["is"]) {
            return Err(self.unexpected());
        }
        let query = self.query_to_semicolon()?;
        Ok(Declared::Cursor { parameters, query, scroll })
    }

    /// A type, as text or by what it is of.
    fn variable_type(&mut self, ends: impl Fn(&Self, usize) -> bool) -> Result<VariableType, PlanError> {
        // The closing parenthesis of a list ends a type as well.
        let mut depth = 0_usize;
        let mut end = 0;
        loop {
            if depth == 0 && ends(self, end) {
                break;
            }
            match self.kind(end) {
                None => return Err(self.unexpected_at(usize::MAX)),
                Some(WordKind::Symbol("(" | "[")) => depth += 1,
                Some(WordKind::Symbol(")" | "]")) => depth = depth.saturating_sub(1),
                Some(WordKind::Symbol(";")) => return Err(self.unexpected()),
                Some(_) => {}
            }
            end += 1;
        }
        if end == 0 {
            return Err(PlanError::new("42601", "missing data type declaration"));
        }
        let marked =
            |reader: &Self, word: &str| end > 2 && reader.is_symbol(end - 2, "%") && reader.is_word(end - 1, word);
        let (of_name, of_row) = (marked(self, "type"), marked(self, "rowtype"));
        if of_name || of_row {
            let path = self.dotted()?;
            if !self.is_symbol(0, "%") {
                return Err(self.unexpected());
            }
            self.take(2);
            return Ok(if of_name { VariableType::OfName(path) } else { VariableType::RowOf(path) });
        }
        let is_record = end == 1 && self.is_word(0, "record");
        let text = self.text_to(end)?;
        Ok(if is_record { VariableType::Record } else { VariableType::Named(text.to_owned()) })
    }
}
