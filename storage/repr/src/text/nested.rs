//! Text of arrays, vectors and composite values, with PostgreSQL's quoting.

use super::{TextContext, parse, write_text};
use crate::types::RecordType;
use crate::{Array, Datum, ScalarType, ValueError, poll};
use std::fmt::Write;
use std::sync::Arc;

/// PostgreSQL's MAXDIM.
const DIMENSIONS_MAX: usize = 6;

pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C)
}

struct ArrayReader<'a> {
    text: &'a str,
    place: usize,
    element: &'a ScalarType,
    modifier: i32,
    context: &'a TextContext,
    elements: Vec<Datum>,
    /// Lengths of the dimensions met so far, outermost first.
    lengths: Vec<Option<usize>>,
    /// The depth at which elements stand, once one was met.
    leaf_depth: Option<usize>,
}

pub(super) fn parse_array(
    element: &ScalarType,
    modifier: i32,
    text: &str,
    context: &TextContext,
) -> Result<Datum, ValueError> {
    let mut reader = ArrayReader {
        text,
        place: 0,
        element,
        modifier,
        context,
        elements: Vec::new(),
        lengths: Vec::new(),
        leaf_depth: None,
    };
    reader.blanks();
    let bounds = reader.bounds()?;
    if reader.peek() != Some(b'{') {
        let detail = if bounds.is_some() {
            "Array contents must start with \"{\"."
        } else {
            "Array value must start with \"{\" or dimension information."
        };
        return Err(reader.malformed(detail));
    }
    reader.braces(0)?;
    reader.blanks();
    if reader.place < text.len() {
        return Err(reader.malformed("Junk after closing right brace."));
    }
    if reader.elements.is_empty() {
        return Ok(Datum::Array(Arc::new(Array::new(Vec::new(), Vec::new()))));
    }
    let lengths: Vec<usize> = reader.lengths.iter().map(|length| length.unwrap_or(0)).collect();
    let dimensions = match bounds {
        None => lengths.into_iter().map(|length| (length, 1)).collect(),
        Some(bounds) => {
            if bounds.iter().map(|(length, _)| *length).ne(lengths) {
                return Err(reader.malformed("Specified array dimensions do not match array contents."));
            }
            bounds
        }
    };
    Ok(Datum::Array(Arc::new(Array::new(dimensions, reader.elements))))
}

