//! Reads annotations wherever they are written: rules in DDL, security labels, tags in comments.
//!
//! A label or tag that does not parse is refused, never ignored; a comment without tags is only a comment.

use super::definition::{EdgeName, References, RetentionDefinition, RuleActionDefinition, RuleDefinition};
use super::grammar::Grammar;
use super::statement::Identifier;
use super::with_grammar;
use crate::catalog::{Property, RuleEvent};
use crate::error::PlanError;
use sqlparser::tokenizer::Token;

/// One annotation of a label or comment.
#[derive(Clone, Debug, PartialEq)]
pub enum Annotation {
    /// DATA_SUBJECT
    DataSubject,
    /// OWNED_BY table(column) and its kin, or REFERENCES ONLY, on a column.
    Edge(References),
    /// FOREIGN KEY (columns) OWNED_BY table(columns), on a table: composite keys.
    CompositeEdge(Vec<Identifier>, References),
    /// ON GET|DEL edge …
    Rule(RuleDefinition),
    /// PURPOSES and its kin, on a column.
    Property(Property),
    /// RETAIN '90 days' BASIS … THEN …, on a table.
    Retention(RetentionDefinition),
}

/// Reads a security label: annotations separated by semicolons.
///
/// # Errors
/// 22023 for a label that is not made of annotations, with the position's text in the detail.
pub(crate) fn parse_label(label: &str) -> Result<Vec<Annotation>, PlanError> {
    let annotations = with_grammar(label, |grammar| {
        let mut annotations = Vec::new();
        loop {
            while grammar.eat_token(&Token::SemiColon) {}
            if grammar.at_end() {
                return Ok(annotations);
            }
            annotations.push(grammar.annotation()?);
            if !grammar.next_is(&Token::SemiColon) && !grammar.at_end() {
                return Err(grammar.unexpected());
            }
        }
    })
    .map_err(|error| {
        PlanError::new("22023", format!("\"{label}\" is not a valid security label of provider \"dogwood\""))
            .detail(error.message)
            .hint(ANNOTATION_HINT)
    })?;
    if annotations.is_empty() {
        return Err(
            PlanError::new("22023", "a security label of provider \"dogwood\" must not be empty").hint(ANNOTATION_HINT)
        );
    }
    Ok(annotations)
}

const ANNOTATION_HINT: &str = "write DATA_SUBJECT, OWNED_BY table(column), OWNS, ACCESSED_BY, ACCESSES, \
REFERENCES ONLY, PURPOSES, OBJECTIONS, EXPIRES, ORIGIN, SHARED_WITH, DECISIONS, REGION, CATEGORY, BASIS, RECIPIENT, RETAIN '90 days' BASIS '…' THEN DELETE | ANONYMIZE | HAND OVER, or ON GET|DEL edge ANON (columns) | DELETE_ROW; separate several by semicolons";

/// Reads the tags in a comment. A comment may hold prose; a tag is `@` before one of our words, and runs
/// to the next tag or the comment's end, or as far as the annotation goes.
///
/// # Errors
/// 22023 for a tag of ours that does not parse.
pub(crate) fn parse_comment_tags(comment: &str) -> Result<Vec<Annotation>, PlanError> {
    let mut annotations = Vec::new();
    for (start, _) in comment.match_indices('@') {
        // An address, as in `mail to x@owns.org`, is prose.
        let glued = comment[..start].chars().next_back().is_some_and(|before| before.is_alphanumeric());
        let rest = &comment[start + 1..];
        let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        const TAGS: [&str; 9] =
            ["data_subject", "owned_by", "owns", "accessed_by", "accesses", "on_del", "on_get", "references", "retain"];
        let properties = Property::ALL.into_iter().map(Property::word);
        if glued || !TAGS.into_iter().chain(properties).any(|tag| tag.eq_ignore_ascii_case(&word)) {
            continue;
        }
        let end = rest.find(" @").unwrap_or(rest.len());
        let text = match word.to_ascii_lowercase().as_str() {
            "on_del" => format!("ON DEL{}", &rest[word.len()..end]),
            "on_get" => format!("ON GET{}", &rest[word.len()..end]),
            _ => rest[..end].to_string(),
        };
        annotations.push(parse_tag(&text).map_err(|error| {
            PlanError::new("22023", format!("the tag \"@{}\" in the comment does not parse", rest[..end].trim()))
                .detail(error.message)
                .hint("write @data_subject, @owned_by table(column), @owns, @accessed_by, @accesses, or @on_del edge ANON (columns)")
        })?);
    }
    Ok(annotations)
}

