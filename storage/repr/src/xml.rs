//! `xml`: text that is content of an XML document, checked where it is read and kept as it was written.
//!
//! Elements, attributes, references, comments, instructions and character data are looked at, as the recommendation of XML 1.0 has
//! them. Entities of one's own are not: a document type that declares any is refused.

use crate::{ValueError, poll};
use std::borrow::Cow;

/// How deep elements may stand in each other, as in libxml.
const DEPTH_MAX: usize = 256;

/// What is left of a text that is read from left to right.
struct Content<'a> {
    rest: &'a str,
    /// The elements that are open, outermost first.
    open: Vec<&'a str>,
}

/// What an XML declaration says.
struct Declaration<'a> {
    version: &'a str,
    standalone: Option<&'a str>,
    rest: &'a str,
}

/// The text itself, if it is content of a document or a document.
///
/// # Errors
/// 2200N for what is not well formed, 0A000 for a document type with declarations.
pub fn checked(text: &str) -> Result<&str, ValueError> {
    let rest = declaration(text)?.map_or(text, |declaration| declaration.rest);
    let mut content = Content { rest, open: Vec::new() };
    while !content.rest.is_empty() {
        poll::step()?;
        content.next()?;
    }
    match content.open.last() {
        Some(name) => Err(invalid(format!("Premature end of data in tag {name}"))),
        None => Ok(text),
    }
}

/// As it is shown: without the encoding of its declaration, which is the client's, and without one that says nothing else.
pub fn shown(text: &str) -> Cow<'_, str> {
    let Ok(Some(declaration)) = declaration(text) else { return Cow::Borrowed(text) };
    if declaration.version == "1.0" && declaration.standalone.is_none() {
        return Cow::Borrowed(declaration.rest.strip_prefix('\n').unwrap_or(declaration.rest));
    }
    let standalone = declaration.standalone.map_or_else(String::new, |word| format!(" standalone=\"{word}\""));
    Cow::Owned(format!("<?xml version=\"{}\"{standalone}?>{}", declaration.version, declaration.rest))
}

fn invalid(detail: impl Into<String>) -> ValueError {
    ValueError { detail: Some(detail.into()), ..ValueError::new("2200N", "invalid XML content") }
}

/// The declaration at the beginning of a text, if it has one.
fn declaration(text: &str) -> Result<Option<Declaration<'_>>, ValueError> {
    let Some(inside) = text.strip_prefix("<?xml").filter(|inside| inside.starts_with(is_blank)) else {
        return Ok(None);
    };
    let malformed = |detail: &str| ValueError {
        detail: Some(format!("Malformed declaration: {detail}.")),
        ..ValueError::new("2200N", "invalid XML content: invalid XML declaration")
    };
    let (inside, rest) = inside.split_once("?>").ok_or_else(|| malformed("expecting '?>'"))?;
    let mut inside = inside.trim_start_matches(is_blank);
    let mut take = |name: &str| {
        let behind = inside.strip_prefix(name)?.trim_start_matches(is_blank).strip_prefix('=')?;
        let (value, behind) = quoted(behind.trim_start_matches(is_blank))?;
        inside = behind.trim_start_matches(is_blank);
        Some(value)
    };
    let version = take("version").ok_or_else(|| malformed("missing version"))?;
    take("encoding");
    let standalone = take("standalone");
    if standalone.is_some_and(|word| !matches!(word, "yes" | "no")) {
        return Err(malformed("standalone accepts only 'yes' or 'no'"));
    }
    if !inside.is_empty() {
        return Err(malformed("expecting '?>'"));
    }
    Ok(Some(Declaration { version, standalone, rest }))
}

/// What stands between the quotes that a text begins with, and what is behind them.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    text[1..].split_once(quote)
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

/// Whether XML may have the character at all.
fn is_allowed(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..)
}

