//! Ranges as text, with PostgreSQL's quoting.

use super::{Bound, Multirange, Range, of_ranges};
use crate::text::nested::{is_blank, quote_from};
use crate::text::{TextContext, parse, write_text};
use crate::{Datum, ScalarType, ValueError, poll};

const EMPTY: &str = "empty";

fn without_blanks(text: &str) -> &str {
    text.trim_start_matches(|character: char| character.is_ascii() && is_blank(character as u8))
}

/// The text behind a word, however that is written.
fn behind_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let (first, rest) = text.split_at_checked(word.len())?;
    first.eq_ignore_ascii_case(word).then_some(rest)
}

fn malformed(what: &str, text: &str, detail: &str) -> ValueError {
    ValueError {
        detail: Some(detail.to_owned()),
        ..ValueError::new("22P02", format!("malformed {what} literal: \"{text}\""))
    }
}

/// Reads a range of this type.
pub(crate) fn parse_range(scalar: &ScalarType, text: &str, context: &TextContext) -> Result<Range, ValueError> {
    let wrong = |detail: &str| malformed("range", text, detail);
    let start = without_blanks(text);
    if let Some(rest) = behind_word(start, EMPTY) {
        return match without_blanks(rest) {
            "" => Ok(Range::EMPTY),
            _ => Err(wrong("Junk after \"empty\" key word.")),
        };
    }
    let (lower_inclusive, rest) = match start.strip_prefix('[') {
        Some(rest) => (true, rest),
        None => (false, start.strip_prefix('(').ok_or_else(|| wrong("Missing left parenthesis or bracket."))?),
    };
    let (lower, rest) = bound_text(rest).ok_or_else(|| wrong("Unexpected end of input."))?;
    let rest = rest.strip_prefix(',').ok_or_else(|| wrong("Missing comma after lower bound."))?;
    let (upper, rest) = bound_text(rest).ok_or_else(|| wrong("Unexpected end of input."))?;
    let (upper_inclusive, rest) = match rest.strip_prefix(']') {
        Some(rest) => (true, rest),
        None => (false, rest.strip_prefix(')').ok_or_else(|| wrong("Too many commas."))?),
    };
    if !without_blanks(rest).is_empty() {
        return Err(wrong("Junk after right parenthesis or bracket."));
    }
    let element = scalar.range_element().unwrap_or(ScalarType::Text);
    let bound = |text: Option<String>, inclusive: bool| match text {
        Some(text) => Ok(Bound::new(parse(&element, -1, &text, context)?, inclusive)),
        None => Ok(Bound::new(Datum::Null, false)),
    };
    Range::of(scalar, bound(lower, lower_inclusive)?, bound(upper, upper_inclusive)?)
}

/// A bound's text, none where nothing stands, and what follows it; nothing at all if it does not end.
fn bound_text(text: &str) -> Option<(Option<String>, &str)> {
    if text.starts_with([',', ')', ']']) {
        return Some((None, text));
    }
    let (mut found, mut is_quoted) = (String::new(), false);
    let mut characters = text.char_indices().peekable();
    while let Some((place, character)) = characters.next() {
        match character {
            ',' | ')' | ']' if !is_quoted => return Some((Some(found), &text[place..])),
            '\\' => found.push(characters.next()?.1),
            '"' if is_quoted && characters.next_if(|(_, next)| *next == '"').is_some() => found.push('"'),
            '"' => is_quoted = !is_quoted,
            other => found.push(other),
        }
    }
    None
}

/// Reads a multirange of ranges of this type.
pub(crate) fn parse_multirange(of: &ScalarType, text: &str, context: &TextContext) -> Result<Vec<Range>, ValueError> {
    let wrong = |detail: &str| malformed("multirange", text, detail);
    let mut rest = without_blanks(text).strip_prefix('{').ok_or_else(|| wrong("Missing left brace."))?;
    let mut ranges = Vec::new();
    let mut is_first = true;
    loop {
        poll::step()?;
        rest = without_blanks(rest);
        if let Some(end) = rest.strip_prefix('}').filter(|_| is_first) {
            rest = end;
            break;
        }
        is_first = false;
        if let Some(behind) = behind_word(rest, EMPTY) {
            rest = behind;
        } else if rest.starts_with(['[', '(']) {
            let length = range_length(rest).ok_or_else(|| wrong("Unexpected end of input."))?;
            let (range, behind) = rest.split_at(length);
            ranges.push(parse_range(of, range, context)?);
            rest = behind;
        } else if rest.is_empty() {
            return Err(wrong("Unexpected end of input."));
        } else {
            return Err(wrong("Expected range start."));
        }
        rest = without_blanks(rest);
        if let Some(behind) = rest.strip_prefix(',') {
            rest = behind;
        } else if let Some(end) = rest.strip_prefix('}') {
            rest = end;
            break;
        } else if rest.is_empty() {
            return Err(wrong("Unexpected end of input."));
        } else {
            return Err(wrong("Expected comma or end of multirange."));
        }
    }
    if !without_blanks(rest).is_empty() {
        return Err(wrong("Junk after closing right brace."));
    }
    Ok(of_ranges(ranges))
}

/// How long the range is that a text begins with; none if it does not end.
fn range_length(text: &str) -> Option<usize> {
    let mut is_quoted = false;
    let mut characters = text.char_indices().peekable();
    while let Some((place, character)) = characters.next() {
        match character {
            ']' | ')' if !is_quoted => return Some(place + 1),
            '\\' => {
                characters.next()?;
            }
            '"' if is_quoted && characters.next_if(|(_, next)| *next == '"').is_some() => {}
            '"' => is_quoted = !is_quoted,
            _ => {}
        }
    }
    None
}

pub(crate) fn write_range(out: &mut String, range: &Range, element: &ScalarType, context: &TextContext) {
    let Some((from, to)) = range.bounds() else { return out.push_str(EMPTY) };
    out.push(if from.inclusive { '[' } else { '(' });
    write_bound(out, from, element, context);
    out.push(',');
    write_bound(out, to, element, context);
    out.push(if to.inclusive { ']' } else { ')' });
}

fn write_bound(out: &mut String, bound: &Bound, element: &ScalarType, context: &TextContext) {
    let Some(value) = &bound.value else { return };
    let start = out.len();
    write_text(out, value, element, context);
    let is_special = |byte: u8| matches!(byte, b'"' | b'\\' | b'(' | b')' | b'[' | b']' | b',') || is_blank(byte);
    if !out[start..].is_empty() && !out[start..].bytes().any(is_special) {
        return;
    }
    quote_from(out, start);
}

pub(crate) fn write_multirange(out: &mut String, ranges: &Multirange, element: &ScalarType, context: &TextContext) {
    out.push('{');
    for (place, range) in ranges.iter().enumerate() {
        poll::step_or_unwind();
        out.push_str(if place > 0 { "," } else { "" });
        write_range(out, range, element, context);
    }
    out.push('}');
}