/// The annotation at the beginning of `text`; prose may follow it.
fn parse_tag(text: &str) -> Result<Annotation, PlanError> {
    use super::dialect::{DogwoodDialect, tokenize_into};
    use super::grammar::Lines;
    use sqlparser::parser::Parser;
    // Prose may hold an apostrophe, which would not tokenize: read as far as tokens go.
    let lines = Lines::new(text);
    let mut tokens = Vec::new();
    let tokenized = tokenize_into(&mut tokens, text);
    if let Err(error) = tokenized
        && tokens.is_empty()
    {
        return Err(PlanError::new("42601", error.message));
    }
    super::limits::check(&tokens)?;
    let mut parser = Parser::new(&DogwoodDialect).with_tokens_with_locations(tokens);
    let mut grammar =
        Grammar { parser: &mut parser, lines: &lines, overriding: super::overriding::Overriding::Nothing };
    grammar.annotation()
}

impl Grammar<'_, '_> {
    fn annotation(&mut self) -> Result<Annotation, PlanError> {
        if self.eat(&["DATA_SUBJECT"]) {
            return Ok(Annotation::DataSubject);
        }
        if self.word_is(0, "ON") {
            return Ok(Annotation::Rule(self.rule(true)?));
        }
        if let Some(property) = self.property() {
            return Ok(Annotation::Property(property));
        }
        if self.eat(&["RETAIN"]) {
            return Ok(Annotation::Retention(self.retention()?));
        }
        if self.eat(&["FOREIGN", "KEY"]) {
            let columns = self.columns()?;
            return match self.references()? {
                Some(references) => Ok(Annotation::CompositeEdge(columns, references)),
                None => Err(self.unexpected()),
            };
        }
        match self.references()? {
            Some(references) => Ok(Annotation::Edge(references)),
            None => Err(self.unexpected()),
        }
    }

    /// PURPOSES and its kin.
    pub(super) fn property(&mut self) -> Option<Property> {
        let found = self.property_at(0)?;
        self.take(1);
        Some(found)
    }

    /// The property whose word stands so many tokens ahead.
    pub(super) fn property_at(&self, place: usize) -> Option<Property> {
        Property::ALL.into_iter().find(|property| self.word_is(place, property.word()))
    }

    /// ON GET|DEL edge ANON (columns) | DELETE_ROW; without `action_required` the action may be left out.
    pub(super) fn rule(&mut self, action_required: bool) -> Result<RuleDefinition, PlanError> {
        let position = self.position();
        self.expect(&["ON"])?;
        let event = match self.eat_one_of(&["GET", "DEL"]) {
            Some("GET") => RuleEvent::Get,
            Some(_) => RuleEvent::Del,
            None => return Err(self.unexpected()),
        };
        let edge = if self.next_is(&Token::LParen) {
            EdgeName { table: None, columns: self.columns()? }
        } else {
            let name = self.object_name()?;
            if self.next_is(&Token::LParen) {
                EdgeName { table: Some(name), columns: self.columns()? }
            } else if name.schema.is_some() {
                return Err(self.unexpected());
            } else {
                EdgeName { table: None, columns: vec![Identifier { name: name.name, position: name.position }] }
            }
        };
        let action = if self.eat(&["ANON"]) {
            Some(RuleActionDefinition::Anon(self.columns()?))
        } else if self.eat(&["DELETE_ROW"]) {
            Some(RuleActionDefinition::DeleteRow)
        } else if action_required {
            return Err(self.unexpected());
        } else {
            None
        };
        Ok(RuleDefinition { event, edge, action, position })
    }
}