fn begins_name(character: char) -> bool {
    matches!(character, ':' | '_' | 'A'..='Z' | 'a'..='z' | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{2FF}'
        | '\u{370}'..='\u{37D}' | '\u{37F}'..='\u{1FFF}' | '\u{200C}'..='\u{200D}' | '\u{2070}'..='\u{218F}'
        | '\u{2C00}'..='\u{2FEF}' | '\u{3001}'..='\u{D7FF}' | '\u{F900}'..='\u{FDCF}' | '\u{FDF0}'..='\u{FFFD}'
        | '\u{10000}'..='\u{EFFFF}')
}

fn is_in_name(character: char) -> bool {
    begins_name(character)
        || matches!(character, '-' | '.' | '0'..='9' | '\u{B7}' | '\u{300}'..='\u{36F}' | '\u{203F}'..='\u{2040}')
}

/// The name that a text begins with, and what is behind it.
fn name(text: &str) -> Option<(&str, &str)> {
    text.chars().next().filter(|first| begins_name(*first))?;
    Some(text.split_at(text.find(|character| !is_in_name(character)).unwrap_or(text.len())))
}

/// Character data, with references in it.
fn check_text(text: &str) -> Result<(), ValueError> {
    if let Some(character) = text.chars().find(|character| !is_allowed(*character)) {
        return Err(invalid(format!("PCDATA invalid Char value {}", u32::from(character))));
    }
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once('&') {
        poll::step()?;
        let (reference, behind) = behind.split_once(';').ok_or_else(|| invalid("EntityRef: expecting ';'"))?;
        check_reference(reference)?;
        rest = behind;
    }
    Ok(())
}

fn check_reference(reference: &str) -> Result<(), ValueError> {
    let Some(number) = reference.strip_prefix('#') else {
        return match reference {
            "lt" | "gt" | "amp" | "quot" | "apos" => Ok(()),
            other if name(other).is_some_and(|(_, rest)| rest.is_empty()) => {
                Err(invalid(format!("Entity '{other}' not defined")))
            }
            _ => Err(invalid("xmlParseEntityRef: no name")),
        };
    };
    let (digits, base) = number.strip_prefix('x').map_or((number, 10), |digits| (digits, 16));
    // What has a sign is no number of a character.
    let code = if digits.starts_with('+') { None } else { u32::from_str_radix(digits, base).ok() };
    match code.and_then(char::from_u32) {
        Some(character) if is_allowed(character) => Ok(()),
        _ => Err(invalid(format!("xmlParseCharRef: invalid xmlChar value {}", code.unwrap_or(0)))),
    }
}

/// An element has each of its attributes once.
fn once(mut attributes: Vec<&str>) -> Result<(), ValueError> {
    attributes.sort_unstable();
    match attributes.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(twice) => Err(invalid(format!("Attribute {} redefined", twice[0]))),
        None => Ok(()),
    }
}

impl<'a> Content<'a> {
    /// Passes over what stands next.
    fn next(&mut self) -> Result<(), ValueError> {
        if let Some(inside) = self.rest.strip_prefix("<!--") {
            return self.comment(inside);
        }
        if let Some(inside) = self.rest.strip_prefix("<![CDATA[") {
            let (data, rest) = inside.split_once("]]>").ok_or_else(|| invalid("CData section not finished"))?;
            if let Some(character) = data.chars().find(|character| !is_allowed(*character)) {
                return Err(invalid(format!("CData section has an invalid char value {}", u32::from(character))));
            }
            self.rest = rest;
            return Ok(());
        }
        if let Some(inside) = self.rest.strip_prefix("<!DOCTYPE") {
            return self.document_type(inside);
        }
        if let Some(inside) = self.rest.strip_prefix("<?") {
            return self.instruction(inside);
        }
        if let Some(inside) = self.rest.strip_prefix("</") {
            return self.end_tag(inside);
        }
        if let Some(inside) = self.rest.strip_prefix('<') {
            return self.start_tag(inside);
        }
        let (text, rest) = self.rest.split_at(self.rest.find('<').unwrap_or(self.rest.len()));
        if text.contains("]]>") {
            return Err(invalid("Sequence ']]>' not allowed in content"));
        }
        self.rest = rest;
        check_text(text)
    }