impl ArrayReader<'_> {
    fn malformed(&self, detail: &str) -> ValueError {
        ValueError {
            detail: Some(detail.to_owned()),
            ..ValueError::new("22P02", format!("malformed array literal: \"{}\"", self.text))
        }
    }

    fn too_deep(&self, depth: usize) -> ValueError {
        let most = DIMENSIONS_MAX;
        ValueError::new("54000", format!("number of array dimensions ({depth}) exceeds the maximum allowed ({most})"))
    }

    /// What stands between elements.
    fn delimiter(&self) -> u8 {
        self.element.delimiter() as u8
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.place).copied()
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.place += 1;
        }
    }

    /// `[1:2][0:3]=`
    fn bounds(&mut self) -> Result<Option<Vec<(usize, i32)>>, ValueError> {
        let mut bounds = Vec::new();
        while self.peek() == Some(b'[') {
            if bounds.len() == DIMENSIONS_MAX {
                return Err(self.too_deep(DIMENSIONS_MAX + 1));
            }
            let close = self.text[self.place..]
                .find(']')
                .ok_or_else(|| self.malformed("Missing \"]\" after array dimensions."))?;
            let inside = &self.text[self.place + 1..self.place + close];
            let (lower, upper) = inside.split_once(':').unwrap_or(("1", inside));
            let number = |text: &str| {
                text.trim()
                    .parse::<i32>()
                    .map_err(|_| self.malformed("\"[\" must introduce explicitly-specified array dimensions."))
            };
            let (lower, upper) = (number(lower)?, number(upper)?);
            let length = i64::from(upper) - i64::from(lower) + 1;
            if length <= 0 {
                return Err(ValueError::new("2202E", "upper bound cannot be less than lower bound"));
            }
            bounds.push((length as usize, lower));
            self.place += close + 1;
            self.blanks();
        }
        if bounds.is_empty() {
            return Ok(None);
        }
        if self.peek() != Some(b'=') {
            return Err(self.malformed("Missing \"=\" after array dimensions."));
        }
        self.place += 1;
        self.blanks();
        Ok(Some(bounds))
    }

    /// A level of braces, the place being on the opening one.
    fn braces(&mut self, depth: usize) -> Result<(), ValueError> {
        if depth >= DIMENSIONS_MAX {
            return Err(self.too_deep(depth + 1));
        }
        if self.leaf_depth.is_some_and(|leaf| depth > leaf) {
            return Err(self.malformed("Unexpected \"{\" character."));
        }
        if self.lengths.len() == depth {
            self.lengths.push(None);
        }
        self.place += 1;
        let (mut count, delimiter) = (0, self.delimiter());
        self.blanks();
        if self.peek() == Some(b'}') {
            self.place += 1;
            // Only the whole array may be empty.
            return if depth > 0 { Err(self.malformed("Unexpected \"}\" character.")) } else { Ok(()) };
        }
        loop {
            self.blanks();
            match self.peek() {
                None => return Err(self.malformed("Unexpected end of input.")),
                Some(b'{') => self.braces(depth + 1)?,
                Some(b'}') => return Err(self.malformed("Unexpected \"}\" character.")),
                Some(byte) if byte == delimiter => {
                    return Err(self.malformed(&format!("Unexpected \"{}\" character.", byte as char)));
                }
                Some(_) => self.item(depth)?,
            }
            count += 1;
            self.blanks();
            match self.peek() {
                Some(byte) if byte == delimiter => self.place += 1,
                Some(b'}') => break,
                None => return Err(self.malformed("Unexpected end of input.")),
                Some(_) => return Err(self.malformed("Unexpected array element.")),
            }
        }
        self.place += 1;
        self.close(depth, count)
    }

    fn close(&mut self, depth: usize, count: usize) -> Result<(), ValueError> {
        match self.lengths[depth] {
            Some(length) if length != count => {
                Err(self.malformed("Multidimensional arrays must have sub-arrays with matching dimensions."))
            }
            _ => {
                self.lengths[depth] = Some(count);
                Ok(())
            }
        }
    }

    fn item(&mut self, depth: usize) -> Result<(), ValueError> {
        if self.leaf_depth.is_some_and(|leaf| leaf != depth) || self.lengths.len() > depth + 1 {
            return Err(self.malformed("Unexpected array element."));
        }
        self.leaf_depth = Some(depth);
        let delimiter = self.delimiter();
        let mut text = String::new();
        let (mut is_quoted, mut is_closed) = (false, false);
        // Blanks before this length were quoted or escaped, and stay.
        let mut kept = 0;
        loop {
            match self.peek() {
                None => return Err(self.malformed("Unexpected end of input.")),
                Some(b'}') => break,
                Some(byte) if byte == delimiter => break,
                Some(b'{') => return Err(self.malformed("Unexpected \"{\" character.")),
                Some(b'"') => {
                    if is_quoted || !text.is_empty() {
                        return Err(self.malformed("Unexpected array element."));
                    }
                    is_quoted = true;
                    self.quoted(&mut text)?;
                    is_closed = true;
                    kept = text.len();
                }
                Some(b'\\') if is_closed => {
                    return Err(self.malformed("Unexpected \"\\\" character."));
                }
                Some(b'\\') => {
                    self.escaped(&mut text)?;
                    is_quoted = true;
                    kept = text.len();
                }
                Some(_) => {
                    let character = self.character();
                    if character.is_ascii() && is_blank(character as u8) {
                        text.push(character);
                    } else {
                        if is_closed {
                            return Err(self.malformed("Unexpected array element."));
                        }
                        text.push(character);
                        kept = text.len();
                    }
                }
            }
        }
        text.truncate(kept);
        let datum = if !is_quoted && text.eq_ignore_ascii_case("null") {
            Datum::Null
        } else {
            parse(self.element, self.modifier, &text, self.context)?
        };
        poll::bytes(text.len())?;
        self.elements.push(datum);
        Ok(())
    }

    fn character(&mut self) -> char {
        let character = self.text[self.place..].chars().next().unwrap_or('\0');
        self.place += character.len_utf8();
        character
    }

    fn escaped(&mut self, out: &mut String) -> Result<(), ValueError> {
        self.place += 1;
        if self.place >= self.text.len() {
            return Err(self.malformed("Unexpected end of input."));
        }
        let character = self.character();
        out.push(character);
        Ok(())
    }

    fn quoted(&mut self, out: &mut String) -> Result<(), ValueError> {
        self.place += 1;
        loop {
            match self.peek() {
                None => return Err(self.malformed("Unexpected end of input.")),
                Some(b'"') => {
                    self.place += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escaped(out)?,
                Some(_) => {
                    let character = self.character();
                    out.push(character);
                }
            }
        }
    }
}

