//! Statements of SQL in a body: INTO is taken out of them, and texts that are computed have USING.

use super::lexer::WordKind;
use super::source::BodyReader;
use super::{BodyStep, Expression, Into, QuerySource, Target};
use crate::error::PlanError;

impl BodyReader<'_> {
    /// Variables that values go into.
    pub(super) fn targets(&mut self) -> Result<Vec<Target>, PlanError> {
        let mut targets = vec![self.target()?];
        while self.symbol(",") {
            targets.push(self.target()?);
        }
        Ok(targets)
    }

    /// A query up to a semicolon, which is taken.
    pub(super) fn query_to_semicolon(&mut self) -> Result<Expression, PlanError> {
        let end = self.end_of(|reader, place| reader.is_symbol(place, ";"))?;
        let text = self.text_to(end)?.to_owned();
        crate::parse::check_query(&text)?;
        self.expect(";")?;
        Ok(self.numbered(text))
    }

    /// The text of a statement up to its semicolon, which is taken.
    pub(super) fn statement_text(&mut self) -> Result<String, PlanError> {
        let end = self.end_of(|reader, place| reader.is_symbol(place, ";"))?;
        let text = self.text_to(end)?.to_owned();
        self.expect(";")?;
        Ok(text)
    }

    pub(super) fn perform(&mut self) -> Result<BodyStep, PlanError> {
        self.take(1);
        self.to_semicolon().map(BodyStep::Perform)
    }

    pub(super) fn sql_statement(&mut self) -> Result<BodyStep, PlanError> {
        let end = self.end_of(|reader, place| reader.is_symbol(place, ";"))?;
        let begins = |words: &[&str]| words.iter().any(|word| self.is_word(0, word));
        // INSERT INTO, MERGE INTO, CREATE …, COPY: nothing else has an INTO that is none of ours.
        let may_give = begins(&["select", "insert", "update", "delete", "merge", "with", "values", "explain", "table"]);
        let into = (0..end).find(|&place| {
            let written = place > 0 && (self.is_word(place - 1, "insert") || self.is_word(place - 1, "merge"));
            self.is_word(place, "into") && !written && self.depth_at(place) == 0
        });
        let Some(place) = into.filter(|_| may_give) else {
            let text = self.statement_text()?;
            crate::parse::check_statement(&text)?;
            let expression = self.numbered(text);
            return Ok(BodyStep::Sql(expression, None));
        };
        let before = self.text_between(0, place).to_owned();
        self.take(place + 1);
        let strict = self.words(&["strict"]);
        let targets = self.targets()?;
        let rest = self.end_of(|reader, place| reader.is_symbol(place, ";"))?;
        let after = self.text_between(0, rest).to_owned();
        self.take(rest + 1);
        let text = format!("{before} {after}");
        crate::parse::check_statement(&text)?;
        let expression = self.numbered(text);
        Ok(BodyStep::Sql(expression, Some(Into { targets, strict })))
    }

    /// How many parentheses are open before a token.
    fn depth_at(&self, place: usize) -> usize {
        (0..place).fold(0_usize, |depth, place| match self.kind(place) {
            Some(WordKind::Symbol("(" | "[")) => depth + 1,
            Some(WordKind::Symbol(")" | "]")) => depth.saturating_sub(1),
            _ => depth,
        })
    }

    /// `text [USING value, …]` up to what ends it, which is left.
    pub(super) fn dynamic(&mut self, ends: impl Fn(&Self, usize) -> bool + Copy) -> Result<QuerySource, PlanError> {
        let text = self.expression(|reader, place| reader.is_word(place, "using") || ends(reader, place))?;
        let using = self.using(ends)?;
        Ok(QuerySource::Dynamic(text, using))
    }

    fn using(&mut self, ends: impl Fn(&Self, usize) -> bool + Copy) -> Result<Vec<Expression>, PlanError> {
        let mut using = Vec::new();
        if self.words(&["using"]) {
            loop {
                using.push(self.expression(|reader, place| {
                    reader.is_symbol(place, ",") || reader.is_word(place, "into") || ends(reader, place)
                })?);
                if !self.symbol(",") {
                    break;
                }
            }
        }
        Ok(using)
    }

    /// EXECUTE text [INTO …] [USING …], the two in either order.
    pub(super) fn execute(&mut self) -> Result<BodyStep, PlanError> {
        self.take(1);
        let is_end = |reader: &Self, place: usize| reader.is_symbol(place, ";");
        let text = self.expression(|reader, place| {
            ["into", "using"].iter().any(|word| reader.is_word(place, word)) || is_end(reader, place)
        })?;
        let (mut into, mut using) = (None, Vec::new());
        while !self.symbol(";") {
            if into.is_none() && self.words(&["into"]) {
                let strict = self.words(&["strict"]);
                into = Some(Into { targets: self.targets()?, strict });
            } else if using.is_empty() && self.is_word(0, "using") {
                using = self.using(is_end)?;
            } else {
                return Err(self.unexpected());
            }
        }
        Ok(BodyStep::Execute(text, into, using))
    }
}