    fn comment(&mut self, inside: &'a str) -> Result<(), ValueError> {
        let (comment, rest) = inside.split_once("--").ok_or_else(|| invalid("Comment not terminated"))?;
        self.rest = rest.strip_prefix('>').ok_or_else(|| invalid("Double hyphen within comment"))?;
        match comment.chars().find(|character| !is_allowed(*character)) {
            Some(character) => Err(invalid(format!("xmlParseComment: invalid xmlChar value {}", u32::from(character)))),
            None => Ok(()),
        }
    }

    /// A document type that names the root alone.
    fn document_type(&mut self, inside: &'a str) -> Result<(), ValueError> {
        let (declared, rest) = inside.split_once('>').ok_or_else(|| invalid("DOCTYPE improperly terminated"))?;
        if declared.contains('[') {
            return Err(ValueError {
                hint: Some("Write out what its entities stand for.".to_owned()),
                ..ValueError::new("0A000", "a document type with declarations is not supported")
            });
        }
        let is_root = declared.starts_with(is_blank) && name(declared.trim_start_matches(is_blank)).is_some();
        if !is_root || !self.open.is_empty() {
            return Err(invalid("xmlParseDocTypeDecl : no DOCTYPE name !"));
        }
        self.rest = rest;
        Ok(())
    }

    fn instruction(&mut self, inside: &'a str) -> Result<(), ValueError> {
        let (target, behind) = name(inside).ok_or_else(|| invalid("xmlParsePI : no target name"))?;
        if target.eq_ignore_ascii_case("xml") {
            return Err(invalid(if target == "xml" {
                "XML declaration allowed only at the start of the document"
            } else {
                "Invalid PI name"
            }));
        }
        let (said, rest) = behind.split_once("?>").ok_or_else(|| invalid(format!("PI {target} never end ...")))?;
        if !said.is_empty() && !said.starts_with(is_blank) {
            return Err(invalid(format!("ParsePI: PI {target} space expected")));
        }
        self.rest = rest;
        Ok(())
    }

    fn end_tag(&mut self, inside: &'a str) -> Result<(), ValueError> {
        let (closed, behind) = name(inside).ok_or_else(|| invalid("xmlParseEndTag: no name"))?;
        match self.open.pop() {
            Some(open) if open == closed => {}
            Some(open) => return Err(invalid(format!("Opening and ending tag mismatch: {open} and {closed}"))),
            None => return Err(invalid("StartTag: invalid element name")),
        }
        let behind = behind.trim_start_matches(is_blank);
        self.rest = behind.strip_prefix('>').ok_or_else(|| invalid("expected '>'"))?;
        Ok(())
    }

    fn start_tag(&mut self, inside: &'a str) -> Result<(), ValueError> {
        let (element, mut behind) = name(inside).ok_or_else(|| invalid("StartTag: invalid element name"))?;
        let mut attributes: Vec<&str> = Vec::new();
        loop {
            poll::step()?;
            let next = behind.trim_start_matches(is_blank);
            if let Some(rest) = next.strip_prefix("/>") {
                self.rest = rest;
                return once(attributes);
            }
            if let Some(rest) = next.strip_prefix('>') {
                self.rest = rest;
                once(attributes)?;
                break;
            }
            let unfinished = || invalid(format!("Couldn't find end of Start Tag {element}"));
            // Blanks stand before each.
            let (attribute, rest) = name(next).filter(|_| next.len() < behind.len()).ok_or_else(unfinished)?;
            let rest = rest
                .trim_start_matches(is_blank)
                .strip_prefix('=')
                .ok_or_else(|| invalid(format!("Specification mandates value for attribute {attribute}")))?;
            let (value, rest) =
                quoted(rest.trim_start_matches(is_blank)).ok_or_else(|| invalid("AttValue: \" or ' expected"))?;
            if value.contains('<') {
                return Err(invalid("Unescaped '<' not allowed in attributes values"));
            }
            check_text(value)?;
            attributes.push(attribute);
            behind = rest;
        }
        self.open.push(element);
        if self.open.len() > DEPTH_MAX {
            Err(invalid(format!("Excessive depth in document: {DEPTH_MAX}")))
        } else {
            Ok(())
        }
    }
}