/// int2vector and oidvector: numbers between blanks, counted from 0.
pub(super) fn parse_vector(scalar: &ScalarType, text: &str) -> Result<Datum, ValueError> {
    let elements = text
        .split_ascii_whitespace()
        .map(|word| {
            poll::step()?;
            match scalar {
                ScalarType::Int2Vector => super::parse_int(word, "smallint").map(Datum::Int2),
                _ => super::scalar::parse_oid(word, "oid").map(Datum::Oid),
            }
        })
        .collect::<Result<Vec<Datum>, ValueError>>()?;
    let dimensions = vec![(elements.len(), 0)];
    Ok(Datum::Array(Arc::new(Array::new(dimensions, elements))))
}

const WRITING: &str = "writing to a String does not fail";

pub(super) fn write_array(out: &mut String, array: &Array, scalar: &ScalarType, context: &TextContext) {
    if matches!(scalar, ScalarType::Int2Vector | ScalarType::OidVector) {
        for (place, element) in array.elements.iter().enumerate() {
            out.push_str(if place > 0 { " " } else { "" });
            write_text(out, element, &ScalarType::Int8, context);
        }
        return;
    }
    let element = scalar.element().unwrap_or(ScalarType::Text);
    if array.elements.is_empty() {
        return out.push_str("{}");
    }
    if array.dimensions.iter().any(|(_, lower)| *lower != 1) {
        for (length, lower) in &array.dimensions {
            let upper = i64::from(*lower) + *length as i64 - 1;
            write!(out, "[{lower}:{upper}]").expect(WRITING);
        }
        out.push('=');
    }
    write_dimension(out, array, 0, &mut 0, &element, context);
}

fn write_dimension(
    out: &mut String,
    array: &Array,
    depth: usize,
    next: &mut usize,
    element: &ScalarType,
    context: &TextContext,
) {
    out.push('{');
    let length = array.dimensions.get(depth).map_or(0, |(length, _)| *length);
    for place in 0..length {
        poll::step_or_unwind();
        if place > 0 {
            out.push(element.delimiter());
        }
        if depth + 1 < array.dimensions.len() {
            write_dimension(out, array, depth + 1, next, element, context);
        } else if let Some(datum) = array.elements.get(*next) {
            write_element(out, datum, element, context);
            *next += 1;
        }
    }
    out.push('}');
}

fn write_element(out: &mut String, datum: &Datum, element: &ScalarType, context: &TextContext) {
    if datum.is_null() {
        return out.push_str("NULL");
    }
    let start = out.len();
    write_text(out, datum, element, context);
    let text = &out[start..];
    let delimiter = element.delimiter() as u8;
    let is_marked = |byte: u8| matches!(byte, b'"' | b'\\' | b'{' | b'}') || byte == delimiter || is_blank(byte);
    let needs_quotes = text.is_empty() || text.eq_ignore_ascii_case("null") || text.bytes().any(is_marked);
    if !needs_quotes {
        return;
    }
    let text = text.to_owned();
    out.truncate(start);
    out.push('"');
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out.push('"');
}

/// Reads a composite of a type that says its fields.
pub(super) fn parse_record(record: &RecordType, text: &str, context: &TextContext) -> Result<Datum, ValueError> {
    if record.is_anonymous() {
        return Err(ValueError {
            hint: Some("Write the row with ROW(...).".to_owned()),
            ..ValueError::new("0A000", "input of anonymous composite types is not implemented")
        });
    }
    let malformed = |detail: &str| ValueError {
        detail: Some(detail.to_owned()),
        ..ValueError::new("22P02", format!("malformed record literal: \"{text}\""))
    };
    let inside = text.trim_start_matches(|c: char| u8::try_from(c).is_ok_and(is_blank));
    let mut rest = inside.strip_prefix('(').ok_or_else(|| malformed("Missing left parenthesis."))?;
    let mut fields = Vec::with_capacity(record.len());
    for (place, (_, scalar)) in record.iter().enumerate() {
        poll::step()?;
        if place > 0 {
            rest = rest.strip_prefix(',').ok_or_else(|| malformed("Too few columns."))?;
        }
        let field;
        (field, rest) = record_field(rest).ok_or_else(|| malformed("Unexpected end of input."))?;
        fields.push(match field {
            None => Datum::Null,
            Some(field) => parse(scalar, record.modifier(place), &field, context)?,
        });
    }
    let after = rest.strip_prefix(')').ok_or_else(|| malformed("Too many columns."))?;
    if !after.bytes().all(is_blank) {
        return Err(malformed("Junk after right parenthesis."));
    }
    Ok(Datum::Record(fields.into()))
}

/// The first field's text, none for NULL, and what comes behind it. None if the text ends before.
fn record_field(text: &str) -> Option<(Option<String>, &str)> {
    if text.starts_with([',', ')']) {
        return Some((None, text));
    }
    let mut field = String::new();
    let mut quoted = false;
    let mut characters = text.char_indices().peekable();
    while let Some((place, character)) = characters.next() {
        match character {
            ',' | ')' if !quoted => return Some((Some(field), &text[place..])),
            '\\' => field.push(characters.next()?.1),
            '"' if quoted && characters.next_if(|(_, next)| *next == '"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            other => field.push(other),
        }
    }
    None
}

pub(super) fn write_record(out: &mut String, fields: &[Datum], scalar: &ScalarType, context: &TextContext) {
    let types: &[(String, ScalarType)] = if let ScalarType::Record(types) = scalar { types } else { &[] };
    out.push('(');
    for (place, field) in fields.iter().enumerate() {
        out.push_str(if place > 0 { "," } else { "" });
        if field.is_null() {
            continue;
        }
        let start = out.len();
        let field_type = types.get(place).map_or(&ScalarType::Text, |(_, field_type)| field_type);
        write_text(out, field, field_type, context);
        let text = &out[start..];
        let needs_quotes = text.is_empty()
            || text.bytes().any(|byte| matches!(byte, b'"' | b'\\' | b'(' | b')' | b',') || is_blank(byte));
        if needs_quotes {
            quote_from(out, start);
        }
    }
    out.push(')');
}

/// Puts what stands there from a place on in double quotes.
pub(crate) fn quote_from(out: &mut String, start: usize) {
    let text = out.split_off(start);
    write_quoted(out, &text, '"');
}

/// Appends a text between quotes; those and backslashes in it are doubled.
pub(crate) fn write_quoted(out: &mut String, text: &str, quote: char) {
    out.push(quote);
    for character in text.chars() {
        if character == quote || character == '\\' {
            out.push(character);
        }
        out.push(character);
    }
    out.push(quote);
}
